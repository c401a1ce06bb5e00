"""Warnings of a fit for the data owner: not for publication, and without effect on the fit."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sdv_plausible.fitting.fit_rows import LOOKED_AT, FitRows
from sdv_plausible.fitting.ledger_notes import RARE
from sdv_plausible.fitting.public_table import starts
from sdv_plausible.models.base import PrefixModel
from sdv_plausible.models.bayesian_network import HasStructure
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import RelatedTablesUnit
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import listed, require_columns
from sdv_plausible.queries.transcript import NoisyAnswer
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.rules.rules_and_declarations import check_rows
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.data_checks import (
    Check,
    columns_mostly_outside,
    columns_often_missing,
    columns_often_truncated,
)
from sdv_plausible.table.declared.declarations import Declarations, Specs
from sdv_plausible.utils.messages import ColumnNote, attention_table
from sdv_plausible.utils.text_output import escape_controls

if TYPE_CHECKING:
    from sdv_plausible.table.learned.raw_queries import PrecisionCounts

AS_MISSING = frozenset(("?", "-", "--", ".", "na", "n/a", "n.a.", "nan", "nil", "null"))
"""Texts that usually mark a missing value."""
ATTENTION = "some columns need your attention"
FOR_YOU = "for you, not for publication"
GONE = 0.9  # warn of columns with at least this share of missing cells
GONE_ROWS = 2000  # rows sampled from the model to estimate that share
HIDDEN = 0.10  # warn if noise may hide digits of more than this share of the cells
CLEARLY = 3.0  # standard deviations of noise: a larger count of missing cells is significant
SURELY = 2.0  # standard deviations of noise in the upper bound on cells with hidden digits
LookRecorder = Callable[[Collection[str], Collection[str] | None], list[str]]
"""Records a look at the rows: column names and rule digests -> sentences on the record."""


class FitWarning(UserWarning):
    """A warning of a fit; ``for_holder`` if it depends on the rows, and so is for the data owner alone.

    ``notes`` are its messages: one, or those of the columns in its table.
    """

    def __init__(self, text: str, *, for_holder: bool = False, notes: Sequence[ColumnNote] = ()) -> None:
        if notes:  # the table's cells are escaped
            text = f"{text}\n{attention_table(notes)}"
        super().__init__(escape_controls(text, keep="\n" if notes else ""))
        self.for_holder = for_holder
        self.notes = tuple(notes) or (text if isinstance(text, ColumnNote) else str(self),)


def grouped(issued: Sequence[FitWarning]) -> list[FitWarning]:
    """The warnings, with several on columns as one table: one for the data owner, and one for all."""
    others, tables = list[FitWarning](), list[FitWarning]()
    for private, whom in ((False, ""), (True, f" ({FOR_YOU})")):
        warned = [one for one in issued if one.for_holder is private]
        notes = [note for one in warned for note in one.notes if isinstance(note, ColumnNote)]
        if len(notes) > 1:
            tables.append(FitWarning(f"{ATTENTION}{whom}:", for_holder=private, notes=notes))
            warned = [one for one in warned if not isinstance(one.notes[0], ColumnNote)]
        others += warned
    return [*others, *tables]


def warn_of_assumed_types(planned: PrivacyLedger) -> None:
    """Warn of a guarantee that depends on column types of unknown origin, before anything is paid."""
    if not (names := planned.assumed_types) or not planned.claims_privacy:
        return
    text = (
        f"{listed(names)}: the privacy guarantee holds only if these column types were known without the "
        "data. The metadata does not record their origin, and detection takes types from the rows. If they "
        'were known, set types="declared", or declare these columns (domain=...)'
    )
    if not isinstance(planned.neighbours, RelatedTablesUnit):
        text += '. Otherwise infer them within the budget (types="voted")'
    warnings.warn(FitWarning(text), stacklevel=3)


@dataclass(frozen=True)
class HolderDiagnostics:
    """Collects warnings for the data owner."""

    note: LookRecorder | None = None  # records a comparison with the rows; without it none is made
    issued: list[FitWarning] = field(default_factory=list)  # warnings so far, in order
    tell: Callable[[str], object] | None = None  # receives the stages of the fit

    def warn(self) -> None:
        """Issue all warnings, two stack frames up. Call it when the result can be returned."""
        for warning in grouped(self.issued):
            try:
                warnings.warn(warning, stacklevel=3)
            except UserWarning:  # a filter turns warnings into errors: the paid result must not be lost
                if sys.stderr is not None:  # GUI programs have none
                    sys.stderr.write(f"{warning}\n")

    def add(self, text: str, *, for_holder: bool = False) -> None:
        """Add a warning."""
        self.issued.append(FitWarning(text, for_holder=for_holder))

    def add_columns(self, *note: Any, for_holder: bool = False) -> None:
        """Add a warning on columns, with the arguments of a ``ColumnNote``."""
        self.add(ColumnNote(*note), for_holder=for_holder)

    def report_public_rows(self, public: pd.DataFrame | None, rows: FitRows) -> None:
        """Warn that the published table repeats the rows."""
        with suppress(Exception):  # a diagnostic never ends a fit
            if public is not None and starts(public, rows.begins(len(public))):
                self.add(
                    f"public: it contains the first rows of the table to be protected ({FOR_YOU}). Nothing "
                    "protects them then, whatever the ledger says. Leave public out",
                    for_holder=True,
                )

    def report_unmatched_public(self, public: pd.DataFrame, codes: np.ndarray, domain: Domain) -> None:
        """Warn of public columns outside the domain. Uses public facts and noisy answers only."""
        present, encoded = {*map(str, public)}, zip(domain.names, codes.T, strict=True)
        if names := [name for name, column in encoded if name in present and (column < 0).mean() > 0.5]:
            self.add_columns(
                names,
                "most cells of the public table are no value of this column, and are ignored",
                "Write them as in the table, or drop the column from public.",
            )

    def report_unidentified_persons(self, person: str | None, rows: FitRows) -> None:
        """Warn of rows that were left out because the person column does not identify a person."""
        if rows.unnamed:
            self.add(
                f"{person}: some cells do not identify a person, and their rows were left out ({FOR_YOU}). "
                "Identify each person by a whole number or a text",
                for_holder=True,
            )

    def report_reduced_omega(self, omega: Any, columns: int) -> None:
        """Warn that fewer columns are modelled than omega. Uses public facts and noisy answers only."""
        if isinstance(omega, (int, tuple)) and np.max(omega) > columns:
            self.add(
                f"omega ({omega}): type inference left only {columns} modelled columns, and all of them are "
                "resampled"
            )

    def report_mismatches(self, declared: Declarations, rules: RuleSet, specs: Specs, rows: FitRows) -> None:
        """Warn of columns whose cells contradict their declaration, by name only."""
        if self.note is None or not declared.names:
            return
        compared = {column for name in declared.names for column in rules.behind(name)}
        uses_rules = {*declared.names} & {*rules.added}
        digests = (rules.digests or None) if uses_rules else None
        try:  # record all columns before the comparison, so that the record does not depend on the rows
            lines = self.note(compared, digests)[: 1 if digests is None else 2]
            lost = None
        except (OSError, ValueError) as error:
            lines, lost = [], error
        outside, cut, missing = [], [], []
        with suppress(Exception):  # a diagnostic never ends a fit
            head = rows.begins(LOOKED_AT)
            head = rules.fold(head) if rules else head
            present = [name for name in declared.names if name in head and name in specs]
            attributes = {name: declared_attribute(declared, name, specs) for name in present}
            outside, cut = columns_mostly_outside(head, attributes), columns_often_truncated(head, attributes)
            missing = columns_often_missing(
                head, [name for name in present if declared.allows_missing(name) is False]
            )
        texts = (
            (outside, "most cells are outside the declared values and are lost"),
            (cut, "digits after the point are cut off, because whole numbers were declared"),
            (missing, "cells are missing although none was declared to be, and get random values"),
        )
        problems = [(names, problem) for names, problem in texts if names]
        if problems and lost is not None:
            self.add(
                f"some columns do not fit their declarations ({FOR_YOU}), and are not named: the comparison "
                f"cannot be recorded: {lost}",
                for_holder=True,
            )
            return
        for place, (names, problem) in enumerate(problems, 1):
            check = ". ".join(["synth.check(table) shows why", *(lines if place == len(problems) else [])])
            self.add_columns(names, f"{problem} ({FOR_YOU})", check, for_holder=True)

    def report_missing_cells(self, shares: Mapping[str, float]) -> None:
        """Warn of mostly missing columns. Uses public facts and noisy answers only."""
        if gone := {name: f"{share:.0%}" for name, share in shares.items() if share >= GONE}:
            self.add_columns(
                gone,
                "of the cells are missing or could not be read",
                "If the file has values there, declare how they are written: datetime_format or "
                "number_format of the column, decimal, thousands or na_values of the file. Dates must "
                "lie in the years 1678 to 2262.",
            )

    def report_domain(self, domain: Domain, answers: Sequence[NoisyAnswer] = ()) -> None:
        """Warn of inferred domains and lost values. Uses public facts and noisy answers only."""
        missing = missing_in(domain, answers)
        unread = unread_in(domain, answers)
        if lost := {name: f"{share:.0%}" for name, share in unread.items() if share}:
            self.add_columns(
                lost,
                "of the cells cannot be read and come out missing",
                "Dates must lie in the years 1678 to 2262. List other dates and codes as special_values, "
                "or declare another type or format.",
            )
        if domain.inferred:
            self.add(
                f"{listed(domain.inferred)}: values were taken from the rows and may be those of single "
                "people, so this fit has no privacy guarantee. Declare the columns, or remove "
                "undeclared='infer'"
            )
        learned = [a for a in domain if a.provenance == "private"]
        empty = [a.name for a in learned if not (a.values or a.lower)]
        if hidden := [name for name in empty if missing.get(name, 0.0) < GONE]:
            self.add_columns(
                hidden,
                "no value was common enough to survive the noise, and the cells are empty",
                "Declare values or a range (domain=...), or raise epsilon.",
            )
        if single := [a.name for a in learned if a.cardinality == 1 and a.name not in empty]:
            self.add_columns(
                single,
                "only one value or range was common enough to survive the noise",
                "Declare values or a range (domain=...), or raise epsilon.",
            )
        for a in learned:  # special values of numbers are declared
            values = a.values if a.kind == "categorical" else ()
            texts = [v for v in values if isinstance(v, str) and v.strip().casefold() in AS_MISSING]
            if texts:
                self.add_columns(
                    [a.name],
                    f"texts that usually mean a missing value were learned as values: {texts}",
                    "If they mean missing, list them (na_values).",
                )
        if rare := {a.name: f"{a.unlearned_share:.0%}" for a in domain if a.unlearned_share >= RARE}:
            self.add_columns(
                rare,
                "of the cells held values too rare to learn, and more common values replace them",
                "Declare values or a range (domain=...), or raise epsilon.",
            )

    def report_hidden_digits(
        self, domain: Domain, names: Collection[str], answers: Sequence[NoisyAnswer]
    ) -> None:
        """Warn of numbers whose decimals noise may hide. Uses public facts and noisy answers only."""
        hidden = hidden_digits(domain, names, answers)
        for digits in sorted({digits for digits, _ in hidden.values()}):
            shares = {name: f"up to {share:.0%}" for name, (d, share) in hidden.items() if d == digits}
            self.add_columns(
                shares,
                f"of the cells may have more digits after the point than the {digits} that survived the "
                "noise",
                f'Declare them (domain={{"{next(iter(shares))}": {{"decimal_places": 2, ...}}}}), or '
                "raise epsilon.",
            )

    def report(self, texts: Collection[str]) -> None:
        """Add warnings that follow from public facts and noisy answers only."""
        for text in texts:
            self.add(text)

    def report_omitted_parents(self, arcs: Any, model: Any, domain: Domain) -> None:
        """Warn of parents left out of too large tables. Uses public facts and noisy answers only."""
        if not isinstance(arcs, Mapping) or not isinstance(model, HasStructure):
            return
        used = {(domain.names[child], domain.names[p]) for child, ps in model.structure() for p in ps}
        if lost := sorted({(child, p) for child, ps in arcs.items() for p in ps} - used):
            omitted = ", ".join(f"{parent} of {child}" for child, parent in lost)
            self.add(
                f"structure: parents were left out ({omitted}), because their tables would have too many "
                "cells. Declare fewer values or coarser buckets"
            )


def missing_in(domain: Domain, answers: Sequence[NoisyAnswer]) -> dict[str, float]:
    """Share of missing or unreadable cells of learned numbers and dates; insignificant counts are 0."""
    return {
        name: min((lost + (counts.missing if counts.missing > CLEARLY * scale else 0.0)) / rows, 1.0)
        for name, counts, scale, lost, rows in _precisions(domain, answers)
    }


def unread_in(domain: Domain, answers: Sequence[NoisyAnswer]) -> dict[str, float]:
    """Share of the cells of learned numbers and dates that cannot be read and become missing."""
    return {name: min(lost / rows, 1.0) for name, _, _, lost, rows in _precisions(domain, answers)}


def _precisions(
    domain: Domain, answers: Sequence[NoisyAnswer]
) -> Iterator[tuple[str, PrecisionCounts, float, float, float]]:
    """For each learned number or date: name, counts, noise scale, unreadable cells, number of rows."""
    rows = _noisy_rows(answers)
    for answer in answers if rows > 0 else ():
        if answer.asked.kind == "precision":
            from sdv_plausible.table.learned.raw_queries import PrecisionCounts

            (name,), counts = answer.asked.columns, PrecisionCounts.of(answer.values, answer.asked)
            yield name, counts, answer.scale, math.fsum(counts.lost(domain[name].texts, answer.scale)), rows


def _noisy_rows(answers: Sequence[NoisyAnswer]) -> float:
    """The noisy number of rows; 0 if it was not queried."""
    return next((float(a.values[0]) for a in answers if a.asked.kind == "number of rows"), 0.0)


def missing_shares(
    model: Any, domain: Domain, answers: Sequence[NoisyAnswer], rules: RuleSet, rng: KeyedRNG
) -> dict[str, float]:
    """Share of missing cells by number or date column of the table, in rows sampled from the model."""
    if not isinstance(model, PrefixModel):
        return {}
    tables_column = {name: rule.made[0] for rule in rules.deriving_rules for name in rule.added}
    codes, answered = model.sample(GONE_ROWS, rng), missing_in(domain, answers)
    shares: dict[str, float] = {}
    for j, attribute in enumerate(domain):
        is_category = bool(attribute.values) and not attribute.lower
        if attribute.missing_code is not None and not is_category:
            share = float((codes[:, j] == attribute.missing_code).mean())
            if attribute.cardinality == 1:  # no value was learned: the model cannot tell
                share = answered.get(attribute.name, 0.0)
            name = tables_column.get(attribute.name, attribute.name)
            shares[name] = max(share, shares.get(name, 0.0))
    return shares


def hidden_digits(
    domain: Domain, names: Collection[str], answers: Sequence[NoisyAnswer]
) -> dict[str, tuple[int, float]]:
    """By number: the learned digits, and the share of cells that may have more, if it is above HIDDEN."""
    rows = max(_noisy_rows(answers), 1.0)
    hidden = {}
    for answer in answers:
        if answer.asked.kind != "precision" or answer.asked.columns[0] not in names:
            continue
        learned = domain[answer.asked.columns[0]]
        digits = 0 if learned.kind == "integer" else learned.decimals
        if digits is None:  # all digits are learned
            continue
        from sdv_plausible.table.learned.raw_queries import PrecisionCounts

        beyond = PrecisionCounts.of(answer.values, answer.asked).levels[digits + 1 :]
        most = float(beyond.sum()) + SURELY * answer.scale * math.sqrt(len(beyond))
        if most > HIDDEN * rows:
            hidden[learned.name] = digits, min(most / rows, 1.0)
    return hidden


def compare_with_declarations(
    declared: Declarations, rules: RuleSet, specs: Specs, frame: pd.DataFrame
) -> tuple[Check, set[str], list[str]]:
    """Compare a table with declarations and rules: check, columns, lines that quote cells. Not private."""
    needed = {name for rule in rules.rules for name in rule.columns} | set(declared.names)
    require_columns("data", sorted(needed - set(rules.added)), list(frame.columns))
    known = {
        name: (declared_attribute(declared, name, specs), declared.allows_missing(name))
        for name in declared.names
    }
    lines: list[str] = []
    return (*check_rows(rules, known, frame, lines.append), lines)


def declared_attribute(declared: Declarations, name: str, specs: Specs) -> Attribute:
    """A declared column, with the date format of the declaration or else of the metadata."""
    known = declared.known(name)
    assert known is not None
    if known.kind != "datetime":
        return known
    return replace(known, datetime_format=declared.date_format(name, specs[name]))
