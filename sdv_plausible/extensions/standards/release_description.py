"""Common description of a release for all standards: columns, privacy claim, the holder's facts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from sdv_plausible.privacy.ledger_record import LedgerRecord
from sdv_plausible.release.card.card_contents import (
    DERIVED,
    LIMITS,
    MAX_LENGTH,
    PLACEHOLDERS,
    PROVENANCE,
    made_with,
)
from sdv_plausible.table.cells.cell_documents import write_value
from sdv_plausible.table.cells.dates import NANOSECONDS, shows_date, shows_time, write_date
from sdv_plausible.table.columns.column_document import CATEGORIES, type_words
from sdv_plausible.table.columns.domain import Attribute, description_lines
from sdv_plausible.table.columns.output_types import generated_type
from sdv_plausible.table.files.table_file import file_columns
from sdv_plausible.table.files.text_files import Files, is_parquet
from sdv_plausible.utils.file_paths import read_regular_file

IRI = r"[A-Za-z][A-Za-z0-9+.\-]*:[^\s<>\"{}|\\^`]+"


@dataclass(frozen=True, kw_only=True)
class KnownField:
    """A fact that only the data owner knows."""

    hint: str
    many: bool = False  # whether it may be a list
    form: str = ".*"  # regular expression that each text must match


KNOWN: dict[str, KnownField] = {
    "name": KnownField(hint="what the release is called"),
    "description": KnownField(hint="what it is, in short"),
    "holder": KnownField(hint="who publishes it"),
    "contact": KnownField(hint="whom to ask: mailto: or https:", form=IRI),
    "purpose": KnownField(hint="what the rows may be used for"),
    "license": KnownField(hint="address of the license", form=IRI),
    "url": KnownField(hint="address of a page about it", form=IRI),
    "download": KnownField(hint="address at which the rows can be had", form=IRI),
    "date": KnownField(hint="when it was published, as 2026-01-31", form=r"\d{4}-\d\d-\d\d"),
    "version": KnownField(hint="of the release, as 1.0.0", form=r"\d+\.\d+\.\d+"),
    "citation": KnownField(hint="how to cite it"),
    "keywords": KnownField(hint="words to find it by", many=True),
    "identifier": KnownField(hint="of the table that was protected, in its catalogue"),
    "access": KnownField(hint="address at which one may apply for that table", form=IRI),
    "access_rights": KnownField(hint="to that table, of the EU's authority list access-right", form=IRI),
    "theme": KnownField(hint="of the EU's authority list data-theme", many=True, form=IRI),
    "legislation": KnownField(hint="laws that apply, by their ELI", many=True, form=IRI),
    "category": KnownField(hint="HealthDCAT-AP: health category", many=True, form=IRI),
    "type": KnownField(hint="of the table, of the EU's authority list dataset-type", many=True, form=IRI),
    "provenance": KnownField(hint="how that table came about"),
    "hdab": KnownField(hint="HealthDCAT-AP: the health data access body"),
    "hdab_contact": KnownField(hint="and its address: mailto: or https:", form=IRI),
}
"""Facts that only the data owner knows, by name; each standard has fields for some of them."""


@dataclass(frozen=True, kw_only=True)
class ReleaseDescription:
    """Description of a release, independent of the standard."""

    table: str
    record: LedgerRecord  # the ledger's claim
    columns: Mapping[str, Mapping[str, Any]]  # column specifications, in the words of SDV's metadata
    # Kinds of cells: boolean, integer, number, date, datetime, time, text, mixed (with texts)
    cell_kinds: Mapping[str, str]
    column_texts: Mapping[str, str]  # description of each column, for people
    keys: tuple[str | None, tuple[Any, ...], tuple[Any, ...]]  # primary, alternate, related columns
    digest: str
    file: str  # name of the release file
    made_with: str
    known: Mapping[str, Any]
    rows: Path | None = None  # a file of synthetic rows

    @property
    def name(self) -> str:
        """Title of the release; by default the table's name."""
        return str(self.known.get("name", self.table))

    @property
    def claim(self) -> str:
        """The ledger's sentences, as Markdown."""
        words = self.record.words
        return escape_markdown(f"{words.lead} {words.total} {words.conditions}")

    @property
    def description(self) -> str:
        """The owner's description, followed by the privacy claim."""
        return f"{self.known.get('description', 'Synthetic rows.')} {self.claim}"

    @property
    def limits(self) -> list[str]:
        """What the guarantee does not cover, and general limits of synthetic rows."""
        return [*self.record.not_covered, *LIMITS]

    @property
    def rows_digest(self) -> str:
        """SHA-256 of the file of synthetic rows."""
        assert self.rows is not None
        return hashlib.sha256(read_regular_file(self.rows, "rows")).hexdigest()

    @property
    def rows_type(self) -> str:
        """Media type of the file of synthetic rows."""
        return "application/vnd.apache.parquet" if self.rows and is_parquet(self.rows) else "text/csv"


def describe_release(
    release: Any, known: Mapping[str, Any], rows: str | Path | None = None, file: str = ""
) -> ReleaseDescription:
    """Build the description; ValueError without a privacy claim, or if facts or rows do not fit."""
    schema, names = release.schema, [str(column.label) for column in release.schema.columns]
    if rows is not None and list(file_columns(Files(Path(rows)), names)) != names:
        raise ValueError(
            f"rows ({rows}) has other columns than this release: give rows that were drawn from it"
        )
    attributes = {attribute.name: attribute for attribute in release.rules.whole(release.domain)}
    derived = dict.fromkeys(release.rules.made, f"; {DERIVED}")
    texts = {
        name: f"{escape_markdown(content)}; {PROVENANCE[attributes[name].provenance]}{derived.get(name, '')}"
        for name, content, _ in description_lines(attributes.values())
    }
    columns = {c.name: _specification(c, attributes.get(c.name)) for c in schema.columns}
    return ReleaseDescription(
        table=schema.table,
        record=LedgerRecord.of(release.ledger.to_dict()),
        columns=columns,
        cell_kinds={name: _cell_kind(words) for name, words in columns.items()},
        column_texts={**dict.fromkeys(columns, PLACEHOLDERS), **texts},
        keys=(schema.primary_key, schema.alternate_keys, schema.relationships),
        digest=release.digest,
        file=file or f"{schema.table}.release",
        made_with=made_with(release.versions),
        known=_check_known(known),
        rows=None if rows is None else Path(rows),
    )


def escape_markdown(text: str) -> str:
    """Escape Markdown, so that a text shows no link, image or tag."""
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", text)


def _check_known(known: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in known.items():
        if name not in KNOWN:
            raise ValueError(f"{name} is nothing that a standard says; there are {', '.join(KNOWN)}")
        field = KNOWN[name]
        texts = value if field.many and isinstance(value, (list, tuple)) else [value]
        for text in texts:
            fits = isinstance(text, str) and text.strip() and len(text) <= MAX_LENGTH
            if not (fits and re.fullmatch(field.form, text, re.DOTALL)):
                raise ValueError(
                    f"{name} ({text!r:.99}) must be a text of up to {MAX_LENGTH} characters: {field.hint}"
                )
    return {name: list(value) if isinstance(value, tuple) else value for name, value in known.items()}


# --- columns --------------------------------------------------------------------------------------------


def _specification(column: Any, attribute: Attribute | None) -> dict[str, Any]:
    """Column specification in SDV's words: sdtype, values or range, missing values."""
    spec = type_words(column.spec)
    if attribute is None:
        is_numeric = generated_type(column.spec).kind in "if"
        return {**spec, **({"decimal_places": 0} if is_numeric and spec["sdtype"] == "id" else {})}
    if spec["sdtype"] in CATEGORIES and attribute.values:
        spec["range_values"] = [_plain(value) for value in attribute.values]
    elif attribute.lower and attribute.kind == "datetime":
        date_format = attribute.datetime_format or spec.get("datetime_format")
        spec["datetime_format"] = date_format
        spec["resolution"] = "D" if date_format is None and attribute.unit % NANOSECONDS["D"] == 0 else None
        spec |= {"range_min": _date(attribute, attribute.lower[0], date_format),
                  "range_max": _date(attribute, attribute.upper[-1], date_format)}  # fmt: skip
        spec["special_values"] = list(attribute.texts) or None
    elif attribute.lower:
        is_integer = attribute.kind == "integer"
        ends = (float(attribute.lower[0]), float(attribute.upper[-1]))
        spec |= dict(zip(("range_min", "range_max"), map(int, ends) if is_integer else ends, strict=True))
        spec["decimal_places"] = 0 if is_integer else attribute.decimals
        spec["special_values"] = list(attribute.texts) or None
        spec["number_format"] = attribute.number_format
    spec["range_is_nullable"] = bool(attribute.nullable)
    return {field: value for field, value in spec.items() if value is not None}


def _cell_kind(spec: Mapping[str, Any]) -> str:
    """Kind of the cells of a column."""
    date_format = spec.get("datetime_format")
    value_types = {type(value) for value in spec.get("range_values", ())}
    if spec["sdtype"] == "boolean":
        return "boolean"
    if spec["sdtype"] == "datetime":
        if date_format is None:
            return "date" if spec.get("resolution") == "D" else "datetime"
        return ("datetime" if shows_time(date_format) else "date") if shows_date(date_format) else "time"
    if "special_values" in spec:
        return "mixed"
    if "number_format" in spec or not value_types <= {int, float}:
        return "text"
    if spec.get("decimal_places") == 0 or value_types == {int}:
        return "integer"
    return "number" if value_types or spec["sdtype"] == "numerical" else "text"


def _plain(value: Any) -> Any:
    """Value as JSON; dates and decimals become text."""
    written = write_value(value)
    return str(value) if isinstance(written, dict) else written


def _date(attribute: Attribute, nanoseconds: float, date_format: str | None) -> str:
    stamp = pd.Timestamp(int(nanoseconds))
    if attribute.time_zone is not None:
        stamp = stamp.tz_localize("UTC").tz_convert(attribute.time_zone)
    if date_format is not None:
        return write_date(stamp, date_format)
    return str(stamp.date()) if attribute.unit % NANOSECONDS["D"] == 0 else stamp.isoformat()


def as_list(value: Any) -> Sequence[Any]:
    """The value as a list."""
    return value if isinstance(value, (list, tuple)) else [value]
