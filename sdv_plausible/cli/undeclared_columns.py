"""Columns whose type nobody declared: voted for in the fit, or detected without a claim."""

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
    how,
    in_order,
    metadata_and_detected,
    names_of,
)
from sdv_plausible.cli.table_arguments import is_in_parts
from sdv_plausible.fitting.options import VOTE_TAKES, default_of
from sdv_plausible.table.columns.cell_reader import ColumnType
from sdv_plausible.table.declared.column_types import column_types, metadata_columns
from sdv_plausible.table.declared.declarations import (
    domain_document,
    given_file,
    number_formats,
    says_written,
)
from sdv_plausible.table.declared.domain_file import DomainFile, blanks
from sdv_plausible.utils.printable import visible


@dataclass(frozen=True)
class InferredTypes:
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
            types = visible(", ".join(f"{n} {_in_words(words)}" for n, words in self.voted.items()), keep="")
            said = f"Types by a vote, for {VOTE_TAKES}: {types}. They were learned from the rows,"
            return f"\n\n  {said} and are no public words: declare (--domain) what you know without them."
        if not self.detected:
            return ""
        said = f"Types detected: {visible(', '.join(self.detected), keep='')}. "
        said += "Declare them (--domain), or leave them out (--only-declared)."
        if personal := [name for name, kind in self.detected.items() if kind.get("pii")]:
            personal = [visible(name, keep="") for name in personal]
            said += f"\n  Taken for personal data, and invented: {', '.join(personal)}. If they are "
            example = f'{{"{personal[0]}": {{"sdtype": "categorical"}}}}'
            said += f"categories, declare them so: {example}"
        return f"\n\n  {said}"


@dataclass(frozen=True, kw_only=True)
class ColumnInfo:
    """What a command knows of the columns before a fit."""

    metadata: Any  # SDV's
    types: Mapping[str, ColumnType]  # as what cells are read: as text where they are to be voted on
    arguments: Mapping[str, Any]  # of the synthesizer: where types are from, and the declarations
    open: Sequence[str] = ()  # columns that nobody declared, to be voted on
    detected: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # and those that were detected

    def found(self, synth: Any) -> InferredTypes:
        """The types of the columns that had none, of a fitted synthesizer."""
        known = metadata_columns(synth.metadata)
        spelled = number_formats({one.name: one for one in synth.get_domain()}) if self.open else {}
        for name, form in spelled.items():
            known.get(name, {})["number_format"] = form
        return InferredTypes(voted={name: known[name] for name in self.open}, detected=self.detected)


def columns_of(options: argparse.Namespace) -> ColumnInfo:
    """What the columns of the command's table are; some may have no type, unless all are to be declared."""
    options.domain = filled_in(options.domain)
    types = declared_types(options)
    names = [] if options.only_declared else names_of(options, types)
    left = [name for name in names if name not in types]
    if wanted(options) == "voted" and (left or hasattr(options, "types")):
        columns = voted_on(options, names)
        if columns.open:
            return columns
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
    return ColumnInfo(metadata=metadata, types=read, arguments=arguments, detected=detected)


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


def voted_on(options: argparse.Namespace, names: Sequence[str]) -> ColumnInfo:
    """Columns of which those are voted on that no declaration names: types in metadata may be detected."""
    from sdv_plausible.sdv.metadata import load_metadata, metadata_of
    from sdv_plausible.sdv.metadata_schema import with_types

    known = metadata_columns(options.metadata)
    file = given_file(options.domain) or DomainFile(columns={})
    declared = DomainFile(columns=known) if says_written(options.domain) else file
    types = column_types(declared, person=getattr(options, "person", None))
    open_ = column_types({name: {"sdtype": "categorical"} for name in [*names, *known] if name not in types})
    read = {**types, **open_}
    ordered = in_order(options, read) if hasattr(options, "data") else read
    if options.metadata is None:
        metadata = metadata_of(ordered)
    else:
        words = {name: kind.words for name, kind in ordered.items()}
        metadata = with_types(load_metadata(options.metadata), words)
    arguments = {"domain": declared, "types": "voted"}
    return ColumnInfo(metadata=metadata, types=read, arguments=arguments, open=tuple(open_))


def plan_blanks(options: argparse.Namespace) -> ColumnInfo | None:
    """Columns of which a template left some blank, for a plan without a table; None if it left none."""
    if options.domain in (None, "written") or wanted(options) != "voted":
        return None
    left = blanks(domain_document(options.domain))
    options.domain = filled_in(options.domain)
    types = declared_types(options)
    return None if all(name in types for name in left) else voted_on(options, left)


def filled_in(domain: Any) -> Any:
    """A ``domain`` argument without the columns that a template left blank."""
    file = given_file(domain)
    return domain if file is None else file.without_blanks()


def spelling(options: argparse.Namespace) -> Any:
    """How the file's cells are written."""
    from sdv_plausible.table.columns.cell_reader import Spelling

    return Spelling(**how(options, *HOW_SPELLED))
