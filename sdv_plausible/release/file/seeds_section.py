"""The released seeds in a release file: frequent combinations of values, with noisy group sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdv_plausible.mechanism.drawing.released_prefixes import ReleasedPrefixes, ReleasedSeeds
from sdv_plausible.models.base import PrefixModel
from sdv_plausible.release.file.document_nodes import DocumentNode
from sdv_plausible.table.columns.domain import Domain

MAX_SUM = 2**53  # largest sum of sizes, exact as a double
_FIELDS = ("columns", "codes", "sizes")


def write_seeds(seeds: ReleasedSeeds, model: PrefixModel, domain: Domain) -> list[dict[str, Any]]:
    """Released seeds as a section."""
    return [
        {
            "columns": [domain.names[j] for j in model.order[: part.kept]],
            "codes": np.asarray(part.prefixes, dtype=np.int64),
            "sizes": np.asarray(part.sizes, dtype=np.int64),
        }
        for part in seeds.parts
    ]


def read_seeds(node: DocumentNode, model: PrefixModel, domain: Domain) -> ReleasedSeeds:
    """Read and check the section of the seeds, for a model."""
    parts = tuple(_read(item, model, domain) for item in node.items(100_000))
    if not parts:
        raise node.refuse("must have a part at least")
    return ReleasedSeeds(parts=parts)


def _read(node: DocumentNode, model: PrefixModel, domain: Domain) -> ReleasedPrefixes:
    f = node.fields(_FIELDS)
    index_of = {name: j for j, name in enumerate(domain.names)}
    columns = [item.lookup(index_of) for item in f["columns"].items(100_000)]
    if tuple(columns) != tuple(model.order[: len(columns)]):
        raise f["columns"].refuse("must be the first columns of the model's order")
    codes, sizes = f["codes"].array("whole", (None, len(columns))), f["sizes"].array("whole", (None,))
    if len(codes) != len(sizes) or (not columns and sizes.tolist() != [1]):
        raise node.refuse("must have a size for every row of codes, and for no columns the one size 1")
    if (codes < 0).any() or (
        codes >= np.array([domain.cardinalities[j] for j in columns], dtype=np.int64)
    ).any():
        raise f["codes"].refuse("must be codes of the columns")
    if (sizes < 1).any() or sizes.astype(float).sum() > MAX_SUM:
        raise f["sizes"].refuse(f"must be whole numbers of at least 1 with a sum of at most {MAX_SUM}")
    released = ReleasedPrefixes.sort(codes.astype(np.int32), sizes)
    if not (released.prefixes == codes).all() or (np.diff(codes, axis=0) == 0).all(axis=1).any():
        raise f["codes"].refuse("must be sorted and distinct")
    return released
