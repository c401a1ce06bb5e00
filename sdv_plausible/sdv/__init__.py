"""Integration with SDV; only this package imports it.

SDV loads its add-ons, which are here, while it is being imported itself. So SDV is imported before any module
of this package, whichever is imported first.
"""

from __future__ import annotations

import sdv  # noqa: F401  before the modules of this package, see above
