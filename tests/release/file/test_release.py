"""A release as a file: the same content in and out, bytes that depend on it alone, and rows as the synthesizer makes them."""

import copy
import dataclasses
import hashlib
import json
import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from cases import each_once
from jsonschema import Draft202012Validator
from releases import CASES, COLUMNS, DECLARED, fitted, shared
from sdv.cag import Inequality
from sentences import NO_CLAIM, total

from sdv_plausible import PlausibleDeniabilitySynthesizer, Release
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.release.file import json_documents
from sdv_plausible.release.file.json_documents import load_file
from sdv_plausible.release.file.release_sampling import sample_table
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.table.codec import Codec
from tests.digests import others
from tests.schemas import RELEASE_FILE

MODELLED = list(DECLARED)


@pytest.mark.parametrize(("case", "readable"), each_once(CASES, [False, True]))
def test_what_is_read_is_what_was_written(case, readable, tmp_path):
    release = shared(case).release()
    path = tmp_path / "x.release"
    digest = release.save(path, readable=readable)
    loaded = Release.load(path, digest)
    assert loaded == release
    assert loaded.digest == digest == hashlib.sha256(release.to_bytes()).hexdigest()
    assert loaded.to_bytes(readable=True) == release.to_bytes(readable=True)
    if not readable:
        assert hashlib.sha256(path.read_bytes()).hexdigest() == digest, "as sha256sum prints it"
    assert Release.load(path, hashlib.sha256(path.read_bytes()).hexdigest().upper()) == release
    assert str(loaded) == str(release)
    assert digest in str(release)
    fitted = shared(case).privacy_ledger()
    assert (loaded.ledger.entries, loaded.ledger.total()) == (fitted.entries, fitted.total())
    assert loaded.structure() == shared(case).get_structure()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("case", "readable"), each_once(CASES, [True, False]))
def test_files_are_of_the_published_schema(case, readable):
    schema = RELEASE_FILE
    Draft202012Validator.check_schema(schema)
    document = json.loads(shared(case).release().to_bytes(readable=readable))
    Draft202012Validator(schema).validate(document)
    document["model"]["code"] = "import os"
    assert not Draft202012Validator(schema).is_valid(document)


@pytest.mark.parametrize("case", CASES)
def test_the_same_coins_give_the_rows_that_the_synthesizer_gives(case):
    """Values and types of modelled columns, to the last bit; and the types of the invented ones."""
    synth = copy.deepcopy(shared(case))  # calls are counted
    release = Release.from_bytes(synth.release().to_bytes())
    rows = synth.sample(100)
    rng = synth._sampler.rng.spawn("sample", synth._sdv_seed, synth._calls - 1, 100, (), 0)
    ours = sample_table(
        100, {}, domain=release.domain, model=release.model, seeds=release.seeds, schema=release.schema,
        rules=release.rules, locales=["en_US"], rng=rng,
    )  # fmt: skip
    pd.testing.assert_frame_equal(ours[MODELLED], rows[MODELLED], check_freq=False)
    assert ours.dtypes.astype(str).to_dict() == rows.dtypes.astype(str).to_dict()
    assert list(ours.columns) == list(rows.columns)


@pytest.mark.parametrize("case", CASES)
def test_rows_are_in_the_domain_and_keys_are_distinct(case):
    release = shared(case).release()
    rows = release.sample(40)
    assert list(rows.columns) == list(COLUMNS)
    assert rows["key"].is_unique
    assert rows["key"].str.fullmatch(r"P\d{5}").all()
    codec = Codec(release.domain)
    for name in MODELLED:
        for value in rows[name].drop_duplicates():
            if not pd.isna(value) or release.domain[name].nullable:
                codec.check_value(name, value)
    assert rows["email"].str.contains("@").all(), "Faker is installed here"
    empty = release.sample(0)
    assert list(empty.columns) == list(COLUMNS)
    assert len(empty) == 0


def test_rows_are_fresh_unless_a_state_is_given():
    release = shared().release()
    one, two = release.sample(50, random_state=5), release.sample(50, random_state=5)
    pd.testing.assert_frame_equal(one, two)
    assert not release.sample(50)[MODELLED].equals(release.sample(50)[MODELLED])
    assert not release.sample(50)["email"].equals(release.sample(50)["email"])


def test_rows_given_values():
    release = shared("paper's learner").release()
    rows = release.sample(200, given={"city": "Zürich", "age": 44})
    assert set(rows["city"]) == {"Zürich"}
    assert set(rows["age"]) == {44}
    assert release.sample(20, given={"start": None})["start"].isna().all()
    for given, words in (
        ({"city": "Genf"}, "column 'city' has no such value"),
        ({"age": 200}, "must lie between"),
        ({"age": 44.5}, r"'age'.*\(44\.5\) must be a whole number.*44 and 45"),
        ({"email": "a@b.c"}, "not a modelled column"),
    ):
        with pytest.raises(ValueError, match=words):
            release.sample(5, given=given)
    with pytest.raises(ValueError, match="num_rows"):
        release.sample(-1)
    city = release.domain.names.index("city")
    tables = [
        dataclasses.replace(t, probabilities=np.eye(4)[:1].repeat(len(t.probabilities), 0))
        if t.child == city
        else t
        for t in release.model.tables
    ]
    always_bern = dataclasses.replace(release, model=BayesianNetwork(tables))
    assert set(always_bern.sample(20)["city"]) == {"Bern"}
    with pytest.raises(ValueError, match="probability is 0"):
        always_bern.sample(5, given={"city": "Zürich"})


def test_equal_releases_have_equal_bytes_and_others_do_not():
    one, same, other = shared().release(), shared().release(), fitted().release()
    assert (one.to_bytes(), hash(one)) == (same.to_bytes(), hash(same))
    assert other != one
    assert other.digest != one.digest
    assert one != "a release"


def test_a_changed_file_is_refused_where_the_digest_is_known(tmp_path):
    path = tmp_path / "x.release"
    digest = shared().release().save(path)
    changed = json.loads(path.read_text())
    changed["ledger"]["sentence"] = "Total epsilon 0.001 for everybody."
    path.write_text(json.dumps(changed))
    assert Release.load(path).digest != digest
    with pytest.raises(ValueError, match="not the expected release"):
        Release.load(path, expect_sha256=digest)
    for other in others(digest):
        with pytest.raises(ValueError, match="not the expected release"):
            load_file(path, lambda _: SimpleNamespace(digest=digest), "a release", other, 10**9)
    with pytest.raises(FileNotFoundError):
        Release.load(tmp_path / "nothing.release")
    with pytest.raises(ValueError, match="more than 100 bytes"):
        Release.load(path, max_bytes=100)


def test_number_labels_and_key_pairs_survive():
    columns = {"0": {"sdtype": "categorical"}, "1": {"sdtype": "numerical"}, "2": {"sdtype": "id"}}
    frame = pd.DataFrame({0: ["a", "b"] * 100, 1: range(200), 2: range(200)})
    domain = {
        "0": {"range_values": ["a", "b"]}, "1": {"range_min": 0, "range_max": 300, "range_is_nullable": False},
    }  # fmt: skip
    synth = PlausibleDeniabilitySynthesizer(metadata_from_columns(columns), domain=domain)
    synth.fit(frame)
    release = Release.from_bytes(synth.release().to_bytes())
    assert list(release.sample(5).columns) == [0, 1, 2]
    again = PlausibleDeniabilitySynthesizer.from_release(release)
    assert list(again.sample(5).columns) == [0, 1, 2]
    assert again.sample(5).dtypes.to_dict() == release.sample(5).dtypes.to_dict()


@pytest.mark.parametrize("test", ["randomized", "deterministic"])
def test_records_are_not_exported(test):
    synth = fitted(test=test, k=40, delta=1e-6, least_rows=200, row_cap=100)
    with pytest.raises(ValueError, match="keeps seed records.*fit with test='release'"):
        synth.release(allow_no_claim=True)


@pytest.mark.parametrize(
    "options", [{"random_state": 1}, {"domain": None, "undeclared": "infer"}, {"epsilon": math.inf}]
)
def test_no_claim_is_exported_on_demand_alone(options):
    synth = fitted(**options)
    with pytest.raises(ValueError, match="no privacy guarantee.*allow_no_claim"):
        synth.release()
    release = Release.from_bytes(synth.release(allow_no_claim=True).to_bytes())
    assert json.loads(release.to_bytes())["ledger"]["epsilon"] is None
    assert NO_CLAIM in str(release)
    assert not release.ledger.claims_privacy
    types = [one.sample(200)[MODELLED].dtypes.astype(str).to_dict() for one in (release, synth)]
    assert types[0] == types[1]
    if "epsilon" in options:
        assert len(release.answers) == 0, "exact answers are not written down"


def test_other_peoples_code_is_not_exported():
    columns = {"low": {"sdtype": "numerical"}, "high": {"sdtype": "numerical"}}
    synth = PlausibleDeniabilitySynthesizer(metadata_from_columns(columns))
    synth.add_constraints([Inequality(low_column_name="low", high_column_name="high")])
    synth.fit(pd.DataFrame({"low": range(100), "high": range(100, 200)}))
    with pytest.raises(ValueError, match="SDV constraints and custom transformers"):
        synth.release(allow_no_claim=True)


def test_what_can_be_no_release_is_refused_before_a_row_is_looked_at():
    """Nothing fitted; a value without a form; half a letter: what is paid for must be able to leave."""
    with pytest.raises(Exception, match=r"call fit\(\) first"):
        PlausibleDeniabilitySynthesizer(metadata_from_columns(COLUMNS)).release()
    metadata = metadata_from_columns({"z": {"sdtype": "categorical"}})
    for values, words in (
        ([1j, 2j], "column 'z': .*a value of type complex cannot be written to a file"),
        (["\ud800", "b"], "lone surrogate"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            PlausibleDeniabilitySynthesizer(metadata, domain={"z": {"range_values": values}})


def test_the_file_holds_no_secret_and_no_code():
    synth = shared("seeds")
    text = synth.release().to_bytes().decode()
    key = synth._sampler.rng._key
    assert key.hex() not in text
    assert repr(key)[2:-1] not in text
    for word in ("sdv_plausible.", "pickle", "__", "lambda", "import "):
        assert word not in text, word


def test_the_readable_form_says_it_in_the_order_that_people_read():
    text = shared("paper's learner").release().to_bytes(readable=True).decode()
    assert list(json.loads(text)) == [
        "format", "ledger", "schema", "domain", "model", "seeds", "rules", "answers", "settings", "versions",
    ]  # fmt: skip
    assert total() in text.splitlines()[3]
    assert '"Zürich"' in text
    assert "base64" not in text
    assert '"data"' not in text


def test_every_section_is_needed():
    document = json.loads(shared().release().to_bytes())
    for section in document:
        less = {name: value for name, value in document.items() if name != section}
        with pytest.raises(ValueError, match="entries|format"):
            Release.from_bytes(json_documents.write(less))


def test_ledgers_hold_nothing_that_the_file_leaves_out():
    """Whoever gives the ledger a further attribute must give it a place in the file."""
    assert set(vars(shared().privacy_ledger())) == {"delta", "covers", "limit", "neighbours", "_entries"}
