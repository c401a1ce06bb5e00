"""From a user's declarations and the table to a domain, and the ledger entries that say where it came from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from sdv_plausible.domain import Attribute, Domain, date_style, declared_attribute, infer_attribute
from sdv_plausible.privacy.composition import InfiniteLoss
from sdv_plausible.privacy.ledger import LedgerEntry

Specs = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Declarations:
    """What the user declared: attributes by column name."""

    attributes: Mapping[str, Attribute]

    def planned(self, specs: Specs) -> Domain:
        """Domain for planning: undeclared columns stand in with one code each, marked as inferred."""
        return Domain(
            tuple(
                self.attributes.get(name) or Attribute(name=name, kind="categorical", nullable=True, provenance="inferred")
                for name in specs
            )
        )


def read_declarations(domain: Any, undeclared: str, max_bins: int, specs: Specs) -> Declarations:
    """Read the ``domain`` argument of the synthesizer.

    Parameters
    ----------
    domain : None, "metadata", Domain, mapping or path
        See :class:`sdv_plausible.PlausibleDeniabilitySynthesizer`.
    undeclared : str
        What happens to the other columns: ``"infer"``.
    max_bins : int
        Bins of wide ranges.
    specs : mapping
        The metadata's columns.

    Raises
    ------
    ValueError
        If a declaration names no column, or fixes no domain.
    """
    if undeclared != "infer":
        raise ValueError(f'undeclared ({undeclared!r}) must be "infer"')
    if not isinstance(max_bins, int) or isinstance(max_bins, bool) or max_bins < 2:
        raise ValueError(f"max_bins ({max_bins!r}) must be a whole number >= 2; try 100")
    if domain is None:
        return Declarations({})
    if isinstance(domain, str) and domain == "metadata":
        found = {name: declared_attribute(name, spec, max_bins) for name, spec in specs.items()}
        return Declarations({name: attribute for name, attribute in found.items() if attribute is not None})
    if isinstance(domain, (str, os.PathLike)):
        domain = Domain.load(Path(domain)).declared()
    if isinstance(domain, Domain):
        attributes = {a.name: a for a in domain}
    elif isinstance(domain, Mapping):
        attributes = {name: _declare(name, spec, max_bins, specs) for name, spec in domain.items()}
    else:
        raise ValueError(f'domain ({type(domain).__name__}) must be "metadata", a Domain, a mapping or a path')
    unknown = sorted(set(attributes) - set(specs))
    if unknown:
        raise ValueError(f"domain names {unknown}, which are not columns of the metadata: {sorted(specs)}")
    return Declarations(attributes)


def _declare(name: str, spec: Any, max_bins: int, specs: Specs) -> Attribute:
    if isinstance(spec, Attribute):
        return spec
    if not isinstance(spec, Mapping):
        raise ValueError(f"domain of column {name!r} ({spec!r}) must be a mapping such as {{'range_min': 0, 'range_max': 99}}")
    attribute = declared_attribute(name, {**specs.get(name, {}), **spec}, max_bins)
    if attribute is None:
        raise ValueError(
            f"domain of column {name!r} ({dict(spec)!r}) fixes no values: give range_min and range_max for numbers and "
            "dates, range_values for categories"
        )
    return attribute


def build_domain(table: pd.DataFrame, declarations: Declarations, specs: Specs, max_bins: int) -> Domain:
    """Domain of the modelled columns of a table, in the table's column order.

    Raises
    ------
    ValueError
        If an undeclared column cannot be read.
    """
    attributes = []
    for name in table.columns:
        declared = declarations.attributes.get(name)
        spec = specs[name]
        if declared is None or spec.get("transformed"):
            attributes.append(infer_attribute(name, table[name], spec["sdtype"], spec, max_bins))
        elif declared.kind == "datetime" and declared.time_zone is None and declared.datetime_format is None:
            # How dates are written is the table's schema, not its rows.
            attributes.append(replace(declared, **date_style(table[name], spec.get("datetime_format"))))
        else:
            attributes.append(declared)
    return Domain(tuple(attributes))


def domain_entries(domain: Domain) -> list[LedgerEntry]:
    """Ledger entries of a domain: declared is free, inferred ends the claim."""
    entries = []
    declared = [a.name for a in domain if a.provenance == "declared"]
    if declared:
        entries.append(LedgerEntry(name="domain", mechanism=f"declared: {_list(declared)}", losses=(), scope="the domain"))
    if domain.inferred:
        names = _list(domain.inferred)
        entries.append(
            LedgerEntry(
                name="domain",
                mechanism=f"inferred from the rows: {names}",
                losses=(InfiniteLoss(),),
                scope="the domain",
                note=f"the value sets of {names} were read from the rows without noise; declare them with domain=...",
            )
        )
    return entries


def _list(names: Any, most: int = 6) -> str:
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
