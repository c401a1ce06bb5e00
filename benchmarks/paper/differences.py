"""Differences of more than two points from the paper, what was switched to find their causes, and what rows cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from benchmarks.paper.claims import CHILDREN, CLOSE, GRAPH, Stores, guessed_agreement, own_norm, points
from benchmarks.paper.published import TABLE3, TABLE4, TABLE5, Published
from benchmarks.paper.report import percent, table, vectors
from benchmarks.paper.settings import EPSILON0, FITTING_LAMBDAS, LAMBDAS, OMEGAS, SIZES, K
from benchmarks.paper.store import Store
from sdv_plausible.privacy.accounting.released_rows import checked_rows_loss, rows_loss

GROUPS = {"reals": ("reals",), "marginals": ("marginals",), "released rows": tuple(OMEGAS), **{name: (name,) for name in ("not private", "output perturbation", "objective perturbation")}}  # fmt: skip
PRINTED: dict[str, Published] = {"table3": TABLE3, "table4 printed": TABLE4, "table5": TABLE5}
Switch = Callable[[Stores, str], list[float]]


def _rows(item: str, *rows: str) -> Switch:
    return lambda stores, score: _found(stores[1], item, rows, score)


def _found(store: Store, item: str, rows: Sequence[str], score: str) -> list[float]:
    return [points(store, item, row, score) for row in rows if store.of(item, row)]


def _released(stores: Stores, score: str) -> list[float]:
    name, measure = score.removeprefix("agreement "), "agreement" if score.startswith("agreement") else "accuracy"  # fmt: skip
    causes = _rows("causes", *(f"the example graph, {omega}, {name}" for omega in ("ω=9", "ω∈[5-11]")))
    return _rows("table3", GRAPH)(stores, score) + causes(stores, measure)


def _weak_learner(row: str) -> Switch:
    switched = _rows("causes", *(f"AdaBoost on {size}, {row}" for size in ("4 leaves", "11 leaves")))
    return lambda stores, score: switched(stores, "agreement")


def _weak_learner_on_both(stores: Stores, score: str) -> list[float]:
    of_acs = _found(stores[0], "causes", [f"AdaBoost on 11 leaves, {GRAPH}"], "agreement")
    return _weak_learner(GRAPH)(stores, score) + of_acs


def _forest(stores: Stores, score: str) -> list[float]:
    return _rows("causes", "forest of 10 trees, marginals")(stores, "accuracy")


def _own_lambda(row: str) -> Switch:
    def at(stores: Stores, score: str) -> list[float]:
        position = LAMBDAS.index(FITTING_LAMBDAS[score])
        return [100 * float(vectors(stores[1].of("table4 printed", row), score)[:, position].mean())]

    return at


CAUSES: dict[tuple[str, str, str], tuple[str, Switch]] = {
    **{("table3", score, "released rows"): ("the authors' graph", _released) for name in ("Tree", "RF") for score in (name, f"agreement {name}")},
    ("table3", "RF", "marginals"): ("a forest of 10 trees", _forest),
    ("table3", "agreement RF", "marginals"): ("the difference above: guesses of the paper's accuracy", lambda stores, score: [guessed_agreement(stores)]),
    ("table3", "agreement Ada", "reals"): ("weak learner of 4, 11 leaves", _weak_learner("reals")),
    ("table3", "agreement Ada", "marginals"): ("weak learner of 4, 11 leaves", _weak_learner("marginals")),
    ("table3", "agreement Ada", "released rows"): ("weak learner of 4, 11 leaves, the authors' graph; 11 leaves on acs", _weak_learner_on_both),
    **{("table4 printed", score, "released rows"): ("the authors' graph; its search", _rows("table4 printed", GRAPH, CHILDREN)) for score in FITTING_LAMBDAS},
    **{("table4 printed", score, row): ("a λ for this classifier", _own_lambda(row)) for score in FITTING_LAMBDAS for row in ("not private", "output perturbation", "objective perturbation")},
    ("table4 printed", "LR", "output perturbation"): ("a λ for this classifier; each row's own norm", lambda stores, score: [*_own_lambda("output perturbation")(stores, score), own_norm(stores, "output perturbation", score)]),
    **{("table5", score, "released rows"): ("the authors' graph", _rows("table5", GRAPH)) for score in ("RF", "Tree")},
}  # fmt: skip


def _range(values: Sequence[float]) -> str:
    shown = list(dict.fromkeys(f"{value:.1f}" for value in (min(values), max(values))))
    return " to ".join(shown)


def differences(stores: Stores) -> str:
    """What is more than two points from the paper's, at its sizes, and whether a tested cause explains it."""
    store, body = stores[1], []
    for item, published in PRINTED.items():
        for score in dict.fromkeys(score for row in published.values() for score in row):
            for group, rows in GROUPS.items():
                paper = [published[row][score] for row in rows if row in published]
                here = [points(store, item, row, score) for row in rows if row in published]
                if not paper or np.abs(np.subtract(here, paper)).max() <= CLOSE:
                    continue
                name, switch = CAUSES.get((item, score, group), ("", lambda stores, score: []))
                found, verdict = switch(stores, score), "**unexplained**"
                if found and min(found) - CLOSE <= np.mean(paper) <= max(found) + CLOSE:
                    verdict = "tested"
                elif name and not found:
                    verdict = "not measured"
                switched = f"{name}: {', '.join(f'{value:.1f}' for value in found)}" if found else name
                place = item.removesuffix(" printed").replace("table", "table ")
                body.append([f"{place}, {score}: {group}", _range(paper), _range(here), switched, verdict])
    return table(["number", "paper", "here", "with the cause switched", "cause"], body)


# What was switched on and off, and what the ledger charges where some seeds are looked at.


def causes(stores: Stores) -> str:
    """Every cause that was switched, on both data sets."""
    order, body = "order of the children", []
    for row in dict.fromkeys(row for store in stores[:2] for row in store.rows("causes") if row != order):
        cells = [row]
        for score in ("accuracy", "agreement"):
            found = [[line[score] for line in store.of("causes", row)] for store in stores[:2]]
            cells += [percent(values) if values else "" for values in found]
        body.append(cells)
    parts = (
        [table(["what", "accuracy: acs", "simulated", "agreement: acs", "simulated"], body)] if body else []
    )
    for line in stores[0].of("causes", order)[:1]:
        parts.append(
            f"\nOf the {line['of']} arcs of the authors' graph a search without noise on acs finds {line['fitted']} child after child in the "
            f"fitted order; over {len(line['random'])} random orders {np.median(line['random']):g} in the median and {max(line['random'])} "
            f"at most; {line['best arc']} by the best arc over all children."
        )
    return "\n".join(parts) or "Not measured at this version."


@cache
def _costs() -> str:
    seeds, body = SIZES["simulated"].seeds, []
    for number in (1_000, 10_000):
        for gamma in (1.0, 4.0):
            asked = {"num_rows": number, "k": K, "gamma": gamma, "epsilon0": EPSILON0, "delta": 1e-9, "pass_rate_floor": 0.5, "n_lower": seeds}  # fmt: skip
            found = [rows_loss(**asked)[1]]  # type: ignore[arg-type]
            found += [checked_rows_loss(**asked, max_checked=s, max_plausible=1000)[1] for s in (10_000, 50_000, 100_000)]  # type: ignore[arg-type]  # fmt: skip
            body.append([f"{number:,}", f"{gamma:g}", *(f"{value:.1f}" for value in found)])
    return table(["rows", "γ", "all seeds", "10,000 checked", "50,000", "100,000"], body)


def costs(stores: Stores) -> str:
    """Epsilon of the rows alone, computed."""
    return _costs()
