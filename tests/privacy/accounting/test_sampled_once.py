"""A fit of rows that were each kept by a coin, once: what the page on large tables says it saves and costs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import chi2

from sdv_plausible.privacy.accounting.composition import calibrate_gaussian, compose
from sdv_plausible.privacy.accounting.losses import GaussianLoss, gaussian_noise
from sdv_plausible.privacy.accounting.paper_theorems import paper_sampling_amplification
from sdv_plausible.privacy.accounting.sampled_gaussian import SampledGaussianLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.queries.budget_tracker import QueryBudget

PAGE = Path(__file__).parents[3] / "docs/how_to/large_tables.md"
EPSILON, DELTA, TABLE, SHARE = 1.0, 1e-9, 1e-3, 0.01  # as the page has them
FALSE_ALARM = 1e-6  # of the simulation; its seed is fixed


class Line(NamedTuple):
    n: float
    q: float
    kept: float
    equal_noise: float
    epsilon: float
    delta: float
    sigma: float
    all_rows: float
    sample: float
    sampling: float


def number(text: str) -> float:
    return float(text.replace("10^", "1e"))


def on_the_page() -> list[Line]:
    text = PAGE.read_text(encoding="utf-8")
    rows = text.partition("| n | q |")[2].splitlines()[2:]
    cells = [row.strip("| ").replace(", ", " | ").split(" | ") for row in rows if row.startswith("| 10^")]
    return [Line(*map(number, line)) for line in cells]


MU = calibrate_gaussian(EPSILON, DELTA)


def total(line: Line, mu: float) -> float:
    """Epsilon at the page's delta, read off the exact curve: the composed total is a little above it."""
    loss = SampledGaussianLoss(rate=line.q, sensitivity_over_sigma=mu)
    return float(brentq(lambda epsilon: max(map(float, loss.profile(epsilon))) - DELTA, 0, 20, xtol=1e-12))


def test_the_page_says_what_the_formulas_say() -> None:
    """To the digits that are printed; epsilons and sigmas rounded up."""
    assert [line.n for line in on_the_page()] == [1e6, 1e8, 1e8, 1e11]
    for line in on_the_page():
        assert line.kept == pytest.approx(line.q * line.n)
        assert total(line, MU) <= line.equal_noise <= 1.02 * total(line, MU)
        assert line.delta == pytest.approx(DELTA / line.q)
        inner = math.log1p(math.expm1(EPSILON) / line.q)
        assert 0.99 * inner < line.epsilon <= inner
        mu = calibrate_gaussian(line.epsilon, line.delta)
        sigma, of_all = (1 / (m * math.sqrt(TABLE)) for m in (mu, MU))
        assert sigma <= line.sigma <= 1.05 * sigma
        assert line.all_rows == pytest.approx(of_all / line.n, rel=0.03)
        assert line.sample == pytest.approx(sigma / line.kept, rel=0.03)
        assert line.sampling == pytest.approx(deviation(line.n, line.q), rel=0.01)


def at_once(mu: float) -> float:
    """Sensitivity over sigma of one answer that has a whole budget."""
    paid = LedgerEntry(name="all", mechanism="", losses=gaussian_noise(mu), scope="")
    return 1 / QueryBudget.of([paid]).sigma(1.0, granularity=1.0)  # the exact curve is of whole numbers


def test_what_the_fit_asks_for_keeps_the_total() -> None:
    """By the formula, and by the exact curve of the noise. Control: delta that is not divided, as if it grew."""
    for line in on_the_page():
        whole = paper_sampling_amplification(line.epsilon, line.delta, line.q)
        assert whole.epsilon <= EPSILON
        assert whole.delta == pytest.approx(DELTA)
        mu = at_once(calibrate_gaussian(line.epsilon, line.delta))
        # from about epsilon 6 on the budget is that of zero-concentrated privacy, not of this curve
        assert total(line, mu) <= EPSILON * (1 + 1e-6) or line.epsilon > 6
        too_much = at_once(calibrate_gaussian(line.epsilon, min(line.delta / line.q, 0.1)))
        assert total(line, too_much) > 1.05 * EPSILON
        # Planted: a fit's questions go to one sample; a hundred of them amplified one by one are below the curve of all.
        one_by_one = SampledGaussianLoss(rate=line.q, sensitivity_over_sigma=MU / 10, count=100)
        assert compose([one_by_one], DELTA) < 0.9 * total(line, MU)


def test_the_formula_is_the_gaussians_curve_point_by_point() -> None:
    """Also for rows that are added. Control: delta that stays as it is."""
    inner = np.linspace(0.1, 6, 30)
    of_kept = GaussianLoss(sensitivity_over_sigma=0.5).profile(inner)[0]
    for q in (0.5, 0.1, 0.001):
        outer = np.log1p(q * np.expm1(inner))
        remove, add = SampledGaussianLoss(rate=q, sensitivity_over_sigma=0.5).profile(outer)
        np.testing.assert_allclose(remove, q * of_kept, rtol=1e-6)
        assert (add <= remove * (1 + 1e-9)).all()
        assert (remove < 0.6 * of_kept).all()


def deviation(n: float, q: float, share: float = SHARE) -> float:
    """Of a share of the rows kept around that of all rows."""
    return math.sqrt(share * (1 - share) * (1 - q) / (q * n))


def test_shares_of_a_sample_scatter_as_said() -> None:
    """Control: the deviation of a sample from a population, whose rows are not left out of a table."""
    n, q, share, repeats = 20_000, 0.5, 0.2, 4_000
    rng = np.random.default_rng(0)
    holders, others = rng.binomial(int(n * share), q, repeats), rng.binomial(int(n * (1 - share)), q, repeats)
    squares = ((holders / (holders + others) - share) ** 2).sum()

    def is_plausible(sd: float) -> bool:
        tails = chi2.cdf(squares / sd**2, repeats), chi2.sf(squares / sd**2, repeats)
        return bool(min(tails) > FALSE_ALARM / 2)

    assert is_plausible(deviation(n, q, share))
    assert not is_plausible(deviation(n, q, share) / math.sqrt(1 - q))
