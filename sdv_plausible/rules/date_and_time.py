"""Dates with a time of day, as the model sees them: the date and the time of day, each by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from sdv_plausible.privacy.parameter_checks import Refused, shown
from sdv_plausible.rules import rule_cells
from sdv_plausible.rules.rule import Columns, DerivingRule, Formats, Words, check_columns, check_sdtypes
from sdv_plausible.table.cells.dates import (
    NANOSECONDS,
    bins_from_clocks,
    date_style,
    format_unit,
    from_clocks,
    on_clocks,
    resolution_step,
    shows_time,
)
from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.table.declared.specifications import date_ends

DAY = NANOSECONDS["D"]
LAST = pd.Timestamp.max.value
FIRST_DAY = -(LAST // DAY) * DAY  # of which midnight is a date
CLOCK_STEPS = tuple(NANOSECONDS["s"] * seconds for seconds in (1, 60, 300, 900, 1800, 3600))
"""What people round times of day to."""


@dataclass(frozen=True)
class DateAndTime(DerivingRule):
    """A date with a time of day, of which the model sees two columns: the date and the time of day.

    So the times of day come out as they are, spikes at full hours and empty nights included, however many
    days there are. The time of day is that of the column's time zone, or of its text.

    Parameters
    ----------
    column : str
        The column.
    resolution : str, optional
        Distance of two times of day: ``"s"``, ``"min"``, ``"h"``, or a part of a day such as ``"15min"``. A
        real time between two counts as the earlier one. None: what the column's format shows, seconds at
        most.

    Raises
    ------
    ValueError
        If resolution is no part of a day.

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
    def made(self) -> tuple[str, ...]:
        """The column itself."""
        return (self.column,)

    @property
    def date(self) -> str:
        """Name of the date's stand-in."""
        return f"{self.column}: date"

    @property
    def time(self) -> str:
        """Name of the stand-in of the time of day; what it counts in is part of it."""
        return f"{self.column}: time ({self.resolution})"

    @property
    def added(self) -> tuple[str, ...]:
        """Date and time of day."""
        return (self.date, self.time)

    @property
    def together(self) -> tuple[str, ...]:
        """Both: a date is missing, or it has a time of day."""
        return self.added

    @property
    def _step(self) -> int:
        return resolution_step(self.resolution or "s") or NANOSECONDS["s"]

    def check(self, words: Mapping[str, Words]) -> None:
        """Refuse a column of anything but dates, and a format without a time of day."""
        check_sdtypes(self, words, "datetime")
        form = words[self.column].get("datetime_format")
        if form is not None and not shows_time(form):
            raise Refused.saying(
                "rules",
                f"rule '{self}': the format {form!r} shows no time of day beside a date: leave the rule out",
            )

    def fits(self, known: Mapping[str, Attribute], made: Mapping[str, Attribute]) -> bool:
        """Whether the stand-ins are dates and steps of a day, and missing is a value where it can be made."""
        date, time, whole = known[self.date], known[self.time], made[self.column]
        kinds = (date.kind, time.kind, whole.kind) == ("datetime", "integer", "datetime")
        ends = time.lower[:1] + time.upper[-1:]
        inside = all(0 <= end < DAY // self._step for end in ends) and not time.values
        return kinds and inside and (whole.nullable or not (date.nullable or time.nullable))

    def resolved(self, words: Mapping[str, Words]) -> DateAndTime:
        """Return the rule with the resolution that the column's format shows."""
        if self.resolution is not None:
            return self
        finest = max(format_unit(words.get(self.column, {}).get("datetime_format")), NANOSECONDS["s"])
        return replace(
            self, resolution=next(unit for unit in ("h", "min", "s") if NANOSECONDS[unit] <= finest)
        )

    def stand_ins(self, words: Mapping[str, Words]) -> dict[str, Words]:
        """Date in the declared range, if there is one; time of day in that of a day, midnight single."""
        spec = words.get(self.column, {})
        date: Words = {"sdtype": "datetime"}
        for word, end in zip(("range_min", "range_max"), self._declared(spec), strict=True):
            if end is not None:
                day = str(pd.Timestamp(max(end // DAY * DAY, FIRST_DAY)).date())
                date |= {"datetime_format": "%Y-%m-%d", word: day}
        steps = [step // self._step for step in CLOCK_STEPS if step > self._step and step % self._step == 0]
        time: Words = {
            "sdtype": "numerical", "range_min": 0, "range_max": DAY // self._step - 1, "decimal_places": 0,
            "special_values": [0], **({"rounding": steps} if steps else {}),
        }  # fmt: skip
        if spec.get("range_is_nullable") is not None:
            for part in (date, time):
                part["range_is_nullable"] = spec["range_is_nullable"]
        return {self.date: date, self.time: time}

    def _declared(self, spec: Words) -> tuple[int | None, int | None]:
        """The ends that are declared."""
        low, high, form = spec.get("range_min"), spec.get("range_max"), spec.get("datetime_format")
        if low is not None and high is not None:
            return date_ends(self.column, low, high, form)
        one = low if high is None else high
        end = None if one is None else date_ends(self.column, one, one, form)[0]
        return (None, end) if low is None else (end, None)

    def fold(self, table: pd.DataFrame, formats: Formats) -> Columns:
        """Date, and time of day in steps since midnight; both missing where there is no date."""
        moments, there = rule_cells.numbers(table, self.column, formats)
        style = date_style(table[self.column], formats.get(self.column))
        local = on_clocks(np.where(there, moments, 0), style.get("time_zone"))
        local = np.clip(local, FIRST_DAY, -FIRST_DAY)
        date = local // DAY * DAY
        dates = pd.Series(np.where(there, date, rule_cells.NO_DATE).view("M8[ns]"), index=table.index)
        time = np.where(there, ((local - date) // self._step).astype(float), np.nan)
        return {self.date: dates, self.time: pd.Series(time, index=table.index)}

    def unfold(self, table: pd.DataFrame, formats: Formats, made: Mapping[str, Attribute]) -> Columns:
        """The date at that time of day, inside the range; missing where one of the two is."""
        dates, first = rule_cells.numbers(table, self.date, {self.date: None})
        time, second = rule_cells.numbers(table, self.time, {})
        there, attribute = first & second, made[self.column]
        date = np.where(there, dates, 0)
        steps = np.minimum(
            np.where(there, time, 0).astype(np.int64), (LAST - np.maximum(date, 0)) // self._step
        )
        moments = from_clocks(date + steps * self._step, attribute.time_zone)
        if attribute.lower:
            moments = np.clip(moments, attribute.lower[0], attribute.upper[-1])
        return {self.column: rule_cells.written(moments, there, attribute)}

    def attributes(
        self, known: Mapping[str, Attribute], words: Mapping[str, Words], styles: Mapping[str, Words]
    ) -> tuple[Attribute, ...]:
        """One bin: the declared range, or from the first date to the end of the last one."""
        date, spec = known[self.date], words.get(self.column, {})
        style = {"datetime_format": spec.get("datetime_format"), **styles.get(self.column, {})}
        low, high = self._declared(spec)
        if date.lower and (low is None or high is None):
            last = min(int(date.upper[-1]) // DAY * DAY, LAST // DAY * DAY - DAY) + DAY - self._step
            low = int(date.lower[0]) if low is None else low
            high = last if high is None else high
        firsts = [] if low is None or high is None else [min(low, high)]
        lasts = [] if low is None or high is None else [high]
        lower, upper = bins_from_clocks(firsts, lasts, style.get("time_zone"))
        nullable = date.nullable or known[self.time].nullable or not lower
        return (
            Attribute(
                name=self.column, kind="datetime", lower=lower, upper=upper, nullable=nullable,
                unit=self._step, **style,
            ),
        )  # fmt: skip

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Every row keeps it."""
        return np.ones(len(table), dtype=bool)

    def to_dict(self) -> dict[str, Any]:
        """Plain form."""
        return {"rule": self.kind, "column": self.column, "resolution": self.resolution}

    def __str__(self) -> str:
        shown = f" ({self.resolution})" if self.resolution else ""
        return f"{self.column} is a date and a time of day{shown}"
