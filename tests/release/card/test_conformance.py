"""The table in the words of NIST SP 800-226: its answers are the ledger's, its links lead somewhere."""

import re
from pathlib import Path

import pytest
import releases
from markdown_it import MarkdownIt

from sdv_plausible import PlausibleDeniabilitySynthesizer, metadata_of, to_conformance
from sdv_plausible.privacy.accounting.losses import GaussianLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import Neighbours, RelatedTablesUnit
from sdv_plausible.release.card.conformance import ConformanceItem

ROOT = Path(__file__).parents[3]
TOPICS = (
    "Epsilon", "Delta", "Unit of privacy", "Neighbouring tables", "Budget across releases", "Trust model",
    "Floating point", "Side channels: time, memory", "Data-dependent preprocessing: reading", "Composition",
    "Data collection, security, access control", "Bias: systemic, human, statistical", "Random numbers",
)  # fmt: skip
STATES = ("covered", "not covered", "yours to do")


def rows(text: str) -> dict[str, tuple[str, str, str]]:
    """Answer, state and link of every topic, as Markdown shows them."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    cells = [
        token for token in tokens if token.type == "inline" and token.level == 4 and "|" not in token.markup
    ]
    found = {}
    for topic, answer, state in zip(*[iter(cells)] * 3, strict=True):
        links = [str(child.attrGet("href")) for child in state.children or () if child.type == "link_open"]
        shown = ["".join(child.content for child in cell.children or ()) for cell in (topic, answer, state)]
        assert shown[0] not in found
        found[shown[0]] = (shown[1], shown[2], links[0] if links else "")
    found.pop("question")
    return found


def page(case: str = "declared") -> str:
    return to_conformance(releases.shared(case).privacy_ledger())


def test_every_line_has_an_answer_and_who_answers_for_it_on_one_page():
    for case in ("declared", "private", "seeds", "uniform"):
        found = rows(page(case))
        assert set(TOPICS) <= set(found)
        assert {state for _, state, _ in found.values()} == set(STATES)
        assert all(answer for answer, _, _ in found.values())
        assert all(link for _, state, link in found.values() if state == "covered")
        assert len(found) <= 30


def anchors(text: str) -> set[str]:
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_links_lead_somewhere():
    for text in (page("declared"), page("private"), to_conformance(of_people())):
        for _, _, link in rows(text).values():
            name, _, anchor = link.partition("#")
            assert not name or (ROOT / name).is_file(), link
            assert not anchor or anchor in anchors((ROOT / name).read_text()), link
    elsewhere = to_conformance(releases.shared().privacy_ledger(), pages="https://example.org/docs/")
    links = {link for _, _, link in rows(elsewhere).values() if link}
    assert all(link.startswith("https://example.org/docs/") for link in links)
    assert not any("docs//" in link for link in links)


def of_people(person: str = "home") -> PrivacyLedger:
    ledger = PrivacyLedger(delta=1e-6, neighbours=Neighbours(rows=3, person=person, replace=True))
    losses = (GaussianLoss(sensitivity_over_sigma=0.2),)
    ledger.charge(LedgerEntry(name="model", mechanism="x", losses=losses, scope="s"))
    return ledger


def test_answers_are_the_ledgers():
    ledger = of_people()
    found = rows(to_conformance(ledger))
    assert float(re.search(r"at most ([\d.]+):", found["Epsilon"][0])[1]) >= ledger.total()
    assert found["Delta"][0].startswith("1e-06")
    assert found["Unit of privacy"][0] == ledger.neighbours.unit
    assert found["Neighbouring tables"][0] == ledger.neighbours.relation
    assert "Bounded contribution" in found
    assert "Bounded contribution" not in rows(page())
    assert "protect persons" in rows(page())["Is the unit right?"][0]


def test_of_related_tables_it_speaks_of_families_and_their_proof():
    family = RelatedTablesUnit(rows=3, person="home", root="homes", hanging=(("people", "homes", "home", 3),))
    ledger = PrivacyLedger(delta=1e-6, neighbours=family)
    ledger.charge(*of_people().entries)
    found = to_conformance(ledger)
    assert rows(found)["Unit of privacy"][0] == family.unit
    assert "no more rows of a family" in rows(found)["Bounded contribution"][0]
    assert "proofs/related_tables.md" in found
    assert "proofs/related_tables.md" not in to_conformance(of_people())


def test_a_declared_domain_is_yours_and_a_learned_one_is_covered():
    short = {"a": {"range_min": 0, "range_max": 9}}
    synth = PlausibleDeniabilitySynthesizer(metadata_of(short), domain=short)
    declared, learned = rows(to_conformance(synth.plan().ledger)), rows(page("private"))
    assert declared["Declared: domain"][1] == "yours to do"
    assert "Data-dependent preprocessing: value sets" not in declared
    assert learned["Data-dependent preprocessing: value sets"][1] == "covered"
    both = rows(page("declared"))  # wide ranges are bounds: their bins are learned
    assert {"Declared: domain", "Data-dependent preprocessing: value sets"} <= set(both)


def test_columns_with_odd_names_stay_in_their_cells():
    for name in ("a|b", "a\\|b", "<script>x</script>", "a\nb", "[x](http://example.org)", "![x](y.png)"):
        found = rows(to_conformance(of_people(name)))
        assert len(found) == len(rows(to_conformance(of_people())))
        tokens = MarkdownIt("commonmark").enable("table").parse(to_conformance(of_people(name)))
        inside = [child.type for token in tokens for child in token.children or ()]
        assert {"html_inline", "image"}.isdisjoint(inside)
        assert inside.count("link_open") == to_conformance(of_people()).count("](docs/")


def test_nothing_is_covered_without_a_page():
    with pytest.raises(ValueError, match="name the page that proves it"):
        ConformanceItem(topic="x", answer="y", state="covered")
