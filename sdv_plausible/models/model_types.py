"""Models by name: what a release file holds of a model is its type's name and arrays, and no code.

:class:`~sdv_plausible.models.bayesian_network.BayesianNetwork` has a form of its own there; other classes are
registered here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdv_plausible.models.base import PrefixModel
from sdv_plausible.models.bayesian_network import NETWORK, BayesianNetwork
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.utils.entry_points import extension, extension_place

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class ModelType:
    """A class of models and its way to arrays and back."""

    name: str  # what a file calls it
    made: type[PrefixModel]
    to_arrays: Callable[[Any], Arrays]
    from_arrays: Callable[[Arrays], PrefixModel]


_TYPES: dict[str, ModelType] = {}


def register_model_type(
    name: str,
    made: type[PrefixModel],
    to_arrays: Callable[[Any], Arrays],
    from_arrays: Callable[[Arrays], PrefixModel],
) -> None:
    """Register a class of models, so that releases made with it can be written to files and read from them.

    Parameters
    ----------
    name : str
        What a file calls it. Whoever reads the file registers the class under the same name first.
    made : type of PrefixModel
        The class itself; classes derived from it are registered on their own.
    to_arrays : callable
        Takes a model and returns all of it as arrays of finite numbers by name.
    from_arrays : callable
        Takes such arrays, whole numbers as int64 and others as float64, and returns the model; it must raise
        ValueError unless they make one, as the file may be damaged or hostile.

    Raises
    ------
    ValueError
        If the name is taken by another class, or the class is no prefix model.

    Examples
    --------
    >>> register_model_type("chain", Chain, Chain.to_arrays, Chain.from_arrays)     # doctest: +SKIP
    """
    if not isinstance(name, str) or not name:
        raise Refused("name", name, "must be a text: it is what files call the model type")
    if not (isinstance(made, type) and issubclass(made, PrefixModel)):
        raise Refused("made", made, "must be a class derived from PrefixModel: only they have release files")
    taken = _TYPES.get(name) if made.__module__ == _home(name) else type_named(name)
    if name == NETWORK or made is BayesianNetwork or (taken is not None and taken.made is not made):
        raise ValueError(
            f"name ({name!r}) or class ({made.__name__}) is registered already: choose another name"
        )
    for known in [known for known, there in _TYPES.items() if there.made is made]:
        del _TYPES[known]
    _TYPES[name] = ModelType(name=name, made=made, to_arrays=to_arrays, from_arrays=from_arrays)


def _home(name: str) -> str | None:
    """The module that registers this type, of an installed extension."""
    return extension_place("model", name)


def type_of(model: Any) -> ModelType | None:
    """Registered type of a model; None if there is none."""
    return next((known for known in _TYPES.values() if known.made is type(model)), None)


def type_named(name: str) -> ModelType | None:
    """Registered type of a name; None if there is none."""
    if name not in _TYPES and _home(name) is not None:
        extension("model", name)  # importing the module registers it
    return _TYPES.get(name)
