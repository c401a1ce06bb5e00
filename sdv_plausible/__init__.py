"""Synthetic tables with plausible deniability and differential privacy, for the SDV ecosystem.

The public names load on first use, so that importing the package costs nothing and no import order matters:
SDV's add-on loader may import :mod:`sdv_plausible.synthesizer` while this package is itself being imported.
"""

from sdv_plausible.utils import moved_modules
from sdv_plausible.utils.lazy_names import lazy_attributes

__version__ = "0.2.0"

moved_modules.install()
__getattr__, __dir__, __all__ = lazy_attributes(__name__, __file__)
