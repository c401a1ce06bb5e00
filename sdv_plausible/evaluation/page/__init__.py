"""The report as one self-contained HTML page: sections, charts and templates."""

from sdv_plausible.utils.lazy_names import late_names

__getattr__, __dir__, __all__ = late_names(__name__, __file__)
