"""Small releases of every kind, for the tests of release files."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible import PlausibleDeniabilitySynthesizer
from sdv_plausible.sdv.metadata import metadata_from_columns
from tests.flat import values

COLUMNS = {
    "key": {"sdtype": "id", "regex_format": "P[0-9]{5}"}, "ticket": {"sdtype": "id"},
    "email": {"sdtype": "email", "pii": True}, "phone": {"sdtype": "phone_number", "pii": True},
    "city": {"sdtype": "categorical"}, "grade": {"sdtype": "categorical"}, "band": {"sdtype": "categorical"},
    "member": {"sdtype": "boolean"}, "age": {"sdtype": "numerical"}, "share": {"sdtype": "numerical"},
    "start": {"sdtype": "datetime"}, "zoned": {"sdtype": "datetime"},
    "day": {"sdtype": "datetime", "datetime_format": "%d.%m.%Y"},
}  # fmt: skip
DECLARED: dict[str, Any] = {  # every column of the table has missing values
    "city": {"range_values": ["Bern", "Zürich", "Chur"], "range_is_nullable": True},
    "grade": {"range_values": [1, 2, 3.5], "range_is_nullable": True},
    "band": {"range_values": ["a", "b", "c"], "range_is_nullable": True},
    "member": {"range_is_nullable": True},
    "age": {"range_min": 0, "range_max": 110, "range_is_nullable": True},
    "share": {"range_min": 0.0, "range_max": 1.0, "decimal_places": 3, "range_is_nullable": True},
    "start": {"range_min": "2000-01-01", "range_max": "2030-12-31", "range_is_nullable": True},
    "zoned": {"range_min": "2000-01-01", "range_max": "2030-12-31", "range_is_nullable": True},
    "day": {"range_min": "01.01.2000", "range_max": "31.12.2030", "range_is_nullable": True},
}
CASES: dict[str, dict[str, Any]] = {
    "declared": {"domain": DECLARED},
    "mixed": {"domain": {**DECLARED, "age": {"range_min": 0, "range_max": 300, "special_values": ["?", "n/a"]}}},
    "private": {"undeclared": "private", "epsilon": 4.0},
    "partly private": {"domain": {"city": DECLARED["city"], "age": DECLARED["age"]}, "undeclared": "private"},
    "paper's learner": {"domain": DECLARED, "structure": "cfs", "epsilon": 4.0},
    "paper": {"domain": DECLARED, "model": "paper"},
    "independent, split": {"domain": DECLARED, "model": "independent", "split": (0.3, 0.3, 0.4)},
    "uniform": {"domain": DECLARED, "model": "uniform"},
    "seeds": {"domain": DECLARED, "omega": 7, "k": 3, "epsilon0": 2.0, "delta": 1e-4, "structure": {"age": ["city"]}},
    "seeds, range": {"domain": DECLARED, "omega": (6, 8), "k": 2, "epsilon0": 2.0, "delta": 1e-4, "structure": {}},
}  # fmt: skip


def table(n: int = 800, seed: int = 3) -> pd.DataFrame:
    """Rows of every kind of column and storage."""
    rng = np.random.default_rng(seed)
    start = pd.Series(pd.Timestamp("2019-03-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"))
    city = rng.choice(["Bern", "Zürich", "Chur"], n, p=[0.6, 0.3, 0.1])
    frame = pd.DataFrame(
        {
            "key": [f"P{i:05d}" for i in range(n)],
            "ticket": rng.integers(0, 9, n),
            "email": [f"u{i}@example.org" for i in range(n)],
            "phone": [f"079 {i:07d}" for i in range(n)],
            "city": pd.array(city, dtype="string[pyarrow]"),
            "grade": rng.choice([1.0, 2.0, 3.5], n),
            "band": pd.Categorical(rng.choice(["a", "b"], n), categories=["a", "b", "c"], ordered=True),
            "member": pd.array(rng.random(n) < 0.3, dtype="boolean"),
            "age": pd.array(20 + 30 * (city == "Bern") + rng.integers(0, 30, n), dtype="Int64"),
            "share": pd.Series(rng.random(n).round(3), dtype="double[pyarrow]"),
            "start": start,
            "zoned": start.dt.tz_localize("Europe/Zurich"),
            "day": start.dt.strftime("%d.%m.%Y"),
        }
    )
    frame.loc[::9, ["age", "member", "start", "day"]] = None
    return frame


def fitted(
    case: str = "declared", primary_key: str | None = "key", **more: Any
) -> PlausibleDeniabilitySynthesizer:
    """Fit the table in one of the ways."""
    metadata = metadata_from_columns(COLUMNS)
    if primary_key:
        metadata.set_primary_key(primary_key)
    synth = PlausibleDeniabilitySynthesizer(metadata, **values(**{**CASES[case], **more}))
    synth.fit(table())
    return synth


@cache
def shared(case: str = "declared") -> PlausibleDeniabilitySynthesizer:
    """The same fit for all tests that do not change it."""
    return fitted(case)
