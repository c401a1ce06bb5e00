"""Order and spacing: a column not below another one, and a column of multiples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from sdv_plausible.privacy import checks as check
from sdv_plausible.rules import cells
from sdv_plausible.rules.rule import Formats, MakingRule, Words, check_columns
from sdv_plausible.table.dates import NANOSECONDS, format_unit
from sdv_plausible.table.domain import Attribute
from sdv_plausible.table.specifications import date_ends

UNITS = {"D": "days", "h": "hours", "min": "minutes", "s": "seconds"}
LAST = pd.Timestamp.max.value


@dataclass(frozen=True)
class Inequality(MakingRule):
    """A number or date that is never below another one, such as an end after its start.

    The model sees how far apart they are in the place of ``high``; so durations come out as they are, and
    the order holds exactly. A row that breaks the rule counts as having the least distance.

    Parameters
    ----------
    low, high : str
        Names of the columns; ``high`` is made.
    strict : bool
        Whether they may not be equal.
    most : float, optional
        Largest distance, of dates in ``unit``. None: as far as both declared ranges let; where they are not
        declared, learned like any column without a declaration.
    unit : {"D", "h", "min", "s"}, optional
        Dates: what distances are counted in. None: days if neither format shows a time of day, else the
        finer of both.

    Raises
    ------
    ValueError
        If the names are the same, or most or unit is out of range.

    Examples
    --------
    >>> print(Inequality("check_in", "check_out", unit="D", most=30))
    check_in <= check_out
    """

    low: str
    high: str
    strict: bool = False
    most: float | None = None
    unit: str | None = None
    kind: ClassVar[str] = "inequality"

    def __post_init__(self) -> None:
        check_columns("Inequality", [self.low, self.high])
        if not isinstance(self.strict, (bool, np.bool_)):
            raise ValueError(f"Inequality: strict ({self.strict!r}) must be true or false")
        if self.most is not None:
            check.non_negative("most", self.most, "give the largest distance, such as 30, or None")
        if self.unit is not None and self.unit not in UNITS:
            raise ValueError(f"Inequality: unit ({self.unit!r}) must be one of {list(UNITS)}, or None")

    @property
    def columns(self) -> tuple[str, ...]:
        """The lower one first."""
        return (self.low, self.high)

    @property
    def made(self) -> tuple[str, ...]:
        """The higher one."""
        return (self.high,)

    @property
    def sources(self) -> tuple[str, ...]:
        """The lower one."""
        return (self.low,)

    @property
    def distance(self) -> str:
        """Name of the stand-in."""
        return f"{self.high} - {self.low}"

    @property
    def added(self) -> tuple[str, ...]:
        """The distance."""
        return (self.distance,)

    def resolved(self, words: Mapping[str, Words]) -> Inequality:
        """Return the rule with its unit, where the columns hold dates."""
        specs = [words.get(name, {}) for name in self.columns]
        if self.unit is not None or any(spec.get("sdtype") != "datetime" for spec in specs):
            return self
        finest = min(format_unit(spec.get("datetime_format")) for spec in specs)
        return replace(self, unit=next(unit for unit in UNITS if NANOSECONDS[unit] <= max(finest, 10**9)))

    def stand_ins(self, words: Mapping[str, Words]) -> dict[str, Words]:
        """The distance: whole units of time, or a number."""
        low, high = words.get(self.low, {}), words.get(self.high, {})
        if (low.get("sdtype") == "datetime") != (high.get("sdtype") == "datetime"):
            raise ValueError(f"rule '{self}': both columns must be numbers, or both dates")
        least, most = self._least(low, high), self._most(low, high)
        if most is None and self.strict and low.get("sdtype") != "datetime":
            raise ValueError(f"rule '{self}': a strict order of numbers needs their ranges, or most=")
        if most is not None and most < least:
            raise ValueError(
                f"rule '{self}' contradicts the declared ranges: the largest distance ({most:g}) is below "
                f"the least ({least:g})"
            )
        ends = {} if most is None else {"range_min": least, "range_max": most}
        whole = low.get("sdtype") == "datetime" or self._places(low, high) == 0
        places = 0 if whole else self._places(low, high)
        if whole:
            ends = {word: int(end) for word, end in ends.items()}
        digits = {} if places is None else {"decimal_places": places}
        missing = [spec.get("range_is_nullable") for spec in (low, high)]
        if ends and all(flag is not None for flag in missing):
            ends["range_is_nullable"] = any(missing)
        return {self.distance: {"sdtype": "numerical", **ends, **(digits if ends else {})}}

    def _places(self, low: Words, high: Words) -> int | None:
        """Digits after the point of the distance, if both columns' are known."""
        found = []
        for spec in (low, high):
            ends = [spec.get("range_min"), spec.get("range_max")]
            whole = all(isinstance(end, (int, np.integer)) for end in ends)
            found.append(spec.get("decimal_places", 0 if whole else None))
        known = [int(places) for places in found if places is not None]
        return max(known) if len(known) == len(found) else None

    def _least(self, low: Words, high: Words) -> float:
        if not self.strict:
            return 0
        if low.get("sdtype") == "datetime":
            return 1
        places = self._places(low, high)
        if places is None:
            raise ValueError(
                f"rule '{self}': what is strictly above a number is known for fixed digits alone: give both "
                "columns decimal_places, or strict=False"
            )
        return float(10**-places) if places else 1

    def _most(self, low: Words, high: Words) -> float | None:
        """Largest distance that is declared, or follows from the declared ranges."""
        if self.most is not None:
            return self.most
        if low.get("range_min") is None or high.get("range_max") is None:
            return None
        if low.get("sdtype") != "datetime":
            return float(high["range_max"] - low["range_min"])
        first = date_ends(self.low, low["range_min"], low["range_min"], low.get("datetime_format"))[0]
        last = date_ends(self.high, high["range_max"], high["range_max"], high.get("datetime_format"))[0]
        return (last - first) // NANOSECONDS[self.unit or "s"]

    def _scale(self, formats: Formats) -> int:
        """Nanoseconds of one unit of distance; 1 for numbers."""
        return NANOSECONDS[self.unit or "s"] if self.low in formats else 1

    def fold(self, table: pd.DataFrame, formats: Formats) -> dict[str, pd.Series[Any]]:
        """Distances; at least 0, and missing where an end is."""
        low, first = cells.numbers(table, self.low, formats)
        high, last = cells.numbers(table, self.high, formats)
        there, scale = first & last, self._scale(formats)
        apart = np.where(there, high, 0) - np.where(there, low, 0)
        apart = np.maximum(apart // scale if scale > 1 else _rounded(apart), int(self.strict and scale > 1))
        return {self.distance: pd.Series(np.where(there, apart.astype(float), np.nan), index=table.index)}

    def unfold(
        self, table: pd.DataFrame, formats: Formats, made: Mapping[str, Attribute]
    ) -> dict[str, pd.Series[Any]]:
        """The lower one plus the distance; missing where one of the two is."""
        low, first = cells.numbers(table, self.low, formats)
        apart, known = cells.numbers(table, self.distance, {})
        there, attribute, scale = first & known, made[self.high], self._scale(formats)
        apart = np.where(there, apart, 0)
        if scale > 1:
            room = (LAST - np.where(there, low, 0)) // scale
            high = np.where(there, low, 0) + np.minimum(apart.astype(np.int64), room) * scale
        else:
            high = _rounded(np.where(there, low, 0.0) + apart)
        return {self.high: cells.written(np.minimum(high, attribute.upper[-1]), there, attribute)}

    def attributes(
        self, known: Mapping[str, Attribute], words: Mapping[str, Words], styles: Mapping[str, Words]
    ) -> tuple[Attribute, ...]:
        """One bin, from the lowest value of the lower column to what it can become, or what was declared."""
        low, apart, spec = known[self.low], known[self.distance], words.get(self.high, {})
        dates = low.kind == "datetime"
        scale = NANOSECONDS[self.unit or "s"] if dates else 1
        empty = not low.lower or not apart.lower  # nothing is known but that they are missing
        first = 0 if empty else low.lower[0]
        last = 0 if empty else low.upper[-1] + apart.upper[-1] * scale
        declared = spec.get("range_max")
        if declared is not None and not empty:
            if dates:
                declared = date_ends(self.high, declared, declared, spec.get("datetime_format"))[1]
            last = min(last, max(declared, low.upper[-1] + apart.lower[0] * scale))
        common: Words = {"name": self.high, "nullable": low.nullable or apart.nullable or empty}
        if dates:
            style = {"datetime_format": spec.get("datetime_format"), **styles.get(self.high, {})}
            ends: Words = {"lower": (int(first),), "upper": (min(int(last), LAST),)}
            return (Attribute(kind="datetime", unit=math.gcd(low.unit, scale), **ends, **style, **common),)
        if low.kind == apart.kind == "integer":
            return (Attribute(kind="integer", lower=(int(first),), upper=(int(last),), **common),)
        places = [0 if a.kind == "integer" else a.decimals for a in (low, apart)]
        decimals = None if None in places else max(p for p in places if p is not None)
        ends = {"lower": (float(first),), "upper": (float(last),)}
        return (Attribute(kind="float", decimals=decimals, **ends, **common),)

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Whether they are in order, or one is missing."""
        low, first = cells.numbers(table, self.low, formats)
        high, last = cells.numbers(table, self.high, formats)
        ordered = low < high if self.strict else low <= high
        return np.asarray(ordered | ~first | ~last)

    def to_dict(self) -> dict[str, Any]:
        """Plain form."""
        return {
            "rule": self.kind, "low": self.low, "high": self.high, "strict": bool(self.strict),
            "most": self.most, "unit": self.unit,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Inequality:
        """Read what :meth:`to_dict` wrote."""
        return cls(**{key: value for key, value in entry.items() if key != "rule"})

    def __str__(self) -> str:
        return f"{self.low} {'<' if self.strict else '<='} {self.high}"


def _rounded(values: np.ndarray) -> np.ndarray:
    """Sums and differences of decimals without the doubles' last digits."""
    return values if values.dtype.kind == "i" else np.round(values, 12)


@dataclass(frozen=True)
class Multiple(MakingRule):
    """A number that is always a multiple of a step, such as prices in quarters: ``Multiple("price", 0.25)``.

    Parameters
    ----------
    column : str
        The column.
    step : float
        Above 0. A real row between two multiples counts as the nearest.
    """

    column: str
    step: float
    kind: ClassVar[str] = "multiple"
    reversible: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_columns("Multiple", [self.column])
        check.positive("step", self.step, "give the distance of two values, such as 0.25")

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column,)

    @property
    def made(self) -> tuple[str, ...]:
        """The column itself, from whole steps."""
        return (self.column,)

    @property
    def sources(self) -> tuple[str, ...]:
        """None."""
        return ()

    @property
    def steps(self) -> str:
        """Name of the stand-in."""
        return f"{self.column} / {self.step:g}"

    @property
    def added(self) -> tuple[str, ...]:
        """Whole steps."""
        return (self.steps,)

    def stand_ins(self, words: Mapping[str, Words]) -> dict[str, Words]:
        """Whole steps, in the declared range if there is one."""
        spec = words.get(self.column, {})
        if spec.get("sdtype") not in ("numerical", None):
            raise ValueError(f"rule '{self}': the column must be a number; its sdtype is {spec['sdtype']!r}")
        found: Words = {"sdtype": "numerical"}
        if spec.get("range_min") is None or spec.get("range_max") is None:
            return {self.steps: found}
        first = math.ceil(spec["range_min"] / self.step - 1e-9)
        last = math.floor(spec["range_max"] / self.step + 1e-9)
        if first > last:
            raise ValueError(f"rule '{self}' contradicts the declared range: it holds no such multiple")
        found |= {"range_min": first, "range_max": last, "decimal_places": 0}
        if spec.get("range_is_nullable") is not None:
            found["range_is_nullable"] = spec["range_is_nullable"]
        if spec.get("special_values"):
            found["special_values"] = [round(v / self.step) for v in spec["special_values"]]
        return {self.steps: found}

    def fold(self, table: pd.DataFrame, formats: Formats) -> dict[str, pd.Series[Any]]:
        """Nearest whole number of steps."""
        values, there = cells.numbers(table, self.column, formats)
        steps = np.round(np.where(there, values, 0) / self.step)
        return {self.steps: pd.Series(np.where(there, steps, np.nan), index=table.index)}

    def unfold(
        self, table: pd.DataFrame, formats: Formats, made: Mapping[str, Attribute]
    ) -> dict[str, pd.Series[Any]]:
        """Steps times their size."""
        steps, there = cells.numbers(table, self.steps, {})
        return {self.column: cells.written(_rounded(steps * self.step), there, made[self.column])}

    def attributes(
        self, known: Mapping[str, Attribute], words: Mapping[str, Words], styles: Mapping[str, Words]
    ) -> tuple[Attribute, ...]:
        """One bin over all steps."""
        steps = known[self.steps]
        whole, places = float(self.step).is_integer(), 0
        while places < 12 and not math.isclose(round(self.step, places), self.step, rel_tol=1e-12):
            places += 1
        ends = (steps.lower[0] * self.step, steps.upper[-1] * self.step) if steps.lower else (0, 0)
        number = int if whole else float
        attribute = Attribute(
            name=self.column, kind="integer" if whole else "float", lower=(number(ends[0]),),
            upper=(number(ends[1]),), decimals=None if whole else places,
            nullable=steps.nullable or not steps.lower,
        )  # fmt: skip
        return (attribute,)

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Whether the value is a multiple, or missing."""
        values, there = cells.numbers(table, self.column, formats)
        steps = np.where(there, values, 0) / self.step
        return np.asarray(np.abs(steps - np.round(steps)) <= 1e-6)

    def to_dict(self) -> dict[str, Any]:
        """Plain form."""
        return {"rule": self.kind, "column": self.column, "step": self.step}

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Multiple:
        """Read what :meth:`to_dict` wrote."""
        return cls(entry["column"], entry["step"])

    def __str__(self) -> str:
        return f"{self.column} is a multiple of {self.step:g}"
