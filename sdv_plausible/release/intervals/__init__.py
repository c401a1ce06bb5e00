"""Confidence intervals from noisy answers and from several synthetic tables."""
