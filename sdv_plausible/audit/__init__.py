"""Checks of the guarantees from outside: exact enumeration on small universes, and membership attacks."""
