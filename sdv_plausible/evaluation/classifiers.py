"""What classifiers learn from synthetic rows, judged on real rows they have not seen: [PD] section 6.3.

*Accuracy* is the share of unseen real rows whose class a classifier names; *agreement* is the share on which
a classifier trained on synthetic rows and its twin trained on real rows say the same, right or wrong.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sdmetrics.errors import IncomputableMetricError

from sdv_plausible.evaluation.features import (
    FeatureEncoder,
    Features,
    shuffle,
    split_rows,
    split_sizes,
    stack_rows,
)
from sdv_plausible.evaluation.table_codes import Codes, category_codes, quantile_edges
from sdv_plausible.evaluation.table_pair import DEFAULT_MAX_ROWS, TablePair, as_numbers

DEFAULT_NUM_RUNS = 5
CLASSIFIERS = ("tree", "random_forest", "adaboost", "logistic_regression", "linear_svm")
"""The classifiers of [PD] tables 3 and 4."""
_MAX_TARGET_CLASSES = 50
Labels = npt.NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A mean over runs and its 95 % interval: Student's t, cut to [0, 1]; NaN for a single run."""

    # Runs share rows, so the interval covers the randomness of splits and classifiers, not that of another
    # release.
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
            half = float(t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values)))
            low, high = max(0.0, mean - half), min(1.0, mean + half)
        return cls(mean=mean, low=low, high=high, values=tuple(float(v) for v in values))


@dataclass(frozen=True, kw_only=True)
class ClassifierResult:
    """One classifier: accuracy when trained on real or on synthetic rows, and agreement of the two."""

    real_accuracy: Estimate
    synthetic_accuracy: Estimate
    agreement: Estimate
    ceiling: Estimate | None = None  # agreement of two trained on different real rows, if asked for


@dataclass(frozen=True, kw_only=True)
class ClassifierComparison:
    """Outcome of :func:`compare_classifiers`, by classifier."""

    target: str  # the column that was predicted
    results: dict[str, ClassifierResult]
    majority_accuracy: float  # of always naming the commonest class of the real training rows
    num_train: int  # rows of one run that either trains on (the synthetic one on fewer if there are fewer)
    num_test: int
    subsampled: bool  # whether ``max_rows`` left rows unused


def make_classifier(name: str, random_state: int) -> Any:
    """Return an unfitted scikit-learn classifier: default settings, 100 trees in the forest."""
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
    """A classifier, the rows and labels that it learns from, and the rows that it is asked about."""

    name: str
    train: Features
    labels: Labels
    test: Features
    random_state: int

    def predict(self) -> Labels:
        """Train and ask; a single class is predicted throughout."""
        if (self.labels == self.labels[0]).all():
            return np.full(len(self.test.trees), self.labels[0])
        model = make_classifier(self.name, self.random_state)
        model.fit(self.train.of(self.name), self.labels)
        return np.asarray(model.predict(self.test.of(self.name)))


def predict_all(trainings: Sequence[Training], tick: Callable[[], object] | None = None) -> Iterator[Labels]:
    """Return what each says, in order, trained side by side on all cores: each has a seed of its own."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.utils.parallel import Parallel, delayed

    with warnings.catch_warnings():
        # A linear model that stops short of its optimum is still the model the user would have got.
        warnings.filterwarnings("ignore", category=ConvergenceWarning)
        # A target of many values is the user's choice.
        warnings.filterwarnings("ignore", message="The number of unique classes")
        # A forest in one thread finds no filters for a moment while one in another thread sets them.
        warnings.filterwarnings("ignore", message="`sklearn.utils.parallel.delayed` should be used")
        threads = Parallel(n_jobs=-1, prefer="threads", return_as="generator")
        said = []
        for one in threads(delayed(Training.predict)(training) for training in trainings):
            said.append(one)
            if tick is not None:
                tick()
    return iter(said)


def choose_target(pair: TablePair, target: str | None = None) -> str:
    """Return ``target``, or the last categorical column with 2 to 50 real values, or the last column."""
    if target is not None:
        if target not in pair.kinds:
            raise ValueError(f"target ({target!r}) must be one of the compared columns: {list(pair.kinds)}")
        return target
    for name in reversed(list(pair.kinds)):
        if pair.kinds[name] == "categorical" and 2 <= pair.real[name].nunique() <= _MAX_TARGET_CLASSES:
            return name
    return list(pair.kinds)[-1]


def target_classes(pair: TablePair, target: str, parts: Sequence[pd.DataFrame]) -> list[Codes]:
    """Return class labels of several row sets; the first one is real."""
    # A categorical target has its values as classes; a number is above the first set's median or not. Missing
    # is a class, and so is what is no number.
    columns = [part[target] for part in parts]
    kind = pair.kinds[target]
    if kind == "categorical":
        return category_codes(columns)[0]
    read = [as_numbers(column, kind, pair.formats.get(target)) for column in columns]
    edges = quantile_edges(read[0][0], 2)
    above = [np.where(np.isnan(numbers), 0, 1 + np.searchsorted(edges, numbers)) for numbers, _ in read]
    return [np.where(odd, 3, classes).astype(np.int32) for classes, (_, odd) in zip(above, read, strict=True)]


def names_of(argument: str, names: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of classifiers, of which one may be given by itself."""
    found = (names,) if isinstance(names, str) else tuple(names)
    unknown = [name for name in found if name not in CLASSIFIERS]
    if unknown or not found:
        raise ValueError(f"{argument} ({names!r}) must name at least one of {CLASSIFIERS}, and nothing else")
    return found


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
    """Train classifiers on real and on synthetic rows, test both on unseen real rows ([PD] 6.3)."""
    # Every run has a fresh split and fresh classifiers, trained and tested on at most ``max_rows`` rows
    # (None: no bound). With ``holdout``, real rows that the synthesizer never saw, all of ``pair.real`` may
    # train and they test. With ``ceiling`` twins train on other real rows, too; then there are at most half
    # as many for each. ``tick`` is called once per training.
    target = choose_target(pair, target)
    features: Mapping[str, Any] = {name: kind for name, kind in pair.kinds.items() if name != target}
    if not features:
        raise IncomputableMetricError(
            f"the target {target!r} is the only column: nothing is left to predict it from"
        )
    if num_runs < 1:
        raise ValueError(f"num_runs ({num_runs}) must be at least 1")
    classifiers = names_of("classifiers", classifiers)
    num_train, num_test, subsampled = split_sizes(pair, holdout, test_fraction, max_rows, 2 if ceiling else 1)
    trainings: list[Training] = []
    truths, majority = [], []
    for run in range(num_runs):
        rng = np.random.default_rng([random_state, run])
        parts = split_rows(pair, holdout, (num_train, num_test), rng, ceiling)
        labels = target_classes(pair, target, parts)
        truths.append(labels[2])
        majority.append(float((labels[2] == np.bincount(labels[0]).argmax()).mean()))
        # shuffled, so that the order in which categories appear does not tell the two tables apart
        learned = shuffle(stack_rows([*parts[:2], *parts[3:]]), rng)
        encoder = FeatureEncoder(features, pair.formats).fit(learned)
        rows = [Features.of_rows(encoder, part, classifiers) for part in parts]
        test, known = rows[2], [(rows[i], labels[i]) for i in (0, 1, *range(3, len(rows)))]
        for name in classifiers:
            seed = int(rng.integers(2**31))
            trainings += [
                Training(name=name, train=train, labels=classes, test=test, random_state=seed)
                for train, classes in known
            ]
    said = predict_all(trainings, tick)
    outcomes: dict[str, list[tuple[float, ...]]] = {name: [] for name in classifiers}
    for truth, name in itertools.product(truths, classifiers):
        outcomes[name].append(_hits(truth, [next(said) for _ in range(3 if ceiling else 2)]))
    return ClassifierComparison(
        target=target,
        results={name: _result(rows) for name, rows in outcomes.items()},
        majority_accuracy=float(np.mean(majority)),
        num_train=num_train,
        num_test=num_test,
        subsampled=subsampled,
    )


def _hits(truth: Labels, said: Sequence[Labels]) -> tuple[float, ...]:
    """Return accuracies of a classifier trained on real and on synthetic rows, and agreement of the first."""
    # Those trained on synthetic rows and, for a ceiling, on other real ones.
    by_real, *others = said
    agreements = [float((by_real == other).mean()) for other in others]
    return float((by_real == truth).mean()), float((others[0] == truth).mean()), *agreements


def _result(rows: Sequence[tuple[float, ...]]) -> ClassifierResult:
    real, synthetic, agreement, *ceiling = (Estimate.of(values) for values in zip(*rows, strict=True))
    return ClassifierResult(
        real_accuracy=real,
        synthetic_accuracy=synthetic,
        agreement=agreement,
        ceiling=ceiling[0] if ceiling else None,
    )
