"""With undeclared="private" a fit makes a claim with nothing declared, and SDV's own machinery carries no row past it."""

from __future__ import annotations

import math
import sys
import warnings
from copy import copy

import cloudpickle
import numpy as np
import pandas as pd
import pytest
from rdt.transformers import AnonymizedFaker, FloatFormatter, GaussianNormalizer
from sdv.cag import FixedCombinations
from sdv.errors import RefitWarning, SamplingError
from sentences import notes_of

from sdv_plausible import Budget, PlausibleDeniabilitySynthesizer, Release, fit_source, metadata_of
from sdv_plausible.privacy.noise.opendp import check_opendp
from sdv_plausible.sdv import sdv_versions as sdv_compat
from sdv_plausible.sdv.metadata import detect_metadata, metadata_from_columns
from sdv_plausible.table.learned import private_domain
from tests.flat import values

pytestmark = pytest.mark.filterwarnings("ignore:We strongly recommend saving the metadata:UserWarning")

COLUMNS = {
    "id": {"sdtype": "id", "regex_format": "P[0-9]{5}"}, "email": {"sdtype": "email", "pii": True},
    "ticket": {"sdtype": "id"}, "city": {"sdtype": "categorical"}, "member": {"sdtype": "boolean"},
    "age": {"sdtype": "numerical"}, "children": {"sdtype": "numerical"}, "income": {"sdtype": "numerical"},
    "start": {"sdtype": "datetime"}, "day": {"sdtype": "datetime", "datetime_format": "%d.%m.%Y"},
    "grade": {"sdtype": "categorical"},
}  # fmt: skip


def make(columns=None, **options):
    metadata = metadata_from_columns(columns or COLUMNS)
    return PlausibleDeniabilitySynthesizer(metadata, **values(**{"undeclared": "private", **options}))


def fitted(table, columns=None, **options):
    synth = make(columns, **options)
    synth.fit(table)
    return synth


def test_claim_with_nothing_declared(mixed_table):
    synth = make(epsilon=2.0, delta=1e-6)
    planned = synth.plan(table_rows=len(mixed_table))
    assert any("are not learned" in w for w in planned.warnings)
    synth.fit(mixed_table)
    ledger = synth.privacy_ledger()
    assert ledger.claims_privacy
    assert 1.9 < ledger.total() <= 2.0  # domain and model together, all of the budget
    said = ledger.to_dict()
    (noise,) = (text for text in said["said"] if "rows are not learned" in text)
    said["said"].remove(noise)  # at the noisy number of rows, after the fit alone
    assert planned.ledger.to_dict() == said
    rows = synth.sample(300)
    assert list(rows.columns) == list(mixed_table.columns)
    assert len(rows) == 300


def test_types_on_a_larger_table(mixed_table):
    table = pd.concat([mixed_table] * 30, ignore_index=True).drop(columns=["id", "email", "ticket"])
    columns = {n: COLUMNS[n] for n in table}
    rows = fitted(table, columns, epsilon=2.0, delta=1e-6, random_state=4).sample(2000)
    taken = {"grade": "object", "children": "float64"}  # storage is the rows', and not written
    for name in table:
        assert rows[name].dtype == taken.get(name, table[name].dtype), name
    assert set(rows["grade"]) == {"A", "B", "C"}  # the one never used is not known to be there
    assert set(rows["city"].dropna()) == {"Bern", "Basel", "Chur"}
    assert 0.02 < rows["city"].isna().mean() < 0.1
    assert rows["age"].between(16, 127).all()
    assert (rows["income"].dropna() == rows["income"].dropna().round(2)).all()
    assert pd.to_datetime(rows["day"], format="%d.%m.%Y").dt.year.isin([2020, 2021, 2022, 2023]).mean() > 0.98


def test_declared_and_private_columns_together(mixed_table):
    columns = {"age": COLUMNS["age"], "city": COLUMNS["city"]}
    table = mixed_table[["age", "city"]]
    synth = fitted(table, columns, domain={"age": {"range_min": 0, "range_max": 110}}, delta=1e-6)
    found = {a.name: a.provenance for a in synth._codec.domain}
    assert found == {"age": "declared", "city": "private"}
    assert synth.privacy_ledger().total() <= 1.0


@pytest.mark.skipif(not sdv_compat.TAKES_DICT, reason="SDV 1 has no declared ranges in its metadata")
def test_missing_values_ruled_out_in_the_users_metadata():
    table = pd.DataFrame({"x": ["a"] * 2000 + [None] * 2000})
    columns = {"x": {"sdtype": "categorical", "range_is_nullable": False}}
    for domain, nullable in ((None, True), ("written", False)):
        assert fitted(table, columns, domain=domain, epsilon=5.0)._codec.domain["x"].nullable is nullable


def test_without_noise_nothing_is_private(mixed_table, tmp_path):
    synth = fitted(mixed_table, epsilon=np.inf)
    assert not synth.privacy_ledger().claims_privacy
    entry = next(e for e in synth.privacy_ledger().entries if e.name == "domain")
    assert (entry.status, entry.note) == ("no claim", private_domain.NO_NOISE)
    plan = make(epsilon=np.inf).plan()
    assert not plan.ledger.claims_privacy
    assert not plan.warnings
    synth.release(allow_no_claim=True).save(tmp_path / "people.release")
    release = Release.load(tmp_path / "people.release")
    assert len(release.sample(20)) == 20
    assert not release.ledger.claims_privacy


INVENTED = {
    "email": {"sdtype": "email", "pii": True},
    "code": {"sdtype": "unknown"},
    "city": {"sdtype": "categorical"},
}


def invented_table():
    emails = [f"u{i}@example.org" for i in range(400)]
    return pd.DataFrame({"email": emails, "code": np.arange(400) + 10, "city": ["Bern", "Chur"] * 200})


def changed_table():
    """Other first rows, one missing value, one longer number: all of it in columns that are invented."""
    table = invented_table()
    table.loc[:4, "email"] = [f"other{i}@example.com" for i in range(5)]
    table.loc[5, "email"] = None
    table.loc[0, "code"] = 123_456_789_012
    return table


def test_invented_columns_do_not_depend_on_the_rows():
    """Nor do their types and digits."""
    tables = changed_table(), *(STORED[name](invented_table()) for name in ("small numbers", "one missing"))
    plain = fitted(invented_table(), INVENTED, random_state=3).sample(200)
    for table in tables:
        pd.testing.assert_frame_equal(fitted(table, INVENTED, random_state=3).sample(200), plain)


def test_invented_columns_do_not_tell_the_number_of_rows():
    for rows in (400, 401):
        synth = fitted(changed_table().reindex(range(rows), method="ffill"), INVENTED, random_state=3)
        transformers = synth._data_processor._hyper_transformer.field_transformers.values()
        assert not any(getattr(t, "data_length", 0) for t in transformers)


STORED = {
    "category": lambda t: t.astype({"email": "category", "code": "category"}),
    "one missing": lambda t: t.assign(code=t["code"].where(t.index != 7)),
    "small numbers": lambda t: t.assign(code=(t["code"] % 100).astype("int8")),
    "text type": lambda t: t.astype({"email": "string"}),
}


@pytest.mark.parametrize("stored", STORED)
def test_no_real_value_of_an_invented_column_is_written_or_saved(stored):
    columns = {**INVENTED, "key": {"sdtype": "id"}}
    for left in (columns, {n: columns[n] for n in columns if n != "city"}):  # the second has nothing to model
        table = STORED[stored](invented_table().assign(key=[f"K{i}" for i in range(400)]))[list(left)]
        check_nothing_real(fitted(table, left))


def check_nothing_real(synth):
    rows = synth.sample(50)
    saved = cloudpickle.dumps(synth)
    for real in (b"u17@example.org", b"K217"):
        assert real not in saved
    invented = rows.drop(columns="city", errors="ignore")  # noise may say that a modelled column misses some
    assert not any(isinstance(dtype, pd.CategoricalDtype) for dtype in invented.dtypes)
    assert invented.notna().to_numpy().all()
    assert synth.privacy_ledger().claims_privacy


def test_types_of_invented_columns_are_those_of_their_declaration():
    columns = {
        "key": {"sdtype": "id"}, "zip": {"sdtype": "postcode", "pii": True}, "lat": {"sdtype": "latitude", "pii": True},
        "city": INVENTED["city"],
    }  # fmt: skip
    plain = pd.DataFrame(
        {"key": range(9), "zip": [12345] * 9, "lat": [47.1] * 9, "city": ["Bern", "Chur", "Bern"] * 3}
    )
    other = plain.astype({"zip": "float64", "lat": "int64"})
    for table in (plain, plain.convert_dtypes(), other, plain.assign(key=[f"K{i}" for i in plain.index])):
        synth = fitted(table, columns)
        for rows in (0, 5):
            assert [str(t) for t in synth.sample(rows).dtypes[:3]] == ["int64", "object", "float64"]


@pytest.mark.filterwarnings("ignore:n. digits after the point are cut off")  # of one table, on purpose
def test_types_of_modelled_columns_follow_the_domain_and_no_storage():
    columns = {"n": {"sdtype": "numerical"}, "x": {"sdtype": "numerical"}, "flag": {"sdtype": "boolean"}}
    declared = {
        "n": {"range_min": 0, "range_max": 9}, "x": {"range_min": 0.0, "range_max": 9.0, "decimal_places": 1},
        "flag": {"range_is_nullable": True},
    }  # fmt: skip
    whole = pd.DataFrame({"n": [1, 2] * 50, "x": [1, 2] * 50, "flag": [True, False] * 50}).convert_dtypes()
    one_more = {"n": [1, 2, 0.5] * 33, "x": [1, 2, 0.5] * 33, "flag": [True, False, None] * 33}
    one_more = pd.DataFrame(one_more).convert_dtypes()
    assert not whole.dtypes.equals(one_more.dtypes)
    odd = whole.astype(object).astype({"n": "category"})
    for table in (whole, one_more, odd):
        found = fitted(table, columns, domain=declared).sample(20)
        found["flag"] = found["flag"].astype(object)  # its type is the synthetic values'
        assert found.dtypes.astype(str).to_dict() == {"n": "int64", "x": "float64", "flag": "object"}


def test_columns_named_by_numbers_get_their_types():
    table = pd.DataFrame({0: [True, False] * 50, 1: ["a", "b"] * 50})
    columns = {"0": {"sdtype": "boolean"}, "1": {"sdtype": "categorical"}}
    cells = {"0": [False, True], "1": ["a", "b"]}
    domain = {name: {"range_values": found, "range_is_nullable": False} for name, found in cells.items()}
    rows = fitted(table, columns, domain=domain).sample(20)
    assert list(rows) == list(table) == [0, 1]
    assert rows[0].dtype == bool
    assert set(rows[1]) <= {"a", "b"}


def test_what_ends_the_claim_ends_it_without_modelled_columns_too():
    """A seed, and a generator that learns the number of values."""
    for columns in ({"email": INVENTED["email"]}, INVENTED):
        table = invented_table()[list(columns)]
        assert fitted(table, columns).privacy_ledger().claims_privacy
        assert not fitted(table, columns, random_state=1).privacy_ledger().claims_privacy
        synth = make(columns)
        synth.auto_assign_transformers(sdv_compat.to_native(synth._table_name, table))
        synth.update_transformers({"email": AnonymizedFaker("internet", "email", cardinality_rule="match")})
        synth.fit(table)
        assert not synth.privacy_ledger().claims_privacy


def test_rows_that_a_transformer_made_are_not_fitted_when_it_is_gone():
    """It had scaled every row by all of them: what was fitted then was claimed as if nothing had looked."""
    columns = {"x": {"sdtype": "numerical"}}
    table = pd.DataFrame({"x": np.linspace(-5, 5, 300).round(1)})
    declared = {"x": {"range_min": -5, "range_max": 5, "decimal_places": 1}}
    synth = make(columns, domain=declared, enforce_rounding=False)
    clean = synth.preprocess(table)
    synth.fit_processed_data(clean)  # as long as nothing has looked
    assert synth.privacy_ledger().claims_privacy
    with pytest.warns(RefitWarning):
        synth.update_transformers({"x": GaussianNormalizer(distribution="norm")})
    with pytest.warns(RefitWarning):
        processed = synth.preprocess(table)
    synth.fit_processed_data(processed)
    assert not synth.privacy_ledger().claims_privacy
    with pytest.warns(RefitWarning):
        synth.update_transformers({"x": None})
    for one in (synth, cloudpickle.loads(cloudpickle.dumps(synth))):
        with pytest.raises(ValueError, match="custom transformers that are no longer set"):
            one.fit_processed_data(processed)
    synth.fit(table)
    assert synth.privacy_ledger().claims_privacy


def test_an_inferred_domain_in_a_file_declares_nothing(mixed_table, tmp_path):
    columns = {"city": COLUMNS["city"]}
    inferred = fitted(mixed_table[["city"]], columns, undeclared="infer")._codec.domain
    inferred.save(tmp_path / "domain.json")
    synth = fitted(mixed_table[["city"]], columns, undeclared="infer", domain=tmp_path / "domain.json")
    assert not synth.privacy_ledger().claims_privacy
    inferred.declared().save(tmp_path / "mine.json")  # vouched for
    synth = fitted(mixed_table[["city"]], columns, domain=tmp_path / "mine.json")
    assert synth.privacy_ledger().claims_privacy


def test_planted_fault_sdv_sees_the_rows(monkeypatch):
    def all_rows(self, frame):
        self._rows = frame
        return frame.copy()

    monkeypatch.setattr(PlausibleDeniabilitySynthesizer, "_shown_to_sdv", all_rows)
    tables = invented_table(), changed_table()
    first, second = (fitted(t, INVENTED, random_state=3).sample(400) for t in tables)
    assert not first.equals(second)
    with pytest.raises(AssertionError):
        check_nothing_real(fitted(STORED["category"](invented_table()), INVENTED))


def without_looks(synth):
    held = copy(synth)
    held.__dict__.pop("_looked", None)
    return held


def test_other_rows_end_the_fit_or_leave_no_trace(mixed_table):
    table = mixed_table[["city", "age"]]
    secret = table.assign(city=pd.Categorical(["SECRETVAL"] * len(table)))
    columns = {n: COLUMNS[n] for n in table}
    synth = fitted(table, columns)
    before = cloudpickle.dumps(without_looks(synth))
    synth.validate(secret)
    assert cloudpickle.dumps(without_looks(synth)) == before
    assert {*synth._looked.looked} == {*table}  # and nothing of what was seen
    assert b"SECRETVAL" not in cloudpickle.dumps(synth)
    with pytest.warns(RefitWarning):
        processed = synth.preprocess(secret)
    with pytest.raises(SamplingError):
        synth.sample(1)
    with pytest.raises(SamplingError, match="no ledger yet"):
        synth.privacy_ledger()
    synth.fit_processed_data(processed)
    assert b"SECRETVAL" in cloudpickle.dumps(synth)  # found by 600 rows
    first = synth.privacy_ledger().to_dict()
    with pytest.raises(TypeError):
        synth.fit_processed_data({"a": 1})
    assert synth.privacy_ledger().to_dict() == first


def test_constraints_end_the_fit_and_validation_does_not_refit_them(mixed_table):
    columns = {n: COLUMNS[n] for n in ("city", "grade", "age")}
    table = mixed_table[list(columns)].assign(grade=mixed_table["grade"].astype(str))
    synth = fitted(table, columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        synth.add_constraints([FixedCombinations(["city", "grade"])])
    with pytest.raises(SamplingError):
        synth.sample(1)
    synth.fit(table)
    assert not synth.privacy_ledger().claims_privacy
    synth.validate(table.assign(city="SECRETVAL"))
    assert b"SECRETVAL" not in cloudpickle.dumps(synth)


@pytest.mark.skipif(not sdv_compat.TAKES_DICT, reason="SDV 1 detects no ranges")
def test_what_was_detected_in_the_rows_declares_nothing():
    declared = {"age": {"range_min": 0, "range_max": 110}, "sex": {"range_values": ["f", "m"]}}
    domains = []
    for last in (40.0, 40.5, None):
        sex = ["f", "m"] * 100 + [None if last is None else "m"]
        table = pd.DataFrame({"age": [*np.arange(200) % 70 + 18.0, last], "sex": sex})
        metadata = detect_metadata(table)
        assert "range_min" in metadata.tables["table"].columns["age"]
        domains.append(
            PlausibleDeniabilitySynthesizer(metadata, domain=declared)._fit_template.declared.attributes
        )
    assert domains[0] == domains[1] == domains[2]
    with pytest.raises(ValueError, match="'sex' .* gives no values"):
        PlausibleDeniabilitySynthesizer(metadata, domain={"sex": {}})
    with pytest.raises(ValueError, match="'email' .* get placeholder values and are not modelled"):
        make({"email": COLUMNS["email"]}, domain={"email": {"range_values": ["a@b.ch"]}})


def test_the_plan_knows_of_transformers():
    table = pd.DataFrame({"a": np.arange(100.0)})
    synth = make({"a": {"sdtype": "numerical"}}, domain={"a": {"range_min": 0.0, "range_max": 100.0}})
    assert synth.plan().ledger.claims_privacy
    synth.auto_assign_transformers(table)
    assert synth.plan().ledger.claims_privacy
    synth.update_transformers({"a": FloatFormatter(learn_rounding_scheme=True)})
    assert not synth.plan().ledger.claims_privacy


def test_the_plan_says_what_the_rows_can_carry(mixed_table):
    small, large = make(epsilon=0.1).plan(table_rows=600), make(epsilon=1.0).plan(table_rows=10_000_000)
    assert any("close to noise" in w for w in small.warnings)
    assert not any("close to noise" in w for w in large.warnings)
    assert "At about 600 rows, noise moves a column by up to" in str(small)
    assert "exceed the noise from about" in str(make().plan())
    assert make(epsilon=math.inf, undeclared="infer").plan(table_rows=600).forecast is None
    synth = make(
        {"age": COLUMNS["age"]},
        domain={"age": {"range_min": 0, "range_max": 110}},
        test="randomized",
        row_cap=100_000,
    )
    assert any("hardly any protection" in warning for warning in synth.plan().warnings)
    assert not make().plan().warnings


def test_columns_of_which_one_value_was_learned_are_named():
    """Control: the other column, of which more was learned, is not."""
    gain = np.where(np.arange(3_000) < 4, 7_000, 0)
    table = pd.DataFrame({"gain": gain, "age": np.arange(3_000) % 80})
    columns = {"gain": {"sdtype": "numerical"}, "age": {"sdtype": "numerical"}}
    with pytest.warns(UserWarning, match="was common enough") as told:
        synth = fitted(table, columns, random_state=1)
    words = [text for text in notes_of(told) if "one value" in text]
    assert [text.split(": only one value")[0] for text in words] == ["gain"]
    assert (synth.sample(100)["gain"] == 0).all()


def rows_with_a_secret():
    frame = pd.DataFrame({"age": [30, 40] * 100, "income": [1000, 2000] * 100, "sex": ["m", "f"] * 100})
    odd = frame.astype(object)
    odd.loc[3, "income"] = "SECRET-77"
    known = {"age": {"sdtype": "numerical", "range_min": 0, "range_max": 99, "decimal_places": 0}}
    told = metadata_of({**known, "income": {"sdtype": "numerical"}, "sex": {"sdtype": "categorical"}})
    return frame, odd, known, told


@pytest.mark.filterwarnings("ignore")
def test_what_a_failed_fit_has_shown_stays_on_record():
    """SDV's error quotes a cell where a transformer of the user's own learns from rows; the fit is then rolled back."""
    frame, odd, known, told = rows_with_a_secret()
    for shown in (lambda synth: synth.fit(odd), lambda synth: synth.preprocess(odd)):
        synth = PlausibleDeniabilitySynthesizer(told, domain=known)
        synth.auto_assign_transformers(frame)
        synth._looked = type(synth)._looked  # as if nothing had been looked at yet
        synth.update_transformers({"income": FloatFormatter()})
        with pytest.raises(Exception, match="SECRET-77"):
            shown(synth)
        assert {*synth._looked.looked} >= {"income", "sex"}


def test_a_noise_library_that_is_missing_costs_nothing(tmp_path, monkeypatch):
    frame, _, known, told = rows_with_a_secret()
    budget = Budget(2, 1e-8, tmp_path / "b")
    check_opendp.cache_clear()
    monkeypatch.setitem(sys.modules, "opendp", None)
    for fit in (
        lambda: PlausibleDeniabilitySynthesizer(told, domain=known, budget=budget).fit(frame),
        lambda: fit_source(frame, told, domain=known, budget=budget),
    ):
        with pytest.raises(ImportError):
            fit()
    assert budget.charged()["epsilon"] == 0
