"""How well the most likely value of each attribute, given all others, is the true one: [PD] section 6.2, figures 1, 2.

The paper asks its generative model for that value and compares with random forests, with the marginals (the commonest
value whatever the others say) and with random guessing. A metric sees tables, not the model, so there are two stand-ins
learned from the synthetic rows: a random forest per attribute (works for any synthesizer), and conditional tables
counted on a given network structure (the paper's own way, for a Bayesian network). Anything else that predicts, such
as the fitted model itself, can be passed to :func:`model_accuracy` as a function.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from sdv_plausible.evaluation.coding import Codes
from sdv_plausible.evaluation.reading import Floats

Keys = npt.NDArray[np.int64]
Predictor = Callable[[Codes, Codes, int], Codes]
"""``(training codes, test codes, attribute) -> most likely codes``, shapes (n, m), (n', m), (n',)."""


def model_accuracy(train: Codes, test: Codes, predictor: Predictor) -> Floats:
    """Return, for each attribute, the share of test rows whose value is the predicted one, shape (m,).

    Parameters
    ----------
    train : numpy.ndarray of int, shape (n, m)
        Rows the predictor learns from.
    test : numpy.ndarray of int, shape (n', m)
        Unseen real rows.
    predictor : Predictor
        Must not look at column ``attribute`` of the test rows.
    """
    return np.array([(predictor(train, test, j) == test[:, j]).mean() for j in range(train.shape[1])])


def majority_predictor(train: Codes, test: Codes, attribute: int) -> Codes:
    """Predict the commonest value: the paper's "marginals" baseline."""
    return np.full(len(test), np.bincount(train[:, attribute]).argmax(), dtype=np.int32)


def forest_predictor(random_state: int = 0, n_estimators: int = 20) -> Predictor:
    """Return a predictor that trains a random forest on the other attributes' codes.

    Parameters
    ----------
    random_state : int
        Seed of the forests.
    n_estimators : int
        Trees of each forest. Leaves hold at least 5 rows, which bounds memory for attributes of hundreds of values.
    """

    def predict(train: Codes, test: Codes, attribute: int) -> Codes:
        from sklearn.ensemble import RandomForestClassifier

        labels = train[:, attribute]
        if train.shape[1] == 1 or (labels == labels[0]).all():
            return majority_predictor(train, test, attribute)
        forest = RandomForestClassifier(n_estimators=n_estimators, min_samples_leaf=5, random_state=random_state)
        with warnings.catch_warnings():
            # attributes of many values are meant to be classes here
            warnings.filterwarnings("ignore", message="The number of unique classes")
            forest.fit(np.delete(train, attribute, axis=1), labels)
        return np.asarray(forest.predict(np.delete(test, attribute, axis=1)), dtype=np.int32)

    return predict


@dataclass(frozen=True, kw_only=True)
class _ConditionalTable:
    """P(child | parents) counted on training rows, sparse: only configurations that occur are stored.

    A configuration seen N times is mixed with one pseudo-row of the child's own distribution (weight 1 / (N + 1)), so
    one never seen falls back on that distribution.
    """

    child: int
    parents: tuple[int, ...]
    cardinalities: tuple[int, ...]
    cells: tuple[Keys, Keys]
    configurations: tuple[Keys, Keys]
    marginal: Floats

    @classmethod
    def count(cls, train: Codes, child: int, parents: Sequence[int], cards: Sequence[int]) -> _ConditionalTable:
        used = tuple(cards[j] for j in (*parents, child))
        if prod(used) > 2**62:
            raise ValueError(
                f"structure: the table of attribute {child} has {prod(used):.3g} cells, more than 2^62; give it fewer "
                "parents or use fewer bins"
            )
        marginal = (np.bincount(train[:, child], minlength=cards[child]) + 0.5) / (len(train) + 0.5 * cards[child])
        keys = _keys(train, parents, cards)
        return cls(
            child=child,
            parents=tuple(parents),
            cardinalities=tuple(cards),
            cells=_tally(keys * cards[child] + train[:, child]),
            configurations=_tally(keys),
            marginal=np.asarray(marginal, dtype=np.float64),
        )

    def log_probability(self, rows: Codes) -> Floats:
        keys = _keys(rows, self.parents, self.cardinalities)
        value = rows[:, self.child]
        joint = _look_up(self.cells, keys * self.cardinalities[self.child] + value)
        total = _look_up(self.configurations, keys)
        return np.asarray(np.log((joint + self.marginal[value]) / (total + 1.0)), dtype=np.float64)


def _keys(rows: Codes, parents: Sequence[int], cards: Sequence[int]) -> Keys:
    key = np.zeros(len(rows), dtype=np.int64)
    for j in parents:
        key = key * cards[j] + rows[:, j]
    return key


def _tally(keys: Keys) -> tuple[Keys, Keys]:
    known, counts = np.unique(keys, return_counts=True)
    return known, counts.astype(np.int64)


def _look_up(counted: tuple[Keys, Keys], keys: Keys) -> Floats:
    known, counts = counted
    place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[place] == keys, counts[place], 0).astype(np.float64)


def network_predictor(parents: Mapping[int, Sequence[int]], cardinalities: Sequence[int]) -> Predictor:
    """Return a predictor that counts conditional tables on a structure and takes the most likely value exactly.

    For attribute x the value maximises ``P(x | parents(x)) * prod over children c of P(c | parents(c))``: the other
    factors of the joint distribution do not contain x.

    Parameters
    ----------
    parents : mapping of int to sequence of int
        Parents of each attribute by position; an attribute that is absent has none.
    cardinalities : sequence of int
        Number of codes of each attribute.
    """

    def predict(train: Codes, test: Codes, attribute: int) -> Codes:
        family = [attribute, *(child for child, above in parents.items() if attribute in above)]
        tables = [_ConditionalTable.count(train, j, parents.get(j, ()), cardinalities) for j in family]
        asked = test.copy()
        scores = np.empty((len(test), cardinalities[attribute]))
        for value in range(cardinalities[attribute]):
            asked[:, attribute] = value
            scores[:, value] = sum(table.log_probability(asked) for table in tables)
        return np.asarray(scores.argmax(axis=1), dtype=np.int32)

    return predict
