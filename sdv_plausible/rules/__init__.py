"""Rules that hold in every row, declared without the rows: they cost no privacy and hold in every sample.

The names below load on first use: a table without rules needs none of them.
"""

from sdv_plausible.utils.lazy_names import late_names

__getattr__, __dir__, __all__ = late_names(__name__, __file__)
