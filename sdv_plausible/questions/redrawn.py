"""Noisy answers drawn again: what they could as well have been, for inference that knows of the noise.

No row is looked at: fresh noise of the same law goes on top of what has left already, so this is
post-processing and costs nothing (docs/explanation/proofs/error_bars.md, Theorem 3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.questions.codes import CodeArray
from sdv_plausible.questions.transcript import NoisyAnswer


def about_codes(answers: Sequence[NoisyAnswer]) -> tuple[NoisyAnswer, ...]:
    """Answers of a learner: counts of codes, in order, and the scores between them."""
    return tuple(a for a in answers if a.asked.tables)


def sampling_deviations(
    answers: Sequence[NoisyAnswer], tables: Sequence[CodeArray]
) -> list[list[np.ndarray]]:
    """How tables of counts differ from table to table, for each of some tables drawn from one model.

    Centred, and scaled so that their variance is that of one table: they stand for what another sample from
    the population would have answered. Answers that are no counts deviate by nothing. At least two tables.
    """
    counted = [i for i, a in enumerate(answers) if a.asked.kind == "counts"]
    found = np.zeros((len(tables), len(answers)), dtype=object)
    sets = [answers[i].asked.tables[0] for i in counted]
    for t, rows in enumerate(tables):
        for i, table in zip(counted, rows.tables(sets), strict=True):
            found[t, i] = table
    apart = np.sqrt(len(tables) / (len(tables) - 1)) * (found - found.mean(axis=0))
    return [list(drawn) for drawn in apart]


def redraw(
    answers: Sequence[NoisyAnswer], coins: Coins, deviations: Sequence[np.ndarray] | None = None
) -> tuple[NoisyAnswer, ...]:
    """Counts with fresh noise of the same law, independent of the noise that is on them."""
    # Their scale is that of both together, so that what cleans them knows how noisy they are. Scores are
    # kept: they chose what was measured, and that stays. ``deviations`` are added to each besides.

    def again(i: int, answer: NoisyAnswer) -> NoisyAnswer:
        if answer.asked.kind != "counts":
            return answer
        more = 0 if deviations is None else np.rint(deviations[i]).astype(np.int64)
        values = noise.discrete_gaussian(
            answer.values + more, sensitivity=answer.scale, rho=0.5, coins=coins.spawn("again", i)
        )
        return replace(answer, values=values, scale=math.sqrt(2) * answer.scale)

    return tuple(again(i, answer) for i, answer in enumerate(answers))
