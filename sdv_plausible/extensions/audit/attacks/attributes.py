"""Attribute inference: guessing one cell of a person from synthetic rows and the person's other cells.

Guesses about people in the table are compared with guesses about other people of the same population.
Knowledge of the population, which synthetic rows are meant to convey, helps with both. Only the difference is
a leak.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.extensions.audit.attacks.frames import TableCoder
from sdv_plausible.extensions.audit.membership import clopper_pearson

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
