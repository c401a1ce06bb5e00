"""Whether pairs of columns are as near as a plan says: mean distance by class of pair, beside what was forecast.

Run: python -m benchmarks.pair_forecasts [--tables bank ...] [--epsilons 0.3 1 3] [--rows 344 3000 50000] [--report]

A class is how many of the two columns have more than 16 codes (sdv_plausible.models.forecast). Distances are those of
benchmarks.links: to as many rows that nobody has seen, numbers in 16 bins. ``CHOSEN`` are the tables by which the two numbers
of the forecast were chosen, so that at least 95 % of the means lie below it; ``CHECKED`` had no part in that. Means are kept line by
line in benchmarks/results_pair_forecasts.jsonl; runs that are there are not run again.
"""

from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import declared_tables as known
from benchmarks.declared_tables import DeclaredTable, declare
from benchmarks.links import pairs
from benchmarks.utility import Line, read, synthesized
from benchmarks.utility_tables import DATA
from sdv_plausible.models.forecast import CLASSES, SMALL

KEPT = Path(__file__).parent / "results_pair_forecasts.jsonl"
MOST_VALUES = 600  # of a column of texts: others are left out
SPLIT = 700
FILES = {
    "bank": "bank_marketing/bank_marketing.csv.gz",
    "compas": "compas/compas_two_years.csv.gz",
    "alarm": "bayesnet_samples/alarm.csv.gz",
    "insurance": "bayesnet_samples/insurance.csv.gz",
    "hotel": "fake_hotel_guests/fake_hotel_guests.csv.gz",
    "nist": "nist_acs_excerpts/ma2018.csv.gz",
    "news": "news/news.csv.gz",
}
CHOSEN = ("adult", "acs2018", "wide", "diamonds", "lecturers", "nycflights", "wives")
CHECKED = ("acs2013", "flights", *FILES)


def table_of(name: str) -> DeclaredTable:
    """A declared table; of a file all columns of numbers, and of texts those with few values."""
    if name not in FILES:
        return known.DECLARED[name]()
    rows = pd.read_csv(DATA / FILES[name])
    few = [
        c for c in rows if pd.api.types.is_numeric_dtype(rows[c].dtype) or rows[c].nunique() <= MOST_VALUES
    ]
    rows = rows[[c for c in few if c != "id" and rows[c].nunique() > 1]]
    return declare(rows, len(rows) // 2)


def measure(name: str, table: DeclaredTable, epsilon: float, rows: int) -> list[Line]:
    """A line for each class of pairs: how many, their mean distance, and its forecast."""
    from sdv_plausible.sdv.metadata import metadata_from_columns
    from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer

    train, unseen = (part.iloc[:rows].reset_index(drop=True) for part in table.split(SPLIT))
    synthetic, _ = synthesized(train, table.declared, epsilon, table.delta)
    metadata = metadata_from_columns({n: {"sdtype": s["sdtype"]} for n, s in table.declared.items()})
    synth = PlausibleDeniabilitySynthesizer(
        metadata, epsilon=epsilon, delta=table.delta, domain=table.declared
    )
    forecast = synth.plan(table_rows=rows).forecast
    assert forecast is not None
    sizes = synth._next_fit()._planned()
    large = {a.name: a.cardinality > SMALL for a in sizes}
    found: dict[str, list[float]] = {}
    distances = iter(pairs(table, train, unseen, synthetic).values())
    for first, second in itertools.combinations(table.declared, 2):
        found.setdefault(CLASSES[large[first] + large[second]], []).append(next(distances))
    return [
        {"table": name, "epsilon": epsilon, "rows": rows, "class": kind, "pairs": len(each),
         "measured": round(float(np.mean(each)), 4), "forecast": round(forecast.pairs[kind], 4)}
        for kind, each in found.items()
    ]  # fmt: skip


def report(lines: list[Line]) -> str:
    """Markdown table: how many means lie within the forecast, and how far above them it is."""
    frame = pd.DataFrame(lines)
    frame["within"] = frame["measured"] <= frame["forecast"]
    frame["times"] = frame["forecast"] / frame["measured"]
    frame["part"] = np.where(frame["table"].isin(CHOSEN), "chosen by", "checked on")
    out = ["| tables | class | means | within | forecast / measured: median (least) |", "|" + " --- |" * 5]
    for part, whole in frame.groupby("part", sort=False):
        for kind, here in [*((k, whole[whole["class"] == k]) for k in CLASSES), ("all", whole)]:
            times = f"{here['times'].median():.1f} ({here['times'].min():.2f})"
            out.append(f"| {part} | {kind} | {len(here)} | {here['within'].mean():.0%} | {times} |")
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="*", default=[*CHOSEN, *CHECKED], choices=[*CHOSEN, *CHECKED])
    parser.add_argument("--epsilons", nargs="*", type=float, default=[0.3, 1.0, 3.0])
    parser.add_argument(
        "--rows", nargs="*", type=int, default=[344, 3000, 50_000], help="at most half a table"
    )
    parser.add_argument("--report", action="store_true", help="only show the table of what was measured")
    options = parser.parse_args()
    for name in [] if options.report else options.tables:
        table = table_of(name)
        sizes = dict.fromkeys(min(rows, table.num_train) for rows in options.rows)
        for rows, epsilon in itertools.product(sizes, options.epsilons):
            run = {"table": name, "epsilon": epsilon, "rows": rows}
            if any(run.items() <= line.items() for line in read(KEPT)):
                continue
            lines = measure(name, table, epsilon, rows)
            with KEPT.open("a") as file:
                file.write("".join(json.dumps(line) + "\n" for line in lines))
            print(*lines, sep="\n", flush=True)
    print(report(read(KEPT)))


if __name__ == "__main__":
    main()
