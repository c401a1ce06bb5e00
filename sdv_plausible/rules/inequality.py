"""Inequalities between two columns, modelled by their distance."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.parameter_checks import shown
from sdv_plausible.rules import rule_cells
from sdv_plausible.rules.rule import (
    Attributes,
    Columns,
    ColumnSpec,
    DerivingRule,
    Formats,
    Specs,
    attribute_specs,
    check_columns,
    check_sdtypes,
    declared_places,
)
from sdv_plausible.table.cells.dates import NANOSECONDS, date_style, format_unit, utc_to_local
from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.table.declared.specifications import CATEGORIES, date_ends, sdtype_of

UNITS = {"D": "days", "h": "hours", "min": "minutes", "s": "seconds"}
DAY = NANOSECONDS["D"]
LAST = pd.Timestamp.max.value
LAST_SHORT = pd.Timestamp("2068-12-31T23:59:59").value  # for two-digit years


@dataclass(frozen=True)
class Inequality(DerivingRule):
    """A number or date that is never below another one, such as an end after its start.

    The model sees their distance instead of ``high``. The distribution of durations is thereby preserved, and
    the order holds exactly. A row that breaks the rule is encoded with the smallest distance. A date whose
    format shows no time of day stands for the whole day: a moment on that day is not after it.

    Parameters
    ----------
    low, high : str
        Names of the columns; ``high`` is derived.
    strict : bool
        Whether the values must differ.
    most : float, optional
        Largest distance, in ``unit`` for dates; at least 0. None: the largest that both declared ranges
        allow. Without declared ranges it is learned, like any undeclared column.
    unit : {"D", "h", "min", "s"}, optional
        Unit of distance for dates. None: days if the format of ``high`` shows no time of day, else the finer
        unit of both formats.

    Raises
    ------
    ValueError
        If the names are equal, or most or unit is out of range.

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
            raise ValueError(f"Inequality: strict ({shown(self.strict)}) must be true or false")
        object.__setattr__(self, "strict", bool(self.strict))
        if self.most is not None:
            check.non_negative("most", self.most, "give the largest distance, such as 30, or None")
        if self.unit is not None:
            check.one_of("Inequality: unit", self.unit, UNITS, ", or None")

    @property
    def columns(self) -> tuple[str, ...]:
        """The lower column, then the higher one."""
        return (self.low, self.high)

    @property
    def made(self) -> tuple[str, ...]:
        """The higher column."""
        return (self.high,)

    @property
    def sources(self) -> tuple[str, ...]:
        """The lower column."""
        return (self.low,)

    @property
    def distance(self) -> str:
        """Name of the surrogate column for the distance."""
        return f"{self.high} - {self.low}"

    @property
    def added(self) -> tuple[str, ...]:
        """The distance."""
        return (self.distance,)

    def resolve(self, specs: Specs) -> Inequality:
        """Return the rule with its unit set, if the columns hold dates."""
        pair = [specs.get(name, {}) for name in self.columns]
        if self.unit is not None or any(spec.get("sdtype") != "datetime" for spec in pair):
            return self
        units = [format_unit(spec.get("datetime_format")) for spec in pair]
        finest = max(units[1], DAY) if _is_day(pair[1].get("datetime_format")) else min(units)
        return replace(self, unit=next(unit for unit in UNITS if NANOSECONDS[unit] <= max(finest, 10**9)))

    def check(self, specs: Specs) -> None:
        """Raise an error if the columns' types differ, or the format of ``high`` does not show the day."""
        dates = specs[self.low].get("sdtype") == "datetime"
        check_sdtypes(self, specs, "datetime" if dates else "numerical")
        form = specs[self.high].get("datetime_format")
        if dates and form is not None:
            example = pd.Timestamp("2003-02-14T15:16:17.181920")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.13: day without year
                reread = rule_cells.to_nanoseconds(example.strftime(form), self.high, form)
            if reread != example.value // format_unit(form) * format_unit(form):
                raise self.refused(
                    f"the datetime_format of column {self.high!r} ({form!r}) must include the day"
                )

    def surrogate_specs(self, specs: Specs) -> dict[str, ColumnSpec]:
        """The distance: whole units of time, or a number."""
        low, high = specs.get(self.low, {}), specs.get(self.high, {})
        least, most = self._least(low, high), self._most(low, high)
        if most is None and self.strict and low.get("sdtype") != "datetime":
            raise self.refused("a strict order of numbers needs their ranges, or most=")
        if most is not None and most < least:
            raise check.Refused.saying(
                "rules",
                f"rule '{self}' contradicts the declared ranges: the largest distance ({most:g}) is below "
                f"the least ({least:g})",
            )
        whole = low.get("sdtype") == "datetime" or self._places(low, high) == 0
        places = 0 if whole else self._places(low, high)
        number = int if whole else float  # integer ends would declare integers
        ends = {} if most is None else {"range_min": number(least), "range_max": number(most)}
        digits = {} if places is None else {"decimal_places": places}
        missing = [spec.get("range_is_nullable") for spec in (low, high)]
        if ends and all(flag is not None for flag in missing):
            ends["range_is_nullable"] = any(missing)
        return {self.distance: {"sdtype": "numerical", **ends, **(digits if ends else {})}}

    def _places(self, low: ColumnSpec, high: ColumnSpec) -> int | None:
        """Digits after the point of the distance, if known for both columns."""
        first, second = declared_places(low), declared_places(high)
        return None if first is None or second is None else max(first, second)

    def _least(self, low: ColumnSpec, high: ColumnSpec) -> float:
        if not self.strict:
            return 0
        if low.get("sdtype") == "datetime":
            return 1
        places = self._places(low, high)
        if places is None:
            raise self.refused(
                "a strict order needs a fixed number of digits: give both columns decimal_places, or "
                "strict=False"
            )
        return float(10**-places) if places else 1

    def _most(self, low: ColumnSpec, high: ColumnSpec) -> float | None:
        """Largest distance, declared or implied by the declared ranges."""
        if self.most is not None:
            return self.most
        if low.get("range_min") is None or high.get("range_max") is None:
            return None
        if low.get("sdtype") != "datetime":
            return float(high["range_max"] - low["range_min"])
        first = date_ends(self.low, low["range_min"], low["range_min"], low.get("datetime_format"))[0]
        form = high.get("datetime_format")
        last = date_ends(self.high, high["range_max"], high["range_max"], form)[0]
        last += DAY - 1 if _is_day(form) else 0
        return (last - first) // NANOSECONDS[self.unit or "s"]

    def _scale(self, formats: Formats) -> int:
        """Nanoseconds of one unit of distance; 1 for numbers."""
        return NANOSECONDS[self.unit or "s"] if self.low in formats else 1

    def _floor(self, scale: int, made: Attribute | None = None) -> float:
        """Smallest distance in its units, which noise may undercut; for strict numbers, one last digit."""
        if not self.strict or scale > 1 or made is None:
            return int(self.strict and scale > 1)
        return 1 if made.kind == "integer" else 0 if made.decimals is None else 10.0**-made.decimals

    def _lower(self, table: pd.DataFrame, formats: Formats) -> tuple[np.ndarray, np.ndarray]:
        """The lower column; in local time if the higher column shows only days."""
        low, present = rule_cells.to_numbers(table, self.low, formats)
        if _is_day(formats.get(self.high)):
            zone = date_style(table[self.low], formats.get(self.low)).get("time_zone")
            low = np.where(present, utc_to_local(np.where(present, low, 0), zone), low)
        return low, present

    def fold(self, table: pd.DataFrame, formats: Formats) -> Columns:
        """Distances, at least 0; missing where either end is."""
        low, low_present = self._lower(table, formats)
        high, high_present = rule_cells.to_numbers(table, self.high, formats)
        present, scale = low_present & high_present, self._scale(formats)
        if _is_day(formats.get(self.high)):  # its last moment
            high = np.where(high_present, np.minimum(high, LAST - DAY) + DAY - 1, high)
        low, high = np.where(present, low, 0), np.where(present, high, 0)
        if scale > 1:  # in whole units: 500 years of nanoseconds overflow 64 bits
            distance = high // scale - low // scale - (high % scale < low % scale)
        else:
            with np.errstate(over="ignore"):  # no warning because of one cell
                distance = rule_cells.round_decimals(high - low)
        distance = np.maximum(distance, self._floor(scale))
        distance = np.where(present, distance.astype(float), np.nan)
        return {self.distance: pd.Series(distance, index=table.index)}

    def unfold(self, table: pd.DataFrame, formats: Formats, derived: Attributes) -> Columns:
        """The lower column plus the distance; missing where either is."""
        low, low_present = self._lower(table, formats)
        distance, distance_present = rule_cells.to_numbers(table, self.distance, {})
        present, attribute, scale = low_present & distance_present, derived[self.high], self._scale(formats)
        least = self._floor(scale, attribute)
        low, distance = np.where(present, low, 0), np.where(present, np.maximum(distance, least), least)
        if scale > 1:
            unit = format_unit(attribute.datetime_format)
            max_distance = LAST // scale - low // scale - unit // scale - 1
            high = low + np.minimum(distance, max_distance).astype(np.int64) * scale
            if _is_day(attribute.datetime_format):
                high = np.maximum(high // DAY, low // DAY + self.strict) * DAY
            else:
                high = -(-high // unit) * unit  # round up to the unit that the text shows
        else:
            with np.errstate(over="ignore"):
                high = np.maximum(_ceil(rule_cells.round_decimals(low + distance), attribute), low)
        high = np.clip(high, attribute.lower[0], attribute.upper[-1])
        return {self.high: rule_cells.to_column(high, present, attribute)}

    def attributes(self, inputs: Attributes, specs: Specs, styles: Specs) -> tuple[Attribute, ...]:
        """One bin, from the lowest value of the lower column to the highest possible or declared value."""
        low, distance, spec = inputs[self.low], inputs[self.distance], specs.get(self.high, {})
        dates = low.kind == "datetime"
        common: ColumnSpec = {
            "name": self.high,
            "kind": low.kind,
            "nullable": low.nullable or distance.nullable,
        }
        if dates:
            style = {"datetime_format": spec.get("datetime_format"), **styles.get(self.high, {})}
            unit = math.gcd(low.unit, NANOSECONDS[self.unit or "s"])
            common |= {**style, "unit": unit}
        else:
            decimals = rule_cells.common_decimals((low, distance))
            if decimals is not None:
                own = declared_places(spec)
                decimals = decimals if own is None else own
            whole = decimals == 0 and (low.kind == distance.kind == "integer" or declared_places(spec) == 0)
            common |= {"kind": "integer"} if whole else {"kind": "float", "decimals": decimals}
        if not low.lower or not distance.lower:  # all cells are missing
            return (Attribute(lower=(0,), upper=(0,), **{**common, "nullable": True}),)
        shape = Attribute(lower=(0,), upper=(0,), **common)
        first, last = self._ends(low, distance, spec, shape)
        if dates:
            return (Attribute(lower=(math.floor(first),), upper=(int(last),), **common),)
        whole = common.pop("kind") == "integer"
        ends = (math.floor(first), int(last)) if whole else (first, last)
        return (rule_cells.single_bin(common.pop("name"), ends, whole=whole, **common),)

    def _ends(
        self, low: Attribute, distance: Attribute, spec: ColumnSpec, shape: Attribute
    ) -> tuple[Any, Any]:
        """Lowest and highest value: the declared range, as far as the lower column allows."""
        dates = low.kind == "datetime"
        scale = NANOSECONDS[self.unit or "s"] if dates else 1
        least, most = _distances(distance, scale, self._floor(scale, shape))
        round_up = _round_up_to(shape)
        lowest, highest = _ends_by_clock(low, shape)
        last = round_up(highest + most)
        first = min(lowest, last)  # a learned end may exceed what the format can write
        declared = [spec.get(word) for word in ("range_min", "range_max")]
        if None in declared:
            return first, last
        if dates:
            declared = list(date_ends(self.high, declared[0], declared[1], spec.get("datetime_format")))
        last = min(last, max(declared[1], round_up(highest + least)))
        return max(first, min(declared[0], last)), last

    def fits(self, inputs: Attributes, derived: Attributes) -> bool:
        """Whether the column can be derived: same kind, and its end not below the lower column's."""
        high, low, distance = derived[self.high], inputs[self.low], inputs[self.distance]
        (computed,) = self.attributes(inputs, attribute_specs(derived), {})
        widest = {name: replace(a, lower=computed.lower, upper=computed.upper) for name, a in derived.items()}
        if (
            not super().fits(inputs, widest)
            or len(high.lower) != 1
            or (sdtype_of(low) in CATEGORIES) != (sdtype_of(distance) in CATEGORIES)
        ):
            return False
        if not low.lower or not distance.lower:
            return True
        scale = NANOSECONDS[self.unit or "s"] if low.kind == "datetime" else 1
        smallest = _distances(distance, scale, self._floor(scale, high))[0]
        highest = _ends_by_clock(low, high)[1] + smallest
        least = min(highest // DAY * DAY if _is_day(high.datetime_format) else highest, computed.upper[-1])
        return bool(least <= high.upper[-1] <= computed.upper[-1])

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Mask of rows in order, or with either value missing."""
        low, low_present = self._lower(table, formats)
        high, high_present = rule_cells.to_numbers(table, self.high, formats)
        if _is_day(formats.get(self.high)):
            low = low // DAY * DAY
        ordered = low < high if self.strict else low <= high
        return np.asarray(ordered | ~low_present | ~high_present)

    def __str__(self) -> str:
        return f"{self.low} {'<' if self.strict else '<='} {self.high}"


def _distances(distance: Attribute, scale: int, floor: float) -> tuple[Any, Any]:
    """Smallest and largest distance, not below the rule's minimum, which noise may violate."""
    # For dates, nanoseconds that fit 64 bits.
    ends = [max(end, floor) * scale for end in (distance.lower[0], distance.upper[-1])]
    least, most = (min(int(end), LAST) for end in ends) if scale > 1 else ends
    return least, most


def _is_day(form: str | None) -> bool:
    """Whether a format shows no time of day."""
    return form is not None and format_unit(form) == DAY


def _ends_by_clock(low: Attribute, high: Attribute) -> tuple[Any, Any]:
    """Lowest and highest value of the lower column, in local time if days are compared."""
    if not _is_day(high.datetime_format):
        return low.lower[0], low.upper[-1]
    ends = np.array([low.lower[0], low.upper[-1]], dtype=np.int64)
    first, last = utc_to_local(ends, low.time_zone).tolist()
    return first // DAY * DAY, last


def _ceil(values: Any, attribute: Attribute) -> Any:
    """Round numbers up to the digits of an attribute."""
    places = 0 if attribute.kind == "integer" else attribute.decimals
    return values if places is None else np.ceil(np.round(values * 10.0**places, 6)) / 10.0**places


def _round_up_to(attribute: Attribute) -> Callable[[Any], Any]:
    """Function that rounds an end up to the next value that the attribute's form can show."""
    unit = format_unit(attribute.datetime_format)
    last = LAST if attribute.datetime_format is None or "%y" not in attribute.datetime_format else LAST_SHORT
    if _is_day(attribute.datetime_format):
        return lambda end: min(int(end), last) // DAY * DAY
    if attribute.kind == "datetime":
        return lambda end: min(-(-int(end) // unit) * unit, last // unit * unit)
    if attribute.kind == "integer":
        return lambda end: int(_ceil(end, attribute))
    return lambda end: float(_ceil(end, attribute))
