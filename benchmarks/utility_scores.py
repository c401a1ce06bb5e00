"""Scores of a synthetic table of codes against real rows that no method has seen."""

from __future__ import annotations

import itertools

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

SCORES = ("1-way", "2-way", "RF", "agreement", "Ada", "game RF", "game Tree")


def distances(first: np.ndarray, second: np.ndarray, cards: list[int]) -> tuple[float, float]:
    """Mean total variation distance of single columns and of pairs."""

    def distance(a: np.ndarray, b: np.ndarray, cells: int) -> float:
        return 0.5 * float(
            np.abs(np.bincount(a, minlength=cells) / len(a) - np.bincount(b, minlength=cells) / len(b)).sum()
        )

    one = [distance(first[:, j], second[:, j], c) for j, c in enumerate(cards)]
    two = [
        distance(
            first[:, i].astype(np.int64) * cards[j] + first[:, j],
            second[:, i].astype(np.int64) * cards[j] + second[:, j],
            cards[i] * cards[j],
        )
        for i, j in itertools.combinations(range(len(cards)), 2)
    ]
    return float(np.mean(one)), float(np.mean(two))


def scores(
    train: np.ndarray, test: np.ndarray, synthetic: np.ndarray, cards: list[int], target: int
) -> dict[str, float]:
    """All scores; the classifier of the real training rows is fitted afresh for the agreement."""
    inputs = [j for j in range(len(cards)) if j != target]

    def forest(rows: np.ndarray) -> np.ndarray:
        model = RandomForestClassifier(100, random_state=0).fit(rows[:, inputs], rows[:, target])
        return model.predict(test[:, inputs])

    of_real, of_synthetic = forest(train), forest(synthetic)
    boosted = AdaBoostClassifier(n_estimators=50, random_state=0).fit(
        synthetic[:, inputs], synthetic[:, target]
    )
    one, two = distances(synthetic, test, cards)
    return {
        "1-way": one,
        "2-way": two,
        "RF": float((of_synthetic == test[:, target]).mean()),
        "agreement": float((of_synthetic == of_real).mean()),
        "Ada": float(boosted.score(test[:, inputs], test[:, target])),
        **game(test, synthetic),
    }


def game(real: np.ndarray, synthetic: np.ndarray) -> dict[str, float]:
    """Accuracy of telling synthetic from real rows on an unseen half of a 50/50 mix; 0.5 is ideal."""
    rng = np.random.default_rng(5)
    size = min(len(real), len(synthetic))
    a, b = (rows[rng.permutation(len(rows))[:size]] for rows in (real, synthetic))
    half = size // 2
    seen, unseen = (
        np.concatenate([a[:half], b[:half]]),
        np.concatenate([a[half : 2 * half], b[half : 2 * half]]),
    )
    truth = np.repeat([0, 1], half)
    players = {
        "game RF": RandomForestClassifier(100, random_state=0),
        "game Tree": DecisionTreeClassifier(random_state=0),
    }
    return {name: float(player.fit(seen, truth).score(unseen, truth)) for name, player in players.items()}
