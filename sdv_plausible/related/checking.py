"""What of related tables a fit uses otherwise than it stands there: for their holder alone, and not private.

A fit follows fixed rules and says nothing of this (docs/explanation/proofs/related_tables.md): rows decide
neither whether it ends nor what it warns of.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from sdv_plausible.fit.telling import compared
from sdv_plausible.fit.told import Told as Columns
from sdv_plausible.related.links import Link
from sdv_plausible.table.checking import Finding
from sdv_plausible.table.columns.cell_texts import ColumnType
from sdv_plausible.table.declared.domain_file import DomainFile
from sdv_plausible.table.persons import identities

WHOLE = re.compile(r"\+?(-?)0*(\d+)(?:\.0*)?")  # a whole number as texts write it, such as 007 and 7.0
LEFT_OUT = "such rows are not used"
WRITE_ALIKE = "write both alike (as 007 and 7, blanks, capitals)"


def check_table(
    name: str, table: pd.DataFrame, types: Mapping[str, ColumnType], file: DomainFile, max_bins: int
) -> tuple[list[Finding], set[str], list[str]]:
    """One table against its own declarations: findings, columns compared, and lines that quote cells."""
    columns = {column: kind.words for column, kind in types.items()}
    declared, rules, specs = Columns(columns=columns, domain=file, max_bins=max_bins).read()
    found, looked, lines = compared(declared, rules, specs, table)
    told = [replace(finding, column=f"{name}.{finding.column}") for finding in found.findings]
    return told, looked, [f"{name}.{line}" for line in lines]


def check_link(parents: pd.DataFrame, children: pd.DataFrame, link: Link) -> Iterator[Finding]:
    """Rows that a fit leaves out, by the rule that leaves them out."""
    homes, named = identities(parents[link.primary_key]), identities(children[link.foreign_key])
    keys = {name for name in homes if name is not None}
    here = Counter(name for name in named if name in keys)
    orphans = [name for name in named if name is not None and name not in keys]
    alike = {_spelled_alike(name) for name in keys}
    key, foreign = f"{link.parent}.{link.primary_key}", f"{link.child}.{link.foreign_key}"
    keyed = sum(name is not None for name in homes)
    unnamed = f"are missing or can name nobody: {LEFT_OUT}"
    again = "repeat the key of another row: of each key one row is used, by a secret choice"
    written = f"of these would name a row of {link.parent} but for how it is written: {WRITE_ALIKE}"
    beyond = (
        f"are more than max_children ({link.most}) of one row of {link.parent}: left out by a secret choice"
    )
    for column, cells, number, problem in (
        (key, homes, len(homes) - keyed, unnamed),
        (key, homes, keyed - len(keys), again),
        (foreign, named, sum(name is None for name in named), unnamed),
        (foreign, named, len(orphans), f"name no row of {link.parent}: {LEFT_OUT}"),
        (foreign, named, sum(_spelled_alike(name) in alike for name in orphans), written),
        (foreign, named, sum(max(rows - link.most, 0) for rows in here.values()), beyond),
    ):
        if number:
            yield Finding(column, problem, number, number / len(cells))


def _spelled_alike(name: Any) -> str:
    """What a key is but for blanks, capitals, forms of letters, and how whole numbers are written."""
    text = "".join(unicodedata.normalize("NFKC", str(name)).split()).casefold()
    number = WHOLE.fullmatch(text)
    return text if number is None else "".join(number.groups())
