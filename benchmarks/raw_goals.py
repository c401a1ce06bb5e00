"""The goals that the raw tables are measured against, as a table of what came out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.raw_methods import PEERS

Line = dict[str, object]
HEAD = "| goal, at epsilon 1 | measured | met |\n| --- | --- | --- |"
AGAINST = ("column distance", "pair distance", "game RF")
CLOSE, QUALITY, GAME, AGES, INFERRED, ROWS = 0.03, 0.985, 0.68, 0.016, 0.01, 10_000
PEER = "dpmm-"


def goals(lines: Sequence[Line]) -> str:
    """Markdown: goal, measured, met."""
    found = _Runs([line for line in lines if "failed" not in line and line["epsilon"] != 0.3])
    rows = [*_peers(found), *_adult(found), _columns(found), _inferred(found), _seconds(found)]
    return "\n".join([HEAD, *(f"| {goal} | {said} | {'yes' if met else 'no'} |" for goal, said, met in rows)])


Row = tuple[str, str, bool]


class _Runs:
    """Means over the runs of a table and a method."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = lines
        self.tables = list(dict.fromkeys(str(line["table"]) for line in lines))

    def of(self, name: str, method: str) -> list[Line]:
        return [line for line in self.lines if line["table"] == name and line["method"] == method]

    def mean(self, name: str, method: str, score: str) -> float:
        """Mean of a score; nan where nothing was measured."""
        values = [float(line[score]) for line in self.of(name, method)]  # type: ignore[arg-type]
        return float(np.mean(values)) if values else float("nan")

    def column(self, name: str, method: str, column: str, score: str) -> float:
        return float(np.mean([line["columns"][column][score] for line in self.of(name, method)]))  # type: ignore[index]


def _peers(found: _Runs) -> list[Row]:
    out: list[Row] = []
    for score in AGAINST:
        pairs = [
            (name, peer)
            for name in found.tables
            for peer in PEERS
            if peer.startswith(PEER) and found.of(name, peer) and found.of(name, "ours-declared")
        ]
        behind = [
            f"{name} ({found.mean(name, 'ours-declared', score):.3f}, {peer} {found.mean(name, peer, score):.3f})"
            for name, peer in pairs
            if found.mean(name, "ours-declared", score) >= found.mean(name, peer, score)
        ]
        said = f"{len(pairs) - len(behind)} of {len(pairs)} peers on tables where they finished"
        out.append(
            (f"ahead of dpmm in {score}", said + (f"; not {', '.join(behind)}" if behind else ""), not behind)
        )
    return out


def _adult(found: _Runs) -> list[Row]:
    def ours(score: str) -> float:
        return found.mean("adult", "ours-declared", score)

    gain, real = (found.column("adult", "ours-declared", "capital-gain", k) for k in ("top", "real top"))
    ages = found.column("adult", "ours-declared", "age", "single values")
    return [
        (
            "adult: zeros of capital-gain within 1 point",
            f"{gain:.1%}, real {real:.1%}",
            abs(gain - real) <= 0.01,
        ),
        (f"adult: Quality {QUALITY}", f"{ours('quality'):.3f}", ours("quality") >= QUALITY),
        ("adult: Diagnostic 1", f"{ours('diagnostic'):.4f}", round(ours("diagnostic"), 3) == 1.0),
        (f"adult: game {GAME} at most", f"{ours('game RF'):.3f}", ours("game RF") <= GAME),
        (
            f"adult: age in single years, {AGES} more than other real rows at most (the curated table's one-way distance)",
            f"{ages:.3f}, other real rows {_real_ages(found):.3f}",
            ages - _real_ages(found) <= AGES,
        ),
    ]


def _real_ages(found: _Runs) -> float:
    return found.column("adult", "real", "age", "single values")


def _columns(found: _Runs) -> Row:
    far = {}
    for name in found.tables:
        runs = found.of(name, "ours-declared")
        if runs:
            columns = [c for c, entry in runs[0]["columns"].items() if "grid" in entry]  # type: ignore[attr-defined]
            beyond = [
                c
                for c in columns
                if found.column(name, "ours-declared", c, "grid")
                > found.column(name, "ours-declared", c, "noisy") + CLOSE
            ]
            far[name] = (len(beyond), len(columns))
    all_of = [f"{name} {few} of {many}" for name, (few, many) in far.items() if few]
    few, many = (sum(pair[i] for pair in far.values()) for i in (0, 1))
    said = f"{many - few} of {many}" + (f"; farther: {', '.join(all_of)}" if all_of else "")
    return f"declared: every column within {CLOSE} of a plain noisy histogram", said, not few


def _inferred(found: _Runs) -> Row:
    out, met = [], True
    for name in found.tables:
        private, inferred = (found.mean(name, method, "quality") for method in ("ours-private", "infer"))
        if not np.isnan(private + inferred) and _rows(found, name) >= ROWS:
            out.append(f"{name} {private:.3f} and {inferred:.3f}")
            met &= private >= inferred - INFERRED
    return (
        f"nothing declared: Quality within {INFERRED} of `infer` from {ROWS:,} rows on",
        ", ".join(out),
        met,
    )


def _rows(found: _Runs, name: str) -> int:
    return int(found.of(name, "ours-private")[0]["rows"])  # type: ignore[call-overload]


def _seconds(found: _Runs) -> Row:
    slow = {
        name: 1e5 * found.mean(name, "ours-declared", "fit s") / max(_rows(found, name), 1e5)
        for name in found.tables
        if found.of(name, "ours-declared")
    }
    name = max(slow, key=lambda n: slow[n])
    return (
        "fit: 10 s at most (per 100,000 rows where there are more)",
        f"{slow[name]:.1f} s at most ({name})",
        slow[name] <= 10,
    )
