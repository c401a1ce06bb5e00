"""Tables to compare: which columns, of which kinds, in every form that a user may hand over."""

import numpy as np
import pandas as pd
import pytest
from sdmetrics.errors import IncomputableMetricError

from sdv_plausible.evaluation.tables import as_numbers, column_kinds, prepare, prepare_holdout


class Described:
    """Stands for SDV's Metadata object."""

    def __init__(self, document):
        self.document = document

    def to_dict(self):
        return self.document


def test_keys_and_personal_data_are_not_compared():
    described = {
        "primary_key": "id",
        "alternate_keys": ["number", ["a", "b"]],
        "columns": {
            "id": {"sdtype": "id"},
            "number": {"sdtype": "numerical"},
            "a": {"sdtype": "categorical"},
            "b": {"sdtype": "categorical"},
            "email": {"sdtype": "email", "pii": True},
            "name": {"sdtype": "categorical", "pii": True},
            "age": {"sdtype": "numerical"},
            "grade": {"sdtype": "ordinal"},
            "seen": {"sdtype": "datetime"},
        },
    }
    assert column_kinds(described, pd.DataFrame()) == {
        "age": "numerical",
        "grade": "categorical",
        "seen": "datetime",
    }


def test_kinds_are_inferred_without_metadata(mixed_table):
    kinds = column_kinds(None, mixed_table)
    assert kinds["age"] == kinds["children"] == kinds["income"] == "numerical"
    assert kinds["member"] == kinds["grade"] == kinds["city"] == "categorical"
    assert kinds["start"] == "datetime"


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: {"people": f}])
@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("kind", [dict, Described])
def test_frames_dicts_and_metadata_objects_are_accepted(wrap, nested, kind):
    frame = pd.DataFrame({"x": [1, 2], "y": ["a", "b"]})
    document = {"columns": {"x": {"sdtype": "numerical"}, "y": {"sdtype": "categorical"}}}
    metadata = kind({"tables": {"people": document}} if nested else document)
    pair = prepare(wrap(frame), wrap(frame), metadata)
    assert pair.kinds == {"x": "numerical", "y": "categorical"}
    assert pair.real.equals(frame)


def test_one_of_several_tables_is_named():
    frames = {"a": pd.DataFrame({"x": [1]}), "b": pd.DataFrame({"y": [1]})}
    tables = {
        "a": {"columns": {"x": {"sdtype": "numerical"}}},
        "b": {"columns": {"y": {"sdtype": "numerical"}}},
    }
    assert prepare(frames, frames, {"tables": tables}, "b").kinds == {"y": "numerical"}
    with pytest.raises(ValueError, match="table_name .None. must name one of the tables"):
        prepare(frames, frames, {"tables": tables})


@pytest.mark.parametrize(
    ("real", "synthetic", "metadata", "error", "words"),
    [
        ([1], pd.DataFrame({"x": [1]}), None, ValueError, "real_data .list. must be a DataFrame"),
        (
            pd.DataFrame({"x": [1]}),
            pd.DataFrame({"y": [1]}),
            None,
            ValueError,
            "synthetic_data lacks the columns",
        ),
        (
            pd.DataFrame({"x": []}),
            pd.DataFrame({"x": [1]}),
            None,
            IncomputableMetricError,
            "real_data has no rows",
        ),
        (pd.DataFrame({"x": [1]}), pd.DataFrame({"x": [1]}), 7, TypeError, "metadata .int. must be a dict"),
        (
            pd.DataFrame({"x": [1]}),
            pd.DataFrame({"x": [1]}),
            {"columns": {"x": {"sdtype": "id"}}},
            IncomputableMetricError,
            "no column can be compared",
        ),
    ],
)
def test_bad_tables_get_clear_errors(real, synthetic, metadata, error, words):
    with pytest.raises(error, match=words):
        prepare(real, synthetic, metadata)


def test_holdout_must_have_the_columns():
    pair = prepare(pd.DataFrame({"x": [1]}), pd.DataFrame({"x": [1]}))
    assert prepare_holdout(pair, None) is None
    assert list(prepare_holdout(pair, pd.DataFrame({"x": [2], "z": [3]}))) == ["x"]
    with pytest.raises(ValueError, match="holdout .1 rows, lacking columns .'x'.. must have rows"):
        prepare_holdout(pair, pd.DataFrame({"z": [3]}))


NUMBERS = {"columns": {"x": {"sdtype": "numerical"}}}


@pytest.mark.parametrize(
    ("real", "synthetic", "form"),
    [
        (["$1,234.50", "$2", None], ["$3", "$4"], "$1,234.5"),
        ([1234.5, 2.0, None], ["$3", "$4"], "$1234.5"),  # real rows that were read by their declaration
        (["1,234", "12,5"], ["3", "4"], "1234,5"),  # the real table's, where they differ
        (["1.5", "2"], ["3", "4"], None),
    ],
)  # fmt: skip
def test_numbers_as_text_are_read_in_the_spelling_of_the_table(real, synthetic, form):
    pair = prepare(pd.DataFrame({"x": real}), pd.DataFrame({"x": synthetic}), NUMBERS)
    assert pair.formats == ({} if form is None else {"x": form})
    for table, cells in ((pair.real, real), (pair.synthetic, synthetic)):
        values, unread = as_numbers(table["x"], "numerical", form)
        assert not unread.any() or form == "1234,5"
        assert np.isnan(values).sum() == sum(cell is None for cell in cells)
