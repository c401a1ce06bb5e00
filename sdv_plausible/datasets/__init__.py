"""Simulated tables to try the package with, and their public domains."""

from __future__ import annotations

from sdv_plausible.datasets.census import census_like, census_like_codes, census_like_metadata
from sdv_plausible.datasets.households import families_like, families_like_domain, families_like_metadata

__all__ = [
    "census_like",
    "census_like_codes",
    "census_like_metadata",
    "families_like",
    "families_like_domain",
    "families_like_metadata",
]
