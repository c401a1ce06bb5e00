"""Denoising against slow definitions: averages over all shifts, margins and posterior means by loops."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sdv_plausible.models.adaptive import denoising
from sdv_plausible.models.adaptive.denoising import (
    denoise_ordered_pair,
    denoise_pair,
    project_ordered,
    rake,
    rake_all,
)
from sdv_plausible.models.conditional_table import project_to_simplex
from sdv_plausible.table.columns.domain import Attribute


def haar(a, cut, levels):
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


def over_all_shifts(a, cut, levels):
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
    found = denoising.haar_denoise(values, 1.0, threshold, levels)
    np.testing.assert_allclose(found, over_all_shifts(values.tolist(), threshold, levels), atol=1e-9)


def test_spikes_stay_and_noise_goes():
    """Seeded. Control: a single moving average wears the spike down. Nothing is lost where there is no noise."""
    truth, flat = np.full(100, 50.0), np.arange(100) != 37
    truth[37] = 900.0
    noisy = truth + np.random.default_rng(0).normal(0, 10, 100)
    found = denoising.haar_denoise(noisy, 10.0)
    assert np.abs(found - truth)[flat].mean() < 0.6 * np.abs(noisy - truth)[flat].mean()
    assert abs(found[37] - 900) < 60
    assert np.convolve(noisy, np.full(3, 1 / 3), "same")[37] < 400
    np.testing.assert_allclose(denoising.haar_denoise(noisy[:71], 1e-12), noisy[:71], atol=1e-6)
    assert denoising.haar_denoise(noisy, 0.0) is noisy
    assert denoising.haar_denoise(noisy[:7], 5.0).tolist() == noisy[:7].tolist()  # too short to smooth


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
        found = np.linalg.svd(denoising.shrink_singular_values(shown, sigma), compute_uv=False)
        np.testing.assert_allclose(found, x * sigma * np.sqrt(long), rtol=1e-7)


def test_noise_alone_leaves_next_to_nothing():
    """Seeded. Control: a link stands out of the same noise."""
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 2.0, (30, 50))
    left = np.linalg.svd(denoising.shrink_singular_values(noise, 2.0), compute_uv=False)
    assert np.count_nonzero(left > 1e-9) <= 1  # of 30: the largest may stand at the edge
    link = 40 * np.outer(np.sin(np.arange(30)), np.cos(np.arange(50)))
    found = denoising.shrink_singular_values(link + noise, 2.0)
    assert np.linalg.norm(found - link) < 0.4 * np.linalg.norm(noise)
    assert denoising.shrink_singular_values(noise, 0.0) is noise


def raked(table, rows, columns, rounds):
    """Iterative proportional fitting, cell by cell."""
    whole, t = sum(columns), []
    for line, r in zip(table, rows, strict=True):
        t.append([max(x, 0.0) + 1e-9 * r * c / whole for x, c in zip(line, columns, strict=True)])
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
    found = rake(table, rows, columns, rounds)
    np.testing.assert_allclose(found, raked(table, rows, columns, rounds), rtol=1e-9)
    assert (table == before).all()


def test_raking_meets_both_margins_and_keeps_odds_ratios():
    table = np.random.default_rng(0).uniform(1, 9, (3, 4))
    rows, columns = np.array([5.0, 3.0, 2.0]), np.array([1.0, 2.0, 3.0, 4.0])
    found = rake(table, rows, columns, 200)
    np.testing.assert_allclose(found.sum(axis=1), rows, rtol=1e-9)
    np.testing.assert_allclose(found.sum(axis=0), columns, rtol=1e-9)
    before, after = (t[0, 0] * t[1, 1] / (t[0, 1] * t[1, 0]) for t in (table, found))
    assert after == pytest.approx(before)
    rows, columns = np.array([2.0, 0.0, 1.0]), np.array([1.0, 2.0])
    found = rake(np.full((3, 2), -5.0), rows, columns)  # in reach of an empty table
    np.testing.assert_allclose(found, np.outer(rows, columns) / 3, atol=1e-9)


def test_categories_that_noise_emptied_keep_a_little():
    """Nothing where nothing is faint or there is no noise; the total stays; MAX_REVIVED bounds all of them together."""
    counts = np.array([900.0, 100.0, 0.0, 0.0])
    kept = denoising.keep_alive(counts, 10.0)
    assert np.isclose(kept.sum(), 1000.0)
    assert (kept[2:] > 0).all()
    assert kept[2:].sum() <= denoising.MAX_REVIVED * 1000.0 * (1 + 1e-9)
    assert kept[0] > 897
    assert (denoising.keep_alive(counts, 0.0) == counts).all()
    solid = np.array([500.0, 500.0])
    assert denoising.keep_alive(solid, 10.0) is solid
    assert np.allclose(
        denoising.keep_alive(np.array([1e6, 0.0]), 10.0)[1], denoising.EMPTIED * 10.0, rtol=1e-4
    )


def noisy(cells, alive, sigma=20.0):
    """Counts of 20,000 rows in so many cells of which some hold rows, falling as 1/rank; and with noise."""
    shares = np.append(1 / np.arange(1, alive + 1), np.zeros(cells - alive))
    counts = np.round(20_000 * shares / shares.sum())
    return counts, counts + np.random.default_rng(5).normal(0, sigma, cells)


def test_what_stands_out_of_empty_cells_keeps_its_counts():
    """Where most cells hold rows it is the projection, and where what stands out holds more than there is."""
    for cells, alive in ((5000, 100), (2000, 100), (500, 30)):
        counts, seen = noisy(cells, alive)
        found, plain = denoising.project_sparse(seen, 20.0, 20_000.0), project_to_simplex(seen, 20_000.0)
        assert np.isclose(found.sum(), 20_000)
        assert (found >= 0).all()
        assert np.abs(found - counts).sum() < 0.9 * np.abs(plain - counts).sum()
        assert (found[:5] == seen[:5]).all()
    lost = np.append(np.full(3, 900.0), np.random.default_rng(1).normal(0, 20, 997))
    for seen, sigma, total in (
        (noisy(30, 30)[1], 20.0, 2e4), (noisy(300, 300)[1], 20.0, 2e4), (noisy(500, 30)[1], 0.0, 2e4),
        (lost, 20.0, 2500.0),
    ):  # fmt: skip
        assert (denoising.project_sparse(seen, sigma, total) == project_to_simplex(seen, total)).all()


def test_margins_of_pairs_and_columns_are_reached():
    """Over two axes it is raking; without margins what is negative goes."""
    rng = np.random.default_rng(2)
    truth = rng.dirichlet(np.ones(24)).reshape(2, 3, 4)
    margins = {(0, 1): truth.sum(2), (1, 2): truth.sum(0), (0,): truth.sum((1, 2))}
    found = rake_all(rng.normal(0.05, 0.1, truth.shape), margins, 200)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(2), truth.sum(2), atol=1e-3)
    np.testing.assert_allclose(found.sum(0), truth.sum(0), atol=1e-3)
    table, rows, columns = rng.uniform(0, 5, (4, 3)), rng.uniform(1, 5, 4), rng.uniform(1, 5, 3)
    columns *= rows.sum() / columns.sum()
    found = rake_all(table, {(0,): rows, (1,): columns}, 100)
    np.testing.assert_allclose(found, rake(table, rows, columns, 100), rtol=1e-6)
    found = rake_all(np.array([[1.0, -2.0], [0.0, 3.0]]), {})
    np.testing.assert_allclose(found, [[1, 0], [0, 3]], atol=1e-6)


def project_all(counts, sigma):
    """Ordered counts as they are, without smoothing."""
    return project_ordered(counts, counts, np.arange(len(counts)), sigma, float(counts.sum()))


def test_ends_go_only_as_far_as_they_hold_little(monkeypatch):
    """Values alike, each far below the noise, and one of many rows: emptying all that may be noise leaves it alone."""
    counts = np.array([1.0, 0, 2, 500, 500, 1, 7])  # what comes after the ordered codes (missing cells) stays
    found = project_ordered(counts, counts, np.arange(6), 10.0, counts.sum())
    np.testing.assert_allclose(found, [0, 0, 0, 500 + 4 / 3, 500 + 4 / 3, 0, 7 + 4 / 3])
    counts = np.full(40, 5.0)
    counts[20] = 400
    assert (project_all(counts, 60.0) == 0).sum() == 22, "a tenth at each end"
    monkeypatch.setattr(denoising, "MAX_CLEARED", 1.0)
    assert (project_all(counts, 60.0) == 0).sum() == 39, "planted: no bound"


def test_what_borders_on_many_rows_holds_some_too(monkeypatch):
    """Few old people beside many others, and a range that goes on; planted: all of a far end goes together."""
    monkeypatch.setattr(denoising, "TAIL", 1e9)
    counts = np.concatenate([np.full(50, 200.0), np.full(7, 95.0), np.zeros(30)])
    for seen, holds in ((2.0, True), (math.inf, False)):
        monkeypatch.setattr(denoising, "SIGNIFICANT_RUN", seen)
        found = project_all(counts, 42.0)
        assert (found[51:56] > 0).all() == holds
        assert not found[57:].any()


@pytest.mark.parametrize("rows", [0.0, 100.0])
def test_a_cleared_end_keeps_the_rows_that_it_surely_holds(rows, monkeypatch):
    """Of 36 codes that go, whose noise adds up to 120 rows: 100 rows beyond one deviation decay outwards."""
    counts = np.concatenate([np.zeros(36), [90.0, 300, 500, 900, 700]])
    noisy = counts + np.append(np.full(36, (120 + rows) / 36), np.zeros(5))
    places = np.append(-1000.0, np.arange(1, 41))  # the last code is far out
    found = project_ordered(counts, noisy, places, 20.0, counts.sum())
    assert found.sum() == pytest.approx(counts.sum())
    assert found[:36].sum() == pytest.approx(rows, rel=0.3)
    assert found[0] < 1e-9
    assert (np.diff(found[:36]) >= 0).all()
    monkeypatch.setattr("sdv_plausible.models.adaptive.denoising.TAIL", 1e9)
    assert not project_ordered(counts, noisy, places, 20.0, counts.sum())[:36].any(), (
        "planted: all of it goes"
    )


SIGMA = 20.0


def tail(far):
    """Rows of 30 codes of ages or the like, of a range that was declared nearly three times too wide."""
    return np.concatenate([np.full(10, 2000.0), 2000 * 0.8 ** np.arange(1, 21), np.zeros(49), [far]])


def test_ends_do_not_depend_on_the_unit():
    """Squares of such places are beyond all doubles, or 0; scaled by a power of two nothing else changes."""
    noisy = np.array([4.0, -3.0, 60.0, 500.0, 80.0, 9.0, -7.0, 12.0])
    places = np.array([-8.0, -3.0, -1.0, 0.0, 1.0, 2.0, 4.0, 8.0])
    found = project_ordered(noisy, noisy, places, 10.0, 655.0)
    assert (found == 0).any()
    for power in (600, 1020, -1000):
        with np.errstate(all="raise"):
            again = project_ordered(noisy, noisy, np.ldexp(places, power), 10.0, 655.0)
        np.testing.assert_array_equal(found, again)
    top = Attribute(name="x", kind="float", lower=(-1.7e308, 1e308), upper=(-1e308, 1.7e308))
    assert np.isfinite(top.places).all()


def test_a_near_end_stays_and_one_code_that_stands_out_behind_an_empty_one():
    """Planted: far out two deviations bend the variance. Control: a code that does not stand out goes."""
    for place, stays in ((10, True), (100, False)):
        counts = np.array([500.0, 600, 500, 0, 20])
        found = project_ordered(counts, counts, np.array([0, 3, 6, 8, place]), 10.0, counts.sum())
        assert (found[-1] > 1e-9) == stays
    for rows, kept in ((35.0, True), (15.0, False)):
        counts = np.array([500.0, 600, 500, 0, rows, 0])
        noisy = counts - np.array([0, 0, 0, 0, 0, 15.0])
        found = project_ordered(counts, noisy, np.array([0.0, 3, 6, 8, 100, 110]), 10.0, counts.sum())
        assert (found[4] > 0) == kept


def trimmed(true, seed, most=math.inf):
    """What is left of counts with noise of which no more than ``most`` is seen."""
    noisy = true + np.random.default_rng(seed).normal(0, SIGMA, len(true))
    seen = np.minimum(noisy, most)
    return project_ordered(noisy, seen, np.arange(len(true)), SIGMA, float(true.sum()))


def test_a_generous_range_bends_no_deviation(monkeypatch):
    """Relative error of deviations, mean of 60 draws: its own error is 0.009, 0.05 is one in 10 million."""
    codes, true = np.arange(80), tail(0.0)

    def bent():
        spreads = [np.sqrt(np.cov(codes, aweights=trimmed(true, seed), ddof=0)) for seed in range(60)]
        return abs(np.mean(spreads) / np.sqrt(np.cov(codes, aweights=true, ddof=0)) - 1)

    assert bent() < 0.05
    monkeypatch.setattr(denoising, "MAX_VARIANCE_BIAS", math.inf)  # planted: no end is too far out
    assert bent() > 0.05


def test_many_rows_far_out_stay():
    """Six deviations of noise: a mean of 40 falls below five in one of 10,000. Planted: empty codes hide rows."""
    for most, kept in ((math.inf, True), (2.9 * SIGMA, False)):
        found = [trimmed(tail(6 * SIGMA), seed, most)[-1] for seed in range(40)]
        assert (np.mean(found) > 5 * SIGMA) == kept


def with_noise(table, seed=0, sigma=SIGMA):
    """A noisy table, what independence says of it, and its margins: the arguments before sigma."""
    rows, columns = table.sum(1), table.sum(0)
    noisy = table + np.random.default_rng(seed).normal(0, sigma, table.shape)
    return noisy, np.outer(rows, columns) / table.sum(), rows, columns


def cleaned(told, sigma=SIGMA, possible=None):
    noisy, prior, rows, columns = told
    allowed = np.ones(noisy.shape, dtype=bool) if possible is None else possible
    found = denoise_pair(noisy, prior * allowed, rows, columns, sigma, allowed)
    return rake(found.counts * allowed, rows, columns)


def determined(values=100, others=20, rows=60_000.0):
    """Each of many values (rare ones too) says which other value there is: full rank, few cells."""
    held = 1 / np.arange(1, values + 1)
    table = np.zeros((values, others))
    table[np.arange(values), np.arange(values) % others] = rows * held / held.sum()
    return table


def linked(a, b, strength=0.5, rows=60_000.0):
    """A dense table with a mild link."""
    x, y = np.linspace(-1, 1, a), np.linspace(-1, 1, b)
    return rows / (a * b) * (1 + strength * np.outer(x, y))


def off(found, table):
    return float(np.abs(found - table).sum() / 2 / table.sum())


def by_loops(noisy, prior, rows, columns, sigma):
    """Posterior means, one cell and one component after another, of a table on which everything can occur."""
    (a, b), total = noisy.shape, sum(columns)
    sums = [sum(line) for line in noisy], [sum(line[j] for line in noisy) for j in range(b)]
    over = sum(rows) - sum(sums[0])
    left = sigma * ((a - 1) * (b - 1) / (a * b)) ** 0.5
    cells = []
    for i, j in itertools.product(range(a), range(b)):
        seen = noisy[i][j] + (rows[i] - sums[0][i]) / b + (columns[j] - sums[1][j]) / a - over / (a * b)
        most = min(rows[i], columns[j])
        means = [min(t * prior[i][j], most) for t in denoising.PRIOR_FACTORS] + [
            s * most for s in denoising.BOUND_FACTORS
        ]
        fits = [stats.norm.pdf(seen, m, math.hypot(denoising.RELATIVE_WIDTH * m, left)) for m in means]
        cells.append((seen, means, fits, rows[i] * columns[j] / total))
    weights = [1 / len(cells[0][1])] * len(cells[0][1])

    def chances(fits):
        products = [w * f for w, f in zip(weights, fits, strict=True)]
        return [p / sum(products) for p in products]

    for _ in range(denoising.STEPS):
        shares = [chances(fits) for _, _, fits, _ in cells]
        counted = [sum(s[k] for s in shares) + 1 / len(weights) for k in range(len(weights))]
        weights = [c / sum(counted) for c in counted]
    found = []
    for seen, means, fits, apart in cells:
        of_cell = list(zip(chances(fits), means, strict=True))
        if sum(c for c, m in of_cell if m < min(denoising.EMPTY * left, denoising.EMPTY_RATIO * apart)) > 0.5:
            found.append(denoising.TRACE * apart)
            continue
        pulls = [
            (denoising.RELATIVE_WIDTH * m) ** 2 / ((denoising.RELATIVE_WIDTH * m) ** 2 + left**2)
            for m in means
        ]
        found.append(sum(c * (m + p * (seen - m)) for (c, m), p in zip(of_cell, pulls, strict=True)))
    return np.array(found).reshape(a, b)


@settings(max_examples=40)
@given(st.integers(2, 5), st.integers(2, 5), st.integers(0, 2**32 - 1), st.floats(2, 60))
def test_posterior_means_by_plain_loops(a, b, seed, sigma):
    """Counts within some deviations of what is possible: a loop's densities do not vanish there."""
    rng = np.random.default_rng(seed)
    table = rng.gamma(0.5, 100, (a, b)) + 1
    told = with_noise(table, seed, sigma)
    found = denoise_pair(*told, sigma, np.ones((a, b), dtype=bool)).counts
    np.testing.assert_allclose(found, by_loops(*told, sigma), rtol=1e-6)


def test_what_one_value_tells_of_another_is_kept(monkeypatch):
    """Ten draws lie between .007 and .011. Planted: no shares, two times alone; means of empty cells."""
    table = determined()
    told = with_noise(table)
    found = off(cleaned(told), table)
    assert found < 0.02
    noisy, prior, rows, columns = told
    assert off(rake(noisy, rows, columns), table) > 4 * found
    shrunk = denoising.shrink_singular_values(noisy - prior, SIGMA)
    assert off(rake(prior + shrunk, rows, columns), table) > 4 * found
    monkeypatch.setattr(denoising, "EMPTY", -1.0)
    assert off(cleaned(told), table) > 1.5 * found
    monkeypatch.setattr(denoising, "BOUND_FACTORS", np.zeros(1))
    monkeypatch.setattr(denoising, "PRIOR_FACTORS", np.array([0.0, 1.0]))
    assert off(cleaned(told), table) > 4 * found


def test_noise_of_many_faint_cells_goes(monkeypatch):
    """Seeded. 40 by 40 cells of two deviations each: so much of the raw noise is left. Planted: nothing is learned."""
    for strength, share in ((0.0, 0.45), (0.9, 0.65)):
        table = linked(40, 40, strength)
        told = with_noise(table)
        most = share * off(rake(told[0], *told[2:]), table)
        assert off(cleaned(told), table) < most
        with monkeypatch.context() as patch:
            patch.setattr(denoising, "STEPS", 0)
            assert off(cleaned(told), table) > most


def test_a_strong_link_keeps_its_strength_and_what_margins_know_is_not_guessed_again(monkeypatch):
    """Two by two: one number is open, half the noise is left; mean of 200 draws. Planted: cells as they come."""
    table = np.full((16, 16), 40.0) + np.diag(np.full(16, 2000.0))
    told = with_noise(table, sigma=1.0)
    assert off(cleaned(told, 1.0), table) < 0.005
    assert denoise_pair(*told, 0.0, np.ones((16, 16), dtype=bool)).counts is told[0]
    table = np.array([[500.0, 300.0], [200.0, 1000.0]])
    draws = [with_noise(table, seed) for seed in range(200)]
    least = np.mean([off(cleaned(told), table) for told in draws])
    assert least == pytest.approx(0.8 * 4 * SIGMA / 2 / 2 / table.sum(), rel=0.15)
    monkeypatch.setattr(denoising, "nearest_with_margins", lambda noisy, *_: noisy)
    assert np.mean([off(cleaned(told), table) for told in draws]) > 1.08 * least


def test_empty_cells_keep_a_trace_and_others_do_not_become_empty(monkeypatch):
    """What is as rare as independence says stays. Planted: a cell counts as empty for being faint alone."""
    noisy, apart, *margins = with_noise(np.diag(np.full(16, 2000.0)))
    found = denoise_pair(noisy, apart, *margins, SIGMA, np.ones((16, 16), dtype=bool)).counts
    beside = ~np.eye(16, dtype=bool)
    assert (np.abs(found - denoising.TRACE * apart)[beside] < 1e-9).mean() > 0.9
    assert (found[~beside] > 1900).all()
    rare = np.outer(np.repeat([1000.0, 20.0], 7), np.repeat([0.13, 0.01], 7))
    told = with_noise(rare)
    assert off(cleaned(told), rare) < 0.7 * off(rake(told[0], *told[2:]), rare)
    faint = (told[1] < denoising.EMPTY * SIGMA) & (told[1] > 0)
    everything = np.ones(rare.shape, dtype=bool)
    assert denoise_pair(*told, SIGMA, everything).counts[faint].sum() > 0.5 * rare[faint].sum()
    monkeypatch.setattr(denoising, "EMPTY_RATIO", np.inf)
    assert denoise_pair(*told, SIGMA, everything).counts[faint].sum() < 0.5 * rare[faint].sum()


@settings(max_examples=40)
@given(st.integers(2, 6), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_the_nearest_table_with_margins(a, b, seed):
    """Of all tables with these margins, and zeros where nothing can occur: by a linear system."""
    rng = np.random.default_rng(seed)
    possible = rng.random((a, b)) < 0.8
    possible[0], possible[:, 0] = True, True
    truth, noisy = rng.uniform(1, 9, (a, b)) * possible, rng.normal(5, 3, (a, b))
    sums = np.concatenate([np.kron(np.eye(a), np.ones(b)), np.kron(np.ones(a), np.eye(b))])
    lines = sums * possible.ravel()
    lacking = np.concatenate([truth.sum(1), truth.sum(0)]) - lines @ (noisy * possible).ravel()
    nearest = (noisy * possible).ravel() + np.linalg.pinv(lines) @ lacking
    found = denoising.nearest_with_margins(noisy, truth.sum(1), truth.sum(0), possible)
    assert (found[~possible] == 0).all()
    if possible.all():
        np.testing.assert_allclose(found.ravel(), nearest, atol=1e-9)
    start = np.linalg.norm((noisy * possible).ravel() - nearest)
    assert np.linalg.norm(found.ravel() - nearest) <= 0.2 * start + 1e-9


def test_what_cannot_occur_teaches_nothing():
    """Structural zeros stay zeros, and other cells are cleaned. Control: told of nothing, the zeros get rows."""
    possible = np.zeros((30, 30), dtype=bool)
    possible[:15, :15] = possible[15:, 15:] = True
    table = np.where(possible, 30.0, 0.0)
    told = with_noise(table)
    found = cleaned(told, possible=possible)
    assert found[~possible].max() < 1e-3
    assert off(found, table) < 0.6 * off(rake(told[0] * possible, *told[2:]), table)
    assert cleaned(told)[~possible].sum() > 100


def gaussian(rho, buckets=20, rows=30_000.0):
    """Counts of two correlated normals in buckets of equal mass, and the scores of these buckets."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=400_000)
    y = rho * x + math.sqrt(1 - rho**2) * rng.normal(size=len(x))
    ends = stats.norm.ppf(np.linspace(0, 1, buckets + 1)[1:-1])
    cells = np.searchsorted(ends, x) * buckets + np.searchsorted(ends, y)
    table = np.bincount(cells, minlength=buckets**2).reshape(buckets, buckets) * rows / len(x)
    scores = denoising.normal_scores(np.full(buckets, 1 / buckets), np.ones(buckets, dtype=bool))
    assert scores is not None
    return table, scores


def correlation(table, u):
    return float(u @ table @ u / table.sum())


def test_denoising_ordered_columns_keeps_their_correlation():
    """Seeded, noise of a fit at epsilon 1. Control: cells that are shrunk one by one lose more than a tenth."""
    for rho in (0.8, -0.6, 0.3):
        table, u = gaussian(rho)
        told, allowed = with_noise(table, 1, 60.0), np.ones(table.shape, dtype=bool)
        plain = rake(denoise_pair(*told, 60.0, allowed).counts, *told[2:])
        ordered = denoise_ordered_pair(*told, 60.0, allowed, (u, u)).counts
        found = rake(ordered, *told[2:])
        assert correlation(found, u) == pytest.approx(correlation(table, u), rel=0.1)
        assert abs(correlation(plain, u)) < 0.9 * abs(correlation(table, u))
        assert off(found, table) < off(plain, table)


def test_a_tilted_prior_must_be_borne_out():
    """Independent columns, and those that depend without a correlation, are denoised as before."""
    table, u = gaussian(0.0)
    x = np.linspace(-1, 1, 20)
    bent = 75.0 * (1 + 0.9 * np.outer(x**2 - (x**2).mean(), x**2 - (x**2).mean()) / 0.2)
    for truth in (table, bent):
        told, allowed = with_noise(truth, 2, 60.0), np.ones(truth.shape, dtype=bool)
        plain = denoise_pair(*told, 60.0, allowed)
        found = denoise_ordered_pair(*told, 60.0, allowed, (u, u))
        np.testing.assert_array_equal(found.counts, plain.counts)
    assert denoise_ordered_pair(*told, 0.0, allowed, (u, u)).counts is told[0]


@settings(max_examples=30)
@given(st.integers(3, 12), st.integers(3, 12), st.integers(0, 2**32 - 1), st.floats(-0.9, 0.9))
def test_tilting_keeps_margins_and_meets_the_correlation(a, b, seed, goal):
    """As far as the margins allow: the goal is the correlation of a table that has them."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.dirichlet(np.full(a, 5.0)) * 1000, rng.dirichlet(np.full(b, 5.0)) * 1000
    u, v = (denoising.normal_scores(m / 1000, np.ones(len(m), dtype=bool)) for m in (rows, columns))
    apart = np.outer(rows, columns) / 1000
    goal = float(u @ rake(apart * np.exp(3 * goal * np.outer(u, v)), rows, columns, 100) @ v) / 1000
    found = denoising.tilt(apart, rows, columns, (u, v), goal)
    assert float(u @ found @ v) / 1000 == pytest.approx(goal, abs=0.01)
    np.testing.assert_allclose(found.sum(1), rows, rtol=0.1)
    np.testing.assert_allclose(found.sum(0), columns, rtol=0.1)


@settings(max_examples=30)
@given(st.integers(3, 30), st.integers(0, 2**32 - 1), st.integers(0, 2))
def test_normal_scores_are_increasing_with_mean_0_and_variance_1(size, seed, missing):
    """Buckets without a place score 0, and fewer than three buckets with mass have no scores."""
    margin = np.random.default_rng(seed).dirichlet(np.ones(size + missing))
    placed = np.arange(len(margin)) < size
    found = denoising.normal_scores(margin, placed)
    assert found is not None
    assert margin @ found == pytest.approx(0, abs=1e-9)
    assert margin @ found**2 == pytest.approx(1)
    assert (np.diff(found[:size][margin[:size] > 1e-3]) > 0).all()
    assert (found[size:] == 0).all()
    assert denoising.normal_scores(np.where(np.arange(len(margin)) < 2, margin, 0.0), placed) is None


def test_posterior_deviations_are_as_large_as_the_errors():
    """Mean square of error over deviation is about 1 over many tables with noise. Control: that of the noise is not."""
    table, u = gaussian(0.8)
    ratios, of_noise = [], []
    for seed in range(20):
        told, allowed = with_noise(table, seed, 60.0), np.ones(table.shape, dtype=bool)
        found = denoise_ordered_pair(*told, 60.0, allowed, (u, u))
        error = (found.counts - table) ** 2
        ratios.append(error.sum() / (found.deviations**2).sum())
        of_noise.append(error.sum() / (60.0**2 * table.size))
    assert 0.4 < np.mean(ratios) < 2.5
    assert np.mean(of_noise) < 0.2
