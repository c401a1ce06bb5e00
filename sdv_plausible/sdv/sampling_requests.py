"""What is asked of a fitted synthesizer, checked before SDV sees it.

One clear line instead of an odd result.
"""

from __future__ import annotations

import inspect
import multiprocessing
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from sdv_plausible.privacy import parameter_checks as check

SAME_ROWS = (
    "this synthesizer was handed to another process, and draws the rows that each of its copies draws: for "
    "other rows give workers synth.release(), whose sample() is fresh in each; under a row-by-row test, call "
    "sample(processes=...) once"
)


def parents() -> set[int]:
    """Numbers of the processes that can have handed an object to this one, as a worker of theirs."""
    told = multiprocessing.parent_process()  # of a fork server's worker, whose parent is the server
    return {os.getppid(), *([] if told is None or told.pid is None else [told.pid])}


def check_request(method: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Refuse batches, tries and output paths that cannot be.

    Parameters
    ----------
    method : callable
        SDV's sampling method.
    args, kwargs
        What it will be called with.

    Raises
    ------
    ValueError
        Naming the parameter, its value, the rule and a way out.
    """
    try:
        asked = inspect.signature(method).bind(*args, **kwargs).arguments
    except TypeError as error:
        raise ValueError(f"sample: {error}; see the arguments of the installed SDV") from error
    if asked.get("batch_size") is not None:
        check.whole("batch_size", asked["batch_size"], 1, "leave it out for one batch")
    if "max_tries_per_batch" in asked:
        check.whole("max_tries_per_batch", asked["max_tries_per_batch"], 1, "try 100")
    for name, is_wrong, what in (
        ("output_folder_path", lambda path: path.exists() and not path.is_dir(), "a folder, and no file"),
        ("output_file_path", Path.is_dir, "a file, and no folder"),
    ):
        path = asked.get(name)
        if path and (not isinstance(path, (str, Path)) or is_wrong(Path(path))):
            raise ValueError(f"{name} ({str(path)!r}) must be {what}; choose another name")


def check_conditions(conditions: Any) -> None:
    """Refuse what is not a list of SDV conditions, each with a column.

    Raises
    ------
    ValueError
        Naming the first that is not.
    """
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
            raise ValueError(f"conditions: a {kind} must be an sdv.sampling.Condition or DataFrameCondition")
        if not names:
            raise ValueError(
                "conditions: a Condition has no column; use sample() for rows without a condition"
            )
        for name, value in condition.get_column_values().items():
            _check_single(name, value)


def check_known_columns(known: Any, what: str = "known_columns") -> None:
    """Refuse what is not a table of known values, each column named once.

    Raises
    ------
    ValueError
        Naming what is wrong.
    """
    if not isinstance(known, pd.DataFrame):
        raise ValueError(f"{what} ({type(known).__name__}) must be a pandas DataFrame")
    if not known.shape[1]:
        raise ValueError(f"{what} has no column; use sample() for rows without a condition")
    if known.empty:
        raise ValueError(f"{what} has no row: give a row for each that is to be completed")
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
