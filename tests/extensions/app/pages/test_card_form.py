"""The card is filled in on the page: with what was typed, and nothing else on it changes."""

import json
import re

import pytest
from reviewing import COLUMNS, write_people

from sdv_plausible.extensions.app.pages import background_fit
from sdv_plausible.extensions.app.pages.app_pages import MAX_FIELD_LENGTH
from sdv_plausible.extensions.app.pages.background_fit import RunningFit
from sdv_plausible.extensions.app.review.review import version


@pytest.fixture
def browser(place, tmp_path, no_report):
    """One that has a release."""
    found = place.browser()
    cited = {**COLUMNS, "age": {**COLUMNS["age"], "source": "the law of ages"}}
    domain = ("domain.json", json.dumps(cited).encode())
    found.open(content=write_people(tmp_path / "people.csv", 2000).read_bytes(), domain=domain)
    found.keep_columns()
    found.post("begin", epsilon="1", rows="50")
    found.session.fit.wait(100)
    return found


def test_what_is_typed_stands_on_the_card(browser):
    """Control: where nothing is filled in it is the first one, with the sources of the domain file. A field has an end."""
    before = browser.get("files/card").text
    assert before.count("the law of ages") > 1  # the ledger's note has it, too
    browser.post("card")
    assert browser.get("files/card").text == before
    typed = {"card-name": "Census <people>", "card-purpose": "teaching", "card-made_up": "x"}
    assert browser.post("card", **typed).url.path.endswith("/result")
    after = browser.get("files/card").text
    assert "<title>Privacy card: people</title>" in before  # as the table that was opened
    assert "<title>Privacy card: Census &lt;people&gt;</title>" in after
    assert 'filename="people_card.html"' in browser.get("files/card").headers["content-disposition"]
    assert ">people_card.html</a>" in browser.get("result").text
    assert "who holds the table" in after  # still a blank
    assert "the law of ages" in after
    digest = re.compile(r"[0-9a-f]{64}")
    assert digest.findall(before) == digest.findall(after)
    assert 'value="Census &lt;people&gt;"' in browser.get("result").text
    browser.post("card", **{"card-name": "y" * (MAX_FIELD_LENGTH + 1)})
    assert re.findall("y{100,}", browser.get("files/card").text)[0] == "y" * MAX_FIELD_LENGTH


def test_sources_that_are_typed_after_the_fit_are_not_cited(browser):
    """For other words, or for those that were fitted: nobody had said it then."""
    review = browser.session.review
    words = {name: dict(review.file.columns[name]) for name in review.file.columns}
    words["age"] |= {"range_max": 89, "source": "Statistics Office 2020"}
    words["town"]["source"], words["sex"]["source"] = "typed later", "said later"
    review.save(words, version(review.file))
    browser.post("card", **{"card-name": "Census"})
    card = browser.get("files/card").text
    assert "Census" in card  # made anew
    assert "the law of ages" in card
    assert [told for told in ("Statistics Office 2020", "typed later", "said later") if told in card] == []


def test_no_card_is_made_where_the_fit_made_none(browser):
    """Control: once the fit has told of its card, the same form fills it in."""
    fit = browser.session.fit
    fit._files.remove("card")
    card = fit.folder / background_fit.FILES["card"].name
    before = card.read_bytes()
    assert browser.post("card", **{"card-name": "x"}).status_code == 200
    assert card.read_bytes() == before
    assert "card-name" not in browser.session.texts
    fit._files.append("card")
    browser.post("card", **{"card-name": "x"})
    assert card.read_bytes() != before


def test_every_page_leads_to_the_result_and_files_that_come_meanwhile_are_looked_for(browser, monkeypatch):
    """Control: the next page, when all is there, looks no more."""
    for page in ("", "columns/", "rules", "budget", "fit"):
        assert re.search(r'<a href="[^"]*/result"', browser.get(page).text), page
    browser.session.fit.state = "running"
    ending = property(lambda self: setattr(self, "state", "done") or ["rows"])
    monkeypatch.setattr(RunningFit, "files", ending)
    assert ['id="step"' in browser.get("result").text for _ in range(2)] == [True, False]


def test_a_fit_that_ended_before_its_rows_says_what_is_kept(browser):
    """Control: with its rows."""
    fit = browser.session.fit
    assert "Everything is ready" in browser.get("fit").text
    fit._files.remove("rows")
    assert "Everything is ready" not in browser.get("fit").text
    fit._files.append("rows")
    fit.state = "cancelled"
    assert "The rows were ready before you cancelled, and are kept" in browser.get("fit").text
    fit._files.remove("rows")
    assert "The release file was ready before you cancelled, and is kept" in browser.get("fit").text
    text = browser.get("result").text
    assert "No rows: the fit ended before they were made. Use the release file to make rows." in text
    assert browser.get("files/release").status_code == 200
    assert "The first rows" not in text
    fit._files.append("rows")
    assert "The first rows" in browser.get("result").text


def test_no_card_without_a_release(place):
    browser = place.browser()
    assert browser.post("card", **{"card-name": "x"}).status_code == 200
    assert browser.get("files/card").status_code == 404
