"""The report as a user of SDMetrics meets it: its forms of data, its errors, what is saved."""

import os
import re
import struct

import numpy as np
import pandas as pd
import pytest
from report_cases import QUICK, categories, generated_report, html_of, words_of
from sdmetrics.reports.base_unified_report import BaseUnifiedReport
from sdv.metadata import Metadata

from sdv_plausible.evaluation import PlausibleDeniabilityReport

PROPERTIES = ["Column Distances", "Pair Distances", "Classifier Agreement", "Distinguishing Game"]
CANARY = 1234.5678901


def test_it_is_a_report_of_sdmetrics(report):
    assert isinstance(report, BaseUnifiedReport)
    found = report.get_properties()
    assert list(found["Property"]) == PROPERTIES
    assert found["Score"].between(0, 1).all()
    assert report.get_score() == pytest.approx(found["Relative"].mean())
    assert (found["Relative"] <= 1).all()
    for name in PROPERTIES:
        details = report.get_details(name)
        assert details["Score"].between(0, 1).all()
        assert report.get_details(name, "people").equals(details)
        figure = report.get_visualization(name)
        assert len(figure.data) >= 1
        assert report.get_visualization(name, "people").to_json() == figure.to_json()
    assert set(report.get_details("Column Distances")["Column"]) == {
        "ticket", "city", "member", "age", "children", "income", "start", "day", "grade",
    }  # fmt: skip
    assert len(report.get_details("Pair Distances")) == 36


@pytest.mark.parametrize("form", ["frames and dict", "dicts and tables", "frames and object", "mixed"])
def test_all_forms_of_tables_and_metadata_give_the_same_scores(form, report, tables, described):
    """And the caller's tables are left alone."""
    before = [table.copy() for table in tables]
    real, synthetic = tables
    metadata = {"tables": {"people": described}}
    if form == "frames and dict":
        metadata = described
    elif form == "dicts and tables":
        real, synthetic = {"people": real}, {"people": synthetic}
    elif form == "frames and object":
        metadata = Metadata.load_from_dict({**metadata, "relationships": [], "METADATA_SPEC_VERSION": "V1"})
    else:
        real = {"people": real}
    assert generated_report(real, synthetic, metadata).get_score() == report.get_score()
    for table, copy in zip(tables, before, strict=True):
        pd.testing.assert_frame_equal(table, copy)


def test_progress_and_scores_are_printed(tables, described, capsys, monkeypatch):
    monkeypatch.setenv("TQDM_DISABLE", "0")
    PlausibleDeniabilityReport(**QUICK).generate(*tables, described)
    printed = capsys.readouterr().out
    for i, name in enumerate(PROPERTIES, 1):
        assert f"({i}/4) Evaluating {name}" in printed
    bars = re.findall(r"(\d+)/(\d+) \[", printed)
    for total in ("9", "36", "2"):
        assert (total, total) in bars  # each bar ends full


def test_several_tables_of_which_an_error_in_one_hides_no_other(tables, described, tmp_path):
    small = pd.DataFrame({"a": ["x", "y"] * 40})
    metadata = {"tables": {"small": categories("a"), "people": described}}
    report = generated_report(*({"small": small, "people": table} for table in tables), metadata)
    assert len(report.get_details("Column Distances", "small")) == 1
    with pytest.raises(ValueError, match="provide a table name"):
        report.get_visualization("Column Distances")
    page = html_of(report, tmp_path)
    assert page.count("Not computed:") == 2  # pairs and classifiers of the one column
    assert "Not computed: None" not in page


def test_round_trip(report, tmp_path):
    report.save(tmp_path / "report.pkl")
    assert os.name != "posix" or (tmp_path / "report.pkl").stat().st_mode & 0o777 == 0o600
    again = PlausibleDeniabilityReport.load(tmp_path / "report.pkl")
    assert again.get_properties().equals(report.get_properties())
    for publishable in (False, True):
        pages = [html_of(one, tmp_path, publishable=publishable) for one in (again, report)]
        assert pages[0] == pages[1]


def test_a_saved_report_holds_no_rows(tables, described, tmp_path, monkeypatch):
    """A canary among the real, the synthetic and the held-out numbers is in no form in the file."""
    real, synthetic = (table.copy() for table in tables)
    holdout = real.iloc[:100].copy()
    for table in (real, synthetic, holdout):
        table.loc[5, "income"] = CANARY
    report = generated_report(real, synthetic, described, holdout=holdout)
    forms = struct.pack("<d", CANARY), struct.pack(">d", CANARY), str(CANARY).encode()

    def seen():
        report.save(tmp_path / "report.pkl")
        held = (tmp_path / "report.pkl").read_bytes()
        return any(form in held for form in forms)

    assert not seen()
    monkeypatch.setattr(PlausibleDeniabilityReport, "__getstate__", lambda self: self.__dict__)  # planted bug
    assert seen()


def test_wrong_arguments_are_named(tables, described):
    """Those of the report before any work, those of its tables before a page."""
    for options, words in (
        ({"structure": {"a": ["b"], "b": ["a"]}}, "structure has a cycle"),
        ({"diagnostics": {"sizes": []}}, "diagnostics has the parts"),
        ({"ledger": "ledger.json"}, r"ledger \(str\) must be a PrivacyLedger"),
        ({"classifiers": ()}, r"classifiers \(\(\)\) must name at least one"),
    ):
        with pytest.raises(ValueError, match=words):
            PlausibleDeniabilityReport(**{**QUICK, **options})
    (real, synthetic), people = tables, {"tables": {"people": described}}
    with pytest.raises(ValueError, match="has not been generated"):
        PlausibleDeniabilityReport(**QUICK).to_html("never.html")
    for given, options, words in (
        ((real, synthetic, None), {}, r"metadata \(None\)"),
        ((real, [1], described), {}, r"synthetic_data \(list\) must be a DataFrame"),
        (({"x": real}, synthetic, people), {}, r"real_data \(\['x'\]\) must hold a DataFrame"),
        (
            (*(table.drop(columns="age") for table in tables), described),
            {},
            "metadata does not match the data",
        ),
        ((real, synthetic, described), {"target": "nobody"}, r"target \('nobody'\)"),
        ((real, synthetic, described), {"structure": {"city": ["nobody"]}}, r"structure names \['nobody'\]"),
    ):
        with pytest.raises(ValueError, match=words):
            generated_report(*given, **options)


def test_what_cannot_be_computed_is_said_not_hidden(tmp_path):
    table = pd.DataFrame({"a": ["x", "y", "x", "y"] * 3})
    report = generated_report(table, table, categories("a"))
    assert report.get_details("Pair Distances")["Error"].iloc[0].startswith("only column")
    assert np.isnan(report.get_properties().set_index("Property").loc["Pair Distances", "Score"])
    assert html_of(report, tmp_path).count("Not computed:") == 2
    assert all(report.get_visualization(name) is not None for name in PROPERTIES)


def test_nothing_of_an_earlier_table_stays(tables, described, tmp_path):
    report = PlausibleDeniabilityReport(**QUICK)

    def again(name, real, synthetic):
        report.generate({name: real}, {name: synthetic}, {"tables": {name: described}}, verbose=False)

    again("first", *tables)
    again("second", *tables)
    for publishable in (False, True):
        page = html_of(report, tmp_path, publishable=publishable)
        assert "Table second" in page
        assert "Table first" not in page
    again("third", tables[0], tables[1][:0])
    page = html_of(report, tmp_path)
    assert "Table third" in page
    assert "synthetic_data has no rows" in page  # said, not hidden
    assert "Table second" not in page


def test_a_failed_generate_leaves_no_page(report, tables, described, tmp_path, monkeypatch):
    def broken(*args, **options):
        raise MemoryError

    with pytest.raises(ValueError, match="metadata"):
        report.generate(*tables, None, verbose=False)
    with pytest.raises(Exception, match="generate"):
        report.get_visualization("Column Distances")
    monkeypatch.setattr("sdv_plausible.evaluation.page.summary.summarise_comparison", broken)
    with pytest.raises(MemoryError):  # half a generate is none
        report.generate(*tables, described, verbose=False)
    for publishable in (False, True):
        with pytest.raises(ValueError, match="has not been generated"):
            report.to_html(tmp_path / "page.html", publishable=publishable)


def test_files_are_whole_or_as_they_were(report, tmp_path, monkeypatch):
    page, saved = tmp_path / "page.html", tmp_path / "report.pkl"
    page.write_text("old")
    saved.write_text("old")

    def full(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", full)
    for write in (lambda: report.to_html(page), lambda: report.save(saved)):
        with pytest.raises(OSError, match="disk full"):
            write()
    assert page.read_text() == saved.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "report.pkl"]


@pytest.mark.parametrize(("holdout_rows", "compared_rows"), [(None, 300), (200, 200), (600, 500), (900, 500)])
def test_rows_of_one_law_give_boxes_in_one_place(holdout_rows, compared_rows, tmp_path):
    """Independent columns: real, held-out, synthetic and shuffled rows are of one law, whatever the tables' sizes."""
    rng = np.random.default_rng(0)
    sizes = (600, 500, holdout_rows or 1)
    tables = [pd.DataFrame({c: rng.choice(12, n).astype(str) for c in "abcdef"}) for n in sizes]
    report = generated_report(*tables[:2], categories("abcdef"), holdout=tables[2] if holdout_rows else None)
    (compared,) = report._comparison.values()
    assert compared.num_rows == compared_rows
    boxes = compared.reference_pairs, compared.synthetic_pairs, compared.independent_pairs
    means = [pairs.mean() for pairs in boxes]
    assert max(means) - min(means) < 0.05  # 0.37 at 300 rows, 0.28 at all of them
    said = f"every box compares {compared_rows} real rows with {compared_rows} others"
    assert said in words_of(html_of(report, tmp_path))


def test_one_run_has_no_interval_and_its_page_is_written(tables, described, tmp_path):
    """Also of a perfect classifier, which has an axis."""
    table = pd.DataFrame({"x": ["a", "b"] * 60, "y": ["p", "q"] * 60})
    perfect = generated_report(table, table, categories("xy"), num_runs=1)
    assert perfect.get_details("Classifier Agreement")["Score"].tolist() == [1.0]
    for report in (generated_report(*tables, described, num_runs=1), perfect):
        assert "Classifiers predict" in html_of(report, tmp_path)


def test_columns_named_by_numbers_are_those_of_the_metadata(tables):
    by_number = tables[0][["city", "grade"]].set_axis([0, 1], axis=1)
    report = generated_report(by_number, by_number, categories("01"), holdout=by_number)
    assert report.get_details("Column Distances")["Distance"].tolist() == [0, 0]
