"""Files that are whole or not there."""

from __future__ import annotations

import errno
import os
import signal
import stat
import tempfile
import threading
from pathlib import Path

import pytest
from killing import READY, SIGNALS, ended, waiting

from sdv_plausible.utils.atomic_files import PREFIX, exits_on_signals, locked, part_folder, write_atomically

posix = pytest.mark.skipif(os.name != "posix", reason="modes, links and signals are POSIX's")
ASKED = [number for number in SIGNALS if number != getattr(signal, "SIGKILL", None)]


def test_a_file_is_written_and_nothing_stays_beside_it(tmp_path):
    for content in ("grüezi", lambda path: path.write_text("grüezi", encoding="utf-8")):
        write_atomically(tmp_path / "a.txt", content)  # the second time it replaces the first
        assert (tmp_path / "a.txt").read_bytes() == "grüezi".encode()
        assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    write_atomically(str(tmp_path / "b.txt"), "")
    assert (tmp_path / "b.txt").read_bytes() == b""
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "none" / "a.txt", "x")


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    for error in (OSError, KeyboardInterrupt, SystemExit):

        def half(path, error=error):
            assert path.name == "a.txt"
            path.write_text("ne")
            raise error

        with pytest.raises(error):
            write_atomically(tmp_path / "a.txt", half)
        assert (tmp_path / "a.txt").read_text() == "old"
        with pytest.raises(error):
            write_atomically(tmp_path / "new.txt", lambda path: half(path.with_name("a.txt")))
        assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def full(path):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *path)


def test_a_full_disk_is_told_with_the_file_that_was_to_be_there(tmp_path, monkeypatch):
    """As the operating system tells it of an open file: without a name, or with that of the part."""
    target = tmp_path / "a.txt"
    for content in (lambda path: full(()), lambda path: full((str(path),))):
        with pytest.raises(OSError, match=rf"No space left on device: '{target}'$"):
            write_atomically(target, content)
    with pytest.raises(OSError, match=rf"No space left on device: '{tmp_path}'$"), part_folder(tmp_path):
        full(())
    other = r"No space left on device: '/elsewhere'$"  # one that names its file keeps it
    with pytest.raises(OSError, match=other), part_folder(tmp_path):
        full(("/elsewhere",))
    with pytest.raises(OSError, match="^disk$"), part_folder(tmp_path):  # nor what is no system's
        raise OSError("disk")
    monkeypatch.setattr(tempfile, "mkdtemp", lambda dir, prefix: full((f"{dir}/{prefix}x",)))
    with pytest.raises(OSError, match=rf"No space left on device: '{tmp_path}'$"):
        write_atomically(target, "x")
    assert not list(tmp_path.iterdir())


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


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
    for content in ("a real row", lambda place: place.write_text("another")):
        write_atomically(path, content, owner_only=True)
        assert mode_of(path) == 0o600


@posix
@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path, is_there):
    """Whoever may write to the folder could have a file made, or another one's mode changed, elsewhere."""
    (tmp_path / ".d.json.lock").symlink_to("victim")
    (tmp_path / "d.json").write_text("{}")
    if is_there:
        (tmp_path / "victim").write_text("old")
        (tmp_path / "victim").chmod(0o600)
    with (
        pytest.raises(OSError, match=r"\.d\.json\.lock is a symbolic link") as caught,
        locked(tmp_path / "d.json"),
    ):
        raise AssertionError
    assert "\n" not in str(caught.value)
    assert (tmp_path / "victim").exists() == is_there
    if is_there:
        assert mode_of(tmp_path / "victim") == 0o600
    (tmp_path / ".d.json.lock").unlink()
    with locked(tmp_path / "d.json"):  # control
        assert (tmp_path / ".d.json.lock").is_file()


@posix
def test_who_may_write_a_file_may_lock_it_and_its_owner_always(tmp_path):
    for mode, of_lock in ((0o664, 0o664), (0o600, 0o600), (0o444, 0o644)):
        path = tmp_path / f"{mode}.json"
        path.write_text("old")
        path.chmod(mode)
        for _ in range(2):  # the lock stays
            with locked(path):
                assert mode_of(tmp_path / f".{mode}.json.lock") == of_lock


@posix
def test_a_file_written_anew_is_for_those_who_could_read_the_old_one(tmp_path):
    path, written = tmp_path / "people.budget", 1_000_000_000
    for mode in (0o600, 0o640, 0o444):
        path.write_text("old")
        path.chmod(mode)
        os.utime(path, (written, written))
        write_atomically(path, "new")
        assert path.read_text() == "new"
        assert mode_of(path) == mode
        assert path.stat().st_mtime > written  # and no older than it is
        path.unlink()
    before = os.umask(0o027)
    try:
        write_atomically(path, "new")
    finally:
        os.umask(before)
    assert mode_of(path) == 0o640  # as any program's new file


@posix
@pytest.mark.parametrize("may", [True, False])
def test_a_file_written_anew_stays_with_its_group_or_is_for_none(tmp_path, monkeypatch, may):
    others = {*os.getgroups(), *([12345] if os.geteuid() == 0 else [])}
    others -= {tmp_path.stat().st_gid, os.getegid()}
    if not others:
        pytest.skip("this user has one group alone")
    path, group = tmp_path / "people.budget", others.pop()
    path.write_text("old")
    os.chown(path, -1, group)
    path.chmod(0o664)
    if not may:  # what somebody is told who is not in the group
        monkeypatch.setattr(os, "chown", lambda *_: (tmp_path / "none").stat())
    write_atomically(path, "new")
    assert (path.stat().st_gid == group, mode_of(path)) == ((True, 0o664) if may else (False, 0o604))


@posix
@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path, is_there):
    (tmp_path / "store").mkdir()
    target, link, seen = tmp_path / "store" / "7", tmp_path / "people.release", []
    link.symlink_to("store/7")
    if is_there:
        target.write_text("old")
        target.chmod(0o600)

    def write(place):
        seen.append(place.name)
        place.write_text("new")

    write_atomically(link, write)
    assert seen == ["people.release"]  # its ending may say how it is written
    assert link.readlink() == Path("store/7")
    assert not target.is_symlink()
    assert target.read_text() == "new"
    if is_there:
        assert mode_of(target) == 0o600
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["7", "people.release", "store"]


@posix
def test_a_file_is_on_the_disk_before_it_has_its_name_and_then_its_folder(tmp_path, monkeypatch):
    done, replace, path = [], Path.replace, tmp_path / "people.budget"
    inodes = lambda: {path: path.stat().st_ino, tmp_path: tmp_path.stat().st_ino}  # noqa: E731
    monkeypatch.setattr(os, "fsync", lambda descriptor: done.append(os.fstat(descriptor).st_ino))
    monkeypatch.setattr(Path, "replace", lambda *paths: (done.append("named"), replace(*paths)))
    write_atomically(path, lambda place: place.write_text("new"))
    assert done == [inodes()[path], "named", inodes()[tmp_path]]


def no_links(*_):
    raise OSError(95, "Operation not supported")


@posix
@pytest.mark.parametrize("has_links", [True, False])
def test_a_new_file_replaces_none(tmp_path, monkeypatch, has_links):
    path, link, old = tmp_path / "people.release", tmp_path / "link", tmp_path / "old"
    link.symlink_to("old")
    if not has_links:  # as on some sticks and shares
        monkeypatch.setattr(os, "link", no_links)
    os.umask(umask := os.umask(0))
    for place, target in ((path, path), (link, old)):
        write_atomically(place, "first", replace=False)
        with pytest.raises(FileExistsError):
            write_atomically(place, "second", replace=False)
        assert target.read_text() == "first"
        assert mode_of(target) == 0o666 & ~umask
    write_atomically(tmp_path / "rows", "a real row", owner_only=True, replace=False)
    assert mode_of(tmp_path / "rows") == 0o600
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link", "old", "people.release", "rows"]


@pytest.mark.parametrize("has_links", [True, False])
def test_of_two_new_files_at_once_one_is_there(tmp_path, monkeypatch, has_links):
    """Both have looked, and seen none, before either is put there. Control: each that may replace does."""
    if not has_links:
        monkeypatch.setattr(os, "link", no_links)
    for replace in (False, True):
        path, both, told = tmp_path / f"{replace}", threading.Barrier(2), []

        def write(number, path=path, both=both, told=told, replace=replace):
            def content(place):
                place.write_text(number)
                both.wait(60)

            try:
                write_atomically(path, content, replace=replace)
                told.append(number)
            except FileExistsError:
                told.append("")

        threads = [threading.Thread(target=write, args=(number,)) for number in ("1", "2")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert path.read_text() in told
        assert told.count("") == (0 if replace else 1)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["False", "True"]


# --- what the dead leave ------------------------------------------------------------------------------------


def test_what_is_not_a_dead_programs_folder_stays(tmp_path):
    outside, place = tmp_path / "outside", tmp_path / "place"
    for folder in (outside, place, place / "thesis", place / f"{PREFIX}dead"):
        folder.mkdir()
        (folder / "precious").write_text("x")
    (place / f"{PREFIX}dead" / "way out").symlink_to(outside)
    (place / f"{PREFIX}link").symlink_to(outside)
    (place / f"{PREFIX}file").write_text("x")
    with part_folder(place) as used, part_folder(place):
        (used / "rows").write_text("x")
        write_atomically(place / "new", "x")
        assert (used / "rows").exists()
    left = {"precious", "thesis", "new", f"{PREFIX}link", f"{PREFIX}file"}
    assert {path.name for path in place.iterdir()} == left
    assert (outside / "precious").exists()
    assert (place / "thesis" / "precious").exists()


# --- signals ------------------------------------------------------------------------------------------------

WORK = f"""
import os, signal, sys
from pathlib import Path
from sdv_plausible.utils.atomic_files import exits_on_signals, part_folder

def work(before=""):
    exec(before)
    with exits_on_signals(), part_folder(Path(sys.argv[1])) as folder:
        (folder / "rows").write_text("a real row")
        {READY}
"""


TWICE = f"""
import shutil
remove = shutil.rmtree

def slow(*arguments, **options):
    signal.raise_signal({int(signal.SIGTERM)})
    signal.raise_signal({int(signal.SIGHUP)})
    remove(*arguments, **options)

shutil.rmtree = slow
"""


@posix
@pytest.mark.parametrize("number", ASKED)
def test_a_program_that_is_asked_to_end_leaves_nothing(tmp_path, number):
    """Nor does a second signal stop the removal."""
    for before in ("", TWICE):
        with waiting(f"{WORK}{before}work()", tmp_path) as running:
            assert list(tmp_path.glob("*/rows"))
            assert ended(running, number) == 128 + number
        assert not list(tmp_path.iterdir())


@posix
def test_what_a_program_does_with_signals_already_stays_so(tmp_path):
    script = "work('signal.signal(signal.SIGHUP, signal.SIG_IGN)')"  # as nohup has it
    with waiting(WORK + script, tmp_path) as running:
        running.send_signal(signal.SIGHUP)
        assert ended(running, signal.SIGTERM) == 128 + signal.SIGTERM
    mine = lambda *_: None  # noqa: E731
    before = [signal.signal(signal.SIGTERM, mine), signal.signal(signal.SIGHUP, signal.SIG_DFL)]
    try:
        with exits_on_signals():
            assert signal.getsignal(signal.SIGTERM) is mine
            assert signal.getsignal(signal.SIGHUP) not in (mine, signal.SIG_DFL)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
    finally:
        for number, handler in zip((signal.SIGTERM, signal.SIGHUP), before, strict=True):
            signal.signal(number, handler)


@posix
def test_a_forked_worker_ends_as_it_would_have(tmp_path):
    """A worker's exit is its parent's answer: with an exit for an end, a pool would wait for ever."""
    fork = f"""
heard, told = os.pipe()
with exits_on_signals():
    if not (worker := os.fork()):
        try:
            os.write(told, b"x")
            signal.pause()
        except SystemExit:
            os._exit(0)
    os.read(heard, 1)
    os.kill(worker, {int(signal.SIGTERM)})
    assert os.WTERMSIG(os.waitpid(worker, 0)[1]) == {int(signal.SIGTERM)}
    {READY}
"""
    with waiting(WORK + fork, tmp_path) as running:
        assert ended(running, signal.SIGTERM) == 128 + signal.SIGTERM


def test_another_thread_sets_no_signals():
    done = []

    def work():
        with exits_on_signals():
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]
