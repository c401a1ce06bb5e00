"""The report as one self-contained HTML page: what it shows, its charts, its templates."""

from sdv_plausible.utils.lazy_names import late_names

__getattr__, __dir__, __all__ = late_names(__name__, __file__)
