"""Constructor parameters of SDV's classes: metadata, and synthesizers as models."""

from __future__ import annotations

import weakref
from copy import deepcopy
from hashlib import sha256
from typing import Any

from sdv_plausible.sdv.sdv_versions import sdv_bases
from sdv_plausible.utils.entry_points import extension


class GivenMetadata:
    """The metadata passed to a constructor: a digest, and a copy if it ``is_written`` by the user.

    Detected metadata holds values of rows and is not copied.
    """

    def __init__(self, metadata: Any, *, is_written: bool) -> None:
        self._metadata: weakref.ref[Any] | None = weakref.ref(metadata)
        self._digest = _digest(metadata)
        self._document = deepcopy(metadata.to_dict()) if is_written else None

    @property
    def is_changed(self) -> bool:
        """Whether the caller changed the object."""
        metadata = None if self._metadata is None else self._metadata()
        return metadata is not None and _digest(metadata) != self._digest

    def __getstate__(self) -> dict[str, Any]:
        """The state without the caller's object."""
        return {**vars(self), "_metadata": None}

    def copy(self, table_name: str) -> Any:
        """A copy of the metadata as it was; None if it was not written by the user."""
        from sdv.metadata import Metadata

        if self._document is None:
            return None
        return Metadata.load_from_dict(deepcopy(self._document), table_name)


def _digest(metadata: Any) -> bytes:
    return sha256(repr(metadata.to_dict()).encode()).digest()


def learner_of(model: Any) -> Any:
    """A learner for an SDV synthesizer (class or instance); any other model unchanged."""
    if not sdv_bases(model):
        return model
    return extension("sdv_model", "gaussian_copula")(model)
