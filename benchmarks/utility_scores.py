"""Scores of a synthetic table of codes against real rows that no method has seen."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

SCORES = ("1-way", "2-way", "3-way", "RF", "agreement", "Ada", "game RF", "game Tree")
MOST_TRIPLES = 200


def distance(first: np.ndarray, second: np.ndarray, columns: Sequence[int], cards: Sequence[int]) -> float:
    """Total variation distance of the joint distribution of some columns of two tables of codes."""
    sizes = [cards[j] for j in columns]
    a, b = (np.ravel_multi_index(rows[:, columns].T, sizes) for rows in (first, second))
    cells = math.prod(sizes)
    if cells > len(a) + len(b):
        values, both = np.unique(np.concatenate([a, b]), return_inverse=True)
        (a, b), cells = (both[: len(a)], both[len(a) :]), len(values)
    shares = (np.bincount(codes, minlength=cells) / len(codes) for codes in (a, b))
    return 0.5 * float(np.abs(np.subtract(*shares)).sum())


def distances(first: np.ndarray, second: np.ndarray, cards: list[int]) -> tuple[float, float]:
    """Mean total variation distance of single columns and of pairs."""
    one, two = (
        float(np.mean([distance(first, second, chosen, cards) for chosen in _sets(cards, ways)]))
        for ways in (1, 2)
    )
    return one, two


def triples(first: np.ndarray, second: np.ndarray, cards: list[int]) -> float:
    """Mean total variation distance of triples: all, or ``MOST_TRIPLES`` of them, the same in every call."""
    every = _sets(cards, 3)
    order = np.random.default_rng(0).permutation(len(every))[:MOST_TRIPLES]
    return float(np.mean([distance(first, second, every[o], cards) for o in order]))


def _sets(cards: list[int], ways: int) -> list[tuple[int, ...]]:
    return list(itertools.combinations(range(len(cards)), ways))


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
        "3-way": triples(synthetic, test, cards),
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
