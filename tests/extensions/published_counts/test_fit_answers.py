"""Answers from anywhere: the release's own give its model again, others are reconciled, none yields a claim."""

from __future__ import annotations

import json
import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sentences import NO_CLAIM

from sdv_plausible import AdaptiveNetwork, Release, StatedCounts, Uniform, fit_answers, fit_source, verify
from sdv_plausible.extensions.standards.registry import to_registry
from sdv_plausible.models.adaptive import refitting
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.rules import Forbidden, Sum

ROWS = 20_000
DOMAIN = {
    "sex": {"range_values": ["f", "m"]},
    "age": {"range_min": 0, "range_max": 49, "bins": [0, 10, 20, 30, 40, 49]},
    "job": {"range_values": ["a", "b", "c"]},
}
COLUMNS = {"sex": ("f", "m"), "age": (0, 10, 20, 30, 40), "job": ("a", "b", "c")}


def people():
    rng = np.random.default_rng(0)
    sex, age = rng.integers(0, 2, ROWS), rng.integers(0, 5, ROWS)
    job = np.where(rng.random(ROWS) < 0.7, (age // 2 + sex) % 3, rng.integers(0, 3, ROWS))
    return pd.DataFrame({"sex": np.array(["f", "m"])[sex], "age": age * 10, "job": np.array(["a", "b", "c"])[job]})  # fmt: skip


PEOPLE = people()


def stated(*columns, noise="gaussian", scale=5.0, seed=0, **more):
    """Counts of the people over some columns, each cell with noise of that law."""
    table = pd.DataFrame([*product(*(COLUMNS[name] for name in columns))], columns=[*columns])
    table = table.merge(PEOPLE.groupby([*columns]).size().rename("count").reset_index(), how="left").fillna(0)
    rng = np.random.default_rng(seed)
    drawn = {"gaussian": rng.normal, "laplace": rng.laplace}.get(noise, lambda *_: 0.0)
    table["count"] = table["count"] + drawn(0, scale, len(table))
    known = {"source": "Office"} | ({} if noise == "exact" else {"scale": scale}) | more
    return StatedCounts(table=table, noise=noise, **known)


def far(release, *columns):
    """Total variation distance of a release's rows from the people, over some columns."""
    rows = release.sample(200_000, random_state=1)
    rows = rows.assign(age=rows["age"] // 10 * 10)
    shares = [t.groupby([*columns]).size() / len(t) for t in (rows, PEOPLE)]
    return float(shares[0].sub(shares[1], fill_value=0).abs().sum() / 2)


@pytest.fixture(scope="module")
def fitted():
    release = fit_source(PEOPLE, domain=DOMAIN, epsilon=2.0)
    assert {len(a.asked.tables[0]) for a in release.answers if a.asked.kind == "counts"} >= {1, 2, 3}
    return release


@pytest.mark.parametrize(("seed", "from_file"), [(2017, False), (2017, True), (1, False)])
def test_a_releases_own_answers_give_its_model(fitted, tmp_path, seed, from_file):
    """To the last digits, from a file too. Control: a simulation of another public seed."""
    if from_file:
        fitted.save(tmp_path / "x.release")
        fitted = Release.load(tmp_path / "x.release")
    again = fit_answers(fitted, DOMAIN, model=AdaptiveNetwork(simulation_seed=seed))
    rows = fitted.model.sample(2_000, KeyedRNG.from_seed(1))
    apart = np.abs(np.exp(again.model.log_suffix(rows)) - np.exp(fitted.model.log_suffix(rows))).max()
    assert (apart < 1e-9) == (seed == 2017)
    assert again.domain == fitted.domain
    pd.testing.assert_frame_equal(again.margins(["age", "job"]), fitted.margins(["age", "job"]))
    assert "Total epsilon 2" in str(again.ledger)  # as its maker states it
    assert not again.ledger.claims_privacy


def test_overlapping_and_lacking_margins_become_one_model(tmp_path):
    """No table of one column is there, the pair of sex and job in a set alone, that of age and job twice."""
    given = [
        stated("job", "age"),
        stated("job", "age", noise="laplace", scale=9.0, seed=1),
        stated("age", "sex", "job", noise="laplace", scale=4.0, seed=2, privacy="epsilon 0.25"),
    ]
    release = fit_answers(given, DOMAIN)
    assert far(release, "age", "job") < 0.01
    assert far(release, "sex", "age", "job") < 0.02
    fewer = fit_answers([stated("sex"), given[0]], DOMAIN)  # control: not asked
    assert far(fewer, "sex", "age", "job") > 0.1
    assert len(release.sample()) == pytest.approx(ROWS, abs=200)
    release.save(tmp_path / "x.release")
    assert Release.load(tmp_path / "x.release") == release


def rolled():
    """Counts over job that are off."""
    return stated("job").table.assign(count=lambda t: np.roll(t["count"], 1))


def test_weights_are_those_of_the_noise(monkeypatch):
    """A table that is off by half counts for little where it says so. Planted: equal weights are seen."""
    wrong = StatedCounts(table=rolled(), scale=300.0)
    given = [stated("job", scale=1.0), wrong, stated("sex"), stated("age")]
    assert far(fit_answers(given, DOMAIN), "job") < 0.01
    equal = lambda a, b: refitting.replace(a, counts=(a.counts + b.counts) / 2)  # noqa: E731
    monkeypatch.setattr(refitting, "_mean", equal)
    assert far(fit_answers(given, DOMAIN), "job") > 0.02


def test_an_answer_given_twice_counts_once(fitted):
    """Also one of a release. Control: another draw of the same noise is another answer."""
    twice = [StatedCounts(table=rolled(), scale=10.0) for _ in range(4)]
    given = [stated("sex"), stated("age"), stated("job", scale=10.0)]
    once = fit_answers([*given, twice[0]], DOMAIN).model
    rows = once.sample(50, KeyedRNG.from_seed(1))
    again = fit_answers([*given, *twice], DOMAIN).model
    np.testing.assert_allclose(again.log_suffix(rows), once.log_suffix(rows))
    both = fit_answers([fitted, fitted], DOMAIN)
    assert len([*both.answers]) == len([*fit_answers(fitted, DOMAIN).answers])
    assert len([*fit_answers([*given, stated("job", scale=10.0, seed=9)], DOMAIN).answers]) == 4


def test_totals_that_contradict_are_told_and_scaled():
    half = stated("job").table.assign(count=lambda t: t["count"] / 2)
    given = [StatedCounts(table=half, scale=5.0), stated("sex", "age"), stated("age", "job")]
    with pytest.warns(UserWarning, match=r"totals differ .* over job"):
        release = fit_answers(given, DOMAIN)
    assert far(release, "job") < 0.01
    assert release.margins("job")["estimate"].sum() == pytest.approx(ROWS / 2, rel=0.01)  # as it was stated


def test_exact_counts_are_in_intervals_and_yield_no_claim():
    release = fit_answers([stated("sex", noise="exact"), stated("age"), stated("job", "age")], DOMAIN)
    found = release.margins("sex")
    truth = PEOPLE["sex"].value_counts()[["f", "m"]].to_numpy()
    for end in ("estimate", "lower", "upper"):
        np.testing.assert_array_equal(found[end], truth)
    assert (found["proportion_lower"] < 0.5).all()
    assert (found["proportion_upper"] > 0.49).all()
    assert release.ledger.sentence().startswith(NO_CLAIM)
    assert "privacy is stated by their makers" in release.ledger.sentence()
    assert "Office states no privacy for counts over sex (published as exact)" in str(release.ledger)
    with pytest.raises(ValueError, match="claim"):
        to_registry(release.ledger, name="x")


def test_verify_makes_the_model_of_answers_of_others_anew(fitted, tmp_path):
    """And refuses other answers, another model, a claim, and a published count that is another."""
    release = fit_answers([fitted, stated("sex"), stated("age", "job", noise="exact")], DOMAIN)
    release.save(tmp_path / "x")
    found = verify(tmp_path / "x")
    assert found.passed, str(found)

    def claim(document):
        (entry,) = [e for e in document["ledger"]["entries"] if e["losses"]]
        entry["losses"] = [{"type": "GaussianLoss", "sensitivity_over_sigma": 0.1, "count": 1}]
        document["ledger"]["epsilon"] = 1.0

    def law(document):
        table = document["model"]["tables"][0]["probabilities"]
        table["values"] = [[*reversed(row)] for row in table["values"]]

    def count(document):
        document["answers"]["asked"][-1]["values"]["values"][0][0] += 500

    def no_learner(document):
        del document["settings"]["model"]

    of_model = "model from its answers"
    for change, about, state in (
        (claim, "seeds", "refused"), (law, of_model, "refused"), (count, of_model, "refused"),
        (no_learner, of_model, "not checkable"),
    ):  # fmt: skip
        document = json.loads(release.to_bytes(readable=True))
        change(document)
        (tmp_path / "x").write_text(json.dumps(document))
        changed = verify(tmp_path / "x")
        assert (about, state) in {(one.about, one.state) for one in changed.verdicts}, (change, str(changed))
        assert not changed.passed


def test_even_gaussian_answers_with_a_statement_yield_none():
    release = fit_answers([stated(name, privacy="rho 0.02") for name in COLUMNS], DOMAIN)
    assert not release.ledger.claims_privacy
    assert "Office states rho 0.02 for counts over job (gaussian noise of scale 5)" in str(release.ledger)
    with pytest.warns(UserWarning, match="3 of 3 pairs"):
        assert len(release.sample_multiple(2, 10)) == 2
    with pytest.raises(ValueError, match="sample_multiple needs answers with Gaussian noise"):
        fit_answers([stated(name, noise="laplace") for name in COLUMNS], DOMAIN).sample_multiple(2, 10)


def test_a_releases_answers_go_with_others(fitted):
    """A column that the release lacks, and an exact count of one that it has."""
    domain = {"town": {"range_values": ["u", "v"]}, **DOMAIN}
    counts = pd.DataFrame({"town": ["u", "v"], "count": [ROWS / 4, 3 * ROWS / 4]})
    town = StatedCounts(table=counts, scale=3.0)
    release = fit_answers([fitted, stated("sex", noise="exact"), town], domain)
    assert far(release, "sex", "age", "job") < 0.06
    assert (release.sample(10_000)["town"] == "u").mean() == pytest.approx(0.25, abs=0.03)
    with pytest.raises(ValueError, match="as the release does"):
        fit_answers(fitted, {**DOMAIN, "sex": {"range_values": ["m", "f"]}})


def test_scales_of_each_count_are_in_the_file_and_checked(tmp_path):
    """A file that says fewer, or none that can be, is refused."""
    table = stated("job").table.assign(error=[3.0, 5.0, 9.5])
    release = fit_answers([StatedCounts(table=table, scale="error"), stated("sex"), stated("age")], DOMAIN)
    release.save(tmp_path / "x.release", readable=True)
    again = Release.load(tmp_path / "x.release")
    pd.testing.assert_frame_equal(again.margins("job"), release.margins("job"))
    assert (again.margins("job").eval("upper - lower") == [12, 20, 38]).all()
    text = (tmp_path / "x.release").read_text()
    for wrong in ("", "-5.0,", '"5.0",'):
        damaged = re.sub(r'("scales":\s*\[\s*3\.0,\s*)5\.0,', lambda found, to=wrong: found[1] + to, text)
        assert damaged != text
        with pytest.raises(ValueError, match=r"as scales a number from 1e-100 to 1e\+100 for each value"):
            Release.from_bytes(damaged.encode())


def test_rules_hold_and_impossible_cells_may_be_lacking():
    table = stated("job", "sex").table.query("not (sex == 'm' and job == 'a')")
    rules = [Forbidden({"sex": "m", "job": "a"}), Sum("two", ["age", "one"])]
    domain = {**DOMAIN, "one": {"range_min": 1, "range_max": 1}, "two": {"range_min": 0, "range_max": 50}}
    one = StatedCounts(table=pd.DataFrame({"one": [1], "count": [ROWS]}), scale=1.0)
    with pytest.warns(UserWarning, match="totals"):  # those cells were full
        release = fit_answers([StatedCounts(table=table, scale=5.0), stated("age"), one], domain, rules=rules)
    rows = release.sample(2_000)
    assert not ((rows["sex"] == "m") & (rows["job"] == "a")).any()
    assert (rows["two"] == rows["age"] + 1).all()
    with pytest.raises(ValueError, match="lack 1 of 6 cells, first job a, sex m: give each"):
        fit_answers([StatedCounts(table=table, scale=5.0), stated("age")], DOMAIN)


def test_what_cannot_be_is_refused_in_one_line():
    wrong_name = StatedCounts(table=pd.DataFrame({"sec": ["f"], "count": [1]}), scale=1.0)
    for answers, domain, words in (
        ([], DOMAIN, "answers .* must be StatedCounts, a Release, or a list"),
        ([PEOPLE], DOMAIN, "must hold StatedCounts and Releases alone"),
        ([wrong_name], DOMAIN, "did you mean 'sex'"),
        ([stated("sex", "age")], DOMAIN, "say nothing of column 'job': give counts over it"),
        ([stated("sex")], {"sex": {"sdtype": "categorical"}}, "fix the values of sex"),
        ([stated("sex")], {"key": {"sdtype": "id"}}, "declares no column that is modelled"),
    ):
        with pytest.raises(ValueError, match=words) as told:
            fit_answers(answers, domain)
        assert "\n" not in str(told.value)
    with pytest.raises(ValueError, match=r"^[^\n]*learns from answers alone[^\n]*\Z"):
        fit_answers([stated("sex")], DOMAIN, model=Uniform())
