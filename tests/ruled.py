"""A small table of every kind of column, rules of all kinds that hold in it, and its storages."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible import PlausibleDeniabilitySynthesizer
from sdv_plausible import rules as r
from sdv_plausible.rules.rule import Formats
from sdv_plausible.sdv.metadata import metadata_from_columns
from tests.flat import values

DAY = "%d.%m.%Y"
MINUTE = "%d.%m.%Y %H:%M"
COLUMNS: dict[str, dict[str, Any]] = {
    "born": {"sdtype": "datetime", "datetime_format": DAY},
    **{name: {"sdtype": "datetime"} for name in ("start", "end", "paid", "zoned", "later")},
    "age": {"sdtype": "numerical"},
    **{name: {"sdtype": "categorical"} for name in ("marital", "sex", "title")},
    **{
        name: {"sdtype": "numerical"}
        for name in ["level", "rate", "fee", "extra", "total", "copy", "tax", "net", "red", "green", "blue"]
    },
    "member": {"sdtype": "boolean"},
    "seen": {"sdtype": "datetime", "datetime_format": MINUTE},
}
DOMAIN: dict[str, Any] = {
    "born": {"range_min": "01.01.1950", "range_max": "31.12.1999"},
    "start": {"range_min": "2000-01-01", "range_max": "2002-12-31"},
    "end": {"range_min": "2000-01-01", "range_max": "2003-12-31"},
    "paid": {"range_min": "2000-01-01", "range_max": "2004-12-31"},
    "zoned": {"range_min": "2000-01-01", "range_max": "2002-12-31", "range_is_nullable": False},
    "later": {"range_min": "2000-01-01", "range_max": "2002-12-31", "range_is_nullable": False},
    "age": {"range_min": 0, "range_max": 99},
    "marital": {"range_values": ["single", "married"], "range_is_nullable": False},
    "sex": {"range_values": ["f", "m"], "range_is_nullable": False},
    "title": {"range_values": ["Ms", "Mr"]},
    "level": {"range_min": 1, "range_max": 2},
    "fee": {"range_min": 0.0, "range_max": 50.0, "range_is_nullable": False},
    "extra": {"range_min": 0.0, "range_max": 9.9, "decimal_places": 1, "range_is_nullable": False},
    "member": {"range_is_nullable": False},
    "seen": {"range_min": "01.01.2000 00:00", "range_max": "31.12.2002 23:59", "range_is_nullable": True},
}  # fmt: skip
RULES = [
    r.Inequality("start", "end", strict=True, unit="D"), r.Inequality("end", "paid", unit="D", most=30),
    r.Inequality("zoned", "later", unit="D"), r.Determined("level", "marital", {"single": 1, "married": 2}),
    r.Determined("rate", "level", {1: 0.5, 2: 1.25}), r.Determined("title", ["sex"], {"f": "Ms", "m": "Mr"}),
    r.Multiple("fee", 0.25), r.DateAndTime("seen", "min"), r.Sum("total", ("fee", "extra")), r.Equal("copy", "total"),
    r.Product("tax", ["fee", "rate"], decimal_places=2), r.Formula("net", {"total": 1, ("fee", "rate"): 0.5, "level": -1}, 3, 1),
    r.OneHot(["red", "green", "blue"]), r.Implies({"age": {"max": 15}}, {"marital": "single"}),
    r.Forbidden({"born": {"max": "31.12.1959"}, "member": True}),
    r.Allowed(["sex", "marital"], [["f", "single"], ["f", "married"], ["m", "single"]]),
]  # fmt: skip


def table(n: int = 400, seed: int = 1) -> pd.DataFrame:
    """Rows that keep all rules, some cells missing."""
    rng = np.random.default_rng(seed)
    start = pd.Series(pd.Timestamp("2000-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"))
    end = start + pd.to_timedelta(rng.geometric(0.3, n), unit="D")
    zoned = start.dt.tz_localize("UTC").dt.tz_convert("Europe/Zurich")
    age, sex = rng.integers(0, 90, n), rng.choice(["f", "m"], n)
    marital = np.where((age < 16) | (sex == "m"), "single", rng.choice(["single", "married"], n))
    fee, extra = rng.integers(0, 200, n) * 0.25, rng.integers(0, 99, n) / 10
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 18_000, n), unit="D")
    colour = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "born": born.strftime(DAY), "start": start, "end": end,
            "paid": end + pd.to_timedelta(rng.integers(0, 9, n), unit="D"),
            "zoned": zoned, "later": zoned + pd.to_timedelta(rng.integers(0, 99, n), unit="D"),
            "age": age, "marital": marital, "sex": sex, "title": np.where(sex == "f", "Ms", "Mr"),
            "level": np.where(marital == "single", 1, 2), "rate": np.where(marital == "single", 0.5, 1.25),
            "fee": fee, "extra": extra, "total": (fee + extra).round(2), "copy": (fee + extra).round(2),
            "tax": 0.0, "net": 0.0,
            "red": (colour == 0).astype(int), "green": (colour == 1).astype(int),
            "blue": (colour == 2).astype(int), "member": (born.year > 1960) & (rng.random(n) < 0.5),
            "seen": (start + pd.to_timedelta(rng.integers(480, 1080, n), unit="min")).dt.strftime(MINUTE),
        }
    )  # fmt: skip
    frame["tax"] = (frame["fee"] * frame["rate"]).round(2)
    frame["net"] = (frame["total"] + 0.5 * frame["fee"] * frame["rate"] - frame["level"] + 3).round(1)
    frame.loc[::20, ["start", "end", "paid", "born", "seen"]] = None
    return frame


def categories(frame: pd.DataFrame) -> pd.DataFrame:
    """The same cells, texts as categories."""
    texts = [name for name in frame if COLUMNS[name]["sdtype"] == "categorical"]
    return frame.astype(dict.fromkeys(texts, "category"))


STORAGES: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "numpy": lambda frame: frame,
    "nullable": lambda frame: frame.convert_dtypes(),
    "arrow": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "categories": categories,
    # Python objects, but for dates, which would be taken for text
    "objects": lambda frame: frame.astype({name: object for name in frame if frame[name].dtype.kind != "M"}),
}


def formats() -> Formats:
    """Formats of the columns of dates."""
    return {n: s.get("datetime_format") for n, s in COLUMNS.items() if s["sdtype"] == "datetime"}


def synthesizer(**more: Any) -> PlausibleDeniabilitySynthesizer:
    """A synthesizer with all rules, not fitted."""
    given = {"domain": DOMAIN, "rules": RULES, "max_bins": 6, "epsilon": 4.0, **more}
    return PlausibleDeniabilitySynthesizer(metadata_from_columns(COLUMNS), **values(**given))


@cache
def fitted(storage: str = "numpy", **more: Any) -> PlausibleDeniabilitySynthesizer:
    """The same fit for all tests that do not change it."""
    synth = synthesizer(**more)
    synth.fit(STORAGES[storage](table()))
    return synth


def broken(rows: pd.DataFrame) -> dict[str, int]:
    """How many rows break each rule, of the rules that some do."""
    found = {str(rule): int((~rule.holds(rows, formats())).sum()) for rule in RULES}
    return {rule: number for rule, number in found.items() if number}
