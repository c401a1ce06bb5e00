"""The constructor's parameters after construction: what was given, fixed, as copies."""

from __future__ import annotations

import inspect
import weakref
from copy import deepcopy
from hashlib import sha256
from typing import Any

from sdv_plausible.models import is_ours
from sdv_plausible.sdv.versions import sdv_bases

SHARED = "model"
"""Given back as it is where a learner is the caller's own: plan and fit ask it anew."""


class Parameter:
    """A parameter that a plan, a fit and its ledger read alike: it is set once, by the constructor.

    Whoever changes it afterwards, or what it holds, would get a fit that its ledger does not describe.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, synth: Any, owner: Any = None) -> Any:
        if synth is None:
            return self
        try:
            value = vars(synth)[self.name]
        except KeyError:
            raise AttributeError(self.name) from None
        return _copied(self.name, value)

    def __set__(self, synth: Any, value: Any) -> None:
        if self.name in vars(synth):
            kind, shown = type(synth).__name__, " ".join(repr(vars(synth)[self.name]).split())
            raise AttributeError(
                f"{self.name} ({shown:.60}) is fixed when a synthesizer is made, so that "
                f"plan, fit and ledger agree: make a new one, {kind}(metadata, {self.name}=...)"
            )
        vars(synth)[self.name] = _copied(self.name, value)


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


def _copied(name: str, value: Any) -> Any:
    return value if name == SHARED and not is_ours(value) else deepcopy(value)


def fixed_parameters(kind: type[Any], *, but: tuple[str, ...]) -> tuple[str, ...]:
    """Fix the constructor's parameters of a class, but for some, and return all their names."""
    known = inspect.signature(kind.__init__).parameters.values()
    names = tuple(p.name for p in known if p.name != "self" and p.kind is not p.VAR_KEYWORD)
    for name in names:
        if name not in but:
            setattr(kind, name, Parameter(name))
    return names


def learner_of(model: Any) -> Any:
    """A learner in the place of an SDV synthesizer; any other model as it is.

    Parameters
    ----------
    model : object
        What the user gave: an SDV class, an instance, a fitted instance, a name or a learner.
    """
    if not sdv_bases(model):
        return model
    from sdv_plausible.sdv.copula import SDVCopula  # with models that few load

    return SDVCopula(model)
