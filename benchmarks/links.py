"""How strong links between columns stay: mean distance of pairs of synthetic rows to rows that nobody has seen.

Run: python -m benchmarks.links [--tables flights ...] [--epsilons 1 10 inf] [--splits 700 701 702] [--even]
                                [--results FILE] [--report]

Every pair of columns, total variation distance: numbers in 16 bins with as many real rows each, every category by itself, a
missing cell as a value of its own. ``real`` are the training rows: what sampling alone does. Tables are those of
benchmarks.declared_tables, the synthesizer as shipped, at the table's delta. Results are kept line by line in
benchmarks/results_links.jsonl, or in ``--results``; runs that are there are not run again.

``--even`` instead fits the same training rows (the first split) six times at the first epsilon, and shows for the ten strongest
pairs (farthest from independence in the training rows) the median and the worst distance of the six.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.declared_tables import DECLARED, DeclaredTable
from benchmarks.utility import Line, cpu, interval, read, synthesized
from sdv_plausible.evaluation.table_codes import pair_distances, total_variation

KEPT = Path(__file__).parent / "results_links.jsonl"
BINS, FITS, STRONGEST = 16, 6, 10
Codes = tuple[np.ndarray, list[int]]
Declared = Mapping[str, Mapping[str, Any]]


def coded(declared: Declared, real: pd.DataFrame, rows: pd.DataFrame) -> Codes:
    """Codes of ``rows``, whose bins of numbers hold equal shares of ``real``, and the number of codes of every column."""
    codes, sizes = [], []
    for name, spec in declared.items():
        if spec["sdtype"] in ("numerical", "datetime"):
            values, of_real = (_numbers(table[name], spec) for table in (rows, real))
            edges = np.unique(np.nanquantile(of_real, np.linspace(0, 1, BINS + 1)[1:-1]))
            found = np.searchsorted(edges, values, side="right")
            known, size = ~np.isnan(values), len(edges) + 1
        else:
            found = pd.Index(spec["range_values"]).get_indexer(rows[name])
            known, size = found >= 0, len(spec["range_values"])
        codes.append(np.where(known, found, size))
        sizes.append(size + 1)
    return np.stack(codes, axis=1), sizes


def _numbers(column: pd.Series, spec: Mapping[str, Any]) -> np.ndarray:
    """Numbers as they are, dates as seconds."""
    if spec["sdtype"] == "datetime":
        column = (
            pd.to_datetime(column, format=spec["datetime_format"]).sub(pd.Timestamp(0)).dt.total_seconds()
        )
    return column.to_numpy(float)


def pairs(
    table: DeclaredTable, train: pd.DataFrame, unseen: pd.DataFrame, rows: pd.DataFrame
) -> dict[str, float]:
    """Distance of every pair of ``rows`` to the unseen ones, in bins of all real rows."""
    real = pd.concat([train, unseen])
    made, sizes = coded(table.declared, real, rows)
    target, _ = coded(table.declared, real, unseen)
    names = list(table.declared)
    return {f"{names[i]} x {names[j]}": d for (i, j), d in pair_distances(made, target, sizes).items()}


def strongest(table: DeclaredTable, train: pd.DataFrame) -> list[str]:
    """The pairs that are farthest from independence, by total variation distance in the training rows."""
    codes, sizes = coded(table.declared, train, train)
    names, found = list(table.declared), {}
    for i, j in itertools.combinations(range(len(names)), 2):
        cells = np.ravel_multi_index((codes[:, i], codes[:, j]), (sizes[i], sizes[j]))
        counts = np.bincount(cells, minlength=sizes[i] * sizes[j]).reshape(sizes[i], sizes[j])
        apart = np.outer(counts.sum(1), counts.sum(0))
        found[f"{names[i]} x {names[j]}"] = total_variation(counts, apart)
    return sorted(found, key=lambda pair: -found[pair])[:STRONGEST]


def measure(name: str, table: DeclaredTable, epsilon: float | None, split: int) -> Line:
    """One run, or what real rows have where ``epsilon`` is None."""
    train, unseen = table.split(split)
    before, rows, seconds = cpu(), train, 0.0
    if epsilon is not None:
        rows, seconds = synthesized(train, table.declared, epsilon, table.delta)
    used = cpu() - before
    found = pairs(table, train, unseen, rows)
    worst = max(found, key=lambda pair: found[pair])
    run: Line = {"table": name, "epsilon": epsilon, "repeat": split}
    return {**run, "pairs": float(np.mean(list(found.values()))), "worst": worst, "its": found[worst], "fit s": seconds, "cpu s": used}  # fmt: skip


def report(lines: list[Line]) -> str:
    """Markdown table of means and 95 % intervals of the mean, and how many times the distance of real rows that is."""
    frame = pd.DataFrame(lines)
    epsilons = sorted(frame["epsilon"].dropna().unique())
    heads = ["table", "splits", "real", *(f"eps {e:g}" for e in epsilons), "cpu s"]
    out = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    for name, runs in frame.groupby("table", sort=False):
        real = runs[runs["epsilon"].isna()]["pairs"]
        cells = [f"{real.mean():.4f}"]
        for epsilon in epsilons:
            here = runs[runs["epsilon"] == epsilon]["pairs"]
            spread = interval(here)
            shown = f"{here.mean():.4f}" + ("" if math.isnan(spread) else f" ± {spread:.4f}")
            cells.append(f"{shown} ({here.mean() / real.mean():.2f})" if len(here) else "")
        seconds = runs.dropna(subset="epsilon").groupby("epsilon")["cpu s"].mean()
        cells.append(", ".join(f"{s:.1f}" for s in seconds))
        out.append(f"| {name} | {runs['repeat'].nunique()} | " + " | ".join(cells) + " |")
    return "\n".join(out)


def even(table: DeclaredTable, epsilon: float, split: int) -> str:
    """Markdown table: the strongest pairs over fits of the same rows."""
    train, unseen = table.split(split)
    fits = [
        pairs(table, train, unseen, synthesized(train, table.declared, epsilon, table.delta)[0])
        for _ in range(FITS)
    ]
    of_real = pairs(table, train, unseen, train)
    out = ["| pair | real | median | worst | worst / median |", "|" + " --- |" * 5]
    for pair in strongest(table, train):
        found = [fit[pair] for fit in fits]
        middle, worst = float(np.median(found)), max(found)
        out.append(f"| {pair} | {of_real[pair]:.3f} | {middle:.3f} | {worst:.3f} | {worst / middle:.2f} |")
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="*", default=list(DECLARED), choices=list(DECLARED))
    parser.add_argument("--epsilons", nargs="*", type=float, default=[1.0, 10.0, math.inf])
    parser.add_argument("--splits", nargs="*", type=int, default=[700, 701, 702])
    parser.add_argument("--even", action="store_true", help="six fits of the same rows")
    parser.add_argument("--results", type=Path, default=KEPT, help="file of lines to go on with")
    parser.add_argument("--report", action="store_true", help="only show the table of what was measured")
    options = parser.parse_args()
    for name in [] if options.report else options.tables:
        table = DECLARED[name]()
        if options.even:
            print(
                f"\n{name}, epsilon {options.epsilons[0]:g}\n\n{even(table, options.epsilons[0], options.splits[0])}",
                flush=True,
            )
            continue
        for split, epsilon in itertools.product(options.splits, [None, *options.epsilons]):
            run = {"table": name, "epsilon": epsilon, "repeat": split}
            if any(run.items() <= line.items() for line in read(options.results)):
                continue
            result = measure(name, table, epsilon, split)
            with options.results.open("a") as file:
                file.write(json.dumps(result) + "\n")
            print(result, flush=True)
    if not options.even:
        print(report(read(options.results)))


if __name__ == "__main__":
    main()
