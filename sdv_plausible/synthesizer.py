"""Public module of the synthesizer."""

from __future__ import annotations

from sdv_plausible.sdv.sampling_requests import RowCapExceededError
from sdv_plausible.sdv.synthesizer import PlausibleDeniabilitySynthesizer

__all__ = ["PlausibleDeniabilitySynthesizer", "RowCapExceededError"]
