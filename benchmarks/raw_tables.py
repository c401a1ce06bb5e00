"""Raw tables, as a new user has them: ours declared by code book, learned privately, or mixed, and the peers.

Run: python -m benchmarks.raw_tables [--quick] [--tables adult ...] [--methods ours-declared ...] [--epsilons 1 0.3]
                                     [--repeats 2] [--limit 1800] [--report] [--worst 10]

Every repeat draws fresh training rows, half of the raw table but at most 50,000, and scores on as many other rows.
delta is 1e-9. ``ours-declared`` gets the code book of ``benchmarks/domains/`` and learns the other columns privately,
``ours-private`` nothing, ``ours-mixed`` the categories alone; ``infer`` reads the domain off the rows and claims nothing.
Peers run in environments of their own with their own preprocessing, the code book's bounds and the same total (epsilon,
delta). ``--quick``: three tables, one repeat, ours at epsilon 1.

Results are kept line by line in benchmarks/results_raw.jsonl, with the commit and a hash of our code and of the code
book: a run that was cut off goes on, and after a change of either hash ours is measured again. ``--report`` writes the
tables in benchmarks/history.md and the plot from the newest lines, ``--worst`` prints the columns that are farthest from
a plain noisy histogram.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import subprocess
import time
from pathlib import Path

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")
os.environ.setdefault("TQDM_DISABLE", "1")

import pandas as pd

from benchmarks import raw_report
from benchmarks.raw_codebooks import CodeBook, read_codebook
from benchmarks.raw_grid import table_grid, write_grid
from benchmarks.raw_methods import METHODS, NOT_PRIVATE, OURS, PEERS, WORDS, RunFailedError, make
from benchmarks.raw_scores import scores
from benchmarks.raw_sources import SOURCES, absent, read, split

HERE = Path(__file__).parent
RESULTS = HERE / "results_raw.jsonl"
QUICK = ("adult", "bank_marketing", "ma2019")
Line = dict[str, object]


def code_version() -> str:
    """Short hash of the package's sources: what changes it may change our rows."""
    digest = hashlib.sha256()
    for file in sorted((HERE.parent / "sdv_plausible").rglob("*.py")):
        digest.update(file.relative_to(HERE.parent).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()[:8]


def commit() -> str:
    """The checkout's commit, marked where tracked files differ from it."""
    said = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=7"],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=False,
    )
    return said.stdout.strip() or "unknown"


def budgets(method: str, epsilons: list[float]) -> list[float]:
    """The budgets at which a method is run: what is not private has none."""
    return [math.inf] if method in NOT_PRIVATE else epsilons


def run_key(name: str, method: str, epsilon: float, repeat: int, book: CodeBook) -> Line:
    """What tells one run from another; a peer's and SDV's rows do not depend on our code."""
    ours = method in OURS or method == "infer"
    return {
        "table": name,
        "method": method,
        "epsilon": epsilon,
        "repeat": repeat,
        "book": book.fingerprint(WORDS if method in OURS else ()),
        "code": code_version() if ours else None,
    }


def measure(key: Line, table: pd.DataFrame, book: CodeBook, limit: float) -> Line:
    """One run of one method; one that does not finish, or fails, leaves a line that says so."""
    train, test = split(table, int(key["repeat"]))  # type: ignore[call-overload]
    name, method, epsilon = str(key["table"]), str(key["method"]), float(key["epsilon"])  # type: ignore[arg-type]
    line: Line = {**key, "commit": commit(), "rows": len(train), "date": time.strftime("%Y-%m-%d")}
    try:
        rows, used = make(method, train, book, epsilon, limit, WORDS if method in OURS else ())
        return {**line, **used, **scores((train, test, rows), name, book, SOURCES[name].target, epsilon)}
    except RunFailedError as error:
        return {**line, "failed": str(error), "limit": limit}


def lines_so_far() -> list[Line]:
    """What was measured, also by another process."""
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def is_done(key: Line) -> bool:
    """Whether a run is on record: with its repeat, or as a failure of an earlier repeat."""
    wanted = {k: v for k, v in key.items() if k != "repeat"}
    same = [line for line in lines_so_far() if all(line.get(k) == v for k, v in wanted.items())]
    return any("failed" in line or line["repeat"] == key["repeat"] for line in same)


def run_table(name: str, options: argparse.Namespace) -> None:
    """Measure what is not on record of one table."""
    reason = absent(name)
    if reason:
        print(f"{name} skipped: {reason}", flush=True)
        return
    table, book = read(name), read_codebook(name)
    for repeat in range(options.repeats):
        for method in options.methods:
            for epsilon in budgets(method, options.epsilons):
                key = run_key(name, method, epsilon, repeat, book)
                if is_done(key):
                    continue
                line = measure(key, table, book, options.limit)
                with RESULTS.open("a") as file:
                    file.write(json.dumps(line) + "\n")
                print(raw_report.one_line(line), flush=True)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="*", default=list(SOURCES), choices=list(SOURCES))
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--epsilons", nargs="*", type=float, default=[1.0, 0.3])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds of one run")
    parser.add_argument(
        "--quick", action="store_true", help=f"{', '.join(QUICK)}; ours; one repeat at epsilon 1"
    )
    parser.add_argument(
        "--report", action="store_true", help="only write table and plot from what was measured"
    )
    parser.add_argument(
        "--worst", type=int, default=0, metavar="N", help="only print the N worst columns of ours"
    )
    parser.add_argument("--write-grids", action="store_true", help="only write the fixed grids afresh")
    options = parser.parse_args()
    if options.quick:
        options.tables, options.repeats, options.epsilons = list(QUICK), 1, [1.0]
        options.methods = [
            m for m in options.methods if m in OURS or (m in PEERS and options.methods != list(METHODS))
        ]
    return options


def main() -> None:
    options = arguments()
    if options.write_grids:
        for name in (name for name in options.tables if not absent(name)):
            write_grid(name, table_grid(read(name), read_codebook(name)))
        return
    if not options.report and not options.worst:
        for name in options.tables:
            run_table(name, options)
    lines = raw_report.newest(lines_so_far())
    if options.worst:
        print(raw_report.worst_columns(lines, options.methods, options.worst))
        return
    chosen = [line for line in lines if line["table"] in options.tables]
    print(raw_report.table(chosen))
    if options.report:
        raw_report.write(lines)


if __name__ == "__main__":
    main()
