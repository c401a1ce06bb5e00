"""The page without a browser: filled in, refused, saved, compared, planned."""

import html
import json
import re

import pytest
from reviewing import COLUMNS, HOST, write_people
from starlette.testclient import TestClient

from sdv_plausible.extensions.app.forms import field_texts
from sdv_plausible.extensions.app.review import review as review_module
from sdv_plausible.extensions.app.review.review import Review, ReviewedTable
from sdv_plausible.extensions.app.review.review_command import plan_of
from sdv_plausible.extensions.app.review.review_pages import ReviewPages
from sdv_plausible.extensions.app.serving.access_guard import COOKIE, AccessGuard, AccessKeys
from sdv_plausible.table.declared.domain_file import DomainFile, draft_domain_file, read_domain_file
from sdv_plausible.utils.html_templates import environment

KEYS = AccessKeys("k")
NAMES = tuple(COLUMNS)


class Visitor:
    """Fills in the form as a browser does, from what the page shows."""

    def __init__(self, review):
        self.errors, self.closed = [], []
        pages = ReviewPages(review, KEYS, lambda: self.closed.append(True))
        app = AccessGuard(pages.application(), KEYS, HOST, self.errors.append)
        self.client = TestClient(app, base_url=f"http://{HOST}", cookies={COOKIE: KEYS.cookie})
        self.review = review

    def home(self):
        return self.client.get(f"/{KEYS.place}/").text

    def form(self):
        return form_of(self.home())

    def press(self, button, **edits):
        typed = {**self.form(), **{key.replace("__", "-"): value for key, value in edits.items()}}
        return self.client.post(f"/{KEYS.place}/{button}", data=typed, headers={"origin": f"http://{HOST}"})


def form_of(text):
    """The fields of a page as a browser sends them: no box is ticked."""
    found = dict(re.findall(r'<input(?! type="checkbox")[^>]* name="([^"]+)" value="([^"]*)"', text))
    found |= dict(re.findall(r'<textarea[^>]* name="([^"]+)"[^>]*>\n(.*?)</textarea>', text, re.DOTALL))
    for name, options in re.findall(r'<select[^>]* name="([^"]+)"[^>]*>(.*?)</select>', text, re.DOTALL):
        chosen = re.search(r"<option(?: value=\"([^\"]*)\")? selected>([^<]*)", options)
        found[name] = "" if chosen is None else chosen[1] or chosen[2]
    return {name: html.unescape(value) for name, value in found.items()}


@pytest.fixture
def visit(tmp_path):
    def visited(columns=COLUMNS, *, is_saved=False, names=NAMES):
        table = ReviewedTable(write_people(tmp_path / "people.csv"), names, {"encoding": "utf-8"})
        draft = draft_domain_file(names, columns)
        return Visitor(Review(draft, table, tmp_path / "domain.json", plan_of, is_saved=is_saved))

    return visited


def full(*_):
    raise OSError(28, "No space left on device")


def test_from_a_template_to_a_file(visit, tmp_path):
    visitor = visit({})
    edits = {
        f"c{number}__{word}": text.replace("\n", "\r\n")
        for number, name in enumerate(NAMES)
        for word, text in field_texts(COLUMNS[name]).items()
    }
    answer = visitor.press("save", **edits)
    assert answer.status_code == 200
    assert "Saved in" in answer.text
    assert read_domain_file(tmp_path / "domain.json").columns == COLUMNS
    before = (tmp_path / "domain.json").read_bytes()
    assert visitor.press("save").status_code == 200  # without an edit
    assert (tmp_path / "domain.json").read_bytes() == before


def test_a_refusal_is_beside_its_field_and_nothing_is_written(visit, tmp_path):
    visitor = visit()
    answer = visitor.press("save", c1__range_max="<b>", c3__range_values="Bern\r\nZug")
    assert answer.status_code == 422
    assert not (tmp_path / "domain.json").exists()
    assert 'id="c1-range_max-refusal"' in answer.text
    invalid = r'id="c1-range_max"[^>]*aria-invalid="true"\s+aria-describedby="[^"]*c1-range_max-refusal"'
    assert re.search(invalid, answer.text)
    assert 'href="#c1-range_max"' in answer.text
    assert "Basel" not in visitor.press("compare", c1__range_max="x").text  # nor is anything compared
    assert not (tmp_path / "domain.json").exists()
    assert "Bern\nZug" in answer.text  # what was typed is still there
    assert "<b>" not in answer.text
    assert 'role="alert"' in answer.text


def test_a_disk_that_is_full_is_said(visit, monkeypatch):
    visitor = visit()
    monkeypatch.setattr(DomainFile, "save", full)
    answer = visitor.press("save")
    assert answer.status_code == 422
    assert "No space left" in answer.text


def test_a_page_of_an_earlier_version_saves_nothing(visit, tmp_path):
    visitor = visit()
    stale = visitor.form()["version"]
    visitor.press("save", c1__range_max="85")
    answer = visitor.press("save", version=stale, c1__range_max="1000")
    assert answer.status_code == 422
    assert "was changed since" in answer.text
    assert read_domain_file(tmp_path / "domain.json").columns["age"]["range_max"] == 85


def look_before_show(visit, tmp_path, monkeypatch):
    visitor, order = visit(), []
    honest = DomainFile.save

    def save(self, path):
        order.append(("written", sorted(self.looked)))
        honest(self, path)

    monkeypatch.setattr(DomainFile, "save", save)
    answer = visitor.press("compare")
    assert "NOT private" in answer.text
    assert "Basel" in answer.text
    assert order == [("written", []), ("written", ["age", "day", "sex", "town"])]  # those that fit, too
    assert len(json.loads((tmp_path / "domain.json").read_text())["looked"]) == 4
    assert "Basel" not in visitor.home()  # kept nowhere
    return visitor


def test_a_look_is_written_down_before_it_is_shown(visit, tmp_path, monkeypatch):
    look_before_show(visit, tmp_path, monkeypatch)


def test_a_planted_look_that_is_not_written_down_is_caught(visit, tmp_path, monkeypatch):
    monkeypatch.setattr(review_module, "log_access", lambda *_: [])
    with pytest.raises(AssertionError):
        look_before_show(visit, tmp_path, monkeypatch)


def test_a_look_that_cannot_be_written_down_shows_nothing(visit, monkeypatch):
    visitor = visit()
    visitor.press("save")
    monkeypatch.setattr(review_module, "log_access", full)
    answer = visitor.press("compare")
    assert "Nothing was compared" in answer.text
    assert "Basel" not in answer.text


def test_an_edit_after_a_look_ends_the_claim_unless_a_source_is_cited(visit, tmp_path):
    visitor = visit()
    visitor.press("compare")
    answer = visitor.press("save", c3__range_values="Bern\r\nChur\r\nBasel")
    assert "No claim: town was edited after a comparison" in answer.text
    assert read_domain_file(tmp_path / "domain.json").declarations()["town"]["provenance"] == "edited"
    answer = visitor.press("save", c3__source="https://example.org/towns")
    assert "No claim" not in answer.text
    assert "provenance" not in read_domain_file(tmp_path / "domain.json").declarations()["town"]


def test_errors_of_others_quote_no_cell(visit, monkeypatch, capfd, caplog):
    visitor = visit()
    visitor.press("save")
    monkeypatch.setattr(review_module, "read_file", lambda *_: json.loads("Basel"))
    answer = visitor.press("compare")
    assert "JSONDecodeError while the rows were worked on" in answer.text
    assert "Basel" not in answer.text + caplog.text + "".join(capfd.readouterr())


def test_no_row_value_in_a_log_or_an_address(visit, capfd, caplog):
    with caplog.at_level(0):
        answer = visit().press("compare")
    assert "Basel" in answer.text
    ours = [record for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))]
    assert "Basel" not in "".join(record.getMessage() for record in ours) + "".join(capfd.readouterr())
    assert "Basel" not in str(answer.url) + str([(r.url, dict(r.headers)) for r in [*answer.history, answer]])


def test_a_plan(visit, tmp_path):
    visitor = visit({**COLUMNS, "id": {"sdtype": "numerical", "range_min": 0, "range_max": 1}})
    answer = visitor.press("plan", epsilon="0.5", rows="10,000")  # thousands are told apart as in the app
    assert answer.status_code == 200
    for words in ('class="warning"', "about 10,000 rows", 'value="0.5"'):
        assert words in answer.text
    assert not (tmp_path / "domain.json").exists()
    assert "No warnings" not in visitor.press("plan").text  # which is said of a number of rows alone
    assert "No warnings" in visitor.press("plan", rows="10,000,000").text
    for field, text in (("epsilon", "a"), ("epsilon", "-1"), ("delta", "2"), ("rows", "1.5")):
        answer = visitor.press("plan", **{field: text})
        assert answer.status_code == 422
        assert f'id="{field}-refusal"' in answer.text


def test_the_grid_has_a_row_per_column_in_the_order_of_the_table(visit):
    visitor = visit({**COLUMNS, "sex": {"sdtype": None}})

    def rows(text, mark):
        return [NAMES[int(number)] for number in re.findall(rf'class="row{mark}" id="column-(\d)"', text)]

    assert rows(visitor.home(), '[^"]*') == list(NAMES)
    assert rows(visitor.home(), " blank") == ["sex"]
    refused = visitor.press("save", c4__range_max="x", c1__bins="many").text
    assert rows(refused, " wrong") == ["age", "day"]
    assert re.findall(r'<details class="more" open><summary>More<span class="unseen"> of (\w+)', refused) == [
        "age"
    ]
    assert "Every column has a type" in visit().home()


def test_a_paste_fills_in_the_form_and_saves_nothing(visit, tmp_path):
    visitor = visit({**COLUMNS, "age": {"sdtype": None}, "sex": {"sdtype": None}})
    text = 'Name\tType\tMin\tMax\nage\tinteger\t0\t99\nsex\tcode\t"1 | 2 | a""b"\t\tno\tthe law\n<b>\tid\n\nage\tid\n'
    answer = visitor.press("paste", paste=text, c3__range_values="Bern, Zug")
    assert "Pasted into 2 columns, not saved yet." in answer.text
    assert "data-unsaved" in answer.text
    assert "Line 4 (&lt;b&gt;): the table has no such column" in answer.text
    assert "Line 6 (age): the column has an earlier line" in answer.text
    assert not (tmp_path / "domain.json").exists()
    shown = form_of(answer.text)
    filled = ("numerical", "0", "99", "0", '1, 2, "a\\"b"', "no", "the law", "Bern, Zug", "")
    names = (
        "c1-sdtype",
        "c1-range_min",
        "c1-range_max",
        "c1-decimal_places",
        "c2-range_values",
        "c2-range_is_nullable",
    )
    assert tuple(shown[name] for name in (*names, "c2-source", "c3-range_values", "paste")) == filled
    assert (
        "not applied"
        not in visitor.client.post(
            f"/{KEYS.place}/save", data=shown, headers={"origin": f"http://{HOST}"}
        ).text
    )
    columns = read_domain_file(tmp_path / "domain.json").columns
    assert columns["age"] == {"sdtype": "numerical", "range_min": 0, "range_max": 99, "decimal_places": 0}
    assert columns["sex"]["range_values"] == [1, 2, 'a"b']


def test_a_paste_that_is_not_applied_is_not_dropped(visit, tmp_path):
    answer = visit().press("save", paste="age\tid")
    assert answer.status_code == 422
    assert "press “Apply to the columns”" in answer.text
    assert form_of(answer.text)["paste"] == "age\tid"
    assert not (tmp_path / "domain.json").exists()


def test_what_a_paste_gets_wrong_is_refused_beside_its_field(visit):
    text = visit().press("paste", paste="age\t\tlow\nsex\tcategorical\ta|b\tz\nid\tgan").text
    assert "Line 3 (id): type &#39;gan&#39; is unknown; use numerical, datetime" in text
    assert 'id="c1-range_min-refusal"' in text
    assert 'id="c2-range_max-refusal"' in text


@pytest.mark.parametrize("text", ["x" * 600_000, 'age\t"id', "\n".join(f"c{i}" for i in range(500))])
def test_a_hostile_paste_ends_in_a_short_message(visit, text):
    answer = visit().press("paste", paste=text)
    assert "Nothing was pasted" in answer.text
    assert len(answer.text) < 60_000


def test_same_as_above(visit, tmp_path):
    visitor = visit({**COLUMNS, "sex": {"sdtype": None}, "town": {"sdtype": None}})
    answer = visitor.press("same", c0__same="yes", c2__same="yes", c3__same="yes", c1__range_max="77")
    assert "Copied to sex, town, not saved yet." in answer.text
    assert "id: there is no column above it" in answer.text
    shown = form_of(answer.text)
    assert [shown[f"c{i}-range_max"] for i in (1, 2, 3)] == ["77"] * 3
    assert not any(
        name.endswith("-same")
        for name in shown
        if f'id="{name}" name="{name}" value="yes" checked' in answer.text
    )
    assert not (tmp_path / "domain.json").exists()
    assert "Nothing was copied" in visitor.press("same").text


def test_what_cannot_be_copied_is_reported(visit):
    visitor = visit({**COLUMNS, "id": {"sdtype": "id", "regex_format": "[A-Z]{9}"}})
    assert "age: this page cannot copy regex_format of id" in visitor.press("same", c1__same="yes").text


def test_left_out_and_back(visit, tmp_path):
    visitor = visit()
    visitor.press("save", c0__sdtype="left out")
    assert "id" not in read_domain_file(tmp_path / "domain.json").columns
    assert visitor.form()["c0-sdtype"] == "left out"
    visitor.press("save", c0__sdtype="id")
    assert read_domain_file(tmp_path / "domain.json").columns["id"] == {"sdtype": "id"}


def test_what_was_learned_has_no_form_and_stays(visit, tmp_path):
    kept = {"kind": "categorical", "values": ["a"], "provenance": "private"}
    (tmp_path / "domain.json").write_text(json.dumps({"age": kept, "sex": {"range_values": [1, 2]}}))
    visitor = visit(is_saved=True)
    assert "c1-sdtype" not in visitor.form()
    visitor.press("save", c2__range_values="1\r\n2\r\n3")
    kept = {"age": kept, "sex": {"range_values": [1, 2, 3]}}
    assert read_domain_file(tmp_path / "domain.json").columns == kept


def test_names_are_escaped(visit):
    name = "<script>alert(1)</script>"
    visitor = visit({name: {"sdtype": "id", "regex_format": "</textarea>"}}, names=(name, '"><b>'))
    text = visitor.home()
    assert "<script>alert" not in text
    assert "<b>" not in text
    assert "safe" not in environment(*ReviewPages.template_packages).filters


def test_every_field_has_a_label_and_nothing_comes_from_elsewhere(visit):
    text = visit().home()
    fields = set(re.findall(r'<(?:input|select|textarea)(?: type="checkbox")? id="([^"]+)"', text))
    assert len(fields) == 5 * (11 + 1) + 3 + 1
    assert set(re.findall(r'<label for="([^"]+)"', text)) == fields
    assert not re.findall(r'(?:src|href|action)="(?!/|#|data:)', text)
    assert "http" not in text


def test_closing(visit):
    visitor = visit()
    assert "Only what you saved is kept" in visitor.press("close").text
    assert visitor.closed == [True]
