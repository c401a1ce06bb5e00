"""Tables to compare: which columns, of which kinds, in every form that a user may hand over."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sdmetrics.errors import IncomputableMetricError

from sdv_plausible.evaluation.table_pair import (
    column_kinds,
    frames_by_table,
    metadata_by_table,
    prepare_holdout,
    prepare_pair,
    to_numbers,
)


class Described:
    """Stands for SDV's Metadata object."""

    def __init__(self, document):
        self.document = document

    def to_dict(self):
        return self.document


def test_keys_and_personal_data_are_not_compared():
    kinds = {"id": "id", "number": "numerical", "a": "categorical", "b": "categorical", "age": "numerical",
             "grade": "ordinal", "seen": "datetime"}  # fmt: skip
    personal = {"email": {"sdtype": "email", "pii": True}, "name": {"sdtype": "categorical", "pii": True}}
    columns = {**{name: {"sdtype": kind} for name, kind in kinds.items()}, **personal}
    described = {"primary_key": "id", "alternate_keys": ["number", ["a", "b"]], "columns": columns}
    compared = {"age": "numerical", "grade": "categorical", "seen": "datetime"}
    assert column_kinds(described, pd.DataFrame()) == compared


def test_kinds_are_inferred_without_metadata(mixed_table):
    kinds = column_kinds(None, mixed_table)
    assert kinds["age"] == kinds["children"] == kinds["income"] == "numerical"
    assert kinds["member"] == kinds["grade"] == kinds["city"] == "categorical"
    assert kinds["start"] == "datetime"


def test_frames_dicts_and_metadata_objects_are_accepted():
    frame = pd.DataFrame({"x": [1, 2], "y": ["a", "b"]})
    document = {"columns": {"x": {"sdtype": "numerical"}, "y": {"sdtype": "categorical"}}}
    for table, told, kind in product(
        (frame, {"people": frame}), (document, {"tables": {"people": document}}), (dict, Described)
    ):
        pair = prepare_pair(table, table, kind(told))
        assert pair.kinds == {"x": "numerical", "y": "categorical"}
        assert pair.real.equals(frame)


def test_one_of_several_tables_is_named():
    frames = {"a": pd.DataFrame({"x": [1]}), "b": pd.DataFrame({"y": [1]})}
    tables = {
        name: {"columns": {column: {"sdtype": "numerical"}}} for name, column in (("a", "x"), ("b", "y"))
    }
    assert prepare_pair(frames, frames, {"tables": tables}, "b").kinds == {"y": "numerical"}
    with pytest.raises(ValueError, match="table_name .None. must name one of the tables"):
        prepare_pair(frames, frames, {"tables": tables})


def test_bad_tables_get_clear_errors():
    x, ids = pd.DataFrame({"x": [1]}), {"columns": {"x": {"sdtype": "id"}}}
    for real, synthetic, metadata, error, words in (
        ([1], x, None, ValueError, "real_data .list. must be a DataFrame"),
        (x, pd.DataFrame({"y": [1]}), None, ValueError, "synthetic_data lacks the columns"),
        (x[:0], x, None, IncomputableMetricError, "real_data has no rows"),
        (x, x, 7, TypeError, "metadata .int. must be a dict"),
        (x, x, ids, IncomputableMetricError, "no column can be compared"),
    ):
        with pytest.raises(error, match=words):
            prepare_pair(real, synthetic, metadata)


def test_holdout_must_have_the_columns():
    pair = prepare_pair(pd.DataFrame({"x": [1]}), pd.DataFrame({"x": [1]}))
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
    pair = prepare_pair(pd.DataFrame({"x": real}), pd.DataFrame({"x": synthetic}), NUMBERS)
    assert pair.formats == ({} if form is None else {"x": form})
    for table, cells in ((pair.real, real), (pair.synthetic, synthetic)):
        values, unread = to_numbers(table["x"], "numerical", form)
        assert not unread.any() or form == "1234,5"
        assert np.isnan(values).sum() == sum(cell is None for cell in cells)


FRAME = pd.DataFrame({1: [1, 2]})
COLUMNS = {"columns": {"1": {"sdtype": "numerical"}}}


def test_one_table_takes_the_name_it_is_given():
    assert metadata_by_table(COLUMNS, FRAME, FRAME) == {"tables": {"table": COLUMNS}}
    assert metadata_by_table(COLUMNS, FRAME, {"people": FRAME}) == {"tables": {"people": COLUMNS}}
    several = {"tables": {"a": COLUMNS, "b": COLUMNS}}
    assert metadata_by_table(several, {}, {}) == several
    with pytest.raises(ValueError, match=r"metadata \(None\)"):
        metadata_by_table(None, FRAME, FRAME)


def test_frames_are_found_by_name_and_their_columns_are_text():
    assert list(frames_by_table(FRAME, ["a"], "real_data")["a"].columns) == ["1"]
    assert set(frames_by_table({"a": FRAME, "b": FRAME}, ["a"], "real_data")) == {"a"}
    for wrong, words in ((FRAME, "must be a dict"), ({"a": FRAME}, "must hold"), (7, "must be a DataFrame")):
        with pytest.raises(ValueError, match=words):
            frames_by_table(wrong, ["a", "b"], "real_data")
