"""The domain in a release file: the values of each column, and their provenance."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.release.file.document_nodes import DocumentNode, check_writable
from sdv_plausible.table.columns.column_document import ATTRIBUTE, OPTIONAL_ENTRIES
from sdv_plausible.table.columns.domain import Attribute, Domain, read_attribute, write_attribute

REQUIRED = tuple(name for name in ATTRIBUTE if name not in OPTIONAL_ENTRIES)


def write_domain(domain: Domain) -> list[dict[str, Any]]:
    """Domain as a section: one object per attribute, in column order."""
    return [write_attribute(attribute) for attribute in domain]


def read_domain(node: DocumentNode) -> Domain:
    """Read and check the section of the domain."""
    items = node.items(100_000)
    attributes = tuple(map(_read_modelled, items))
    if not attributes:
        raise node.refuse("must have a column at least")
    return node.validate(lambda: Domain(attributes))


def read_column(node: DocumentNode) -> Attribute:
    """Read one attribute."""
    node.entries()
    attribute = node.validate(lambda: read_attribute(node.value, REQUIRED))
    if attribute.datetime_format is not None:
        node.validate(lambda: pd.Timestamp(0).strftime(attribute.datetime_format))
    return attribute


def check_column(name: str, attribute: Attribute) -> None:
    """Check before a fit that a release file can hold an attribute."""
    subject = f"domain of column {name!r}"
    check_writable("domain", subject, lambda: write_attribute(attribute), _read_modelled)
    if attribute.name != name:
        raise Refused.saying("domain", f"{subject} has the name {attribute.name!r:.60}")


def _read_modelled(node: DocumentNode) -> Attribute:
    attribute = read_column(node)
    _check_arithmetic(node, attribute)
    return attribute


def _check_arithmetic(node: DocumentNode, attribute: Attribute) -> None:
    """Reject bins whose width or rounded ends overflow."""
    widths = [high - low for low, high in zip(attribute.lower, attribute.upper, strict=True)]
    if attribute.kind == "float":
        largest = max((abs(end) for end in (*attribute.lower, *attribute.upper)), default=0.0)
        if (
            not all(map(math.isfinite, widths))
            or not largest * 10.0 ** max(attribute.decimals or 0, 0) < math.inf
        ):
            raise node.refuse("bins must not be wider than a double, also when they are rounded")
