"""Looks: which columns of a domain file were compared with the rows, written down before it is told."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from sdv_plausible.table.columns.domain import SCHEMA, Domain
from sdv_plausible.table.declared.declarations import domain_document, looked_at, says_written
from sdv_plausible.table.declared.domain_file import SCHEMA as FILE_SCHEMA
from sdv_plausible.table.declared.domain_file import DomainFile, read_domain_file, read_json
from sdv_plausible.table.declared.spec_words import MODELLED_SDTYPES
from sdv_plausible.utils.atomic_files import locked

NO_FILE = (
    "No file keeps a record of this look at {}: the declarations were made before it, and what is fitted "
    "with them as they are keeps its claim. Save them as a domain file to keep the claim of later fits: "
    "edited from now on they make none, unless each cites its public source"
)


def record_look(
    path: str | Path, names: Collection[str], rules: Collection[str] | None = None
) -> tuple[str, ...]:
    """Write down that columns were compared with their words, which is about to be told; return the new ones.

    ``rules`` are the digests of the rules, if rows that break one are about to be counted. If the file cannot
    be written (OSError) nothing should be shown. A bare mapping becomes a domain file.
    """
    if _is_finished(read_json(Path(path))):
        with locked(Path(path).resolve()):
            domain = Domain.load(path)
            noted = looked_at(domain, names, rules)
            noted.save(path)
        return tuple(name for name in noted.looked if name not in domain.looked)
    before = read_domain_file(path)
    if before.looked_at(names, rules) == before:
        return ()
    with locked(Path(path).resolve()):  # of two looks at once, both are written down
        before = read_domain_file(path)
        after = before.looked_at(names, rules)
        after.save(path)
    return tuple(name for name in after.looked if name not in before.looked)


def _is_finished(document: Any) -> bool:
    return isinstance(document, dict) and document.get("schema") == SCHEMA


def with_looks(
    file: DomainFile, replaced: str | Path, names: Collection[str]
) -> tuple[DomainFile, list[str]]:
    """The file with the looks on record in the one it replaces, if there is one, and the columns of these."""
    # ``names`` are the table's columns: of those that neither it nor the file has, nothing is kept
    try:
        document = read_json(Path(replaced))
    except FileNotFoundError:  # there is no record
        return file, []
    except ValueError:
        document = None
    schema = document.get("schema", FILE_SCHEMA) if isinstance(document, Mapping) else None
    if schema not in (FILE_SCHEMA, SCHEMA):
        raise ValueError(
            f"{replaced} cannot be read as a domain file, and may hold a record of looks at the rows: mend "
            "it, or remove it yourself"
        )
    return with_earlier(file, domain_document(replaced), names)


def with_earlier(
    file: DomainFile, before: DomainFile, names: Collection[str]
) -> tuple[DomainFile, list[str]]:
    """The same, of an earlier file that was read."""
    looked = {name: words for name, words in before.looked.items() if name in {*names, *file.columns}}
    rules = file.looked_rules if before.looked_rules is None else before.looked_rules
    return replace(file, looked={**file.looked, **looked}, looked_rules=rules), list(looked)


def replace_file(
    path: str | Path, file: DomainFile, names: Collection[str], learned: Mapping[str, Any]
) -> list[str]:
    """Write a domain file; looks in one that it replaces stay, those that were written down just now too."""
    # ``names`` as for :func:`with_looks`; ``learned`` are columns that were learned for it, with their words.
    # Returned are the columns whose looks are from the file that was replaced.
    path = Path(path)
    with locked(path.resolve()) if path.exists() else nullcontext():
        after, kept = with_looks(file, path, names)
        after.paid_for(learned).save(path)
    return kept


def note_look(path: str | Path, names: Collection[str], rules: Collection[str] | None = None) -> list[str]:
    """Write a look down, and return what whoever looked is told."""
    # That everything fits is told about all rows, too: so columns and rules are written down whatever was
    # found. Else ever narrower ranges are tried until one person's value is the bound.
    if not names and rules is None:
        return []
    record_look(path, names, rules)
    file = domain_document(Path(path))
    seen = ", ".join(name for name in file.looked if name in names)
    told = []
    if seen:
        told.append(
            f"Written down in {path}: {seen} were looked at. If you edit these declarations now, there is no "
            "claim, unless each cites its public source"
        )
    if rules is not None:
        what = "which rules there are" if rules else "that there are no rules"
        change = "If one is changed" if rules else "If one is made"
        told.append(f"Written down in {path}: {what}. {change} now, the file must name their rules_source")
    types = {n: words.get("sdtype") for n, words in file.columns.items() if isinstance(words, Mapping)}
    left = [n for n, sdtype in types.items() if n not in file.looked and sdtype in MODELLED_SDTYPES]
    if left:
        told.append(
            f"Left open, and not compared: {', '.join(left)}. Their ranges and values may be declared later"
        )
    return told


def told_of_look(domain: Any, names: Collection[str], rules: Collection[str] | None = None) -> list[str]:
    """Write a look down where the declarations are kept, and return what whoever looked is told."""
    if isinstance(domain, (str, os.PathLike)) and not says_written(domain):
        return note_look(Path(domain), names, rules)
    return [NO_FILE.format(", ".join(sorted(names)))] if names else []
