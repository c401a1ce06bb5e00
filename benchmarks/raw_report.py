"""What the raw-table benchmark shows: the table in benchmarks/history.md, the plot, the worst columns."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.raw_goals import goals
from benchmarks.raw_methods import METHODS, NOT_PRIVATE, OURS
from benchmarks.raw_scores import SHOWN
from benchmarks.raw_sources import SOURCES

HERE = Path(__file__).parent
PICTURE = "raw_tables.png"
PARTS = ("raw tables", "raw goals")
DIGITS = {"fit s": 1, "sample s": 1, "MB": 0, "far columns": 1}
PLOTTED = {
    "column distance": "column distance (lower is better)",
    "pair distance": "pair distance (lower is better)",
    "game RF": "distinguishing game (0.5 is ideal)",
    "quality": "SDMetrics Quality (higher is better)",
}
Line = dict[str, object]


def newest(lines: list[Line]) -> list[Line]:
    """Of every table, method and budget, the lines of the version measured last."""
    latest: dict[tuple[object, ...], tuple[object, object]] = {}
    for line in lines:
        latest[_group(line)] = (line.get("code"), line.get("book"))
    return [line for line in lines if latest[_group(line)] == (line.get("code"), line.get("book"))]


def _group(line: Line) -> tuple[object, ...]:
    return line["table"], line["method"], line["epsilon"]


def one_line(line: Line) -> str:
    """A run's chief scores, for the screen."""
    head = f"{line['table']} {line['method']} eps {line['epsilon']:g} repeat {line['repeat']}"
    if "failed" in line:
        return f"{head}: {line['failed']}"
    found = ", ".join(f"{SHOWN[k]} {_number(line[k], k)}" for k in SHOWN if line.get(k) is not None)
    return f"{head}: {found}"


def _number(value: object, score: str) -> str:
    return f"{float(value):.{DIGITS.get(score, 3)}f}"  # type: ignore[arg-type]


def _frame(lines: Sequence[Line]) -> pd.DataFrame:
    kept = ["table", "method", "epsilon", "repeat", "failed", *SHOWN]
    return pd.DataFrame([{k: line.get(k) for k in kept} for line in lines]).sort_values("repeat")


def table(lines: Sequence[Line]) -> str:
    """Markdown: means over repeats."""
    if not lines:
        return "nothing measured yet"
    frame = _frame(lines)
    out = [
        "| table | method | eps | runs | " + " | ".join(SHOWN.values()) + " |",
        "|" + " --- |" * (4 + len(SHOWN)),
    ]
    order, names = {m: i for i, m in enumerate(METHODS)}, list(SOURCES)
    groups = sorted(
        frame.groupby(["table", "epsilon", "method"]),
        key=lambda g: (names.index(g[0][0]), -g[0][1], order[g[0][2]]),
    )
    for (name, epsilon, method), runs in groups:
        budget = "-" if method in NOT_PRIVATE else f"{epsilon:g}"
        good = runs[runs["failed"].isna()]
        if good.empty:
            out.append(
                f"| {name} | {method} | {budget} | 0 | {runs['failed'].iloc[0]} |" + " |" * (len(SHOWN) - 1)
            )
            continue
        cells = []
        for score in SHOWN:
            mean = pd.to_numeric(good[score]).mean()
            cells.append("-" if math.isnan(mean) else _number(mean, score))
        out.append(f"| {name} | {method} | {budget} | {len(good)} | " + " | ".join(cells) + " |")
    return "\n".join(out)


def worst_columns(lines: Sequence[Line], methods: Sequence[str], number: int) -> str:
    """Markdown: the columns of ours farthest beyond the plain noisy histogram, means over repeats."""
    rows = [
        {"table": line["table"], "method": line["method"], "eps": line["epsilon"], "column": column, **entry}
        for line in lines
        if "failed" not in line and line["method"] in OURS and line["method"] in methods
        for column, entry in line["columns"].items()  # type: ignore[attr-defined]
        if "grid" in entry
    ]
    if not rows:
        return "nothing measured yet"
    by = ["table", "method", "eps", "column"]
    frame = (
        pd.DataFrame(rows)
        .groupby(by, sort=False)[["grid", "noisy", "sampling", "wrong", "missing", "shape"]]
        .mean()
    )
    frame["excess"] = frame["grid"] - frame["noisy"]
    frame = frame.sort_values("excess", ascending=False).groupby(["method", "eps"], sort=False).head(number)
    out = [
        "| method | eps | table | column | ours | noisy | sampling | wrong | more missing |",
        "|" + " --- |" * 9,
    ]
    for (name, method, epsilon, column), row in frame.iterrows():
        cells = " | ".join(f"{row[k]:.3f}" for k in ("grid", "noisy", "sampling", "wrong", "missing"))
        out.append(f"| {method} | {epsilon:g} | {name} | {column} | {cells} |")
    return "\n".join([*out[:2], *sorted(out[2:], key=lambda r: r.split(" | ")[:2])])


def write(lines: Sequence[Line]) -> None:
    """Replace the tables in benchmarks/history.md, and draw the plot."""
    page = HERE / "history.md"
    text = page.read_text(encoding="utf-8")
    for part, made in zip(PARTS, (table(lines), goals(lines)), strict=True):
        begin, end = f"<!-- {part}: begin -->", f"<!-- {part}: end -->"
        inside = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
        if not inside.search(text):
            raise ValueError(f"{page.name} must hold the lines {begin} and {end}: a table goes between them")
        text = inside.sub(lambda _, new=f"{begin}\n\n{made}\n\n{end}": new, text)
    page.write_text(text, encoding="utf-8")
    plot(lines, HERE / PICTURE)


def plot(lines: Sequence[Line], path: Path) -> None:
    """Scores by table and method at epsilon 1; skipped where matplotlib is missing."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("matplotlib is not installed: no plot")
        return
    frame = _frame(lines)
    frame = frame[frame["failed"].isna() & (frame["epsilon"].isin([1.0, math.inf]))]
    names = [name for name in SOURCES if name in set(frame["table"])]
    shown = [m for m in METHODS if m in set(frame["method"])]
    figure, axes = plt.subplots(len(PLOTTED), 1, figsize=(11, 11), sharex=True)
    colours = plt.get_cmap("tab20")
    for axis, (score, title) in zip(axes, PLOTTED.items(), strict=True):
        means = frame.assign(value=pd.to_numeric(frame[score])).groupby(["table", "method"])["value"].mean()
        for i, method in enumerate(shown):
            heights = [means.get((name, method), math.nan) for name in names]
            place = np.arange(len(names)) + (i - (len(shown) - 1) / 2) * 0.8 / len(shown)
            ours = method.startswith("ours")
            axis.plot(
                place,
                heights,
                "o" if ours else "x",
                color=colours(i),
                label=method,
                markersize=7 if ours else 6,
            )
        axis.set_title(title, fontsize=10, loc="left")
        axis.grid(axis="y", color="0.9")
        for line in np.arange(len(names) - 1) + 0.5:
            axis.axvline(line, color="0.85", linewidth=0.8)
    axes[-1].set_xticks(np.arange(len(names)), names)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=4, fontsize=9, frameon=False)
    figure.suptitle("Raw tables at (1, 1e-9); infer, gaussian-copula and real are not private", fontsize=11)
    figure.tight_layout(rect=(0, 0.07, 1, 0.99))
    figure.savefig(path, dpi=110)
    plt.close(figure)
