"""Write the published JSON schemas: of release files, of domain files and of files of rules.

    python docs/write_schemas.py

What the program reads by is taken from it; what it checks by hand is stated here.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import get_args

from sdv_plausible.privacy.accounting.losses import ApproxDP, PureDP
from sdv_plausible.privacy.entries import Part
from sdv_plausible.privacy.neighbours import RELATIONS
from sdv_plausible.queries.transcript import Noise
from sdv_plausible.release.file.answers_section import MAX_SCALE, MIN_GRANULARITY, MIN_SCALE, PARTS
from sdv_plausible.release.file.domain_section import REQUIRED
from sdv_plausible.release.file.json_documents import FORMAT, write
from sdv_plausible.release.file.ledger_section import LOSSES, MAX_SENSITIVITY, MOST_USES
from sdv_plausible.release.file.schema_section import SDTYPE
from sdv_plausible.release.file.settings_section import KNOWN, PACKAGES, VERSION
from sdv_plausible.rules import rule_document
from sdv_plausible.rules.rule_document import KINDS, conditions_form
from sdv_plausible.table.cells.canonical_forms import LONGEST_NAME, LONGEST_TEXT
from sdv_plausible.table.columns import column_document
from sdv_plausible.table.columns.column_document import ATTRIBUTE, MODELLED_SDTYPES, WORDS, attribute_form
from sdv_plausible.table.columns.output_types import STORAGE_PATTERN
from sdv_plausible.table.declared.declarations import Types, Undeclared
from sdv_plausible.table.declared.domain_file import SCHEMA
from sdv_plausible.utils.json_schema import (
    Schema,
    SharedSchemas,
    array_schema,
    nullable,
    object_schema,
    schema_ref,
)

ROOT = Path(__file__).parents[1]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_STRING: Schema = {"type": "string"}
_NAME: Schema = {**_STRING, "maxLength": LONGEST_NAME}
_TEXT: Schema = {**_STRING, "maxLength": LONGEST_TEXT}
_FLAG: Schema = {"type": "boolean"}
_WHOLE: Schema = {"type": "integer", "minimum": 0}
_COUNT: Schema = {"type": "integer", "minimum": 1}
_SHARE: Schema = {"type": "number", "minimum": 0}
_POSITIVE: Schema = {"type": "number", "exclusiveMinimum": 0}
_DTYPE: Schema = {"enum": ["uint8", "int16", "int32", "int64", "float64"]}
_SHAPE = array_schema(_WHOLE, maxItems=8)
_RELATION: Schema = {"enum": list(RELATIONS)}
_PARTS_OF_COST = list(get_args(Part))


def _said(description: str, form: Schema) -> Schema:
    return {**form, "description": description}


def _shared(forms: SharedSchemas) -> dict[str, Schema]:
    return {name: form for name, (form, _) in forms.items()}


def _losses() -> list[Schema]:
    """One form for each kind of loss, of its fields, in the ranges that they check."""
    known: dict[str, Schema] = {
        "count": {**_COUNT, "maximum": MOST_USES}, "l1": {**_COUNT, "maximum": MAX_SENSITIVITY},
        "sensitivity": {**_COUNT, "maximum": MAX_SENSITIVITY}, "delta": {**_SHARE, "maximum": 1},
        "rate": {**_POSITIVE, "maximum": 1}, "rho": _SHARE,
    }  # fmt: skip
    others = {PureDP: _SHARE, ApproxDP: _SHARE}
    return [
        object_schema(
            {
                "type": {"const": name},
                **{
                    f.name: known.get(f.name, _COUNT if f.type == "int" else others.get(made, _POSITIVE))
                    for f in fields(made)
                },
            }
        )
        for name, made in LOSSES.items()
    ]


def _rule(*, by_hand: bool) -> Schema:
    kinds = [
        object_schema(
            {"rule": {"const": name}, **(kind.form["properties"] if by_hand else kind.saved)},
            kind.left_out if by_hand else (),
            description=kind.meaning,
        )
        for name, kind in KINDS.items()
    ]
    return {"oneOf": kinds, "description": "Something that holds in every row."}


_DEFS: dict[str, Schema] = {
    **_shared(column_document.SHARED),
    "attribute": attribute_form(*REQUIRED),
    "array": {
        "oneOf": [
            object_schema(
                {"dtype": _DTYPE, "shape": _SHAPE, "data": {"type": "string", "contentEncoding": "base64"}}
            ),
            object_schema({"dtype": _DTYPE, "shape": _SHAPE, "values": {}}),
        ],
        "description": "An array. Its numbers are base64 of little-endian bytes in row-major order (data), "
        "or nested lists (values). Whole numbers have the shortest of the whole types.",
    },
    "column_name": _said("The name of a column of the domain.", _NAME),
    "key": {"anyOf": [_NAME, array_schema(_NAME)]},
    "table": object_schema(
        {
            "column": schema_ref("column_name"),
            "parents": array_schema(schema_ref("column_name")),
            "buckets": array_schema(
                schema_ref("array"), description="For each parent the bucket of every code."
            ),
            "probabilities": _said(
                "float64, one row per combination of the parents' buckets (mixed radix, first parent most "
                "significant), one entry per code of the column; rows sum to 1.",
                schema_ref("array"),
            ),
        },
        description="P(column | buckets of its parents).",
    ),
    "product": object_schema(
        {
            "column": schema_ref("column_name"),
            "bucket": _said("Bucket of every code of the column.", schema_ref("array")),
            "inside": _said("float64, P(code | its bucket).", schema_ref("array")),
            "base": _said("float64, a weight for each bucket, whatever the parents.", schema_ref("array")),
            "factors": array_schema(
                object_schema(
                    {
                        "parents": array_schema(schema_ref("column_name"), minItems=1),
                        "buckets": array_schema(schema_ref("array"), description="As in a table."),
                        "weights": _said(
                            "float64, of single precision: rows as in a table, one entry per bucket of the "
                            "column, from 1e-6 to 1; each row's largest is 1.",
                            schema_ref("array"),
                        ),
                    }
                )
            ),
        },
        description="P(column | parents): P(code | bucket) times P(bucket | parents), which is base times "
        "the weights of every factor, up to what makes it sum to 1.",
    ),
    "loss": {
        "oneOf": _losses(),
        "description": "A privacy loss: the name of its kind, and its parameters. How each composes, and "
        "what it stands for, is on the page of the format.",
    },
    "entry": object_schema(
        {
            "name": _NAME,
            "mechanism": _TEXT,
            "losses": array_schema(schema_ref("loss")),
            "scope": _TEXT,
            "note": _TEXT,
            "parts": array_schema({"enum": _PARTS_OF_COST}),
            "envelope": {"const": True, "description": "Stands for all later entries of its parts."},
            "assumes": array_schema(
                _NAME,
                minItems=1,
                description="Columns whose types the claim takes as known without the data.",
            ),
        },
        optional=("envelope", "assumes"),
        description="One use of the rows.",
    ),
    "axis": object_schema(
        {"column": schema_ref("column_name"), "buckets": schema_ref("array")},
        description="A column whose codes are put into buckets: an axis of a table of counts.",
    ),
    "answer": object_schema(
        {
            "kind": _said(
                "Kind of question: counts, distances, entropies, number of rows, present and missing, "
                "precision, runs, rounding, patterns, frequent values, frequent points, or the class of a "
                "question of your own. How far one row moves each is on the page of the format.",
                _NAME,
            ),
            "tables": array_schema(
                array_schema(_WHOLE),
                description="Questions about codes: for each table its axes, as positions in axes.",
            ),
            "columns": array_schema(
                schema_ref("column_name"), description="Questions about raw columns: which."
            ),
            "details": {
                "type": "object",
                "additionalProperties": {
                    "anyOf": [
                        {"type": "null"},
                        schema_ref("value"),
                        array_schema(schema_ref("value")),
                        schema_ref("array"),
                    ]
                },
            },
            "values": _said(
                "The noisy answer, whole numbers of steps of the granularity.", schema_ref("array")
            ),
            "noise": {"enum": list(get_args(Noise))},
            "scale": {
                "type": "number",
                "minimum": MIN_SCALE,
                "maximum": MAX_SCALE,
                "description": "sigma of the discrete Gaussian, b of the discrete Laplace noise on every "
                "value, the largest error of rounded counts; where they differ, the root mean square of what "
                "details has as scales, in the order of the values.",
            },
            "paid_by": array_schema(_NAME, description="Names of the ledger entries that paid."),
            "rows": {
                "enum": list(PARTS),
                "description": "Which rows were asked: all, or a secret part under split.",
            },
            "granularity": {
                "type": "number",
                "minimum": MIN_GRANULARITY,
                "maximum": 0.5,
                "description": "Spacing of the values of discrete Gaussian noise, a power of two; 1 where it "
                "is left out. scale is in terms of 1, and values count steps.",
            },
        },
        optional=("granularity",),
    ),
    "setting": {
        "anyOf": [{"type": ["string", "number", "boolean", "null"]}, array_schema({}), {"type": "object"}]
    },
    **_shared(rule_document.SHARED),
    "rule_column": {**rule_document.SHARED["rule_column"][0], "maxLength": LONGEST_NAME},
    "conditions": {**conditions_form(), "maxProperties": 10000},
    "rule": _rule(by_hand=False),
}
_SECTIONS: dict[str, Schema] = {
    "format": {"const": FORMAT},
    "ledger": object_schema({
        "sentence": _said(
            "The guarantee, total first, as it was when the release was made, for people who open the "
            "file: the program shows the words that follow from the entries.",
            _TEXT,
        ),
        "epsilon": _said(
            "The total: no less than the entries add up to; null where there is no claim.", nullable(_SHARE),
        ),
        "delta": _said("At which the total is stated.", {"type": "number", "minimum": 0, "maximum": 1}),
        "covers": _said("What the total is for, in the sentence.", nullable(_TEXT)),
        "limit": _said("An upper limit that the fit had, if any.", nullable(_SHARE)),
        "entries": array_schema(schema_ref("entry"), maxItems=10000),
        "not_covered": array_schema(_TEXT, description="What no total speaks of."),
        "neighbours": object_schema({
            "relation": _RELATION, "person": nullable(_NAME), "rows_per_person": _COUNT,
        }, description="Which change of the table the guarantee is for."),
    }, description="What it cost."),
    "schema": object_schema({
        "table": _NAME,
        "columns": array_schema(
            object_schema({
                "name": _NAME, "label": {"type": ["string", "integer"]},
                "sdtype": {"type": "string", "pattern": SDTYPE},
                "datetime_format": nullable({"type": "string", "maxLength": 200}),
                "regex_format": nullable({"type": "string", "maxLength": 200}), "pii": nullable(_FLAG),
                "dtype": {
                    "anyOf": [
                        _NAME,
                        object_schema({"values": array_schema(schema_ref("value")), "ordered": _FLAG}),
                    ],
                    "description": "Type in which pandas writes the column; a category with its values.",
                },
                "storage": {
                    "type": "string", "pattern": f"^({STORAGE_PATTERN})$",
                    "description": "How the table's Parquet file stored the column, by its schema: rows come "
                    "back so; left out: in no way of its own.",
                },
            }, optional=("storage",)),
        ),
        "primary_key": nullable(schema_ref("key")), "alternate_keys": array_schema(schema_ref("key")),
        "relationships": array_schema(object_schema({"type": _NAME, "columns": array_schema(_NAME)})),
    }, description="The table's columns in order: public beforehand."),
    "domain": array_schema(
        schema_ref("attribute"), minItems=1, description="The modelled columns, in order."
    ),
    "model": {
        "oneOf": [
            object_schema({
                "type": {"const": "bayesian_network"},
                "tables": array_schema(
                    {"oneOf": [schema_ref("table"), schema_ref("product")]},
                    description="One per column; parents come first.",
                ),
            }),
            object_schema({
                "type": {"type": "string", "not": {"const": "bayesian_network"}},
                "arrays": {"type": "object", "additionalProperties": schema_ref("array")},
            }, description="A registered model type."),
        ],
    },
    "seeds": array_schema(
        object_schema({
            "columns": array_schema(
                schema_ref("column_name"),
                description="The first columns of the model's order, which rows keep.",
            ),
            "codes": _said("Released combinations of their codes, sorted and distinct.", schema_ref("array")),
            "sizes": _said("Their noisy numbers of rows.", schema_ref("array")),
        }),
        minItems=1,
        description="What was released of the seeds. Rows are drawn from each part with equal probability, "
        "and within it by the sizes. No columns: the model alone.",
    ),
    "rules": array_schema(
        object_schema({
            "rule": schema_ref("rule"),
            "made": array_schema(
                schema_ref("attribute"), maxItems=10000,
                description="Columns that follow from others by the rule; the model does not have them.",
            ),
        }),
        maxItems=10000,
        description="Rules that rows keep, in the order in which columns are made. Rows that break one are "
        "drawn again.",
    ),
    "answers": object_schema({
        "axes": array_schema(schema_ref("axis")), "asked": array_schema(schema_ref("answer")),
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
            **dict.fromkeys(KNOWN, schema_ref("setting")),
            "epsilon": nullable({"type": "number", "exclusiveMinimum": 0}), "locales": array_schema(_STRING),
            "returns_tables": _FLAG, "max_bins": {"type": "integer", "minimum": 2},
            "undeclared": {"enum": list(get_args(Undeclared))}, "enforce_min_max_values": _FLAG,
            "enforce_rounding": _FLAG, "neighbours": _RELATION, "person": nullable(_NAME),
            "rows_per_person": _COUNT, "voted": array_schema(_NAME),
            "voted_others": {
                "type": "object", "additionalProperties": {"type": "number", "minimum": 0, "maximum": 1},
                "description": "Up to what share of the cells may be of another kind than the vote found.",
            },
            "types": nullable({"enum": list(get_args(Types))}),
        },
        "additionalProperties": False,
        "description": "Parameters of the synthesizer; an infinite epsilon is null.",
    },
    "versions": {
        "type": "object", "properties": {one: {"type": "string", "pattern": VERSION} for one in PACKAGES},
        "additionalProperties": False, "description": "Versions of the packages that made the release.",
    },
}  # fmt: skip


def release_file() -> Schema:
    """Of a release file (docs/reference/release_file.md)."""
    return {
        "$schema": DIALECT,
        "$id": "https://sdv-plausible/release/1",
        "title": "Release file of sdv-plausible, format 1",
        "description": "What a differentially private fit released: enough to draw rows, and to know what it "
        "cost. It holds no code and no record. Names of entries are unique, numbers finite, the text "
        "is UTF-8. Equal releases have equal bytes: entries sorted, no white space, arrays as base64, a line "
        "feed at the end.",
        **object_schema(_SECTIONS),
        "$defs": _DEFS,
    }


def domain_file() -> Schema:
    """Of a domain file (docs/how_to/domain_file.md)."""
    attribute = attribute_form("kind")
    return {
        "$schema": DIALECT,
        "$id": "https://sdv-plausible/declarations/1",
        "title": "Domain file of sdv-plausible, format 1",
        "description": "What is declared of the columns of a table, without looking at its rows.",
        "type": "object", "required": ["schema", "columns"], "additionalProperties": False,
        "properties": {
            "$schema": {"type": ["string", "null"], "description": "Where this schema is, for editors."},
            "schema": {"const": SCHEMA},
            "detected": {
                "type": "boolean", "description": "All of it was read off the rows: it declares nothing.",
            },
            "columns": {
                "type": "object", "propertyNames": {"pattern": r"\S", "maxLength": LONGEST_NAME},
                "additionalProperties": {
                    "if": {"required": ["kind"]}, "then": {"$ref": "#/$defs/attribute"},
                    "else": {"$ref": "#/$defs/column"},
                },
                "description": "Column name: its declaration.",
            },
            "looked": {
                "type": "object", "additionalProperties": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                "description": "Written by the program when a column is compared with the rows: SHA-256 of "
                "its words. Leave it as it is.",
            },
            "looked_rules": {
                "type": ["array", "null"], "items": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                "description": "Written by the program when rows that break a rule are counted: SHA-256 of "
                "every rule. Leave it as it is.",
            },
            "rules_source": {
                "type": ["string", "null"], "minLength": 1,
                "description": "The public text that the rules are from, if they were changed after that.",
            },
            "learned": {
                "type": ["object", "null"], "required": ["ledger", "charge"],
                "description": "Written by the program when columns were learned privately: what that cost. "
                "Leave it as it is.",
            },
        },
        "$defs": {
            **_shared(column_document.SHARED),
            "attribute": {
                **attribute, "description": "A value set as it was learned: bins and all.",
                "properties": {name: form for name, form in ATTRIBUTE.items() if name != "name"},
            },
            "column": declaration_form(),
        },
    }  # fmt: skip


def declaration_form() -> Schema:
    """Form of a column's declaration: what each word may hold, and what it may not for some sdtypes."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            name: {"title": word.title or name, "description": word.explanation, **nullable(word.form)}
            for name, word in WORDS.items()
        },
        "allOf": [
            *(_narrowed({"const": sdtype}, sdtype) for sdtype in MODELLED_SDTYPES),
            _narrowed({"type": "string", "not": {"enum": list(MODELLED_SDTYPES)}}, None),
        ],
    }  # fmt: skip


def _narrowed(which: Schema, sdtype: str | None) -> Schema:
    """What holds of columns of one sdtype; None stands for those that are not modelled."""
    forms: dict[str, Schema] = {}
    for name, word in WORDS.items():
        if word.about in ("values", "form") and sdtype not in word.suits:
            forms[name] = {"type": "null"}
        elif sdtype is not None and sdtype in word.narrower:
            forms[name] = nullable(word.narrower[sdtype][0])
    return {"if": {"properties": {"sdtype": which}, "required": ["sdtype"]}, "then": {"properties": forms}}


def file_of_rules() -> Schema:
    """Of a file of rules (docs/how_to/rules.md)."""
    return {
        "$schema": DIALECT,
        "title": "Rules of a table",
        "description": "What holds in every row, known without the rows: the rules argument of "
        "PlausibleDeniabilitySynthesizer, and --rules.",
        **array_schema(schema_ref("rule")),
        "$defs": {**_shared(rule_document.SHARED), "rule": _rule(by_hand=True)},
    }


SCHEMAS = {
    "sdv_plausible/release/file/release.schema.json": release_file,
    "sdv_plausible/rules/rules.schema.json": file_of_rules,
    "docs/reference/declarations.schema.json": domain_file,
}


def text_of(schema: Schema) -> str:
    """Text of a schema as it is published."""
    return write(schema, readable=True).decode("utf-8")


if __name__ == "__main__":
    for path, schema in SCHEMAS.items():
        (ROOT / path).write_text(text_of(schema()), encoding="utf-8")
