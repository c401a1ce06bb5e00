"""Column types of the output: functions of the domain and the declaration, of no row."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sdmetrics.single_table import TableStructure

from sdv_plausible import PlausibleDeniabilitySynthesizer, fit_source
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.sdv.sdv_state import make_placeholder_table
from sdv_plausible.table.cells.dates import check_dates, date_style
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.columns.output_types import generated_type, output_type, to_pandas_types


def types(table, domain):
    """The types of a table's modelled columns, and of a key and a latitude."""
    specs = {name: {"sdtype": "categorical"} for name in table}
    specs |= {"key": {"sdtype": "id"}, "lat": {"sdtype": "latitude", "pii": True}}
    invented = make_placeholder_table(table.dtypes, specs, ["key"]).dtypes[["key", "lat"]]
    modelled = {a.name: output_type(a, table.dtypes[a.name]) for a in domain}
    return {name: repr(t) for name, t in {**modelled, **invented}.items()}


def test_output_types_do_not_show_one_row():
    domain = Domain(
        (
            Attribute(name="n", kind="integer", lower=(0,), upper=(9,), nullable=True),
            Attribute(name="x", kind="float", lower=(0.0,), upper=(9.0,), nullable=True),
            Attribute(name="flag", kind="categorical", values=(False, True), nullable=True),
            Attribute(name="grade", kind="ordinal", values=("A", "B"), nullable=True),
        )
    )
    cells = {
        "n": [1, 2, None], "x": [1, 2, 0.5], "flag": [True, False, None], "key": [1, 2, None],
        "lat": [1, 2, None],
    }  # fmt: skip
    longer = pd.DataFrame(cells).assign(grade=pd.Categorical(["A", "B", "Z"]))
    table = pd.DataFrame({name: column[:2] for name, column in cells.items()}).assign(
        grade=pd.Categorical(["A", "B"])
    )
    assert types(table, domain) == types(longer, domain)
    assert not table.dtypes.equals(longer.dtypes)  # SDV would write these
    inferred = Domain(tuple(Attribute(**{**vars(a), "provenance": "inferred"}) for a in domain))
    assert types(table, inferred) != types(longer, inferred)


def test_a_type_that_one_finer_or_odd_row_widens_is_not_written():
    attributes = [
        Attribute(name="x", kind="float", lower=(0.0,), upper=(9.0,), nullable=True),
        Attribute(name="n", kind="integer", lower=(0,), upper=(9,), nullable=True),
        Attribute(name="d", kind="datetime", lower=(0,), upper=(9,)),
        Attribute(name="c", kind="categorical", values=("a", "b")),
        Attribute(name="f", kind="categorical", values=(False, True)),
    ]
    for first, second in (
        ("float32", "float64"), ("M8[s]", "M8[ns]"), ("string", "object"), ("int8", "float64"),
        ("bool", "object"), ("int64", "Int64"), ("object", "category"), ("M8[ns]", "object"),
    ):  # fmt: skip
        for attribute in attributes:
            for known in (attribute, replace(attribute, provenance="private")):
                written = [output_type(known, pd.Series(dtype=t).dtype) for t in (first, second)]
                assert written[0] == written[1]


@pytest.mark.parametrize("door", ["synthesizer", "source"])
def test_types_of_privately_learned_columns_show_no_row_at_any_door(door):
    """Of numbers, which one missing row makes doubles, and of categories, whose type would list every real value."""
    words = {"n": {"sdtype": "numerical"}, "c": {"sdtype": "categorical"}}
    plain = pd.DataFrame({"n": np.arange(300) % 9, "c": ["a", "b", "c"] * 100})
    odd = plain.astype({"n": "Float32", "c": "category"})

    def written(frame):
        if door == "source":
            release = fit_source(frame, words, epsilon=20.0)
        else:
            synth = PlausibleDeniabilitySynthesizer(metadata_from_columns(words), epsilon=20.0)
            synth.fit(frame)
            release = synth.release()
        assert release.ledger.claims_privacy
        assert {a.provenance for a in release.domain} == {"private"}
        of_rows = replace(release.schema.columns[1], dtype=odd["c"].dtype)  # as files of 0.1 may have it
        assert list(replace(release.schema, columns=(of_rows,)).dtypes_from_rows(release.domain)) == ["c"]
        learned = release.domain["n"]  # noise says 1 in 100 times that there are digits, or missing cells
        number = "int64" if learned.kind == "integer" and not learned.nullable else "float64"
        assert [*map(str, release.schema.dtypes)] == [number, "object"]

    written(plain)
    written(odd)


NUMBERS = ["[1-9][0-9]{4}", r"[12]\d{7}", "4711[0-9]{3}", "[123]{18}", "[0-9]", "0"]
TEXTS = [
    r"\d{5}", "[0-9]{5}", "[0-9][1-9]", "[1-9][0-9]{18}", "[1-9][0-9]{1,4}", "[1-9]-[0-9]", "0[1-9]",
    "[1-9]{0}", "[1-9][0-9]+",
]  # fmt: skip


@pytest.mark.parametrize("form", NUMBERS[:4])  # of the others there are fewer texts than rows, or one for all
def test_ids_of_digits_without_a_zero_in_front_are_numbers_by_both_ways_out(form):
    """However the real ones are stored: the declaration decides, and numbers say what the texts did."""
    for stored in (int, str):
        table = pd.DataFrame({"k": pd.Series(range(10, 310)).astype(stored), "c": ["a", "b", "c"] * 100})
        columns = {"k": {"sdtype": "id", "regex_format": form}, "c": {"sdtype": "categorical"}}
        metadata = metadata_from_columns(columns)
        metadata.set_primary_key("k")
        synth = PlausibleDeniabilitySynthesizer(metadata, domain={"c": {"range_values": list("abc")}})
        synth.fit(table)
        for rows in (synth.sample(9), synth.release().sample(9)):
            assert rows["k"].dtype == np.int64
            assert rows["k"].is_unique
            assert rows["k"].astype(str).str.fullmatch(form).all()


def test_an_invented_column_has_the_type_of_its_declaration():
    cases = [
        ({"sdtype": "id"}, "int64"), ({"sdtype": "id", "regex_format": "A[0-9]"}, "object"), ({"sdtype": "email"}, "object"),
        ({"sdtype": "latitude", "pii": True}, "float64"),
        *(({"sdtype": "id", "regex_format": form}, "int64") for form in NUMBERS),
        *(({"sdtype": "id", "regex_format": form}, "object") for form in TEXTS),
    ]  # fmt: skip
    for spec, expected in cases:
        assert generated_type(spec) == np.dtype(expected)
        for dtype in ("int64", "float64", "uint64", "object", "category", "Int64"):
            dtypes = pd.Series({"x": pd.Series(dtype=dtype).dtype})
            assert make_placeholder_table(dtypes, {"x": spec}, []).dtypes["x"] == np.dtype(expected)


def test_dates_with_a_declared_format_are_text_however_they_are_stored():
    """One cell that is no date makes a column of dates one of objects."""
    attribute = Attribute(name="d", kind="datetime", lower=(0,), upper=(9,), datetime_format="%d.%m.%Y")
    dates = pd.Series(pd.to_datetime(["2020-01-01"]))
    assert date_style(dates, "%d.%m.%Y") == date_style(dates.astype(object), "%d.%m.%Y")
    assert output_type(attribute) == np.dtype(object)
    assert date_style(dates.dt.tz_localize("Europe/Zurich"), None) == {"time_zone": "Europe/Zurich"}
    with pytest.raises(ValueError, match="column 'd' has dates with a time zone"):
        check_dates(pd.DataFrame({"d": dates.dt.tz_localize("UTC")}), {"d": "%Y"})
    with pytest.raises(ValueError, match="column 'd' holds dates as text"):
        check_dates(pd.DataFrame({"d": ["2020-01-01"]}), {"d": None})


@pytest.mark.parametrize("nullable", [True, False])
def test_types_hang_on_the_domain_and_on_no_row(nullable):
    """Not on whether a cell of the synthetic rows is missing, nor on which values they have."""
    values = {"flag": (False, True), "code": (1, 2), "step": (1, 2.5), "far": (1, 2**63), "text": ("a", "b")}
    words = {"kind": "categorical", "nullable": nullable}
    domain = Domain(tuple(Attribute(name=n, values=v, **words) for n, v in values.items()))
    full = pd.DataFrame({n: list(v) for n, v in values.items()}, dtype=object)
    gaps = full.copy()
    gaps.iloc[1] = np.nan
    number = Attribute(name="n", kind="integer", lower=(0,), upper=(9,), nullable=nullable)
    assert output_type(number) == (np.float64 if nullable else np.int64)
    expected = ["O", "f", "f", "O", "O"] if nullable else ["b", "i", "f", "O", "O"]
    tables = [full, full.head(1), full.head(0), gaps] if nullable else [full, full.head(1), full.head(0)]
    for table in tables:
        assert [t.kind for t in to_pandas_types(table.copy(), domain).dtypes] == expected
        masked = list(map(str, to_pandas_types(table.copy(), domain, masked=True).dtypes))
        assert masked[:2] == (["boolean", "Int64"] if nullable else ["bool", "int64"])
        assert masked[2:] == ["float64", "object", "object"]


@pytest.mark.parametrize("nullable", [True, False])
def test_every_sample_has_the_types_of_the_real_table(nullable):
    """SDMetrics' Data Structure, which compares them, is 1 for a declared table, of any number of rows."""
    place = np.arange(600)
    table = pd.DataFrame({"n": place % 5, "flag": place % 2 == 0, "code": place % 3, "share": place % 4 / 4})
    table["text"] = np.array(["x", "y"])[place % 2]
    if nullable:  # few, so that some samples have none
        table = table.astype({"flag": object}).mask(place[:, None] == 7 * np.arange(1, 6))
    words = {"n": (0, 4), "share": (0.0, 1.0)}
    domain = {n: {"range_min": low, "range_max": high} for n, (low, high) in words.items()}
    domain["share"]["decimal_places"] = 2
    domain |= {"flag": {"range_values": [False, True]}, "code": {"range_values": [0, 1, 2]}}
    domain["text"] = {"range_values": ["x", "y"]}
    domain = {n: spec | {"range_is_nullable": nullable} for n, spec in domain.items()}
    kinds = {"n": "numerical", "share": "numerical", "flag": "boolean"}
    columns = {n: {"sdtype": kinds.get(n, "categorical")} for n in table}
    synth = PlausibleDeniabilitySynthesizer(metadata_from_columns(columns), domain=domain)
    synth.fit(table)
    real = table.infer_objects().dtypes.astype(str)
    for number in (0, 1, 3, 50):
        for rows in (synth.sample(number), synth.release().sample(number)):
            assert rows.dtypes.astype(str).to_dict() == real.to_dict()
            assert TableStructure.compute(table.infer_objects(), rows) == 1.0
