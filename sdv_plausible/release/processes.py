"""Mechanism 1 in several processes ([PD] section 5): rows in parts, each from coins of its own.

A released row depends on the mechanism and its own coins alone, so parts follow the same law as one run of
all rows. Which part has which coins depends on the call and not on the workers: the rows are the same for any
number of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

import numpy as np

from sdv_plausible.privacy import checks as check
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.release.mechanism import PlausibleDeniabilityMechanism

MOST_PROCESSES = 61  # as many as every system lets one wait for
PART_ROWS = 25_000  # rows that one stream of coins makes
Part = tuple[int, Coins, int | None]
Rows = tuple[np.ndarray, np.ndarray]  # as codes, and the latent points that they were decoded from
RunParts = Callable[[list[Part]], list[Rows]]

_held: list[PlausibleDeniabilityMechanism] = []  # of a worker: the mechanism is sent to it once


def parts_of(num_rows: int, coins: Coins, attempts: Callable[[int], int | None]) -> list[Part]:
    """Rows, coins and attempts of every part; the first has the coins of the call."""
    sizes = [min(PART_ROWS, num_rows - start) for start in range(0, num_rows, PART_ROWS)] or [0]
    return [(size, coins.spawn("part", i) if i else coins, attempts(size)) for i, size in enumerate(sizes)]


@contextmanager
def workers(mechanism: PlausibleDeniabilityMechanism, processes: int) -> Iterator[RunParts]:
    """What makes parts, in this process or in several. A worker holds the seed records as this one does."""
    check.whole("processes", processes, 1, "1 for this process alone")
    if processes == 1:
        yield lambda parts: [mechanism.release_with_points(*part) for part in parts]
        return
    processes = min(processes, MOST_PROCESSES)
    with ProcessPoolExecutor(processes, initializer=_held.append, initargs=(mechanism,)) as pool:
        yield lambda parts: list(pool.map(_made, parts))


def _made(part: Part) -> Rows:
    return _held[-1].release_with_points(*part)
