from .extensions.models.datasynthesizer.greedy_bayes import GreedyBayes as GreedyBayes
from .extensions.models.gaussian_copula.copula_learner import GaussianCopula as GaussianCopula
from .extensions.models.latent.latent_learner import Latent as Latent
from .extensions.models.paper.paper_network import PaperNetwork as PaperNetwork
from .extensions.models.sdv_copula import SDVCopula as SDVCopula
from .extensions.models.uniform import Uniform as Uniform
from .extensions.multi_table.multi_table_synthesizer import (
    PlausibleDeniabilityMultiTableSynthesizer as PlausibleDeniabilityMultiTableSynthesizer,
)
from .extensions.multi_table.related_release import FamilyRelease as FamilyRelease
from .extensions.published_counts.count_importers import counts_of_opendp as counts_of_opendp
from .extensions.published_counts.count_importers import counts_of_tumult as counts_of_tumult
from .extensions.published_counts.count_importers import read_counts as read_counts
from .extensions.published_counts.count_importers import read_sdmx as read_sdmx
from .extensions.published_counts.fit_answers import fit_answers as fit_answers
from .extensions.published_counts.stated_counts import StatedCounts as StatedCounts
from .extensions.standards.attestation import attest as attest
from .extensions.standards.attestation import check_attestation as check_attestation
from .extensions.standards.registry import to_registry as to_registry
from .extensions.standards.standards import to_standard as to_standard
from .extensions.verify.verification import verify as verify
from .fitting.fit_source import fit_source as fit_source
from .fitting.plan import plan as plan
from .fitting.public_table import PublicTable as PublicTable
from .fitting.release_budget import Budget as Budget
from .mechanism.privacy_tests.release_level import ReleaseTest as ReleaseTest
from .mechanism.privacy_tests.row_tests import DeterministicTest as DeterministicTest
from .mechanism.privacy_tests.row_tests import RandomizedTest as RandomizedTest
from .models.adaptive.adaptive_network import AdaptiveNetwork as AdaptiveNetwork
from .models.model_checks import check_learner as check_learner
from .models.model_checks import check_model as check_model
from .models.model_types import register_model_type as register_model_type
from .privacy.ledger import PrivacyLedger as PrivacyLedger
from .privacy.neighbours import Person as Person
from .privacy.parameter_checks import Refused as Refused
from .release.card.conformance import to_conformance as to_conformance
from .release.file.release import Release as Release
from .release.intervals.combining import Combined as Combined
from .release.intervals.combining import combine as combine
from .sdv.metadata import metadata_of as metadata_of
from .synthesizer import PlausibleDeniabilitySynthesizer as PlausibleDeniabilitySynthesizer
from .table.columns.domain import Attribute as Attribute
from .table.columns.domain import Domain as Domain
from .table.files.csv_files import count_unreadable as count_unreadable
from .table.files.csv_files import read_csv as read_csv
from .table.files.excel_files import read_excel as read_excel
from .table.files.parquet_files import read_parquet as read_parquet
from .table.files.text_files import Files as Files
from .table.files.typed_records import read_sql as read_sql

__version__: str
