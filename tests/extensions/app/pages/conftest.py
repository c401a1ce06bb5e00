"""One app for each test."""

import pytest
from apps import Place, new_token

from sdv_plausible.extensions.app.pages.sessions import private_sessions


@pytest.fixture(autouse=True)
def _quick(untrained_classifiers: None) -> None:
    """Train no classifier for a report; tests/evaluation/ does."""


@pytest.fixture
def no_report(monkeypatch):
    """A fit alone: nothing is compared after it."""
    monkeypatch.setattr("sdv_plausible.extensions.app.pages.background_fit._compare", lambda *_: None)


@pytest.fixture
def sessions():
    with private_sessions(new_token) as found:
        yield found


@pytest.fixture
def place(sessions):
    return Place(sessions)
