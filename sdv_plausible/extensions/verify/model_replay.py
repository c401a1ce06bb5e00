"""A release's model made anew from the answers in its file, and compared with the model in it.

The learner runs as it did in the fit. In the place of the rows stand the recorded answers, which are given
again to the same questions. No row is needed, and nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import takewhile
from typing import Any

import numpy as np

from sdv_plausible.extensions.verify.independent.verdict import ContradictionError, UncheckableError
from sdv_plausible.fitting.options import TYPES_SHARE
from sdv_plausible.fitting.row_count_check import (
    ROWS_AT_FIRST,
    RowCountQuery,
    after_count,
    count_entry,
    count_epsilon,
)
from sdv_plausible.mechanism.privacy_tests.privacy_settings import Settings
from sdv_plausible.models import learner_of
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.learner_checks import planned_entries
from sdv_plausible.privacy.accounting.losses import whole_budgets
from sdv_plausible.privacy.entries import LedgerEntry, first_count
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.queries.budget_tracker import QueryBudget
from sdv_plausible.queries.count_queries import CountTable, numbers_apart
from sdv_plausible.queries.partition_selection import FrequentValueCounts
from sdv_plausible.queries.query_session import NoisyValues
from sdv_plausible.queries.transcript import NoisyAnswer, describe
from sdv_plausible.release.file.model_section import write_model
from sdv_plausible.release.file.release import Release
from sdv_plausible.release.file.settings_section import privacy_of, versions_of
from sdv_plausible.release.multiple_synthesis import Refitter
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.learned.type_inference import vote_entry

ROUNDING = 1e-4
"""Most that a probability may differ from that of the model made anew: by the machine and its libraries."""
_SAME = 1e-6  # relative: of noise and losses that are computed anew
_BEFORE = ", as version 0.1 charged"
FOUND = "found"  # the detail of an answer that holds the values that it names


def left_of(release: Release) -> Settings:
    """The privacy parameters of a release's fit, without what a count of the rows took that came first."""
    settings = privacy_of(release.settings)
    return settings if first_count(release.ledger.entries) is None else after_count(settings)


def check_charges(release: Release, learner: Any = None) -> str:
    """Refuse entries of the model that are not those that its learner charges.

    Raises
    ------
    LieError, OpenError
        As a verdict's reason.
    """
    return in_pieces_or_whole(lambda: _check_charges(release, learner))


def in_pieces_or_whole(check: Callable[[], str]) -> str:
    """What a check says that computes charges anew: as now, or else as version 0.1 charged them.

    That charged more for the same noise, each Gaussian budget as one discrete Gaussian.
    """
    try:
        return check()
    except ContradictionError as error:
        with whole_budgets():
            try:
                return f"{check()}{_BEFORE}"
            except ContradictionError:
                raise error from None


def _check_charges(release: Release, learner: Any) -> str:
    entries, settings = release.ledger.entries, left_of(release)
    if not release.ledger.claims_privacy and not has_seeds(release):
        return "no fit charged it, and it makes no claim"
    _check_count(release)
    *_, planned = _known(release, learner)
    at = next(i for i, entry in enumerate(entries) if entry.parts == ("seeds",))
    charged = [entry for entry in entries[at + 1 :] if entry.parts]
    for i, entry in enumerate(planned):
        found = charged[i] if i < len(charged) else None
        if found is None or (found.name, found.parts) != (entry.name, entry.parts):
            raise ContradictionError(f"the learner charges an entry {entry.name!r}, which is not there")
        if not same_losses(found, entry):
            raise ContradictionError(
                f"entry {entry.name!r} charges another loss than the learner does for these options"
            )
    if voted := release.settings.get("voted"):
        vote = vote_entry(len(voted), TYPES_SHARE * settings.epsilon, TYPES_SHARE * settings.model_delta)
        found = next((entry for entry in entries if entry.name == vote.name and entry.losses), None)
        if found is None or not same_losses(found, vote):
            raise ContradictionError(
                f"the vote on {len(voted):,} types charges another loss for these options"
            )
    if len(charged) > len(planned):
        raise ContradictionError(f"entry {charged[len(planned)].name!r:.60} is none that the learner charges")
    return f"{len(planned)} entries, which the learner charges for these options"


def _check_count(release: Release) -> None:
    """Refuse a count of the rows that came first at another cost, or with other noise, than a fit has."""
    count, settings = first_count(release.ledger.entries), privacy_of(release.settings)
    asked = [answer for answer in release.answers if answer.asked.kind == ROWS_AT_FIRST]
    if count is None and not asked:
        return
    if count is None or len(asked) != 1 or not same_losses(count, count_entry(settings)):
        raise ContradictionError(
            "the count of the rows that came first is not charged as a fit does, or not answered"
        )
    recorded = RecordedAnswers(asked, QueryBudget.of([count]), release.ledger.neighbours)
    recorded.ask_laplace(RowCountQuery(), count_epsilon(settings.epsilon))


def replay_model(release: Release, learner: Any = None) -> str:
    """Make the model anew from the answers, and refuse one that differs by more than :data:`ROUNDING`.

    Raises
    ------
    LieError, OpenError
        As a verdict's reason.
    """
    if not has_seeds(release) and "model" in release.settings:
        return of_this_version(release, lambda: _replay_stated(release))
    with whole_budgets() if _is_whole(release, learner) else nullcontext():
        return _replay_fit(release, learner)


def _is_whole(release: Release, learner: Any) -> bool:
    """Whether only version 0.1 charged so."""
    try:
        return check_charges(release, learner).endswith(_BEFORE)
    except ContradictionError:
        return False


def _replay_fit(release: Release, learner: Any) -> str:
    learner, domain, budget, planned = _known(release, learner)
    if "public_rows" in release.settings and learner.public is None:
        raise UncheckableError("it started from a published table: give it (public, --public)")
    allowance = QueryBudget.of(planned)
    if not allowance.is_private:
        raise UncheckableError("it was learned without noise, and exact counts are in no file")
    names = {entry.name for entry in planned}
    answers = [answer for answer in release.answers if {*answer.paid_by} == names]
    recorded = RecordedAnswers(answers, allowance, budget.neighbours)

    def make() -> str:
        made = learner.fit(recorded, domain, budget, _NoRandomness())
        recorded.end()
        return _compared(made, release, domain)

    return of_this_version(release, make)


def _replay_stated(release: Release) -> str:
    """Make a model anew from answers that others made, which no fit asked for."""
    learner, domain = learner_of(release.settings), _with_zeros(release)
    if not isinstance(learner, Refitter):
        raise ContradictionError("its learner does not learn from answers of others")
    return _compared(learner.refit(release.answers, domain, _NoRandomness()), release, domain)  # type: ignore[arg-type]


def _compared(made: Any, release: Release, domain: Domain) -> str:
    """Refuse a model that is not the one made anew."""
    apart = difference(write_model(made, domain), write_model(release.model, domain))
    if apart > ROUNDING:
        how = "tables" if np.isinf(apart) else f"probabilities, by {apart:.3g}"
        raise ContradictionError(f"the answers lead to a model with other {how}")
    return f"the answers lead to it again, up to {ROUNDING:g} of a probability"


def has_seeds(release: Release) -> bool:
    """Whether a fit made it: every one has an entry of seeds, at no cost where none is used."""
    return any(entry.parts == ("seeds",) for entry in release.ledger.entries)


def _with_zeros(release: Release) -> Domain:
    """The domain, with combinations of values that the rules rule out."""
    domain = replace(release.domain, possible={})
    if not release.rules.rule_set:
        return domain
    from sdv_plausible.rules.structural_zeros import possible_pairs  # which knows every kind of rule

    return replace(domain, possible=possible_pairs(release.rules.rule_set, domain))


def of_this_version(release: Release, check: Any) -> str:
    """What a check of a release says; of another version's file, what fails is not called a lie."""
    try:
        return str(check())
    except UncheckableError:
        raise
    except (ValueError, LookupError, TypeError, ArithmeticError) as error:
        maker, own = release.versions.get("sdv-plausible"), versions_of().get("sdv-plausible")
        why = (
            str(error)
            if isinstance(error, ValueError)
            else f"the answers do not fit ({type(error).__name__})"
        )
        if maker is None or maker != own:
            raise UncheckableError(f"version {maker!r:.20} made it, and this is {own}: {why}") from None
        raise ContradictionError(why) from None


def _known(release: Release, learner: Any) -> tuple[Any, Domain, ModelBudget, list[LedgerEntry]]:
    """Learner, domain, budget and planned entries of the fit that made a release."""
    if learner is None and "model" not in release.settings:
        raise UncheckableError("the file does not name its learner: it may be somebody's own")
    if not has_seeds(release):
        raise UncheckableError(
            "no fit charged it: it has no entry of seeds, as where others made the answers"
        )
    learner = learner_of(release.settings) if learner is None else learner
    domain = _with_zeros(release)
    settings, ledger = left_of(release), release.ledger
    before = PrivacyLedger(delta=ledger.delta, neighbours=ledger.neighbours)
    before.charge(*takewhile(lambda entry: entry.parts != ("seeds",), ledger.entries))
    budget = settings.model_budget(before)
    return learner, domain, budget, planned_entries(learner, domain, budget)


def same_losses(one: LedgerEntry, other: LedgerEntry) -> bool:
    """Whether two entries charge the same, up to rounding."""
    return len(one.losses) == len(other.losses) and all(
        type(a) is type(b) and all(_is_near(vars(a)[name], value) for name, value in vars(b).items())
        for a, b in zip(one.losses, other.losses, strict=True)
    )


def _is_near(one: float, other: float) -> bool:
    return abs(one - other) <= _SAME * abs(other)


class _NoRandomness:
    """Secret random numbers of a fit, which nobody can draw again."""

    def __getattr__(self, name: str) -> Any:
        raise UncheckableError(
            "secret random numbers made it (of choices, noisy gradients, or draws), which are in no file"
        )


class RecordedAnswers:
    """Answers of a file in the place of the rows: each is given again to the question that it answered."""

    def __init__(
        self, answers: Sequence[NoisyAnswer], allowance: QueryBudget, neighbours: Neighbours
    ) -> None:
        self._left, self.allowance, self.neighbours = iter(answers), allowance, neighbours

    def part(self, name: str) -> RecordedAnswers:  # noqa: ARG002  each answer says which rows were asked
        """Part of the rows: the answers stand in the order in which they were given."""
        return self

    def sigma(self, share: float) -> float:
        """Noise of a table of counts for a share."""
        return self.allowance.sigma(share, self.neighbours.histogram_l2)

    def ask(self, question: Any, share: float, failure: float = 0.0) -> NoisyValues:  # noqa: ARG002
        """Give the next answer."""
        sensitivity = question.sensitivity(self.neighbours)
        steps = self._steps(share, sensitivity)
        return self._next(question, self._sigma_of(share, sensitivity), steps=steps)

    def ask_tables(self, sets: Sequence[Any], shares: Sequence[float]) -> list[NoisyValues]:
        """Give as many."""
        return [self.ask(CountTable(axes), share) for axes, share in zip(sets, shares, strict=True)]

    def ask_laplace(self, question: Any, epsilon: float, failure: float = 0.0) -> NoisyValues:  # noqa: ARG002
        """Give the next, of another noise."""
        numbers_apart(question)
        scale = question.l1(self.neighbours) / epsilon
        return self._next(question, lambda _: scale, "discrete laplace")

    def ask_frequent(self, question: Any, share: float, failure: float) -> FrequentValueCounts:  # noqa: ARG002
        """Give the values that the next answer names."""
        moved = self.neighbours.histogram_l2
        recorded = self._recorded(question, self._sigma_of(share, moved), steps=self._steps(share, moved))
        public, found = len(recorded.asked.details["public"]), recorded.asked.details[FOUND]
        if recorded.asked.kind == "frequent values":  # which tells truth values from 1 and 0
            found = tuple((type(value) is bool, value) for value in found)
        values = recorded.values.astype(float)
        return FrequentValueCounts(
            values=list(found), counts=values[public:], public=values[:public], sigma=recorded.scale,
            granularity=recorded.granularity,
        )  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        raise UncheckableError(f"it was learned from what is in no file ({name})")

    def _sigma_of(self, share: float, sensitivity: float) -> Callable[[float], float]:
        """Noise that a share buys, on the lattice that an answer says it has: what it costs hangs on both."""
        return lambda granularity: self.allowance.sigma(share, sensitivity, granularity)

    def _steps(self, share: float, sensitivity: float) -> set[float]:
        """Spacings that an answer of a fit may have: 1 in files of earlier versions; at an edge both."""
        return {
            1.0,
            *(self.allowance.granularity(share * near, sensitivity) for near in (1 - _SAME, 1 + _SAME)),
        }

    def _next(
        self,
        question: Any,
        scale: Callable[[float], float],
        noise: str = "discrete gaussian",
        steps: Collection[float] = (1.0,),
    ) -> NoisyValues:
        recorded = self._recorded(question, scale, noise, steps)
        return NoisyValues(
            values=recorded.values.astype(float), sigma=recorded.scale, granularity=recorded.granularity
        )

    def _recorded(
        self,
        question: Any,
        scale: Callable[[float], float],
        noise: str = "discrete gaussian",
        steps: Collection[float] = (1.0,),
    ) -> NoisyAnswer:
        """The next answer, if it is to this question and has this noise."""
        answer, asked = next(self._left, None), describe(question)
        if answer is None:
            raise ContradictionError(f"the learner asks for {asked.kind}, and no answer is left")
        recorded = answer.asked
        details = {name: value for name, value in recorded.details.items() if name != FOUND}
        pairs = [
            (recorded.kind, asked.kind), (recorded.columns, asked.columns),
            (_axes(recorded.tables), _axes(asked.tables)), (details, dict(asked.details)),
        ]  # fmt: skip
        if any(difference(one, other) for one, other in pairs):
            raise ContradictionError(
                f"an answer is to another question ({recorded.kind!r:.40}) than the learner asks "
                f"({asked.kind})"
            )
        if answer.noise != noise:
            raise ContradictionError(
                f"an answer ({asked.kind}) has noise {answer.noise!r:.40}, and a fit adds {noise}"
            )
        if answer.granularity not in steps:
            raise ContradictionError(
                f"an answer ({asked.kind}) is in steps of {answer.granularity!r}, and a fit's noise is in "
                f"steps of {min(steps)!r}"
            )
        if not _is_near(answer.scale, bought := scale(answer.granularity)):
            raise ContradictionError(
                f"an answer ({asked.kind}) has noise {answer.scale:.6g}, and its share buys {bought:.6g}"
            )
        return answer

    def end(self) -> None:
        """Refuse answers that the learner does not ask for."""
        if (left := next(self._left, None)) is not None:
            raise ContradictionError(
                f"an answer ({left.asked.kind!r:.40}) is to a question that the learner does not ask"
            )


def _axes(tables: Sequence[Any]) -> list[list[tuple[int, list[int]]]]:
    return [[(axis.column, np.asarray(axis.buckets).tolist()) for axis in axes] for axes in tables]


def difference(one: Any, other: Any) -> float:
    """Largest difference of two documents' numbers of arrays; infinite where they differ otherwise."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and one.shape == other.shape:
        if one.dtype.kind == "f":
            return float(np.abs(one - other).max(initial=0.0))
        return 0.0 if (one == other).all() else np.inf
    if isinstance(one, Mapping) and isinstance(other, Mapping) and one.keys() == other.keys():
        return max((difference(one[name], other[name]) for name in one), default=0.0)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)) and len(one) == len(other):
        return max((difference(a, b) for a, b in zip(one, other, strict=True)), default=0.0)
    plain = not isinstance(one, np.ndarray) and not isinstance(other, np.ndarray)
    return 0.0 if plain and one == other else np.inf
