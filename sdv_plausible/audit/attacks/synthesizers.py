"""What is attacked: anything that fits and samples frames, or a frame in a dict as SDV 2 has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import pandas as pd


class Synthesizer(Protocol):
    """An SDV synthesizer or anything like it."""

    def fit(self, data: Any) -> Any:
        """Learn from the rows."""
        ...

    def sample(self, num_rows: int) -> Any:
        """Make rows."""
        ...


Factory = Callable[[], Synthesizer]


def synthetic_rows(factory: Factory, rows: pd.DataFrame, number: int) -> pd.DataFrame:
    """Fit a fresh synthesizer and sample, with the columns of ``rows``."""
    synthesizer = factory()
    try:
        synthesizer.fit(rows)
    except Exception as error:  # raised before a row is looked at, by SDV 2 for all frames
        if type(error).__name__ != "InvalidDataTypeError":
            raise
        synthesizer = factory()
        synthesizer.fit({_table_name(synthesizer): rows})
    made = synthesizer.sample(number)
    if isinstance(made, Mapping):
        made = next(iter(made.values()))
    return pd.DataFrame(made)[list(rows.columns)].reset_index(drop=True)


def _table_name(synthesizer: Any) -> str:
    tables = getattr(getattr(synthesizer, "metadata", None), "tables", None)
    return str(next(iter(tables))) if tables else "table"
