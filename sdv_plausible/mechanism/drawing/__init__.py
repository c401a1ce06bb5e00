"""Samplers of a fitted release, and the data that they sample from."""
