"""What of related tables a fit uses otherwise than it stands there: for their holder alone, and not private.

A fit follows fixed rules and says nothing of this (docs/explanation/proofs/related_tables.md): rows decide
neither whether it ends nor what it warns of.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.extensions.multi_table.related_rows import families_of
from sdv_plausible.extensions.multi_table.relationships import Relationship, TableTree
from sdv_plausible.fitting.column_specs import ColumnSpecs as Columns
from sdv_plausible.fitting.diagnostics import compare_with_declarations
from sdv_plausible.table.columns.cell_reader import ColumnType
from sdv_plausible.table.contribution_bounding import person_keys
from sdv_plausible.table.data_checks import Finding
from sdv_plausible.table.declared.domain_file import DomainFile

WHOLE = re.compile(
    r"\+?(-?)0*(0|[^\D0]\d*)(?:\.0*)?"
)  # a whole number as texts write it, such as 007 and 7.0
NOT_USED = "such rows are not used"


def check_table(
    name: str, table: pd.DataFrame, types: Mapping[str, ColumnType], file: DomainFile, max_bins: int
) -> tuple[list[Finding], set[str], list[str]]:
    """One table against its own declarations: findings, columns compared, and lines that quote cells."""
    columns = {column: kind.words for column, kind in types.items()}
    declared, rules, specs = Columns(columns=columns, domain=file, max_bins=max_bins).read()
    found, looked, lines = compare_with_declarations(declared, rules, specs, table)
    told = [replace(finding, column=f"{name}.{finding.column}") for finding in found.findings]
    return told, looked, [f"{name}.{line}" for line in lines]


def check_keys(tables: Mapping[str, pd.DataFrame], tree: TableTree) -> Iterator[Finding]:
    """Rows that a fit leaves out by what their keys are, by the rule that leaves them out.

    What hangs on rows that are left out is, too, and is not counted again.
    """
    for name in tree.tables:
        if not (below := tree.below(name)):
            continue
        cells = person_keys(tables[name][below[0].primary_key])
        keys = {key for key in cells if key is not None}
        lost = sum(key is None for key in cells)
        unnamed = NOT_USED if name == tree.root else "nothing hangs on such rows"
        told = {
            f"are missing or can name nobody: {unnamed}": lost,
            "repeat the key of another row: of each key one row is used": len(cells) - lost - len(keys),
        }
        if name == tree.root:
            families = {one for one in families_of(tables, tree).tolist() if one >= 0}
            tied = "are of one family with another row, by a key that rows below both have: one is used"
            told[tied] = len(keys) - len(families)
        yield from _findings(f"{name}.{below[0].primary_key}", len(cells), told)
        for link in below:
            yield from _of_link(keys, person_keys(tables[link.child][link.foreign_key]), link)


def _of_link(keys: Collection[Any], named: np.ndarray, link: Relationship) -> Iterator[Finding]:
    """Children that are left out, by what their cells name."""
    here = Counter(key for key in named if key in keys)
    orphans = [key for key in named if key is not None and key not in keys]
    alike = {_spelled_alike(key) for key in keys}
    yield from _findings(
        f"{link.child}.{link.foreign_key}",
        len(named),
        {
            f"are missing or can name nobody: {NOT_USED}": sum(key is None for key in named),
            f"name no row of {link.parent}: {NOT_USED}": len(orphans),
            f"of these would name a row of {link.parent} but for how it is written: write both alike (as 007 "
            "and 7, blanks, capitals)": sum(_spelled_alike(key) in alike for key in orphans),
            f"are more than max_children ({link.most}) of one row of {link.parent}: left out by a secret "
            "choice": sum(max(rows - link.most, 0) for rows in here.values()),
        },
    )


def _findings(column: str, cells: int, told: Mapping[str, int]) -> Iterator[Finding]:
    return (Finding(column, problem, number, number / cells) for problem, number in told.items() if number)


def _spelled_alike(name: Any) -> str:
    """What a key is but for blanks, capitals, forms of letters, and how whole numbers are written."""
    try:
        written = str(name)
    except ValueError:  # Python writes no whole number of more than 4,300 digits
        return f"#{hash(name)}"
    text = "".join(unicodedata.normalize("NFKC", written).split()).casefold()
    number = WHOLE.fullmatch(text)
    return text if number is None else "".join(number.groups())
