"""Several tables: free of cost, varying as the noise has them vary, and refused where they cannot be drawn."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from releases import shared

from sdv_plausible import PlausibleDeniabilitySynthesizer, Release, combine, metadata_of
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.privacy.noise import mechanisms
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.release.multiple_synthesis import refitted_models
from tests.flat import values

DECLARED = {"a": {"range_values": ["x", "y", "z"]}, "b": {"range_min": 0, "range_max": 19}}


def table(rows: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    b = rng.integers(0, 20, rows)
    return pd.DataFrame({"a": np.array(["x", "y", "z"])[b // 7], "b": b})


def fitted(**parameters) -> PlausibleDeniabilitySynthesizer:
    synth = PlausibleDeniabilitySynthesizer(metadata_of(DECLARED), domain=DECLARED, **values(**parameters))
    synth.fit(table())
    return synth


@pytest.fixture(scope="module")
def synth() -> PlausibleDeniabilitySynthesizer:
    return fitted()


def test_nothing_is_charged(synth):
    before = str(synth.privacy_ledger()), synth._sampler.answers
    synth.margins("a")
    synth.margins(["a", "b"])
    found = synth.sample_multiple(2, 50)
    assert (str(synth.privacy_ledger()), synth._sampler.answers) == before
    assert [list(t.columns) for t in found] == [["a", "b"]] * 2
    assert len(found[0]) == 50


def test_tables_vary_more_than_samples_of_one_model(synth):
    """The noise moves them: of the count of "x" its deviation is known; chance of less than half of it below 1e-6."""
    answer = next(a for a in synth._sampler.answers if a.asked.kind == "counts" and a.values.shape == (3,))
    found = [(t["a"] == "x").mean() for t in synth.sample_multiple(25, 30_000, about="table")]
    assert np.std(found) > 0.3 * answer.scale / 3000
    assert len(synth.sample_multiple(2)[0]) == pytest.approx(3000, abs=600)


def test_the_population_varies_more_than_the_table():
    """At a large epsilon the noise is small, and the rows' own chance is left."""
    synth = fitted(epsilon=200.0)
    spread = {}
    for about in ("table", "population"):
        found = [(t["a"] == "x").mean() for t in synth.sample_multiple(12, 100_000, about=about)]
        spread[about] = np.sqrt(combine(found).variance)
    assert spread["table"] < 0.006 < 0.5 * 0.0087 * 1.5 < 1.5 * spread["population"]


def test_release_files_and_saved_synthesizers_do_the_same(synth, tmp_path):
    release = Release.from_bytes(synth.release().to_bytes())
    synth.save(tmp_path / "saved.pkl")
    for door in (release, PlausibleDeniabilitySynthesizer.load(tmp_path / "saved.pkl")):
        pd.testing.assert_frame_equal(door.margins("b"), synth.margins("b"))
        assert [(len(one), list(one)) for one in door.sample_multiple(2, 10)] == [(10, ["a", "b"])] * 2
    first, again = (release.sample_multiple(2, 40, random_state=3) for _ in range(2))
    pd.testing.assert_frame_equal(first[1], again[1])
    assert not first[0].equals(first[1])


def test_row_by_row_tests_use_up_no_rows():
    """Their rows start from seeds and cost; these come from models alone."""
    synth = fitted(test="randomized", row_cap=20, delta=1e-5, k=30, least_rows=2000)
    assert len(synth.sample_multiple(2, 100)[0]) == 100
    assert synth.margins("a")["basis"].eq("measured").all()
    assert len(synth.sample(20)) == 20


def test_noise_is_drawn_in_the_noise_room(synth):
    counts = sum(a.asked.kind == "counts" for a in synth._sampler.answers)
    with mechanisms.record_calls() as calls:
        synth.sample_multiple(3, 5)
    assert len(calls) == 3 * counts
    assert {c.source for c in calls} == {"opendp"}


def test_models_that_cannot_be_learned_again_and_other_arguments(synth):
    for case in ("uniform", "paper's learner", "independent, split"):
        with pytest.raises(ValueError, match="learned again"):
            shared(case).sample_multiple(2, 5)
    for arguments, said in (({"num_tables": 1}, "num_tables"), ({"num_tables": 2, "about": "rows"}, "about")):
        with pytest.raises(ValueError, match=said):
            synth.sample_multiple(num_rows=5, **arguments)


def test_answers_about_some_of_the_rows_are_not_drawn_again(synth):
    """As of a learner of one's own that splits the rows. Control: the same answers, of all rows."""
    model, answers, domain = synth._sampler.model, synth._sampler.answers, synth._codec.domain

    def drawn(of):
        return refitted_models(
            AdaptiveNetwork(), model, of, domain, 2, "table", KeyedRNG.from_seed(0), rows_per_unit=1, is_public=False,
        )  # fmt: skip

    assert len(drawn(answers)) == 2
    with pytest.raises(ValueError, match="no split"):
        drawn([replace(answer, rows="learning") for answer in answers])


@pytest.mark.parametrize(("workload", "told"), [([], 1), ([["a", "b"]], 0), ([["a", "c"]], 0)])
def test_pairs_that_were_not_measured_are_told_of(workload, told):
    """Of those of the workload where there is one, else of all; from the released answers alone."""
    declared = {**DECLARED, "c": {"range_values": [0, 1]}}
    rows = table().assign(c=[0, 1] * 1500)
    model = AdaptiveNetwork(workload=workload)
    synth = PlausibleDeniabilitySynthesizer(
        metadata_of(declared), domain=declared, model=model, random_state=1, epsilon=2.0
    )
    synth.fit(rows)
    for door in (synth, Release.from_bytes(synth.release(allow_no_claim=True).to_bytes())):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            door.sample_multiple(2, 10)
        said = [str(w.message) for w in found if "were not measured" in str(w.message)]
        assert len(said) == told
        for text in said:
            assert text.startswith("2 of 3 pairs of columns were not measured, such as 'a' with 'c'")
            assert "AdaptiveNetwork(workload=[[...]])" in text
        assert not found or found[0].filename == __file__
