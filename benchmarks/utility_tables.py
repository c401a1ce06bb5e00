"""Tables of the utility benchmark as integer codes with declared cardinalities."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

DATA = Path(os.environ.get("SDV_PLAUSIBLE_DATA", "../shared/data"))


@dataclass(frozen=True)
class CodedTable:
    """Integer codes 0..cardinality-1 of every column."""

    names: list[str]
    codes: np.ndarray
    cardinalities: list[int]
    ordered: list[bool]
    target: int
    num_train: int
    delta: float

    def split(self, repeat: int) -> tuple[np.ndarray, np.ndarray]:
        """Fresh random training rows, and as many real rows to score on (the others, at most)."""
        order = np.random.default_rng(1000 + repeat).permutation(len(self.codes))
        return self.codes[order[: self.num_train]], self.codes[order[self.num_train : 2 * self.num_train]]

    def declaration(self) -> dict[str, dict[str, Any]]:
        """The domain in the words of SDV's metadata."""
        return {
            name: {
                "sdtype": "numerical",
                "range_min": 0,
                "range_max": size - 1,
                "decimal_places": 0,
                "range_is_nullable": False,
            }
            if ordered
            else {"sdtype": "categorical", "range_values": list(range(size)), "range_is_nullable": False}
            for name, size, ordered in zip(self.names, self.cardinalities, self.ordered, strict=True)
        }


def _bins(column: pd.Series, low: float, high: float, number: int) -> np.ndarray:
    return np.clip(((column.to_numpy(float) - low) / (high - low) * number).astype(int), 0, number - 1)


def _factor(column: pd.Series) -> np.ndarray:
    return pd.factorize(column.astype(str), sort=True)[0]


Columns = list[tuple[str, np.ndarray, int, bool]]


def adult() -> CodedTable:
    """UCI Adult in the coding of private-pgm: 14 columns, education dropped, three long ones in 100 equal bins."""
    parts = [pd.read_csv(DATA / "adult" / f"adult_{part}.csv.gz") for part in ("train", "test")]
    table = pd.concat(parts, ignore_index=True)
    columns: Columns = [
        ("age", (table["age"] - 16).to_numpy(), 85, True),
        ("workclass", _factor(table["workclass"]), 9, False),
        ("fnlwgt", _bins(table["fnlwgt"], 12285, 1490400, 100), 100, True),
        ("education-num", (table["education-num"] - 1).to_numpy(), 16, True),
        ("marital-status", _factor(table["marital-status"]), 7, False),
        ("occupation", _factor(table["occupation"]), 15, False),
        ("relationship", _factor(table["relationship"]), 6, False),
        ("race", _factor(table["race"]), 5, False),
        ("sex", _factor(table["sex"]), 2, False),
        ("capital-gain", _bins(table["capital-gain"], 0, 100000, 100), 100, True),
        ("capital-loss", _bins(table["capital-loss"], 0, 4356.001, 100), 100, True),
        ("hours-per-week", (table["hours-per-week"] - 1).to_numpy(), 99, True),
        ("native-country", _factor(table["native-country"]), 42, False),
        ("income", _factor(table["income"]), 2, False),
    ]
    return _table(columns, "income", len(table) // 2, 1e-9)


def acs2013() -> CodedTable:
    """The paper's own columns: 50,000 training rows, delta 2^-30."""
    folder = DATA / "acs2013_paper"
    table = pd.read_csv(folder / "acs2013_100k.csv.gz")
    described = json.loads((folder / "columns.json").read_text())["columns"]
    columns = [
        (c["name"], (table[c["name"]] - 1).to_numpy(), c["cardinality"], c["name"] in ("age", "edu", "hpw"))
        for c in described
    ]
    return _table(columns, "incc", 50_000, 2.0**-30)


def acs2018() -> CodedTable:
    """ACS 2018, 11 columns with labels, 30,000 training rows."""
    table = pd.read_parquet(DATA / "acs2018_us" / "acs2018_us_100k_11cols.parquet")
    columns: Columns = []
    for name in table:
        if name == "Age":
            columns.append((name, (table[name] - 17).to_numpy(), 79, True))
        elif name == "Hours per Week":
            columns.append((name, table[name].astype(int).to_numpy(), 100, True))
        else:
            codes = _factor(table[name])
            columns.append((name, codes, int(codes.max()) + 1, False))
    return _table(columns, "Income50k", 30_000, 1e-9)


def wide() -> CodedTable:
    """ACS 2018, 32 columns of which some have several hundred values, 50,000 training rows."""
    table = pd.read_parquet(DATA / "acs2018_us" / "acs2018_us_295k.parquet").sample(100_000, random_state=0)
    return _quantiles(table, "Insurance through a current or former employer or union", 50_000)


def flights_rows() -> pd.DataFrame:
    """US flights of 2015: the departure as a day of the year and a minute of the day."""
    table = pd.read_csv(DATA / "flights_100k" / "flights_100k.csv.gz")
    departure = pd.to_datetime(table.pop("departure"))
    table.insert(0, "day", departure.dt.dayofyear)
    table.insert(1, "minute", departure.dt.hour * 60 + departure.dt.minute)
    return table


def flights() -> CodedTable:
    """US flights of 2015, 7 columns of which two have almost 600 airports, 50,000 training rows."""
    return _quantiles(flights_rows(), "airline", 50_000)


def _quantiles(table: pd.DataFrame, target: str, num_train: int) -> CodedTable:
    """Numbers in fifty bins, missing ones in one of their own; every other value its own code."""
    columns: Columns = []
    for name in table:
        column = table[name]
        if pd.api.types.is_numeric_dtype(column.dtype):
            edges = np.unique(np.nanquantile(column.to_numpy(float), np.linspace(0, 1, 51)))
            codes = np.searchsorted(edges[1:-1], column.to_numpy(float), side="right")
            codes = np.where(column.isna(), len(edges) - 1, codes)
            columns.append((name, codes, len(edges), True))
        else:
            codes = _factor(column)
            columns.append((name, codes, int(codes.max()) + 1, False))
    return _table(columns, target, num_train, 1e-9)


def _table(columns: Columns, target: str, num_train: int, delta: float) -> CodedTable:
    names = [name for name, *_ in columns]
    return CodedTable(
        names=names,
        codes=np.stack([codes.astype(np.int32) for _, codes, *_ in columns], axis=1),
        cardinalities=[int(size) for *_, size, _ in columns],
        ordered=[ordered for *_, ordered in columns],
        target=names.index(target),
        num_train=num_train,
        delta=delta,
    )


TABLES: dict[str, Callable[[], CodedTable]] = {
    "adult": adult,
    "acs2013": acs2013,
    "acs2018": acs2018,
    "wide": wide,
    "flights": flights,
}
