"""The whole audit of a synthesizer: stage after stage, bounded in time, each kept when it is done."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from sdv_plausible.extensions.audit.attacks.attributes import worst_attribute
from sdv_plausible.extensions.audit.attacks.black_box import (
    Factory,
    canary_game,
    shadow_attack,
    synthetic_rows,
)
from sdv_plausible.extensions.audit.attacks.external import anonymeter_risks
from sdv_plausible.extensions.audit.attacks.frames import crafted
from sdv_plausible.extensions.audit.attacks.white_box import white_box_of_default
from sdv_plausible.extensions.audit.results import AuditResult, StageResult, Verdict
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.utils.atomic_files import write_whole

LEAST_ROWS = 40
SHADOW_ROWS = 200
Found = tuple[Verdict, float, str, dict[str, Any]]

THREATS = {
    "white box": "Membership, of whoever sees the noisy answers",
    "canaries": "Membership, of whoever sees synthetic rows",
    "shadow models": "Membership of one crafted row, of whoever can repeat the fit",
    "attributes": "Inference of a secret cell",
    "anonymeter": "Singling out and linkability",
}


@dataclass(frozen=True, kw_only=True)
class AuditPlan:
    """What an audit is to do; see :func:`run`."""

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
    """Attack a synthesizer on a table, by every attack that fits.

    Parameters
    ----------
    table : DataFrame
        At least 40 rows; real ones make the result one for the holder only.
    factory : callable
        Makes a fresh synthesizer with ``fit(frame)`` and ``sample(num_rows)``: any of SDV, or your own.
    name : str, optional
        What the synthesizer is called; by default the factory's name.
    claimed_epsilon : float, optional
        What it claims; bounds above it break the claim. By default nothing is claimed.
    delta : float
        Of the claim, in [0, 1).
    ours : bool
        Whether it is this package's default learner with that claim: then its noisy answers are attacked too.
    public : bool
        Your word that the table is public or simulated.
    folder : str or Path, optional
        Where finished stages are kept.
    seconds : float
        No stage, and no shadow model, is begun later.
    canaries : int
        For :func:`canary_game`; at most a quarter of the rows.
    shadow_runs, white_box_runs : int
        Fits on each side.
    most_rows : int
        Rows that are used, a random choice: they bound time and memory.
    false_alarm : float
        For every stage.
    anonymeter : str or Path, optional
        A Python that has it, for singling out and linkability.
    resume : bool
        Go on where a call was broken off, with the stages of the folder. Your word that the synthesizer is
        the same: its code and options are not compared, table and settings are.
    progress : callable, optional
        Told in words what is being done, such as `print`.
    """
    if len(table) < LEAST_ROWS:
        raise ValueError(f"table ({len(table)} rows) must have at least {LEAST_ROWS}")
    if check.probability("delta", delta):
        check.open_probability("delta", delta, "or 0")
    check.open_probability("false_alarm", false_alarm, "try 0.05")
    check.non_negative("seconds", seconds, "no stage is begun later; try 600")
    runs = {"canaries": canaries, "shadow_runs": shadow_runs, "white_box_runs": white_box_runs}
    for what, number in runs.items():
        check.whole(what, number, 0, "try 60")
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
    called = name or str(getattr(factory, "__name__", type(factory).__name__))
    audit = _Audit(table, factory, plan)
    keeper = _StageFiles(None if folder is None else Path(folder), _mark(table, plan, called), resume=resume)
    stages = tuple(keeper.done(stage) or audit.stage(stage, keeper, progress) for stage in audit.stages())
    return AuditResult(
        synthesizer=called, claimed_epsilon=claimed_epsilon, delta=delta, public=public, stages=stages
    )


class _StageFiles:
    """Finished stages in a folder, each a whole file."""

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
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept.pop("mark") != self._mark:
            raise ValueError(
                f"folder ({path.parent}) holds another audit: of another table, synthesizer or settings; "
                "choose a new folder"
            )
        return StageResult(**kept)

    def keep(self, result: StageResult) -> None:
        if (path := self._path(result.name)) is not None:
            write_whole(
                path, json.dumps({"mark": self._mark, **asdict(result)}, indent=2) + "\n", owner_only=True
            )

    def _path(self, stage: str) -> Path | None:
        return None if self._folder is None else self._folder / f"stage_{stage.replace(' ', '_')}.json"


class _Audit:
    """The stages, and the fit that two of them share."""

    def __init__(self, table: pd.DataFrame, factory: Factory, plan: AuditPlan) -> None:
        self._coins = KeyedRNG.from_os_entropy()
        order = self._coins.spawn("rows").permutation(len(table))[: plan.most_rows]
        self._table, self._factory, self._plan = table.iloc[order].reset_index(drop=True), factory, plan
        self._until = time.monotonic() + plan.seconds
        self._shared: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame] | None = None

    def stages(self) -> list[str]:
        asked = {"white box": self._plan.ours, "anonymeter": self._plan.anonymeter is not None}
        return [stage for stage in THREATS if asked.get(stage, True)]

    def stage(self, name: str, keeper: _StageFiles, progress: Callable[[str], object] | None) -> StageResult:
        """Run one stage; one that fails or finds no time is told, and not kept."""
        begun = time.monotonic()
        if progress is not None:
            progress(f"{name} ...")
        found: Found
        if begun > self._until:
            found = "not computed", 0.0, f"no time left of {self._plan.seconds:g} seconds", {}
        else:
            try:
                found = getattr(self, "_" + name.replace(" ", "_"))()
            except Exception as error:  # of the synthesizer: its text may quote cells
                found = "not computed", 0.0, f"the stage failed: {type(error).__name__}", {}
        verdict, confidence, words, figures = found
        result = StageResult(
            name=name, threat=THREATS[name], verdict=verdict, confidence=confidence, words=words,
            figures=figures, seconds=round(time.monotonic() - begun, 1),
        )  # fmt: skip
        if verdict != "not computed":
            keeper.keep(result)
        if progress is not None:
            progress(f"{name}: {verdict}, {result.seconds:.0f} s")
        return result

    def _judged(self, epsilon: float, words: str, figures: dict[str, Any]) -> Found:
        """A bound against the claim."""
        claimed = self._plan.claimed_epsilon
        verdict: Verdict = "nothing found"
        if claimed is not None and epsilon > claimed:
            verdict = "claim broken"
        elif claimed is None and epsilon > 0:
            verdict = "leak found"
        elif epsilon > 0:
            words = f"Within the claim: {words}"
        return verdict, (1 - self._plan.false_alarm) * (verdict != "nothing found"), words, figures

    def _white_box(self) -> Found:
        plan = self._plan
        assert plan.claimed_epsilon is not None
        result = white_box_of_default(
            plan.claimed_epsilon, plan.delta, runs=plan.white_box_runs, false_alarm=plan.false_alarm
        )
        verdict: Verdict = "claim broken" if result.broken else "nothing found"
        return verdict, (1 - 2 * plan.false_alarm) * result.broken, str(result), asdict(result)

    def _canaries(self) -> Found:
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
        return self._judged(best.epsilon, f"{best}. AUC by distance and density: {kinds}", figures)

    def _shadow_models(self) -> Found:
        rows, plan = self._table.iloc[:SHADOW_ROWS], self._plan
        target = crafted(rows, 1, self._coins.spawn("target"))
        found = shadow_attack(
            rows, target, self._factory,
            runs=plan.shadow_runs, delta=plan.delta, false_alarm=plan.false_alarm,
            seconds=self._until - time.monotonic(),
        )  # fmt: skip
        if found is None:
            return "not computed", 0.0, "no time for enough fits: 30 on each side are needed", {}
        return self._judged(found.epsilon, str(found), found.to_dict())

    def _attributes(self) -> Found:
        found = worst_attribute(*self._halves(), false_alarm=self._plan.false_alarm)
        worst = found[0]
        verdict: Verdict = "leak found" if worst.excess > 0 else "nothing found"
        sure = (1 - self._plan.false_alarm) * (worst.excess > 0)
        return verdict, sure, str(worst), {bound.secret: bound.to_dict() for bound in found}

    def _anonymeter(self) -> Found:
        assert self._plan.anonymeter is not None
        risks = anonymeter_risks(
            *self._halves(), python=self._plan.anonymeter, confidence=1 - self._plan.false_alarm,
            seconds=max(60.0, self._until - time.monotonic()),
        )  # fmt: skip
        words = "; ".join(f"{r.threat}: {r.risk:.3f} ({r.low:.3f} to {r.high:.3f})" for r in risks)
        leaks = any(risk.low > 0 for risk in risks)
        sure = (1 - self._plan.false_alarm) * leaks
        figures = {risk.threat: risk.to_dict() for risk in risks}
        return "leak found" if leaks else "nothing found", sure, words, figures

    def _halves(self) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        """Rows that were fitted, rows that were not, and synthetic rows, of one fit."""
        if self._shared is None:
            half = len(self._table) // 2
            members, others = self._table.iloc[:half], self._table.iloc[half:].reset_index(drop=True)
            self._shared = members, others, synthetic_rows(self._factory, members, half)
        return self._shared


def _mark(table: pd.DataFrame, plan: AuditPlan, name: str) -> str:
    """Tells this audit from every other: table, settings and synthesizer; more time goes on with the same."""
    digest = hashlib.sha256(repr((name, replace(plan, seconds=0.0), list(table.columns))).encode())
    for column in table.columns:
        digest.update(pd.util.hash_array(table[column].astype(str).to_numpy(dtype=object)).tobytes())
    return digest.hexdigest()
