"""Mechanism 1 of the paper and its privacy tests: which sampled rows are released, and the cost."""
