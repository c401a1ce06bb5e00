"""Values too rare to be learned: they are not missing, and get what was learned, in proportion.

Statistical checks reject at p < 1e-6, their false-alarm probability, and are shown to reject a planted fault.
"""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sdv_plausible import PlausibleDeniabilitySynthesizer, Release
from sdv_plausible.fit.telling import Teller
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.release.file.domain import read_column
from sdv_plausible.release.file.parts import Placed
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.table import codec
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.domain import Attribute, Domain, write_attribute

ALARM = 1e-6
COUNTS = (600, 300, 100, 250)  # a, b, c and all others


def learned(*, nullable: bool = False, counts: tuple[int, ...] | None = COUNTS) -> Domain:
    return Domain((
        Attribute(
            name="x", kind="categorical", values=("a", "b", "c"), nullable=nullable, counts=counts,
            provenance="private",
        ),
    ))  # fmt: skip


def cells(*values: object) -> pd.DataFrame:
    return pd.DataFrame({"x": np.array(values, dtype=object)})


@pytest.mark.parametrize(("nullable", "expected"), [(True, [0, 3, 3, -1, 2]), (False, [0, -1, -1, -1, 2])])
def test_a_rare_value_has_no_code_and_a_missing_cell_its_own(nullable, expected):
    table = cells("a", None, [1], "rare", "c")  # a list can be no value of a column
    assert Codec(learned(nullable=nullable)).known(table)[:, 0].tolist() == expected


def test_what_was_declared_is_read_as_before():
    table = cells("a", None, "rare", "c")
    assert Codec(learned(nullable=True, counts=None)).known(table)[:, 0].tolist() == [0, 3, 3, 2]


@pytest.mark.parametrize("cell", ["rare", "b", None, 7])
def test_one_row_moves_its_own_code_alone(cell):
    table = cells(*["a", "rare", None, "c"] * 5)
    other = table.copy()
    other.at[6, "x"] = cell
    one, two = (Codec(learned(nullable=True)).known(frame) for frame in (table, other))
    assert set(np.flatnonzero(one != two)) <= {6}


def p_value(codes: np.ndarray) -> float:
    expected = np.array(COUNTS[:3]) / sum(COUNTS[:3]) * len(codes)
    return float(stats.chisquare(np.bincount(codes, minlength=3)[:3], expected).pvalue)


def test_rare_values_are_drawn_in_proportion(monkeypatch):
    table = cells(*["rare"] * 4000)
    for nullable in (True, False):
        codes = Codec(learned(nullable=nullable)).encode(table, Coins.from_seed(3))[:, 0]
        assert set(codes) == {0, 1, 2}  # and never missing
        assert p_value(codes) > ALARM
    monkeypatch.setattr(codec, "_drawn", lambda attribute, n, coins: coins.integers(3, n))  # planted fault
    assert p_value(Codec(learned()).encode(table, Coins.from_seed(3))[:, 0]) < ALARM


def test_without_rows_of_learned_values_all_are_alike():
    codes = Codec(learned(counts=(0, 0, 0, 9))).encode(cells(*["rare"] * 999), Coins.from_seed(3))[:, 0]
    assert set(codes) == {0, 1, 2}


def industries(missing: int, rows: int = 20_000) -> pd.DataFrame:
    """Half of the rows hold one of three values, a tenth no value, the others one of thousands."""
    rng = np.random.default_rng(1)
    values = np.where(rng.random(rows) < 0.5, rng.integers(0, 3, rows), rng.integers(3, 4000, rows)).astype(
        str
    )
    table = pd.DataFrame({"x": values.astype(object), "y": rng.choice(["m", "f"], rows)})
    table.loc[rng.permutation(rows)[:missing], "x"] = None
    return table


def fitted(table: pd.DataFrame) -> tuple[Release, list[str]]:
    words = {name: {"sdtype": "categorical"} for name in table}
    synth = PlausibleDeniabilitySynthesizer(metadata_from_columns(words), epsilon=2.0, delta=1e-6)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        synth.fit(table)
    return synth.release(), [str(one.message) for one in told if "too rare" in str(one.message)]


@pytest.mark.parametrize("missing", [0, 2_000])
def test_a_fit_tells_missing_cells_from_rare_values(missing):
    release, told = fitted(industries(missing))
    found = release.domain["x"]
    assert found.values == ("0", "1", "2")
    assert found.nullable or not missing  # of none, noise makes some once in 160 fits: a handful of cells
    assert 0.45 < found.unlearned < 0.55
    share = release.sample(3_000)["x"].isna().mean()
    assert share < 0.03 if not missing else 0.05 < share < 0.15
    assert len(told) == 1
    assert f"x ({found.unlearned:.0%})" in told[0]
    assert "y (" not in told[0]


def test_what_is_told_is_what_the_release_shows(tmp_path):
    """Of released answers alone: told of the domain in the file as of the rows it is from."""
    release, told = fitted(industries(0))
    release.save(tmp_path / "x.release")
    teller = Teller()
    teller.tell_of_domain(Release.load(tmp_path / "x.release").domain)
    assert [str(one) for one in teller.told] == told


@pytest.mark.parametrize("counts", [COUNTS, None])
def test_counts_survive_in_a_domain_and_in_a_release(counts, tmp_path):
    domain = learned(counts=counts)
    domain.save(tmp_path / "d.json")
    assert Domain.load(tmp_path / "d.json") == domain
    written = json.loads(json.dumps(write_attribute(domain["x"])))
    assert ("counts" in written) == (counts is not None)
    assert read_column(Placed(written, "a")) == domain["x"]


@pytest.mark.parametrize("counts", [(1, 2, 3), (1, 2, 3, -1), [1, 2, 3, 4], (0.5,) * 4, (2**41, 0, 0, 0)])
def test_counts_that_say_nothing_are_refused(counts):
    with pytest.raises(ValueError, match=r"counts .* leave counts out"):
        learned(counts=counts)
