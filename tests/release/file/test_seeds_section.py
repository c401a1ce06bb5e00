"""Released groups of seeds in a file: read as written, and refused where no release could have them."""

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sdv_plausible.mechanism.drawing.released_prefixes import ReleasedPrefixes, ReleasedSeeds
from sdv_plausible.release.file import json_documents
from sdv_plausible.release.file.document_nodes import DocumentNode
from sdv_plausible.release.file.model_section import read_seeds, write_seeds
from sdv_plausible.table.columns.domain import Attribute, Domain

DOMAIN = Domain(tuple(Attribute(name=name, kind="categorical", values=("x", "y", "z")) for name in "abc"))
MODEL: Any = SimpleNamespace(order=(2, 0, 1))
CODES, SIZES = np.array([[0, 1], [0, 2], [2, 0]]), np.array([5, 9, 7])


def read(codes: np.ndarray, sizes: np.ndarray) -> ReleasedPrefixes:
    """What a file of one group of seeds says, written as it stands."""
    seeds = ReleasedSeeds(parts=(ReleasedPrefixes(kept=codes.shape[1], prefixes=codes, sizes=sizes),))
    document = json.loads(json_documents.write(write_seeds(seeds, MODEL, DOMAIN)))
    (found,) = read_seeds(DocumentNode(document, "seeds"), MODEL, DOMAIN).parts
    return found


def test_what_is_read_is_what_was_written():
    found = read(CODES, SIZES)
    assert (found.kept, found.prefixes.tolist(), found.sizes.tolist()) == (2, CODES.tolist(), SIZES.tolist())


def test_no_columns_have_the_size_one():
    assert read(np.zeros((1, 0), dtype=int), np.ones(1, dtype=int)).sizes.tolist() == [1]


@pytest.mark.parametrize(
    ("codes", "sizes", "rule"),
    [
        (CODES, [5, 0, 7], "at least 1"), (CODES, [5, -9, 7], "at least 1"), (CODES, [5, 2**53, 7], "a sum of at most"),
        (CODES[[0, 0, 2]], SIZES, "sorted and distinct"), (CODES[[1, 0, 2]], SIZES, "sorted and distinct"),
        (CODES + 1, SIZES, "must be codes"), (CODES - 1, SIZES, "must be codes"), (CODES, SIZES[:2], "a size for every row"),
        (np.zeros((2, 0), dtype=int), SIZES[:2], "for no columns the one size 1"),
        (np.zeros((1, 0), dtype=int), [298], "for no columns the one size 1"),
    ],
)  # fmt: skip
def test_groups_that_no_release_has_are_refused(codes, sizes, rule):
    with pytest.raises(ValueError, match=rule):
        read(codes, np.array(sizes))
