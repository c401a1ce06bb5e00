"""Results of an audit: one verdict per threat with its figures, and whether they may be published."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal

from sdv_plausible.utils.atomic_files import write_atomically
from sdv_plausible.utils.html_page import HtmlPage, PageSection
from sdv_plausible.utils.printable import escape_controls


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
    """Result of one stage.

    Attributes
    ----------
    name : str
        Name of the stage.
    threat : str
        Description of the threat.
    verdict : {"claim broken", "leak found", "nothing found", "not computed"}
        "Nothing found" proves nothing; `words` states what could have been found.
    confidence : float
        Lower bound, in [0, 1], on the probability that a positive verdict is not due to chance.
    words : str
        The figures in a sentence.
    figures : mapping
        All figures, for programs.
    seconds : float
        Duration of the stage.
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
    """Result of a whole audit.

    Attributes
    ----------
    synthesizer : str
        Name of the attacked synthesizer.
    claimed_epsilon : float or None
        The claimed epsilon, if any.
    delta : float
        The claimed delta.
    public : bool
        Whether the table is public or simulated; otherwise the result is for the data owner only.
    stages : tuple of StageResult
        Results of the stages.
    """

    synthesizer: str
    claimed_epsilon: float | None
    delta: float
    public: bool
    stages: tuple[StageResult, ...]

    @property
    def verdict(self) -> Verdict:
        """The most severe verdict of all stages."""
        by_severity: tuple[Verdict, ...] = ("claim broken", "leak found", "nothing found")
        verdicts = {stage.verdict for stage in self.stages}
        return next((verdict for verdict in by_severity if verdict in verdicts), "not computed")

    @property
    def claim(self) -> str:
        """The claim in a sentence."""
        if self.claimed_epsilon is None:
            return "It makes no claim."
        return f"It claims epsilon {self.claimed_epsilon:g} at delta {self.delta:g}."

    @property
    def banner(self) -> str:
        """Whether the result may be published, in a sentence."""
        return PUBLIC if self.public else HOLDER_ONLY

    def __str__(self) -> str:
        lines = [f"Audit of {self.synthesizer}: {self.verdict}. {self.claim}", self.banner]
        for stage in self.stages:
            confidence = f", confidence {stage.confidence:.0%}" if stage.confidence else ""
            lines += [f"- {stage.threat}: {stage.verdict}{confidence}", f"  {stage.words}"]
        return "\n".join(escape_controls(line, keep="") for line in lines)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, and whether they may be published."""
        return {"may_be_published": self.public, "verdict": self.verdict, **asdict(self)}

    def publishable(self) -> dict[str, Any]:
        """Return all fields, for a card, a registry entry, a release file or documentation.

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
        """Write an HTML page, readable by its owner only unless the table was public.

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
        write_atomically(path, page.html(), owner_only=not self.public)

    def save(self, path: str | Path) -> None:
        """Write all fields as JSON, atomically; readable by the owner only unless the table was public."""
        write_atomically(path, json.dumps(self.to_dict(), indent=2) + "\n", owner_only=not self.public)
