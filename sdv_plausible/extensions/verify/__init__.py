"""Verification of a release file without the rows: an independent implementation, and a replay."""
