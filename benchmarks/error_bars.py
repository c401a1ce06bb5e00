"""Intervals from synthetic tables: coverage of 95 % intervals that know of the noise, and of those that do not.

Run: python -m benchmarks.error_bars [--tables simulated adult] [--epsilons 1 10] [--repeats 100] [--report]

Each repeat draws a table from a population whose truth is known (a simulation; all rows of adult, drawn with replacement), fits,
and estimates means, proportions and regression coefficients. "several" puts ``TABLES`` tables of ``sample_multiple`` together by
``combine``; "one" is the textbook's interval from one synthetic table of as many rows, as if its rows were real. Lines are kept
in benchmarks/results_error_bars.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible import PlausibleDeniabilitySynthesizer, combine, metadata_of

KEPT = Path(__file__).parent / "results_error_bars.jsonl"
DATA = Path(os.environ.get("SDV_PLAUSIBLE_DATA", "../shared/data"))
ROWS, TABLES, LARGER = 8000, 10, 2  # rows of a table; synthetic tables, each so many times larger
Estimates = tuple[np.ndarray, np.ndarray]

SIMULATED: dict[str, Any] = {
    "sex": {"range_values": ["f", "m"]},
    "age": {"range_min": 17, "range_max": 90},
    "edu": {"range_min": 0, "range_max": 4},
    "rich": {"range_values": [0, 1]},
    "region": {"range_values": ["N", "S", "E", "W"]},
}
ADULT: dict[str, Any] = {
    "sex": {"range_values": ["f", "m"]},
    "age": {"range_min": 17, "range_max": 90},
    "edu": {"range_min": 1, "range_max": 16},
    "rich": {"range_values": [0, 1]},
    "hours": {"range_min": 1, "range_max": 99},
}


def simulated(rows: int, random: np.random.Generator) -> pd.DataFrame:
    """Five columns: income follows age, education and sex; education follows age and sex."""
    male = random.random(rows) < 0.5
    age = np.clip(np.round(random.normal(40, 12, rows)), 17, 90).astype(int)
    edu = np.clip(np.round((age - 17) / 20 + male + random.normal(0, 1.2, rows)), 0, 4).astype(int)
    rich = random.random(rows) < 1 / (1 + np.exp(2 - 0.03 * (age - 40) - 0.6 * edu - 0.5 * male))
    region = random.choice(list("NSEW"), rows, p=[0.4, 0.3, 0.2, 0.1])
    return pd.DataFrame(
        {"sex": np.where(male, "m", "f"), "age": age, "edu": edu, "rich": rich.astype(int), "region": region}
    )


def adult() -> pd.DataFrame:
    """Five columns of both files."""
    files = [pd.read_csv(DATA / "adult" / f"adult_{part}.csv.gz") for part in ("train", "test")]
    raw = pd.concat(files, ignore_index=True)
    raw.columns = [str(name).replace("-", "_").replace(".", "_") for name in raw.columns]
    return pd.DataFrame(
        {
            "sex": np.where(raw["sex"].str.strip() == "Male", "m", "f"),
            "age": raw["age"],
            "edu": raw["education_num"],
            "rich": raw["income"].str.contains(">50K").astype(int),
            "hours": raw["hours_per_week"],
        }
    )


def estimates(table: pd.DataFrame) -> Estimates:
    """Two means, two proportions, a proportion in a group, three coefficients; and their squared standard errors."""
    y, male = table["rich"].to_numpy(float), (table["sex"] == "m").to_numpy()
    x = np.column_stack([np.ones(len(y)), table["age"], table["edu"], male]).astype(float)
    inverse = np.linalg.inv(x.T @ x)
    slope = inverse @ x.T @ y
    spread = inverse @ (x.T * (y - x @ slope) ** 2) @ x @ inverse
    means = [table["age"].to_numpy(float), table["edu"].to_numpy(float), y, male.astype(float), y[male]]
    found = np.array([*(m.mean() for m in means), *slope[1:]])
    return found, np.array([*(m.var() / len(m) for m in means), *np.diag(spread)[1:]])


NAMES = ("mean age", "mean edu", "share rich", "share male", "rich, of men", "b age", "b edu", "b male")


def repeat(
    draw: Callable[[], pd.DataFrame], domain: dict[str, Any], epsilon: float, truth: np.ndarray
) -> dict[str, Any]:
    """One fit: whether each interval covers, and how wide it is."""
    synth = PlausibleDeniabilitySynthesizer(metadata_of(domain), domain=domain, epsilon=epsilon)
    synth.fit(draw())
    several = combine(*zip(*map(estimates, synth.sample_multiple(TABLES, LARGER * ROWS)), strict=True))
    one, variances = estimates(synth.sample(LARGER * ROWS))
    half = 1.96 * np.sqrt(variances)
    found = {"several": (several.lower, several.upper), "one": (one - half, one + half)}
    return {
        name: {"covers": ((low <= truth) & (truth <= high)).tolist(), "width": (high - low).tolist()}
        for name, (low, high) in found.items()
    }


def run(name: str, epsilon: float, repeats: int) -> None:
    """All repeats of a table, each a line."""
    if name == "adult":
        population = adult()
        truth, domain = estimates(population)[0], ADULT
    else:
        truth, domain = estimates(simulated(4_000_000, np.random.default_rng(99)))[0], SIMULATED
    for number in range(repeats):
        random = np.random.default_rng([number, int(1000 * epsilon)])

        def draw(random: np.random.Generator = random) -> pd.DataFrame:
            if name == "adult":
                return population.iloc[random.integers(0, len(population), ROWS)].reset_index(drop=True)
            return simulated(ROWS, random)

        line = {"table": name, "epsilon": epsilon, "repeat": number, **repeat(draw, domain, epsilon, truth)}
        with KEPT.open("a") as file:
            file.write(json.dumps(line) + "\n")


def report() -> str:
    """Coverage and mean width, a line for each table, epsilon and kind of interval."""
    lines = [json.loads(text) for text in KEPT.read_text().splitlines()]
    rows = []
    for name, epsilon in sorted({(line["table"], line["epsilon"]) for line in lines}):
        these = [line for line in lines if (line["table"], line["epsilon"]) == (name, epsilon)]
        for kind in ("several", "one"):
            covers = np.array([line[kind]["covers"] for line in these]).mean(axis=0)
            cells = " | ".join(f"{100 * share:.0f}" for share in covers)
            rows.append(f"| {name}, epsilon {epsilon:g}, {kind} ({len(these)}) | {cells} |")
        widths = [
            np.array([line[kind]["width"] for line in these]).mean(axis=0) for kind in ("several", "one")
        ]
        rows.append(f"| width, several to one | {' | '.join(f'{w:.1f}' for w in widths[0] / widths[1])} |")
    head = f"| coverage of 95 % intervals, % | {' | '.join(NAMES)} |\n|---{'|---' * len(NAMES)}|\n"
    return head + "\n".join(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="*", default=["simulated", "adult"])
    parser.add_argument("--epsilons", nargs="*", type=float, default=[1.0, 10.0])
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for table in [] if options.report else options.tables:
        for budget in options.epsilons:
            run(table, budget, options.repeats)
    print(report())
