"""Constructor parameters of SDV's classes: metadata, and synthesizers as models."""

from __future__ import annotations

import weakref
from copy import deepcopy
from hashlib import sha256
from typing import Any

import sdv_plausible.rules as kinds
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.rules.rule import Rule
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


_INSTEAD = {
    "FixedCombinations": "Allowed(columns, combinations) or Determined(column, by, mapping), with the "
    "combinations as your code book has them",
    "ProgrammableConstraint": "Implies, Forbidden, Allowed, Determined, Formula or Inequality",
    "SingleTableProgrammableConstraint": "Implies, Forbidden, Allowed, Determined, Formula or Inequality",
}


def as_rules(rules: Any) -> Any:
    """Convert the SDV constraints in a list of rules; an error names the rule to use instead."""
    if not isinstance(rules, (list, tuple)):
        return rules
    return [rule for item in rules for rule in (_converted(item) if _is_sdv(item) else [item])]


def _is_sdv(item: Any) -> bool:
    return any(base.__module__.split(".")[0] == "sdv" for base in type(item).__mro__)


def _converted(constraint: Any) -> list[Rule]:
    name, fields = type(constraint).__name__, vars(constraint)
    if name == "Inequality":
        low, high = fields["_low_column_name"], fields["_high_column_name"]
        return [kinds.Inequality(low, high, fields["strict_boundaries"])]
    if name == "Range":
        low, middle, high = (fields[f"_{which}_column_name"] for which in ("low", "middle", "high"))
        strict = fields["strict_boundaries"]
        return [kinds.Inequality(low, middle, strict), kinds.Inequality(middle, high, strict)]
    if name == "OneHotEncoding":
        return [kinds.OneHot(fields["_column_names"])]
    if name == "FixedIncrements":
        return [kinds.Multiple(fields["column_name"], fields["increment_value"])]
    base = next(
        (known for known in _INSTEAD if any(b.__name__ == known for b in type(constraint).__mro__)), ""
    )
    instead = _INSTEAD.get(base, "a rule of sdv_plausible.rules")
    raise Refused.saying(
        "rules",
        f"rules: SDV's {name} learns from the rows, or contains code that cannot be checked. Use instead: "
        f"{instead}",
    )
