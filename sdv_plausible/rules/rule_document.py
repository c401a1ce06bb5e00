"""JSON form of rules.

This is the single source for rule files and their schema, and for the rules of a release and its schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sdv_plausible.table.cells.cell_documents import VALUE_FORM, parse_value
from sdv_plausible.table.columns.column_document import MAX_DECIMALS
from sdv_plausible.utils.json_schema import (
    Schema,
    SharedSchemas,
    array_schema,
    nullable,
    object_schema,
    schema_ref,
)

_COLUMN, _CELL, _CONDITIONS = schema_ref("rule_column"), schema_ref("cell"), schema_ref("conditions")
_COLUMNS = array_schema(_COLUMN, minItems=2, uniqueItems=True)
_CELLS = array_schema(_CELL, minItems=1)
_PLACES: Schema = nullable({"type": "integer", "minimum": 0, "maximum": MAX_DECIMALS})


def conditions_form(*by_hand: Schema) -> Schema:
    """Form of conditions as they are saved; ``by_hand`` adds forms that people may write."""
    ends = object_schema({"min": _CELL, "max": _CELL}, ("min", "max"), minProperties=1)
    return {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {"anyOf": [*by_hand, _CELLS, ends]},
        "description": "By column, one of some values, or a closed range. All are met together.",
    }


SHARED: SharedSchemas = {
    "value": (VALUE_FORM, parse_value),
    "cell": (
        {**nullable(schema_ref("value")), "description": "A value; null is missing."},
        lambda value: value,
    ),
    "rule_column": (
        {"type": "string", "minLength": 1, "description": "Name of a column."},
        lambda name: name,
    ),
    "conditions": (conditions_form(_CELL), lambda found: found),
}
"""Forms that rules reference."""


@dataclass(frozen=True)
class RuleKind:
    """Document form of one kind of rule."""

    of: str  # class name
    meaning: str
    saved: Mapping[str, Schema]  # parts, all required
    by_hand: Mapping[str, Schema] = field(default_factory=dict)  # alternative forms that people may write
    left_out: tuple[str, ...] = ()  # parts that people may omit

    @property
    def form(self) -> Schema:
        """Form of the parts in a rule file."""
        alternatives = {name: {"anyOf": [form, self.saved[name]]} for name, form in self.by_hand.items()}
        return object_schema({**self.saved, **alternatives}, self.left_out)


KINDS: dict[str, RuleKind] = {
    "determined": RuleKind(
        "Determined", "A column looked up from others.",
        {
            "column": _COLUMN, "by": array_schema(_COLUMN, minItems=1, uniqueItems=True), "otherwise": _CELL,
            "mapping": array_schema(
                {"type": "array", "prefixItems": [_CELLS, _CELL], "items": False, "minItems": 2}, minItems=1,
            ),
        },
        {
            "by": _COLUMN,
            "mapping": {"type": "object", "minProperties": 1, "additionalProperties": _CELL},
        },
        left_out=("otherwise",),
    ),
    "equal": RuleKind("Equal", "A column that equals another.", {"column": _COLUMN, "other": _COLUMN}),
    "sum": RuleKind("Sum", "A column that is the sum of others.", {"total": _COLUMN, "parts": _COLUMNS}),
    "product": RuleKind(
        "Product", "A column that is the product of others, rounded to some digits after the point.",
        {"total": _COLUMN, "factors": _COLUMNS, "decimal_places": _PLACES}, left_out=("decimal_places",),
    ),
    "formula": RuleKind(
        "Formula", "A column that is a constant plus terms: columns that are multiplied, and a coefficient.",
        {
            "column": _COLUMN, "constant": {"type": "number"}, "decimal_places": _PLACES,
            "terms": array_schema(
                {
                    "type": "array", "items": False, "minItems": 2, "prefixItems": [
                        array_schema(_COLUMN, minItems=1, uniqueItems=True), {"type": "number"},
                    ],
                },
                minItems=1,
            ),
        },
        {"terms": {"type": "object", "minProperties": 1, "additionalProperties": {"type": "number"}}},
        left_out=("constant", "decimal_places"),
    ),
    "one_hot": RuleKind(
        "OneHot", "Flags of which one is set; values of an unset and of a set one.",
        {"columns": _COLUMNS, "values": array_schema(_CELL, minItems=2, maxItems=2)}, left_out=("values",),
    ),
    "inequality": RuleKind(
        "Inequality", "A column not below another; the model has their distance.",
        {
            "low": _COLUMN, "high": _COLUMN, "strict": {"type": "boolean"},
            "most": {"type": ["number", "null"], "minimum": 0},
            "unit": {"enum": ["D", "h", "min", "s", None]},
        },
        left_out=("strict", "most", "unit"),
    ),
    "multiple": RuleKind(
        "Multiple", "A column of multiples of a step.",
        {"column": _COLUMN, "step": {"type": "number", "exclusiveMinimum": 0}},
    ),
    "date_and_time": RuleKind(
        "DateAndTime",
        'A date with a time of day: of the model\'s columns "<column>: date" and '
        '"<column>: time (<resolution>)", the latter in steps of the resolution since midnight.',
        {
            "column": _COLUMN,
            "resolution": {"type": "string", "pattern": "^([1-9][0-9]{0,4})?(h|min|s)$"},
        },
        {"resolution": {"type": "null", "description": "What the column's format shows."}},
        left_out=("resolution",),
    ),
    "implies": RuleKind(
        "Implies", "If a row meets some conditions, it meets others.",
        {"when": _CONDITIONS, "then": _CONDITIONS},
    ),
    "forbidden": RuleKind("Forbidden", "Conditions that no row meets together.", {"when": _CONDITIONS}),
    "allowed": RuleKind(
        "Allowed", "Columns that hold one of some combinations.",
        {"columns": _COLUMNS, "combinations": array_schema(_CELLS, minItems=1)},
    ),
}  # fmt: skip
"""All kinds of rules by name. Their classes load only when a file contains one."""
