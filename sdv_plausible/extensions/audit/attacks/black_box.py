"""Black box: the attacker sees synthetic rows, and rows of the same population that were not in the table.

Two scores of a target, for any synthesizer: how much nearer the synthetic rows come to it than other rows do,
and how much denser they lie around it (in the manner of DOMIAS, van Breugel et al. 2023). And an attack by
shadow models: fits with and without one target teach what its presence looks like.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd

from sdv_plausible.extensions.audit.attacks.bounds import (
    AttackBounds,
    OneRunBound,
    attack_bounds,
    one_run_bound,
)
from sdv_plausible.extensions.audit.attacks.frames import KINDS, TableCoder, crafted, outliers
from sdv_plausible.extensions.audit.membership import LEAST_RUNS, FloatArray
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG


class Synthesizer(Protocol):
    """An SDV synthesizer or anything like it."""

    def fit(self, data: Any) -> Any:
        """Learn from the rows."""
        ...

    def sample(self, num_rows: int) -> Any:
        """Make rows."""
        ...


Factory = Callable[[], Synthesizer]


def synthetic_rows(factory: Factory, rows: pd.DataFrame, number: int) -> pd.DataFrame:
    """Fit a fresh synthesizer and sample, with the columns of ``rows``."""
    synthesizer = factory()
    try:
        synthesizer.fit(rows)
    except Exception as error:  # raised before a row is looked at, by SDV 2 for all frames
        if type(error).__name__ != "InvalidDataTypeError":
            raise
        synthesizer = factory()
        synthesizer.fit({_table_name(synthesizer): rows})
    made = synthesizer.sample(number)
    if isinstance(made, Mapping):
        made = next(iter(made.values()))
    return pd.DataFrame(made)[list(rows.columns)].reset_index(drop=True)


def _table_name(synthesizer: Any) -> str:
    tables = getattr(getattr(synthesizer, "metadata", None), "tables", None)
    return str(next(iter(tables))) if tables else "table"


NEAR = 0.01  # distances below are about 0: a column's range is 1
WIDTH = 0.1  # of the kernel: another category is exp(-10) as near
RIDGE = 1e-2
SUBSETS = 60  # of columns on which a shadow model counts the target's like


@dataclass(frozen=True, kw_only=True)
class CanaryGame:
    """One fit with canaries, and what two attacks prove from it.

    Attributes
    ----------
    distance, density : OneRunBound
        By nearness, and by density against reference rows.
    by_kind : dict
        For each kind of canary, and both attacks, the AUC.
    synthetic : DataFrame
        The rows that were attacked.
    """

    distance: OneRunBound
    density: OneRunBound
    by_kind: dict[str, dict[str, float]]
    synthetic: pd.DataFrame


def distance_score(
    coder: TableCoder, targets: pd.DataFrame, synthetic: pd.DataFrame, reference: pd.DataFrame
) -> FloatArray:
    """Log of the distance to the closest reference row over that to the closest synthetic row."""
    at = coder.ranks(targets)
    other, _ = coder.nearest(at, coder.ranks(reference))
    own, _ = coder.nearest(at, coder.ranks(synthetic))
    return np.log((other + NEAR) / (own + NEAR))


def density_score(
    coder: TableCoder, targets: pd.DataFrame, synthetic: pd.DataFrame, reference: pd.DataFrame
) -> FloatArray:
    """Log of the synthetic rows' density at each target over that of the reference rows."""
    at = coder.ranks(targets)
    own = coder.log_density(at, coder.ranks(synthetic), WIDTH)
    return own - coder.log_density(at, coder.ranks(reference), WIDTH)


def canary_game(
    table: pd.DataFrame,
    factory: Factory,
    *,
    canaries: int = 300,
    delta: float = 0.0,
    false_alarm: float = 0.05,
    sample_rows: int | None = None,
) -> CanaryGame:
    """Fit once with canaries, a third each crafted, outliers and random rows, and attack them.

    Half of the other rows are the table of the fit, the other half the attacker's reference.

    Parameters
    ----------
    table : DataFrame
        Rows of the population, at least four times the canaries.
    factory : callable
        Makes a fresh synthesizer.
    canaries : int
        At least 6.
    delta : float
        Of the claim that is tested; 0 for a synthesizer without one.
    false_alarm : float
        Probability that a bound lies above the truth, for each attack.
    sample_rows : int, optional
        Synthetic rows; by default as many as were fitted without canaries.
    """
    if canaries < 2 * len(KINDS) or len(table) < 4 * canaries:
        raise ValueError(
            f"canaries ({canaries}) must be at least {2 * len(KINDS)} and at most a quarter of the rows "
            f"({len(table)})"
        )
    coins = KeyedRNG.from_os_entropy()
    chosen, kinds, rest = choose_canaries(table, canaries, coins)
    was_in = coins.spawn("in").uniform(len(chosen)) < 0.5
    fitted, reference = rest.iloc[: len(rest) // 2], rest.iloc[len(rest) // 2 :]
    rows = pd.concat([fitted, chosen[was_in]], ignore_index=True)
    rows = rows.iloc[coins.spawn("order").permutation(len(rows))].reset_index(drop=True)
    synthetic = synthetic_rows(factory, rows, sample_rows or len(fitted))
    coder = TableCoder(reference)
    scores = {
        "distance": distance_score(coder, chosen, synthetic, reference),
        "density": density_score(coder, chosen, synthetic, reference),
    }
    bounds = {n: one_run_bound(s, was_in, delta, false_alarm=false_alarm) for n, s in scores.items()}
    by_kind = {
        k: {n: one_run_bound(s[kinds == k], was_in[kinds == k], delta).auc for n, s in scores.items()}
        for k in KINDS
    }
    return CanaryGame(**bounds, by_kind=by_kind, synthetic=synthetic)


def choose_canaries(
    table: pd.DataFrame, number: int, coins: KeyedRNG
) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame]:
    """Canaries, a third of each kind; their kinds; and the other rows of the table in random order."""
    each = number // len(KINDS)
    far = outliers(table, each)
    others = np.setdiff1d(np.arange(len(table)), far)
    others = others[coins.spawn("others").permutation(len(others))]
    usual, rest = others[:each], table.iloc[others[each:]]
    made = crafted(table, number - 2 * each, coins.spawn("crafted"))
    chosen = pd.concat([made, table.iloc[far], table.iloc[usual]], ignore_index=True)
    kinds = np.repeat(np.array(KINDS), [len(made), each, each])
    return chosen.astype(table.dtypes), kinds, rest.reset_index(drop=True)


def shadow_attack(
    table: pd.DataFrame,
    target: pd.DataFrame,
    factory: Factory,
    *,
    runs: int = 100,
    delta: float = 0.0,
    false_alarm: float = 0.05,
    seconds: float = float("inf"),
) -> AttackBounds | None:
    """Attack one target by shadow models: a third of the fits teaches, the others are attacked.

    What a fit shows is how many synthetic rows agree with the target on each of some sets of columns; a
    linear discriminant weighs them.

    Parameters
    ----------
    table : DataFrame
        Rows without the target.
    target : DataFrame
        One row.
    factory : callable
        Makes a fresh synthesizer.
    runs : int
        Fits with the target, and as many without.
    delta, false_alarm : float
        Of the bounds.
    seconds : float
        No further fit is begun after so long.

    Returns
    -------
    AttackBounds or None
        None if the time was too short for 30 fits on each side, of which 20 are attacked.
    """
    if len(target) != 1:
        raise ValueError(f"target ({len(target)} rows) must be one row")
    coder, until = TableCoder(table), time.monotonic() + seconds
    subsets = list(_subsets(len(table.columns), KeyedRNG.from_os_entropy()))
    with_target = pd.concat([table, target.astype(table.dtypes)], ignore_index=True)
    shown: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    for _ in range(runs):
        for seen, rows in zip(shown, (table, with_target), strict=True):
            seen.append(_agreement(coder, synthetic_rows(factory, rows, len(table)), target, subsets))
        if time.monotonic() > until:
            break
    absent, present = (np.array(seen) for seen in shown)
    taught = len(absent) // 3
    if len(absent) - taught < LEAST_RUNS:
        return None
    w = _discriminant(absent[:taught], present[:taught])
    return attack_bounds(present[taught:] @ w, absent[taught:] @ w, delta, false_alarm=false_alarm)


def _subsets(columns: int, coins: KeyedRNG) -> Iterator[np.ndarray]:
    """All single columns and pairs, then random sets, and the whole, as many as :data:`SUBSETS`."""
    sets = [np.array([j]) for j in range(columns)] + [np.arange(columns)]
    sets += [np.array([a, b]) for a in range(columns) for b in range(a + 1, columns)]
    while len(sets) < SUBSETS and columns > 3:
        size = 3 + int(coins.integers(columns - 3))
        sets.append(np.sort(coins.permutation(columns)[:size]))
    yield from sets[: max(SUBSETS, columns + 1)]


def _agreement(
    coder: TableCoder, synthetic: pd.DataFrame, target: pd.DataFrame, subsets: list[np.ndarray]
) -> FloatArray:
    equal = coder.bins(synthetic) == coder.bins(target)
    return np.array([np.log1p(equal[:, columns].all(axis=1).sum()) for columns in subsets])


def _discriminant(absent: FloatArray, present: FloatArray) -> FloatArray:
    """Fisher's direction with a ridge, from few runs."""
    spread = np.concatenate([absent - absent.mean(axis=0), present - present.mean(axis=0)])
    covariance = spread.T @ spread / max(len(spread) - 2, 1)
    ridge = RIDGE * max(float(np.trace(covariance)), 1e-9) * np.eye(len(covariance))
    found: FloatArray = np.linalg.solve(covariance + ridge, present.mean(axis=0) - absent.mean(axis=0))
    return found
