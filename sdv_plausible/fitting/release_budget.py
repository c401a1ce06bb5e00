"""A privacy budget over several releases of the same table, kept in a file.

Proofs: ``docs/explanation/proofs/budget.md``.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal

from sdv_plausible.privacy.accounting.privacy_filters import FILTERS, Cost, PrivacyFilter, add_up
from sdv_plausible.privacy.ledger import BudgetExceededError, PrivacyLedger, bound_on_outcomes
from sdv_plausible.privacy.ledger_record import (
    CONDITION,
    PUBLIC,
    attacker_accuracy,
    attacker_sentence,
    rounded_up,
    total_sentence,
)
from sdv_plausible.privacy.neighbours import Neighbours, neighbours_from_fields
from sdv_plausible.privacy.noise.opendp import check_opendp
from sdv_plausible.privacy.parameter_checks import Refused, one_of
from sdv_plausible.utils.atomic_files import locked, write_atomically
from sdv_plausible.utils.file_paths import open_regular_file
from sdv_plausible.utils.json_schema import strict_json
from sdv_plausible.utils.text_output import escape_controls

FilterName = Literal["sum", "rho"]


ROUNDING = 1e-9  # relative error of sums in another order


class Budget:
    """A total privacy budget for everything that is released from one table, kept in a file.

    Each fit draws its cost before it reads a row. What was drawn stays drawn, even if the fit fails. A fit
    that would exceed the total raises an error. You may choose epsilon after seeing earlier releases.

    Parameters
    ----------
    epsilon, delta : float
        Total cost of all fits; epsilon > 0, delta in (0, 1).
    path : str or Path
        The file; created if missing. Use one file per table, and neither delete nor copy it.
    filter : {"sum", "rho"}
        How costs compose, fixed in the file. ``"sum"`` adds epsilons and deltas, for any fit. ``"rho"`` adds
        squared noise parameters, so that several fits cost much less, for Gaussian noise only (the default
        ``test``).

    Raises
    ------
    ValueError
        If a parameter is out of range or differs from the file, or the file is damaged.

    Examples
    --------
    >>> budget = Budget(epsilon=1.0, delta=1e-8, path="census.budget")  # doctest: +SKIP
    >>> synth = PlausibleDeniabilitySynthesizer(metadata, epsilon=0.3, budget=budget)  # doctest: +SKIP
    >>> synth.fit(table)  # doctest: +SKIP
    >>> print(budget)  # doctest: +SKIP
    """

    def __init__(self, epsilon: float, delta: float, path: str | Path, *, filter: FilterName = "sum") -> None:
        self._filter = FILTERS[one_of("filter", filter, FILTERS)](epsilon, delta)
        self._path = Path(path).resolve()  # a symbolic link is the same budget
        with locked(self._path):
            if self._path.exists():
                self._read()
            else:
                BudgetState(filter=self._filter).write(self._path)

    @property
    def path(self) -> Path:
        """Path of the file."""
        return self._path

    def draw(
        self,
        planned: PrivacyLedger,
        what: str = "a fit",
        *,
        then: PrivacyLedger | None = None,
        when: str | None = None,
    ) -> BudgetCharge:
        """Charge a fit before it reads a row.

        Parameters
        ----------
        planned : PrivacyLedger
            Everything that the fit will charge.
        what : str
            Name of the fit in the file.
        then : PrivacyLedger, optional
            What the fit may charge later by another call; the budget must hold both.
        when : str, optional
            Date of an earlier charge of the same fit.

        Returns
        -------
        BudgetCharge
            The charge as written to the file.

        Raises
        ------
        BudgetExceededError
            If too little is left. Nothing is charged.
        ValueError
            If the fit has no privacy guarantee, another privacy unit than earlier fits, or a cost that the
            filter cannot compose. Nothing is charged.
        """
        self.check_claim(planned)
        check_opendp()
        cost = self._filter.cost(planned.losses, planned.delta)
        later = [] if then is None else [self._filter.cost(then.losses, then.delta)]
        again = when is not None
        when = when or datetime.now(timezone.utc).isoformat(timespec="microseconds")
        with locked(self._path):
            state = self._read()
            earlier, now = state.neighbours, planned.neighbours
            if earlier not in (None, now):
                raise ValueError(
                    f"budget: this fit protects the {now.relation}, but earlier fits protect the "
                    f"{earlier.relation}. Fit with the same person and neighbours"
                )
            if not state.filter.admits([*state.costs, cost, *later]):
                raise BudgetExceededError(_too_much(state, _floats(add_up([cost, *later])), again=again))
            assumes = any(ledger.assumed_types for ledger in (planned, then) if ledger is not None)
            charge = BudgetCharge(when=when, what=what, cost=cost, assumes_types=assumes)
            state.with_charge(charge, planned.neighbours).write(self._path)
        return charge

    def check_claim(self, planned: PrivacyLedger) -> None:
        """Raise ValueError for a fit without a privacy guarantee."""
        if not planned.claims_privacy:
            raise ValueError(
                f"budget: a fit without a privacy guarantee cannot draw from it. {planned.sentence()} "
                "Remove the cause, or fit with budget=None and do not release the result"
            )

    def cost_of(self, when: str, what: str) -> dict[str, float] | None:
        """Return the cost of a fit in the units of the filter; None if it did not draw from this budget."""
        costs = [fit.cost for fit in self._read().fits if (fit.when, fit.what) == (when, what)]
        return _floats(add_up(costs)) if costs else None

    def holds(self, when: str, what: str) -> bool:
        """Whether this budget contains a charge."""
        return self.cost_of(when, what) is not None

    def covers(self, ledger: PrivacyLedger) -> bool:
        """Whether at least the cost of a release was charged, for the same privacy unit."""
        state = self._read()
        if not ledger.claims_privacy or state.neighbours != ledger.neighbours:
            return False
        try:
            cost = self._filter.cost(ledger.losses, ledger.delta)
        except ValueError:  # a cost that this filter cannot compose was never charged
            return False
        charged = _total(state)
        return all(charged[unit] >= amount * (1 - ROUNDING) for unit, amount in cost.items())

    def left(self, delta: float) -> float:
        """Return the largest epsilon of one more fit at this delta; 0 if nothing is left.

        Under filter "rho" this holds for Gaussian noise; thresholds of a learned domain take more of delta.
        """
        state = self._read()
        return state.filter.left(state.costs, delta)

    def charged(self) -> dict[str, float]:
        """Return the sum of all charges, in the units of the filter."""
        return _total(self._read())

    def sentence(self) -> str:
        """Return the guarantee of all releases in one sentence."""
        state = self._read()
        if not state.fits or state.neighbours is None:
            return "Nothing has been charged to this budget yet, and no rows have been read."
        number = len({(fit.when, fit.what) for fit in state.fits})  # a fit with a row count has two charges
        fits = "1 fit" if number == 1 else f"{number} fits"
        epsilon, delta, unit = state.filter.epsilon, state.filter.delta, state.neighbours
        is_conditional = any(fit.assumes_types for fit in state.fits)
        source, right = "everything charged to this budget", attacker_accuracy(epsilon, delta)
        stated = total_sentence(epsilon, delta, unit.relation, is_conditional=is_conditional)
        lead = attacker_sentence(right, unit.question, source, is_conditional=is_conditional)
        every = (
            f"everything released by the {fits} charged to this budget and by all later ones, even if each "
            "is chosen after seeing earlier releases,"
        )
        return f"{lead} {stated}. {bound_on_outcomes(unit, every, epsilon, delta)} {PUBLIC}"

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
        return "\n".join(escape_controls(line, keep="") for line in lines)

    def __repr__(self) -> str:
        try:
            return str(self)
        except (OSError, ValueError) as error:
            return str(error)

    # --- the file ---------------------------------------------------------------------------------------

    def _read(self) -> BudgetState:
        state = BudgetState.read(self._path)
        if state.filter != self._filter:
            there = state.filter
            raise Refused.saying(
                "epsilon",
                f"epsilon ({self._filter.epsilon:g}), delta ({self._filter.delta:g}), filter "
                f"({self._filter.name!r}) must be those of {str(self._path)!r}: {there.epsilon:g}, "
                f"{there.delta:g}, {there.name!r}",
            )
        return state


def check_budget(budget: Any) -> None:
    """Raise ValueError unless this is a Budget or None."""
    if not isinstance(budget, (Budget, type(None))):
        raise Refused("budget", budget, "must be a Budget, or None", "try Budget(1.0, 1e-8, path)")


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
        f"budget: this fit would exceed the budget ({what}). Lower epsilon to what budget.left(delta) "
        f"returns. Nothing{' but its row count' if again else ''} was charged"
    )


FORMAT = "sdv-plausible budget 1"
_MOST_BYTES = 64 * 2**20


@dataclass(frozen=True, kw_only=True)
class BudgetCharge:
    """One charge, written before the fit reads a row.

    It does not depend on the rows, nor on whether the fit succeeded. A fit with a row count makes two charges
    with the same date and name; the second one depends on the noisy count.
    """

    when: str  # date and time of the charge, in UTC
    what: str
    cost: Cost  # amount by unit of the filter
    assumes_types: bool = False  # whether the guarantee assumes column types of unknown origin

    def to_dict(self) -> dict[str, Any]:
        """JSON form; ``assumes_types`` is written only if true."""
        plain = {name: value for name, value in asdict(self).items() if name != "assumes_types"}
        return {**plain, "assumes_types": True} if self.assumes_types else plain


@dataclass(frozen=True, kw_only=True)
class BudgetState:
    """Content of a budget file."""

    filter: PrivacyFilter  # the total, and how costs compose
    neighbours: Neighbours | None = None  # privacy unit of all fits; None before the first
    fits: tuple[BudgetCharge, ...] = ()  # in order

    @property
    def costs(self) -> list[Cost]:
        """Costs of all charges."""
        return [fit.cost for fit in self.fits]

    def with_charge(self, charge: BudgetCharge, neighbours: Neighbours) -> BudgetState:
        """The state with one more charge."""
        return replace(self, fits=(*self.fits, charge), neighbours=neighbours)

    def write(self, path: Path) -> None:
        """Replace the file durably."""
        content = {
            "format": FORMAT,
            "epsilon": self.filter.epsilon,
            "delta": self.filter.delta,
            "filter": self.filter.name,
            "neighbours": None if self.neighbours is None else asdict(self.neighbours),
            "fits": [fit.to_dict() for fit in self.fits],
        }
        text = json.dumps(content | {"sha256": _digest(content)}, indent=1, allow_nan=False) + "\n"
        write_atomically(path, text)

    @classmethod
    def read(cls, path: Path) -> BudgetState:
        """Read a file."""
        try:
            with open_regular_file(path) as file:
                _check_links(file.fileno(), path)
                data = file.read(_MOST_BYTES + 1)
        except FileNotFoundError:
            raise ValueError(
                f"path ({str(path)!r}): the budget file is missing. Restore it: its charges still count"
            ) from None
        try:
            if len(data) > _MOST_BYTES:
                raise ValueError("too large")
            return _state(strict_json(data.decode("utf-8")))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(
                f"path ({str(path)!r}) is not a budget file, or was changed or damaged "
                f"({type(error).__name__}: {str(error)[:80]}). Restore an intact copy: its charges still "
                "count"
            ) from None


def _check_links(file: int, path: Path) -> None:
    """Reject a file with hard links: after a write, each name would be a budget of its own."""
    if (names := os.fstat(file).st_nlink) > 1:
        raise Refused.saying(
            "path",
            f"path ({str(path)!r}): this budget file has {names} hard links, and a charge under one name "
            "would not appear under the others. Remove the extra links, or use a symbolic link",
        )


def _state(content: Any) -> BudgetState:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"not of format {FORMAT!r}")
    if content.pop("sha256", None) != _digest(content):
        raise ValueError("its digest does not match")
    neighbours = content["neighbours"]
    state = BudgetState(
        filter=FILTERS[content["filter"]](content["epsilon"], content["delta"]),
        neighbours=None if neighbours is None else neighbours_from_fields(neighbours),
        fits=tuple(
            BudgetCharge(
                when=f["when"],
                what=f["what"],
                cost=dict(f["cost"]),
                assumes_types=f.get("assumes_types", False),
            )
            for f in content["fits"]
        ),
    )
    if not all(isinstance(fit.assumes_types, bool) for fit in state.fits):
        raise ValueError("assumes_types must be true or false")
    units = set(state.filter.limits)
    for cost in state.costs:
        if set(cost) != units or not all(
            isinstance(amount, float) and math.isfinite(amount) and amount >= 0 for amount in cost.values()
        ):
            raise ValueError(f"a cost does not consist of {', '.join(sorted(units))}")
    if not state.filter.admits(state.costs) or (state.neighbours is None and state.fits):
        raise ValueError("its charges contradict its limits")
    return state


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode("utf-8")).hexdigest()
