"""The report as one self-contained HTML page: what it shows, its charts, its templates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdv_plausible.utils.late import late_names

if TYPE_CHECKING:
    from sdv_plausible.evaluation.page import guarantee, pages, rendering, sections, summary

__all__ = ["guarantee", "pages", "rendering", "sections", "summary"]

__getattr__, __dir__ = late_names(__name__, {name: name for name in __all__})
