"""Markdown of what was measured, the paper's numbers beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.paper.data import NAMES
from benchmarks.paper.published import TABLE3, TABLE4, TABLE5
from benchmarks.paper.settings import DELTA, EPSILON0, GAMMA, KS, LAMBDAS, TIMED_OMEGA, K, Sizes
from benchmarks.paper.store import Line, Store

TITLES = {
    "acs": "2013 American Community Survey, public extract",
    "simulated": "embedded simulator, the paper's sizes",
}
Published = dict[str, dict[str, float]]


def render(store: Store, data: str, sizes: Sizes) -> str:
    """The whole page; what was not measured is left out."""
    parts = [
        f"# Section 6 on {data} ({TITLES[data]})",
        f"Made by `python -m benchmarks.paper all --data {data}`. D_T {sizes.structure:,}, D_P {sizes.parameters:,}, D_S "
        f"{sizes.seeds:,}, unseen {sizes.unseen:,} rows; k = {K}, γ = {GAMMA:g}, ε0 = {EPSILON0:g}, δ = 2^{math.log2(DELTA):.0f}. "
        f"± is the standard deviation over {sizes.repeats} repeats, each with a fresh split, model, release and classifiers.",
    ]
    sections: tuple[tuple[str, Callable[[Store, Sizes], list[str]]], ...] = (
        ("accuracy", _accuracy), ("distances", _distances), ("timing", _timing), ("passing", _passing),
        ("table3", _table3), ("table4", _table4), ("table5", _table5),
    )  # fmt: skip
    for item, section in sections:
        if store.of(item):
            parts += section(store, sizes)
    return "\n\n".join(parts) + "\n"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows))


def vectors(lines: list[Line], key: str = "values") -> np.ndarray:
    """One row of values per repeat."""
    return np.array([line[key] for line in lines])


def _percent(values: Sequence[float], digits: int = 1) -> str:
    spread = f" ± {100 * np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{100 * np.mean(values):.{digits}f}{spread}"


def improvement(store: Store, row: str) -> np.ndarray:
    """Figure 1: accuracy over that of the marginals, less 1, per attribute; mean over repeats."""
    accuracy, base = (vectors(store.of("accuracy", name)).mean(axis=0) for name in (row, "marginals"))
    return np.asarray(accuracy / base - 1)


def improved_rows(store: Store) -> list[str]:
    """Rows of figure 1."""
    return [row for row in store.rows("accuracy") if row.startswith(("model", "ours"))]


def _accuracy(store: Store, sizes: Sizes) -> list[str]:
    rows = store.rows("accuracy")
    means = {row: vectors(store.of("accuracy", row)).mean(axis=0) for row in rows}
    body = [[name, *(f"{100 * means[row][j]:.1f}" for row in rows)] for j, name in enumerate(NAMES)]
    shown = improved_rows(store)
    gains = {row: improvement(store, row) for row in shown}
    gained = [[name, *(f"{100 * gains[row][j]:+.1f}" for row in shown)] for j, name in enumerate(NAMES)]
    return [
        "## Figure 1: relative improvement of model accuracy over the marginals, %",
        table(["attribute", *shown], gained),
        "## Figure 2: model accuracy, %",
        f"Share of {sizes.tested:,} unseen rows whose attribute is named, given the other ten; the forests learned from "
        f"{sizes.predicted:,} rows of D_P.",
        table(["attribute", *rows], [*body, ["mean", *(f"{100 * means[row].mean():.1f}" for row in rows)]]),
    ]


def _distances(store: Store, sizes: Sizes) -> list[str]:
    parts = []
    for title, key in (
        ("## Figure 3: distances of single columns", "values"),
        ("## Figure 4: distances of pairs", "pairs"),
    ):
        body = []
        for row in store.rows("distances"):
            found = vectors(store.of("distances", row), key)
            low, middle, high = (np.percentile(found, q, axis=1).mean() for q in (25, 50, 75))
            mean = found.mean(axis=1)
            spread = f" ± {mean.std(ddof=1):.4f}" if len(mean) > 1 else ""
            body.append(
                [
                    row,
                    f"{mean.mean():.4f}{spread}",
                    *(f"{v:.4f}" for v in (low, middle, high, found.max(axis=1).mean())),
                ]
            )
        parts += [title, table(["rows", "mean", "quartile", "median", "quartile", "largest"], body)]
    parts.insert(
        1,
        f'Total variation distance between {sizes.compared:,} rows and as many unseen real rows: "reals" is sampling alone.',
    )
    return parts


def _timing(store: Store, sizes: Sizes) -> list[str]:
    def seconds(row: str) -> np.ndarray:
        return np.array([line["seconds"] for line in store.of("timing", row)])

    learn = seconds("learn")
    body = [["learn the model", "", f"{learn.mean():.2f}", f"{learn.min():.2f} to {learn.max():.2f}"]]
    for number in sizes.timed:
        found = seconds(f"release {number}")
        body.append(
            [
                f"release {number:,} rows",
                f"{number / found.mean():,.0f}",
                f"{found.mean():.2f}",
                f"{found.min():.2f} to {found.max():.2f}",
            ]
        )
    scan = seconds("scan")
    body.append(
        [
            f"generic scan of {sizes.scanned} candidates",
            f"{sizes.scanned / scan.mean():,.0f}",
            f"{scan.mean():.2f}",
            f"{scan.min():.2f} to {scan.max():.2f}",
        ]
    )
    load = np.mean([line["load"] for line in store.of("timing")])
    return [
        "## Figure 5: time",
        f"ω = {TIMED_OMEGA}, one process on a shared machine (load {load:.1f} on two cores): compare orders of magnitude.",
        table(["step", "per second", "seconds", "range"], body),
    ]


def _passing(store: Store, sizes: Sizes) -> list[str]:
    body = [
        [row, *(f"{100 * share:.1f}" for share in vectors(store.of("passing", row)).mean(axis=0))]
        for row in store.rows("passing")
    ]
    return [
        "## Figure 6: candidates with at least k plausible seeds, %",
        "**A diagnostic on private data, not for publication:** a release must not show its pass rates. Known omega: γ makes no "
        'difference. "Hidden": the likelihood is that of the mixture over omega.',
        table(["candidates", *(f"k={k}" for k in KS)], body),
    ]


def _compared(store: Store, item: str, scores: Sequence[str], published: Published) -> str:
    body = []
    for row in store.rows(item):
        cells = [row]
        for score in scores:
            printed = published.get(row, {}).get(score)
            cells += [
                "-" if printed is None else f"{printed}",
                _percent([line[score] for line in store.of(item, row)]),
            ]
        body.append(cells)
    return table(["rows", *(name for score in scores for name in (f"{score}: paper", "here"))], body)


def _table3(store: Store, sizes: Sizes) -> list[str]:
    return [
        "## Table 3: classifiers, %",
        f"Trained on {sizes.train:,} rows, tested on {sizes.tested:,} unseen ones. Agreement: with the classifier of other real rows.",
        "Accuracy",
        _compared(store, "table3", ("Tree", "RF", "Ada"), TABLE3),
        "Agreement",
        _compared(store, "table3", ("agreement Tree", "agreement RF", "agreement Ada"), TABLE3),
        *_large_trees(store),
    ]


def _large_trees(store: Store) -> list[str]:
    rows = store.rows("large trees")
    if not rows:
        return []
    found = {row: store.of("large trees", row) for row in rows}
    number = found[rows[0]][0]["rows"]
    texts = [f"{row} {_percent([line['Tree'] for line in lines])}" for row, lines in found.items()]
    return [f"The tree's accuracy when trained on {number:,} rows instead: {', '.join(texts)}."]


def best_lambda(lines: list[Line], score: str) -> tuple[float, list[float]]:
    """The lambda with the best mean accuracy on the test rows, and its accuracies."""
    found = vectors(lines, score)
    best = int(found.mean(axis=0).argmax())
    return LAMBDAS[best], found[:, best].tolist()


def _table4(store: Store, sizes: Sizes) -> list[str]:
    body = []
    for row in store.rows("table4"):
        cells = [row]
        for score in ("LR", "SVM"):
            printed = TABLE4.get(row, {}).get(score)
            cells.append("-" if printed is None else f"{printed}")
            lines = store.of("table4", row)
            if score in lines[0]:
                chosen, values = best_lambda(lines, score)
                cells.append(f"{_percent(values)} (λ={chosen:g})")
            else:
                cells.append("-")
        body.append(cells)
    return [
        "## Table 4: linear classifiers, %",
        f"Not private and perturbed ones: {sizes.linear:,} real rows, ε = 1; released rows: {sizes.synthetics:,}. Each method "
        f"with its best λ of {', '.join(f'{v:g}' for v in LAMBDAS)} on the test rows: no method pays for that choice.",
        table(["method", "LR: paper", "here", "SVM: paper", "here"], body),
    ]


def _table5(store: Store, sizes: Sizes) -> list[str]:
    return [
        "## Table 5: distinguishing game, %",
        f"{2 * sizes.game:,} rows to learn from and as many unseen ones, half real; 50 is ideal.",
        _compared(store, "table5", ("RF", "Tree"), TABLE5),
    ]
