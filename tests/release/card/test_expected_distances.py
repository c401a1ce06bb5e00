"""Expected distances: near the true ones on a simulated table, larger with more noise, and of the answers alone."""

import dataclasses
import itertools
import warnings

import numpy as np
import pytest

from sdv_plausible import PlausibleDeniabilitySynthesizer, Release, metadata_of
from sdv_plausible.datasets import census_like, census_like_metadata
from sdv_plausible.models.forecast import SHOWN_BINS
from sdv_plausible.release.card.expected_distances import _bins, _sampling_distance, expected_distances

COLUMNS = ("age", "education", "race", "sex", "income_class")
ROWS = 4_000


def fitted(epsilon: float) -> Release:
    domain = {name: census_like_metadata()[name] for name in COLUMNS}
    synth = PlausibleDeniabilitySynthesizer(metadata_of(domain), epsilon=epsilon, domain=domain)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        synth.fit(census_like(ROWS)[list(COLUMNS)])
    return synth.release()


@pytest.fixture(scope="module")
def release() -> Release:
    return fitted(1.0)


def mean(distances: dict) -> float:
    return float(np.mean([*distances.values()]))


def distance(real, made) -> float:
    """Total variation distance of two tables of shares."""
    shares = [frame.value_counts(normalize=True) for frame in (real, made)]
    return float(shares[0].sub(shares[1], fill_value=0).abs().sum() / 2)


def test_they_are_near_the_true_distances(release):
    """On average. Twelve fits gave 0.63 to 0.86 for columns and 0.96 to 1.12 for pairs: a false alarm is 1e-4."""
    real, made = census_like(ROWS)[list(COLUMNS)], release.sample(100_000)
    edges = np.unique(np.quantile(real["age"], np.linspace(0, 1, SHOWN_BINS + 1)[1:-1]))
    for rows in (real, made):
        rows["age"] = np.searchsorted(edges, rows["age"], side="right")
    expected = expected_distances(release.answers, release.domain)
    assert list(expected.columns) == list(COLUMNS)
    assert list(expected.pairs) == list(itertools.combinations(COLUMNS, 2))
    for of in (expected.columns, expected.pairs):
        true = {names: distance(real[np.atleast_1d(names)], made[np.atleast_1d(names)]) for names in of}
        assert 0.4 <= mean(true) / mean(of) <= 1.5, of


def test_more_noise_gives_larger_ones(release):
    little, much = (expected_distances(r.answers, r.domain) for r in (fitted(10.0), release))
    assert mean(little.columns) < mean(much.columns) / 3
    assert mean(little.pairs) < mean(much.pairs)


def test_the_release_file_has_all_that_they_need(release):
    """The same after reading it again: they are a function of the file, with a public seed."""
    read = Release.from_bytes(release.to_bytes())
    again = expected_distances(read.answers, read.domain)
    assert again == expected_distances(release.answers, release.domain)


def test_dependence_that_no_pair_of_counts_has_is_in_the_scores(release):
    """Planted: a larger score of a pair that was not measured."""
    counted = {frozenset(a.asked.tables[0][i].column for i in (0, 1)) for a in release.answers
               if a.asked.kind == "counts" and len(a.asked.tables[0]) == 2}  # fmt: skip
    scores = next(a for a in release.answers if a.asked.kind == "distances")
    i, pair = next(
        (i, {axis.column for axis in axes}) for i, axes in enumerate(scores.asked.tables)
        if {axis.column for axis in axes} not in counted
    )  # fmt: skip
    more = scores.values.copy()
    more[i] += ROWS  # a distance of one half
    planted = [dataclasses.replace(a, values=more) if a is scores else a for a in release.answers]
    name = tuple(release.domain.names[j] for j in sorted(pair))
    before = expected_distances(release.answers, release.domain).pairs
    after = expected_distances(planted, release.domain).pairs
    assert after[name] > before[name] + 0.3
    assert {e: d for e, d in after.items() if e != name} == {e: d for e, d in before.items() if e != name}


def test_values_outside_a_learned_domain_count(monkeypatch, release):
    from sdv_plausible.release.card import expected_distances as module

    mass = type("Mass", (), {"column": "race", "replaced": 0.25})
    before = expected_distances(release.answers, release.domain).columns
    monkeypatch.setattr(module, "estimate_lost_mass", lambda *_: [mass])
    after = expected_distances(release.answers, release.domain).columns
    assert after["race"] == pytest.approx(before["race"] + 0.25)
    assert after["age"] == before["age"]


def test_no_counts_give_no_distances(release):
    empty = expected_distances((), release.domain)
    assert (empty.columns, empty.pairs) == ({}, {})


def test_bins_have_about_equal_shares_and_other_codes_are_alone(release):
    """Few codes are their own bins. Control: one heavy code gets a bin."""
    domain = release.domain
    uniform = np.full(domain["age"].cardinality, 1 / domain["age"].cardinality)
    starts = _bins(domain["age"], uniform)
    assert len(starts) == SHOWN_BINS
    assert np.add.reduceat(uniform, starts).max() < 1.3 / SHOWN_BINS
    assert _bins(domain["race"], np.full(5, 0.2)).tolist() == [0, 1, 2, 3, 4]


def test_the_sampling_distance_is_that_of_drawn_rows():
    rng, rows = np.random.default_rng(0), 500
    p, q = np.array([0.5, 0.3, 0.15, 0.05]), np.array([0.9, 0.06, 0.04])
    cells = np.outer(p, q).ravel()
    drawn = np.abs(rng.multinomial(rows, cells, 2_000) / rows - cells).sum(1).mean() / 2
    assert _sampling_distance(p, q, rows) == pytest.approx(drawn, rel=0.15)
