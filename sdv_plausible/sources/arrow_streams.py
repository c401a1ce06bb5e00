"""Whatever gives Arrow's record batches, and gives them anew for every pass."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

from sdv_plausible.sources.file_sources import ArrowSource
from sdv_plausible.sources.source import SourceError, quietly
from sdv_plausible.table.columns.cell_reader import ColumnType

READ_ONCE = (
    "source ({name}) can be read once, and a fit reads several times: give a function without arguments that "
    "opens it anew, such as lambda: cursor.execute(query).fetch_record_batch()"
)


def stream_source(opened: Callable[[], Any], types: Mapping[str, ColumnType], rows: int) -> ArrowSource:
    """A function that opens the table anew: an Arrow stream, or record batches or tables of one schema.

    It is called for the schema, once for every pass, and twice before the first: whether it gives the rows
    anew is seen before anything is paid for.

    Raises
    ------
    ValueError
        If it gives anything else, no batch, or other rows the second time.
    """
    given = quietly(opened)
    first = quietly(lambda: next(_tables(given), None))
    if first is None:
        raise SourceError("source gave no record batch: a table without rows is a batch of no rows")
    schema = first.schema
    if isinstance(given, Generator):  # what it holds open
        given.close()

    def alike() -> Iterator[Any]:
        for table in _tables(opened()):
            if not table.schema.equals(schema):
                raise SourceError(
                    f"source: a batch has the schema {table.schema.names} of types {table.schema.types}, the "
                    f"first one {schema.names} of {schema.types}: give all batches one schema, as by "
                    "pyarrow.RecordBatch.from_pandas(part, schema=schema)"
                )
            yield table

    def batches(names: Sequence[str], rows: int) -> Iterator[Any]:
        for table in alike():
            chosen = table.select(list(names))
            for start in range(0, chosen.num_rows, rows):
                yield chosen.slice(start, rows)

    made = ArrowSource(schema, batches, types, rows, in_order=False)
    # What was opened outside the function gives the rest the second time, and nothing the third. In a pass of
    # the fit it would be too late: that has been paid for.
    there = quietly(lambda: sum(table.num_rows for table in alike()))
    again = quietly(lambda: any(table.num_rows for table in alike()))
    if first.num_rows > there or again != bool(there):
        raise SourceError(READ_ONCE.format(name=type(given).__name__))
    made.unchanged.check([there])
    return made


def ibis_source(table: Any, types: Mapping[str, ColumnType], rows: int) -> ArrowSource:
    """A table expression of Ibis, run once for every pass; its backend gives the declared columns alone."""

    def batches(names: Sequence[str], rows: int) -> Iterator[Any]:
        yield from _tables(table.select(list(names)).to_pyarrow_batches(chunk_size=rows))

    schema = table.schema().to_pyarrow()
    return ArrowSource(schema, batches, types, rows, in_order=False)


def _tables(given: Any) -> Iterator[Any]:
    """Arrow tables of a stream, or of an iterable of batches; a stream without rows is one empty table."""
    import pyarrow as pa

    if hasattr(given, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(given)
        yield _plain(reader.schema.empty_table())
        given = reader
    for batch in given:
        if not isinstance(batch, (pa.RecordBatch, pa.Table)):
            raise SourceError(
                f"source gave a {type(batch).__name__}: each piece must be a pyarrow.RecordBatch or Table, "
                "made with one schema, such as pyarrow.RecordBatch.from_pylist(rows, schema=schema)"
            )
        yield _plain(pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch)


def _plain(table: Any) -> Any:
    """Texts that are views of others as texts of their own."""
    import pyarrow as pa

    view = getattr(pa.types, "is_string_view", lambda _: False)
    kinds = [pa.large_string() if view(field.type) else field.type for field in table.schema]
    return table.cast(pa.schema(zip(table.schema.names, kinds, strict=True)))
