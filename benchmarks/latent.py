"""The floor of the encoded records' spread against pass rate and quality, and the speed of counting plausible seeds.

Run: python -m benchmarks.latent [--floors 0.03125 0.1 0.3 1] [--weight 0.1] [--epsilon 1] [--repeats 4]
     python -m benchmarks.latent --counting
then python -m benchmarks.latent --report

Half of adult is fitted under Privacy Test 1; 5,000 rows, decoded from seeds' latent points and passed by the test, are compared with
the other half. The pass rate is that of candidates of seeds drawn at random. It looks at the rows, which are public here. ``--counting``: all
100,000 rows of acs2013_paper are seeds, and 10,000 candidates are counted in blocks of two sizes, which must agree. Seconds are the
processor's, of all threads. Lines go to ``benchmarks/results_latent.jsonl``; ``--report`` writes means, least and largest into the page.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.models import HERE, PAGE, K, acs2013, adult, seeds_of_points, synthesizer
from sdv_plausible import DeterministicTest, metadata_of
from sdv_plausible.evaluation import table_codes
from sdv_plausible.evaluation.table_pair import prepare_pair
from sdv_plausible.extensions.models.latent.latent_learner import Latent
from sdv_plausible.models import base
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.sdv.sdv_versions import from_native, to_native
from sdv_plausible.utils.atomic_files import write_atomically

RESULTS = HERE / "results_latent.jsonl"
ROWS, CANDIDATES, OTHER_BLOCK = 5_000, 10_000, 100
DIGITS = {"pass rate": 2, "median seeds": 0, "1-way": 3, "2-way": 3}
START, END = "<!-- floors: begin -->\n", "\n<!-- floors: end -->"


def measure(floor: float, weight: float, epsilon: float, repeat: int) -> dict[str, float]:
    """One fit of the curve."""
    rows, domain, _ = adult()
    order, half = np.random.default_rng(repeat).permutation(len(rows)), len(rows) // 2
    train, test = (rows.iloc[part].reset_index(drop=True) for part in (order[:half], order[half:]))
    learner = Latent(floor=floor, weight=weight)
    synth = synthesizer(learner, domain, epsilon=epsilon, test=DeterministicTest)
    synth.fit(to_native("table", train))
    plausible = seeds_of_points(synth)
    made = from_native(synth.sample(ROWS))[list(train)]
    pair = prepare_pair(test, made, metadata_of(domain).to_dict()["tables"]["table"])
    coded, _ = table_codes.encode_pair(pair, table_codes.DEFAULT_NUM_BINS, None, 0)
    real, ours = coded.tables
    return {
        "floor": floor,
        "pass rate": float((plausible >= K).mean()),
        "median seeds": float(np.median(plausible)),
        "1-way": float(table_codes.column_distances(real, ours, coded.cardinalities).mean()),
        "2-way": float(np.mean(list(table_codes.pair_distances(real, ours, coded.cardinalities).values()))),
    }


def counting() -> dict[str, Any]:
    """Plausible seeds of many candidates, by looking at every record; steps of training make no difference."""
    rows, domain, _ = acs2013()
    synth = synthesizer(Latent(steps=16), domain, test=DeterministicTest)
    synth.fit(to_native("table", rows))
    mechanism, rng = synth._sampler.mechanism, KeyedRNG.from_os_entropy()
    seeds, omega = rng.integers(mechanism.num_seeds, CANDIDATES), np.zeros(CANDIDATES, dtype=np.int64)
    proposals = mechanism.model.propose(seeds, omega, rng)
    started, watch = time.process_time(), time.perf_counter()
    counts = mechanism.model.count_plausible(proposals, mechanism.test.gamma)
    seconds, wall = time.process_time() - started, time.perf_counter() - watch
    before, base.SCAN_BLOCK = base.SCAN_BLOCK, OTHER_BLOCK
    again = mechanism.model.count_plausible(proposals, mechanism.test.gamma)
    base.SCAN_BLOCK = before
    if not np.array_equal(counts, again):
        raise AssertionError("counts depend on the blocks in which candidates are looked at")
    sizes = {"seeds": mechanism.num_seeds, "candidates": CANDIDATES, "latent": mechanism.model.num_latent}
    return {**sizes, "processor s": seconds, "s": wall}


def table(found: list[dict[str, Any]]) -> Iterator[str]:
    """Lines of the page's table: of every floor means over its fits, with least and largest."""
    yield "| floor | pass rate at k = 50 | plausible seeds, median | 1-way | 2-way | fits |"
    yield "|---|---|---|---|---|---|"
    for floor in sorted({line["floor"] for line in found}):
        lines = [line for line in found if line["floor"] == floor]
        cells = []
        for name, digits in DIGITS.items():
            values = [line[name] for line in lines]
            mean, least, most = (f"{x:.{digits}f}" for x in (np.mean(values), min(values), max(values)))
            cells.append(f"{mean} ({least} to {most})")
        yield f"| {floor:.4g} | {' | '.join(cells)} | {len(lines)} |"


def report() -> None:
    """Write the curve into the page, between its marks."""
    found = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    before, rest = PAGE.read_text(encoding="utf-8").split(START)
    lines = "\n".join(table([line for line in found if "floor" in line]))
    write_atomically(PAGE, (before + START + lines + END + rest.split(END)[1]).encode())


def note(line: dict[str, Any]) -> None:
    """Keep a line, and show it."""
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    print(line, flush=True)


def main() -> None:
    """Measure the curve, or the speed of counting; or write the page's table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--floors", nargs="+", type=float, default=[1 / 32, 0.1, 0.3, 1.0])
    parser.add_argument("--weight", type=float, default=0.1)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=4, help="splits of the table, a fit each")
    parser.add_argument("--counting", action="store_true", help="measure the speed of counting alone")
    parser.add_argument("--report", action="store_true", help="measure nothing: write the page's table")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.report:
        report()
    elif options.counting:
        note(counting())
    else:
        for repeat in range(options.repeats):
            for floor in options.floors:
                measured = measure(floor, options.weight, options.epsilon, repeat)
                note({"weight": options.weight, "repeat": repeat, **measured})


if __name__ == "__main__":
    main()
