"""Evaluation: the measures of section 6 of the paper as SDMetrics metrics, and a report that shows them.

The paper is Bindschaedler, Shokri and Gunter, *Plausible Deniability for Privacy-Preserving Data Synthesis*
(PVLDB 10(5), 2017), called [PD] in this package. The names below load on first use.

Nothing here is a privacy measure: distances between tables say how useful a release is, never how safe it is.
They are computed from real rows without noise, so the results themselves are private unless a function says
otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdv_plausible.utils.late import late_names

if TYPE_CHECKING:
    from sdv_plausible.evaluation.metrics import (
        ClassifierAccuracy,
        ClassifierAgreement,
        DistinguishingGame,
        ModelAccuracy,
        PairwiseTotalVariationDistance,
        TotalVariationDistance,
    )
    from sdv_plausible.evaluation.report.plausible_deniability import PlausibleDeniabilityReport

_HOME = {
    "ClassifierAccuracy": "metrics",
    "ClassifierAgreement": "metrics",
    "DistinguishingGame": "metrics",
    "ModelAccuracy": "metrics",
    "PairwiseTotalVariationDistance": "metrics",
    "TotalVariationDistance": "metrics",
    "PlausibleDeniabilityReport": "report.plausible_deniability",
}

__all__ = [
    "ClassifierAccuracy",
    "ClassifierAgreement",
    "DistinguishingGame",
    "ModelAccuracy",
    "PairwiseTotalVariationDistance",
    "PlausibleDeniabilityReport",
    "TotalVariationDistance",
]


__getattr__, __dir__ = late_names(__name__, _HOME)

# SDMetrics loads add-ons, the names above, while it is imported. Were it first imported from inside
# `metrics`, it would find that module half made; imported here, last, it finds this package whole and loads
# `metrics` itself.
import sdmetrics  # noqa: E402, F401
