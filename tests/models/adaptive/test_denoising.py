"""Denoising against slow definitions: averages over all shifts, singular values one by one, margins by loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.models.adaptive.denoising import (
    ALIVE,
    FAINT,
    empty_cells,
    haar_denoise,
    keep_alive,
    project_sparse,
    rake,
    rake_all,
    shrink_singular_values,
    trim_ends,
)
from sdv_plausible.models.conditional_table import project_to_simplex

# --- Haar -------------------------------------------------------------------------------------------------------------


def haar(a: list[float], cut: float, levels: int) -> list[float]:
    """Plain Haar transform of a list, details within the cut set to 0, and back."""
    if levels == 0 or len(a) < 2:
        return a
    means, details = [], []
    for x, y in zip(a[::2], a[1::2], strict=True):
        means.append((x + y) / 2**0.5)
        detail = (x - y) / 2**0.5
        details.append(detail if abs(detail) > cut else 0.0)
    back = []
    for mean, detail in zip(haar(means, cut, levels - 1), details, strict=True):
        back += [(mean + detail) / 2**0.5, (mean - detail) / 2**0.5]
    return back


def over_all_shifts(a: list[float], cut: float, levels: int) -> list[float]:
    """Coifman and Donoho's definition: shift, denoise, shift back; the average over all shifts."""
    shifts = min(2**levels, len(a))
    total = [0.0] * len(a)
    for shift in range(shifts):
        done = haar(a[shift:] + a[:shift], cut, levels)
        done = done[len(a) - shift :] + done[: len(a) - shift]
        total = [t + d / shifts for t, d in zip(total, done, strict=True)]
    return total


@settings(max_examples=60)
@given(st.sampled_from([8, 16, 32]), st.integers(0, 2**32 - 1), st.floats(0, 3), st.integers(1, 4))
def test_denoising_is_the_average_over_all_shifts(size, seed, threshold, levels):
    values = np.random.default_rng(seed).normal(0, 3, size)
    found = haar_denoise(values, 1.0, threshold, levels)
    np.testing.assert_allclose(found, over_all_shifts(values.tolist(), threshold, levels), atol=1e-9)


@settings(max_examples=60)
@given(st.integers(8, 70), st.integers(0, 2**32 - 1))
def test_nothing_is_lost_where_there_is_no_noise(size, seed):
    values = np.random.default_rng(seed).normal(0, 3, size)
    np.testing.assert_allclose(haar_denoise(values, 1e-12), values, atol=1e-6)
    assert haar_denoise(values, 0.0) is values
    assert haar_denoise(values[:7], 5.0).tolist() == values[:7].tolist()  # too short to smooth


def test_spikes_stay_and_noise_goes():
    """Seeded. Control: a single moving average wears the spike down."""
    rng = np.random.default_rng(0)
    truth = np.full(100, 50.0)
    truth[37] = 900.0
    noisy = truth + rng.normal(0, 10, 100)
    found = haar_denoise(noisy, 10.0)
    flat = np.arange(100) != 37
    assert np.abs(found - truth)[flat].mean() < 0.6 * np.abs(noisy - truth)[flat].mean()
    assert abs(found[37] - 900) < 60
    assert np.convolve(noisy, np.full(3, 1 / 3), "same")[37] < 400


# --- singular values --------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(st.integers(1, 6), st.integers(0, 6), st.floats(0.1, 30), st.integers(0, 2**32 - 1))
def test_shrinking_undoes_what_noise_does_to_singular_values(short, more, sigma, seed):
    """A signal of singular value x shows as y = sqrt((x + 1/x)(x + beta/x)), in units of sigma sqrt(long)."""
    rng = np.random.default_rng(seed)
    long, beta = short + more, short / (short + more)
    x = np.sort(rng.uniform(beta**0.25 * 1.01, 9, short))[::-1]
    y = np.sqrt((x + 1 / x) * (x + beta / x)) * sigma * np.sqrt(long)
    u, v = (np.linalg.qr(rng.normal(size=(n, n)))[0][:, :short] for n in (short, long))
    for shown in ((u * y) @ v.T, ((u * y) @ v.T).T):
        found = np.linalg.svd(shrink_singular_values(shown, sigma), compute_uv=False)
        np.testing.assert_allclose(found, x * sigma * np.sqrt(long), rtol=1e-7)


def test_noise_alone_leaves_next_to_nothing():
    """Seeded. Control: a link stands out of the same noise."""
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 2.0, (30, 50))
    left = np.linalg.svd(shrink_singular_values(noise, 2.0), compute_uv=False)
    assert np.count_nonzero(left > 1e-9) <= 1  # of 30: the largest may stand at the edge
    link = 40 * np.outer(np.sin(np.arange(30)), np.cos(np.arange(50)))
    found = shrink_singular_values(link + noise, 2.0)
    assert np.linalg.norm(found - link) < 0.4 * np.linalg.norm(noise)
    assert shrink_singular_values(noise, 0.0) is noise


# --- raking -----------------------------------------------------------------------------------------------------------


def raked(table: np.ndarray, rows: np.ndarray, columns: np.ndarray, rounds: int) -> list[list[float]]:
    """Iterative proportional fitting, cell by cell."""
    whole = sum(columns)
    t = [[max(x, 0.0) + 1e-9 * r * c / whole for x, c in zip(line, columns, strict=True)] for line, r in zip(table, rows, strict=True)]  # fmt: skip
    for _ in range(rounds):
        t = [[x * r / sum(line) for x in line] for line, r in zip(t, rows, strict=True)]
        sums = [sum(line[j] for line in t) for j in range(len(columns))]
        t = [[x * c / s for x, c, s in zip(line, columns, sums, strict=True)] for line in t]
    return t


@settings(max_examples=60)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 2**32 - 1), st.integers(1, 20))
def test_raking_by_plain_loops(a, b, seed, rounds):
    rng = np.random.default_rng(seed)
    table = rng.normal(3, 4, (a, b))
    rows, columns = rng.uniform(0.5, 9, a), rng.uniform(0.5, 9, b)
    columns *= rows.sum() / columns.sum()
    before = table.copy()
    np.testing.assert_allclose(
        rake(table, rows, columns, rounds), raked(table, rows, columns, rounds), rtol=1e-9
    )
    assert (table == before).all()


def test_raking_meets_both_margins_and_keeps_odds_ratios():
    rng = np.random.default_rng(0)
    table, rows, columns = (
        rng.uniform(1, 9, (3, 4)),
        np.array([5.0, 3.0, 2.0]),
        np.array([1.0, 2.0, 3.0, 4.0]),
    )
    found = rake(table, rows, columns, 200)
    np.testing.assert_allclose(found.sum(axis=1), rows, rtol=1e-9)
    np.testing.assert_allclose(found.sum(axis=0), columns, rtol=1e-9)
    for t in (table, found):
        assert t[0, 0] * t[1, 1] / (t[0, 1] * t[1, 0]) == pytest.approx(
            table[0, 0] * table[1, 1] / (table[0, 1] * table[1, 0])
        )


def test_margins_stay_in_reach_of_an_empty_table():
    rows, columns = np.array([2.0, 0.0, 1.0]), np.array([1.0, 2.0])
    found = rake(np.full((3, 2), -5.0), rows, columns)
    np.testing.assert_allclose(found, np.outer(rows, columns) / 3, atol=1e-9)


def test_categories_that_noise_emptied_keep_a_little():
    """Nothing where nothing is faint or there is no noise; the total stays; ALIVE bounds all of them together."""
    counts = np.array([900.0, 100.0, 0.0, 0.0])
    kept = keep_alive(counts, 10.0)
    assert np.isclose(kept.sum(), 1000.0)
    assert (kept[2:] > 0).all()
    assert kept[2:].sum() <= ALIVE * 1000.0 * (1 + 1e-9)
    assert kept[0] > 897
    assert (keep_alive(counts, 0.0) == counts).all()
    solid = np.array([500.0, 500.0])
    assert keep_alive(solid, 10.0) is solid
    assert np.allclose(keep_alive(np.array([1e6, 0.0]), 10.0)[1], FAINT * 10.0, rtol=1e-4)


def noisy(cells: int, alive: int, sigma: float = 20.0) -> tuple[np.ndarray, np.ndarray]:
    """Counts of 20,000 rows in so many cells of which some hold rows, falling as 1/rank; and with noise."""
    shares = np.append(1 / np.arange(1, alive + 1), np.zeros(cells - alive))
    counts = np.round(20_000 * shares / shares.sum())
    return counts, counts + np.random.default_rng(5).normal(0, sigma, cells)


@pytest.mark.parametrize(("cells", "alive"), [(5000, 100), (2000, 100), (500, 30)])
def test_what_stands_out_of_empty_cells_keeps_its_counts(cells, alive):
    counts, seen = noisy(cells, alive)
    found, plain = project_sparse(seen, 20.0, 20_000.0), project_to_simplex(seen, 20_000.0)
    assert np.isclose(found.sum(), 20_000)
    assert (found >= 0).all()
    assert np.abs(found - counts).sum() < 0.9 * np.abs(plain - counts).sum()
    assert (found[:5] == seen[:5]).all()


def test_where_most_cells_hold_rows_it_is_the_projection():
    for seen, sigma in [(noisy(30, 30)[1], 20.0), (noisy(300, 300)[1], 20.0), (noisy(500, 30)[0], 0.0)]:
        assert (project_sparse(seen, sigma, 20_000.0) == project_to_simplex(seen, 20_000.0)).all()
    seen = np.append(np.full(3, 900.0), np.random.default_rng(1).normal(0, 20, 997))
    lost = project_sparse(seen, 20.0, 2500.0)  # what stands out holds more than there is
    assert (lost == project_to_simplex(seen, 2500.0)).all()


# --- raking of any number of axes -------------------------------------------------------------------------------------


def test_over_two_axes_it_is_raking():
    rng = np.random.default_rng(1)
    table, rows, columns = rng.uniform(0, 5, (4, 3)), rng.uniform(1, 5, 4), rng.uniform(1, 5, 3)
    columns *= rows.sum() / columns.sum()
    np.testing.assert_allclose(
        rake_all(table, {(0,): rows, (1,): columns}, 100), rake(table, rows, columns, 100), rtol=1e-6
    )


def test_margins_of_pairs_and_columns_are_reached():
    rng = np.random.default_rng(2)
    truth = rng.dirichlet(np.ones(24)).reshape(2, 3, 4)
    margins = {(0, 1): truth.sum(2), (1, 2): truth.sum(0), (0,): truth.sum((1, 2))}
    found = rake_all(rng.normal(0.05, 0.1, truth.shape), margins, 200)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(2), truth.sum(2), atol=1e-3)
    np.testing.assert_allclose(found.sum(0), truth.sum(0), atol=1e-3)


def test_without_margins_only_what_is_negative_goes():
    np.testing.assert_allclose(rake_all(np.array([[1.0, -2.0], [0.0, 3.0]]), {}), [[1, 0], [0, 3]], atol=1e-6)


def test_ends_go_only_as_far_as_they_hold_little(monkeypatch):
    """Values alike, each far below the noise, and one of many rows: emptying all that may be noise leaves it alone."""
    counts = np.full(40, 5.0)
    counts[20] = 400
    assert (trim_ends(counts, 60.0) == 0).sum() == 22, "a tenth at each end"
    assert trim_ends(np.array([1.0, 0, 2, 500, 500, 1]), 10.0).tolist() == [0, 0, 0, 500, 500, 0]
    monkeypatch.setattr("sdv_plausible.models.adaptive.denoising.LITTLE", 1.0)
    assert (trim_ends(counts, 60.0) == 0).sum() == 39, "planted: no bound"


# --- cells that hold nothing ------------------------------------------------------------------------------------------

SIGMA = 20.0


def with_noise(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    noisy = table + np.random.default_rng(0).normal(0, SIGMA, table.shape)
    return noisy, np.outer(table.sum(1), table.sum(0)) / table.sum()


def test_a_column_that_another_tells_has_no_other_cells():
    """16 values of 2,000 rows: nearly every cell beside them is found. Control: without noise nothing is hidden."""
    held = np.diag(np.full(16, 2000.0))
    table, expected = with_noise(held)
    assert empty_cells(table, expected, SIGMA)[~np.eye(16, dtype=bool)].mean() > 0.9
    assert not empty_cells(table, expected, SIGMA)[np.eye(16, dtype=bool)].any()
    assert not empty_cells(held, expected, 0.0).any()


@pytest.mark.parametrize(
    "held",
    [
        np.full((16, 16), 2000.0 / 16),  # independent
        np.full((16, 16), 40.0) + np.diag(np.full(16, 20_000.0)),  # little, but more than noise
        np.array([[1000.0, 1000.0, 20.0]] * 6 + [[1000.0, 1000.0, 100.0]]),  # as rare as independence says
        np.diag(np.full(16, 500.0)),  # too much at stake
    ],
)
def test_what_may_hold_rows_is_not_emptied(held):
    """Chance empties a line of these with probability below 0.01 (2.5 deviations); the noise is fixed."""
    table, expected = with_noise(held)
    assert not empty_cells(table, expected, SIGMA).any()


@pytest.mark.parametrize("rare", [np.diag([0.0] * 7 + [10.0])[7:], np.full((1, 8), 10.0 / 8)])
def test_a_value_that_noise_hides_is_left_where_it_may_be(rare):
    """The rare row has no cell that stands out, and no line is emptied as a whole."""
    table, expected = with_noise(np.vstack([np.diag([2000.0] * 8), rare]))
    for found in (empty_cells(table, expected, SIGMA), empty_cells(table.T, expected.T, SIGMA).T):
        assert found[:8][~np.eye(8, dtype=bool)].mean() > 0.8
        assert not found[8].any()


def test_columns_are_looked_at_like_rows():
    table, expected = with_noise(np.vstack([np.diag(np.full(8, 2000.0)), np.full((1, 8), 60.0)]))
    found = empty_cells(table, expected, SIGMA)
    assert found.any()
    assert (found == empty_cells(table.T, expected.T, SIGMA).T).all()
