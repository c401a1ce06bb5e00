"""Many rows in flat memory: parts of a table, each from coins of its own, whoever makes it.

Part i depends on the release, the call and i alone, so that the rows are the same for any number of workers.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.privacy import checks as check
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.release_file.sampling import sample_table
from sdv_plausible.table.domain import Attribute, Domain
from sdv_plausible.whole_files import part_folder

PART_ROWS = 500_000
AHEAD = 4  # parts that are under way at a time, at least; twice the workers is enough for two


@dataclass(frozen=True, eq=False)
class Call:
    """What a part is made of; it can be sent to another process.

    Parameters
    ----------
    release : mapping
        Arguments of :func:`~sdv_plausible.release_file.sampling.sample_table` that the release gives.
    num_rows : int
        Of the whole table.
    rows : int
        Of a part.
    coins : Coins
        Of the call.
    """

    release: Mapping[str, Any]
    num_rows: int
    rows: int
    coins: Coins

    @classmethod
    def of(cls, release: Mapping[str, Any], num_rows: int, rows: int, random_state: int | None) -> Call:
        """Check a call.

        Raises
        ------
        ValueError
            If a number cannot be.
        """
        check.whole("num_rows", num_rows, 0, "try 1000")
        check.whole("rows", rows, 1, f"try {PART_ROWS}")
        coins = Coins.from_os_entropy() if random_state is None else Coins.from_seed(random_state)
        return cls(release, int(num_rows), int(rows), coins.spawn("sample in parts"))

    def __len__(self) -> int:
        """Return the number of parts, one at least: a table without rows has its columns."""
        return max(-(-self.num_rows // self.rows), 1)

    def part(self, number: int) -> pd.DataFrame:
        """Make one part."""
        before = number * self.rows
        size = min(self.rows, self.num_rows - before)
        return sample_table(
            size, {}, coins=self.coins.spawn("part", number), place=(before, self.num_rows), **self.release
        )

    def parquet(self, number: int) -> bytes:
        """Make one part, as the content of a Parquet file."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        frame, whole = self.part(number), self.release["rules"].whole(self.release["domain"])
        columns = {str(name): _arrow(frame[name], whole) for name in frame.columns}
        file = io.BytesIO()
        pq.write_table(pa.table(columns), file)
        return file.getvalue()


def in_turn(call: Call, make: Callable[[Call, int], Any], executor: Executor | None) -> Iterator[Any]:
    """Make all parts in order, a few ahead of the one that is wanted where there are workers."""
    if executor is None:
        yield from (make(call, number) for number in range(len(call)))
        return
    under_way: deque[Future[Any]] = deque()
    ahead = max(AHEAD, 2 * int(getattr(executor, "_max_workers", 0) or 0))
    for number in range(len(call)):
        under_way.append(executor.submit(make, call, number))
        if len(under_way) == ahead:
            yield under_way.popleft().result()
    while under_way:
        yield under_way.popleft().result()


def write_parts(call: Call, folder: Path, executor: Executor | None) -> list[Path]:
    """Write all parts as Parquet files into a folder, which is there whole or not at all.

    Raises
    ------
    ValueError
        If there is something in the folder.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"folder ({str(folder)!r}) must be new or empty: parts of two tables would mix")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with part_folder(folder.parent) as hidden:
        whole = hidden / "parts"
        whole.mkdir()
        for number, content in enumerate(in_turn(call, Call.parquet, executor)):
            (whole / f"part-{number:06d}.parquet").write_bytes(content)
        if folder.exists():
            folder.rmdir()
        whole.rename(folder)
    return sorted(folder.iterdir())


def _arrow(column: pd.Series[Any], whole: Domain) -> Any:
    """A column in an Arrow type that its domain alone decides: parts agree, whatever is missing in them."""
    import pyarrow as pa

    name = str(column.name)
    kind = _arrow_type(whole[name]) if name in whole else None
    if kind is None:
        return pa.array(column, from_pandas=True)
    try:
        return pa.array(column, kind, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # values of several kinds
        return pa.array([None if pd.isna(v) else str(v) for v in column], kind)


def _arrow_type(attribute: Attribute) -> Any:
    import pyarrow as pa

    if attribute.texts:
        return pa.string()
    if attribute.kind == "datetime":
        zoned = pa.timestamp("ns", attribute.time_zone)
        return pa.string() if attribute.datetime_format is not None else zoned
    if attribute.kind in ("integer", "float"):
        return pa.int64() if attribute.kind == "integer" else pa.float64()
    kinds = {type(value) for value in attribute.values}
    if kinds == {bool}:
        return pa.bool_()
    if kinds and kinds <= {int, float, np.int64, np.float64}:
        return pa.int64() if kinds <= {int, np.int64} else pa.float64()
    return pa.string()
