"""Domains: the attributes of a table, and their JSON document.

A differentially private release needs a domain that does not depend on the rows. Every :class:`Attribute`
therefore carries its ``provenance``: ``"declared"`` by the user, ``"private"`` (learned under a budget, see
:mod:`sdv_plausible.table.learned.private_domain`), ``"inferred"`` from the data, or ``"edited"``: declared,
but changed after a comparison with the rows. One inferred or edited attribute ends the privacy claim.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.table.columns import domain_description
from sdv_plausible.table.columns.attribute import Attribute, read_attribute, write_attribute
from sdv_plausible.table.columns.column_document import MOST_BINS, SHARED
from sdv_plausible.utils import html_templates
from sdv_plausible.utils.atomic_files import write_atomically
from sdv_plausible.utils.input_files import read_regular_file
from sdv_plausible.utils.json_schema import Schema, parse_with_schema
from sdv_plausible.utils.strict_json import strict_json

__all__ = [
    "MAX_BINS",
    "MOST_BINS",
    "SCHEMA",
    "Attribute",
    "Domain",
    "read_access_log",
    "read_attribute",
    "write_access_log",
    "write_attribute",
]  # fmt: skip

SCHEMA = "sdv-plausible-domain/1"
MAX_BINS = 100
_DIGEST_LENGTH = 64
_POSSIBLE: Schema = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "columns": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
            "possible": {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}},
        },
        "required": ["columns", "possible"],
        "additionalProperties": False,
    },
}


@dataclass(frozen=True)
class Domain:
    """The attributes of a table, in column order.

    Parameters
    ----------
    attributes : tuple of Attribute
        One per column.
    possible : mapping, optional
        Structural zeros: maps pairs of column indices (i, j), i < j, to a boolean array of shape (cardinality
        of i, cardinality of j), True where a pair of codes can occur. Declared, never learned from rows. All
        other pairs of columns are unrestricted.
    learned : mapping, optional
        Privacy cost of the privately learned attributes, as in a domain file. It is charged again wherever
        the domain is used. To remove columns, use ``dataclasses.replace(domain, attributes=...)``, which
        keeps it.
    looked, looked_rules : mapping, tuple of str; optional
        Digests of the columns and rules that were compared with rows, as in a domain file. Columns edited
        after that have no privacy claim.
    """

    attributes: tuple[Attribute, ...]
    possible: Mapping[tuple[int, int], np.ndarray] = field(default_factory=dict, compare=False, repr=False)
    learned: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    looked: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    looked_rules: tuple[str, ...] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if len({a.name for a in self.attributes}) != len(self.attributes):
            raise ValueError("a domain's column names must be distinct")

    def __str__(self) -> str:
        return html_templates.text(domain_description.title(self), domain_description.lines(self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, rows = domain_description.TABLE_HEADER, domain_description.lines(self)
        return html_templates.fragment(domain_description.title(self), head=head, rows=rows)

    def __len__(self) -> int:
        return len(self.attributes)

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __getitem__(self, name: str) -> Attribute:
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return any(a.name == name for a in self.attributes)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names."""
        return tuple(a.name for a in self.attributes)

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """Number of codes of each attribute."""
        return tuple(a.cardinality for a in self.attributes)

    @property
    def inferred(self) -> tuple[str, ...]:
        """Names of the attributes whose domain was inferred from the rows without a budget."""
        return tuple(a.name for a in self.attributes if a.provenance == "inferred")

    def to_dict(self) -> dict[str, Any]:
        """JSON form; ``Domain.from_dict`` reads it back."""
        return {
            "schema": SCHEMA,
            "attributes": [write_attribute(a) for a in self.attributes],
            **({} if not self.possible else {"possible": self._possible()}),
            **({} if self.learned is None else {"learned": dict(self.learned)}),
            **write_access_log(self),
        }

    def _possible(self) -> list[dict[str, Any]]:
        """Structural zeros in their JSON form, by column names."""
        return [
            {"columns": [self.names[i], self.names[j]], "possible": np.asarray(cells, dtype=bool).tolist()}
            for (i, j), cells in self.possible.items()
        ]

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Domain:
        """Read the output of :meth:`to_dict`.

        Parameters
        ----------
        document : mapping
            The JSON form of a domain.

        Returns
        -------
        Domain

        Raises
        ------
        ValueError
            If the document is not a domain of this schema.
        """
        if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
            raise ValueError(
                f"not a domain document: its 'schema' must be {SCHEMA!r}; write one with Domain.save"
            )
        entries = document.get("attributes")
        if not isinstance(entries, (list, tuple)):
            raise ValueError(
                f"not a domain document: its 'attributes' ({entries!r}) must be a list with one entry per "
                "column"
            )
        learned = document.get("learned")
        if not isinstance(learned, (Mapping, type(None))):
            raise ValueError(
                f"not a domain document: its 'learned' ({learned!r}) must be what Domain.save wrote there"
            )
        looks = read_access_log(document, "domain document")
        domain = cls(tuple(read_attribute(entry) for entry in entries), learned=learned, **looks)
        return replace(domain, possible=domain._read_possible(document.get("possible", [])))

    def _read_possible(self, zeros: Any) -> dict[tuple[int, int], np.ndarray]:
        found, indices = {}, {name: i for i, name in enumerate(self.names)}
        try:
            for entry in parse_with_schema(_POSSIBLE, zeros, SHARED):
                i, j = (indices[name] for name in entry["columns"])
                found[i, j] = np.array(entry["possible"], dtype=bool)
                if not (i < j and found[i, j].shape == (self.cardinalities[i], self.cardinalities[j])):
                    raise ValueError("its shape is that of two columns in order")
        except (ValueError, KeyError):
            raise ValueError(
                "not a domain document: its 'possible' must be what Domain.save wrote there"
            ) from None
        return found

    def save(self, path: str | Path) -> None:
        """Write the domain as JSON, atomically.

        Parameters
        ----------
        path : str or Path
            The file.

        Raises
        ------
        ValueError
            If a value is no text, finite number, boolean, date or Decimal.
        """
        write_atomically(path, json.dumps(self.to_dict(), indent=1))

    @classmethod
    def load(cls, path: str | Path) -> Domain:
        """Read a domain that :meth:`save` wrote.

        Inferred attributes stay inferred; :meth:`declared` marks them as declared.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        Domain

        Raises
        ------
        ValueError
            If the file is not a domain of this schema.
        """
        text = read_regular_file(path)
        try:
            document = strict_json(text.decode("utf-8"))
        except ValueError as error:
            raise ValueError(f"{str(path)!r} is not a domain file: {error}") from error
        return cls.from_dict(document)

    @classmethod
    def from_declarations(
        cls,
        declarations: Mapping[str, Any],
        sdtypes: Mapping[str, str] | None = None,
        max_bins: int = MAX_BINS,
    ) -> Domain:
        """Build a domain from the declarations that the synthesizer's ``domain`` argument takes.

        Every column needs a declaration.

        Parameters
        ----------
        declarations : mapping
            Column name -> declaration in the vocabulary of SDV's metadata, or an Attribute; see
            :func:`~sdv_plausible.table.declared.specifications.declared_attribute`.
        sdtypes : mapping, optional
            Column name -> sdtype, for columns whose declaration has none. Without either, ``range_values``
            imply a categorical column, numbers a numerical one, and a ``datetime_format`` or dates a datetime
            one.
        max_bins : int
            Wider ranges are divided into this many equal bins, at least 1.

        Raises
        ------
        ValueError
            If a declaration is invalid, defines no values, or does not determine its sdtype.

        Examples
        --------
        >>> domain = Domain.from_declarations({"age": {"range_min": 0, "range_max": 9}}, max_bins=5)
        >>> domain["age"].lower
        (0, 2, 4, 6, 8)
        """
        from sdv_plausible.table.declared.specifications import (  # imports this module
            declare,
            declared_provenance,
        )

        check.whole("max_bins", max_bins, 1, f"try {MAX_BINS}")
        known_sdtypes = sdtypes or {}
        return cls(
            tuple(
                replace(attribute, provenance=origin) if (origin := declared_provenance(spec)) else attribute
                for name, spec in declarations.items()
                if (attribute := declare(name, spec, known_sdtypes.get(name), max_bins))
            )
        )

    def without_rounding(self) -> Domain:
        """Return the same domain with all digits in the output."""
        return replace(
            self, attributes=tuple(replace(a, decimals=None, rounding=None) for a in self.attributes)
        )

    def declared(self) -> Domain:
        """Return the same domain, marked as declared: the caller vouches that it is independent of the rows.

        Privately learned attributes stay private and keep their cost.
        """
        attributes = (
            a if a.provenance == "private" else replace(a, provenance="declared") for a in self.attributes
        )
        return replace(self, attributes=tuple(attributes))


def write_access_log(declared: Any) -> dict[str, Any]:
    """Access log of a domain or domain file, for its document; empty if there is none."""
    rules = declared.looked_rules
    return {
        **({"looked": dict(declared.looked)} if declared.looked else {}),
        **({} if rules is None else {"looked_rules": list(rules)}),
    }


def read_access_log(document: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Read the output of :func:`write_access_log`."""
    looked, rules = document.get("looked", {}), document.get("looked_rules")
    for key, is_right, kind in (
        ("looked", isinstance(looked, Mapping) and all(map(_is_digest, looked.values())), "map names to"),
        ("looked_rules", rules is None or (isinstance(rules, list) and all(map(_is_digest, rules))), "list"),
    ):
        if not is_right:
            raise ValueError(
                f"{what}: {key!r} must {kind} the SHA-256 digests that were written there: put back the file "
                "as it was"
            )
    return {"looked": looked, "looked_rules": None if rules is None else tuple(rules)}


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and len(value) == _DIGEST_LENGTH and set(value) <= set("0123456789abcdef")
