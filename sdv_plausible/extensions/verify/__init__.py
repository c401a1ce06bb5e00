"""Verification of a release file by independent code, without the rows."""
