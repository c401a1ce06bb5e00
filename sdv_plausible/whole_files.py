"""Files that are whole or not there: nobody reads half of one, and a failed write leaves the old one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory


def write_whole(path: str | Path, content: str | Callable[[Path], object]) -> None:
    """Write a file whole or not at all.

    Parameters
    ----------
    path : str or Path
        The file. One that exists is replaced, but only once the new one is complete.
    content : str or callable
        Text, written as UTF-8; or a function that writes to the path it is given, which has the same file name.
    """
    path = Path(path)
    # A folder beside the file is on the same file system, so that the last step is a rename; and the file in it is made
    # anew, with the permissions that the user's files have.
    with TemporaryDirectory(dir=path.parent, prefix=".part-") as folder:
        temporary = Path(folder) / path.name
        if callable(content):
            content(temporary)
        else:
            temporary.write_text(content, encoding="utf-8")
        temporary.replace(path)
