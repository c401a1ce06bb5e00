"""Accuracy of predicting each attribute from all others ([PD] section 6.2, figures 1 and 2).

The paper predicts with its generative model and compares with random forests, the marginals (the most common
value) and random guessing. A metric sees tables instead of the model, so two predictors are learned from the
synthetic rows: a random forest per attribute (for any synthesizer), and conditional tables counted on a given
network structure (the paper's own method for a Bayesian network). :func:`model_accuracy` accepts any other
predictor function.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np
import pandas as pd

from sdv_plausible.evaluation.table_codes import Codes
from sdv_plausible.evaluation.table_pair import Floats
from sdv_plausible.utils.counting import Counts, mixed_radix

Predictor = Callable[[Codes, Codes, int], Codes]
"""``(training codes, test codes, attribute) -> most likely codes``, shapes (n, m), (n', m), (n',)."""


def model_accuracy(train: Codes, test: Codes, predictor: Predictor) -> Floats:
    """Return the accuracy of the predictor for each attribute on unseen real rows, shape (m,).

    The predictor must not use column ``attribute`` of the test rows.
    """
    return np.array([(predictor(train, test, j) == test[:, j]).mean() for j in range(train.shape[1])])


def majority_predictor(train: Codes, test: Codes, attribute: int) -> Codes:
    """Predict the most common value: the paper's "marginals" baseline."""
    return np.full(len(test), np.bincount(train[:, attribute]).argmax(), dtype=np.int32)


def forest_predictor(random_state: int = 0) -> Predictor:
    """Return a predictor that trains a random forest on the other attributes' codes."""
    # Leaves hold at least 5 rows, which bounds memory for attributes with hundreds of values.

    def predict(train: Codes, test: Codes, attribute: int) -> Codes:
        from sklearn.ensemble import RandomForestClassifier

        labels = train[:, attribute]
        if train.shape[1] == 1 or (labels == labels[0]).all():
            return majority_predictor(train, test, attribute)
        forest = RandomForestClassifier(n_estimators=20, min_samples_leaf=5, random_state=random_state)
        with warnings.catch_warnings():
            # Attributes with many values are treated as classes on purpose.
            warnings.filterwarnings("ignore", message="The number of unique classes")
            forest.fit(np.delete(train, attribute, axis=1), labels)
        return np.asarray(forest.predict(np.delete(test, attribute, axis=1)), dtype=np.int32)

    return predict


def _log_conditional(
    train: Codes, child: int, parents: Sequence[int], cards: Sequence[int]
) -> Callable[[Codes], Floats]:
    """Return ``log P(child | parents)`` as a function of rows, estimated on the training rows."""
    # A parent configuration with N rows is smoothed with one pseudo-row of the child's marginal (weight 1 /
    # (N + 1)); an unseen configuration falls back on the marginal. Only observed configurations are stored:
    # the dense tables of a fitted model (:class:`sdv_plausible.models.bayesian_network.ConditionalTable`)
    # have a cell for each, which for unbucketed parents may not fit into memory.
    family = (*parents, child)
    bases = [cards[j] for j in family]
    if prod(bases) > 2**62:
        raise ValueError(
            f"structure: the table of attribute {child} has {prod(bases):.3g} cells, more than 2^62; give it "
            "fewer parents or use fewer bins"
        )

    def keys(rows: Codes) -> tuple[Counts, Counts]:
        cells = mixed_radix([rows[:, j] for j in family], bases)
        return cells, cells // cards[child]

    marginal = (np.bincount(train[:, child], minlength=cards[child]) + 0.5) / (
        len(train) + 0.5 * cards[child]
    )
    cells, configurations = (pd.Series(key).value_counts() for key in keys(train))

    def log_probability(rows: Codes) -> Floats:
        joint, total = (
            counted.reindex(key, fill_value=0).to_numpy()
            for counted, key in zip((cells, configurations), keys(rows), strict=True)
        )
        return np.asarray(np.log((joint + marginal[rows[:, child]]) / (total + 1.0)), dtype=np.float64)

    return log_probability


def network_predictor(parents: Mapping[int, Sequence[int]], cardinalities: Sequence[int]) -> Predictor:
    """Return a predictor for a network ``{child: parents}`` of column indices."""
    # The prediction for attribute x maximises ``P(x | parents(x)) * prod over children c of P(c |
    # parents(c))``; the other factors of the joint distribution do not contain x.

    def predict(train: Codes, test: Codes, attribute: int) -> Codes:
        family = [attribute, *(child for child, above in parents.items() if attribute in above)]
        factors = [_log_conditional(train, j, parents.get(j, ()), cardinalities) for j in family]
        candidate_rows = test.copy()
        scores = np.empty((len(test), cardinalities[attribute]))
        for value in range(cardinalities[attribute]):
            candidate_rows[:, attribute] = value
            scores[:, value] = sum(factor(candidate_rows) for factor in factors)
        return np.asarray(scores.argmax(axis=1), dtype=np.int32)

    return predict
