"""Figures 1 to 4 and 6 as small pictures; skipped where matplotlib is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paper.data import NAMES
from benchmarks.paper.report import improved_rows, improvement, vectors
from benchmarks.paper.settings import KS
from benchmarks.paper.store import Store

COLOURS = ("#4c72b0", "#8fa9d0", "#c9d5e8", "#dd8452")


def draw(store: Store, data: str, folder: Path) -> None:
    """Write ``figure<n>_<data>.png`` for everything that was measured."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print("matplotlib is not installed: no plots")
        return
    for item, name, paint in (
        ("accuracy", "figure1", _improvement), ("accuracy", "figure2", _accuracy),
        ("distances", "figure3", lambda s, a: _boxes(s, a, "values", "single columns")),
        ("distances", "figure4", lambda s, a: _boxes(s, a, "pairs", "pairs of columns")),
        ("passing", "figure6", _passing),
    ):  # fmt: skip
        if store.of(item):
            figure, axis = plt.subplots(figsize=(8, 3.8), layout="constrained")
            paint(store, axis)
            figure.savefig(folder / f"{name}_{data}.png", dpi=90)
            plt.close(figure)


def _bars(axis: Any, series: dict[str, np.ndarray]) -> None:
    width = 0.8 / len(series)
    for i, (name, values) in enumerate(series.items()):
        axis.bar(
            np.arange(len(NAMES)) + (i - (len(series) - 1) / 2) * width,
            values,
            width,
            label=name,
            color=COLOURS[i % 4],
        )
    axis.set_xticks(range(len(NAMES)), NAMES, rotation=30, ha="right", fontsize=8)
    axis.grid(axis="y", linewidth=0.4)
    axis.set_axisbelow(True)


def _improvement(store: Store, axis: Any) -> None:
    _bars(axis, {row: 100 * improvement(store, row) for row in improved_rows(store)})
    axis.axhline(0, color="black", linewidth=0.8)
    axis.set_ylabel("% of the marginals' error")
    axis.set_title("Figure 1: relative decrease of the model's error", fontsize=10)
    _legend_below_title(axis)


def _accuracy(store: Store, axis: Any) -> None:
    means = {row: 100 * vectors(store.of("accuracy", row)).mean(axis=0) for row in store.rows("accuracy")}
    bars: dict[str, np.ndarray] = {
        row: means[row]
        for row in sorted(means, key=lambda row: not row.startswith("random forest"))
        if row.startswith("random forest") or row in ("model, ε=inf", "marginals", "random")
    }
    _bars(axis, bars)
    axis.set_ylabel("%")
    axis.set_title("Figure 2: share of unseen values named right, given the others", fontsize=10)
    _legend_below_title(axis)


def _legend_below_title(axis: Any) -> None:
    low, high = axis.get_ylim()
    axis.set_ylim(low, high + 0.12 * (high - low))
    axis.legend(fontsize=8, ncol=4, loc="upper center", frameon=False)


def _boxes(store: Store, axis: Any, key: str, what: str) -> None:
    rows = store.rows("distances")
    axis.boxplot(
        [vectors(store.of("distances", row), key).ravel() for row in rows],
        widths=0.55,
        flierprops={"markersize": 3},
    )
    names = [row.replace("ε=1 after amplification", "amplified") for row in rows]
    axis.set_xticks(
        range(1, len(rows) + 1), names, rotation=40, ha="right", rotation_mode="anchor", fontsize=7
    )
    axis.set_ylim(bottom=0)
    axis.set_ylabel("total variation distance")
    axis.grid(axis="y", linewidth=0.4)
    axis.set_title(f"Figure {3 if key == 'values' else 4}: {what} against unseen real rows", fontsize=10)


STYLES = {
    "ω=11": ("#08306b", "-"), "ω=10": ("#2171b5", "-"), "ω=9": ("#4a98c9", "-"), "ω=7": ("#85bcdc", "-"),
    "ω=5": ("#b7d4ea", "-"), "ω∈[9-11]": ("#31a354", "-"), "ω∈[5-11]": ("#d94801", "-"),
    "ω∈[5-11], hidden, γ=8": ("#d94801", "--"), "ω∈[5-11], hidden, γ=4": ("#f16913", "--"),
    "ω∈[5-11], hidden, γ=2": ("#fdae6b", "--"),
    "ω∈[5-11], hidden, γ=2, 100,000 seeds checked": ("black", "-."), "ω∈[5-11], order of the example graph": ("#7a3b8f", ":"),
}  # fmt: skip


def _passing(store: Store, axis: Any) -> None:
    for row, (colour, style) in STYLES.items():
        if not store.of("passing", row):
            continue
        axis.plot(
            KS,
            100 * vectors(store.of("passing", row)).mean(axis=0),
            style,
            color=colour,
            marker=".",
            label=row,
        )
    axis.set_xscale("log")
    axis.set_xticks(
        [10, 25, 50, 100, 250, 500, 1000], ["10", "25", "50", "100", "250", "500", "1000"], fontsize=8
    )
    axis.minorticks_off()
    axis.set_ylim(0, 103)
    axis.set_xlabel("k")
    axis.set_ylabel("% of candidates")
    axis.set_title("Figure 6: at least k plausible seeds (not for publication)", fontsize=10)
    axis.grid(linewidth=0.4)
    axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
