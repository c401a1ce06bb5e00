"""The fixed grid of the benchmark, and a plain noisy histogram on it.

Cells of a column: every value that more than 1 % of the rows hold, the intervals between 20 quantiles (numbers and
dates, in seconds since 1970), missing, and the rest. Categories have no quantiles: their rarer values fall in the gap
between the two frequent values around them in the order of their text, so that no rare value is published.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.raw_codebooks import CodeBook
from benchmarks.raw_rules import plain, plain_column
from sdv_plausible.evaluation.table_codes import quantile_edges
from sdv_plausible.evaluation.table_pair import to_numbers
from sdv_plausible.privacy.accounting.composition import calibrate_gaussian

FOLDER = Path(__file__).parent / "grids"
QUANTILES = 20
LEAST_SHARE = 0.01
DRAWS = 20  # of the noisy histogram


@dataclass(frozen=True)
class ColumnGrid:
    """Cells of one column.

    Attributes
    ----------
    kind : "categorical", "numerical" or "datetime"
    values : list
        Frequent values, in the order of their cells: numbers first, then text.
    edges : list of float
        Inner edges of the quantile bins ``(edge[i - 1], edge[i]]``.
    """

    kind: str
    values: list[Any]
    edges: list[float]

    @property
    def num_cells(self) -> int:
        """Frequent values, what lies between, missing, the rest."""
        gaps = len(self.values) if self.kind == "categorical" else len(self.edges)
        return len(self.values) + gaps + 1 + 2

    def cells(self, column: pd.Series, datetime_format: str | None = None) -> np.ndarray:
        """Cell of every row's value."""
        number = len(self.values)
        spike = {plain(v): i for i, v in enumerate(self.values)}
        missing, rest = self.num_cells - 2, self.num_cells - 1
        if self.kind == "categorical":
            codes, distinct = pd.factorize(column)
            order = sorted(range(number), key=lambda i: _text(self.values[i]))
            texts = [_text(self.values[i]) for i in order]
            place = [
                spike.get(plain(v), number + int(np.searchsorted(texts, _text(v)))) if number else 0
                for v in np.asarray(distinct, dtype=object)
            ]
            return np.array([*place, missing])[codes]
        numbers, unreadable = to_numbers(column, self.kind, datetime_format)  # type: ignore[arg-type]
        cell = number + np.searchsorted(np.array(self.edges), numbers)
        for value, i in spike.items():
            if isinstance(value, float):
                cell[numbers == value] = i
        cell[np.isnan(numbers)] = missing
        if unreadable.any():
            read = plain_column(column[unreadable])
            cell[unreadable] = [spike.get(v, rest) for v in read]
        return cell

    def histogram(self, column: pd.Series, datetime_format: str | None = None) -> np.ndarray:
        """Rows in every cell."""
        return np.bincount(self.cells(column, datetime_format), minlength=self.num_cells)


def _text(value: Any) -> str:
    return str(plain(value))


def column_grid(column: pd.Series, kind: str, datetime_format: str | None = None) -> ColumnGrid:
    """Grid of one whole real column."""
    kind = "categorical" if kind == "boolean" else kind
    if kind == "categorical":
        shares = pd.Series(plain_column(column), dtype=object).value_counts() / max(len(column), 1)
        frequent = [v for v, share in shares.items() if share > LEAST_SHARE]
        return ColumnGrid(kind, sorted(frequent, key=str), [])
    numbers, unreadable = to_numbers(column, kind, datetime_format)  # type: ignore[arg-type]
    shares = pd.Series(numbers).value_counts() / max(len(column), 1)
    frequent = sorted(float(v) for v, share in shares.items() if share > LEAST_SHARE)
    texts = pd.Series(plain_column(column[unreadable]), dtype=object).value_counts() / max(len(column), 1)
    frequent += sorted(v for v, share in texts.items() if share > LEAST_SHARE)
    return ColumnGrid(kind, frequent, [float(e) for e in quantile_edges(numbers, QUANTILES)])


def table_grid(table: pd.DataFrame, book: CodeBook) -> dict[str, ColumnGrid]:
    """Grid of every modelled column; columns without any value have none."""
    return {
        name: column_grid(table[name], book.full[name]["sdtype"], book.full[name].get("datetime_format"))
        for name in book.modelled
        if table[name].notna().any()
    }


def write_grid(name: str, grid: Mapping[str, ColumnGrid]) -> None:
    """Publish a table's grid: ``grids/<table>.json``, a column a line."""
    lines = [f" {json.dumps(c)}: {json.dumps(vars(g))}" for c, g in grid.items()]
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def read_grid(name: str) -> dict[str, ColumnGrid]:
    """The published grid."""
    document = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return {column: ColumnGrid(**spec) for column, spec in document.items()}


def project_to_simplex(vector: np.ndarray) -> np.ndarray:
    """The nearest distribution (Euclidean) to a vector whose entries may be negative and sum to anything."""
    descending = np.sort(vector)[::-1]
    excess = (np.cumsum(descending) - 1) / np.arange(1, vector.size + 1)
    last = np.flatnonzero(descending > excess)[-1]
    return np.maximum(vector - excess[last], 0.0)


def noise_scale(epsilon: float, delta: float, columns: int) -> float:
    """Standard deviation of a column's counts at 1/columns of mu^2 (one row moves one count by one)."""
    return math.sqrt(columns) / calibrate_gaussian(epsilon, delta)


def noisy_distance(train: np.ndarray, test: np.ndarray, sigma: float, seed: int) -> float:
    """Mean distance to the test rows of the training rows' histogram with Gaussian noise, projected to the simplex."""
    rng = np.random.default_rng(seed)
    wanted = test / test.sum()
    found = []
    for _ in range(DRAWS):
        noisy = train + rng.normal(0, sigma, train.size)
        found.append(np.abs(project_to_simplex(noisy / max(noisy.sum(), 1.0)) - wanted).sum() / 2)
    return float(np.mean(found))


def grid_distances(
    tables: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame],
    name: str,
    book: CodeBook,
    epsilon: float,
    delta: float,
) -> dict[str, tuple[float, float, float]]:
    """By column: distances to the test rows of the synthetic rows, of the noisy histogram and of the training rows."""
    grid = read_grid(name)
    sigma = noise_scale(epsilon, delta, len(book.modelled)) if math.isfinite(epsilon) else 0.0
    out = {}
    for position, (column, cells) in enumerate(grid.items()):
        form = book.full[column].get("datetime_format")
        train, test, synthetic = (cells.histogram(table[column], form) for table in tables)
        plain_histogram = noisy_distance(train, test, sigma, position)
        ours, sampling = (
            float(np.abs(h / h.sum() - test / test.sum()).sum() / 2) for h in (synthetic, train)
        )
        out[column] = (ours, plain_histogram, sampling)
    return out
