"""Derived columns: copies, sums, products and formulas of other columns, multiples, code books and flags."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
import pandas as pd

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.parameter_checks import shown
from sdv_plausible.rules import rule_cells
from sdv_plausible.rules.rule import (
    Attributes,
    Columns,
    ColumnSpec,
    DerivingRule,
    Formats,
    Specs,
    check_columns,
    check_sdtypes,
    check_values,
    date_formats,
    declared_places,
)
from sdv_plausible.table.cells.canonical_forms import LONGEST_NAME
from sdv_plausible.table.cells.dates import format_unit
from sdv_plausible.table.columns.column_document import MAX_DECIMALS
from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.table.declared.specifications import CATEGORIES, allows_missing, sdtype_of

TOLERANCE = 1e-9  # relative, for sums of doubles


@dataclass(frozen=True)
class Equal(DerivingRule):
    """A column that equals another one.

    Parameters
    ----------
    column : str
        The derived column.
    other : str
        The modelled column.

    Raises
    ------
    ValueError
        If the names are equal.
    """

    column: str
    other: str
    kind = "equal"

    def __post_init__(self) -> None:
        check_columns("Equal", [self.column, self.other])

    @property
    def sources(self) -> tuple[str, ...]:
        """The original."""
        return (self.other,)

    def check(self, specs: Specs) -> None:
        """Raise an error if the columns have different sdtypes."""
        check_sdtypes(self, specs, specs[self.other].get("sdtype", ""))

    def unfold(self, table: pd.DataFrame, formats: Formats, derived: Attributes) -> Columns:
        """Copy the original; dates in the copy's own format."""
        if self.other in formats:
            return {
                self.column: rule_cells.to_column(
                    *rule_cells.to_numbers(table, self.other, formats), derived[self.column]
                )
            }
        return {self.column: table[self.other].reset_index(drop=True)}

    def attributes(self, inputs: Attributes, specs: Specs, styles: Specs) -> tuple[Attribute, ...]:
        """Attribute of the original, with the copy's own date style."""
        copy = replace(inputs[self.other], name=self.column, buckets=None, groups=None, counts=None)
        no_style = {"datetime_format": None, "time_zone": None}
        style = {**no_style, **styles.get(self.column, {})} if copy.kind == "datetime" else {}
        return (replace(copy, **style),)

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Mask of rows where both are equal, or both missing."""
        return rule_cells.are_equal(table, self.column, self.other, formats)

    def __str__(self) -> str:
        return f"{self.column} = {self.other}"


Term = tuple[tuple[str, ...], float]  # columns that are multiplied, and a coefficient


class _Computed(DerivingRule):
    """A number computed from others: a constant plus products of columns; missing where a column is."""

    constant: float = 0
    decimal_places: int | None = None

    @abstractmethod
    def _terms(self) -> tuple[Term, ...]:
        """Terms that are added to the constant."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns of the terms."""
        return tuple(dict.fromkeys(name for names, _ in self._terms() for name in names))

    def _check_places(self) -> None:
        if self.decimal_places is not None:
            hint = "or None for the digits of the exact value"
            places = check.whole("decimal_places", self.decimal_places, 0, hint, most=MAX_DECIMALS)
            object.__setattr__(self, "decimal_places", places)

    def resolve(self, specs: Specs) -> DerivingRule:
        """Return the rule with the digits that the column is declared to have, unless it gives its own."""
        places = declared_places(specs.get(self.made[0], {}))
        if places is None or vars(self).get("decimal_places", places) is not None:
            return self
        return replace(cast("Formula", self), decimal_places=places)

    def check(self, specs: Specs) -> None:
        """Raise an error if a column is not numerical."""
        check_sdtypes(self, specs, "numerical")

    def _computed(self, table: pd.DataFrame, formats: Formats) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Numbers before rounding, mask of those present, and their floating-point tolerance."""
        cells = {name: rule_cells.to_numbers(table, name, formats) for name in self.sources}
        present = np.logical_and.reduce([known for _, known in cells.values()])
        total = np.full(len(table), float(self.constant))
        size = np.abs(total)
        with np.errstate(over="ignore"):  # no warning because of one cell
            for names, coefficient in self._terms():
                term = np.full(len(table), float(coefficient))
                for name in names:
                    term = _bounded(term * np.where(present, cells[name][0], 0.0))
                total, size = total + term, size + np.abs(term)
        return total, present, TOLERANCE * np.maximum(1, size)

    def unfold(self, table: pd.DataFrame, formats: Formats, derived: Attributes) -> Columns:
        """Compute the column."""
        (name,) = self.made
        values, present, _ = self._computed(table, formats)
        return {name: rule_cells.to_column(values, present, derived[name])}

    def attributes(self, inputs: Attributes, specs: Specs, styles: Specs) -> tuple[Attribute, ...]:
        """One bin from the smallest possible value to the largest."""
        (name,), parts = self.made, [inputs[source] for source in self.sources]
        if any(not part.lower for part in parts):  # all cells are missing
            return (Attribute(name=name, kind="integer", lower=(0,), upper=(0,), nullable=True),)
        low = high = self.constant
        for names, coefficient in self._terms():
            ends = [coefficient]
            for attribute in (inputs[source] for source in names):
                ends = [_bounded(a * b) for a in ends for b in (attribute.lower[0], attribute.upper[-1])]
                ends = [min(ends), max(ends)]
            low, high = low + ends[0], high + ends[-1]
        decimals, nullable = self._decimals(inputs), any(part.nullable for part in parts)
        whole = decimals == 0 and (self.decimal_places == 0 or all(part.kind == "integer" for part in parts))
        if (places := self.decimal_places) is not None:
            low, high = (
                v if isinstance(v, int) else float(rule_cells.rounded(v, places)) for v in (low, high)
            )
        return (rule_cells.single_bin(name, (low, high), whole=whole, decimals=decimals, nullable=nullable),)

    def _decimals(self, inputs: Attributes) -> int | None:
        """Digits after the point: as declared, else those of the exact value, or None for all digits."""
        if self.decimal_places is not None:
            return self.decimal_places
        own = {name: rule_cells.common_decimals([inputs[name]]) for name in self.sources}
        if None in own.values():
            return None
        digits = [
            rule_cells.count_decimals(c) + sum(own[n] or 0 for n in names) for names, c in self._terms()
        ]
        most = max(rule_cells.count_decimals(self.constant), *digits)
        return most if most <= MAX_DECIMALS else None

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Mask of rows with the computed value, rounded either way at a tie, or missing where a column is."""
        expected, expected_present, tolerance = self._computed(table, formats)
        total, present = rule_cells.to_numbers(table, self.made[0], formats)
        total, rounding = np.where(present, total, 0), 0.0
        near = np.ones(len(table), dtype=bool)
        if self.decimal_places is not None:
            rounding = 0.5 * 10.0**-self.decimal_places
            near = np.abs(total - rule_cells.rounded(total, self.decimal_places)) <= tolerance
        near &= np.abs(total - expected) <= tolerance + rounding
        return np.where(expected_present & present, near, expected_present == present)


def _exact(number: float) -> float:
    """Python number: a whole one as int, so that products of whole numbers are exact."""
    number = float(number)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _bounded(values: Any) -> Any:
    """Numbers in the range of derived columns; integers remain exact."""
    most = rule_cells.LARGEST_NUMBER
    return np.clip(values, -most, most) if isinstance(values, np.ndarray) else min(max(values, -most), most)


@dataclass(frozen=True)
class Sum(_Computed):
    """A column that is the sum of others; missing where any of them is.

    Parameters
    ----------
    total : str
        The derived column.
    parts : sequence of str
        The summands, two or more.

    Raises
    ------
    ValueError
        If there are fewer than two parts, or names repeat.
    """

    total: str
    parts: tuple[str, ...]
    kind: ClassVar[str] = "sum"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", check_columns("Sum: parts", self.parts, 2))
        check_columns("Sum", [self.total, *self.parts])

    @property
    def made(self) -> tuple[str, ...]:
        """The total."""
        return (self.total,)

    def _terms(self) -> tuple[Term, ...]:
        return tuple(((name,), 1) for name in self.parts)

    def __str__(self) -> str:
        return f"{self.total} = {' + '.join(self.parts)}"


@dataclass(frozen=True)
class Product(_Computed):
    """A column that is the product of others; missing where any of them is.

    Parameters
    ----------
    total : str
        The derived column.
    factors : sequence of str
        The columns that are multiplied, two or more.
    decimal_places : int, optional
        Digits after the point to which the product is rounded, 0 to 15. None: those of the column's
        declaration, or else of the exact product.

    Raises
    ------
    ValueError
        If there are fewer than two factors, names repeat, or decimal_places is out of range.

    Examples
    --------
    >>> print(Product("total", ["price", "quantity"], decimal_places=2))
    total = price * quantity
    """

    total: str
    factors: tuple[str, ...]
    decimal_places: int | None = None
    kind: ClassVar[str] = "product"

    def __post_init__(self) -> None:
        object.__setattr__(self, "factors", check_columns("Product: factors", self.factors, 2))
        check_columns("Product", [self.total, *self.factors])
        self._check_places()

    @property
    def made(self) -> tuple[str, ...]:
        """The total."""
        return (self.total,)

    def _terms(self) -> tuple[Term, ...]:
        return ((self.factors, 1),)

    def __str__(self) -> str:
        return f"{self.total} = {' * '.join(self.factors)}"


@dataclass(frozen=True)
class Formula(_Computed):
    """A column that is a sum of other columns, or of products of them, with coefficients.

    It is missing where any of the columns is. A formula is a list of numbers and names, and never code.

    Parameters
    ----------
    column : str
        The derived column.
    terms : mapping
        Column, or tuple of columns that are multiplied -> coefficient.
    constant : float
        Number that is added.
    decimal_places : int, optional
        Digits after the point to which the value is rounded, 0 to 15. None: those of the column's
        declaration, or else of the exact value.

    Raises
    ------
    ValueError
        If there is no term, the column is among them, a number is not finite, a coefficient is 0, or
        decimal_places is out of range.

    Examples
    --------
    >>> print(Formula("paid", {("price", "quantity"): 1.077, "discount": -1}, constant=5, decimal_places=2))
    paid = 1.077 * price * quantity - discount + 5
    """

    column: str
    terms: Any
    constant: float = 0
    decimal_places: int | None = None
    kind: ClassVar[str] = "formula"

    def __post_init__(self) -> None:
        pairs = list(self.terms.items()) if isinstance(self.terms, Mapping) else self.terms
        is_list = isinstance(pairs, (list, tuple)) and len(pairs) > 0
        if not is_list or not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs):
            raise ValueError(
                f"Formula: terms ({shown(self.terms)}) must be a mapping of columns to coefficients, such as "
                "{'gross': 1, 'tax': -1}"
            )
        numbers = [number for _, number in pairs]
        if not all(map(rule_cells.is_number, (*numbers, self.constant))) or 0 in numbers:
            raise ValueError(
                f"Formula: terms ({shown(self.terms)}) and constant ({shown(self.constant)}) must have "
                "finite numbers, and coefficients other than 0"
            )
        terms = tuple((check_columns("Formula: terms", names, 1), _exact(number)) for names, number in pairs)
        object.__setattr__(self, "terms", terms)
        object.__setattr__(self, "constant", _exact(self.constant))
        for names, _ in terms:
            check_columns("Formula", [self.column, *names])
        if len({names for names, _ in terms}) < len(terms):
            raise ValueError(f"Formula: terms ({shown(terms)}) must be distinct; add their coefficients")
        self._check_places()

    def _terms(self) -> tuple[Term, ...]:
        return cast("tuple[Term, ...]", self.terms)

    def __str__(self) -> str:
        parts = [(number, " * ".join(names)) for names, number in self._terms()]
        parts += [(self.constant, "")] * bool(self.constant)
        text = ""
        for number, names in parts:
            size = [] if names and abs(number) == 1 else [f"{abs(number)}"]
            text += f" {'-' if number < 0 else '+'} {' * '.join([*size, *([names] if names else [])])}"
        return f"{self.column} = {'-' * text.startswith(' -')}{text[3:]}"


@dataclass(frozen=True)
class Multiple(DerivingRule):
    """A number that is always a multiple of a step, such as prices in quarters: ``Multiple("price", 0.25)``.

    Parameters
    ----------
    column : str
        The column.
    step : float
        Positive. A real value between two multiples is encoded as the nearest one.

    Raises
    ------
    ValueError
        If step is not a positive number.
    """

    column: str
    step: float
    kind: ClassVar[str] = "multiple"
    reversible: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_columns("Multiple", [self.column])
        check.positive("step", self.step, "give the distance of two values, such as 0.25")
        check.plain_numbers(self)

    @property
    def steps(self) -> str:
        """Name of the surrogate column."""
        return f"{self.column} / {self.step:g}"

    @property
    def added(self) -> tuple[str, ...]:
        """The number of steps."""
        return (self.steps,)

    def check(self, specs: Specs) -> None:
        """Raise an error if the column is not numerical."""
        check_sdtypes(self, specs, "numerical")

    def surrogate_specs(self, specs: Specs) -> dict[str, ColumnSpec]:
        """Number of steps, in the declared range if any."""
        spec = specs.get(self.column, {})
        self._check_fine(spec)
        steps: ColumnSpec = {"sdtype": "numerical"}
        if spec.get("range_min") is not None:
            steps["range_min"] = math.ceil(spec["range_min"] / self.step - 1e-9)
        if spec.get("range_max") is not None:
            steps["range_max"] = math.floor(spec["range_max"] / self.step + 1e-9)
        if steps.get("range_min", -math.inf) > steps.get("range_max", math.inf):
            raise check.Refused.saying(
                "rules", f"rule '{self}' contradicts the declared range, which contains no such multiple"
            )
        if steps.keys() > {"sdtype"}:
            steps["decimal_places"] = 0
        if spec.get("range_is_nullable") is not None:
            steps["range_is_nullable"] = spec["range_is_nullable"]
        if spec.get("special_values"):
            steps["special_values"] = [round(v / self.step) for v in spec["special_values"]]
        return {self.steps: steps}

    def _check_fine(self, spec: ColumnSpec) -> None:
        """Raise an error if the number of steps exceeds 64 bits, or if special values are texts."""
        if any(isinstance(value, str) for value in spec.get("special_values") or ()):
            raise check.Refused.saying(
                "special_values",
                f"column {self.column!r}: text special_values cannot be combined with a resolution or a "
                "Multiple: remove one of them",
            )
        ends = [spec[word] for word in ("range_min", "range_max") if spec.get(word) is not None]
        largest = max((abs(end) for end in (*ends, *(spec.get("special_values") or ()))), default=0)
        if largest / 2**63 >= self.step:
            rule = (
                f"of column {self.column!r}, or the step of its Multiple, must be above {largest / 2**63:g}"
            )
            raise check.Refused("resolution", self.step, rule, "the range has too many multiples")

    def fold(self, table: pd.DataFrame, formats: Formats) -> Columns:
        """Nearest whole number of steps."""
        values, present = rule_cells.to_numbers(table, self.column, formats)
        with np.errstate(over="ignore"):  # no warning because of one cell
            steps = np.round(np.where(present, values, 0) / self.step)
        return {self.steps: pd.Series(np.where(present, steps, np.nan), index=table.index)}

    def unfold(self, table: pd.DataFrame, formats: Formats, derived: Attributes) -> Columns:
        """Number of steps times the step."""
        steps, present = rule_cells.to_numbers(table, self.steps, {})
        with np.errstate(over="ignore"):
            values = rule_cells.round_decimals(steps * self.step)
        return {self.column: rule_cells.to_column(values, present, derived[self.column])}

    def attributes(self, inputs: Attributes, specs: Specs, styles: Specs) -> tuple[Attribute, ...]:
        """One bin over all steps."""
        steps = inputs[self.steps]
        whole, places = float(self.step).is_integer(), rule_cells.count_decimals(self.step)
        ends = (steps.lower[0] * self.step, steps.upper[-1] * self.step) if steps.lower else (0, 0)
        nullable = steps.nullable or not steps.lower
        return (rule_cells.single_bin(self.column, ends, whole=whole, decimals=places, nullable=nullable),)

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Mask of rows whose value is a multiple, or missing."""
        values, present = rule_cells.to_numbers(table, self.column, formats)
        steps = np.where(present, values, 0) / self.step
        return np.asarray(np.abs(steps - np.round(steps)) <= 1e-6)

    def __str__(self) -> str:
        return f"{self.column} is a multiple of {self.step:g}"


class Determined(DerivingRule):
    """A column derived from others by a declared mapping, such as a code from its label.

    Parameters
    ----------
    column : str
        The derived column.
    by : str or sequence of str
        The columns from which it is derived.
    mapping : mapping
        Value of ``by`` -> value of ``column``. With several columns in ``by``, the keys are tuples. None is
        missing.
    otherwise : optional
        Value for combinations that the mapping lacks; missing by default.

    Raises
    ------
    ValueError
        If the mapping is empty or its keys do not match ``by``.

    Examples
    --------
    >>> rule = Determined("grade", by="school", mapping={"primary": 1, "secondary": 2})
    >>> print(rule)
    grade follows from school
    """

    kind = "determined"

    def __init__(
        self, column: str, by: str | Sequence[str], mapping: Mapping[Any, Any], otherwise: Any = None
    ) -> None:
        self.by = check_columns("Determined: by", by)
        (self.column,) = check_columns("Determined", [column])
        if self.column in self.by:
            raise ValueError(f"Determined: column ({column!r}) must not be among by ({self.by!r})")
        if not isinstance(mapping, Mapping) or not mapping:
            named = shown(mapping)
            raise ValueError(f"Determined: mapping ({named}) must name a value for each of {shown(by)}")
        check_values("Determined: otherwise and the mapping's values", (*mapping.values(), otherwise))
        self.mapping, self.otherwise = dict(mapping), otherwise
        self._by = [self._parts(key) for key in self.mapping]

    def _parts(self, key: Any) -> tuple[Any, ...]:
        parts = (key,) if len(self.by) == 1 else key
        if not isinstance(parts, tuple) or len(parts) != len(self.by):
            raise ValueError(
                f"Determined: the mapping's key {key!r} must have a value for each of {self.by!r}"
            )
        return parts

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns of its keys."""
        return self.by

    @property
    def values(self) -> list[Any]:
        """Possible values of the column."""
        return [*self.mapping.values(), self.otherwise]

    @property
    def named(self) -> list[tuple[str, Any]]:
        """Keys and values of the mapping."""
        keys = [pair for parts in self._by for pair in zip(self.by, parts, strict=True)]
        values = [*self.mapping.values(), *([] if pd.isna(self.otherwise) else [self.otherwise])]
        return [*keys, *((self.column, value) for value in values)]

    def check(self, specs: Specs) -> None:
        """Raise an error if a value, or a missing one from a gap in the mapping, does not fit the column."""
        self.attributes({}, specs, {})
        formats = date_formats(specs)
        self._by_key(formats)
        spec, source = specs[self.column], specs[self.by[0]]
        value_words = ("range_values", "range_min", "range_is_nullable")
        declared = any(spec.get(word) is not None for word in value_words)
        if declared and not allows_missing(spec) and len(self.by) == 1 and pd.isna(self.otherwise):
            mapped = {parts[0] for parts in self._by_key(formats)}
            possible = [*(source.get("range_values") or ()), *(source.get("special_values") or ())]
            possible += [None] * allows_missing(source)
            unmapped = [v for v in possible if rule_cells.cell_key(v, self.by[0], formats) not in mapped]
            if unmapped:
                text = "missing" if pd.isna(unmapped[0]) else repr(unmapped[0])
                raise self.refused(
                    f"the mapping lacks {text}, and column {self.column!r} is declared without missing "
                    "values: add an entry, or give otherwise="
                )

    def _by_key(self, formats: Formats) -> dict[tuple[Hashable, ...], Any]:
        keys = [rule_cells.combination_key(parts, self.by, formats) for parts in self._by]
        by_key = dict(zip(keys, self.mapping.values(), strict=True))
        if len(by_key) < len(keys):
            raise self.refused(f"the mapping's keys must be distinct values of {self.by!r}")
        return by_key

    def unfold(self, table: pd.DataFrame, formats: Formats, derived: Attributes) -> Columns:
        """Look up the column."""
        cells, attribute = self._looked_up(table, formats), derived[self.column]
        if sdtype_of(attribute) in CATEGORIES:
            return {self.column: cells.infer_objects()}
        present = cells.notna().to_numpy()
        dtype = np.float64 if attribute.kind == "float" else np.int64
        values = np.array([cell if ok else 0 for cell, ok in zip(cells, present, strict=True)], dtype=dtype)
        return {self.column: rule_cells.to_column(values, present, attribute)}

    def _looked_up(self, table: pd.DataFrame, formats: Formats) -> pd.Series[Any]:
        """The mapping's value of each row; missing is None, dates are nanoseconds."""
        where, combinations = rule_cells.distinct_combinations(table, self.by, formats)
        by_key = self._by_key(formats)
        values = np.full(len(combinations), None, dtype=object)
        for i, combination in enumerate(combinations):
            value = by_key.get(combination, self.otherwise)
            if not pd.isna(value):
                is_date = self.column in formats
                values[i] = rule_cells.cell_key(value, self.column, formats) if is_date else value
        return pd.Series(values[where], dtype=object)

    def attributes(self, inputs: Attributes, specs: Specs, styles: Specs) -> tuple[Attribute, ...]:
        """The mapping's values."""
        spec = specs.get(self.column, {})
        formats = date_formats({self.column: spec})
        present = [value for value in self.values if not pd.isna(value)]
        by_key = {rule_cells.cell_key(value, self.column, formats): value for value in present}
        common: ColumnSpec = {"name": self.column, "nullable": self._may_miss(inputs)}
        if spec.get("sdtype") not in ("numerical", "datetime"):
            return (Attribute(kind="categorical", values=tuple(by_key.values()), **common),)
        if self.column in formats:
            style = {"datetime_format": spec.get("datetime_format"), **styles.get(self.column, {})}
            common |= {"kind": "datetime", "unit": format_unit(spec.get("datetime_format")), **style}
        elif not all(map(rule_cells.is_number, present)):
            raise self.refused(f"the values of column {self.column!r} must be numbers")
        else:
            whole = all(float(value).is_integer() for value in present)
            common |= {"kind": "integer" if whole else "float"}
        points = tuple(sorted(cast("list[float]", list(by_key))))
        return (Attribute(lower=points, upper=points, **common),)

    def _may_miss(self, inputs: Attributes) -> bool:
        """Whether a row may have no value, e.g. because the mapping lacks a category."""
        source = inputs.get(self.by[0])
        if any(map(pd.isna, self.mapping.values())) or not pd.isna(self.otherwise):
            return any(map(pd.isna, self.values))
        if len(self.by) > 1 or source is None or source.nullable or source.is_ordered:
            return True
        by_key = self._by_key({})
        return any(rule_cells.combination_key((v,), self.by, {}) not in by_key for v in source.values)

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Mask of rows where the column equals the mapping's value."""
        comparison = pd.DataFrame({"wanted": self._looked_up(table, formats)})
        if self.column in formats:
            moments = rule_cells.to_numbers(table, self.column, formats)[0]
            expected = [rule_cells.NO_DATE if moment is None else moment for moment in comparison["wanted"]]
            return np.asarray(np.array(expected, dtype=np.int64) == moments)
        comparison["is"] = table[self.column].array
        return rule_cells.are_equal(comparison, "is", "wanted", {})

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        pairs = [
            [list(given) if len(self.by) > 1 else [given], value] for given, value in self.mapping.items()
        ]
        return {
            "rule": self.kind, "column": self.column, "by": list(self.by), "mapping": pairs,
            "otherwise": self.otherwise,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Determined:
        """Read what :meth:`to_dict` wrote, or a mapping of texts as people write it."""
        by, mapping = entry["by"], entry["mapping"]
        names = [by] if isinstance(by, str) else by
        if not isinstance(mapping, Mapping):
            if not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in mapping):
                raise ValueError("Determined: mapping must be a list of pairs [cells, value]")
            mapping = {tuple(given) if len(names) > 1 else given[0]: value for given, value in mapping}
        return cls(entry["column"], names, mapping, entry.get("otherwise"))

    def __str__(self) -> str:
        return f"{self.column} follows from {', '.join(self.by)}"


_MOST = 2**62  # largest absolute value of a flag


class OneHot(DerivingRule):
    """Columns of which exactly one is set, modelled as one category.

    Parameters
    ----------
    columns : sequence of str
        The flags, two or more.
    values : (off, on)
        Values of an unset and a set flag: ``(0, 1)``, ``(False, True)``, ``("no", "yes")``.

    Raises
    ------
    ValueError
        If there are fewer than two columns, or off and on are equal, missing or beyond 2^62.

    Examples
    --------
    >>> print(OneHot(["red", "green", "blue"]))
    exactly one of red, green, blue
    """

    kind = "one_hot"

    def __init__(self, columns: Sequence[str], values: tuple[Any, Any] = (0, 1)) -> None:
        self._columns = check_columns("OneHot", columns, 2)
        check_values("OneHot: values", values)
        if len(values) != 2 or len({rule_cells.cell_key(value, "", {}) for value in values}) < 2:
            raise ValueError(f"OneHot: values ({shown(values)}) must be two, of an unset and of a set flag")
        if any(pd.isna(value) or (rule_cells.is_number(value) and abs(value) > _MOST) for value in values):
            raise ValueError(f"OneHot: values ({shown(values)}) must be there, and numbers within 2^62")
        self.off, self.on = values

    @property
    def made(self) -> tuple[str, ...]:
        """All flags."""
        return self._columns

    @property
    def which(self) -> str:
        """Name of the surrogate column."""
        name = f"one of {', '.join(self._columns)}"
        if len(name) <= LONGEST_NAME:
            return name
        return f"one of {self._columns[0]} and {len(self._columns) - 1} others"

    @property
    def added(self) -> tuple[str, ...]:
        """The category."""
        return (self.which,)

    @property
    def named(self) -> list[tuple[str, Any]]:
        """Values of the flags."""
        return [(name, value) for name in self._columns for value in (self.off, self.on)]

    def check(self, specs: Specs) -> None:
        """Raise an error if flags are dates, or if their type cannot hold the values."""
        check_sdtypes(self, specs, "numerical", "categorical", "boolean")
        numbers = [name for name in self._columns if specs[name]["sdtype"] == "numerical"]
        if numbers and not all(map(rule_cells.is_number, (self.off, self.on))):
            raise self.refused(f"the values of column {numbers[0]!r} must be numbers")

    def resolve(self, specs: Specs) -> OneHot:
        """Return the rule with boolean values, if all columns are boolean."""
        all_boolean = all(specs.get(name, {}).get("sdtype") == "boolean" for name in self._columns)
        return OneHot(self._columns, (bool(self.off), bool(self.on))) if all_boolean else self

    def surrogate_specs(self, specs: Specs) -> dict[str, ColumnSpec]:
        """One category: the names of the columns."""
        return {
            self.which: {
                "sdtype": "categorical",
                "range_values": list(self._columns),
                "range_is_nullable": False,
            }
        }

    def _set(self, table: pd.DataFrame) -> np.ndarray:
        return np.stack([rule_cells.is_in(table, name, {}, [self.on]) for name in self._columns], axis=1)

    def fold(self, table: pd.DataFrame, formats: Formats) -> Columns:
        """The first flag that is set; a row without one is missing, and encoded at random."""
        flags = self._set(table)
        names = np.array(self._columns, dtype=object)[flags.argmax(axis=1)]
        return {self.which: pd.Series(np.where(flags.any(axis=1), names, None), index=table.index)}

    def unfold(self, table: pd.DataFrame, formats: Formats, derived: Attributes) -> Columns:
        """Set one flag."""
        which = table[self.which].to_numpy()
        return {
            name: pd.Series([self.on if w == name else self.off for w in which], dtype=object).infer_objects()
            for name in self._columns
        }

    def attributes(self, inputs: Attributes, specs: Specs, styles: Specs) -> tuple[Attribute, ...]:
        """Off and on."""
        values = (self.off, self.on)
        if all(isinstance(v, (int, np.integer)) and not isinstance(v, bool) for v in values):
            ends = tuple(sorted(map(int, values)))
            return tuple(
                Attribute(name=name, kind="integer", lower=ends, upper=ends) for name in self._columns
            )
        return tuple(Attribute(name=name, kind="categorical", values=values) for name in self._columns)

    def holds(self, table: pd.DataFrame, formats: Formats) -> np.ndarray:
        """Mask of rows with exactly one flag set."""
        return np.asarray(self._set(table).sum(axis=1) == 1)

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {"rule": self.kind, "columns": list(self._columns), "values": [self.off, self.on]}

    def __str__(self) -> str:
        return f"exactly one of {', '.join(self._columns)}"
