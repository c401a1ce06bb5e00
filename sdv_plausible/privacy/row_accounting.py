"""What the rows of the randomised test cost under a declared row cap, and how many attempts that pays for."""

from __future__ import annotations

from dataclasses import dataclass

from sdv_plausible.privacy.ledger import LedgerEntry


@dataclass(frozen=True, kw_only=True)
class RowCharge:
    """Charge of all rows of one fit.

    Attributes
    ----------
    epsilon, delta : float
        Loss of ``row_cap`` released rows, the attempt budget's own cost included.
    row_cap : int
        Rows covered.
    attempts_per_row : float
        Attempts per row that the pass-rate floor pays for.
    """

    epsilon: float
    delta: float
    row_cap: int
    attempts_per_row: float


def charge_rows(*, row_cap, k, epsilon0, delta, pass_rate_floor, n_lower):
    raise NotImplementedError
