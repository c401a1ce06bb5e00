"""The constructor's parameters that are SDV's: metadata as given, and synthesizers as models."""

from __future__ import annotations

import weakref
from copy import deepcopy
from hashlib import sha256
from typing import Any

from sdv_plausible.sdv.sdv_versions import sdv_bases
from sdv_plausible.utils.entry_points import extension


class GivenMetadata:
    """The metadata that a constructor was given: whether it was changed, and what was written in it.

    What SDV detected holds values of the rows, and is not kept: ``is_written`` says that it is a declaration.
    """

    def __init__(self, metadata: Any, *, is_written: bool) -> None:
        self._held: weakref.ref[Any] | None = weakref.ref(metadata)
        self._digest = _digest(metadata)
        self._document = deepcopy(metadata.to_dict()) if is_written else None

    @property
    def is_changed(self) -> bool:
        """Whether the caller's object says something else now."""
        held = None if self._held is None else self._held()
        return held is not None and _digest(held) != self._digest

    def __getstate__(self) -> dict[str, Any]:
        """Without the caller's object."""
        return {**vars(self), "_held": None}

    def copy(self, table_name: str) -> Any:
        """Metadata that says what it said; None where its words are no declaration."""
        from sdv.metadata import Metadata

        if self._document is None:
            return None
        return Metadata.load_from_dict(deepcopy(self._document), table_name)


def _digest(metadata: Any) -> bytes:
    return sha256(repr(metadata.to_dict()).encode()).digest()


def learner_of(model: Any) -> Any:
    """A learner in the place of an SDV synthesizer; any other model as it is.

    Parameters
    ----------
    model : object
        What the user gave: an SDV class, an instance, a fitted instance, a name or a learner.
    """
    if not sdv_bases(model):
        return model
    return extension("sdv_model", "gaussian_copula")(model)
