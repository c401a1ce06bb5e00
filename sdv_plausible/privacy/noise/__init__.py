"""Randomness: secret coins and calibrated noise. Nothing else in the package draws."""
