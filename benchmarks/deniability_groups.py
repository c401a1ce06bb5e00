"""Groups of seeds chosen by the model, instead of an order of columns, at equal total.

Run: python -m benchmarks.deniability_groups [--tables adult acs2013] [--totals 1 4] [--runs 2] [--out FILE]

The model's own rows decide which values a record keeps: a tree splits on the column by which most expected records can
keep one more value, where at least ``LARGE`` times the smallest released group is expected to share it. Common records
keep many values, and rare ones few. A record is in one group, so groups cost what prefix groups cost. Half of a total is
the groups' (``epsilon0``). Compared with the default and with ``ReleaseTest`` that keeps one or two values, by the mean
distance of pairs to unseen rows (``floor``: of as many real rows), and the mean number of values that a row keeps.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.deniability import TRAINED, passing
from benchmarks.utility_scores import distances
from benchmarks.utility_tables import TABLES, CodedTable
from sdv_plausible import PlausibleDeniabilitySynthesizer, ReleaseTest, metadata_of
from sdv_plausible.privacy.neighbours import ONE_ROW
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

K, LARGE, DRAWN, ROWS = 50, 1.5, 100_000, 10_000
Group = dict[int, int]  # column -> kept value


def tree(drawn: np.ndarray, least: float, kept: Group, inside: np.ndarray) -> list[tuple[Group, Any]]:
    """Leaves: kept values, and the column and values whose records belong to deeper groups (None: no such)."""
    best: tuple[int, int, np.ndarray] = (0, -1, np.array([]))
    for column in {*range(drawn.shape[1])} - {*kept}:
        values, counts = np.unique(drawn[inside, column], return_counts=True)
        large = counts >= least
        best = max(best, (int(counts[large].sum()), column, values[large]), key=lambda found: found[0])
    mass, column, values = best
    if 2 * mass < inside.sum() or not mass:
        return [(kept, None)]
    leaves: list[tuple[Group, Any]] = [(kept, (column, values))]
    for value in values:
        leaves += tree(drawn, least, {**kept, column: int(value)}, inside & (drawn[:, column] == value))
    return leaves


def members(rows: np.ndarray, leaf: tuple[Group, Any]) -> np.ndarray:
    """Which records belong to a leaf."""
    kept, deeper = leaf
    inside = np.all([rows[:, j] == value for j, value in kept.items()] or [np.ones(len(rows), bool)], axis=0)
    return inside if deeper is None else inside & ~np.isin(rows[:, deeper[0]], deeper[1])


def measured(table: CodedTable, name: str, kept: int | None, total: float, run: int) -> dict[str, Any]:
    """One fit at one total, and its scores; ``kept`` is None for groups chosen by the model."""
    real, rest = table.split(run)
    train, other = real[:TRAINED], rest[:ROWS]
    columns, words = len(table.names), table.declaration()
    given: dict[str, Any] = {"metadata": metadata_of(words), "domain": words, "delta": table.delta}
    given["max_bins"] = max(table.cardinalities) + 1
    test = ReleaseTest(
        k=K, epsilon0=total / 2, omega=columns - (1 if kept is None else kept) if kept != 0 else None
    )
    epsilon = PlausibleDeniabilitySynthesizer(**given, test=test).plan(total=total).epsilon
    test_of_fit = ReleaseTest() if kept is None else test
    synth = PlausibleDeniabilitySynthesizer(**given, test=test_of_fit, epsilon=epsilon)
    synth.fit(pd.DataFrame(train, columns=table.names))
    passed, values = (1.0, float(kept or 0)) if kept is not None else (1.0, 0.0)
    if kept is not None:
        made = synth.sample(ROWS)[table.names].to_numpy()
        passed = passing(synth, len(train))[0]
    else:
        drawn = synth.sample(DRAWN)[table.names].to_numpy()
        bound = test.bound(table.delta / 2, ONE_ROW)
        least = LARGE * (K + bound.margin) * DRAWN / TRAINED
        leaves = tree(drawn, least, {}, np.ones(DRAWN, bool))
        sizes, rng = np.array([members(train, leaf).sum() for leaf in leaves]), KeyedRNG.from_os_entropy()
        assert sizes.sum() == len(train)
        chosen, noisy = bound.release(sizes, rng.spawn("sizes"))
        rows = np.random.default_rng(run).multinomial(ROWS, noisy / noisy.sum())
        parts = [
            synth._sampler.sample(int(number), leaves[leaf][0], rng.spawn("rows", int(leaf)))
            for leaf, number in zip(chosen, rows, strict=True)
            if number
        ]
        made, passed = np.concatenate(parts), float(sizes[chosen].sum() / len(train))
        values = float(sum(len(leaves[leaf][0]) * n for leaf, n in zip(chosen, rows, strict=True)) / ROWS)
    return {
        "test": name, "total": total, "model": epsilon, "pairs": distances(made, other, table.cardinalities)[1],
        "floor": distances(train[-ROWS:], other, table.cardinalities)[1], "passing": passed, "kept": values,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="*", default=["adult", "acs2013"], choices=list(TABLES))
    parser.add_argument("--totals", type=float, nargs="*", default=[1.0, 4.0])
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--out")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    cases = {"default": 0, "1 kept": 1, "2 kept": 2, "chosen by the model": None}
    lines = []
    for name in options.tables:
        table = TABLES[name]()
        for total in options.totals:
            for case, kept in cases.items():
                for run in range(options.runs):
                    lines.append({"table": name, **measured(table, case, kept, total, run)})
                    print(lines[-1], flush=True)
    found = pd.DataFrame(lines)
    if options.out:
        found.to_json(options.out, orient="records", lines=True)
    print(found.groupby(["table", "total", "test"], sort=False).mean(numeric_only=True).round(3).to_string())


if __name__ == "__main__":
    main()
