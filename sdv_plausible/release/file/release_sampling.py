"""Sampling rows from a release without SDV."""

from __future__ import annotations

import base64
import io
import os
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.mechanism.drawing.released_prefixes import ReleasedSeeds
from sdv_plausible.models.base import PrefixModel
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.release.file.fake_columns import PartPosition, make_placeholders
from sdv_plausible.release.file.schema_section import TableSchema, cast_column
from sdv_plausible.rules.rule_set import FittedRules
from sdv_plausible.table.codec import Codec, ColumnCodec
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.columns.output_types import arrow_type, restore_storage, to_pandas_types
from sdv_plausible.utils.atomic_files import part_folder

PART_ROWS = 500_000  # rows per part of chunked sampling
# Measured peak bytes per cell of a modelled column and of a placeholder column.
MODELLED_BYTES, PLACEHOLDER_BYTES = 36, 160
_UNKNOWN_MEMORY = 64 * 2**30  # if the system reports nothing


def available_memory() -> int:
    """Available memory of this machine or of this process's limit, in bytes."""
    limits = []
    with suppress(OSError, ValueError, IndexError):
        meminfo = Path("/proc/meminfo").read_text(encoding="ascii").partition("MemAvailable:")[2]
        limits.append(1024 * int(meminfo.split()[0]))
    with suppress(OSError, ValueError):
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    with suppress(OSError, ValueError, AttributeError):
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(limits, default=_UNKNOWN_MEMORY)


def check_memory(num_rows: int, modelled: int, invented: int) -> None:
    """Reject a table that does not fit in memory; the counts are of modelled and other columns."""
    needed = num_rows * (modelled * MODELLED_BYTES + invented * PLACEHOLDER_BYTES)
    available = available_memory()
    if needed > available:
        raise Refused(
            "num_rows",
            num_rows,
            f"needs about {needed / 2**30:,.1f} GiB of memory, but only {available / 2**30:,.1f} GiB are "
            "free",
            "use fewer rows, or sample in parts: sample_parts or sample_to_parquet of release()",
        )


def sample_table(
    num_rows: int,
    given: Mapping[str, Any],
    *,
    domain: Domain,
    model: PrefixModel,
    seeds: ReleasedSeeds,
    schema: TableSchema,
    rules: FittedRules,
    locales: Sequence[str],
    rng: KeyedRNG,
    uniform: Sequence[str] = (),
    position: PartPosition = (0, 0),
) -> pd.DataFrame:
    """Draw rows (post-processing); an error if the ``given`` values have joint probability 0."""
    # ``uniform``: columns with uniform codes. ``position``: (rows before these, rows of the whole table).
    codec, attributes, given = Codec(domain), rules.whole(domain), rules.given(given)
    uniform_columns = _uniform_columns(uniform, given, domain)
    given_codes = _given_codes(given, codec, rules)

    def draw(num_wanted: int, number: int) -> pd.DataFrame:
        stream = rng if number == 0 else rng.spawn("again", number)
        codes = _draw_codes(num_wanted, given_codes, model, seeds, stream)
        for j in uniform_columns:
            codes[:, j] = stream.spawn("uniform", j).integers(domain.cardinalities[j], num_wanted)
        return decode_rows(codes, given, codec, rules, stream)

    table = rules.draw(num_rows, draw, attributes)
    # Decoded categories are already objects with NaN for missing, so no cast is needed.
    decoded_so = {a.name for a in domain if a.kind in ("categorical", "ordinal")} - set(given)
    streams = partial(rng.spawn, "invented")
    return complete_table(
        table, schema, attributes, streams, locales=locales, decoded_so=decoded_so, position=position
    )


def complete_table(
    table: pd.DataFrame,
    schema: TableSchema,
    whole: Domain,
    streams: Callable[[str], KeyedRNG],
    *,
    locales: Sequence[str],
    decoded_so: Collection[str] = (),
    position: PartPosition = (0, 0),
) -> pd.DataFrame:
    """Add the schema's missing columns with placeholder values, and set its order and dtypes."""
    columns = {}
    for column in schema.columns:
        name = column.name
        if name in table and ((name in decoded_so and column.dtype == object) or name not in whole):
            columns[name] = table[name]
        elif name in whole:
            columns[name] = cast_column(table[name], column.dtype)
        else:
            is_key, stream = name in schema.keys, streams(name)
            columns[name] = make_placeholders(
                column, len(table), stream, is_key=is_key, locales=locales, position=position
            )
    frame = restore_storage(to_pandas_types(pd.DataFrame(columns), whole), schema.storage, whole)
    frame.columns = pd.Index([column.label for column in schema.columns])
    return frame


def decode_rows(
    codes: np.ndarray, given: Mapping[str, Any], codec: Codec, rules: FittedRules, rng: KeyedRNG
) -> pd.DataFrame:
    """Decode rows: draw values inside bins, insert given values, and derive the rules' columns."""
    table = codec.decode(codes, rng.spawn("inside the bins"))
    for name, value in given.items():
        if name in table:
            table[name] = pd.Series([value] * len(table), index=table.index)
    return rules.unfold(table)


def _given_codes(given: Mapping[str, Any], codec: Codec, rules: FittedRules) -> dict[int, int]:
    """Codes of the given values."""
    names = codec.domain.names
    for name, value in given.items():
        if name in rules.made:
            rule = next(rule for rule in rules.rule_set.deriving_rules if name in rule.made)
            raise ValueError(
                f"given names {name!r}, which is derived by the rule '{rule}': give the columns from which "
                "it is derived"
            )
        if name not in names:
            raise ValueError(
                f"given names {name!r}, which is not a modelled column: rows can be conditioned on "
                f"{list(names)}"
            )
        codec.check_value(name, value, is_written=name not in rules.rule_set.added)
    return {names.index(name): codec.encode_value(name, value) for name, value in given.items()}


def _uniform_columns(names: Sequence[str], given: Mapping[str, Any], domain: Domain) -> list[int]:
    """Indices of the columns that are drawn uniformly ([DS], Algorithm 2: A_U)."""
    is_list = isinstance(names, Iterable) and not isinstance(names, str)
    if not is_list or not all(isinstance(name, str) and name in domain.names for name in names):
        raise Refused("uniform", names, f"must be a list of modelled columns, some of {list(domain.names)}")
    both = sorted(set(names) & set(given))
    if both:
        raise ValueError(f"uniform and given both name {both}: a column is either given or drawn")
    return [domain.names.index(name) for name in dict.fromkeys(names)]


def _draw_codes(
    num_rows: int, given_codes: Mapping[int, int], model: PrefixModel, seeds: ReleasedSeeds, rng: KeyedRNG
) -> np.ndarray:
    if not given_codes:
        return seeds.sample(num_rows, model, rng)
    codes = seeds.sample_given(num_rows, given_codes, model, rng)
    if len(codes) < num_rows:
        raise ValueError(
            "given: these values cannot occur together (their probability is 0): remove one of them"
        )
    return codes


MIN_AHEAD = 4  # smallest number of parts in progress


@dataclass(frozen=True, eq=False)
class PartRequest:
    """Everything that a part needs; picklable, for other processes."""

    # Arguments of ``sample_table`` that do not depend on the call
    release: Mapping[str, Any]
    num_rows: int  # of all parts
    rows: int  # per part
    rng: KeyedRNG

    @classmethod
    def of(
        cls, release: Mapping[str, Any], num_rows: int, rows: int, random_state: int | None
    ) -> PartRequest:
        """Check the arguments of a call, and derive its random streams."""
        check.whole("num_rows", num_rows, 0, "try 1000")
        check.whole("rows", rows, 1, f"try {PART_ROWS}")
        rng = KeyedRNG.from_os_entropy() if random_state is None else KeyedRNG.from_seed(random_state)
        return cls(release, int(num_rows), int(rows), rng.spawn("sample in parts"))

    def __len__(self) -> int:
        """Return the number of parts, at least 1, so that an empty table has its columns."""
        return max(-(-self.num_rows // self.rows), 1)

    def __reduce__(self) -> Any:
        """Pickle as bytes that each process unpickles once, not once per part."""
        return _unpickled, (self._pickled,)

    @cached_property
    def _pickled(self) -> bytes:
        return pickle.dumps((self.release, self.num_rows, self.rows, self.rng))

    def part(self, number: int) -> pd.DataFrame:
        """Make one part."""
        start = number * self.rows
        size = min(self.rows, self.num_rows - start)
        return sample_table(
            size, {}, rng=self.rng.spawn("part", number), position=(start, self.num_rows), **self.release
        )

    def parquet(self, number: int) -> bytes:
        """Make one part as the content of a Parquet file."""
        start = number * self.rows
        size, rng = min(self.rows, self.num_rows - start), self.rng.spawn("part", number)
        return parquet_bytes(sample_arrow(size, rng=rng, position=(start, self.num_rows), **self.release))


@lru_cache(maxsize=1)
def _unpickled(data: bytes) -> PartRequest:
    return PartRequest(*pickle.loads(data))


def make_parts(
    request: PartRequest, make: Callable[[PartRequest, int], Any], executor: Executor | None
) -> Iterator[Any]:
    """Make all parts in order; with workers, a few parts ahead of the consumer."""
    numbers = range(len(request))
    if executor is None:
        return (make(request, number) for number in numbers)
    from sdv_plausible.utils.parallel import map_in_order  # lazy

    ahead = max(MIN_AHEAD, 2 * int(getattr(executor, "_max_workers", 0) or 0))
    return map_in_order(executor, partial(make, request), numbers, ahead)


def write_parts(request: PartRequest, folder: Path, executor: Executor | None) -> list[Path]:
    """Write all parts as Parquet files into a folder, atomically."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(
            f"folder ({str(folder)!r}) must be new or empty, so that parts of two tables are not mixed"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with part_folder(folder.parent) as hidden:
        parts = hidden / "parts"
        parts.mkdir()
        for number, content in enumerate(make_parts(request, PartRequest.parquet, executor)):
            (parts / f"part-{number:06d}.parquet").write_bytes(content)
        if folder.exists():
            folder.rmdir()
        parts.rename(folder)
    return sorted(folder.iterdir())


class ChunkedSampler(ABC):
    """Mixin that draws many rows part by part."""

    @abstractmethod
    def _sampling_arguments(self) -> dict[str, Any]:
        """Arguments of ``sample_table`` that do not depend on the call."""

    def sample_parts(
        self,
        num_rows: int,
        *,
        rows: int = PART_ROWS,
        random_state: int | None = None,
        executor: Executor | None = None,
    ) -> Iterator[pd.DataFrame]:
        """Draw many rows part by part, in constant memory.

        The rows are the same for any number of workers.

        Parameters
        ----------
        num_rows : int
            Number of rows in all, >= 0.
        rows : int
            Rows per part. Another part size gives other rows.
        random_state : int, optional
            Seed that repeats the rows of the same call; by default fresh rows.
        executor : concurrent.futures.Executor, optional
            Executor that makes the parts, such as a ``ProcessPoolExecutor`` or a Dask client's
            ``get_executor()``; by default this process.

        Yields
        ------
        DataFrame
            The parts in order.
        """
        yield from make_parts(
            PartRequest.of(self._sampling_arguments(), num_rows, rows, random_state),
            PartRequest.part,
            executor,
        )

    def sample_to_parquet(
        self,
        folder: str | Path,
        num_rows: int,
        *,
        rows: int = PART_ROWS,
        random_state: int | None = None,
        executor: Executor | None = None,
    ) -> list[Path]:
        """Draw many rows into a folder of Parquet files, written atomically.

        Parameters
        ----------
        folder : str or Path
            New or empty folder.
        num_rows, rows, random_state, executor
            As for :meth:`sample_parts`. The bytes are the same for any number of workers.

        Returns
        -------
        list of Path
            The files.
        """
        return write_parts(
            PartRequest.of(self._sampling_arguments(), num_rows, rows, random_state), Path(folder), executor
        )


def sample_arrow(
    num_rows: int,
    *,
    domain: Domain,
    model: PrefixModel,
    seeds: ReleasedSeeds,
    schema: TableSchema,
    rules: FittedRules,
    locales: Any,
    rng: KeyedRNG,
    position: PartPosition = (0, 0),
) -> Any:
    """Draw rows as a ``pyarrow.Table`` whose categorical columns are dictionaries."""
    import pyarrow as pa

    attributes = rules.whole(domain)
    if rules.rule_set:
        plain = replace(schema, columns=tuple(replace(column, storage=None) for column in schema.columns))
        frame = sample_table(
            num_rows, {}, domain=domain, model=model, seeds=seeds, schema=plain, rules=rules,
            locales=locales, rng=rng, position=position,
        )  # fmt: skip
        table = pa.table({str(name): _arrow_array(frame[name], attributes) for name in frame.columns})
        return _cast_to_storage(table, schema, attributes)
    codes = seeds.sample(num_rows, model, rng)
    inside, arrays = rng.spawn("inside the bins"), {}
    types = {column.name: column.dtype for column in schema.columns}
    for j, attribute in enumerate(domain):  # the order determines the random numbers
        arrays[attribute.name] = _decode_column(
            codes[:, j], attribute, types[attribute.name], inside, attributes
        )
    for column in schema.columns:
        if column.name not in attributes:
            stream, is_key = rng.spawn("invented", column.name), column.name in schema.keys
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
    codes: np.ndarray, attribute: Attribute, dtype: Any, rng: KeyedRNG, attributes: Domain
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
    cells = pd.Series(codec.decode(codes, rng), name=attribute.name)
    if is_plain and attribute.kind in ("integer", "float"):
        return _arrow_array(cells, attributes)
    stored = to_pandas_types(pd.DataFrame({attribute.name: cast_column(cells, dtype)}), attributes)
    return _arrow_array(stored[attribute.name], attributes)


def _arrow_array(column: pd.Series[Any], attributes: Domain) -> Any:
    """A column as the Arrow type of its attribute, so that all parts agree."""
    import pyarrow as pa

    from sdv_plausible.table.files.table_file import cells_as_text

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
