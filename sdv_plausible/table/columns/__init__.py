"""Columns: type, value set, JSON document, and the domain of all columns of a table."""
