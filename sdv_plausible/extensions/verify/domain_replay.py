"""Replay of learned columns: compute them again from the recorded answers, and compare with the file.

The replay uses the package's own code for values, bins and digits. A file does not record what was declared
of a learned column. The replay therefore takes the range from the queries. Single values that no answer
supports are assumed to be declared, and the finding names them.
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
    in_either_accounting,
    max_difference,
    same_losses,
    settings_after_count,
    version_checked,
)
from sdv_plausible.fitting.row_count_check import ROWS_AT_FIRST, has_enough_rows, rows_needed
from sdv_plausible.privacy.accounting.losses import ApproxDP, gaussian_noise
from sdv_plausible.privacy.entries import LedgerEntry, find_envelope
from sdv_plausible.privacy.parameter_checks import listed
from sdv_plausible.queries.budget_tracker import QueryBudget
from sdv_plausible.queries.transcript import NoisyAnswer
from sdv_plausible.release.file.release import Release
from sdv_plausible.table.cells.dates import sentinel_texts
from sdv_plausible.table.columns.column_document import CATEGORIES
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.learned.declared_ranges import DeclaredRange, PartialDeclaration
from sdv_plausible.table.learned.private_columns import learn_attributes
from sdv_plausible.table.learned.private_domain import MOST_BINS, DomainPlan, LearningBudget
from sdv_plausible.table.learned.raw_queries import counts_points
from sdv_plausible.table.learned.value_grid import GridRuns, ValueGrid

ENTRY = "domain"
_COMPARED = ("kind", "values", "lower", "upper", "nullable", "decimals", "unit", "counts")
_SHARE_TOLERANCE = 1e-6  # tolerance of rounding shares, across machines and library versions
MOST_CELLS = 40  # runs counted in later rounds, for each bin, up to which a column is replayed
Details = Mapping[str, Any]


def replay_domain(release: Release, own: Collection[str] | None = None) -> str:
    """Compute the learned columns (of ``own``, if given) again; an error if the file's differ."""
    domain = Domain(tuple(a for a in release.domain if own is None or a.name in own))
    learned = [a.name for a in domain if a.provenance == "private"]
    if not learned:
        return "no column was learned"
    return version_checked(
        release, lambda: in_either_accounting(lambda: _LearnedColumns.of(release, domain, learned).check())
    )


@dataclass(frozen=True, kw_only=True)
class _PartialPlan(DomainPlan):
    """Some columns of a plan, with their shares of the complete plan's budget."""

    complete: DomainPlan

    def share(self, name: str | None = None) -> float:
        """Share of mu**2 for a column, or (None) for the number of rows."""
        return self.complete.share(name)


@dataclass(frozen=True, kw_only=True)
class _LearnedColumns:
    """Learned columns that one ledger entry paid for, and the answers about them."""

    release: Release
    domain: Domain
    entry: LedgerEntry
    size: NoisyAnswer
    answers: Mapping[str, Sequence[NoisyAnswer]]  # by column, in the order of the file

    @classmethod
    def of(cls, release: Release, domain: Domain, learned: Sequence[str]) -> _LearnedColumns:
        """Collect the answers of a release."""
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
        if missing := [name for name in learned if name not in answers]:
            raise UncheckableError(
                f"what {listed(missing)} hold was learned earlier, or without noise: in no answer"
            )
        if not entries or len(sizes) != 1:
            raise ContradictionError(
                "learned columns need one entry that pays for them, and one number of rows"
            )
        if extra := sorted({*answers} - {*learned}):
            raise ContradictionError(f"answers say what {listed(extra)} hold, which were not learned")
        return cls(release=release, domain=domain, entry=entries[-1], size=sizes[0], answers=answers)

    def check(self) -> str:
        """Compare every learned column with its replay."""
        ranges, partial = dict[str, DeclaredRange](), dict[str, PartialDeclaration]()
        for names in self._groups:
            new_ranges, new_partial = self._declarations_of(names)
            ranges |= new_ranges
            partial |= new_partial
        if not same_losses(self.entry, self._planned_entry):
            raise ContradictionError(
                "the entry 'domain' charges another loss than learning these columns does"
            )
        self._check_first_count()
        finding = f"the answers lead to {len(self.answers)} learned columns again"
        if declared := [
            f"{', '.join(map(_format_number, bounds.special))} of {n!r:.60}"
            for n, bounds in ranges.items()
            if bounds.special
        ]:
            finding += f"; values that no answer chose, so that they must be declared: {'; '.join(declared)}"
        if partial:
            finding += (
                f"; what no answer says of these, so that it must be declared: {_format_declared(partial)}"
            )
        return finding

    def _check_first_count(self) -> None:
        """Reject a domain if the first row count was so low that the fit would have stopped."""
        counts = [answer for answer in self.release.answers if answer.asked.kind == ROWS_AT_FIRST]
        if not counts or self.release.settings.get("voted"):
            return
        needed = rows_needed(self._plan.rows_needed, self.release.rules.rule_set)
        if has_enough_rows(float(counts[0].values[0]), counts[0].scale, needed):
            return
        raise ContradictionError(
            f"a count of {int(counts[0].values[0]):,} rows came first, by which a fit ends and learns nothing"
        )

    # --- the plan ----------------------------------------------------------------------------------

    @cached_property
    def _sdtypes(self) -> dict[str, str]:
        """Sdtypes of the learned columns, categories first."""
        kinds = {name: self.domain[name].kind for name in self.answers}
        sdtypes = {}
        for name, answers in self.answers.items():
            query_kinds = {answer.asked.kind for answer in answers}
            numeric = "datetime" if kinds[name] == "datetime" else "numerical"
            sdtypes[name] = "boolean" if query_kinds == {"present and missing"} else numeric
            if query_kinds == {"frequent values"}:
                sdtypes[name] = "ordinal" if kinds[name] == "ordinal" else "categorical"
        return dict(sorted(sdtypes.items(), key=lambda item: item[1] not in ("categorical", "ordinal")))

    @property
    def _planned_entry(self) -> LedgerEntry:
        """Entry that the plan charges; the number of thresholds is read off, as declarations change it."""
        thresholds = [loss for loss in self.entry.losses if isinstance(loss, ApproxDP)]
        count = sum(loss.count for loss in thresholds)
        if count > 2 * len(self._sdtypes):
            raise ContradictionError(
                f"the entry 'domain' pays for {count:,} thresholds of {len(self._sdtypes):,} columns"
            )
        failures = (ApproxDP(epsilon=0.0, delta=self._budget.failure / count, count=count),) if count else ()
        return replace(self.entry, losses=(*gaussian_noise(self._plan.mu), *failures))

    @cached_property
    def _plan(self) -> DomainPlan:
        """The plan; the shares do not depend on the parts of a declaration that are unknown."""
        bounds = {}
        for name in self.answers:
            if self._sdtypes[name] in ("numerical", "datetime"):
                runs = _runs(self.answers[name])
                if len(runs) == 0:
                    raise UncheckableError(
                        f"the declared range of {name!r:.60} holds no value, and is in no answer"
                    )
                level, grid = _first_level(runs), _unrestricted_grid(_first_level(runs))
                if max_difference([level["first"], level["last"]], [grid.first, grid.last]):
                    bounds[name] = next(_candidate_ranges(self.domain[name], self.answers[name]))
        return DomainPlan.make(
            self._sdtypes, self._budget, declared=len(self.domain) - len(self._sdtypes), bounds=bounds,
            neighbours=self.release.ledger.neighbours,
            never_missing=frozenset(name for name in self._sdtypes if not self.domain[name].nullable),
        )  # fmt: skip

    @property
    def _budget(self) -> LearningBudget:
        """Learning budget that the domain and the model share."""
        settings, worst_case = settings_after_count(self.release), find_envelope(self.release.ledger.entries)
        if worst_case is not None:
            return LearningBudget.within(worst_case.losses)
        return LearningBudget.of(settings.epsilon, settings.model_delta)

    @property
    def _groups(self) -> Iterator[list[str]]:
        """Columns that are learned together: all categories, and each other column."""
        if categories := self._plan.categories:
            yield categories
        yield from ([name] for name in self._sdtypes if name not in categories)

    # --- the replay ---------------------------------------------------------------------------------

    def _declarations_of(
        self, names: Sequence[str]
    ) -> tuple[dict[str, DeclaredRange], dict[str, PartialDeclaration]]:
        """Ranges and partial declarations under which the replay gives the file's columns."""
        (name, *_) = names
        errors: list[ContradictionError] = []
        if name not in self._plan.bounds:
            for declaration in self._candidate_declarations(names):
                try:
                    self._compare(names, {}, declaration)
                except ContradictionError as error:
                    errors.append(error)
                    continue
                return {}, declaration
            raise errors[0]
        for bounds in _candidate_ranges(self.domain[name], self.answers[name]):
            try:
                self._compare(names, {name: bounds})
            except ContradictionError as error:
                errors.append(error)
                continue
            return {name: self._drop_unneeded_values(name, bounds)}, {}
        raise errors[-1]

    def _candidate_declarations(self, names: Sequence[str]) -> Iterator[dict[str, PartialDeclaration]]:
        """Possible partial declarations of columns whose values were learned, the smallest first."""
        nullable_columns = [name for name in names if self.domain[name].nullable]
        if len(names) > 1 or self._sdtypes[names[0]] in (*CATEGORIES, "boolean"):
            yield {}
            yield {name: PartialDeclaration(nullable=True) for name in nullable_columns}
            return
        (name,) = names
        attribute, grid = self.domain[name], _grid_of(_first_level(_runs(self.answers[name])))
        low, high = attribute.lower[:1] or (None,), attribute.upper[-1:] or (None,)
        single_values = tuple(a for a, b in zip(attribute.lower, attribute.upper, strict=True) if a == b)
        digits = None if grid.kind == "datetime" else 0 if grid.kind == "integer" else grid.decimals
        values = tuple(str(value) for value in attribute.values)
        placeholders = sentinel_texts(attribute.datetime_format)  # learned, or declared as texts
        declared_texts = dict.fromkeys([tuple(text for text in values if text not in placeholders), values])
        for special, texts in itertools.product(dict.fromkeys([(), single_values]), declared_texts):
            for ends in ((None, None), (low[0], None), (None, high[0]), (low[0], high[0])):
                for decimals in dict.fromkeys([None, digits]):
                    for nullable in dict.fromkeys([None, attribute.nullable or None]):
                        declaration = PartialDeclaration(
                            nullable=nullable, decimals=decimals, low=ends[0], high=ends[1], special=special,
                            texts=texts,
                        )  # fmt: skip
                        yield {} if declaration == PartialDeclaration() else {name: declaration}

    def _drop_unneeded_values(self, name: str, bounds: DeclaredRange) -> DeclaredRange:
        """The range without those declared single values that the replay does not need."""
        for value in bounds.special:
            fewer = replace(bounds, special=tuple(other for other in bounds.special if other != value))
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
        plan, settings = self._plan, self.release.settings
        part = _PartialPlan(
            columns={name: plan.columns[name] for name in names}, mu=plan.mu, failure=plan.failure,
            never_missing=plan.never_missing, neighbours=plan.neighbours, bounds=bounds, complete=plan,
            stated=stated or {},
        )  # fmt: skip
        answers = [
            answer
            for answer in self.release.answers
            if answer.paid_by == (ENTRY,) and {*answer.asked.columns} & {*names}
        ]
        recorded = RecordedAnswers([self.size, *answers], QueryBudget.of([self.entry]), plan.neighbours)
        columns = [self.domain[name] for name in names]
        forms = {column.name: {"datetime_format": column.datetime_format} for column in columns}
        styles = {
            column.name: {
                **({} if column.datetime_format is None else {"datetime_format": column.datetime_format}),
                **({} if column.time_zone is None else {"time_zone": column.time_zone}),
            }
            for column in columns
        }
        cells = sum(len(runs["first"]) for name in names for runs in _runs(self.answers[name])[1:])
        max_bins = settings["max_bins"]
        if max_bins > MOST_BINS or cells > 1000 + MOST_CELLS * max_bins:
            raise UncheckableError(
                f"{names[0]!r:.60} was counted in {cells:,} runs, which are too many to compute anew"
            )
        try:
            replayed = learn_attributes(recorded, part, forms, styles, max_bins)  # type: ignore[arg-type]
        except (ContradictionError, UncheckableError):
            raise
        except (LookupError, TypeError, ValueError, ArithmeticError) as error:
            raise ContradictionError(
                f"the answers about {names[0]!r:.60} do not fit ({type(error).__name__})"
            ) from None
        recorded.check_exhausted()
        for column in columns:
            self._compare_column(column, replayed[column.name])

    def _compare_column(self, recorded: Attribute, replayed: Attribute) -> None:
        if not self.release.settings["enforce_rounding"]:
            replayed = replace(replayed, decimals=None, rounding=None)
        for field in _COMPARED:
            if getattr(recorded, field) != getattr(replayed, field):
                raise ContradictionError(
                    f"column {recorded.name!r:.60} has other {field} than its answers lead to"
                )
        rules = [rule and rule.to_dict() for rule in (recorded.rounding, replayed.rounding)]
        arrays = [rule and {**rule, "weights": np.array(rule["weights"])} for rule in rules]
        if max_difference(*arrays) > _SHARE_TOLERANCE:
            raise ContradictionError(
                f"numbers of column {recorded.name!r:.60} are rounded otherwise than its answers say"
            )


def _runs(answers: Sequence[NoisyAnswer]) -> list[Details]:
    """Details of the queries that counted runs, in order."""
    return [answer.asked.details for answer in answers if answer.asked.kind == "runs"]


def _grid_of(details: Details) -> ValueGrid:
    """Grid of the points that a query counted."""
    fields = {name: details[name] for name in ("kind", "decimals", "unit", "shown") if name in details}
    return ValueGrid(**fields)


def _first_level(runs: Sequence[Details]) -> Details:
    """First level of cells; a query that counts every point of a range comes before it."""
    return runs[1] if len(runs) > 1 and counts_points(runs[0]) else runs[0]


def _unrestricted_grid(level: Details) -> GridRuns:
    """Cells that are counted first if no range is declared, without the points counted alone."""
    grid = GridRuns(*_grid_of(level).grid(), np.zeros(0), np.zeros(0))
    return grid.cut_at([int(point) for point in level["without"]])


def _candidate_ranges(attribute: Attribute, answers: Sequence[NoisyAnswer]) -> Iterator[DeclaredRange]:
    """Declared ranges that lead to these queries; digits, missing and single values are unknown."""
    query_kinds, runs = {answer.asked.kind for answer in answers}, _runs(answers)
    grid = _first_level(runs)
    value_grid = _grid_of(grid)
    low, high = value_grid.value(int(grid["first"][0])), value_grid.value(int(grid["last"][-1]))
    steps = [answer.asked.details["steps"] for answer in answers if answer.asked.kind == "rounding"]
    has_precision = "precision" in query_kinds
    singles = tuple(value_grid.value(int(point)) for point in grid["without"])
    for special in ((), singles) if singles else ((),):
        for fixed, may_have_decimals in ((False, False), (True, False), (True, True)):
            for nullable in (None, attribute.nullable):
                if has_precision != (not fixed or nullable is None):
                    continue
                is_date = value_grid.kind == "datetime"
                if may_have_decimals and (is_date or value_grid.kind == "integer"):
                    continue
                kind = "integer" if may_have_decimals else value_grid.kind if is_date or fixed else "float"
                if kind == "integer" and not (float(low).is_integer() and float(high).is_integer()):
                    continue
                plain = replace(
                    attribute, provenance="declared", rounding=None, nullable=False, buckets=None,
                    kind=kind, lower=(low,), upper=(high,),
                    decimals=value_grid.decimals if fixed and not may_have_decimals else None,
                )  # fmt: skip
                for rounding in ((), tuple(steps[0])) if steps else ((),):
                    yield DeclaredRange(
                        plain=plain, low=low, high=high, nullable=nullable, special=special,
                        may_have_decimals=may_have_decimals,
                        resolution=value_grid.unit if is_date and fixed else None, rounding=rounding,
                    )  # fmt: skip


def _format_declared(stated: Mapping[str, PartialDeclaration]) -> str:
    """Text that names the columns and the parts that must have been declared."""
    labels = {
        "nullable": "missing", "decimals": "digits", "low": "smallest", "high": "largest",
        "special": "single values", "texts": "texts",
    }  # fmt: skip
    parts = {
        name: ", ".join(
            label for field, label in labels.items() if getattr(declaration, field) not in (None, ())
        )
        for name, declaration in stated.items()
    }
    return "; ".join(f"{name!r:.60} ({fields})" for name, fields in parts.items())


def _format_number(value: float) -> str:
    return f"{value:.15g}"
