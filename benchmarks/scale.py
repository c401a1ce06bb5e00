"""Fit and sample where the rows are not in memory: seconds and peak memory by the number of rows.

Run: python -m benchmarks.scale [--rows 1e5 1e6 1e7] [--folder FOLDER]

Simulated rows of 11 columns in Parquet files. Each figure is from a program of its own, so that its peak memory is its own:

read      all columns once, batch by batch
pairs     all 55 pairs counted by DuckDB: one GROUP BY with grouping sets
fit       ``fit_source``, every pass reading the files again; fit kept: with codes kept on disk (``scratch``)
dask 1, 2 the same on a local cluster of one and of two worker processes
sample    as many rows into a folder of Parquet files; ints: random numbers of as many columns, written the same way
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from sdv_plausible import fit_source
from sdv_plausible.datasets import census_like, census_like_metadata
from sdv_plausible.sources.source import LocalSource

RESULTS = Path(__file__).with_name("results_scale.jsonl")
FILE_ROWS, BATCH = 1_000_000, 1 << 19


def write_rows(folder: Path, rows: int) -> None:
    """Simulated rows, a file for each million."""
    folder.mkdir(parents=True, exist_ok=True)
    for i, start in enumerate(range(0, rows, FILE_ROWS)):
        path = folder / f"rows-{i:05d}.parquet"
        if not path.exists():
            census_like(min(FILE_ROWS, rows - start), i).to_parquet(path, index=False, row_group_size=BATCH)


def read(folder: Path) -> None:
    for path in sorted(folder.glob("*.parquet")):
        with pq.ParquetFile(path) as file:
            for _ in file.iter_batches(BATCH):
                pass


def pairs(folder: Path) -> None:
    import duckdb

    duckdb.sql("SET threads = 1")
    names = list(census_like_metadata())
    sets = ", ".join(f'("{a}", "{b}")' for a, b in combinations(names, 2))
    columns = ", ".join(f'"{name}"' for name in names)
    duckdb.sql(
        f"SELECT {columns}, count(*) FROM '{folder}/*.parquet' GROUP BY GROUPING SETS ({sets})"
    ).to_arrow_table()


def fit(folder: Path, **more: Any) -> Any:
    return fit_source(folder, None, census_like_metadata(), **more)


def fit_kept(folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        fit(folder, scratch=scratch)


def on_dask(workers: int) -> Callable[[Path], None]:
    def run(folder: Path) -> None:
        import dask.dataframe as dd
        from distributed import Client

        with Client(n_workers=workers, threads_per_worker=1, dashboard_address=None):
            fit_source(dd.read_parquet(folder), None, census_like_metadata())

    return run


def sample(folder: Path) -> None:
    rows = sum(pq.ParquetFile(path).metadata.num_rows for path in folder.glob("*.parquet"))
    small = fit_source(next(iter(sorted(folder.glob("*.parquet")))), None, census_like_metadata())
    with tempfile.TemporaryDirectory(dir=folder.parent) as out:
        start = time.perf_counter()
        small.sample_to_parquet(Path(out) / "rows", rows)
        FOUND["seconds"] = time.perf_counter() - start


def ints(folder: Path) -> None:
    rows = sum(pq.ParquetFile(path).metadata.num_rows for path in folder.glob("*.parquet"))
    rng, width = np.random.default_rng(0), len(census_like_metadata())
    with tempfile.TemporaryDirectory(dir=folder.parent) as out:
        for start in range(0, rows, 500_000):
            size = min(500_000, rows - start)
            columns = {f"c{j}": rng.integers(0, 100, size) for j in range(width)}
            pq.write_table(pa.table(columns), Path(out) / f"{start}.parquet")


TASKS: dict[str, Callable[[Path], Any]] = {
    "read": read, "pairs": pairs, "fit": fit, "fit kept": fit_kept, "dask 1": on_dask(1),
    "dask 2": on_dask(2), "sample": sample, "ints": ints,
}  # fmt: skip
FOUND: dict[str, float] = {}


def measured(task: str, folder: Path) -> dict[str, float]:
    """Run one task here: seconds, gigabytes, passes over the rows."""
    passes, total = [0], LocalSource.total

    def counted(self: LocalSource, work: Any, names: Any) -> Any:
        passes[0] += 1
        return total(self, work, names)

    LocalSource.total = counted  # type: ignore[method-assign]
    start = time.perf_counter()
    TASKS[task](folder)
    seconds = FOUND.get("seconds", time.perf_counter() - start)
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e9
    return {"seconds": round(seconds, 2), "gigabytes": round(peak, 2), "passes": passes[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="+", type=float, default=[1e5, 1e6, 1e7])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "scale")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    parser.add_argument("--only", nargs=2, metavar=("TASK", "FOLDER"))
    arguments = parser.parse_args()
    if arguments.only:
        print(json.dumps(measured(arguments.only[0], Path(arguments.only[1]))))
        return
    for rows in map(int, arguments.rows):
        folder = arguments.folder / str(rows)
        write_rows(folder, rows)
        for task in arguments.tasks:
            command = [sys.executable, "-m", "benchmarks.scale", "--only", task, str(folder)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            line = {"rows": rows, "task": task, **json.loads(done.stdout.strip().splitlines()[-1])}
            print(line, flush=True)
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
    print(table())


def table() -> pd.DataFrame:
    """Rows by task, in seconds."""
    lines = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    return pd.DataFrame(lines).pivot_table(index="rows", columns="task", values="seconds", aggfunc="last")


if __name__ == "__main__":
    main()
