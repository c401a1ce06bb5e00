"""A complete audit of a synthesizer: stages with a time limit, each saved when it is finished."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from sdv_plausible.extensions.audit.attacks.black_box import (
    Factory,
    canary_game,
    shadow_attack,
    synthetic_rows,
    worst_attribute,
)
from sdv_plausible.extensions.audit.attacks.external import anonymeter_risks
from sdv_plausible.extensions.audit.attacks.frames import crafted
from sdv_plausible.extensions.audit.attacks.white_box import white_box_of_default
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.utils.atomic_files import write_atomically
from sdv_plausible.utils.html_templates import HtmlPage, PageSection
from sdv_plausible.utils.text_output import escape_controls


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


LEAST_ROWS = 40
SHADOW_ROWS = 200
StageOutcome = tuple[Verdict, float, str, dict[str, Any]]

THREATS = {
    "white box": "Membership, of whoever sees the noisy answers",
    "canaries": "Membership, of whoever sees synthetic rows",
    "shadow models": "Membership of one crafted row, of whoever can repeat the fit",
    "attributes": "Inference of a secret cell",
    "anonymeter": "Singling out and linkability",
}


@dataclass(frozen=True, kw_only=True)
class AuditPlan:
    """Settings of an audit; see :func:`run`."""

    claimed_epsilon: float | None
    delta: float
    ours: bool
    canaries: int
    shadow_runs: int
    white_box_runs: int
    most_rows: int
    false_alarm: float
    seconds: float
    anonymeter: str | None


def run(
    table: pd.DataFrame,
    factory: Factory,
    *,
    name: str | None = None,
    claimed_epsilon: float | None = None,
    delta: float = 0.0,
    ours: bool = False,
    public: bool = False,
    folder: str | Path | None = None,
    seconds: float = 600.0,
    canaries: int = 300,
    shadow_runs: int = 60,
    white_box_runs: int = 2000,
    most_rows: int = 5000,
    false_alarm: float = 0.05,
    anonymeter: str | Path | None = None,
    resume: bool = False,
    progress: Callable[[str], object] | None = None,
) -> AuditResult:
    """Attack a synthesizer on a table with every applicable attack.

    Parameters
    ----------
    table : DataFrame
        At least 40 rows. With real rows, the result is for the data owner only.
    factory : callable
        Returns a fresh synthesizer with ``fit(frame)`` and ``sample(num_rows)``: any SDV synthesizer, or
        yours.
    name : str, optional
        Name of the synthesizer; by default the factory's name.
    claimed_epsilon : float, optional
        Claimed epsilon; larger bounds break the claim. By default there is no claim.
    delta : float
        Delta of the claim, in [0, 1).
    ours : bool
        Whether it is this package's default learner with that claim. Then its noisy answers are attacked too.
    public : bool
        Your statement that the table is public or simulated.
    folder : str or Path, optional
        Folder for finished stages.
    seconds : float
        No stage and no shadow model starts after this time.
    canaries : int
        Number of canaries of :func:`canary_game`; at most a quarter of the rows.
    shadow_runs, white_box_runs : int
        Number of fits on each side.
    most_rows : int
        Maximum number of rows, chosen at random; bounds time and memory.
    false_alarm : float
        Error probability of every stage.
    anonymeter : str or Path, optional
        A Python with anonymeter, for singling out and linkability.
    resume : bool
        Continue an interrupted audit with the stages in the folder. The table and the settings are compared;
        the synthesizer's code and options are not, so you must ensure that they are unchanged.
    progress : callable, optional
        Called with progress messages, such as `print`.

    Returns
    -------
    AuditResult
        The results of all stages.

    Raises
    ------
    ValueError
        If a parameter is out of range, or the folder has stages of another audit.
    """
    if len(table) < LEAST_ROWS:
        raise ValueError(f"table ({len(table)} rows) must have at least {LEAST_ROWS}")
    if check.probability("delta", delta):
        check.open_probability("delta", delta, "or 0")
    check.open_probability("false_alarm", false_alarm, "try 0.05")
    check.non_negative("seconds", seconds, "no stage is begun later; try 600")
    runs = {"canaries": canaries, "shadow_runs": shadow_runs, "white_box_runs": white_box_runs}
    for parameter, number in runs.items():
        check.whole(parameter, number, 0, "try 60")
    check.whole("most_rows", most_rows, LEAST_ROWS, "try 5000")
    if anonymeter is not None and shutil.which(anonymeter) is None:
        rule = "must be a Python that runs, of an environment that has anonymeter"
        raise check.Refused("anonymeter", str(anonymeter), rule, "or leave it out")
    if ours and claimed_epsilon is None:
        raise ValueError("ours=True needs claimed_epsilon: the white box holds its answers against the claim")
    plan = AuditPlan(
        claimed_epsilon=claimed_epsilon, delta=delta, ours=ours, canaries=min(canaries, len(table) // 4),
        shadow_runs=shadow_runs, white_box_runs=white_box_runs, most_rows=most_rows,
        false_alarm=false_alarm, seconds=seconds, anonymeter=None if anonymeter is None else str(anonymeter),
    )  # fmt: skip
    synthesizer_name = name or str(getattr(factory, "__name__", type(factory).__name__))
    audit = _Audit(table, factory, plan)
    stage_files = _StageFiles(
        None if folder is None else Path(folder), _fingerprint(table, plan, synthesizer_name), resume=resume
    )
    names = audit.stages()
    stages = tuple(
        stage_files.done(name) or audit.stage(name, stage_files, progress, f"stage {number} of {len(names)}")
        for number, name in enumerate(names, start=1)
    )
    return AuditResult(
        synthesizer=synthesizer_name,
        claimed_epsilon=claimed_epsilon,
        delta=delta,
        public=public,
        stages=stages,
    )


class _StageFiles:
    """Finished stages in a folder, one file each, written atomically."""

    def __init__(self, folder: Path | None, mark: str, *, resume: bool) -> None:
        self._folder, self._mark = folder, mark
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        if not resume and any(folder.glob("stage_*.json")):
            raise ValueError(
                f"folder ({folder}) holds stages of an earlier audit, perhaps of another synthesizer: choose "
                "a new folder, or go on with them (resume=True, --resume)"
            )

    def done(self, stage: str) -> StageResult | None:
        path = self._path(stage)
        if path is None or not path.is_file():
            return None
        document = json.loads(path.read_text(encoding="utf-8"))
        if document.pop("mark") != self._mark:
            raise ValueError(
                f"folder ({path.parent}) holds another audit: of another table, synthesizer or settings; "
                "choose a new folder"
            )
        return StageResult(**document)

    def keep(self, result: StageResult) -> None:
        if (path := self._path(result.name)) is not None:
            write_atomically(
                path, json.dumps({"mark": self._mark, **asdict(result)}, indent=2) + "\n", owner_only=True
            )

    def _path(self, stage: str) -> Path | None:
        return None if self._folder is None else self._folder / f"stage_{stage.replace(' ', '_')}.json"


class _Audit:
    """The stages, and the fit shared by two of them."""

    def __init__(self, table: pd.DataFrame, factory: Factory, plan: AuditPlan) -> None:
        self._rng = KeyedRNG.from_os_entropy()
        order = self._rng.spawn("rows").permutation(len(table))[: plan.most_rows]
        self._table, self._factory, self._plan = table.iloc[order].reset_index(drop=True), factory, plan
        self._until = time.monotonic() + plan.seconds
        self._shared: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame] | None = None

    def stages(self) -> list[str]:
        enabled = {"white box": self._plan.ours, "anonymeter": self._plan.anonymeter is not None}
        return [stage for stage in THREATS if enabled.get(stage, True)]

    def stage(
        self, name: str, stage_files: _StageFiles, progress: Callable[[str], object] | None, position: str
    ) -> StageResult:
        """Run one stage; a failed or skipped stage is reported but not saved."""
        start = time.monotonic()
        if progress is not None:
            left = max(self._until - start, 0)
            progress(f"{position}: {name}, begun with {left:.0f} of {self._plan.seconds:g} s left")
        outcome: StageOutcome
        if start > self._until:
            outcome = "not computed", 0.0, f"no time left of {self._plan.seconds:g} seconds", {}
        else:
            try:
                outcome = getattr(self, "_" + name.replace(" ", "_"))()
            except Exception as error:  # may come from the synthesizer and quote cells
                outcome = "not computed", 0.0, f"the stage failed: {type(error).__name__}", {}
        verdict, confidence, words, figures = outcome
        result = StageResult(
            name=name, threat=THREATS[name], verdict=verdict, confidence=confidence, words=words,
            figures=figures, seconds=round(time.monotonic() - start, 1),
        )  # fmt: skip
        if verdict != "not computed":
            stage_files.keep(result)
        if progress is not None:
            progress(f"{name}: {verdict}, {result.seconds:.0f} s")
        return result

    def _compare_with_claim(self, epsilon: float, words: str, figures: dict[str, Any]) -> StageOutcome:
        """Compare a bound with the claim."""
        claimed = self._plan.claimed_epsilon
        verdict: Verdict = "nothing found"
        if claimed is not None and epsilon > claimed:
            verdict = "claim broken"
        elif claimed is None and epsilon > 0:
            verdict = "leak found"
        elif epsilon > 0:
            words = f"Within the claim: {words}"
        return verdict, (1 - self._plan.false_alarm) * (verdict != "nothing found"), words, figures

    def _white_box(self) -> StageOutcome:
        plan = self._plan
        assert plan.claimed_epsilon is not None
        result = white_box_of_default(
            plan.claimed_epsilon, plan.delta, runs=plan.white_box_runs, false_alarm=plan.false_alarm
        )
        verdict: Verdict = "claim broken" if result.broken else "nothing found"
        return verdict, (1 - 2 * plan.false_alarm) * result.broken, str(result), asdict(result)

    def _canaries(self) -> StageOutcome:
        plan = self._plan
        game = canary_game(
            self._table, self._factory,
            canaries=plan.canaries, delta=plan.delta, false_alarm=plan.false_alarm / 2,
        )  # fmt: skip
        best = max(game.distance, game.density, key=lambda bound: bound.epsilon)
        kinds = "; ".join(
            f"{kind} {aucs['distance']:.2f} and {aucs['density']:.2f}" for kind, aucs in game.by_kind.items()
        )
        figures = {
            "distance": game.distance.to_dict(), "density": game.density.to_dict(), "by_kind": game.by_kind,
        }  # fmt: skip
        return self._compare_with_claim(
            best.epsilon, f"{best}. AUC by distance and density: {kinds}", figures
        )

    def _shadow_models(self) -> StageOutcome:
        rows, plan = self._table.iloc[:SHADOW_ROWS], self._plan
        target = crafted(rows, 1, self._rng.spawn("target"))
        bounds = shadow_attack(
            rows, target, self._factory,
            runs=plan.shadow_runs, delta=plan.delta, false_alarm=plan.false_alarm,
            seconds=self._until - time.monotonic(),
        )  # fmt: skip
        if bounds is None:
            return "not computed", 0.0, "no time for enough fits: 30 on each side are needed", {}
        return self._compare_with_claim(bounds.epsilon, str(bounds), bounds.to_dict())

    def _attributes(self) -> StageOutcome:
        bounds = worst_attribute(*self._halves(), false_alarm=self._plan.false_alarm)
        worst = bounds[0]
        verdict: Verdict = "leak found" if worst.excess > 0 else "nothing found"
        confidence = (1 - self._plan.false_alarm) * (worst.excess > 0)
        return verdict, confidence, str(worst), {bound.secret: bound.to_dict() for bound in bounds}

    def _anonymeter(self) -> StageOutcome:
        assert self._plan.anonymeter is not None
        risks = anonymeter_risks(
            *self._halves(), python=self._plan.anonymeter, confidence=1 - self._plan.false_alarm,
            seconds=max(60.0, self._until - time.monotonic()),
        )  # fmt: skip
        words = "; ".join(f"{r.threat}: {r.risk:.3f} ({r.low:.3f} to {r.high:.3f})" for r in risks)
        leaks = any(risk.low > 0 for risk in risks)
        confidence = (1 - self._plan.false_alarm) * leaks
        figures = {risk.threat: risk.to_dict() for risk in risks}
        return "leak found" if leaks else "nothing found", confidence, words, figures

    def _halves(self) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        """Return fitted rows, other rows and synthetic rows of one fit."""
        if self._shared is None:
            half = len(self._table) // 2
            members, others = self._table.iloc[:half], self._table.iloc[half:].reset_index(drop=True)
            self._shared = members, others, synthetic_rows(self._factory, members, half)
        return self._shared


def _fingerprint(table: pd.DataFrame, plan: AuditPlan, name: str) -> str:
    """Return a digest of table, settings and synthesizer; the time limit may differ."""
    digest = hashlib.sha256(repr((name, replace(plan, seconds=0.0), list(table.columns))).encode())
    for column in table.columns:
        digest.update(pd.util.hash_array(table[column].astype(str).to_numpy(dtype=object)).tobytes())
    return digest.hexdigest()
