"""The promise page's table, line by line: c rows of a person in a release made for one, and with person=."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from cases import fast_and_slow
from scipy.optimize import brentq

from sdv_plausible import PlausibleDeniabilitySynthesizer
from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.gaussian import gaussian_log_delta
from sdv_plausible.privacy.accounting.losses import (
    ApproxDP,
    FloatArray,
    GaussianLoss,
    Loss,
    ReleaseLoss,
    both_directions,
)
from sdv_plausible.privacy.accounting.paper_theorems import floor_by_construction
from sdv_plausible.privacy.accounting.release_loss import release_margin, size_lower_bound_margin
from sdv_plausible.privacy.accounting.released_rows import released_rows_loss
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.queries.budget_tracker import QueryBudget
from sdv_plausible.queries.partition_selection import LEAST_HOLDERS, threshold
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.table.learned.private_domain import FIRST, DomainPlan
from tests.flat import values

PAGE = Path(__file__).parents[2] / "docs/explanation/privacy_promise.md"
LIMITATIONS = PAGE.with_name("limitations.md")
DELTA, EPSILON0, ROWS_OF_ONE = 1e-9, 1.0, (1, 2, 5, 10)
COLUMNS: dict[str, dict[str, Any]] = {
    "home": {"sdtype": "id"},
    **{f"c{i}": {"sdtype": "categorical"} for i in range(6)},
}
DOMAIN = {f"c{i}": {"range_values": list("abcdefgh")} for i in range(6)}
RANDOMIZED = {"domain": DOMAIN, "test": "randomized", "least_rows": 735_000}
SETTINGS: dict[str, dict[str, Any]] = {
    "default learner": {"domain": DOMAIN},
    "domain of six categories": {"undeclared": "private"},
    "release test with seeds": {"domain": DOMAIN, "omega": 3},
    "1,000 released": {**RANDOMIZED, "row_cap": 1000},
    "10,000 rows released": {**RANDOMIZED, "row_cap": 10_000},
}


def synth(case: str, rows: int = 1, **options: Any) -> PlausibleDeniabilitySynthesizer:
    person = {"person": "home", "rows_per_person": rows}
    metadata = metadata_from_columns(COLUMNS)
    return PlausibleDeniabilitySynthesizer(metadata, **values(**{**person, **SETTINGS[case], **options}))


class SeveralTimes(Loss):
    """All Gaussian noise of a release that was made for one row, seen by several: c times mu."""

    def __init__(self, made: PlausibleDeniabilitySynthesizer, rows: int) -> None:
        losses = [loss for loss in made.plan().ledger.losses if isinstance(loss, GaussianLoss)]
        self.mu = rows * math.sqrt(sum(loss.count * loss.mu**2 for loss in losses))

    def profile(self, epsilon: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        return both_directions(np.exp(gaussian_log_delta(self.mu, epsilon)))

    def epsilon(self, delta: float) -> float:
        if delta <= 0:
            return math.inf
        return float(brentq(lambda e: float(gaussian_log_delta(self.mu, e)) - math.log(delta), 0, 1000))


def new_values_shown(made: PlausibleDeniabilitySynthesizer, rows: int) -> float:
    """Chance that a value of one person alone is released, at thresholds and noise for one row."""
    plan = made._next_fit()._domain_plan(())
    share = plan.share(next(iter(plan.columns)))
    assert plan.has_two_rounds
    # Of the second looks each is taken for the one that gets all that they share.
    looks = (FIRST * share, (1 - FIRST) * share * len(DOMAIN))
    return sum(_new_values_of(plan, look, rows) for look in looks)


def _new_values_of(plan: DomainPlan, share: float, rows: int) -> float:
    sigma = QueryBudget(mu=plan.mu).sigma(share)
    least = threshold(sigma, plan.failure, ONE_ROW)
    z = np.arange(-math.ceil(30 * sigma), math.ceil(30 * sigma) + 1)
    weight = np.exp(-(z**2) / (2 * sigma**2)) / np.exp(-(z**2) / (2 * sigma**2)).sum()
    shown = [float(weight[LEAST_HOLDERS - 1 + new + z >= least].sum()) for new in range(rows + 1)]
    return len(DOMAIN) * max((j - 1) * shown[1] + shown[rows - j + 1] for j in range(1, rows + 1))


def made_for_one_row(case: str, rows: int) -> float:
    """What so many rows of a person cost in a release made for one row, by the theorems for several."""
    made = synth(case)
    if rows == 1:
        return made.plan().ledger.total()
    noise, settings = SeveralTimes(made, rows), made._fit_template.settings
    if case == "default learner":
        return noise.epsilon(DELTA)
    if case == "domain of six categories":
        return noise.epsilon(DELTA - new_values_shown(made, rows))
    seeds, a = settings.seed_delta, math.exp(-EPSILON0)
    if case == "release test with seeds":
        margin = release_margin(EPSILON0, seeds)
        shown = max(rows * a**margin, a ** (margin + 1 - rows)) / (1 + a)
        loss = ReleaseLoss(epsilon0=EPSILON0 * rows, delta=min(shown, 1.0), l1=rows)
        return math.inf if shown >= DELTA else compose([noise, loss], DELTA)
    test: Any = settings.test
    released = released_rows_loss(
        num_rows=test.row_cap, k=50, gamma=1.0, epsilon0=EPSILON0, delta=0.99 * seeds,
        pass_rate_floor=floor_by_construction(0.5, 50, EPSILON0, test.least_rows),
        n_lower=test.least_rows, neighbours=Neighbours(rows=rows), seed_free_share=0.5,
    )  # fmt: skip
    b = math.exp(-0.1)
    size_failure = b ** (size_lower_bound_margin(0.1, 0.01 * seeds) + 1 - rows) / (1 + b)
    size = ApproxDP(epsilon=0.1 * rows, delta=size_failure)
    return compose([noise, ApproxDP(epsilon=released.epsilon, delta=released.delta), size], DELTA)


def printed() -> dict[str, tuple[list[str], list[str]]]:
    """For every setting the page's two lines: made for one row, and with rows_per_person."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    first = next(i for i, line in enumerate(lines) if "| c = 1 |" in line) + 2
    found = {}
    for made, bounded in zip(lines[first::2], lines[first + 1 :: 2], strict=False):
        if "made for one row" not in made:
            break
        assert "the same with" in bounded
        case = next(name for name in SETTINGS if name in made)
        found[case] = tuple([cell.strip() for cell in line.split("|")[2:-1]] for line in (made, bounded))
    return found


def as_printed(value: float) -> str:
    """Three digits, rounded up: the officer's page never says less than is so."""
    if math.isinf(value):
        return "none"
    up = Decimal(rounded_up(value))
    return f"{up:.{2 if up < 10 else 1 if up < 100 else 0}f}"


@pytest.mark.parametrize("case", fast_and_slow(SETTINGS, lambda case: case != "1,000 released"))
def test_the_promise_pages_table(case: str) -> None:
    made, bounded = printed()[case]
    assert made == [as_printed(made_for_one_row(case, rows)) for rows in ROWS_OF_ONE]
    assert bounded == [as_printed(synth(case, rows).plan().ledger.total()) for rows in ROWS_OF_ONE]


def test_the_page_of_limitations_says_the_same() -> None:
    few, many = (printed()[case][0][0] for case in ("1,000 released", "10,000 rows released"))
    text = re.sub(r"\s+", " ", LIMITATIONS.read_text(encoding="utf-8"))
    assert f"({few} for 1,000 rows, {many} for 10,000, of a table of 735,000, at k 50 and epsilon0 1" in text


def test_the_pages_other_figures() -> None:
    text = re.sub(r"\s+", " ", PAGE.read_text(encoding="utf-8"))
    private = [synth("domain of six categories", rows) for rows in ROWS_OF_ONE]
    least = [f"{one._next_fit()._domain_plan(()).least_count:,}" for one in private]
    assert f"about {least[0]}, {least[1]}, {least[2]} or {least[3]} rows" in text
    tests: list[Any] = [
        synth("release test with seeds", rows)._fit_template.settings.test for rows in ROWS_OF_ONE
    ]
    assert "groups of {}, {}, {} or {} rows".format(*(test.least_seeds for test in tests)) in text
    assert "margin of {}, {}, {} or {} above".format(*(test.margin for test in tests)) in text
    replaced = [
        synth(case, person=None, neighbours="replace_one").plan().ledger.total()
        for case in ("default learner", "release test with seeds", "1,000 released")
    ]
    told = "the total is {} (with seeds {}, randomised test with 1,000 rows {})"
    assert told.format(*map(as_printed, replaced)) in text


def test_the_page_rounds_up() -> None:
    said = {1.4787: "1.48", 2.0731: "2.08", 12.118: "12.2", 101.2: "102", 1.0: "1.00"}
    assert [as_printed(value) for value in said] == [*said.values()]
