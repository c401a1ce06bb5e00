"""Private folders, gone at the end whatever happens."""

import os
import stat
import tempfile

import pytest
from apps import new_token
from killing import READY, SIGNALS, ended, waiting

from sdv_plausible.extensions.app.pages.sessions import MAX_SESSIONS, private_sessions


def test_folders_are_private_and_apart():
    with private_sessions(new_token) as sessions:
        folders = [sessions.root, *(sessions.begin().folder for _ in range(MAX_SESSIONS))]
        assert len(set(folders)) == MAX_SESSIONS + 1
        assert sessions.begin() is None
        if os.name == "posix":
            assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError])
def test_everything_is_removed_whatever_happens(error):
    def interrupted():
        with private_sessions(new_token) as sessions:
            seen.append(sessions.root)
            (sessions.begin().folder / "people.csv").write_text("a")
            raise error

    seen = []
    with pytest.raises(error):
        interrupted()
    assert not seen[0].exists()


APP = f"""
import signal
from sdv_plausible.extensions.app.pages.sessions import private_sessions

with private_sessions(lambda: "t" * 43) as sessions:
    (sessions.begin().folder / "people.csv").write_text("a")
    {READY}
"""


@pytest.mark.skipif(os.name != "posix", reason="there are no such locks")
@pytest.mark.parametrize(
    "number", SIGNALS[-1:]
)  # which nobody hears; as the others in sources/test_encoded_cache.py
def test_the_next_app_removes_what_a_killed_one_left(number, tmp_path, monkeypatch):
    def uploads():
        return list(tmp_path.glob("*/*/people.csv"))

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with waiting(APP, TMPDIR=str(tmp_path)) as running:
        with private_sessions(new_token):
            assert uploads()  # of an app that runs
        assert ended(running, number) == -number
    assert uploads()
    with private_sessions(new_token):
        assert not uploads()
    assert not list(tmp_path.iterdir())


def test_a_session_is_found_by_its_cookie_alone():
    with private_sessions(new_token) as sessions:
        first, second = sessions.begin(), sessions.begin()
        assert sessions.find(first.keys.cookie) is first
        assert sessions.find(second.keys.cookie) is second
        assert sessions.find(first.keys.form) is sessions.find("") is None
        assert len({s.keys.cookie for s in (first, second)} | {s.keys.form for s in (first, second)}) == 4
        sessions.end(first)
        assert sessions.find(first.keys.cookie) is None
        assert not first.folder.exists()
        assert second.folder.exists()


def test_what_was_typed_is_forgotten_with_its_table():
    """Rules name columns and values of it. Control: what another browser typed stays."""
    with private_sessions(new_token) as sessions:
        first, second = sessions.begin(), sessions.begin()
        for session in (first, second):
            session.texts["rules"] = "of this table"
        first.forget()
        assert first.texts == {}
        assert second.texts == {"rules": "of this table"}
