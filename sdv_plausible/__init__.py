"""Synthetic tables with plausible deniability and differential privacy, for the SDV ecosystem.

The public names load on first use, so that importing the package costs nothing and no import order matters:
SDV's add-on loader may import :mod:`sdv_plausible.synthesizer` while this package is itself being imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdv_plausible.utils.late import late_names

if TYPE_CHECKING:
    from sdv_plausible.fit.budget import Budget
    from sdv_plausible.fit.plan import plan
    from sdv_plausible.fit.public_table import PublicTable
    from sdv_plausible.fit.source import fit_source
    from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
    from sdv_plausible.models.checks import check_learner, check_model
    from sdv_plausible.models.datasynthesizer.greedy_bayes import GreedyBayes
    from sdv_plausible.models.gaussian_copula.copula_learner import GaussianCopula
    from sdv_plausible.models.latent.latent_learner import Latent
    from sdv_plausible.models.paper.paper_network import PaperNetwork
    from sdv_plausible.models.registered import register_model_type
    from sdv_plausible.models.uniform import Uniform
    from sdv_plausible.privacy.checks import Refused
    from sdv_plausible.privacy.ledger import PrivacyLedger
    from sdv_plausible.privacy.neighbours import Person
    from sdv_plausible.release.file.release import Release
    from sdv_plausible.release.intervals.combining import Combined, combine
    from sdv_plausible.release.papers.conformance import to_conformance
    from sdv_plausible.release.papers.registry import to_registry
    from sdv_plausible.release.privacy_tests.deterministic import DeterministicTest
    from sdv_plausible.release.privacy_tests.randomized import RandomizedTest
    from sdv_plausible.release.privacy_tests.release_level import ReleaseTest
    from sdv_plausible.sdv.copula import SDVCopula
    from sdv_plausible.sdv.versions import metadata_of
    from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer
    from sdv_plausible.table.columns.domain import Attribute, Domain
    from sdv_plausible.table.files.csv_files import count_unreadable, read_csv
    from sdv_plausible.table.files.parquet import read_parquet
    from sdv_plausible.table.files.text_files import Files

__version__ = "0.2.0"

_HOME = {
    "AdaptiveNetwork": "models.adaptive.adaptive_network",
    "Attribute": "table.columns.domain",
    "Budget": "fit.budget",
    "DeterministicTest": "release.privacy_tests.deterministic",
    "Combined": "release.intervals.combining",
    "Domain": "table.columns.domain",
    "Files": "table.files.text_files",
    "GaussianCopula": "models.gaussian_copula.copula_learner",
    "GreedyBayes": "models.datasynthesizer.greedy_bayes",
    "Latent": "models.latent.latent_learner",
    "PaperNetwork": "models.paper.paper_network",
    "Person": "privacy.neighbours",
    "PlausibleDeniabilitySynthesizer": "synthesizer",
    "PrivacyLedger": "privacy.ledger",
    "PublicTable": "fit.public_table",
    "RandomizedTest": "release.privacy_tests.randomized",
    "Refused": "privacy.checks",
    "Release": "release.file.release",
    "ReleaseTest": "release.privacy_tests.release_level",
    "SDVCopula": "sdv.copula",
    "Uniform": "models.uniform",
    "check_learner": "models.checks",
    "check_model": "models.checks",
    "combine": "release.intervals.combining",
    "count_unreadable": "table.files.csv_files",
    "fit_source": "fit.source",
    "metadata_of": "sdv.versions",
    "plan": "fit.plan",
    "read_csv": "table.files.csv_files",
    "read_parquet": "table.files.parquet",
    "register_model_type": "models.registered",
    "to_conformance": "release.papers.conformance",
    "to_registry": "release.papers.registry",
}

__all__ = [
    "AdaptiveNetwork",
    "Attribute",
    "Budget",
    "Combined",
    "DeterministicTest",
    "Domain",
    "Files",
    "GaussianCopula",
    "GreedyBayes",
    "Latent",
    "PaperNetwork",
    "Person",
    "PlausibleDeniabilitySynthesizer",
    "PrivacyLedger",
    "PublicTable",
    "RandomizedTest",
    "Refused",
    "Release",
    "ReleaseTest",
    "SDVCopula",
    "Uniform",
    "check_learner",
    "check_model",
    "combine",
    "count_unreadable",
    "fit_source",
    "metadata_of",
    "plan",
    "read_csv",
    "read_parquet",
    "register_model_type",
    "to_conformance",
    "to_registry",
]


__getattr__, __dir__ = late_names(__name__, _HOME)
