"""Attributes: the finite set of codes of one column, and its provenance."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.table.cells.canonical_forms import NOT_A_VALUE, canonical
from sdv_plausible.table.cells.cell_documents import write_value
from sdv_plausible.table.cells.cell_series import is_number
from sdv_plausible.table.cells.dates import check_style
from sdv_plausible.table.cells.number_texts import check_number_format
from sdv_plausible.table.cells.rounding import LARGEST_STEP, Rounding
from sdv_plausible.table.columns.column_document import (
    ATTRIBUTE,
    MAX_DECIMALS,
    OPTIONAL_ENTRIES,
    SHARED,
    Kind,
    Provenance,
    attribute_form,
)
from sdv_plausible.utils.json_schema import JsonSchemaError, parse_with_schema

MAX_COUNT = 2**40  # largest count of a value: the sum of all counts stays below 2**63


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """One column's finite domain.

    Parameters
    ----------
    name : str
        Column name.
    kind : {"categorical", "ordinal", "integer", "float", "datetime"}
        Meaning of the codes. Booleans are categorical with two values.
    values : tuple
        Categorical and ordinal: the value of each code, in code order. Integer, float and datetime: texts
        that occur next to the numbers or dates, such as ``"N"``. Their codes follow those of the bins.
    lower, upper : tuple of number
        Integer, float, datetime (nanoseconds since 1970 UTC): closed bin ends, increasing. A bin with equal
        ends is a single value.
    nullable : bool
        Whether missing is a value. It is then the last code, and missingness is modelled like any other
        value.
    decimals : int or None
        Float: digits after the point in the output, 0 to 15. None keeps all digits.
    unit : int
        Datetime: granularity of the output in nanoseconds.
    time_zone, datetime_format : str or None
        Datetime: time zone of the output; strftime format if the output is text.
    rounding : Rounding or None
        Rounding of values inside a bin: for integers, and for floats with fixed decimals (in the last digit).
        None draws values uniformly.
    buckets : tuple of int or None
        The paper's ``bkt()`` (Eq. 7): bucket of every code when the attribute is a parent. None lets the
        model decide.
    groups : tuple of int or None
        Categorical: group of every value. Values of a group are similar. Values too rare to be learned alone
        are learned as a group.
    counts : tuple of int or None
        Categorical and ordinal, for learned values: noisy number of rows with each value, and last the number
        of rows with any other value. Cells with another value get one of these, drawn in proportion to the
        counts.
    number_format : str or None
        Integer and float: number format of text output, such as ``"$1,234.5"``.
    provenance : {"declared", "private", "inferred", "edited"}
        Source of the domain.

    Raises
    ------
    ValueError
        If the parameters contradict each other.
    """

    name: str
    kind: Kind
    values: tuple[Hashable, ...] = ()
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    nullable: bool = False
    decimals: int | None = None
    unit: int = 1
    time_zone: str | None = None
    datetime_format: str | None = None
    rounding: Rounding | None = None
    buckets: tuple[int, ...] | None = None
    groups: tuple[int, ...] | None = None
    counts: tuple[int, ...] | None = None
    number_format: str | None = None
    provenance: Provenance = "declared"

    def __post_init__(self) -> None:
        self._check_types()
        if self.kind not in get_args(Kind):
            raise ValueError(f"column {self.name!r}: kind ({self.kind!r}) must be one of {get_args(Kind)}")
        if self.provenance not in get_args(Provenance):
            raise ValueError(
                f"column {self.name!r}: provenance ({self.provenance!r}) must be one of "
                f"{get_args(Provenance)}"
            )
        if self.cardinality == 0:
            raise ValueError(
                f"column {self.name!r}: the domain is empty; give values, a range, or nullable=True"
            )
        self._check_values()
        self._check_parts()
        self._check_bins()
        self._check_rounding()
        if self.buckets is not None and not (
            isinstance(self.buckets, tuple)
            and len(self.buckets) == self.cardinality
            and all(_in_range(bucket, 0, 2**63 - 1) for bucket in self.buckets)
        ):
            raise ValueError(
                f"column {self.name!r}: buckets ({self.buckets!r}) must name one bucket, a whole number from "
                f"0 on, for each of the {self.cardinality} codes"
            )
        self._check_groups()
        self._check_counts()

    @classmethod
    def unknown(cls, name: str, provenance: Provenance = "declared") -> Attribute:
        """Attribute of a column of which only the name is known: all cells share one code."""
        return cls(name=name, kind="categorical", nullable=True, provenance=provenance)

    def _check_groups(self) -> None:
        if self.groups is None:
            return
        if self.kind != "categorical" or self.buckets is not None:
            raise ValueError(
                f"column {self.name!r}: groups are for categories without an order and without "
                "buckets: leave groups out"
            )
        if not (
            isinstance(self.groups, tuple)
            and len(self.groups) == len(self.values)
            and all(_in_range(group, 0, 2**63 - 1) for group in self.groups)
        ):
            raise ValueError(
                f"column {self.name!r}: groups ({self.groups!r}) must name one group, a whole number from 0 "
                f"on, for each of the {len(self.values)} values"
            )

    def _check_counts(self) -> None:
        if self.counts is None:
            return
        if not (
            self.values
            and not self.lower
            and isinstance(self.counts, tuple)
            and len(self.counts) == len(self.values) + 1
            and all(_in_range(count, 0, MAX_COUNT) for count in self.counts)
        ):
            raise ValueError(
                f"column {self.name!r}: counts ({self.counts!r}) must be whole numbers from 0 to 2**40, one "
                f"for each of the {len(self.values)} categories and one for all others: leave counts out"
            )

    def _check_types(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise Refused("name", self.name, "must be a text, and not empty: it is that of a column")
        if not isinstance(self.nullable, (bool, np.bool_)):
            raise ValueError(f"column {self.name!r}: nullable ({self.nullable!r}) must be true or false")
        for name in ("values", "lower", "upper"):
            entries = getattr(self, name)
            if not isinstance(entries, tuple) or not all(isinstance(entry, Hashable) for entry in entries):
                raise ValueError(
                    f"column {self.name!r}: {name} ({entries!r}) must be a tuple of single values"
                )
        for name in ("time_zone", "datetime_format"):
            text = getattr(self, name)
            if text is not None and (not isinstance(text, str) or self.kind != "datetime"):
                raise ValueError(
                    f"column {self.name!r}: {name} ({text!r}) must be text, and the column's kind datetime"
                )
        check_number_format(self.name, self.number_format, self.kind)
        if self.decimals is not None and not _in_range(self.decimals, 0, MAX_DECIMALS):
            raise ValueError(
                f"column {self.name!r}: decimals ({self.decimals!r}) must be a whole number from 0 to "
                f"{MAX_DECIMALS}, or None"
            )
        if not _in_range(self.unit, 1, 2**63 - 1):
            raise ValueError(
                f"column {self.name!r}: unit ({self.unit!r}) must be a whole number of nanoseconds >= 1"
            )

    def _check_values(self) -> None:
        if len(set(self.values)) != len(self.values):
            raise ValueError(f"column {self.name!r}: values must be distinct")
        if odd := [type(value).__name__ for value in self.values if canonical(value) is NOT_A_VALUE]:
            raise ValueError(
                f"column {self.name!r}: a value of type {odd[0]} can be in no cell: declare numbers, text, "
                "truth values or dates"
            )
        if len({canonical(value) for value in self.values}) != len(self.values):
            raise ValueError(
                f"column {self.name!r}: some values are the same as doubles, and pandas turns whole numbers "
                "into doubles once one is missing: declare numbers beyond 2**53 as text"
            )

    def _check_rounding(self) -> None:
        if self.rounding is None:
            return
        scale = 10.0 ** (self.decimals or 0)
        fixed = self.kind == "integer" or (self.kind == "float" and self.decimals is not None)
        if not (
            isinstance(self.rounding, Rounding)
            and fixed
            and all(abs(end) * scale < LARGEST_STEP for end in (*self.lower, *self.upper))
        ):
            raise ValueError(
                f"column {self.name!r}: rounding is for whole numbers and floats of fixed decimals, whose "
                "points are below 2**62"
            )

    def _check_parts(self) -> None:
        if self.kind in ("categorical", "ordinal"):
            wrong = bool(self.lower or self.upper)
        else:
            is_date = self.kind == "datetime"
            texts = [v for v in self.values if isinstance(v, str) and (is_date or not is_number(v))]
            wrong = len(texts) < len(self.values) or (
                is_date and bool(texts) and self.datetime_format is None
            )
        if wrong:
            raise ValueError(
                f"column {self.name!r}: categories have values; numbers and dates have bins (lower, upper), "
                "and beside numbers values may be texts that write no number, beside dates with a "
                "datetime_format any texts"
            )

    def _check_bins(self) -> None:
        try:
            same_length = len(self.lower) == len(self.upper)
            ends = (*self.lower, *self.upper)
            finite = same_length and all(math.isfinite(v) and not isinstance(v, bool) for v in ends)
            whole = finite and all(v == int(v) and abs(v) < 2**63 for v in ends)
        except (TypeError, OverflowError):
            finite = False
        if not finite:
            raise ValueError(
                f"column {self.name!r}: lower and upper must be finite numbers, as many of one as of the "
                "other"
            )
        if self.kind in ("integer", "datetime") and not whole:
            raise ValueError(
                f"column {self.name!r}: lower and upper must be whole numbers of 64 bits for kind "
                f"{self.kind!r}"
            )
        # Python compares whole numbers exactly; nanoseconds exceed a float's precision. Adjacent float bins
        # may touch.
        starts, touching = self.lower[1:], self.kind == "float"
        gaps = all(
            low > high or (touching and low == high) for high, low in zip(self.upper, starts, strict=False)
        )
        increasing = all(a < b for a, b in zip(self.lower, starts, strict=False))
        if (
            not gaps
            or not increasing
            or any(low > high for low, high in zip(self.lower, self.upper, strict=True))
        ):
            sentence = f"column {self.name!r}: bins must be increasing and not overlap, with lower <= upper"
            raise Refused.saying("bins", sentence)

    @property
    def cardinality(self) -> int:
        """Number of codes, including the missing one."""
        return len(self.values) + len(self.lower) + self.nullable

    @property
    def num_ordered(self) -> int:
        """Number of leading codes whose neighbours are similar values.

        These are the bins, or the values of an ordinal attribute.
        """
        return len(self.values) if self.kind == "ordinal" else len(self.lower)

    @property
    def places(self) -> np.ndarray:
        """Bin midpoints, or ranks of ordinal values: the positions of the ordered codes."""
        if self.kind == "ordinal":
            return np.arange(len(self.values), dtype=float)
        return np.array(self.lower, dtype=float) / 2 + np.array(self.upper, dtype=float) / 2

    @property
    def unlearned_share(self) -> float:
        """Share of non-missing rows whose value was not learned; 0 if values were declared."""
        return self.counts[-1] / max(1, sum(self.counts)) if self.counts else 0.0

    @property
    def texts(self) -> tuple[str, ...]:
        """Values that are texts next to numbers or dates; empty for categories."""
        return () if self.kind in ("categorical", "ordinal") else tuple(map(str, self.values))

    @property
    def is_ordered(self) -> bool:
        """Whether adjacent codes are similar values."""
        return self.kind != "categorical"

    @property
    def missing_code(self) -> int | None:
        """Code of a missing value, or None if missing is not in the domain."""
        return self.cardinality - 1 if self.nullable else None


def write_attribute(attribute: Attribute) -> dict[str, Any]:
    """JSON form of an attribute, with its entries in document order."""
    number = float if attribute.kind == "float" else int
    try:
        values = [write_value(value) for value in attribute.values]
    except ValueError as error:
        raise ValueError(f"column {attribute.name!r}: {error}") from None
    rounding = attribute.rounding
    entries = {name: getattr(attribute, name) for name in ATTRIBUTE} | {
        "values": values,
        "lower": [number(end) for end in attribute.lower],
        "upper": [number(end) for end in attribute.upper],
        "nullable": bool(attribute.nullable),
        "rounding": None if rounding is None else rounding.to_dict(),
    }
    arrays = [name for name in ("buckets", "groups", "counts") if entries[name] is not None]
    entries |= {name: list(map(int, entries[name])) for name in arrays}
    return {
        name: entry for name, entry in entries.items() if entry is not None or name not in OPTIONAL_ENTRIES
    }


def read_attribute(entry: Any, required: Collection[str] = ("name", "kind")) -> Attribute:
    """Read an attribute from its JSON form."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
        raise ValueError(
            f"not a domain document: an entry of 'attributes' ({entry!r}) must be a mapping with a 'name'"
        )
    try:
        fields = parse_with_schema(attribute_form(*required), dict(entry), SHARED)
        if fields["kind"] == "datetime":
            check_style(fields["name"], fields.get("time_zone"), fields.get("datetime_format"))
        number = float if fields["kind"] == "float" else lambda end: int(end) if end == int(end) else end
        parts: dict[str, Any] = {
            name: tuple(inner) if isinstance(inner, list) else inner for name, inner in fields.items()
        }
        parts |= {side: tuple(map(number, fields[side])) for side in ("lower", "upper") if side in fields}
        if fields.get("rounding") is not None:
            parts["rounding"] = Rounding.from_dict(fields["rounding"])
        return Attribute(**parts)
    except (JsonSchemaError, OverflowError) as error:
        raise ValueError(f"column {entry['name']!r}: {error}") from None


def _in_range(value: Any, low: int, high: int) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(low <= value <= high)
