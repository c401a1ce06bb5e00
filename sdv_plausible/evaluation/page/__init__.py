"""The report as one self-contained HTML page: sections, charts and templates."""

from sdv_plausible.utils.lazy_names import lazy_attributes

__getattr__, __dir__, __all__ = lazy_attributes(__name__, __file__)
