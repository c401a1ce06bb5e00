"""Files that are whole or not there."""

from __future__ import annotations

import threading

import pytest

from sdv_plausible.whole_files import locked, write_whole


@pytest.mark.parametrize("content", ["grüezi", lambda path: path.write_text("grüezi", encoding="utf-8")])
def test_a_file_is_written_and_nothing_stays_beside_it(tmp_path, content):
    for _ in range(2):  # the second time it replaces the first
        write_whole(tmp_path / "a.txt", content)
        assert (tmp_path / "a.txt").read_bytes() == "grüezi".encode()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    write_whole(str(tmp_path / "b.txt"), "")
    assert (tmp_path / "b.txt").read_bytes() == b""


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt, SystemExit])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, error):
    (tmp_path / "a.txt").write_text("old")

    def half(path):
        assert path.name == "a.txt"
        path.write_text("ne")
        raise error

    with pytest.raises(error):
        write_whole(tmp_path / "a.txt", half)
    assert (tmp_path / "a.txt").read_text() == "old"
    with pytest.raises(error):
        write_whole(tmp_path / "new.txt", lambda path: half(path.with_name("a.txt")))
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "none" / "a.txt", "x")


def test_a_lock_is_held_by_one_at_a_time_and_given_back(tmp_path):
    path, order = tmp_path / "f", []

    def other():
        with locked(path):
            order.append("other")

    thread = threading.Thread(target=other)
    with locked(path):
        thread.start()
        thread.join(0.2)
        order.append("first")
    thread.join()
    assert order == ["first", "other"]
    assert not path.exists()


def test_what_shows_real_rows_is_for_its_owner_alone(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("everybody may read this")
    path.chmod(0o644)
    write_whole(path, "a real row", owner_only=True)
    assert path.stat().st_mode & 0o777 == 0o600
    write_whole(path, lambda place: place.write_text("another"), owner_only=True)
    assert path.stat().st_mode & 0o777 == 0o600
