"""Columns whose type nobody declared: voted for in the fit, or detected without a claim."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sdv_plausible.commands.named_tables import is_in_parts
from sdv_plausible.commands.on_disk import (
    HOW_SPELLED,
    UsageError,
    declared_types,
    how,
    in_order,
    metadata_and_detected,
    names_of,
)
from sdv_plausible.fit.options import VOTE_TAKES, default_of
from sdv_plausible.table.columns.cell_texts import ColumnType
from sdv_plausible.table.declared.column_types import column_types, metadata_columns
from sdv_plausible.table.declared.declarations import (
    domain_document,
    given_file,
    number_formats,
    says_written,
)
from sdv_plausible.table.declared.domain_file import DomainFile, blanks


@dataclass(frozen=True)
class FoundTypes:
    """Types by column, of those that nobody declared."""

    # found by a vote over the cells, which the ledger charges
    voted: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # read off the rows, without a claim
    detected: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The types for programs."""
        return {
            "types_voted": {name: words["sdtype"] for name, words in self.voted.items()},
            "types_detected": list(self.detected),
        }

    def hint(self) -> str:
        """What is said of them; empty if there are none."""
        if self.voted:
            types = ", ".join(f"{name} {_in_words(words)}" for name, words in self.voted.items())
            said = f"Types by a vote, for {VOTE_TAKES}: {types}. They were learned from the rows,"
            return f"\n\n  {said} and are no public words: declare (--domain) what you know without them."
        if not self.detected:
            return ""
        said = f"Types detected: {', '.join(self.detected)}. Declare them (--domain), or leave them out "
        said += "(--only-declared)."
        if personal := [name for name, kind in self.detected.items() if kind.get("pii")]:
            example = f'{{"{personal[0]}": {{"sdtype": "categorical"}}}}'
            said += f"\n  Taken for personal data, and invented: {', '.join(personal)}. If they are "
            said += f"categories, declare them so: {example}"
        return f"\n\n  {said}"


@dataclass(frozen=True, kw_only=True)
class Columns:
    """What a command knows of the columns before a fit."""

    metadata: Any  # SDV's
    types: Mapping[str, ColumnType]  # as what cells are read: as text where they are to be voted on
    arguments: Mapping[str, Any]  # of the synthesizer: where types are from, and the declarations
    open: Sequence[str] = ()  # columns that nobody declared, to be voted on
    detected: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # and those that were detected

    def found(self, synth: Any) -> FoundTypes:
        """The types of the columns that had none, of a fitted synthesizer."""
        known = metadata_columns(synth.metadata)
        spelled = number_formats({one.name: one for one in synth.get_domain()}) if self.open else {}
        for name, form in spelled.items():
            known.get(name, {})["number_format"] = form
        return FoundTypes(voted={name: known[name] for name in self.open}, detected=self.detected)


def columns_of(options: argparse.Namespace) -> Columns:
    """What the columns of the command's table are; some may have no type, unless all are to be declared."""
    options.domain = filled_in(options.domain)
    types = declared_types(options)
    left = [] if options.only_declared else [name for name in names_of(options, types) if name not in types]
    if left and wanted(options) == "voted":
        return voted_on(options, types, left)
    if left and wanted(options) == "declared":
        raise UsageError(
            f"--types declared: {', '.join(left)} have no type: declare them, or leave them out "
            "(--only-declared)"
        )
    if left and hasattr(options, "scratch") and is_in_parts(options):
        raise UsageError(
            f"--types detected: a table in parts is not in memory, and {', '.join(left)} have no type: "
            "declare them, leave them out (--only-declared), or let them be voted for (--types voted)"
        )
    metadata, detected = metadata_and_detected(options, types)
    arguments = {
        "domain": _with_spellings(options.domain, detected),
        **({"types": "detected"} if detected else {}),
    }
    read = {**types, **column_types(detected)}
    return Columns(metadata=metadata, types=read, arguments=arguments, detected=detected)


def _in_words(words: Mapping[str, Any]) -> str:
    """A type, and how its cells are written."""
    form = words.get("datetime_format") or words.get("number_format")
    return str(words["sdtype"]) if form is None else f"{words['sdtype']} ({form})"


def _with_spellings(domain: Any, detected: Mapping[str, Mapping[str, Any]]) -> Any:
    """Declarations with the spellings of numbers that were detected, which no metadata holds."""
    spelled = {n: {**words, "detected": True} for n, words in detected.items() if "number_format" in words}
    if not spelled or says_written(domain):
        return domain
    file = given_file(domain) or DomainFile(columns={})
    return replace(file, columns={**file.columns, **spelled})


def wanted(options: argparse.Namespace) -> str:
    """Where types that nobody declared are to be from: a vote, unless there is no noise."""
    epsilon = getattr(options, "epsilon", default_of("epsilon"))
    return str(getattr(options, "types", "voted" if math.isfinite(epsilon) else "detected"))


def voted_on(options: argparse.Namespace, types: Mapping[str, ColumnType], names: Sequence[str]) -> Columns:
    """Columns of which some are voted on."""
    from sdv_plausible.sdv.metadata import load_metadata, metadata_of
    from sdv_plausible.sdv.schema import with_types

    open_ = column_types({name: {"sdtype": "categorical"} for name in names})
    read = {**types, **open_}
    ordered = in_order(options, read) if hasattr(options, "data") else read
    if options.metadata is None:
        metadata = metadata_of(ordered)
    else:
        words = {name: kind.words for name, kind in ordered.items()}
        metadata = with_types(load_metadata(options.metadata), words)
    arguments = {"domain": _all_declared(options, types), "types": "voted"}
    return Columns(metadata=metadata, types=read, arguments=arguments, open=tuple(names))


def _all_declared(options: argparse.Namespace, types: Mapping[str, ColumnType]) -> DomainFile:
    """All that was declared in one file, as metadata says no types where some are voted for."""
    known = metadata_columns(options.metadata)
    if options.domain == "written":
        return DomainFile(columns=known)
    file = given_file(options.domain) or DomainFile(columns={})
    if options.metadata is None:
        return file
    return file.with_types({name: types[name].words for name in {**known, **file.columns}})


def plan_blanks(options: argparse.Namespace) -> Columns | None:
    """Columns of which a template left some blank, for a plan without a table; None if it left none."""
    if options.domain in (None, "written") or wanted(options) != "voted":
        return None
    left = blanks(domain_document(options.domain))
    options.domain = filled_in(options.domain)
    types = declared_types(options)
    open_ = [name for name in left if name not in types]
    return voted_on(options, types, open_) if open_ else None


def filled_in(domain: Any) -> Any:
    """A ``domain`` argument without the columns that a template left blank."""
    file = given_file(domain)
    return domain if file is None else file.without_blanks()


def spelling(options: argparse.Namespace) -> Any:
    """How the file's cells are written."""
    from sdv_plausible.table.columns.cell_texts import Spelling

    return Spelling(**how(options, *HOW_SPELLED))
