"""What a synthesizer object holds: parameters that are fixed, and what no copy or saved file of it may hold.

Every synthesizer class takes both from here, whichever library's shape it has.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from sdv_plausible.models import is_builtin
from sdv_plausible.table.columns.column_document import schema_of

TRANSIENT = (
    "budget", "public", "_public_given", "watch", "watch_passes", "record",  # the data owner's: paths, rows
    "_given",  # metadata that its owner may change
    "_charge", "_paid",  # what was done on this machine
    "_taken", "_points",  # of calls
)  # fmt: skip
"""Attributes that save, pickle, copy and deepcopy leave behind alike."""
SHARED = "model"
"""Given back as it is where a learner is the caller's own: plan and fit ask it anew."""


def without_transient(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state of an object without what may not leave with it.

    Parameters that were given as paths are replaced by what was read from the files (``_from_files``).
    """
    kept = {name: value for name, value in state.items() if name not in TRANSIENT}
    if state.get("budget") is not None:
        kept["_lost_budget"] = True
    kept |= kept.pop("_from_files", {})
    return kept | ({"public": None} if "public" in state else {})  # no number of rows tells it from none


def check_budget_there(synth: Any) -> None:
    """Refuse to fit an object whose budget was left behind when it was copied or saved."""
    if vars(synth).get("_lost_budget") and synth.budget is None:
        raise ValueError(
            "budget: this synthesizer drew from one, which its saved file does not hold: set "
            "synthesizer.budget = Budget(...) before you fit again"
        )


def is_path(value: Any) -> bool:
    """Whether a parameter names a file."""
    return isinstance(value, (str, os.PathLike))


def without_details(metadata: Any) -> Any:
    """Metadata with its schema alone, as an object of the same class, or a document where it was one.

    SDV's detection writes minima, maxima, digits, missingness and every category of the rows into metadata.
    Columns keep their names, semantic types, and the formats that make text a date or an id; tables keep
    their keys. What is no metadata is returned as it is.
    """
    if isinstance(metadata, Mapping) and isinstance(metadata.get("tables"), Mapping):
        return _schema_document(metadata)
    if not hasattr(metadata, "to_dict") or not hasattr(type(metadata), "load_from_dict"):
        return metadata  # SDV says what is wrong with it
    return type(metadata).load_from_dict(_schema_document(metadata.to_dict()))


def _schema_document(document: Mapping[str, Any]) -> dict[str, Any]:
    found = deepcopy(dict(document))
    for table in found.get("tables", {"table": found}).values():
        table["columns"] = schema_of(table.get("columns", {}))
    return found


class FixedParameter:
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


def _copied(name: str, value: Any) -> Any:
    return value if name == SHARED and not is_builtin(value) else deepcopy(value)


def fixed_parameters(kind: type[Any], *, but: tuple[str, ...]) -> tuple[str, ...]:
    """Fix the constructor's parameters of a class, but for some, and return all their names."""
    known = inspect.signature(kind.__init__).parameters.values()
    names = tuple(p.name for p in known if p.name != "self" and p.kind is not p.VAR_KEYWORD)
    for name in names:
        if name not in but:
            setattr(kind, name, FixedParameter(name))
    return names
