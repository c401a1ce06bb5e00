"""Tables of hundreds of columns: CPU seconds and peak memory of a fit, and how much of the links it keeps.

Run: python -m benchmarks.wide [--cases 300x20000x5 1000x5000x3] [--through learner synthesizer] [--epsilon 1] [--profile]

Columns are made one after another: three in four are noisy copies of one of the last ten, the others stand alone. Every fit runs
in a process of its own, on one core; what is imported before it is in the peak, and given apart. ``linked`` and ``apart``: mean
total variation distance, over pairs of columns, between the table of the pair in the rows and in as many synthetic rows, for the
pairs that were linked when the table was made, and for pairs too far apart to have been.
"""

from __future__ import annotations

import argparse
import cProfile
import multiprocessing
import os
import pstats
import resource
import time

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

import numpy as np
import pandas as pd

from sdv_plausible.fitting.fit import learn_model
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import CodeArray
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.utils.counting import joint_counts

CASES = ("100x20000x5", "300x20000x5", "1000x5000x3")
LINKED, BACK, COPIED = (
    0.75,
    10,
    0.7,
)  # share of columns with a parent, how far back it is, share of rows copied
DELTA = 1e-9


def table(columns: int, rows: int, values: int, seed: int = 0) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Codes (rows, columns), and the pairs of columns that were linked."""
    rng = np.random.default_rng(seed)
    codes, links = np.empty((rows, columns), dtype=np.int32, order="F"), []
    for j in range(columns):
        codes[:, j] = rng.choice(values, size=rows, p=rng.dirichlet(np.full(values, 2.0)))
        if j and rng.random() < LINKED:
            parent = int(rng.integers(max(j - BACK, 0), j))
            copied = rng.random(rows) < COPIED
            codes[copied, j] = rng.permutation(values)[codes[copied, parent]]
            links.append((parent, j))
    return codes, links


def distance(real: np.ndarray, made: np.ndarray, pairs: list[tuple[int, int]], values: int) -> float:
    """Mean total variation distance between the tables of these pairs."""
    found = [
        [joint_counts([codes[:, i], codes[:, j]], (values, values)) / len(codes) for codes in (real, made)]
        for i, j in pairs
    ]
    return float(np.mean([np.abs(a - b).sum() / 2 for a, b in found]))


def by_learner(codes: np.ndarray, values: int, epsilon: float) -> tuple[float, np.ndarray]:
    """CPU seconds of the default learner alone, and as many rows of its model."""
    columns = (
        Attribute(name=f"c{j}", kind="categorical", values=tuple(range(values)))
        for j in range(codes.shape[1])
    )
    domain, rng = Domain(tuple(columns)), KeyedRNG.from_os_entropy()
    parts = {"learning": CodeArray(codes, domain.cardinalities)}
    budget = ModelBudget(epsilon=epsilon, delta=DELTA)
    started = time.process_time()
    model = learn_model(parts, domain, AdaptiveNetwork(), budget, PrivacyLedger(delta=DELTA), rng)
    seconds = time.process_time() - started
    return seconds, model.sample(len(codes), rng.spawn("rows"))


def by_synthesizer(codes: np.ndarray, values: int, epsilon: float) -> tuple[float, np.ndarray]:
    """CPU seconds of SDV's ``fit`` with a declared domain, and as many rows."""
    names = [f"c{j}" for j in range(codes.shape[1])]
    declared = {n: {"sdtype": "categorical", "range_values": list(range(values))} for n in names}
    metadata = metadata_from_columns({n: {"sdtype": "categorical"} for n in names})
    frame = pd.DataFrame(codes, columns=names)
    started = time.process_time()
    synth = PlausibleDeniabilitySynthesizer(metadata, epsilon=epsilon, delta=DELTA, domain=declared)
    synth.fit(frame)
    seconds = time.process_time() - started
    return seconds, synth.sample(len(codes))[names].to_numpy()


THROUGH = {"learner": by_learner, "synthesizer": by_synthesizer}


def _peak() -> float:
    """Largest resident memory of this process so far, GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure(case: str, through: str, epsilon: float, profiled: bool) -> str:
    """One fit and its line of the table; in a process of its own."""
    num_columns, num_rows, values = (int(part) for part in case.split("x"))
    codes, links = table(num_columns, num_rows, values)
    before, profile = _peak(), cProfile.Profile(time.process_time)
    if profiled:
        profile.enable()
    seconds, made = THROUGH[through](codes, values, epsilon)
    profile.disable()
    peak = _peak()
    if profiled:
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
    linked = set(links)
    others = [(i, j) for i, j in zip(range(num_columns), range(BACK + 1, num_columns), strict=False)]
    near, far = (distance(codes, made, pairs, values) for pairs in (sorted(linked), others))
    return f"| {case} | {through} | {seconds:.1f} | {peak:.2f} ({before:.2f}) | {near:.4f} | {far:.4f} |"


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--cases", nargs="*", default=CASES, help="columns x rows x values")
    parser.add_argument("--through", nargs="*", choices=list(THROUGH), default=list(THROUGH))
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--profile", action="store_true")
    asked = parser.parse_args()
    print(
        "| table | through | CPU s | peak GB (before the fit) | linked | apart |\n|---|---|---|---|---|---|"
    )
    spawn = multiprocessing.get_context("spawn")
    for case in asked.cases:
        for through in asked.through:
            with spawn.Pool(1) as pool:
                print(pool.apply(measure, (case, through, asked.epsilon, asked.profile)), flush=True)


if __name__ == "__main__":
    main()
