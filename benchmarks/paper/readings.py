"""Other readings of what the paper prints: amplification in figure 1, each row's own norm, what accuracy alone makes agree, a fast scan.

Run: python -m benchmarks.paper.readings [--minutes M] [--fresh]

Simulated rows at the paper's sizes. Measures what is not yet in ``results_readings.jsonl``, from which
``python -m benchmarks.paper page`` makes its tables. ``python -m benchmarks.paper rerun`` measures this, too.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from benchmarks.paper.causes import FORESTS
from benchmarks.paper.classifiers import INPUTS
from benchmarks.paper.linear import Contest, features
from benchmarks.paper.settings import INNER_EPSILON, PRIVATE_MODELS, SIZES, TARGET, TIMED_OMEGA, Row, Sizes
from benchmarks.paper.statistics import accuracies
from benchmarks.paper.store import Store
from benchmarks.paper.synthesis import Study
from sdv_plausible.privacy.plausible_seeds import PrefixGroups

HERE = Path(__file__).parent
DATA = "simulated"
NAME = "results_readings.jsonl"
REPEATS = 2
SHARE = 280_000 / 1_494_974  # of the paper's rows, for structure and for tables: p of Theorem 4
INNER_TENTH = math.log1p(math.expm1(0.1) / SHARE)  # amplified by p it is 0.1
SEARCHES = {"best arc": "parts", "child after child": "children"}
NOISE = {
    "not noised": math.inf,
    "ε=1 after amplification": INNER_EPSILON,
    "ε=0.1 after amplification": INNER_TENTH,
}
MARGINALS = Row(name="marginals", kind="marginals")
FAST_SCANNED, LOOKED_UP = 64, 1_000_000  # candidates


def readings(study: Study) -> Iterator[tuple[str, str, Callable[[], dict[str, Any]]]]:
    """Item, row and what measures it, of one repeat; figure 1 and the scan once."""
    if study.repeat == 0:
        yield "figure 1", "private marginals", lambda: _named(study, "marginals", 1.0)
        for search, kind in SEARCHES.items():
            for noise, epsilon in NOISE.items():
                yield "figure 1", f"{search}, {noise}", partial(_named, study, kind, epsilon)
        yield "scan", "candidates per CPU second", lambda: _scans(study)
    for name, judged in _own_norm(study).items():
        yield "own norm", name, judged
    for size, trees in FORESTS.items():
        yield "forests", size, partial(_forests, study, trees)


def _named(study: Study, kind: str, epsilon: float) -> dict[str, Any]:
    """Share of unseen rows whose attribute is named, mean over models of the same rows; one where nothing is noised."""
    number, test = (PRIVATE_MODELS if math.isfinite(epsilon) else 1), study.split.unseen[: study.sizes.tested]
    found = [accuracies(study.learn(kind, epsilon, draw), test) for draw in range(number)]
    return {"values": np.mean(found, axis=0).tolist()}


def _forests(study: Study, trees: int) -> dict[str, Any]:
    """A forest of marginals' rows beside one of real rows: how often each names the rarer class, and what that alone makes agree."""
    split, sizes = study.split, study.sizes
    test = split.unseen[: sizes.tested]

    def said(rows: np.ndarray) -> np.ndarray:
        forest = RandomForestClassifier(
            trees, max_features=4 if trees == 10 else "sqrt", random_state=study.repeat
        )
        return np.asarray(forest.fit(rows[:, INPUTS], rows[:, TARGET]).predict(test[:, INPUTS]))

    guess = said(study.released(MARGINALS)[: sizes.train])
    real = said(np.concatenate([split.structure, split.parameters])[: sizes.train])
    return {
        "accuracy": float((guess == test[:, TARGET]).mean()),
        "agreement": float((guess == real).mean()),
        "rate": float(guess.mean()),
        "rate of reals": float(real.mean()),
        "rich": float(test[:, TARGET].mean()),
    }


def guessed(accuracy: float, rich: float, rate_of_reals: float) -> float:
    """Agreement with the reals' classifier of guesses that do not depend on the row, at the rate that gives this accuracy.

    At rate q a guess is right with q rich + (1 - q) (1 - rich); agreement is the same with the reals' rate.
    """
    rate = (1 - rich - accuracy) / (1 - 2 * rich)
    return rate * rate_of_reals + (1 - rate) * (1 - rate_of_reals)


def _own_norm(study: Study) -> dict[str, Callable[[], dict[str, Any]]]:
    """Table 4 with every row divided by its own norm, as "each training example ... its norm is at most 1" can be read."""

    def prepared(codes: np.ndarray) -> tuple[Any, np.ndarray]:
        found = features(codes, study.split.cardinalities)
        norms = np.sqrt(np.asarray(found.multiply(found).sum(axis=1)).ravel())
        return found.multiply(1 / norms[:, None]).tocsr(), np.where(codes[:, TARGET] > 0, 1.0, -1.0)

    made: list[Contest] = []

    def contest() -> Contest:
        if not made:
            split = study.split
            real = np.concatenate([split.seeds, split.parameters, split.structure])
            (rows, labels), (test, truth) = (
                prepared(real[: study.sizes.linear_printed]),
                prepared(split.unseen[: study.sizes.tested]),
            )
            rng = study.rng.spawn("own norm")
            made.append(Contest(rows=rows, labels=labels, test=test, truth=truth, rng=rng))
        return made[0]

    return {
        "not private": lambda: contest().plain(),
        "output perturbation": lambda: contest().output(),
        "objective perturbation": lambda: contest().objective(),
    }


def _scans(study: Study) -> dict[str, Any]:
    """Candidates per CPU second, ω = 9: a scan of the seeds' kept values in one pass of numpy, and the look-up."""
    split = study.split
    kept = len(split.cardinalities) - TIMED_OMEGA
    network = study.network("cfs", 1.0)
    order = list(network.order)
    cards = [split.cardinalities[j] for j in order]
    codes = np.ascontiguousarray(split.seeds[:, order])
    prefixes = np.ravel_multi_index(tuple(codes[:, j] for j in range(kept)), cards[:kept]).astype(np.int32)
    drawn = study.rng.spawn("fast scan").integers(len(codes), LOOKED_UP)
    groups = PrefixGroups(codes, cards)
    groups.sizes(codes[:1], kept)  # the groups are made once, before the first candidate
    start = time.process_time()
    counted = [int(np.count_nonzero(prefixes == prefixes[row])) for row in drawn[:FAST_SCANNED]]
    scanned = time.process_time()
    looked = groups.sizes(codes[drawn], kept)
    done = time.process_time()
    assert counted == looked[:FAST_SCANNED].tolist(), "scan and look-up must agree"
    return {"scan": FAST_SCANNED / (scanned - start), "look-up": LOOKED_UP / (done - scanned)}


def main() -> None:
    """Measure what is not there yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=math.inf, help="CPU minutes, at most about")
    parser.add_argument("--fresh", action="store_true")
    options = parser.parse_args()
    store = Store(HERE / NAME, SIZES[DATA])
    if options.fresh:
        store.forget([line["item"] for line in store.lines])
    store.check_one_version()
    run(store, SIZES[DATA], 60 * options.minutes)


def run(store: Store, sizes: Sizes, seconds: float = math.inf) -> bool:
    """Measure item after item; False if the time was over before."""
    for repeat in range(REPEATS):
        for item, row, measure in readings(Study(DATA, sizes, repeat)):
            if time.process_time() > seconds:
                return False
            store.once(item, row, repeat, measure)
    return True


if __name__ == "__main__":
    main()
