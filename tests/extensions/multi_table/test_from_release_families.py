"""From a release of related tables to a synthesizer that samples the same, and fits anew."""

import math

import pandas as pd
import pytest

from sdv_plausible import FamilyRelease, PlausibleDeniabilityMultiTableSynthesizer
from sdv_plausible.datasets import families_like, families_like_domain, families_like_metadata
from sdv_plausible.extensions.multi_table.multi_table_synthesizer import arguments_of

ROLES = {"persons": {"relation": {"head": "exactly one", "spouse": "at most one"}}}


@pytest.fixture(scope="module")
def fitted():
    synth = PlausibleDeniabilityMultiTableSynthesizer(
        families_like_metadata(), ["de_DE"], epsilon=3.0, max_children=5, roles=ROLES, neighbours="replace_one",
        domain=families_like_domain(),
    )  # fmt: skip
    synth.fit(families_like(60))
    return synth


def test_it_samples_as_the_one_that_was_fitted_and_was_told_the_same(fitted, tmp_path):
    release = FamilyRelease.load(tmp_path / "f.release", fitted.save(tmp_path / "f.release"))
    again = PlausibleDeniabilityMultiTableSynthesizer.from_release(release)
    for name, table in again.sample(40, random_state=3).items():
        for door in (release, fitted):
            pd.testing.assert_frame_equal(table, door.sample(40, random_state=3)[name])
    assert again.privacy_ledger().total() == release.ledger.total() == fitted.privacy_ledger().total()
    assert 0.99 * 3 < fitted.plan().total() <= 3
    assert "by another one (the number of families is public)" in str(release.ledger)
    assert release.ledger.neighbours.replace
    told, given = again.get_parameters(), fitted.get_parameters()
    learned = {"domain", "epsilon", "max_children"}
    assert {k: told[k] for k in {*told} - learned} == {k: given[k] for k in {*given} - learned}
    assert (given["locales"], told["max_children"]) == (["de_DE"], {"persons": 5})
    assert 0.99 * 3 <= told["epsilon"] <= 3
    assert again.column_types() == fitted.column_types()
    document = families_like_metadata()
    for name, table in again.get_metadata()["tables"].items():
        assert table["primary_key"] == document["tables"][name]["primary_key"]
        assert {*table["columns"]} == {*document["tables"][name]["columns"]}


def test_it_fits_anew_with_other_parameters(fitted):
    again = PlausibleDeniabilityMultiTableSynthesizer.from_release(fitted.release(), epsilon=1.0)
    assert 0.99 <= again.plan().total() <= 1
    again.fit(families_like(60))
    assert again.release() is not fitted.release()
    heads = again.sample(20)["persons"].query("relation == 'head'")
    assert heads["household_id"].is_unique


def test_what_was_learned_is_no_declaration_and_a_lost_claim_is_no_licence(fitted):
    assert arguments_of(fitted.release())["domain"]["households"]["income"] == {"sdtype": "numerical"}
    assert "tenure" in arguments_of(fitted.release())["domain"]["households"]
    seeded = PlausibleDeniabilityMultiTableSynthesizer(
        families_like_metadata(), domain=families_like_domain(), random_state=1
    )
    seeded.fit(families_like(60))
    assert math.isinf(seeded.privacy_ledger().total())
    assert arguments_of(seeded.release())["epsilon"] < 1.01  # shares alone give 1.0009
