"""Checks of array arguments, shared by the coins and the noise functions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def integer_array(name: str, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return `values` as an int64 array, or raise TypeError or ValueError."""
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"{name} (dtype {array.dtype}) must be integers: round first, then convert with .astype('int64')")
    if array.size and array.dtype == np.uint64 and array.max() > np.uint64(2**63 - 1):
        raise ValueError(f"{name} ({array.max()}) must be below 2**63")
    return array.astype(np.int64)


def finite_array(name: str, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return `values` as a float64 array, or raise TypeError or ValueError if one is not a finite number."""
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iuf":
        raise TypeError(f"{name} (dtype {array.dtype}) must be numbers")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite: {np.count_nonzero(~np.isfinite(array))} values are NaN or infinite")
    return array
