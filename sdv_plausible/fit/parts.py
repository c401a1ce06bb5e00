"""A table in parts, opened for a fit: all that needs no row is checked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sdv_plausible.privacy.checks import Refused
from sdv_plausible.release.privacy_tests import PrivacyTest
from sdv_plausible.release.release_level import ReleaseTest
from sdv_plausible.release.settings import Settings
from sdv_plausible.sources.bounded import check_person
from sdv_plausible.sources.coded import check_places
from sdv_plausible.sources.found_files import CsvSource
from sdv_plausible.sources.kept import check_scratch
from sdv_plausible.sources.opening import library_of, open_source
from sdv_plausible.sources.source import PART_ROWS, Source
from sdv_plausible.table.cell_texts import PLAIN, Spelling
from sdv_plausible.table.column_types import ColumnType
from sdv_plausible.table.dates import check_dates
from sdv_plausible.table.text_files import Files


def is_in_parts(data: Any) -> bool:
    """Whether a table cannot be taken for one in memory."""
    return isinstance(data, (str, os.PathLike, Files)) or callable(data) or library_of(data) == "dask"


def refuse_whole(test: PrivacyTest, learner: Any) -> None:
    """Refuse a test or a learner that needs all records in memory, before anything is paid.

    Raises
    ------
    ValueError
        If one does.
    """
    if not isinstance(test, ReleaseTest):
        raise Refused.saying(
            "test",
            f'test ({test.name!r}) must be "release": the row-by-row tests need all records in memory (4 '
            "bytes for each modelled cell): read the whole table, and fit a synthesizer to it",
        )
    if getattr(learner, "looks_at_records", False):
        raise Refused.saying(
            "model",
            f"model ({type(learner).__name__}) learns from records, which are not in memory here: use one "
            "that learns from counts, or read the whole table, and fit a synthesizer to it",
        )


def opened_parts(
    source: Any,
    types: Mapping[str, ColumnType],
    settings: Settings,
    scratch: str | Path | None,
    rows: int = PART_ROWS,
    *,
    progress: bool = False,
) -> Source:
    """Open a table in parts, whose columns are known; no row is read.

    Raises
    ------
    ValueError
        If it or the folder ``scratch`` cannot be used for these settings.
    """
    table = open_source(source, types, rows, progress=progress)
    dates = [name for name, kind in types.items() if kind.sdtype == "datetime"]
    check_dates(table.empty(dates), {name: types[name].datetime_format for name in dates})
    check_person(table, settings.neighbours, scratch)
    check_scratch(table, scratch)
    if settings.parts_rows and scratch is None:  # codes that are made once keep their places
        check_places(table)
    return table


def check_form(table: Source) -> None:
    """Read files of text once before a budget pays for a fit that could not read them.

    Raises
    ------
    ValueError
        If one is not well formed.
    """
    if isinstance(table, CsvSource):
        table.check_form()


def spelling_of(source: Any) -> Spelling:
    """How cells of text are written."""
    return source.spelling if isinstance(source, Files) else PLAIN
