"""Parquet files in the hands of Dask, whose texts workers read as dictionaries: each is looked at once."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from dask.dataframe.dask_expr import new_collection
from dask.dataframe.dask_expr.io.parquet import ReadParquetFSSpec
from dask.dataframe.io.parquet.arrow import ArrowDatasetEngine

from sdv_plausible.table.files.storage import holds_no_text

READ_AS_USUAL = {"engine": "pyarrow", "filters": None, "categories": None, "kwargs": {"dtype_backend": None}}


def with_dictionaries(table: Any) -> Any:
    """The same rows in the same partitions, texts as categories, where nothing but files are read.

    A table that is filtered, or that a function was applied to, is left as it is.
    """
    read = table.expr
    if type(read) is not ReadParquetFSSpec or any(read.operand(k) != v for k, v in READ_AS_USUAL.items()):
        return table
    return new_collection(read.substitute_parameters({"engine": Dictionaries}))


class Dictionaries(ArrowDatasetEngine):  # type: ignore[misc]
    """Dask's own reader, but for texts: which file and which row groups a partition is, Dask says."""

    @classmethod
    def _read_table(
        cls, path: Any, fs: Any, groups: Any, columns: Any, schema: Any, filters: Any, partitions: Any,
        *more: Any, **how: Any,
    ) -> Any:  # fmt: skip
        if not isinstance(path, str) or filters or partitions or not how.get("convert_string"):
            return super()._read_table(path, fs, groups, columns, schema, filters, partitions, *more, **how)
        with fs.open(path, "rb", cache_type="none") as opened:
            stored = pq.ParquetFile(opened)
            texts = [name for name in stored.schema_arrow.names if _is_text(stored.schema_arrow.field(name))]
            file = pq.ParquetFile(opened, metadata=stored.metadata, read_dictionary=texts, pre_buffer=True)
            known = {"columns": columns, "use_threads": False, "use_pandas_metadata": True}
            return file.read(**known) if groups == [None] else file.read_row_groups(groups, **known)

    @classmethod
    def _arrow_table_to_pandas(cls, table: Any, *more: Any, **how: Any) -> Any:
        for place, name in enumerate(table.column_names):
            cells = table.column(place)
            known = [part.dictionary for part in cells.chunks if pa.types.is_dictionary(part.type)]
            if any(map(holds_no_text, known)):  # it would end the pass
                table = table.set_column(place, name, cells.cast(cells.type.value_type))
        return super()._arrow_table_to_pandas(table, *more, **how)


def _is_text(field: Any) -> bool:
    return bool(pa.types.is_string(field.type))
