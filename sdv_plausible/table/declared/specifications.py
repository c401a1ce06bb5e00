"""Convert a column's declaration, with the keys of SDV's metadata, to an attribute."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sdv_plausible.privacy.parameter_checks import Refused, suggestion
from sdv_plausible.table.cells.canonical_forms import LONGEST_NAME, is_text
from sdv_plausible.table.cells.cell_documents import write_value
from sdv_plausible.table.cells.dates import (
    digits_format,
    format_unit,
    names_to_digits,
    resolution_step,
    shows_months,
)
from sdv_plausible.table.columns import column_document
from sdv_plausible.table.columns.column_document import SHARED, TYPE_WORDS, WORDS, Provenance, words_about
from sdv_plausible.table.columns.domain import MAX_BINS, Attribute
from sdv_plausible.utils.file_paths import find_collision, violated_rule
from sdv_plausible.utils.json_schema import JsonSchemaError, parse_with_schema

if TYPE_CHECKING:
    from sdv_plausible.table.learned.declared_ranges import PartialDeclaration

CATEGORIES, MODELLED_SDTYPES = column_document.CATEGORIES, column_document.MODELLED_SDTYPES
VALUE_WORDS = words_about("values")
FORM_WORDS = words_about("form")
"""Keys for the precision or format of values; valid without a range."""
ORIGIN_WORDS = words_about("origin")
"""Keys for the origin of a declaration."""
_QUOTED = 200  # longest quotation of an invalid value, in characters


def check_names(names: Iterable[Any], what: str) -> None:
    """Reject column names that are empty or not text."""
    for position, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise ValueError(
                f"{what}: the name of column {position} ({name!r:.60}) must be text: write {str(name)!r:.60}"
            )
        if not name.strip():
            raise ValueError(
                f"{what}: the name of column {position} ({name!r}) must not be empty: give the column a name"
            )
        if not is_text(name, LONGEST_NAME):
            raise ValueError(
                f"{what}: the name of column {position} ({name!r:.60}) must have at most {LONGEST_NAME:,} "
                "characters, and no lone surrogate: rename the column"
            )


def check_table_name(name: Any, field: str = "table_name") -> None:
    """Reject a table name that cannot be a file name."""
    if not is_text(name, LONGEST_NAME) or not name:
        wanted = f"must be a text of 1 to {LONGEST_NAME:,} whole letters"
        raise Refused(field, name, wanted, "try 'table'")
    if rule := violated_rule(name):
        raise Refused.saying(
            field, f"{field}: the table name {name!r:.40} becomes a file name, which {rule}: rename the table"
        )


def check_table_names(names: Collection[Any], field: str) -> None:
    """Reject table names that cannot be file names in one directory."""
    for name in names:
        check_table_name(name, field)
    if pair := find_collision(names):
        raise Refused.saying(
            field,
            f"{field}: the table names {pair[0]!r:.40} and {pair[1]!r:.40} become one file name on some "
            "systems: rename one of the tables",
        )


def check_keys(name: str, spec: Mapping[Any, Any]) -> None:
    """Reject unknown keys in a declaration."""
    valid_keys = words_about("type", "values", "form", "origin")
    for key in spec:
        if key not in WORDS:
            hint = suggestion(str(key), valid_keys) or f"; valid keys are {', '.join(valid_keys)}"
            raise Refused.saying("domain", f"domain of column {name!r}: the key {key!r} is unknown{hint}")


def check_spec(name: str, spec: Mapping[str, Any]) -> None:
    """Reject a declaration with invalid values."""
    read_spec(name, spec)


def read_spec(name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    """A declaration without nulls, its values as plain Python objects. Unknown keys stay."""
    declaration = {
        key: _read(name, key, value) for key, value in spec.items() if value is not None or key not in WORDS
    }
    sdtype = declaration.get("sdtype", "")
    for key in [key for key in declaration if key in WORDS and sdtype]:
        if not WORDS[key].applies_to(sdtype):
            raise Refused.saying(
                key,
                f"column {name!r}: {key} cannot be used with sdtype {sdtype!r}: remove it, or change the "
                "sdtype",
            )
        if key in declaration and not WORDS[key].holds_for.get(sdtype, lambda _: True)(declaration[key]):
            raise Refused.saying(
                key, f"column {name!r}: {key} ({_quoted(spec[key])}) must be {WORDS[key].rule}"
            )
        if sdtype in WORDS[key].narrower:
            schema, rule = WORDS[key].narrower[sdtype]
            try:
                parse_with_schema(schema, plain(spec[key]), SHARED)
            except JsonSchemaError:
                sentence = f"column {name!r}: {key} ({_quoted(spec[key])}) {rule}"
                raise Refused.saying(key, sentence) from None
    return declaration


def _read(name: str, key: str, value: Any) -> Any:
    if key not in WORDS or WORDS[key].about == "nothing":
        return value
    word, detail = WORDS[key], ""
    try:
        converted = parse_with_schema(word.form, plain(value), SHARED)
        if word.holds(converted):
            return converted
    except ValueError as error:
        is_rule = isinstance(error, JsonSchemaError) and not error.place and not error.beyond
        detail = "" if is_rule else f"; {error}"
    raise Refused.saying(key, f"column {name!r}: {key} ({_quoted(value)}) must be {word.rule}{detail}")


def _quoted(value: Any) -> str:
    """A value's repr, shortened; only the type of other objects, which may hold cells of a table."""
    has_repr = isinstance(value, (str, bool, int, float, list, tuple, dict, dt.date, type(None)))
    text = repr(value) if has_repr else type(value).__name__
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}..."


def plain(value: Any) -> Any:
    """A value as in a JSON document; missing values inside lists become None."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple, range, np.ndarray, pd.Index, pd.Series)):
        return [None if _is_missing(item) else plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return write_value(value)


def _is_missing(value: Any) -> bool:
    return not isinstance(value, str) and pd.api.types.is_scalar(value) and bool(pd.isna(value))


def check_agreement(name: str, spec: Mapping[str, Any] | Attribute, metadata_spec: Mapping[str, Any]) -> None:
    """Reject a declaration that contradicts the metadata on type or date format."""
    # Numbers with text codes may be categorical in the metadata.
    if isinstance(spec, Attribute):
        spec = {
            "sdtype": sdtype_of(spec),
            "datetime_format": spec.datetime_format,
            "special_values": spec.texts,
        }
    metadata_spec = (
        {**metadata_spec, "sdtype": "numerical"} if _is_mixed(spec, metadata_spec) else metadata_spec
    )
    for key in ("sdtype", "datetime_format"):
        declared, in_metadata = spec.get(key), metadata_spec.get(key)
        if declared is not None and in_metadata is not None and _kind(declared) != _kind(in_metadata):
            raise Refused.saying(
                key,
                f"column {name!r}: the domain says {key} {declared!r}, the metadata {in_metadata!r}: use "
                "the same value in both, or remove it from the domain",
            )


def _is_mixed(spec: Mapping[str, Any], metadata_spec: Mapping[str, Any]) -> bool:
    """Whether numbers with text codes are declared, which detection calls categorical."""
    has_texts = any(isinstance(value, str) for value in spec.get("special_values") or ())
    return has_texts and spec.get("sdtype") == "numerical" and metadata_spec.get("sdtype") == "categorical"


def gets_placeholders(spec: Mapping[str, Any], is_key: bool = False) -> bool:
    """Whether a column gets placeholder values instead of a model: keys, ids and personal data."""
    sdtype = spec.get("sdtype")
    return is_key or sdtype in ("id", "unknown") or (sdtype not in MODELLED_SDTYPES and spec.get("pii", True))


def sdtype_of(attribute: Attribute) -> str:
    """SDV's semantic type of an attribute."""
    if set(map(type, attribute.values)) == {bool}:
        return "boolean"
    return {"integer": "numerical", "float": "numerical"}.get(attribute.kind, attribute.kind)


def _kind(key: str) -> str:
    return "categorical" if key in CATEGORIES else key


SINGLES = 2  # ranges of up to this many times max_bins values get one bin per value
_STATED = {"range_min", "range_max", "decimal_places", "special_values", "range_is_nullable"}
"""Keys of partial declarations, without a value set."""


def declared_attribute(name: str, spec: Mapping[str, Any], max_bins: int = MAX_BINS) -> Attribute | None:
    """Attribute of a declaration; None if it has neither a range nor values."""
    spec = read_spec(name, spec)
    sdtype = spec.get("sdtype")
    common: dict[str, Any] = {"name": name, "nullable": allows_missing(spec)}
    if spec.get("buckets") is not None:
        common["buckets"] = tuple(spec["buckets"])
    if sdtype in CATEGORIES:
        return _categories(spec, common)
    if sdtype == "datetime":
        return _dates(name, spec, max_bins, common)
    return _numbers(name, spec, max_bins, common) if sdtype == "numerical" else None


def allows_missing(spec: Mapping[str, Any]) -> bool:
    """Whether a declaration allows missing values; the default is no."""
    declared, values = spec.get("range_is_nullable"), spec.get("range_values")
    return bool(declared) if declared is not None else any(map(pd.isna, values if values is not None else ()))


def _categories(spec: Mapping[str, Any], common: dict[str, Any]) -> Attribute | None:
    values = spec.get("range_values")
    if values is None or not len(values):
        values = (False, True) if spec["sdtype"] == "boolean" else None
    if values is None:
        if spec.get("groups") is not None:
            sentence = f"column {common['name']!r}: groups need range_values: also list the values"
            raise Refused.saying("range_values", sentence)
        return None
    kind = "ordinal" if spec["sdtype"] == "ordinal" else "categorical"
    present = tuple(v for v in values if not pd.isna(v))
    groups = groups_of(common["name"], spec.get("groups"), present)
    return Attribute(kind=kind, values=present, groups=groups, **common)  # type: ignore[arg-type]


def _dates(name: str, spec: Mapping[str, Any], max_bins: int, common: dict[str, Any]) -> Attribute | None:
    low, high, bins = spec.get("range_min"), spec.get("range_max"), spec.get("bins")
    if low is None or high is None:
        return None
    date_format, step = spec.get("datetime_format"), spec.get("resolution")
    common["values"] = _special_dates(name, spec)
    unit = format_unit(date_format) if step is None else resolution_step(step) or 1
    start, end = date_ends(name, low, high, date_format)
    if shows_months(date_format):  # include all days of the last month
        end = int((pd.Timestamp(end) + pd.offsets.MonthEnd(0)).value)
    ends = equal_bins(start // unit, end // unit, bins or max_bins, singles=1 if bins else SINGLES)
    lower, upper = (tuple(v * unit for v in side) for side in ends)
    return Attribute(
        kind="datetime", lower=lower, upper=upper, unit=unit, datetime_format=date_format, **common
    )


def _special_dates(name: str, spec: Mapping[str, Any]) -> tuple[str, ...]:
    """Special values of dates: texts in the date format, of any year."""
    special, date_format = tuple(spec.get("special_values") or ()), spec.get("datetime_format")
    if special and spec.get("parts") == "split":
        sentence = f"column {name!r}: special_values have no time of day: remove parts ('split')"
        raise Refused.saying("parts", sentence)
    for text in special:
        try:
            if date_format is None:
                raise ValueError("no format")
            dt.datetime.strptime(
                names_to_digits(text, date_format), digits_format(date_format) or date_format
            )
        except (ValueError, TypeError):
            raise Refused.saying(
                "special_values",
                f"column {name!r}: special_values ({text!r}) of dates must be texts in the datetime_format "
                f"({date_format!r}) of a text column: give the format, or remove special_values",
            ) from None
    return special


def _numbers(name: str, spec: Mapping[str, Any], max_bins: int, common: dict[str, Any]) -> Attribute | None:
    low, high, bins = spec.get("range_min"), spec.get("range_max"), spec.get("bins")
    edges = bins if isinstance(bins, list) else None
    if edges and low is None and high is None:
        low, high = edges[0], edges[-1]
    if low is None or high is None:
        return None
    if low > high or not math.isfinite(float(high) - float(low)):
        raise Refused.saying(
            "range_min",
            f"column {name!r}: range_min ({low!r}) and range_max ({high!r}) must be finite numbers with "
            "range_min <= range_max",
        )
    decimals, special = spec.get("decimal_places"), spec.get("special_values") or ()
    common["values"] = tuple(v for v in special if isinstance(v, str))
    special = [v for v in special if not isinstance(v, str)]
    bin_count = max_bins if bins is None or edges else bins
    singles = SINGLES if bins is None else 1
    if decimals == 0 or (decimals is None and _is_integral(low) and _is_integral(high)):
        integer_bins = _whole_bins(name, math.ceil(low), math.floor(high), edges, bin_count, singles)
        lower, upper = with_points(*integer_bins, [_whole_special(name, v) for v in special])
        return Attribute(kind="integer", lower=lower, upper=upper, **common)
    if edges:
        corners = _inside(name, low, high, [float(edge) for edge in edges])
    else:
        corners = np.linspace(float(low), float(high), bin_count + 1).tolist() if high > low else [low, high]
    lower, upper = with_points(corners[:-1], corners[1:], [float(v) for v in special])
    return Attribute(kind="float", lower=lower, upper=upper, decimals=decimals, **common)


def _whole_bins(
    name: str, low: int, high: int, edges: list[Any] | None, max_bins: int, singles: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Equal bins of integers, or bins that start at the edges; the last edge belongs to the last bin."""
    if low > high or max(-low, high) >= 2**63:
        raise Refused.saying(
            "range_min",
            f"column {name!r}: between range_min ({low!r}) and range_max ({high!r}) there must be whole "
            "numbers, of 64 bits: widen the range, or give decimal_places for numbers with a fraction",
        )
    if edges is None:
        return equal_bins(low, high, max_bins, singles)
    starts = _inside(name, low, high, [math.ceil(edge) for edge in edges])[:-1]
    return tuple(starts), tuple([start - 1 for start in starts[1:]] + [high])


def with_points(
    lower: Sequence[float], upper: Sequence[float], points: Sequence[float]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Add single-value bins, inside or outside the range."""
    # Bins are closed. Adjacent bins of doubles may touch.
    bins = list(zip(lower, upper, strict=True))
    for point in points:
        pieces: list[tuple[float, float]] = [(point, point)]
        for low, high in bins:
            if not low <= point <= high:
                pieces.append((low, high))
            elif low < high:
                below, above = _next_to(point)
                pieces += [(a, b) for a, b in ((low, below), (above, high)) if a <= b]
        bins = sorted(set(pieces))
    return tuple(low for low, _ in bins), tuple(high for _, high in bins)


def _next_to(point: float) -> tuple[float, float]:
    if isinstance(point, int):
        return point - 1, point + 1
    return math.nextafter(point, -math.inf), math.nextafter(point, math.inf)


def _whole_special(name: str, value: Any) -> int:
    if value != int(value):
        raise Refused.saying(
            "special_values",
            f"column {name!r}: special_values ({value!r}) must be whole numbers like the range; give "
            "decimal_places for numbers with a fraction",
        )
    return int(value)


def _inside(name: str, low: float, high: float, edges: list[Any]) -> list[Any]:
    """The edges, if they increase from range_min to range_max."""
    if edges[0] != low or edges[-1] != high or any(a >= b for a, b in pairwise(edges)):
        raise Refused.saying(
            "bins",
            f"column {name!r}: bins ({edges!r}) must begin at range_min ({low!r}), end at range_max "
            f"({high!r}) and increase. Or remove the range, which follows from the edges",
        )
    return edges


def declare(name: str, spec: Any, sdtype: str | None, max_bins: int) -> Attribute:
    """Attribute of a declaration; ``sdtype`` is the default type."""
    if isinstance(spec, Attribute):
        return spec
    if not isinstance(spec, Mapping):
        raise Refused.saying(
            "domain",
            f"domain of column {name!r} ({type(spec).__name__}) must be a mapping such as "
            f"{{'range_min': 0, 'range_max': 99}}",
        )
    check_keys(name, spec)
    declaration = read_spec(name, spec)
    given_sdtype = declaration.get("sdtype") or sdtype
    sdtype = given_sdtype or implied_sdtype(declaration)
    if sdtype is None:
        raise Refused.saying(
            "range_values",
            f"domain of column {name!r} ({dict(spec)!r}) has no sdtype, and it cannot be inferred: give the "
            "sdtype, range_values, a datetime_format, or range_min and range_max as numbers",
        )
    attribute = declared_attribute(name, {**declaration, "sdtype": sdtype}, max_bins)
    if attribute is None:
        missing_key = "range_values" if given_sdtype in CATEGORIES else "range_min"
        raise Refused.saying(
            missing_key if given_sdtype in MODELLED_SDTYPES else "sdtype",
            f"domain of column {name!r} ({dict(spec)!r}) gives no values: give range_min and range_max for "
            f"numbers and dates, or range_values for categories{_hint(sdtype)}",
        )
    return attribute


def _hint(sdtype: str) -> str:
    return "" if sdtype in MODELLED_SDTYPES else suggestion(sdtype, MODELLED_SDTYPES)


def partial_declaration_of(
    name: str, spec: Mapping[str, Any], metadata_spec: Mapping[str, Any] | None = None
) -> PartialDeclaration | None:
    """The partial declaration of a column; None if there is none, or a value set is declared."""
    # ``metadata_spec`` has the default type and date format.
    defaults = {key: (metadata_spec or {}).get(key) for key in ("sdtype", "datetime_format")}
    declaration = read_spec(
        name, {**defaults, **{key: value for key, value in spec.items() if value is not None}}
    )
    sdtype = declaration.get("sdtype") or implied_sdtype(declaration)
    declaration["sdtype"] = sdtype
    value_keys = {key for key in read_spec(name, spec) if key in _STATED}
    other_keys = {*TYPE_WORDS, *FORM_WORDS, *ORIGIN_WORDS}
    if (
        sdtype not in MODELLED_SDTYPES
        or not value_keys
        or (metadata_spec is not None and set(spec) - value_keys - other_keys)
    ):
        return None
    if declared_attribute(name, declaration) is not None:
        return None
    low, high = declaration.get("range_min"), declaration.get("range_max")
    if sdtype == "datetime":
        low, high = (_date_end(name, end, declaration.get("datetime_format")) for end in (low, high))
        _special_dates(name, declaration)
    from sdv_plausible.table.learned.declared_ranges import PartialDeclaration

    special = declaration.get("special_values") or ()
    return PartialDeclaration(
        nullable=declaration.get("range_is_nullable"),
        decimals=declaration.get("decimal_places"),
        low=low,
        high=high,
        special=tuple(v for v in special if not isinstance(v, str)),
        texts=tuple(v for v in special if isinstance(v, str)),
    )


def declared_provenance(spec: Any) -> Provenance | None:
    """Provenance of a declaration that uses the rows, or None."""
    if not isinstance(spec, Mapping):
        return None
    return "inferred" if spec.get("detected") else spec.get("provenance")


def implied_sdtype(spec: Mapping[str, Any]) -> str | None:
    """The sdtype that a declaration's other keys imply, or None."""
    if spec.get("range_values") is not None:
        return "categorical"
    ends = (spec.get("range_min"), spec.get("range_max"))
    if spec.get("datetime_format") is not None or all(
        isinstance(v, (dt.date, np.datetime64, dict)) for v in ends
    ):
        return "datetime"
    return "numerical" if all(isinstance(v, (int, float, np.integer, np.floating)) for v in ends) else None


def _date_end(name: str, end: Any, date_format: str | None) -> int | None:
    """One end of a range of dates; the first day of a month."""
    return None if end is None else date_ends(name, end, end, date_format)[0]


def date_ends(name: str, low: Any, high: Any, date_format: str | None) -> tuple[int, int]:
    """Ends of a declared range in nanoseconds since 1970 UTC. Text without a format must be ISO 8601."""
    try:
        start, end = (
            _as_stamp(v, date_format or "ISO8601" if isinstance(v, str) else date_format) for v in (low, high)
        )
    except (ValueError, TypeError, OverflowError):
        raise Refused.saying(
            "range_min",
            f"column {name!r}: range_min ({low!r:.60}) and range_max ({high!r:.60}) must be dates of the "
            f"years 1678 to 2262 in the datetime_format ({date_format!r:.60})",
        ) from None
    if start > end:
        sentence = f"column {name!r}: range_min ({low!r}) must not be after range_max ({high!r})"
        raise Refused.saying("range_min", sentence)
    return start, end


def _as_stamp(value: Any, date_format: str | None) -> int:
    if date_format is not None:
        value, date_format = names_to_digits(value, date_format), digits_format(date_format)
    stamp = pd.to_datetime(value, format=date_format)
    if pd.isna(stamp) or (date_format is None and isinstance(value, (int, float, np.number))):
        raise ValueError("not a date")
    return int(stamp.as_unit("ns").value)


def equal_bins(
    low: int, high: int, max_bins: int, singles: int = SINGLES
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Split the integers low..high into ``max_bins`` runs of nearly equal length."""
    # Up to ``singles * max_bins`` integers get one bin each: ages from 0 to 110 stay years.
    if high < low:
        raise Refused.saying("range_max", f"range_max ({high}) must not be below range_min ({low})")
    points = high - low + 1
    count = points if points <= singles * max_bins else max_bins
    starts = [low + (high - low + 1) * i // count for i in range(count)]
    return tuple(starts), tuple([s - 1 for s in starts[1:]] + [high])


def _is_integral(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def groups_of(
    name: str, groups: Mapping[str, Sequence[Hashable]] | int | None, values: Sequence[Hashable]
) -> tuple[int, ...] | None:
    """Group number of every value; values without a group share one."""
    # ``groups`` maps names to values, or is the number of leading characters that define a group.
    if groups is None:
        return None
    value_set, group_by_value = set(values), dict[Hashable, Any]()
    if isinstance(groups, Mapping):
        for group, members in groups.items():
            for value in members:
                _check_member(name, group, value, group_by_value, value_set)
                group_by_value[value] = group
    else:
        group_by_value = {value: str(value)[:groups] for value in values}
    numbers: dict[Any, int] = {}
    return tuple(
        numbers.setdefault((value in group_by_value, group_by_value.get(value)), len(numbers))
        for value in values
    )


def _check_member(
    name: str,
    group: str,
    value: Hashable,
    group_by_value: Mapping[Hashable, Any],
    value_set: Collection[Hashable],
) -> None:
    if value in group_by_value:
        raise Refused.saying(
            "groups",
            f"column {name!r}: groups name {value!r} in {group_by_value[value]!r} and in {group!r}: put "
            "each value in one group",
        )
    if value not in value_set:
        raise Refused.saying(
            "range_values",
            f"column {name!r}: groups name {value!r} in {group!r}, but range_values lacks it: add it there, "
            "or remove it from the group",
        )
