"""What was told of a table's columns, in the order in which a fit reads it, and which types nobody declared.

Columns without a type are read before the vote as if they were categories, so that mistakes are refused
first, and again with the types that were found (docs/explanation/proofs/type_votes.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sdv_plausible.fitting.options import TYPES_SHARE
from sdv_plausible.mechanism.privacy_tests.privacy_settings import Settings
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.parameter_checks import listed
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.rules.rules_and_declarations import rules_with_declarations
from sdv_plausible.table.cells.date_texts import FORMATS
from sdv_plausible.table.cells.dates import shows_time
from sdv_plausible.table.columns.cell_reader import ColumnType, Spelling
from sdv_plausible.table.columns.domain import MAX_BINS
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.declared.declarations import Declarations, Specs, Undeclared, read_declarations
from sdv_plausible.table.declared.domain_file import DomainFile
from sdv_plausible.table.declared.spec_words import MODELLED_SDTYPES

CATEGORY = {"sdtype": "categorical"}
# Each becomes two columns, which are called after the finest that the format shows.
MOMENTS = tuple(
    {"sdtype": "datetime", "datetime_format": form}
    for form in {("%S" in form): form for form in reversed(FORMATS) if shows_time(form)}.values()
)


@dataclass(frozen=True, kw_only=True)
class ColumnSpecs:
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
        is_file = isinstance(self.domain, DomainFile)
        domain = self.domain.with_types(found or {}) if is_file else self.domain
        given, seen, rules = rules_with_declarations(
            self.rules, domain, columns, self.max_bins, split_dates=self.split_dates
        )
        declared = read_declarations(given, self.undeclared, self.max_bins, seen)
        modelled = {name: words for name, words in columns.items() if words.get("sdtype") in MODELLED_SDTYPES}
        return declared, rules, rules.model_columns(modelled)

    def entries(self, s: Settings) -> tuple[LedgerEntry, ...]:
        """What the vote charges; nothing where every type is declared."""
        if not self.open:
            return ()
        from sdv_plausible.table.learned.type_inference import vote_entry  # where there is a vote

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
        from sdv_plausible.table.learned.type_inference import vote_failure, vote_types

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


def _is_modelled(words: Mapping[str, Any]) -> bool:
    return words.get("sdtype") in MODELLED_SDTYPES
