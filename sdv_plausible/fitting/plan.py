"""What a release will cost, decided before any row is looked at."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sdv_plausible.fitting.expected_noise import ExpectedNoise
from sdv_plausible.fitting.ledger_notes import sentences
from sdv_plausible.mechanism.privacy_tests.privacy_settings import Settings
from sdv_plausible.models.forecast import Forecast, looks_numeric, rows_needed
from sdv_plausible.models.learner_checks import far_share, makes, planned_entries, plausible_gamma
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.crossing import largest_within
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.utils.html_templates import fragment
from sdv_plausible.utils.printable import visible

_TITLE = "Plan (no row has been looked at)"
HARDLY_ANY = 10.0  # total epsilon from which on a plan warns
TRIED_EPSILONS = (0.01, 100.0)  # where an epsilon for an advantage is looked for


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The cost of a release, before it is made."""

    ledger: PrivacyLedger  # what the ledger will say
    # How the noise will show at the number of rows that was named; None if none was, or nothing is known
    forecast: Forecast | None = None
    # Rows, to a factor of two, at which columns and links stand well above the noise; None if nothing is
    # known
    rows_needed: int | None = None
    # What to expect of the output: none of it depends on the rows
    warnings: tuple[str, ...] = field(default=())
    # The epsilon that was planned with: the one given, or the largest that keeps a wanted advantage
    epsilon: float = math.nan

    def _notes(self) -> list[str]:
        notes = [] if self.forecast is None else [str(self.forecast)]
        if self.rows_needed is not None:
            notes.append(
                f"Columns and links stand well above the noise from about {self.rows_needed:,} rows on"
            )
        return notes

    def __str__(self) -> str:
        lines = [*(f"  {note}" for note in self._notes()), *(f"  ! {warning}" for warning in self.warnings)]
        return "\n".join([f"{_TITLE}\n{self.ledger}", *(visible(line, keep="") for line in lines)])

    def _repr_html_(self) -> str:
        notes = [*self._notes(), *(f"! {warning}" for warning in self.warnings)]
        return fragment(_TITLE) + self.ledger.to_html() + fragment(notes=notes)

    __repr__ = __str__


def plan(
    settings: Settings,
    learner: Any,
    domain: Domain,
    *,
    num_rows: int | None = None,
    table_rows: int | None = None,
    extra: tuple[LedgerEntry, ...] = (),
    assumed: Domain | None = None,
    public: bool = False,
) -> Plan:
    """Plan a release.

    Parameters
    ----------
    settings : Settings
        Privacy parameters.
    learner : object
        The model's learner, with a ``plan(domain, budget)`` that returns entries.
    domain : Domain
        The modelled columns.
    num_rows : int, optional
        Rows wanted, to compare with the row cap.
    table_rows : int, optional
        A public figure or guess for the number of rows of the table.
    extra : tuple of LedgerEntry
        Entries of the domain and the coins.
    assumed : Domain, optional
        For the forecast: with a usual number of codes where a column's domain is not known yet.
    public : bool
        Whether a published table stands beside the rows: what noise leaves of it is not foreseen.
    """
    for name, value in (("num_rows", num_rows), ("table_rows", table_rows)):
        if value is not None:
            check.whole(name, value, 1)
    settings.check_model(makes(learner))
    ledger = settings.empty_ledger()
    if (split := settings.random_split(learner)) is not None:
        ledger.split = split
    ledger.charge(*extra)
    budget = settings.model_budget(ledger)
    factor = settings.test.likelihood_factor
    ledger.charge(*settings.test.charge(plausible_gamma(learner, factor), far_share(learner, factor)))
    ledger.charge(*planned_entries(learner, domain, budget))
    ledger.charge(*sentences(settings, learner, domain))
    expected = ExpectedNoise(
        settings=settings, learner=learner, domain=assumed or domain, budget=budget, public=public
    )
    found = [*expected.warnings(table_rows, num_rows), *looks_numeric(domain)]
    if settings.neighbours.bias:
        found.append(f"person: {settings.neighbours.bias}")
    total = ledger.total()
    if HARDLY_ANY < total < math.inf:
        found.append(
            f"a total epsilon of {math.ceil(total):,} is hardly any protection: lower epsilon"
            + (
                f", row_cap ({cap:,}) or epsilon0, or use test='release'"
                if (cap := settings.test.row_limit)
                else ""
            )
        )
    return Plan(
        ledger=ledger,
        forecast=expected.forecast(table_rows) if table_rows else None,
        rows_needed=rows_needed(expected.forecast),
        warnings=tuple(found),
        epsilon=settings.epsilon,
    )


def epsilon_within(total: float, ledger_at: Callable[[float], PrivacyLedger]) -> float:
    """Largest epsilon with which the whole release, the privacy test included, costs at most a total."""
    check.positive("total", total, "try 1.0")
    lowest, highest = TRIED_EPSILONS
    if not (least := ledger_at(lowest).total()) <= total:
        raise ValueError(
            f"total ({total:g}) cannot be kept: at epsilon {lowest:g} the release costs {rounded_up(least)}. "
            "print(plan()) shows what is charged; RandomizedTest.within makes a test that costs less"
        )
    return largest_within(lambda epsilon: ledger_at(epsilon).total(), total, lowest, highest, rtol=1e-5)


def epsilon_for(max_advantage: float, ledger_at: Callable[[float], PrivacyLedger]) -> float:
    """Largest epsilon at which no attacker's advantage exceeds a limit."""
    # ``ledger_at`` is the ledger of a release at an epsilon; other charges may leave none that keeps the
    # limit, in (0, 1).
    check.open_probability("max_advantage", max_advantage, "try 0.05")
    lowest, highest = TRIED_EPSILONS

    def advantage(epsilon: float) -> float:
        return ledger_at(epsilon).attackers().advantage

    if advantage(lowest) > max_advantage:
        raise ValueError(
            f"max_advantage ({max_advantage!r}) cannot be kept by any epsilon from {lowest} on: "
            "print(plan()) shows what else is charged, or why no claim is made"
        )
    return largest_within(advantage, max_advantage, lowest, highest, rtol=1e-5)
