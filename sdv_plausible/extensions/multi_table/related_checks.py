"""Compare related tables with how a fit uses them: for the data owner only, not private.

A fit follows fixed rules and reports none of this (docs/explanation/proofs/related_tables.md): the rows
decide neither whether it ends nor what it warns about.
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

from sdv_plausible.extensions.multi_table.related_rows import family_numbers
from sdv_plausible.extensions.multi_table.relationships import Relationship, TableTree
from sdv_plausible.fitting.column_specs import ColumnSpecs as Columns
from sdv_plausible.fitting.diagnostics import compare_with_declarations
from sdv_plausible.table.columns.cell_reader import ColumnType
from sdv_plausible.table.contribution_bounding import person_keys
from sdv_plausible.table.data_checks import Finding
from sdv_plausible.table.declared.domain_file import DomainFile

INTEGER_TEXT = re.compile(r"\+?(-?)0*(0|[^\D0]\d*)(?:\.0*)?")  # an integer in text form, such as 007 or 7.0
NOT_USED = "such rows are not used"


def check_table(
    name: str, table: pd.DataFrame, types: Mapping[str, ColumnType], file: DomainFile, max_bins: int
) -> tuple[list[Finding], set[str], list[str]]:
    """Compare one table with its declarations: findings, compared columns, and lines that quote cells."""
    columns = {column: kind.words for column, kind in types.items()}
    declared, rules, specs = Columns(columns=columns, domain=file, max_bins=max_bins).read()
    check, columns_compared, lines = compare_with_declarations(declared, rules, specs, table)
    findings = [replace(finding, column=f"{name}.{finding.column}") for finding in check.findings]
    return findings, columns_compared, [f"{name}.{line}" for line in lines]


def check_keys(tables: Mapping[str, pd.DataFrame], tree: TableTree) -> Iterator[Finding]:
    """Report rows that a fit leaves out because of their keys.

    Descendants of rows that are left out are left out too; they are not counted again.
    """
    for name in tree.tables:
        if not (links := tree.below(name)):
            continue
        cells = person_keys(tables[name][links[0].primary_key])
        keys = {key for key in cells if key is not None}
        num_missing = sum(key is None for key in cells)
        consequence = NOT_USED if name == tree.root else "nothing hangs on such rows"
        counts = {
            f"are missing or can name nobody: {consequence}": num_missing,
            "repeat the key of another row: of each key one row is used": len(cells)
            - num_missing
            - len(keys),
        }
        if name == tree.root:
            family_ids = {i for i in family_numbers(tables, tree).tolist() if i >= 0}
            problem = "are of one family with another row, by a key that rows below both have: one is used"
            counts[problem] = len(keys) - len(family_ids)
        yield from _findings(f"{name}.{links[0].primary_key}", len(cells), counts)
        for link in links:
            yield from _foreign_key_findings(keys, person_keys(tables[link.child][link.foreign_key]), link)


def _foreign_key_findings(
    keys: Collection[Any], foreign_keys: np.ndarray, link: Relationship
) -> Iterator[Finding]:
    """Report children that are left out because of their foreign keys."""
    num_children = Counter(key for key in foreign_keys if key in keys)
    orphans = [key for key in foreign_keys if key is not None and key not in keys]
    spellings = {_normalised_key(key) for key in keys}
    yield from _findings(
        f"{link.child}.{link.foreign_key}",
        len(foreign_keys),
        {
            f"are missing or can name nobody: {NOT_USED}": sum(key is None for key in foreign_keys),
            f"name no row of {link.parent}: {NOT_USED}": len(orphans),
            f"of these would name a row of {link.parent} but for how it is written: write both alike (as 007 "
            "and 7, blanks, capitals)": sum(_normalised_key(key) in spellings for key in orphans),
            f"are more than max_children ({link.most}) of one row of {link.parent}: left out by a secret "
            "choice": sum(max(rows - link.most, 0) for rows in num_children.values()),
        },
    )


def _findings(column: str, cells: int, counts: Mapping[str, int]) -> Iterator[Finding]:
    return (Finding(column, problem, number, number / cells) for problem, number in counts.items() if number)


def _normalised_key(name: Any) -> str:
    """Normalise a key: ignores blanks, case, Unicode forms, and how integers are written."""
    try:
        written = str(name)
    except ValueError:  # Python formats no integer of more than 4,300 digits
        return f"#{hash(name)}"
    text = "".join(unicodedata.normalize("NFKC", written).split()).casefold()
    number = INTEGER_TEXT.fullmatch(text)
    return text if number is None else "".join(number.groups())
