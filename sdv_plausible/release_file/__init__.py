"""The release as one file that runs no code: written, read, checked, and sampled without SDV."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdv_plausible.late import late_names

if TYPE_CHECKING:
    from sdv_plausible.release_file import card_lines, many_rows

__all__ = ["card_lines", "many_rows"]

_HOME = {"card_lines": "card_lines", "many_rows": "many_rows"}

__getattr__, __dir__ = late_names(__name__, _HOME)
