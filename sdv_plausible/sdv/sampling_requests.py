"""Calls of SDV's sampling methods: checked arguments, output files, row caps and missing values."""

from __future__ import annotations

import inspect
import math
import multiprocessing
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.sdv.sdv_versions import OutputFile, from_native
from sdv_plausible.utils.atomic_files import new_folders, write_atomically

SAME_ROWS = (
    "this synthesizer was copied to another process, and all copies draw the same rows. Give each worker "
    "synth.release() instead, whose sample() differs in each process. Under a row-by-row test, call "
    "sample(processes=...) once"
)
# RDT counts the texts of long formats modulo 2^63 and overflows; the texts themselves are right
_NEGATIVE_COUNT = r"The regex for .* can only generate -\d+ unique values"
_MISSING = "\x00missing"  # SDV loses missing values when it groups conditions


class RowCapExceededError(ValueError):
    """A call asks for more rows than the row cap has left. No row is released."""


def charge_rows(
    charged: dict[tuple[Any, ...], int], limit: int | None, call: tuple[Any, ...], num_rows: int
) -> None:
    """Count the rows of a call towards the row cap; a repeated call gives the same rows and costs nothing."""
    if limit is None or call in charged:
        return
    used = sum(charged.values())
    if used + num_rows > limit:
        raise RowCapExceededError(
            f"this call needs {num_rows} more rows from the mechanism, but {used} of row_cap ({limit}) "
            "are "
            "used: the charged privacy loss covers no more. Fit with a higher row_cap, or use "
            "test='release', where rows are free"
        )
    charged[call] = num_rows


def parents() -> set[int]:
    """Ids of the processes that can have passed an object to this process."""
    parent = multiprocessing.parent_process()  # under a fork server, not the parent of the operating system
    return {os.getppid(), *([] if parent is None or parent.pid is None else [parent.pid])}


def sample_with_sdv(
    method: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    table_name: str,
    finished: Callable[[pd.DataFrame], pd.DataFrame],
) -> pd.DataFrame:
    """Call an SDV sampling method, finish its rows, and raise our own errors instead of SDV's wrappers.

    SDV writes output files batch by batch, before the last step. We write the finished table, atomically.
    """
    check_request(method, args, kwargs)
    try:
        output = OutputFile.of(method, args, kwargs, table_name)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", _NEGATIVE_COUNT)
            if output is None or output.path.exists():  # SDV rejects an existing file
                return finished(from_native(method(*args, **kwargs)))
            frame = finished(from_native(output.call(method)))
        from sdv_plausible.table.files.table_file import write_table  # only where a file is written

        with new_folders(output.path.parent):
            write_atomically(output.path, lambda path: write_table(frame, path), replace=False)
        return frame
    except BaseException as error:
        cause = error.__cause__
        if cause is not None and type(cause) is type(error) and "Sampling terminated" in str(error):
            raise cause from None
        raise


def writes_file(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call of SDV's ``_sample_with_conditions`` writes rows to a file."""
    return bool(kwargs.get("output_file_path") or args[3:4] not in ((), (None,)))


def with_tokens(conditions: pd.DataFrame) -> pd.DataFrame:
    """Conditions with a token in place of each missing value."""
    return conditions.astype(object).where(conditions.notna(), _MISSING)


def without_tokens(conditions: Mapping[str, Any]) -> dict[str, Any]:
    """Condition values with NaN in place of the token."""
    return {
        name: math.nan if isinstance(value, str) and value == _MISSING else value
        for name, value in conditions.items()
    }


def check_request(method: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Reject impossible batch sizes, numbers of tries and output paths in the arguments of a method."""
    try:
        arguments = inspect.signature(method).bind(*args, **kwargs).arguments
    except TypeError as error:
        raise ValueError(f"sample: {error}; see the arguments of the installed SDV") from error
    if arguments.get("batch_size") is not None:
        check.whole("batch_size", arguments["batch_size"], 1, "leave it out for one batch")
    if "max_tries_per_batch" in arguments:
        check.whole("max_tries_per_batch", arguments["max_tries_per_batch"], 1, "try 100")
    for name, is_wrong, what in (
        ("output_folder_path", lambda path: path.exists() and not path.is_dir(), "a folder, not a file"),
        ("output_file_path", Path.is_dir, "a file, not a folder"),
    ):
        path = arguments.get(name)
        if path and (not isinstance(path, (str, Path)) or is_wrong(Path(path))):
            raise ValueError(f"{name} ({str(path)!r}) must be {what}; choose another name")


def check_conditions(conditions: Any) -> None:
    """Reject anything but a list of SDV conditions that each have a column."""
    if not isinstance(conditions, (list, tuple)):
        raise ValueError(f"conditions ({type(conditions).__name__}) must be a list of sdv.sampling.Condition")
    for condition in conditions:
        if hasattr(condition, "get_column_values"):
            names = list(condition.get_column_values())
        elif hasattr(condition, "get_dataframe"):
            check_known_columns(condition.get_dataframe(), "a DataFrameCondition")
            continue
        else:
            kind = type(condition).__name__
            raise ValueError(f"conditions: {kind} must be an sdv.sampling.Condition or DataFrameCondition")
        if not names:
            raise ValueError(
                "conditions: a Condition has no column; use sample() for rows without a condition"
            )
        for name, value in condition.get_column_values().items():
            _check_single(name, value)


def check_known_columns(known: Any, what: str = "known_columns") -> None:
    """Reject anything but a non-empty table of known values with unique column names."""
    if not isinstance(known, pd.DataFrame):
        raise ValueError(f"{what} ({type(known).__name__}) must be a pandas DataFrame")
    if not known.shape[1]:
        raise ValueError(f"{what} has no column; use sample() for rows without a condition")
    if known.empty:
        raise ValueError(f"{what} is empty: give one row for each row to complete")
    twice = sorted({str(name) for name in known.columns[known.columns.duplicated()]})
    if twice:
        raise ValueError(f"{what} has several columns named {twice}: give each column once")
    for name in known.columns:
        if known[name].dtype == object:
            for value in known[name]:
                _check_single(name, value)


def _check_single(name: Any, value: Any) -> None:
    if pd.api.types.is_list_like(value):
        raise ValueError(
            f"column {str(name)!r}: a condition ({type(value).__name__}) must be a single value, or missing "
            "(None)"
        )
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        raise ValueError(
            f"column {str(name)!r}: a condition (int) must be within 1.8e308, the largest double; give a "
            "value of the column"
        )
