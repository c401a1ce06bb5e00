"""DataSynthesizer's correlated mode, theirs and ours, on raw adult (15 columns): CPU seconds and distances.

Run: python -m benchmarks.datasynthesizer [--epsilon 1] [--k 4] [--limit 1200] [--repeats 5] [--ours-only]

Both get the 32,561 training rows as a CSV file and no configuration, and write as many rows; ours learns types and value
sets within the same epsilon, theirs writes them down as they are, so its true epsilon is infinite. Seconds are those of
the CPU, of whole commands, start of Python and imports included, all processes added: they depend little on what else the
machine does. Theirs runs in an environment of its own, which this script makes under benchmarks/results/, and is stopped
after ``--limit`` CPU seconds: the ratio is then a lower bound, printed with ">=". Distances are total variation from the
test rows, of single columns and of pairs, numbers in 20 quantile bins of the test rows.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

import pandas as pd

from benchmarks.environments import cpu_seconds, interpreter
from benchmarks.utility_scores import distances
from benchmarks.utility_tables import DATA

HERE = Path(__file__).parent
REQUIREMENT = "DataSynthesizer==0.1.13"
PLACED = ("Adding ROOT", "Adding attribute")  # what theirs prints for each column of its network


def ours(source: Path, folder: Path, epsilon: float, k: int) -> tuple[pd.DataFrame, float, float]:
    """Describe and generate on the command line: the rows and the CPU seconds of each."""
    description, output = folder / "ours.json", folder / "ours.csv"
    command = [sys.executable, "-m", "sdv_plausible"]
    options = ["--mode", "correlated", "--epsilon", epsilon, "--max-parents", k, "--overwrite"]
    log, rows = folder / "ours.log", len(pd.read_csv(source))
    fit, _ = cpu_seconds([*command, "describe", source, "-o", description, *options], 3600, log)
    make, _ = cpu_seconds(
        [*command, "generate", description, "-n", rows, "-o", output, "--overwrite"], 3600, log
    )
    return pd.read_csv(output), fit, make


def theirs(
    source: Path, folder: Path, epsilon: float, k: int, limit: float
) -> tuple[pd.DataFrame | None, float, int]:
    """DataSynthesizer: its rows (none where it was stopped), CPU seconds and the columns that it placed."""
    python = interpreter("datasynthesizer", REQUIREMENT)
    output, log = folder / "theirs.csv", folder / "theirs.log"
    command = [python, "-u", HERE / "datasynthesizer_peer.py", source, output, epsilon, k]
    seconds, finished = cpu_seconds(command, limit, log)
    placed = sum(line.startswith(PLACED) for line in log.read_text().splitlines())
    return (pd.read_csv(output) if finished else None), seconds, placed


def scored(test: pd.DataFrame, synthetic: pd.DataFrame) -> str:
    """Mean distances of single columns and of pairs."""
    from sdv_plausible.evaluation.table_codes import encode

    kinds = {
        name: "numerical" if pd.api.types.is_numeric_dtype(test[name]) else "categorical" for name in test
    }
    coded = encode([test, synthetic[list(test)]], kinds, num_bins=20)
    single, pairs = distances(coded.tables[0], coded.tables[1], list(coded.cardinalities))
    return f"distances {single:.3f} and {pairs:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--k", type=int, default=4)
    parser.add_argument(
        "--limit", type=float, default=1200.0, help="CPU seconds after which theirs is stopped"
    )
    parser.add_argument("--repeats", type=int, default=5, help="runs of ours")
    parser.add_argument("--ours-only", action="store_true")
    options = parser.parse_args()
    train, test = (pd.read_csv(DATA / "adult" / f"adult_{part}.csv.gz") for part in ("train", "test"))
    totals = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "adult.csv"
        train.to_csv(source, index=False)
        for _ in range(options.repeats):
            made, fit, make = ours(source, folder, options.epsilon, options.k)
            totals.append(fit + make)
            print(f"ours: describe {fit:.1f} s, generate {make:.1f} s, {scored(test, made)}", flush=True)
        if options.ours_only:
            return
        peer, seconds, placed = theirs(source, folder, options.epsilon, options.k, options.limit)
        shown = (
            scored(test, peer)
            if peer is not None
            else f"stopped with {placed} of {len(test.columns)} columns"
        )
        sign = ">=" if peer is None else "="
        typical, slowest = (seconds / found for found in (statistics.median(totals), max(totals)))
        print(f"DataSynthesizer, k = {options.k}: {seconds:.0f} s, {shown}")
        print(
            f"ratio of CPU seconds {sign} {typical:.0f} (median of ours), {sign} {slowest:.0f} (slowest of ours)"
        )


if __name__ == "__main__":
    main()
