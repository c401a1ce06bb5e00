"""An audit as a page in the report's style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sdv_plausible.evaluation.page.rendering import Page, Section


@dataclass(frozen=True, kw_only=True)
class Threats(Section):
    """One row per stage: threat, verdict, confidence (0 for none) and figures."""

    template: ClassVar[str] = "audit.html"
    claim: str
    verdict: str
    stages: tuple[tuple[str, str, float, str], ...]


def audit_page(
    synthesizer: str,
    claim: str,
    verdict: str,
    stages: Sequence[tuple[str, str, float, str]],
    *,
    banner: str,
    public: bool,
    day: str,
) -> str:
    """Return the page; `day` stands in its head."""
    return Page(
        title="Audit of synthetic data",
        heading=f"Audit of {synthesizer}",
        date=day,
        kind="public" if public else "private",
        banner=banner,
        sections=(Threats(claim=claim, verdict=verdict, stages=tuple(stages)),),
    ).html()
