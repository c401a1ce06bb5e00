"""Rows with their latent points: who belongs to whom, what can be denied, and what floats say."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from rdt.transformers import UniformEncoder
from sdv.errors import SamplingError

from sdv_plausible import DeterministicTest, Latent, PlausibleDeniabilitySynthesizer, metadata_of
from sdv_plausible.extensions.models.latent.autoencoder import VALUE_STEP
from sdv_plausible.extensions.models.latent.latent_model import LatentSeeds, terms
from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.models.base import Proposals
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.queryable import SeedRecords
from sdv_plausible.rules import Forbidden
from sdv_plausible.sdv import synthesizer
from sdv_plausible.sdv.sdv_versions import from_native, to_native
from tests.flat import values

SIZE, K = 12, 5
CATEGORY = {"sdtype": "categorical", "range_values": list(range(SIZE)), "range_is_nullable": False}
DECLARED = {"a": CATEGORY, "b": CATEGORY, "id": {"sdtype": "id"}}


def table(n: int = 3_000) -> pd.DataFrame:
    """Two columns that go together, and an id."""
    rng = KeyedRNG.from_seed(1)
    a = np.asarray(rng.integers(SIZE, n))
    b = (a + np.asarray(rng.integers(2, n))) % SIZE
    return pd.DataFrame({"a": a, "b": b, "id": [f"p{i}" for i in range(n)]})


def fitted(test: str = "deterministic", **options) -> PlausibleDeniabilitySynthesizer:
    given = {"least_rows": 2_000, "row_cap": 600, "k": 40} if test == "randomized" else {"k": K}
    small = {"steps": 3, "hidden": 4, "latent": 2, "max_buckets": SIZE, "floor": 0.05, "weight": 0.1}
    made = PlausibleDeniabilitySynthesizer(metadata_of(DECLARED), domain={n: DECLARED[n] for n in "ab"}, **values(test=test, **{"model": "latent", "model_parameters": small, **given, **options}))  # fmt: skip
    made.fit(to_native("table", table()))
    return made


@cache
def shared(test: str = "deterministic") -> PlausibleDeniabilitySynthesizer:
    """The same fit for all tests that do not change it."""
    return fitted(test)


class Echo(LatentSeeds):
    """Decodes a point to the row that its coordinates spell, so that a stranger's point shows."""

    def decoded(self, points, rng):
        return spelt(points).astype(np.int32)


def spelt(points: np.ndarray) -> np.ndarray:
    return (np.rint(points / VALUE_STEP) % SIZE).astype(int)


def with_model(synth: PlausibleDeniabilitySynthesizer, kind: type[LatentSeeds], **changes):
    """The same fit behind another model."""
    sampler = synth._sampler
    made = kind(sampler.mechanism.model.model)
    made.attach_seeds(SeedRecords(sampler.mechanism.model.seeds))
    sampler.model, sampler.mechanism = made, replace(sampler.mechanism, model=made, **changes)
    return synth


def strangers(rows: pd.DataFrame, points: np.ndarray) -> int:
    """Rows with a point that is another row's."""
    shown = ~np.isnan(points).any(axis=1)
    return int((rows[["a", "b"]].to_numpy()[shown].astype(int) != spelt(points[shown])).any(axis=1).sum())


@pytest.mark.parametrize("test", ["deterministic", "randomized"])
def test_every_row_has_its_own_point(monkeypatch, test):
    """Through batches, rules that draw rows again, and ids. Control: the points of the rows before."""
    monkeypatch.setattr(synthesizer, "BAR_ROWS", 130)
    rules = [Forbidden({"a": [0, 1, 2], "b": [0, 1, 2]})]
    synth = with_model(fitted(test, rules=rules), Echo)
    rows, points = synth.sample_with_points(400)
    rows, found = from_native(rows), points.to_numpy()
    assert list(points) == ["latent_1", "latent_2"]
    assert len(rows) == len(points) == 400
    assert not (rows["a"].isin([0, 1, 2]) & rows["b"].isin([0, 1, 2])).any()
    assert strangers(rows, found) == 0
    assert strangers(rows, np.roll(found, 1, axis=0)) > 50
    free = np.isnan(found).all(axis=1)
    assert np.isnan(found).any(axis=1).sum() == free.sum()
    assert free.any() == (test == "randomized")


def test_rows_are_those_of_sample_and_are_charged_once():
    synth = deepcopy(shared("randomized"))
    synth.reset_sampling()
    alone = from_native(synth.sample(50))
    synth.reset_sampling()
    rows, _ = synth.sample_with_points(50, processes=2)
    pd.testing.assert_frame_equal(from_native(rows), alone)
    assert sum(synth._charged_calls.values()) == 50
    assert list(from_native(synth.sample(2))) == ["a", "b", "id"]


def test_no_rows_have_no_points():
    synth = deepcopy(shared())
    rows, points = synth.sample_with_points(0)
    assert len(from_native(rows)) == 0
    assert points.shape == (0, 2)
    _, points = synth.sample_with_points(
        50
    )  # columns of many values keep none, and a seed's latent point all the same
    assert not points.isna().any(axis=None)


def undeniable(synth: PlausibleDeniabilitySynthesizer, points: np.ndarray) -> int:
    """Released points whose likeliest record has not k - 1 others within the factor."""
    mechanism = synth._sampler.mechanism
    shown = points[~np.isnan(points).any(axis=1)]
    logs = np.sort(features_of(mechanism.model, shown), axis=1)
    return int((logs[:, -1] - logs[:, -K] > np.log(mechanism.test.gamma)).sum())


def features_of(model: LatentSeeds, points: np.ndarray) -> np.ndarray:
    """Log likelihood of points under every seed."""
    n = len(points)
    made = Proposals(
        candidates=np.zeros((n, 2), dtype=np.int32), seeds=np.zeros(n, dtype=np.int64),
        omega=np.zeros(n, dtype=np.int64), latents=points,
    )  # fmt: skip
    return model.log_likelihood(made, np.arange(len(model.seeds)))


class Talking(LatentSeeds):
    """Planted bug: a row made without a seed comes with the point of the seed that was drawn for it."""

    def propose(self, rows, omega, rng):
        made = super().propose(rows, omega, rng)
        return replace(made, latents=self.points(rows, rng.spawn("points")))


@pytest.mark.parametrize(("kind", "caught"), [(LatentSeeds, False), (Talking, True)])
def test_every_released_point_has_k_seeds(kind, caught):
    """Some records are far from all others, and no k seeds share their points. Seeded: no false alarm."""
    synth = with_model(fitted(random_state=1), kind, omega=Omega(0, 2))
    model = synth._sampler.model
    model._means[:20] = np.arange(20)[:, None] * 0.125 + 5.5
    model._levels[:20] = 0
    model._terms = terms(model._means, model._levels, model.model.network.floor)
    _, points = synth.sample_with_points(1_500)
    assert (undeniable(synth, points.to_numpy()) > 0) == caught


def test_points_are_on_the_grid_without_signs_of_zero():
    """Floats say nothing beyond the number: no bits below the grid, one zero. Control: -0.0."""
    synth = deepcopy(shared())
    synth._sampler.mechanism.model._means[:] = -0.0
    _, points = synth.sample_with_points(2_000)
    found = points.to_numpy()
    assert np.array_equal(found, np.rint(found / VALUE_STEP) * VALUE_STEP)
    assert (found == 0).any()
    assert not np.signbit(found[found == 0]).any()
    assert np.signbit(synth._sampler.mechanism.model._means).all()


def test_rows_without_tested_points_are_refused():
    with pytest.raises(ValueError, match='model="latent"'):
        shared("release").sample_with_points(5)
    with pytest.raises(ValueError, match='model="latent"'):
        fitted(model="independent", model_parameters=None).sample_with_points(5)
    with pytest.raises(SamplingError, match=r"call fit\(\) first"):
        PlausibleDeniabilitySynthesizer(metadata_of(DECLARED)).sample_with_points(5)


def test_transformers_of_the_user_are_refused():
    synth = PlausibleDeniabilitySynthesizer(metadata_of(DECLARED), domain={"b": DECLARED["b"]}, model=Latent(steps=1), test=DeterministicTest(k=K))  # fmt: skip
    given = to_native("table", table())
    synth.auto_assign_transformers(given)
    with pytest.warns(UserWarning, match="Replacing the default"):
        synth.update_transformers({"a": UniformEncoder()})
    synth.fit(given)
    with pytest.raises(ValueError, match="may drop rows"):
        synth.sample_with_points(5)


def test_the_ledger_says_what_holds_for_the_pair():
    for test, says in (("deterministic", "with its latent"), ("randomized", "holds for the row and")):
        text = " ".join(str(shared(test).privacy_ledger()).split())
        assert says in text
        assert "sample_with_points releases at no further cost" in text
    assert "sample_with_points" not in str(shared("release").privacy_ledger())
