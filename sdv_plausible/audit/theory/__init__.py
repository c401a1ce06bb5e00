"""Theorems and formulas that proofs, audits and the paper's own accounting use, and no release."""
