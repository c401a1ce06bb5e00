"""The domain file: what it holds, and that a look at the rows cannot be washed off."""

import datetime as dt
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.declared.declarations import read_declarations
from sdv_plausible.table.declared.domain_file import SCHEMA, DomainFile, digest, read_json
from sdv_plausible.table.domain_building import domain_entries

AGE = {"sdtype": "numerical", "range_min": 0, "range_max": 99}
WIDE = {"sdtype": "numerical", "range_min": 0, "range_max": 10_000}
SEX = {"range_values": ["f", "m"]}
ID = {"sdtype": "id"}
SPECS = {"age": {"sdtype": "numerical"}, "sex": {"sdtype": "categorical"}, "id": {"sdtype": "id"}}


def file(**columns):
    return DomainFile(columns={"age": AGE, "sex": SEX, **columns})


def read(found):
    document = found.to_dict() if isinstance(found, DomainFile) else found
    return read_declarations(document, "infer", 100, SPECS)


def entries(declared):
    domain = declared.planned({name: SPECS[name] for name in ("age", "sex")}, declared.bounds)
    return {entry.mechanism.split(":")[0]: entry for entry in domain_entries(domain, declared)}


def test_written_and_read_again(tmp_path):
    path, columns = tmp_path / "domain.json", {"größe": AGE, "sex": SEX}
    found = DomainFile(columns=columns, looked={"sex": digest(SEX)}, detected=True, editor_schema="x")
    found.save(path)
    assert DomainFile.of(read_json(path)) == found
    assert len(path.read_text().splitlines()) == 12
    DomainFile(columns={}).save(path)
    assert DomainFile.of(read_json(path)) == DomainFile(columns={})
    assert read({"age": AGE, "sex": SEX}).attributes == read(file()).attributes
    path.write_text(json.dumps({"age": AGE})[:-2])
    with pytest.raises(ValueError, match="not a JSON file"):
        read_json(path)


def test_dates_among_words_are_written_by_name(tmp_path):
    words = {"sdtype": "datetime", "range_min": dt.date(2020, 1, 1), "range_max": pd.Timestamp("2020-02-01")}
    values = {"sdtype": "categorical", "range_values": [dt.date(2020, 1, 1), Decimal("1.5"), None]}
    DomainFile(columns={"day": words, "of": values}).save(tmp_path / "d.json")
    document = read_json(tmp_path / "d.json")
    assert document["columns"]["day"]["range_min"] == {"date": "2020-01-01"}
    again = DomainFile.of(document).declarations()
    assert again == {"day": words, "of": values}
    assert Domain.from_declarations(document["columns"]) == Domain.from_declarations(again)


def test_a_source_is_in_the_ledger_and_keeps_the_claim():
    found = entries(read(file(age={**AGE, "source": "https://code.book"}, sex={**SEX, "source": "the law"})))
    assert list(found) == ["declared"]
    assert found["declared"].note == "age: from https://code.book; sex: from the law"
    assert not entries(read(file()))["declared"].note
    cited = {**AGE, "range_max": 110, "source": "https://code.book"}
    edited = DomainFile(columns={"age": cited, "sex": SEX}, looked=file().looked_at(["age"]).looked)
    assert list(entries(read(edited))) == ["declared"]


@pytest.mark.parametrize("age", [AGE, WIDE, {"sdtype": "numerical"}], ids=["range", "bounds", "type alone"])
def test_edited_after_a_look_is_no_declaration(age):
    before = file(age=age).looked_at(["age", "sex"])
    assert entries(read(before)).keys() <= {"declared", "derived from the rows"}
    edited = DomainFile(columns={"age": {**age, "pii": False}, "sex": SEX}, looked=before.looked)
    found = entries(read(edited))["declared, then edited after a comparison with the rows"]
    assert found.status == "no claim"
    assert found.mechanism.endswith(": age")
    assert "source" in found.note
    assert 'undeclared="private"' in found.note
    assert read(edited).origins == {"age": "edited"}
    if "range_min" in age:
        assert read(edited).known("age").provenance == "edited"


def test_the_first_look_counts():
    """A second look after the edit would otherwise make the edited words the original ones."""
    changed = {**AGE, "range_max": 110}
    twice = DomainFile(columns={"age": changed}, looked=file().looked_at(["age"]).looked).looked_at(["age"])
    assert twice.edited == ("age",)
    # The planted bug: the latest look counts.
    assert DomainFile(columns={"age": changed}, looked={"age": digest(changed)}).edited == ()


def test_what_changes_a_digest():
    assert digest(AGE) == digest({**dict(reversed(AGE.items())), "source": "x", "bins": None})
    others = [{**AGE, "range_max": 100}, {**AGE, "range_max": 99.0}, {**AGE, "detected": True}, {}, SEX]
    assert len({digest(AGE), *map(digest, others)}) == 6


def test_a_digest_takes_long_arrays_whole():
    """NumPy writes arrays of more than 1,000 values with dots in the middle: an edit there left no trace."""
    values = np.arange(2_000)
    edited = np.where(values == 1_000, 7_777, values)
    for kind in (np.asarray, pd.Series, pd.Index):
        words = [{"sdtype": "categorical", "values": kind(array)} for array in (values, edited)]
        assert str(words[0]) == str(words[1]), "the planted bug: a digest of what is printed"
        assert digest(words[0]) != digest(words[1]) == digest(words[1])
    assert digest({"values": values}) == digest({"values": values.tolist()})


def test_an_edited_domain_stays_so_when_it_is_saved():
    declared = read(DomainFile(columns={"age": AGE}, looked={"age": "0" * 64}))
    again = read_declarations(Domain((declared.known("age"),)), "infer", 100, SPECS)
    assert again.known("age").provenance == "edited"


def test_what_was_detected_is_not_declared():
    whole = DomainFile(columns={"age": AGE, "id": ID}, detected=True)
    for found in (whole, {"age": {**AGE, "detected": True}}):
        declared = read(found)
        assert declared.known("age").provenance == "inferred"
        assert declared.origins["age"] == "inferred"
        assert entries(declared)["derived from the rows"].status == "no claim"


def test_what_is_no_domain_file():
    """And a column called columns is none of the keys."""
    for document, words in (
        ({"schema": "other/1", "columns": {}}, "must be 'sdv-plausible-declarations/1'"),
        ({"schema": SCHEMA, "colums": {}}, "did you mean 'columns'"),
        ({"schema": SCHEMA}, "'columns' must map names"),
        ({"schema": SCHEMA, "columns": {"": {}}}, "must not be empty"),
        ({"schema": SCHEMA, "columns": {}, "looked": {"age": "abc"}}, "'looked' must map names"),
        ({"schema": SCHEMA, "columns": {}, "looked": []}, "'looked' must map names"),
        ({"schema": SCHEMA, "columns": {}, "detected": "yes"}, "'detected' must be true or false"),
        ({"schema": SCHEMA, "columns": {"age": {"sdtype": None}}}, "column 'age': set sdtype"),
        ({"age": {**AGE, "source": ""}}, "source .* must be text"),
        ({"age": {**AGE, "detected": 1}}, "detected .* must be true or false"),
        ({"age": {**AGE, "provenance": "private"}}, "provenance .* must be"),
        ({"schema": SCHEMA, "columns": {"age": 3}}, "must be a mapping"),
    ):
        with pytest.raises(ValueError, match=words):
            read(document)
    lacking = r"^domain file: the key 'schema' is missing, and 'columns' declares specis: add "
    with pytest.raises(ValueError, match=lacking):
        DomainFile.of({"columns": {"specis": {"sdtype": "id"}}})
    assert DomainFile.of({"columns": {"sdtype": "id"}}).columns == {"columns": {"sdtype": "id"}}
