"""Everything that users know from SDV's single-table synthesizers works, on both SDV lines."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
from rdt.transformers import FloatFormatter
from sdv.errors import InvalidDataError, SamplingError
from sdv.sampling import Condition, DataFrameCondition
from sdv.utils import load_synthesizer

from sdv_plausible import DeterministicTest, PaperNetwork
from sdv_plausible.sdv import sdv_versions as sdv_compat
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer, RowCapExceededError
from sdv_plausible.table.files.table_file import write_table
from tests.flat import values

pytestmark = pytest.mark.filterwarnings("ignore:We strongly recommend saving the metadata:UserWarning")

COLUMNS = {
    "id": {"sdtype": "id", "regex_format": "P[0-9]{5}"}, "email": {"sdtype": "email", "pii": True},
    "ticket": {"sdtype": "id"}, "city": {"sdtype": "categorical"}, "member": {"sdtype": "boolean"},
    "age": {"sdtype": "numerical"}, "children": {"sdtype": "numerical"}, "income": {"sdtype": "numerical"},
    "start": {"sdtype": "datetime"}, "day": {"sdtype": "datetime", "datetime_format": "%d.%m.%Y"},
    "grade": {"sdtype": "categorical"},
}  # fmt: skip


def make(columns=None, primary_key=None, **options):
    metadata = metadata_from_columns(columns or COLUMNS)
    if primary_key:
        metadata.set_primary_key(primary_key)
    return PlausibleDeniabilitySynthesizer(metadata, **values(**{"undeclared": "infer", **options}))


def fit(table, columns=None, **options):
    synth = make(columns, **options)
    synth.fit(table)
    return synth


@pytest.fixture(scope="module")
def made():
    """The fit that tests share, from the first of them on."""
    return {}


@pytest.fixture
def fitted(mixed_table, made):
    if not made:
        made["fitted"] = fit(mixed_table, primary_key="id", random_state=1, epsilon=20.0)
    return copy.deepcopy(made["fitted"])  # which a test may sample from and change


def test_sample_has_the_columns_types_and_values_of_the_data(fitted, mixed_table):
    rows = fitted.sample(500)
    assert list(rows.columns) == list(mixed_table.columns)
    assert len(rows) == 500
    assert rows["id"].is_unique
    assert rows["id"].str.fullmatch(r"P\d{5}").all()
    for name in ("city", "member", "grade", "age"):
        assert set(rows[name].dropna()) <= set(mixed_table[name].dropna())
    for name in rows.columns.drop("ticket"):
        assert rows[name].dtype == mixed_table[name].dtype, name
    assert (
        rows["ticket"].dtype == np.int64
    )  # an id without a format is numbered, whatever form the real ones have
    assert rows["income"].dropna().between(mixed_table["income"].min(), mixed_table["income"].max()).all()
    assert (rows["income"].dropna() == rows["income"].dropna().round(2)).all()
    assert (rows["start"].dropna() == rows["start"].dropna().dt.normalize()).all()
    assert pd.to_datetime(rows["day"], format="%d.%m.%Y").notna().all()
    for name in ("city", "children", "income", "start"):
        assert 0 < rows[name].isna().mean() < 0.5, name
    for name in ("email", "ticket"):  # which are invented
        assert not set(rows[name].dropna()) & set(mixed_table[name])


def test_missing_values_depend_on_other_columns():
    """Missingness is modelled: here it is decided by the group. Without a model the shares would be equal."""
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b"], 3000)
    table = pd.DataFrame({"group": group, "value": np.where(group == "a", np.nan, rng.normal(size=3000))})
    columns = {"group": {"sdtype": "categorical"}, "value": {"sdtype": "numerical"}}
    rows = fit(table, columns, epsilon=np.inf).sample(2000)
    missing = rows["value"].isna().groupby(rows["group"]).mean()
    assert missing["a"] > 0.9
    assert missing["b"] < 0.1


def test_dict_in_dict_out_frame_in_frame_out_and_processed_rows(mixed_table):
    synth = make(random_state=0)
    synth.fit({"table": mixed_table})
    rows = synth.sample(5)
    assert list(rows) == ["table"]
    assert len(rows["table"]) == 5
    before = mixed_table.copy(deep=True)
    synth.fit(mixed_table)
    assert isinstance(synth.sample(5), pd.DataFrame)
    pd.testing.assert_frame_equal(mixed_table, before)
    synth = make(random_state=0)
    processed = synth.preprocess(mixed_table)
    assert isinstance(processed, pd.DataFrame)
    synth.fit_processed_data(processed)
    assert len(synth.sample(7)) == 7


def test_reset_sampling_repeats_and_samples_differ(fitted, mixed_table):
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first, second = fitted.sample(40), fitted.sample(40)
    fitted.reset_sampling()
    empty = fitted.sample(0)
    assert list(empty.columns) == list(mixed_table.columns)
    assert len(empty) == 0
    pd.testing.assert_frame_equal(first, fitted.sample(40))
    modelled = ["city", "member", "age", "children", "income", "start", "day", "grade"]
    assert not first[modelled].equals(second[modelled])
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002


def test_sample_from_conditions(fitted):
    rows = fitted.sample_from_conditions(
        [Condition({"city": "Chur", "member": True}, num_rows=30), Condition({"age": 44}, num_rows=5)]
    )
    assert len(rows) == 35
    assert (rows["city"][:30] == "Chur").all()
    assert rows["member"][:30].all()
    assert (rows["age"][30:] == 44).all()
    rows = fitted.sample_from_conditions([Condition({"income": np.nan}, num_rows=12)])
    assert len(rows) == 12
    assert rows["income"].isna().all()
    wanted = pd.DataFrame({"income": [2500.0, 2500.0, 1800.0], "grade": ["A", "B", "C"]})
    rows = fitted.sample_from_conditions([DataFrameCondition(wanted)])
    assert rows["income"].tolist() == [2500.0, 2500.0, 1800.0]
    assert rows["grade"].tolist() == ["A", "B", "C"]
    with pytest.raises(ValueError, match="'city'.*no such value.*known"):
        fitted.sample_from_conditions([Condition({"city": "Paris"}, num_rows=1)])
    with pytest.raises(ValueError, match="'age'.*must lie between"):
        fitted.sample_from_conditions([Condition({"age": 200}, num_rows=1)])


def test_values_that_rows_cannot_have_are_refused_and_unlikely_ones_are_put_in():
    """What the docstring of sample_from_conditions says of missing values, and of others."""
    table = pd.DataFrame({"a": [1, 2, 3, 4] * 50, "b": [1, 2, 3, 4] * 50, "c": list("xy") * 100})
    table["d"] = table["a"] > 2
    columns = {"a": "numerical", "b": "numerical", "c": "categorical", "d": "boolean"}
    columns = {name: {"sdtype": sdtype} for name, sdtype in columns.items()}
    limits = {"range_min": 1, "range_max": 4}
    domain = {
        "a": limits | {"range_is_nullable": True}, "b": limits,
        "c": {"range_values": ["x", "y"], "range_is_nullable": True}, "d": {"range_values": [False, True]},
    }  # fmt: skip
    synth = fit(table, columns, epsilon=np.inf, domain=domain, test="deterministic", k=2)
    for name in table:  # no row has a missing value; by the domain, a and c may
        rows = synth.sample_from_conditions([Condition({name: None}, num_rows=12)])
        assert len(rows) == 12
        assert rows[name].isna().all()
        assert rows.drop(columns=name).notna().all(axis=None)
        rows = synth.sample_remaining_columns(pd.DataFrame({name: [None, table[name][0]]}, dtype=object))
        assert rows[name].isna().tolist() == [True, False]
        assert rows[name][1] == table[name][0]
    for asked, rule in (
        ({"c": "z"}, "'c' has no such value in its domain"),
        ({"b": 2.5}, "must be a whole number: the nearest are 2 and 3"),
        ({"b": "2"}, "must be a number"),
        ({"b": 10**400}, "'b'.*the largest double"),
    ):
        with pytest.raises(ValueError, match=rule):
            synth.sample_from_conditions([Condition(asked, num_rows=1)])
        with pytest.raises(ValueError, match=rule):
            synth.sample_remaining_columns(pd.DataFrame([asked], dtype=object))


def test_sample_remaining_columns(fitted, mixed_table):
    known = mixed_table[["city", "grade"]].head(20)
    rows = fitted.sample_remaining_columns(known)
    assert len(rows) == 20
    assert rows["grade"].astype(str).tolist() == known["grade"].astype(str).tolist()
    assert rows["city"].isna().tolist() == known["city"].isna().tolist()


@pytest.mark.parametrize("test", ["randomized", "deterministic"])
def test_conditions_under_the_row_by_row_tests(mixed_table, test):
    k, delta = (40, 1e-6) if test == "randomized" else (5, 1e-9)
    synth = fit(mixed_table, random_state=3, test=test, k=k, delta=delta, row_cap=50_000, least_rows=200)
    rows = synth.sample_from_conditions([Condition({"member": True, "grade": "B"}, num_rows=10)])
    assert len(rows) == 10
    assert rows["member"].all()


def test_update_transformers(mixed_table):
    synth = make(random_state=0)
    synth.auto_assign_transformers(mixed_table)
    synth.update_transformers({"age": FloatFormatter(learn_rounding_scheme=True)})
    synth.fit(mixed_table)
    rows = synth.sample(50)
    assert rows["age"].between(18, 90).all()
    assert "transformers" in str(synth.privacy_ledger())
    assert isinstance(synth.get_transformers()["age"], FloatFormatter)


def test_get_parameters_rebuilds_the_synthesizer(mixed_table):
    synth = make(k=7, omega=(1, 3), test="deterministic", structure={"age": ["city"]}, random_state=5)
    parameters = synth.get_parameters()
    assert parameters["test"] == DeterministicTest(k=7, omega=(1, 3))
    assert parameters["model"] == PaperNetwork(structure={"age": ["city"]})
    assert parameters["locales"] == ["en_US"]
    twin = PlausibleDeniabilitySynthesizer(synth.get_metadata(), **parameters)
    assert twin.get_parameters() == parameters


def test_save_and_load(fitted, tmp_path):
    info = fitted.get_info()
    assert info["class_name"] == "PlausibleDeniabilitySynthesizer"
    assert info["is_fit"]
    fitted.sample(3)
    fitted.save(tmp_path / "synth.pkl")
    loaded = load_synthesizer(str(tmp_path / "synth.pkl"))
    pd.testing.assert_frame_equal(loaded.sample(20), fitted.sample(20))
    assert str(loaded.privacy_ledger()) == str(fitted.privacy_ledger())
    loaded = PlausibleDeniabilitySynthesizer.load(tmp_path / "synth.pkl")
    assert loaded.get_structure() == fitted.get_structure()
    assert [p.name for p in tmp_path.iterdir()] == ["synth.pkl"]


def test_a_file_that_holds_seed_records_is_its_owners_alone(fitted, mixed_table, tmp_path):
    path = tmp_path / "synth.pkl"
    path.touch(0o644)
    fitted.save(path)
    assert path.stat().st_mode & 0o777 == 0o644
    with pytest.warns(UserWarning, match="holds seed records.*only its owner can read it"):
        fit(mixed_table, test="deterministic", k=5, random_state=0).save(path)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("content", "words"),
    [
        *((content, r"x\.pkl.*(damaged|holds)") for content in (b"", b"not a pickle", b"\x80\x04K\x05.")),
        # pickles that ask for a class of the version with flat modules, or of 0.1
        (b"csdv_plausible.releasing\nReleased\n.", r"x\.pkl' was saved by another version of sdv-plausible"),
        (b"csdv_plausible.models.adaptive.adaptive_network\nAdaptiveLearner\n.", "saved by another version"),
    ],
)
def test_damaged_and_foreign_files_are_refused_in_one_line(tmp_path, content, words):
    path = tmp_path / "x.pkl"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=words) as caught:
        PlausibleDeniabilitySynthesizer.load(path)
    assert "\n" not in str(caught.value)


def to_file(path):
    """Where SDV writes rows: in 2.0 into a folder."""
    return {"output_folder_path" if sdv_compat.TAKES_DICT else "output_file_path": str(path)}


def test_output_file_with_batches(fitted, tmp_path):
    target = to_file(tmp_path / "out.csv")
    rows = fitted.sample(50, batch_size=20, **target)
    written = tmp_path / ("out.csv/table.csv" if sdv_compat.TAKES_DICT else "out.csv")
    assert len(rows) == 50
    content = written.read_text()
    write_table(rows["table"] if isinstance(rows, dict) else rows, tmp_path / "again.csv")
    assert content == (tmp_path / "again.csv").read_text(), "the rows of the file are those that came back"
    with pytest.raises(AssertionError, match="already exist"):
        fitted.sample(5, **target)
    assert written.read_text() == content


def test_failed_sampling_leaves_no_file(mixed_table, tmp_path):
    synth = fit(mixed_table, test="deterministic", k=5, row_cap=10, random_state=0)
    with pytest.raises(RowCapExceededError, match="row_cap"):
        synth.sample(50, **to_file(tmp_path / "o.csv"))
    assert not list(tmp_path.rglob("*.csv"))


def test_time_zones_and_nullable_types():
    rng = np.random.default_rng(1)
    n = 400
    table = pd.DataFrame(
        {
            "when": pd.Series(pd.date_range("2024-01-01", periods=n, freq="h", tz="Europe/Zurich")),
            "flag": pd.array(rng.random(n) < 0.5, dtype="boolean"),
            "text": pd.array(rng.choice(["x", "y"], n), dtype="string"),
            "small": rng.integers(0, 5, n).astype("int8"),
            "share": pd.array(rng.random(n).round(3), dtype="Float64"),
        }
    )
    table.loc[::11, "flag"] = pd.NA
    types = {
        "when": "datetime", "flag": "boolean", "text": "categorical", "small": "numerical", "share": "numerical",
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="No 'datetime_format'")
        synth = fit(table, {name: {"sdtype": sdtype} for name, sdtype in types.items()}, random_state=0)
        rows = synth.sample(100)
    assert rows.dtypes.astype(str).to_dict() == table.dtypes.astype(str).to_dict()  # types are the rows' own
    assert rows["when"].between(table["when"].min(), table["when"].max()).all()


def test_hard_tables(mixed_table):
    n = 60
    many = [f"v{i % (n // 2)}" for i in range(n)]
    table = pd.DataFrame({"constant": "same", "empty": np.nan, "many": many, "one number": 3.5})
    types = {
        "constant": "categorical", "empty": "numerical", "many": "categorical", "one number": "numerical",
    }  # fmt: skip
    for rows in (n, 1):
        synth = fit(
            table.head(rows), {name: {"sdtype": sdtype} for name, sdtype in types.items()}, random_state=0
        )
        sample = synth.sample(10)
        assert (sample["constant"] == "same").all()
        assert sample["empty"].isna().all()
        assert (sample["one number"] == 3.5).all()
        assert set(sample["many"]) <= set(table["many"])
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"code": rng.integers(0, 700, 4000).astype(str), "group": rng.choice(list("abc"), 4000)}
    )
    synth = fit(table, {"code": {"sdtype": "categorical"}, "group": {"sdtype": "categorical"}})
    assert set(synth.sample(2000)["code"]) <= set(table["code"])
    keys = ["id", "email"]
    rows = fit(mixed_table[keys], {name: COLUMNS[name] for name in keys}, primary_key="id").sample(10)
    assert rows["id"].is_unique
    assert list(rows.columns) == keys


def test_parameters_that_do_not_fit_the_table(mixed_table):
    for options, words in (
        ({"omega": 40}, r"omega \(40\).*between 0 and"),
        ({"structure": {"age": ["city"], "city": ["age"]}}, "cycle"),
        ({"structure": {"age": ["height"]}}, "height"),
    ):
        with pytest.raises(ValueError, match=words):
            fit(mixed_table, **options)


def test_tables_that_cannot_be_fitted_and_numbers_that_cannot_be_sampled(fitted, mixed_table):
    twice = pd.concat([mixed_table, mixed_table[["age"]]], axis=1)
    for bad, error, words in (
        *((bad, TypeError, "data.*DataFrame") for bad in (7, None, {}, {"a": 1}, [1, 2])),
        (mixed_table.head(0), ValueError, "0 rows"),
        (mixed_table.assign(height=1.0), InvalidDataError, "height"),
        (mixed_table.drop(columns="age"), InvalidDataError, "age"),
        # its domain is inferred: there is no claim that an error could break
        (
            mixed_table.assign(age="old"),
            ValueError,
            "'age' is numerical in the metadata but contains other values",
        ),
        (twice, ValueError, r"several columns named \['age'\]"),
    ):
        with pytest.raises(error, match=words):
            make().fit(bad)
    for num_rows in (-1, 2.5, "10", None, True):
        with pytest.raises(ValueError, match="num_rows"):
            fitted.sample(num_rows)


def test_sampling_before_fit():
    synth = make()
    ask = (
        lambda: synth.sample(1), lambda: synth.sample_from_conditions([]), synth.privacy_ledger, synth.get_structure,
    )  # fmt: skip
    for call in ask:
        with pytest.raises(SamplingError, match="fit"):
            call()


def test_a_failed_fit_leaves_the_earlier_one_as_it_was(fitted, mixed_table):
    ledger = str(fitted.privacy_ledger())
    fitted.reset_sampling()
    before = fitted.sample(10)
    changed = [mixed_table.assign(age="old"), mixed_table.assign(income=np.inf)]
    for bad in (mixed_table.drop(columns="age"), *changed):
        with pytest.raises((InvalidDataError, ValueError), match="age|income"):
            fitted.fit(bad)
        fitted.reset_sampling()
        pd.testing.assert_frame_equal(fitted.sample(10), before)
        assert str(fitted.privacy_ledger()) == ledger


def test_row_cap(mixed_table):
    synth = fit(mixed_table, test="deterministic", k=5, row_cap=100, random_state=0)
    rows = synth.sample(60)
    synth.reset_sampling()
    pd.testing.assert_frame_equal(synth.sample(60), rows)  # the same rows again cost nothing
    with pytest.raises(RowCapExceededError, match="60 more rows"):
        synth.sample(60)  # others do, even as many
    with pytest.raises(RowCapExceededError, match=r"row_cap \(100\)"):
        synth.sample(41)
    assert len(synth.sample(40)) == 40
    with pytest.raises(RowCapExceededError, match=r"but 100 of row_cap \(100\) are used"):
        synth.sample(1)  # all calls together, and not the largest alone


def test_nothing_passes(mixed_table):
    from sdv_plausible.mechanism.drawing.mechanism import TooFewReleasedError

    synth = fit(mixed_table, test="deterministic", k=590, omega=2)
    with pytest.raises(TooFewReleasedError, match=r"k \(590\).*omega \(2\)"):
        synth.sample(10)
    sizes = synth.diagnose(500)
    assert sizes["share_at_least_k"].iloc[0] == 1


def test_seed_diagnostics_are_what_the_report_shows(mixed_table):
    """Against the groups counted by hand: with one kept attribute a candidate's plausible seeds share its seed's value."""
    from sdv_plausible.evaluation.page.sections import SeedDiagnostics
    from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

    synth = fit(mixed_table, test="deterministic", k=40, omega=7)
    found = synth.seed_diagnostics(2000)
    codes = synth._codec.encode(mixed_table, KeyedRNG.from_seed(0))
    groups = np.bincount(codes[:, synth._sampler.model.order[0]])
    assert set(found["plausible_seeds"]) == set(groups[groups > 0])
    m = len(synth._sampler.model.order)
    assert list(found["pass_rates"]) == [4, 8, 20, 40, 80, 200, 400]
    assert all(rates[m] == 1 for rates in found["pass_rates"].values())
    assert found["pass_rates"][400][0] == 0  # rows as they are, 400 times: none
    shown = SeedDiagnostics.of(found)
    assert sum(share for _, share in shown.sizes) == pytest.approx(1)
    assert 6 <= len(shown.pass_rates) <= 8
    with pytest.raises(ValueError, match="test='randomized'"):
        fit(mixed_table).seed_diagnostics()


@pytest.mark.parametrize("cells", [[["x"], ["y"]], [{"q": 1}, None]])
def test_lists_and_dicts_in_cells_are_missing_and_the_holder_is_told(cells):
    """One cell must not decide whether a fit ends."""
    metadata = metadata_from_columns({"a": {"sdtype": "numerical"}, "b": {"sdtype": "categorical"}})
    synth = PlausibleDeniabilitySynthesizer(metadata)
    table = pd.DataFrame({"a": [1, 2] * 30, "b": cells * 30})
    synth.fit(table)
    assert synth.privacy_ledger().claims_privacy
    assert synth.sample(5)["b"].isna().all()
    domain = {"b": {"range_values": ["x"], "range_is_nullable": True}}
    with pytest.warns(UserWarning, match="b: most cells are outside"):
        PlausibleDeniabilitySynthesizer(metadata, domain=domain).fit(table)


def test_an_object_whose_options_were_flat_is_refused(fitted):
    """It would be fitted anew with other options than it shows."""
    state = {name: value for name, value in vars(fitted).items() if name != "test"}
    with pytest.raises(AttributeError, match="saved by sdv_plausible 0.1"):
        copy.copy(fitted).__setstate__(state)
