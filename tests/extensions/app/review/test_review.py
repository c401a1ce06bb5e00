"""A review: saved whole or not at all, with its history, and a look that is written down before it is shown."""

import json
from dataclasses import replace
from functools import partial
from itertools import product

import pandas as pd
import pytest
from reviewing import COLUMNS, write_people

from sdv_plausible import fit_source
from sdv_plausible.cli.main import main
from sdv_plausible.extensions.app.review import review as module
from sdv_plausible.extensions.app.review.review import Review, ReviewedTable, version
from sdv_plausible.extensions.app.review.review_command import plan_of
from sdv_plausible.table.declared.access_log import record_access
from sdv_plausible.table.declared.domain_file import DomainFile, draft_domain_file, read_domain_file
from sdv_plausible.table.files.table_file import count_unreadable_cells, file_columns, read_file
from sdv_plausible.table.files.text_files import Files

MARKS = {"encoding": "utf-8", "separator": ",", "quote": '"'}


@pytest.fixture
def table(tmp_path):
    return ReviewedTable(write_people(tmp_path / "people.csv"), tuple(COLUMNS), MARKS)


@pytest.fixture
def review(table, tmp_path):
    return Review(
        draft_domain_file(table.names, COLUMNS), table, tmp_path / "domain.json", plan_of, is_saved=False
    )


def saved(review):
    """It is written down, and what it reads."""
    review.save(COLUMNS, version(review.file))
    return review


def full(*_):
    raise OSError(28, "No space left on device")


def test_nothing_is_written_before_a_save_and_another_version_is_not_overwritten(review):
    assert review.file.columns["age"] == COLUMNS["age"]
    assert not review.output.exists()
    seen = version(review.file)
    review.save(COLUMNS, seen)
    assert read_domain_file(review.output).columns == COLUMNS

    review.save({"id": {"sdtype": "id"}}, version(review.file))
    before = review.output.read_text()
    with pytest.raises(ValueError, match="was changed since this page was made"):
        review.save(COLUMNS, seen)
    assert review.output.read_text() == before


def test_a_look_at_a_file_that_a_draft_replaces_is_kept(review):
    """``declare --web --overwrite``: somebody compares the file while the page is open."""
    DomainFile(columns=COLUMNS).save(review.output)
    seen = version(review.file)
    record_access(review.output, ["age", "gone"], ["0" * 64])
    review.save({**COLUMNS, "age": {"sdtype": "numerical", "range_min": 18, "range_max": 77}}, seen)
    assert read_domain_file(review.output).edited == ("age",)
    assert set(read_domain_file(review.output).looked) == {"age"}
    assert read_domain_file(review.output).looked_rules == ("0" * 64,)


def test_a_draft_that_was_paid_for_repeats_no_look(table, tmp_path):
    """Of a column that was learned for it the words before are on record, and those of the page are others."""
    words = {**COLUMNS, "age": {"sdtype": "numerical"}}
    output = tmp_path / "domain.json"
    paid = {**COLUMNS["age"], "kind": "integer", "provenance": "private"}
    for columns, edited in ((paid, ()), ({**paid, "range_max": 77}, ("age",))):
        DomainFile(columns=words).looked_at(["age"]).save(output)
        draft = DomainFile(columns={**words, "age": paid}, learned={})
        review = Review(draft, table, output, plan_of, is_saved=False, learned={"age": paid})
        review.save({**words, "age": columns}, version(draft))
        assert read_domain_file(output).edited == edited


def test_a_look_is_what_the_command_line_writes_down(review, tmp_path, capsys):
    saved(review)
    look = review.compare()
    assert set(look.columns) == {"age", "town"}
    assert look.columns["town"].values == ("town: 'Basel', ...",)
    other = tmp_path / "other.json"
    replace(read_domain_file(review.output), looked={}).save(other)
    assert main(["check", str(review.table.path), "--domain", str(other)]) == 0
    said = capsys.readouterr().out
    assert read_domain_file(other).looked == read_domain_file(review.output).looked != {}
    for column in look.columns.values():
        assert all(str(finding) in said for finding in column.findings)
        assert all(line in said for line in column.values)


def test_unreadable_cells_are_a_look(review):
    review.table.path.write_text("id,age,sex,town,day\nP1,many,1,Bern,2020-01-01\n")
    assert saved(review).compare().columns["age"].unreadable == 1
    assert "age" in read_domain_file(review.output).looked


def test_a_look_that_cannot_be_written_down_shows_nothing(review, monkeypatch):
    saved(review)
    monkeypatch.setattr(DomainFile, "save", full)
    with pytest.raises(OSError, match="No space left"):
        review.compare()


def test_a_planted_comparison_that_forgets_the_look_is_caught(review, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(module, "log_access", lambda *_: [])
    with pytest.raises(AssertionError):
        test_a_look_is_what_the_command_line_writes_down(review, tmp_path, capsys)


def test_an_edit_after_a_look_is_known(review):
    """Also of a column that is taken out and put back."""
    saved(review).compare()

    def edited(**words):
        review.save({**COLUMNS, **words}, version(review.file))
        return read_domain_file(review.output)

    town = {**COLUMNS["town"], "range_values": ["Bern", "Chur", "Basel"]}
    file = edited(town=town)
    assert file.edited == ("town",)
    assert file.declarations()["town"]["provenance"] == "edited"
    assert edited(town={**town, "source": "the law of towns"}).edited == ()
    without = {name: words for name, words in COLUMNS.items() if name != "town"}
    review.save(without, version(review.file))
    assert edited(town={"range_values": ["Basel"]}).edited == ("town",)


def test_blanks_are_neither_compared_nor_planned(review):
    columns = {**COLUMNS, "age": {"sdtype": None}}
    review.save(columns, version(review.file))
    look = review.compare()
    assert "Not declared, and not compared: age" in look.notes
    assert "age" not in review.file.looked
    with pytest.raises(ValueError, match="leave out: age"):
        review.plan(columns, 1.0, 1e-9, None)


def test_codes_that_are_declared_as_numbers_are_counted(tmp_path):
    """Their zeros are lost, and nothing else said so."""
    path, output = tmp_path / "towns.csv", tmp_path / "domain.json"
    path.write_text("county,share\n07001,0.5\n17001,0.1\n")
    columns = {name: {"range_min": 0.0, "range_max": 99_999.0} for name in ("county", "share")}
    output.write_text(json.dumps(columns))
    table = ReviewedTable(path, tuple(columns), {})
    found = Review(read_domain_file(output), table, output, plan_of, is_saved=True).compare()
    assert {name: column.codes for name, column in found.columns.items()} == {"county": 1}


def test_a_plan_reads_no_row(review):
    review.table.path.unlink()
    plan = review.plan(COLUMNS, 1.0, 1e-9, 300)
    assert plan.forecast.rows == 300
    assert plan.warnings
    assert not review.output.exists()


def test_the_columns_are_the_tables_and_the_files(table, tmp_path):
    path = tmp_path / "domain.json"
    path.write_text(json.dumps({"income": {"sdtype": "numerical"}, "age": COLUMNS["age"]}))
    review = Review(read_domain_file(path), table, path, plan_of, is_saved=True)
    assert review.names == (*COLUMNS, "income")


def test_a_parquet_table_takes_the_marks_of_its_cells_alone(tmp_path):
    """Missing texts are said of either kind; what is of CSV files alone plays no part, and is refused."""
    pytest.importorskip("pyarrow")
    path, document = tmp_path / "t.parquet", {"sex": {"sdtype": "categorical"}}
    pd.DataFrame({"sex": ["f", "NA", "m"]}).to_parquet(path)
    assert (
        count_unreadable_cells(ReviewedTable(path, ("sex",), {}).files, {}) == {}
    )  # its cells have types of their own
    typed = {"types": document}
    reading = (
        file_columns,
        partial(read_file, **typed),
        partial(count_unreadable_cells, **typed),
        partial(fit_source, domain=document),
    )
    for (name, mark), read in product(
        {"encoding": "latin-1", "separator": ";", "quote": "'"}.items(), reading
    ):
        with pytest.raises(ValueError, match=f"{name} .*only applies to CSV files"):
            read(Files(path, **{name: mark}))
    assert read_file(Files(path), document)["sex"].tolist() == ["f", "NA", "m"]
    found = read_file(Files(path, na_values=["", "NA"]), document)["sex"]
    assert found.isna().tolist() == [False, True, False]
