"""Figures 1 to 4: accuracy of the models, attribute by attribute, and distances of single columns and of pairs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from benchmarks.paper.settings import EPSILONS, PRIVATE_MODELS, ROWS, Row
from benchmarks.paper.store import Store
from benchmarks.paper.synthesis import Study
from sdv_plausible.evaluation.table_codes import column_distances, pair_distances
from sdv_plausible.models.bayesian_network import BayesianNetwork

FOREST_TREES = (
    20  # enough with leaves of several rows: a forest for each of eleven attributes on all rows of D_P
)
FOREST_LEAF = 5  # least rows in a leaf: with up to 100 classes smaller leaves cost memory and accuracy


def most_likely(network: BayesianNetwork, codes: np.ndarray, attribute: int) -> np.ndarray:
    """The likeliest code of one attribute given all others, under a network.

    Parameters
    ----------
    network : BayesianNetwork
        The model.
    codes : ndarray of int, shape (n, m)
        Records; the attribute's own code is not looked at.
    attribute : int
        Column number.

    Returns
    -------
    ndarray of int, shape (n,)
        Only the attribute's own table and its children's depend on its code, so only these are multiplied.
    """
    tables = [table for table in network.tables if table.child == attribute or attribute in table.parents]
    trial = np.array(codes, order="F")
    scores = np.empty((len(codes), network.cardinalities[attribute]))
    for value in range(scores.shape[1]):
        trial[:, attribute] = value
        scores[:, value] = sum(table.log_probability(trial) for table in tables)
    found: np.ndarray = scores.argmax(axis=1)
    return found


def model_accuracy(study: Study, store: Store) -> None:
    """Figures 1 and 2: share of unseen rows whose attribute a model names, given the other ten."""
    repeat = study.repeat

    def of_network(kind: str, epsilon: float) -> dict[str, Any]:
        return {"values": accuracies(study.network(kind, epsilon), _tested(study))}

    for epsilon in EPSILONS:
        store.once("accuracy", f"model, ε={epsilon:g}", repeat, partial(of_network, "cfs", epsilon))
    if repeat == 0:
        for kind, name, epsilon in (
            ("cfs", "model, ε=1, 20 models", 1.0), ("cfs", "model, ε=0.1, 20 models", 0.1), ("marginals", "private marginals", 1.0),
        ):  # fmt: skip
            store.once("accuracy", name, repeat, partial(_of_private_models, study, kind, epsilon))
    store.once("accuracy", "ours (default), ε=1", repeat, partial(of_network, "ours", 1.0))
    store.once(
        "accuracy",
        f"random forest, {study.sizes.predicted:,} rows",
        repeat,
        lambda: {"values": _forest_accuracy(study)},
    )
    store.once("accuracy", "marginals", repeat, lambda: {"values": _commonest_accuracy(study)})
    store.once("accuracy", "random", repeat, lambda: {"values": [1 / c for c in study.split.cardinalities]})


def accuracies(network: BayesianNetwork, codes: np.ndarray) -> list[float]:
    """Share of records whose attribute is named, given the others; one per attribute."""
    return [float((most_likely(network, codes, j) == codes[:, j]).mean()) for j in range(codes.shape[1])]


def _of_private_models(study: Study, kind: str, epsilon: float) -> dict[str, Any]:
    """Mean over private models, each learned afresh from the same rows, as in the paper."""
    test, found = _tested(study), []
    for draw in range(PRIVATE_MODELS):
        found.append(accuracies(study.learn(kind, epsilon, draw), test))
    return {"values": np.mean(found, axis=0).tolist()}


def _tested(study: Study) -> np.ndarray:
    return study.split.unseen[: study.sizes.tested]


def _commonest_accuracy(study: Study) -> list[float]:
    learned, test = study.split.parameters, _tested(study)
    return [float((test[:, j] == np.bincount(learned[:, j]).argmax()).mean()) for j in range(test.shape[1])]


def _forest_accuracy(study: Study) -> list[float]:
    train, test = study.split.parameters[: study.sizes.predicted], _tested(study)
    found = []
    for j in range(test.shape[1]):
        others = [i for i in range(test.shape[1]) if i != j]
        forest = RandomForestClassifier(
            min(FOREST_TREES, study.sizes.trees), min_samples_leaf=FOREST_LEAF, random_state=study.repeat
        )
        found.append(float(forest.fit(train[:, others], train[:, j]).score(test[:, others], test[:, j])))
    return found


def distances(study: Study, store: Store) -> None:
    """Figures 3 and 4: total variation distance to unseen real rows, both tables of ``sizes.compared`` rows."""
    reference = study.split.unseen[: study.sizes.compared]
    cards = study.split.cardinalities

    def measure(row: Row) -> dict[str, Any]:
        rows = study.released(row)[: len(reference)]
        pairs = pair_distances(reference, rows, cards)
        return {"values": column_distances(reference, rows, cards).tolist(), "pairs": list(pairs.values())}

    for row in ROWS:
        store.once("distances", row.name, study.repeat, partial(measure, row))
