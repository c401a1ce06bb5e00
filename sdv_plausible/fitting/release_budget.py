"""A budget over several releases: fits of the same rows draw from one file, and never more than is in it.

Proofs: ``docs/explanation/proofs/budget.md``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sdv_plausible.privacy.accounting.losses import Loss
from sdv_plausible.privacy.accounting.privacy_filters import FILTERS, Cost, add_up
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import BudgetExceededError, PrivacyLedger, conclusions
from sdv_plausible.privacy.ledger_record import CONDITION, PUBLIC, gain, right_by, rounded_up, total_of
from sdv_plausible.privacy.noise.opendp import check_there
from sdv_plausible.privacy.parameter_checks import Refused, one_of
from sdv_plausible.table.cells.canonical_forms import LONGEST_TEXT, is_text
from sdv_plausible.utils.atomic_files import locked
from sdv_plausible.utils.printable import visible

if TYPE_CHECKING:
    from sdv_plausible.fitting.budget_file import BudgetCharge, BudgetState

FilterName = Literal["sum", "rho"]


ROUNDING = 1e-9  # a ledger that was written down adds up in another order


class Budget:
    """A total for everything that is released from one table, kept in a file.

    A fit draws from it before it looks at a row, and what was drawn stays drawn, also if the fit fails. A fit
    that would exceed the total is refused. The epsilon of each fit may be chosen after seeing earlier
    releases.

    Parameters
    ----------
    epsilon, delta : float
        What all fits together may cost; epsilon > 0, delta in (0, 1).
    path : str or Path
        The file; made if it is not there. One file for one table: who deletes or copies it loses count.
    filter : {"sum", "rho"}
        How fits add up, fixed when the file is made. ``"sum"``: the epsilons and the deltas add up; for every
        kind of fit. ``"rho"``: squares add up, so that several fits cost much less; for Gaussian noise alone
        (the default ``test``).

    Raises
    ------
    ValueError
        If a parameter is out of range or not what the file was made with, or the file is damaged.

    Examples
    --------
    >>> budget = Budget(epsilon=1.0, delta=1e-8, path="census.budget")  # doctest: +SKIP
    >>> synth = PlausibleDeniabilitySynthesizer(metadata, epsilon=0.3, budget=budget)  # doctest: +SKIP
    >>> synth.fit(table)  # doctest: +SKIP
    >>> print(budget)  # doctest: +SKIP
    """

    def __init__(self, epsilon: float, delta: float, path: str | Path, *, filter: FilterName = "sum") -> None:
        self._filter = FILTERS[one_of("filter", filter, FILTERS)](epsilon, delta)
        self._path = Path(path).resolve()  # a link to it is the same budget
        with locked(self._path):
            if self._path.exists():
                self._read()
            else:
                from sdv_plausible.fitting.budget_file import BudgetState

                BudgetState(filter=self._filter).write(self._path)

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def draw(
        self,
        planned: PrivacyLedger,
        what: str = "a fit",
        *,
        then: PrivacyLedger | None = None,
        when: str | None = None,
    ) -> BudgetCharge:
        """Charge a fit, before it looks at a row.

        Parameters
        ----------
        planned : PrivacyLedger
            Everything that the fit will charge.
        what : str
            The fit in words, for the file.
        then : PrivacyLedger, optional
            What the fit may charge later, by another call: for that there must be room, too.
        when : str, optional
            Of the fit's earlier charge, which stands under the same date and words.

        Returns
        -------
        Charge
            The charge as it was written down.

        Raises
        ------
        BudgetExceededError
            If less is left. Nothing is charged then.
        ValueError
            If the fit makes no claim, protects others than the earlier fits, or costs what the filter cannot
            count; nothing is charged.
        """
        self.check_claim(planned)
        check_there()
        cost = self._filter.cost(planned.losses, planned.delta)
        later = [] if then is None else [self._filter.cost(then.losses, then.delta)]
        again = when is not None
        when = when or datetime.now(timezone.utc).isoformat(timespec="microseconds")
        with locked(self._path):
            state = self._read()
            earlier, now = state.neighbours, planned.neighbours
            if earlier not in (None, now):
                raise ValueError(
                    f"budget: this fit is for the {now.relation}, and earlier ones are for the "
                    f"{earlier.relation}: fit with the same person and neighbours"
                )
            if not state.filter.admits([*state.costs, cost, *later]):
                raise BudgetExceededError(_too_much(state, _floats(add_up([cost, *later])), again=again))
            from sdv_plausible.fitting.budget_file import BudgetCharge

            assumes = any(one.assumed_types for one in (planned, then) if one is not None)
            charge = BudgetCharge(when=when, what=what, cost=cost, assumes_types=assumes)
            state.with_charge(charge, planned.neighbours).write(self._path)
        return charge

    def check_claim(self, planned: PrivacyLedger) -> None:
        """Raise ValueError for a fit that makes no claim, which can draw nothing."""
        if not planned.claims_privacy:
            raise ValueError(
                f"budget: a fit without a claim cannot draw from it. {planned.sentence()} Mend that, or fit "
                "with budget=None and release nothing of it"
            )

    def cost_of(self, when: str, what: str) -> dict[str, float] | None:
        """Return what a fit drew, in the units of the filter; None if it did not draw from this budget."""
        found = [fit.cost for fit in self._read().fits if (fit.when, fit.what) == (when, what)]
        return _floats(add_up(found)) if found else None

    def holds(self, when: str, what: str) -> bool:
        """Whether a charge is in this budget."""
        return self.cost_of(when, what) is not None

    def covers(self, ledger: PrivacyLedger) -> bool:
        """Whether a release may be one of those that were charged here: as much was, for the same unit."""
        state = self._read()
        if not ledger.claims_privacy or state.neighbours != ledger.neighbours:
            return False
        try:
            cost = self._filter.cost(ledger.losses, ledger.delta)
        except ValueError:  # what this filter cannot count was never charged to it
            return False
        charged = _total(state)
        return all(charged[unit] >= amount * (1 - ROUNDING) for unit, amount in cost.items())

    def left(self, delta: float) -> float:
        """Return the epsilon that a further fit may ask for at its delta; 0 for none.

        Under filter "rho" for Gaussian noise; thresholds of a learned domain take from delta besides.
        """
        state = self._read()
        return state.filter.left(state.costs, delta)

    def charged(self) -> dict[str, float]:
        """Return what was charged so far, in the units of the filter."""
        return _total(self._read())

    def sentence(self) -> str:
        """Return the guarantee of everything released, in one quotable sentence."""
        state = self._read()
        if not state.fits or state.neighbours is None:
            return "Nothing has been charged to this budget yet: no row has been looked at."
        number = len({(fit.when, fit.what) for fit in state.fits})  # one that counted rows has two charges
        fits = "1 fit" if number == 1 else f"{number} fits"
        epsilon, delta, unit = state.filter.epsilon, state.filter.delta, state.neighbours
        is_conditional = any(fit.assumes_types for fit in state.fits)
        source, right = "everything charged to this budget", right_by(epsilon, delta)
        stated = total_of(epsilon, delta, unit.relation, is_conditional=is_conditional)
        return (
            f"{gain(right, unit.question, source, is_conditional=is_conditional)} {stated}: every conclusion "
            f"that anyone can draw from everything released by the {fits} charged to this budget, and by "
            "those still to come, each chosen in the light of earlier releases or not, "
            f"{conclusions(unit, epsilon, delta)}. {PUBLIC}"
        )

    def __str__(self) -> str:
        state = self._read()
        limits, total = state.filter.limits, _total(state)
        of = ", ".join(
            f"{unit} {rounded_up(total[unit], 4)} of {rounded_up(limit, 4)}" for unit, limit in limits.items()
        )
        lines = [self.sentence(), "", f"  Charged so far: {of} (filter {state.filter.name!r})"]
        for fit in state.fits:
            spent = ", ".join(f"{unit} {rounded_up(cost, 4)}" for unit, cost in fit.cost.items())
            lines.append(f"  {fit.when}  {spent}  {fit.what}{f', {CONDITION}' if fit.assumes_types else ''}")
        return "\n".join(visible(line, keep="") for line in lines)

    def __repr__(self) -> str:
        try:
            return str(self)
        except (OSError, ValueError) as error:
            return str(error)

    # --- the file ---------------------------------------------------------------------------------------

    def _read(self) -> BudgetState:
        from sdv_plausible.fitting.budget_file import BudgetState

        state = BudgetState.read(self._path)
        if state.filter != self._filter:
            there = state.filter
            raise Refused.saying(
                "epsilon",
                f"epsilon ({self._filter.epsilon:g}), delta ({self._filter.delta:g}), filter "
                f"({self._filter.name!r}) must be those that {str(self._path)!r} was made with: "
                f"{there.epsilon:g}, {there.delta:g}, {there.name!r}",
            )
        return state


def check_budget(budget: Any) -> None:
    """Raise ValueError for what nothing can be drawn from."""
    if not isinstance(budget, (Budget, type(None))):
        raise Refused("budget", budget, "must be a Budget, or None", "try Budget(1.0, 1e-8, path)")


def check_texts(planned: PrivacyLedger) -> None:
    """Raise ValueError for words that no file could hold: the fit would be paid, and its release lost."""
    for entry in planned.entries:
        if not all(map(is_text, (entry.mechanism, entry.note))):
            raise ValueError(
                f"ledger: its words on {entry.name} are longer than {LONGEST_TEXT:,} letters, or hold half a "
                "character (a lone surrogate): shorten the sources of declarations and rules, or take fewer"
            )


def only_planned(planned: PrivacyLedger) -> Callable[[tuple[Loss, ...]], None]:
    """Refuse, for a ledger's ``before_charge``, whatever was not planned, and so drawn, beforehand."""
    said = Counter((*planned.losses, *planned.within))

    def check_planned(losses: tuple[Loss, ...]) -> None:
        if not Counter(losses) <= said:
            raise BudgetExceededError(
                "this fit charges what its plan did not say, such as a learner whose plan depends on a "
                "learned domain: declare the domain. What was drawn from a budget stays drawn"
            )

    return check_planned


def draw_all(
    ledger: PrivacyLedger,
    planned: PrivacyLedger,
    budget: Budget | None,
    what: str,
    due: Callable[[Budget, PrivacyLedger], PrivacyLedger] = lambda _, planned: planned,
    count: Sequence[LedgerEntry] = (),
) -> tuple[dict[str, str] | None, Callable[[], dict[str, str] | None] | None]:
    """Draw what was planned, the last thing before the first look: the ledger then charges nothing beyond it.

    ``due`` says what of it a budget has not paid yet. Of a ``count`` that comes first, the pure entries are
    drawn alone, and the rest by what is returned, once there are rows enough. Returns also when it was drawn,
    and as what.
    """
    charge, rest = None, None
    if budget is not None:
        budget.check_claim(planned)  # of all of it, before a part is drawn
    if budget is not None and not count:
        charge = _drawn(budget, due(budget, planned), what)
    elif budget is not None:
        first, then = _apart(planned, count)
        left = due(budget, then)
        charge = _drawn(budget, first, what, then=left)
        rest = partial(_drawn, budget, left, what, when=charge["when"])
    if planned.claims_privacy:
        ledger.before_charge = only_planned(planned)
    return charge, rest


def _drawn(budget: Budget, planned: PrivacyLedger, what: str, **more: Any) -> dict[str, str]:
    drawn = budget.draw(planned, what, **more)
    return {"when": drawn.when, "what": drawn.what}


def _apart(planned: PrivacyLedger, count: Sequence[LedgerEntry]) -> tuple[PrivacyLedger, PrivacyLedger]:
    """What a plan charges for a count that comes first, which takes nothing of delta, and the rest."""
    first = PrivacyLedger(delta=0.0, covers=planned.covers, neighbours=planned.neighbours)
    first.charge(*count)
    rest = PrivacyLedger(delta=planned.delta, covers=planned.covers, neighbours=planned.neighbours)
    rest.charge(*(entry for entry in planned.entries if entry not in count))
    return first, rest


def _total(state: BudgetState) -> dict[str, float]:
    total: dict[str, Any] = add_up(state.costs)
    return {unit: float(total.get(unit, 0)) for unit in state.filter.limits}


def _floats(cost: Mapping[str, Any]) -> dict[str, float]:
    return {unit: float(amount) for unit, amount in cost.items()}


def _too_much(state: BudgetState, cost: Cost, *, again: bool) -> str:
    total = _total(state)
    what = "; ".join(
        f"{unit} {rounded_up(cost[unit], 4)} wanted, "
        f"{max(0.0, -float(rounded_up(total[unit] - limit, 4))):g} of {rounded_up(limit, 4)} left"
        for unit, limit in state.filter.limits.items()
    )
    return (
        f"budget: this fit would exceed it ({what}): ask for less, budget.left(delta) says how much. "
        f"Nothing{' but its count of the rows' if again else ''} was charged"
    )
