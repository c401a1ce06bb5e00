"""Public home of the synthesizer.

SDV loads its add-ons while it is being imported, so it must be imported before the module that holds the class is:
the add-on entry point names that module, and whoever comes here first imports SDV first.
"""

from __future__ import annotations

import sdv  # noqa: F401  before the next import, see above

from sdv_plausible._synthesizer import PlausibleDeniabilitySynthesizer, RowCapExceededError

__all__ = ["PlausibleDeniabilitySynthesizer", "RowCapExceededError"]
