"""Files that are whole or not there: nobody reads half of one, and a failed write leaves the old one.

A file is made in a hidden folder beside its place and put there by a rename. If the program is interrupted
the folder is removed; if it is killed nobody can remove it there and then, so the next write into the same
place does. It knows a dead program's folder by its lock, which the operating system takes away from the dead.
Rows that are on disk while a fit or the app runs are in such a folder too.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    from fcntl import LOCK_EX, LOCK_NB, flock

    HAS_LOCKS = True
except ImportError:  # on Windows: what a killed program leaves there stays
    HAS_LOCKS = False

PREFIX = ".sdv-plausible-part-"  # nobody else's: what has it may be removed


def write_whole(
    path: str | Path,
    content: str | bytes | Callable[[Path], object],
    *,
    owner_only: bool = False,
    replace: bool = True,
) -> None:
    """Write a file whole or not at all; it is on the disk when this returns."""
    # One that exists is replaced once the new one is complete, which is for those who could read the old one;
    # of a link, what it leads to. ``content`` may be a function that writes to the path it is given, which
    # has the same file name. ``owner_only`` is for what shows real rows: nobody else may read it, from the
    # first moment that the file is in its place. Without ``replace`` a file that is there by then stays, and
    # a FileExistsError says so: of two that are written at once the first one is there.
    path, target = Path(path), Path(os.path.realpath(path))
    with part_folder(target.parent) as folder, _named(path):
        temporary = folder / path.name
        if callable(content):
            content(temporary)
        else:
            temporary.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        with temporary.open("rb+") as file:
            if owner_only:
                temporary.chmod(0o600)
            elif target.exists():
                _give_access_of(target, temporary)
            os.fsync(file.fileno())
        if replace:
            temporary.replace(target)
        else:
            _put_new(temporary, target)
        with suppress(OSError):  # Windows opens no folder, and some file systems cannot
            _sync_folder(target.parent)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Have an error of the operating system, as of a full disk, name a file or folder of the caller."""
    try:
        yield
    except OSError as error:
        inner = error.filename is None or PREFIX in os.fsdecode(error.filename)
        if error.errno is None or not inner:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other programs and threads that do the same from a file while the block runs."""
    # The lock is on an empty file beside it, which stays: the file itself may be replaced meanwhile. If the
    # program is killed the operating system gives the lock back. Without locks, or the right to write, an
    # OSError; also where the empty file is a link, which somebody else may have put there.
    lock = path.with_name(f".{path.name}.lock")
    if lock.is_symlink():
        raise OSError(f"{lock} is a link, and a lock follows none: remove it")
    is_new = not lock.exists()
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(lock, flags, 0o666), "ab") as file:
        if is_new and path.exists():
            with suppress(OSError):  # whoever may write the file may lock it, and its owner in any case
                by = file.fileno() if os.chmod in os.supports_fd else lock
                os.chmod(by, path.stat().st_mode & 0o777 | 0o600)  # noqa: PTH101
        _wait_for_lock(file.fileno())
        yield


@contextmanager
def part_folder(parent: Path) -> Iterator[Path]:
    """Hidden folder for files that are not complete yet, gone afterwards in any case."""
    # It is on the file system of the place where they belong, so that the last step is a rename; and files in
    # it are made anew, with the permissions that the user's files have.
    remove_leftovers(parent)
    with _named(parent):
        folder, lock = _locked_folder(parent)
    try:
        with _named(parent):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def remove_leftovers(parent: Path) -> None:
    """Remove the folders of programs that were killed: nobody holds their locks."""
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            lock = _lock(folder)
            if lock is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)


@contextmanager
def exits_on_signals() -> Iterator[None]:
    """Make an exit of SIGTERM and SIGHUP while the block runs, so that what is on disk is removed."""
    # For programs: the package's functions leave signals to whoever calls them. So do these lines where a
    # signal is ignored (``nohup``) or has a handler already, in threads other than the main one, and in
    # forked workers. A second signal does not stop the removal.
    process, replaced = os.getpid(), list[int]()

    def leave(number: int, _: object) -> None:
        if os.getpid() != process:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        for one in replaced:
            signal.signal(one, signal.SIG_IGN)
        sys.exit(128 + number)

    if threading.current_thread() is threading.main_thread():
        known = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
        replaced += [number for number in known if signal.getsignal(number) is signal.SIG_DFL]
    for number in replaced:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in replaced:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def new_folders(folder: Path) -> Iterator[None]:
    """Make a folder and those that it is in; new ones go again if the block raises."""
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for place in made:
            with suppress(OSError):  # another program uses it by now
                place.rmdir()
        raise


def _give_access_of(old: Path, new: Path) -> None:
    """Let those read a new file, and no others, who can read the old one."""
    shutil.copystat(old, new)  # the mode, and lists of access where there are some
    os.utime(new)
    was, now = old.stat(), new.stat()
    if (was.st_uid, was.st_gid) == (now.st_uid, now.st_gid):
        return
    for whose in ((-1, was.st_gid), (was.st_uid, -1)):  # the first is for members, the second for root alone
        with suppress(OSError):
            os.chown(new, *whose)
    if new.stat().st_gid != was.st_gid:
        new.chmod(stat.S_IMODE(now.st_mode) & ~stat.S_IRWXG)


def _put_new(file: Path, target: Path) -> None:
    """Put a file where there is none, or raise FileExistsError."""
    try:
        os.link(file, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without such links: an empty file keeps others out
        target.open("xb").close()
        file.replace(target)


def _sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _locked_folder(parent: Path) -> tuple[Path, int | None]:
    """Make a folder and lock it; another one if a program took it for a leftover before."""
    while True:
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=PREFIX))
        try:
            lock = _lock(folder)
        except (BlockingIOError, FileNotFoundError):
            continue
        except OSError:  # a file system without locks: nobody finds leftovers there
            return folder, None
        if folder.exists():
            return folder, lock
        if lock is not None:
            os.close(lock)


def _lock(folder: Path) -> int | None:
    """Lock a folder for as long as this program lives; None where there are no such locks."""
    # An OSError says that another program has it, or it is gone, or its file system has no locks.
    if not HAS_LOCKS:
        return None
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _wait_for_lock(descriptor: int) -> None:
    """Lock an open file; closing it gives the lock back."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)  # tries for ten seconds
    else:
        flock(descriptor, LOCK_EX)
