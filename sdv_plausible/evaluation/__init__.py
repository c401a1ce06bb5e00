"""Evaluation: the measures of section 6 of the paper as SDMetrics metrics, and a report that shows them.

The paper is Bindschaedler, Shokri and Gunter, *Plausible Deniability for Privacy-Preserving Data Synthesis*
(PVLDB 10(5), 2017), called [PD] in this package. The names below load on first use.

Nothing here is a privacy measure: distances between tables say how useful a release is, never how safe it is.
They are computed from real rows without noise, so the results themselves are private unless a function says
otherwise.
"""

from sdv_plausible.utils.lazy_names import late_names

__getattr__, __dir__, __all__ = late_names(__name__, __file__)

# SDMetrics loads add-ons, the names above, while it is imported. Were it first imported from inside
# `metrics`, it would find that module half made; imported here, last, it finds this package whole and loads
# `metrics` itself.
import sdmetrics  # noqa: E402, F401
