"""Classifiers trained on real and on synthetic rows, compared on unseen real rows: [PD] section 6.3.

*Accuracy* is the share of test rows that are classified correctly. *Agreement* is the share of test rows on
which two classifiers, one trained on real and one on synthetic rows, predict the same class.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sdmetrics.errors import IncomputableMetricError

from sdv_plausible.evaluation import DEFAULT_MAX_ROWS, DISTINGUISHERS
from sdv_plausible.evaluation.table_codes import (
    Codes,
    FeatureEncoder,
    Features,
    category_codes,
    quantile_edges,
    shuffle,
    split_rows,
    split_sizes,
    stack_rows,
)
from sdv_plausible.evaluation.table_pair import Floats, TablePair, to_numbers
from sdv_plausible.utils.counting import Counts, mixed_radix

DEFAULT_NUM_RUNS = 5
CLASSIFIERS = ("tree", "random_forest", "adaboost", "logistic_regression", "linear_svm")
"""The classifiers of [PD] tables 3 and 4."""
_MAX_TARGET_CLASSES = 50
Labels = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Mean over runs with its 95 % interval: Student's t, clipped to [0, 1]; NaN for a single run."""

    # Runs share rows. The interval covers the randomness of splits and classifiers, not of the release.
    mean: float
    low: float
    high: float
    values: tuple[float, ...]  # one per run

    @classmethod
    def of(cls, values: Sequence[float]) -> Estimate:
        """Summarise one value per run."""
        from scipy.stats import t

        mean, low, high = float(np.mean(values)), np.nan, np.nan
        if len(values) > 1:
            half_width = float(t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values)))
            low, high = max(0.0, mean - half_width), min(1.0, mean + half_width)
        return cls(mean=mean, low=low, high=high, values=tuple(float(v) for v in values))


@dataclass(frozen=True, kw_only=True)
class ClassifierResult:
    """Accuracy of a classifier trained on real or on synthetic rows, and the agreement of the two."""

    real_accuracy: Estimate
    synthetic_accuracy: Estimate
    agreement: Estimate
    ceiling: Estimate | None = None  # agreement of two classifiers trained on different real rows


@dataclass(frozen=True, kw_only=True)
class ClassifierComparison:
    """Result of :func:`compare_classifiers`."""

    target: str  # predicted column
    results: dict[str, ClassifierResult]
    majority_accuracy: float  # accuracy of the most common class of the real training rows
    num_train: int  # training rows per run (fewer synthetic rows if there are fewer)
    num_test: int
    subsampled: bool  # whether ``max_rows`` left rows unused


def make_classifier(name: str, random_state: int) -> Any:
    """Return an unfitted scikit-learn classifier with default settings (100 trees in the forest)."""
    from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    makers: dict[str, Callable[[], Any]] = {
        "tree": lambda: DecisionTreeClassifier(random_state=random_state),
        "random_forest": lambda: RandomForestClassifier(n_estimators=100, random_state=random_state),
        "adaboost": lambda: AdaBoostClassifier(random_state=random_state),
        "logistic_regression": lambda: LogisticRegression(max_iter=300, random_state=random_state),
        "linear_svm": lambda: LinearSVC(dual=False, random_state=random_state),
    }
    if name not in makers:
        raise ValueError(f"classifier ({name!r}) must be one of {CLASSIFIERS}")
    return makers[name]()


@dataclass(frozen=True, kw_only=True)
class Training:
    """A classifier, its training rows and labels, and its test rows."""

    name: str
    train: Features
    labels: Labels
    test: Features
    random_state: int

    def predict(self) -> Labels:
        """Fit the classifier and predict the test rows; a constant label is predicted as is."""
        if (self.labels == self.labels[0]).all():
            return np.full(len(self.test.trees), self.labels[0])
        model = make_classifier(self.name, self.random_state)
        model.fit(self.train.of(self.name), self.labels)
        return np.asarray(model.predict(self.test.of(self.name)))


def predict_all(trainings: Sequence[Training], tick: Callable[[], object] | None = None) -> Iterator[Labels]:
    """Fit the classifiers in parallel threads; return their predictions in order."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.utils.parallel import Parallel, delayed

    with warnings.catch_warnings():
        # A linear model may stop before convergence.
        warnings.filterwarnings("ignore", category=ConvergenceWarning)
        # The user may choose a target with many classes.
        warnings.filterwarnings("ignore", message="The number of unique classes")
        # Warning filters are not thread-safe: forests in other threads may briefly see none.
        warnings.filterwarnings("ignore", message="`sklearn.utils.parallel.delayed` should be used")
        threads = Parallel(n_jobs=-1, prefer="threads", return_as="generator")
        predictions = []
        for prediction in threads(delayed(Training.predict)(training) for training in trainings):
            predictions.append(prediction)
            if tick is not None:
                tick()
    return iter(predictions)


def choose_target(pair: TablePair, target: str | None = None) -> str:
    """Return ``target``; by default the last categorical column with 2 to 50 values, else the last column."""
    if target is not None:
        if target not in pair.kinds:
            raise ValueError(f"target ({target!r}) must be one of the compared columns: {list(pair.kinds)}")
        return target
    for name in reversed(list(pair.kinds)):
        if pair.kinds[name] == "categorical" and 2 <= pair.real[name].nunique() <= _MAX_TARGET_CLASSES:
            return name
    return list(pair.kinds)[-1]


def target_classes(pair: TablePair, target: str, parts: Sequence[pd.DataFrame]) -> list[Codes]:
    """Return the class labels of several row sets; the first set is real."""
    # The classes of a categorical target are its values. A number is classified as above the first set's
    # median or not. Missing and unreadable values are classes of their own.
    columns = [part[target] for part in parts]
    kind = pair.kinds[target]
    if kind == "categorical":
        return category_codes(columns)[0]
    parsed = [to_numbers(column, kind, pair.formats.get(target)) for column in columns]
    edges = quantile_edges(parsed[0][0], 2)
    above = [np.where(np.isnan(numbers), 0, 1 + np.searchsorted(edges, numbers)) for numbers, _ in parsed]
    return [
        np.where(unreadable, 3, classes).astype(np.int32)
        for classes, (_, unreadable) in zip(above, parsed, strict=True)
    ]


def check_classifier_names(argument: str, names: str | Sequence[str]) -> tuple[str, ...]:
    """Return classifier names as a tuple; a single name may be given as a string."""
    listed = (names,) if isinstance(names, str) else tuple(names)
    unknown = [name for name in listed if name not in CLASSIFIERS]
    if unknown or not listed:
        raise ValueError(f"{argument} ({names!r}) must name at least one of {CLASSIFIERS}, and nothing else")
    return listed


def compare_classifiers(
    pair: TablePair,
    target: str | None = None,
    *,
    classifiers: str | Sequence[str] = CLASSIFIERS,
    num_runs: int = DEFAULT_NUM_RUNS,
    test_fraction: float = 0.3,
    max_rows: int | None = DEFAULT_MAX_ROWS,
    holdout: pd.DataFrame | None = None,
    random_state: int = 0,
    ceiling: bool = False,
    tick: Callable[[], object] | None = None,
) -> ClassifierComparison:
    """Train classifiers on real and on synthetic rows; test both on unseen real rows ([PD] 6.3)."""
    # Every run has a fresh split and fresh classifiers, trained and tested on at most ``max_rows`` rows
    # (None: no limit). With ``holdout`` (real rows unseen by the synthesizer), all real rows may train and
    # the holdout tests. With ``ceiling``, further classifiers train on other real rows; each then gets at
    # most half of the rows. ``tick`` is called once per training.
    target = choose_target(pair, target)
    features: Mapping[str, Any] = {name: kind for name, kind in pair.kinds.items() if name != target}
    if not features:
        raise IncomputableMetricError(
            f"the target {target!r} is the only column: nothing is left to predict it from"
        )
    if num_runs < 1:
        raise ValueError(f"num_runs ({num_runs}) must be at least 1")
    classifiers = check_classifier_names("classifiers", classifiers)
    num_train, num_test, subsampled = split_sizes(pair, holdout, test_fraction, max_rows, 2 if ceiling else 1)
    trainings: list[Training] = []
    truths, majority = [], []
    for run in range(num_runs):
        rng = np.random.default_rng([random_state, run])
        parts = split_rows(pair, holdout, (num_train, num_test), rng, ceiling)
        labels = target_classes(pair, target, parts)
        truths.append(labels[2])
        majority.append(float((labels[2] == np.bincount(labels[0]).argmax()).mean()))
        # Shuffle: the order in which categories appear must not distinguish the tables.
        training_rows = shuffle(stack_rows([*parts[:2], *parts[3:]]), rng)
        encoder = FeatureEncoder(features, pair.formats).fit(training_rows)
        rows = [Features.of_rows(encoder, part, classifiers) for part in parts]
        test, training_sets = rows[2], [(rows[i], labels[i]) for i in (0, 1, *range(3, len(rows)))]
        for name in classifiers:
            seed = int(rng.integers(2**31))
            trainings += [
                Training(name=name, train=train, labels=classes, test=test, random_state=seed)
                for train, classes in training_sets
            ]
    predictions = predict_all(trainings, tick)
    outcomes: dict[str, list[tuple[float, ...]]] = {name: [] for name in classifiers}
    for truth, name in itertools.product(truths, classifiers):
        outcomes[name].append(
            _accuracies_and_agreements(truth, [next(predictions) for _ in range(3 if ceiling else 2)])
        )
    return ClassifierComparison(
        target=target,
        results={name: _result(rows) for name, rows in outcomes.items()},
        majority_accuracy=float(np.mean(majority)),
        num_train=num_train,
        num_test=num_test,
        subsampled=subsampled,
    )


def _accuracies_and_agreements(truth: Labels, predictions: Sequence[Labels]) -> tuple[float, ...]:
    """Return real and synthetic accuracy, then the agreement of the first with each of the others."""
    # Predictions: trained on real rows, on synthetic rows, and (for the ceiling) on other real rows.
    real, *others = predictions
    agreements = [float((real == other).mean()) for other in others]
    return float((real == truth).mean()), float((others[0] == truth).mean()), *agreements


def _result(rows: Sequence[tuple[float, ...]]) -> ClassifierResult:
    real, synthetic, agreement, *ceiling = (Estimate.of(values) for values in zip(*rows, strict=True))
    return ClassifierResult(
        real_accuracy=real,
        synthetic_accuracy=synthetic,
        agreement=agreement,
        ceiling=ceiling[0] if ceiling else None,
    )


@dataclass(frozen=True, kw_only=True)
class GameResult:
    """Result of :func:`distinguishing_game`."""

    # Sampling alone moves the accuracy of a run from 0.5 by about ``0.5 / sqrt(num_test)``. A value clearly
    # below 0.5 means that synthetic rows copy real ones: the copy of a training row is in the test mix with
    # the other label. Held-out real rows remove that effect.
    accuracy: dict[str, Estimate]  # by classifier, in [0, 1]
    num_train: int  # rows of the training mix, half of them synthetic
    num_test: int
    held_out: bool  # whether the real rows were held out from the synthesizer
    subsampled: bool  # whether ``max_rows`` left rows unused (surplus rows of the longer table always are)

    @property
    def score(self) -> float:
        """Mean accuracy over the classifiers, each at least 0.5, in [0.5, 1]."""
        return float(np.mean([max(0.5, estimate.mean) for estimate in self.accuracy.values()]))


def _mix_sizes(num_rows: int, test_fraction: float, max_rows: int | None) -> tuple[int, int, bool]:
    """Return the rows per origin in the training and test mix, and whether rows are left unused."""
    max_rows = sys.maxsize if max_rows is None else max_rows
    if not 0 < test_fraction < 1:
        raise ValueError(f"test_fraction ({test_fraction}) must lie between 0 and 1: both mixes need rows")
    if max_rows < 4:
        raise ValueError(f"max_rows ({max_rows}) must be at least 4: a mix needs rows of both kinds")
    if num_rows < 4:
        raise IncomputableMetricError(
            f"{num_rows} rows in the shorter table: the game needs at least 4 of each kind"
        )
    num_test = min(max(1, round(test_fraction * num_rows)), num_rows - 1)
    num_train, max_per_origin = num_rows - num_test, max_rows // 2
    return (
        min(num_train, max_per_origin),
        min(num_test, max_per_origin),
        max(num_train, num_test) > max_per_origin,
    )


def distinguishing_game(
    pair: TablePair,
    *,
    classifiers: str | Sequence[str] = DISTINGUISHERS,
    num_runs: int = DEFAULT_NUM_RUNS,
    test_fraction: float = 0.3,
    max_rows: int | None = DEFAULT_MAX_ROWS,
    holdout: pd.DataFrame | None = None,
    random_state: int = 0,
    tick: Callable[[], object] | None = None,
) -> GameResult:
    """Play the game ``num_runs`` times with each classifier, with fresh mixes per run."""
    # The test mix has ``test_fraction`` of the shorter table's rows, and no row is in both mixes. A mix has
    # at most ``max_rows`` rows (None: no limit). ``holdout`` rows, unseen by the synthesizer, replace the
    # real rows in both mixes. ``tick`` is called once per run and classifier.
    if num_runs < 1:
        raise ValueError(f"num_runs ({num_runs}) must be at least 1")
    classifiers = check_classifier_names("classifiers", classifiers)
    real = pair.real if holdout is None else holdout[list(pair.kinds)]
    num_train, num_test, subsampled = _mix_sizes(min(len(real), len(pair.synthetic)), test_fraction, max_rows)
    trainings, true_origins = [], []
    for run in range(num_runs):
        rng = np.random.default_rng([random_state, run])
        train, test = _mixes(real, pair.synthetic, (num_train, num_test), rng)
        true_origins.append(test[1])
        # Fit on the training mix only. If the real table's categories were known in advance, a category that
        # only the synthetic table has would stand out, but not the reverse.
        encoder = FeatureEncoder(pair.kinds, pair.formats).fit(train[0])
        train_features, test_features = (
            Features.of_rows(encoder, rows, classifiers) for rows, _ in (train, test)
        )
        for name in classifiers:
            seed = int(rng.integers(2**31))
            trainings.append(
                Training(
                    name=name, train=train_features, labels=train[1], test=test_features, random_state=seed
                )
            )
    predictions = predict_all(trainings, tick)
    values: dict[str, list[float]] = {name: [] for name in classifiers}
    for origin, name in itertools.product(true_origins, classifiers):
        values[name].append(float((next(predictions) == origin).mean()))
    return GameResult(
        accuracy={name: Estimate.of(v) for name, v in values.items()},
        num_train=2 * num_train,
        num_test=2 * num_test,
        held_out=holdout is not None,
        subsampled=subsampled,
    )


Mix = tuple[pd.DataFrame, "np.ndarray[tuple[int], np.dtype[np.bool_]]"]


def _mixes(
    real: pd.DataFrame, synthetic: pd.DataFrame, sizes: tuple[int, int], rng: np.random.Generator
) -> tuple[Mix, Mix]:
    """Draw disjoint training and test mixes of real and synthetic rows, with origin labels."""
    shuffled = [(table, rng.permutation(len(table))) for table in (real, synthetic)]
    cut, end = sizes[0], sum(sizes)
    train = _mix([table.iloc[order[:cut]] for table, order in shuffled], rng)
    return train, _mix([table.iloc[order[cut:end]] for table, order in shuffled], rng)


def _mix(parts: Sequence[pd.DataFrame], rng: np.random.Generator) -> Mix:
    """Shuffle rows of both origins together; the labels are True for synthetic rows."""
    order = rng.permutation(sum(len(part) for part in parts))
    is_synthetic = np.repeat([False, True], [len(part) for part in parts])
    return stack_rows(parts).iloc[order], is_synthetic[order]


# --- Accuracy of predicting each attribute from all others ([PD] section 6.2, figures 1 and 2) ----
# The paper predicts with its generative model and compares with random forests, the marginals (the most
# common value) and random guessing. A metric sees tables instead of the model, so two predictors are learned
# from the synthetic rows: a random forest per attribute (for any synthesizer), and conditional tables
# counted on a given network structure (the paper's own method for a Bayesian network).
# :func:`model_accuracy` accepts any other predictor function.


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
