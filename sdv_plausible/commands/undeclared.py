"""Columns whose type nobody declared: voted for within the budget, or detected without a claim."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sdv_plausible.commands.files import HOW_SPELLED, how, in_order, names_of, read
from sdv_plausible.declaring.files import blanks
from sdv_plausible.fit.options import default_of
from sdv_plausible.table.column_types import ColumnType
from sdv_plausible.table.domain_file import DomainFile, is_blank


@dataclass(frozen=True)
class Undeclared:
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
            types = ", ".join(f"{name} {words['sdtype']}" for name, words in self.voted.items())
            said = f"Types by a vote, for a tenth of the budget: {types}. "
            return f"\n\n  {said}Declare them (--domain) for better rows."
        if not self.detected:
            return ""
        said = f"Types detected: {', '.join(self.detected)}. Declare them (--domain), or leave them out "
        said += "(--only-declared)."
        if personal := [name for name, kind in self.detected.items() if kind.get("pii")]:
            example = f'{{"{personal[0]}": {{"sdtype": "categorical"}}}}'
            said += f"\n  Taken for personal data, and invented: {', '.join(personal)}. If they are "
            said += f"categories, declare them so: {example}"
        return f"\n\n  {said}"


def undeclared(options: argparse.Namespace, types: Mapping[str, ColumnType]) -> Sequence[str]:
    """Columns of the table without a type, unless they are to be left out."""
    return [] if options.only_declared else [name for name in names_of(options) if name not in types]


def domain_file(options: argparse.Namespace) -> DomainFile:
    """What is declared; nothing where no domain is given."""
    from sdv_plausible.table.declarations import domain_document

    return DomainFile(columns={}) if options.domain is None else domain_document(options.domain)


def open_blanks(options: argparse.Namespace) -> None:
    """Take columns that a template left blank for undeclared ones, where the cells can vote on them."""
    if can_vote(options):
        options.domain = without_blanks(options.domain)


def without_blanks(domain: Any) -> Any:
    """What is declared, without the columns that a template left blank."""
    from sdv_plausible.table.declarations import domain_document

    if domain in (None, "written"):
        return domain
    file = domain_document(domain)
    told = {name: words for name, words in file.columns.items() if not is_blank(words)}
    return domain if len(told) == len(file.columns) else replace(file, columns=told).to_dict()


def can_vote(options: argparse.Namespace) -> bool:
    """Whether the types can be voted for: where a claim is wanted, and the vote can be a part of it."""
    # A budget is drawn from before any look, and a person's rows are bounded in the fit: both come too late
    # for the vote, as does metadata of the user's own.
    return (
        math.isfinite(_parameter(options, "epsilon"))
        and _parameter(options, "undeclared") == "private"
        and not any(hasattr(options, name) for name in ("person", "random_state", "neighbours"))
        and options.budget is None
        and options.metadata is None
        and domain_file(options).learned is None
    )


def vote(options: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    """The domain file with the types that the cells of these columns vote for, and what that cost."""
    from sdv_plausible.declaring.voted import with_voted
    from sdv_plausible.table.cell_texts import Spelling

    document = domain_file(options).to_dict()
    if not names:
        return document
    texts = read(options, {name: {"sdtype": "categorical"} for name in names})
    spelling = Spelling(**how(options, *HOW_SPELLED))
    return _in_order(options, with_voted(document, texts, spelling, *_total(options)))


def plan_blanks(options: argparse.Namespace) -> None:
    """Plan a vote on the columns that a template left blank, where the cells can vote on them."""
    from sdv_plausible.declaring.voted import before_the_vote

    left = [] if options.domain == "written" else blanks(domain_file(options))
    if left and can_vote(options):
        told = without_blanks(options.domain)
        options.domain = before_the_vote(told, left, *_total(options))


def before_vote(options: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    """The same before a cell is looked at, for a plan."""
    from sdv_plausible.declaring.voted import before_the_vote

    document = domain_file(options).to_dict()
    if not names:
        return document
    return _in_order(options, before_the_vote(document, names, *_total(options)))


def _in_order(options: argparse.Namespace, document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "columns": in_order(options, document["columns"])}


def _total(options: argparse.Namespace) -> tuple[float, float]:
    return _parameter(options, "epsilon"), _parameter(options, "delta")


def _parameter(options: argparse.Namespace, name: str) -> Any:
    """A parameter of the synthesizer: as given, or by the constructor's default."""
    return getattr(options, name, default_of(name))
