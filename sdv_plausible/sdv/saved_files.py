"""Read synthesizers that were saved as pickles."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

from sdv.utils import load_synthesizer

from sdv_plausible.privacy.parameter_checks import Refused

_DAMAGED = (
    pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, KeyError, TypeError,
    ValueError,
)  # fmt: skip
"""Errors of unpickling a file that is damaged, or of another version."""


def load_saved(filepath: str | Path, kind: type[Any]) -> Any:
    """Unpickle a synthesizer of a class; ValueError if the file is damaged or holds something else."""
    if not isinstance(filepath, (str, os.PathLike)):
        raise Refused("filepath", type(filepath), "must be the path of a file that save() wrote")
    path = str(filepath)
    try:
        loaded = load_synthesizer(path)
    except OSError:
        raise
    except _DAMAGED as error:
        if isinstance(error, (ImportError, AttributeError)) and "sdv_plausible" in str(error):
            raise ValueError(
                f"{path!r} was saved by another version of sdv-plausible, whose files this one "
                "does not read: sample from it with that version, or fit again"
            ) from error
        if isinstance(error, ModuleNotFoundError):
            raise ValueError(f"{path!r} needs a module that is not installed: {error}") from error
        raise ValueError(f"{path!r} is not a saved synthesizer, or is damaged: {error}") from error
    if not isinstance(loaded, kind):
        raise ValueError(f"{path!r} holds a {type(loaded).__name__}, not a {kind.__name__}")
    return loaded
