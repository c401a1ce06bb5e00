"""Release request: parses the app's form fields into parameters of a synthesizer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from sdv_plausible.extensions.app.forms import ROWS, Texts, read_numbers
from sdv_plausible.extensions.app.review.review import ReviewedTable
from sdv_plausible.fitting.options import MODELS as ALL_MODELS
from sdv_plausible.fitting.options import to_constructor_arguments, typed_default, unused_option
from sdv_plausible.fitting.partitioned_table import check_partitionable
from sdv_plausible.fitting.plan import Plan
from sdv_plausible.mechanism.privacy_tests.privacy_settings import TESTS_BY_NAME
from sdv_plausible.privacy.parameter_checks import Refused, one_of
from sdv_plausible.rules.conditions import Implies
from sdv_plausible.rules.derived_columns import Determined, Sum
from sdv_plausible.rules.inequality import Inequality
from sdv_plausible.rules.rule_files import read_rules
from sdv_plausible.table.columns.cell_reader import ColumnType, Spelling
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.declared.domain_file import DomainFile, blanks
from sdv_plausible.utils.json_schema import strict_json

if TYPE_CHECKING:
    from sdv_plausible.sdv.synthesizer import PlausibleDeniabilitySynthesizer

_SHORT = {  # titles that fit on a phone
    "paper": "Bayesian network of the paper",
    "correlated": "correlated (DataSynthesizer)",
    "independent": "independent (DataSynthesizer)",
    "random": "random (DataSynthesizer)",
}
MODELS = {n: _SHORT.get(n, what) for n, what in ALL_MODELS.items() if n not in ("latent", "uniform")}
_FIELDS = ("epsilon", "delta", "model", "test", "k", "epsilon0", "rows_per_person")
"""Options in the forms."""
READING_CHOICES = {"whole": "all at once", "parts": "in parts, for a large table"}
SMALL_COUNT_CHOICES = {"stop": "count first, and stop early", "go_on": "go on without counting"}
BLANK_CHOICES = {"vote": "learn their types", "leave": "leave them out"}


AT_LEAST_K = "release_k"  # the test "release" with one kept value
PRIVACY_TESTS = {
    "release": "all records (default)",
    AT_LEAST_K: "at least k, for any number of rows",
    "randomized": "at least k, and every row costs",
    "deterministic": "at least k, without an epsilon",
}
"""Which records could have produced a row."""

USUAL = {
    **{name: typed_default(name) for name in _FIELDS},
    "rows": ROWS, "table_rows": "", "row_cap": "", "blank": "vote", "few": "stop", "reading": "whole",
    "person": "", "rules": "",
}  # fmt: skip
"""Default texts of the form fields."""
MOST_ROWS = 10**7  # maximum that the app samples, in memory
_NUMBERS = ("epsilon", "delta", "epsilon0", "rows", "table_rows", "row_cap", "k", "rows_per_person")
_CHOICES: Mapping[str, Mapping[str, str]] = {
    "model": MODELS,
    "test": PRIVACY_TESTS,
    "blank": BLANK_CHOICES,
    "few": SMALL_COUNT_CHOICES,
    "reading": READING_CHOICES,
}
EXAMPLES = (
    Sum("total", ("room", "meals")),
    Implies({"age": {"max": 15}}, {"marital": "single"}),
    Determined("code", by="class", mapping={"basic": 1, "suite": 2}),
)


@dataclass(frozen=True, kw_only=True)
class ReleaseRequest:
    """A requested release: numbers, choices and rules from the forms."""

    table: ReviewedTable
    file: DomainFile
    numbers: Mapping[str, float | int | None]
    choices: Mapping[str, str]
    rules: tuple[Any, ...] = ()

    @property
    def table_name(self) -> str:
        """Name of the table: the file name without its extension."""
        return self.table.path.stem.strip() or "table"

    @property
    def person(self) -> str | None:
        """Column that identifies the person of a row."""
        return self.choices["person"] or None

    @property
    def open_columns(self) -> tuple[str, ...]:
        """Columns whose types are inferred under differential privacy."""
        undeclared = tuple(name for name in blanks(self.file) if name != self.person)
        return () if self.choices["blank"] == "leave" else undeclared

    @property
    def in_parts(self) -> bool:
        """Whether the table is read in parts and need not fit in memory."""
        return self.choices["reading"] == "parts"

    @property
    def types(self) -> dict[str, ColumnType]:
        """Column types in the table's order; columns with inferred types are read as text."""
        inferred = {name: {"sdtype": "categorical"} for name in self.open_columns}
        types = {**column_types(self.declared, person=self.person), **column_types(inferred)}
        names = dict.fromkeys([*(name for name in self.table.names if name in types), *types])
        return {name: types[name] for name in names}

    @property
    def spelling(self) -> Spelling:
        """Format of the file's cells."""
        return self.table.files.spelling

    @property
    def declared(self) -> DomainFile:
        """The domain file without its blanks."""
        return self.file.without_blanks()

    def synthesizer(self) -> PlausibleDeniabilitySynthesizer:
        """Return an unfitted synthesizer for this request."""
        from sdv_plausible.fitting.arguments import paid_row_cap

        if not self.types:
            raise Refused.saying(
                "blank", "every column is left out: declare at least one of them on the page Columns"
            )
        values: dict[str, Any] = {**self.numbers, **self.choices, "person": self.person}
        if keeps_value := values["test"] == AT_LEAST_K:
            values["test"] = "release"
        test, names = values["test"], (*_FIELDS, "row_cap", "person")
        options = {name: values[name] for name in names if unused_option("test", test, (name,)) is None}
        if "row_cap" in options:
            options["row_cap"] = paid_row_cap(values["rows"], list(self.rules), options["row_cap"])
        if self.in_parts:
            check_partitionable(TESTS_BY_NAME[test](), values["model"])
        synth = self._synthesizer(options)
        return self._keeping_a_value(synth, options) if keeps_value else synth

    def _keeping_a_value(
        self, synth: PlausibleDeniabilitySynthesizer, options: Mapping[str, Any]
    ) -> PlausibleDeniabilitySynthesizer:
        """The synthesizer with one kept value per row, for which half of epsilon pays."""
        if self.open_columns:
            names = ", ".join(self.open_columns)
            rule = f"at least k records: declare the types of {names} on the page Columns, or leave them out"
            raise Refused.saying("test", rule)
        columns, half = len(synth._next_fit().specs), options["epsilon"] / 2
        return self._synthesizer({**options, "epsilon": half, "epsilon0": half, "omega": columns - 1})

    def _synthesizer(self, options: Mapping[str, Any]) -> PlausibleDeniabilitySynthesizer:
        from sdv_plausible.sdv.metadata import metadata_of
        from sdv_plausible.sdv.synthesizer import PlausibleDeniabilitySynthesizer

        synth = PlausibleDeniabilitySynthesizer(
            metadata_of(self.types), domain=self.declared, rules=list(self.rules),
            types="voted" if self.open_columns else "declared", anyway=self.choices["few"] == "go_on",
            **to_constructor_arguments(options),
        )  # fmt: skip
        synth.spelling = self.spelling
        return synth

    def plan(self) -> Plan:
        """Plan the release; no row is read."""
        rows: Any = self.numbers["rows"]
        table_rows: Any = self.numbers["table_rows"]
        return self.synthesizer().plan(rows, table_rows=table_rows)


def read_request(
    table: ReviewedTable, file: DomainFile, texts: Texts
) -> tuple[ReleaseRequest | None, dict[str, str]]:
    """Parse a request from form fields; returns the request (None if invalid) and error messages by field."""
    fields = {**USUAL, **texts}
    numbers, refusals = read_numbers({name: fields[name] for name in _NUMBERS}, USUAL)
    if numbers.get("rows", 0) > MOST_ROWS:
        refusals["rows"] = (
            f"rows ({fields['rows'].strip()!r}) must be at most {MOST_ROWS:,} here. For more rows, use the "
            "release file afterwards"
        )
    checks: dict[str, Callable[[], Any]] = {
        name: partial(one_of, name, fields[name], known) for name, known in _CHOICES.items()
    }
    if fields["person"]:
        allowed = "left out, or a column of the table"
        checks["person"] = partial(one_of, "person", fields["person"], table.names, of=allowed)
    for name, check in checks.items():
        try:
            check()
        except ValueError as error:
            refusals[name] = str(error)
    try:
        rules = parse_rules(fields["rules"])
    except ValueError as error:
        refusals["rules"] = str(error)
    if refusals:
        return None, refusals
    choices = {name: fields[name] for name in (*_CHOICES, "person")}
    return ReleaseRequest(table=table, file=file, numbers=numbers, choices=choices, rules=tuple(rules)), {}


def parse_rules(text: str) -> list[Any]:
    """Parse rules in the JSON format of rule files; an empty text gives an empty list."""
    if not text.strip():
        return []
    try:
        rules = strict_json(text)
    except ValueError as error:
        raise Refused.saying("rules", f"rules: this is not JSON: {error}") from None
    if not isinstance(rules, list):
        raise Refused.saying("rules", "rules: write a list, [ ... ], of rules")
    read_rules(rules)
    return rules


def with_inequality(text: str, typed: Texts) -> str:
    """Add a rule that one column never exceeds another."""
    low, high = typed.get("low", ""), typed.get("high", "")
    if not low or not high or low == high:
        raise ValueError("choose two columns that differ")
    rules = [*parse_rules(text), Inequality(low, high).to_dict()]
    return rules_to_json(rules)


def rules_to_json(rules: Sequence[Any]) -> str:
    """Rules as JSON, one per line."""
    return "[\n" + ",\n".join(f" {json.dumps(rule, ensure_ascii=False)}" for rule in rules) + "\n]"
