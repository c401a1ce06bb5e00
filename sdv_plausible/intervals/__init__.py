"""Confidence intervals from the noisy answers of a fit, at no further cost: post-processing alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdv_plausible.late import late_names

if TYPE_CHECKING:
    from sdv_plausible.intervals.combining import Combined, combine

__all__ = ["Combined", "combine"]

_HOME = {"Combined": "combining", "combine": "combining"}

__getattr__, __dir__ = late_names(__name__, _HOME)
