"""State of one call that reads rows.

Rows belong to the call and are never an attribute of the synthesizer. So no copy, pickle, saved file or
snapshot can hold them, neither in the middle of a fit nor after an interrupt.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import warnings
from collections.abc import Callable, Iterator
from copy import copy, deepcopy
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

import pandas as pd
from sdv.single_table import base

if TYPE_CHECKING:
    from sdv_plausible.fitting.diagnostics import FitWarning
    from sdv_plausible.fitting.fit import FitResult
    from sdv_plausible.fitting.partitioned_table import PartitionedTable

BUSY = (
    "another call that reads rows is running in this synthesizer (fit, preprocess, fit_processed_data, "
    "validate, validate_constraints or auto_assign_transformers). Wait until it ends, or create a second "
    "synthesizer"
)
SDV_CONSTRAINTS = ("_chained_constraints", "_reject_sampling_constraints")
"""SDV's lists of constraints, which SDV fits in place."""
_NEVER_ROLLED_BACK = ("_looked",)  # a comparison with rows stays on record even if the fit fails
Method = TypeVar("Method", bound=Callable[..., Any])


class RowCall:
    """A call of one thread that reads rows on behalf of a synthesizer."""

    def __init__(self, synth: object) -> None:
        self.synth_id, self.thread = id(synth), threading.get_ident()
        self.is_closed = False  # whether nested calls are rejected
        self.is_fit = False  # SDV's steps of a fit call the synthesizer again
        self.rows: pd.DataFrame | None = None  # not passed to SDV
        self.parts: PartitionedTable | None = None
        self.result: tuple[pd.Series[Any], FitResult] | None = None  # of a fit that is already done
        self.warnings: list[FitWarning] = []  # emitted once the fit is stored


# Calls in progress, oldest first. Only the stack frame of a call holds a strong reference, so an interrupt
# at any line ends the call.
_CALLS: list[ref[RowCall]] = []


def _first(synth: object) -> RowCall | None:
    in_progress = (call for reference in tuple(_CALLS) if (call := reference()) is not None)
    return next((call for call in in_progress if call.synth_id == id(synth)), None)


def call_of(synth: object) -> RowCall | None:
    """The call of this thread that reads rows for a synthesizer; None if there is none."""
    first = _first(synth)
    return first if first is not None and first.thread == threading.get_ident() else None


def reads_rows(method: Method) -> Method:
    """Let a method read rows: one call at a time per synthesizer, apart from the nested calls of SDV."""

    @functools.wraps(method)
    def alone(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = RowCall(self)
        reference = ref(call)
        try:
            _CALLS.append(reference)
            first = call_of(self)
            if first is None or first.is_closed:
                raise ValueError(BUSY)
            return method(self, *args, **kwargs)
        finally:
            if reference in _CALLS:
                _CALLS.remove(reference)

    return alone  # type: ignore[return-value]


@contextlib.contextmanager
def rolled_back_on_error(synth: Any) -> Iterator[None]:
    """Restore the attributes of a synthesizer if the block raises, so that a failed fit loses nothing."""
    state = copy(synth.__dict__)
    if synth._fitted:  # SDV changes these in place
        state |= {name: deepcopy(getattr(synth, name)) for name in ("_data_processor", *SDV_CONSTRAINTS)}
    try:
        yield
    except BaseException:
        state |= {name: vars(synth)[name] for name in _NEVER_ROLLED_BACK if name in vars(synth)}
        synth.__dict__ = state  # one assignment: another thread may be reading
        raise


@contextlib.contextmanager
def sdv_silenced() -> Iterator[None]:
    """Stop SDV from logging the number of rows and from warning about declared ranges."""
    logger = base.SYNTHESIZER_LOGGER
    before, logger.disabled = logger.disabled, True
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The training data does not cover the full range")
            yield
    finally:
        logger.disabled = before
