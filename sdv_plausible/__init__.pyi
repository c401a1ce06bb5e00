from .fit.answers import fit_answers as fit_answers
from .fit.budget import Budget as Budget
from .fit.counts_of_others import counts_of_opendp as counts_of_opendp
from .fit.counts_of_others import counts_of_tumult as counts_of_tumult
from .fit.counts_of_others import read_counts as read_counts
from .fit.counts_of_others import read_sdmx as read_sdmx
from .fit.plan import plan as plan
from .fit.public_table import PublicTable as PublicTable
from .fit.source import fit_source as fit_source
from .fit.stated_counts import StatedCounts as StatedCounts
from .mechanism.privacy_tests.deterministic import DeterministicTest as DeterministicTest
from .mechanism.privacy_tests.randomized import RandomizedTest as RandomizedTest
from .mechanism.privacy_tests.release_level import ReleaseTest as ReleaseTest
from .models.adaptive.adaptive_network import AdaptiveNetwork as AdaptiveNetwork
from .models.checks import check_learner as check_learner
from .models.checks import check_model as check_model
from .models.datasynthesizer.greedy_bayes import GreedyBayes as GreedyBayes
from .models.gaussian_copula.copula_learner import GaussianCopula as GaussianCopula
from .models.latent.latent_learner import Latent as Latent
from .models.paper.paper_network import PaperNetwork as PaperNetwork
from .models.registered import register_model_type as register_model_type
from .models.uniform import Uniform as Uniform
from .privacy.checks import Refused as Refused
from .privacy.ledger import PrivacyLedger as PrivacyLedger
from .privacy.neighbours import Person as Person
from .related.release import FamilyRelease as FamilyRelease
from .related.synthesizer import (
    PlausibleDeniabilityMultiTableSynthesizer as PlausibleDeniabilityMultiTableSynthesizer,
)
from .release.attestation import attest as attest
from .release.attestation import check_attestation as check_attestation
from .release.file.release import Release as Release
from .release.intervals.combining import Combined as Combined
from .release.intervals.combining import combine as combine
from .release.papers.conformance import to_conformance as to_conformance
from .release.papers.registry import to_registry as to_registry
from .release.papers.standards import to_standard as to_standard
from .sdv.copula import SDVCopula as SDVCopula
from .sdv.metadata import metadata_of as metadata_of
from .synthesizer import PlausibleDeniabilitySynthesizer as PlausibleDeniabilitySynthesizer
from .table.columns.domain import Attribute as Attribute
from .table.columns.domain import Domain as Domain
from .table.files.csv_files import count_unreadable as count_unreadable
from .table.files.csv_files import read_csv as read_csv
from .table.files.parquet import read_parquet as read_parquet
from .table.files.text_files import Files as Files
from .verification import verify as verify

__version__: str
