"""The published JSON schema of the release file: columns as they are stated in the table room, and the rest.

``python -m sdv_plausible.release.file.published > release.schema.json``, in this folder, writes it anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from sdv_plausible.privacy.entries import Part
from sdv_plausible.privacy.neighbours import RELATIONS
from sdv_plausible.questions.transcript import Noise
from sdv_plausible.release.file.answers import PARTS
from sdv_plausible.release.file.documents import FORMAT, write
from sdv_plausible.release.file.domain import REQUIRED
from sdv_plausible.release.file.settings import Types
from sdv_plausible.table.cells.forms import LONGEST_NAME, LONGEST_TEXT
from sdv_plausible.table.columns.column_document import SHARED, attribute_form
from sdv_plausible.table.declared.declarations import Undeclared
from sdv_plausible.utils.json_forms import Form, list_of, object_of, or_null, ref

_STRING: Form = {"type": "string"}
_NAME: Form = {**_STRING, "maxLength": LONGEST_NAME}
_TEXT: Form = {**_STRING, "maxLength": LONGEST_TEXT}
_FLAG: Form = {"type": "boolean"}
_WHOLE: Form = {"type": "integer", "minimum": 0}
_COUNT: Form = {"type": "integer", "minimum": 1}
_SHARE: Form = {"type": "number", "minimum": 0}
_DTYPE: Form = {"enum": ["uint8", "int16", "int32", "int64", "float64"]}
_SHAPE = list_of(_WHOLE, maxItems=8)
_RELATION: Form = {"enum": list(RELATIONS)}
_PARTS_OF_COST = list(get_args(Part))
_COLUMNS = list_of(ref("rule_column"), minItems=2, uniqueItems=True)


def _said(description: str, form: Form) -> Form:
    return {**form, "description": description}


def _rule(kind: str, parts: Mapping[str, Form], **more: Any) -> Form:
    return object_of({"rule": {"const": kind}, **parts}, **more)


_DEFS: dict[str, Form] = {
    **{name: form for name, (form, _) in SHARED.items()},
    "attribute": attribute_form(*REQUIRED),
    "array": {
        "oneOf": [
            object_of(
                {"dtype": _DTYPE, "shape": _SHAPE, "data": {"type": "string", "contentEncoding": "base64"}}
            ),
            object_of({"dtype": _DTYPE, "shape": _SHAPE, "values": {}}),
        ],
        "description": "An array. Its numbers are base64 of little-endian bytes in row-major order (data), "
        "or nested lists (values). Whole numbers have the shortest of the whole types.",
    },
    "column_name": _said("The name of a column of the domain.", _NAME),
    "key": {"anyOf": [_NAME, list_of(_NAME)]},
    "table": object_of(
        {
            "column": ref("column_name"),
            "parents": list_of(ref("column_name")),
            "buckets": list_of(ref("array"), description="For each parent the bucket of every code."),
            "probabilities": _said(
                "float64, one row per combination of the parents' buckets (mixed radix, first parent most "
                "significant), one entry per code of the column; rows sum to 1.",
                ref("array"),
            ),
        },
        description="P(column | buckets of its parents).",
    ),
    "loss": {
        "type": "object",
        "properties": {"type": _STRING, "count": {"type": "integer", "minimum": 1, "maximum": 10000000}},
        "required": ["type"],
        "additionalProperties": _SHARE,
        "description": "A privacy loss: the name of its kind, and its parameters.",
    },
    "entry": object_of(
        {
            "name": _NAME,
            "mechanism": _TEXT,
            "losses": list_of(ref("loss")),
            "scope": _TEXT,
            "note": _TEXT,
            "parts": list_of({"enum": _PARTS_OF_COST}),
            "envelope": {"const": True, "description": "Stands for all later entries of its parts."},
        },
        optional=("envelope",),
        description="One use of the rows.",
    ),
    "axis": object_of(
        {"column": ref("column_name"), "buckets": ref("array")},
        description="A column whose codes are put into buckets: an axis of a table of counts.",
    ),
    "answer": object_of(
        {
            "kind": _said(
                "Kind of question: counts, distances, entropies, number of rows, present and missing, "
                "precision, runs, frequent values, frequent points, or the class of a question of your own.",
                _NAME,
            ),
            "tables": list_of(
                list_of(_WHOLE),
                description="Questions about codes: for each table its axes, as positions in axes.",
            ),
            "columns": list_of(ref("column_name"), description="Questions about raw columns: which."),
            "details": {
                "type": "object",
                "additionalProperties": {
                    "anyOf": [{"type": "null"}, ref("value"), list_of(ref("value")), ref("array")]
                },
            },
            "values": _said("The noisy answer, whole numbers.", ref("array")),
            "noise": {"enum": list(get_args(Noise))},
            "scale": {
                "type": "number",
                "exclusiveMinimum": 0,
                "description": "sigma of the discrete Gaussian, b of the discrete Laplace noise on every "
                "value.",
            },
            "paid_by": list_of(_NAME, description="Names of the ledger entries that paid."),
            "rows": {
                "enum": list(PARTS),
                "description": "Which rows were asked: all, or a secret part under split.",
            },
        }
    ),
    "setting": {
        "anyOf": [{"type": ["string", "number", "boolean", "null"]}, list_of({}), {"type": "object"}]
    },
    "rule_column": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "Name of a column."},
    "cell": _said("A value; null is missing.", or_null(ref("value"))),
    "conditions": {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 10000,
        "additionalProperties": {
            "anyOf": [
                list_of(ref("cell"), minItems=1),
                object_of({"min": ref("cell"), "max": ref("cell")}, optional=["min", "max"], minProperties=1),
            ]
        },
        "description": "By column, one of some values, or a closed range. All are met together.",
    },
    "rule": {
        "oneOf": [
            _rule(
                "determined",
                {
                    "column": ref("rule_column"),
                    "by": list_of(ref("rule_column"), minItems=1, uniqueItems=True),
                    "otherwise": ref("cell"),
                    "mapping": list_of(
                        {
                            "type": "array",
                            "prefixItems": [list_of(ref("cell"), minItems=1), ref("cell")],
                            "items": False,
                            "minItems": 2,
                        },
                        minItems=1,
                    ),
                },
                description="A column looked up from others.",
            ),
            _rule(
                "equal",
                {"column": ref("rule_column"), "other": ref("rule_column")},
                description="A column that equals another.",
            ),
            _rule(
                "sum",
                {"total": ref("rule_column"), "parts": _COLUMNS},
                description="A column that is the sum of others.",
            ),
            _rule(
                "one_hot",
                {"columns": _COLUMNS, "values": list_of(ref("cell"), minItems=2, maxItems=2)},
                description="Flags of which one is set; values of an unset and of a set one.",
            ),
            _rule(
                "inequality",
                {
                    "low": ref("rule_column"),
                    "high": ref("rule_column"),
                    "strict": _FLAG,
                    "most": {"type": ["number", "null"], "minimum": 0},
                    "unit": {"enum": ["D", "h", "min", "s", None]},
                },
                description="A column not below another; the model has their distance.",
            ),
            _rule(
                "multiple",
                {"column": ref("rule_column"), "step": {"type": "number", "exclusiveMinimum": 0}},
                description="A column of multiples of a step.",
            ),
            _rule(
                "date_and_time",
                {
                    "column": ref("rule_column"),
                    "resolution": {"type": "string", "pattern": "^([1-9][0-9]{0,4})?(h|min|s)$"},
                },
                description='A date with a time of day: of the model\'s columns "<column>: date" and '
                '"<column>: time (<resolution>)", the latter in steps of the resolution since midnight.',
            ),
            _rule(
                "implies",
                {"when": ref("conditions"), "then": ref("conditions")},
                description="If a row meets some conditions, it meets others.",
            ),
            _rule(
                "forbidden", {"when": ref("conditions")}, description="Conditions that no row meets together."
            ),
            _rule(
                "allowed",
                {"columns": _COLUMNS, "combinations": list_of(list_of(ref("cell"), minItems=1), minItems=1)},
                description="Columns that hold one of some combinations.",
            ),
        ],
        "description": "Something that holds in every row.",
    },
}
_SECTIONS: dict[str, Form] = {
    "format": {"const": FORMAT},
    "ledger": object_of({
        "sentence": _said(
            "The guarantee, total first, as it was when the release was made, for people who open the "
            "file: the program shows the words that follow from the entries.",
            _TEXT,
        ),
        "epsilon": _said(
            "The total: no less than the entries add up to; null where there is no claim.", or_null(_SHARE),
        ),
        "delta": {"type": "number", "minimum": 0, "maximum": 1}, "covers": or_null(_TEXT),
        "limit": or_null(_SHARE), "entries": list_of(ref("entry"), maxItems=10000),
        "not_covered": list_of(_TEXT),
        "neighbours": object_of({
            "relation": _RELATION, "person": or_null(_NAME), "rows_per_person": _COUNT,
        }, description="Which change of the table the guarantee is for."),
    }, description="What it cost."),
    "schema": object_of({
        "table": _NAME,
        "columns": list_of(
            object_of({
                "name": _NAME, "label": {"type": ["string", "integer"]}, "sdtype": _NAME,
                "datetime_format": or_null({"type": "string", "maxLength": 200}),
                "regex_format": or_null({"type": "string", "maxLength": 200}), "pii": or_null(_FLAG),
                "dtype": {
                    "anyOf": [_NAME, object_of({"values": list_of(ref("value")), "ordered": _FLAG})],
                    "description": "Type in which pandas writes the column; a category with its values.",
                },
            }),
        ),
        "primary_key": or_null(ref("key")), "alternate_keys": list_of(ref("key")),
        "relationships": list_of(object_of({"type": _NAME, "columns": list_of(_NAME)})),
    }, description="The table's columns in order: public beforehand."),
    "domain": list_of(ref("attribute"), minItems=1, description="The modelled columns, in order."),
    "model": {
        "oneOf": [
            object_of({
                "type": {"const": "bayesian_network"},
                "tables": list_of(ref("table"), description="One per column; parents come first."),
            }),
            object_of({
                "type": {"type": "string", "not": {"const": "bayesian_network"}},
                "arrays": {"type": "object", "additionalProperties": ref("array")},
            }, description="A registered model type."),
        ],
    },
    "seeds": list_of(
        object_of({
            "columns": list_of(
                ref("column_name"), description="The first columns of the model's order, which rows keep.",
            ),
            "codes": _said("Released combinations of their codes, sorted and distinct.", ref("array")),
            "sizes": _said("Their noisy numbers of rows.", ref("array")),
        }),
        minItems=1,
        description="What was released of the seeds. Rows are drawn from each part with equal probability, "
        "and within it by the sizes. No columns: the model alone.",
    ),
    "rules": list_of(
        object_of({
            "rule": ref("rule"),
            "made": list_of(
                ref("attribute"), maxItems=10000,
                description="Columns that follow from others by the rule; the model does not have them.",
            ),
        }),
        maxItems=10000,
        description="Rules that rows keep, in the order in which columns are made. Rows that break one are "
        "drawn again.",
    ),
    "answers": object_of({
        "axes": list_of(ref("axis")), "asked": list_of(ref("answer")),
    }, description="Every noisy answer that the rows gave, in order."),
    "settings": {
        "type": "object",
        "required": [
            "delta", "enforce_min_max_values", "enforce_rounding", "epsilon", "epsilon0", "gamma", "k",
            "least_rows", "locales", "max_bins", "neighbours", "omega", "person", "privacy_test",
            "returns_tables", "row_cap", "rows_per_person", "seed_free_share", "split", "types",
            "undeclared",
        ],
        "properties": {
            "epsilon": or_null({"type": "number", "exclusiveMinimum": 0}), "locales": list_of(_STRING),
            "returns_tables": _FLAG, "max_bins": {"type": "integer", "minimum": 2},
            "undeclared": {"enum": list(get_args(Undeclared))}, "enforce_min_max_values": _FLAG,
            "enforce_rounding": _FLAG, "neighbours": _RELATION, "person": or_null(_NAME),
            "rows_per_person": _COUNT, "voted": list_of(_NAME),
            "types": {"enum": list(get_args(Types))},
        },
        "additionalProperties": ref("setting"),
        "description": "Parameters of the synthesizer; an infinite epsilon is null.",
    },
    "versions": {
        "type": "object", "additionalProperties": _NAME, "description": "Packages that made the release.",
    },
}  # fmt: skip


def schema_document() -> dict[str, Any]:
    """Return the published JSON schema of the file (docs/reference/release_file.md)."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://sdv-plausible/release/1",
        "title": "Release file of sdv-plausible, format 1",
        "description": "What a differentially private fit released: enough to draw rows, and to know what it "
        "cost. It holds no code and no record. Names of entries are unique, numbers finite, the text "
        "is UTF-8. Equal releases have equal bytes: entries sorted, no white space, arrays as base64, a line "
        "feed at the end.",
        **object_of(_SECTIONS),
        "$defs": _DEFS,
    }


def schema_text() -> str:
    """The schema as it is published."""
    return write(schema_document(), readable=True).decode("utf-8")


if __name__ == "__main__":
    print(schema_text(), end="")
