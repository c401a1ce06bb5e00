"""The table's schema in a release file: columns in order, their sdtypes and dtypes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.release.file.document_nodes import DocumentNode
from sdv_plausible.table.cells.canonical_forms import LONGEST_NAME
from sdv_plausible.table.cells.cell_documents import ZONE_PATTERN, write_value
from sdv_plausible.table.codec import ColumnCodec
from sdv_plausible.table.columns.column_document import DATE_FORMAT, TYPE_WORDS
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.columns.id_formats import ID_FORMAT, is_short_format
from sdv_plausible.table.columns.output_types import STORAGE_PATTERN, generated_type, output_type
from sdv_plausible.utils.file_paths import violated_rule

DTYPE_PATTERN = (
    r"object|str|bool|boolean|string(\[(python|pyarrow)\])?|u?int(8|16|32|64)|U?Int(8|16|32|64)|float(16|32|64)|Float(32|64)"
    r"|datetime64\[(s|ms|us|ns)(, [^\[\],]{1,160})?\]|[a-z0-9_]{1,30}(\[(s|ms|us|ns|day)(, "
    r"tz=[^\[\],]{1,160})?\])?\[pyarrow\]"
)
SDTYPE = r"^[A-Za-z_][A-Za-z0-9_]{0,99}$"  # SDV's sdtypes and Faker's methods
_COLUMN = ("name", "label", *TYPE_WORDS, "dtype")


@dataclass(frozen=True, kw_only=True)
class SchemaColumn:
    """One column."""

    name: str
    label: str | int  # label in the table; an integer label has its text as name
    # ``sdtype`` and optionally ``datetime_format``, ``regex_format`` and ``pii``
    spec: Mapping[str, Any]
    dtype: Any  # output dtype
    storage: str | None = None  # storage type in the table's file, if it has a schema


@dataclass(frozen=True, kw_only=True)
class TableSchema:
    """Public metadata of a table."""

    table: str
    columns: tuple[SchemaColumn, ...]
    primary_key: str | tuple[str, ...] | None = None
    alternate_keys: tuple[str | tuple[str, ...], ...] = ()
    # (type, column names) of related columns, such as an address
    relationships: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def keys(self) -> frozenset[str]:
        """Names of all key columns."""
        all_keys = [*self.alternate_keys, *([] if self.primary_key is None else [self.primary_key])]
        return frozenset(name for key in all_keys for name in ((key,) if isinstance(key, str) else key))

    @property
    def dtypes(self) -> pd.Series[Any]:
        """Dtypes of the columns, by label."""
        return pd.Series([c.dtype for c in self.columns], index=[c.label for c in self.columns], dtype=object)

    @property
    def storage(self) -> dict[str, str]:
        """Storage types of the columns in the table's file, by name."""
        return {c.name: c.storage for c in self.columns if c.storage is not None}

    def dtypes_from_rows(self, domain: Domain) -> dict[str, str]:
        """Columns whose dtype was read off the real rows (before 0.2), and what it reveals."""
        leaked, attributes = {}, {attribute.name: attribute for attribute in domain}
        for column in self.columns:
            attribute = attributes.get(column.name)
            if attribute is None and isinstance(column.dtype, pd.CategoricalDtype):
                leaked[column.name] = "every value of the real column"
            elif _is_old_dtype(column, attribute):
                continue
            elif attribute is None and column.dtype != generated_type(column.spec):
                leaked[column.name] = f"stored as {column.dtype}"
            elif attribute is not None and column.dtype != output_type(attribute, column.dtype):
                is_category = isinstance(column.dtype, pd.CategoricalDtype)
                leaked[column.name] = f"stored as {'a category' if is_category else column.dtype}"
        return leaked

    def without_categories(self, domain: Domain) -> TableSchema:
        """The schema without categories of columns that are not modelled."""
        columns = [
            replace(c, dtype=generated_type(c.spec))
            if c.name not in domain and isinstance(c.dtype, pd.CategoricalDtype)
            else c
            for c in self.columns
        ]
        return replace(self, columns=tuple(columns))


def _is_old_dtype(column: SchemaColumn, attribute: Attribute | None) -> bool:
    """Whether earlier versions gave this dtype: text for ids, int64 for integers with missing values."""
    if attribute is None:
        return bool(column.spec.get("regex_format")) and column.dtype == np.dtype(object)
    return attribute.kind == "integer" and not attribute.texts and column.dtype == np.dtype(np.int64)


def write_schema(schema: TableSchema, domain: Domain) -> dict[str, Any]:
    """Schema as a section."""
    if schema.without_categories(domain) != schema:
        names = [name for name, text in schema.dtypes_from_rows(domain).items() if text.startswith("every")]
        raise ValueError(
            f"columns {names} are not modelled, and their type contains every value of the real column, "
            "which a release file must not hold; use invented_type(spec)"
        )
    return {
        "table": schema.table,
        "columns": [_write_column(column) for column in schema.columns],
        "primary_key": _plain_key(schema.primary_key),
        "alternate_keys": [_plain_key(key) for key in schema.alternate_keys],
        "relationships": [{"type": kind, "columns": list(names)} for kind, names in schema.relationships],
    }


def _plain_key(key: str | tuple[str, ...] | None) -> Any:
    return list(key) if isinstance(key, tuple) else key


def _write_column(column: SchemaColumn) -> dict[str, Any]:
    spec = {key: column.spec.get(key) for key in TYPE_WORDS}
    stored = {} if column.storage is None else {"storage": column.storage}
    return {"name": column.name, "label": column.label, **spec, "dtype": write_dtype(column), **stored}


def write_dtype(column: SchemaColumn) -> Any:
    """JSON form of a column's dtype."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        values = [write_value(value) for value in column.dtype.categories]
        return {"values": values, "ordered": bool(column.dtype.ordered)}
    if not re.fullmatch(DTYPE_PATTERN, str(column.dtype)):
        raise ValueError(
            f"column {column.name!r} has the type {column.dtype}, which cannot be stored in a release file"
        )
    text = isinstance(column.dtype, pd.StringDtype)  # str() omits its storage
    return f"string[{column.dtype.storage}]" if text else str(column.dtype)


def read_schema(node: DocumentNode, domain: Domain) -> TableSchema:
    """Read and check the section of the schema."""
    f = node.fields(("table", "columns", "primary_key", "alternate_keys", "relationships"))
    columns = tuple(_read_column(item) for item in f["columns"].items(100_000))
    names, labels = [c.name for c in columns], [c.label for c in columns]
    if not (len(set(names)) == len(set(labels)) == len(columns)):
        raise f["columns"].refuse("names and labels must be distinct")
    known = {name: name for name in names}
    if any(str(column.label) != column.name for column in columns):
        raise f["columns"].refuse("a column's label must be its name, or the number that is its name")

    if not set(domain.names) <= set(names):
        raise f["columns"].refuse("must have the columns of the domain")
    for column, item in zip(columns, f["columns"].items(), strict=True):
        if not _dtype_fits(column, domain):
            raise DocumentNode(None, f"{item.path}.dtype").refuse(
                "must be a type that holds what the column's domain has"
            )

    def key(p: DocumentNode) -> str | tuple[str, ...]:
        return (
            p.lookup(known)
            if isinstance(p.value, str)
            else tuple(item.lookup(known) for item in p.items(1000))
        )

    related = [item.fields(("type", "columns")) for item in f["relationships"].items(1000)]
    return TableSchema(
        table=_read_table_name(f["table"]),
        columns=columns,
        primary_key=f["primary_key"].optional(key),
        alternate_keys=tuple(key(item) for item in f["alternate_keys"].items(1000)),
        relationships=tuple(
            (r["type"].text(LONGEST_NAME), tuple(item.lookup(known) for item in r["columns"].items(1000)))
            for r in related
        ),
    )


def _read_table_name(node: DocumentNode) -> str:
    """Name of a table, which must be a valid file name."""
    name = node.text(LONGEST_NAME)
    if rule := violated_rule(name):
        raise node.refuse(f"a table's name becomes a file name, which {rule}: rename the table")
    return name


def _read_column(node: DocumentNode) -> SchemaColumn:
    is_stored = isinstance(node.value, dict) and "storage" in node.value
    f = node.fields((*_COLUMN, "storage") if is_stored else _COLUMN)
    spec: dict[str, Any] = {"sdtype": f["sdtype"].text(LONGEST_NAME, SDTYPE)}
    for key, read in (
        ("datetime_format", _read_format),
        ("regex_format", _read_regex),
        ("pii", DocumentNode.boolean),
    ):
        if f[key].value is not None:
            spec[key] = read(f[key])
    label = f["label"].text(LONGEST_NAME) if isinstance(f["label"].value, str) else f["label"].whole()
    return SchemaColumn(
        name=f["name"].text(LONGEST_NAME), label=label, spec=spec, dtype=_read_dtype(f["dtype"]),
        storage=f["storage"].text(LONGEST_NAME, STORAGE_PATTERN) if is_stored else None,
    )  # fmt: skip


def _read_format(node: DocumentNode) -> str:
    """Date format that this machine supports."""
    date_format = node.text(200, DATE_FORMAT)
    node.validate(lambda: pd.Timestamp(0).strftime(date_format))
    return date_format


def _read_zone(node: DocumentNode) -> None:
    """Reject a time zone that this machine does not know."""
    zone = node.text(pattern=ZONE_PATTERN)
    try:
        pd.Timestamp(0, tz="UTC").tz_convert(zone)
    except Exception:  # time-zone libraries raise various errors
        raise node.refuse("must be the name of a known time zone") from None


def _read_regex(node: DocumentNode) -> str:
    if not is_short_format(node.value):  # ids of other patterns are numbered
        raise node.refuse(f"must be {ID_FORMAT}")
    return node.text()


def _read_dtype(node: DocumentNode) -> Any:
    if isinstance(node.value, dict):
        f = node.fields(("values", "ordered"))
        values, ordered = [item.cell() for item in f["values"].items()], f["ordered"].boolean()
        return node.validate(lambda: pd.CategoricalDtype(values, ordered))
    name = node.text(LONGEST_NAME, DTYPE_PATTERN)
    zone = re.search(r", (tz=)?(.*?)\]", name)
    if zone:
        _read_zone(DocumentNode(zone.group(2), node.path))
    try:
        return pd.api.types.pandas_dtype(name)
    except ImportError:
        raise node.refuse("is a type of Arrow: install pyarrow") from None
    except (TypeError, ValueError, NotImplementedError):
        raise node.refuse("must be the name of a pandas type") from None


def _dtype_fits(column: SchemaColumn, domain: Domain) -> bool:
    """Whether a column's dtype represents all values of its attribute."""
    if column.name not in domain:
        return True
    attribute = domain[column.name]
    if output_type(attribute, column.dtype) == column.dtype and attribute.provenance != "inferred":
        return True
    codes = np.arange(attribute.cardinality) if attribute.values else np.array([0, attribute.cardinality - 1])
    decoded = pd.Series(ColumnCodec(attribute).decode(codes, KeyedRNG.from_seed(0)))
    try:
        cast = cast_column(decoded, column.dtype)
    except (TypeError, ValueError, OverflowError):
        return False
    if pd.api.types.is_float_dtype(cast.dtype):
        return True
    return bool((cast.isna() == decoded.isna()).all() and (cast == decoded)[decoded.notna()].all())


def cast_column(column: pd.Series[Any], dtype: Any) -> pd.Series[Any]:
    """Cast a column to its dtype; floats with missing values stay floats if the dtype has no missing."""
    if pd.api.types.is_integer_dtype(dtype) and pd.api.types.is_float_dtype(column.dtype):
        column = column.round()
        if column.isna().any() and isinstance(dtype, np.dtype):
            return column
    if not (is_present := column.notna()).all():
        column = column[is_present].reindex(column.index)  # every missing value becomes NaN
    return column.astype(dtype)
