"""Replay of a release's model: fit it again from the recorded answers, and compare with the file.

The learner runs as in the fit, with :class:`RecordedAnswers` in place of the rows. It needs no rows and draws
no random numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import takewhile
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.extensions.verify.independent.verdict import ContradictionError, UncheckableError
from sdv_plausible.fitting.options import TYPES_SHARE
from sdv_plausible.fitting.public_table import codes_digest, with_public
from sdv_plausible.fitting.row_count_check import (
    ROWS_AT_FIRST,
    RowCountQuery,
    after_count,
    count_entry,
    count_epsilon,
)
from sdv_plausible.mechanism.privacy_tests.privacy_settings import Settings
from sdv_plausible.models import learner_from_config
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.learner_checks import planned_entries
from sdv_plausible.privacy.accounting.losses import charge_in_one_piece
from sdv_plausible.privacy.entries import LedgerEntry, first_row_count
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.queries.budget_tracker import QueryBudget
from sdv_plausible.queries.count_queries import CountTable, num_charges
from sdv_plausible.queries.partition_selection import FrequentValueCounts
from sdv_plausible.queries.queryable import NoisyValues
from sdv_plausible.queries.transcript import NoisyAnswer, query_record
from sdv_plausible.release.file.model_section import write_model
from sdv_plausible.release.file.release import Release
from sdv_plausible.release.file.settings_section import privacy_of, versions_of
from sdv_plausible.release.multiple_synthesis import Refitter
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.files.table_file import file_columns, read_file
from sdv_plausible.table.files.text_files import Files
from sdv_plausible.table.learned.type_inference import type_inference_entry

ROUNDING = 1e-4
"""Tolerance of probabilities in a replay, across machines and library versions."""
_TOLERANCE = 1e-6  # relative tolerance of recomputed noise and losses
_OLD_CHARGES = ", as version 0.1 charged"
REPORTED_VALUES = "found"  # detail of an answer: the reported values


def settings_after_count(release: Release) -> Settings:
    """Privacy settings of the fit, less the epsilon of a first row count."""
    settings = privacy_of(release.settings)
    return settings if first_row_count(release.ledger.entries) is None else after_count(settings)


def check_charges(release: Release, learner: Any = None) -> str:
    """Compare the ledger's entries for the model with those that its learner charges."""
    return in_either_accounting(lambda: _check_charges(release, learner))


def in_either_accounting(check: Callable[[], str]) -> str:
    """Result of a check of charges, as of this version or of 0.1, which charged more."""
    try:
        return check()
    except ContradictionError as error:
        with charge_in_one_piece():
            try:
                return f"{check()}{_OLD_CHARGES}"
            except ContradictionError:
                raise error from None


def _check_charges(release: Release, learner: Any) -> str:
    entries, settings = release.ledger.entries, settings_after_count(release)
    if not release.ledger.claims_privacy and not has_seeds_entry(release):
        return "no fit charged it, and it makes no claim"
    _check_count(release)
    *_, planned = _planned_fit(release, learner)
    seeds_at = next(i for i, entry in enumerate(entries) if entry.parts == ("seeds",))
    charged = [entry for entry in entries[seeds_at + 1 :] if entry.parts]
    for i, entry in enumerate(planned):
        recorded = charged[i] if i < len(charged) else None
        if recorded is None or (recorded.name, recorded.parts) != (entry.name, entry.parts):
            raise ContradictionError(f"the learner charges an entry {entry.name!r}, which is not there")
        if not same_losses(recorded, entry):
            raise ContradictionError(
                f"entry {entry.name!r} charges another loss than the learner does for these options"
            )
    if voted := release.settings.get("voted"):
        vote = type_inference_entry(
            len(voted), TYPES_SHARE * settings.epsilon, TYPES_SHARE * settings.model_delta
        )
        recorded = next((entry for entry in entries if entry.name == vote.name and entry.losses), None)
        if recorded is None or not same_losses(recorded, vote):
            raise ContradictionError(
                f"the vote on {len(voted):,} types charges another loss for these options"
            )
    if len(charged) > len(planned):
        raise ContradictionError(f"entry {charged[len(planned)].name!r:.60} is none that the learner charges")
    return f"{len(planned)} entries, which the learner charges for these options"


def _check_count(release: Release) -> None:
    """Compare the charge and the noise of a first row count with those of a fit."""
    count, settings = first_row_count(release.ledger.entries), privacy_of(release.settings)
    answers = [answer for answer in release.answers if answer.asked.kind == ROWS_AT_FIRST]
    if count is None and not answers:
        return
    if count is None or len(answers) != 1 or not same_losses(count, count_entry(settings)):
        raise ContradictionError(
            "the count of the rows that came first is not charged as a fit does, or not answered"
        )
    recorded = RecordedAnswers(answers, QueryBudget.of([count]), release.ledger.neighbours)
    recorded.ask_laplace(RowCountQuery(), count_epsilon(settings.epsilon))


def replay_model(release: Release, learner: Any = None) -> str:
    """Fit the model again from the answers; an error if it differs by more than :data:`ROUNDING`."""
    if not has_seeds_entry(release) and "model" in release.settings:
        return version_checked(release, lambda: _replay_stated(release))
    with charge_in_one_piece() if _has_old_charges(release, learner) else nullcontext():
        return _replay_fit(release, learner)


def _has_old_charges(release: Release, learner: Any) -> bool:
    """Whether the charges are those of version 0.1 only."""
    try:
        return check_charges(release, learner).endswith(_OLD_CHARGES)
    except ContradictionError:
        return False


def _replay_fit(release: Release, learner: Any) -> str:
    learner, domain, budget, planned = _planned_fit(release, learner)
    if "public_rows" in release.settings and learner.public is None:
        raise UncheckableError("it started from a published table: give it (public, --public)")
    budgets = QueryBudget.of(planned)
    if not budgets.is_private:
        raise UncheckableError("it was learned without noise, and exact counts are in no file")
    names = {entry.name for entry in planned}
    answers = [answer for answer in release.answers if {*answer.paid_by} == names]
    recorded = RecordedAnswers(answers, budgets, budget.neighbours)

    def replay() -> str:
        model = learner.fit(recorded, domain, budget, _NoRandomness())
        recorded.check_exhausted()
        return _compare(model, release, domain)

    return version_checked(release, replay)


def _replay_stated(release: Release) -> str:
    """Replay a model that was fitted to published answers, without a fit of ours."""
    learner, domain = learner_from_config(release.settings), _with_zeros(release)
    if not isinstance(learner, Refitter):
        raise ContradictionError("its learner does not learn from answers of others")
    return _compare(learner.refit(release.answers, domain, _NoRandomness()), release, domain)  # type: ignore[arg-type]


def _compare(model: Any, release: Release, domain: Domain) -> str:
    """Compare the replayed model with the file's."""
    gap = max_difference(write_model(model, domain), write_model(release.model, domain))
    if gap > ROUNDING:
        difference = "tables" if np.isinf(gap) else f"probabilities, by {gap:.3g}"
        raise ContradictionError(f"the answers lead to a model with other {difference}")
    return f"the answers lead to it again, up to {ROUNDING:g} of a probability"


def has_seeds_entry(release: Release) -> bool:
    """Whether a fit made the release: every fit has an entry of seeds, without cost if unused."""
    return any(entry.parts == ("seeds",) for entry in release.ledger.entries)


def _with_zeros(release: Release) -> Domain:
    """The domain with the structural zeros of the rules."""
    domain = replace(release.domain, possible={})
    if not release.rules.rule_set:
        return domain
    from sdv_plausible.rules.structural_zeros import possible_pairs

    return replace(domain, possible=possible_pairs(release.rules.rule_set, domain))


def version_checked(release: Release, check: Any) -> str:
    """Result of a check; a failure for another version's file is uncheckable, not a contradiction."""
    try:
        return str(check())
    except UncheckableError:
        raise
    except (ValueError, LookupError, TypeError, ArithmeticError) as error:
        maker, current = release.versions.get("sdv-plausible"), versions_of().get("sdv-plausible")
        reason = (
            str(error)
            if isinstance(error, ValueError)
            else f"the answers do not fit ({type(error).__name__})"
        )
        if maker is None or maker != current:
            raise UncheckableError(
                f"version {maker!r:.20} made it, and this is {current}: {reason}"
            ) from None
        raise ContradictionError(reason) from None


def _planned_fit(release: Release, learner: Any) -> tuple[Any, Domain, ModelBudget, list[LedgerEntry]]:
    """Learner, domain, budget and planned entries of the fit that made a release."""
    if learner is None and "model" not in release.settings:
        raise UncheckableError("the file does not name its learner: it may be somebody's own")
    if not has_seeds_entry(release):
        raise UncheckableError(
            "no fit charged it: it has no entry of seeds, as where others made the answers"
        )
    learner = learner_from_config(release.settings) if learner is None else learner
    domain = _with_zeros(release)
    settings, ledger = settings_after_count(release), release.ledger
    before = PrivacyLedger(delta=ledger.delta, neighbours=ledger.neighbours)
    before.charge(*takewhile(lambda entry: entry.parts != ("seeds",), ledger.entries))
    budget = settings.model_budget(before)
    return learner, domain, budget, planned_entries(learner, domain, budget)


def same_losses(first: LedgerEntry, second: LedgerEntry) -> bool:
    """Whether two entries charge the same losses, up to rounding."""
    return len(first.losses) == len(second.losses) and all(
        type(a) is type(b) and all(_is_close(vars(a)[name], value) for name, value in vars(b).items())
        for a, b in zip(first.losses, second.losses, strict=True)
    )


def _is_close(value: float, reference: float) -> bool:
    return abs(value - reference) <= _TOLERANCE * abs(reference)


class _NoRandomness:
    """Stands for the fit's secret random numbers, which cannot be drawn again."""

    def __getattr__(self, name: str) -> Any:
        raise UncheckableError(
            "secret random numbers made it (of choices, noisy gradients, or draws), which are in no file"
        )


class RecordedAnswers:
    """Recorded answers in place of the rows: each query gets the answer that it got in the fit."""

    def __init__(
        self, answers: Sequence[NoisyAnswer], allowance: QueryBudget, neighbours: Neighbours
    ) -> None:
        self._remaining, self.allowance, self.neighbours = iter(answers), allowance, neighbours

    def part(self, name: str) -> RecordedAnswers:  # noqa: ARG002
        """Part of the rows: the recorded answers are already in order."""
        return self

    def sigma(self, share: float) -> float:
        """Noise scale of a table of counts for a share."""
        return self.allowance.sigma(share, self.neighbours.histogram_l2)

    def ask(self, query: Any, share: float, failure: float = 0.0) -> NoisyValues:  # noqa: ARG002
        """Return the next answer."""
        sensitivity = query.sensitivity(self.neighbours)
        granularities = self._granularities(share, sensitivity)
        return self._next(query, self._sigma_for_share(share, sensitivity), granularities=granularities)

    def ask_tables(self, sets: Sequence[Any], shares: Sequence[float]) -> list[NoisyValues]:
        """Return the next answers, one for each table."""
        return [self.ask(CountTable(axes), share) for axes, share in zip(sets, shares, strict=True)]

    def ask_laplace(self, query: Any, epsilon: float, failure: float = 0.0) -> NoisyValues:  # noqa: ARG002
        """Return the next answer, which has discrete Laplace noise."""
        num_charges(query)
        scale = query.l1(self.neighbours) / epsilon
        return self._next(query, lambda _: scale, "discrete laplace")

    def ask_frequent(self, query: Any, share: float, failure: float) -> FrequentValueCounts:  # noqa: ARG002
        """Return the values and counts of the next answer."""
        l2 = self.neighbours.histogram_l2
        spacings = self._granularities(share, l2)
        recorded = self._recorded(query, self._sigma_for_share(share, l2), granularities=spacings)
        num_public, reported = len(recorded.asked.details["public"]), recorded.asked.details[REPORTED_VALUES]
        if recorded.asked.kind == "frequent values":  # these keys distinguish bool from int
            reported = tuple((type(value) is bool, value) for value in reported)
        values = recorded.values.astype(float)
        return FrequentValueCounts(
            values=list(reported), counts=values[num_public:], public=values[:num_public],
            sigma=recorded.scale, granularity=recorded.granularity,
        )  # fmt: skip

    def report(self, words: str) -> None:
        """Ignore the progress of the replay."""

    def __getattr__(self, name: str) -> Any:
        raise UncheckableError(f"it was learned from what is in no file ({name})")

    def _sigma_for_share(self, share: float, sensitivity: float) -> Callable[[float], float]:
        """Noise scale that a share buys, as a function of the answer's granularity."""
        return lambda granularity: self.allowance.sigma(share, sensitivity, granularity)

    def _granularities(self, share: float, sensitivity: float) -> set[float]:
        """Granularities that a fit may use: 1 in older files; at an edge both powers of 2."""
        shares = (share * (1 - _TOLERANCE), share * (1 + _TOLERANCE))
        return {1.0, *(self.allowance.granularity(near, sensitivity) for near in shares)}

    def _next(
        self,
        query: Any,
        scale: Callable[[float], float],
        noise: str = "discrete gaussian",
        granularities: Collection[float] = (1.0,),
    ) -> NoisyValues:
        recorded = self._recorded(query, scale, noise, granularities)
        return NoisyValues(
            values=recorded.values.astype(float), sigma=recorded.scale, granularity=recorded.granularity
        )

    def _recorded(
        self,
        query: Any,
        scale: Callable[[float], float],
        noise: str = "discrete gaussian",
        granularities: Collection[float] = (1.0,),
    ) -> NoisyAnswer:
        """The next answer, once its query and noise are checked."""
        answer, expected = next(self._remaining, None), query_record(query)
        if answer is None:
            raise ContradictionError(f"the learner asks for {expected.kind}, and no answer is left")
        recorded = answer.asked
        details = {name: value for name, value in recorded.details.items() if name != REPORTED_VALUES}
        pairs = [
            (recorded.kind, expected.kind), (recorded.columns, expected.columns),
            (_axes(recorded.tables), _axes(expected.tables)), (details, dict(expected.details)),
        ]  # fmt: skip
        if any(max_difference(first, second) for first, second in pairs):
            raise ContradictionError(
                f"an answer is to another question ({recorded.kind!r:.40}) than the learner asks "
                f"({expected.kind})"
            )
        if answer.noise != noise:
            raise ContradictionError(
                f"an answer ({expected.kind}) has noise {answer.noise!r:.40}, and a fit adds {noise}"
            )
        if answer.granularity not in granularities:
            raise ContradictionError(
                f"an answer ({expected.kind}) is in steps of {answer.granularity!r}, and a fit's noise is in "
                f"steps of {min(granularities)!r}"
            )
        if not _is_close(answer.scale, bought := scale(answer.granularity)):
            raise ContradictionError(
                f"an answer ({expected.kind}) has noise {answer.scale:.6g}, and its share buys {bought:.6g}"
            )
        return answer

    def check_exhausted(self) -> None:
        """Raise an error if answers remain that the learner did not query."""
        if (left := next(self._remaining, None)) is not None:
            raise ContradictionError(
                f"an answer ({left.asked.kind!r:.40}) is to a question that the learner does not ask"
            )


def _axes(tables: Sequence[Any]) -> list[list[tuple[int, list[int]]]]:
    return [[(axis.column, np.asarray(axis.buckets).tolist()) for axis in axes] for axes in tables]


def max_difference(first: Any, second: Any) -> float:
    """Largest difference of the numbers of two documents; infinite if they differ in any other way."""
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray) and first.shape == second.shape:
        if first.dtype.kind == "f":
            return float(np.abs(first - second).max(initial=0.0))
        return 0.0 if (first == second).all() else np.inf
    if isinstance(first, Mapping) and isinstance(second, Mapping) and first.keys() == second.keys():
        return max((max_difference(first[name], second[name]) for name in first), default=0.0)
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)) and len(first) == len(second):
        return max((max_difference(a, b) for a, b in zip(first, second, strict=True)), default=0.0)
    are_scalars = not isinstance(first, np.ndarray) and not isinstance(second, np.ndarray)
    return 0.0 if are_scalars and first == second else np.inf


def check_public(public: Any, known: dict[str, Any], release: Release) -> str:
    """Compare a public table with the settings; puts the learner that starts from it into ``known``."""
    if public is None:
        raise UncheckableError("the model started from one: give it (public, --public)")
    frame = public if isinstance(public, pd.DataFrame) else _read(release, public)
    rows, digest = release.settings["public_rows"], release.settings.get("public_sha256")
    if len(frame) != rows:
        raise ContradictionError(f"the table has {len(frame):,} rows, and the file says that it had {rows:,}")
    learner = with_public(
        learner_from_config(release.settings), frame, release.domain, release.rules.rule_set
    )
    known["learner"] = learner
    if digest is None:
        raise UncheckableError("the file, of an older version, holds no digest of it")
    if codes_digest(learner.public) != digest:
        raise ContradictionError("the table has other cells than the one whose digest the file holds")
    return f"its digest is that of the file, of {rows:,} rows"


def _read(release: Release, public: Any) -> pd.DataFrame:
    """Read a file with the types of the release's columns."""
    file = public if isinstance(public, Files) else Files(public)
    attributes = {a.name: a for a in (*release.domain, *release.rules.made.values())}
    types: dict[str, Any] = {}
    for column in release.schema.columns:
        attribute = attributes.get(column.name)
        types[column.name] = dict(column.spec)
        if attribute is not None and attribute.provenance == "declared":
            types[column.name] = attribute
        elif attribute is not None and attribute.number_format is not None:
            types[column.name]["number_format"] = attribute.number_format
    present = file_columns(file, types)
    return read_file(file, column_types({name: spec for name, spec in types.items() if name in present}))
