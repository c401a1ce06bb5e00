"""Rows together with the latent points they were decoded from.

Plausible deniability holds for the pair, which costs what its row costs
(docs/explanation/proofs/latent_test.md, Theorem 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sdv.errors import SamplingError

from sdv_plausible.mechanism.drawing.sampler import RecordSampler, Sampler

_PREFIX = "\x00latent "  # no table has a column with this prefix


def sampler_of_points(sampler: Sampler | None, *, sdv_drops_rows: bool) -> RecordSampler:
    """The sampler, if it draws rows with tested latent points and SDV keeps all of them."""
    if sampler is None:
        raise SamplingError("call fit() first: there is no model yet")
    if not (isinstance(sampler, RecordSampler) and sampler.model.num_latent):
        raise ValueError(
            'sample_with_points needs model="latent" and test="randomized" or "deterministic": only then '
            "does the privacy test check latent points. Use sample() here"
        )
    if sdv_drops_rows:
        raise ValueError(
            "sample_with_points does not support SDV constraints or custom transformers: SDV may drop "
            "rows, and points would no longer match rows. Replace constraints by rules=[...], see "
            "docs/how_to/rules.md"
        )
    return sampler


def with_points(table: pd.DataFrame, points: np.ndarray) -> pd.DataFrame:
    """Rows with their points in further columns, so that rows are dropped together with their points."""
    shown = {f"{_PREFIX}{i}": coordinates for i, coordinates in enumerate(points.T)}
    return pd.concat([table, pd.DataFrame(shown, index=table.index)], axis=1)


def split_points(table: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """Separate rows and points again."""
    is_point = np.array([str(name).startswith(_PREFIX) for name in table.columns])
    return table.loc[:, ~is_point], table.loc[:, is_point].to_numpy(dtype=np.float64)


def points_table(points: Sequence[np.ndarray], dimensions: int, num_rows: int) -> pd.DataFrame:
    """Points of one sample, in the order of its rows: columns ``latent_1``, ``latent_2`` and so on."""
    # SDV draws whole batches, and returns their first rows.
    first = np.concatenate([np.empty((0, dimensions)), *points])[:num_rows]
    return pd.DataFrame(first, columns=[f"latent_{i + 1}" for i in range(dimensions)])


def check_lengths(rows: Any, points: pd.DataFrame) -> None:
    """Raise an error unless there is a point for each row."""
    frame = next(iter(rows.values())) if isinstance(rows, dict) else rows
    if len(frame) != len(points):
        raise RuntimeError(
            f"there are {len(points)} latent points for {len(frame)} rows: this is a bug, please report it; "
            "nothing was returned"
        )
