"""Whatever a column is stored as: at every door it is fitted, or refused before a budget has paid."""

import datetime as dt
import re
from contextlib import nullcontext
from decimal import Decimal
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from cases import each_once

from sdv_plausible import PlausibleDeniabilitySynthesizer, fit_source, metadata_of
from sdv_plausible.fitting import domain_learning
from sdv_plausible.fitting.domain_learning import learned_file
from sdv_plausible.fitting.release_budget import Budget
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.sdv import fit_input
from sdv_plausible.sdv.fit_input import split_input
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.sources import bounded_rows, source_types
from sdv_plausible.sources.source_types import open_source
from sdv_plausible.table.cells.cell_series import normalize_cells
from sdv_plausible.table.columns.cell_reader import ColumnType
from sdv_plausible.table.declared.domain_file import DomainFile
from sdv_plausible.table.files.storage_types import check_storage, mask_invalid_utf8

pytestmark = pytest.mark.filterwarnings("ignore")  # half of what is tried here is no sensible declaration

ROWS = 60  # pandas takes another way of reading dates beyond 50
MOMENT, DAY = dt.datetime(2020, 1, 1), dt.date(2020, 1, 1)


def of_arrow(value, kind):
    return pd.Series(
        pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array([value, None] * (ROWS // 2), kind)]))
    )


def of_dictionary(value):
    cells = pa.array([value, None] * (ROWS // 2)).dictionary_encode()
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([cells])))


DATES = pd.Series(pd.date_range("2020-01-01", periods=ROWS))
STORED = {
    **{kind: pd.Series(np.ones(ROWS, kind)) for kind in ("?", "b", "Q", "e", "f", "d", "g", "F", "D", "G", ">i4")},
    **{kind: pd.Series([1, None] * (ROWS // 2), dtype=kind) for kind in ("Int64", "UInt8", "Float32", "boolean")},
    **{kind: pd.Series(["2020-01-01"] * ROWS, dtype=kind) for kind in ("object", "string[python]", "string[pyarrow]")},
    "dates": DATES, "dates in seconds": DATES.astype("M8[s]"), "in UTC": DATES.dt.tz_localize("UTC"),
    "durations": DATES - DATES[0], "periods": DATES.dt.to_period("D"),
    "intervals": pd.Series(pd.IntervalIndex.from_breaks(range(ROWS + 1))),
    **{f"sparse {kind}": pd.Series(pd.arrays.SparseArray(np.ones(ROWS, kind))) for kind in ("?", "i8", "f8", "O")},
    **{
        f"arrow {kind}": of_arrow(value, kind)
        for value, kinds in {
            1: (pa.int8(), pa.uint64(), pa.float32(), pa.float64()),
            None: (pa.null(),),
            "2020-01-01": (pa.string(), pa.large_string(), pa.string_view()),
            b"ab": (pa.binary(), pa.large_binary(), pa.binary(2)),
            DAY: (pa.date32(), pa.date64()),
            MOMENT: (pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("us", "Europe/Zurich")),
            dt.time(1): (pa.time32("s"), pa.time64("ns")),
            dt.timedelta(1): (pa.duration("s"), pa.duration("ns")),
            Decimal(1): (getattr(pa, "decimal32", pa.decimal128)(5, 1), getattr(pa, "decimal64", pa.decimal128)(5, 1), pa.decimal128(5, 1), pa.decimal256(5, 1)),
        }.items()
        for kind in kinds
    },
    "arrow truths": of_arrow(True, pa.bool_()),
    "arrow halves": of_arrow(np.float16(1), pa.float16()),
    "arrow months": of_arrow((1, 2, 3), pa.month_day_nano_interval()),
    "arrow lists": of_arrow([1], pa.list_(pa.int64())),
    "arrow lists of one": of_arrow([1], pa.list_(pa.int64(), 1)),
    "arrow structs": of_arrow({"a": 1}, pa.struct([("a", pa.int64())])),
    "arrow maps": of_arrow([("a", 1)], pa.map_(pa.string(), pa.int64())),
    **{f"dictionary of {type(v).__name__}": of_dictionary(v) for v in ("2020-01-01", 1, 1.5, MOMENT, Decimal(1), b"a")},
}  # fmt: skip
OBJECTS = [
    pd.Series([value] * (ROWS - 1) + [None], dtype=object)
    for value in (dt.time(1), [1], {"a": 1}, b"ab", dt.timedelta(1), pd.Period("2020-01"), pd.Interval(0, 1))
]
STORED |= {
    f"category of {name}": STORED[name].astype("category")
    for name in ("object", "d", "?", "D", "dates", "durations", "intervals", "periods")
}
UNREAD = [
    name
    for name, stored in STORED.items()
    if name.startswith(("category of durations", "category of intervals", "category of periods"))
    or re.match(r"(period|interval|timedelta|duration|time32|time64|(fixed_size_|large_)?(list|binary)|struct|map)", str(stored.dtype))
]  # fmt: skip
"""What no cell is read from."""
DECLARED = {
    "categorical": {"range_values": ["1", "2"]},
    "numerical": {"range_min": 0, "range_max": 9},
    "boolean": {},
    "datetime": {"range_min": "2020-01-01", "range_max": "2020-12-31"},
}
PERSONS = {"c": {"sdtype": "id"}, "d": {"sdtype": "categorical"}}


def by_synthesizer(rows, columns, budget, person):
    metadata = metadata_from_columns(columns)
    PlausibleDeniabilitySynthesizer(metadata, budget=budget, model="independent", person=person).fit(rows)


def by_source(rows, columns, budget, person):
    """The declared domain is tried at this door; the others learn it."""
    domain = {
        n: {**spec, **DECLARED.get(spec["sdtype"], {}), "range_is_nullable": True}
        for n, spec in columns.items()
    }
    domain |= {person: columns[person]} if person else {}
    options = {"model": "independent", "person": person, "scratch": budget._path.parent}
    fit_source(rows, domain=domain, budget=budget, **options)


def by_declaration(rows, columns, budget, person):
    rows, columns = rows.assign(more="x"), {**columns, "more": {"sdtype": "categorical"}}
    who = ONE_ROW if person is None else Neighbours.parse("add_remove", person)
    learned_file(rows, DomainFile(columns=columns), 0.5, 1e-9, budget=budget, neighbours=who)


DOORS = {
    "synthesizer": by_synthesizer, "source": by_source, "declaration": by_declaration,
}  # fmt: skip


def spec_of(stored, sdtype):
    """The declaration that goes with it; dates are those of a format where they are not stored as such."""
    moments = str(stored.dtype).startswith(("datetime64", "timestamp", "date32", "date64"))
    if sdtype == "datetime" and not moments:
        return {"sdtype": sdtype, "datetime_format": "%Y-%m-%d"}
    return {"sdtype": sdtype}


def taken(stored, sdtype):
    try:
        check_storage(pd.DataFrame({"c": stored}), {"c": sdtype})
        check_storage(normalize_cells(pd.DataFrame({"c": stored})), {"c": sdtype})
    except (ValueError, NotImplementedError):
        return False
    return True


@pytest.fixture
def budget(tmp_path):
    return Budget(1e4, 1e-3, tmp_path / "budget.json")


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("sdtype", DECLARED)
def test_what_is_taken_is_fitted(door, sdtype, budget):
    """All of them in one table: who fails is one of them."""
    rows = {name: stored for name, stored in STORED.items() if taken(stored, sdtype)}
    columns = {name: spec_of(stored, sdtype) for name, stored in rows.items()}
    assert len(rows) > len({*STORED} - {*UNREAD}) / 2
    DOORS[door](pd.DataFrame(rows), columns, budget, None)
    assert budget.charged()["epsilon"] > 0


NOT_TAKEN = r"stored as|view|month_day|endian"


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("sdtype", DECLARED)
def test_what_is_not_costs_nothing(door, sdtype, budget):
    refused = {name: stored for name, stored in STORED.items() if not taken(stored, sdtype)}
    other = "G" if sdtype != "numerical" else "arrow halves"
    assert {"arrow lists", "arrow maps", "arrow months", other} <= set(refused)
    for name, stored in refused.items():
        columns = {"c": spec_of(stored, sdtype), "d": {"sdtype": "boolean"}}
        with pytest.raises((ValueError, NotImplementedError), match=NOT_TAKEN):
            DOORS[door](pd.DataFrame({"c": stored, "d": [True] * ROWS}), columns, budget, None)
        assert budget.charged()["epsilon"] == 0, name


@pytest.mark.parametrize("door", DOORS)
def test_the_same_holds_of_the_column_of_persons(door, budget):
    """Everything that is stored at one of the doors."""
    for name, stored in list(STORED.items())[list(DOORS).index(door) :: len(DOORS)]:
        before, is_taken = budget.charged()["epsilon"], taken(stored, "id")
        refusal = pytest.raises((ValueError, NotImplementedError), match=NOT_TAKEN)
        with nullcontext() if is_taken else refusal:
            DOORS[door](pd.DataFrame({"c": stored, "d": ["x"] * ROWS}), PERSONS, budget, "c")
        assert (budget.charged()["epsilon"] > before) is is_taken, name


@pytest.mark.parametrize("door", DOORS)
def test_without_the_look_at_the_schema_a_budget_would_pay(door, budget, monkeypatch):
    """The control."""
    for module in (fit_input, source_types, bounded_rows, domain_learning):
        monkeypatch.setattr(module, "check_storage", lambda *_, **__: None)
    columns = {"c": {"sdtype": "categorical"}, "d": {"sdtype": "boolean"}}
    with pytest.raises((TypeError, ValueError, NotImplementedError)):
        DOORS[door](pd.DataFrame({"c": STORED["arrow lists"], "d": ["x"] * ROWS}), columns, budget, None)
    assert budget.charged()["epsilon"] > 0


@pytest.mark.parametrize("library", ["pyarrow", "polars"])
def test_other_frames_say_that_a_column_is_nested(library, budget):
    rows = pa.table({"c": [[1], [2, 3]] * 30, "d": ["x", "y"] * 30})
    frame = in_library(library, rows)
    for person, sdtype in ((None, "categorical"), ("c", "id")):
        with pytest.raises(ValueError, match="column 'c' is stored as .*list<.*single value"):
            by_synthesizer(frame, {"c": {"sdtype": sdtype}, "d": {"sdtype": "categorical"}}, budget, person)
    assert budget.charged()["epsilon"] == 0
    by_synthesizer(frame, PERSONS, budget, None)  # an id's cells are never read


BYTES = b"\xff\xfeZZSECRET"


def no_texts(kind):
    """Texts of which one is no UTF-8, as a program may hand them to Arrow."""
    large = kind == "large"
    held = pa.array([BYTES, b"x", b"y"], pa.large_binary() if large else pa.binary())
    words = pa.Array.from_buffers(pa.large_string() if large else pa.string(), 3, held.buffers())
    where = pa.array([1, 2] * 20 + [0] + [2] * 9, pa.int32())
    cells = pa.DictionaryArray.from_arrays(where, words) if kind == "dictionary" else words.take(where)
    return pa.table({"c": cells, "d": ["x", "y"] * 25})


def in_library(library, rows):
    if library == "polars":
        return pytest.importorskip("polars").from_arrow(rows)
    if library == "pandas":
        return rows.to_pandas(types_mapper=pd.ArrowDtype)
    if library == "strings":
        texts = pd.Series(pd.arrays.ArrowStringArray(rows.column("c")), dtype="string[pyarrow]")
        return pd.DataFrame({"c": texts, "d": rows.column("d").to_pandas()})
    return rows


WORDS = {
    **{sdtype: {"sdtype": sdtype} for sdtype in ("categorical", "numerical", "id")},
    "datetime": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
}


@pytest.mark.parametrize(
    ("kind", "library"),
    each_once(["text", "large", "dictionary"], ["pyarrow", "polars", "pandas", "strings"]),
)
def test_a_text_that_is_none_is_missing_at_every_door(kind, library, tmp_path):
    given = in_library(library, no_texts(kind))
    for sdtype, spec in WORDS.items():
        columns, budget = {"c": spec, "d": {"sdtype": "categorical"}}, Budget(9.0, 1e-7, tmp_path / sdtype)
        for fit in (by_synthesizer, by_source):
            fit(given, columns, budget, "c" if sdtype == "id" else None)
    table = split_input(given)[1]
    assert table["c"].isna().tolist() == [i == 40 for i in range(50)]
    assert table["c"].drop(40).astype(object).tolist() == ["x", "y"] * 20 + ["y"] * 9


def test_texts_keep_their_type_whatever_one_of_them_holds():
    """One row does not change how the others are stored; a frame without such a text is left alone."""
    for kind in ("text", "large", "dictionary"):
        frame = in_library("pandas", no_texts(kind))
        mended = mask_invalid_utf8(frame)
        assert mended.dtypes.equals(frame.dtypes)
        assert mask_invalid_utf8(mended) is mended


@pytest.mark.parametrize("library", ["pyarrow", "pandas", "strings"])
def test_left_as_it_is_one_would_end_the_fit(library, budget, monkeypatch):
    """The control."""
    monkeypatch.setattr(fit_input, "mask_invalid_utf8", lambda frame: frame)
    monkeypatch.setattr(fit_input, "has_invalid_utf8", lambda _: False)
    columns = {"c": {"sdtype": "numerical"}, "d": {"sdtype": "categorical"}}
    with pytest.raises(Exception, match="Wrapping|codec"):
        by_synthesizer(in_library(library, no_texts("text")), columns, budget, None)


def opened(stored, spec):
    types = {"c": ColumnType(name="c", **spec)}
    try:
        return bool(open_source(pa.table({"c": stored}), types))
    except (ValueError, NotImplementedError):
        return False


@pytest.mark.parametrize("sdtype", [*DECLARED, "id"])
def test_an_arrow_table_that_is_opened_is_fitted(sdtype, tmp_path):
    """Its types are looked at as it is opened, before the draw; an id's as it says whose a row is."""
    stored = {n: c.array.__arrow_array__() for n, c in STORED.items() if isinstance(c.dtype, pd.ArrowDtype)}
    columns = {name: spec_of(STORED[name], sdtype) for name in stored}
    columns = {name: spec for name, spec in columns.items() if opened(stored[name], spec)}
    assert len(columns) > 5
    rows = pa.table({"d": ["x"] * ROWS, **{name: stored[name] for name in columns}})
    people = list(columns)[::3] if sdtype == "id" else [None]
    for i, person in enumerate(people):
        budget = Budget(9.0, 1e-7, tmp_path / f"{i}")
        read = {person: {"sdtype": "id"}} if person else columns
        by_source(rows, {**read, "d": {"sdtype": "categorical"}}, budget, person)


@pytest.mark.parametrize("door", DOORS)
def test_sparse_columns_are_refused_by_their_type(door, budget):
    """What numpy makes of all their cells depends on whether there is one gap."""
    names = [name for name in STORED if name.startswith("sparse")]
    assert len(names) == 4
    modelled = {"c": {"sdtype": "categorical"}, "d": {"sdtype": "boolean"}}
    for name, (columns, person) in product(names, ((PERSONS, "c"), (modelled, None))):
        with pytest.raises(ValueError, match="is stored as Sparse"):
            DOORS[door](pd.DataFrame({"c": STORED[name], "d": [True] * ROWS}), columns, budget, person)
    assert budget.charged()["epsilon"] == 0


def test_a_type_in_which_every_cell_is_lost_costs_nothing(tmp_path):
    """Of numbers, and of those that name people. Control: dates as a category, and a column with cells that go."""
    days, spans = pd.date_range("2020-01-01", periods=90), pd.to_timedelta(range(90), unit="s")
    for i, (cells, declared) in enumerate(
        (
            (days, "numerical"), (days.to_period("M"), "numerical"), (spans, "numerical"), (spans, "id"),
            (pd.arrays.IntervalArray.from_breaks(range(91)), "id"),
        )
    ):  # fmt: skip
        frame = pd.DataFrame({"x": cells, "sex": ["f", "m"] * 45})
        domain, budget = (
            {"x": {"sdtype": declared}, "sex": {"range_values": ["f", "m"]}},
            Budget(9.0, 1e-6, tmp_path / f"{i}"),
        )
        told = {"domain": domain, "budget": budget, "person": "x" if declared == "id" else None}
        for fit in (
            PlausibleDeniabilitySynthesizer(metadata_of(domain), **told).fit,
            partial(fit_source, **told, scratch=tmp_path),
        ):
            with pytest.raises(
                ValueError, match="column 'x' is stored as .*, (but declared as|which is not supported)"
            ):
                fit(frame)
        assert budget.charged()["epsilon"] == 0
        check_storage(frame.assign(x=range(90)), {"x": declared})
    check_storage(
        pd.DataFrame({"x": days}), {"x": "categorical"}
    )  # no cell of the others is read as anything


@pytest.mark.parametrize("name", UNREAD)
def test_cells_that_are_not_read_are_refused_by_name_with_the_way_out(name, tmp_path):
    """At every door before a budget has paid, and by a look at the rows: they were empty columns before."""
    rows, budget = pd.DataFrame({"a": range(ROWS), "c": STORED[name]}), Budget(9.0, 1e-6, tmp_path / "b")
    voted = {"types": "voted", "model": "independent", "budget": budget}
    metadata = metadata_from_columns({n: {"sdtype": "categorical"} for n in rows})
    synth = PlausibleDeniabilitySynthesizer(metadata, **voted)
    for door in (synth.fit, synth.check, partial(fit_source, **voted)):
        refused_with_the_way_out(lambda door=door: door(rows), r".*(store it as text|Split it into columns)")
    assert budget.charged()["epsilon"] == 0


def refused_with_the_way_out(door, words=""):
    with pytest.raises(ValueError, match=f"column 'c' is stored as .*{words}") as told:
        door()
    assert "remove it" in str(told.value)
    assert "declared as" not in str(told.value)


def test_a_parquet_file_of_such_a_column_is_refused_by_its_schema(tmp_path):
    path, budget = tmp_path / "t.parquet", Budget(9.0, 1e-6, tmp_path / "b")
    for kind, value in (
        (pa.time64("us"), dt.time(1)), (pa.list_(pa.int64()), [1]), (pa.duration("s"), dt.timedelta(1)), (pa.binary(), b"ab"),
    ):  # fmt: skip
        pa.parquet.write_table(pa.table({"a": range(ROWS), "c": pa.array([value] * ROWS, kind)}), path)
        refused_with_the_way_out(partial(fit_source, path, types="voted", model="independent", budget=budget))
    assert budget.charged()["epsilon"] == 0


def test_objects_that_are_not_read_are_named_by_a_check_and_end_no_fit():
    """Whether a fit ends must not depend on cells. Control: a cell of another kind, and few rows of one kind."""
    sdtypes = {"c": "categorical"}
    for cells in OBJECTS:
        table = pd.DataFrame({"c": cells})
        check_storage(table, sdtypes)
        with pytest.raises(ValueError, match="column 'c' is stored as .*remove it"):
            check_storage(table, sdtypes, sees_cells=True)
    for cells in (["x"] * ROWS + [dt.time(1)], [dt.time(1)] * ROWS + ["x"], [b"ab"] * 19):
        check_storage(pd.DataFrame({"c": pd.Series(cells, dtype=object)}), sdtypes, sees_cells=True)
