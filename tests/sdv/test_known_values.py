"""Rows with known values of their own: drawn all at once, with the law of rows drawn combination by combination."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency

from sdv_plausible import Attribute, Domain, PlausibleDeniabilitySynthesizer
from sdv_plausible.mechanism.drawing import sampler as samplers
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.rules import DateAndTime, Implies
from sdv_plausible.sdv import known_values
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.table.codec import Codec

FALSE_ALARM = 1e-6  # of each comparison of two samples
COLUMNS = {
    "key": {"sdtype": "id"}, "sex": {"sdtype": "categorical"}, "age": {"sdtype": "numerical"},
    "rate": {"sdtype": "numerical"}, "seen": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d %H:%M"},
    "grade": {"sdtype": "categorical"},
}  # fmt: skip
DOMAIN = {
    "sex": {"range_values": ["f", "m", "d"], "range_is_nullable": True},
    "age": {"range_min": 0, "range_max": 99, "decimal_places": 0},
    "rate": {"range_min": 0.0, "range_max": 5.0, "decimal_places": 2, "range_is_nullable": True},
    "seen": {"range_min": "2020-01-01 00:00", "range_max": "2020-12-31 23:59", "parts": "split"},
    "grade": {"range_values": [1, 2, 3]},
}


def people(n: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(0, 100, n)
    moments = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 366 * 24 * 60, n), unit="min")
    grade = np.where(rng.random(n) < 0.7, 1 + age // 34, rng.integers(1, 4, n))
    sex = np.where(grade == 1, "f", rng.choice(["m", "f"], n)).astype(object)
    sex[rng.random(n) < 0.1] = None
    seen, rate = moments.strftime("%Y-%m-%d %H:%M"), np.clip(age / 25 + rng.normal(0, 0.3, n), 0, 5).round(2)
    return pd.DataFrame(
        {"key": np.arange(n), "sex": sex, "age": age, "rate": rate, "seen": seen, "grade": grade}
    )


def fit(**more: object) -> PlausibleDeniabilitySynthesizer:
    metadata = metadata_from_columns(COLUMNS)
    synth = PlausibleDeniabilitySynthesizer(metadata, domain=DOMAIN, epsilon=20.0, **more)
    synth.fit(people())
    return synth


@pytest.fixture(scope="module")
def fitted() -> PlausibleDeniabilitySynthesizer:
    return fit()


def rows_of(found: object) -> pd.DataFrame:
    return found if isinstance(found, pd.DataFrame) else next(iter(found.values()))


def both(
    synth: Any, known: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows drawn at once, and combination by combination."""
    at_once = rows_of(synth.sample_remaining_columns(known))
    with monkeypatch.context() as patch:
        patch.setattr(known_values, "can_be_batched", lambda *_: False)
        return at_once, rows_of(synth.sample_remaining_columns(known))


def p_value(one: pd.Series, other: pd.Series) -> float:
    """Of two samples of a category from one law."""
    both = pd.concat([one, other]).astype(str)
    counts = pd.crosstab(both.to_numpy(), np.repeat([0, 1], [len(one), len(other)]))
    counts = counts[counts.sum(axis=1) >= 10]
    return float(chi2_contingency(counts).pvalue) if len(counts) > 1 else 1.0


def p_values(one: pd.DataFrame, other: pd.DataFrame, known: pd.DataFrame) -> list[float]:
    """Of the columns that are not known, for the rows of each combination that is."""
    names = [name for name in ("sex", "age", "rate", "grade") if name not in known]
    group = known.astype(str).agg("|".join, axis=1).to_numpy()
    found = []
    for name in names:
        a, b = one[name], other[name]
        if name in ("age", "rate"):
            edges = np.unique(np.quantile(b.dropna(), np.linspace(0, 1, 9)))
            a, b = (pd.cut(side, edges, include_lowest=True) for side in (a, b))
        found += [p_value(a[group == which], b[group == which]) for which in np.unique(group)]
    return found


@pytest.mark.parametrize("names", [["grade"], ["sex", "grade"], ["rate"], ["age", "sex"]])
def test_the_law_is_that_of_each_combination(fitted, names, monkeypatch) -> None:
    """Control: known codes that go to the row before are caught."""
    different = people(400)[names].drop_duplicates().head(4)
    known = different.loc[np.repeat(different.index, 500)].reset_index(drop=True)
    at_once, alone = both(fitted, known, monkeypatch)
    assert min(p_values(at_once, alone, known)) > FALSE_ALARM
    honest = samplers.PrefixSampler._sample_each

    def shifted(self, known, rng):
        moved = {column: np.roll(code, 500) for column, code in known.items()}
        return honest(self, moved, rng)

    monkeypatch.setattr(samplers.PrefixSampler, "_sample_each", shifted)
    wrong = rows_of(fitted.sample_remaining_columns(known))
    assert min(p_values(wrong, alone, known)) < FALSE_ALARM


def test_a_call_has_the_form_of_sdvs_own(fitted, monkeypatch) -> None:
    """Index, order, types and known values are those of a table that SDV makes combination by combination."""
    known = people(60)[["rate", "sex", "seen"]].set_axis(range(100, 40, -1), axis=0)
    at_once, alone = both(fitted, known, monkeypatch)
    assert at_once.index.tolist() == alone.index.tolist()
    assert at_once.dtypes.to_dict() == alone.dtypes.to_dict()
    assert at_once["key"].is_unique
    for name in known:
        pd.testing.assert_series_equal(at_once[name], alone[name])
        wanted = known[name].sort_index()
        assert at_once[name].isna().tolist() == wanted.isna().tolist()
        assert at_once[name].dropna().tolist() == wanted.dropna().tolist()


def test_rules_hold_and_made_columns_can_be_known(monkeypatch) -> None:
    synth = fit(rules=[Implies({"grade": 1}, {"sex": ["f", None]}), DateAndTime("seen", "min")])
    known = people(200)[["seen", "age"]]
    rows = rows_of(synth.sample_remaining_columns(known))
    assert rows["seen"].tolist() == known["seen"].tolist()
    assert rows.loc[rows["grade"] == 1, "sex"].dropna().eq("f").all()
    assert {"m", "f"} <= set(rows["sex"].dropna())


def test_missing_where_nothing_is_missing_is_put_in(fitted) -> None:
    known = pd.DataFrame({"age": [5, None, 7, None], "sex": ["f", "m", None, "f"]}, dtype=object)
    rows = rows_of(fitted.sample_remaining_columns(known))
    assert rows["age"].isna().tolist() == [False, True, False, True]
    assert rows["sex"].isna().tolist() == [False, False, True, False]
    assert rows["grade"].notna().all()
    known = people(50)[["sex"]]
    first, second = (rows_of(fitted.sample_remaining_columns(known)) for _ in range(2))
    assert first["age"].tolist() != second["age"].tolist()  # calls go on, and are not repeated


def test_what_cannot_be_is_put_into_rows_drawn_without_it() -> None:
    """Without noise nobody is of sex d: such rows are drawn as if it were not known."""
    synth = PlausibleDeniabilitySynthesizer(metadata_from_columns(COLUMNS), domain=DOMAIN, epsilon=math.inf)
    synth.fit(people())
    known = pd.DataFrame({"sex": ["d", "f", "d"], "grade": [1, 2, 3]})
    rows = rows_of(synth.sample_remaining_columns(known))
    assert rows["sex"].tolist() == ["d", "f", "d"]
    assert rows["grade"].tolist() == [1, 2, 3]


def test_a_missing_cell_of_a_column_that_may_miss_is_known_and_no_two_draws_share_coins() -> None:
    """What the model is given, and from which stream, by rounds and by which columns are known."""
    sex = Attribute(name="sex", kind="categorical", values=("f", "m"), nullable=True)
    grade = Attribute(name="grade", kind="categorical", values=(1, 2))
    known = pd.DataFrame({"sex": ["f", None, "m", None], "grade": [1, 2, None, None]}, dtype=object)
    seen: list[tuple[dict[int, list[int]], bytes]] = []

    class Model:
        def sample_each(self, given: dict[int, np.ndarray], rng: KeyedRNG) -> np.ndarray:
            seen.append(({j: codes.tolist() for j, codes in given.items()}, rng._key))
            return np.zeros((len(next(iter(given.values()))), 2), dtype=np.int32)

    class Rules:
        condition_rows = unfold = staticmethod(lambda rows: rows)
        whole = staticmethod(lambda domain: domain)

        def draw_each(self, number: int, rows: Any, _: Domain) -> pd.DataFrame:
            rows(np.arange(number), 1)
            return rows(np.arange(number), 0)

    codec = Codec(Domain((sex, grade)))
    rows = known_values.draw_rows(known, Model(), codec, Rules(), KeyedRNG.from_seed(1))  # type: ignore[arg-type]
    assert rows["sex"].isna().tolist() == [False, True, False, True]
    for half in (seen[:2], seen[2:]):
        assert [given for given, _ in half] == [{0: [1, 2]}, {0: [0, 2], 1: [0, 1]}]
    assert len({key for _, key in seen}) == len(seen) == 4
