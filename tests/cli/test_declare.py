"""``sdv-plausible declare``: a template that no row has a say in, and files from public sources."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from sdv_plausible import read_csv
from sdv_plausible.cli import declare
from sdv_plausible.cli.main import main
from sdv_plausible.table.declared.access_log import record_access
from sdv_plausible.table.declared.domain_file import read_domain_file

AGES = {"sdtype": "numerical", "range_min": 0, "range_max": 120}


def written(folder, *, rows=("1,f,x", "2,m,y"), head="age,sex,id"):
    """A table in a folder of its own."""
    (folder / "people.csv").write_text("\n".join([head, *rows]))
    return folder / "people.csv"


@pytest.fixture
def table(tmp_path):
    return written(tmp_path)


def declared(table, capsys, *more):
    output = table.with_name("domain.json")
    code = main(["declare", str(table), "-o", str(output), "--overwrite", *map(str, more)])
    said = capsys.readouterr()
    assert code == 0, said.err
    return json.loads(output.read_text())["columns"], said.out


def test_no_row_has_a_say(table, capsys):
    first = declared(table, capsys)
    for rows in ([], ["9,,", "8,f,x"], ["x,y,z"] * 50, ["damaged"]):
        written(table.parent, rows=rows)
        assert declared(table, capsys) == first
    assert first[0] == {name: {"sdtype": None} for name in ("age", "sex", "id")}
    assert "Fill in sdtype" in first[1]
    with pytest.raises(ValueError, match="column 'age': set sdtype"):
        read_csv(table, table.with_name("domain.json"))


def test_types_of_a_parquet_file_are_not_taken(tmp_path, capsys):
    """A writer makes doubles of whole numbers when one is missing: the file's types are the rows'."""
    path = tmp_path / "people.parquet"
    pd.DataFrame({"age": [1, 2]}).to_parquet(path)
    assert declared(path, capsys)[0] == {"age": {"sdtype": None}}


def test_what_is_said_of_a_column_hides_nothing_said_of_one_whose_name_begins_like_it(tmp_path, capsys):
    (tmp_path / "people.csv").write_text('"age: old"\n1\n')
    book = tmp_path / "book.csv"
    book.write_text("name\nage\nage: old\n")
    said = declared(tmp_path / "people.csv", capsys, "--from-codebook", book)[1]
    assert said.count("its type is unknown") == 1
    assert "  age: old: its type is unknown\n" in said
    assert "left out: age\n" in said


def test_public_sources(table, tmp_path, capsys):
    published = tmp_path / "published.csv"
    published.write_text("age,sex,other\n0,f,1\n99,m,1\n")
    book = tmp_path / "book.csv"
    book.write_text("name,type,values\nsex,,f|m|d\nage,,\n")
    columns, said = declared(table, capsys, "--from-public", published, "--from-codebook", book)
    assert columns["age"]["range_max"] == 99
    assert columns["age"]["source"] == "published table published.csv"
    assert columns["sex"] == {"sdtype": "categorical", "range_values": ["f", "m", "d"], "source": "book.csv"}
    assert columns["id"] == {"sdtype": None}
    assert "confidential" in said
    assert "left out: other" in said
    assert "three tenths of epsilon: id" in said
    start = tmp_path / "start.json"
    start.write_text(json.dumps({"sex": {"sdtype": None}, "age": {"sdtype": "id"}}))
    more, _ = declared(table, capsys, "--from-codebook", book, "--domain", start)
    assert more["sex"] == columns["sex"]
    assert more["age"] == {"sdtype": "id"}


def test_one_clear_line(table, monkeypatch, capsys):
    monkeypatch.chdir(table.parent)
    (table.parent / "book.docx").write_text("")
    before, draft = sorted(table.parent.iterdir()), ["people.csv", "-o", "d.json"]
    for arguments, words in (
        (["gone.csv", "-o", "d.json"], "there is no file"),
        (["people.csv", "-o", "d.txt"], "must end in .json"),
        (["people.csv", "-o", "people.csv"], "the same file"),
        ([*draft, "--from-codebook", "gone.csv"], "there is no file"),
        ([*draft, "--from-codebook", "book.docx"], "code books with the ending"),
        ([*draft, "--from-public", "people.csv"], "is the table itself"),  # which is not published
        ([*draft, "--from-codebook", "people.csv"], "is the table itself"),
    ):
        assert main(["declare", *arguments]) == 2
        assert words in capsys.readouterr().err
        assert sorted(table.parent.iterdir()) == before


def test_a_file_that_is_replaced_leaves_its_looks(table, tmp_path, capsys):
    """Else the record is gone with one option, and the words that were tried out look new."""
    output, start = table.with_name("domain.json"), tmp_path / "start.json"
    start.write_text(json.dumps({"age": AGES, "sex": {"range_values": ["f", "m"]}, "id": {"sdtype": "id"}}))
    declared(table, capsys, "--domain", start)
    assert main(["check", str(table), "--domain", str(output)]) == 0
    looked = json.loads(output.read_text())["looked"]
    start.write_text(json.dumps({"age": {**AGES, "range_max": 2}, "sex": {"range_values": ["f", "m"]}}))
    said = declared(table, capsys, "--domain", start)[1]
    assert "Kept from the file that it replaces: age, sex were compared with the rows" in said
    assert json.loads(output.read_text())["looked"] == looked
    assert read_domain_file(output).edited == ("age",)
    # Of other columns nothing is kept; what cannot be read may hold a record.
    other = tmp_path / "other.csv"
    other.write_text("income\n1\n")
    again = ["declare", str(other), "-o", str(output), "--overwrite"]
    assert main(again) == 0
    assert "Kept from" not in capsys.readouterr().out
    assert "looked" not in json.loads(output.read_text())
    output.write_text("[]")
    assert main(again) == 2
    assert "may contain a record of comparisons" in capsys.readouterr().err
    assert output.read_text() == "[]"


@pytest.fixture
def learned(tmp_path):
    """A table of which sex is learned: the table, the domain file to write, and what is told."""
    table, start = written(tmp_path, rows=["1,f,x", "2,m,y"] * 300), tmp_path / "start.json"
    columns = {"age": AGES, "sex": {"sdtype": "categorical"}, "id": {"sdtype": "id"}}
    start.write_text(json.dumps(columns))
    return table, tmp_path / "domain.json", ["--domain", str(start), "--private", "0.5"], columns


def test_a_look_while_a_domain_is_learned_is_kept(learned, monkeypatch, capsys):
    """It is read again when the file is replaced, under the lock of whoever writes looks down."""
    table, output, told, columns = learned
    output.write_text(json.dumps({**columns, "age": {**AGES, "range_max": 99}}))
    honest = declare._learn_domain

    def meanwhile(*given):
        found = honest(*given)
        record_access(output, ["age", "sex", "gone"], ["0" * 64])
        return found

    monkeypatch.setattr(declare, "_learn_domain", meanwhile)
    said = declared(table, capsys, *told)[1]
    file = read_domain_file(output)
    assert "Kept from the file that it replaces: age, sex were compared with the rows" in said
    assert set(file.looked) == {"age", "sex"}
    assert (file.looked_rules, file.private) == (("0" * 64,), ("sex",))
    assert file.edited == ("age",)  # what was paid for repeats nothing of a look


def test_a_damaged_record_is_not_replaced_and_the_rules_that_were_compared_stay_on_it(table, capsys):
    output = table.with_name("domain.json")
    declared(table, capsys)
    replace(read_domain_file(output), looked_rules=()).save(output)
    declared(table, capsys)
    assert read_domain_file(output).looked_rules == ()
    document = json.loads(output.read_text())
    output.write_text(json.dumps({**document, "looked": {"age": "gone"}}))
    assert main(["declare", str(table), "-o", str(output), "--overwrite"]) == 2
    assert "restore the original file" in capsys.readouterr().err


def test_a_domain_file_that_came_meanwhile_stays_and_what_was_learned_is_kept(
    learned, tmp_path, monkeypatch, capsys
):
    """Of two at once both were paid for, and one was gone. Control: --overwrite, above."""
    table, output, told, _ = learned
    honest = declare._learn_domain
    monkeypatch.setattr(declare, "_learn_domain", lambda *given: output.write_text("{}") and honest(*given))
    assert main(["declare", str(table), "-o", str(output), *told]) == 2
    said = capsys.readouterr().err
    assert f"{output} was made meanwhile" in said
    assert output.read_text() == "{}"
    (kept,) = tmp_path.glob("sdv-plausible-*/domain.json")
    assert f"what was learned is kept in {kept}" in said
    assert read_domain_file(kept).private == ("sex",)


def test_an_error_of_others_while_a_domain_is_learned_is_not_shown(learned, monkeypatch, capsys):
    """Their texts may quote cells. Control: before a row is read it is."""
    table, output, told, _ = learned

    def broken(*_, **__):
        raise KeyError("SECRET")

    for name, is_shown in (("learned_file", False), ("column_types", True)):
        with monkeypatch.context() as patch:
            patch.setattr(declare, name, broken)
            assert main(["declare", str(table), "-o", str(output), *told]) == 2
        assert ("SECRET" in capsys.readouterr().err) == is_shown
