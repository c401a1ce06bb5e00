"""The card that an officer files: it leads with the ledger's words, and holds nothing that the release does not."""

import dataclasses
import json
import math
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from markupsafe import escape
from releases import CASES, fitted, shared
from sentences import NO_CLAIM, total

from sdv_plausible import Budget, Release
from sdv_plausible.extensions.audit.auditing import AuditResult, StageResult
from sdv_plausible.privacy.ledger_record import CONDITION, RecordedEntry, rounded_up
from sdv_plausible.release.card import card_contents
from sdv_plausible.release.card.authority_questions import authority_questions
from sdv_plausible.release.card.conformance import markdown_cell
from sdv_plausible.release.card.privacy_card import DATA_PROTECTION, KNOWN, PrivacyCard
from sdv_plausible.table.learned.lost_mass import estimate_lost_mass

SAID = {"name": "Visits <2026>", "holder": "Office | of Numbers", "date": "2026-01-31"}
CLAIMS = ["declared", "partly private", "seeds"]


@pytest.fixture(scope="module")
def no_claim() -> Release:
    return fitted("uniform", random_state=1).release(allow_no_claim=True)


def leaves(value: Any) -> Iterator[str]:
    """All texts and numbers of a document, as text."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield str(name)
            yield from leaves(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from leaves(inner)
    else:
        yield str(value)


def first(card: PrivacyCard) -> list[str]:
    """The first lines of both pages after the title."""
    html = card.to_html().split("</h1>")[1].split("<p>")[1].split("</p>")[0]
    return [card.to_markdown().splitlines()[2].removeprefix("> **").removesuffix("**"), html]


@pytest.mark.parametrize("case", CLAIMS)
def test_a_card_leads_with_what_an_attacker_gains_and_then_the_total(case):
    release = shared(case).release()
    card = release.card(**SAID)
    assert card.claim
    words = release.ledger.words
    assert (card.lead, card.total, card.conditions) == (words.lead, words.total, words.conditions)
    assert card.total.startswith(total())
    assert all(line == card.lead for line in first(card))
    assert card.to_markdown().splitlines()[4] == card.total
    assert next(iter(card.to_dict())) == "lead"
    assert len(card.conformance) > 20
    assert release.digest in card.to_html()
    assert card.blanks == ("purpose", "declared_by", "reviewed_by", "registry", *DATA_PROTECTION)


def test_without_a_claim_a_card_leads_with_that(no_claim):
    card = no_claim.card()
    assert not card.claim
    assert all(line.startswith(NO_CLAIM) for line in first(card))
    assert (card.facts["total"], card.facts["protected"]) == ("none", "nobody")
    assert "neighbours" not in card.facts
    assert card.conformance == ()
    assert "treat it like the table itself" in card.not_covered[0]
    assert [line["state"] for line in card.questions[:3]] == ["not limited"] * 3
    assert all("changes the probability" not in line["answer"] for line in card.questions)
    assert "none" in card.questions[-1]["answer"]  # no formal privacy measurement model
    assert "without a guarantee" in card.facts["number of rows"]
    assert 'class="lead none"' in card.to_html()
    with pytest.raises(ValueError, match="must be the ledger's sentence"):
        dataclasses.replace(card, lead=shared().release().card().lead)


def first_sheet(card: PrivacyCard) -> str:
    return card.to_html().split('<section class="sheet">')[0]


@pytest.mark.parametrize("case", CLAIMS)
def test_the_first_sheet_is_what_is_decided_by_and_does_not_grow_with_the_table(case):
    """Nothing on it is as long as the columns, entries, rules or warnings are many."""
    card = shared(case).release().card(**SAID)
    sheet = first_sheet(card)
    for text in (card.lead, card.total, *card.facts.values(), *SAID.values(), *card.not_covered):
        assert escape(text) in sheet
    for text in (
        *(line["answer"] for line in card.questions),
        *card.utility,
        *card.said,
        *card.annex,
        *card.rules,
        *(line["mechanism"] for line in card.costs),
    ):
        assert escape(text) not in sheet
    assert "{ break-before: page;" in sheet.split(".sheet, .annex")[1]
    grown = dataclasses.replace(card, columns=card.columns * 50, costs=card.costs * 9, said=card.said * 9)
    assert first_sheet(grown) == sheet


def test_a_card_that_leads_with_anything_else_is_refused():
    """A guarantee for each row, a pass rate, the epsilon of a row, or no claim over a claim."""
    card = shared().release().card()
    for planted in (
        "Each released row could have come from at least 50 records, about equally likely.",
        "99.2 % of the candidates passed the privacy test.",
        "Epsilon 0.01 for each row.",
        "This release has no differential privacy guarantee: x.",
    ):
        for place in ("lead", "total"):
            with pytest.raises(ValueError, match="must be the ledger's sentence"):
                dataclasses.replace(card, **{place: planted})


@pytest.mark.parametrize("case", [*CLAIMS, "private"])
def test_a_card_holds_nothing_that_the_release_file_does_not(case):
    """Every word is the file's, the ledger's, or one that every card has; whatever the rows were."""
    release = shared(case).release()
    words, made = release.ledger.words, card_contents.PROVENANCE["private"]
    known = {
        *leaves(release._document()), *leaves(release.ledger.to_dict()), release.digest, words.total,
        words.conditions,
    }  # fmt: skip
    known |= {*release.card().said, *(f"{a.kind}, {a.cardinality:,} codes" for a in release.domain)}
    read = Release.from_bytes(release.to_bytes())  # what follows from the file's answers
    lost = "of the rows have a replaced value"
    known |= set(card_contents._utility(read))
    known |= {card_contents._number_of_rows(read, read.ledger.to_dict())}
    record = card_contents.LedgerRecord.of(release.ledger.to_dict())
    questions = authority_questions(record, dict.fromkeys(KNOWN, ""), {}, has_budget=False)
    known |= {*leaves([vars(line) for line in questions]), *card_contents.PRIVACY_TESTS.values()}
    known |= {
        card_contents._sentence(card_contents._without_code(text)) for text in release.ledger.not_covered
    }
    known |= {
        f"{made}; up to {mass.most:.0%} {lost}" for mass in estimate_lost_mass(read.domain, read.answers)
    }
    known |= {
        *KNOWN,
        *leaves(vars(card_contents)["PROVENANCE"]),
        *card_contents.LIMITS,
        *card_contents.ERROR_BARS,
    }
    known |= {
        card_contents.PLACEHOLDERS,
        card_contents.NO_ERROR_BARS,
        f"any {release.ledger.neighbours.unit}",
        "True",
    }
    card = release.card()
    known |= {card.facts[name] for name in ("total", "columns", "made with")}  # computed
    known |= {f.name for f in dataclasses.fields(PrivacyCard)} | set(card.facts) | set(card.columns[0])
    # Of the ledger's words alone: tests/release/card/test_conformance.py; rounded entries of the ledger.
    document = {part: value for part, value in card.to_dict().items() if part not in ("conformance", "costs")}
    strange = [(part, leaf) for part, value in document.items() for leaf in leaves(value)]
    assert [(part, leaf) for part, leaf in strange if leaf.strip() and leaf not in known] == []


def test_a_value_of_a_row_on_a_card_would_be_caught(monkeypatch):
    monkeypatch.setattr(card_contents, "_error_bars", lambda release: ("79 people of 800 are in Chur",))
    with pytest.raises(AssertionError):
        test_a_card_holds_nothing_that_the_release_file_does_not("declared")


def test_other_rows_and_the_same_words_give_the_same_card():
    """Of the noisy answers it has the number of rows, the expected distances, and what columns lost."""
    ours = shared().release()
    other = fitted().release()
    assert ours.digest != other.digest
    of_domain = [answer for answer in ours.answers if answer.paid_by == ("domain",)]
    others = [answer for answer in other.answers if answer.paid_by != ("domain",)]
    answers = dataclasses.replace(ours.answers, answers=(*of_domain, *others))
    mixed = dataclasses.replace(ours, model=other.model, answers=answers)
    cards = [release.card().to_dict() for release in (ours, mixed)]
    for card in cards:
        del card["facts"]["sha256"], card["facts"]["number of rows"], card["utility"]
    assert cards[0] == cards[1]


@pytest.mark.parametrize("case", CLAIMS)
def test_the_noisy_number_of_rows_stands_beside_the_total(case):
    release = shared(case).release()
    facts = release.card().facts
    names = list(facts)
    assert names.index("number of rows") == names.index("total") + 1
    rows = release.answers.number_of_rows()
    assert facts["number of rows"].startswith(f"about {rows:,} (with noise; paid for in the total)")
    product = float(facts["number of rows"].split(" is ")[1].split(",")[0])
    assert release.ledger.delta * rows * (1 - 1e-9) <= product <= 1.1 * release.ledger.delta * rows


def test_no_number_of_rows_where_none_was_paid_for():
    release = shared("uniform").release()
    without = dataclasses.replace(release, answers=dataclasses.replace(release.answers, answers=()))
    assert without.card().facts["number of rows"] == card_contents.NO_ROWS


@pytest.mark.parametrize("case", CLAIMS)
def test_questions_of_authorities_are_answered_by_the_guarantee(case):
    """The factor, delta and the unit, for the whole release: no distance, pass rate or statement about a row."""
    release = shared(case).release()
    questions = {line["question"]: line for line in release.card().questions}
    singling_out, linkability, inference, intruder, review, environment, technique = questions
    factor = rounded_up(math.exp(release.ledger.epsilon))
    assert (
        f"at most a factor of {factor}, apart from an additional probability"
        in questions[singling_out]["answer"]
    )
    assert release.ledger.neighbours.relation in questions[singling_out]["answer"]
    assert "their losses add up" in questions[linkability]["answer"]
    assert "the limit is for one row" in questions[linkability]["answer"]
    assert questions[inference]["state"] == "limited in part"
    assert release.ledger.words.lead in questions[intruder]["answer"]
    assert "No audit is attached" in questions[intruder]["answer"]
    assert "Review date: not given." in questions[review]["answer"]
    assert "not given." in questions[environment]["answer"]
    assert "differential privacy" in questions[technique]["answer"]
    texts = " ".join(line["answer"] for line in questions.values()).lower()
    assert [
        word for word in ("distance", "passed", "pass rate", "each row", "every row") if word in texts
    ] == []


def test_the_guarantee_is_conditional_on_every_line_that_states_it():
    ledger = shared().privacy_ledger().to_dict()
    record = dataclasses.replace(card_contents.LedgerRecord.of(ledger), entries=(
        RecordedEntry(name="x", mechanism="y", scope="z", provenance="assumed", note="", epsilon=None),
    ))  # fmt: skip
    line = authority_questions(record, dict.fromkeys(KNOWN, ""), {}, has_budget=False)[0]
    assert f", {CONDITION}." in line.answer


def test_the_data_protection_file_is_on_the_card_and_not_in_the_release():
    release = shared().release()
    digest = release.digest
    facts = {name: f"<{name}> & more" for name in DATA_PROTECTION}
    card = release.card(**facts)
    assert card.blanks == tuple(name for name in KNOWN if name not in DATA_PROTECTION)
    assert all(escape(text) in card.to_html() for text in facts.values())
    assert all(markdown_cell(text) in card.to_markdown() for text in facts.values())
    assert f"Review date: {facts['review_date']}." in card.questions[4]["answer"]
    assert f"Agreed controls: {facts['environment']}." in card.questions[5]["answer"]
    blank = release.card()
    for page in (blank.to_html(), blank.to_markdown()):
        assert page.count("not given (") == len(KNOWN)
    assert release.digest == digest
    assert b"& more" not in release.to_bytes()


@pytest.mark.parametrize("case", CLAIMS)
def test_a_card_names_no_argument_or_option(case):
    card = shared(case).release().card().to_dict()
    del card["facts"]["made with"]
    code = re.compile(r"\b[a-z_]+=|--[a-z]|\w\(\)")
    assert [text for text in leaves(card) if code.search(text)] == []


def test_names_of_columns_are_quoted_beside_expected_distances():
    """Else a name could add a sentence to a card. Control: a plain name."""
    for name, shown in (("age", "(age)"), ("a). Anonymous. (", '("a). Anonymous. (")')):
        assert card_contents._mean_distance("Columns", {(name,): 0.5}).endswith(f" is 0.5 {shown}.")


def test_expected_distances_are_of_the_default_model_alone():
    """With seeds, a published table, or another learner, nothing was measured."""
    columns, pairs, *_ = shared().release().card().utility
    assert columns.startswith("Columns: expected distance 0.")
    assert pairs.startswith("Pairs of columns: expected distance 0.")
    for case in ("seeds", "uniform"):
        assert shared(case).release().card().utility == (card_contents.NO_UTILITY,)
    release = shared().release()
    own = {name: value for name, value in release.settings.items() if name != "model"}
    older = release.settings | {"structure": "cfs"}  # a file of 0.1: the paper's learner
    for settings in (own, older, release.settings | {"public_rows": 9}):
        view = SimpleNamespace(settings=settings, seeds=release.seeds, answers=release.answers)
        assert card_contents._utility(view) == (card_contents.NO_UTILITY,)


def test_what_a_person_says_is_text(tmp_path):
    card = shared().release().card(**SAID)
    assert "Visits &lt;2026&gt;" in card.to_html()
    assert "Office \\| of Numbers" in card.to_markdown()
    for ending in ("html", "md", "json"):
        card.save(tmp_path / f"card.{ending}")
    assert (
        json.loads((tmp_path / "card.json").read_text(encoding="utf-8"))["known"]["name"] == "Visits <2026>"
    )
    with pytest.raises(ValueError, match=r"must end in \.html"):
        card.save(tmp_path / "card.pdf")


def test_what_cannot_be_said():
    with pytest.raises(ValueError, match="owner is no field of a card; the fields are name, holder"):
        shared().release().card(owner="me")
    for known in ({"name": ""}, {"name": 3}, {"name": "x" * 3000}):
        with pytest.raises(ValueError, match="must be a text"):
            shared().release().card(**known)


@pytest.mark.parametrize("case", ["declared", "mixed"])
def test_sources_are_cited_of_what_was_released_alone(case):
    """Of every kind of column, learned bins too. Control: other words of each."""
    release, words = shared(case).release(), CASES[case]["domain"]
    cited = {name: {**one, "source": f"of {name}"} for name, one in words.items()}
    assert {c["column"]: c["source"] for c in release.card(domain=cited).columns if c["source"]} == {
        name: f"of {name}" for name in words
    }
    other = {
        "city": {"range_values": ["Bern", "Chur"]}, "grade": {"range_values": [1, 2, 3.5, 4]},
        "band": {"range_values": ["c", "b", "a"]}, "member": {"range_is_nullable": False},
        "age": {"range_max": 111}, "share": {"range_max": 0.5}, "start": {"range_min": "2020-06-01"},
        "zoned": {"range_max": "2020-06-01"}, "day": {"range_min": "01.06.2020"},
    }  # fmt: skip
    for name, edit in other.items():
        with pytest.warns(UserWarning, match=f"no source is cited of {name}:"):
            found = release.card(domain={**cited, name: {**cited[name], **edit}}).columns
        assert {c["column"] for c in found if c["source"]} == {*words} - {name}
    with pytest.warns(UserWarning, match="no source is cited of age"):
        release.card(domain={"age": {"sdtype": "numerical", "source": "of its type alone"}})
    with pytest.warns(UserWarning, match="no source is cited of age"):
        release.card(domain={"age": {"sdtype": "datetime", "range_min": "2000", "source": "another type"}})
    found = release.card(
        domain={**words, "city": {**words["city"], "source": "Code book 2026, p. 4"}}
    ).columns
    assert {c["column"]: c["source"] for c in found if c["source"]} == {"city": "Code book 2026, p. 4"}
    with pytest.raises(ValueError, match="none of this release's columns"):
        release.card(domain={"shoe": {"sdtype": "numerical"}})


def test_a_budget_that_the_release_did_not_draw_from_is_refused(tmp_path):
    """Else its smaller total, or that no row was looked at, stands beside a release of more."""
    small, of_people = (Budget(epsilon=5.0, delta=1e-7, path=tmp_path / name) for name in ("a", "b"))
    release = fitted("uniform", epsilon=1.0).release()
    with pytest.raises(ValueError, match="did not draw from it"):
        release.card(budget=small)
    fitted("uniform", epsilon=0.1, budget=small)
    with pytest.raises(ValueError, match="did not draw from it"):
        release.card(budget=small)
    fitted("uniform", epsilon=1.0, budget=of_people, neighbours="replace_one")
    with pytest.raises(ValueError, match="did not draw from it"):
        release.card(budget=of_people)
    fitted("uniform", epsilon=1.0, budget=small)
    card = release.card(budget=small)
    assert card.budget.count(total(5)) == 1
    assert "The budget on this card limits" in card.questions[1]["answer"]


def audited(*, public: bool) -> AuditResult:
    stage = StageResult(
        name="s", threat="membership", verdict="nothing found", confidence=0.0, words="at most 0.2",
        figures={"rows": 800}, seconds=1.0,
    )  # fmt: skip
    return AuditResult(synthesizer="S", claimed_epsilon=1.0, delta=1e-9, public=public, stages=(stage,))


def test_audits_of_public_tables_alone():
    release = shared().release()
    card = release.card(audit=audited(public=True))
    assert card.audit["stages"] == [
        {"threat": "membership", "verdict": "nothing found", "words": "at most 0.2"}
    ]
    assert "at most 0.2" in card.to_html()
    assert "at most 0.2" in card.to_markdown()
    assert "Result: nothing found." in card.questions[3]["answer"]
    for planted in (audited(public=False), audited(public=False).to_dict(), {"may_be_published": "yes"}, 3):
        with pytest.raises(ValueError, match="real rows"):
            release.card(audit=planted)


def test_columns_say_where_their_values_are_from():
    values = {line["column"]: line["values"] for line in shared().release().card().columns}
    assert values["email"] == values["key"] == card_contents.PLACEHOLDERS
    assert values["city"] == "declared without the rows"
    private = shared("private").release().card()
    assert {line["values"] for line in private.columns} >= {card_contents.PROVENANCE["private"]}


def test_other_kinds_have_cards():
    """Under a secret split the total is below what an entry would cost on all rows."""
    for case in ("independent, split", "uniform"):
        assert len(shared(case).release().card().conformance) > 20
