"""Randomness: keyed random streams and calibrated noise. No other package draws random numbers."""
