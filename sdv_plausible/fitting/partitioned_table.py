"""A table in parts, opened and checked for a fit before any row is read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from sdv_plausible.mechanism.privacy_tests.contract import PrivacyTest
from sdv_plausible.mechanism.privacy_tests.privacy_settings import Settings
from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.models import make_learner
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.sources.bounded_rows import check_person
from sdv_plausible.sources.progress import Progress, ReportProgress
from sdv_plausible.sources.source import PART_ROWS, Source
from sdv_plausible.sources.source_counts import check_row_order
from sdv_plausible.sources.source_rows import SourceRows
from sdv_plausible.sources.source_types import open_source
from sdv_plausible.sources.worker_pool import WorkerPool
from sdv_plausible.table.cells.dates import check_dates
from sdv_plausible.table.columns.cell_reader import PLAIN_SPELLING, ColumnType, Spelling
from sdv_plausible.table.files.text_files import Files
from sdv_plausible.utils.atomic_files import part_folder, remove_leftovers


class PartitionedTable(NamedTuple):
    """A table in parts, opened for a fit."""

    source: Source
    folder: Path | None  # for the codes of the rows
    spelling: Spelling  # how its cells are written as text
    given: Any  # the user's source

    def rows(self, rules: RuleSet, names: Sequence[str]) -> SourceRows:
        """Rows of the modelled columns."""
        return SourceRows(self.source, rules, names, self.folder)


@contextmanager
def open_in_parts(
    source: Any,
    types: Mapping[str, ColumnType],
    settings: Settings,
    learner: Any,
    scratch: str | Path | None,
    *,
    is_paid: bool,
    infers: bool = False,
    sdv_sees_rows: bool = False,
    rows: int = PART_ROWS,
    tell: ReportProgress | None = None,
    workers: int | None = None,
) -> Iterator[PartitionedTable]:
    """Open a table in parts for one fit; if it is paid for, the form of text files is checked, too."""
    if sdv_sees_rows:
        raise ValueError(
            "data: SDV constraints and custom transformers need the whole table in memory. Read it "
            "(read_csv, read_parquet), or replace the constraints by rules=[...]"
        )
    if infers:
        raise Refused.saying(
            "undeclared",
            'undeclared ("infer") needs the whole table in memory. Read it (read_csv, read_parquet), '
            'declare every column, or use "private"',
        )
    check_partitionable(settings.test, learner)
    table = open_source(source, types, rows)
    table.worker_pool, table.progress = WorkerPool.of(workers), Progress(tell)
    dates = [name for name, kind in types.items() if kind.sdtype == "datetime"]
    check_dates(table.empty(dates), {name: types[name].datetime_format for name in dates})
    check_person(table, settings.neighbours, scratch)
    _check_scratch(table, scratch)
    if settings.splits_rows and scratch is None and not table.on_cluster:  # cached codes have fixed places
        check_row_order(table)
    if is_paid:
        table.check_form()
    with (
        nullcontext() if scratch is None else part_folder(Path(scratch)) as folder,  # removed after the fit
        closing(table),
    ):
        yield PartitionedTable(table, folder, spelling_of(source), source)


def _check_scratch(source: Source, scratch: str | Path | None) -> None:
    """Reject an unusable folder before the budget is charged, and remove what killed fits left in it."""
    if scratch is None:
        return
    if source.on_cluster:
        raise ValueError(
            f"scratch ({str(scratch)!r}) must be None for a table on a cluster, whose workers keep the "
            "encoded rows: leave it out"
        )
    if (
        not isinstance(scratch, (str, os.PathLike))
        or not Path(scratch).is_dir()
        or not os.access(scratch, os.W_OK)
    ):
        raise Refused("scratch", scratch, "must be a folder that can be written to", "make it first")
    remove_leftovers(Path(scratch))


def check_partitionable(test: PrivacyTest, model: Any) -> None:
    """Reject a test or a learner that needs all records in memory, before anything is paid."""
    if not isinstance(test, ReleaseTest):
        raise Refused.saying(
            "test",
            f'test ({test.name!r}) must be "release": row-by-row tests need all records in memory (4 bytes '
            "for each modelled cell). Read the whole table, and fit a synthesizer to it",
        )
    learner = make_learner(model)
    if learner.looks_at_records:
        raise Refused.saying(
            "model",
            f"model ({type(learner).__name__}) learns from records, which are not in memory here. Use a "
            "model that learns from counts, or read the whole table and fit a synthesizer to it",
        )


def spelling_of(source: Any) -> Spelling:
    """How a source writes cells as text."""
    return source.spelling if isinstance(source, Files) else PLAIN_SPELLING
