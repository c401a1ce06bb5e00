"""What the package is to SDV: the only room that imports it.

SDV loads its add-ons while it is itself being imported, and they are here. So SDV is imported before any
module of this room: whoever comes first, the modules find it.
"""

from __future__ import annotations

import sdv  # noqa: F401  before the modules of this room, see above
