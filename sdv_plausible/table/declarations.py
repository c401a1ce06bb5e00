"""What a user declared: the ``domain`` argument of the synthesizer."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.table.domain import Attribute, Domain
from sdv_plausible.table.private_domain import DomainPlan
from sdv_plausible.table.specifications import declare, declared_attribute

Undeclared = Literal["infer", "private"]
USUAL_SIZES = {"boolean": 2, "categorical": 20, "ordinal": 20, "numerical": 100, "datetime": 100}  # of undeclared columns
Specs = Mapping[str, Mapping[str, Any]]
MODELLED_SDTYPES = ("numerical", "datetime", "categorical", "boolean", "ordinal")


@dataclass(frozen=True)
class Declarations:
    """What the user declared: attributes by column name, and how the other columns' domains are found."""

    attributes: Mapping[str, Attribute]
    undeclared: Undeclared = "infer"
    never_missing: frozenset[str] = frozenset()

    def plan_private(
        self,
        specs: Specs,
        epsilon: float,
        delta: float,
        neighbours: Neighbours = ONE_ROW,
    ) -> DomainPlan:
        """Plan what learning the undeclared columns' domains costs, from the metadata alone."""
        if self.undeclared != "private":
            return DomainPlan.make({}, epsilon, delta)
        undeclared = {name: spec for name, spec in specs.items() if name not in self.attributes and not spec.get("transformed")}
        columns = {name: spec["sdtype"] for name, spec in undeclared.items()}
        declared = len(specs) - len(columns)
        return DomainPlan.make(
            columns,
            epsilon,
            delta,
            declared=declared,
            never_missing=self.never_missing,
            neighbours=neighbours,
        )

    def planned(self, specs: Specs, private: Collection[str] = ()) -> Domain:
        """Domain for planning: undeclared columns stand in with one code each, marked as private or inferred."""
        return Domain(tuple(self.attributes.get(name) or _stand_in(name, name in private) for name in specs))

    def assumed(self, specs: Specs) -> Domain:
        """Domain for a forecast: undeclared columns with a usual number of codes."""
        return Domain(tuple(self.attributes.get(name) or _usual(name, spec) for name, spec in specs.items()))


def _usual(name: str, spec: Mapping[str, Any]) -> Attribute:
    size = USUAL_SIZES.get(spec.get("sdtype", ""), USUAL_SIZES["categorical"])
    return Attribute(name=name, kind="categorical", values=tuple(range(size)), provenance="inferred")


def _stand_in(name: str, private: bool) -> Attribute:
    return Attribute(name=name, kind="categorical", nullable=True, provenance="private" if private else "inferred")


def read_declarations(domain: Any, undeclared: Undeclared, max_bins: int, specs: Specs) -> Declarations:
    """Read the ``domain`` argument of the synthesizer.

    Parameters
    ----------
    domain : None, "metadata", Domain, mapping or path
        See :class:`sdv_plausible.PlausibleDeniabilitySynthesizer`.
    undeclared : {"infer", "private"}
        What happens to the other columns.
    max_bins : int
        Bins of wide ranges.
    specs : mapping
        The metadata's columns.

    Raises
    ------
    ValueError
        If a declaration names no column, or fixes no domain.
    """
    if undeclared not in ("infer", "private"):
        raise ValueError(f'undeclared ({undeclared!r}) must be "infer" or "private"')
    if not isinstance(max_bins, int) or isinstance(max_bins, bool) or max_bins < 2:
        raise ValueError(f"max_bins ({max_bins!r}) must be a whole number >= 2; try 100")
    if domain is None:
        return Declarations({}, undeclared)
    if isinstance(domain, str) and domain == "metadata":
        found = {name: declared_attribute(name, spec, max_bins) for name, spec in specs.items()}
        never = frozenset(name for name, spec in specs.items() if spec.get("range_is_nullable") is False)
        return Declarations({name: attribute for name, attribute in found.items() if attribute}, undeclared, never)
    if isinstance(domain, (str, os.PathLike)):
        domain = _read_file(Path(domain))
    if isinstance(domain, Domain):
        attributes = {a.name: _vouched_for(a) for a in domain}
    elif isinstance(domain, Mapping):
        attributes = {name: _declare(name, spec, max_bins, specs) for name, spec in domain.items()}
    else:
        raise ValueError(f'domain ({type(domain).__name__}) must be "metadata", a Domain, a mapping or a path')
    unknown = sorted(set(attributes) - set(specs))
    if unknown:
        raise ValueError(f"domain names {unknown}, which are not columns of the metadata: {sorted(specs)}")
    return Declarations(attributes, undeclared)


def _declare(name: str, spec: Any, max_bins: int, specs: Specs) -> Attribute:
    if isinstance(spec, Attribute):
        return _vouched_for(spec)
    # Ranges, digits and missingness in the metadata may have been detected, that is, read off the rows: not used here.
    known = specs.get(name, {})
    sdtype, form = known.get("sdtype"), known.get("datetime_format")
    if sdtype is not None and sdtype not in MODELLED_SDTYPES:
        raise ValueError(
            f"domain of column {name!r} ({spec!r}) fixes no values: the column's sdtype ({sdtype!r}) is invented, not "
            "modelled. Set it to categorical or numerical in the metadata (metadata.update_column), or leave the column out"
        )
    if isinstance(spec, Mapping) and form:
        spec = {"datetime_format": form, **spec}
    return declare(name, spec, sdtype, max_bins)


def _read_file(path: Path) -> Domain | Mapping[str, Any]:
    """A file by ``Domain.save``, or a mapping as JSON."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"domain ({str(path)!r}) is not a JSON file: {error}") from error
    if isinstance(document, dict) and document and all(isinstance(spec, dict) for spec in document.values()):
        return document
    return Domain.from_dict(document)


def _vouched_for(attribute: Attribute) -> Attribute:
    """What another fit learned under its budget counts as declared: the caller knows that fit's ledger."""
    return replace(attribute, provenance="declared") if attribute.provenance == "private" else attribute
