"""Types that nobody declared: the vote as a step of the fit (docs/explanation/proofs/type_votes.md).

What is told of the columns is read before the vote as if those without a type were categories, so that
mistakes are refused first, and again with the types that were found.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sdv_plausible.models.bayesian_network import given_structure
from sdv_plausible.privacy.checks import Refused
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.questions.queryable import Queryable
from sdv_plausible.release.settings import Settings
from sdv_plausible.rules.declared import rules_with_declarations
from sdv_plausible.rules.rule import Rule
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.rules.written import read_rules
from sdv_plausible.table.columns.cell_texts import FORMATS, ColumnType, Spelling
from sdv_plausible.table.columns.domain import MAX_BINS
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.declared.declarations import (
    Declarations,
    Specs,
    Undeclared,
    given_file,
    read_declarations,
    says_written,
)
from sdv_plausible.table.declared.domain_file import DomainFile, is_blank
from sdv_plausible.table.declared.words import MODELLED_SDTYPES
from sdv_plausible.table.learned.private_domain import listed

CATEGORY = {"sdtype": "categorical"}
# Each becomes two columns, which are called after the finest that the format shows.
MOMENTS = tuple(
    {"sdtype": "datetime", "datetime_format": form}
    for form in {("%S" in form): form for form in FORMATS if "%H" in form}.values()
)
TYPES_SHARE = 0.1  # of epsilon and of the model's delta; domain and model keep to what is left
Words = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Told:
    """What is told of a table's columns; rules and domain as given, or read."""

    columns: Specs  # their words, in order; those of columns without a type are a category's
    rules: Any = ()
    domain: Any = None
    max_bins: int = MAX_BINS
    undeclared: Undeclared = "private"
    split_dates: bool = True  # whether moments become date and time of day without being asked for
    open: tuple[str, ...] = ()  # columns whose types are to be voted for
    spelling: Spelling = field(default_factory=Spelling)  # of their cells that are text

    def read(self, found: Specs | None = None) -> tuple[Declarations, RuleSet, dict[str, dict[str, Any]]]:
        """Value sets, rules, and the columns that the model sees; ``found`` are words of columns without."""
        columns = {name: dict(words) for name, words in {**self.columns, **(found or {})}.items()}
        given, seen, rules = rules_with_declarations(
            self.rules, self.domain, columns, self.max_bins, split_dates=self.split_dates
        )
        declared = read_declarations(given, self.undeclared, self.max_bins, seen)
        modelled = {name: words for name, words in columns.items() if words.get("sdtype") in MODELLED_SDTYPES}
        return declared, rules, rules.model_columns(modelled)

    def entries(self, s: Settings) -> tuple[LedgerEntry, ...]:
        """What the vote charges; nothing where every type is declared."""
        if not self.open:
            return ()
        from sdv_plausible.table.learned.type_votes import vote_entry  # where there is a vote

        return (vote_entry(len(self.open), TYPES_SHARE * s.epsilon, TYPES_SHARE * s.model_delta),)

    def warnings(self) -> list[str]:
        """What a plan says of types that are open."""
        if not self.open:
            return []
        return [
            f"the types of {listed(self.open)} are not known yet, and are planned as categories; the total "
            "is the same whatever they are"
        ]

    def found(self, cells: Queryable, s: Settings) -> dict[str, dict[str, Any]]:
        """Types by the vote; a model needs a column, so that not all are ids."""
        from sdv_plausible.table.learned.type_votes import vote_failure, vote_types

        failure = vote_failure(TYPES_SHARE * s.model_delta)
        return self._with_a_column(vote_types(cells, self.open, self.spelling, failure))

    @property
    def types(self) -> dict[str, ColumnType]:
        """As what cells of the table are read, before a vote."""
        return column_types(self.domain, {"columns": self.columns})

    @property
    def fewest(self) -> dict[str, dict[str, Any]]:
        """The outcome that leaves the fewest columns to the model."""
        return self._with_a_column({name: {"sdtype": "id"} for name in self.open})

    def _with_a_column(self, found: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        modelled = any(_is_modelled(words) for words in {**self.columns, **found}.values())
        return found if modelled else {**found, self.open[0]: dict(CATEGORY)}


def _is_modelled(words: Words) -> bool:
    return words.get("sdtype") in MODELLED_SDTYPES


def left_open(
    names: Iterable[str], domain: Any, person: str | None
) -> tuple[dict[str, dict[str, Any]], DomainFile, tuple[str, ...]]:
    """Words of all columns of a table, in order, the declarations, and which columns have none."""
    # Columns that a template left blank are not declared; that ``person`` says whose a row is is its type.
    if says_written(domain):
        raise Refused.saying(
            "types",
            'types ("voted") does not go with domain="written", which is your word for types and values '
            "alike: declare what you know in domain={...}, or leave types out",
        )
    file = without_blanks(given_file(domain) or DomainFile(columns={}))
    known = {name: kind.words for name, kind in column_types(file).items()}
    if person is not None:
        known.setdefault(person, {"sdtype": "id"})
    names = list(names)
    is_open = tuple(name for name in names if name not in known)
    # A type that cells vote for within the budget repeats nothing of what a look has shown, nor do the two
    # columns that it becomes.
    voted = tuple(f"{name}: " for name in is_open)
    kept = {
        n: one for n, one in file.looked.items() if n in known or not (n in is_open or n.startswith(voted))
    }
    file = replace(file, looked=kept)
    return {name: dict(known.get(name, CATEGORY)) for name in names}, file, is_open


def without_blanks(file: DomainFile) -> DomainFile:
    """Declarations without the columns that a template left blank."""
    told = {n: w for n, w in file.columns.items() if not (isinstance(w, Mapping) and is_blank(w))}
    return file if len(told) == len(file.columns) else replace(file, columns=told)


def check_vote(told: Told, s: Settings, learner: Any) -> None:
    """Refuse what names columns whose types nobody knows yet, and a vote without noise."""
    if not told.open:
        return
    if not math.isfinite(s.epsilon):
        raise Refused.saying(
            "types",
            'types ("voted") needs a finite epsilon, of which the vote takes a tenth: give one, or say '
            'types="detected"',
        )
    if getattr(learner, "fitted", None) is not None:
        raise Refused.saying(
            "model",
            f"model ({type(learner).__name__}) names its columns, and the types of {listed(told.open)} are "
            "to be voted for: declare them (domain=...)",
        )
    arcs = given_structure(learner) or {}
    structure = {*arcs, *(parent for parents in arcs.values() for parent in parents)}
    rules = {n for rule in read_rules(told.rules) if isinstance(rule, Rule) for n in rule.columns}
    for what, named in (("rules", rules), ("structure", structure)):
        if both := [name for name in told.open if name in named]:
            raise Refused.saying(
                what,
                f"{what}: {listed(both)} must have a declared type, as whoever says this knows it: try "
                f'domain={{"{both[0]}": {{"sdtype": "numerical"}}}}',
            )
