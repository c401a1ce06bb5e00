"""Calls that show a synthesizer rows.

Rows belong to the call that is shown them and are no attribute of the object, so that no copy, pickle, saved
file or snapshot can hold them, in the middle of a fit or after an interrupt.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

import pandas as pd
from sdv.single_table import base

if TYPE_CHECKING:
    from sdv_plausible.fitting.diagnostics import FitWarning
    from sdv_plausible.fitting.partitioned_table import PartitionedTable

BUSY = (
    "another call that is shown rows is under way in this object (fit, preprocess, fit_processed_data, "
    "validate, validate_constraints or auto_assign_transformers), which takes one at a time: wait for it to "
    "end, or make a second synthesizer"
)
Method = TypeVar("Method", bound=Callable[..., Any])


class FitCall:
    """A call that shows an object rows, in the thread that began it."""

    def __init__(self, synth: object) -> None:
        self.shown_to, self.thread, self.ends = id(synth), threading.get_ident(), False
        self.rows: pd.DataFrame | None = None
        self.parts: PartitionedTable | None = None
        self.fits = False  # and calls SDV's parts of a fit, which call us
        self.told: list[FitWarning] = []  # of its rows, for their holder


# In the order in which they began. The frame of a call alone holds it: it is over when the frame is gone,
# wherever an interrupt fell.
_CALLS: list[ref[FitCall]] = []


def _first(synth: object) -> FitCall | None:
    under_way = (call for known in tuple(_CALLS) if (call := known()) is not None)
    return next((call for call in under_way if call.shown_to == id(synth)), None)


def call_of(synth: object) -> FitCall | None:
    """The call of this thread that shows an object rows, if one is under way."""
    first = _first(synth)
    return first if first is not None and first.thread == threading.get_ident() else None


def shown_rows(method: Method) -> Method:
    """Make a method one that is shown rows: one call at a time, but for those of SDV within it.

    Raises
    ------
    ValueError
        If a call of another thread, or of whoever watches a fit, comes in between.
    """

    @functools.wraps(method)
    def alone(self: Any, *args: Any, **kwargs: Any) -> Any:
        mine = FitCall(self)
        known = ref(mine)
        try:
            _CALLS.append(known)
            first = call_of(self)
            if first is None or first.ends:
                raise ValueError(BUSY)
            return method(self, *args, **kwargs)
        finally:
            if known in _CALLS:
                _CALLS.remove(known)

    return alone  # type: ignore[return-value]


@contextlib.contextmanager
def quiet_about_rows() -> Iterator[None]:
    """Keep SDV from logging the number of rows and from warning about declared ranges."""
    logger = base.SYNTHESIZER_LOGGER
    before, logger.disabled = logger.disabled, True
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The training data does not cover the full range")
            yield
    finally:
        logger.disabled = before
