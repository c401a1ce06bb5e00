"""Counting records of integer codes without a loop over rows.

Mixed-radix keys, contingency tables, entropy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import entr

Counts = npt.NDArray[np.int64]


def mixed_radix(digits: Iterable[npt.NDArray[np.integer]], bases: Sequence[int]) -> Counts:
    """Number each record's combination of digits, first digit most significant.

    Parameters
    ----------
    digits : iterable of ndarray of int, each of shape (n,)
        At least one; digit i lies in ``0 .. bases[i] - 1``.
    bases : sequence of int
        Number of values of each digit. Their product must be below 2^63.

    Returns
    -------
    ndarray of int64, shape (n,)
        Values in ``0 .. prod(bases) - 1``.
    """
    key: Counts | None = None
    for digit, base in zip(digits, bases, strict=True):
        if key is None:
            key = digit.astype(np.int64)
        else:
            key *= base
            key += digit
    assert key is not None
    return key


def joint_counts(digits: Iterable[npt.NDArray[np.integer]], bases: Sequence[int]) -> Counts:
    """Count the records of each combination of digits, densely.

    Parameters
    ----------
    digits, bases
        As in :func:`mixed_radix`.

    Returns
    -------
    ndarray of int64, shape ``bases``
    """
    return np.bincount(mixed_radix(digits, bases), minlength=math.prod(bases)).reshape(bases)


def entropy(counts: Counts) -> float:
    """Return the entropy, in bits, of the empirical distribution of counts of any shape.

    0 if there are none.
    """
    total = counts.sum()
    return float(entr(counts / total).sum() / math.log(2)) if total else 0.0
