"""What each part of the default learner brings: parts are switched off one at a time.

Run: python -m benchmarks.ablation [--tables national2018 "decision tree" intrusion news alarm] [--epsilon 1] [--repeats 5]
                                   [--parts "as it is" ...] [--first 0]

Tables that nothing in the learner was chosen on (one constant was, on intrusion: see the page on the learner): NIST's national
excerpt of 2018 (16 columns; that of 2019 was used for choosing), network connections (40 columns), a label by a decision tree over
simulated columns, articles (50 columns), a sample of a published network (37 columns). Half the rows train, at most 20,000;
distances are to the others. Mean total variation distances of single columns, pairs and at most 200 triples; mean and deviation
of the mean; delta 1e-9.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from benchmarks.interactions import table as made_up
from benchmarks.utility import ours
from benchmarks.utility_scores import distances, triples
from benchmarks.utility_tables import DATA, CodedTable
from sdv_plausible.models.adaptive import denoising, maximum_entropy, measurements, schedule
from sdv_plausible.models.adaptive.schedule import SCORE_SHARE, Round, Schedule

LEFT_OUT = ("PUMA", "DENSITY", "INDP", "PINCP", "POVPIP", "PWGTP", "WGTP", "NPF")
MOST_ROWS, MOST_CODES, LONG = 20_000, 50, 10
Part = Callable[[], Any]
_AS_IT_IS = Schedule.make.__func__  # type: ignore[attr-defined]


def coded(table: pd.DataFrame) -> CodedTable:
    """Columns as codes; long columns of numbers are ordered."""
    ordered = [pd.api.types.is_numeric_dtype(table[n]) and table[n].nunique() > LONG for n in table]
    codes = [
        (table[n] - table[n].min()).to_numpy() if o else pd.factorize(table[n].astype(str), sort=True)[0]
        for n, o in zip(table, ordered, strict=True)
    ]
    return CodedTable(
        names=list(table),
        codes=np.stack(codes, axis=1).astype(np.int32),
        cardinalities=[int(c.max()) + 1 for c in codes],
        ordered=ordered,
        target=0,
        num_train=min(len(table) // 2, MOST_ROWS),
        delta=1e-9,
    )


def national2018() -> CodedTable:
    """NIST's national excerpt of 2018, without areas, weights and the longest columns."""
    table = pd.read_csv(DATA / "nist_acs_excerpts" / "national2018.csv.gz", low_memory=False)
    return coded(table.drop(columns=list(LEFT_OUT)))


def quantiles(table: pd.DataFrame) -> CodedTable:
    """A sample; numbers of many values in at most 50 quantiles."""
    table = table.sample(MOST_ROWS, random_state=0)
    for name in table.select_dtypes("number"):
        if table[name].nunique() > MOST_CODES:
            table[name] = pd.qcut(table[name], MOST_CODES, labels=False, duplicates="drop")
    return coded(table.loc[:, table.nunique() > 1])


def intrusion() -> CodedTable:
    """Network connections."""
    return quantiles(pd.read_parquet(DATA / "intrusion" / "intrusion_494k.parquet"))


def news() -> CodedTable:
    """Articles, counted and measured; values by their ranks."""
    return quantiles(pd.read_csv(DATA / "news" / "news.csv.gz").rank(method="dense").astype(int))


def alarm() -> CodedTable:
    """A sample of a published network."""
    return coded(pd.read_csv(DATA / "bayesnet_samples" / "alarm.csv.gz", dtype=str))


TABLES: dict[str, Callable[[], CodedTable]] = {
    "national2018": national2018,
    "decision tree": lambda: made_up("decision tree"),
    "intrusion": intrusion,
    "news": news,
    "alarm": alarm,
}


def _schedule(change: Callable[[Schedule], Schedule]) -> Part:
    def make(cls: type[Schedule], *arguments: Any) -> Schedule:
        return change(_AS_IT_IS(cls, *arguments))

    return lambda: patch.object(Schedule, "make", classmethod(make))


def _without_sets(schedule: Schedule) -> Schedule:
    """What sets would have cost goes to the pairs."""
    if schedule.sets is None:
        return schedule
    share = schedule.pair_share + schedule.sets.score_share + schedule.sets.table_share
    rounds = tuple(replace(r, pair_share=r.pair_share * share / schedule.pair_share) for r in schedule.rounds)
    return replace(schedule, sets=None, pair_share=share, rounds=rounds)


def _one_round(forest: bool) -> Callable[[Schedule], Schedule]:
    def change(schedule: Schedule) -> Schedule:
        only = Round(score_share=SCORE_SHARE, pair_share=schedule.pair_share, forest=forest)
        return replace(schedule, rounds=(only,))

    return change


def _by_chance(
    score: np.ndarray, price: np.ndarray, share: float, sigma: Any, most: int, keep: Any
) -> tuple[np.ndarray, np.ndarray]:
    """A random forest of pairs in place of the best."""
    del sigma
    ranked = np.random.default_rng().permutation(np.flatnonzero(np.isfinite(score)))
    chosen = keep(ranked)[:most]
    shares = price[chosen] ** (1 / 3)
    return chosen, shares * share / shares.sum()


def _function(module: Any, name: str, instead: Any) -> Part:
    return lambda: patch.object(module, name, instead)


def _first(values: Any, *_: Any) -> Any:
    return values


PARTS: dict[str, list[Part]] = {
    "as it is": [],
    "pair tables not denoised": [_function(measurements, "denoise_pair", _first)],
    "ordered margins not smoothed": [_function(measurements, "haar_denoise", _first)],
    "bucket counts not fused": [_function(measurements.Measurements, "_fuse", _first)],
    "cells that noise explains kept": [_function(denoising, "EMPTY", -1.0)],
    "these cells at zero": [_function(denoising, "TRACE", 0.0)],
    "no trace of emptied categories": [_function(measurements, "keep_alive", _first)],
    "one round of pairs": [_schedule(_one_round(forest=False))],
    "forest alone": [_schedule(lambda s: _without_sets(_one_round(forest=True)(s)))],
    "forest by chance": [
        _schedule(lambda s: _without_sets(_one_round(forest=True)(s))),
        _function(measurements, "worth_measuring", _by_chance),
    ],
    "no sets of three and four": [_schedule(_without_sets)],
    "no correlations of ordered columns": [_function(schedule, "PRODUCT_SHARE", 0.0)],
    "columns in the table's order": [
        _function(maximum_entropy, "elimination_order", lambda e, *_: list(range(e.num_columns)))
    ],
}


@contextmanager
def without(part: str) -> Iterator[None]:
    """The learner without a part."""
    with ExitStack() as stack:
        for switched in PARTS[part]:
            stack.enter_context(switched())
        yield


def measured(table: CodedTable, part: str, epsilon: float, repeats: range) -> dict[str, str]:
    """Mean and deviation of the mean of every figure."""
    found = []
    for repeat in repeats:
        train, test = table.split(repeat)
        with without(part):
            made, seconds = ours(table, train, epsilon)
        one, two = distances(made, test, table.cardinalities)
        found.append([one, two, triples(made, test, table.cardinalities), seconds])
    mean = np.mean(found, axis=0)
    error = np.std(found, axis=0, ddof=1) / np.sqrt(len(repeats))
    names, places = ("1-way", "2-way", "3-way", "fit s"), (4, 4, 4, 1)
    return {n: f"{m:.{p}f} ± {e:.{p}f}" for n, m, e, p in zip(names, mean, error, places, strict=True)}


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="number of the first split")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    given = parser.parse_args()
    for name in given.tables:
        table = TABLES[name]()
        for i, part in enumerate(given.parts):
            repeats = range(given.first, given.first + given.repeats)
            line = {"table": name, "": part} | measured(table, part, given.epsilon, repeats)
            if name == given.tables[0] and not i:
                print(f"| {' | '.join(line)} |\n|{' --- |' * len(line)}")
            print(f"| {' | '.join(line.values())} |", flush=True)


if __name__ == "__main__":
    main()
