"""The finished release: its object and file, its rows, confidence intervals, and privacy card."""
