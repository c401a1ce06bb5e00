"""Other readings of the paper, and seeds at equal total: what they compute, on made-up and on few rows."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.paper import keeping_seeds, readings
from benchmarks.paper.settings import SIZES
from benchmarks.paper.store import Store
from benchmarks.paper.synthesis import Study
from benchmarks.utility_tables import CodedTable

ALONE, KEPT = keeping_seeds.ALONE, keeping_seeds.TRIED[1.0][1]


def test_agreement_of_guesses_that_take_no_look_at_the_row():
    draw = np.random.default_rng(0)
    rich, rate, of_reals = 0.3, 0.1, 0.25
    truth, guess, real = (draw.random(400_000) < share for share in (rich, rate, of_reals))
    found = readings.guessed(float((guess == truth).mean()), rich, of_reals)
    assert found == pytest.approx((guess == real).mean(), abs=0.005)


def lines(alone: list[float], kept: list[float], score: str) -> list[dict]:
    return [
        {"row": keeping_seeds.name(1.0, tried), "repeat": split, score: value}
        for tried, values in ((ALONE, alone), (KEPT, kept))
        for split, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("score", "kept", "is_better"),
    [("2-way", (0.4, 0.51), True), ("2-way", (0.6, 0.7), False), ("2-way", (0.2, 0.65), False), ("forest", (0.6, 0.71), True)],
)  # fmt: skip
def test_a_line_is_better_if_its_whole_interval_of_differences_is(score, kept, is_better):
    made = lines([0.5, 0.61, 0.55], [*kept, (sum(kept) / 2)], score)
    assert keeping_seeds.is_better(made, 1.0, KEPT, score) is is_better


def test_every_line_has_the_same_total():
    table = CodedTable(
        names=["a", "b", "c"], codes=np.zeros((1, 3), dtype=int), cardinalities=[2, 3, 4], ordered=[False] * 3,
        target=0, num_train=1, delta=1e-9,
    )  # fmt: skip
    for total, every in keeping_seeds.TRIED.items():
        for kept, share in every:
            if kept < len(table.names):
                found = keeping_seeds.synthesizer(table, total, kept, share).plan().ledger.total()
                assert 0.98 * total <= found <= total


@pytest.mark.slow
def test_every_reading_is_measured(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(readings, "PRIVATE_MODELS", 1)
    monkeypatch.setattr(readings, "LOOKED_UP", 1_000)
    small = replace(SIZES["quick"], unseen=800, tested=400, train=500, synthetics=500, linear_printed=500)
    store = Store(tmp_path / readings.NAME, small)
    assert not readings.run(store, small, seconds=0.0)
    assert store.lines == []
    assert readings.run(store, small)
    assert {(x["item"], x["row"], x["repeat"]) for x in store.lines} == {
        (item, row, repeat)
        for repeat in range(readings.REPEATS)
        for item, row, _ in readings.readings(Study(readings.DATA, small, repeat))
    }
    tenth = 1 / readings.SHARE * np.expm1(0.1)
    assert np.expm1(readings.INNER_TENTH) == pytest.approx(tenth)  # Theorem 4, solved for the inner epsilon
