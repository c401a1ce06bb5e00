"""Arguments of a wrong type or value, and damaged files: refused at once, by the parameter's or entry's name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sdv_plausible import (
    FamilyRelease,
    PlausibleDeniabilityMultiTableSynthesizer,
    PlausibleDeniabilitySynthesizer,
    Release,
    counts_of_tumult,
    fit_source,
    verify,
)
from sdv_plausible.datasets import families_like_domain, families_like_metadata
from sdv_plausible.release.file.fake_columns import expand_pattern
from sdv_plausible.release.file.json_documents import decode

STORED = Path(__file__).parents[1] / "release/file/stored/default.release"
FRAME = pd.DataFrame({"a": ["x", "y"]})
DOMAIN = {"a": {"range_values": ["x", "y"]}}


def related(**options: Any) -> Any:
    domain = families_like_domain()
    return PlausibleDeniabilityMultiTableSynthesizer(families_like_metadata(), domain=domain, **options)


# The parameter that the message begins with, and the call.
CALLS: list[tuple[str, Callable[..., Any]]] = [
    ("release", lambda: PlausibleDeniabilitySynthesizer.from_release(str(STORED))),  # type: ignore[arg-type]
    ("release", lambda: PlausibleDeniabilityMultiTableSynthesizer.from_release(str(STORED))),  # type: ignore[arg-type]
    ("expect_sha256", lambda: verify(STORED, expect_sha256=5)),  # type: ignore[arg-type]
    ("expect_sha256", lambda: Release.load(STORED, expect_sha256=5)),  # type: ignore[arg-type]
    ("expect_sha256", lambda: FamilyRelease.load(STORED, expect_sha256=5)),  # type: ignore[arg-type]
    ("allow_unchecked", lambda: verify(STORED, allow_unchecked="no")),  # type: ignore[arg-type]
    ("public", lambda: verify(STORED, public=5)),
    ("noise", lambda: counts_of_tumult(FRAME, "x")),  # type: ignore[arg-type]
    ("noise", lambda: counts_of_tumult(FRAME, ["x"])),  # type: ignore[list-item]
    ("source", lambda: fit_source(pytest.importorskip("duckdb").connect(), None, DOMAIN)),
    ("epsilon", lambda: related(epsilon="1")),
    ("random_state", lambda: related(random_state=-1)),
    ("random_state", lambda: fit_source(FRAME, None, DOMAIN, random_state=-1, allow_no_claim=True)),
    ("random_state", lambda: Release.load(STORED).sample(1, random_state=-1)),
]


def test_it_is_named() -> None:
    for name, call in CALLS:
        with pytest.raises(ValueError, match=rf"^{name}\b.* must "):
            call()


def test_a_published_table_that_is_not_there_is_missed(tmp_path: Path) -> None:
    """Also where the release was fitted without one."""
    with pytest.raises(FileNotFoundError):
        verify(STORED, public=tmp_path / "no.csv")


def test_parameters_of_a_model_are_an_object(tmp_path: Path) -> None:
    path, document = tmp_path / "f.release", json.loads(STORED.read_text())
    for value in (5, "x", [1], True):
        document["settings"]["model_parameters"] = value
        path.write_text(json.dumps(document))
        with pytest.raises(ValueError, match="model_parameters.* must be an object or null"):
            Release.load(path)
        assert not verify(path).passed


def test_an_array_of_no_number_has_no_endless_sides() -> None:
    for shape in ([0, 2**31 - 1, 2**31 - 1], [2**31 - 1, 0, 2**30, 2], [0, 2**31 - 1, 3]):
        with pytest.raises(ValueError, match="an array's shape must leave it at most"):
            decode({"dtype": "float64", "shape": shape, "data": ""})
    assert decode({"dtype": "float64", "shape": [0, 2**31 - 1], "data": ""}).shape == (0, 2**31 - 1)


def test_a_format_of_millions_of_letters_is_none() -> None:
    """Of some letters in a file it would make texts of millions, and a number of them with millions of digits."""
    assert expand_pattern("[a-z]{999}" * 10_000, 2) is None
    assert expand_pattern("x{999}", 1) == ["x" * 999]


def test_a_file_of_more_rows_than_any_table_has_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """By default as many rows are drawn, by the command line in parts: it would never end."""
    monkeypatch.setattr("sdv_plausible.release.intervals.measured_counts.number_of_rows", lambda *_: 10**15)
    release = Release.load(STORED)
    with pytest.raises(ValueError, match=r"^num_rows must be given"):
        release.sample()
    assert len(release.sample(3)) == 3
