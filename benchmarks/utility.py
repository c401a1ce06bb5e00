"""Accuracy at equal (epsilon, delta): ours and the peers that can be installed, on real tables.

Run: python -m benchmarks.utility [--tables adult ...] [--epsilons 0.1 1 inf] [--methods ...] [--repeats 5]
                                  [--first 0] [--peer-repeats 3] [--results FILE] [--report]

Every repeat draws fresh training rows and scores on as many other real rows. Peers run in environments of their own, which
this script makes under benchmarks/results/. Results are kept line by line in benchmarks/results_utility.jsonl, or in ``--results``
(then only the table is printed): a run that was cut off goes on where it stopped (delete lines to measure them again, on splits
that nobody has seen by ``--first``), ``--report`` only writes the table and the plot. A
peer's run that takes longer than ``--peer-limit`` (half an hour) is noted as such and not repeated. delta is 1e-9 (acs2013: 2^-30). Ours goes
through the public synthesizer with a declared domain; its ledger's total is checked against epsilon.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import resource
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.environments import interpreter, own
from benchmarks.utility_scores import SCORES, scores
from benchmarks.utility_tables import TABLES, CodedTable

HERE = Path(__file__).parent
KEPT = HERE / "results_utility.jsonl"
PACKAGES = {
    "dpmm": "dpmm==0.1.9",
    "datasynthesizer": "DataSynthesizer==0.1.13",
    "opendp": "opendp[mbi,polars]==0.16.0 pandas",
}
NO_PACKAGE = ("tab-pe", "margnet", "dpsynth")  # in no registry: see environments.own
PEERS = {
    "mst": "dpmm",
    "privbayes": "dpmm",
    "aim": "dpmm",
    "opendp-mst": "opendp",
    "opendp-aim": "opendp",
    "datasynthesizer": "datasynthesizer",
    "tab-pe": "tab-pe",
    "margnet": "margnet",
    **dict.fromkeys(("dpsynth-aim-gdp", "dpsynth-swift", "dpsynth-mst"), "dpsynth"),
}
NAMES = {
    "mst": "MST (dpmm 0.1.9)",
    "privbayes": "PrivBayes (dpmm 0.1.9)",
    "aim": "AIM (dpmm 0.1.9)",
    "opendp-mst": "MST (opendp 0.16.0, mbi 1.1.0)",
    "opendp-aim": "AIM (opendp 0.16.0, mbi 1.1.0)",
    "datasynthesizer": "DataSynthesizer 0.1.13",
    "tab-pe": "Tab-PE (DPSDA 9078c67)",
    "margnet": "MargNet (8b75032)",
    "dpsynth-aim-gdp": "AIM-GDP (dpsynth cf8075f, mbi 2.0.0)",
    "dpsynth-swift": "SWIFT (dpsynth cf8075f, mbi 2.0.0)",
    "dpsynth-mst": "MST (dpsynth cf8075f, mbi 2.0.0)",
    "gaussian_copula": "GaussianCopula (SDV; not private)",
}
Made = tuple[np.ndarray, float]
PLOTTED = {
    "2-way": "2-way distance (lower is better)",
    "agreement": "random forest's agreement (higher is better)",
    "game RF": "distinguishing game (0.5 is ideal)",
}


def synthesized(
    train: pd.DataFrame, declared: dict[str, dict[str, Any]], epsilon: float, delta: float, **options: object
) -> tuple[pd.DataFrame, float]:
    """As many rows of the shipped synthesizer with a declared domain, and the seconds of its fit; its ledger is checked."""
    from sdv_plausible.sdv.metadata import metadata_from_columns
    from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer

    metadata = metadata_from_columns({n: {"sdtype": s["sdtype"]} for n, s in declared.items()})
    synth = PlausibleDeniabilitySynthesizer(
        metadata, epsilon=epsilon, delta=delta, domain=declared, **options
    )
    start = time.perf_counter()
    synth.fit(train)
    seconds = time.perf_counter() - start
    allowed = epsilon + (synth.test.epsilon0 if "test" in options else 0.0)
    assert math.isinf(epsilon) or synth.privacy_ledger().total() <= allowed
    return synth.sample(len(train))[list(train)], seconds


def ours(table: CodedTable, train: np.ndarray, epsilon: float, **options: object) -> Made:
    """The shipped synthesizer with a declared domain."""
    frame = pd.DataFrame(train, columns=table.names)
    bins = max(table.cardinalities) + 1
    rows, seconds = synthesized(frame, table.declaration(), epsilon, table.delta, max_bins=bins, **options)
    return rows.to_numpy(), seconds


def seeded(kept: int, share: float) -> Callable[[CodedTable, np.ndarray, float], Made]:
    """Ours with ``kept`` attributes of the seeds: the same total, a share of it for the seeds."""

    from sdv_plausible import ReleaseTest

    def run(table: CodedTable, train: np.ndarray, epsilon: float) -> Made:
        omega = len(table.names) - kept
        return ours(
            table, train, epsilon * (1 - share), test=ReleaseTest(omega=omega, epsilon0=epsilon * share)
        )

    return run


def independent(table: CodedTable, train: np.ndarray, epsilon: float) -> Made:
    """Ours without arcs."""
    return ours(table, train, epsilon, model="independent")


def real(table: CodedTable, train: np.ndarray, epsilon: float) -> Made:
    """The training rows themselves: the ceiling."""
    return train, 0.0


def gaussian_copula(table: CodedTable, train: np.ndarray, epsilon: float) -> Made:
    """SDV's GaussianCopulaSynthesizer, which is not private."""
    from sdv.single_table import GaussianCopulaSynthesizer

    from sdv_plausible.sdv import sdv_versions as sdv_compat
    from sdv_plausible.sdv.metadata import metadata_from_columns

    metadata = metadata_from_columns({n: {"sdtype": s["sdtype"]} for n, s in table.declaration().items()})
    synth = GaussianCopulaSynthesizer(metadata)
    start = time.perf_counter()
    synth.fit(sdv_compat.to_native("table", pd.DataFrame(train, columns=table.names)))
    seconds = time.perf_counter() - start
    rows = sdv_compat.from_native(synth.sample(len(train)))[table.names].to_numpy()
    return np.clip(rows.astype(int), 0, np.array(table.cardinalities) - 1), seconds


def peer(method: str, limit: float) -> Callable[[CodedTable, np.ndarray, float], Made]:
    """A peer in its own environment, stopped after ``limit`` seconds."""

    def run(table: CodedTable, train: np.ndarray, epsilon: float) -> Made:
        name = PEERS[method]
        python = own(name) if name in NO_PACKAGE else interpreter(name, *PACKAGES[name].split())
        given = {"codes": train, "cardinalities": table.cardinalities, "ordered": table.ordered}
        given |= {"target": table.target}
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "in.npz", Path(folder) / "out.npz"
            np.savez(source, **given, epsilon=epsilon, delta=table.delta)
            command = [python, HERE / "utility_peers.py", method, source, target]
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=limit)
            with np.load(target) as made:
                return made["codes"], float(made["seconds"])

    return run


METHODS: dict[str, Callable[[CodedTable, np.ndarray, float], Made]] = {
    "real": real,
    "ours": ours,
    "ours, 1 kept": seeded(1, 0.3),
    "ours, 2 kept": seeded(2, 0.3),
    "ours, 3 kept": seeded(3, 0.3),
    "independent": independent,
    "gaussian_copula": gaussian_copula,
    **{method: peer(method, 1800) for method in PEERS},
}
TIMES = ("fit s", "cpu s")  # elapsed seconds of the fit; CPU seconds of fit and sample, where they were kept
NOT_PRIVATE = ("real", "gaussian_copula")
Line = dict[str, object]


def wanted(method: str, epsilons: list[float]) -> list[float]:
    """The budgets at which a method is run: what is not private has none, variants are shown at one."""
    if method in NOT_PRIVATE:
        return [math.inf]
    if "kept" in method:
        return [1.0]
    return epsilons if method == "ours" else [e for e in epsilons if math.isfinite(e)]


def cpu() -> float:
    """CPU seconds of this process and of those that it has waited for."""
    waited_for = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + waited_for.ru_utime + waited_for.ru_stime


def measure(table_name: str, table: CodedTable, method: str, epsilon: float, repeat: int) -> Line:
    """One run of one method; a peer that does not finish, or fails, leaves a line that says so."""
    train, test = table.split(repeat)
    run = {"table": table_name, "method": method, "epsilon": epsilon, "repeat": repeat}
    before = cpu()
    try:
        codes, seconds = METHODS[method](table, train, epsilon)
    except subprocess.TimeoutExpired as error:
        return {**run, "failed": f"not finished after {error.timeout:.0f} s, {cpu() - before:.0f} of the CPU"}
    except subprocess.CalledProcessError as error:
        return {**run, "failed": (error.stderr or str(error)).strip().splitlines()[-1]}
    used = cpu() - before
    found = scores(train, test, np.asarray(codes, dtype=np.int64), table.cardinalities, table.target)
    return {**run, "fit s": seconds, "cpu s": used, **found}


def interval(values: pd.Series) -> float:
    """Half-width of the 95 % interval of the mean (Student's t); nan for one run."""
    if len(values) < 2:
        return math.nan
    return float(stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values)))


def report(lines: list[Line]) -> str:
    """Markdown table of means and 95 % intervals of the mean."""
    frame = pd.DataFrame(lines).reindex(
        columns=["table", "method", "epsilon", "repeat", "failed", *TIMES, *SCORES]
    )
    columns = [*SCORES, *TIMES]
    out = [
        "| table | method | eps | runs | " + " | ".join(columns) + " |",
        "|" + " --- |" * (4 + len(columns)),
    ]
    order = {name: i for i, name in enumerate(METHODS)}
    groups = sorted(
        frame.groupby(["table", "epsilon", "method"]), key=lambda g: (g[0][0], g[0][1], order[g[0][2]])
    )
    for (table, epsilon, method), all_runs in groups:
        shown = "-" if method in NOT_PRIVATE else f"{epsilon:g}"
        name_of = NAMES.get(method, method)
        runs, failed = all_runs[all_runs["failed"].isna()], all_runs["failed"].dropna()
        if runs.empty:
            out.append(
                f"| {table} | {name_of} | {shown} | 0 | {failed.iloc[0]} |" + " |" * (len(columns) - 1)
            )
            continue
        cells = []
        for name in columns:
            mean, spread = runs[name].mean(), interval(runs[name])
            if name in TIMES:
                cells.append("" if math.isnan(mean) else f"{mean:.1f}")
            elif math.isnan(mean):
                cells.append("")
            else:
                cells.append(f"{mean:.3f}" + ("" if math.isnan(spread) else f" ± {spread:.3f}"))
        out.append(f"| {table} | {name_of} | {shown} | {len(runs)} | " + " | ".join(cells) + " |")
    return "\n".join(out)


def plot(lines: list[Line], path: Path) -> None:
    """Scores against epsilon on Adult, with 95 % intervals of the mean; skipped where matplotlib is missing."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("matplotlib is not installed: no plot")
        return
    frame = pd.DataFrame(lines)
    frame = frame[frame["table"] == "adult"]
    figure, axes = plt.subplots(1, len(PLOTTED), figsize=(11, 4.6))
    shown = [m for m in METHODS if m in set(frame["method"]) and "kept" not in m]
    private = [m for m in shown if m not in NOT_PRIVATE]
    for axis, (score, title) in zip(axes, PLOTTED.items(), strict=True):
        for method in shown:
            runs = frame[frame["method"] == method].groupby("epsilon")[score]
            means, spreads = runs.mean().dropna(), runs.apply(interval)
            if method == "real" and score == "agreement":
                continue  # 1 by definition
            if method in NOT_PRIVATE:
                axis.axhline(means.mean(), linestyle=":", color="grey", linewidth=1)
                name = "the training rows themselves" if method == "real" else "gaussian_copula (not private)"
                behind = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
                axis.text(
                    0.32, means.mean(), name, fontsize=7, color="grey", va="center", ha="center", bbox=behind
                )
                continue
            means = means[np.isfinite(means.index)]
            beside = 1.05 ** (private.index(method) - len(private) // 2)  # so that no point hides another
            is_ours = {"linewidth": 2.5, "zorder": 3} if method == "ours" else {"linewidth": 1.2}
            spread = spreads[means.index]
            axis.errorbar(
                means.index * beside,
                means,
                spread,
                marker="o",
                markersize=5,
                capsize=2,
                label=NAMES.get(method, method),
                **is_ours,
            )
        axis.set_xscale("log")
        axis.set_xticks([0.1, 1.0], ["0.1", "1"])
        axis.minorticks_off()
        axis.set_xlabel("total epsilon (delta 1e-9)")
        axis.set_title(title, fontsize=9)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=4, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0.1, 1, 1))
    figure.savefig(path, dpi=110)


def read(path: Path) -> list[Line]:
    """What was measured so far, also by another process."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="*", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--epsilons", nargs="*", type=float, default=[0.1, 1.0, math.inf])
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="number of the first split")
    parser.add_argument("--peer-repeats", type=int, default=3)
    parser.add_argument("--peer-limit", type=float, default=1800.0, help="seconds of one run of a peer")
    parser.add_argument("--results", type=Path, default=KEPT, help="file of lines to go on with")
    parser.add_argument(
        "--report", action="store_true", help="only write table and plot from what was measured"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    METHODS.update({method: peer(method, options.peer_limit) for method in PEERS})
    kept = options.results
    for name in [] if options.report else options.tables:
        table = TABLES[name]()
        repeats = range(options.first, options.first + options.repeats)
        for repeat, method in itertools.product(repeats, options.methods):
            for epsilon in wanted(method, options.epsilons):
                if method in PEERS and repeat >= options.first + options.peer_repeats:
                    continue
                before = [
                    line
                    for line in read(kept)
                    if (line["table"], line["method"], line["epsilon"]) == (name, method, epsilon)
                ]
                if any("failed" in line or line["repeat"] == repeat for line in before):
                    continue
                result = measure(name, table, method, epsilon, repeat)
                with kept.open("a") as file:
                    file.write(json.dumps(result) + "\n")
                print({k: round(v, 4) if isinstance(v, float) else v for k, v in result.items()}, flush=True)
    lines = read(kept)
    if kept == KEPT:
        (HERE / "results_utility.md").write_text(report(lines) + "\n")
        plot(lines, HERE / "utility.png")
    print(report(lines))


if __name__ == "__main__":
    main()
