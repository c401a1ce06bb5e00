"""Raw tables of the benchmark, as a new user reads them: one call of pandas, no coding, nothing dropped."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

DATA = Path(os.environ.get("SDV_PLAUSIBLE_DATA", "../shared/data"))
MOST_TRAINING_ROWS = 50_000


@dataclass(frozen=True)
class Source:
    """Where a table lies, the column that classifiers predict, and how many of its rows are used (None: all)."""

    files: Sequence[str]
    target: str
    rows: int | None = None


SOURCES = {
    "adult": Source(["adult/adult_train.csv.gz", "adult/adult_test.csv.gz"], "income"),
    "bank_marketing": Source(["bank_marketing/bank_marketing.csv.gz"], "y"),
    "compas": Source(["compas/compas_two_years.csv.gz"], "two_year_recid"),
    "flights_100k": Source(["flights_100k/flights_100k.csv.gz"], "arrival_delay"),
    "national2019": Source(["nist_acs_excerpts/national2019.csv.gz"], "MSP"),
    "ma2019": Source(["nist_acs_excerpts/ma2019.csv.gz"], "MSP"),
    "fake_hotel_guests": Source(["fake_hotel_guests/fake_hotel_guests.csv.gz"], "has_rewards"),
    "acs2018_us": Source(
        ["acs2018_us/acs2018_us_295k.parquet"],
        "Insurance through a current or former employer or union",
        100_000,
    ),
}


def absent(name: str) -> str | None:
    """Why a table cannot be read, or None."""
    lacking = [file for file in SOURCES[name].files if not (DATA / file).exists()]
    return f"{', '.join(lacking)} not found in {DATA} (set SDV_PLAUSIBLE_DATA)" if lacking else None


def read(name: str) -> pd.DataFrame:
    """All rows of one raw table that the benchmark uses."""
    source = SOURCES[name]
    parts = [_read_file(DATA / file) for file in source.files]
    table = parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)
    if source.rows is not None and source.rows < len(table):
        table = table.sample(source.rows, random_state=0)
    return table.reset_index(drop=True)


def _read_file(path: Path) -> pd.DataFrame:
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, low_memory=False)


def split(table: pd.DataFrame, repeat: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Fresh training rows of a repeat, half of all but at most ``MOST_TRAINING_ROWS``, and as many other rows."""
    order = np.random.default_rng(2000 + repeat).permutation(len(table))
    half = min(len(table) // 2, MOST_TRAINING_ROWS)
    train, test = (
        table.iloc[np.sort(part)].reset_index(drop=True) for part in (order[:half], order[half : 2 * half])
    )
    return train, test
