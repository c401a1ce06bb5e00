"""Means and standard deviations of declared numbers whose bounds are three times too wide.

Run: python -m benchmarks.moments [--tables adult ...] [--fits 5] [--epsilon 1]

The range of every number of benchmarks.declared_tables is declared as wide again on either side as it is (``--times 1``: as
it is). All rows, at most 100,000. Of each number: the errors of mean and standard deviation in as many synthetic rows, the
median of some fits; that of a mean is relative to it, or to the standard deviation where that is larger.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks.declared_tables import DECLARED, DeclaredTable
from benchmarks.utility import synthesized

TABLES = ("adult", "acs2018", "nycflights", "diamonds", "wives")
CLOSE, MOST = 0.03, 100_000


def widened(table: DeclaredTable, times: float) -> dict[str, dict[str, Any]]:
    """Declarations whose ranges are so many times as wide, with the real one in the middle."""
    found = dict(table.declared)
    for name, words in table.declared.items():
        if words["sdtype"] == "numerical":
            low, high = float(table.rows[name].min()), float(table.rows[name].max())
            more = (times - 1) / 2 * (high - low)
            number = float if words["decimal_places"] else int
            found[name] = {**words, "range_min": number(low - more), "range_max": number(high + more)}
    return found


def errors(table: DeclaredTable, epsilon: float, times: float, fits: int) -> dict[str, tuple[float, float]]:
    """Of every number the errors of mean and standard deviation."""
    rows = table.rows
    if len(rows) > MOST:
        rows = rows.sample(MOST, random_state=0).reset_index(drop=True)
    declared = widened(table, times)
    numbers = [n for n, words in declared.items() if words["sdtype"] == "numerical" and rows[n].std() > 0]
    real = np.array([[rows[n].mean(), rows[n].std()] for n in numbers])
    scale = np.stack([np.maximum(abs(real[:, 0]), real[:, 1]), real[:, 1]], axis=1)
    made = [synthesized(rows, declared, epsilon, table.delta)[0] for _ in range(fits)]
    found = [abs(np.array([[one[n].mean(), one[n].std()] for n in numbers]) - real) / scale for one in made]
    return {n: (float(m), float(s)) for n, (m, s) in zip(numbers, np.median(found, axis=0), strict=True)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="*", default=list(TABLES), choices=list(DECLARED))
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--times", type=float, default=3.0)
    parser.add_argument("--fits", type=int, default=5)
    options = parser.parse_args()
    close = number = 0
    for name in options.tables:
        found = errors(DECLARED[name](), options.epsilon, options.times, options.fits)
        good = [max(both) <= CLOSE for both in found.values()]
        close, number = close + sum(good), number + len(good)
        far = ", ".join(f"{n} {m:.3f}/{s:.3f}" for n, (m, s) in found.items() if max(m, s) > CLOSE)
        print(f"{name}: {sum(good)} of {len(good)}; beyond, mean/deviation: {far or 'none'}", flush=True)
    print(f"within {CLOSE:.0%}: {close} of {number}")


if __name__ == "__main__":
    main()
