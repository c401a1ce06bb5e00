"""One table with every kind of column, in the hands of every engine, and the fit of the same cells in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from engines import HELD, Streamed, held

from sdv_plausible import PlausibleDeniabilitySynthesizer, Release, read_parquet
from sdv_plausible.release.file.json_documents import write
from sdv_plausible.sdv.metadata import metadata_from_columns
from tests.flat import values

__all__ = ["COLUMNS", "DECLARED", "DOUBTFUL", "ENGINES", "SEED", "Streamed", "held", "in_memory", "table"]

ENGINES = tuple(HELD)
SAME = ("answers", "domain", "ledger", "model", "rules", "seeds")
COLUMNS: dict[str, dict[str, Any]] = {
    "age": {"sdtype": "numerical"}, "wage": {"sdtype": "numerical"}, "sex": {"sdtype": "categorical"},
    "city": {"sdtype": "categorical"}, "born": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
    "key": {"sdtype": "id"},
}  # fmt: skip
DECLARED: dict[str, dict[str, Any]] = {
    "age": {"range_min": 0, "range_max": 99, "decimal_places": 0},
    "wage": {"range_min": 0.0, "range_max": 1000.0, "decimal_places": 1, "bins": 20, "range_is_nullable": True},
    "sex": {"range_values": ["f", "m"]},
    "city": {"range_values": ["Bern", "Basel", "Genf"], "range_is_nullable": True},
    "born": {"range_min": "1950-01-01", "range_max": "2009-12-31", "bins": 20},
}  # fmt: skip
SEED = 5
DOUBTFUL = {
    "two separators as often": "town;age, in years",
    "names that hold the other one": "home town, at last;age, in years;sex",
    "neither by the rules of quotation": '"town";"age",sex', "whole lines in quotation marks": '"town;age"',
    "one name that holds a comma": '"town, age"', "a quotation mark that is left open": 'town;"age',
    "a name twice": "town;town", "a name that is empty": "town;", "a name of blanks": "town; ",
}  # fmt: skip
"""First lines of CSV files that do not tell surely what the columns are."""


def table(n: int = 3_000) -> pd.DataFrame:
    """Rows of which some cells are missing, and some outside what is declared."""
    rng = np.random.default_rng(0)
    city = rng.choice(np.array(["Bern", "Basel", "Genf", "Chur"], dtype=object), n)
    city[rng.random(n) < 0.1] = None
    wage = rng.normal(500, 300, n).round(1)
    wage[rng.random(n) < 0.1] = np.nan
    days = pd.to_datetime("1950-01-01") + pd.to_timedelta(rng.integers(0, 21_000, n), unit="D")
    return pd.DataFrame(
        {
            "age": np.clip(rng.normal(40, 30, n), -5, 120).astype(int),
            "wage": wage,
            "sex": rng.choice(np.array(["f", "m"], dtype=object), n),
            "city": city,
            "born": days.strftime("%Y-%m-%d").astype(object),
            "key": [f"k{i}" for i in range(n)],
        }
    )


def in_memory(frame: pd.DataFrame, folder: Path, **parameters: Any) -> Release:
    """The release of the same cells by the synthesizer."""
    frame.to_parquet(folder / "whole.parquet", index=False)
    read = read_parquet(folder / "whole.parquet", parameters.get("domain"), COLUMNS)
    (folder / "whole.parquet").unlink()
    synth = PlausibleDeniabilitySynthesizer(
        metadata_from_columns(COLUMNS), random_state=SEED, **values(**parameters)
    )
    synth.fit(read)
    return synth.release(allow_no_claim=True)


def document(release: Release) -> dict[str, bytes]:
    """Everything but what says which face made it."""
    sections = release._document()
    return {name: write({name: sections[name]}) for name in SAME}
