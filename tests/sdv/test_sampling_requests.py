"""What is asked of a fitted synthesizer: one clear line where it cannot be, before anything is drawn; and nothing is lost."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import spies
from sdv.sampling import Condition, DataFrameCondition
from sentences import NO_CLAIM

from sdv_plausible import Attribute, PaperNetwork, PlausibleDeniabilitySynthesizer
from sdv_plausible.models import learner_checks as models
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.sdv.sdv_versions import TAKES_DICT

COLUMNS = {
    "sex": {"sdtype": "categorical"}, "age": {"sdtype": "numerical"}, "member": {"sdtype": "boolean"},
    "start": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"}, "email": {"sdtype": "email", "pii": True},
}  # fmt: skip
DECLARED = {
    "sex": {"range_values": ["f", "m"]},
    "age": {"range_min": 0, "range_max": 110},
    "member": {},
    "start": {"range_min": "2020-01-01", "range_max": "2020-12-31"},
}


def people(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    sex, age, member = rng.choice(["f", "m"], n), rng.integers(0, 110, n), rng.random(n) < 0.5
    return pd.DataFrame({"sex": sex, "age": age, "member": member, "start": "2020-01-03", "email": "a@b.ch"})


def fit(nullable: bool = True, epsilon: float = 1.0) -> PlausibleDeniabilitySynthesizer:
    domain = {name: {**spec, "range_is_nullable": nullable} for name, spec in DECLARED.items()}
    synth = PlausibleDeniabilitySynthesizer(metadata_from_columns(COLUMNS), domain=domain, epsilon=epsilon)
    synth.fit(people())
    return synth


@pytest.fixture(scope="module")
def fitted():
    return fit()


@pytest.fixture(scope="module")
def exact():
    """Without noise: what does not occur, missing cells for one, has probability 0."""
    return fit(epsilon=math.inf)


@pytest.fixture(scope="module")
def never_missing():
    return fit(nullable=False)


def refused(call, words):
    """The call is refused with these words, in one line."""
    with pytest.raises(ValueError, match=".") as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_batches_and_tries(fitted):
    calls = [
        lambda **more: fitted.sample(5, **more),
        lambda **more: fitted.sample(0, **more),
        lambda **more: fitted.sample_from_conditions([Condition({"sex": "f"}, num_rows=2)], **more),
        lambda **more: fitted.sample_remaining_columns(pd.DataFrame({"sex": ["f"]}), **more),
    ]
    for name, value, call in itertools.product(
        ("batch_size", "max_tries_per_batch"), (-1, 0, "a", 1.5, True), calls
    ):
        refused(lambda: call(**{name: value}), f"{name} ({value!r}) must be a whole number of at least 1")  # noqa: B023
    assert len(fitted.sample(5, batch_size=2)) == 5
    assert len(fitted.sample(5, batch_size=None)) == 5


def test_other_arguments(fitted, tmp_path):
    with pytest.raises(ValueError, match="batchsize"):
        fitted.sample(5, batchsize=2)
    (tmp_path / "file").write_text("precious")
    wrong = {"output_folder_path": tmp_path / "file"} if TAKES_DICT else {"output_file_path": tmp_path}
    with pytest.raises(ValueError, match="must be a f.*; choose another name"):
        fitted.sample(5, **wrong)


@pytest.mark.parametrize("of", ["exact", "never_missing"])
def test_missing_as_a_condition(request, of):
    """No cell is missing, so that the model gives it no probability at all, or no value is: rows come all the same."""
    synth = request.getfixturevalue(of)
    for column, value in itertools.product(DECLARED, (None, np.nan, pd.NA)):
        known = pd.DataFrame({column: [value] * 3}, dtype=object)
        for rows in (
            synth.sample_from_conditions([Condition({column: value}, num_rows=3)]),
            synth.sample_from_conditions([DataFrameCondition(known)]),
            synth.sample_remaining_columns(known),
        ):
            assert len(rows) == 3
            assert rows[column].isna().all()
            assert rows.drop(columns=column).notna().all(axis=None)


def test_missing_beside_known_values(exact):
    rows = exact.sample_from_conditions([Condition({"sex": None, "age": 44}, num_rows=20)])
    assert rows["sex"].isna().all()
    assert (rows["age"] == 44).all()


def test_unknown_columns_and_values(fitted):
    for name, value, words in (
        ("nope", 1, "'nope'"),
        ("sex", "x", "column 'sex' has no such value in its domain"),
        ("age", 111, "column 'age': a given value must lie between 0 and 110"),
        ("age", "old", "column 'age' has no such value"),
        ("member", "x", "column 'member' has no such value"),
        ("start", "1999-01-01", "column 'start': a given value must lie between"),
        ("start", "soon", "column 'start' has no such value"),
    ):
        condition, known = [Condition({name: value}, num_rows=3)], pd.DataFrame({name: [value]})
        refused(lambda: fitted.sample_from_conditions(condition), words)  # noqa: B023
        refused(lambda: fitted.sample_remaining_columns(known), words)  # noqa: B023


def test_conditions_that_are_none(fitted):
    for conditions, words in (
        (5, "conditions (int) must be a list"),
        (["sex"], "str must be an sdv.sampling.Condition"),
        ([Condition({}, num_rows=2)], "a Condition has no column"),
        ([Condition({"sex": ["f"]}, num_rows=1)], "column 'sex': a condition (list) must be a single value"),
        ([DataFrameCondition(pd.DataFrame())], "a DataFrameCondition has no column"),
    ):
        refused(lambda: fitted.sample_from_conditions(conditions), words)  # noqa: B023


def test_known_columns_that_are_none(fitted):
    for known, words in (
        (5, "known_columns (int) must be a pandas DataFrame"),
        (pd.DataFrame(), "known_columns has no column"),
        (pd.DataFrame({"sex": []}), "known_columns is empty"),
        (pd.DataFrame([["f", "m"]], columns=["sex", "sex"]), "several columns named ['sex']"),
        (pd.DataFrame({"sex": [["f"]]}), "column 'sex': a condition (list) must be a single value"),
    ):
        refused(lambda: fitted.sample_remaining_columns(known), words)  # noqa: B023


def test_column_names(fitted):
    before = str(fitted.privacy_ledger())
    preprocess = PlausibleDeniabilitySynthesizer(metadata_from_columns(COLUMNS)).preprocess
    for names, words in (
        (["sex", "sex"], "several columns named ['sex']"),
        ([0, "0"], "several columns named ['0'] (0 and '0' are the same name)"),
        (["", "sex"], "the name of column 1 ('') must be text or a whole number below 2^63, and not empty"),
        (["sex", None], "the name of column 2 (None)"),
        (["sex", ("a", "b")], "the name of column 2 (('a', 'b'))"),
        (["sex", 1.5], "the name of column 2 (1.5)"),
        (["sex", True], "the name of column 2 (True)"),
    ):
        table = pd.DataFrame([["f", "m"]] * 5)
        table.columns = pd.Index(names, dtype=object, tupleize_cols=False)
        refused(lambda: fitted.fit(table), words)  # noqa: B023
        refused(lambda: preprocess(table), words)  # noqa: B023
    assert str(fitted.privacy_ledger()) == before  # the earlier fit is there
    assert len(fitted.sample(2)) == 2
    nameless = metadata_from_columns({"": {"sdtype": "categorical"}})
    words = "metadata: the name of column 1 ('') must not be empty"
    refused(lambda: PlausibleDeniabilitySynthesizer(nameless), words)


def wide(number: int) -> dict:
    return {f"c{i}": {"sdtype": "categorical"} for i in range(number)}


def test_more_columns_than_pairs_can_be_looked_at():
    metadata = metadata_from_columns(wide(models.MOST_COLUMNS + 1))
    words = r"1,001 modelled columns have 500,500 pairs.*at most 1,000 columns \(MOST_COLUMNS\).*model=\"independent\""
    for model in ("bayesian_network", PaperNetwork()):
        with pytest.raises(ValueError, match=words):
            PlausibleDeniabilitySynthesizer(metadata, model=model)
    PlausibleDeniabilitySynthesizer(metadata, model="independent")
    with pytest.warns(UserWarning, match="fitting takes minutes"):
        PlausibleDeniabilitySynthesizer(metadata_from_columns(wide(models.MANY_COLUMNS + 1)))


def test_thousands_of_columns_take_no_pairs_with_the_independent_model():
    columns = wide(2_000)
    domain = {name: Attribute(name=name, kind="categorical", values=("a", "b")) for name in columns}
    synth = PlausibleDeniabilitySynthesizer(
        metadata_from_columns(columns), domain=domain, model="independent"
    )
    with spies.watched() as asked:
        synth.fit(pd.DataFrame(np.full((20, 2_000), "a"), columns=list(columns)))
    assert {len(one.parameters[0]) for one in asked if one.kind == "CountTable"} == {1}
    assert synth.sample(2).shape == (2, 2_000)


def test_detected_types_end_the_claim_and_name_the_way_out():
    table, metadata = people(), metadata_from_columns(COLUMNS)
    claims = {}
    for types in ("declared", "detected"):
        synth = PlausibleDeniabilitySynthesizer(metadata, domain=DECLARED, types=types)
        planned = str(synth.plan())
        synth.fit(table)
        claims[types] = synth.privacy_ledger().claims_privacy
        assert (NO_CLAIM in planned) == (types == "detected")
        assert synth.get_parameters()["types"] == types
    assert claims == {"declared": True, "detected": False}
    assert 'types="declared"' in synth.privacy_ledger().sentence()
    assert "declare every sdtype" in synth.privacy_ledger().sentence()
    with pytest.raises(ValueError, match=r"types \('guessed'\) must be"):
        PlausibleDeniabilitySynthesizer(metadata, types="guessed")


def test_the_headline_says_what_counts_as_public():
    ledger = fit().privacy_ledger()
    public = "Column names, semantic types, date formats and declarations count as public."
    assert ledger.sentence().endswith(public)


def test_a_child_that_multiprocessing_did_not_start_knows_its_parent():
    """As a server's forked worker, to which an object can have come too. Control: it is no parent of its own."""
    asked = (
        "import os; from sdv_plausible.sdv.sampling_requests import parents; print(os.getpid(), *parents())"
    )
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout
    child, *its_parents = map(int, told.split())
    assert os.getpid() in its_parents
    assert child not in its_parents


@pytest.mark.parametrize(("pattern", "warns"), [("[a-z]{6,62}", False), ("[ab]", True)])
def test_ids_are_counted_as_too_few_only_where_they_are(pattern, warns, recwarn):
    """RDT counts the texts of a long format modulo 2^63, and warned that there were a negative number of them."""
    columns = {"sex": {"sdtype": "categorical"}, "name": {"sdtype": "id", "regex_format": pattern}}
    synth = PlausibleDeniabilitySynthesizer(
        metadata_from_columns(columns), domain={"sex": {"range_values": ["f", "m"]}}, epsilon=math.inf
    )
    synth.fit(people()[["sex"]].assign(name=[f"x{i}" for i in range(300)]))
    recwarn.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert len(synth.sample(5)) == 5
    assert any("can only generate" in str(one.message) for one in recwarn) == warns
