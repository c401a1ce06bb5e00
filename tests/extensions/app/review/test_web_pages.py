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
        text = self.home()
        found = dict(re.findall(r'<input[^>]* name="([^"]+)" value="([^"]*)"', text))
        found |= dict(re.findall(r'<textarea[^>]* name="([^"]+)"[^>]*>\n(.*?)</textarea>', text, re.DOTALL))
        for name, options in re.findall(r'<select[^>]* name="([^"]+)"[^>]*>(.*?)</select>', text, re.DOTALL):
            chosen = re.search(r"<option(?: value=\"([^\"]*)\")? selected>([^<]*)", options)
            found[name] = "" if chosen is None else chosen[1] or chosen[2]
        return {name: html.unescape(value) for name, value in found.items()}

    def press(self, button, **edits):
        typed = {**self.form(), **{key.replace("__", "-"): value for key, value in edits.items()}}
        return self.client.post(f"/{KEYS.place}/{button}", data=typed, headers={"origin": f"http://{HOST}"})


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
    assert "No claim: town was edited after a look" in answer.text
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


def columns_of(text):
    """The columns of a page in its order, and whether they are open; all have their fields."""
    found = re.findall(r'<details class="column[^"]*" id="column-(\d)"[^>]*?( open)?>', text)
    fields = re.findall(r'<select id="c(\d)-sdtype"', text)
    assert fields == [number for number, _ in found]
    return [(NAMES[int(number)], bool(is_open)) for number, is_open in found]


def test_what_is_to_be_done_comes_first_and_the_rest_is_folded(visit):
    visitor = visit({**COLUMNS, "sex": {"sdtype": None}})
    assert columns_of(visitor.home()) == [
        (name, name == "sex") for name in ("sex", "id", "age", "town", "day")
    ]
    refused = columns_of(visitor.press("save", c4__range_max="x").text)
    assert refused[:3] == [("sex", True), ("day", True), ("id", False)]
    seen = columns_of(visitor.press("compare", c2__sdtype="left out").text)
    assert seen[:3] == [("age", True), ("town", True), ("id", False)]
    assert "All are filled in" in visitor.home()


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
    fields = set(re.findall(r'<(?:input|select|textarea) id="([^"]+)"', text))
    assert len(fields) == 5 * 11 + 3
    assert set(re.findall(r'<label for="([^"]+)"', text)) == fields
    assert not re.findall(r'(?:src|href|action)="(?!/|#|data:)', text)
    assert "http" not in text


def test_closing(visit):
    visitor = visit()
    assert "Nothing is kept" in visitor.press("close").text
    assert visitor.closed == [True]
