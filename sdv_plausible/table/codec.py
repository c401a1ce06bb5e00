"""Codec between a DataFrame and integer codes, one column per attribute; missing is a code of its own."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.table.cells.canonical_forms import canonical, distinct_values, is_storable
from sdv_plausible.table.cells.cell_series import as_doubles
from sdv_plausible.table.cells.dates import as_nanoseconds, local_to_utc, utc_to_local, write_dates
from sdv_plausible.table.cells.number_texts import read_numbers
from sdv_plausible.table.columns.domain import Attribute, Domain

# Position of numbers among sorted numbers, by a table of equal cells instead of a binary search.


CELLS = 1 << 14  # largest number of cells of the table
MOST_STEPS = 3  # largest number of starts in one cell; with more, a search is as fast
FEWEST = 1 << 10  # smallest number of queries for which the table pays off
LOOKED_UP_AT_ONCE = 1 << 13  # queries per block, so that they stay in the cache


class StepLookup:
    """Sorted numbers, each the start of a step.

    The cell of a query and of a start are the same rounded expression, which is monotone. Starts in lower
    cells are at most the query, starts in higher cells are above it, and only starts in the same cell are
    compared. The result equals that of a binary search exactly.
    """

    def __init__(self, starts: npt.NDArray[Any]) -> None:
        # ``starts``: (k,) increasing, finite.
        self._starts = starts
        self._steps = MOST_STEPS + 1
        span = float(starts[-1]) - float(starts[0]) if len(starts) > 1 else 0.0
        if not 0 < span < np.inf:
            return
        self._cells = int(min(CELLS, 4 * 2 ** np.ceil(np.log2(len(starts)))))
        self._scale = self._cells / span
        if not np.isfinite(self._scale):
            return
        cells = self._cell(starts, np.empty(len(starts))).astype(np.intp)
        self._steps = int(np.bincount(cells).max())
        self._below = np.searchsorted(cells, np.arange(self._cells))  # number of starts in lower cells
        last = np.inf if starts.dtype.kind == "f" else np.iinfo(starts.dtype).max
        self._next = np.append(starts, np.full(1, last, dtype=starts.dtype))

    def places(
        self, numbers: npt.NDArray[Any]
    ) -> Iterator[tuple[slice, npt.NDArray[Any], npt.NDArray[np.intp]]]:
        """Yield the last start at or below each number; the first start for smaller numbers and NaN.

        Works in blocks. Yields the slice, the numbers in the dtype of the starts, and their positions. The
        buffers are reused for the next block, because allocators return large short-lived memory to the
        system.
        """
        is_searched = self._steps > MOST_STEPS or len(numbers) < FEWEST
        size = min(len(numbers), LOOKED_UP_AT_ONCE)
        doubles, (cells, places) = np.empty(size), np.empty((2, size), dtype=np.intp)
        converted, starts = np.empty((2, size), dtype=self._starts.dtype)
        for start in range(0, len(numbers), LOOKED_UP_AT_ONCE):
            rows = slice(start, start + LOOKED_UP_AT_ONCE)
            block = converted[: len(numbers[rows])]
            block[:] = numbers[rows]
            positions, cell, next_starts = (buffer[: len(block)] for buffer in (places, cells, starts))
            if is_searched:
                positions[:] = np.searchsorted(self._starts, block, side="right")
                positions[block != block] = 1  # noqa: PLR0124  NaN
            else:
                cell[:] = self._cell(block, doubles[: len(block)])
                self._below.take(cell, out=positions, mode="clip")
                for _ in range(self._steps):
                    positions += block >= self._next.take(positions, out=next_starts, mode="clip")
            positions -= 1
            yield rows, block, np.clip(positions, 0, len(self._starts) - 1, out=positions)

    def _cell(self, numbers: npt.NDArray[Any], out: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        with np.errstate(over="ignore"):
            np.subtract(numbers, float(self._starts[0]), out=out)
            out *= self._scale
        return np.fmin(np.fmax(out, 0.0, out=out), self._cells - 1.0, out=out)


AT_ONCE = 1 << 13  # rows per block: 8 bytes each fit in the CPU cache
_OUTSIDE, _MISSING = -1, -2  # temporary codes: outside the domain, and missing


class Codec:
    """Encode a table as codes and decode it.

    Parameters
    ----------
    domain : Domain
        The columns and their codes.

    Notes
    -----
    Each row is encoded by itself, so encoding never weakens a guarantee.

    - A number outside the range gets the nearest bin.
    - A category outside the declared values becomes missing. So does a cell that is no number or date.
    - If missing is not in the domain, a missing cell gets a random code instead, each equally likely.
    - Where categories were learned, one too rare to be learned does not become missing. Its cell gets a
      learned category, drawn in proportion to the noisy counts. So does a cell that must not be missing.
    """

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self._columns = [ColumnCodec(attribute) for attribute in domain]

    def encode(self, table: pd.DataFrame, rng: KeyedRNG) -> np.ndarray:
        """Encode a table: int32 codes of shape (n, m), column-contiguous."""
        return self.fill(self.known(table), rng)

    def known(self, table: pd.DataFrame, dtype: npt.DTypeLike = np.int32) -> np.ndarray:
        """Encode without random draws: a cell that needs one gets -1. :meth:`fill` then draws its code."""
        codes = np.empty((len(table), len(self.domain)), dtype=dtype, order="F")
        for j, column in enumerate(self._columns):
            column.encode_into(codes[:, j], table[column.attribute.name])
        return codes

    def fill(self, codes: np.ndarray, rng: KeyedRNG) -> np.ndarray:
        """Replace negative codes by random ones, in place."""
        for j, attribute in enumerate(self.domain):
            if codes[:, j].min(initial=0) < 0:
                outside = np.flatnonzero(codes[:, j] < 0)
                codes[outside, j] = _drawn(attribute, len(outside), rng)
        return codes

    def decode(self, codes: np.ndarray, rng: KeyedRNG) -> pd.DataFrame:
        """Decode to a table of n rows.

        Values inside a bin are drawn uniformly, or rounded by the attribute's shares.
        """
        columns = {
            column.attribute.name: column.decode(codes[:, j], rng) for j, column in enumerate(self._columns)
        }
        return pd.DataFrame(columns, copy=False)  # one block per column; consolidated on output

    def encode_value(self, name: str, value: Hashable) -> int:
        """Code of one value; a number outside the range is clipped to the nearest bin.

        Raises
        ------
        ValueError
            If a category, or a missing value, is not in the column's domain.
        """
        attribute = self.domain[name]
        code = int(ColumnCodec(attribute).encode(pd.Series([value], dtype=object))[0])
        if code < 0 or (code == attribute.missing_code and not pd.isna(value)):  # type: ignore[call-overload]
            known = "missing value" if pd.isna(value) else "such value"  # type: ignore[call-overload]
            raise ValueError(f"column {name!r} has no {known} in its domain; condition on a known value")
        return code

    def check_value(self, name: str, value: Hashable, *, is_written: bool = True) -> None:
        """Raise ValueError unless rows can have exactly this value: it lies in the domain and its range.

        With ``is_written``, it must also have the form that the column's output has.
        """
        self.encode_value(name, value)
        attribute = self.domain[name]
        if not attribute.lower or value in attribute.texts or pd.isna(value):  # type: ignore[call-overload]
            return
        number = ColumnCodec(attribute).numbers(pd.Series([value], dtype=object))[0]
        if not attribute.lower[0] <= number <= attribute.upper[-1]:
            ends = [attribute.lower[0], attribute.upper[-1]]
            if attribute.kind == "datetime":
                ends = [pd.Timestamp(e) for e in ends]
            raise ValueError(f"column {name!r}: a given value must lie between {ends[0]} and {ends[1]}")
        if is_written and (rule := _required_form(attribute, value, number)) is not None:
            raise ValueError(f"column {name!r}: a given value ({value!s:.60}) must be {rule}")

    def encode_values(self, name: str, values: pd.Series[Any]) -> np.ndarray:
        """Codes of many values; raises the error of :meth:`encode_value` for any of them."""
        attribute = self.domain[name]
        codes = ColumnCodec(attribute).encode(values)
        odd = (codes < 0) | ((codes == attribute.missing_code) & values.notna().to_numpy())
        for value in values[odd].drop_duplicates():
            self.encode_value(name, value)
        return codes

    def check_values(self, name: str, values: pd.Series[Any]) -> np.ndarray:
        """Codes of many values; raises the error of :meth:`check_value` for any of them."""
        attribute, present = self.domain[name], values.notna().to_numpy()
        codes, odd, numbers = ColumnCodec(attribute).placed(values)
        if numbers is not None:
            plain = values.dtype.kind in "iuf" if isinstance(values.dtype, np.dtype) else False
            exact = plain and (attribute.kind == "integer" or attribute.decimals is not None)
            digits = 0 if attribute.kind == "integer" else attribute.decimals or 0
            if exact and not attribute.number_format:
                odd |= (np.round(numbers, digits) != numbers) & present
            else:
                odd |= present
        for value in values[odd].drop_duplicates():
            self.check_value(name, value)
        return codes


def _required_form(attribute: Attribute, value: Hashable, number: float) -> str | None:
    """Description of the form that a value in the range must have in the output; None if it has it."""
    if attribute.kind in ("integer", "float") and isinstance(value, str) and not attribute.number_format:
        return "a number"
    if attribute.kind == "integer" and number != np.floor(number):
        place = int(np.searchsorted(attribute.lower, number, side="right")) - 1
        below, above = (
            min(int(np.floor(number)), int(attribute.upper[place])),
            int(np.ceil(number)) if number <= attribute.upper[place] else int(attribute.lower[place + 1]),
        )
        return f"a whole number: the nearest are {below} and {above}"
    if attribute.kind != "datetime" or isinstance(value, str):
        return None
    if attribute.datetime_format is not None:
        moment = pd.Series([number]).astype("M8[ns]").dt.tz_localize("UTC")
        return f"a text: the nearest is {write_dates(moment, attribute.datetime_format).iloc[0]!r}"
    if attribute.time_zone is not None and getattr(value, "tzinfo", None) is None:
        return f"a date with the time zone of the column ({attribute.time_zone})"
    return None


def _drawn(attribute: Attribute, num_cells: int, rng: KeyedRNG) -> np.ndarray:
    """Random codes for cells outside the domain: uniform, or in proportion to the learned counts."""
    cumulative = np.cumsum(attribute.counts[:-1] if attribute.counts else [0], dtype=np.int64)
    if not cumulative[-1]:
        return rng.integers(attribute.cardinality, num_cells)
    return np.searchsorted(cumulative, rng.integers(int(cumulative[-1]), num_cells), side="right")


class ColumnCodec:
    """Codec of one column, with precomputed arrays."""

    def __init__(self, attribute: Attribute) -> None:
        self.attribute = attribute
        number = np.float64 if attribute.kind == "float" else np.int64
        self._lower = np.asarray(attribute.lower, dtype=number)
        self._upper = np.asarray(attribute.upper, dtype=number)
        self._is_wide = self._lower < self._upper
        self._values = np.empty(len(attribute.values) + 1, dtype=object)
        self._values[:-1] = list(attribute.values)
        self._values[-1] = np.nan
        first = len(attribute.lower)  # texts of a numeric column follow its bins
        self._code_of = {canonical(value): first + i for i, value in enumerate(attribute.values)}

    @cached_property
    def _steps(self) -> StepLookup:
        """Bin starts; only encoding needs them."""
        return StepLookup(self._lower if self.attribute.kind == "datetime" else self._lower.astype(float))

    def numbers(self, column: pd.Series[Any]) -> np.ndarray:
        """Floats, or int64 nanoseconds; missing and unreadable cells are NaN or the smallest int64."""
        if self.attribute.kind == "datetime":
            alone = self.attribute.provenance != "inferred" or bool(self.attribute.texts)
            return as_nanoseconds(column, self.attribute.datetime_format, row_by_row=alone)
        if self.attribute.number_format is not None and column.dtype.kind not in "biufc":
            cells = read_numbers(column.astype(object), self.attribute.number_format)
            column = pd.Series(cells, index=column.index, dtype=object)
        # Always as floats: a single missing value decides whether a column holds int64 or floats.
        return as_doubles(column)

    def encode(self, column: pd.Series[Any]) -> np.ndarray:
        """Code of each value; -1 outside the domain if the attribute has no missing code."""
        codes = np.empty(len(column), dtype=np.int32)
        self.encode_into(codes, column)
        return codes

    def placed(self, column: pd.Series[Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Codes of cells, a mask of cells outside the attribute, and the numbers of a column with bins."""
        attribute, codes, present = self.attribute, self.encode(column), column.notna().to_numpy()
        outside, numbers = (codes < 0) | ((codes == attribute.missing_code) & present), None
        if attribute.lower:
            numbers = self.numbers(column)
            with np.errstate(invalid="ignore"):
                out_of_range = ((numbers < attribute.lower[0]) | (numbers > attribute.upper[-1])) & present
            outside |= out_of_range & (codes < len(attribute.lower))  # texts have no range
        return codes, np.asarray(outside), numbers

    def encode_into(self, out: np.ndarray, column: pd.Series[Any]) -> None:
        """Encode into a given array: the code of each cell, or -1 as in :meth:`encode`."""
        # Block by block, so that intermediate arrays stay in the CPU cache.
        # Large temporary arrays are slow with allocators that return memory at once, as under Dask.
        attribute = self.attribute
        missing_code = _OUTSIDE if attribute.missing_code is None else attribute.missing_code
        if attribute.kind in ("categorical", "ordinal"):
            where, codes = self._encode_values(column)
            codes[codes == _MISSING if attribute.counts else codes < 0] = missing_code
            codes = codes.astype(out.dtype)
            for start in range(0, len(column), AT_ONCE):
                rows = slice(start, start + AT_ONCE)
                codes.take(where[rows], out=out[rows], mode="wrap")
            return
        out[:] = missing_code
        if len(self._lower):
            plain = isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf"
            numbers = column.to_numpy() if plain and attribute.kind != "datetime" else self.numbers(column)
            for rows, block, bins in self._steps.places(numbers):
                present = ~np.isnan(block) if block.dtype.kind == "f" else block != np.iinfo(np.int64).min
                np.copyto(out[rows], bins, where=present, casting="unsafe")
        if attribute.texts and column.dtype.kind not in "biufcM":
            where, codes = self._encode_values(column)
            texts = codes.take(where, mode="wrap")
            np.copyto(out, texts, where=texts >= 0, casting="unsafe")

    def _encode_values(self, column: pd.Series[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Index of each cell among the distinct values, and their codes; negative codes are no category.

        Only distinct values are looked up, not every row. Missing cells have index -1, which selects the last
        code.
        """
        dtype = column.dtype
        if is_categorical := isinstance(dtype, pd.CategoricalDtype):
            categories = pd.Categorical.from_codes(range(len(dtype.categories)), dtype=dtype)
            column, cells = pd.Series(categories), column.array.codes
        where, forms = distinct_values(column)
        codes = [self._code_of.get(form, _OUTSIDE if is_storable(form) else _MISSING) for form in forms]
        code_of_value = np.array([*codes, _MISSING], dtype=np.int32)
        return (cells, code_of_value[np.append(where, -1)]) if is_categorical else (where, code_of_value)

    def decode(self, codes: np.ndarray, rng: KeyedRNG) -> np.ndarray | pd.Series[Any]:
        """Values of codes; inside a bin they are drawn uniformly, or rounded as the domain says."""
        # The result holds objects where a numeric column has texts.
        attribute = self.attribute
        if attribute.kind in ("categorical", "ordinal"):
            return self._values[codes]  # the missing code is the last one, which holds NaN
        if attribute.texts:
            return self._decode_mixed(codes, rng)
        return self._decode_numbers(codes, rng)

    def _decode_mixed(self, codes: np.ndarray, rng: KeyedRNG) -> np.ndarray:
        values, bins = np.empty(len(codes), dtype=object), len(self._lower)
        is_number = codes < bins
        values[~is_number] = self._values[codes[~is_number] - bins]
        # Python numbers: integers stay integers.
        values[is_number] = self._decode_numbers(codes[is_number], rng)
        return values

    def _decode_numbers(self, codes: np.ndarray, rng: KeyedRNG) -> np.ndarray | pd.Series[Any]:
        attribute = self.attribute
        if not len(self._lower):
            return np.full(len(codes), np.nan)
        missing = codes == attribute.missing_code if attribute.nullable else np.zeros(len(codes), dtype=bool)
        bins = np.minimum(codes, len(self._lower) - 1)
        numbers = self._lower.take(bins)
        if self._is_wide.any() and len(wide := np.flatnonzero(self._is_wide.take(bins))):
            draw = self._draw if attribute.rounding is None else self._draw_rounded
            draw = draw if attribute.time_zone is None else self._draw_in_local_time
            numbers[wide] = draw(numbers[wide], self._upper.take(bins[wide]), rng)
        if attribute.kind == "datetime":
            return self._write_dates(np.where(missing, np.iinfo(np.int64).min, numbers))
        if attribute.kind == "float" and attribute.decimals is not None:
            numbers = np.round(numbers, attribute.decimals)
        return np.where(missing, np.nan, numbers) if missing.any() else numbers

    def _write_dates(self, nanoseconds: np.ndarray) -> pd.Series[Any]:
        stamps = pd.Series(nanoseconds.view("M8[ns]"))
        if self.attribute.datetime_format is not None:  # text: format each distinct date once
            distinct, where = np.unique(nanoseconds, return_inverse=True)
            moments = pd.Series(distinct.view("M8[ns]")).dt.tz_localize("UTC")  # %z is written as +0000
            text = write_dates(moments, self.attribute.datetime_format)
            return pd.Series(text.to_numpy(dtype=object)[where]).mask(stamps.isna(), None)
        if self.attribute.time_zone is not None:
            return stamps.dt.tz_localize("UTC").dt.tz_convert(self.attribute.time_zone)
        return stamps

    def _draw(self, low: np.ndarray, high: np.ndarray, rng: KeyedRNG) -> np.ndarray:
        """Draw uniformly inside the closed bins; whole units for integers and dates."""
        u = rng.uniform(len(low))
        if self.attribute.kind == "float":
            return low + u * (high - low)
        first, unit = low.view(np.uint64), np.uint64(self.attribute.unit)  # a bin may be wider than 2**63
        steps = (high.view(np.uint64) - first) // unit
        steps_drawn = np.minimum((u * (steps + np.uint64(1))).astype(np.uint64), steps)
        return (first + steps_drawn * unit).view(np.int64)

    def _draw_in_local_time(self, low: np.ndarray, high: np.ndarray, rng: KeyedRNG) -> np.ndarray:
        """Draw dates in local time, so that midnights stay midnights."""
        first, last = (utc_to_local(ends, self.attribute.time_zone) for ends in (low, high))
        drawn = self._draw(first, np.maximum(first, last), rng)
        return np.clip(local_to_utc(drawn, self.attribute.time_zone), low, high)

    def _draw_rounded(self, low: np.ndarray, high: np.ndarray, rng: KeyedRNG) -> np.ndarray:
        """Draw values rounded by the attribute's shares: integers, or in the last digit."""
        rounding = self.attribute.rounding
        assert rounding is not None
        uniforms = (rng.uniform(len(low)), rng.uniform(len(low)))
        if self.attribute.kind == "integer":
            return rounding.draw(low, high, *uniforms)
        scale = 10.0 ** (self.attribute.decimals or 0)
        first, last = (np.rint(end * scale).astype(np.int64) for end in (low, high))
        return np.clip(rounding.draw(first, last, *uniforms) / scale, low, high)
