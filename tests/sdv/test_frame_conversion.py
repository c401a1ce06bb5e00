"""Tables as people have them: polars and pyarrow in, the same kind out, with types as declared."""

from __future__ import annotations

import pickle
from typing import Any, get_args, get_type_hints

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sdv.errors import RefitWarning

from sdv_plausible import PlausibleDeniabilitySynthesizer, metadata_of
from sdv_plausible.sdv.fit_input import frame_kind, split_input

DOMAIN = {
    "age": {"range_min": 0, "range_max": 99},
    "sex": {"range_values": ["f", "m"]},
    "share": {"range_min": 0.0, "range_max": 1.0, "decimal_places": 2},
    "flag": {"range_values": [False, True]},
    "day": {"range_min": "2024-01-01", "range_max": "2024-03-01", "sdtype": "datetime"},
}
TABLE = pd.DataFrame(
    {
        "age": [20, 30, 40] * 200, "sex": ["f", "m", "f"] * 200, "share": [0.25, 0.5, 0.75] * 200,
        "flag": [True, False, True] * 200, "day": pd.to_datetime(["2024-01-05", "2024-02-05", "2024-02-29"] * 200),
    }
)  # fmt: skip
KINDS = {
    "polars": pl.from_pandas, "lazy polars": lambda t: pl.from_pandas(t).lazy(), "pyarrow": pa.Table.from_pandas,
    "pandas": lambda t: t, "pandas with Arrow types": lambda t: t.convert_dtypes(dtype_backend="pyarrow"),
    "unused categories": lambda t: t.assign(sex=pd.Categorical(t.sex, ["f", "m", "x"])),
}  # fmt: skip


def fitted(table):
    synth = PlausibleDeniabilitySynthesizer(metadata_of(DOMAIN), domain=DOMAIN, random_state=1)
    synth.fit(table)
    return synth


@pytest.fixture(scope="module")
def rows():
    return fitted(TABLE).sample(50)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_rows_in_the_kind_given(kind, rows):
    table = KINDS[kind](TABLE)
    synth = fitted(table)
    found = synth.sample(50)
    wanted = type(table.collect() if kind == "lazy polars" else table)
    assert type(found) is wanted
    values = found if isinstance(found, pd.DataFrame) else found.to_pandas()
    for name in ("age", "share"):
        np.testing.assert_array_equal(values[name].astype(float), rows[name].astype(float))
    assert values["sex"].astype(object).where(values["sex"].notna(), None).tolist() == (
        rows["sex"].where(rows["sex"].notna(), None).tolist()
    )
    if kind == "polars":
        assert found.schema["share"] == pl.Float64
        assert isinstance(found.schema["day"], pl.Datetime)
    again = pickle.loads(pickle.dumps(synth)).sample(3)
    assert type(again) is type(found)


@pytest.mark.parametrize("kind", [pl.DataFrame, lambda frame: frame.to_arrow(), pl.DataFrame.lazy])
def test_a_missing_cell_changes_no_other_cell_and_no_type(kind):
    long = [2**53, 2**53 + 1]
    whole = pl.DataFrame({"home": long * 3, "small": [1, 2] * 3, "flag": [False, True] * 3})
    whole = whole.with_columns(pl.col("small").cast(pl.UInt8))
    odd = whole.extend(pl.DataFrame([[None]] * 3, schema=whole.schema))
    _, before = split_input(kind(odd[:-1]))
    _, after = split_input(kind(odd))
    pd.testing.assert_frame_equal(before, after.iloc[:-1])
    assert before["home"].tolist() == long * 3
    assert list(map(str, before.dtypes)) == ["Int64", "UInt8", "boolean"]


def test_days_are_dates():
    days = pl.DataFrame({"day": ["2024-01-05", "2024-02-05", None] * 40})
    days, domain = days.with_columns(pl.col("day").str.to_date()), {"day": DOMAIN["day"]}
    for table in (days, days.to_arrow()):
        synth = PlausibleDeniabilitySynthesizer(metadata_of(domain), domain=domain)
        synth.fit(table)
        assert "datetime64" in str(split_input(synth.sample(5))[1]["day"].dtype)


def test_a_table_in_a_dict_and_what_is_no_table():
    synth = fitted({"people": pl.from_pandas(TABLE)})
    found = synth.sample(3)
    assert isinstance(next(iter(found.values())), pl.DataFrame)
    assert frame_kind({"people": TABLE}) is None
    with pytest.raises(TypeError, match=r"data \(list\) must be a DataFrame"):
        split_input([1, 2])
    with pytest.raises(TypeError, match="give scratch="):
        split_input("people-*.parquet")
    with pytest.raises(TypeError, match="a dict of 2 entries"):
        split_input({"a": TABLE, "b": TABLE})


def test_a_fit_to_processed_rows_forgets_the_kind_of_an_earlier_table():
    """The rows come as the last table was given, not as the first."""
    synth = fitted(pl.from_pandas(TABLE))
    with pytest.warns(RefitWarning):
        processed = synth.preprocess(TABLE)
    synth.fit_processed_data(processed)
    rows = synth.sample(3)
    rows = next(iter(rows.values())) if isinstance(rows, dict) else rows
    assert isinstance(rows, pd.DataFrame)


def test_whoever_samples_is_told_by_the_type_that_rows_are_a_frame():
    """Or anything else, as the fit was given: a caller of either need narrow nothing."""
    for method in ("", "_from_conditions", "_remaining_columns", "_with_points", "_multiple"):
        known = get_type_hints(
            getattr(PlausibleDeniabilitySynthesizer, f"sample{method}"), localns={"About": str}
        )
        told = known["return"]
        told = get_args(told)[0] if method in ("_with_points", "_multiple") else told
        assert set(get_args(told)) == {pd.DataFrame, Any}
