"""Markdown of what was measured, the paper's numbers beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.paper.data import NAMES
from benchmarks.paper.published import TABLE3, TABLE4, TABLE5, Published
from benchmarks.paper.settings import (
    DELTA,
    EPSILON0,
    FIGURE5_ROWS,
    FITTING_LAMBDAS,
    GAMMA,
    KS,
    LAMBDAS,
    PRINTED_LAMBDAS,
    TIMED_OMEGA,
    K,
    Sizes,
)
from benchmarks.paper.store import Line, Store

TITLES = {
    "acs": "2013 American Community Survey, public extract",
    "simulated": "embedded simulator, the paper's sizes",
}


def render(store: Store, data: str, sizes: Sizes) -> str:
    """The whole page; what was not measured is left out.

    Raises
    ------
    MixedVersionsError
        If different code or settings made what it would show.
    """
    store.check_one_version()
    made = " and ".join(f"`{name}`" for name in store.commits())
    parts = [
        f"# Section 6 on {data} ({TITLES[data]})",
        f"Made by `python -m benchmarks.paper all --data {data}`. D_T {sizes.structure:,}, D_P {sizes.parameters:,}, D_S "
        f"{sizes.seeds:,}, unseen {sizes.unseen:,} rows; k = {K}, γ = {GAMMA:g}, ε0 = {EPSILON0:g}, δ = 2^{math.log2(DELTA):.0f}. "
        f"± is the standard deviation over repeats, each with a fresh split, model, release and classifiers; without it there was one.",
        f"Made at {made}: {', '.join(store.versions())}."
        if made
        else "Measured before the code that makes a result was kept with it: lines may be of different versions.",
    ]
    sections: tuple[tuple[str, Callable[[Store, Sizes], list[str]]], ...] = (
        ("accuracy", _accuracy), ("distances", _distances), ("timing", _timing), ("passing", _passing),
        ("table3", _table3), ("table4", _table4), ("table4 printed", _table4_printed), ("table5", _table5),
        ("causes", _causes),
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


def percent(values: Sequence[float], digits: int = 1) -> str:
    """Mean of shares in per cent, with the standard deviation where there are several."""
    spread = f" ± {100 * np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{100 * np.mean(values):.{digits}f}{spread}"


def improvement(store: Store, row: str, item: str = "accuracy") -> np.ndarray:
    """Figure 1: relative decrease of error, (e_marginals - e_model) / e_marginals, per attribute; mean over repeats."""
    base = "private marginals" if store.of(item, "private marginals") else "marginals"
    right, base_right = (vectors(store.of(item, name)).mean(axis=0) for name in (row, base))
    return np.asarray((right - base_right) / (1 - base_right))


def improved_rows(store: Store) -> list[str]:
    """Rows of figure 1: the mean of many models instead of a single one, as in the paper, where it was measured."""
    rows = [row for row in store.rows("accuracy") if row.startswith(("model", "ours"))]
    return [row for row in rows if not any(other.startswith(f"{row}, ") for other in rows)]


def _accuracy(store: Store, sizes: Sizes) -> list[str]:
    rows = store.rows("accuracy")
    means = {row: vectors(store.of("accuracy", row)).mean(axis=0) for row in rows}
    body = [[name, *(f"{100 * means[row][j]:.1f}" for row in rows)] for j, name in enumerate(NAMES)]
    shown = improved_rows(store)
    gains = {row: improvement(store, row) for row in shown}
    gained = [[name, *(f"{100 * gains[row][j]:+.1f}" for row in shown)] for j, name in enumerate(NAMES)]
    return [
        "## Figure 1: relative decrease of the model's error against private marginals, %",
        table(["attribute", *shown], gained),
        "## Figure 2: model accuracy, %",
        "Share of unseen rows whose attribute is named, given the other ten; the forests learned from rows of D_P.",
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
    if store.of("timing", "the paper's limits"):
        found = seconds("the paper's limits")
        body.append(
            [
                f"release {FIGURE5_ROWS:,} rows, max_plausible 100, max_check_plausible 50,000 (CPU seconds)",
                f"{FIGURE5_ROWS / found.mean():,.0f}",
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
            found = [line[score] for line in store.of(item, row) if score in line]
            cells += ["" if printed is None else f"{printed}", percent(found) if found else ""]
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
    ]


def best_lambda(lines: list[Line], score: str) -> tuple[float, list[float]]:
    """The lambda with the best mean accuracy on the test rows, and its accuracies."""
    found = vectors(lines, score)
    best = int(found.mean(axis=0).argmax())
    return LAMBDAS[best], found[:, best].tolist()


def printed_lambda(store: Store, score: str) -> int:
    """Position in LAMBDAS of the paper's choice: of its four, the best for the classifier that is not private."""
    found = vectors(store.of("table4 printed", "not private"), score).mean(axis=0)
    return max((LAMBDAS.index(value) for value in PRINTED_LAMBDAS), key=lambda i: float(found[i]))


def _table4(store: Store, sizes: Sizes) -> list[str]:
    def at_best(lines: list[Line], score: str) -> str:
        chosen, values = best_lambda(lines, score)
        return f"{percent(values)} (λ={chosen:g})"

    return [
        "## Table 4: linear classifiers, our rule, %",
        f"Not private and perturbed ones: {sizes.linear:,} real rows, ε = 1; released rows: {sizes.synthetics:,}. Each method "
        f"with its best λ of {', '.join(f'{v:g}' for v in LAMBDAS)} on the test rows: no method pays for that choice.",
        _linear_rows(store, "table4", at_best),
    ]


def _table4_printed(store: Store, sizes: Sizes) -> list[str]:
    chosen = {score: printed_lambda(store, score) for score in ("LR", "SVM")}

    def at_chosen(lines: list[Line], score: str) -> str:
        return percent([line[score][chosen[score]] for line in lines])

    return [
        "## Table 4: linear classifiers, the paper's rule, %",
        f"Not private and perturbed ones: {sizes.linear_printed:,} real rows, ε = 1; released rows: {sizes.synthetics:,}. Features in [0, 1], "
        "divided by the root of their number. λ is the best of the classifier that is not private, of "
        f"{', '.join(f'{v:g}' for v in PRINTED_LAMBDAS)}: {LAMBDAS[chosen['LR']]:g} (LR) and {LAMBDAS[chosen['SVM']]:g} (SVM).",
        _linear_rows(store, "table4 printed", at_chosen),
        "The same at the λ at which the paper's three numbers of each classifier come out: "
        + ", ".join(f"{value:g} ({score})" for score, value in FITTING_LAMBDAS.items())
        + ". In brackets: standard deviation over single draws of the noise.",
        _linear_rows(store, "table4 printed", at_fitting),
    ]


def at_fitting(lines: list[Line], score: str, position: int | None = None) -> str:
    """At the λ of ``FITTING_LAMBDAS``, or at another; in brackets the standard deviation of single draws."""
    position = LAMBDAS.index(FITTING_LAMBDAS[score]) if position is None else position
    found = percent([line[score][position] for line in lines])
    spread = [line[f"{score} of one draw"][position] for line in lines if f"{score} of one draw" in line]
    return f"{found} ({100 * np.mean(spread):.1f})" if spread else found


def _linear_rows(store: Store, item: str, cell: Callable[[list[Line], str], str]) -> str:
    body = []
    for row in store.rows(item):
        cells, lines = [row], store.of(item, row)
        for score in ("LR", "SVM"):
            printed = TABLE4.get(row, {}).get(score)
            cells.append("" if printed is None else f"{printed}")
            cells.append(cell(lines, score) if score in lines[0] else "")
        body.append(cells)
    return table(["method", "LR: paper", "here", "SVM: paper", "here"], body)


def _causes(store: Store, sizes: Sizes) -> list[str]:
    orders = store.of("causes", "order of the children")
    rows = [row for row in store.rows("causes") if row != "order of the children"]
    body = [
        [
            row,
            *(
                percent([line[score] for line in store.of("causes", row)])
                for score in ("accuracy", "agreement")
            ),
        ]
        for row in rows
    ]
    parts = ["## Causes, switched on and off, %", table(["what", "accuracy", "agreement"], body)]
    for line in orders[:1]:
        parts.append(
            f"Of the {line['of']} arcs of the example graph a search without noise finds {line['fitted']} child after child in the fitted "
            f"order, in {len(line['random'])} random orders {np.median(line['random']):g} in the median and {max(line['random'])} at most, "
            f"and {line['best arc']} by the best arc over all children."
        )
    return parts


def _table5(store: Store, sizes: Sizes) -> list[str]:
    return [
        "## Table 5: distinguishing game, %",
        f"{2 * sizes.game:,} rows to learn from and as many unseen ones, half real; 50 is ideal.",
        _compared(store, "table5", ("RF", "Tree"), TABLE5),
    ]
