"""Dates with a time of day, modelled as two columns: date, and time of day."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd

from sdv_plausible.privacy.parameter_checks import shown
from sdv_plausible.rules import rule_cells
from sdv_plausible.rules.rule import (
    Attributes,
    Columns,
    ColumnSpec,
    DerivingRule,
    Formats,
    Specs,
    check_columns,
    check_sdtypes,
)
from sdv_plausible.table.cells.dates import (
    NANOSECONDS,
    bins_to_utc,
    date_style,
    format_unit,
    local_to_utc,
    resolution_step,
    shows_time,
    utc_to_local,
)
from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.table.declared.specifications import date_ends

DAY = NANOSECONDS["D"]
LAST = pd.Timestamp.max.value
FIRST_DAY = -(LAST // DAY) * DAY  # first day whose midnight is representable
CLOCK_STEPS = tuple(NANOSECONDS["s"] * seconds for seconds in (1, 60, 300, 900, 1800, 3600))
"""Steps to which people round times of day."""


@dataclass(frozen=True)
class DateAndTime(DerivingRule):
    """A date with a time of day, modelled as two columns: the date and the time of day.

    The distribution of times of day is thereby preserved, with peaks at full hours and quiet nights, for any
    number of days. The time of day is local time in the column's time zone, or as written in its text.

    Parameters
    ----------
    column : str
        The column.
    resolution : str, optional
        Unit of the time of day: ``"s"``, ``"min"``, ``"h"``, or a divisor of a day such as ``"15min"``. Real
        times are rounded down to it. None: the finest unit that the column's format shows, seconds at most.

    Raises
    ------
    ValueError
        If resolution does not divide a day.

    Examples
    --------
    >>> print(DateAndTime("departure", resolution="min"))
    departure is a date and a time of day (min)
    """

    column: str
    resolution: str | None = None
    kind: ClassVar[str] = "date_and_time"
    reversible: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_columns("DateAndTime", [self.column])
        if self.resolution is None:
            return
        step = resolution_step(self.resolution) if isinstance(self.resolution, str) else None
        if step is None or step == DAY:
            raise ValueError(
                f"DateAndTime: resolution ({shown(self.resolution)}) must be 's', 'min', 'h', or a part of a "
                "day such as '15min'"
            )

    @property
    def date(self) -> str:
        """Name of the surrogate column for the date."""
        return f"{self.column}: date"

    @property
    def time(self) -> str:
        """Name of the surrogate column for the time of day, which includes its resolution."""
        return f"{self.column}: time ({self.resolution})"

    @property
    def added(self) -> tuple[str, ...]:
        """The surrogate columns: date and time of day."""
        return (self.date, self.time)

    @property
    def together(self) -> tuple[str, ...]:
        """Both surrogate columns: they are missing in the same rows."""
        return self.added

    @property
    def _step(self) -> int:
        return resolution_step(self.resolution or "s") or NANOSECONDS["s"]

    def check(self, specs: Specs) -> None:
        """Raise an error if the column is no date, or if its format shows no time of day."""
        check_sdtypes(self, specs, "datetime")
        form = specs[self.column].get("datetime_format")
        if form is not None and not shows_time(form):
            raise self.refused(f"the format {form!r} has no time of day with a date: remove the rule")

    def fits(self, inputs: Attributes, derived: Attributes) -> bool:
        """Whether the surrogates are a date and steps of a day, and nullable only if the column is."""
        date, time, column = inputs[self.date], inputs[self.time], derived[self.column]
        kinds = (date.kind, time.kind, column.kind) == ("datetime", "integer", "datetime")
        ends = time.lower[:1] + time.upper[-1:]
        inside = all(0 <= end < DAY // self._step for end in ends) and not time.values
        return kinds and inside and (column.nullable or not (date.nullable or time.nullable))

    def resolve(self, specs: Specs) -> DateAndTime:
        """Return the rule with the resolution that the column's format shows."""
        if self.resolution is not None:
            return self
        finest = max(format_unit(specs.get(self.column, {}).get("datetime_format")), NANOSECONDS["s"])
        return replace(
            self, resolution=next(unit for unit in ("h", "min", "s") if NANOSECONDS[unit] <= finest)
        )

    def surrogate_specs(self, specs: Specs) -> dict[str, ColumnSpec]:
        """Date in the declared range, if any; time of day in the range of a day, with midnight single."""
        spec = specs.get(self.column, {})
        date: ColumnSpec = {"sdtype": "datetime"}
        for word, end in zip(("range_min", "range_max"), self._declared(spec), strict=True):
            if end is not None:
                day = str(pd.Timestamp(max(end // DAY * DAY, FIRST_DAY)).date())
                date |= {"datetime_format": "%Y-%m-%d", word: day}
        steps = [step // self._step for step in CLOCK_STEPS if step > self._step and step % self._step == 0]
        time: ColumnSpec = {
            "sdtype": "numerical", "range_min": 0, "range_max": DAY // self._step - 1, "decimal_places": 0,
            "special_values": [0], **({"rounding": steps} if steps else {}),
        }  # fmt: skip
        if spec.get("range_is_nullable") is not None:
            for part in (date, time):
                part["range_is_nullable"] = spec["range_is_nullable"]
        return {self.date: date, self.time: time}

    def _declared(self, spec: ColumnSpec) -> tuple[int | None, int | None]:
        """Declared range ends in nanoseconds; None where undeclared."""
        low, high, form = spec.get("range_min"), spec.get("range_max"), spec.get("datetime_format")
        if low is not None and high is not None:
            return date_ends(self.column, low, high, form)
        only = low if high is None else high
        end = None if only is None else date_ends(self.column, only, only, form)[0]
        return (None, end) if low is None else (end, None)

    def fold(self, table: pd.DataFrame, formats: Formats) -> Columns:
        """Date, and time of day in steps since midnight; both missing where the date is."""
        moments, present = rule_cells.to_numbers(table, self.column, formats)
        style = date_style(table[self.column], formats.get(self.column))
        local = utc_to_local(np.where(present, moments, 0), style.get("time_zone"))
        local = np.clip(local, FIRST_DAY, -FIRST_DAY)
        date = local // DAY * DAY
        dates = pd.Series(np.where(present, date, rule_cells.NO_DATE).view("M8[ns]"), index=table.index)
        time = np.where(present, ((local - date) // self._step).astype(float), np.nan)
        return {self.date: dates, self.time: pd.Series(time, index=table.index)}

    def unfold(self, table: pd.DataFrame, formats: Formats, derived: Attributes) -> Columns:
        """Combine date and time of day, clipped to the range; missing where either is."""
        dates, date_present = rule_cells.to_numbers(table, self.date, {self.date: None})
        time, time_present = rule_cells.to_numbers(table, self.time, {})
        present, attribute = date_present & time_present, derived[self.column]
        date = np.where(present, dates, 0)
        steps = np.minimum(
            np.where(present, time, 0).astype(np.int64), (LAST - np.maximum(date, 0)) // self._step
        )
        moments = local_to_utc(date + steps * self._step, attribute.time_zone)
        if attribute.lower:
            moments = np.clip(moments, attribute.lower[0], attribute.upper[-1])
        return {self.column: rule_cells.to_column(moments, present, attribute)}

    def attributes(self, inputs: Attributes, specs: Specs, styles: Specs) -> tuple[Attribute, ...]:
        """One bin: the declared range, or from the first date to the end of the last."""
        date, spec = inputs[self.date], specs.get(self.column, {})
        style = {"datetime_format": spec.get("datetime_format"), **styles.get(self.column, {})}
        low, high = self._declared(spec)
        if date.lower and (low is None or high is None):
            last = min(int(date.upper[-1]) // DAY * DAY, LAST // DAY * DAY - DAY) + DAY - self._step
            low = int(date.lower[0]) if low is None else low
            high = last if high is None else high
        firsts = [] if low is None or high is None else [min(low, high)]
        lasts = [] if low is None or high is None else [high]
        lower, upper = bins_to_utc(firsts, lasts, style.get("time_zone"))
        nullable = date.nullable or inputs[self.time].nullable or not lower
        return (
            Attribute(
                name=self.column, kind="datetime", lower=lower, upper=upper, nullable=nullable,
                unit=self._step, **style,
            ),
        )  # fmt: skip

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """All rows satisfy it."""
        return np.ones(len(table), dtype=bool)

    def __str__(self) -> str:
        shown = f" ({self.resolution})" if self.resolution else ""
        return f"{self.column} is a date and a time of day{shown}"
