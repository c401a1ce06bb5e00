"""Intervals from synthetic tables: coverage and width of 95 % intervals of six regressions on three tables.

Run: python -m benchmarks.error_bars [--tables adult acs2013 acs2018] [--repeats FIRST LAST] [--report]

Each repeat draws ``ROWS`` rows with replacement from all rows of a table, which are the population whose truth is known, fits all
columns at epsilon 1 (delta 1e-9) with the columns of both regressions as ``workload``, and estimates every coefficient by least
squares. "several" puts ``TABLES`` tables of ``sample_multiple`` together by ``combine``; "one" is the textbook's interval from one
synthetic table of as many rows, as if its rows were real; widths are in times of the textbook's interval from the real rows.
"without" is "several" of a second fit, which had no workload, in every eighth repeat. Lines are kept in benchmarks/results_error_bars.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.utility_tables import TABLES as CODED
from benchmarks.utility_tables import CodedTable
from sdv_plausible import PlausibleDeniabilitySynthesizer, combine, metadata_of
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork

KEPT = Path(os.environ.get("ERROR_BARS", Path(__file__).parent / "results_error_bars.jsonl"))
ROWS, TABLES, LARGER = 8000, 10, 2  # rows of a table; synthetic tables, each so many times larger
Regressor = str | tuple[str, int]  # a number, or whether a category is the one with this code
REGRESSIONS: dict[str, list[tuple[str, list[Regressor]]]] = {
    "adult": [
        ("income", ["age", "education-num", "sex", "hours-per-week"]),
        ("hours-per-week", ["age", "education-num", "sex", ("marital-status", 2)]),
    ],
    "acs2013": [("incc", ["age", "edu", "sex", "hpw"]), ("hpw", ["age", "edu", "sex", ("ms", 0)])],
    "acs2018": [
        ("Income50k", ["Age", "Hours per Week", "Gender", ("Education", 3)]),
        ("Hours per Week", ["Age", "Gender", ("Marital Status", 1), ("Race", 8)]),
    ],
}
KINDS = ("several", "one", "without")
EVERY = 8


def name_of(regressor: Regressor) -> str:
    """Its column."""
    return regressor if isinstance(regressor, str) else regressor[0]


def coefficients(name: str, table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """All coefficients but the constants, and their squared standard errors (robust)."""
    found, variances = [], []
    for target, regressors in REGRESSIONS[name]:
        columns = [table[r] if isinstance(r, str) else table[r[0]] == r[1] for r in regressors]
        x = np.column_stack([np.ones(len(table)), *columns]).astype(float)
        y, inverse = table[target].to_numpy(float), np.linalg.inv(x.T @ x)
        slope = inverse @ x.T @ y
        found.append(slope[1:])
        spread = inverse @ (x.T * (y - x @ slope) ** 2) @ x @ inverse
        variances.append(np.diag(spread)[1:])
    return np.concatenate(found), np.concatenate(variances)


def fitted(table: CodedTable, rows: pd.DataFrame, **options: Any) -> PlausibleDeniabilitySynthesizer:
    """A release of all columns at epsilon 1."""
    domain, model = table.declaration(), AdaptiveNetwork(**options)
    synth = PlausibleDeniabilitySynthesizer(metadata_of(domain), domain=domain, model=model)
    synth.fit(rows)
    return synth


def repeat(name: str, table: CodedTable, number: int) -> dict[str, Any]:
    """Fit twice; whether each interval covers, and how wide it is."""
    drawn = np.random.default_rng([number, 77]).integers(0, len(table.codes), ROWS)
    rows = pd.DataFrame(table.codes[drawn], columns=table.names)
    truth = coefficients(name, pd.DataFrame(table.codes, columns=table.names))[0]
    workload = [[target, *map(name_of, regressors)] for target, regressors in REGRESSIONS[name]]
    synth = fitted(table, rows, workload=workload)
    found = {}
    for kind in ("several",) if number % EVERY else ("several", "without"):
        of = synth if kind == "several" else fitted(table, rows)
        estimates = [coefficients(name, drawn) for drawn in of.sample_multiple(TABLES, LARGER * ROWS)]
        several = combine(*zip(*estimates, strict=True))
        found[kind] = several.lower, several.upper
    one, variances = coefficients(name, synth.sample(LARGER * ROWS))
    found["one"] = one - 1.96 * np.sqrt(variances), one + 1.96 * np.sqrt(variances)
    real = 2 * 1.96 * np.sqrt(coefficients(name, rows)[1])
    return {
        kind: {
            "covers": ((low <= truth) & (truth <= high)).astype(int).tolist(),
            "width": np.round((high - low) / real, 1).tolist(),
        }
        for kind, (low, high) in found.items()
    }


def report() -> str:
    """Coverage and median width of every coefficient, a table for each of the tables."""
    lines = [json.loads(text) for text in KEPT.read_text().splitlines()]
    parts = []
    for name, regressions in REGRESSIONS.items():
        if not (these := [line for line in lines if line["table"] == name]):
            continue
        names = [f"{target} on {name_of(r)}" for target, regressors in regressions for r in regressors]
        rows = [f"| {name}, {len(these)} fits | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
        for kind in KINDS:
            of = [line[kind] for line in these if kind in line]
            covers = 100 * np.mean([line["covers"] for line in of], axis=0)
            rows.append(f"| {kind} ({len(of)}): covered, % | {' | '.join(f'{c:.1f}' for c in covers)} |")
            width = np.median([line["width"] for line in of], axis=0)
            rows.append(f"| width | {' | '.join(f'{w:.1f}' for w in width)} |")
        parts.append("\n".join(rows))
    return "\n\n".join(parts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="*", default=list(REGRESSIONS))
    parser.add_argument("--repeats", nargs=2, type=int, default=(1000, 1400))
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    tables = {} if options.report else {chosen: CODED[chosen]() for chosen in options.tables}
    for number in range(*options.repeats):
        for chosen, coded in tables.items():
            line = {"table": chosen, "repeat": number, **repeat(chosen, coded, number)}
            with KEPT.open("a") as file:
                file.write(json.dumps(line, separators=(",", ":")) + "\n")
    print(report())
