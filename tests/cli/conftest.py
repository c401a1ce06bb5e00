"""A table of the holder, its declarations, and a release of it, for the commands."""

import json
from functools import partial
from pathlib import Path

import pytest

from sdv_plausible import PlausibleDeniabilitySynthesizer, evaluation, metadata_of
from sdv_plausible.datasets import census_like, census_like_metadata
from tests.families import write_families

NAMES = ("age", "sex", "race", "hours_per_week")


@pytest.fixture(autouse=True)
def _quick(untrained_classifiers: None) -> None:
    """Train no classifier for a report; tests/evaluation/ does."""


@pytest.fixture(scope="session")
def declared() -> dict[str, dict[str, object]]:
    return {name: words for name, words in census_like_metadata().items() if name in NAMES}


@pytest.fixture(scope="session")
def holder(tmp_path_factory, declared) -> Path:
    """A folder with people.csv, domain.json and people.release, and two related tables."""
    folder = tmp_path_factory.mktemp("holder")
    table = census_like(2_000)[list(declared)]
    table.to_csv(folder / "people.csv", index=False)
    (folder / "domain.json").write_text(json.dumps(declared))
    synth = PlausibleDeniabilitySynthesizer(metadata_of(declared), domain=declared)
    synth.fit(table)
    synth.release().save(folder / "people.release")
    write_families(folder)
    return folder


@pytest.fixture
def few_scores(monkeypatch):
    """Of one tree each: what a page says of its guarantee, and which cells it takes, no score decides."""
    fewest = {"classifiers": "tree", "distinguishers": "tree", "num_runs": 1}
    report = partial(evaluation.PlausibleDeniabilityReport, **fewest)
    monkeypatch.setattr(evaluation, "PlausibleDeniabilityReport", report)
