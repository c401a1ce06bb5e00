"""The access log of a domain file: columns compared with the rows, recorded before results are shown."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from sdv_plausible.table.columns.domain import SCHEMA, Domain
from sdv_plausible.table.declared.declarations import as_domain_file, uses_metadata_values, with_access_record
from sdv_plausible.table.declared.domain_file import SCHEMA as FILE_SCHEMA
from sdv_plausible.table.declared.domain_file import DomainFile, read_domain_file, read_json
from sdv_plausible.table.declared.specifications import MODELLED_SDTYPES
from sdv_plausible.utils.atomic_files import locked

NO_FILE = (
    "This comparison of {} with the rows is not recorded in any file. Fits with the unchanged "
    "declarations keep their privacy guarantee. Edited declarations lose it, unless each cites its public "
    "source. Save them as a domain file to keep the guarantee of later fits"
)


def record_access(
    path: str | Path, names: Collection[str], rules: Collection[str] | None = None
) -> tuple[str, ...]:
    """Record that columns are compared with the rows, before the result is shown; return the new columns.

    ``rules`` are the digests of the rules, if rows that break them are counted. Callers must show nothing if
    the file cannot be written (OSError). A bare mapping becomes a domain file.
    """
    document = read_json(Path(path))
    if isinstance(document, dict) and document.get("schema") == SCHEMA:
        with locked(Path(path).resolve()):
            domain = Domain.load(path)
            new_domain = with_access_record(domain, names, rules)
            new_domain.save(path)
        return tuple(name for name in new_domain.looked if name not in domain.looked)
    old = read_domain_file(path)
    if old.looked_at(names, rules) == old:
        return ()
    with locked(Path(path).resolve()):  # keep the records of concurrent accesses
        old = read_domain_file(path)
        new = old.looked_at(names, rules)
        new.save(path)
    return tuple(name for name in new.looked if name not in old.looked)


def with_access_records(
    file: DomainFile, replaced: str | Path, names: Collection[str]
) -> tuple[DomainFile, list[str]]:
    """The file with the access records of the one it replaces, and the columns of these records."""
    # ``names``: the table's columns. Records of columns that neither the table nor the file has are dropped.
    try:
        document = read_json(Path(replaced))
    except FileNotFoundError:  # no records to keep
        return file, []
    except ValueError:
        document = None
    schema = document.get("schema", FILE_SCHEMA) if isinstance(document, Mapping) else None
    if schema not in (FILE_SCHEMA, SCHEMA):
        raise ValueError(
            f"{replaced} cannot be read as a domain file, and may contain a record of comparisons with the "
            "rows: repair it, or delete it yourself"
        )
    return with_earlier_records(file, as_domain_file(replaced), names)


def with_earlier_records(
    file: DomainFile, earlier: DomainFile, names: Collection[str]
) -> tuple[DomainFile, list[str]]:
    """The file with the access records of an earlier file, and the columns of these records."""
    looked = {name: digest for name, digest in earlier.looked.items() if name in {*names, *file.columns}}
    rules = file.looked_rules if earlier.looked_rules is None else earlier.looked_rules
    return replace(file, looked={**file.looked, **looked}, looked_rules=rules), list(looked)


def replace_file(
    path: str | Path, file: DomainFile, names: Collection[str], learned: Mapping[str, Any]
) -> list[str]:
    """Write a domain file; keep the access records of the file it replaces and return their columns."""
    # ``names`` as for :func:`with_access_records`; ``learned``: declarations learned for this file.
    path = Path(path)
    with locked(path.resolve()) if path.exists() else nullcontext():
        merged, recorded = with_access_records(file, path, names)
        merged.paid_for(learned).save(path)
    return recorded


def log_access(path: str | Path, names: Collection[str], rules: Collection[str] | None = None) -> list[str]:
    """Record an access, and return the messages for the user."""
    # Record it whatever the result: "everything fits" is information about the rows, too. Otherwise a user
    # could narrow a range until its end is one person's value.
    if not names and rules is None:
        return []
    record_access(path, names, rules)
    file = as_domain_file(Path(path))
    accessed = ", ".join(name for name in file.looked if name in names)
    messages = []
    if accessed:
        messages.append(
            f"Recorded in {path}: {accessed} were compared with the rows. If you edit these declarations "
            "now, fits with them have no privacy guarantee, unless each cites its public source"
        )
    if rules is not None:
        rules_text = "which rules there are" if rules else "that there are no rules"
        condition = "If one is changed" if rules else "If one is made"
        messages.append(
            f"Recorded in {path}: {rules_text}. {condition} now, the file must name their rules_source"
        )
    types = {
        name: declaration.get("sdtype")
        for name, declaration in file.columns.items()
        if isinstance(declaration, Mapping)
    }
    open_columns = [
        name for name, sdtype in types.items() if name not in file.looked and sdtype in MODELLED_SDTYPES
    ]
    if open_columns:
        messages.append(
            f"Undeclared, and not compared: {', '.join(open_columns)}. Their ranges and values may be "
            "declared later"
        )
    return messages


def log_access_of_domain(
    domain: Any, names: Collection[str], rules: Collection[str] | None = None
) -> list[str]:
    """Record an access in the file that ``domain`` names, if any; return the messages for the user."""
    if isinstance(domain, (str, os.PathLike)) and not uses_metadata_values(domain):
        return log_access(Path(domain), names, rules)
    return [NO_FILE.format(", ".join(sorted(names)))] if names else []
