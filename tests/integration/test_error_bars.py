"""Coverage over real fits: one-way counts and the pair tables that the learner chose, given that it chose them.

Every cell has noise of its own, so the misses of the table's counts are binomial; of the population one cell a fit is
looked at. False alarm ``ALARM`` of each check. Planted: intervals for half the noise, missed with a probability below 1e-6.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import miss_rates
import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from sdv_plausible import AdaptiveNetwork, Attribute, Domain, PrivacyLedger
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import CodeArray
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.queries.transcript import NoisyAnswer, Transcript
from sdv_plausible.release.intervals.margins import margins
from sdv_plausible.release.intervals.measured_counts import measured_tables

ALARM, MISS, ROWS = 1e-6, 0.05, 2000
SHARES = np.array([0.55, 0.3, 0.15])
DOMAIN = Domain((
    Attribute(name="a", kind="categorical", values=tuple("xyz")),
    Attribute(name="b", kind="integer", lower=tuple(range(12)), upper=tuple(range(12))),
    Attribute(name="c", kind="categorical", values=(0, 1)),
    Attribute(name="d", kind="categorical", values=(0, 1)),
))  # fmt: skip
NAMES = DOMAIN.names


def fit(seed: int) -> tuple[np.ndarray, tuple[NoisyAnswer, ...]]:
    """A sample of the population, and the answers of one fit to it; weak links are chosen in some fits only."""
    rng = np.random.default_rng(seed)
    a = rng.choice(3, ROWS, p=SHARES)
    b = np.where(rng.random(ROWS) < 0.5, 4 * a + rng.integers(0, 4, ROWS), rng.integers(0, 12, ROWS))
    c = rng.integers(0, 2, ROWS)
    codes = np.column_stack([a, b, c, np.where(rng.random(ROWS) < 0.15, c, rng.integers(0, 2, ROWS))])
    learner, transcript, budget = AdaptiveNetwork(), Transcript(), ModelBudget(epsilon=2.0, delta=1e-6)
    rows = Queryable(
        CodeArray(codes, DOMAIN.cardinalities), PrivacyLedger(delta=1e-6), learner.plan(DOMAIN, budget),
        KeyedRNG.from_seed(seed), transcript=transcript,
    )  # fmt: skip
    learner.fit(rows, DOMAIN, budget, KeyedRNG.from_seed(seed + 1))
    return codes, transcript.answers


def missed(frame: pd.DataFrame, truth: np.ndarray, what: str = "") -> np.ndarray:
    low, high = (frame[f"{what}{end}"].to_numpy() for end in ("lower", "upper"))
    return ~((low <= truth) & (truth <= high))


def misses(fits: int, change: Callable[[Sequence[NoisyAnswer]], Any] = tuple) -> dict[str, tuple[int, int]]:
    """Number of misses and of looks: at one-way counts, at chosen tables, and at the population."""
    counted: dict[str, list[bool]] = {"one-way": [], "chosen": [], "population": []}
    for seed in range(fits):
        codes, answers = fit(seed)
        told = change(answers)
        for table in measured_tables(answers):
            frame = margins(told, DOMAIN, [NAMES[j] for j in table.columns])
            exact = next(CodeArray(codes, DOMAIN.cardinalities).tables([table.axes])).ravel()
            counted["chosen" if len(table.axes) > 1 else "one-way"] += missed(frame, exact).tolist()
        population = missed(margins(told, DOMAIN, "a"), SHARES, "proportion_")
        counted["population"].append(bool(population[seed % len(SHARES)]))
    return {name: (sum(found), len(found)) for name, found in counted.items()}


def halved(answers: Sequence[NoisyAnswer]) -> list[NoisyAnswer]:
    return [dataclasses.replace(a, scale=a.scale / 2) for a in answers]


def check(found: dict[str, tuple[int, int]]) -> None:
    for name, (number, looks) in found.items():
        assert number <= binom.isf(ALARM, looks, MISS), (name, number, looks)


def test_coverage_of_a_dozen_fits():
    check(misses(12))


def test_half_the_noise_is_caught():
    found = misses(12, halved)
    number, looks = (a + b for a, b in zip(found["one-way"], found["chosen"], strict=True))
    assert number > binom.isf(ALARM, looks, MISS)
    assert miss_rates.binomial(looks, MISS, 0.25, ALARM) < 1e-6


@pytest.mark.nightly
def test_coverage_of_a_thousand_fits():
    found = misses(1000)
    assert found["chosen"][1] > 10_000
    check(found)
