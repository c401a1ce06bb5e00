"""Synthetic rows as an Arrow table, without Python objects for cells.

The rows equal those of :func:`~sdv_plausible.release.file.release_sampling.sample_table` for the same random
streams.
"""

from __future__ import annotations

import base64
import io
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.mechanism.drawing.released_prefixes import ReleasedSeeds
from sdv_plausible.models.base import PrefixModel
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.release.file.fake_columns import PartPosition, make_placeholders
from sdv_plausible.release.file.release_sampling import sample_table
from sdv_plausible.release.file.schema_section import TableSchema, cast_column
from sdv_plausible.rules.rule_set import FittedRules
from sdv_plausible.table.codec import ColumnCodec
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.columns.output_types import arrow_type, restore_storage, to_pandas_types
from sdv_plausible.table.files.table_file import cells_as_text


def sample_arrow(
    num_rows: int,
    *,
    domain: Domain,
    model: PrefixModel,
    seeds: ReleasedSeeds,
    schema: TableSchema,
    rules: FittedRules,
    locales: Any,
    coins: KeyedRNG,
    position: PartPosition = (0, 0),
) -> Any:
    """Draw rows as a ``pyarrow.Table`` whose categorical columns are dictionaries."""
    import pyarrow as pa

    attributes = rules.whole(domain)
    if rules.rule_set:
        plain = replace(schema, columns=tuple(replace(column, storage=None) for column in schema.columns))
        frame = sample_table(
            num_rows, {}, domain=domain, model=model, seeds=seeds, schema=plain, rules=rules,
            locales=locales, coins=coins, position=position,
        )  # fmt: skip
        table = pa.table({str(name): _arrow_array(frame[name], attributes) for name in frame.columns})
        return _cast_to_storage(table, schema, attributes)
    codes = seeds.sample(num_rows, model, coins)
    inside, arrays = coins.spawn("inside the bins"), {}
    types = {column.name: column.dtype for column in schema.columns}
    for j, attribute in enumerate(domain):  # the order determines the random numbers
        arrays[attribute.name] = _decode_column(
            codes[:, j], attribute, types[attribute.name], inside, attributes
        )
    for column in schema.columns:
        if column.name not in attributes:
            stream, is_key = coins.spawn("invented", column.name), column.name in schema.keys
            values = make_placeholders(
                column, num_rows, stream, is_key=is_key, locales=locales, position=position
            )
            arrays[column.name] = _arrow_array(values.rename(column.label), attributes)
    # Non-nullable fields need no validity bitmap, which saves a fifth of the writing time.
    full = {attribute.name for attribute in domain if not attribute.nullable}
    fields = [
        pa.field(str(c.label), arrays[c.name].type, nullable=c.name not in full) for c in schema.columns
    ]
    table = pa.table([arrays[column.name] for column in schema.columns], schema=pa.schema(fields))
    return _cast_to_storage(table, schema, attributes)


def _cast_to_storage(table: Any, schema: TableSchema, attributes: Domain) -> Any:
    """Cast columns to the types that the table's file used."""
    import pyarrow as pa

    for index, column in enumerate(schema.columns):
        target = None
        if column.storage is not None and column.name in attributes:
            target = arrow_type(attributes[column.name], column.storage)
        if target is not None and target != table.schema.field(index).type:
            field, cells = table.schema.field(index).with_type(target), table.column(index)
            if pa.types.is_string(cells.type):  # dates in an inferred format
                frame = pd.DataFrame({column.name: cells.to_pandas()})
                frame = restore_storage(frame, {column.name: str(column.storage)}, attributes)
                cast = pa.chunked_array([pa.array(frame[column.name], target, from_pandas=True)])
            else:
                cast = cells.cast(target, safe=False)
            table = table.set_column(index, field, cast)
    return table


def parquet_bytes(table: Any) -> bytes:
    """Content of a Parquet file; its schema has plain values instead of dictionaries."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    plain_schema = pa.schema(
        f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) else f for f in table.schema
    )
    file = io.BytesIO()
    if not hasattr(pq.ParquetWriter, "add_key_value_metadata"):  # pyarrow before 16
        pq.write_table(table.cast(plain_schema), file)
        return file.getvalue()
    # Statistics of text pages take as long as the pages, and are useless for random rows.
    with_statistics = [f.name for f in table.schema if not pa.types.is_dictionary(f.type)]
    with pq.ParquetWriter(file, table.schema, store_schema=False, write_statistics=with_statistics) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(
            {b"ARROW:schema": base64.b64encode(plain_schema.serialize().to_pybytes())}
        )
    return file.getvalue()


def _decode_column(
    codes: np.ndarray, attribute: Attribute, dtype: Any, coins: KeyedRNG, attributes: Domain
) -> Any:
    import pyarrow as pa

    codec, values = ColumnCodec(attribute), attribute.values
    is_plain = attribute.provenance != "inferred" and not attribute.texts and attribute.number_format is None
    if is_plain and attribute.kind in ("categorical", "ordinal") and all(type(v) is str for v in values):
        indices = codes.astype(np.min_scalar_type(-len(values) - 1))
        missing = codes >= len(values) if attribute.nullable else None
        return pa.DictionaryArray.from_arrays(
            pa.array(indices, mask=missing), pa.array(values, pa.string()), safe=False
        )
    cells = pd.Series(codec.decode(codes, coins), name=attribute.name)
    if is_plain and attribute.kind in ("integer", "float"):
        return _arrow_array(cells, attributes)
    stored = to_pandas_types(pd.DataFrame({attribute.name: cast_column(cells, dtype)}), attributes)
    return _arrow_array(stored[attribute.name], attributes)


def _arrow_array(column: pd.Series[Any], attributes: Domain) -> Any:
    """A column as the Arrow type of its attribute, so that all parts agree."""
    import pyarrow as pa

    name = str(column.name)
    kind = _arrow_type(attributes[name]) if name in attributes else None
    if kind is None:
        return pa.array(column, from_pandas=True)
    try:
        return pa.array(column, kind, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # values of mixed types
        return pa.array(cells_as_text(column), kind)


def _arrow_type(attribute: Attribute) -> Any:
    import pyarrow as pa

    if attribute.texts or attribute.number_format is not None:
        return pa.string()
    if attribute.kind == "datetime":
        zoned = pa.timestamp("ns", attribute.time_zone)
        return pa.string() if attribute.datetime_format is not None else zoned
    if attribute.kind in ("integer", "float"):
        return pa.int64() if attribute.kind == "integer" else pa.float64()
    value_types = {type(value) for value in attribute.values}
    if value_types == {bool}:
        return pa.bool_()
    if value_types and value_types <= {int, float, np.int64, np.float64}:
        return pa.int64() if value_types <= {int, np.int64} else pa.float64()
    return pa.string()
