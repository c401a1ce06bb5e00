"""Learned columns made anew from the answers in a release file, and compared with the columns in it.

The program's own code makes values, bins and digits of the recorded answers again. What was declared of a
learned column is in no file: its range is read off the questions, and single values that no answer chose are
taken for declared ones and named in the verdict.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sdv_plausible.extensions.verify.independent.verdict import ContradictionError, UncheckableError
from sdv_plausible.extensions.verify.model_replay import (
    RecordedAnswers,
    difference,
    in_pieces_or_whole,
    left_of,
    of_this_version,
    same_losses,
)
from sdv_plausible.fitting.row_count_check import ROWS_AT_FIRST, goes_on, rows_needed
from sdv_plausible.privacy.accounting.losses import ApproxDP, gaussian_noise
from sdv_plausible.privacy.entries import LedgerEntry, envelope_of
from sdv_plausible.privacy.parameter_checks import listed
from sdv_plausible.queries.budget_tracker import QueryBudget
from sdv_plausible.queries.transcript import NoisyAnswer
from sdv_plausible.release.file.release import Release
from sdv_plausible.table.cells.date_texts import far_dates
from sdv_plausible.table.columns.column_document import CATEGORIES
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.learned.declared_ranges import DeclaredRange
from sdv_plausible.table.learned.partial_declarations import PartialDeclaration
from sdv_plausible.table.learned.private_columns import learn_attributes
from sdv_plausible.table.learned.private_domain import MOST_BINS, DomainPlan, LearningBudget
from sdv_plausible.table.learned.raw_queries import counts_points
from sdv_plausible.table.learned.value_grid import GridRuns, ValueGrid

ENTRY = "domain"
_COMPARED = ("kind", "values", "lower", "upper", "nullable", "decimals", "unit", "counts")
_WEIGHTS = 1e-6  # that shares of rounded numbers may differ by, by the machine and its libraries
MOST_CELLS = 40  # runs counted in later rounds for each bin: more are not computed anew
Words = Mapping[str, Any]


def replay_domain(release: Release, own: Collection[str] | None = None) -> str:
    """Make learned columns anew from the answers, and refuse others.

    Parameters
    ----------
    release : Release
        What is checked.
    own : collection of str, optional
        The table's own columns, where others stand beside them; by default all.

    Raises
    ------
    LieError, OpenError
        As a verdict's reason.
    """
    domain = Domain(tuple(a for a in release.domain if own is None or a.name in own))
    learned = [a.name for a in domain if a.provenance == "private"]
    if not learned:
        return "no column was learned"
    return of_this_version(
        release, lambda: in_pieces_or_whole(lambda: _Learned.of(release, domain, learned).checked())
    )


@dataclass(frozen=True, kw_only=True)
class _Part(DomainPlan):
    """Some columns of a plan, with their shares of the whole plan's budget."""

    whole: DomainPlan

    def share(self, name: str | None = None) -> float:
        """Share of mu**2 for a column, or (None) for the number of rows."""
        return self.whole.share(name)


@dataclass(frozen=True, kw_only=True)
class _Learned:
    """Columns that one entry paid for, and the answers that say what they hold."""

    release: Release
    domain: Domain
    entry: LedgerEntry
    size: NoisyAnswer
    answers: Mapping[str, Sequence[NoisyAnswer]]  # by column, in the order in which they were given

    @classmethod
    def of(cls, release: Release, domain: Domain, learned: Sequence[str]) -> _Learned:
        """Read the answers of a release."""
        entries = [e for e in release.ledger.entries if e.name == ENTRY and e.losses and e.parts == (ENTRY,)]
        answers: dict[str, list[NoisyAnswer]] = {}
        sizes = []
        for answer in release.answers:
            if answer.paid_by == (ENTRY,):
                for name in answer.asked.columns:
                    answers.setdefault(name, []).append(answer)
                sizes += [answer] if answer.asked.kind == "number of rows" else []
            elif ENTRY in answer.paid_by:
                raise ContradictionError(
                    f"answers are paid by {listed(answer.paid_by)}, and a domain pays for its own alone"
                )
        if lacking := [name for name in learned if name not in answers]:
            raise UncheckableError(
                f"what {listed(lacking)} hold was learned earlier, or without noise: in no answer"
            )
        if not entries or len(sizes) != 1:
            raise ContradictionError(
                "learned columns need one entry that pays for them, and one number of rows"
            )
        if lost := sorted({*answers} - {*learned}):
            raise ContradictionError(f"answers say what {listed(lost)} hold, which were not learned")
        return cls(release=release, domain=domain, entry=entries[-1], size=sizes[0], answers=answers)

    def checked(self) -> str:
        """Refuse columns that are not those of the answers."""
        found, stated = dict[str, DeclaredRange](), dict[str, PartialDeclaration]()
        for names in self._groups:
            of_ranges, of_others = self._declared_of(names)
            found |= of_ranges
            stated |= of_others
        if not same_losses(self.entry, self._charged):
            raise ContradictionError(
                "the entry 'domain' charges another loss than learning these columns does"
            )
        self._check_count()
        said = f"the answers lead to {len(self.answers)} learned columns again"
        if declared := [
            f"{', '.join(map(_number, one.special))} of {n!r:.60}" for n, one in found.items() if one.special
        ]:
            said += f"; values that no answer chose, so that they must be declared: {'; '.join(declared)}"
        if stated:
            said += f"; what no answer says of these, so that it must be declared: {_listed(stated)}"
        return said

    def _check_count(self) -> None:
        """Refuse a domain after a count by which a fit ends; which columns a vote had before it is open."""
        asked = [one for one in self.release.answers if one.asked.kind == ROWS_AT_FIRST]
        if not asked or self.release.settings.get("voted"):
            return
        needed, rules = self._planned.rows_needed, self.release.rules.rule_set
        if goes_on(float(asked[0].values[0]), asked[0].scale, rows_needed(needed, rules)):
            return
        raise ContradictionError(
            f"a count of {int(asked[0].values[0]):,} rows came first, by which a fit ends and learns nothing"
        )

    # --- what was planned --------------------------------------------------------------------------

    @cached_property
    def _types(self) -> dict[str, str]:
        """SDV's semantic types of the learned columns, categories first."""
        kinds = {name: self.domain[name].kind for name in self.answers}
        found = {}
        for name, answers in self.answers.items():
            asked = {answer.asked.kind for answer in answers}
            numbers = "datetime" if kinds[name] == "datetime" else "numerical"
            found[name] = "boolean" if asked == {"present and missing"} else numbers
            if asked == {"frequent values"}:
                found[name] = "ordinal" if kinds[name] == "ordinal" else "categorical"
        return dict(sorted(found.items(), key=lambda item: item[1] not in ("categorical", "ordinal")))

    @property
    def _charged(self) -> LedgerEntry:
        """The entry of the plan; how many thresholds it pays for hangs on what was declared, too."""
        paid = [loss for loss in self.entry.losses if isinstance(loss, ApproxDP)]
        count = sum(loss.count for loss in paid)
        if count > 2 * len(self._types):
            raise ContradictionError(
                f"the entry 'domain' pays for {count:,} thresholds of {len(self._types):,} columns"
            )
        failures = (ApproxDP(epsilon=0.0, delta=self._whole.failure / count, count=count),) if count else ()
        return replace(self.entry, losses=(*gaussian_noise(self._planned.mu), *failures))

    @cached_property
    def _planned(self) -> DomainPlan:
        """The plan, but for what was declared of a column whose range was: shares do not hang on that."""
        found = {}
        for name in self.answers:
            if self._types[name] in ("numerical", "datetime"):
                runs = _runs(self.answers[name])
                if len(runs) == 0:
                    raise UncheckableError(
                        f"the declared range of {name!r:.60} holds no value, and is in no answer"
                    )
                counted, whole = _first_level(runs), _whole_grid(_first_level(runs))
                if difference([counted["first"], counted["last"]], [whole.first, whole.last]):
                    found[name] = next(_candidates(self.domain[name], self.answers[name]))
        return DomainPlan.make(
            self._types, self._whole, declared=len(self.domain) - len(self._types), bounds=found,
            neighbours=self.release.ledger.neighbours,
            never_missing=frozenset(name for name in self._types if not self.domain[name].nullable),
        )  # fmt: skip

    @property
    def _whole(self) -> LearningBudget:
        """What domain and model had together."""
        settings, envelope = left_of(self.release), envelope_of(self.release.ledger.entries)
        if envelope is not None:
            return LearningBudget.within(envelope.losses)
        return LearningBudget.of(settings.epsilon, settings.model_delta)

    @property
    def _groups(self) -> Iterator[list[str]]:
        """Columns that are learned together: all categories, and each other column."""
        if categories := self._planned.categories:
            yield categories
        yield from ([name] for name in self._types if name not in categories)

    # --- and what the answers lead to ---------------------------------------------------------------

    def _declared_of(
        self, names: Sequence[str]
    ) -> tuple[dict[str, DeclaredRange], dict[str, PartialDeclaration]]:
        """Refuse columns that differ from those made anew; what must have been declared of them."""
        (name, *_) = names
        errors: list[ContradictionError] = []
        if name not in self._planned.bounds:
            for stated in self._stated(names):
                try:
                    self._compare(names, {}, stated)
                except ContradictionError as error:
                    errors.append(error)
                    continue
                return {}, stated
            raise errors[0]
        for bounds in _candidates(self.domain[name], self.answers[name]):
            try:
                self._compare(names, {name: bounds})
            except ContradictionError as error:
                errors.append(error)
                continue
            return {name: self._with_least_special(name, bounds)}, {}
        raise errors[-1]

    def _stated(self, names: Sequence[str]) -> Iterator[dict[str, PartialDeclaration]]:
        """What may have been declared of columns whose values were learned, the least first."""
        missing = [name for name in names if self.domain[name].nullable]
        if len(names) > 1 or self._types[names[0]] in (*CATEGORIES, "boolean"):
            yield {}
            yield {name: PartialDeclaration(nullable=True) for name in missing}
            return
        (name,) = names
        attribute, lattice = self.domain[name], _lattice(_first_level(_runs(self.answers[name])))
        low, high = attribute.lower[:1] or (None,), attribute.upper[-1:] or (None,)
        alone = tuple(a for a, b in zip(attribute.lower, attribute.upper, strict=True) if a == b)
        digits = None if lattice.kind == "datetime" else 0 if lattice.kind == "integer" else lattice.decimals
        given = tuple(str(value) for value in attribute.values)
        never = far_dates(attribute.datetime_format)  # learned, or declared like any other text
        kept = dict.fromkeys([tuple(text for text in given if text not in never), given])
        for special, texts in itertools.product(dict.fromkeys([(), alone]), kept):
            for ends in ((None, None), (low[0], None), (None, high[0]), (low[0], high[0])):
                for decimals in dict.fromkeys([None, digits]):
                    for nullable in dict.fromkeys([None, attribute.nullable or None]):
                        one = PartialDeclaration(
                            nullable=nullable, decimals=decimals, low=ends[0], high=ends[1], special=special,
                            texts=texts,
                        )  # fmt: skip
                        yield {} if one == PartialDeclaration() else {name: one}

    def _with_least_special(self, name: str, bounds: DeclaredRange) -> DeclaredRange:
        """The same with those declared single values alone without which the answers would lead elsewhere."""
        for value in bounds.special:
            fewer = replace(bounds, special=tuple(one for one in bounds.special if one != value))
            try:
                self._compare([name], {name: fewer})
            except ContradictionError:
                continue
            bounds = fewer
        return bounds

    def _compare(
        self,
        names: Sequence[str],
        bounds: Mapping[str, DeclaredRange],
        stated: Mapping[str, PartialDeclaration] | None = None,
    ) -> None:
        plan, settings = self._planned, self.release.settings
        part = _Part(
            columns={name: plan.columns[name] for name in names}, mu=plan.mu, failure=plan.failure,
            never_missing=plan.never_missing, neighbours=plan.neighbours, bounds=bounds, whole=plan,
            stated=stated or {},
        )  # fmt: skip
        answers = [
            one for one in self.release.answers if one.paid_by == (ENTRY,) and {*one.asked.columns} & {*names}
        ]
        recorded = RecordedAnswers([self.size, *answers], QueryBudget.of([self.entry]), plan.neighbours)
        forms = {name: {"datetime_format": self.domain[name].datetime_format} for name in names}
        words = {name: (self.domain[name].datetime_format, self.domain[name].time_zone) for name in names}
        styles = {
            name: {w: v for w, v in zip(("datetime_format", "time_zone"), told, strict=True) if v is not None}
            for name, told in words.items()
        }
        cells = sum(len(runs["first"]) for name in names for runs in _runs(self.answers[name])[1:])
        most = settings["max_bins"]
        if most > MOST_BINS or cells > 1000 + MOST_CELLS * most:
            raise UncheckableError(
                f"{names[0]!r:.60} was counted in {cells:,} runs, which are too many to compute anew"
            )
        try:
            made = learn_attributes(recorded, part, forms, styles, most)  # type: ignore[arg-type]
        except (ContradictionError, UncheckableError):
            raise
        except (LookupError, TypeError, ValueError, ArithmeticError) as error:
            raise ContradictionError(
                f"the answers about {names[0]!r:.60} do not fit ({type(error).__name__})"
            ) from None
        recorded.end()
        for name in names:
            self._compare_one(self.domain[name], made[name])

    def _compare_one(self, written: Attribute, made: Attribute) -> None:
        if not self.release.settings["enforce_rounding"]:
            made = replace(made, decimals=None, rounding=None)
        for field in _COMPARED:
            if getattr(written, field) != getattr(made, field):
                raise ContradictionError(
                    f"column {written.name!r:.60} has other {field} than its answers lead to"
                )
        rounding = [one and one.to_dict() for one in (written.rounding, made.rounding)]
        if difference(*[one and {**one, "weights": np.array(one["weights"])} for one in rounding]) > _WEIGHTS:
            raise ContradictionError(
                f"numbers of column {written.name!r:.60} are rounded otherwise than its answers say"
            )


def _runs(answers: Sequence[NoisyAnswer]) -> list[Words]:
    """What is said of the runs that were counted, question by question."""
    return [answer.asked.details for answer in answers if answer.asked.kind == "runs"]


def _lattice(details: Words) -> ValueGrid:
    """The points that a question counted."""
    named = {name: details[name] for name in ("kind", "decimals", "unit", "shown") if name in details}
    return ValueGrid(**named)


def _first_level(runs: Sequence[Words]) -> Words:
    """The first level of cells: where every point of a range was counted by itself, that was before."""
    return runs[1] if len(runs) > 1 and counts_points(runs[0]) else runs[0]


def _whole_grid(level: Words) -> GridRuns:
    """The cells that are counted first where no range was declared, without the points that stand alone."""
    grid = GridRuns(*_lattice(level).grid(), np.zeros(0), np.zeros(0))
    return grid.cut_at([int(point) for point in level["without"]])


def _candidates(attribute: Attribute, answers: Sequence[NoisyAnswer]) -> Iterator[DeclaredRange]:
    """What may have been declared of a column, so that these questions were asked.

    Its range is that of the runs. Open are whether its digits and whether it may be missing were declared or
    learned, and which single values were declared.
    """
    kinds, runs = {answer.asked.kind for answer in answers}, _runs(answers)
    grid = _first_level(runs)
    lattice = _lattice(grid)
    low, high = lattice.value(int(grid["first"][0])), lattice.value(int(grid["last"][-1]))
    steps = [answer.asked.details["steps"] for answer in answers if answer.asked.kind == "rounding"]
    asked, singles = "precision" in kinds, tuple(lattice.value(int(point)) for point in grid["without"])
    for special in ((), singles) if singles else ((),):
        for fixed, may_have_digits in ((False, False), (True, False), (True, True)):
            for nullable in (None, attribute.nullable):
                if asked != (not fixed or nullable is None):
                    continue
                is_date = lattice.kind == "datetime"
                if may_have_digits and (is_date or lattice.kind == "integer"):
                    continue
                kind = "integer" if may_have_digits else lattice.kind if is_date or fixed else "float"
                if kind == "integer" and not (float(low).is_integer() and float(high).is_integer()):
                    continue
                plain = replace(
                    attribute, provenance="declared", rounding=None, nullable=False, buckets=None,
                    kind=kind, lower=(low,), upper=(high,),
                    decimals=lattice.decimals if fixed and not may_have_digits else None,
                )  # fmt: skip
                for rounding in ((), tuple(steps[0])) if steps else ((),):
                    yield DeclaredRange(
                        plain=plain, low=low, high=high, nullable=nullable, special=special,
                        may_have_digits=may_have_digits,
                        resolution=lattice.unit if is_date and fixed else None, rounding=rounding,
                    )  # fmt: skip


def _listed(stated: Mapping[str, PartialDeclaration]) -> str:
    """What must be declared of which columns."""
    words = {
        "nullable": "missing", "decimals": "digits", "low": "smallest", "high": "largest",
        "special": "single values", "texts": "texts",
    }  # fmt: skip
    said = {
        name: ", ".join(word for field, word in words.items() if getattr(one, field) not in (None, ()))
        for name, one in stated.items()
    }
    return "; ".join(f"{name!r:.60} ({what})" for name, what in said.items())


def _number(value: float) -> str:
    return f"{value:.15g}"
