"""Ordinary columns of numbers and dates: which survive a fit, which are lost, and which are lost in silence.

Each kind of column is generated, so that its true values are known. Columns are fitted in tables of 8 or 30,
with their range declared, with their type declared alone, with a range 1,000 times too wide, or with nothing
declared, from a CSV file (then columns of text are among them). Run ``python -m benchmarks.ordinary_columns``;
``--quick`` takes one seed and no table of 20,000 rows.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible import PlausibleDeniabilitySynthesizer, fit_source, metadata_of

BINS = 14
RIGHT = 0.12  # distance up to which a column is right
LOST = 0.10  # share of a column's mass, moved or impossible, from which a loss must be named
DAY = "%Y-%m-%d"
SECOND = "%Y-%m-%d %H:%M:%S"
MODES = ("range", "type", "wide", "none")
_LOSS = (  # in warnings that name a column for what it lost
    "lost|too rare|digits|random values|close to noise|noise may move|another kind|cannot be read|could not be read|hid|no value"
    "|identifiers"
)


@dataclass(frozen=True)
class Kind:
    """A kind of column: how it is drawn, how it is declared, and which values are possible."""

    draw: Callable[[np.random.Generator, int], Any]
    low: Any  # declared range
    high: Any
    form: str | None = None  # of dates
    decimals: int | None = None
    possible: Callable[[np.ndarray], np.ndarray] | None = None


def _days(first: str, days: int) -> Callable[[np.random.Generator, int], np.ndarray]:
    return lambda rng, n: np.datetime64(first, "D") + rng.integers(0, days, n)


def _seconds(first: str, seconds: int) -> Callable[[np.random.Generator, int], np.ndarray]:
    return lambda rng, n: np.datetime64(first, "s") + rng.integers(0, seconds, n)


def _mostly(share: float, value: Any, other: Callable[[np.random.Generator, int], np.ndarray]) -> Any:
    return lambda rng, n: np.where(rng.random(n) < share, value, other(rng, n))


def _money(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.where(rng.random(n) < 0.6, 0, rng.lognormal(6, 2, n).round(2))


def _first_of_month(values: np.ndarray) -> np.ndarray:
    return values.astype("M8[D]") == values.astype("M8[M]").astype("M8[D]")


def _clock(values: np.ndarray) -> np.ndarray:
    return (values % 100 < 60) & (values >= 0) & (values < 2400)


def _whole(values: np.ndarray) -> np.ndarray:
    return values == np.round(values)


def _growing(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.datetime64("2012-01-01", "D") + (4000 * np.sqrt(rng.random(n))).astype(int)


@dataclass(frozen=True)
class TextKind:
    """A kind of column of text: how its cells are drawn, and which texts are possible."""

    draw: Callable[[np.random.Generator, int], Any]
    pattern: str


def _written(write: Callable[[Any], str], draw: Callable[[np.random.Generator, int], Any]) -> Any:
    return lambda rng, n: np.array([write(value) for value in draw(rng, n)], dtype=object)


def _dates_as(form: str, first: str, seconds: int) -> Any:
    return lambda rng, n: (
        pd.to_datetime(_seconds(first, seconds)(rng, n)).strftime(form).to_numpy(dtype=object)
    )


def _money_text(value: float) -> str:
    return f"(${-value:,.2f})" if value < 0 else f"${value:,.2f}"


_CITIES = [
    "Bern",
    "Chur",
    "Thun",
    "Basel",
    "Zug",
    "Luzern",
    "Genf",
    "Lugano",
    "Sion",
    "Aarau",
    "Olten",
    "Wil",
]
_YEARS = 5 * 365 * 86_400
TEXT_KINDS: dict[str, TextKind] = {
    "yes_no": TextKind(lambda r, n: r.choice(["yes", "no"], n, p=[0.2, 0.8]), "yes|no"),
    "truth_upper": TextKind(lambda r, n: r.choice(["TRUE", "FALSE"], n), "TRUE|FALSE"),
    "city": TextKind(lambda r, n: r.choice(_CITIES, n), "|".join(_CITIES)),
    "diagnosis": TextKind(
        _written(lambda v: f"{'ABCDEFGH'[v % 8]}{v % 90 + 10}.{v % 7}", lambda r, n: r.geometric(0.02, n)),
        "[A-H][0-9]{2}\\.[0-9]",
    ),
    "postcode": TextKind(_written(lambda v: f"{v:05}", lambda r, n: r.integers(501, 99_999, n)), "[0-9]{5}"),
    "phone": TextKind(_written(lambda v: f"+4144{v}", lambda r, n: r.integers(10**6, 10**7, n)), "\\+?[0-9]{9,13}"),
    "note": TextKind(_written(lambda v: f"note {v:x}", lambda r, n: r.integers(10**9, 10**12, n)), ".{1,30}"),
    "version": TextKind(_written(lambda v: f"1.{v}", lambda r, n: r.choice([2, 9, 10, 11, 20], n)), "1\\.[0-9]{1,2}"),
    "money": TextKind(
        _written(_money_text, lambda r, n: r.lognormal(6, 1.2, n) * r.choice([1, 1, 1, -1], n)),
        "\\$[0-9,]+\\.[0-9]{2}|\\(\\$[0-9,]+\\.[0-9]{2}\\)|-\\$[0-9,]+\\.[0-9]{2}",
    ),
    "percent_text": TextKind(_written(lambda v: f"{v:.1f}%", lambda r, n: 100 * r.beta(2, 4, n)), "[0-9.]{3,5}%"),
    "time_12": TextKind(_dates_as("%I:%M %p", "2024-01-01", 86_400), "[01][0-9]:[0-5][0-9] [AP]M"),
    "date_dots": TextKind(_dates_as("%d.%m.%Y", "2018-01-01", _YEARS), "[0-3][0-9]\\.[01][0-9]\\.20[12][0-9]"),
    "stamp_us": TextKind(
        _dates_as("%m/%d/%Y %I:%M %p", "2018-01-01", _YEARS),
        "[01][0-9]/[0-3][0-9]/20[12][0-9] [01][0-9]:[0-5][0-9] [AP]M",
    ),
    "year_month": TextKind(_dates_as("%Y%m", "2018-01-01", _YEARS), "20[12][0-9](0[1-9]|1[0-2])"),
}  # fmt: skip
"""Kinds of which nothing is declared: a table of them is a CSV file."""

NEVER = np.datetime64("9999-12-31", "D")
KINDS: dict[str, Kind] = {
    "age": Kind(lambda r, n: r.integers(18, 90, n), 18, 89, possible=_whole),
    "age_young": Kind(lambda r, n: r.gamma(4, 8, n).astype(int), 0, 110, possible=_whole),
    "year": Kind(lambda r, n: 2024 - r.geometric(0.08, n).clip(1, 70), 1954, 2023, possible=_whole),
    "hours": Kind(_mostly(0.45, 40, lambda r, n: r.integers(1, 80, n)), 0, 99, possible=_whole),
    "count": Kind(lambda r, n: r.poisson(2.5, n), 0, 30, possible=_whole),
    "rare_count": Kind(lambda r, n: r.poisson(0.2, n), 0, 20, possible=_whole),
    "visits": Kind(lambda r, n: r.geometric(0.04, n), 1, 365, possible=_whole),
    "income": Kind(lambda r, n: r.lognormal(10.5, 0.7, n).round(-2), 0, 2e6, decimals=0),
    "salary": Kind(lambda r, n: r.lognormal(10.8, 0.3, n).round(2), 0, 5e5, decimals=2),
    "amount": Kind(lambda r, n: r.lognormal(4, 1, n).round(2), 0, 1e4, decimals=2),
    "zero_amount": Kind(_money, 0, 1e6, decimals=2),
    "gain": Kind(_mostly(0.92, 0, lambda r, n: r.integers(100, 15_000, n)), 0, 99_999),
    "balance": Kind(lambda r, n: r.normal(500, 900, n).round(2), -1e4, 1e4, decimals=2),
    "price": Kind(lambda r, n: r.integers(1, 200, n) - 0.01, 0, 200, decimals=2),
    "temperature": Kind(lambda r, n: r.normal(37, 0.7, n).round(1), 30, 45, decimals=1),
    "lab": Kind(lambda r, n: r.gamma(6, 0.2, n).round(2), 0, 20, decimals=2),
    "pressure": Kind(lambda r, n: r.normal(130, 18, n).round(), 40, 260, possible=_whole),
    "height": Kind(lambda r, n: r.normal(170, 9, n).round(1), 100, 220, decimals=1),
    "percent": Kind(
        _mostly(0.566, 100.0, lambda r, n: (100 - r.exponential(8, n)).clip(10, 99.9).round(1)), 0, 100,
        decimals=1,
    ),
    "ratio": Kind(lambda r, n: r.beta(2, 5, n), 0, 1),
    "rate": Kind(lambda r, n: r.choice([5.32, 7.97, 14.07, 12.61, 17.09], n), 0, 35),
    "fine": Kind(lambda r, n: r.normal(0, 1e-3, n), -0.01, 0.01),
    "spike_45": Kind(
        _mostly(0.056, 45, lambda r, n: r.lognormal(4.5, 1, n).round()), 0, 20_000, possible=_whole
    ),
    "missing_code": Kind(_mostly(0.1, 999, lambda r, n: r.integers(0, 60, n)), 0, 999),
    "minus_one": Kind(_mostly(0.3, -1, lambda r, n: r.integers(0, 900, n)), -1, 1000),
    "clock": Kind(
        lambda r, n: (m := r.normal(840, 240, n).astype(int) % 1440) // 60 * 100 + m % 60, 0, 2359,
        possible=_clock,
    ),
    "zip_like": Kind(lambda r, n: r.integers(10_000, 99_999, n), 0, 99_999, possible=_whole),
    "micro_stamp": Kind(
        lambda r, n: r.integers(6 * 10**18, 7 * 10**18, n), 6 * 10**18, 7 * 10**18, possible=_whole
    ),
    "id_like": Kind(lambda r, n: r.integers(10**9, 10**10, n), 10**9, 10**10, possible=_whole),
    "two_groups": Kind(
        lambda r, n: np.where(r.random(n) < 0.5, r.normal(20, 3, n), r.normal(80, 6, n)).round(1), 0, 150,
        decimals=1,
    ),
    "latitude": Kind(lambda r, n: r.normal(40.73, 0.05, n).round(6), 40, 42, decimals=6),
    "longitude": Kind(lambda r, n: r.normal(-73.95, 0.05, n).round(5), -75, -73, decimals=5),
    "constant": Kind(lambda r, n: np.full(n, 12.0), 0, 100),
    "delay": Kind(lambda r, n: (r.exponential(40, n) - 20).round(), -100, 2000, possible=_whole),
    "duration": Kind(lambda r, n: r.gamma(2, 600, n).astype(int), 0, 86_400),
    "score": Kind(lambda r, n: r.integers(1, 11, n), 1, 10),
    "thousands": Kind(lambda r, n: r.integers(1, 300, n) * 1000, 0, 1_000_000),
    "birth": Kind(_days("1930-01-01", 25_000), "1900-01-01", "2010-12-31", DAY),
    "birth_young": Kind(_days("1990-01-01", 5_000), "1980-01-01", "2010-12-31", DAY),
    "admitted": Kind(_days("2022-03-01", 700), "2020-01-01", "2025-12-31", DAY),
    "one_month": Kind(_days("2024-02-01", 29), "2024-01-01", "2024-12-31", DAY),
    "growing": Kind(_growing, "2010-01-01", "2023-12-31", DAY),
    "stamp": Kind(
        _seconds("2023-01-01", 86_400 * 300), "2023-01-01 00:00:00", "2023-12-31 23:59:59", SECOND
    ),
    "stamp_one_day": Kind(
        _seconds("2023-05-05", 86_400), "2023-01-01 00:00:00", "2023-12-31 23:59:59", SECOND
    ),
    "month_start": Kind(
        lambda r, n: (np.datetime64("2018-01", "M") + r.integers(0, 60, n)).astype("M8[D]"),
        "2015-01-01", "2025-12-31", DAY, possible=_first_of_month,
    ),
    "quarter_end": Kind(
        lambda r, n: (np.datetime64("2015-04", "M") + 3 * r.integers(0, 32, n)).astype("M8[D]") - 1,
        "2010-01-01", "2025-12-31", DAY, possible=lambda v: _first_of_month(v + np.timedelta64(1, "D")),
    ),
    "constant_date": Kind(
        lambda r, n: np.full(n, np.datetime64("2024-06-30")), "2020-01-01", "2025-12-31", DAY,
        possible=lambda v: v == np.datetime64("2024-06-30"),
    ),
    "old_sentinel": Kind(
        lambda r, n: np.where(
            r.random(n) < 0.25, np.datetime64("1900-01-01"), _days("2019-01-01", 1500)(r, n)
        ),
        "1900-01-01", "2025-12-31", DAY,
    ),
    "still_open": Kind(
        lambda r, n: np.where(r.random(n) < 0.3, NEVER, _days("2015-01-01", 3500)(r, n)),
        "2010-01-01", "2025-12-31", DAY,
    ),
}  # fmt: skip
GAPS = frozenset(("birth", "amount", "lab", "age", "stamp", "score"))  # with 30 % of missing cells


def column(name: str, rng: np.random.Generator, n: int) -> pd.Series[Any]:
    """Cells of one column, as a file would hold them."""
    if name in TEXT_KINDS:
        return pd.Series(TEXT_KINDS[name].draw(rng, n), dtype=object)
    kind = KINDS[name]
    values = kind.draw(rng, n)
    cells = pd.Series(values)
    if kind.form is not None:
        unit = "D" if kind.form == DAY else "s"
        texts = np.datetime_as_string(np.asarray(values, dtype=f"M8[{unit}]"))
        cells = pd.Series([text.replace("T", " ") for text in texts.tolist()], dtype=object)
    return cells.mask(rng.random(n) < 0.3) if name in GAPS else cells


def declaration(name: str, mode: str) -> dict[str, Any]:
    """What is declared of a column."""
    kind = KINDS[name]
    words: dict[str, Any] = {"sdtype": "numerical" if kind.form is None else "datetime"}
    if kind.form is not None:
        words["datetime_format"] = kind.form
    low, high = kind.low, kind.high
    if mode == "wide":
        if kind.form is not None:
            low, high = (pd.Timestamp(end).strftime(kind.form) for end in ("1700-01-01", "2250-12-31"))
        else:
            wide = 1000 * (high - low)
            low, high = (low if low >= 0 else low - wide), min(high + wide, 9 * 10**18)
    if mode != "type":
        words |= {"range_min": low, "range_max": high}
        if name in GAPS:
            words["range_is_nullable"] = True
        if name == "still_open":
            words["special_values"] = [str(NEVER)]
        if kind.decimals is not None:
            words["decimal_places"] = kind.decimals
    return words


def _numbers(name: str, cells: pd.Series[Any]) -> np.ndarray:
    form = KINDS[name].form
    if form is None:
        return pd.to_numeric(cells, errors="coerce").to_numpy(dtype=float)
    cells = cells.where(cells.astype(str).str.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9:]{8})?"), None)
    read = np.array([None if pd.isna(cell) else cell for cell in cells], dtype="M8[s]")
    return np.where(np.isnat(read), np.nan, read.view(np.int64).astype(float))


def distance(name: str, real: pd.Series[Any], made: pd.Series[Any]) -> float:
    """Total variation over 14 bins of equal mass, frequent values apart, missing cells and what is beyond."""
    if name in TEXT_KINDS:
        known = real.value_counts(normalize=True)
        known = known[known > 1 / BINS]
        now = made.value_counts().reindex(known.index).fillna(0) / len(made)
        gone = made.isna().mean()
        rest = abs((1 - now.sum() - gone) - (1 - known.sum()))
        return float((known - now).abs().sum() + gone + rest) / 2
    a, b = _numbers(name, real), _numbers(name, made)
    present = a[~np.isnan(a)]
    values, counts = np.unique(present, return_counts=True)
    heavy = values[counts > len(present) / BINS]
    rest = np.sort(present[~np.isin(present, heavy)])
    edges = np.unique(rest[np.linspace(0, len(rest) - 1, BINS + 1).astype(int)]) if len(rest) else rest
    span = 0.02 * (present.max() - present.min())

    def shares(x: np.ndarray) -> np.ndarray:
        where = np.searchsorted(edges, x, side="right").clip(1, max(len(edges) - 1, 1))
        for i, value in enumerate(heavy):
            where[x == value] = 100 + i
        where[x < present.min() - span], where[x > present.max() + span] = 90, 91
        where[np.isnan(x)] = 92
        return np.bincount(where, minlength=150) / len(x)

    return float(np.abs(shares(a) - shares(b)).sum() / 2)


def impossible(name: str, real: pd.Series[Any], made: pd.Series[Any]) -> float:
    """Share of the present cells that the column cannot hold."""
    x = made.dropna()
    if not len(x):
        return 0.0
    if name in TEXT_KINDS:
        return float((~x.astype(str).str.fullmatch(TEXT_KINDS[name].pattern)).mean())
    kind = KINDS[name]
    a, b = _numbers(name, real), _numbers(name, x)
    span = np.nanmax(a) - np.nanmin(a)
    bad = (b < np.nanmin(a) - 0.1 * span) | (b > np.nanmax(a) + 0.1 * span)
    if kind.possible is not None:
        values = x.to_numpy(dtype=float) if kind.form is None else b.astype("M8[s]").astype("M8[D]")
        bad |= ~kind.possible(values)
    return float(bad.mean())


def one(
    names: list[str], n: int, mode: str, seed: int, epsilon: float = 1.0, others: int = 0
) -> Iterator[dict[str, Any]]:
    """Fit one table, and judge each of its columns."""
    rng = np.random.default_rng(1000 * seed + n)
    table = pd.DataFrame({name: column(name, rng, n) for name in names})
    words = {name: declaration(name, mode) for name in names if mode != "none"}
    for i in range(others):  # undeclared categories
        table[f"c{i}"] = rng.choice(list("abcdefg"), n)
        words |= {f"c{i}": {"sdtype": "categorical"}} if mode != "none" else {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if mode == "none":
            table, made = _from_a_file(table, n, epsilon)
        else:
            synth = PlausibleDeniabilitySynthesizer(
                metadata_of(words), domain=words, epsilon=epsilon, anyway=True
            )
            synth.fit(table)
            made = synth.sample(n)
    said = " ".join(str(w.message) for w in caught if re.search(_LOSS, str(w.message)))
    for name in names:
        far, bad = distance(name, table[name], made[name]), impossible(name, table[name], made[name])
        mean = np.nan
        with contextlib.suppress(Exception), np.errstate(all="ignore"):
            a, b = _numbers(name, table[name]), _numbers(name, made[name])
            mean = float(np.nanmean(b) / np.nanmean(a))
        yield {
            "kind": name, "rows": n, "mode": mode, "columns": len(names) + others, "seed": seed,
            "distance": round(far, 4), "impossible": round(bad, 4), "mean": mean,
            "named": bool(re.search(rf"\b{name}\b", said)),
        }  # fmt: skip


def _from_a_file(table: pd.DataFrame, n: int, epsilon: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table as a CSV file holds it, and rows of a fit of that file of which nothing is declared."""
    with tempfile.TemporaryDirectory() as folder:
        path, drawn = Path(folder) / "table.csv", Path(folder) / "rows.csv"
        table.to_csv(path, index=False)
        fit_source(path, epsilon=epsilon, types="voted", anyway=True).sample(n).to_csv(drawn, index=False)
        return tuple(pd.read_csv(p, dtype=str, keep_default_na=False, na_values=[""]) for p in (path, drawn))  # type: ignore[return-value]


def tables(width: int, seed: int, mode: str = "type") -> list[list[str]]:
    """All kinds, shuffled into tables of so many columns."""
    kinds = list(KINDS)
    if mode == "none":  # where whole numbers that no double holds are codes
        kinds = [name for name in kinds if name != "micro_stamp"] + list(TEXT_KINDS)
    names = np.random.default_rng(seed).permutation(kinds).tolist()
    tables = [names[i : i + width] for i in range(0, len(names), width)]
    last = tables[-1]
    last += [name for name in names if name not in last][: width - len(last)]
    return tables


def summary(found: pd.DataFrame) -> pd.DataFrame:
    """Share of columns that are right, lost and named, and lost in silence."""
    wrong = (found["distance"] > RIGHT) | (found["impossible"] > LOST)
    found = found.assign(right=~wrong, silent=wrong & ~found["named"], alarm=~wrong & found["named"])
    by = found.groupby(["columns", "rows", "mode"])[["right", "silent", "alarm", "distance", "impossible"]]
    return by.mean().round(3)


def main() -> None:
    """Run all, print the summary and what is lost in silence."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 4000, 20_000])
    parser.add_argument("--columns", type=int, nargs="+", default=[8, 30])
    parser.add_argument("--modes", nargs="+", default=list(MODES))
    parser.add_argument("--out")
    told = parser.parse_args()
    seeds, rows = (1, [1000, 4000]) if told.quick else (told.seeds, told.rows)
    found = pd.DataFrame(
        [
            line
            for width in told.columns
            for n in rows
            for mode in told.modes
            for seed in range(seeds)
            for names in tables(width, seed, mode)
            for line in one(names, n, mode, seed)
        ]
    )
    if told.out:
        found.to_json(told.out, orient="records", lines=True)
    print(summary(found).to_string())
    wrong = found[(found["distance"] > RIGHT) | (found["impossible"] > LOST)]
    by = wrong.groupby(["kind", "mode"]).agg(wrong=("kind", "size"), named=("named", "sum"))
    print(
        json.dumps(
            {f"{k} {m}": list(map(int, row)) for (k, m), row in zip(by.index, by.to_numpy(), strict=True)}
        )
    )


if __name__ == "__main__":
    main()
