"""Vocabulary of column declarations, and the entries of finished columns in documents.

This is the single source for the declaration words, the domain file and its schema, the review page, and the
domain and schema of a release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, get_args

from sdv_plausible.table.cells.canonical_forms import LONGEST_NAME
from sdv_plausible.table.cells.cell_documents import DATE_FORMS, VALUE_FORM, ZONE_FORM, parse_value
from sdv_plausible.table.cells.cell_series import is_number
from sdv_plausible.table.cells.dates import DATE_FORMAT_RULE, is_date_format, resolution_step
from sdv_plausible.table.cells.number_texts import FORMAT_RULE, LARGEST_STEP, NUMBER_FORMAT, is_number_format
from sdv_plausible.table.columns.id_formats import ID_FORMAT, LONGEST_PATTERN, is_id_format
from sdv_plausible.utils.json_schema import (
    MAX_FLOAT,
    Schema,
    SharedSchemas,
    array_schema,
    nullable,
    object_schema,
    schema_ref,
)

Kind = Literal["categorical", "ordinal", "integer", "float", "datetime"]
Provenance = Literal["declared", "private", "inferred", "edited"]
CATEGORIES = ("categorical", "ordinal", "boolean")
MODELLED_SDTYPES = ("numerical", "datetime", *CATEGORIES)
MAX_DECIMALS = 15  # after the point: doubles hold no more
DATE_FORMAT = r"^([^%]|%[-#_^0]?[A-Za-z%]){1,200}$"  # directives of one letter, no widths
_MOST_STEPS = 100  # rounding steps, and size classes
_INT64 = 2**63 - 1

_NUMBER: Schema = {"type": "number", "minimum": -MAX_FLOAT, "maximum": MAX_FLOAT}
_END: Schema = {"anyOf": [_NUMBER, {"type": "string"}, *DATE_FORMS]}
SHARED: SharedSchemas = {
    "value": (VALUE_FORM, parse_value),
    "number": (_NUMBER, lambda plain: plain),
    "end": (_END, lambda plain: parse_value(plain) if isinstance(plain, dict) else plain),
}
"""Forms that other forms reference."""


@dataclass(frozen=True, kw_only=True)
class SpecWord:
    """One word of a declaration."""

    # Subject: the column's type, its values, their form (time parts or grid, valid without a range), or the
    # origin of the declaration. Words of SDV that describe no value set have "nothing".
    about: Literal["type", "values", "form", "origin", "nothing"]
    meaning: str  # one line
    form: Schema  # JSON schema of the value; null means not declared
    rule: str = ""  # the form as a phrase: "must be ..."
    left_out: str = ""  # the default
    suits: tuple[str, ...] = ()  # applicable sdtypes; empty: all
    narrower: Mapping[str, tuple[Schema, str]] = field(default_factory=dict)  # form and rule per sdtype
    holds: Callable[[Any], bool] = lambda _: True  # check beyond the form
    holds_for: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)  # check per sdtype
    title: str = ""  # label on the review page; empty: no field there

    @property
    def explanation(self) -> str:
        """Meaning and default, as sentences."""
        return f"{self.meaning}; left out: {self.left_out}." if self.left_out else f"{self.meaning}."

    def applies_to(self, sdtype: Any) -> bool:
        """Whether the word applies to columns of an sdtype."""
        known = sdtype in MODELLED_SDTYPES or self.about == "form"
        return self.about in ("type", "origin") or not (known and self.suits) or sdtype in self.suits


_FLAG: Schema = {"type": "boolean"}
_COUNT: Schema = {"type": "integer", "minimum": 1}
MOST_BINS = 1_000_000  # more do not fit in memory with their probabilities
_BINS: Schema = {**_COUNT, "maximum": MOST_BINS}
_VALUES, _RANGE, _NUMBERS = ("categorical", "ordinal", "boolean"), ("numerical", "datetime"), ("numerical",)
_CODES = array_schema({"type": "integer", "minimum": 0, "maximum": _INT64})
_AS_NUMBERS = {"numerical": (schema_ref("number"), "of sdtype 'numerical' must be a finite number")}
_UNUSED = SpecWord(about="nothing", meaning="A key of SDV's metadata without effect here", form={})
WORDS: dict[str, SpecWord] = {
    "sdtype": SpecWord(
        about="type", title="Type", rule="text such as 'numerical'",
        meaning=f"{', '.join(MODELLED_SDTYPES)} are modelled; id and personal data, such as name or email, "
                "get placeholder values; null must be filled in",
        form={"type": "string", "minLength": 1, "examples": [*MODELLED_SDTYPES, "id", "name", "email"]},
    ),
    "range_values": SpecWord(
        about="values", title="Values", suits=_VALUES, meaning="All values; null: some are missing",
        rule="a list of values, such as ['f', 'm']; values must be distinct",
        form=array_schema({"anyOf": [schema_ref("value"), {"type": "null"}]}, uniqueItems=True),
    ),
    "range_min": SpecWord(
        about="values", title="Smallest", suits=_RANGE, narrower=_AS_NUMBERS,
        rule="a finite number or a date", form=schema_ref("end"),
        meaning="Smallest value: a number, or a date in the column's format",
    ),
    "range_max": SpecWord(
        about="values", title="Largest", suits=_RANGE, narrower=_AS_NUMBERS, rule="a finite number or a date",
        meaning="Largest value", form=schema_ref("end"),
    ),
    "decimal_places": SpecWord(
        about="values", title="Digits after the point", suits=_NUMBERS, meaning="0: whole numbers",
        left_out="learned", rule=f"a whole number from 0 to {MAX_DECIMALS}, or left out for all digits",
        form={"type": "integer", "minimum": 0, "maximum": MAX_DECIMALS},
    ),
    "datetime_format": SpecWord(
        about="type", title="Format of dates", suits=("datetime",),
        meaning="strftime format, such as %Y-%m-%d", rule=DATE_FORMAT_RULE, holds=is_date_format,
        form={"type": "string", "pattern": "^[^%]*(%[-#_^0]?[A-Za-z%][^%]*)+$", "maxLength": 200},
    ),
    "regex_format": SpecWord(
        about="type", meaning="Pattern of placeholder ids; at most a million repeats", rule=ID_FORMAT,
        form={"type": "string", "maxLength": LONGEST_PATTERN}, holds=is_id_format,
    ),
    "pii": SpecWord(
        about="type", meaning="Whether the column holds personal data", rule="true or false", form=_FLAG
    ),
    "bins": SpecWord(
        about="values", title="Bins", suits=_RANGE, left_out="learned inside a wide range",
        meaning="A number of equal bins, or of numbers increasing edges, such as 0, 18, 65, 120",
        rule="a whole number of equal bins, at most a million, or a list of at least two increasing edges",
        form={"anyOf": [_BINS, array_schema(schema_ref("number"), minItems=2)]},
        narrower={"datetime": (_BINS, "of dates must be a whole number up to a million, or left out")},
        holds=lambda bins: not isinstance(bins, list) or all(a < b for a, b in pairwise(bins)),
    ),
    "special_values": SpecWord(
        about="values", title="Special values", suits=_RANGE,
        meaning="Codes with a special meaning, such as 9999, or for dates 9999-12-31: they are kept as "
                "they are, also outside the range",
        rule="a list of distinct finite numbers, and of texts that write no number",
        form=array_schema({"anyOf": [schema_ref("number"), {"type": "string"}]}, uniqueItems=True),
        narrower={"datetime": (
            array_schema({"type": "string"}, uniqueItems=True),
            "of dates must be a list of distinct texts in the column's format, such as ['9999-12-31']",
        )},
        holds_for={"numerical": lambda values: not any(isinstance(v, str) and is_number(v) for v in values)},
    ),
    "range_is_nullable": SpecWord(
        about="values", title="Missing cells", suits=MODELLED_SDTYPES, rule="true or false", form=_FLAG,
        meaning="Whether missing is a value", left_out="learned for wide ranges, elsewhere if values name it",
    ),
    "rounding": SpecWord(
        about="values", suits=_NUMBERS, left_out="5, 10, 50 and so on",
        meaning="Steps to which values are often rounded, each a multiple of the one before, such as 5, "
                "15, 60",
        rule="a list of whole numbers above 1, each a multiple of the one before, such as [5, 15, 60]",
        form=array_schema({"type": "integer", "minimum": 2, "maximum": LARGEST_STEP}, minItems=1),
        holds=lambda steps: all(a < b and b % a == 0 for a, b in pairwise(steps)),
    ),
    "resolution": SpecWord(
        about="form", suits=_RANGE, left_out="learned",
        meaning="Distance of two values: a number, such as 0.25; of dates D, h, min, s or a part of a day, "
        "such as 15min",
        rule="a number above 0, or of dates 'D', 'h', 'min', 's' or a part of a day such as '15min'",
        form={"anyOf": [
            {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_FLOAT},
            {"type": "string", "pattern": "^([1-9][0-9]{0,4})?(D|h|min|s)$"},
        ]},
        narrower={
            "numerical": ({"type": "number"}, "of sdtype 'numerical' must be like 0.25"),
            "datetime": ({"type": "string"}, "of sdtype 'datetime' must be like 'min'"),
        },
        holds=lambda step: not isinstance(step, str) or resolution_step(step) is not None,
    ),
    "number_format": SpecWord(
        about="form", title="Spelling of numbers", suits=_NUMBERS, left_out="plain numbers",
        meaning="The number 1234.5 as the column spells numbers, such as $1,234.5, 1.234,5 € or 1234.5%",
        rule=f"{FORMAT_RULE}; leave it out for plain numbers",
        form={"type": "string", "pattern": NUMBER_FORMAT}, holds=is_number_format,
    ),
    "parts": SpecWord(
        about="form", suits=("datetime",), form={"enum": ["split", "whole"]}, left_out="as the fit says",
        meaning="Dates with a time of day: split, into date and time of day, or whole",
        rule="'split', into date and time of day, or 'whole'",
    ),
    "buckets": SpecWord(
        about="values", suits=MODELLED_SDTYPES, left_out="the model decides", form=_CODES,
        meaning="Bucket of every code when the column is a parent in the network",
        rule="a list of whole numbers from 0 on, one for each code",
    ),
    "groups": SpecWord(
        about="values", suits=("categorical",), left_out="none",
        meaning="Groups of similar values: group names with their values, or the number of first letters "
                "that name the group",
        rule="a mapping of group names to lists of values, such as {'fruit': ['apple', 'pear']}, or a "
             "whole number of at least 1: the number of first letters that name the group",
        form={
            "anyOf": [_COUNT, {"type": "object", "additionalProperties": array_schema(schema_ref("value"))}]
        },
    ),
    "source": SpecWord(
        about="origin", title="Public source",
        form={"type": "string", "pattern": r"\S", "maxLength": LONGEST_NAME},
        meaning="Source of the declaration: the address of a code book, a law",
        rule=f"text of at most {LONGEST_NAME:,} letters: the public source, such as a code book's address",
    ),
    "detected": SpecWord(
        about="origin", form=_FLAG, rule="true or false",
        meaning="Derived from the rows by a program: it ends the privacy guarantee",
    ),
    "provenance": SpecWord(
        about="origin", form={"enum": ["declared", "edited"]}, rule="'declared' or 'edited'",
        meaning='Origin of the declaration; "edited" (changed after looking at the rows) ends the privacy '
                "guarantee",
    ),
    **dict.fromkeys(("high_cardinality", "computer_representation", "order", "order_by"), _UNUSED),
}  # fmt: skip
"""Every word of a declaration."""


def words_about(*what: str) -> tuple[str, ...]:
    """Words with one of the given subjects."""
    return tuple(name for name, word in WORDS.items() if word.about in what)


TYPE_WORDS = words_about("type")
"""Words for a column's type; the others describe its values."""


def type_words(words: Mapping[str, Any]) -> dict[str, Any]:
    """The declared type words of a column."""
    return {word: words[word] for word in TYPE_WORDS if words.get(word) is not None}


def type_words_by_column(columns: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The type words of each column, without words that may depend on the rows."""
    return {
        name: {word: value for word, value in words.items() if word in TYPE_WORDS}
        for name, words in columns.items()
    }


ATTRIBUTE: dict[str, Schema] = {
    "name": {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME},
    "kind": {"enum": list(get_args(Kind))},
    "values": array_schema(
        schema_ref("value"),
        description="Categorical and ordinal: the value of each code, in code order. Integer, float and "
        "datetime: texts beside the numbers or dates, whose codes follow those of the bins.",
    ),
    "lower": array_schema(
        schema_ref("number"),
        description="Numbers and dates (nanoseconds since 1970 UTC): lower ends of the bins, one code each.",
    ),
    "upper": array_schema(schema_ref("number"), description="Upper ends, inside the bins."),
    "nullable": {**_FLAG, "description": "Whether missing is a value: then it is the last code."},
    "decimals": nullable({"type": "integer", "minimum": 0, "maximum": MAX_DECIMALS}),
    "unit": {
        "type": "integer", "minimum": 1, "maximum": _INT64,
        "description": "Dates: granularity in nanoseconds.",
    },
    "time_zone": nullable(ZONE_FORM),
    "datetime_format": nullable({"type": "string", "pattern": DATE_FORMAT, "maxLength": 200}),
    "rounding": nullable(object_schema(
        {
            "steps": array_schema(
                _COUNT, maxItems=_MOST_STEPS,
                description="Increasing from 1; a point belongs to the largest that divides it.",
            ),
            "weights": array_schema(
                array_schema({**_NUMBER, "minimum": 0}, maxItems=_MOST_STEPS), maxItems=_MOST_STEPS,
                description="For points of 1, 2, ... digits the share of each step.",
            ),
        },
        description="How round values inside a bin are; null: all alike.",
    )),
    "buckets": nullable(_CODES),
    "groups": {
        **nullable(_CODES), "description": "Categories: group of every value, as declared; left out: none.",
    },
    "counts": {
        **nullable(_CODES),
        "description": "Learned categories: noisy numbers of rows with each value, and last of those with "
        "another one, which get these in proportion; left out: none.",
    },
    "number_format": nullable({
        "type": "string", "pattern": NUMBER_FORMAT,
        "description": "Numbers that are written as text: how 1234.5 is; left out: plain numbers.",
    }),
    "provenance": {
        "enum": list(get_args(Provenance)),
        "description": "Declared by the owner, learned with noise under the ledger's budget, derived from "
                       "the rows, or edited after looking at them (no guarantee).",
    },
}  # fmt: skip
"""All entries of a finished column."""
OPTIONAL_ENTRIES = ("groups", "counts", "number_format")
"""Optional entries, omitted when empty; older files lack them."""


def attribute_form(*required: str) -> Schema:
    """Form of a finished column with the given required entries."""
    optional = set(ATTRIBUTE) - set(required)
    return object_schema(ATTRIBUTE, optional, description="What one modelled column may hold.")
