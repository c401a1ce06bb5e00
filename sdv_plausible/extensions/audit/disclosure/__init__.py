"""Exact disclosure of small mechanisms, over all tables of a universe."""
