"""Causes of differences from the paper, each switched on and off: what paper_results.md calls tested."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from benchmarks.paper.classifiers import INPUTS, learners
from benchmarks.paper.data import CHILDREN_COST, CHILDREN_ORDER, EXAMPLE_GRAPH, NAMES
from benchmarks.paper.settings import INNER_EPSILON, ROWS, TARGET, Omega, Row
from benchmarks.paper.store import Store
from benchmarks.paper.synthesis import Study, child_after_child
from sdv_plausible.extensions.models.paper.structure import correlation_feature_selection, count_entropies
from sdv_plausible.models.bayesian_network import Parents
from sdv_plausible.models.buckets import default_buckets
from sdv_plausible.queries.count_queries import CodeArray

FORESTS = {"10 trees": 10, "20 trees": 20, "100 trees": 100}
LEAVES = {"stumps": 2, "4 leaves": 4, "11 leaves": 11}  # of AdaBoost's trees
ORDERS = 200  # random orders of the children
OMEGAS: dict[str, Omega] = {"ω=9": 9, "ω∈[5-11]": (5, 11)}  # below 11, with the arcs of the example graph
GIVEN = {
    "search: best arc over all": Row(name="cause best", kind="parts", epsilon=INNER_EPSILON),
    "search: child after child": Row(name="cause children", kind="children", epsilon=INNER_EPSILON),
    "search: none, the example graph": Row(name="cause example", kind="example"),
    **{f"the example graph, {name}": Row(name=f"cause {name}", kind="example", omega=omega) for name, omega in OMEGAS.items()},
}  # fmt: skip


def causes(study: Study, store: Store) -> None:
    """Forest size, AdaBoost's trees, the search and its graph, and the order of the children."""
    named = {row.name: row for row in ROWS}
    for size, trees in FORESTS.items():
        for row in (named["reals"], named["marginals"]):
            made = partial(RandomForestClassifier, trees, max_features=4 if trees == 10 else "sqrt")
            store.once(
                "causes", f"forest of {size}, {row.name}", study.repeat, partial(_judged, study, row, made)
            )
    for size, leaves in LEAVES.items():
        for row in (named["reals"], named["marginals"], named["ω=11, example graph"]):
            tree = DecisionTreeClassifier(max_leaf_nodes=leaves)
            made = partial(AdaBoostClassifier, tree, n_estimators=10)
            store.once(
                "causes", f"AdaBoost on {size}, {row.name}", study.repeat, partial(_judged, study, row, made)
            )
    for name, row in GIVEN.items():
        for kind in ("Tree", "RF"):
            made = partial(_of_table3, kind, study.sizes.trees)
            store.once("causes", f"{name}, {kind}", study.repeat, partial(_judged, study, row, made))
    store.once("causes", "order of the children", study.repeat, lambda: _orders(study))


def _of_table3(kind: str, trees: int, random_state: int) -> Any:
    return learners(trees, random_state)[kind]


def _judged(study: Study, row: Row, made: Any) -> dict[str, Any]:
    """Accuracy on unseen rows, and agreement with the same classifier of other real rows."""
    split, sizes = study.split, study.sizes
    test = split.unseen[: sizes.tested]
    others = np.concatenate([split.structure, split.parameters])[: sizes.train]

    def said(rows: np.ndarray) -> np.ndarray:
        judge = made(random_state=study.repeat).fit(rows[:, INPUTS], rows[:, TARGET])
        return np.asarray(judge.predict(test[:, INPUTS]))

    guess = said(study.released(row)[: sizes.train])
    return {
        "accuracy": float((guess == test[:, TARGET]).mean()),
        "agreement": float((guess == said(others)).mean()),
    }


def _orders(study: Study) -> dict[str, Any]:
    """Arcs of the example graph that a search without noise finds: in the fitted order, in random ones, over all children."""
    split = study.split
    rows = CodeArray(
        np.concatenate([split.structure, split.parameters, split.seeds, split.unseen]), split.cardinalities
    )
    buckets = [default_buckets(attribute) for attribute in split.domain]
    correlation = count_entropies(rows, split.cardinalities, buckets).correlation()
    theirs = {(p, c) for c, parents in EXAMPLE_GRAPH.items() for p in parents}

    def found(parents: Parents) -> int:
        arcs = {(NAMES[p], NAMES[c]) for c, chosen in enumerate(parents) for p in chosen}
        return len(arcs & theirs)

    draw = np.random.default_rng(study.repeat)
    orders = [tuple(draw.permutation(len(NAMES)).tolist()) for _ in range(ORDERS)]
    return {
        "fitted": found(child_after_child(correlation, buckets, CHILDREN_COST, CHILDREN_ORDER)),
        "random": [found(child_after_child(correlation, buckets, CHILDREN_COST, order)) for order in orders],
        "best arc": found(correlation_feature_selection(correlation, buckets, CHILDREN_COST)),
        "of": len(theirs),
    }
