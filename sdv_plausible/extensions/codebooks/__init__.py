"""Readers of code books: declarations from schemas, syntax and data dictionaries."""
