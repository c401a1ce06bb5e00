"""A real cluster of two worker processes, one of which is killed: the release is the same."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tables import COLUMNS, DECLARED, SEED, table

from sdv_plausible import fit_source
from sdv_plausible.release.file.release import Release
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.sources.dask_tables import DaskSource
from sdv_plausible.sources.raw_columns import Rows, SourceColumns

pytest.importorskip("distributed", reason="distributed is not installed")
FRAME = table(2_000)


def partitions(number: int = 8) -> Any:
    import dask.dataframe as dd

    return dd.from_pandas(FRAME, npartitions=number)


@pytest.mark.parametrize("number", [1, 2, 20])
def test_partitions_are_added(number: int) -> None:
    assert DaskSource(partitions(number)).total(Rows(), ["age"]) == len(FRAME)


def test_a_task_that_fails_once_is_run_again(tmp_path: Path) -> None:
    """Each task fails the first time it runs; the second gives the same counts."""

    def fragile(part: pd.DataFrame, folder: str) -> pd.DataFrame:
        mark = Path(folder) / str(part.index[0] if len(part) else "none")
        if len(part) and part["key"].iloc[0] != "foo" and not mark.exists():
            mark.write_text("failed once")
            raise OSError("a worker's disk")
        return part

    from distributed import Client

    with Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None):
        lost = partitions(4).map_partitions(fragile, str(tmp_path), meta=FRAME.iloc[:0])
        found = fit_source(lost, COLUMNS, DECLARED, random_state=SEED, allow_no_claim=True)
    assert len(list(tmp_path.iterdir())) == 4
    assert same(found, fit_source(FRAME, COLUMNS, DECLARED, random_state=SEED, allow_no_claim=True))


def same(one: Release, other: Release) -> bool:
    return [a.values.tolist() for a in one.answers.answers] == [
        a.values.tolist() for a in other.answers.answers
    ] and one.ledger.entries == other.ledger.entries


@pytest.mark.slow
def test_a_worker_that_is_killed_changes_nothing() -> None:
    from distributed import Client, LocalCluster

    expected = fit_source(FRAME, COLUMNS, DECLARED, random_state=SEED, allow_no_claim=True)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        workers = [int(pid) for pid in client.run(os.getpid).values()]
        seen: list[int] = []
        total, killed = DaskSource.total, threading.Event()

        def counted(self: DaskSource, work: Any, names: Any) -> Any:
            seen.append(len(seen))
            if len(seen) == 2:  # in the middle of the second pass

                def kill() -> None:
                    os.kill(workers[0], signal.SIGKILL)
                    killed.set()

                threading.Timer(0.05, kill).start()
            return total(self, work, names)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(DaskSource, "total", counted)
            found = fit_source(partitions(40), COLUMNS, DECLARED, random_state=SEED, allow_no_claim=True)
        assert killed.is_set()
    assert same(found, expected)


def counted(codes: pd.Series[Any], stored: Any = None) -> Any:
    """Values of a column of which the second partition is stored as said, and its meta says objects."""
    import dask
    import dask.dataframe as dd

    frame = pd.DataFrame({"code": codes.astype(object)})
    second = frame.iloc[3:] if stored is None else frame.iloc[3:].astype(stored)
    parts = [dask.delayed(part) for part in (frame.iloc[:3], second)]
    table = dd.from_delayed(parts, meta=frame.iloc[:0], verify_meta=False)
    values, counts, missing = SourceColumns(DaskSource(table), RuleSet(), ["code"]).value_counts("code")
    return dict(zip(values, counts.tolist(), strict=True)), missing


@pytest.mark.parametrize("texts", [False, True], ids=["objects", "texts of them"])
@pytest.mark.parametrize("stored", ["int8", "Sparse[int]", "category", "Int64"])
def test_a_partition_that_is_stored_otherwise_is_read_cell_by_cell(stored: str, texts: bool) -> None:
    """What else its partition holds decides on no cell: Dask promises types, and keeps to none."""
    import dask

    codes = pd.Series([1, 2, 2, 3, 3, 0])
    with dask.config.set({"dataframe.convert-string": texts}):
        assert counted(codes, stored) == counted(codes)


@pytest.mark.parametrize("promised", ["object", "datetime64[us, Asia/Tokyo]"])
def test_far_moments_of_such_a_partition_are_missing(promised: str) -> None:
    """Python has no object for them: of 64 bits of nanoseconds another moment was made, and of seconds none."""
    import dask
    import dask.dataframe as dd

    for unit in ("ns", "s"):  # the latter ended the process: it is not come to where the former is wrong
        far = pd.Series(np.array([0, 2**63 - 1, -(2**63) + 1]).view(f"M8[{unit}]")).dt.tz_localize("UTC")
        frame = pd.DataFrame({"code": far.dt.tz_convert("Asia/Tokyo")})
        first = frame.iloc[:1].astype(promised)
        parts = [dask.delayed(part) for part in (first, frame)]
        table = dd.from_delayed(parts, meta=first.iloc[:0], verify_meta=False)
        values, counts, missing = SourceColumns(DaskSource(table), RuleSet(), ["code"]).value_counts("code")
        assert all("1970-01-01" in str(value) for value in values)
        assert missing == 2
        assert counts.sum() == 2
