"""Draw the pictures of "Choosing epsilon, k and omega", from the package's own exact figures.

    python docs/draw_choosing.py docs/images

Needs the extra ``[dev]``. No table is read: a plan looks at no row.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from sdv_plausible import PlausibleDeniabilitySynthesizer, metadata_of
from sdv_plausible.datasets import census_like_metadata
from sdv_plausible.privacy.accounting.attacker_bounds import attackers
from sdv_plausible.privacy.accounting.composition import calibrate_gaussian
from sdv_plausible.privacy.accounting.losses import ApproxDP, gaussian_noise
from sdv_plausible.privacy.accounting.release_loss import release_margin

mpl.use("Agg")
import matplotlib.pyplot as plt

BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"  # of Okabe and Ito's palette
COLOURS = (RED, ORANGE, BLUE, GREEN)
DELTA = 1e-9
EPSILONS = (0.1, 0.5, 1.0, 3.0)
ROWS = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 300_000, 1_000_000)


def advantages(epsilons: Any) -> dict[str, list[float]]:
    """Return the most that an attacker gains, of any release with a total and of one by this package."""
    any_release = [[ApproxDP(epsilon=e, delta=DELTA)] for e in epsilons]
    ours = [gaussian_noise(calibrate_gaussian(e, DELTA)) for e in epsilons]
    return {
        "any release with this total": [attackers(losses).advantage for losses in any_release],
        "a default release: Gaussian noise": [attackers(losses).advantage for losses in ours],
    }


def forecasts(epsilon: float) -> list[tuple[float, float]]:
    """Return how far noise moves a column, and the weakest link kept (NaN: none is learned), by rows."""
    domain = census_like_metadata()
    synth = PlausibleDeniabilitySynthesizer(metadata_of(domain), domain=domain, epsilon=epsilon, delta=DELTA)
    told = [synth.plan(table_rows=rows).forecast for rows in ROWS]
    return [(forecast.mean, np.nan if forecast.link is None else forecast.link) for forecast in told]


def seeds_needed(epsilon0s: Any) -> list[int]:
    """Return the seeds above k that a group needs, to be released in half of the cases."""
    return [release_margin(epsilon0, DELTA) for epsilon0 in epsilon0s]


def draw_attackers() -> Any:
    """Draw the advantage of an attacker against epsilon."""
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    epsilons = np.geomspace(0.03, 10, 40)
    for (name, values), colour, style in zip(
        advantages(epsilons).items(), COLOURS[1:], ("--", "-"), strict=False
    ):
        axes.plot(epsilons, np.multiply(values, 100), style, color=colour, label=name, linewidth=2)
    axes.set(
        xscale="log",
        xlabel=f"total epsilon, at delta {DELTA:g}",
        ylabel="hits less false alarms, at most (%)",
    )
    _tick(axes, (0.03, 0.1, 0.3, 1, 3, 10))
    return _finish(figure, [axes])


def draw_noise() -> Any:
    """Draw how far noise moves a column, and the weakest link that is kept, against the number of rows."""
    figure, both = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharex=True)
    for epsilon, colour in zip(EPSILONS, COLOURS, strict=True):
        for axes, values in zip(both, zip(*forecasts(epsilon), strict=True), strict=True):
            axes.plot(
                ROWS, np.minimum(values, 1), "o-", color=colour, label=f"epsilon {epsilon:g}", markersize=4
            )
    both[0].set(ylabel="noise moves a column by up to")
    both[1].set(ylabel="links weaker than this are lost")
    for axes in both:
        axes.set(xscale="log", yscale="log", xlabel="rows of the table", ylim=(2e-4, 1.3))
    return _finish(figure, both)


def draw_seeds() -> Any:
    """Draw the size that a group of seeds needs against epsilon0, for several k."""
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    epsilon0s = np.geomspace(0.1, 3, 40)
    margin = np.array(seeds_needed(epsilon0s))
    for k, colour in zip((20, 50, 100, 200), COLOURS, strict=True):
        axes.plot(epsilon0s, k + margin, color=colour, label=f"k = {k}", linewidth=2)
    axes.set(
        xscale="log", xlabel="epsilon0, paid on top of the model", ylabel="rows that a combination needs"
    )
    axes.set_ylim(bottom=0)
    _tick(axes, (0.1, 0.2, 0.5, 1, 2, 3))
    return _finish(figure, [axes])


def _tick(axes: Any, places: tuple[float, ...]) -> None:
    axes.set_xticks(places, [f"{place:g}" for place in places])
    axes.minorticks_off()


def _finish(figure: Any, panels: Any) -> Any:
    for axes in panels:
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    return figure


PICTURES = {"attackers": draw_attackers, "noise": draw_noise, "seeds": draw_seeds}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Draw the pictures of the page on choosing.")
    parser.add_argument("folder", type=Path)
    target = parser.parse_args().folder
    for each, draw in PICTURES.items():
        draw().savefig(target / f"choosing_{each}.png", dpi=110, metadata={"Software": None})
