"""Arrays of a release file: what is read is what was written, and no text makes another one."""

import base64
from typing import Any

import numpy as np
import pytest

from sdv_plausible.release.file.json_documents import decode, encode

ARRAYS = [
    np.array([[0, 255]]), np.array([-1, 256]), np.array([2**40]), np.array([0.1, -0.0]), np.zeros((0, 3)),
    np.array(7),
]  # fmt: skip


def damaged(array: np.ndarray, **changed: Any) -> dict[str, Any]:
    return {**encode(array), **changed}


@pytest.mark.parametrize("readable", [False, True])
def test_what_is_read_is_what_was_written(readable):
    for array in ARRAYS:
        found = decode(encode(array, readable=readable))
        assert (found.shape, found.tolist()) == (array.shape, array.tolist())
        assert found.dtype == (np.float64 if array.dtype.kind == "f" else np.int64)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_numbers_are_finite(number):
    data = base64.b64encode(np.array([0.5, number]).tobytes()).decode()
    with pytest.raises(ValueError, match="not finite"):
        decode(damaged(np.array([0.5, 0.5]), data=data))
    with pytest.raises(ValueError, match="not finite"):
        decode({"dtype": "float64", "shape": [2], "values": [0.5, number]})


def test_a_text_is_as_long_as_its_array_before_it_is_decoded(monkeypatch):
    """So that no file makes a reader hold more than it says."""
    decoded = list[int]()
    honest = base64.b64decode
    monkeypatch.setattr(
        base64, "b64decode", lambda text, **how: decoded.append(len(text)) or honest(text, **how)
    )
    for text in ("A" * 4_000_000, "", "AAAA" * 3, None):
        with pytest.raises(ValueError, match="base64 text of 4 bytes"):
            decode(damaged(np.array([1, 2, 3, 4]), data=text))
    assert decoded == []


def test_a_text_has_one_spelling():
    """Bits beyond the last byte are 0: else one array had several texts, and a release several digests."""
    assert encode(np.array([1]))["data"] == "AQ=="
    with pytest.raises(ValueError, match="base64 text of 1 bytes"):
        decode(damaged(np.array([1]), data="AR=="))


def test_whole_numbers_are_in_the_shortest_type():
    with pytest.raises(ValueError, match="must have the dtype uint8"):
        decode({"dtype": "int64", "shape": [2], "values": [1, 2]})
