"""Confidence intervals from the noisy answers of a fit, at no further cost: post-processing alone."""

from sdv_plausible.intervals.combining import Combined, combine

__all__ = ["Combined", "combine"]
