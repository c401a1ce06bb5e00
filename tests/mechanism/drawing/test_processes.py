"""Mechanism 1 in several processes: the same rows for any number, each part from coins of its own."""

from io import StringIO

import numpy as np
import pandas as pd
import pytest
from release_cases import SEEDS, network
from sdv.metadata import Metadata

from sdv_plausible import DeterministicTest
from sdv_plausible.mechanism.drawing import mechanism
from sdv_plausible.mechanism.drawing.mechanism import PlausibleDeniabilityMechanism, parts_of, workers
from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.mechanism.drawing.sampler import PrefixSampler, RecordSampler
from sdv_plausible.mechanism.privacy_tests.row_tests import RandomizedTest
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.queryable import SeedRecords
from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer, RowCapExceededError


def records():
    model = network()
    model.attach_seeds(SeedRecords(SEEDS))
    mechanism = PlausibleDeniabilityMechanism(
        model=model, num_seeds=len(SEEDS), test=RandomizedTest(k=10, gamma=4.0, epsilon0=1.0),
        omega=Omega.parse(1), seed_free_share=0.5,
    )  # fmt: skip
    return RecordSampler(model=model, rng=KeyedRNG.from_seed(1), mechanism=mechanism, gives_up=False)


@pytest.mark.parametrize("rng", [KeyedRNG.from_seed(3), KeyedRNG.from_os_entropy().spawn("sampling")])
def test_rows_are_the_same_for_any_number_of_processes(monkeypatch, rng):
    """Secret coins too: a worker may draw from a named stream that was sent to it."""
    monkeypatch.setattr(mechanism, "PART_ROWS", 70)
    drawing, found = records(), []
    for number in (1, 2, 3):
        with drawing.in_processes(number):
            found.append(drawing.sample(500, {}, rng.spawn("call")))
    assert found[0].shape == (500, network().num_attributes)
    assert all(np.array_equal(found[0], other) for other in found[1:])
    assert np.array_equal(found[0], drawing.sample(500, {}, rng.spawn("call")))


def test_every_part_has_coins_of_its_own(monkeypatch):
    monkeypatch.setattr(mechanism, "PART_ROWS", 10)
    parts = parts_of(95, KeyedRNG.from_seed(1), lambda size: 2 * size)
    assert [(size, attempts) for size, _, attempts in parts] == [(10, 20)] * 9 + [(5, 10)]
    assert len({rng.bytes(16) for _, rng, _ in parts}) == 10
    assert [part[0] for part in parts_of(0, KeyedRNG.from_seed(1), lambda size: None)] == [0]


def test_processes_are_counted_from_one_and_for_row_by_row_tests():
    drawing = records()
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="processes"), workers(drawing.mechanism, wrong):
            pass
    release = PrefixSampler(model=network(), rng=KeyedRNG.from_seed(1), seeds=None)
    refused = pytest.raises(ValueError, match=r"processes \(2\) only works with row-by-row tests")
    with refused, release.in_processes(2):
        pass
    with release.in_processes(1):
        pass


def test_synthesizer_gives_the_same_file(monkeypatch):
    """Byte by byte; the cap counts rows once, and what is saved has no workers."""
    monkeypatch.setattr(mechanism, "PART_ROWS", 40)
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.integers(0, most, 400) for name, most in (("a", 3), ("b", 4), ("c", 2))})
    domain = {name: {"range_min": 0, "range_max": int(table[name].max())} for name in table}
    columns = {name: {"sdtype": "numerical"} for name in table}
    metadata = Metadata.load_from_dict({"tables": {"t": {"columns": columns}}})
    files, test = [], DeterministicTest(k=5, row_cap=300, omega=2)
    options = {"domain": domain, "epsilon": 5.0, "random_state": 4, "test": test}
    for number in (1, 2):
        synth = PlausibleDeniabilitySynthesizer(metadata, **options)
        synth.fit(table)
        out = StringIO()
        synth.sample(200, processes=number).to_csv(out, index=False)
        files.append(out.getvalue())
        assert sum(synth._charged_calls.values()) == 200
        assert synth._sampler._run is None
        with pytest.raises(RowCapExceededError):
            synth.sample(101, processes=number)
        assert synth._sampler._run is None
    assert files[0] == files[1]
