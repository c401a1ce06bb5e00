"""What an audit found: one verdict per threat, its figures, and who may see them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal

from sdv_plausible.utils.atomic_files import write_whole
from sdv_plausible.utils.html_page import HtmlPage, PageSection
from sdv_plausible.utils.printable import visible


@dataclass(frozen=True, kw_only=True)
class ThreatSection(PageSection, template="audit.html"):
    """One row per stage: threat, verdict, confidence (0 for none) and figures."""

    claim: str
    verdict: str
    stages: tuple[tuple[str, str, float, str], ...]


Verdict = Literal["claim broken", "leak found", "nothing found", "not computed"]

HOLDER_ONLY = (
    "For the holder of the table only: these figures were made of its rows, and without noise. "
    "Do not publish them."
)
PUBLIC = "Made on a table that is public or simulated: this page may be published."


@dataclass(frozen=True, kw_only=True)
class StageResult:
    """What one stage found.

    Attributes
    ----------
    name : str
        Of the stage.
    threat : str
        What it is about, in words.
    verdict : {"claim broken", "leak found", "nothing found", "not computed"}
        "Nothing found" proves nothing: `words` says what could have been found.
    confidence : float
        Probability, at least, that a verdict other than "nothing found" is no accident.
    words : str
        The figures in a sentence.
    figures : mapping
        All of them, for programs.
    seconds : float
        How long it took.
    """

    name: str
    threat: str
    verdict: Verdict
    confidence: float
    words: str
    figures: Mapping[str, Any]
    seconds: float


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    """A whole audit.

    Attributes
    ----------
    synthesizer : str
        What was attacked.
    claimed_epsilon : float or None
        The claim, if there is one.
    delta : float
        Of the claim.
    public : bool
        Whether the table is public or simulated; otherwise the result is for the holder only.
    stages : tuple of StageResult
    """

    synthesizer: str
    claimed_epsilon: float | None
    delta: float
    public: bool
    stages: tuple[StageResult, ...]

    @property
    def verdict(self) -> Verdict:
        """The gravest one."""
        grave: tuple[Verdict, ...] = ("claim broken", "leak found", "nothing found")
        found = {stage.verdict for stage in self.stages}
        return next((verdict for verdict in grave if verdict in found), "not computed")

    @property
    def claim(self) -> str:
        """What is claimed, in a sentence."""
        if self.claimed_epsilon is None:
            return "It makes no claim."
        return f"It claims epsilon {self.claimed_epsilon:g} at delta {self.delta:g}."

    @property
    def banner(self) -> str:
        """What may be done with the result."""
        return PUBLIC if self.public else HOLDER_ONLY

    def __str__(self) -> str:
        lines = [f"Audit of {self.synthesizer}: {self.verdict}. {self.claim}", self.banner]
        for stage in self.stages:
            sure = f", confidence {stage.confidence:.0%}" if stage.confidence else ""
            lines += [f"- {stage.threat}: {stage.verdict}{sure}", f"  {stage.words}"]
        return "\n".join(visible(line, keep="") for line in lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, with the mark of who may see it."""
        return {"may_be_published": self.public, "verdict": self.verdict, **asdict(self)}

    def publishable(self) -> dict[str, Any]:
        """Return what may enter a card, a registry entry, a release file or docs.

        Raises
        ------
        ValueError
            If the table was neither public nor simulated.
        """
        if not self.public:
            raise ValueError(
                "this audit is for the holder only: it is a function of real rows, without noise. "
                "Audit a public or simulated table with run(..., public=True) instead"
            )
        return self.to_dict()

    def to_html(self, path: str | Path, day: str | None = None) -> None:
        """Write a page in the report's style: for its owner alone unless the table was public.

        Parameters
        ----------
        path : str or Path
            HTML file; replaced if it exists.
        day : str, optional
            Date on the page; by default today.
        """
        stages = tuple((stage.threat, stage.verdict, stage.confidence, stage.words) for stage in self.stages)
        page = HtmlPage(
            template_packages=("sdv_plausible.extensions.audit",),
            title="Audit of synthetic data",
            heading=f"Audit of {self.synthesizer}",
            date=day or date.today().isoformat(),
            kind="public" if self.public else "private",
            banner=self.banner,
            sections=(ThreatSection(claim=self.claim, verdict=self.verdict, stages=stages),),
        )
        write_whole(path, page.html(), owner_only=not self.public)

    def save(self, path: str | Path) -> None:
        """Write everything as JSON, whole or not at all: for its owner alone unless the table was public."""
        write_whole(path, json.dumps(self.to_dict(), indent=2) + "\n", owner_only=not self.public)
