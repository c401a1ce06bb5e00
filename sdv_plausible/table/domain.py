"""Attributes and domains: the finite set of codes each column may take, and where that knowledge came from.

A differentially private release needs a domain that does not depend on the rows. Every :class:`Attribute` therefore
carries its ``provenance``: ``"declared"`` by the user, ``"private"`` (learned under a budget, see
:mod:`sdv_plausible.table.private_domain`) or ``"inferred"`` from the data. One inferred attribute ends the privacy claim.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from sdv_plausible.whole_files import write_whole

Kind = Literal["categorical", "ordinal", "integer", "float", "datetime"]
Provenance = Literal["declared", "private", "inferred"]

SCHEMA = "sdv-plausible-domain/1"
MAX_BINS = 100
NANOSECONDS = {"D": 86_400_000_000_000, "h": 3_600_000_000_000, "min": 60_000_000_000, "s": 1_000_000_000, "ns": 1}


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """One column's finite domain.

    Parameters
    ----------
    name : str
        Column name.
    kind : {"categorical", "ordinal", "integer", "float", "datetime"}
        What the codes stand for. Booleans are categorical with two values.
    values : tuple
        Categorical and ordinal: the value of each code, in code order.
    lower, upper : tuple of number
        Integer, float, datetime (nanoseconds since 1970 UTC): closed bin ends, increasing. A bin whose ends are
        equal is a single value.
    nullable : bool
        Whether missing is a value. If so it is the last code, so that missingness is modelled like any value.
    decimals : int or None
        Float: digits after the point of the output; None leaves all digits.
    unit : int
        Datetime: granularity of the output in nanoseconds.
    time_zone, datetime_format : str or None
        Datetime: time zone of the output; strftime format if the output is text.
    buckets : tuple of int or None
        The paper's ``bkt()`` (Eq. 7): bucket of every code when the attribute is a parent. None lets the model decide.
    provenance : {"declared", "private", "inferred"}
        Where the domain came from.

    Raises
    ------
    ValueError
        If the parts contradict each other.
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
    buckets: tuple[int, ...] | None = None
    provenance: Provenance = "declared"

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"column {self.name!r}: kind ({self.kind!r}) must be one of {get_args(Kind)}")
        if self.provenance not in get_args(Provenance):
            raise ValueError(f"column {self.name!r}: provenance ({self.provenance!r}) must be one of {get_args(Provenance)}")
        if self.cardinality == 0:
            raise ValueError(f"column {self.name!r}: the domain is empty; give values, a range, or nullable=True")
        if len(set(self.values)) != len(self.values):
            raise ValueError(f"column {self.name!r}: values must be distinct")
        if (self.lower or self.upper) if self.kind in ("categorical", "ordinal") else self.values:
            raise ValueError(f"column {self.name!r}: categories have values; numbers and dates have bins (lower, upper)")
        if self.unit < 1:
            raise ValueError(f"column {self.name!r}: unit ({self.unit}) must be a whole number of nanoseconds >= 1")
        self._check_bins()
        if self.buckets is not None and len(self.buckets) != self.cardinality:
            raise ValueError(
                f"column {self.name!r}: buckets ({len(self.buckets)} entries) must name one bucket for each of the "
                f"{self.cardinality} codes"
            )

    def _check_bins(self) -> None:
        try:
            same_length = len(self.lower) == len(self.upper)
            finite = same_length and all(math.isfinite(v) for v in (*self.lower, *self.upper))
        except TypeError:
            finite = False
        if not finite:
            raise ValueError(f"column {self.name!r}: lower and upper must be finite numbers, as many of one as of the other")
        # Python compares whole numbers exactly; dates in nanoseconds outgrow a float. Neighbouring float bins may touch.
        starts, touching = self.lower[1:], self.kind == "float"
        gaps = all(low > high or (touching and low == high) for high, low in zip(self.upper, starts, strict=False))
        increasing = all(a < b for a, b in zip(self.lower, starts, strict=False))
        if not gaps or not increasing or any(low > high for low, high in zip(self.lower, self.upper, strict=True)):
            raise ValueError(f"column {self.name!r}: bins must be increasing and not overlap, with lower <= upper")

    @property
    def cardinality(self) -> int:
        """Number of codes, the missing one included."""
        return len(self.values) + len(self.lower) + self.nullable

    @property
    def is_ordered(self) -> bool:
        """Whether neighbouring codes are similar values."""
        return self.kind != "categorical"

    @property
    def missing_code(self) -> int | None:
        """Code of a missing value, or None where missing is not in the domain."""
        return self.cardinality - 1 if self.nullable else None


@dataclass(frozen=True)
class Domain:
    """The attributes of a table, in column order."""

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        if len({a.name for a in self.attributes}) != len(self.attributes):
            raise ValueError("a domain's column names must be distinct")

    def __len__(self) -> int:
        return len(self.attributes)

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __getitem__(self, name: str) -> Attribute:
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return any(a.name == name for a in self.attributes)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names."""
        return tuple(a.name for a in self.attributes)

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """Number of codes of each attribute."""
        return tuple(a.cardinality for a in self.attributes)

    @property
    def inferred(self) -> tuple[str, ...]:
        """Names of the attributes whose domain was read from the rows without a budget."""
        return tuple(a.name for a in self.attributes if a.provenance == "inferred")

    def to_dict(self) -> dict[str, Any]:
        """Plain form for JSON; ``Domain.from_dict`` reads it back."""
        return {"schema": SCHEMA, "attributes": [asdict(a) for a in self.attributes]}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Domain:
        """Read what :meth:`to_dict` wrote.

        Raises
        ------
        ValueError
            If the document is not a domain of this schema.
        """
        if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
            raise ValueError(f"not a domain document: its 'schema' must be {SCHEMA!r}; write one with Domain.save")
        try:
            return cls(tuple(_attribute_from_dict(entry) for entry in document["attributes"]))
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"not a domain document: {error}") from error

    def save(self, path: str | Path) -> None:
        """Write the domain as JSON, whole or not at all.

        Raises
        ------
        TypeError
            If a category value has no JSON form (only str, int, float, bool have).
        """
        write_whole(path, json.dumps(self.to_dict(), indent=1))

    @classmethod
    def load(cls, path: str | Path) -> Domain:
        """Read a domain that :meth:`save` wrote; what was inferred from rows stays so, unless you vouch: :meth:`declared`."""
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{str(path)!r} is not a domain file: {error}") from error
        return cls.from_dict(document)

    @classmethod
    def from_declarations(
        cls, declarations: Mapping[str, Any], sdtypes: Mapping[str, str] | None = None, max_bins: int = MAX_BINS
    ) -> Domain:
        """Build a domain from what the ``domain`` argument of the synthesizer takes: a declaration for each column.

        Parameters
        ----------
        declarations : mapping
            Column name -> declaration in the words of SDV's metadata (see :func:`declared_attribute`), or an Attribute.
        sdtypes : mapping, optional
            Column name -> sdtype, of columns whose declaration has none. Where neither says it, ``range_values`` make a
            categorical column, numbers a numerical one, and a ``datetime_format`` or dates a datetime one.
        max_bins : int
            A wider range is cut into this many equal bins.

        Raises
        ------
        ValueError
            If a declaration cannot be read, fixes no values, or does not tell its sdtype.

        Examples
        --------
        >>> domain = Domain.from_declarations({"age": {"range_min": 0, "range_max": 9}}, max_bins=5)
        >>> domain["age"].lower
        (0, 2, 4, 6, 8)
        """
        if not _is_integral(max_bins) or max_bins < 1:
            raise ValueError(f"max_bins ({max_bins!r}) must be a whole number >= 1; try {MAX_BINS}")
        known = sdtypes or {}
        return cls(tuple(declare(name, spec, known.get(name), max_bins) for name, spec in declarations.items()))

    def without_rounding(self) -> Domain:
        """Return the same domain with all digits in the output."""
        return Domain(tuple(replace(a, decimals=None) for a in self.attributes))

    def declared(self) -> Domain:
        """Return the same domain, vouched for by the caller as independent of the rows."""
        return Domain(tuple(replace(a, provenance="declared") for a in self.attributes))


def unhashable_types(column: pd.Series[Any]) -> list[str]:
    """Names of the types of cells that cannot be values, because they cannot be compared: lists, dicts."""
    kinds = set(map(type, column)) if column.dtype == object else set()
    return sorted(kind.__name__ for kind in kinds if kind.__hash__ is None)


def _attribute_from_dict(entry: Mapping[str, Any]) -> Attribute:
    sequences = ("values", "lower", "upper", "buckets")
    fields: dict[str, Any] = {k: tuple(v) if k in sequences and v is not None else v for k, v in entry.items()}
    return Attribute(**fields)


def declared_attribute(name: str, spec: Mapping[str, Any], max_bins: int = MAX_BINS) -> Attribute | None:
    """Build an attribute from what a user declared, in the words of SDV's metadata.

    Parameters
    ----------
    name : str
        Column name.
    spec : mapping
        ``sdtype`` and, as needed, ``range_min``, ``range_max``, ``range_values``, ``range_is_nullable`` (default
        True), ``decimal_places``, ``datetime_format``; also ``buckets``.
    max_bins : int
        A wider range is cut into this many equal bins.

    Returns
    -------
    Attribute or None
        None if the declaration does not fix a domain (no range and no values).

    Raises
    ------
    ValueError
        If the range cannot be read, is infinite or reversed, or the values are not a list of distinct values.
    """
    sdtype = spec.get("sdtype")
    common: dict[str, Any] = {"name": name, "nullable": bool(spec.get("range_is_nullable", True))}
    if spec.get("buckets") is not None:
        common["buckets"] = tuple(spec["buckets"])
    if sdtype in ("categorical", "ordinal", "boolean"):
        values = spec.get("range_values")
        if isinstance(values, (str, bytes)):
            raise ValueError(f"column {name!r}: range_values ({values!r}) must be a list of values, not one text")
        if values is None or not len(values):
            values = (False, True) if sdtype == "boolean" else None
        if values is None:
            return None
        kind = "ordinal" if sdtype == "ordinal" else "categorical"
        return Attribute(kind=kind, values=tuple(v for v in values if not pd.isna(v)), **common)  # type: ignore[arg-type]
    low, high = spec.get("range_min"), spec.get("range_max")
    if low is None or high is None:
        return None
    if sdtype == "datetime":
        form = spec.get("datetime_format")
        unit = _format_unit(form)
        start, end = _declared_dates(name, low, high, form)
        lower, upper = equal_bins(start // unit, end // unit, max_bins)
        lower, upper = (tuple(v * unit for v in ends) for ends in (lower, upper))
        return Attribute(kind="datetime", lower=lower, upper=upper, unit=unit, datetime_format=form, **common)
    if sdtype != "numerical":
        return None
    _check_declared_range(name, low, high)
    decimals = spec.get("decimal_places")
    if decimals == 0 or (decimals is None and _is_integral(low) and _is_integral(high)):
        lower, upper = equal_bins(math.ceil(low), math.floor(high), max_bins)
        return Attribute(kind="integer", lower=lower, upper=upper, **common)
    edges = np.linspace(float(low), float(high), max_bins + 1) if high > low else np.array([low, high], dtype=float)
    return Attribute(
        kind="float", lower=tuple(edges[:-1].tolist()), upper=tuple(edges[1:].tolist()), decimals=decimals, **common
    )


def declare(name: str, spec: Any, sdtype: str | None, max_bins: int) -> Attribute:
    """Build an attribute from a declaration; ``sdtype`` stands in where the declaration has none of its own.

    Raises
    ------
    ValueError
        If the declaration cannot be read, fixes no values, or does not tell its sdtype.
    """
    if isinstance(spec, Attribute):
        return spec
    if not isinstance(spec, Mapping):
        raise ValueError(f"domain of column {name!r} ({spec!r}) must be a mapping such as {{'range_min': 0, 'range_max': 99}}")
    sdtype = spec.get("sdtype") or sdtype or _sdtype_told_by(spec)
    if sdtype is None:
        raise ValueError(
            f"domain of column {name!r} ({dict(spec)!r}) does not tell its sdtype: give range_values, a datetime_format, "
            "range_min and range_max as numbers, or the sdtype itself"
        )
    attribute = declared_attribute(name, {**spec, "sdtype": sdtype}, max_bins)
    if attribute is None:
        raise ValueError(
            f"domain of column {name!r} ({dict(spec)!r}) fixes no values for sdtype {sdtype!r}: give range_min and range_max "
            "for numbers and dates, range_values for categories"
        )
    return attribute


def _sdtype_told_by(spec: Mapping[str, Any]) -> str | None:
    """The sdtype that a declaration's words tell, if they do."""
    if spec.get("range_values") is not None:
        return "categorical"
    ends = (spec.get("range_min"), spec.get("range_max"))
    if spec.get("datetime_format") is not None or all(isinstance(v, (dt.date, np.datetime64)) for v in ends):
        return "datetime"
    return "numerical" if all(isinstance(v, (int, float, np.integer, np.floating)) for v in ends) else None


def _check_declared_range(name: str, low: Any, high: Any) -> None:
    numbers = (int, float, np.integer, np.floating)
    ok = all(isinstance(v, numbers) and not isinstance(v, bool) and math.isfinite(v) for v in (low, high))
    if not ok or low > high:
        raise ValueError(
            f"column {name!r}: range_min ({low!r}) and range_max ({high!r}) must be finite numbers, range_min <= range_max"
        )


def _declared_dates(name: str, low: Any, high: Any, form: str | None) -> tuple[int, int]:
    """Ends of a declared range in nanoseconds since 1970 UTC."""
    try:
        start, end = (int(pd.to_datetime(v, format=form).as_unit("ns").value) for v in (low, high))
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"column {name!r}: range_min ({low!r}) and range_max ({high!r}) must be dates of the years 1678 to 2262 in the "
            f"datetime_format ({form!r})"
        ) from error
    if start > end:
        raise ValueError(f"column {name!r}: range_min ({low!r}) must not be after range_max ({high!r})")
    return start, end


def infer_attribute(
    name: str, column: pd.Series[Any], sdtype: str, spec: Mapping[str, Any] | None = None, max_bins: int = MAX_BINS
) -> Attribute:
    """Read a domain off the rows. Convenient, and not private: its provenance is ``"inferred"``.

    Parameters
    ----------
    name : str
        Column name.
    column : pandas.Series
        The column's values.
    sdtype : {"categorical", "ordinal", "boolean", "numerical", "datetime"}
        SDV's semantic type.
    spec : mapping, optional
        The column's SDV metadata (``range_values`` gives an ordinal column's order, ``datetime_format``).
    max_bins : int
        Number of bins aimed at for a number or date; up to twice as many where frequent values stand between rare ones.

    Raises
    ------
    ValueError
        If numbers or dates cannot be read, or are infinite.
    """
    spec = spec or {}
    nullable = bool(column.isna().any())
    if sdtype == "numerical":
        numbers = _as_numbers(name, column.dropna())
        decimals = None if numbers.dtype.kind == "i" else _decimals(numbers)
        kind: Kind = "integer" if numbers.dtype.kind == "i" else "float"
        lower, upper = _distinct_as_floats(*quantile_bins(numbers, max_bins))
        return Attribute(
            name=name, kind=kind, lower=lower, upper=upper, nullable=nullable or not lower,
            decimals=decimals, provenance="inferred",
        )  # fmt: skip
    if sdtype == "datetime":
        stamps = as_nanoseconds(column, spec.get("datetime_format"))
        present = stamps[~np.isnat(stamps.view("M8[ns]"))]
        unit = next((u for u in NANOSECONDS.values() if not (present % u).any()), 1)
        lower, upper = quantile_bins(present, max_bins)
        return Attribute(
            name=name, kind="datetime", lower=lower, upper=upper, nullable=nullable or not lower,
            unit=unit, provenance="inferred", **date_style(column, spec.get("datetime_format")),
        )  # fmt: skip
    values = _ordered_values(column, spec.get("range_values") if sdtype == "ordinal" else None)
    kind = "ordinal" if sdtype == "ordinal" else "categorical"
    return Attribute(name=name, kind=kind, values=values, nullable=nullable or not values, provenance="inferred")


def date_style(column: pd.Series[Any], datetime_format: str | None) -> dict[str, Any]:
    """How a column's dates are written: its dtype's time zone, or the text format where it holds text."""
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        return {"time_zone": str(column.dtype.tz)}
    return {"datetime_format": None if pd.api.types.is_datetime64_dtype(column.dtype) else datetime_format}


def equal_bins(low: int, high: int, max_bins: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Cut the integers low..high into at most ``max_bins`` runs of nearly equal length (closed ends)."""
    if high < low:
        raise ValueError(f"range_max ({high}) must not be below range_min ({low})")
    count = min(max_bins, high - low + 1)
    starts = [low + (high - low + 1) * i // count for i in range(count)]
    return tuple(starts), tuple([s - 1 for s in starts[1:]] + [high])


def quantile_bins(numbers: np.ndarray, max_bins: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Bins of about equal mass; a value that alone holds a bin's mass is a bin of its own.

    Isolating such values (the zeros of a capital gain, a "-1 means never") keeps them exact in the output.
    """
    values, counts = np.unique(numbers, return_counts=True)
    if len(values) <= max_bins:
        return tuple(values.tolist()), tuple(values.tolist())
    share = counts.sum() / max_bins
    heavy = counts >= share
    # Bin number: light values share a bin by cumulative light mass; every heavy value opens a bin and closes it.
    light_bins = max(1, max_bins - int(heavy.sum()))
    light_mass = np.cumsum(np.where(heavy, 0, counts))
    part = np.minimum((light_mass - 1) * light_bins // max(1, light_mass[-1]), light_bins - 1)
    run = np.cumsum(heavy + np.concatenate([[False], heavy[:-1]]))
    new_bin = np.concatenate([[True], (np.diff(part) != 0) | (np.diff(run) != 0)])
    starts = np.flatnonzero(new_bin)
    ends = np.append(starts[1:], len(values)) - 1
    return tuple(values[starts].tolist()), tuple(values[ends].tolist())


def as_nanoseconds(column: pd.Series[Any], datetime_format: str | None = None, *, row_by_row: bool = False) -> np.ndarray:
    """Nanoseconds since 1970 UTC as int64; missing is the smallest int64 (numpy's NaT).

    ``row_by_row`` reads every row as if it were alone: text without a format must be ISO 8601 (pandas would guess a format
    from the first row and read all others by it), and what cannot be read is missing.
    """
    if not isinstance(column.dtype, pd.DatetimeTZDtype) and not pd.api.types.is_datetime64_dtype(column.dtype):
        try:
            if row_by_row:
                column = pd.to_datetime(column, format=datetime_format or "ISO8601", utc=True, errors="coerce")
            else:
                column = pd.to_datetime(column, format=datetime_format, utc=True)
        except (ValueError, TypeError) as error:
            raise ValueError(f"column {str(column.name)!r} has dates that cannot be read: {error}") from error
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    try:
        if row_by_row:
            column = column.where((column >= pd.Timestamp.min) & (column <= pd.Timestamp.max))
        return column.astype("M8[ns]").to_numpy().view("i8")
    except pd.errors.OutOfBoundsDatetime as error:
        raise ValueError(
            f"column {str(column.name)!r} has dates outside the years 1678 to 2262; use missing for 'never'"
        ) from error


def _distinct_as_floats(lower: tuple[float, ...], upper: tuple[float, ...]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Merge bins of whole numbers beyond 2**53 that start at the same float: the codec reads all numbers as floats."""
    first = [i for i, low in enumerate(lower) if i == 0 or float(low) > float(lower[i - 1])]
    last = [i - 1 for i in (*first[1:], len(lower))] if first else []
    return tuple(lower[i] for i in first), tuple(upper[i] for i in last)


def _as_numbers(name: str, present: pd.Series[Any]) -> np.ndarray:
    """Return int64 where every value is a whole number that fits, else float64."""
    if pd.api.types.is_integer_dtype(present.dtype) and len(present) and int(present.max()) <= np.iinfo(np.int64).max:
        return present.to_numpy(dtype=np.int64)
    try:
        numbers = pd.to_numeric(present).to_numpy(dtype=float)
    except (ValueError, TypeError) as error:
        raise ValueError(f"column {name!r} is numerical in the metadata but holds other values: {error}") from error
    if not np.isfinite(numbers).all():
        raise ValueError(f"column {name!r} holds infinite numbers; replace them by a bound or a missing value")
    if (numbers == np.rint(numbers)).all() and (np.abs(numbers) < 2**53).all():
        return numbers.astype(np.int64)
    return numbers


def _decimals(numbers: np.ndarray) -> int | None:
    """Fewest digits after the point that show every number exactly, up to 14; else None."""
    for digits in range(15):
        if (np.round(numbers, digits) == numbers).all():
            return digits
    return None


def _ordered_values(column: pd.Series[Any], order: Sequence[Hashable] | None) -> tuple[Hashable, ...]:
    present = [v.item() if isinstance(v, np.generic) else v for v in column.dropna().unique()]
    if order is not None:
        rank = {v: i for i, v in enumerate(order)}
        return tuple(sorted(present, key=lambda v: rank.get(v, len(rank))))
    try:
        return tuple(sorted(present))
    except TypeError:  # values of several types: any fixed order will do
        return tuple(sorted(present, key=lambda v: (type(v).__name__, str(v))))


def _is_integral(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _format_unit(form: str | None) -> int:
    """Granularity that a strftime format can show, in nanoseconds."""
    if form is None:
        return 1
    if "%f" in form:
        return 1000  # microseconds
    for directive, unit in (
        ("%S", "s"),
        ("%T", "s"),
        ("%c", "s"),
        ("%X", "s"),
        ("%M", "min"),
        ("%H", "h"),
        ("%I", "h"),
    ):
        if directive in form:
            return NANOSECONDS[unit]
    return NANOSECONDS["D"]
