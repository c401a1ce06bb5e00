"""Atomic file writes: a file is complete or absent, and a failed write leaves the old file.

A file is written to a hidden folder next to its destination and moved there by a rename. The folder is
removed if the program is interrupted. If the program is killed, the next write to the same place removes it:
the operating system has released the dead program's lock on the folder. Rows that a fit or the app keeps on
disk are in such a folder too.
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
except ImportError:  # on Windows, leftovers of killed programs remain
    HAS_LOCKS = False

PREFIX = ".sdv-plausible-part-"  # reserved prefix: folders with it may be removed


def write_atomically(
    path: str | Path,
    content: str | bytes | Callable[[Path], object],
    *,
    owner_only: bool = False,
    replace: bool = True,
) -> None:
    """Write a file atomically; its content is on disk when this returns."""
    # An existing file is replaced once the new one is complete and keeps its access rights; a link is
    # followed. ``content`` may be a function that writes to a given path with the same file name. With
    # ``owner_only`` (for files that show real rows), nobody else can ever read the file. Without ``replace``,
    # an existing file is kept and FileExistsError is raised; of two concurrent writes the first succeeds.
    path, target = Path(path), Path(os.path.realpath(path))
    with part_folder(target.parent) as folder, _errors_naming(path):
        temporary = folder / path.name
        if callable(content):
            content(temporary)
        else:
            temporary.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        with temporary.open("rb+") as handle:
            if owner_only:
                temporary.chmod(0o600)
            elif target.exists():
                _copy_access(target, temporary)
            os.fsync(handle.fileno())
        if replace:
            temporary.replace(target)
        else:
            _put_new(temporary, target)
        with suppress(OSError):  # Windows cannot open folders, and some file systems cannot sync them
            _sync_folder(target.parent)


@contextmanager
def _errors_naming(path: Path) -> Iterator[None]:
    """Make OSErrors, such as a full disk, name the caller's path instead of the hidden folder."""
    try:
        yield
    except OSError as error:
        is_internal = error.filename is None or PREFIX in os.fsdecode(error.filename)
        if error.errno is None or not is_internal:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock for a file, against other programs and threads that also use this function."""
    # The lock is on an empty file next to it, which remains, since the file itself may be replaced meanwhile.
    # The operating system releases the lock of a killed program. OSError is raised without lock support or
    # write access, and if the lock file is a link, which somebody else may have put there.
    lock = path.with_name(f".{path.name}.lock")
    if lock.is_symlink():
        raise OSError(f"{lock} is a symbolic link, which a lock must not be: remove it")
    is_new = not lock.exists()
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(lock, flags, 0o666), "ab") as file:
        if is_new and path.exists():
            with suppress(OSError):  # writers of the file may lock it, and its owner always
                chmod_target = file.fileno() if os.chmod in os.supports_fd else lock
                os.chmod(chmod_target, path.stat().st_mode & 0o777 | 0o600)  # noqa: PTH101
        _wait_for_lock(file.fileno())
        yield


@contextmanager
def part_folder(parent: Path) -> Iterator[Path]:
    """Provide a hidden folder for incomplete files, removed afterwards in any case."""
    # It is on the destination's file system, so that the last step is a rename. New files in it get the
    # user's default permissions.
    remove_leftovers(parent)
    with _errors_naming(parent):
        folder, lock = _locked_folder(parent)
    try:
        with _errors_naming(parent):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def remove_leftovers(parent: Path) -> None:
    """Remove the folders of killed programs, whose locks are free."""
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            lock = _lock(folder)
            if lock is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)


@contextmanager
def exits_on_signals() -> Iterator[None]:
    """Convert SIGTERM and SIGHUP to an exit while the block runs, so that temporary files are removed."""
    # For programs only: library functions leave signals to their caller. Signals that are ignored (``nohup``)
    # or handled already are left alone, as are other threads and forked workers. A second signal does not
    # stop the clean-up.
    process, replaced = os.getpid(), list[int]()

    def leave(number: int, _: object) -> None:
        if os.getpid() != process:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        for handled_signal in replaced:
            signal.signal(handled_signal, signal.SIG_IGN)
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
    """Create a folder and its parents; remove the new ones if the block raises."""
    created = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for path in created:
            with suppress(OSError):  # in use by another program by now
                path.rmdir()
        raise


def _copy_access(old: Path, new: Path) -> None:
    """Give a new file the access rights of the old one."""
    shutil.copystat(old, new)  # mode and access control lists
    os.utime(new)
    old_stat, new_stat = old.stat(), new.stat()
    if (old_stat.st_uid, old_stat.st_gid) == (new_stat.st_uid, new_stat.st_gid):
        return
    for owner in (
        (-1, old_stat.st_gid),
        (old_stat.st_uid, -1),
    ):  # the first needs group membership, the second root
        with suppress(OSError):
            os.chown(new, *owner)
    if new.stat().st_gid != old_stat.st_gid:
        new.chmod(stat.S_IMODE(new_stat.st_mode) & ~stat.S_IRWXG)


def _put_new(file: Path, target: Path) -> None:
    """Move a file to a free path, or raise FileExistsError."""
    try:
        os.link(file, target)
    except FileExistsError:
        raise
    except OSError:  # no hard links on this file system: reserve the path with an empty file
        target.open("xb").close()
        file.replace(target)


def _sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _locked_folder(parent: Path) -> tuple[Path, int | None]:
    """Create and lock a folder; retry if another program removes it as a leftover."""
    while True:
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=PREFIX))
        try:
            lock = _lock(folder)
        except (BlockingIOError, FileNotFoundError):
            continue
        except OSError:  # no locks on this file system, so no leftovers are removed
            return folder, None
        if folder.exists():
            return folder, lock
        if lock is not None:
            os.close(lock)


def _lock(folder: Path) -> int | None:
    """Lock a folder for the lifetime of this program; None if the platform has no such locks."""
    # OSError: another program has the lock, the folder is gone, or the file system has no locks.
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
    """Wait for a lock on an open file; closing the file releases it."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)  # retries for ten seconds
    else:
        flock(descriptor, LOCK_EX)
