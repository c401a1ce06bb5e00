"""What of a table does not fit its declarations. For the data holder only: nothing here is private."""

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
from sdv_plausible.utils.printable import visible

EXAMPLES = 5  # values shown of a column
MOST = 0.5  # share of a column's cells outside from which a fit warns
CUT = 0.1  # share of the present cells that have digits which the declaration cuts off from which it does
MISSING = 0.01  # share of a column's cells that are missing, undeclared, from which it does
FEW_CELLS = 20  # present cells below which it does not: a small table says little


@dataclass(frozen=True)
class Finding:
    """What does not fit in one column, without any value of it."""

    column: str
    problem: str  # what does not fit, and what to do
    cells: int
    # The same as a share of the column's present cells; of all cells where missing ones are meant
    share: float

    def __str__(self) -> str:
        return visible(f"{self.column}: {self.cells:,} cells ({self.share:.1%}) {self.problem}", keep="")


@dataclass(frozen=True)
class Check:
    """Findings of a table, for its holder. They are counts of the real rows: do not publish them."""

    findings: tuple[Finding, ...]

    def __bool__(self) -> bool:
        """Whether everything fits."""
        return not self.findings

    def __str__(self) -> str:
        if not self.findings:
            return "NOT private, for your eyes: every cell fits what was declared."
        return "\n".join(["NOT private, for your eyes:", *(f"  {finding}" for finding in self.findings)])


def check_columns(
    table: pd.DataFrame,
    known: Mapping[str, Attribute],
    nullable: Mapping[str, bool | None],
    show: Callable[[str], object],
) -> Check:
    """Compare a table with what was declared of its columns."""
    # ``nullable`` is None where missing is learned or was left open; ``show`` gets lines with values of the
    # rows, for a screen: they are kept nowhere.
    findings: list[Finding] = []
    for name, attribute in known.items():
        for finding, values in _column_findings(table[name], attribute, nullable.get(name)):
            findings.append(finding)
            if values:
                show(f"{name}: {', '.join(map(repr, values))}, ...")
    return Check(tuple(findings))


def mostly_outside(table: pd.DataFrame, known: Mapping[str, Attribute]) -> list[str]:
    """Names of the columns of which most cells are outside their declaration."""
    found = []
    for name, attribute in known.items():
        present = int(table[name].notna().sum())
        wrong = is_outside(table[name], attribute) & table[name].notna().to_numpy()
        learned = 1 - attribute.unlearned  # rare values are outside, as the domain itself says
        if present >= FEW_CELLS and wrong.sum() > (1 - learned * (1 - MOST)) * present:
            found.append(name)
    return found


def often_cut(table: pd.DataFrame, known: Mapping[str, Attribute]) -> list[str]:
    """Names of columns declared as whole numbers of which more than a few cells have a fraction."""
    found = []
    for name, attribute in known.items():
        present = int(table[name].notna().sum())
        if attribute.kind == "integer" and present >= FEW_CELLS and _fractions(table[name]) > CUT * present:
            found.append(name)
    return found


def _fractions(column: pd.Series[Any]) -> int:
    """Cells that hold a number with a fraction."""
    numbers = as_doubles(column)
    return int(((numbers[np.isfinite(numbers)] % 1) > 0).sum())


def often_missing(table: pd.DataFrame, never: Collection[str]) -> list[str]:
    """Names of columns of which cells are missing that were not declared to be, and not just a few."""
    # ``never`` are the columns whose declaration has no missing value.
    if len(table) < FEW_CELLS:
        return []
    return [name for name in never if table[name].isna().sum() > MISSING * len(table)]


def _column_findings(
    column: pd.Series[Any], attribute: Attribute, nullable: bool | None
) -> Iterator[tuple[Finding, list[Any]]]:
    name, present = attribute.name, int(column.notna().sum())
    missing = len(column) - present
    wrong = is_outside(column, attribute) & column.notna().to_numpy()
    if wrong.any():
        values = [value for value, _ in Counter(column[wrong].tolist()).most_common(EXAMPLES)]
        cells = int(wrong.sum())
        yield Finding(name, _why(column[wrong], attribute), cells, cells / max(present, 1)), values
    if missing and nullable is False:
        problem = "are missing, which was not declared: they get random values. Say range_is_nullable"
        yield Finding(name, problem, missing, missing / len(column)), []
    if nullable and not missing and len(column):
        yield Finding(name, "are missing, which was declared to be: is it another column?", 0, 0.0), []
    if attribute.kind == "integer" and not wrong.all():
        broken = _fractions(column)
        if broken:
            problem = "have a fraction, which is cut off: give decimal_places"
            yield Finding(name, problem, broken, broken / present), []


def _why(cells: pd.Series[Any], attribute: Attribute) -> str:
    """Words for cells outside: another type, other spelling, or simply outside."""
    if attribute.kind in ("categorical", "ordinal"):
        texts = {str(value): value for value in attribute.values}
        distinct = cells.drop_duplicates().tolist()
        if all(str(_plain(value)) in texts for value in distinct):
            there, here = (_kind(v) for v in (distinct[0], next(iter(attribute.values))))
            return f"hold {there}, the declaration {here}: declare the values as they are in the table"
        folded = {text.strip().casefold() for text in texts}
        if all(str(value).strip().casefold() in folded for value in distinct):
            return "differ from declared values in capitals or spaces alone: write them as in the table"
        if attribute.counts:
            return "are none of the values that were learned, and get one of these in proportion"
        return "are none of the declared values, and " + (
            "become missing" if attribute.nullable else "get any"
        )
    readable = ColumnCodec(attribute).numbers(cells)
    unread = np.isnan(readable) if readable.dtype.kind == "f" else readable == np.iinfo(np.int64).min
    if unread.all():
        what = "dates in the declared format" if attribute.kind == "datetime" else "numbers"
        return f"are no {what}, and become missing"
    return "are outside the declared range, and are moved to its ends"


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
    """Mask of cells that the attribute does not hold: also missing ones, where missing is no value of it."""
    return ColumnCodec(attribute).placed(column)[1]
