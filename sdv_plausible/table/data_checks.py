"""Comparison of a table with its declarations. Not private: for the data owner only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.table.cells.canonical_forms import canonical
from sdv_plausible.table.cells.cell_series import as_doubles
from sdv_plausible.table.codec import ColumnCodec
from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.utils.text_output import escape_controls

NUM_EXAMPLES = 5  # values shown per column
MAX_OUTSIDE = 0.5  # share of cells outside the declaration above which a fit warns
MAX_CUT = 0.1  # share of present cells with truncated digits above which a fit warns
MAX_MISSING = 0.01  # share of undeclared missing cells above which a fit warns
MIN_CELLS = 20  # present cells below which a fit does not warn


@dataclass(frozen=True)
class Finding:
    """One mismatch of a column with its declaration, without any of its values."""

    column: str
    problem: str  # the mismatch, and how to fix it
    cells: int
    # Share of the column's present cells; for missing cells, of all cells
    share: float

    def __str__(self) -> str:
        return escape_controls(
            f"{self.column}: {self.cells:,} cells ({self.share:.1%}) {self.problem}", keep=""
        )


@dataclass(frozen=True)
class Check:
    """Findings of a table, for the data owner. They count real rows: do not publish them."""

    findings: tuple[Finding, ...]

    def __bool__(self) -> bool:
        """Whether there is no finding."""
        return not self.findings

    def __str__(self) -> str:
        if not self.findings:
            return "NOT private, for the data owner: every cell matches its declaration."
        return "\n".join(["NOT private, for the data owner:", *(f"  {finding}" for finding in self.findings)])


def check_columns(
    table: pd.DataFrame,
    known: Mapping[str, Attribute],
    nullable: Mapping[str, bool | None],
    show: Callable[[str], object],
) -> Check:
    """Compare a table with the declarations of its columns."""
    # ``nullable`` is None where missing is learned or undeclared. ``show`` receives lines with values of the
    # rows, for display only; they are not stored.
    findings: list[Finding] = []
    for name, attribute in known.items():
        for finding, values in _column_findings(table[name], attribute, nullable.get(name)):
            findings.append(finding)
            if values:
                show(f"{name}: {', '.join(map(repr, values))}, ...")
    return Check(tuple(findings))


def columns_mostly_outside(table: pd.DataFrame, known: Mapping[str, Attribute]) -> list[str]:
    """Names of the columns with most cells outside their declaration."""
    names = []
    for name, attribute in known.items():
        present = int(table[name].notna().sum())
        outside = is_outside(table[name], attribute) & table[name].notna().to_numpy()
        learned_share = 1 - attribute.unlearned_share  # rare values are outside by design
        if present >= MIN_CELLS and outside.sum() > (1 - learned_share * (1 - MAX_OUTSIDE)) * present:
            names.append(name)
    return names


def columns_often_truncated(table: pd.DataFrame, known: Mapping[str, Attribute]) -> list[str]:
    """Names of integer columns of which more than a share ``MAX_CUT`` of the cells have a fraction."""
    names = []
    for name, attribute in known.items():
        present = int(table[name].notna().sum())
        if attribute.kind != "integer" or present < MIN_CELLS:
            continue
        if _fractions(table[name]) > MAX_CUT * present:
            names.append(name)
    return names


def _fractions(column: pd.Series[Any]) -> int:
    """Number of cells that hold a number with a fraction."""
    numbers = as_doubles(column)
    return int(((numbers[np.isfinite(numbers)] % 1) > 0).sum())


def columns_often_missing(table: pd.DataFrame, never: Collection[str]) -> list[str]:
    """Names of the given columns with more than a share ``MAX_MISSING`` of their cells missing."""
    # ``never``: columns whose declaration has no missing value.
    if len(table) < MIN_CELLS:
        return []
    return [name for name in never if table[name].isna().sum() > MAX_MISSING * len(table)]


def _column_findings(
    column: pd.Series[Any], attribute: Attribute, nullable: bool | None
) -> Iterator[tuple[Finding, list[Any]]]:
    name, present = attribute.name, int(column.notna().sum())
    missing = len(column) - present
    outside = is_outside(column, attribute) & column.notna().to_numpy()
    if outside.any():
        values = [value for value, _ in Counter(column[outside].tolist()).most_common(NUM_EXAMPLES)]
        cells = int(outside.sum())
        yield Finding(name, _explain(column[outside], attribute), cells, cells / max(present, 1)), values
    if missing and nullable is False:
        problem = "are missing, but declared never to be: they get random values. Set range_is_nullable"
        yield Finding(name, problem, missing, missing / len(column)), []
    if nullable and not missing and len(column):
        yield Finding(name, "are missing, though declared: is it the right column?", 0, 0.0), []
    if attribute.kind == "integer" and not outside.all():
        num_fractions = _fractions(column)
        if num_fractions:
            problem = "have digits after the point, which are cut off: set decimal_places"
            yield Finding(name, problem, num_fractions, num_fractions / present), []


def _explain(cells: pd.Series[Any], attribute: Attribute) -> str:
    """Explanation for cells outside the declaration: another type, another spelling, or other values."""
    if attribute.kind in ("categorical", "ordinal"):
        texts = {str(value): value for value in attribute.values}
        distinct = cells.drop_duplicates().tolist()
        if all(str(_plain(value)) in texts for value in distinct):
            actual, declared = (_kind(v) for v in (distinct[0], next(iter(attribute.values))))
            return f"hold {actual}, but {declared} are declared: declare the values as in the table"
        normalized = {text.strip().casefold() for text in texts}
        if all(str(value).strip().casefold() in normalized for value in distinct):
            return "differ from declared values only in capitals or spaces: declare them as in the table"
        if attribute.counts:
            return "have values that were not learned, and are replaced by learned ones in proportion"
        return "have undeclared values, and " + (
            "become missing" if attribute.nullable else "get random ones"
        )
    numbers = ColumnCodec(attribute).numbers(cells)
    is_unreadable = np.isnan(numbers) if numbers.dtype.kind == "f" else numbers == np.iinfo(np.int64).min
    if is_unreadable.all():
        what = "dates in the declared format" if attribute.kind == "datetime" else "numbers"
        return f"are not {what}, and become missing"
    return "are outside the declared range, and are clipped to it"


def _plain(value: Any) -> Any:
    value = canonical(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _kind(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "truth values"
    if isinstance(value, str):
        return "texts"
    return "whole numbers" if isinstance(_plain(value), int) else "numbers"


def is_outside(column: pd.Series[Any], attribute: Attribute) -> np.ndarray:
    """Mask of cells outside the attribute, including missing cells if missing is not in the domain."""
    return ColumnCodec(attribute).placed(column)[1]
