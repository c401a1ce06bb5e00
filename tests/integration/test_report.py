"""The report as a user of SDMetrics meets it, what it may publish, and its page in a real browser."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from html import escape

import numpy as np
import pandas as pd
import pytest
from sdmetrics.reports.base_unified_report import BaseUnifiedReport
from sdv.metadata import Metadata

from sdv_plausible.evaluation import PlausibleDeniabilityReport
from sdv_plausible.evaluation.report.guarantee import NO_GUARANTEE

PROPERTIES = ["Column Distances", "Pair Distances", "Classifier Agreement", "Distinguishing Game"]
QUICK = {"classifiers": ("tree",), "distinguishers": ("tree",), "num_runs": 2, "max_rows": 400}
STRUCTURE = {"member": ["city"], "grade": ["city", "member"], "city": []}
DIAGNOSTICS = {"plausible_seeds": [1, 5, 60, 900], "pass_rates": {10: {3: 0.9}, 50: {3: 0.4}}}
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
CANARY = 1234.5678901


class Ledger:
    def __init__(self, structure=True):
        name = "structure" if structure else "tables"
        self.entries = [{"name": name, "mechanism": "noise", "epsilon": 0.5, "provenance": "charged", "scope": "all"}]

    def sentence(self):
        return "Total epsilon 0.5 at delta 1e-09, for any one row."

    def to_dict(self):
        return {"headline": self.sentence(), "entries": self.entries, "not_covered": ["time"]}


@pytest.fixture
def described():
    return {
        "columns": {
            "id": {"sdtype": "id"},
            "email": {"sdtype": "email", "pii": True},
            "ticket": {"sdtype": "categorical"},
            "city": {"sdtype": "categorical"},
            "member": {"sdtype": "boolean"},
            "age": {"sdtype": "numerical"},
            "children": {"sdtype": "numerical"},
            "income": {"sdtype": "numerical"},
            "start": {"sdtype": "datetime"},
            "day": {"sdtype": "datetime", "datetime_format": "%d.%m.%Y"},
            "grade": {"sdtype": "categorical"},
        },
        "primary_key": "id",
    }


@pytest.fixture
def tables(mixed_table):
    return mixed_table.iloc[:350].reset_index(drop=True), mixed_table.iloc[350:].reset_index(drop=True)


@pytest.fixture
def report(tables, described):
    made = PlausibleDeniabilityReport(ledger=Ledger(), structure=STRUCTURE, diagnostics=DIAGNOSTICS, **QUICK)
    made.generate(*tables, {"tables": {"people": described}}, verbose=False)
    return made


def html_of(report, tmp_path, **options):
    path = tmp_path / "report.html"
    report.to_html(path, **options)
    return path.read_text(encoding="utf-8")


# SDMetrics' interface


def test_it_is_a_report_of_sdmetrics(report):
    assert isinstance(report, BaseUnifiedReport)
    found = report.get_properties()
    assert list(found["Property"]) == PROPERTIES
    assert found["Score"].between(0, 1).all()
    assert report.get_score() == pytest.approx(found["Score"].mean())
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
    other = PlausibleDeniabilityReport(**QUICK)
    other.generate(real, synthetic, metadata, verbose=False)
    assert other.get_score() == report.get_score()


def test_the_callers_tables_are_left_alone(tables, described):
    before = [table.copy() for table in tables]
    PlausibleDeniabilityReport(**QUICK).generate(*tables, described, verbose=False)
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


def test_several_tables(tables, described):
    real, synthetic = tables
    small = {"columns": {"city": {"sdtype": "categorical"}, "age": {"sdtype": "numerical"}}}
    cut = [table[["city", "age"]] for table in tables]
    report = PlausibleDeniabilityReport(**QUICK)
    report.generate(
        {"people": real, "small": cut[0]},
        {"people": synthetic, "small": cut[1]},
        {"tables": {"people": described, "small": small}},
        verbose=False,
    )
    assert len(report.get_details("Column Distances", "small")) == 2
    with pytest.raises(ValueError, match="provide a table name"):
        report.get_visualization("Column Distances")


def test_round_trip(report, tmp_path):
    report.save(tmp_path / "report.pkl")
    again = PlausibleDeniabilityReport.load(tmp_path / "report.pkl")
    assert again.get_properties().equals(report.get_properties())
    for publishable in (False, True):
        assert html_of(again, tmp_path, publishable=publishable) == html_of(report, tmp_path, publishable=publishable)


def test_a_saved_report_holds_no_rows(tables, described, tmp_path, monkeypatch):
    """A canary among the real, the synthetic and the held-out numbers is in no form in the file."""
    real, synthetic = (table.copy() for table in tables)
    holdout = real.iloc[:100].copy()
    for table in (real, synthetic, holdout):
        table.loc[5, "income"] = CANARY
    report = PlausibleDeniabilityReport(holdout=holdout, **QUICK)
    report.generate(real, synthetic, described, verbose=False)

    def seen():
        report.save(tmp_path / "report.pkl")
        held = (tmp_path / "report.pkl").read_bytes()
        return any(form in held for form in (struct.pack("<d", CANARY), struct.pack(">d", CANARY), str(CANARY).encode()))

    assert not seen()
    monkeypatch.setattr(PlausibleDeniabilityReport, "__getstate__", lambda self: self.__dict__)  # planted bug
    assert seen()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"structure": {"a": ["b"], "b": ["a"]}}, "structure has a cycle"),
        ({"diagnostics": {"sizes": []}}, "diagnostics has the parts"),
    ],
)
def test_bad_arguments_are_errors_before_any_work(options, words):
    with pytest.raises(ValueError, match=words):
        PlausibleDeniabilityReport(**options)


def test_bad_tables_are_errors(tables, described):
    real, synthetic = tables
    report = PlausibleDeniabilityReport(**QUICK)
    with pytest.raises(ValueError, match="has not been generated"):
        report.to_html("never.html")
    with pytest.raises(ValueError, match=r"metadata \(None\)"):
        report.generate(real, synthetic, None)
    with pytest.raises(ValueError, match=r"synthetic_data \(list\) must be a DataFrame"):
        report.generate(real, [1], described)
    with pytest.raises(ValueError, match=r"real_data \(\['x'\]\) must hold a DataFrame"):
        report.generate({"x": real}, synthetic, {"tables": {"people": described}})
    with pytest.raises(ValueError, match="metadata does not match the data"):
        report.generate(real.drop(columns="age"), synthetic.drop(columns="age"), described, verbose=False)
    with pytest.raises(ValueError, match=r"target \('nobody'\)"):
        PlausibleDeniabilityReport(target="nobody", **QUICK).generate(real, synthetic, described)


def test_what_cannot_be_computed_is_said_not_hidden(tmp_path):
    table = pd.DataFrame({"a": ["x", "y", "x", "y"] * 3})
    report = PlausibleDeniabilityReport(**QUICK)
    report.generate(table, table, {"columns": {"a": {"sdtype": "categorical"}}}, verbose=False)
    assert report.get_details("Pair Distances")["Error"].iloc[0].startswith("only column")
    assert np.isnan(report.get_properties().set_index("Property").loc["Pair Distances", "Score"])
    assert html_of(report, tmp_path).count("Not computed:") == 2
    assert all(report.get_visualization(name) is not None for name in PROPERTIES)


# The page


@pytest.mark.parametrize("publishable", [False, True])
def test_the_page_asks_for_nothing(report, tmp_path, publishable):
    text = html_of(report, tmp_path, publishable=publishable)
    assert not re.search(r"""(src|href|action|data|poster)\s*=\s*["']?(?!data:)\s*(https?:)?//""", text, re.I)
    assert "http://" not in text
    assert "https://" not in text
    assert not re.search(r"<(script|iframe|object|embed|form)|url\((?!#)|@import", text, re.I)
    assert "default-src 'none'" in text
    assert len(text) < 1_000_000


def test_the_private_page_has_every_part(report, tmp_path):
    text = html_of(report, tmp_path)
    for words in (
        "Total epsilon 0.5 at delta 1e-09, for any one row.",
        "Private: most figures here",
        "Scores",
        "Distances",
        "The pairs that differ most",
        "Classifiers",
        "Distinguishing game",
        "Columns",
        "Dependence between columns",
        "Network of the model",
        "Diagnostic on private data, not for publication.",
        "350 real rows, 250 synthetic rows",
    ):
        assert words in text
    assert text.index("Total epsilon") < text.index("Scores")


def test_without_a_ledger_the_page_says_so(tables, described, tmp_path):
    report = PlausibleDeniabilityReport(structure=STRUCTURE, **QUICK)
    report.generate(*tables, described, verbose=False)
    for publishable in (False, True):
        assert escape(NO_GUARANTEE) in html_of(report, tmp_path, publishable=publishable)
    public = html_of(report, tmp_path, publishable=True)
    assert "no guarantee protects the synthetic table" in public
    assert "Network of the model" not in public


# What may be published


def public_and_private(real, synthetic, described, tmp_path, **options):
    report = PlausibleDeniabilityReport(**{"ledger": Ledger(), "diagnostics": DIAGNOSTICS, **QUICK, **options})
    report.generate(real, synthetic, described, verbose=False)
    return html_of(report, tmp_path, publishable=True), html_of(report, tmp_path)


def test_the_publishable_page_is_a_function_of_the_synthetic_table_alone(tables, described, tmp_path):
    """Every real row is replaced: other number, values, categories, dtypes, missing rate. Not one byte may change."""
    real, synthetic = tables
    other = real.sample(120, replace=True, random_state=1).reset_index(drop=True)
    other["city"], other["age"], other["income"] = "CANARY", 10**6, np.nan
    other["grade"] = other["grade"].astype(str)
    other["start"] = other["start"].dt.tz_localize("UTC")
    public, private = public_and_private(real, synthetic, described, tmp_path)
    other_public, other_private = public_and_private(other, synthetic, described, tmp_path, holdout=real)
    assert public == other_public
    assert private != other_private  # the comparison can tell
    assert "CANARY" in other_private


def test_the_publishable_page_has_no_private_part(tables, described, tmp_path):
    public, private = public_and_private(*tables, described, tmp_path, structure=STRUCTURE)
    for words in ("Scores", "Distances</h3>", "Classifiers", "Distinguishing game", "Plausible seeds", "350"):
        assert words not in public
        assert words in private
    assert "250 synthetic rows" in public
    assert "Total epsilon 0.5" in public


def test_the_network_is_published_only_under_the_guarantee(tables, described, tmp_path):
    covered, _ = public_and_private(*tables, described, tmp_path, structure=STRUCTURE)
    uncovered, private = public_and_private(*tables, described, tmp_path, structure=STRUCTURE, ledger=Ledger(False))
    assert "Network of the model" in covered
    assert "Network of the model" not in uncovered
    assert "Network of the model" in private


# A real browser

needs_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium or google-chrome on the path")


def browse(page, profile):
    """Load a file without network; return the document and what the console said."""
    options = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    more = "--disable-component-update --disable-sync --enable-logging=stderr --v=0 --window-size=1280,900 --dump-dom"
    done = subprocess.run(
        [BROWSER, *options.split(), *more.split(), f"--user-data-dir={profile}", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@needs_browser
def test_a_browser_finds_no_error(report, tmp_path):
    for publishable in (False, True):
        html_of(report, tmp_path, publishable=publishable)
        document, console = browse(tmp_path / "report.html", tmp_path / "profile")
        assert "<svg" in document
        assert console == []


@needs_browser
def test_the_browser_test_sees_planted_errors(tmp_path):
    page = tmp_path / "bad.html"
    page.write_text("<!doctype html><script>undefinedFunction()</script>")
    assert any("undefinedFunction" in line for line in browse(page, tmp_path / "profile")[1])
    page.write_text(
        "<!doctype html><meta http-equiv='Content-Security-Policy' content=\"default-src 'none'\"><img src='x.png'>"
    )
    assert browse(page, tmp_path / "profile")[1]


def page_width(text, width, tmp_path):
    """Return how wide a page wants to be in a frame of ``width`` pixels (a window has a least width of its own)."""
    frame = tmp_path / "frame.html"
    frame.write_text(
        f'<!doctype html><iframe id="f" style="width:{width}px;height:800px;border:0" srcdoc="{escape(text)}"></iframe>'
        "<script>onload = () => { document.title = 'wide ' + "
        "document.getElementById('f').contentDocument.documentElement.scrollWidth }</script>",
        encoding="utf-8",
    )
    return int(re.search(r"<title>wide (\d+)", browse(frame, tmp_path / "profile")[0]).group(1))


@needs_browser
@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_fits_a_telephone_and_a_desk(report, tmp_path, width):
    text = html_of(report, tmp_path)
    assert page_width(text, width, tmp_path) <= width
    planted = text.replace("<main>", '<main><div style="width:1300px">x</div>')
    assert page_width(planted, width, tmp_path) > width


# ---- one report used twice, and what fails ---------------------------------------------------------------------------------


def test_nothing_of_an_earlier_table_stays(tables, described, tmp_path):
    real, synthetic = tables
    report = PlausibleDeniabilityReport(**QUICK)
    report.generate({"first": real}, {"first": synthetic}, {"tables": {"first": described}}, verbose=False)
    report.generate({"second": real}, {"second": synthetic}, {"tables": {"second": described}}, verbose=False)
    for publishable in (False, True):
        page = html_of(report, tmp_path, publishable=publishable)
        assert "Table second" in page
        assert "Table first" not in page
    report.generate({"third": real}, {"third": synthetic[:0]}, {"tables": {"third": described}}, verbose=False)
    page = html_of(report, tmp_path)
    assert "Table third" in page
    assert "synthetic_data has no rows" in page  # said, not hidden
    assert "Table second" not in page


def test_a_failed_generate_leaves_no_page(report, tables, described, tmp_path):
    with pytest.raises(ValueError, match="metadata"):
        report.generate(*tables, None, verbose=False)
    with pytest.raises(Exception, match="generate"):
        report.to_html(tmp_path / "page.html")
    with pytest.raises(Exception, match="generate"):
        report.get_visualization("Column Distances")


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
    tables = [pd.DataFrame({c: rng.choice(12, n).astype(str) for c in "abcdef"}) for n in (600, 500, holdout_rows or 1)]
    report = PlausibleDeniabilityReport(**QUICK, holdout=tables[2] if holdout_rows else None)
    report.generate(*tables[:2], {"columns": {c: {"sdtype": "categorical"} for c in "abcdef"}}, verbose=False)
    (compared,) = report._comparison.values()
    assert compared.num_rows == compared_rows
    means = [pairs.mean() for pairs in (compared.reference_pairs, compared.synthetic_pairs, compared.independent_pairs)]
    assert max(means) - min(means) < 0.05  # 0.37 at 300 rows, 0.28 at all of them
    assert f"every box compares {compared_rows} real rows with {compared_rows} others" in html_of(report, tmp_path)


def test_boxes_compare_equal_numbers_of_rows(tables, described, tmp_path):
    real, synthetic = tables
    report = PlausibleDeniabilityReport(**QUICK, holdout=real[:100])
    report.generate(real, synthetic, described, verbose=False)
    (compared,) = report._comparison.values()
    assert compared.num_rows == 100
    same = PlausibleDeniabilityReport(**QUICK, holdout=synthetic[:100])  # rows of one law: the boxes lie together
    same.generate(real, synthetic, described, verbose=False)
    (compared,) = same._comparison.values()
    assert "every box compares 100 real rows with 100 others" in html_of(same, tmp_path)
    assert np.mean(compared.synthetic_pairs) == pytest.approx(np.mean(compared.reference_pairs), rel=0.15)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ledger": "ledger.json"}, r"ledger \('ledger.json'\) must be a PrivacyLedger"),
        ({"classifiers": ()}, r"classifiers \(\(\)\) must name at least one"),
    ],
)
def test_wrong_arguments_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        PlausibleDeniabilityReport(**{**QUICK, **options})


def test_a_structure_of_other_columns_is_refused(tables, described):
    report = PlausibleDeniabilityReport(**QUICK, structure={"city": ["nobody"]})
    with pytest.raises(ValueError, match=r"structure names \['nobody'\]"):
        report.generate(*tables, described, verbose=False)


def test_one_run_has_no_interval_and_its_page_is_written(tables, described, tmp_path):
    report = PlausibleDeniabilityReport(**{**QUICK, "num_runs": 1})
    report.generate(*tables, described, verbose=False)
    assert "Classifiers predict" in html_of(report, tmp_path)


def test_a_perfect_classifier_of_one_run_has_an_axis(tmp_path):
    table = pd.DataFrame({"x": ["a", "b"] * 60, "y": ["p", "q"] * 60})
    report = PlausibleDeniabilityReport(**{**QUICK, "num_runs": 1})
    report.generate(table, table, {"columns": {c: {"sdtype": "categorical"} for c in "xy"}}, verbose=False)
    assert report.get_details("Classifier Agreement")["Score"].tolist() == [1.0]
    assert "Classifiers predict" in html_of(report, tmp_path)


def test_half_a_generate_is_none(report, tables, described, tmp_path, monkeypatch):
    def broken(*args, **options):
        raise MemoryError

    monkeypatch.setattr("sdv_plausible.evaluation.report.report.summarise_comparison", broken)
    with pytest.raises(MemoryError):
        report.generate(*tables, described, verbose=False)
    for publishable in (False, True):
        with pytest.raises(ValueError, match="has not been generated"):
            report.to_html(tmp_path / "page.html", publishable=publishable)


def test_the_publishable_page_does_not_tell_whether_there_are_real_rows(tables, described, tmp_path):
    real, synthetic = tables
    pages = [public_and_private(rows, synthetic, described, tmp_path) for rows in (real, real[:0])]
    assert pages[0][0] == pages[1][0]
    assert "real_data has no rows" in pages[1][1]
    public, _ = public_and_private(real, synthetic[:0], described, tmp_path)
    assert "No synthetic rows, or no columns, to show." in public


def test_an_error_of_one_table_does_not_hide_another(tables, described, tmp_path):
    one = pd.DataFrame({"a": ["x", "y"] * 40})
    metadata = {"tables": {"one": {"columns": {"a": {"sdtype": "categorical"}}}, "people": described}}
    report = PlausibleDeniabilityReport(**QUICK)
    report.generate({"one": one, "people": tables[0]}, {"one": one, "people": tables[1]}, metadata, verbose=False)
    page = html_of(report, tmp_path)
    assert page.count("Not computed:") == 2  # pairs and classifiers of the one column
    assert "Not computed: None" not in page


def test_columns_named_by_numbers_are_those_of_the_metadata(tables):
    by_number = tables[0][["city", "grade"]].set_axis([0, 1], axis=1)
    columns = {"columns": {"0": {"sdtype": "categorical"}, "1": {"sdtype": "categorical"}}}
    report = PlausibleDeniabilityReport(**QUICK, holdout=by_number)
    report.generate(by_number, by_number, columns, verbose=False)
    assert report.get_details("Column Distances")["Distance"].tolist() == [0, 0]


def many_columns(num_columns):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({f"a_column_{i:02d}": rng.choice(["a", "b"], 60) for i in range(num_columns)})
    return table, {"columns": {c: {"sdtype": "categorical"} for c in table}}


@needs_browser
@pytest.mark.parametrize("num_columns", [31, 75])
def test_the_dependences_of_many_columns_are_seen_whole_at_a_desk(num_columns, tmp_path):
    """No picture in a section of dependences is wider than its place, so that none has to be scrolled sideways."""
    table, metadata = many_columns(num_columns)
    report = PlausibleDeniabilityReport(**QUICK)
    report.generate(table, table, metadata, verbose=False)
    script = (
        "<script>onload = () => { document.title = 'hidden ' + [...document.querySelectorAll('.wide .scroll')]"
        ".filter(place => place.scrollWidth > place.clientWidth).length }</script>"
    )
    for publishable in (False, True):
        text = re.sub("<meta http-equiv[^>]*>", "", html_of(report, tmp_path, publishable=publishable))
        for planted, hidden in ((text, False), (text.replace("wide alone", "wide"), True)):
            (tmp_path / "report.html").write_text(planted.replace("</main>", "</main>" + script), encoding="utf-8")
            found = re.search(r"<title>hidden (\d)", browse(tmp_path / "report.html", tmp_path / "profile")[0])
            assert (int(found.group(1)) > 0) is hidden
