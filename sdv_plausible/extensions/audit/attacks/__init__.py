"""Attacks on any synthesizer: membership and attribute inference."""
