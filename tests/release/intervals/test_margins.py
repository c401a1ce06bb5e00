"""Counts with intervals: coverage over many simulated tables, and what is said where nothing was measured.

Noise of different cells is independent, so misses of the table's counts are binomial; of the population one cell
per table is looked at. False alarm ``ALARM`` of each check. Planted: intervals for half the noise.
"""

import dataclasses

import miss_rates
import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from sdv_plausible import Person, PlausibleDeniabilitySynthesizer, metadata_of
from sdv_plausible.evaluation.page.sections import IntervalSection
from sdv_plausible.privacy.noise import mechanisms
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import Axis, CodeArray, QueryRecord
from sdv_plausible.queries.transcript import NoisyAnswer
from sdv_plausible.release.intervals.margins import margins
from sdv_plausible.release.intervals.measured_counts import number_of_rows
from sdv_plausible.table.columns.domain import Attribute, Domain

ALARM, MISS = 1e-6, 0.05
ROWS, TABLES = 1500, 80
SHARES = np.array([0.5, 0.3, 0.15, 0.05])
DOMAIN = Domain(
    (
        Attribute(name="a", kind="categorical", values=tuple("wxyz")),
        Attribute(name="b", kind="integer", lower=(0, 1, 2), upper=(0, 1, 2)),
        Attribute(name="c", kind="categorical", values=("u", "v")),
    )
)
PAIR = (Axis(0, np.array([0, 1, 2, 2])), Axis.of_codes(1, 3))  # y and z were counted together


def codes(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    a = rng.choice(4, ROWS, p=SHARES)
    b = np.where(rng.random(ROWS) < 0.6, a % 3, rng.integers(0, 3, ROWS))
    return np.column_stack([a, b, rng.integers(0, 2, ROWS)])


def ask(rows: np.ndarray, axes: tuple[Axis, ...], sigma: float, rng: KeyedRNG) -> NoisyAnswer:
    exact = next(CodeArray(rows, DOMAIN.cardinalities).tables([axes]))
    values = mechanisms.discrete_gaussian(exact, sensitivity=sigma, rho=0.5, rng=rng)
    return NoisyAnswer(
        asked=QueryRecord(kind="counts", tables=(axes,)), values=values, noise="discrete gaussian", scale=sigma, paid_by=("model",)
    )  # fmt: skip


def answers(seed: int, rows: np.ndarray | None = None) -> list[NoisyAnswer]:
    rows, rng = codes(seed) if rows is None else rows, KeyedRNG.from_seed(seed)
    axes = [(Axis.of_codes(j, c),) for j, c in enumerate(DOMAIN.cardinalities)]
    found = [ask(rows, a, 12.0, rng.spawn(i)) for i, a in enumerate(axes)]
    return [*found, ask(rows, PAIR, 9.0, rng.spawn("pair"))]


def halved(found: list[NoisyAnswer]) -> list[NoisyAnswer]:
    return [dataclasses.replace(a, scale=a.scale / 2) for a in found]


def inside(frame: pd.DataFrame, truth: np.ndarray, what: str = "") -> np.ndarray:
    low, high = (frame[f"{what}{end}"].to_numpy() for end in ("lower", "upper"))
    return (low <= truth) & (truth <= high)


def misses(change=list, tables: int = TABLES) -> tuple[int, int, int]:
    """Cells of tables that are missed, how many there are, and populations that are missed (one a table)."""
    missed = cells = population = 0
    for seed in range(tables):
        rows = codes(seed)
        told = change(answers(seed, rows))
        one, pair = margins(told, DOMAIN, "a"), margins(told, DOMAIN, ("a", "b"))
        true_pair = next(CodeArray(rows, DOMAIN.cardinalities).tables([PAIR])).ravel()
        hits = np.r_[inside(one, np.bincount(rows[:, 0], minlength=4)), inside(pair, true_pair)]
        missed, cells = missed + int((~hits).sum()), cells + len(hits)
        population += not inside(one, SHARES, "proportion_")[seed % 4]
    return missed, cells, population


def test_coverage():
    missed, cells, population = misses()
    assert missed <= binom.isf(ALARM, cells, MISS)
    assert population <= binom.isf(ALARM, TABLES, MISS)


def test_half_the_noise_is_caught():
    """Missed by the check with a probability below 1e-6: of the counts 0.25 and more lie outside then."""
    missed, cells, _ = misses(halved, 30)
    assert missed > binom.isf(ALARM, cells, MISS)
    assert miss_rates.binomial(cells, MISS, 0.25, ALARM) < 1e-6


def test_frame():
    frame = margins(answers(1), DOMAIN, ["b", "a"])
    assert frame.index.names == ["b", "a"]
    assert list(frame.index[:3]) == [(0, "w"), (0, "x"), (0, "y or z")]
    assert set(frame["basis"]) == {"measured"}
    same = margins(answers(1), DOMAIN, ["a", "b"])
    assert frame.loc[(2, "y or z"), "estimate"] == same.loc[("y or z", 2), "estimate"]
    assert (frame["lower"] >= 0).all()
    assert (frame["lower"] <= frame["upper"]).all()


def test_levels_widen():
    narrow, wide = (margins(answers(1), DOMAIN, "a", level) for level in (0.5, 0.999))
    assert (wide["lower"] < narrow["lower"]).all()
    assert (narrow["upper"] < wide["upper"]).all()
    assert (wide["proportion_lower"] < narrow["proportion_lower"]).all()


def test_number_of_rows():
    frame = margins(answers(2), DOMAIN, ())
    assert inside(frame, np.array([ROWS])).all()
    assert abs(number_of_rows(answers(2), len(DOMAIN)) - ROWS) < 120
    of_a_part = [dataclasses.replace(one, rows="parameters") for one in answers(2, codes(2)[:100])]
    assert number_of_rows([*of_a_part, *answers(2)], len(DOMAIN)) == number_of_rows(answers(2), len(DOMAIN))
    with pytest.raises(ValueError, match="this release does not contain"):
        number_of_rows(of_a_part, len(DOMAIN))


def test_unmeasured_pairs_have_bounds():
    """Bounds cover with at least the level; here always (false alarm below 1e-6: they are far apart)."""
    asked = (Axis.of_codes(0, 4), Axis.of_codes(2, 2))
    for seed in range(20):
        rows = codes(seed)
        frame = margins(answers(seed, rows), DOMAIN, ["a", "c"])
        assert inside(frame, next(CodeArray(rows, DOMAIN.cardinalities).tables([asked])).ravel()).all()
        assert set(frame["basis"]) == {"bounds"}
        assert frame[["estimate", "proportion"]].isna().all(axis=None)
    assert margins(answers(1), DOMAIN, ["a", "b", "c"])["basis"].eq("bounds").all()
    # A value that nearly all rows have, with one that half have: the bounds are those of Frechet, and their noise.
    rows = np.column_stack([np.zeros(ROWS, int), np.zeros(ROWS, int), np.arange(ROWS) % 2])
    frame = margins(answers(1, rows), DOMAIN, ["a", "c"])
    assert 550 < frame.loc[("w", "u"), "lower"] <= ROWS / 2 <= frame.loc[("w", "u"), "upper"] < 850
    assert frame.loc[("z", "u"), "lower"] == 0


def test_what_cannot_be_known_is_not_made_up():
    """Nor is a part of the rows the table."""
    frame = margins([answers(1)[0]], DOMAIN, ["a", "c"])
    assert set(frame["basis"]) == {"not identified"}
    assert frame.drop(columns="basis").isna().all(axis=None)
    part = [dataclasses.replace(a, rows="parameters") for a in answers(1)]
    with pytest.raises(ValueError, match="noisy counts of all rows"):
        margins(part, DOMAIN, "a")


def test_measured_twice():
    """Inverse-variance mean: narrower, and misses no more than it may (false alarm 1e-6)."""
    missed = 0
    for seed in range(TABLES):
        rows, rng = codes(seed), KeyedRNG.from_seed(seed)
        axes = (Axis.of_codes(0, 4),)
        twice = [ask(rows, axes, sigma, rng.spawn(sigma)) for sigma in (8.0, 14.0)]
        frame = margins(twice, DOMAIN, "a")
        missed += int((~inside(frame, np.bincount(rows[:, 0], minlength=4))).sum())
        once = margins(twice[:1], DOMAIN, "a")
        assert ((frame["upper"] - frame["lower"]) <= (once["upper"] - once["lower"])).all()
    assert missed <= binom.isf(ALARM, 4 * TABLES, MISS)


def test_unknown_columns():
    for columns, said in (
        ("d", "modelled columns"),
        (["a", "a"], "different"),
        (["a", "id"], "modelled columns"),
    ):
        with pytest.raises(ValueError, match=said):
            margins(answers(1), DOMAIN, columns)


def test_too_many_cells():
    wide = Domain(tuple(Attribute(name=n, kind="categorical", values=tuple(range(1200))) for n in "ab"))
    of_one, counts = (
        answers(1)[0],
        [QueryRecord(kind="counts", tables=((Axis.of_codes(j, 1200),),)) for j in range(2)],
    )
    told = [dataclasses.replace(of_one, asked=one, values=np.zeros(1200, dtype=np.int64)) for one in counts]
    with pytest.raises(ValueError, match="1,000,000 cells"):
        margins(told, wide, ["a", "b"])


def test_rows_of_one_person_are_no_sample():
    """400 people with ten equal rows each: a share's limits from independent rows hold it in half of the fits."""
    people = pd.DataFrame({"who": np.repeat(np.arange(400), 10), "a": np.repeat(["u", "v"], 2000)})
    domain = {"a": {"sdtype": "categorical", "range_values": ["u", "v"]}}
    known = metadata_of({"who": {"sdtype": "id"}, **domain})
    for rows, is_known in ((1, True), (2, False)):
        synth = PlausibleDeniabilitySynthesizer(
            known, domain=domain, person=Person("who", rows=rows), epsilon=8.0, random_state=1
        )
        synth.fit(people)
        release, anew = synth.release(allow_no_claim=True), Person("who", rows=3 - rows)
        for door in (synth, release, PlausibleDeniabilitySynthesizer.from_release(release, person=anew)):
            found = door.margins("a")
            assert found[["estimate", "lower", "upper", "proportion"]].notna().all(axis=None)
            assert found[["proportion_lower", "proportion_upper"]].notna().all(axis=None) == is_known
            if is_known:
                assert len(door.sample_multiple(2, 20)) == 2
            else:
                with pytest.raises(ValueError, match=r'about \("population"|about \(\'population\''):
                    door.sample_multiple(2, 20)
                assert len(door.sample_multiple(2, 20, about="table")) == 2
        (shown,) = IntervalSection.of([found])[0].tables
        assert all(bool(line[3]) == is_known for line in shown.lines)
