"""Rows come back in the types in which a Parquet file stored them: by its schema, never by its rows."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sdv_plausible import PlausibleDeniabilitySynthesizer, Release, fit_source, metadata_of
from sdv_plausible.cli.main import main
from sdv_plausible.extensions.verify.independent.all_checks import check
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.columns.output_types import restore_storage, storage_kind

N = 2000
RANGE = {"range_min": "2023-01-01", "range_max": "2023-12-31"}
DOMAIN = {
    "stamp": {"sdtype": "datetime", **RANGE},
    "day": {"sdtype": "datetime", **RANGE},
    "zoned": {"sdtype": "datetime", **RANGE},
    "price": {"sdtype": "numerical", "range_min": 0, "range_max": 100, "decimal_places": 2},
    "count": {"sdtype": "numerical", "range_min": 0, "range_max": 19, "range_is_nullable": True},
    "flag": {"sdtype": "boolean", "range_is_nullable": True},
    "size": {"sdtype": "numerical", "range_min": -9, "range_max": 9, "decimal_places": 1},
    "grade": {"sdtype": "ordinal", "range_values": ["low", "mid", "high"]},
}
TYPES = {
    "stamp": pa.timestamp("us"), "day": pa.date32(), "zoned": pa.timestamp("ms", "Europe/Zurich"),
    "price": pa.decimal128(9, 2), "count": pa.int16(), "flag": pa.bool_(), "size": pa.float32(),
    "grade": pa.dictionary(pa.int32(), pa.string()),
}  # fmt: skip
PANDAS = {
    "stamp": "datetime64[us]", "day": "object", "zoned": "datetime64[ms, Europe/Zurich]", "price": "object",
    "count": "Int64", "flag": "boolean", "size": "float32", "grade": "category",
}  # fmt: skip


def table():
    rng = np.random.default_rng(5)
    moments = np.datetime64("2023-01-01") + rng.integers(0, 300, N)
    cells = {
        "stamp": moments.astype("M8[us]"),
        "day": moments,
        "zoned": moments.astype("M8[ms]"),
        "price": [Decimal(int(cents)).scaleb(-2) for cents in rng.integers(0, 10_000, N)],
        "count": [None if x < 3 else int(x) for x in rng.integers(0, 20, N)],
        "flag": [None if x == 2 else bool(x) for x in rng.integers(0, 3, N)],
        "size": rng.normal(0, 1, N).round(1).astype("f4"),
        "grade": rng.choice(["low", "mid", "high"], N),
    }
    return pa.table({name: pa.array(cells[name]).cast(kind) for name, kind in TYPES.items()})


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "x.parquet"
    pq.write_table(table(), path)
    return path


@pytest.fixture(scope="module")
def release(stored):
    return fit_source(stored, domain=DOMAIN, epsilon=20.0)


def test_rows_have_the_types_of_the_file(release, tmp_path):
    """In Python, in Parquet and after the file was read again; digits are those that the cells have."""
    again = Release.from_bytes(release.to_bytes())
    for one in (release, again):
        made = one.sample(300)
        assert {name: str(kind) for name, kind in made.dtypes.items()} == PANDAS
        assert {type(cell) for cell in made["day"].dropna()} == {dt.date}
        assert {(type(cell), cell.as_tuple().exponent) for cell in made["price"].dropna()} == {(Decimal, -2)}
        assert list(made["grade"].cat.categories) == ["low", "mid", "high"]
        assert made["grade"].cat.ordered
        assert set(made["size"].dropna()) <= set(np.arange(-90, 91).astype("f4") / np.float32(10))
    again.sample_to_parquet(tmp_path / "parts", 300)
    (part,) = (tmp_path / "parts").glob("*.parquet")
    schema = pq.read_schema(part)
    found = {name: schema.field(name).type for name in TYPES}
    assert found == {**TYPES, "count": pa.int64(), "price": pa.decimal128(38, 2), "grade": pa.string()}
    assert [str(one) for one in check(release.to_bytes()) if one.state == "refused"] == []


def test_the_rows_decide_no_type(stored, tmp_path, release):
    """Rows of another file of the same schema, of which no cell is missing, and few rows."""
    full = table().to_pandas().dropna().head(20)
    pq.write_table(pa.Table.from_pandas(full, pa.schema(TYPES), preserve_index=False), tmp_path / "x.parquet")
    other = fit_source(tmp_path / "x.parquet", domain=DOMAIN, epsilon=20.0)
    assert other.schema.storage == release.schema.storage
    assert dict(other.sample(5).dtypes) == dict(release.sample(5).dtypes)
    assert dict(release.sample(0).dtypes) == dict(release.sample(5).dtypes)


def test_the_door_of_sdv_keeps_its_habit_and_its_release_has_the_types(stored):
    synth = PlausibleDeniabilitySynthesizer(metadata_of(DOMAIN), domain=DOMAIN, epsilon=20.0)
    synth.fit(stored)
    assert str(synth.sample(10)["count"].dtype) == "float64"
    assert str(synth.release().sample(10)["count"].dtype) == "Int64"
    synth.fit(table().to_pandas().astype({"day": "M8[ns]"}))
    assert synth.release().schema.storage == {}, "a frame's types may follow from its rows"


def test_the_command_line_writes_the_types_of_the_file(stored, tmp_path):
    words = {"day": {"sdtype": "datetime", **RANGE}, "count": DOMAIN["count"]}
    domain = tmp_path / "d.json"
    pd.Series(words).to_json(domain)
    release, rows = tmp_path / "x.release", tmp_path / "rows.parquet"
    assert main(["fit", str(stored), "--domain", str(domain), "-o", str(release), "--epsilon", "20"]) == 0
    assert main(["sample", str(release), "-o", str(rows), "-n", "50"]) == 0
    schema = pq.read_schema(rows)
    assert schema.field("stamp").type == pa.timestamp("us"), "of which a vote found a format"
    assert (schema.field("day").type, schema.field("count").type) == (pa.date32(), pa.int64())


def test_dates_whose_format_was_voted_for_come_back_as_stored(stored, tmp_path):
    """And a format that somebody declared is kept: at epsilon 20 a vote of 2,000 cells is sure."""
    words = {"day": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d", **RANGE}}
    made = fit_source(stored, domain=words, types="voted", epsilon=20.0)
    kinds = {name: str(kind) for name, kind in made.sample(50).dtypes.items()}
    wanted = {"stamp": "datetime64[us]", "day": "object", "zoned": "datetime64[ms, UTC]", "flag": "boolean"}
    assert {name: kinds[name] for name in wanted} == wanted
    made.sample_to_parquet(tmp_path / "parts", 50)
    (part,) = (tmp_path / "parts").glob("*.parquet")
    schema = pq.read_schema(part)
    assert schema.field("stamp").type == pa.timestamp("us")
    assert schema.field("zoned").type == pa.timestamp("ms", "UTC")
    assert pa.types.is_string(schema.field("day").type)


def test_which_types_come_back():
    for kind, found in (
        (pa.int8(), "number"), (pa.uint64(), "number"), (pa.float64(), "number"), (pa.int64(), "number"), (pa.string(), None),
        (pa.date64(), "date"), (pa.timestamp("ns", "UTC"), "timestamp[ns]"), (pa.decimal128(5, 1), "decimal"),
        (pa.list_(pa.int8()), None), (pa.time64("us"), None), (pa.dictionary(pa.int8(), pa.string()), "category"),
        (pa.dictionary(pa.int8(), pa.int64()), None), (pa.float16(), None),
    ):  # fmt: skip
        assert storage_kind(kind) == found


def test_what_a_type_does_not_hold_stays_as_it_is():
    """Whole numbers beyond it, texts beside numbers, dates as texts."""
    beyond = Attribute(name="x", kind="integer", lower=(0, 200), upper=(0, 300), nullable=True)
    texts = Attribute(name="x", kind="integer", lower=(0,), upper=(9,), values=("N",))
    written = Attribute(name="x", kind="datetime", lower=(0,), upper=(0,), datetime_format="%Y-%m-%d")
    for attribute, stored_as, cells, expected in (
        (texts, "number", pd.Series([0, "N"], dtype=object), "object"),
        (beyond, "number", pd.Series([0.0, np.nan]), "Int64"),
        (written, "date", pd.Series(["1970-01-01"], dtype=object), "object"),
    ):
        made = restore_storage(pd.DataFrame({"x": cells}), {"x": stored_as}, Domain((attribute,)))
        assert str(made["x"].dtype) == expected
