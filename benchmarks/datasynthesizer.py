"""DataSynthesizer's correlated mode, theirs and ours, on raw adult (15 columns, k = 4): seconds and distances.

Run: python -m benchmarks.datasynthesizer [--epsilon 1] [--k 4] [--limit 7200] [--ours-only]

Theirs runs in an environment of its own, which this script makes under benchmarks/results/, and is stopped after ``--limit``
seconds: the ratio is then a lower bound. Both get the 32,561 training rows as a CSV file and no configuration; ours learns
types and value sets within the same epsilon, theirs writes them down as they are, so its true epsilon is infinite. Distances
are total variation from the test rows, of single columns and of pairs, numbers in 20 quantile bins of the test rows.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import pandas as pd

from benchmarks.environments import interpreter
from benchmarks.utility_scores import distances
from benchmarks.utility_tables import DATA

HERE = Path(__file__).parent
REQUIREMENT = "DataSynthesizer==0.1.13"


def ours(source: Path, folder: Path, epsilon: float, k: int) -> tuple[pd.DataFrame, float]:
    """Describe and generate on the command line, in one process; seconds include reading the file."""
    from sdv_plausible.cli import main

    description, output = folder / "ours.json", folder / "ours.csv"
    start = time.perf_counter()
    options = ["--epsilon", str(epsilon), "--max-parents", str(k), "--overwrite"]
    assert main(["describe", str(source), "-o", str(description), *options]) == 0
    seconds = time.perf_counter() - start
    assert main(["generate", str(description), "-o", str(output), "--overwrite"]) == 0
    return pd.read_csv(output), seconds


def theirs(
    source: Path, folder: Path, epsilon: float, k: int, limit: float
) -> tuple[pd.DataFrame | None, float]:
    """DataSynthesizer; no table where it was stopped."""
    python = interpreter("datasynthesizer", REQUIREMENT)
    output = folder / "theirs.csv"
    command = [python, HERE / "datasynthesizer_peer.py", source, output, str(epsilon), str(k)]
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None, limit
    return pd.read_csv(output), float(json.loads(done.stdout.splitlines()[-1])["describe"])


def scored(test: pd.DataFrame, synthetic: pd.DataFrame) -> tuple[float, float]:
    """Mean distances of single columns and of pairs."""
    from sdv_plausible.evaluation.coding import encode

    kinds = {
        name: "numerical" if pd.api.types.is_numeric_dtype(test[name]) else "categorical" for name in test
    }
    coded = encode([test, synthetic[list(test)]], kinds, num_bins=20)
    return distances(coded.tables[0], coded.tables[1], list(coded.cardinalities))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--k", type=int, default=4)
    parser.add_argument("--limit", type=float, default=7200.0)
    parser.add_argument("--ours-only", action="store_true")
    options = parser.parse_args()
    train, test = (pd.read_csv(DATA / "adult" / f"adult_{part}.csv.gz") for part in ("train", "test"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train.to_csv(folder / "adult.csv", index=False)
        made, seconds = ours(folder / "adult.csv", folder, options.epsilon, options.k)
        print(f"ours: {seconds:.1f} s, distances {scored(test, made)}")
        if options.ours_only:
            return
        peer, theirs_seconds = theirs(folder / "adult.csv", folder, options.epsilon, options.k, options.limit)
        shown = "not finished" if peer is None else f"distances {scored(test, peer)}"
        print(
            f"DataSynthesizer: {theirs_seconds:.1f} s, {shown}; ratio of times {theirs_seconds / seconds:.0f}"
        )


if __name__ == "__main__":
    main()
