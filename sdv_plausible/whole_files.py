"""Files that are whole or not there: nobody reads half of one, and a failed write leaves the old one.

A file is made in a hidden folder beside its place and put there by a rename. If the program is interrupted
the folder is removed; if it is killed nobody can remove it there and then, so the next write into the same
place does. It knows a dead program's folder by its lock, which the operating system takes away from the dead.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
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
    path: str | Path, content: str | bytes | Callable[[Path], object], *, owner_only: bool = False
) -> None:
    """Write a file whole or not at all.

    Parameters
    ----------
    path : str or Path
        The file. One that exists is replaced, but only once the new one is complete.
    content : str, bytes or callable
        Text, written as UTF-8; or bytes; or a function that writes to the path it is given, which has the
        same file name.
    owner_only : bool
        Whether nobody but the owner may read it: for what shows real rows. It is so from the first moment
        that the file is in its place.
    """
    path = Path(path)
    with part_folder(path.parent) as folder:
        temporary = folder / path.name
        if callable(content):
            content(temporary)
        else:
            temporary.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        if owner_only:
            temporary.chmod(0o600)
        temporary.replace(path)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other programs and threads that do the same from a file while the block runs.

    The lock is on an empty file beside it, which stays: the file itself may be replaced meanwhile. If the
    program is killed the operating system gives the lock back.

    Raises
    ------
    OSError
        If the file system has no locks, or the place cannot be written to.
    """
    with path.with_name(f".{path.name}.lock").open("ab") as file:
        _wait_for_lock(file.fileno())
        yield


@contextmanager
def part_folder(parent: Path) -> Iterator[Path]:
    """Hidden folder for files that are not complete yet, gone afterwards in any case.

    It is on the file system of the place where they belong, so that the last step is a rename; and files in
    it are made anew, with the permissions that the user's files have.
    """
    _remove_leftovers(parent)
    folder, lock = _locked_folder(parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


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


def _locked_folder(parent: Path) -> tuple[Path, int | None]:
    """Make a folder and lock it. Another program may take it for a leftover before.

    Then there must be a new one.
    """
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


def _remove_leftovers(parent: Path) -> None:
    """Remove the folders of programs that were killed: nobody holds their locks."""
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            lock = _lock(folder)
            if lock is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)


def _lock(folder: Path) -> int | None:
    """Lock a folder for as long as this program lives; None where there are no such locks.

    Raises
    ------
    OSError
        If another program has it, or it is gone, or its file system has no locks.
    """
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
