"""The two pages: what is on them, and what may be published."""

import re
from html import escape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from report_cases import (
    DIAGNOSTICS,
    SENTENCE,
    STRUCTURE,
    Ledger,
    categories,
    generated_report,
    html_of,
    words_of,
)
from sentences import total

from sdv_plausible.evaluation.page.sections import NO_GUARANTEE
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.utils import html_templates


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
        SENTENCE, "Private: most figures here", "Scores", "Distances", "The pairs that differ most", "Classifiers",
        "Distinguishing game", "Columns", "Dependence between columns", "Network of the model",
        "Diagnostic on private data, not for publication.", "350 real rows, 250 synthetic rows",
        "<summary>Figures of city</summary>",
    ):  # fmt: skip
        assert words in words_of(text)
    assert text.index(total()) < text.index("Scores")
    assert text.count("<summary>Figures of") >= 9  # shares of each picture in a table


def test_without_a_ledger_the_page_says_so(tables, described, tmp_path):
    report = generated_report(*tables, described, structure=STRUCTURE)
    for publishable in (False, True):
        text = html_of(report, tmp_path, publishable=publishable)
        assert escape(NO_GUARANTEE) in text
        assert "<h2>The table</h2>" in text  # which has no name
        assert "Table table" not in text
    assert "no guarantee protects the synthetic table" in text
    assert "Network of the model" not in text


def public_and_private(real, synthetic, described, tmp_path, **options):
    told = {"ledger": Ledger(), "diagnostics": DIAGNOSTICS, **options}
    report = generated_report(real, synthetic, described, **told)
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


def test_the_publishable_page_has_no_private_part_and_the_network_only_under_the_guarantee(
    tables, described, tmp_path
):
    public, private = public_and_private(*tables, described, tmp_path, structure=STRUCTURE)
    for words in ("Scores", "Distances</h3>", "Classifiers", "Distinguishing game", "Plausible seeds", "350"):
        assert words not in public
        assert words in private
    assert "250 synthetic rows" in public
    assert total(0.5) in public
    told = {"structure": STRUCTURE, "ledger": Ledger(False)}
    uncovered, private = public_and_private(*tables, described, tmp_path, **told)
    assert ["Network of the model" in page for page in (public, uncovered, private)] == [True, False, True]


def test_the_publishable_page_does_not_tell_whether_there_are_real_rows(tables, described, tmp_path):
    real, synthetic = tables
    pages = [public_and_private(rows, synthetic, described, tmp_path) for rows in (real, real[:0])]
    assert pages[0][0] == pages[1][0]
    assert "real_data has no rows" in pages[1][1]
    public, _ = public_and_private(real, synthetic[:0], described, tmp_path)
    assert "No synthetic rows, or no columns, to show." in public


HOSTILE = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "{{ 7 * 7 }}{% include 'x' %}",
    "a & b &amp; c",
)
ATTRIBUTES = {"onerror", "onload", "src"}


class Parsed(HTMLParser):
    """The elements, attributes and text of a page, as a browser reads them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words = set(), set(), ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data):
        self.words += data


def hostile_report():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.choice(HOSTILE, 120) for name in HOSTILE})
    metadata = {"tables": {name: categories(HOSTILE) for name in HOSTILE}}
    ledger = PrivacyLedger(delta=1e-9)
    for words in HOSTILE:
        told = {"name": words, "mechanism": words, "losses": (), "scope": words, "note": words}
        ledger.charge(LedgerEntry(**told, parts=("structure",)))
    structure = {HOSTILE[1]: [HOSTILE[0]], HOSTILE[2]: [HOSTILE[0], HOSTILE[1]]}
    tables = dict.fromkeys(HOSTILE, table)
    return generated_report(tables, tables, metadata, ledger=ledger, structure=structure, target=HOSTILE[0])


def test_hostile_names_are_words(tmp_path, monkeypatch):
    report = hostile_report()
    for publishable in (False, True):
        found = Parsed(html_of(report, tmp_path, publishable=publishable))
        assert not {"script", "img"} & found.tags
        assert not ATTRIBUTES & found.attributes
        for name in HOSTILE:
            assert f"Table {name}" in found.words  # whole, and not evaluated
            assert found.words.count(name) > 10
    made = html_templates.environment

    def trusting(*rooms, **options):  # planted bug
        return made(*rooms, **options).overlay(autoescape=False, cache_size=0)

    monkeypatch.setattr(html_templates, "environment", trusting)
    found = Parsed(html_of(report, tmp_path))
    assert {"script", "img"} <= found.tags
    assert ATTRIBUTES & found.attributes


class Accessible(HTMLParser):
    """What a reader who cannot see, or has no mouse, would miss on a page."""

    def __init__(self, text):
        super().__init__()
        self.faults, self.levels, self.landmarks, self.open = [], [], [], []
        self.feed(text)
        if self.landmarks.count("main") != 1:
            self.faults.append("not one main part")
        steps = zip(self.levels, self.levels[1:], strict=False)
        if self.levels[:1] != [1] or any(b > a + 1 for a, b in steps):
            self.faults.append(f"headings skip a level: {self.levels}")

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "svg" and not (given.get("role") == "img" and given.get("aria-label")):
            self.faults.append("a picture without words")
        if tag == "th" and given.get("scope") not in ("row", "col"):
            self.faults.append("a heading of a table that heads nothing")
        if given.get("class") == "scroll" and not (given.get("tabindex") == "0" and given.get("aria-label")):
            self.faults.append("a place to scroll that the keyboard cannot reach")
        if tag in ("main", "section"):
            self.landmarks.append(tag)
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self.levels.append(int(tag[1]))


@pytest.mark.parametrize("publishable", [False, True])
def test_the_page_is_for_readers_who_cannot_see_or_have_no_mouse(report, tmp_path, publishable):
    text = html_of(report, tmp_path, publishable=publishable)
    assert Accessible(text).faults == []
    for planted in ('role="img" aria-label', 'scope="col"', 'tabindex="0"', "<main>", "<h2"):
        assert planted in text
        assert Accessible(text.replace(planted, "<h4" if planted == "<h2" else "<b ")).faults


def test_a_publishable_page_shows_counts_under_a_claim_alone(tables, described, tmp_path):
    """Without a claim the answers may be exact."""
    told = {
        "estimate": 1000.0,
        "lower": 988.0,
        "upper": 1012.0,
        "proportion_lower": 0.4,
        "proportion_upper": 0.6,
    }
    counts = pd.DataFrame([told], index=pd.Index(["north"], name="ward"))
    for ledger, expected in ((Ledger(), [True, True]), (None, [False, True])):
        pages = public_and_private(*tables, described, tmp_path, ledger=ledger, margins=[counts])
        for words in ("Counts with error bars", "988 to 1,012"):
            assert [words in page for page in pages] == expected
