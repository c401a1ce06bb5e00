"""One fit on every engine: the same cells give the same tables, and with the same noise the same release."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from tables import COLUMNS, DECLARED, ENGINES, SEED, held, in_memory, table

from sdv_plausible import Release, fit_source
from sdv_plausible.release_file.documents import write

FRAME = table()
SAME = ("answers", "domain", "ledger", "model", "rules", "seeds")


def document(release: Release) -> dict[str, bytes]:
    """Everything but what says which face made it."""
    sections = release._document()
    return {name: write({name: sections[name]}) for name in SAME}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Release]:
    folder = tmp_path_factory.mktemp("memory")
    return {
        "declared": in_memory(FRAME, folder, domain=DECLARED),
        "learned": in_memory(FRAME, folder, epsilon=8.0),
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_release_is_that_of_memory(engine: str, expected: dict[str, Release], tmp_path: Path) -> None:
    source = held(engine, FRAME, tmp_path)
    found = fit_source(source, COLUMNS, DECLARED, random_state=SEED, rows=1000)
    assert document(found) == document(expected["declared"])
    pd.testing.assert_frame_equal(
        found.sample(50, random_state=1)[list(DECLARED)],
        expected["declared"].sample(50, random_state=1)[list(DECLARED)],
    )
    found.save(tmp_path / "a.release")
    assert Release.load(tmp_path / "a.release") == found


@pytest.mark.parametrize("engine", ENGINES)
def test_learned_domains_are_those_of_memory(
    engine: str, expected: dict[str, Release], tmp_path: Path
) -> None:
    found = fit_source(held(engine, FRAME, tmp_path), COLUMNS, random_state=SEED, rows=1000, epsilon=8.0)
    assert document(found) == document(expected["learned"])
    assert {a.provenance for a in found.domain} == {"private"}
