"""Behaviours of SDV's multi-table synthesizers that ours has: the list is in docs/reference/related_tables.md."""

import inspect
import itertools
import math
import subprocess
import sys
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sdv.errors import SamplingError
from sdv.metadata import Metadata
from sdv.multi_table import HMASynthesizer

from sdv_plausible import PlausibleDeniabilityMultiTableSynthesizer
from sdv_plausible.datasets import families_like, families_like_domain, families_like_metadata


def synthesizer(metadata=None, **options):
    document = families_like_metadata() if metadata is None else metadata
    return PlausibleDeniabilityMultiTableSynthesizer(
        document, **{"domain": families_like_domain(), "epsilon": 3.0, **options}
    )


@pytest.fixture(scope="module")
def families():
    return families_like(400, 1)


@pytest.fixture(scope="module")
def metadata():
    return Metadata.load_from_dict(families_like_metadata())


@pytest.fixture(scope="module")
def fitted(families, metadata):
    synth = synthesizer(metadata)
    synth.fit(families)
    return synth


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 10.0])
def test_the_total_of_both_tables_is_epsilon_and_no_more(epsilon):
    """A column whose values are learned, as ``income``'s, is why shares alone would not do: they gave 1.0009."""
    assert 0.99 * epsilon < synthesizer(epsilon=epsilon).plan().total() <= epsilon
    assert math.isinf(synthesizer(epsilon=epsilon, random_state=1).plan().total())


ODD = (
    None, True, "1", -1, 3.5, float("nan"), [], {}, {"x": 1}, {3: "y"}, object(), b"x", 10**400, np.array([1, 2]),
    pd.DataFrame(),
    "no such thing", Path("nobody"),
)  # fmt: skip
TAKEN = {  # values of the list above that a parameter takes
    "locales": [], "epsilon": [3.5], "delta": [], "max_children": [],
    "domain": [None, {}], "roles": [{}], "types": [None], "max_bins": [], "neighbours": [], "budget": [None],
    "random_state": [None, 10**400],
}  # fmt: skip


def test_every_argument_of_another_type_or_value_is_refused_by_name():
    """One loop over all parameters of the constructor: a new one needs an entry above."""
    known = {*inspect.signature(PlausibleDeniabilityMultiTableSynthesizer).parameters} - {"metadata"}
    assert known == {*TAKEN}
    faults = []
    for name, value in itertools.product(sorted(known), ODD):
        try:
            synthesizer(**{name: value})
        except (ValueError, TypeError) as error:
            faults += [] if name in str(error) else [f"{name}={value!r:.40}: {error!s:.100}"]
        except Exception as error:
            faults.append(f"{name}={value!r:.40}: {error!r:.100}")
        else:
            taken = any(value is one or (type(value) is type(one) and value == one) for one in TAKEN[name])
            faults += [] if taken else [f"{name}={value!r:.40}: was taken"]
    assert not faults, "\n".join(faults)


def test_a_release_of_another_type_is_refused_by_name():
    for value in (None, "f.release", 3):
        with pytest.raises(ValueError, match=r"release .* must be a FamilyRelease"):
            PlausibleDeniabilityMultiTableSynthesizer.from_release(value)


def test_metadata_is_sdvs_object_or_its_document_and_is_given_back_as_a_copy(metadata, fitted):
    assert synthesizer().plan().total() == fitted.plan().total()
    for version in ("original", "modified"):
        found = fitted.get_metadata(version)
        assert found.to_dict() == metadata.to_dict()
        found.update_column(table_name="persons", column_name="age", sdtype="categorical")
        assert fitted.get_metadata(version).to_dict() == metadata.to_dict()
    with pytest.raises(ValueError, match="version"):
        fitted.get_metadata("newest")


def test_parameters_are_copies_that_make_the_same_again(metadata):
    synth = synthesizer(metadata, max_children=3)
    parameters = synth.get_parameters()
    known = {*inspect.signature(PlausibleDeniabilityMultiTableSynthesizer).parameters}
    assert {*parameters} == known - {"metadata", "budget"}
    again = PlausibleDeniabilityMultiTableSynthesizer(metadata, **parameters)
    assert again.get_parameters() == parameters
    assert again.plan().total() == synth.plan().total()
    parameters["domain"].clear()
    assert synth.get_parameters() == again.get_parameters()


def test_info_has_what_sdvs_has(metadata, fitted):
    before = synthesizer(metadata).get_info()
    theirs = {*HMASynthesizer(metadata, verbose=False).get_info()}
    assert {*before} == theirs
    assert (before["is_fit"], before["last_fit_date"]) == (False, None)
    after = fitted.get_info()
    assert after["class_name"] == "PlausibleDeniabilityMultiTableSynthesizer"
    assert after["is_fit"]
    assert date.fromisoformat(after["creation_date"]) <= date.fromisoformat(after["last_fit_date"])


def test_without_sdv_what_is_not_fitted_is_a_value_error_and_nothing_loads_it():
    code = (
        "import sys\n"
        "from sdv_plausible import PlausibleDeniabilityMultiTableSynthesizer as Synthesizer\n"
        "from sdv_plausible.datasets import families_like_metadata\n"
        "try:\n    Synthesizer(families_like_metadata()).sample(5)\n"
        "except ValueError as error:\n    print(type(error).__name__, 'sdv' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["ValueError", "False"]


def test_tables_and_columns_that_are_not_there_or_one_too_many_are_refused_and_nothing_is_fitted(families):
    synth, persons = synthesizer(), families["persons"]
    for data, words in (
        ({"households": families["households"]}, "data"), ({**families, "pets": persons}, "data"),
        ({**families, "persons": persons.to_dict()}, "data"), (persons, "data"),
        ({**families, "persons": persons.drop(columns="age")}, "age"),
        ({**families, "persons": persons.assign(shoe_size=40)}, "shoe_size"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            synth.fit(data)
    for (
        table,
        rows,
    ) in (
        families.items()
    ):  # by how the column is stored alone, of a parent's key and of a child's that names it
        stored = rows.assign(household_id=pd.to_timedelta(range(len(rows)), unit="D"))
        with pytest.raises(
            ValueError, match=rf"table '{table}': column 'household_id' is stored as timedelta"
        ):
            synth.fit({**families, table: stored})
    assert synth.privacy_ledger().total() == 0
    assert not synth.privacy_ledger().entries


def test_what_rows_hold_stops_no_fit(families):
    """Unlike SDV's, which refuses missing, repeated and unknown keys, and tables without rows: rows decide nothing."""
    homes, persons = families["households"], families["persons"]
    odd = persons.assign(household_id=persons["household_id"].where(persons.index > 20, None))
    odd.loc[30:40, "household_id"] = "nobody's"
    for data in (
        {"households": pd.concat([homes, homes[:5]]), "persons": odd},
        {"households": homes[:0], "persons": persons[:0]},
    ):
        synth = synthesizer()
        synth.fit(data)
        assert are_whole(synth.sample(5))


def are_whole(tables):
    """Whether every key is there once, and every person's household."""
    homes, persons = tables["households"], tables["persons"]
    keys = homes["household_id"].is_unique and persons["person_id"].is_unique
    return keys and persons["household_id"].isin(homes["household_id"]).all()


def test_nothing_is_drawn_or_saved_before_a_fit(tmp_path):
    synth = synthesizer()
    for call, arguments in {
        "sample": (5,),
        "sample_scale": (1.0,),
        "save": (tmp_path / "x",),
        "release": (),
    }.items():
        for kind in (SamplingError, ValueError):
            with pytest.raises(kind, match=r"call fit\(\) first|fit first"):
                getattr(synth, call)(*arguments)
    assert not (tmp_path / "x").exists()


def test_the_main_table_has_the_rows_asked_for(fitted):
    assert len(fitted.sample(7, "households")["households"]) == 7
    assert len(fitted.sample(num_rows=7, main_table_name="households")["households"]) == 7
    # a household has 2.4 people with a standard deviation of 1.3: 1,000 are 10 standard deviations from the bounds
    assert 700 < len(fitted.sample(1_000, "persons")["persons"]) < 1_300
    assert [len(table) for table in fitted.sample(0).values()] == [0, 0]


def test_odd_requests_are_refused(fitted):
    for arguments in ((5, "pets"), (-1, "households"), (1.5, "households"), ("5", "households")):
        with pytest.raises((TypeError, ValueError), match="num_rows|main_table_name"):
            fitted.sample(*arguments)
    for scale in (0, -1.0, "1", math.nan):
        with pytest.raises((TypeError, ValueError), match="scale"):
            fitted.sample_scale(scale)


def test_a_scale_is_of_the_noisy_number_that_was_paid_for(fitted):
    number = fitted.release().number_of_families()
    for scale in (0.5, 1.0, 2.5):
        assert len(fitted.sample_scale(scale)["households"]) == round(scale * number)
    assert len(fitted.sample_scale()["households"]) == number


def test_each_sample_is_another_and_a_seed_repeats_it(fitted):
    first, second = fitted.sample(100), fitted.sample(100)
    again = [fitted.sample(100, random_state=3) for _ in range(2)]
    for table in first:
        assert not first[table].equals(second[table])  # 100 equal rows: no row has a tenth of the mass
        pd.testing.assert_frame_equal(again[0][table], again[1][table])


def test_tables_columns_and_dtypes_are_as_what_was_fitted(fitted, families):
    for number in (0, 1, 200):
        made = fitted.sample(number)
        assert list(made) == list(families)
        for name, table in made.items():
            pd.testing.assert_series_equal(table.dtypes, families[name].dtypes)
            pd.testing.assert_index_equal(table.index, pd.RangeIndex(len(table)))


def test_keys_are_whole_and_have_their_format(fitted):
    made = fitted.sample(300)
    assert are_whole(made)
    assert made["households"]["household_id"].str.fullmatch("H[0-9]{8}").all()
    assert made["persons"]["person_id"].str.fullmatch("P[0-9]{9}").all()


def test_keys_are_invented_and_the_order_of_columns_is_the_metadatas(families):
    """Real keys are of another pattern, and none comes out; tables and columns of the rows are in another order."""
    real = {
        name: table[table.columns[::-1]].assign(
            **{key: table[key].str.replace("[HP]", "X", regex=True) for key in table if "_id" in key}
        )
        for name, table in reversed(families.items())
    }
    synth = synthesizer()
    synth.fit(real)
    for name, table in synth.sample(300).items():
        assert list(table) == list(families[name])
        for key in [column for column in table if "_id" in column]:
            assert not set(table[key]) & set(real[name][key])


def test_drawn_tables_are_valid_to_sdvs_metadata(fitted, metadata):
    metadata.validate_data(fitted.sample(200))


def test_global_seed_is_left_alone(fitted):
    np.random.seed(11)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    fitted.sample(20)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


@pytest.mark.parametrize(
    ("households", "persons"),
    [("[a-z]{2,5}", {"sdtype": "id", "regex_format": "P[0-9]{1}"}), ("P[0-9]{1}", {"sdtype": "email", "pii": True})],
)  # fmt: skip
def test_keys_of_both_tables_are_distinct_whatever_they_are_written_like(households, persons):
    """Texts of two letters would not be: of 600 some would be the same but for a chance below 1e-50."""
    document = families_like_metadata()
    document["tables"]["persons"]["columns"]["person_id"] = persons
    document["tables"]["households"]["columns"]["household_id"] = {"sdtype": "id", "regex_format": households}
    synth = synthesizer(document)
    synth.fit(families_like(200))
    assert are_whole(synth.sample(600))
