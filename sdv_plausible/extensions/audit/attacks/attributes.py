"""Attribute inference: what synthetic rows tell of one cell of a person whose other cells are known.

Guesses about people who were in the table are compared with guesses about people of the same population who
were not. What both have in common is knowledge of the population, which synthetic rows are made to give; only
the difference is a leak.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.extensions.audit.attacks.frames import TableCoder
from sdv_plausible.extensions.audit.membership import clopper_pearson

CLOSE = 0.02  # in shares of the other rows: a guessed number this near counts as right


@dataclass(frozen=True, kw_only=True)
class AttributeBound:
    """How often a secret cell is guessed right.

    Attributes
    ----------
    secret : str
        The column.
    members, others : float
        Share of right guesses about rows that were in the table, and about others.
    excess : float
        Lower bound on the difference of the two, above 0 only where there is a leak.
    false_alarm : float
        Probability that the bound is too high.
    number_of_members, number_of_others : int
        Rows that were guessed.
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
        Rows that were fitted.
    others : DataFrame
        Rows of the same population that were not.
    synthetic : DataFrame
        What was made.
    secret : str
        Column to guess.
    false_alarm : float
        In (0, 1).
    """
    if secret not in members.columns or len(members.columns) < 2:
        raise ValueError(f"secret ({secret!r}) must be one of at least two columns: {list(members.columns)}")
    known = [name for name in members.columns if name != secret]
    near, cells = TableCoder(others[known]), TableCoder(others[[secret]])
    at = near.ranks(synthetic[known])
    told = cells.ranks(synthetic[[secret]])[:, 0]
    right, number = [], []
    for rows in (members, others):
        _, which = near.nearest(near.ranks(rows[known]), at)
        truth, guess = cells.ranks(rows[[secret]])[:, 0], told[which]
        hit = np.abs(truth - guess) <= CLOSE if cells.is_number[0] else truth == guess
        right.append(int((hit | (np.isnan(truth) & np.isnan(guess))).sum()))
        number.append(len(rows))
    least, _ = clopper_pearson(right[0], number[0], false_alarm / 2)
    _, most = clopper_pearson(right[1], number[1], false_alarm / 2)
    return AttributeBound(
        secret=secret, members=right[0] / number[0], others=right[1] / number[1],
        excess=max(0.0, float(least) - float(most)), false_alarm=false_alarm,
        number_of_members=number[0], number_of_others=number[1],
    )  # fmt: skip


def worst_attribute(
    members: pd.DataFrame, others: pd.DataFrame, synthetic: pd.DataFrame, *, false_alarm: float = 0.05
) -> tuple[AttributeBound, ...]:
    """Every column as the secret, each with its part of the false alarm; the largest excess first."""
    names, each = members.columns, false_alarm / len(members.columns)
    found = [attribute_inference(members, others, synthetic, str(n), false_alarm=each) for n in names]
    return tuple(sorted(found, key=lambda bound: (-bound.excess, bound.others - bound.members)))
