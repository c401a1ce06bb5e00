"""Public home of the synthesizer."""

from __future__ import annotations

from sdv_plausible.sdv.synthesizer import PlausibleDeniabilitySynthesizer, RowCapExceededError

__all__ = ["PlausibleDeniabilitySynthesizer", "RowCapExceededError"]
