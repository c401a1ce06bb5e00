"""From a fitted model to rows.

What a release costs, the privacy test in front of it, and who draws the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdv_plausible.late import late_names

if TYPE_CHECKING:
    from sdv_plausible.release import budget_file, redrawn

__all__ = ["budget_file", "redrawn"]

_HOME = {"budget_file": "budget_file", "redrawn": "redrawn"}

__getattr__, __dir__ = late_names(__name__, _HOME)
