"""The pages without a browser: from an upload to a download, step by step."""

import html
import json
import re
from copy import copy
from dataclasses import replace
from multiprocessing import Pipe

import pytest
from apps import HOME, Place
from reviewing import COLUMNS, write_people
from sentences import LEAD, NO_CLAIM, total

from sdv_plausible.extensions.app.pages import background_fit
from sdv_plausible.extensions.app.pages.app_pages import INSIDE
from sdv_plausible.extensions.app.pages.app_steps import steps
from sdv_plausible.extensions.app.pages.background_fit import FILES, RunningFit
from sdv_plausible.extensions.app.review.review import version
from sdv_plausible.rules.derived_columns import Multiple
from sdv_plausible.table.declared.domain_file import digest


@pytest.fixture
def people(tmp_path):
    return write_people(tmp_path / "people.csv", 2000).read_bytes()


def opened(place, people, words=COLUMNS):
    """A browser that has a table, and what is declared of it."""
    browser = place.browser()
    browser.open(content=people, domain=("domain.json", json.dumps({**words}).encode()))
    browser.keep_columns()
    return browser


def begin(browser, *, to_the_end=True):
    browser.post("begin", epsilon="1", rows="50")
    if to_the_end:
        browser.session.fit.wait(100)
        assert (browser.session.fit.state, browser.session.fit.error) == ("done", "")


def planned(browser, **texts):
    return browser.post("planned", **{"epsilon": "1", "rows": "50", **texts}).text


def check_look(browser):
    """After real rows were shown, other words or rules make no claim; the same ones do."""
    assert NO_CLAIM not in planned(browser, rules="")
    assert NO_CLAIM in planned(browser, rules=json.dumps([{"rule": "multiple", "column": "age", "step": 1}]))
    planned(browser, rules="")
    review = browser.session.review
    words = {**review.file.columns, "age": {**review.file.columns["age"], "range_max": 77}}
    assert review.file.edited == ()
    review.save(words, version(review.file))
    assert review.file.edited == ("age",)
    assert NO_CLAIM in planned(browser)


@pytest.mark.parametrize("large", [False, True])
def test_a_large_table_is_read_in_parts_without_being_asked(place, people, large, monkeypatch):
    """Unless somebody says otherwise on the page of the budget."""
    if large:
        monkeypatch.setattr("sdv_plausible.table.files.text_files.LARGE_FILE_BYTES", 100)
    browser = opened(place, people)
    assert ('<option value="parts" selected>' in browser.get("budget").text) is large
    refused = "row-by-row tests need"
    assert (refused in html.unescape(browser.post("planned", test="randomized").text)) is large
    assert refused not in html.unescape(browser.post("planned", test="randomized", reading="whole").text)


def test_from_an_upload_to_a_download(place, people):
    browser, domain = place.browser(), ("domain.json", json.dumps({**COLUMNS}).encode())
    assert browser.open(content=people, domain=domain).url.path == f"{HOME}columns/"
    assert browser.keep_columns().url.path == f"{HOME}rules"
    assert browser.post("rules", person="", rows_per_person="1", rules="").url.path == f"{HOME}budget"
    planned = browser.post("planned", epsilon="1", rows="50", table_rows="2000").text
    assert planned.lstrip().startswith(f'<p class="sentence">{LEAD}')
    assert f"<p>{total(1)} " in planned
    assert "At about 2,000 rows" in planned
    for named in ("", " "):
        assert "No warnings" not in browser.post("planned", table_rows=named).text
    assert "No warnings" in browser.post("planned", table_rows="10,000,000").text
    assert browser.post("begin", epsilon="1", rows="50").url.path == f"{HOME}fit"
    browser.session.fit.wait(100)
    assert (browser.session.fit.state, browser.session.fit.error) == ("done", "")
    assert browser.get("progress").json()["state"] == "done"
    page = browser.get("result").text
    first = re.search(r'<p class="sentence" id="sentence">(.*?)</p>', page)[1]
    assert page.index(first) < page.index("The first rows") < page.rindex("Bern")
    assert "has charged" not in page
    assert "Learned types" not in page
    browser.session.fit.types = {"<age>": "numerical", "town": "categorical"}
    said = "Learned types: &lt;age&gt; numerical; town categorical."
    assert said in browser.get("result").text
    other = replace(browser.session.past[0], title="b.csv", fit=copy(browser.session.fit))
    browser.session.past.append(other)
    assert "Another fit to b.csv has charged total epsilon 1 " in browser.get("result").text
    assert page.count("<figure>") == 4
    assert "style=" not in page.split("</head>")[1]
    assert "real" not in re.sub("real rows", "", page[page.index('<div class="plots">') :])
    assert "NOT private" not in browser.get("files/plots", show="").text
    rows = browser.get("files/rows")
    assert rows.text.splitlines()[0] == "id,age,sex,town,day"
    assert len(rows.text.splitlines()) == 51
    assert "attachment" in rows.headers["content-disposition"]
    assert html.unescape(first) == json.loads(browser.get("files/ledger").text)["meaning"]
    assert page.index(first) < page.index(f"<p>{total(1)} ") < page.index("The whole ledger")
    for key in ("release", "report", "domain", "rules"):
        assert browser.get(f"files/{key}").status_code == 200
    assert set(browser.session.review.file.looked) == {"age", "sex", "town", "day"}  # what the fit compared
    for key in ("full_report", "inspection", "own_plots"):
        assert "private" in browser.get(f"files/{key}").text
    assert "id" in browser.session.review.file.looked  # of all columns that were fitted
    shown = browser.get("files/inspection", show="")
    assert shown.headers["content-security-policy"] == INSIDE["Content-Security-Policy"]
    assert shown.headers["content-security-policy"].startswith("default-src 'none'; ")
    assert shown.headers["content-security-policy"].endswith("; sandbox")  # no script, form or origin
    assert "content-disposition" not in shown.headers
    assert place.errors == []
    check_look(browser)
    assert "has charged total epsilon 1" in browser.get("budget").text
    folder = browser.session.folder
    browser.post("forget")
    assert list(folder.iterdir()) == []
    assert browser.get("files/rows").status_code == 404


@pytest.mark.usefixtures("no_report")
def test_what_a_fit_warned_of_is_written_down_before_it_is_shown(place, people):
    browser = opened(place, people, {**COLUMNS, "sex": {"sdtype": "categorical", "range_values": ["f", "m"]}})
    begin(browser)
    assert not browser.session.review.file.looked  # nobody has seen it yet
    assert "sex: most cells are outside" in browser.get("result").text
    assert set(browser.session.review.file.looked) == {"age", "sex", "town", "day"}  # of no row
    assert browser.session.review.file.looked_rules is None


@pytest.mark.usefixtures("no_report")
def test_rules_that_a_fit_looked_through_are_written_down(place, people):
    """Its warnings are of what the rules make of the columns."""
    browser = opened(place, people)
    rules = [Multiple("age", 5).to_dict()]
    browser.post("rules", rules=json.dumps(rules), person="", rows_per_person="1")
    begin(browser)
    assert browser.session.review.file.looked_rules is None  # nobody has seen it yet
    browser.get("result")
    assert browser.session.review.file.looked_rules == tuple(map(digest, rules))
    assert NO_CLAIM not in planned(browser)
    assert NO_CLAIM in browser.post("planned", rules=json.dumps([Multiple("age", 10).to_dict()])).text


def test_a_report_shows_columns_that_were_left_out_after_the_fit(place, people, monkeypatch):
    """Its look is at what was fitted: else a column is left out, looked at, and put in again with a claim."""
    monkeypatch.setattr(
        background_fit, "_compare", lambda done, _: done.write("full_report", "age: 18 to 77")
    )
    words = {**COLUMNS, "age": {"sdtype": "numerical"}}
    browser = opened(place, people, words)
    begin(browser)
    review = browser.session.review
    review.save({name: words[name] for name in words if name != "age"}, version(review.file))
    assert "age" in browser.get("files/full_report").text
    assert set(review.file.looked) == set(words)
    narrow = {"sdtype": "numerical", "range_min": 18, "range_max": 77}
    review.save({**words, "age": narrow}, version(review.file))
    assert review.file.edited == ("age",)
    assert NO_CLAIM in planned(browser)


@pytest.mark.parametrize("how", ["fit", "compare"])
def test_a_look_is_remembered_when_the_same_table_is_opened_again(place, people, monkeypatch, how):
    """The real range was seen, and typed into the domain file of a second opening: it made a claim."""
    # Controls: the words that were looked at keep their claim, and a table of other columns knows of no look.
    monkeypatch.setattr(background_fit, "_compare", lambda done, _: done.write("inspection", "age: 18 to 77"))

    def again(browser, most, content=people):
        words = {**COLUMNS, "age": {**COLUMNS["age"], "range_max": most}}
        browser.open(content=content, domain=("domain.json", json.dumps(words).encode()))
        browser.keep_columns()
        return browser.session.review.file

    def is_claimed(browser):
        browser.post("rules", rules="", person="", rows_per_person="1")
        plan = planned(browser)
        assert total() in plan or NO_CLAIM in plan
        return NO_CLAIM not in plan

    browser, other = place.browser(), place.browser()
    again(browser, 99)
    if how == "fit":
        begin(browser)
        assert browser.get("files/inspection").status_code == 200
    else:
        browser.keep_columns("compare")
    seen = browser.session.review.file.looked
    assert seen
    for one in (browser, other):
        assert again(one, 77).edited == ("age",)
        assert not is_claimed(one)
        assert again(one, 99).looked == seen
        assert is_claimed(one)
    browser.post("forget")
    assert again(browser, 77).edited == ("age",)
    assert again(browser, 77, people.replace(b"\n", b"\r\n")).edited == ("age",)  # the same, saved otherwise
    header, rows = people.split(b"\n", 1)
    assert not again(browser, 77, header + b",more\n" + rows.replace(b"\n", b",1\n")).looked
    assert is_claimed(browser)


def test_refusals_are_beside_their_fields(place, people):
    browser = opened(place, people)
    answer = browser.post("rules", rules="{", person="nobody", rows_per_person="0")
    assert answer.status_code == 422
    assert all(f'id="{name}-refusal"' in answer.text for name in ("rules", "person", "rows_per_person"))
    assert browser.post("rules", add="1", low="age", high="age", rules="").status_code == 422
    assert "inequality" in browser.post("rules", add="1", low="age", high="sex", rules="").text
    browser.post("rules", rules="", person="", rows_per_person="1")
    answer = browser.post("begin", epsilon="-1", delta="2", rows="x")
    assert answer.status_code == 422
    assert 'id="rows-refusal"' in answer.text
    assert 'value="x"' in answer.text
    assert browser.session.fit is None
    assert 'id="epsilon-refusal"' in browser.post("plan", epsilon="-1", rows="5").text
    assert "No plan yet" in browser.post("planned", epsilon="-1").text


def test_no_step_without_the_one_before(place):
    browser = place.browser()
    for page in ("columns/", "rules", "budget", "fit", "result"):
        assert browser.get(page).url.path == HOME
    for page in ("rules", "plan", "planned", "begin", "columns/save"):
        assert browser.post(page).url.path == HOME
    assert browser.get("progress").json() == {"state": "none"}
    assert browser.get("files/rows").status_code == browser.get("files/domain").status_code == 404
    assert [step.is_open for step in steps("", has_table=True)] == [True, True, True, True, False, False]


class Held:
    """A fit that goes on until it is ended."""

    def __init__(self):
        self.heard, self.told = Pipe(duplex=False)
        self.told.send(("charged", "total epsilon 0.5 at delta 1e-09", ["domain", "model"]))

    def terminate(self):
        self.told.close()

    kill = terminate

    def join(self, timeout=None):
        """It is gone at once."""

    def is_alive(self):
        return False


@pytest.fixture
def held(sessions):
    def start(*_):
        process = Held()
        return process, process.heard

    return Place(sessions, start=start)


def test_a_cancelled_fit_says_what_it_has_spent(held, people):
    browser = opened(held, people)
    begin(browser, to_the_end=False)
    left = browser.session.fit.folder / FILES["rows"].name
    left.write_text("rows of that fit")
    assert "The fit is running" in browser.get("fit").text
    assert browser.post("begin", epsilon="1", rows="50").url.path == f"{HOME}fit"  # one at a time
    text = browser.post("cancel").text
    assert left.exists()  # what was released stays, until another fit begins
    assert "Nothing was released" in text
    assert "total epsilon 0.5 at delta 1e-09, for domain, model" in text
    assert "Count this as spent" in text
    assert browser.get("result").url.path == f"{HOME}fit"
    assert browser.get("files/rows").status_code == 404
    assert "has charged total epsilon 0.5" in browser.get("budget").text
    begin(browser, to_the_end=False)
    assert not left.exists()
    browser.post("cancel")
    assert browser.get("budget").text.count("has charged total epsilon 0.5") == 2


def test_what_was_spent_is_told_though_the_table_was_forgotten(held, people):
    """Else the same rows are opened again, and each fit looks like the first."""
    browser, other, domain = held.browser(), held.browser(), ("d.json", json.dumps({**COLUMNS}).encode())
    for again in range(3):
        browser.open("my.csv", people, domain=domain)
        assert browser.get("budget").text.count("An earlier fit to my.csv has charged") == again
        begin(browser, to_the_end=False)
        browser.post("cancel")
        if again:
            browser.post("forget")
    other.open("same.csv", people, domain=domain)
    told = other.get("budget").text
    assert told.count("An earlier fit to a table in another browser has charged total epsilon 0.5") == 3
    assert "my.csv" not in told


def test_two_browsers_at_once(held, people):
    first, second = opened(held, people), held.browser()
    second.open("second.csv", b"a,b\n1,2\n")
    begin(first, to_the_end=False)
    assert "second.csv" not in first.get("budget").text
    assert "people.csv" not in second.get("columns/").text
    assert second.get("fit").url.path == f"{HOME}budget"
    second.post("cancel")
    folder, fit = first.session.folder, first.session.fit
    assert isinstance(fit, RunningFit)
    assert fit.state == "running"
    assert "Closed" in first.post("close").text
    assert fit.state == "cancelled"
    assert not folder.exists()
    assert first.get("").status_code == 403
    assert held.closed == []
    assert second.get("columns/").status_code == 200
    second.post("close")
    assert held.closed == [True]


def test_names_are_escaped(place):
    browser = place.browser()
    name = "<script>alert(1)</script>"
    answer = browser.open(content=f'{name},"><b>\n1,2\n'.encode())
    for page in (answer, browser.get("rules"), browser.get("budget")):
        assert "<script>alert" not in page.text
        assert "<b>" not in page.text


def test_every_field_has_a_label_and_nothing_comes_from_elsewhere(place, people):
    browser = place.browser()
    browser.open(content=people)
    for page in ("", "columns/", "rules", "budget"):
        text = browser.get(page).text
        fields = set(re.findall(r'<(?:input|select|textarea)[^>]* id="([^"]+)"', text))
        assert fields
        assert fields <= set(re.findall(r'<label for="([^"]+)"', text))
        assert not re.findall(r'(?:src|href|action)="(?!/|#|data:)', text)
        assert "http" not in text


def test_the_plan_shows_what_k_costs(place, people):
    browser = opened(place, people)
    k = {"test": "release_k", "k": "30"}
    assert "<tr><td>at least 30 records behind every row</td><td>0.5</td></tr>" in planned(browser, **k)
    assert "at least 30 records" not in planned(browser, test="release")
    assert "at least 30 records behind every row" in browser.post("plan", **k).text  # without the script
