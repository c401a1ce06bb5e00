"""Constraints that hold in every row, declared without the rows. They cost no privacy and hold in samples.

The names below load on first use, so that a table without rules loads none of them.
"""

from sdv_plausible.utils.lazy_names import lazy_attributes

__getattr__, __dir__, __all__ = lazy_attributes(__name__, __file__)
