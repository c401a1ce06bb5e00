"""Sources of Arrow record batches that are opened again for every pass."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

from sdv_plausible.sources.file_sources import ArrowSource
from sdv_plausible.sources.source import SourceError, raise_source_errors
from sdv_plausible.table.columns.cell_reader import ColumnType

READ_ONCE = (
    "source ({name}) can be read once, and a fit reads several times: give a function without arguments that "
    "opens it anew, such as lambda: cursor.execute(query).fetch_record_batch()"
)


def stream_source(opened: Callable[[], Any], types: Mapping[str, ColumnType], rows: int) -> ArrowSource:
    """Source of a function that opens the table: an Arrow stream, or record batches or tables of one schema.

    The function is called for the schema, once per pass, and twice before the first pass: the test that it
    returns the rows again must come before the budget is charged.

    Raises
    ------
    ValueError
        If it returns anything else, no batch, or other rows the second time.
    """
    stream = raise_source_errors(opened)
    first = raise_source_errors(lambda: next(_tables(stream), None))
    if first is None:
        raise SourceError("source gave no record batch: a table without rows is a batch of no rows")
    schema = first.schema
    if isinstance(stream, Generator):  # closes its resources
        stream.close()

    def checked_tables() -> Iterator[Any]:
        for table in _tables(opened()):
            if not table.schema.equals(schema):
                raise SourceError(
                    f"source: a batch has the schema {table.schema.names} of types {table.schema.types}, the "
                    f"first one {schema.names} of {schema.types}: give all batches one schema, as by "
                    "pyarrow.RecordBatch.from_pandas(part, schema=schema)"
                )
            yield table

    def batches(names: Sequence[str], rows: int) -> Iterator[Any]:
        for table in checked_tables():
            chosen = table.select(list(names))
            for start in range(0, chosen.num_rows, rows):
                yield chosen.slice(start, rows)

    source = ArrowSource(schema, batches, types, rows, in_order=False)
    # A stream opened outside the function gives the remaining rows the second time, and none the third time.
    # A pass of the fit would detect this too late, after the budget is charged.
    num_rows = raise_source_errors(lambda: sum(table.num_rows for table in checked_tables()))
    has_rows_again = raise_source_errors(lambda: any(table.num_rows for table in checked_tables()))
    if first.num_rows > num_rows or has_rows_again != bool(num_rows):
        raise SourceError(READ_ONCE.format(name=type(stream).__name__))
    source.fingerprints.check([num_rows])
    return source


def ibis_source(table: Any, types: Mapping[str, ColumnType], rows: int) -> ArrowSource:
    """Source of an Ibis table expression, run once per pass for the declared columns only."""

    def batches(names: Sequence[str], rows: int) -> Iterator[Any]:
        yield from _tables(table.select(list(names)).to_pyarrow_batches(chunk_size=rows))

    schema = table.schema().to_pyarrow()
    return ArrowSource(schema, batches, types, rows, in_order=False)


def _tables(stream: Any) -> Iterator[Any]:
    """Yield Arrow tables of a stream or an iterable of batches; a stream without rows is one empty table."""
    import pyarrow as pa

    if hasattr(stream, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(stream)
        yield _without_string_views(reader.schema.empty_table())
        stream = reader
    for batch in stream:
        if not isinstance(batch, (pa.RecordBatch, pa.Table)):
            raise SourceError(
                f"source gave a {type(batch).__name__}: each piece must be a pyarrow.RecordBatch or Table, "
                "made with one schema, such as pyarrow.RecordBatch.from_pylist(rows, schema=schema)"
            )
        yield _without_string_views(
            pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
        )


def _without_string_views(table: Any) -> Any:
    """Convert string views to plain strings."""
    import pyarrow as pa

    is_view = getattr(pa.types, "is_string_view", lambda _: False)
    types = [pa.large_string() if is_view(field.type) else field.type for field in table.schema]
    return table.cast(pa.schema(zip(table.schema.names, types, strict=True)))
