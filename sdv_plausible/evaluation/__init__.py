"""Utility measures of [PD] section 6 as SDMetrics metrics, and an evaluation report.

[PD] is Bindschaedler, Shokri and Gunter, *Plausible Deniability for Privacy-Preserving Data Synthesis*
(PVLDB 10(5), 2017). The names below load on first use.

These are not privacy measures: a distance between tables shows how useful a release is, not how safe. Results
are computed from real rows without noise and are private unless a function says otherwise.
"""

from sdv_plausible.utils.lazy_names import lazy_attributes

DEFAULT_NUM_BINS = 20  # quantile bins of a numerical column
DEFAULT_MAX_ROWS = 10_000  # maximum number of training rows and of test rows of a classifier
DISTINGUISHERS = ("random_forest", "tree")  # the classifiers of [PD] table 5

__getattr__, __dir__, __all__ = lazy_attributes(__name__, __file__)

# SDMetrics loads its add-ons (the names above) while it is being imported. Import it last, so that it finds
# this package initialised.
import sdmetrics  # noqa: E402, F401
