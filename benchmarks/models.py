"""Every model on adult and acs2013_paper in one run: the table of docs/explanation/models.md.

Run: python -m benchmarks.models [--tables adult acs2013] [--models NAME ...] [--epsilon 1] [--repeats 1]
then python -m benchmarks.models --report

Raw tables, declared by their code books. A model is fitted to half of the rows under the default test, samples as many, and is scored
against the other half. The pass rate is that of Privacy Test 1 at k = 50 for candidates of seeds drawn at random, omega even
among the seven largest; it looks at the rows, which are public here, and is never part of a release. Seconds are the processor's.
``own_model`` is the chain that the how-to page writes. Lines go to ``benchmarks/results_models.jsonl``; ``--report`` writes their
means, of the lines of every model and table, into the page.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import re
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sdv.single_table import GaussianCopulaSynthesizer

from sdv_plausible import DeterministicTest, PlausibleDeniabilitySynthesizer, ReleaseTest, metadata_of
from sdv_plausible.evaluation import table_codes
from sdv_plausible.evaluation.classifiers import compare_classifiers, distinguishing_game
from sdv_plausible.evaluation.table_pair import prepare_pair
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.sdv.sdv_versions import from_native, to_native
from sdv_plausible.utils.atomic_files import write_atomically

HERE = Path(__file__).parent
DATA = Path(os.environ.get("SDV_PLAUSIBLE_DATA", "../shared/data"))
RESULTS = HERE / "results_models.jsonl"
MODELS: dict[str, Any] = {
    "bayesian_network": "bayesian_network",
    "correlated": "correlated",
    "gaussian_copula": "gaussian_copula",
    "latent": "latent",
    "independent": "independent",
    "random": "random",
    "own_model": None,
    "GaussianCopulaSynthesizer": GaussianCopulaSynthesizer,
}
PAGES = HERE.parent / "docs"
PAGE = PAGES / "explanation" / "models.md"
DIGITS = {
    "total epsilon": 3, "pass rate": 2, "1-way": 3, "2-way": 3, "agreement": 2, "game": 2, "fit s": 2, "sample s": 2,
}  # fmt: skip
ORDERED = ("age", "edu", "hpw")  # of acs2013
K, OMEGAS, CANDIDATES, POINTS = 50, 7, 5_000, 2_000
Table = tuple[pd.DataFrame, dict[str, Any], str]


def adult() -> Table:
    """All rows, what the code book declares, and the target."""
    parts = [pd.read_csv(DATA / "adult" / f"adult_{part}.csv.gz") for part in ("train", "test")]
    told = json.loads((HERE / "domains" / "adult.json").read_text(encoding="utf-8"))
    table = pd.concat(parts, ignore_index=True)
    return table, {c: {**told["metadata"][c], **told["domain"][c]} for c in table.columns}, "income"


def acs2013() -> Table:
    """The paper's columns, as many codes as its domain has."""
    folder = DATA / "acs2013_paper"
    described = json.loads((folder / "columns.json").read_text(encoding="utf-8"))["columns"]
    domain: dict[str, Any] = {}
    for column in described:
        low, high = column["codes"]
        numeric = {"sdtype": "numerical", "range_min": low, "range_max": high, "decimal_places": 0}
        coded = {"sdtype": "categorical", "range_values": list(range(low, high + 1))}
        chosen = numeric if column["name"] in ORDERED else coded
        domain[column["name"]] = {**chosen, "range_is_nullable": False}
    return pd.read_csv(folder / "acs2013_100k.csv.gz"), domain, "incc"


def synthesizer(model: Any, domain: dict[str, Any], test: type[Any] = ReleaseTest, **options: Any) -> Any:
    """One of ours, with a model and a test at K."""
    return PlausibleDeniabilitySynthesizer(
        metadata_of(domain), model=model, domain=domain, test=test(k=K), **options
    )


def chosen(name: str) -> Any:
    """What ``model=`` is given; the how-to page's own learner is made by running the block that writes it."""
    if name != "own_model":
        return MODELS[name]
    page = (PAGES / "how_to" / "own_model.md").read_text(encoding="utf-8")
    block = next(re.finditer(r"```python\n(.*?)```", page, re.DOTALL)).group(1)
    made: dict[str, Any] = {"__name__": __name__}
    exec(block, made)
    return made["ChainLearner"]()


def pass_rate(model: Any, domain: dict[str, Any], rows: pd.DataFrame, epsilon: float) -> float:
    """Share of candidates with k plausible seeds or more."""
    synth = synthesizer(model, domain, epsilon=epsilon, test=DeterministicTest)
    synth.fit(to_native("table", rows))
    if model == "latent":  # keeps no columns: the point of a seed has one law, whatever omega below m
        return float((seeds_of_points(synth) >= K).mean())
    found = synth.diagnose(CANDIDATES)
    return float(found.sort_values("omega")["share_at_least_k"].iloc[-OMEGAS:].mean())


def seeds_of_points(synth: Any) -> np.ndarray:
    """Plausible seeds of latent points of seeds drawn at random."""
    mechanism, rng = synth._sampler.mechanism, KeyedRNG.from_os_entropy()
    seeds, omega = rng.integers(mechanism.num_seeds, POINTS), np.zeros(POINTS, dtype=np.int64)
    model = mechanism.model
    return np.asarray(model.count_plausible(model.propose(seeds, omega, rng), mechanism.test.gamma))


def scores(
    train: pd.DataFrame, test: pd.DataFrame, made: pd.DataFrame, domain: dict[str, Any], target: str
) -> dict[str, float]:
    """Distances to unseen rows, agreement of classifiers on them, and the game."""
    metadata = metadata_of(domain).to_dict()["tables"]["table"]
    pair = prepare_pair(test, made, metadata)
    coded, _ = table_codes.encode_pair(pair, table_codes.DEFAULT_NUM_BINS, None, 0)
    real, ours = coded.tables
    compared = compare_classifiers(
        prepare_pair(train, made, metadata), target, classifiers="random_forest", num_runs=1, holdout=test
    )
    game = distinguishing_game(pair, classifiers="random_forest", num_runs=1)
    return {
        "1-way": float(table_codes.column_distances(real, ours, coded.cardinalities).mean()),
        "2-way": float(np.mean(list(table_codes.pair_distances(real, ours, coded.cardinalities).values()))),
        "agreement": compared.results["random_forest"].agreement.mean,
        "game": game.accuracy["random_forest"].mean,
    }


def measure(name: str, table: Table, epsilon: float, repeat: int) -> dict[str, Any]:
    """One line of the results."""
    rows, domain, target = table
    order = np.random.default_rng(repeat).permutation(len(rows))
    half = len(rows) // 2
    train, test = (rows.iloc[part].reset_index(drop=True) for part in (order[:half], order[half:]))
    model = chosen(name)
    synth = synthesizer(model, domain, epsilon=epsilon)
    started = time.process_time()
    synth.fit(to_native("table", train))
    fitted = time.process_time()
    made = from_native(synth.sample(len(train)))
    sampled = time.process_time()
    return {
        "total epsilon": synth.privacy_ledger().total(),
        "pass rate": pass_rate(model, domain, train, epsilon),
        **scores(train, test, made[list(train)], domain, target),
        "fit s": fitted - started,
        "sample s": sampled - fitted,
    }


def lines_of(which: str) -> str:
    """Markdown table of a table's results: the mean of each model's lines."""
    found = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    rows = [
        "| model | total epsilon | pass rate at k = 50 | 1-way | 2-way | agreement | game | fit s | sample s |"
    ]
    rows.append("|---" * (1 + len(DIGITS)) + "|")
    for name in MODELS:
        of_model = [line for line in found if (line["table"], line["model"]) == (which, name)]
        if of_model:
            means = {what: float(np.mean([line[what] for line in of_model])) for what in DIGITS}
            cells = ["infinite" if math.isinf(x) else f"{x:.{DIGITS[what]}f}" for what, x in means.items()]
            rows.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def report() -> None:
    """Write the tables into the page, between their marks."""
    page = PAGE.read_text(encoding="utf-8")
    for which in ("adult", "acs2013"):
        start, end = f"<!-- {which}: begin -->\n", f"\n<!-- {which}: end -->"
        before, rest = page.split(start)
        page = before + start + lines_of(which) + end + rest.split(end)[1]
    write_atomically(PAGE, page.encode())


def main() -> None:
    """Measure, and print lines of the page's table; or write the page's tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="+", default=["adult", "acs2013"], choices=["adult", "acs2013"])
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=1, help="splits of each table")
    parser.add_argument("--report", action="store_true", help="measure nothing: write the page's tables")
    options = parser.parse_args()
    if options.report:
        report()
        return
    warnings.simplefilter("ignore")
    tables = {which: {"adult": adult, "acs2013": acs2013}[which]() for which in options.tables}
    for repeat, which in itertools.product(range(options.repeats), options.tables):
        for name in options.models:
            measured = measure(name, tables[which], options.epsilon, repeat)
            line = {"table": which, "model": name, "repeat": repeat, **measured}
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            shown = [f"{value:.3g}" if isinstance(value, float) else value for value in line.values()]
            print("|", " | ".join(map(str, shown)), "|", flush=True)


if __name__ == "__main__":
    main()
