"""Dependence of three and more columns: tables by simulation whose label no pair of columns shows.

Run: python -m benchmarks.interactions [--tables xor ...] [--epsilons 1 10 inf] [--methods ours real dpsynth-swift]
                                       [--repeats 5] [--first 0] [--results FILE] [--report]

A random forest is trained on synthetic rows and tested on real rows that no method has seen; ``real`` is the forest that was
trained on the real rows. ``game RF`` tells synthetic from real rows (0.5 is ideal). 20,000 training rows, delta 1e-9. Results
are kept line by line in benchmarks/results_interactions.jsonl or ``--results``, as those of benchmarks.utility, whose peers can
be named; its lines "pairs alone" are runs of the version before sets were measured.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.utility import METHODS, NAMES, PEERS, Line, cpu, interval, read, wanted
from benchmarks.utility_scores import scores
from benchmarks.utility_tables import CodedTable

KEPT = Path(__file__).parent / "results_interactions.jsonl"
ROWS, FLIPS = 20_000, 0.05
SHOWN = ("RF", "game RF", "2-way", "fit s")
Columns = dict[str, tuple[np.ndarray, int, bool]]


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def _flipped(label: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (label.astype(int) ^ (rng.random(len(label)) < FLIPS)).astype(int)


def _binned(values: np.ndarray, bins: int) -> tuple[np.ndarray, int, bool]:
    """Equal bins between -3 and 3, ends included."""
    return np.clip(((values + 3) / 6 * bins).astype(int), 0, bins - 1), bins, True


def _distractors(rng: np.random.Generator, number: int) -> Columns:
    return {
        "other bit": (rng.integers(0, 2, number), 2, False),
        "other kind": (rng.integers(0, 5, number), 5, False),
        "other number": _binned(rng.normal(size=number), 30),
    }


def _parity(bits: int) -> Columns:
    rng, number = _rng(bits), 2 * ROWS
    inputs = rng.integers(0, 2, (bits, number))
    columns: Columns = {f"x{j + 1}": (x, 2, False) for j, x in enumerate(inputs)}
    return columns | _distractors(rng, number) | {"y": (_flipped(inputs.sum(0) % 2, rng), 2, False)}


def structural_causal_model() -> Columns:
    """Six variables in a graph; the effects of causes on ``c``, ``d`` and ``y`` depend on one another."""
    rng, number = _rng(7), 2 * ROWS
    a, b = rng.normal(size=(2, number))
    group = rng.integers(0, 3, number)
    c = np.choose(group, [a, -a, 0 * a]) + 0.5 * rng.normal(size=number)
    d = 0.8 * a * b + 0.6 * rng.normal(size=number)
    y = a * b + np.where(group == 1, c, -c) + 0.3 * rng.normal(size=number) > 0
    numbers: Columns = {name: _binned(v, 30) for name, v in zip("abcd", (a, b, c, d), strict=True)}
    return numbers | {"group": (group, 3, False), "y": (y.astype(int), 2, False)}


def decision_tree() -> Columns:
    """A label by a tree of depth four over mixed columns, with flips."""
    rng, number = _rng(11), 2 * ROWS
    age, kind = rng.normal(size=number), rng.integers(0, 4, number)
    income = 0.6 * age + 0.8 * rng.normal(size=number)
    member, region = (rng.random((2, number)) < 0.5).astype(int)
    old, rich = age > 0.2, income > 0.5 * (kind == 1)
    inner = np.where(member == 1, rich, ~rich)
    label = np.where(old, np.where(kind < 2, inner, region == 1), np.where(rich, kind % 2 == 1, member == 0))
    return {
        "age": _binned(age, 40),
        "income": _binned(income, 60),
        "kind": (kind, 4, False),
        "member": (member, 2, False),
        "region": (region, 2, False),
    } | _distractors(rng, number) | {"y": (_flipped(label, rng), 2, False)}  # fmt: skip


MADE: dict[str, Callable[[], Columns]] = {
    "xor": lambda: _parity(2),
    "parity of three": lambda: _parity(3),
    "causal model": structural_causal_model,
    "decision tree": decision_tree,
}


def table(name: str) -> CodedTable:
    """One of the tables, half of whose rows are trained on."""
    columns = MADE[name]()
    return CodedTable(
        names=list(columns),
        codes=np.stack([codes.astype(np.int32) for codes, _, _ in columns.values()], axis=1),
        cardinalities=[size for _, size, _ in columns.values()],
        ordered=[ordered for _, _, ordered in columns.values()],
        target=len(columns) - 1,
        num_train=ROWS,
        delta=1e-9,
    )


def measure(name: str, method: str, epsilon: float, repeat: int) -> Line:
    """One run."""
    made = table(name)
    train, test = made.split(repeat)
    before = cpu()
    codes, seconds = METHODS[method](made, train, epsilon)
    used = cpu() - before
    found = scores(train, test, np.asarray(codes, dtype=np.int64), made.cardinalities, made.target)
    run: Line = {"table": name, "method": method, "epsilon": epsilon, "repeat": repeat}
    return {**run, "fit s": seconds, "cpu s": used, **found}


def report(lines: list[Line]) -> str:
    """Markdown table of means and 95 % intervals of the mean."""
    out = ["| table | method | eps | runs | " + " | ".join(SHOWN) + " |", "|" + " --- |" * (4 + len(SHOWN))]
    for (name, method, epsilon), runs in pd.DataFrame(lines).groupby(["table", "method", "epsilon"]):
        shown = "-" if method == "real" else f"{epsilon:g}"
        spreads = ["" if c == "fit s" or len(runs) < 2 else f" ± {interval(runs[c]):.3f}" for c in SHOWN]
        cells = [f"{runs[c].mean():.3f}{spread}" for c, spread in zip(SHOWN, spreads, strict=True)]
        out.append(
            f"| {name} | {NAMES.get(method, method)} | {shown} | {len(runs)} | " + " | ".join(cells) + " |"
        )
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="*", default=list(MADE), choices=list(MADE))
    parser.add_argument("--epsilons", nargs="*", type=float, default=[1.0, 10.0, math.inf])
    parser.add_argument("--methods", nargs="*", default=["ours", "real"], choices=["ours", "real", *PEERS])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="number of the first split")
    parser.add_argument("--results", type=Path, default=KEPT, help="file of lines to go on with")
    parser.add_argument("--report", action="store_true", help="only write the table from what was measured")
    options = parser.parse_args()
    of_methods = [(m, e) for m in options.methods for e in wanted(m, options.epsilons)]
    repeats = range(options.first, options.first + options.repeats)
    runs = itertools.product(options.tables, of_methods, repeats)
    for name, (method, epsilon), repeat in [] if options.report else runs:
        run = {"table": name, "method": method, "epsilon": epsilon, "repeat": repeat}
        if any(run.items() <= line.items() for line in read(options.results)):
            continue
        result = measure(name, method, epsilon, repeat)
        with options.results.open("a") as file:
            file.write(json.dumps(result) + "\n")
    print(report(read(options.results)))


if __name__ == "__main__":
    main()
