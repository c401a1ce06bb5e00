"""Which two tables count as neighbours: the unit that a guarantee protects."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sdv_plausible.privacy import checks as check


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """The neighbour relation of a guarantee.

    Parameters
    ----------
    rows : int
        Rows that one unit (a person) has at most, >= 1.
    replace : bool
        False: one unit is added or removed. True: one unit's rows are replaced by others, as many as they were.
    """

    rows: int = 1
    replace: bool = False

    def __post_init__(self) -> None:
        check.whole("rows", self.rows, 1, "it bounds the rows of one person")

    @property
    def histogram_l1(self) -> int:
        """L1 distance of two neighbours' tables of counts in which every row is in one cell, at most."""
        return self.rows * (2 if self.replace else 1)

    @property
    def histogram_l2(self) -> float:
        """L2 distance of the same, at most: all rows of a unit may be in one cell, and leave it for another one."""
        return self.rows * (math.sqrt(2) if self.replace else 1.0)


ONE_ROW = Neighbours()
