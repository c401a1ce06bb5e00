"""How well two related tables are kept under one total: simulated households, hotels with guests, published households.

Run: python -m benchmarks.related [--data families hotels households] [--methods ours ...] [--epsilons 1 3] [--repeats 0 1 2]
                                  [--size N] [--results FILE] [--report]

Mean total variation distance to other families of the same source (benchmarks.related_data), as in benchmarks.links (numbers and
dates in 16 bins of equal shares): of pairs of columns within each table (``parents``, ``children``), of a child's column with its
parent's (``parent-child``), and of a child's column with that of another child of the parent (``siblings``). ``sizes`` is that of the
number of children, to the rows used. ``single`` is a fit of the children alone, with ``person=`` the parent. ``roles`` is the share of
parents whose children keep every declared role. Lines go to ``benchmarks/results_related.jsonl``; runs that are there are not run
again, and data that is not there is said and left out.

Peers: SDV's HMASynthesizer, which is not private, on fewer families (it takes long); google/dpsynth's relational mode, in an
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
from benchmarks.related_data import DATASETS, Domain, Related, Tables
from benchmarks.utility import interval, read
from sdv_plausible.evaluation.table_codes import paired_histograms, total_variation
from sdv_plausible.extensions.multi_table.relationships import Relationship

HERE = Path(__file__).parent
KEPT = HERE / "results_related.jsonl"
DELTA = 1e-9
HMA_FAMILIES = 1_000
DISTANCES = ("parents", "children", "parent-child", "siblings", "sizes")
SHARES = ("whole keys", "roles", "quality", "diagnostic")
SECONDS = ("fit s", "sample s", "sample 4x s")
Roles = Mapping[str, Mapping[Any, str]]


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


def parts(tables: Tables, link: Relationship, domain: Domain) -> Iterator[tuple[str, Part]]:
    """Each kind of pairs with its lines."""
    above, own_columns = domain[link.parent], domain[link.child]
    for kind, table in (("parents", link.parent), ("children", link.child)):
        pairs = list(combinations(domain[table], 2))
        yield kind, Part(rows=tables[table], declared=domain[table], pairs=pairs)
    of_parent = {link.of_parent(name): spec for name, spec in above.items()}
    roots = tables[link.parent].drop_duplicates(link.primary_key).set_index(link.primary_key)
    beside = roots[list(above)].rename(columns=link.of_parent)
    joined = tables[link.child].join(beside, on=link.foreign_key, how="inner")
    across = list(product(own_columns, of_parent))
    yield "parent-child", Part(rows=joined, declared={**own_columns, **of_parent}, pairs=across)
    of_sibling = {link.of_sibling(name): spec for name, spec in own_columns.items()}
    first, second = siblings(tables[link.child], link.foreign_key)
    both = pd.concat([first, second[list(own_columns)].rename(columns=link.of_sibling)], axis=1)
    across = list(product(own_columns, of_sibling))
    yield "siblings", Part(rows=both, declared={**own_columns, **of_sibling}, pairs=across)


def distance(reference: Part, made: Part) -> float:
    """Mean distance of the pairs, in bins of the reference."""
    names = list(reference.declared)
    target, sizes = coded(reference.declared, reference.rows, reference.rows)
    codes, _ = coded(reference.declared, reference.rows, made.rows)
    found = []
    for one, other in reference.pairs:
        pair = names.index(one), names.index(other)
        shape = sizes[pair[0]], sizes[pair[1]]
        found.append(total_variation(*paired_histograms(codes, target, pair, shape)))
    return float(np.mean(found))


def sizes_of(tables: Tables, link: Relationship) -> np.ndarray:
    """How many parents have 0, 1, ... children, those of more than are used among the last."""
    keys, named = tables[link.parent][link.primary_key], tables[link.child][link.foreign_key]
    each = named.value_counts().reindex(keys.unique(), fill_value=0).clip(upper=link.most)
    return np.bincount(each.to_numpy(), minlength=link.most + 1)


def distances(
    reference: Mapping[str, Part], used: Tables, made: Tables, link: Relationship, domain: Domain
) -> dict[str, float]:
    """All distances of what was made: to the reference, and of sizes to the rows used."""
    found = {name: distance(reference[name], part) for name, part in parts(made, link, domain)}
    return {**found, "sizes": total_variation(sizes_of(made, link), sizes_of(used, link))}


def whole_keys(tables: Tables, link: Relationship, own_key: str) -> float:
    """Share of children whose parent is there, or 0 if a key is missing or there twice."""
    parents, children = tables[link.parent][link.primary_key], tables[link.child]
    for key in (parents, children[own_key]):
        if key.isna().any() or not key.is_unique:
            return 0.0
    return float(children[link.foreign_key].isin(parents).mean())


def roles_kept(tables: Tables, link: Relationship, roles: Roles) -> float:
    """Share of parents of whose children each role is had as often as it says; nan where there is none."""
    children, keys = tables[link.child], tables[link.parent][link.primary_key]
    kept = np.ones(len(keys), bool)
    for column, values in roles.items():
        for value, often in values.items():
            who = children.loc[children[column] == value, link.foreign_key]
            number = who.value_counts().reindex(keys, fill_value=0).to_numpy()
            kept &= number == 1 if often == "exactly one" else number <= 1
    return float(kept.mean()) if roles else math.nan


def sdmetrics(used: Tables, made: Tables, metadata: dict[str, Any]) -> dict[str, float]:
    """SDMetrics' scores of both tables and their relationship."""
    from sdmetrics.reports import DiagnosticReport, QualityReport

    found = {}
    for name, report_of in (("quality", QualityReport()), ("diagnostic", DiagnosticReport())):
        report_of.generate(used, made, metadata, verbose=False)
        found[name] = float(report_of.get_score())
    return found


# Who is measured. Of each the tables that it made, and seconds of the CPU.

Made = tuple[Tables, dict[str, float]]
Method = Callable[[Related, Tables, float, float], Made]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it gives, and the seconds of the CPU that it takes."""
    start = time.process_time()
    found = work()
    return found, time.process_time() - start


def ours(data: Related, used: Tables, epsilon: float, limit: float, roles: Roles | None = None) -> Made:
    """Both tables under one total, with the roles that are declared."""
    from sdv_plausible.extensions.multi_table.multi_table_synthesizer import (
        PlausibleDeniabilityMultiTableSynthesizer,
    )

    synth = PlausibleDeniabilityMultiTableSynthesizer(
        data.metadata, epsilon=epsilon, delta=DELTA, max_children=data.most, domain=data.domain,
        roles={data.link.child: data.roles if roles is None else roles},
    )  # fmt: skip
    _, fitted = timed(lambda: synth.fit(used))
    assert synth.privacy_ledger().total() <= epsilon
    n = len(used[data.link.parent])
    made, once = timed(lambda: synth.sample(n))
    _, four = timed(lambda: synth.sample(4 * n))
    return made, dict(zip(SECONDS, (fitted, once, four), strict=True))


def single(data: Related, used: Tables, epsilon: float, limit: float) -> Made:
    """The children alone, with the parent as the person: pairs within their table are all it has."""
    from sdv_plausible import Person, PlausibleDeniabilitySynthesizer
    from sdv_plausible.sdv.metadata import metadata_from_columns

    child, key = data.link.child, data.link.foreign_key
    synth = PlausibleDeniabilitySynthesizer(
        metadata_from_columns(data.metadata["tables"][child]["columns"]), epsilon=epsilon, delta=DELTA,
        domain=data.domain[child], person=Person(key, rows=data.most),
    )  # fmt: skip
    _, fitted = timed(lambda: synth.fit(used[child]))
    assert synth.privacy_ledger().total() <= epsilon
    made, once = timed(lambda: synth.sample(len(used[child])))
    return {child: made}, {"fit s": fitted, "sample s": once}


def hma(data: Related, used: Tables, epsilon: float, limit: float) -> Made:
    """SDV's own, which is not private."""
    from sdv.metadata import Metadata
    from sdv.multi_table import HMASynthesizer

    synth = HMASynthesizer(Metadata.load_from_dict(data.metadata), verbose=False)
    _, fitted = timed(lambda: synth.fit(used))
    made, once = timed(lambda: synth.sample_scale(1.0))
    return made, {"fit s": fitted, "sample s": once}


def dpsynth(method: str) -> Method:
    """google/dpsynth's relational mode, whose one call fits and draws."""

    def run(data: Related, used: Tables, epsilon: float, limit: float) -> Made:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            told = {"domain": data.domain, "link": asdict(data.link)}
            (folder / "told.json").write_text(json.dumps(told))
            for table, rows in used.items():
                rows.to_csv(folder / f"{table}.csv", index=False)
            command = [own("dpsynth"), HERE / "related_peer.py", folder, method, epsilon, DELTA]
            seconds, finished = cpu_seconds(command, limit, folder / "said")
            if not finished:
                raise subprocess.TimeoutExpired(method, limit)
            made = {table: pd.read_csv(folder / f"made_{table}.csv") for table in used}
        made[data.link.child][data.own_key] = range(len(made[data.link.child]))  # it gives none
        return made, {"fit s": seconds}

    return run


METHODS: dict[str, Method] = {
    "ours": ours,
    "no roles": lambda *told: ours(*told, roles={}),
    "single": single,
    "real": lambda data, used, epsilon, limit: (used, {}),
    "hma": hma,
    "dpsynth-mst": dpsynth("dpsynth-mst"),
    "dpsynth-aim": dpsynth("dpsynth-aim"),
}
NAMES = {
    "no roles": "ours, no roles declared",
    "single": "ours, children alone",
    "real": "the rows used",
    "hma": "HMA (SDV; not private)",
    "dpsynth-mst": "MST (dpsynth cf8075f, relational)",
    "dpsynth-aim": "AIM (dpsynth cf8075f, relational)",
}
NOT_PRIVATE = ("real", "hma")


@cache
def reference(name: str, repeat: int) -> dict[str, Part]:
    """Other families of the same source."""
    data = DATASETS[name]
    return dict(parts(data.others(repeat), data.link, data.domain))


def measure(name: str, method: str, epsilon: float, repeat: int, size: int, limit: float) -> dict[str, Any]:
    """One run; a peer that does not finish, or fails, leaves a line that says so."""
    data = DATASETS[name]
    run: dict[str, Any] = {"data": name, "method": method, "epsilon": epsilon, "repeat": repeat, "size": size}
    used = data.used(repeat, size)
    try:
        made, seconds = METHODS[method](data, used, epsilon, limit)
    except subprocess.TimeoutExpired as error:
        return {**run, "failed": f"not finished after {error.timeout:.0f} s of the CPU"}
    except subprocess.CalledProcessError as error:
        return {**run, "failed": (error.stderr or str(error)).strip().splitlines()[-1]}
    link, theirs = data.link, reference(name, repeat)
    if link.parent not in made:
        other = replace(theirs["children"], rows=made[link.child])
        return {**run, "children": distance(theirs["children"], other), **seconds}
    found: dict[str, float] = distances(theirs, used, made, link, data.domain)
    found |= {"whole keys": whole_keys(made, link, data.own_key), "roles": roles_kept(made, link, data.roles)}
    return {**run, **found, **sdmetrics(used, made, data.metadata), **seconds}


def report(lines: Iterable[dict[str, Any]]) -> str:
    """Markdown table of means and 95 % intervals of the mean."""
    columns, keys = [*DISTANCES, *SHARES, *SECONDS], ["data", "epsilon", "method", "size"]
    frame = pd.DataFrame(list(lines)).reindex(columns=[*keys, "failed", *columns])
    alone = frame[frame["method"] == "single"].groupby(["data", "epsilon", "size"])["children"].mean()
    heads = [*keys[:3], "families", "runs", *DISTANCES, "children, times alone", *SHARES, *SECONDS]
    out = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    order = {name: i for i, name in enumerate(METHODS)}
    groups = sorted(frame.groupby(keys), key=lambda g: (*g[0][:2], order[g[0][2]], -g[0][3]))
    for (name, epsilon, method, size), all_runs in groups:
        level = "none" if math.isinf(epsilon) else f"{epsilon:g}"
        cells = [name, level, NAMES.get(method, method), f"{size:,}"]
        if all_runs["failed"].notna().all():
            out.append("| " + " | ".join([*cells, "0", all_runs["failed"].iloc[0]]) + " |" * (len(heads) - 5))
            continue
        runs = all_runs[all_runs["failed"].isna()]
        cells.append(str(len(runs)))
        for column in columns:
            mean, spread = runs[column].mean(), interval(runs[column])
            if column == SHARES[0]:
                times = runs["children"].mean() / alone.get((name, epsilon, size), math.nan)
                cells.append("" if math.isnan(times) or method == "single" else f"{times:.2f}")
            digits = 4 if column in DISTANCES else 1 if column in SECONDS else 3
            shown = "" if math.isnan(mean) else f"{mean:.{digits}f}"
            with_spread = column in DISTANCES and not math.isnan(spread)
            cells.append(shown + (f" ± {spread:.{digits}f}" if with_spread else ""))
        out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out)


def main() -> None:
    """Measure what is not there yet, and show the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="*", default=list(DATASETS), choices=list(DATASETS))
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--epsilons", nargs="*", type=float, default=[1.0, 3.0])
    parser.add_argument("--repeats", nargs="*", type=int, default=[0, 1, 2], help="seeds of the families")
    parser.add_argument(
        "--size", type=int, help="families that are fitted; by default the data's own number, 1,000 of HMA"
    )
    parser.add_argument("--peer-limit", type=float, default=1_800)
    parser.add_argument("--results", type=Path, default=KEPT, help="file of lines to go on with")
    parser.add_argument("--report", action="store_true", help="only show the table of what was measured")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in [] if options.report else options.data:
        if (lacking := DATASETS[name].absent()) is not None:
            print(f"{name} left out: {lacking}")
            continue
        for repeat, method in product(options.repeats, options.methods):
            own_size = HMA_FAMILIES if method == "hma" else DATASETS[name].size
            size = own_size if options.size is None else options.size
            if method == "no roles" and not DATASETS[name].roles:
                continue
            for epsilon in [math.inf] if method in NOT_PRIVATE else options.epsilons:
                run = {"data": name, "method": method, "epsilon": epsilon, "repeat": repeat, "size": size}
                if any(run.items() <= line.items() for line in read(options.results)):
                    continue
                line = measure(name, method, epsilon, repeat, size, options.peer_limit)
                with options.results.open("a") as file:
                    file.write(json.dumps(line) + "\n")
                print(line, flush=True)
    print(report(read(options.results)))


if __name__ == "__main__":
    main()
