"""Fit and sample every shared table as a new user would: metadata auto-detected, no arguments.

Run: python -m benchmarks.all_tables [table ...] [--epsilon inf]

Each table runs in a process of its own, so that its peak memory can be read. Printed per table: rows, columns, seconds
to detect metadata, to fit and to sample as many rows again, peak memory, mean and largest one-way total variation
distance over the modelled columns (numbers in 20 quantile bins of the real data, missing a value of its own), and what
looks wrong: columns whose dtype changed, columns that lost or gained missing values.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

DATA = Path(os.environ.get("SDV_PLAUSIBLE_DATA", "../shared/data"))
TABLES = {
    "adult": "adult/adult_train.csv.gz",
    "acs2013_paper": "acs2013_paper/acs2013_100k.csv.gz",
    "acs2018_us_11cols": "acs2018_us/acs2018_us_100k_11cols.parquet",
    "acs2018_us_32cols": "acs2018_us/acs2018_us_295k.parquet",
    "nist_ma2018": "nist_acs_excerpts/ma2018.csv.gz",
    "nist_national2019": "nist_acs_excerpts/national2019.csv.gz",
    "compas": "compas/compas_two_years.csv.gz",
    "intrusion": "intrusion/intrusion_494k.parquet",
    "news": "news/news.csv.gz",
    "flights": "flights_100k/flights_100k.csv.gz",
    "bank_marketing": "bank_marketing/bank_marketing.csv.gz",
    "hotel_guests": "fake_hotel_guests/fake_hotel_guests.csv.gz",
    "asia": "bayesnet_samples/asia.csv.gz",
    "child": "bayesnet_samples/child.csv.gz",
    "insurance": "bayesnet_samples/insurance.csv.gz",
    "alarm": "bayesnet_samples/alarm.csv.gz",
}


def read(name: str) -> pd.DataFrame:
    """Read one shared table."""
    path = DATA / TABLES[name]
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    return pd.read_csv(path, keep_default_na=not TABLES[name].startswith("bayesnet"))


def one_way_distance(real: pd.Series, synthetic: pd.Series, kind: str) -> float:
    """Total variation distance of one column."""
    if kind == "datetime":
        real, synthetic = (pd.to_datetime(s) for s in (real, synthetic))
    if pd.api.types.is_datetime64_any_dtype(real.dtype):
        real, synthetic = (s.astype("int64").where(s.notna()).astype(float) for s in (real, synthetic))
    if pd.api.types.is_numeric_dtype(real.dtype) and not pd.api.types.is_bool_dtype(real.dtype):
        edges = np.unique(np.nanquantile(real.to_numpy(float, na_value=np.nan), np.linspace(0, 1, 21)))
        real, synthetic = (
            pd.Series(
                np.where(
                    s.isna(),
                    -1,
                    np.searchsorted(edges[1:-1], s.to_numpy(float, na_value=np.nan), side="right"),
                )
            )
            for s in (real, synthetic)
        )
    first, second = (
        s.astype(object).where(s.notna(), "<missing>").value_counts(normalize=True) for s in (real, synthetic)
    )
    return float(first.subtract(second, fill_value=0).abs().sum() / 2)


def run(name: str, epsilon: float) -> dict[str, object]:
    """Fit and sample one table in this process."""
    from sdv_plausible.sdv.metadata import detect_metadata
    from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer

    warnings.simplefilter("ignore")
    os.environ["TQDM_DISABLE"] = "1"
    table = read(name)
    clock = [time.perf_counter()]
    metadata = detect_metadata(table)
    clock.append(time.perf_counter())
    synth = PlausibleDeniabilitySynthesizer(metadata, epsilon=epsilon)
    synth.fit(table)
    clock.append(time.perf_counter())
    rows = synth.sample(len(table))
    clock.append(time.perf_counter())
    modelled = list(synth._codec.domain.names)
    distances = {
        c: one_way_distance(table[c], rows[c], synth._codec.domain[c].kind) for c in modelled if c in table
    }
    wrong = [
        f"dtype of {c}: {table[c].dtype} -> {rows[c].dtype}" for c in table if table[c].dtype != rows[c].dtype
    ]
    wrong += [
        f"missing in {c}: {table[c].isna().mean():.0%} -> {rows[c].isna().mean():.0%}"
        for c in modelled
        if abs(table[c].isna().mean() - rows[c].isna().mean()) > 0.05
    ]
    worst = max(distances, key=lambda c: distances[c])
    return {
        "table": name,
        "rows": len(table),
        "columns": table.shape[1],
        "modelled": len(modelled),
        "detect s": round(clock[1] - clock[0], 1),
        "fit s": round(clock[2] - clock[1], 1),
        "sample s": round(clock[3] - clock[2], 1),
        "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "mean TVD": round(float(np.mean(list(distances.values()))), 3),
        "max TVD": f"{distances[worst]:.3f} {worst}",
        "wrong": "; ".join(wrong) or "-",
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", default=[], help="default: all")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        print(json.dumps(run(options.tables[0], options.epsilon)))
        return
    header_printed = False
    for name in options.tables or TABLES:
        command = [
            sys.executable,
            "-m",
            "benchmarks.all_tables",
            name,
            "--inside",
            "--epsilon",
            str(options.epsilon),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"| {name} | failed: {done.stderr.strip().splitlines()[-1]} |")
            continue
        result = json.loads(done.stdout.strip().splitlines()[-1])
        if not header_printed:
            print("| " + " | ".join(result) + " |\n|" + " --- |" * len(result))
            header_printed = True
        print("| " + " | ".join(str(v) for v in result.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
