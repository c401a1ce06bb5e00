"""Types of undeclared columns: inferred privately in the fit, or detected without a privacy claim."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sdv_plausible.cli.files import (
    HOW_SPELLED,
    UsageError,
    declared_types,
    given_options,
    in_table_order,
    is_partitioned,
    metadata_and_detected,
    names_of,
)
from sdv_plausible.fitting.options import VOTE_TAKES, default_of
from sdv_plausible.table.columns.cell_reader import ColumnType
from sdv_plausible.table.declared.column_types import column_types, metadata_columns
from sdv_plausible.table.declared.declarations import (
    as_domain_file,
    explicit_domain_file,
    number_formats,
    uses_metadata_values,
)
from sdv_plausible.table.declared.domain_file import DomainFile, blanks
from sdv_plausible.utils.text_output import escape_controls


@dataclass(frozen=True)
class InferredTypes:
    """Types of undeclared columns, by column."""

    # inferred by a noisy vote over the cells, charged to the ledger
    voted: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # detected in the rows, without a claim
    detected: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the types as a JSON document."""
        return {
            "types_voted": {name: words["sdtype"] for name, words in self.voted.items()},
            "types_detected": list(self.detected),
        }

    def hint(self) -> str:
        """Return a note for the user; empty if no type was inferred."""
        if self.voted:
            types = escape_controls(
                ", ".join(f"{n} {_in_words(words)}" for n, words in self.voted.items()), keep=""
            )
            note = f"Inferred types, for {VOTE_TAKES}: {types}. They come from the rows"
            return (
                f"\n\n  {note} and do not count as declared: declare (--domain) what you know without "
                "the rows."
            )
        if not self.detected:
            return ""
        note = f"Types detected: {escape_controls(', '.join(self.detected), keep='')}. "
        note += "Declare them (--domain), or leave them out (--only-declared)."
        if personal := [name for name, kind in self.detected.items() if kind.get("pii")]:
            personal = [escape_controls(name, keep="") for name in personal]
            note += (
                f"\n  Treated as personal data, with placeholder values: {', '.join(personal)}. If they are "
            )
            example = f'{{"{personal[0]}": {{"sdtype": "categorical"}}}}'
            note += f"categories, declare them so: {example}"
        return f"\n\n  {note}"


@dataclass(frozen=True, kw_only=True)
class ColumnInfo:
    """Column types, metadata and constructor arguments before a fit."""

    metadata: Any  # SDV metadata
    types: Mapping[str, ColumnType]  # types for reading cells: text where types are to be inferred
    arguments: Mapping[str, Any]  # constructor arguments: the source of types, and the declarations
    open: Sequence[str] = ()  # undeclared columns whose types are to be inferred
    detected: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # detected types

    def inferred_types(self, synth: Any) -> InferredTypes:
        """Return the inferred types, from the fitted synthesizer."""
        specs = metadata_columns(synth.metadata)
        formats = (
            number_formats({attribute.name: attribute for attribute in synth.get_domain()})
            if self.open
            else {}
        )
        for name, number_format in formats.items():
            specs.get(name, {})["number_format"] = number_format
        return InferredTypes(voted={name: specs[name] for name in self.open}, detected=self.detected)


def columns_of(options: argparse.Namespace) -> ColumnInfo:
    """Return what is known of the table's columns; undeclared ones may have no type."""
    options.domain = without_blank_columns(options.domain)
    types = declared_types(options)
    names = [] if options.only_declared else names_of(options, types)
    undeclared = [name for name in names if name not in types]
    if types_source(options) == "voted" and (undeclared or hasattr(options, "types")):
        columns = columns_with_inference(options, names)
        if columns.open:
            return columns
    if undeclared and types_source(options) == "declared":
        raise UsageError(
            f"--types declared: {', '.join(undeclared)} have no type: declare them, or leave them out "
            "(--only-declared)"
        )
    if undeclared and hasattr(options, "scratch") and is_partitioned(options):
        raise UsageError(
            f"--types detected: a table in parts is not in memory, and {', '.join(undeclared)} have no "
            "type: declare them, leave them out (--only-declared), or have them inferred (--types voted)"
        )
    metadata, detected = metadata_and_detected(options, types)
    arguments = {
        "domain": _with_spellings(options.domain, detected),
        **({"types": "detected"} if detected else {}),
    }
    read_types = {**types, **column_types(detected)}
    return ColumnInfo(metadata=metadata, types=read_types, arguments=arguments, detected=detected)


def _in_words(words: Mapping[str, Any]) -> str:
    """Format a type with the format of its cells."""
    form = words.get("datetime_format") or words.get("number_format")
    return str(words["sdtype"]) if form is None else f"{words['sdtype']} ({form})"


def _with_spellings(domain: Any, detected: Mapping[str, Mapping[str, Any]]) -> Any:
    """Add detected number formats to the declarations, since metadata cannot hold them."""
    formats = {n: {**words, "detected": True} for n, words in detected.items() if "number_format" in words}
    if not formats or uses_metadata_values(domain):
        return domain
    file = explicit_domain_file(domain) or DomainFile(columns={})
    return replace(file, columns={**file.columns, **formats})


def types_source(options: argparse.Namespace) -> str:
    """Return the source of undeclared types: inferred, or detected if there is no noise."""
    epsilon = getattr(options, "epsilon", default_of("epsilon"))
    return str(getattr(options, "types", "voted" if math.isfinite(epsilon) else "detected"))


def columns_with_inference(options: argparse.Namespace, names: Sequence[str]) -> ColumnInfo:
    """Return column info with inference of all types that no declaration fixes."""
    from sdv_plausible.sdv.metadata import load_metadata, metadata_of, with_types

    metadata_types = metadata_columns(options.metadata)
    file = explicit_domain_file(options.domain) or DomainFile(columns={})
    declared = DomainFile(columns=metadata_types) if uses_metadata_values(options.domain) else file
    types = column_types(declared, person=getattr(options, "person", None))
    undeclared = column_types(
        {name: {"sdtype": "categorical"} for name in [*names, *metadata_types] if name not in types}
    )
    read_types = {**types, **undeclared}
    ordered = in_table_order(options, read_types) if hasattr(options, "data") else read_types
    if options.metadata is None:
        metadata = metadata_of(ordered)
    else:
        specs = {name: kind.words for name, kind in ordered.items()}
        metadata = with_types(load_metadata(options.metadata), specs)
    arguments = {"domain": declared, "types": "voted"}
    return ColumnInfo(metadata=metadata, types=read_types, arguments=arguments, open=tuple(undeclared))


def columns_to_plan(options: argparse.Namespace) -> ColumnInfo | None:
    """Return column info for a template's blank columns, for a plan without a table, or None."""
    if options.domain in (None, "written") or types_source(options) != "voted":
        return None
    blank_columns = blanks(as_domain_file(options.domain))
    options.domain = without_blank_columns(options.domain)
    types = declared_types(options)
    return (
        None
        if all(name in types for name in blank_columns)
        else columns_with_inference(options, blank_columns)
    )


def without_blank_columns(domain: Any) -> Any:
    """Return a ``domain`` argument without the columns left blank in a template."""
    file = explicit_domain_file(domain)
    return domain if file is None else file.without_blanks()


def spelling(options: argparse.Namespace) -> Any:
    """Return the given format of the file's cells."""
    from sdv_plausible.table.columns.cell_reader import Spelling

    return Spelling(**given_options(options, *HOW_SPELLED))
