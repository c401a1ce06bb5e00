"""Simulated tables to try the package with, and their public domains."""

from sdv_plausible.utils.lazy_names import lazy_attributes

__getattr__, __dir__, __all__ = lazy_attributes(__name__, __file__)
