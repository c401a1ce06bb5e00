"""Domain files: read, written whole, and marked when cells that do not fit them are shown."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

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


def record_look(path: str | Path, names: Collection[str]) -> tuple[str, ...]:
    """Write down that cells of columns which do not fit their words are about to be shown.

    Parameters
    ----------
    path : str or Path
        A domain file; a bare mapping becomes one.
    names : collection of str
        The columns.

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
    after = before.looked_at(names)
    if after != before:
        after.save(path)
    return tuple(name for name in after.looked if name not in before.looked)
