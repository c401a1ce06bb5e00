"""Parquet files of a Dask DataFrame, read by the tasks themselves, with texts as dictionaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from dask.dataframe.dask_expr.io.parquet import ReadParquetFSSpec
from dask.dataframe.io.parquet.arrow import ArrowDatasetEngine

from sdv_plausible.table.files.storage_types import has_invalid_utf8

DEFAULT_OPERANDS = {
    "engine": "pyarrow", "filters": None, "categories": None, "kwargs": {"dtype_backend": None},
    "_partitions": None, "_series": False,
}  # fmt: skip


@dataclass(frozen=True)
class Partition:
    """Location of a partition's rows: paths, and the row groups of each (None for all)."""

    filesystem: Any
    pieces: tuple[tuple[str, Any], ...]

    def read(self, names: list[str]) -> pd.DataFrame:
        """Read the cells as Dask would, but texts as categories: each distinct text is parsed once."""
        tables = [self._read(path, groups, names) for path, groups in self.pieces]
        table = pa.concat_tables(tables) if len(tables) > 1 else tables[0]
        for position, name in enumerate(names):
            cells = table.column(position)
            dictionaries = [part.dictionary for part in cells.chunks if pa.types.is_dictionary(part.type)]
            if any(map(has_invalid_utf8, dictionaries)):  # cannot become categories
                table = table.set_column(position, name, cells.cast(cells.type.value_type))
        as_it_is = {"split_blocks": True}  # do not copy columns into one block
        frame = ArrowDatasetEngine._arrow_table_to_pandas(
            table, None, convert_string=True, arrow_to_pandas=as_it_is
        )
        return frame if list(frame.columns) == names else frame.reset_index()[names]

    def _read(self, path: str, groups: Any, names: list[str]) -> Any:
        with self.filesystem.open(path, "rb", cache_type="none") as opened:
            stored = pq.ParquetFile(opened)
            schema = stored.schema_arrow
            texts = [name for name in names if pa.types.is_string(schema.field(name).type)]
            file = pq.ParquetFile(opened, metadata=stored.metadata, read_dictionary=texts, pre_buffer=True)
            if groups is None:
                groups = [*range(file.num_row_groups)]
            return file.read_row_groups(groups, columns=names, use_threads=False).select(names)


def partitions_of(table: Any) -> list[Partition] | None:
    """Location of each partition's rows; None where Dask does more than read files."""
    read = table.expr
    if type(read) is not ReadParquetFSSpec or any(read.operand(k) != v for k, v in DEFAULT_OPERANDS.items()):
        return None
    plan, filesystem = read._plan, read._dataset_info["fs"]
    options = plan["common_kwargs"]
    if plan["empty"] or options.get("partitions") or not options.get("convert_string"):
        return None
    parts = [part if isinstance(part, list) else [part] for part in plan["parts"]]
    pieces = [[piece["piece"] for piece in part] for part in parts]
    partitions = [Partition(filesystem, tuple((path, groups) for path, groups, _ in part)) for part in pieces]
    return (
        partitions if all(isinstance(path, str) for part in partitions for path, _ in part.pieces) else None
    )
