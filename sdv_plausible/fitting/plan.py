"""The plan of a release: its cost, before any row is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sdv_plausible.fitting.ledger_notes import sentences
from sdv_plausible.mechanism.privacy_tests.privacy_settings import Settings
from sdv_plausible.mechanism.privacy_tests.row_tests import DEFAULT_ROW_CAP
from sdv_plausible.models.base import Learner, ModelBudget
from sdv_plausible.models.forecast import Forecast, numeric_category_warnings, rows_needed
from sdv_plausible.models.learner_checks import (
    impossible_seed_probability,
    model_class,
    planned_entries,
    plausible_gamma,
)
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.crossing import largest_within
from sdv_plausible.privacy.entries import LedgerEntry, Part
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.queries.transcript import ALL_ROWS, NoisyAnswer
from sdv_plausible.release.intervals.measured_counts import number_of_rows
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.utils.text_output import escape_controls

if TYPE_CHECKING:
    from sdv_plausible.fitting.frontier import Frontier

_TITLE = "Plan (no rows have been read)"
HARDLY_ANY = 10.0  # a plan warns above this total epsilon, and refuses a default row cap above it
TRIED_EPSILONS = (0.01, 100.0)  # range of the search for an epsilon


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The planned cost and accuracy of a release. It does not depend on the rows.

    Attributes
    ----------
    ledger : PrivacyLedger
        All charges of the fit.
    forecast : Forecast or None
        Effect of the noise at the given number of rows; None if no number was given or no forecast exists.
    rows_needed : int or None
        Rows, to a factor of two, from which columns and dependences exceed the noise; None if unknown.
    warnings : tuple of str
        What to expect of the output.
    epsilon : float
        Epsilon of the plan: the given one, or the largest that keeps a given total or advantage.
    """

    ledger: PrivacyLedger
    forecast: Forecast | None = None
    rows_needed: int | None = None
    warnings: tuple[str, ...] = field(default=())
    epsilon: float = math.nan
    _frontier: Callable[..., Frontier] | None = field(default=None, repr=False, compare=False)

    def frontier(self, ks: Sequence[int] | None = None) -> Frontier:
        """Compare values of k under :class:`~sdv_plausible.RandomizedTest`, from public figures alone.

        Each row of the table is one test: k, epsilon0, the total epsilon, and the share of candidates that
        pass, as a lower bound and as expected where the kept values are spread evenly. The totals are for the
        rows wanted (``num_rows`` of the plan, else ``row_cap``) and the model's epsilon of this plan.

        Parameters
        ----------
        ks : sequence of int, optional
            Values of k, >= 1. By default from a quarter of the plan's k to eight times it.

        Returns
        -------
        Frontier
            A tuple of rows, which prints as a table; its ``figure()`` draws them.

        Raises
        ------
        ValueError
            If the test is another one, or a k is below 1.
        """
        if self._frontier is None:
            raise ValueError("this plan has no frontier: only plans from plan() have one")
        return self._frontier(ks=ks)

    def _notes(self) -> list[str]:
        notes = [] if self.forecast is None else [str(self.forecast)]
        if self.rows_needed is not None:
            notes.append(
                f"Columns and dependences clearly exceed the noise from about {self.rows_needed:,} rows on"
            )
        return notes

    def __str__(self) -> str:
        lines = [*(f"  {note}" for note in self._notes()), *(f"  ! {warning}" for warning in self.warnings)]
        return "\n".join([f"{_TITLE}\n{self.ledger}", *(escape_controls(line, keep="") for line in lines)])

    def _repr_html_(self) -> str:
        from sdv_plausible.utils.html_templates import fragment

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
    """Plan a release from public facts alone.

    Parameters
    ----------
    settings : Settings
        Privacy parameters.
    learner : Learner
        The learner of the model.
    domain : Domain
        The modelled columns.
    num_rows : int, optional
        Synthetic rows wanted, >= 1, to compare with the row cap.
    table_rows : int, optional
        Public figure or guess for the number of rows of the table, >= 1.
    extra : tuple of LedgerEntry
        Entries charged before the model: domain, types, random state.
    assumed : Domain, optional
        Domain for the forecast, with a typical number of codes for columns to be learned.
    public : bool
        Whether learning starts from a published table, for which there is no forecast.

    Returns
    -------
    Plan

    Raises
    ------
    ValueError
        If a number of rows is below 1, or the model does not fit the privacy test.
    """
    for name, value in (("num_rows", num_rows), ("table_rows", table_rows)):
        if value is not None:
            check.whole(name, value, 1)
    ledger = _planned_ledger(settings, learner, domain, extra)
    _check_row_cap(settings, ledger)
    budget = settings.model_budget(_ledger_before_model(settings, learner, extra))
    expected = ExpectedNoise(
        settings=settings, learner=learner, domain=assumed or domain, budget=budget, public=public
    )
    warnings = [*expected.warnings(table_rows, num_rows), *numeric_category_warnings(domain)]
    if settings.neighbours.bias:
        warnings.append(f"person: {settings.neighbours.bias}")
    warnings += large_total_warnings(settings, ledger.total())
    return Plan(
        ledger=ledger,
        forecast=expected.forecast(table_rows) if table_rows else None,
        rows_needed=rows_needed(expected.forecast),
        warnings=tuple(warnings),
        epsilon=settings.epsilon,
        _frontier=partial(_frontier_of, settings, learner, domain, extra, assumed or domain, num_rows),
    )


def large_total_warnings(settings: Settings, total: float) -> list[str]:
    """Warning of a total that is hardly any protection, with the parameters that lower it."""
    if not HARDLY_ANY < total < math.inf:
        return []
    lower = "lower epsilon"
    if settings.total is None and settings.test.row_limit:
        lower += f", row_cap ({settings.test.row_limit:,}) or epsilon0, or use test='release'"
    elif settings.total is None and settings.test.uses_seeds:
        lower += " or epsilon0"
    return [f"a total epsilon of {math.ceil(total):,} is hardly any protection: {lower}"]


def _check_row_cap(settings: Settings, ledger: PrivacyLedger) -> None:
    """Refuse the default row cap where the rows alone cost more than hardly any protection."""
    test = settings.test
    if getattr(test, "row_cap", 0) is not None or not test.has_delta or not ledger.claims_privacy:
        return
    losses = [loss for entry in ledger.entries if entry.name == "rows" for loss in entry.losses]
    cost = compose(losses, settings.seed_delta)
    if HARDLY_ANY < cost < math.inf:
        raise check.Refused.saying(
            "row_cap",
            f"row_cap ({DEFAULT_ROW_CAP:,}, the default) is the number of rows that the fit pays for. They "
            f"would cost epsilon {math.ceil(cost):,}. Set it to the number of rows that you will release, as "
            "in RandomizedTest(row_cap=1_000). RandomizedTest.within(rows=1_000, least_rows=20_000) "
            "keeps all of the release within epsilon. With test='release' rows are free",
        )


def _ledger_before_model(settings: Settings, learner: Any, extra: tuple[LedgerEntry, ...]) -> PrivacyLedger:
    ledger = settings.empty_ledger()
    if (split := settings.random_split(learner)) is not None:
        ledger.split = split
    ledger.charge(*extra)
    return ledger


def _planned_ledger(
    settings: Settings, learner: Any, domain: Domain, extra: tuple[LedgerEntry, ...]
) -> PrivacyLedger:
    """The ledger of a whole fit."""
    settings.check_model(model_class(learner))
    ledger = _ledger_before_model(settings, learner, extra)
    budget = settings.model_budget(ledger)
    factor = settings.test.likelihood_factor
    ledger.charge(
        *settings.test.charge(plausible_gamma(learner, factor), impossible_seed_probability(learner, factor))
    )
    ledger.charge(*planned_entries(learner, domain, budget))
    ledger.charge(*sentences(settings, learner, domain))
    return ledger


def _frontier_of(
    settings: Settings,
    learner: Any,
    domain: Domain,
    extra: tuple[LedgerEntry, ...],
    assumed: Domain,
    num_rows: int | None,
    ks: Sequence[int] | None,
) -> Frontier:
    from sdv_plausible.fitting.frontier import frontier

    factor = settings.test.likelihood_factor
    return frontier(
        settings,
        assumed.cardinalities,
        num_rows,
        plausible_gamma(learner, factor) == 1 and not impossible_seed_probability(learner, factor),
        lambda changed: _planned_ledger(changed, learner, domain, extra),
        ks,
    )


def epsilon_within(total: float, ledger_at: Callable[[float], PrivacyLedger]) -> float:
    """Largest epsilon whose whole release, the privacy test included, costs at most ``total``."""
    check.positive("total", total, "try 1.0")
    lowest, highest = TRIED_EPSILONS
    if not (least := ledger_at(lowest).total()) <= total:
        raise ValueError(
            f"total ({total:g}) cannot be reached: at epsilon {lowest:g} the release costs "
            f"{rounded_up(least)}. print(plan()) lists the charges; RandomizedTest.within finds a cheaper "
            "test"
        )
    return largest_within(lambda epsilon: ledger_at(epsilon).total(), total, lowest, highest, rtol=1e-5)


def epsilon_for(max_advantage: float, ledger_at: Callable[[float], PrivacyLedger]) -> float:
    """Largest epsilon with an attacker's advantage of at most ``max_advantage``, in (0, 1)."""
    check.open_probability("max_advantage", max_advantage, "try 0.05")
    lowest, highest = TRIED_EPSILONS

    def advantage(epsilon: float) -> float:
        return ledger_at(epsilon).attackers().advantage

    if advantage(lowest) > max_advantage:
        raise ValueError(
            f"max_advantage ({max_advantage!r}) cannot be reached by any epsilon from {lowest} on: "
            "print(plan()) lists the other charges, or why there is no privacy guarantee"
        )
    return largest_within(advantage, max_advantage, lowest, highest, rtol=1e-5)


_OF_MODEL: set[Part] = {"structure", "parameters", "seeds"}


@dataclass(frozen=True, kw_only=True, eq=False)
class ExpectedNoise:
    """Expected noise of a release, from public facts; its methods take a number of rows."""

    settings: Settings
    learner: Learner
    domain: Domain
    budget: ModelBudget
    public: bool = False  # learning starts from a published table: there is no forecast

    @classmethod
    def of(
        cls,
        settings: Settings,
        learner: Learner,
        domain: Domain,
        ledger: PrivacyLedger,
        *,
        public: bool = False,
    ) -> ExpectedNoise:
        """Expected noise of a finished fit, with the model budget that its ledger shows."""
        before = settings.empty_ledger()
        for entry in ledger.entries:
            if not entry.envelope and entry.losses and _OF_MODEL & {*entry.parts}:
                break
            before.charge(entry)
        budget = settings.model_budget(before)
        return cls(settings=settings, learner=learner, domain=domain, budget=budget, public=public)

    def forecast(self, rows: int) -> Forecast | None:
        """Forecast at a number of rows; None if the learner has none."""
        if self.public or not len(self.domain):
            return None
        share = sum(self.settings.split[:2]) if self.settings.split else 1.0  # of the rows, for learning
        forecast = self.learner.forecast(self.domain, self.budget, max(round(share * rows), 1))
        return replace(forecast, rows=rows) if forecast else None

    def warnings(self, rows: int | None, wanted: int | None = None) -> list[str]:
        """Warnings of output close to noise, or of none, for ``wanted`` synthetic rows."""
        forecast = self.forecast(rows) if rows else None
        return [*self.settings.test.warnings(wanted, rows), *(forecast.warnings() if forecast else [])]

    def rows_of(self, answers: Sequence[NoisyAnswer]) -> int | None:
        """The noisy number of rows, at least 1; None if no answer contains it."""
        split = self.settings.split
        if split is None:
            is_counted = any(answer.rows == ALL_ROWS and _counts_rows(answer) for answer in answers)
            return max(number_of_rows(answers, len(self.domain)), 1) if is_counted else None
        shares = {
            "structure": split[0],
            "parameters": split[1],
            "learning": sum(split[:2]),
            "seeds": split[2],
        }
        sums = [a.values.sum() / shares[a.rows] for a in answers if _counts_rows(a) and shares.get(a.rows)]
        return max(round(float(np.mean(sums))), 1) if sums else None


def _counts_rows(answer: NoisyAnswer) -> bool:
    return answer.asked.kind in ("counts", "number of rows")
