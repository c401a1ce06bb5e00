"""Chunked sampling: draw many rows in constant memory, one part at a time.

Part i depends on the release, the call and i only, so the rows are the same for any number of workers.
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import pandas as pd

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.release.file.release_sampling import PART_ROWS, sample_table
from sdv_plausible.utils.atomic_files import part_folder

MIN_AHEAD = 4  # smallest number of parts in progress


@dataclass(frozen=True, eq=False)
class PartRequest:
    """Everything that a part needs; picklable, for other processes."""

    # Arguments of ``sample_table`` that do not depend on the call
    release: Mapping[str, Any]
    num_rows: int  # of all parts
    rows: int  # per part
    coins: KeyedRNG

    @classmethod
    def of(
        cls, release: Mapping[str, Any], num_rows: int, rows: int, random_state: int | None
    ) -> PartRequest:
        """Check the arguments of a call, and derive its random streams."""
        check.whole("num_rows", num_rows, 0, "try 1000")
        check.whole("rows", rows, 1, f"try {PART_ROWS}")
        coins = KeyedRNG.from_os_entropy() if random_state is None else KeyedRNG.from_seed(random_state)
        return cls(release, int(num_rows), int(rows), coins.spawn("sample in parts"))

    def __len__(self) -> int:
        """Return the number of parts, at least 1, so that an empty table has its columns."""
        return max(-(-self.num_rows // self.rows), 1)

    def __reduce__(self) -> Any:
        """Pickle as bytes that each process unpickles once, not once per part."""
        return _unpickled, (self._pickled,)

    @cached_property
    def _pickled(self) -> bytes:
        return pickle.dumps((self.release, self.num_rows, self.rows, self.coins))

    def part(self, number: int) -> pd.DataFrame:
        """Make one part."""
        start = number * self.rows
        size = min(self.rows, self.num_rows - start)
        return sample_table(
            size, {}, coins=self.coins.spawn("part", number), position=(start, self.num_rows), **self.release
        )

    def parquet(self, number: int) -> bytes:
        """Make one part as the content of a Parquet file."""
        start = number * self.rows
        size, coins = min(self.rows, self.num_rows - start), self.coins.spawn("part", number)
        from sdv_plausible.release.file.arrow_rows import parquet_bytes, sample_arrow  # lazy: needs pyarrow

        return parquet_bytes(sample_arrow(size, coins=coins, position=(start, self.num_rows), **self.release))


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
        raise ValueError(f"folder ({str(folder)!r}) must be new or empty: parts of two tables would mix")
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
