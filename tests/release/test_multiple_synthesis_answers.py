"""Answers drawn again: the law of the fresh noise, what is kept, and how tables from one model deviate."""

import numpy as np
import pytest
from scipy.stats import chi2

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import Axis, CodeArray, QueryRecord, ScoreProducts
from sdv_plausible.queries.transcript import NoisyAnswer
from sdv_plausible.release.multiple_synthesis import add_noise, learner_answers, sampling_deviations

ALARM = 1e-9
CELLS = 500
AXES = (Axis.of_codes(0, CELLS),)


def answer(kind: str = "counts", values: np.ndarray | None = None) -> NoisyAnswer:
    values = np.arange(CELLS) if values is None else values
    return NoisyAnswer(
        asked=QueryRecord(kind=kind, tables=(AXES,)), values=values, noise="discrete gaussian", scale=7.0, paid_by=("model",)
    )  # fmt: skip


@pytest.mark.parametrize("rng", [KeyedRNG.from_seed(1), KeyedRNG.from_os_entropy()])
def test_fresh_noise_has_the_same_law(rng):
    """Sum of squares over the variance is chi-squared, false alarm 2e-9."""
    (drawn,) = add_noise([answer()], rng)
    squares = (((drawn.values - np.arange(CELLS)) / 7.0) ** 2).sum()
    assert chi2.ppf(ALARM, CELLS) < squares < chi2.isf(ALARM, CELLS)
    assert drawn.scale == pytest.approx(7.0 * 2**0.5)


def test_draws_differ_and_the_answers_stay():
    first = answer()
    one, two = (add_noise([first, first], KeyedRNG.from_seed(s)) for s in (1, 2))
    assert (one[0].values != two[0].values).any()
    assert (one[0].values != one[1].values).any()
    assert (first.values == np.arange(CELLS)).all()
    assert first.scale == 7.0


def test_scores_are_kept_and_deviations_added():
    scores = answer("distances")
    assert add_noise([scores], KeyedRNG.from_seed(1)) == (scores,)
    (drawn,) = add_noise([answer()], KeyedRNG.from_seed(1), [np.full(CELLS, 1000.0)])
    assert (drawn.values - np.arange(CELLS)).mean() == pytest.approx(1000, abs=3)


def products():
    """An answer about products of two columns' scores, whose sums are far from 0."""
    axes = (Axis.of_codes(0, 2), Axis.of_codes(1, 2))
    query = ScoreProducts([axes], {0: np.array([-32, 32]), 1: np.array([-32, 32])})
    return NoisyAnswer(
        asked=query.asked(),
        values=np.array([5_000]),
        noise="discrete gaussian",
        scale=100.0,
        paid_by=("model",),
    )


def test_products_get_noise_and_deviate_as_samples_do():
    """40 tables of 400 rows: deviation 32^2 sqrt(400), within 40 %; seeded. Control: of equal tables, none."""
    (drawn,) = add_noise([products()], KeyedRNG.from_seed(1))
    assert drawn.values[0] != 5_000
    assert drawn.scale == pytest.approx(100 * 2**0.5)
    rng = np.random.default_rng(0)
    tables = [CodeArray(rng.integers(0, 2, (400, 2)), (2, 2)) for _ in range(40)]
    found = np.array([d[0] for d in sampling_deviations([products()], tables)], dtype=float)
    assert found.std() == pytest.approx(32**2 * 20, rel=0.4)
    assert not np.any([d[0] for d in sampling_deviations([products()], tables[:1] * 2)])


def test_answers_about_raw_columns_are_no_learners():
    raw = NoisyAnswer(
        asked=QueryRecord(kind="values", columns=("a",)), values=np.zeros(2), noise="discrete gaussian", scale=1.0, paid_by=()
    )  # fmt: skip
    assert learner_answers([raw, answer()])[0].asked.kind == "counts"


def test_tables_deviate_as_samples_do():
    """Variance of multinomial counts: mean over cells within 10 % (they are 500, each of 40 draws)."""
    rng = np.random.default_rng(0)
    tables = [CodeArray(rng.integers(0, CELLS, (20_000, 1)), (CELLS,)) for _ in range(40)]
    found = sampling_deviations([answer("distances"), answer()], tables)
    counts = np.array([d[1] for d in found], dtype=float)
    assert counts.mean(axis=0) == pytest.approx(np.zeros(CELLS), abs=1e-9)
    assert counts.var(axis=0).mean() == pytest.approx(40, rel=0.1)
    assert all(d[0] == 0 for d in found)
