"""Which reader reads which code book."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from sdv_plausible.declaring.codebook import Codebook
from sdv_plausible.declaring.csv_codebook import read_csv_codebook
from sdv_plausible.declaring.nist import read_nist

Reader = Callable[[Path], Codebook]
READERS: Mapping[str, Reader] = {"csv": read_csv_codebook, "nist": read_nist}
_BY_ENDING = {".csv": "csv", ".json": "nist"}


def read_codebook(path: str | Path, form: str | None = None) -> Codebook:
    """Read what a code book declares, each column with the file's name as its source.

    Parameters
    ----------
    path : str or Path
        The file.
    form : str, optional
        One of ``READERS``; else the file's ending tells.

    Raises
    ------
    ValueError
        If nothing reads such a file, or it is damaged.
    """
    path = Path(path)
    form = form or _form(path)
    if form not in READERS:
        raise ValueError(f"the form of a code book ({form!r}) must be one of {', '.join(READERS)}")
    return READERS[form](path).citing(path.name)


def _form(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in _BY_ENDING:
        raise ValueError(
            f"{path}: nothing reads code books that end in {ending!r}; known are {', '.join(_BY_ENDING)}; or "
            f"say which it is: {', '.join(READERS)}"
        )
    return _BY_ENDING[ending]
