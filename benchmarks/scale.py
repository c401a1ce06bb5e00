"""Fit and sample where the rows are not in memory: seconds and peak memory by the number of rows.

Run: python -m benchmarks.scale [--rows 1e5 1e6 1e7] [--folder FOLDER] [--before CHECKOUT]

Simulated rows of 11 columns in Parquet files. Each figure is from a program of its own, so that its peak memory is its own:

read      all columns once, batch by batch
texts     the same with columns of text as dictionaries, as a fit reads them
memory    three times a byte for each cell is read from memory: what three passes over codes must take
pairs     all 55 pairs counted by DuckDB: one GROUP BY with grouping sets; polars: by polars, a GROUP BY for each
fit       ``fit_source`` on one core, every pass reading the files again; fit kept: with codes kept on disk (``scratch``)
fit 2, fit kept 2   the same on two cores; with a load above 1 when they start, times are no measure of cores
fit kept before     ``fit kept`` by the version in CHECKOUT
dask 1, 2 the same on a local cluster of one and of two worker processes
spark 1, 2  the same in a local session of Spark of one and of two cores; start: what the session takes before the fit
sample    as many rows into a folder of Parquet files; sample 2: by two processes; ints: random numbers of as many
          columns, written the same way

``--wide`` takes 40 columns. CPU seconds are those of all processes of a task. The bound of ``fit kept`` is 1.5 times
(read + memory). All ratios are of tasks of one run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, nullcontext, suppress
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
from sdv_plausible.sources.worker_pool import RUNNING

RESULTS, PICTURE = (Path(__file__).with_name(name) for name in ("results_scale.jsonl", "scale.png"))
FILE_ROWS, BATCH, PASSES = 1_000_000, 1 << 19, 3
DIFFERENT = 10  # files; more are copies of them
BEFORE = "fit kept before"


def write_rows(folder: Path, rows: int) -> None:
    """Simulated rows, a file for each million; beyond ten million the same again."""
    folder.mkdir(parents=True, exist_ok=True)
    for i, start in enumerate(range(0, rows, FILE_ROWS)):
        path = folder / f"rows-{i:05d}.parquet"
        if not path.exists() and i < DIFFERENT:
            census_like(min(FILE_ROWS, rows - start), i).to_parquet(path, index=False, row_group_size=BATCH)
        elif not path.exists():
            shutil.copyfile(folder / f"rows-{i % DIFFERENT:05d}.parquet", path)


def write_wide(folder: Path, rows: int) -> None:
    """Simulated rows of 40 columns: four people to a row, but for four columns."""
    folder.mkdir(parents=True, exist_ok=True)
    for i, start in enumerate(range(0, rows, FILE_ROWS)):
        path = folder / f"rows-{i:05d}.parquet"
        if not path.exists():
            four = [
                census_like(min(FILE_ROWS, rows - start), 4 * i + j).add_suffix(f"_{j}") for j in range(4)
            ]
            pd.concat(four, axis=1).iloc[:, :40].to_parquet(path, index=False, row_group_size=BATCH)


def declared(folder: Path) -> dict[str, dict[str, Any]]:
    """Declarations of the columns of a folder."""
    names, known = pq.read_schema(next(folder.glob("*.parquet"))).names, census_like_metadata()
    return {name: known.get(name) or known[name[:-2]] for name in names}


def rows_of(folder: Path) -> int:
    return sum(pq.ParquetFile(path).metadata.num_rows for path in folder.glob("*.parquet"))


def cpu_seconds() -> float:
    """Of this process and those of its children that have ended."""
    return sum(os.times()[:4])


def read(folder: Path) -> None:
    for path in sorted(folder.glob("*.parquet")):
        with pq.ParquetFile(path) as file:
            for _ in file.iter_batches(BATCH):
                pass


def texts(folder: Path) -> None:
    for path in sorted(folder.glob("*.parquet")):
        schema = pq.read_schema(path)
        names = [name for name in schema.names if pa.types.is_string(schema.field(name).type)]
        with pq.ParquetFile(path, read_dictionary=names) as file:
            for _ in file.iter_batches(BATCH, use_threads=False):
                pass


def memory(folder: Path) -> None:
    """A byte for each cell, summed as often as a fit goes over them: by memory, as the whole is larger than any cache."""
    cells = np.ones(rows_of(folder) * len(declared(folder)) // 8 + 1, dtype=np.int64)
    start, used = time.perf_counter(), cpu_seconds()
    for _ in range(PASSES):
        cells.sum()
    FOUND.update(seconds=time.perf_counter() - start, cpu=cpu_seconds() - used)


def pairs(folder: Path) -> None:
    import duckdb

    duckdb.sql("SET threads = 1")
    names = list(declared(folder))
    sets = ", ".join(f'("{a}", "{b}")' for a, b in combinations(names, 2))
    columns = ", ".join(f'"{name}"' for name in names)
    duckdb.sql(
        f"SELECT {columns}, count(*) FROM '{folder}/*.parquet' GROUP BY GROUPING SETS ({sets})"
    ).to_arrow_table()


def by_polars(folder: Path) -> None:
    os.environ["POLARS_MAX_THREADS"] = "1"
    import polars as pl

    rows = pl.scan_parquet(f"{folder}/*.parquet")
    asked = [rows.group_by(a, b).len() for a, b in combinations(declared(folder), 2)]
    pl.collect_all(asked, engine="streaming")


def fit(workers: int | None, *, kept: bool = False) -> Callable[[Path], Any]:
    """``workers``: none for a version that did not know them."""

    def run(folder: Path) -> Any:
        more: dict[str, Any] = {} if workers is None else {"workers": workers}
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            if kept:
                more["scratch"] = scratch
            return fit_source(folder, None, declared(folder), **more)

    return run


def on_dask(workers: int) -> Callable[[Path], None]:
    def run(folder: Path) -> None:
        import dask.dataframe as dd
        from distributed import Client

        with Client(n_workers=workers, threads_per_worker=1, dashboard_address=None):
            fit_source(dd.read_parquet(folder), None, declared(folder))

    return run


def on_spark(cores: int) -> Callable[[Path], None]:
    def run(folder: Path) -> None:
        from pyspark.sql import SparkSession

        start, used = time.perf_counter(), cpu_seconds()
        words = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.memory": "2g",
        }
        builder = SparkSession.builder.master(f"local[{cores}]")
        for name, value in words.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        java = session.sparkContext._gateway.proc
        table = session.read.parquet(str(folder))
        begun, first = time.perf_counter(), cpu_seconds() - used + cpu_of_living(java.pid)
        fit_source(table, None, declared(folder))
        last = cpu_seconds() - used + cpu_of_living(java.pid)
        FOUND.update(
            seconds=time.perf_counter() - begun, cpu=last - first, start=begun - start, start_cpu=first
        )
        session.stop()

    return run


def cpu_of_living(process: int) -> float:
    """CPU seconds of a process that has not ended, and of all that it has started."""
    fields = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            fields[int(stat.parent.name)] = [*map(int, stat.read_text().rsplit(")", 1)[1].split()[1:15])]
    found, more = set[int](), {process}
    while more:
        found |= more
        more = {pid for pid, (parent, *_) in fields.items() if parent in more}
    return sum(sum(fields[pid][10:14]) for pid in found) / os.sysconf("SC_CLK_TCK")


def sampled(workers: int) -> Callable[[Path], None]:
    def run(folder: Path) -> None:
        small = fit_source(next(iter(sorted(folder.glob("*.parquet")))), None, declared(folder))
        with ExitStack() as stack:
            out = stack.enter_context(tempfile.TemporaryDirectory(dir=folder.parent))
            start, used = time.perf_counter(), cpu_seconds()
            with ProcessPoolExecutor(workers) if workers > 1 else nullcontext() as executor:
                small.sample_to_parquet(Path(out) / "rows", rows_of(folder), executor=executor)
            FOUND.update(seconds=time.perf_counter() - start, cpu=cpu_seconds() - used)

    return run


def ints(folder: Path) -> None:
    rows, rng, width = rows_of(folder), np.random.default_rng(0), len(declared(folder))
    with tempfile.TemporaryDirectory(dir=folder.parent) as out:
        for start in range(0, rows, 500_000):
            size = min(500_000, rows - start)
            columns = {f"c{j}": rng.integers(0, 100, size) for j in range(width)}
            pq.write_table(pa.table(columns), Path(out) / f"{start}.parquet")


TASKS: dict[str, Callable[[Path], Any]] = {
    "read": read, "texts": texts, "memory": memory, "pairs": pairs, "polars": by_polars,
    "fit": fit(1), "fit 2": fit(2), "fit kept": fit(1, kept=True), "fit kept 2": fit(2, kept=True), "fit kept before": fit(None, kept=True),
    "dask 1": on_dask(1), "dask 2": on_dask(2), "spark 1": on_spark(1), "spark 2": on_spark(2),
    "sample": sampled(1), "sample 2": sampled(2), "ints": ints,
}  # fmt: skip
FOUND: dict[str, float] = {}


def measured(task: str, folder: Path) -> dict[str, float]:
    """Run one task here: seconds, CPU seconds, gigabytes, passes over the rows."""
    passes, total = [0], LocalSource.total

    def counted(self: LocalSource, work: Any, names: Any) -> Any:
        passes[0] += 1
        return total(self, work, names)

    LocalSource.total = counted  # type: ignore[method-assign]
    load = os.getloadavg()[0]
    start, used = time.perf_counter(), cpu_seconds()
    TASKS[task](folder)
    for executor in RUNNING.values():  # processes report what they used when they end
        executor.shutdown()
    found = {"seconds": time.perf_counter() - start, "cpu": cpu_seconds() - used} | FOUND
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e9
    return {name: round(value, 2) for name, value in found.items()} | {
        "gigabytes": round(peak, 2),
        "passes": passes[0],
        "load": round(load, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="+", type=float, default=[1e5, 1e6, 1e7])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "scale")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    parser.add_argument("--wide", action="store_true", help="40 columns")
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="of an earlier version")
    parser.add_argument("--only", nargs=2, metavar=("TASK", "FOLDER"))
    arguments = parser.parse_args()
    if arguments.only:
        print(json.dumps(measured(arguments.only[0], Path(arguments.only[1]))))
        return
    for rows in map(int, arguments.rows):
        folder = arguments.folder / (f"{rows}x40" if arguments.wide else str(rows))
        (write_wide if arguments.wide else write_rows)(folder, rows)
        for task in arguments.tasks:
            if task == BEFORE and arguments.before is None:
                continue
            if task in ("fit 2", "fit kept 2"):  # of the programs before, too, the load tells for a while
                for _ in range(90):
                    time.sleep(1 if os.getloadavg()[0] > 0.8 else 0)
            # this program, with the package of the version that is measured
            package = Path(__file__).parents[1] if task != BEFORE else arguments.before.resolve()
            command = [sys.executable, str(Path(__file__)), "--only", task, str(folder)]
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=True,
                env={**os.environ, "PYTHONPATH": str(package)},
            )
            line = {
                "rows": rows,
                "columns": 40 if arguments.wide else 11,
                "task": task,
                **json.loads(done.stdout.strip().splitlines()[-1]),
            }
            print(line, flush=True)
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
    print(table(), slopes(), ratios(), sep="\n")
    plot()


def results() -> pd.DataFrame:
    """The last line of every task, by rows and columns."""
    lines = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    return pd.DataFrame(lines).drop_duplicates(["rows", "columns", "task"], keep="last")


def table() -> pd.DataFrame:
    """CPU seconds by task, and slopes between the sizes."""
    cpu = results().pivot(index=["columns", "rows"], columns="task", values="cpu")
    return cpu[[task for task in TASKS if task in cpu]]


def ratios() -> pd.DataFrame:
    """What is asked of a fit with codes kept: each at most the figure in its name."""
    lines = results()[lambda lines: lines["columns"] == 11].pivot(index="rows", columns="task")
    cpu, seconds = lines["cpu"], lines["seconds"]
    nan = pd.Series(np.nan, index=cpu.index)
    kept = cpu.get("fit kept", nan)
    idle = lines["load"].get("fit kept 2", nan) < 1
    return pd.DataFrame(
        {
            "CPU of before, .7": kept / cpu.get(BEFORE, nan),
            "time of one core, .6": (seconds.get("fit kept 2", nan) / seconds.get("fit kept", nan)).where(
                idle
            ),
            "read + memory, 1.5": kept / (cpu.get("read", nan) + cpu.get("memory", nan)),
            "texts + memory": kept / (cpu.get("texts", nan) + cpu.get("memory", nan)),
            "DuckDB's pairs": kept / cpu.get("pairs", nan),
            "polars' pairs": kept / cpu.get("polars", nan),
            "Dask of it, 1.5": cpu.get("dask 1", nan) / kept,
            "Spark of it": cpu.get("spark 1", nan) / kept,
            "sample of ints, 2": cpu.get("sample", nan) / cpu.get("ints", nan),
        }
    ).round(2)


def slopes() -> pd.DataFrame:
    """Exponent of the rows between one size and the next, 11 columns."""
    narrow = np.log10(table().loc[11])
    return narrow.diff().div(np.diff(np.log10(narrow.index), prepend=np.nan), axis=0).iloc[1:].round(2)


def plot() -> None:
    """CPU seconds and peak memory by rows, both logarithmic."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    found = results()[lambda lines: lines["columns"] == 11].sort_values("rows")
    figure, (time_, memory) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for task in ("read", "pairs", BEFORE, "fit", "fit kept", "fit kept 2", "dask 1", "sample", "ints"):
        of_task = found[found["task"] == task]
        for axes, column in ((time_, "cpu"), (memory, "gigabytes")):
            axes.plot(of_task["rows"], of_task[column], marker="o", label=task)
    time_.set(xscale="log", yscale="log", xlabel="rows of 11 columns", ylabel="CPU seconds")
    memory.set(xscale="log", ylim=(0, 2), xlabel="rows of 11 columns", ylabel="peak memory, GB")
    memory.legend(fontsize=8, ncols=2, loc="upper left")
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    main()
