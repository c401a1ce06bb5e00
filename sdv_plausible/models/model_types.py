"""Registry of model types: release files store a type's name and its arrays, and no code.

:class:`~sdv_plausible.models.bayesian_network.BayesianNetwork` has its own format there. Other classes are
registered here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdv_plausible.models.base import PrefixModel
from sdv_plausible.models.bayesian_network import NETWORK_TYPE, BayesianNetwork
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.utils.entry_points import extension, extension_location

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class ModelType:
    """Class of models, with its conversion to and from arrays."""

    name: str  # type name in release files
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
    """Register a class of models, so that its releases can be written to files and read from them.

    Parameters
    ----------
    name : str
        Type name in files. Register the class under the same name before you read such a file.
    made : type of PrefixModel
        The class itself. Register derived classes separately.
    to_arrays : callable
        Takes a model and returns its full state as a mapping of names to arrays of finite numbers.
    from_arrays : callable
        Takes these arrays, int64 or float64, and returns the model. It must raise ValueError for invalid
        arrays, because a file may be damaged or hostile.

    Raises
    ------
    ValueError
        If another class has this name, or the class does not derive from PrefixModel.

    Examples
    --------
    >>> register_model_type("chain", Chain, Chain.to_arrays, Chain.from_arrays)     # doctest: +SKIP
    """
    if not isinstance(name, str) or not name:
        raise Refused("name", name, "must be a text: the name of the model type in files")
    if not (isinstance(made, type) and issubclass(made, PrefixModel)):
        raise Refused("made", made, "must be a class derived from PrefixModel: only they have release files")
    existing = _TYPES.get(name) if made.__module__ == _registering_module(name) else model_type_named(name)
    if (
        name == NETWORK_TYPE
        or made is BayesianNetwork
        or (existing is not None and existing.made is not made)
    ):
        raise ValueError(
            f"name ({name!r}) or class ({made.__name__}) is registered already: choose another name"
        )
    for old_name in [old_name for old_name, entry in _TYPES.items() if entry.made is made]:
        del _TYPES[old_name]
    _TYPES[name] = ModelType(name=name, made=made, to_arrays=to_arrays, from_arrays=from_arrays)


def _registering_module(name: str) -> str | None:
    """Return the module of an installed extension that registers this type."""
    return extension_location("model", name)


def model_type_of(model: Any) -> ModelType | None:
    """Return the registered type of a model, or None."""
    return next((entry for entry in _TYPES.values() if entry.made is type(model)), None)


def model_type_named(name: str) -> ModelType | None:
    """Return the registered type of this name, or None."""
    if name not in _TYPES and _registering_module(name) is not None:
        extension("model", name)  # importing the module registers it
    return _TYPES.get(name)
