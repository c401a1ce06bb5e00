"""Domains: the attributes of a table, and their JSON document.

A differentially private release needs a domain that does not depend on the rows. Every :class:`Attribute`
therefore carries its ``provenance``: ``"declared"`` by the user, ``"private"`` (learned under a budget, see
:mod:`sdv_plausible.table.learned.private_domain`), ``"inferred"`` from the data, or ``"edited"``: declared,
but changed after a comparison with the rows. One inferred or edited attribute ends the privacy claim.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pandas as pd

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.table.cells.canonical_forms import NOT_A_VALUE, canonical
from sdv_plausible.table.cells.cell_documents import write_value
from sdv_plausible.table.cells.cell_series import is_number
from sdv_plausible.table.cells.dates import check_style
from sdv_plausible.table.cells.number_texts import LARGEST_STEP, check_number_format
from sdv_plausible.table.columns.column_document import (
    ATTRIBUTE,
    MAX_DECIMALS,
    MOST_BINS,
    OPTIONAL_ENTRIES,
    SHARED,
    Kind,
    Provenance,
    attribute_form,
)
from sdv_plausible.utils.atomic_files import write_atomically
from sdv_plausible.utils.file_paths import read_regular_file
from sdv_plausible.utils.json_schema import JsonSchemaError, Schema, parse_with_schema, strict_json

if TYPE_CHECKING:
    from sdv_plausible.table.cells.rounding import Rounding

_MOST_VALUES = 4
_WORDS = {
    "declared": "declared",
    "private": "learned within the budget",
    "inferred": "derived from the rows: no guarantee",
    "edited": "edited after looking at the rows: no guarantee",
}
TABLE_HEADER = ("column", "may hold", "from")


def description_title(domain: Collection[Any]) -> str:
    """Return the heading."""
    return f"Domain of {len(domain)} column{'' if len(domain) == 1 else 's'}"


def description_lines(domain: Collection[Any]) -> tuple[tuple[str, str, str], ...]:
    """Return name, values and provenance of each column as text."""
    return tuple((attribute.name, _describe(attribute), _WORDS[attribute.provenance]) for attribute in domain)


def _describe(attribute: Any) -> str:
    parts = []
    if len(attribute.lower):
        ends = (attribute.lower[0], attribute.upper[-1])
        low, high = (_format_end(attribute, end) for end in ends)
        bins = len(attribute.lower)
        parts.append(f"{low} to {high} in {bins} bin{'' if bins == 1 else 's'}")
    if attribute.values:
        examples = [str(value) for value in attribute.values[:_MOST_VALUES]]
        more = len(attribute.values) - len(examples)
        parts.append(", ".join(examples) + (f" and {more} more" if more else ""))
    if attribute.nullable:
        parts.append("missing")
    return "; ".join(parts)


def _format_end(attribute: Any, end: float) -> str:
    if attribute.kind == "datetime":
        stamp = pd.Timestamp(int(end))
        return str(stamp.date()) if stamp == stamp.normalize() else str(stamp.floor("s"))
    return f"{end:g}" if abs(end) < 1e6 else f"{end:,.0f}"


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
            raise Refused("name", self.name, "must be a non-empty text")
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
                f"column {self.name!r}: a value of type {odd[0]} cannot occur in a cell: declare numbers, "
                "text, truth values or dates"
            )
        if len({canonical(value) for value in self.values}) != len(self.values):
            raise ValueError(
                f"column {self.name!r}: some values are equal as doubles, and pandas converts whole numbers "
                "to doubles if a cell is missing. Declare numbers beyond 2**53 as text"
            )

    def _check_rounding(self) -> None:
        if self.rounding is None:
            return
        from sdv_plausible.table.cells.rounding import Rounding

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
            raise ValueError(f"column {self.name!r}: lower and upper must be finite numbers of equal count")
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
    def is_wide(self) -> bool:
        """Whether some equal bin has more than one value, so that learning bins is worthwhile."""
        bins = zip(self.lower, self.upper, strict=True)
        if self.kind == "float":
            return any(low < high for low, high in bins)
        return any(high - low >= self.unit for low, high in bins)

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
            from sdv_plausible.table.cells.rounding import Rounding

            parts["rounding"] = Rounding.from_dict(fields["rounding"])
        return Attribute(**parts)
    except (JsonSchemaError, OverflowError) as error:
        raise ValueError(f"column {entry['name']!r}: {error}") from None


def _in_range(value: Any, low: int, high: int) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(low <= value <= high)


__all__ = [
    "MAX_BINS",
    "MOST_BINS",
    "SCHEMA",
    "Attribute",
    "Domain",
    "read_access_log",
    "read_attribute",
    "write_access_log",
    "write_attribute",
]  # fmt: skip

SCHEMA = "sdv-plausible-domain/1"
MAX_BINS = 100
_DIGEST_LENGTH = 64
_POSSIBLE: Schema = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "columns": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
            "possible": {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}},
        },
        "required": ["columns", "possible"],
        "additionalProperties": False,
    },
}


@dataclass(frozen=True)
class Domain:
    """The attributes of a table, in column order.

    Parameters
    ----------
    attributes : tuple of Attribute
        One per column.
    possible : mapping, optional
        Structural zeros: maps pairs of column indices (i, j), i < j, to a boolean array of shape (cardinality
        of i, cardinality of j), True where a pair of codes can occur. Declared, never learned from rows. All
        other pairs of columns are unrestricted.
    learned : mapping, optional
        Privacy cost of the privately learned attributes, as in a domain file. It is charged again wherever
        the domain is used. To remove columns, use ``dataclasses.replace(domain, attributes=...)``, which
        keeps it.
    looked, looked_rules : mapping, tuple of str; optional
        Digests of the columns and rules that were compared with rows, as in a domain file. Columns edited
        after that have no privacy claim.
    """

    attributes: tuple[Attribute, ...]
    possible: Mapping[tuple[int, int], np.ndarray] = field(default_factory=dict, compare=False, repr=False)
    learned: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    looked: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    looked_rules: tuple[str, ...] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if len({a.name for a in self.attributes}) != len(self.attributes):
            raise ValueError("a domain's column names must be distinct")

    def __str__(self) -> str:
        from sdv_plausible.utils import html_templates

        return html_templates.text(description_title(self), description_lines(self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from sdv_plausible.utils import html_templates

        head, rows = TABLE_HEADER, description_lines(self)
        return html_templates.fragment(description_title(self), head=head, rows=rows)

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
        """Names of the attributes whose domain was inferred from the rows without a budget."""
        return tuple(a.name for a in self.attributes if a.provenance == "inferred")

    def to_dict(self) -> dict[str, Any]:
        """JSON form; ``Domain.from_dict`` reads it back."""
        return {
            "schema": SCHEMA,
            "attributes": [write_attribute(a) for a in self.attributes],
            **({} if not self.possible else {"possible": self._possible()}),
            **({} if self.learned is None else {"learned": dict(self.learned)}),
            **write_access_log(self),
        }

    def _possible(self) -> list[dict[str, Any]]:
        """Structural zeros in their JSON form, by column names."""
        return [
            {"columns": [self.names[i], self.names[j]], "possible": np.asarray(cells, dtype=bool).tolist()}
            for (i, j), cells in self.possible.items()
        ]

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Domain:
        """Read the output of :meth:`to_dict`.

        Parameters
        ----------
        document : mapping
            The JSON form of a domain.

        Returns
        -------
        Domain

        Raises
        ------
        ValueError
            If the document is not a domain of this schema.
        """
        if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
            raise ValueError(
                f"not a domain document: its 'schema' must be {SCHEMA!r}; write one with Domain.save"
            )
        entries = document.get("attributes")
        if not isinstance(entries, (list, tuple)):
            raise ValueError(
                f"not a domain document: its 'attributes' ({entries!r}) must be a list with one entry per "
                "column"
            )
        learned = document.get("learned")
        if not isinstance(learned, (Mapping, type(None))):
            raise ValueError(
                f"not a domain document: its 'learned' ({learned!r}) must be what Domain.save wrote there"
            )
        looks = read_access_log(document, "domain document")
        domain = cls(tuple(read_attribute(entry) for entry in entries), learned=learned, **looks)
        return replace(domain, possible=domain._read_possible(document.get("possible", [])))

    def _read_possible(self, zeros: Any) -> dict[tuple[int, int], np.ndarray]:
        found, indices = {}, {name: i for i, name in enumerate(self.names)}
        try:
            for entry in parse_with_schema(_POSSIBLE, zeros, SHARED):
                i, j = (indices[name] for name in entry["columns"])
                found[i, j] = np.array(entry["possible"], dtype=bool)
                if not (i < j and found[i, j].shape == (self.cardinalities[i], self.cardinalities[j])):
                    raise ValueError("its shape is that of two columns in order")
        except (ValueError, KeyError):
            raise ValueError(
                "not a domain document: its 'possible' must be what Domain.save wrote there"
            ) from None
        return found

    def save(self, path: str | Path) -> None:
        """Write the domain as JSON, atomically.

        Parameters
        ----------
        path : str or Path
            The file.

        Raises
        ------
        ValueError
            If a value is no text, finite number, boolean, date or Decimal.
        """
        write_atomically(path, json.dumps(self.to_dict(), indent=1))

    @classmethod
    def load(cls, path: str | Path) -> Domain:
        """Read a domain that :meth:`save` wrote.

        Inferred attributes stay inferred; :meth:`declared` marks them as declared.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        Domain

        Raises
        ------
        ValueError
            If the file is not a domain of this schema.
        """
        text = read_regular_file(path)
        try:
            document = strict_json(text.decode("utf-8"))
        except ValueError as error:
            raise ValueError(f"{str(path)!r} is not a domain file: {error}") from error
        return cls.from_dict(document)

    @classmethod
    def from_declarations(
        cls,
        declarations: Mapping[str, Any],
        sdtypes: Mapping[str, str] | None = None,
        max_bins: int = MAX_BINS,
    ) -> Domain:
        """Build a domain from the declarations that the synthesizer's ``domain`` argument takes.

        Every column needs a declaration.

        Parameters
        ----------
        declarations : mapping
            Column name -> declaration in the vocabulary of SDV's metadata, or an Attribute; see
            :func:`~sdv_plausible.table.declared.specifications.declared_attribute`.
        sdtypes : mapping, optional
            Column name -> sdtype, for columns whose declaration has none. Without either, ``range_values``
            imply a categorical column, numbers a numerical one, and a ``datetime_format`` or dates a datetime
            one.
        max_bins : int
            Wider ranges are divided into this many equal bins, at least 1.

        Raises
        ------
        ValueError
            If a declaration is invalid, defines no values, or does not determine its sdtype.

        Examples
        --------
        >>> domain = Domain.from_declarations({"age": {"range_min": 0, "range_max": 9}}, max_bins=5)
        >>> domain["age"].lower
        (0, 2, 4, 6, 8)
        """
        from sdv_plausible.table.declared.specifications import (  # imports this module
            declare,
            declared_provenance,
        )

        check.whole("max_bins", max_bins, 1, f"try {MAX_BINS}")
        known_sdtypes = sdtypes or {}
        return cls(
            tuple(
                replace(attribute, provenance=origin) if (origin := declared_provenance(spec)) else attribute
                for name, spec in declarations.items()
                if (attribute := declare(name, spec, known_sdtypes.get(name), max_bins))
            )
        )

    def without_rounding(self) -> Domain:
        """Return the same domain with all digits in the output."""
        return replace(
            self, attributes=tuple(replace(a, decimals=None, rounding=None) for a in self.attributes)
        )

    def declared(self) -> Domain:
        """Return the same domain, marked as declared: the caller vouches that it is independent of the rows.

        Privately learned attributes stay private and keep their cost.
        """
        attributes = (
            a if a.provenance == "private" else replace(a, provenance="declared") for a in self.attributes
        )
        return replace(self, attributes=tuple(attributes))


def write_access_log(declared: Any) -> dict[str, Any]:
    """Access log of a domain or domain file, for its document; empty if there is none."""
    rules = declared.looked_rules
    return {
        **({"looked": dict(declared.looked)} if declared.looked else {}),
        **({} if rules is None else {"looked_rules": list(rules)}),
    }


def read_access_log(document: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Read the output of :func:`write_access_log`."""
    looked, rules = document.get("looked", {}), document.get("looked_rules")
    for key, is_right, kind in (
        ("looked", isinstance(looked, Mapping) and all(map(_is_digest, looked.values())), "map names to"),
        ("looked_rules", rules is None or (isinstance(rules, list) and all(map(_is_digest, rules))), "list"),
    ):
        if not is_right:
            raise ValueError(
                f"{what}: {key!r} must {kind} the SHA-256 digests that were written there: restore the "
                "original file"
            )
    return {"looked": looked, "looked_rules": None if rules is None else tuple(rules)}


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and len(value) == _DIGEST_LENGTH and set(value) <= set("0123456789abcdef")
