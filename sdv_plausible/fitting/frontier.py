"""The frontier of a row-by-row test: k against the total and the share of candidates that pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sdv_plausible.mechanism.privacy_tests.contract import PREFIX_CELLS
from sdv_plausible.mechanism.privacy_tests.privacy_settings import Settings
from sdv_plausible.mechanism.privacy_tests.row_tests import RandomizedTest, cheapest
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.paper_theorems import log_pass_probability
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.neighbours import ONE_ROW

FACTORS = (1 / 4, 1 / 2, 1, 2, 4, 8)  # values of k in the table, as multiples of the plan's


class FrontierRow(NamedTuple):
    """One test of a frontier.

    Attributes
    ----------
    k : int
        Centre of the threshold, >= 1.
    epsilon0 : float
        Inverse scale of the threshold's noise: the plan's own at its k, else about the cheapest.
    total : float
        Total epsilon of the release, the model included; infinite if k is out of reach.
    least_share : float
        Lower bound on the share of candidates that pass, in [0, 1].
    expected_share : float or None
        Share that passes where the kept values are spread evenly; None for models without prefix groups.
    """

    k: int
    epsilon0: float
    total: float
    least_share: float
    expected_share: float | None


class Frontier(tuple[FrontierRow, ...]):
    """Rows of a frontier by increasing k, printed as a table; ``figure`` draws them."""

    __slots__ = ()

    def __str__(self) -> str:
        head = ("k", "epsilon0", "total epsilon", "pass at least", "pass if even")
        cells = [head, *(_texts(row) for row in self)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join(
            "  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True)) for line in cells
        )

    __repr__ = __str__

    def figure(self) -> Any:
        """Draw total epsilon and expected share that passes (else its lower bound) against k in reach.

        Returns
        -------
        plotly.graph_objects.Figure
            Both curves, with an axis each.
        """
        import plotly.graph_objects as go

        rows = [row for row in self if math.isfinite(row.total)]
        ks = [row.k for row in rows]
        shares = [row.least_share if row.expected_share is None else row.expected_share for row in rows]
        figure = go.Figure(layout={"template": "plotly_white", "width": 760, "height": 420})
        figure.add_scatter(x=ks, y=[row.total for row in rows], name="total epsilon", line_color="#0072B2")
        figure.add_scatter(x=ks, y=shares, name="share that passes", line_color="#D55E00", yaxis="y2")
        figure.update_layout(
            xaxis={"title": "k", "type": "log", "tickvals": ks},
            yaxis={"title": "total epsilon", "type": "log"},
            yaxis2={"title": "share of candidates that pass", "overlaying": "y", "side": "right",
                    "range": [0, 1.05], "tickvals": [0, 0.25, 0.5, 0.75, 1], "showgrid": False},
            legend={"orientation": "h", "y": 1.15}, font_size=14,
        )  # fmt: skip
        return figure


def _texts(row: FrontierRow) -> tuple[str, ...]:
    if math.isinf(row.total):
        return f"{row.k:,}", "-", "out of reach", "-", "-"
    least = f"{math.floor(1000 * row.least_share) / 1000:.3f}"
    expected = "-" if row.expected_share is None else f"{row.expected_share:.3f}"
    return f"{row.k:,}", rounded_up(row.epsilon0, 4), rounded_up(row.total), least, expected


def frontier(
    settings: Settings,
    cardinalities: Sequence[int],
    num_rows: int | None,
    has_prefix_groups: bool,
    ledger_of: Callable[[Settings], PrivacyLedger],
    ks: Sequence[int] | None = None,
) -> Frontier:
    """The frontier around the settings' test; see :meth:`~sdv_plausible.fitting.plan.Plan.frontier`."""
    test = settings.test
    if not isinstance(test, RandomizedTest):
        raise ValueError(
            f"test ({test.name!r}) has no frontier: the total depends on k and the number of rows only "
            "under RandomizedTest"
        )
    test = test if num_rows is None else replace(test, row_cap=num_rows)
    if ks is None:
        wanted = {max(1, round(factor * test.k)) for factor in FACTORS}
        wanted = {k for k in wanted if k == test.k or k < test.least_rows}
    else:
        wanted = {check.whole("ks", k, 1, "give a sequence of whole numbers, such as [20, 50]") for k in ks}
    rows = []
    for k in sorted(wanted):
        there = _at(settings, test, k)
        try:
            total = ledger_of(there).total()
        except ValueError:  # k is out of reach
            total = math.inf
        assert isinstance(there.test, RandomizedTest)
        least, expected = pass_shares(there.test, cardinalities)
        even = expected if has_prefix_groups and not test.hidden_omega else None
        rows.append(FrontierRow(k, there.test.epsilon0, total, least, even))
    return Frontier(rows)


def _at(settings: Settings, test: RandomizedTest, k: int) -> Settings:
    """The settings at another k, with about the cheapest epsilon0."""
    if k != test.k:
        if settings.neighbours == ONE_ROW:
            test = cheapest(replace(test, k=k), settings.seed_delta)[0]
        else:
            test = replace(test, k=k, epsilon0=test.epsilon0 * test.k / k)
    return replace(settings, test=test)


def pass_shares(test: RandomizedTest, cardinalities: Sequence[int]) -> tuple[float, float]:
    """Share of candidates that pass: a lower bound, and the expectation for evenly spread kept values.

    ``cardinalities`` are the columns' numbers of values. All records are plausible seeds of candidates
    without a seed. Other candidates keep some columns, with at most as many combinations as the largest have.
    """
    parameters, sizes = test.row_parameters(1.0), sorted(cardinalities, reverse=True)
    k, epsilon0, noise = (parameters[name] for name in ("k", "epsilon0", "noise"))
    if test.omega is None:
        combinations = [PREFIX_CELLS]
    elif test.omega.is_all:
        combinations = [1]
    else:
        resampled = range(test.omega.low, test.omega.high + 1)
        combinations = [math.prod(sizes[: max(0, len(sizes) - number)]) for number in resampled]
    n = min(number for number in (test.least_rows, test.max_check_plausible) if number is not None)
    groups = [min(n / cells, test.stop or n) for cells in combinations]
    passing = np.exp(log_pass_probability(groups, k, epsilon0, noise))
    least = parameters["pass_rate_floor"]
    return least, least + (1 - test.seed_free_share) * float(passing.mean())
