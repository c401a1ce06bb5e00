"""Private Gaussian copula: noisy margins and noisy polychoric correlations, with an exact likelihood."""
