"""Synthetic tables with plausible deniability and differential privacy, for the SDV ecosystem.

The public names load on first use, so that importing the package costs nothing and no import order matters:
SDV's add-on loader may import :mod:`sdv_plausible.synthesizer` while this package is itself being imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sdv_plausible.fit.source import fit_source
    from sdv_plausible.models.checks import check_learner, check_model
    from sdv_plausible.models.registered import register_model_type
    from sdv_plausible.privacy.ledger import PrivacyLedger
    from sdv_plausible.release.budget import Budget
    from sdv_plausible.release.plan import plan
    from sdv_plausible.release_file.release import Release
    from sdv_plausible.sdv.versions import metadata_of
    from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer
    from sdv_plausible.table.domain import Attribute, Domain
    from sdv_plausible.table.parquet import read_parquet
    from sdv_plausible.table.reading import count_unreadable, read_csv

__version__ = "0.1.0"

_HOME = {
    "PlausibleDeniabilitySynthesizer": "sdv_plausible.synthesizer",
    "Attribute": "sdv_plausible.table.domain",
    "Budget": "sdv_plausible.release.budget",
    "Domain": "sdv_plausible.table.domain",
    "PrivacyLedger": "sdv_plausible.privacy.ledger",
    "Release": "sdv_plausible.release_file.release",
    "check_learner": "sdv_plausible.models.checks",
    "check_model": "sdv_plausible.models.checks",
    "count_unreadable": "sdv_plausible.table.reading",
    "fit_source": "sdv_plausible.fit.source",
    "metadata_of": "sdv_plausible.sdv.versions",
    "plan": "sdv_plausible.release.plan",
    "read_csv": "sdv_plausible.table.reading",
    "read_parquet": "sdv_plausible.table.parquet",
    "register_model_type": "sdv_plausible.models.registered",
}

__all__ = [
    "Attribute",
    "Budget",
    "Domain",
    "PlausibleDeniabilitySynthesizer",
    "PrivacyLedger",
    "Release",
    "check_learner",
    "check_model",
    "count_unreadable",
    "fit_source",
    "metadata_of",
    "plan",
    "read_csv",
    "read_parquet",
    "register_model_type",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sdv_plausible' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
