"""Domain files: read, written whole, and marked when cells that do not fit them are shown."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from sdv_plausible.table.domain import SCHEMA
from sdv_plausible.table.domain_file import DomainFile, read_json


def read_domain_file(path: str | Path) -> DomainFile:
    """Read a domain file, or a bare mapping from names to declarations.

    Parameters
    ----------
    path : str or Path
        A JSON file.

    Raises
    ------
    ValueError
        If it is neither; a finished domain, as ``Domain.save`` writes, is none.
    """
    document = read_json(Path(path))
    if not isinstance(document, dict):
        raise ValueError(f"{str(path)!r} is no domain file: it must map names of columns to declarations")
    return DomainFile.of(document, str(path))


def record_look(
    path: str | Path, names: Collection[str], rules: Collection[str] | None = None
) -> tuple[str, ...]:
    """Write down that cells of columns which do not fit their words are about to be shown.

    Parameters
    ----------
    path : str or Path
        A domain file; a bare mapping becomes one.
    names : collection of str
        The columns.
    rules : collection of str, optional
        Digests of the rules, if rows that break one are about to be counted.

    Returns
    -------
    tuple of str
        Columns that had not been looked at before.

    Raises
    ------
    ValueError
        If it is no domain file.
    OSError
        If it cannot be written: nothing should be shown then.
    """
    before = read_domain_file(path)
    after = before.looked_at(names, rules)
    if after != before:
        after.save(path)
    return tuple(name for name in after.looked if name not in before.looked)


def note_look(path: str | Path, names: Collection[str], rules: Collection[str] | None = None) -> list[str]:
    """Write a look down, and return what whoever looked is told.

    That no row breaks a rule is told about all rows, too: so rules are written down whatever was found.

    Parameters
    ----------
    path : str or Path
        The file that was given as the domain.
    names : collection of str
        Columns of which cells that do not fit are about to be shown.
    rules : collection of str, optional
        Digests of the rules, if rows that break one are about to be counted.
    """
    if not names and rules is None:
        return []
    document = read_json(Path(path))
    if isinstance(document, dict) and document.get("schema") == SCHEMA:
        return [f"{path} is a finished domain, which keeps no record: do not edit it now"]
    record_look(path, names, rules)
    seen = ", ".join(name for name in read_domain_file(path).looked if name in names)
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
    return told
