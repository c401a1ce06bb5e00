"""Counts with error bars: what the noisy answers say, as ``synthesizer.margins`` gives it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from sdv_plausible.evaluation.page.rendering import Section

MOST = 15  # lines of a table, those of most rows
NEEDED = ("estimate", "lower", "upper", "proportion_lower", "proportion_upper")
Line = tuple[str, str, str, str]


@dataclass(frozen=True, kw_only=True)
class Counted:
    """One table of counts: of which columns, its lines, and how many lines are left out."""

    title: str
    lines: tuple[Line, ...]
    left_out: str


@dataclass(frozen=True, kw_only=True)
class Intervals(Section):
    """Tables of counts, each with an interval for the table's count and for the population's share."""

    template: ClassVar[str] = "intervals.html"
    tables: tuple[Counted, ...]

    @classmethod
    def of(cls, margins: Sequence[pd.DataFrame]) -> list[Intervals]:
        """One section for all tables, each of ``synthesizer.margins``, none without any."""
        for position, frame in enumerate(margins):
            if absent := [name for name in NEEDED if name not in getattr(frame, "columns", ())]:
                raise ValueError(
                    f"margins[{position}] lacks {absent}: give what synthesizer.margins(columns) gives"
                )
        return [cls(tables=tuple(map(_counted, margins)))] if margins else []


def _counted(frame: pd.DataFrame) -> Counted:
    known = frame[frame["lower"].notna() & frame["upper"].notna()]
    shown = known.sort_values("upper", ascending=False, kind="stable").head(MOST)
    lines = tuple(
        (
            " and ".join(map(str, value)) if isinstance(value, tuple) else str(value),
            "" if math.isnan(line["estimate"]) else f"{line['estimate']:,.0f}",
            f"{line['lower']:,.0f} to {line['upper']:,.0f}",
            f"{line['proportion_lower']:.2%} to {line['proportion_upper']:.2%}",
        )
        for value, line in zip(shown.index, shown.to_dict("records"), strict=True)
    )
    names = [str(name) for name in frame.index.names if name is not None]
    left = len(frame) - len(lines)
    return Counted(
        title=" and ".join(names) or "All rows",
        lines=lines,
        left_out=f"and {left:,} more" if left else "",
    )
