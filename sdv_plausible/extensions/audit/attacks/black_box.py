"""Black-box attacks: the attacker sees synthetic rows and reference rows of the same population.

Two scores of a target work for any synthesizer: how much closer the synthetic rows come to it than reference
rows do, and how much denser they lie around it (in the manner of DOMIAS, van Breugel et al. 2023). The
shadow-model attack learns the effect of one target from fits with and without it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
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
from sdv_plausible.extensions.audit.membership import LEAST_RUNS, FloatArray, clopper_pearson
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG


class Synthesizer(Protocol):
    """An SDV synthesizer, or any object with these methods."""

    def fit(self, data: Any) -> Any:
        """Fit the rows."""
        ...

    def sample(self, num_rows: int) -> Any:
        """Sample rows."""
        ...


Factory = Callable[[], Synthesizer]


def synthetic_rows(factory: Factory, rows: pd.DataFrame, number: int) -> pd.DataFrame:
    """Fit a fresh synthesizer and sample rows with the columns of ``rows``."""
    synthesizer = factory()
    try:
        synthesizer.fit(rows)
    except Exception as error:  # SDV 2 raises this for all frames, before reading a row
        if type(error).__name__ != "InvalidDataTypeError":
            raise
        synthesizer = factory()
        synthesizer.fit({_table_name(synthesizer): rows})
    sampled = synthesizer.sample(number)
    if isinstance(sampled, Mapping):
        sampled = next(iter(sampled.values()))
    return pd.DataFrame(sampled)[list(rows.columns)].reset_index(drop=True)


def _table_name(synthesizer: Any) -> str:
    tables = getattr(getattr(synthesizer, "metadata", None), "tables", None)
    return str(next(iter(tables))) if tables else "table"


NEAR = 0.01  # smaller distances are about 0: a column's range is 1
WIDTH = 0.1  # kernel width: another category has weight exp(-10)
RIDGE = 1e-2
SUBSETS = 60  # column subsets on which rows that agree with the target are counted


@dataclass(frozen=True, kw_only=True)
class CanaryGame:
    """One fit with canaries, and the bounds of two attacks.

    Attributes
    ----------
    distance, density : OneRunBound
        Bounds by distance, and by density relative to reference rows.
    by_kind : dict
        AUC of both attacks for each kind of canary.
    synthetic : DataFrame
        The attacked rows.
    """

    distance: OneRunBound
    density: OneRunBound
    by_kind: dict[str, dict[str, float]]
    synthetic: pd.DataFrame


def distance_score(
    coder: TableCoder, targets: pd.DataFrame, synthetic: pd.DataFrame, reference: pd.DataFrame
) -> FloatArray:
    """Return the log ratio of the distances to the closest reference row and the closest synthetic row."""
    target_ranks = coder.ranks(targets)
    reference_distance, _ = coder.nearest(target_ranks, coder.ranks(reference))
    synthetic_distance, _ = coder.nearest(target_ranks, coder.ranks(synthetic))
    return np.log((reference_distance + NEAR) / (synthetic_distance + NEAR))


def density_score(
    coder: TableCoder, targets: pd.DataFrame, synthetic: pd.DataFrame, reference: pd.DataFrame
) -> FloatArray:
    """Return the log ratio of the synthetic and the reference density at each target."""
    target_ranks = coder.ranks(targets)
    synthetic_density = coder.log_density(target_ranks, coder.ranks(synthetic), WIDTH)
    return synthetic_density - coder.log_density(target_ranks, coder.ranks(reference), WIDTH)


def canary_game(
    table: pd.DataFrame,
    factory: Factory,
    *,
    canaries: int = 300,
    delta: float = 0.0,
    false_alarm: float = 0.05,
    sample_rows: int | None = None,
) -> CanaryGame:
    """Fit once with canaries (crafted, outliers and random rows, a third each) and attack them.

    Half of the other rows are fitted; the other half is the attacker's reference.

    Parameters
    ----------
    table : DataFrame
        Rows of the population, at least four times the number of canaries.
    factory : callable
        Returns a fresh synthesizer.
    canaries : int
        Number of canaries, at least 6.
    delta : float
        Delta of the tested claim; 0 for a synthesizer without a claim.
    false_alarm : float
        Probability that a bound exceeds the true value, for each attack.
    sample_rows : int, optional
        Number of synthetic rows; by default the number of fitted rows without canaries.

    Returns
    -------
    CanaryGame
        The bounds of both attacks.

    Raises
    ------
    ValueError
        If there are too few canaries or rows.
    """
    if canaries < 2 * len(KINDS) or len(table) < 4 * canaries:
        raise ValueError(
            f"canaries ({canaries}) must be at least {2 * len(KINDS)} and at most a quarter of the rows "
            f"({len(table)})"
        )
    rng = KeyedRNG.from_os_entropy()
    targets, kinds, others = choose_canaries(table, canaries, rng)
    was_in = rng.spawn("in").uniform(len(targets)) < 0.5
    fitted, reference = others.iloc[: len(others) // 2], others.iloc[len(others) // 2 :]
    rows = pd.concat([fitted, targets[was_in]], ignore_index=True)
    rows = rows.iloc[rng.spawn("order").permutation(len(rows))].reset_index(drop=True)
    synthetic = synthetic_rows(factory, rows, sample_rows or len(fitted))
    coder = TableCoder(reference)
    scores = {
        "distance": distance_score(coder, targets, synthetic, reference),
        "density": density_score(coder, targets, synthetic, reference),
    }
    bounds = {n: one_run_bound(s, was_in, delta, false_alarm=false_alarm) for n, s in scores.items()}
    by_kind = {
        k: {n: one_run_bound(s[kinds == k], was_in[kinds == k], delta).auc for n, s in scores.items()}
        for k in KINDS
    }
    return CanaryGame(**bounds, by_kind=by_kind, synthetic=synthetic)


def choose_canaries(
    table: pd.DataFrame, number: int, rng: KeyedRNG
) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame]:
    """Return the canaries (a third of each kind), their kinds, and the other rows in random order."""
    per_kind = number // len(KINDS)
    outlier_rows = outliers(table, per_kind)
    others = np.setdiff1d(np.arange(len(table)), outlier_rows)
    others = others[rng.spawn("others").permutation(len(others))]
    random_positions, rest = others[:per_kind], table.iloc[others[per_kind:]]
    crafted_rows = crafted(table, number - 2 * per_kind, rng.spawn("crafted"))
    chosen = pd.concat(
        [crafted_rows, table.iloc[outlier_rows], table.iloc[random_positions]], ignore_index=True
    )
    kinds = np.repeat(np.array(KINDS), [len(crafted_rows), per_kind, per_kind])
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
    """Attack one target with shadow models: a third of the fits trains, the others are attacked.

    The features of a fit are the numbers of synthetic rows that agree with the target on some subsets of
    columns. A linear discriminant weighs them.

    Parameters
    ----------
    table : DataFrame
        Rows without the target.
    target : DataFrame
        One row.
    factory : callable
        Returns a fresh synthesizer.
    runs : int
        Number of fits with the target, and without it.
    delta, false_alarm : float
        Delta of the claim, and error probability of each bound.
    seconds : float
        No further fit starts after this time.

    Returns
    -------
    AttackBounds or None
        None if the time was too short for 30 fits on each side, 20 of which are attacked.
    """
    if len(target) != 1:
        raise ValueError(f"target ({len(target)} rows) must be one row")
    coder, deadline = TableCoder(table), time.monotonic() + seconds
    subsets = list(_subsets(len(table.columns), KeyedRNG.from_os_entropy()))
    with_target = pd.concat([table, target.astype(table.dtypes)], ignore_index=True)
    features: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    for _ in range(runs):
        for side_features, rows in zip(features, (table, with_target), strict=True):
            side_features.append(
                _agreement(coder, synthetic_rows(factory, rows, len(table)), target, subsets)
            )
        if time.monotonic() > deadline:
            break
    absent, present = (np.array(side_features) for side_features in features)
    num_train = len(absent) // 3
    if len(absent) - num_train < LEAST_RUNS:
        return None
    weights = _discriminant(absent[:num_train], present[:num_train])
    return attack_bounds(
        present[num_train:] @ weights, absent[num_train:] @ weights, delta, false_alarm=false_alarm
    )


def _subsets(columns: int, rng: KeyedRNG) -> Iterator[np.ndarray]:
    """Yield single columns, all columns, pairs and random subsets, about :data:`SUBSETS` in total."""
    sets = [np.array([j]) for j in range(columns)] + [np.arange(columns)]
    sets += [np.array([a, b]) for a in range(columns) for b in range(a + 1, columns)]
    while len(sets) < SUBSETS and columns > 3:
        size = 3 + int(rng.integers(columns - 3))
        sets.append(np.sort(rng.permutation(columns)[:size]))
    yield from sets[: max(SUBSETS, columns + 1)]


def _agreement(
    coder: TableCoder, synthetic: pd.DataFrame, target: pd.DataFrame, subsets: list[np.ndarray]
) -> FloatArray:
    equal = coder.bins(synthetic) == coder.bins(target)
    return np.array([np.log1p(equal[:, columns].all(axis=1).sum()) for columns in subsets])


def _discriminant(absent: FloatArray, present: FloatArray) -> FloatArray:
    """Return Fisher's discriminant with a ridge, for few runs."""
    centred = np.concatenate([absent - absent.mean(axis=0), present - present.mean(axis=0)])
    covariance = centred.T @ centred / max(len(centred) - 2, 1)
    ridge = RIDGE * max(float(np.trace(covariance)), 1e-9) * np.eye(len(covariance))
    direction: FloatArray = np.linalg.solve(covariance + ridge, present.mean(axis=0) - absent.mean(axis=0))
    return direction


CLOSE = 0.02  # in rank shares: a numerical guess this close counts as right


@dataclass(frozen=True, kw_only=True)
class AttributeBound:
    """How often a secret cell is guessed right.

    Attributes
    ----------
    secret : str
        The guessed column.
    members, others : float
        Share of right guesses for rows in the table, and for other rows.
    excess : float
        Lower bound on the difference; positive only if there is a leak.
    false_alarm : float
        Probability that the bound is too high.
    number_of_members, number_of_others : int
        Numbers of guessed rows.
    """

    secret: str
    members: float
    others: float
    excess: float
    false_alarm: float
    number_of_members: int
    number_of_others: int

    def __str__(self) -> str:
        return (
            f"{self.secret}: {self.members:.1%} right for people in the table, {self.others:.1%} for others; "
            f"at least {self.excess:.1%} more (false with probability at most {self.false_alarm:g})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes."""
        return asdict(self)


def attribute_inference(
    members: pd.DataFrame,
    others: pd.DataFrame,
    synthetic: pd.DataFrame,
    secret: str,
    *,
    false_alarm: float = 0.05,
) -> AttributeBound:
    """Guess a cell as that of the synthetic row that is nearest in all other columns.

    Parameters
    ----------
    members : DataFrame
        Fitted rows.
    others : DataFrame
        Rows of the same population that were not fitted.
    synthetic : DataFrame
        Synthetic rows.
    secret : str
        Column to guess.
    false_alarm : float
        Error probability of the bound, in (0, 1).

    Returns
    -------
    AttributeBound
        Shares of right guesses and the bound.

    Raises
    ------
    ValueError
        If `secret` is not a column, or is the only one.
    """
    if secret not in members.columns or len(members.columns) < 2:
        raise ValueError(f"secret ({secret!r}) must be one of at least two columns: {list(members.columns)}")
    other_columns = [name for name in members.columns if name != secret]
    known_coder, secret_coder = TableCoder(others[other_columns]), TableCoder(others[[secret]])
    synthetic_ranks = known_coder.ranks(synthetic[other_columns])
    synthetic_secrets = secret_coder.ranks(synthetic[[secret]])[:, 0]
    num_right, num_guesses = [], []
    for rows in (members, others):
        _, nearest = known_coder.nearest(known_coder.ranks(rows[other_columns]), synthetic_ranks)
        truth, guess = secret_coder.ranks(rows[[secret]])[:, 0], synthetic_secrets[nearest]
        hit = np.abs(truth - guess) <= CLOSE if secret_coder.is_number[0] else truth == guess
        num_right.append(int((hit | (np.isnan(truth) & np.isnan(guess))).sum()))
        num_guesses.append(len(rows))
    lower, _ = clopper_pearson(num_right[0], num_guesses[0], false_alarm / 2)
    _, upper = clopper_pearson(num_right[1], num_guesses[1], false_alarm / 2)
    return AttributeBound(
        secret=secret, members=num_right[0] / num_guesses[0], others=num_right[1] / num_guesses[1],
        excess=max(0.0, float(lower) - float(upper)), false_alarm=false_alarm,
        number_of_members=num_guesses[0], number_of_others=num_guesses[1],
    )  # fmt: skip


def worst_attribute(
    members: pd.DataFrame, others: pd.DataFrame, synthetic: pd.DataFrame, *, false_alarm: float = 0.05
) -> tuple[AttributeBound, ...]:
    """Try every column as the secret, splitting the false alarm; largest excess first."""
    names, alarm = members.columns, false_alarm / len(members.columns)
    bounds = [attribute_inference(members, others, synthetic, str(n), false_alarm=alarm) for n in names]
    return tuple(sorted(bounds, key=lambda bound: (-bound.excess, bound.others - bound.members)))
