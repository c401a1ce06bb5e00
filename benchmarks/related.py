"""How well two related tables are kept: simulated households and their people, under one total.

Run: python -m benchmarks.related [--methods ours ...] [--epsilons 1 3] [--repeats 0 1 2] [--households 20000]
                                  [--results FILE] [--report]

Mean total variation distance to a reference of 100,000 other households of the same simulator, as in benchmarks.links (numbers in
16 bins of equal shares): of pairs of columns within each table (``households``, ``persons``), of a person's column with the
household's (``parent-child``), and of a person's column with that of somebody else of the household (``siblings``). ``sizes`` is that
of the number of people in a household, to the rows used. ``single`` is a fit of the persons alone, with ``person=`` the household.
Lines go to ``benchmarks/results_related.jsonl``; runs that are there are not run again.

Peers: SDV's HMASynthesizer, which is not private, on fewer households (it takes long); google/dpsynth's relational mode, in an
environment that the user makes (benchmarks/environments.py), each stopped after ``--peer-limit`` seconds of the CPU.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

import numpy as np
import pandas as pd

from benchmarks.environments import cpu_seconds, own
from benchmarks.links import Declared, coded
from benchmarks.utility import interval, read
from sdv_plausible.datasets import families_like, families_like_domain, families_like_metadata
from sdv_plausible.evaluation.distances import pair_counts, total_variation
from sdv_plausible.related.links import Link, read_tree

HERE = Path(__file__).parent
KEPT = HERE / "results_related.jsonl"
MOST, DELTA = 8, 1e-9
REFERENCE, REFERENCE_SEED, FIRST_SEED = 100_000, 1_000, 10
HMA_HOUSEHOLDS = 1_000
DISTANCES = ("households", "persons", "parent-child", "siblings", "sizes")
SHARES = ("whole keys", "one head", "quality", "diagnostic")
SECONDS = ("fit s", "sample s", "sample 4x s")
Tables = dict[str, pd.DataFrame]
Domain = dict[str, dict[str, dict[str, Any]]]
Roles = dict[str, dict[str, str]]
ROLES: Roles = {"relation": {"head": "exactly one", "spouse": "at most one"}}
LINK = read_tree(families_like_metadata(), MOST)[0].links[0]


# What is measured.


@dataclass(frozen=True, kw_only=True)
class Part:
    """Lines of which pairs of columns are compared."""

    rows: pd.DataFrame
    declared: Declared
    pairs: list[tuple[str, str]]


def siblings(children: pd.DataFrame, key: str, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows of families of at least two, and for each the row of another of its family, drawn at random."""
    mixed = children.sample(frac=1, random_state=seed).sort_values(key, kind="stable")
    family = mixed.groupby(key, sort=False)[key]
    size, number = family.transform("size").to_numpy(), family.cumcount().to_numpy()
    other = np.arange(len(mixed)) - number + (number + 1) % size
    several = size > 1
    return mixed[several].reset_index(drop=True), mixed.iloc[other[several]].reset_index(drop=True)


def parts(tables: Tables, link: Link, domain: Domain) -> Iterator[tuple[str, Part]]:
    """Each kind of pairs with its lines."""
    above, own_columns = domain[link.parent], domain[link.child]
    for table, columns in domain.items():
        yield table, Part(rows=tables[table], declared=columns, pairs=list(combinations(columns, 2)))
    of_parent = {link.of_parent(name): spec for name, spec in above.items()}
    roots = tables[link.parent].drop_duplicates(link.primary_key).set_index(link.primary_key)
    beside = roots[list(above)].rename(columns=link.of_parent)
    joined = tables[link.child].join(beside, on=link.foreign_key, how="inner")
    yield (
        "parent-child",
        Part(rows=joined, declared={**own_columns, **of_parent}, pairs=list(product(own_columns, of_parent))),
    )
    of_sibling = {link.of_sibling(name): spec for name, spec in own_columns.items()}
    first, second = siblings(tables[link.child], link.foreign_key)
    both = pd.concat([first, second[list(own_columns)].rename(columns=link.of_sibling)], axis=1)
    yield (
        "siblings",
        Part(rows=both, declared={**own_columns, **of_sibling}, pairs=list(product(own_columns, of_sibling))),
    )


def distance(reference: Part, made: Part) -> float:
    """Mean distance of the pairs, in bins of the reference."""
    names = list(reference.declared)
    target, sizes = coded(reference.declared, reference.rows, reference.rows)
    codes, _ = coded(reference.declared, reference.rows, made.rows)
    found = []
    for one, other in reference.pairs:
        pair = names.index(one), names.index(other)
        shape = sizes[pair[0]], sizes[pair[1]]
        found.append(total_variation(*pair_counts(codes, target, pair, shape)))
    return float(np.mean(found))


def sizes_of(tables: Tables, link: Link) -> np.ndarray:
    """How many parents have 0, 1, ... children, those of more than are used among the last."""
    keys, named = tables[link.parent][link.primary_key], tables[link.child][link.foreign_key]
    each = named.value_counts().reindex(keys.unique(), fill_value=0).clip(upper=link.most)
    return np.bincount(each.to_numpy(), minlength=link.most + 1)


def distances(
    reference: Mapping[str, Part], used: Tables, made: Tables, link: Link, domain: Domain
) -> dict[str, float]:
    """All distances of what was made: to the reference, and of sizes to the rows used."""
    found = {name: distance(reference[name], part) for name, part in parts(made, link, domain)}
    return {**found, "sizes": total_variation(sizes_of(made, link), sizes_of(used, link))}


def whole_keys(tables: Tables, link: Link, own_key: str) -> float:
    """Share of children whose parent is there, or 0 if a key is missing or there twice."""
    parents, children = tables[link.parent][link.primary_key], tables[link.child]
    for key in (parents, children[own_key]):
        if key.isna().any() or not key.is_unique:
            return 0.0
    return float(children[link.foreign_key].isin(parents).mean())


def one_head(tables: Tables) -> float:
    """Share of households with exactly one head, and at most one spouse."""
    persons = tables["persons"]
    keys = tables["households"]["household_id"]
    heads, spouses = (
        persons.loc[persons["relation"] == relation, "household_id"]
        .value_counts()
        .reindex(keys, fill_value=0)
        for relation in ("head", "spouse")
    )
    return float(((heads == 1) & (spouses <= 1)).mean())


def sdmetrics(used: Tables, made: Tables) -> dict[str, float]:
    """SDMetrics' scores of both tables and their relationship."""
    from sdmetrics.reports import DiagnosticReport, QualityReport

    found = {}
    for name, report_of in (("quality", QualityReport()), ("diagnostic", DiagnosticReport())):
        report_of.generate(used, made, families_like_metadata(), verbose=False)
        found[name] = float(report_of.get_score())
    return found


# Who is measured. Of each the tables that it made, and seconds of the CPU.

Made = tuple[Tables, dict[str, float]]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it gives, and the seconds of the CPU that it takes."""
    start = time.process_time()
    found = work()
    return found, time.process_time() - start


def ours(used: Tables, epsilon: float, limit: float, roles: Roles = ROLES) -> Made:
    """Both tables under one total, who is what once in a household declared."""
    from sdv_plausible.related.synthesizer import PlausibleDeniabilityMultiTableSynthesizer

    synth = PlausibleDeniabilityMultiTableSynthesizer(
        families_like_metadata(),
        epsilon=epsilon,
        delta=DELTA,
        max_children=MOST,
        domain=families_like_domain(),
        roles={LINK.child: roles},
    )
    _, fitted = timed(lambda: synth.fit(used))
    assert synth.privacy_ledger().total() <= epsilon
    n = len(used[LINK.parent])
    made, once = timed(lambda: synth.sample(n))
    _, four = timed(lambda: synth.sample(4 * n))
    return made, dict(zip(SECONDS, (fitted, once, four), strict=True))


def without_roles(used: Tables, epsilon: float, limit: float) -> Made:
    """Both tables under one total."""
    return ours(used, epsilon, limit, {})


def single(used: Tables, epsilon: float, limit: float) -> Made:
    """The children alone, with the parent as the person: pairs within their table are all it has."""
    from sdv_plausible import Person, PlausibleDeniabilitySynthesizer
    from sdv_plausible.sdv.metadata import metadata_from_columns

    columns = families_like_metadata()["tables"][LINK.child]["columns"]
    synth = PlausibleDeniabilitySynthesizer(
        metadata_from_columns(columns), epsilon=epsilon, delta=DELTA,
        domain=families_like_domain()[LINK.child], person=Person(LINK.foreign_key, rows=MOST),
    )  # fmt: skip
    _, fitted = timed(lambda: synth.fit(used[LINK.child]))
    assert synth.privacy_ledger().total() <= epsilon
    made, once = timed(lambda: synth.sample(len(used[LINK.child])))
    return {LINK.child: made}, {"fit s": fitted, "sample s": once}


def real(used: Tables, epsilon: float, limit: float) -> Made:
    """The rows used themselves: what sampling alone does."""
    return used, {}


def hma(used: Tables, epsilon: float, limit: float) -> Made:
    """SDV's own, which is not private."""
    from sdv.metadata import Metadata
    from sdv.multi_table import HMASynthesizer

    synth = HMASynthesizer(Metadata.load_from_dict(families_like_metadata()), verbose=False)
    _, fitted = timed(lambda: synth.fit(used))
    made, once = timed(lambda: synth.sample_scale(1.0))
    _, four = timed(lambda: synth.sample_scale(4.0))
    return made, dict(zip(SECONDS, (fitted, once, four), strict=True))


def dpsynth(method: str) -> Callable[[Tables, float, float], Made]:
    """google/dpsynth's relational mode, whose one call fits and draws."""

    def run(used: Tables, epsilon: float, limit: float) -> Made:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            told = {"domain": families_like_domain(), "link": asdict(LINK)}
            (folder / "told.json").write_text(json.dumps(told))
            for table, rows in used.items():
                rows.to_csv(folder / f"{table}.csv", index=False)
            command = [own("dpsynth"), HERE / "related_peer.py", folder, method, epsilon, DELTA, MOST]
            seconds, finished = cpu_seconds(command, limit, folder / "said")
            if not finished:
                raise subprocess.TimeoutExpired(method, limit)
            made = {table: pd.read_csv(folder / f"made_{table}.csv") for table in used}
        made[LINK.child]["person_id"] = range(len(made[LINK.child]))  # it gives none
        return made, {"fit s": seconds}

    return run


METHODS: dict[str, Callable[[Tables, float, float], Made]] = {
    "ours": ours,
    "no roles": without_roles,
    "single": single,
    "real": real,
    "hma": hma,
    "dpsynth-mst": dpsynth("dpsynth-mst"),
    "dpsynth-aim": dpsynth("dpsynth-aim"),
}
NAMES = {
    "no roles": "ours, no roles declared",
    "single": "ours, persons alone",
    "real": "the rows used",
    "hma": f"HMA (SDV; not private; {HMA_HOUSEHOLDS:,} households)",
    "dpsynth-mst": "MST (dpsynth cf8075f, relational)",
    "dpsynth-aim": "AIM (dpsynth cf8075f, relational)",
}
NOT_PRIVATE = ("real", "hma")


@cache
def reference() -> dict[str, Part]:
    """Other households of the simulator."""
    return dict(parts(families_like(REFERENCE, REFERENCE_SEED), LINK, families_like_domain()))


def measure(method: str, epsilon: float, repeat: int, households: int, limit: float) -> dict[str, Any]:
    """One run; a peer that does not finish, or fails, leaves a line that says so."""
    number = min(households, HMA_HOUSEHOLDS) if method == "hma" else households
    run: dict[str, Any] = {"method": method, "epsilon": epsilon, "repeat": repeat, "size": households}
    used = families_like(number, FIRST_SEED + repeat)
    try:
        made, seconds = METHODS[method](used, epsilon, limit)
    except subprocess.TimeoutExpired as error:
        return {**run, "failed": f"not finished after {error.timeout:.0f} s of the CPU"}
    except subprocess.CalledProcessError as error:
        return {**run, "failed": (error.stderr or str(error)).strip().splitlines()[-1]}
    domain = families_like_domain()
    if LINK.parent not in made:
        theirs = reference()[LINK.child]
        return {**run, LINK.child: distance(theirs, replace(theirs, rows=made[LINK.child])), **seconds}
    found: dict[str, float] = distances(reference(), used, made, LINK, domain)
    found |= {"whole keys": whole_keys(made, LINK, "person_id"), "one head": one_head(made)}
    return {**run, **found, **sdmetrics(used, made), **seconds}


def report(lines: Iterable[dict[str, Any]]) -> str:
    """Markdown table of means and 95 % intervals of the mean."""
    columns = [*DISTANCES, *SHARES, *SECONDS]
    frame = pd.DataFrame(list(lines)).reindex(columns=["method", "epsilon", "failed", *columns])
    alone = frame[frame["method"] == "single"].groupby("epsilon")["persons"].mean()
    heads = ["epsilon", "method", "runs", *DISTANCES, "persons, times alone", *SHARES, *SECONDS]
    out = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    order = {name: i for i, name in enumerate(METHODS)}
    groups = sorted(frame.groupby(["epsilon", "method"]), key=lambda g: (g[0][0], order[g[0][1]]))
    for (epsilon, method), all_runs in groups:
        cells = ["none" if math.isinf(epsilon) else f"{epsilon:g}", NAMES.get(method, method)]
        if all_runs["failed"].notna().all():
            out.append("| " + " | ".join([*cells, "0", all_runs["failed"].iloc[0]]) + " |" * (len(heads) - 3))
            continue
        runs = all_runs[all_runs["failed"].isna()]
        cells.append(str(len(runs)))
        for name in columns:
            mean, spread, digits = runs[name].mean(), interval(runs[name]), 4 if name in DISTANCES else 3
            if name == SHARES[0]:
                times = runs["persons"].mean() / alone.get(epsilon, math.nan)
                cells.append("" if math.isnan(times) or method == "single" else f"{times:.2f}")
            shown = f"{mean:.1f}" if name in SECONDS else f"{mean:.{digits}f}"
            with_spread = name in DISTANCES and not math.isnan(spread)
            cells.append(
                "" if math.isnan(mean) else shown + (f" ± {spread:.{digits}f}" if with_spread else "")
            )
        out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out)


def main() -> None:
    """Measure what is not there yet, and show the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--epsilons", nargs="*", type=float, default=[1.0, 3.0])
    parser.add_argument("--repeats", nargs="*", type=int, default=[0, 1, 2], help="seeds of the families")
    parser.add_argument("--households", type=int, default=20_000)
    parser.add_argument("--peer-limit", type=float, default=1_800)
    parser.add_argument("--results", type=Path, default=KEPT, help="file of lines to go on with")
    parser.add_argument("--report", action="store_true", help="only show the table of what was measured")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for repeat, method in product(options.repeats, [] if options.report else options.methods):
        for epsilon in [math.inf] if method in NOT_PRIVATE else options.epsilons:
            run = {"method": method, "epsilon": epsilon, "repeat": repeat, "size": options.households}
            if any(run.items() <= line.items() for line in read(options.results)):
                continue
            line = measure(method, epsilon, repeat, options.households, options.peer_limit)
            with options.results.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(line, flush=True)
    print(report(read(options.results)))


if __name__ == "__main__":
    main()
