"""The floor of the encoded records' spread against pass rate and quality.

Run: python -m benchmarks.latent [--floors 0.03125 0.1 0.3 1] [--weight 0.1] [--epsilon 1]

Half of adult is fitted under Privacy Test 1; 5,000 rows, decoded from seeds' latent points and passed by the test, are compared with
the other half. The pass rate is that of candidates of seeds drawn at random. It looks at the rows, which are public here.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from benchmarks.models import K, adult, seeds_of_points, synthesizer
from sdv_plausible import metadata_of
from sdv_plausible.evaluation import coding, distances
from sdv_plausible.evaluation.tables import prepare
from sdv_plausible.models.latent.learner import LatentLearner
from sdv_plausible.sdv.versions import from_native, to_native

ROWS = 5_000


def measure(floor: float, weight: float, epsilon: float) -> dict[str, float]:
    """One line of the curve."""
    rows, domain, _ = adult()
    order, half = np.random.default_rng(0).permutation(len(rows)), len(rows) // 2
    train, test = (rows.iloc[part].reset_index(drop=True) for part in (order[:half], order[half:]))
    learner = LatentLearner(floor=floor, weight=weight)
    synth = synthesizer(learner, domain, epsilon=epsilon, privacy_test="deterministic")
    synth.fit(to_native("table", train))
    plausible = seeds_of_points(synth)
    made = from_native(synth.sample(ROWS))[list(train)]
    pair = prepare(test, made, metadata_of(domain).to_dict()["tables"]["table"])
    coded, _ = coding.encode_pair(pair, coding.DEFAULT_NUM_BINS, None, 0)
    real, ours = coded.tables
    return {
        "floor": floor,
        "pass rate": float((plausible >= K).mean()),
        "median seeds": float(np.median(plausible)),
        "1-way": float(distances.column_distances(real, ours, coded.cardinalities).mean()),
        "2-way": float(np.mean(list(distances.pair_distances(real, ours, coded.cardinalities).values()))),
    }


def main() -> None:
    """Print the curve."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--floors", nargs="+", type=float, default=[1 / 32, 0.1, 0.3, 1.0])
    parser.add_argument("--weight", type=float, default=0.1)
    parser.add_argument("--epsilon", type=float, default=1.0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for floor in options.floors:
        line = measure(floor, options.weight, options.epsilon)
        print("|", " | ".join(f"{value:.3g}" for value in line.values()), "|", flush=True)


if __name__ == "__main__":
    main()
