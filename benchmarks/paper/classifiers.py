"""Tables 3 and 5: what classifiers learn from released rows, and whether they can tell them from real ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from benchmarks.paper.settings import ROWS, TARGET
from benchmarks.paper.store import Store
from benchmarks.paper.synthesis import Study

LEAST_SPLIT = 10  # rows of a node; the paper prints no setting, and this one comes nearest to its trees
INPUTS = [j for j in range(11) if j != TARGET]


def learners(trees: int, seed: int) -> dict[str, Any]:
    """The classifiers of table 3: scikit-learn's defaults, but that the tree splits no node of fewer than ten rows."""
    return {
        "Tree": DecisionTreeClassifier(min_samples_split=LEAST_SPLIT, random_state=seed),
        "RF": RandomForestClassifier(trees, random_state=seed),
        "Ada": AdaBoostClassifier(random_state=seed),
    }


def table3(study: Study, store: Store) -> None:
    """Accuracy on unseen rows, and agreement with the classifiers of other real rows (D_T and D_P)."""
    split, sizes = study.split, study.sizes
    test = split.unseen[: sizes.tested]
    others = np.concatenate([split.structure, split.parameters])[: sizes.train]
    of_reals: dict[str, np.ndarray] = {}

    def predictions(rows: np.ndarray) -> dict[str, np.ndarray]:
        made = learners(sizes.trees, study.repeat)
        return {n: c.fit(rows[:, INPUTS], rows[:, TARGET]).predict(test[:, INPUTS]) for n, c in made.items()}

    for row in ROWS:

        def measure(row: Any = row) -> dict[str, Any]:
            if not of_reals:
                of_reals.update(predictions(others))
            said = predictions(study.released(row)[: sizes.train])
            accuracy = {name: float((guess == test[:, TARGET]).mean()) for name, guess in said.items()}
            agreement = {
                f"agreement {name}": float((guess == of_reals[name]).mean()) for name, guess in said.items()
            }
            return {**accuracy, **agreement}

        store.once("table3", row.name, study.repeat, measure)


def table5(study: Study, store: Store) -> None:
    """Share of an unseen mix named right by a classifier trained on another mix; each half unseen real, half released rows."""
    size = study.sizes.game
    real = study.split.unseen[: 2 * size]
    truth = np.repeat([0, 1], size)
    for row in ROWS:

        def measure(row: Any = row) -> dict[str, Any]:
            made = study.released(row)[-2 * size :]
            seen, asked = (
                np.concatenate([real[:size], made[:size]]),
                np.concatenate([real[size:], made[size:]]),
            )
            players = learners(study.sizes.trees, study.repeat)
            return {
                name: float(players[name].fit(seen, truth).score(asked, truth)) for name in ("RF", "Tree")
            }

        store.once("table5", row.name, study.repeat, measure)
