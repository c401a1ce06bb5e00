"""State of synthesizer objects: fixed parameters, and transient attributes that no copy or file contains."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from sdv_plausible.models import is_builtin
from sdv_plausible.table.columns.column_document import type_words_by_column

TRANSIENT = (
    "budget", "public", "_public_given", "watch", "watch_progress", "record",  # paths and rows
    "_given",  # metadata that the user may change
    "_charge", "_paid",  # charges on this machine
    "_points",  # state of a call
)  # fmt: skip
"""Attributes that save, pickle, copy and deepcopy omit."""
SHARED = "model"
"""Returned without a copy if it is a custom learner: plan and fit query it again."""


def without_transient(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state of an object without transient attributes, and with file contents in place of paths."""
    saved = {name: value for name, value in state.items() if name not in TRANSIENT}
    if state.get("budget") is not None:
        saved["_lost_budget"] = True
    saved |= saved.pop("_from_files", {})
    return saved | ({"public": None} if "public" in state else {})


def check_budget_there(synth: Any) -> None:
    """Reject a fit of a copied or saved object that had a budget."""
    if vars(synth).get("_lost_budget") and synth.budget is None:
        raise ValueError(
            "budget: this synthesizer had a budget, which its saved file does not contain: set "
            "synthesizer.budget = Budget(...) before you fit again"
        )


def is_path(value: Any) -> bool:
    """Whether a parameter is a path."""
    return isinstance(value, (str, os.PathLike))


def without_details(metadata: Any) -> Any:
    """Metadata reduced to names, semantic types, formats and keys, as an object of the same class or a dict.

    SDV's detection writes minima, maxima, digits, missingness and categories of the rows into metadata.
    """
    if isinstance(metadata, Mapping) and isinstance(metadata.get("tables"), Mapping):
        return _schema_document(metadata)
    if not hasattr(metadata, "to_dict") or not hasattr(type(metadata), "load_from_dict"):
        return metadata  # SDV reports the error
    return type(metadata).load_from_dict(_schema_document(metadata.to_dict()))


def _schema_document(document: Mapping[str, Any]) -> dict[str, Any]:
    schema = deepcopy(dict(document))
    for table in schema.get("tables", {"table": schema}).values():
        table["columns"] = type_words_by_column(table.get("columns", {}))
    return schema


class FixedParameter:
    """A parameter that only the constructor sets, so that plan, fit and ledger agree; reads are copies."""

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
                f"{self.name} ({shown:.60}) cannot be changed, so that plan, fit and ledger agree. Create a "
                f"new synthesizer: {kind}(metadata, {self.name}=...)"
            )
        vars(synth)[self.name] = _copied(self.name, value)


def _copied(name: str, value: Any) -> Any:
    return value if name == SHARED and not is_builtin(value) else deepcopy(value)


def fixed_parameters(kind: type[Any], *, but: tuple[str, ...]) -> tuple[str, ...]:
    """Fix the constructor parameters of a class except ``but``, and return the names of all."""
    known = inspect.signature(kind.__init__).parameters.values()
    names = tuple(p.name for p in known if p.name != "self" and p.kind is not p.VAR_KEYWORD)
    for name in names:
        if name not in but:
            setattr(kind, name, FixedParameter(name))
    return names
