"""What a fit tells the holder of the rows: not for publication, and of no effect on what is fitted."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.fitting.fit_rows import LOOKED_AT, FitRows
from sdv_plausible.fitting.ledger_notes import RARE
from sdv_plausible.fitting.public_table import starts
from sdv_plausible.models.base import PrefixModel
from sdv_plausible.models.bayesian_network import HasStructure
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import OneFamily
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import all_there, listed
from sdv_plausible.queries.transcript import NoisyAnswer
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.rules.rule_violations import check_rows
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.data_checks import Check, mostly_outside, often_cut, often_missing
from sdv_plausible.table.declared.declarations import Declarations, Specs
from sdv_plausible.table.learned.raw_queries import PrecisionCounts
from sdv_plausible.utils.printable import visible

AS_MISSING = frozenset(("?", "-", "--", ".", "na", "n/a", "n.a.", "nan", "nil", "null"))
"""Texts that mostly say that nothing is there."""
FOR_YOU = "for you, not for publication"
GONE = 0.9  # share of missing cells in the released model from which a column is named
GONE_ROWS = 2000  # drawn of the model to see it
HIDDEN = 0.10  # of the cells: where more may have digits that noise hides, it is said, as of any loss
CLEARLY = 3.0  # standard deviations of noise above which missing cells are there
SURELY = 2.0  # standard deviations of noise: more than so many cells more than were seen have none
Note = Callable[[Collection[str], Collection[str] | None], list[str]]
"""Columns and digests of rules that rows were compared through -> what the holder is told of that."""


class FitWarning(UserWarning):
    """What a fit tells the holder of the rows; ``for_holder`` alone if it depends on them."""

    def __init__(self, text: str, *, for_holder: bool = False) -> None:
        super().__init__(visible(text, keep=""))
        self.for_holder = for_holder


def warn_of_assumed_types(planned: PrivacyLedger) -> None:
    """Warn, before anything is paid, of a claim that depends on column types nobody has vouched for."""
    if not (names := planned.assumed_types) or not planned.claims_privacy:
        return
    text = (
        f"the privacy claim holds only if the column types of {listed(names)} were known without the data: "
        "the metadata does not say where they are from, and detection reads types off the rows. If they were "
        'known, say types="declared", or declare these columns (domain=...)'
    )
    if not isinstance(planned.neighbours, OneFamily):
        text += '. Otherwise types="voted" learns them within the budget'
    warnings.warn(FitWarning(text), stacklevel=3)


@dataclass(frozen=True)
class HolderDiagnostics:
    """Warns the holder of the rows.

    Parameters
    ----------
    note : callable, optional
        Writes down, before anything is told, that columns were compared with rows, through which rules.
        Without it nothing is compared.
    told : list of FitWarning
        What the door warns of, once what was paid for is in its caller's hands.
    """

    note: Note | None = None
    told: list[FitWarning] = field(default_factory=list)

    def warn(self) -> None:
        """Warn of all that was told, two calls above: once what was paid for can be returned."""
        for told in self.told:
            try:
                warnings.warn(told, stacklevel=3)
            except UserWarning:  # of whoever makes errors of them: what was paid for is not lost
                if sys.stderr is not None:  # a window's program has none
                    sys.stderr.write(f"{told}\n")

    def _tell(self, text: str, *, for_holder: bool = False) -> None:
        self.told.append(FitWarning(text, for_holder=for_holder))

    def tell_of_public(self, public: pd.DataFrame | None, rows: FitRows) -> None:
        """Warn that a published table repeats the rows."""
        with suppress(Exception):  # what is only told ends no fit
            if public is not None and starts(public, rows.begins(len(public))):
                self._tell(
                    f"public: it contains the first rows of the table to be protected ({FOR_YOU}). Nothing "
                    "protects them then, whatever the ledger says. Leave public out",
                    for_holder=True,
                )

    def tell_of_unread(self, public: pd.DataFrame, codes: np.ndarray, domain: Domain) -> None:
        """Warn of columns of a published table that say nothing. It is public, and answers are no secret."""
        given, known = {*map(str, public)}, zip(domain.names, codes.T, strict=True)
        if names := [name for name, column in known if name in given and (column < 0).mean() > 0.5]:
            self._tell(
                f"public: most cells of {', '.join(names)} do not match the values of these columns, and are "
                "ignored. Write them as in the table, or drop the columns"
            )

    def tell_of_persons(self, person: str | None, rows: FitRows) -> None:
        """Warn that rows are nobody's, as what is in the persons' column can be no name."""
        if rows.unnamed:
            self._tell(
                f"{person}: some cells do not identify a person, and their rows were left out ({FOR_YOU}). "
                "Give each person a whole number or a text",
                for_holder=True,
            )

    def tell_of_omega(self, omega: Any, columns: int) -> None:
        """Warn that a vote on types left fewer columns than are to be resampled. Answers are no secret."""
        if isinstance(omega, (int, tuple)) and np.max(omega) > columns:
            self._tell(
                f"omega ({omega}): after the vote on types only {columns} columns are modelled, and all of "
                "them are resampled"
            )

    def tell_of_strangers(self, declared: Declarations, rules: RuleSet, specs: Specs, rows: FitRows) -> None:
        """Warn, by column names alone, where a declaration does not fit at all."""
        if self.note is None or not declared.names:
            return
        compared = {column for name in declared.names for column in rules.behind(name)}
        through = {*declared.names} & {*rules.added}  # what is told of them depends on the rules
        digests = (rules.digests or None) if through else None
        try:  # before anything is told, and all columns, so that the record itself depends on no row
            lines = self.note(compared, digests)[: 1 if digests is None else 2]
            noted, lost = "".join(f". {line}" for line in lines), None
        except (OSError, ValueError) as error:
            noted, lost = "", error
        outside, cut, missing = [], [], []
        with suppress(Exception):  # what is only told ends no fit
            first = rows.begins(LOOKED_AT)
            first = rules.fold(first) if rules else first
            there = [name for name in declared.names if name in first and name in specs]
            read = {name: as_read(declared, name, specs) for name in there}
            outside, cut = mostly_outside(first, read), often_cut(first, read)
            missing = often_missing(first, [name for name in there if declared.says_missing(name) is False])
        for names, what in (
            (outside, "{}: most cells are outside the declared values and are lost"),
            (cut, "{}: digits after the point are cut off, because whole numbers were declared"),
            (missing, "{}: cells are missing although none was declared to be, and get random values"),
        ):
            if names:
                told = f"{what.format(', '.join(names))} ({FOR_YOU})"
                way_out = "synth.check(table) or sdv-plausible check shows why"
                if lost is not None:
                    told = f"some columns do not fit their declarations ({FOR_YOU}), and are not named"
                    way_out = f"the comparison cannot be recorded: {lost}"
                self._tell(f"{told}: {way_out}{noted}", for_holder=True)

    def tell_of_missing(self, shares: Mapping[str, float]) -> None:
        """Warn of columns that come out missing. What a model says are answers, which are no secret."""
        if gone := [f"{name} ({share:.0%})" for name, share in shares.items() if share >= GONE]:
            self._tell(
                f"{', '.join(gone)}: these shares of the cells are missing or could not be read. If the file "
                "has values there, declare how they are written: datetime_format or number_format of the "
                "column, decimal, thousands or na_values of the file. Dates must lie in the years 1678 to "
                "2262"
            )

    def tell_of_domain(self, domain: Domain, answers: Sequence[NoisyAnswer] = ()) -> None:
        """Warn where value sets were read off the rows, or noise hides values. Answers are no secret."""
        missing = missing_in(domain, answers)
        if lost := [f"{name} ({share:.0%})" for name, share in unread_in(domain, answers).items() if share]:
            self._tell(
                f"{', '.join(lost)}: these shares of the cells cannot be read and come out missing. Dates "
                "must lie in the years 1678 to 2262. List other dates and codes as special_values, or "
                "declare another type or format"
            )
        if domain.inferred:
            self._tell(
                f"the value sets of {list(domain.inferred)[:6]} were read from the rows and may contain "
                "values of single people, so this fit makes no privacy claim. Declare them, or leave "
                "undeclared='infer' out"
            )
        learned = [a for a in domain if a.provenance == "private"]
        empty = [a.name for a in learned if not (a.values or a.lower)]
        if hidden := [name for name in empty if missing.get(name, 0.0) < GONE]:
            self._tell(
                f"{', '.join(hidden)}: no value was common enough to survive the noise, and the cells are "
                "empty. Declare the values (domain=...), or give more epsilon"
            )
        if lost := [a.name for a in learned if a.cardinality == 1 and a.name not in empty]:
            self._tell(
                f"{', '.join(lost)}: only one value or range was common enough to survive the noise. Declare "
                "the values or the range (domain=...), or give more epsilon"
            )
        if told := [
            f"{a.name} {value}"
            for a in learned
            for value in (a.values if a.kind == "categorical" else ())  # beside numbers they are declared
            if isinstance(value, str) and value.strip().casefold() in AS_MISSING
        ]:
            self._tell(
                f"{', '.join(told)}: these texts usually mean that a value is missing, and were learned as "
                "values. If they mean missing, list them (na_values, --na-values)"
            )
        if rare := [f"{a.name} ({a.unlearned:.0%})" for a in domain if a.unlearned >= RARE]:
            self._tell(
                f"{', '.join(rare)}: these shares of the cells held values too rare to learn, and more "
                "common values replace them. Declare the values (domain=...), or give more epsilon"
            )

    def tell_of_digits(self, domain: Domain, names: Collection[str], answers: Sequence[NoisyAnswer]) -> None:
        """Warn of numbers of which noise may have hidden digits after the point. Answers are no secret."""
        if hidden := hidden_digits(domain, names, answers):
            told = ", ".join(
                f"{name} {digits} (up to {share:.0%} of its cells may have more)"
                for name, (digits, share) in hidden.items()
            )
            self._tell(
                f"digits after the point that survived the noise: {told}. Declare how many there are "
                f'(domain={{"{next(iter(hidden))}": {{"decimal_places": 2, ...}}}}), or give more epsilon'
            )

    def tell_all(self, said: Collection[str]) -> None:
        """Warn of what follows from answers, which are no secret, or from names alone."""
        for text in said:
            self._tell(text)

    def tell_of_structure(self, given: Any, model: Any, domain: Domain) -> None:
        """Warn of given parents that a table in memory has no room for. Answers are no secret."""
        if not isinstance(given, Mapping) or not isinstance(model, HasStructure):
            return
        used = {(domain.names[child], domain.names[p]) for child, ps in model.structure() for p in ps}
        if lost := sorted({(child, p) for child, ps in given.items() for p in ps} - used):
            arcs = ", ".join(f"{parent} of {child}" for child, parent in lost)
            self._tell(
                f"structure: parents were left out ({arcs}), because the tables would have too many cells. "
                "Declare fewer values or coarser buckets"
            )


def missing_in(domain: Domain, answers: Sequence[NoisyAnswer]) -> dict[str, float]:
    """Share of the cells of learned numbers and dates that are missing or cannot be read, as answers say."""
    # None where noise may have made their number.
    return {
        name: min((lost + (counts.missing if counts.missing > CLEARLY * scale else 0.0)) / rows, 1.0)
        for name, counts, scale, lost, rows in _precisions(domain, answers)
    }


def unread_in(domain: Domain, answers: Sequence[NoisyAnswer]) -> dict[str, float]:
    """Share of the cells of learned numbers and dates that hold something else and come out missing."""
    return {name: min(lost / rows, 1.0) for name, _, _, lost, rows in _precisions(domain, answers)}


def _precisions(
    domain: Domain, answers: Sequence[NoisyAnswer]
) -> Iterator[tuple[str, PrecisionCounts, float, float, float]]:
    """Counts of each learned number or date, their noise, cells that cannot be read, and all rows."""
    rows = next((float(a.values[0]) for a in answers if a.asked.kind == "number of rows"), 0.0)
    for answer in answers if rows > 0 else ():
        if answer.asked.kind == "precision":
            (name,), counts = answer.asked.columns, PrecisionCounts.of(answer.values, answer.asked)
            yield name, counts, answer.scale, math.fsum(counts.lost(domain[name].texts, answer.scale)), rows


def missing_shares(
    model: Any, domain: Domain, answers: Sequence[NoisyAnswer], names: Mapping[str, str], coins: KeyedRNG
) -> dict[str, float]:
    """Share of missing cells by column of numbers or dates of the table, in rows of the model."""
    # Of a column without any value, as was answered: its rows in the model say nothing.
    if not isinstance(model, PrefixModel):
        return {}
    codes, answered = model.sample(GONE_ROWS, coins), missing_in(domain, answers)
    found: dict[str, float] = {}
    for j, attribute in enumerate(domain):
        is_category = bool(attribute.values) and not attribute.lower
        if attribute.missing_code is not None and not is_category:
            share = float((codes[:, j] == attribute.missing_code).mean())
            share = share if attribute.cardinality > 1 else answered.get(attribute.name, 0.0)
            name = names.get(attribute.name, attribute.name)
            found[name] = max(share, found.get(name, 0.0))
    return found


def hidden_digits(
    domain: Domain, names: Collection[str], answers: Sequence[NoisyAnswer]
) -> dict[str, tuple[int, float]]:
    """Digits learned of numbers of which a good share of the cells may have more, and that share."""
    rows = next((float(a.values[0]) for a in answers if a.asked.kind == "number of rows"), 0.0)
    found = {}
    for answer in answers:
        if answer.asked.kind != "precision" or answer.asked.columns[0] not in names:
            continue
        learned = domain[answer.asked.columns[0]]
        digits = 0 if learned.kind == "integer" else learned.decimals
        if digits is None:  # all are kept
            continue
        beyond = PrecisionCounts.of(answer.values, answer.asked).levels[digits + 1 :]
        most = float(beyond.sum()) + SURELY * answer.scale * math.sqrt(len(beyond))
        if most > HIDDEN * max(rows, 1.0):
            found[learned.name] = digits, min(most / max(rows, 1.0), 1.0)
    return found


def compared(
    declared: Declarations, rules: RuleSet, specs: Specs, frame: pd.DataFrame
) -> tuple[Check, set[str], list[str]]:
    """Compare a table with declarations and rules: what does not fit, which columns, lines that quote cells.

    Not private.

    Raises
    ------
    ValueError
        If the table lacks a declared column.
    """
    needed = {name for rule in rules.rules for name in rule.columns} | set(declared.names)
    all_there("data", sorted(needed - set(rules.added)), list(frame.columns))
    known = {name: (as_read(declared, name, specs), declared.says_missing(name)) for name in declared.names}
    lines: list[str] = []
    return (*check_rows(rules, known, frame, lines.append), lines)


def as_read(declared: Declarations, name: str, specs: Specs) -> Attribute:
    """A declared column as its cells are read: dates in the declaration's format, or the metadata's."""
    known = declared.known(name)
    assert known is not None
    if known.kind != "datetime":
        return known
    return replace(known, datetime_format=declared.date_format(name, specs[name]))
