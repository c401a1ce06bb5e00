"""Confidence intervals from the noisy answers of a fit, at no further cost: post-processing alone."""
