"""Whether values of seeds are worth their price: the model alone beside seeds with k = 50, at equal total.

Run: python -m benchmarks.paper.keeping_seeds [--minutes M] [--fresh]

20,000 rows of adult to learn from and 20,000 others to judge by, five splits. Every line has the same total; a share of it is
epsilon0 of a release test, which lets values of the seeds out, and the model has what is left, to the last bit that composition
gives. Measures what is not yet in ``results_keeping_seeds.jsonl``, from which ``python -m benchmarks.paper page`` makes its table.
About three minutes of one core.
"""

from __future__ import annotations

import argparse
import math
import os
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.ensemble import RandomForestClassifier

from benchmarks.paper.store import Line, Store, commit
from benchmarks.utility_scores import distances
from benchmarks.utility_tables import CodedTable, adult
from sdv_plausible import PlausibleDeniabilitySynthesizer, ReleaseTest, metadata_of
from sdv_plausible.mechanism.drawing.sampler import PrefixSampler

RESULTS = Path(__file__).parent / "results_keeping_seeds.jsonl"
ROWS, SPLITS, TREES = 20_000, 5, 30
ALONE = (0, 0.0)
TRIED = {  # total: values kept of a seed, and the share of the total that is epsilon0
    1.0: (ALONE, (1, 0.1), (1, 0.3), (1, 0.5), (2, 0.3), (3, 0.3)),
    4.0: (ALONE, (1, 0.1), (1, 0.3), (2, 0.3), (3, 0.3)),
}
SCORES = {"1-way": "columns", "2-way": "pairs", "forest": "forest", "game": "told apart"}
MISSING = "missing"


def synthesizer(table: CodedTable, total: float, kept: int, share: float) -> PlausibleDeniabilitySynthesizer:
    """Ours with a declared domain, and the largest epsilon of the model that keeps the total."""
    domain, omega = table.declaration(), len(table.names) - kept

    def made(epsilon: float) -> PlausibleDeniabilitySynthesizer:
        test = ReleaseTest(omega=omega, epsilon0=share * total) if kept else ReleaseTest()
        return PlausibleDeniabilitySynthesizer(
            metadata_of(domain), epsilon=epsilon, delta=table.delta, domain=domain, test=test,
            max_bins=max(table.cardinalities) + 1,
        )  # fmt: skip

    low, high = (1 - share) * total, total
    for _ in range(8 if kept else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if made(middle).plan().ledger.total() <= total else (low, middle)
    return made(low)


def measured(table: CodedTable, total: float, kept: int, share: float, split: int) -> dict[str, float]:
    """Distances to unseen rows, accuracy of a forest on them, how often one tells made rows from them, and how many have kept values that none has."""
    order = np.random.default_rng(split).permutation(len(table.codes))
    train, test = table.codes[order[:ROWS]], table.codes[order[ROWS : 2 * ROWS]]
    synth = synthesizer(table, total, kept, share)
    synth.fit(pd.DataFrame(train, columns=table.names))
    found = synth.privacy_ledger().total()
    assert found <= total + 1e-9, f"the total is {found}, above {total}"
    rows = synth.sample(ROWS)[table.names].to_numpy()
    assert isinstance(synth._sampler, PrefixSampler)
    prefix = list(synth._sampler.model.order[:kept])
    made = {tuple(values) for values in rows[:, prefix].tolist()}
    one, two = distances(rows, test, table.cardinalities)
    inputs = [j for j in range(len(table.names)) if j != table.target]
    forest = RandomForestClassifier(TREES, random_state=0).fit(rows[:, inputs], rows[:, table.target])
    half, truth = ROWS // 2, np.repeat([0, 1], ROWS // 2)
    player = RandomForestClassifier(TREES, min_samples_leaf=5, random_state=0)
    player.fit(np.concatenate([test[:half], rows[:half]]), truth)
    return {
        "1-way": one,
        "2-way": two,
        "forest": float(forest.score(test[:, inputs], test[:, table.target])),
        "game": float(player.score(np.concatenate([test[half:], rows[half:]]), truth)),
        MISSING: float(np.mean([tuple(values) not in made for values in test[:, prefix].tolist()])),
        "epsilon of the model": synth.epsilon,
        "total": found,
    }


def half_width(values: list[float]) -> float:
    """Half of a 95 % interval of the mean."""
    return float(stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)) if len(values) > 1 else math.nan


def name(total: float, tried: tuple[int, float]) -> str:
    """Name of a line."""
    return f"total {total:g}, {tried[0]} kept, {tried[1]:.0%}"


def values(lines: list[Line], total: float, tried: tuple[int, float], score: str) -> list[float]:
    """A score of a line, split by split."""
    found = [line for line in lines if line["row"] == name(total, tried)]
    return [line[score] for line in sorted(found, key=lambda line: int(line["repeat"]))]


def differences(lines: list[Line], total: float, tried: tuple[int, float], score: str) -> list[float]:
    """A score less that of the model alone at the same total, split by split."""
    found, alone = (values(lines, total, which, score) for which in (tried, ALONE))
    return [a - b for a, b in zip(found, alone, strict=False)]


def is_better(lines: list[Line], total: float, tried: tuple[int, float], score: str) -> bool:
    """Whether a line beats the model alone, its whole interval."""
    found = differences(lines, total, tried, score)
    better = float(np.mean(found)) * (1 if score == "forest" else -1)
    return better > half_width(found)


def is_farther(lines: list[Line], total: float, tried: tuple[int, float], score: str) -> bool:
    """Whether a distance of a line is above that of the model alone, its whole interval."""
    found = differences(lines, total, tried, score)
    return float(np.mean(found)) > half_width(found)


def table_of(lines: list[Line]) -> str:
    """Markdown: the model alone as it is, the other lines as differences from it on the same split, with 95 % intervals."""
    heads = ["total", "values kept", "share for the seeds", *SCORES.values(), "rows out of reach"]
    body = [heads, ["---"] * len(heads)]
    for total, every in TRIED.items():
        for tried in every:
            cells = [
                f"{total:g}",
                str(tried[0]) if tried[0] else "none",
                f"{tried[1]:.0%}" if tried[0] else "",
            ]
            for score in SCORES:
                found, sign = values(lines, total, tried, score), ""
                if tried != ALONE:
                    found, sign = differences(lines, total, tried, score), "+"
                cells.append(f"{np.mean(found):{sign}.3f} ± {half_width(found):.3f}" if found else "")
            missing = values(lines, total, tried, MISSING)
            cells.append(f"{np.mean(missing):.1%}" if missing else "")
            body.append(cells)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in body)


def main() -> None:
    """Measure what is not there yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=math.inf, help="CPU minutes, at most about")
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.fresh:
        RESULTS.unlink(missing_ok=True)
    coded, store = adult(), Store(RESULTS)
    wanted = [(split, t, tried) for split in range(SPLITS) for t, every in TRIED.items() for tried in every]
    for split, total, tried in wanted:
        if time.process_time() > 60 * options.minutes:
            print("stopped: the same command goes on here")
            break
        store.once("keeping seeds", name(total, tried), split, partial(_kept, coded, total, tried, split))
    print(table_of(store.lines))


def _kept(table: CodedTable, total: float, tried: tuple[int, float], split: int) -> dict[str, Any]:
    return {**measured(table, total, *tried, split), "made": {"commit": commit()}}


if __name__ == "__main__":
    main()
