"""One odd cell decides nothing: at every door a table with it is fitted as the one without.

Every odd cell is tried in every kind of column, declared and learned, in a column of its own, so that none hides
another. Cells are Python's objects where a door takes those, Arrow's of a type where it takes types, and texts
in files of text.
"""

import json
import math
import pickle
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import odd_cells
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engines import CLUSTERS
from odd_cells import Word
from tables import ENGINES, SEED, document, held

from sdv_plausible import PlausibleDeniabilitySynthesizer, fit_source
from sdv_plausible.cli.main import main
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.sources.source import SourceError
from sdv_plausible.table.files import parquet_files

dask = pytest.importorskip("dask")
pytestmark = pytest.mark.filterwarnings("ignore:.*most cells are outside:UserWarning")  # the usual ones too

ROWS, PLACE = 24, 7
TYPED = [
    engine for engine in ENGINES if engine not in ("csv", "dask parquet", "excel")
]  # Dask reads those files itself, and Excel holds none of these cells


ZONES = ("Asia/Tokyo", "Asia/Manila")  # the latter was sixteen hours behind Greenwich, in its first years
COARSEST = {"polars": "ms", "polars lazy": "ms", "parquet": "ms", "duckdb": "us"}  # it holds or casts to


ENDING = (  # what asks them, or compares or reads them, used to be ended
    "a list", "a dict", "a set", "a list in a pair", "an array", "datetime64 1000000000000000 Y",
    "timedelta64 1 ps", "no unit", "no offset", "an ending zone", "a silent object", "a silent word",
    "a silent pair", "a silent list", "a silent moment", "a silent class",
)  # fmt: skip
OBJECTS = {
    "a number that no double holds": 10**400, "a negative one": -(10**400), "a decimal that no double holds": Decimal("1e999999"),
    "a signalling NaN": Decimal("sNaN"), "a decimal NaN": Decimal("NaN"), "a fraction": Fraction(1, 3), "infinity": -math.inf,
    "half a double": np.float16(1.5), "a long double": np.longdouble("1e4000"), "a complex number": 1 + 2j, "bytes": b"\xff\xfe",
    "numpy's bytes": np.void(b"abc"), "half a character": "\ud800", "a long text": "9" * 200_000, "numpy's text": np.str_("1990-01-01"),
    "a subclass of text": Word("a"), "a day": date(9999, 12, 31), "the first moment": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
    "the year 20000": np.datetime64("20000-01-01"), "a year far off": np.datetime64(2**62, "s"), "a time": time(12),
    "a duration": timedelta.max, "numpy's duration": np.timedelta64(1, "D"), "a pair": (1, "a"), "an object": object(), "truth": True,
    "NA": pd.NA, "a month": np.timedelta64(1, "M"), "one as a long complex number": np.clongdouble(1), "a moment in one row": datetime(1990, 1, 5),
    **{name: odd_cells.cells()[name] for name in ENDING},
}  # fmt: skip

TEXTS = (
    str(10**400), "1e999999", "-inf", "sNaN", "NaN", "0x1p5", "1_000", "\u0663", "9" * 100_000, "20000-01-01",
    "-0005-01-01", "1990-02-30", "now", "24:00:00", "\x00", "\u2028", '"', "a,b", "two\nlines", " ", "=1+1",
)  # fmt: skip
ANY, NUMBER, MOMENT = ("id", "text", "code", "flag"), ("number", "mixed"), ("date",)
STORED = (  # Arrow's type, a usual cell, an odd one, kinds
    (pa.int64(), 1, -(2**63), (*ANY, *NUMBER)),
    (pa.uint64(), 1, 2**64 - 1, (*ANY, *NUMBER)),
    (pa.float64(), 1.0, math.inf, (*ANY, *NUMBER)),
    (pa.float64(), 1.0, math.nan, (*ANY, *NUMBER)),
    (pa.decimal128(38, 0), Decimal(1), Decimal("9" * 38), (*ANY, *NUMBER)),
    (pa.timestamp("us"), 0, 253_402_300_800_000_000, (*ANY, *MOMENT)),  # the year 10000
    (pa.timestamp("us"), 0, -62_135_596_800_000_001, (*ANY, *MOMENT)),  # the year 0
    (pa.timestamp("us"), 0, 2**62, (*ANY, *MOMENT)),
    (pa.timestamp("ms", "America/New_York"), 0, -62_135_596_800_000, ANY),
    (pa.date32(), 0, 2_932_897, (*ANY, *MOMENT)),  # the year 10000
    (pa.date32(), 0, -2_000_000, (*ANY, *MOMENT)),
    (pa.time64("ns"), 0, 1, ("id",)),
    (pa.duration("us"), 0, 2**62, ("id",)),
    (pa.string(), "1", "9" * 100_000, (*ANY, *NUMBER, *MOMENT)),
    (pa.binary(), b"a", b"\xff\xfe", ("id",)),
)
KINDS = {  # what it is, declared; usual cells
    "id": ({"sdtype": "id"}, {}, ["k1", "k2"]),
    "text": ({"sdtype": "categorical"}, {"range_values": ["a", "b"]}, ["a", "b"]),
    "code": ({"sdtype": "categorical"}, {"range_values": [1, 2]}, [1.0, 2.0]),
    "flag": ({"sdtype": "boolean"}, {}, [True, False]),
    "number": ({"sdtype": "numerical"}, {"range_min": 0, "range_max": 39}, [3, 4]),
    "mixed": ({"sdtype": "numerical"}, {"range_min": 0, "range_max": 39, "special_values": ["no"]}, [3, "no"]),
    "date": ({"sdtype": "datetime", "datetime_format": "%Y-%m-%d"}, {"range_min": "1990-01-01", "range_max": "1990-03-31"}, ["1990-01-05", "1990-02-06"]),
}  # fmt: skip


def types(names):
    """Semantic types of columns, whose names begin with their kind."""
    return {name: KINDS[name.split(":")[0]][0] for name in names}


def declared(names):
    """Declarations of every other column; the rest are learned."""
    found = {name: KINDS[name.split(":")[0]][1] for name in names[::2]}
    return {name: {**words, "range_is_nullable": True} for name, words in found.items() if words}


def of_objects(cells, copies=("", " again")):
    """Every cell, in two columns of every kind: one is declared; where there is one copy, in turn."""
    columns = {}
    for kind, (_, _, usual) in KINDS.items():
        for name, cell in cells.items():
            column = np.empty(ROWS, dtype=object)
            column[:] = usual * (ROWS // 2)
            column[PLACE] = cell
            columns |= {f"{kind}: {name}{copy}": column for copy in copies}
    return pd.DataFrame(columns)


def of_arrow():
    """The same of Arrow's types, which a column has one of."""
    columns = {}
    for i, (kind, usual, cell, kinds) in enumerate(STORED):
        cells = [usual] * PLACE + [cell] + [usual] * (ROWS - PLACE - 1)
        counted = pa.types.is_temporal(kind)  # Python has no object for some
        column = pa.array(cells, f"int{kind.bit_width}").view(kind) if counted else pa.array(cells, kind)
        columns |= {f"{name}: {i} {kind}{copy}": column for name in kinds for copy in ("", " again")}
    return pa.table(columns)


def fit_frame(table, names):
    """Fit the synthesizer, at the cost that was planned before there were rows."""
    metadata = metadata_from_columns(types(names))
    synth = PlausibleDeniabilitySynthesizer(metadata, domain=declared(names), model="independent")
    planned = synth.plan().ledger
    synth.fit(table)
    ledger = synth.privacy_ledger()
    assert ledger.claims_privacy
    assert ledger.total() == planned.total()
    charged = [entry for entry in ledger.entries if entry.name != "noise"]  # what answers say is said after
    assert sorted(map(repr, charged)) == sorted(map(repr, planned.entries))


def fit_where_it_is(table, names):
    metadata = metadata_from_columns(types(names))
    assert fit_source(table, metadata, declared(names), model="independent").ledger.claims_privacy


def fit_file(path, names):
    """Let the command fit a file: its exit code is that of a table that fits."""
    words = {name: spec | declared(names).get(name, {}) for name, spec in types(names).items()}
    (path.parent / "domain.json").write_text(json.dumps(words))
    options = ["--domain", str(path.parent / "domain.json"), "--model", "independent", "--rows", "3"]
    assert main(["synthesize", str(path), "-o", str(path.parent / "made.csv"), *options]) == 0


@pytest.mark.parametrize("door", ["frame", "pandas", pytest.param("dask", marks=pytest.mark.nightly)])
def test_an_object_decides_nothing(door, tmp_path):
    """But for silent ones on Dask, which asks each object for its bytes, before it is anybody's table."""
    told = {name: cell for name, cell in OBJECTS.items() if door != "dask" or "silent" not in name}
    frame = of_objects(told, ("", " again") if door == "frame" else ("",))
    if door == "frame":
        fit_frame(frame, list(frame))
        return
    with dask.config.set({"dataframe.convert-string": False, "scheduler": "synchronous"}):
        fit_where_it_is(held(door, frame, tmp_path), list(frame))


@pytest.mark.parametrize("door", ["arrow", "polars", "pandas"])
def test_a_cell_of_a_type_decides_nothing_in_a_frame(door):
    table = of_arrow()
    if door == "polars":
        frame = pytest.importorskip("polars").from_arrow(table)
    else:
        frame = table if door == "arrow" else table.to_pandas(types_mapper=pd.ArrowDtype)
    fit_frame(frame, table.column_names)


@pytest.mark.parametrize("engine", TYPED)
def test_a_cell_of_a_type_decides_nothing_where_it_is(engine, tmp_path):
    table = of_arrow()
    with dask.config.set(scheduler="synchronous"):
        source = held(engine, table.to_pandas(types_mapper=pd.ArrowDtype), tmp_path)
        fit_where_it_is(source, table.column_names)


def test_a_cell_of_a_type_decides_no_exit_code(tmp_path):
    table = of_arrow()
    pq.write_table(table, tmp_path / "table.parquet")
    fit_file(tmp_path / "table.parquet", table.column_names)


@pytest.mark.parametrize("fit", [fit_where_it_is, fit_file])
def test_a_text_decides_nothing(fit, tmp_path):
    frame = of_objects({str(i): text for i, text in enumerate(TEXTS)}, ("",))
    fit(held("csv", frame, tmp_path), list(frame))


@pytest.mark.filterwarnings("ignore:whose. some cells do not identify a person")
@pytest.mark.parametrize("persons", [OBJECTS, {str(i): cell for i, cell in enumerate(TEXTS)}])
def test_nor_the_name_of_a_person(persons, tmp_path):
    """Here all of them are in one column, each looked at alone: no name is compared with another by pandas."""
    names = np.empty(2 * len(persons), dtype=object)
    for i, name in enumerate([*persons.values(), *persons.values()]):
        names[i] = name
    frame = pd.DataFrame({"whose": pd.Series(names, dtype=object), "sex": ["f", "m"] * len(persons)})
    columns = {"whose": {"sdtype": "id"}, "sex": {"sdtype": "categorical"}}
    options = {"domain": {"sex": {"range_values": ["f", "m"]}}, "person": "whose"}
    synth = PlausibleDeniabilitySynthesizer(metadata_from_columns(columns), **options)
    synth.fit(frame)
    fit_source(frame, metadata_from_columns(columns), scratch=tmp_path, **options)


def learned(first, usual, door):
    """Bytes of a domain, learned without noise of a column whose first cell is another one."""
    column = np.empty(ROWS * 10, dtype=object)
    column[:] = usual * (len(column) // len(usual))
    column[0] = first
    frame = pd.DataFrame({"colour": pd.Series(column, dtype=object), "d": [True, False] * (len(column) // 2)})
    types = {"colour": {"sdtype": "categorical"}, "d": {"sdtype": "boolean"}}
    options = {"model": "independent", "epsilon": math.inf}
    metadata = metadata_from_columns(types)
    if door == "frame":
        synth = PlausibleDeniabilitySynthesizer(metadata, **options)
        synth.fit(frame)
        return pickle.dumps(synth.get_domain().attributes)
    release = fit_source(frame, metadata, allow_no_claim=True, rows=50, **options)
    return pickle.dumps(release.domain.attributes)


DAY = pd.Timestamp("2020-01-01")


FIRSTS = {
    "numbers": ([1, 2], [1.0, np.int8(1), np.timedelta64(1, "M"), np.clongdouble(1), [1]]),
    "moments": ([DAY, "z"], [DAY.to_pydatetime(), DAY.as_unit("ns"), np.datetime64("2020-01-01"), [DAY]]),
    "texts": (["a", "b"], [Word("a"), np.str_("a"), odd_cells.Colour.A, odd_cells.silent(str, "a")]),
    "a name's text": (
        ["colour", "b"],
        [Word("colour"), "".join(["col", "our"])],
    ),  # a pickle tells one object from two
}


@pytest.mark.parametrize("door", ["frame", "pandas"])
@pytest.mark.parametrize("kind", FIRSTS)
def test_what_the_first_of_equal_cells_is_changes_no_byte(door, kind):
    """A fit without noise, so that its domain is a function of the rows; lists leave one row less."""
    usual, firsts = FIRSTS[kind]
    same, missing = learned(usual[0], usual, door), learned(None, usual, door)
    for first in firsts:
        is_missing = type(first) in (list, np.timedelta64)
        assert learned(first, usual, door) == (missing if is_missing else same)


def of_moments(engine, *, far):
    """A row of each person; two moments of every unit and zone are far off, or missing in their places."""
    units = ["s", "ms", "us", "ns"]
    units = units[units.index(COARSEST.get(engine, "s")) :]
    columns = {}
    for i, (unit, zone) in enumerate(product(units, ZONES)):
        cells = [0] * ROWS
        cells[2 * i : 2 * i + 2] = (2**63 - 1, -(2**63) + 1)
        seconds = pa.array(cells, pa.int64(), mask=None if far else np.array(cells) != 0)
        columns[f"{unit} {zone}"] = seconds.view(pa.timestamp(unit, zone))
    return pa.table(columns | {"whose": list(range(ROWS)), "sex": ["f", "m"] * (ROWS // 2)})


def fit_moments(engine, folder, *, far):
    """A release of people, a cell of each of whom is the first of what is kept of them."""
    table = of_moments(engine, far=far)
    moments = table.column_names[:-2]
    kinds = {"whose": {"sdtype": "id"}, "sex": {"sdtype": "categorical"}}
    kinds |= {name: {"sdtype": "datetime"} for name in moments}
    days = {"range_min": "1970-01-01", "range_max": "1970-01-02", "range_is_nullable": True}
    said = {"sex": {"range_values": ["f", "m"]}} | dict.fromkeys(moments, days)
    source = table if engine == "arrow" else held(engine, table.to_pandas(types_mapper=pd.ArrowDtype), folder)
    options = {"person": "whose", "scratch": folder, "model": "independent"}
    options |= {"random_state": SEED, "allow_no_claim": True}
    return document(fit_source(source, kinds, said, **options))


@pytest.mark.parametrize("engine", [engine for engine in TYPED if engine not in CLUSTERS])
def test_a_moment_that_no_clock_of_its_zone_shows_is_missing_at_every_door(engine, tmp_path):
    """pandas has no object for it, and looked at the first cell of what each person's rows are joined of."""
    assert fit_moments(engine, tmp_path, far=True) == fit_moments(engine, tmp_path, far=False)


def test_moments_let_in_as_they_are_would_be_caught(monkeypatch, tmp_path):
    """Planted: far moments stay; what joins the rows then says no word of the cell."""
    monkeypatch.setattr(parquet_files, "mask_out_of_range", lambda column: column)
    with pytest.raises(SourceError, match=r"reading failed \(OutOfBoundsDatetime\)\. If the reader takes"):
        fit_moments("arrow", tmp_path, far=True)


def test_cells_let_in_as_they_are_would_be_caught(monkeypatch):
    """Planted: a moment of the year 10000 is asked of Python."""
    monkeypatch.setattr(parquet_files, "as_objects", lambda cells: cells.to_pylist())
    with pytest.raises(OverflowError, match="date value out of range"):
        fit_where_it_is(of_arrow(), of_arrow().column_names)
