"""What plausible deniability costs at equal total: the default, the release test and the randomised test.

Run: python -m benchmarks.deniability [--tables adult acs2013 acs2018] [--runs 2] [--out FILE]

The first 24,000 training rows of each table, all columns declared; totals 1, 2 and 4 at the table's delta. Half of a
total is the seeds': ``ReleaseTest(k=50, epsilon0=total / 2)`` with one and two columns kept, and
``RandomizedTest.within(total / 2)`` for 100, 1,000 and 10,000 rows with ``least_rows=20_000``; ``plan(total=...)`` gives
the model the rest. Of each: the mean distance of pairs to 10,000 rows that were not trained on (``floor``: of as many real
rows), the accuracy of a forest trained on the rows, the share of candidates that pass, the share of released rows that
have a seed, and rows per second. Pass rates are for this page: no release tells them.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from benchmarks.utility_scores import distances
from benchmarks.utility_tables import TABLES, CodedTable
from sdv_plausible import PlausibleDeniabilitySynthesizer, RandomizedTest, ReleaseTest, metadata_of
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

TRAINED, LEAST, CANDIDATES = 24_000, 20_000, 20_000
TOTALS, ROWS = (1.0, 2.0, 4.0), (100, 1_000, 10_000)


@cache
def randomized(epsilon: float, rows: int, delta: float) -> RandomizedTest | None:
    """The test of these rows, or None where no k is in reach."""
    try:
        return RandomizedTest.within(epsilon, rows=rows, least_rows=LEAST, delta=delta)
    except ValueError:
        return None


def settings(total: float, columns: int, delta: float) -> Iterator[tuple[str, Any, int]]:
    """Name, test and rows of every line."""
    yield "default", ReleaseTest(), 10_000
    for kept in (1, 2):
        yield f"release, {kept} kept", ReleaseTest(k=50, epsilon0=total / 2, omega=columns - kept), 10_000
    for rows in ROWS:
        yield f"randomised, {rows:,} rows", randomized(total / 2, rows, delta), rows


def passing(synth: PlausibleDeniabilitySynthesizer, rows: int) -> tuple[float, float]:
    """Share of candidates that pass, and of released rows that have a seed."""
    mechanism = getattr(synth._sampler, "mechanism", None)
    if mechanism is None:
        parts = synth._sampler.seeds.parts
        kept = float(sum(part.sizes.sum() for part in parts if part.kept)) / rows
        return kept or 1.0, float(bool(kept))
    rng = KeyedRNG.from_os_entropy()
    seeds = rng.integers(mechanism.num_seeds, CANDIDATES)
    omega, free = mechanism._draw_omega(CANDIDATES, rng)
    proposals = mechanism.model.propose(seeds, omega, rng)
    passed = mechanism.test.passes(mechanism.count_plausible(proposals, free, rng), rng)
    return float(passed.mean()), float((passed & ~free).sum() / max(passed.sum(), 1))


def measured(table: CodedTable, name: str, test: Any, rows: int, total: float, run: int) -> dict[str, Any]:
    """One fit at one total, and its scores."""
    real, rest = table.split(run)
    train, other = real[:TRAINED], rest[:10_000]
    frame, words = pd.DataFrame(train, columns=table.names), table.declaration()
    told = {"metadata": metadata_of(words), "domain": words, "delta": table.delta, "test": test}
    told["max_bins"] = max(table.cardinalities) + 1
    epsilon = PlausibleDeniabilitySynthesizer(**told).plan(total=total).epsilon
    synth = PlausibleDeniabilitySynthesizer(**told, epsilon=epsilon)
    synth.fit(frame)
    start = time.perf_counter()
    made = synth.sample(rows)[list(frame)].to_numpy()
    seconds = time.perf_counter() - start
    inputs = [j for j in range(len(table.names)) if j != table.target]
    forest = RandomForestClassifier(50, random_state=0).fit(made[:, inputs], made[:, table.target])
    passed, seeded = passing(synth, len(train))
    return {
        "test": name, "total": total, "k": getattr(test, "k", None), "model": epsilon,
        "charged": synth.privacy_ledger().total(), "pairs": distances(made, other, table.cardinalities)[1],
        "floor": distances(train[-rows:], other, table.cardinalities)[1],
        "forest": float((forest.predict(other[:, inputs]) == other[:, table.target]).mean()),
        "passing": passed, "seeded": seeded, "rows a second": rows / seconds,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="*", default=["adult", "acs2013", "acs2018"], choices=list(TABLES))
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--totals", type=float, nargs="*", default=list(TOTALS))
    parser.add_argument("--out")
    told = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for name in told.tables:
        table = TABLES[name]()
        for total in told.totals:
            for case, test, rows in settings(total, len(table.names), table.delta):
                for run in range(told.runs if test is not None else 0):
                    try:
                        lines.append({"table": name, **measured(table, case, test, rows, total, run)})
                    except Exception as error:  # such as groups too small to be released
                        lines.append({"table": name, "test": case, "total": total, "error": str(error)[:60]})
                    print(lines[-1], flush=True)
    found = pd.DataFrame(lines)
    if told.out:
        found.to_json(told.out, orient="records", lines=True)
    numbers = found.select_dtypes(np.number).columns.difference(["total"])
    print(found.groupby(["table", "total", "test"], sort=False)[list(numbers)].mean().round(3).to_string())


if __name__ == "__main__":
    main()
