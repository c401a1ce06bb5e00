"""What an entry pays for, and the ledger as HTML."""

from __future__ import annotations

import math
import pickle
import re
from html import unescape
from pathlib import Path
from typing import get_args

import pytest

import sdv_plausible
from sdv_plausible.privacy.accounting.attacker_bounds import attackers
from sdv_plausible.privacy.accounting.losses import ApproxDP, GaussianLoss, InfiniteLoss, PureDP
from sdv_plausible.privacy.entries import LedgerEntry, Part
from sdv_plausible.privacy.ledger import SENTENCE_ENTRIES, PrivacyLedger
from sdv_plausible.privacy.ledger_record import (
    ALL_SEEDS,
    NOISE,
    RARE,
    LedgerText,
    attacker_accuracy,
    rounded_up,
)
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer
from tests.flat import values

LOSS = GaussianLoss(sensitivity_over_sigma=0.1)
HOSTILE = "<script>alert(\"1\")</script> & 'co' {{ 7 * 7 }} {% endfor %}"


SAYS_ONLY = "plausible deniability"  # an entry that says what holds, and pays for nothing
ENDLESS = (InfiniteLoss(),)
NO_CLAIM = {"epsilon": math.inf}, {"domain": {}, "undeclared": "infer"}, {"omega": 1, "test": "deterministic"}


def entry(**changes):
    usual = {"name": "arcs", "mechanism": "noise", "losses": (LOSS,), "scope": "the model"}
    return LedgerEntry(**{**usual, **changes})


def ledger_of(*entries):
    ledger = PrivacyLedger(delta=1e-9)
    ledger.charge(*entries)
    return ledger


def test_epsilon_of_a_ledger_is_its_total_and_no_limit():
    """As users read it beside ``delta``; a limit has a name of its own."""
    ledger = PrivacyLedger(delta=1e-9, limit=5.0)
    assert ledger.epsilon == 0.0
    ledger.charge(entry())
    assert 0 < ledger.epsilon == ledger.total() == ledger.to_dict()["epsilon"] < ledger.limit
    ledger.charge(entry())
    assert ledger.epsilon == ledger.total() > ledger_of(entry()).epsilon
    assert math.isinf(ledger_of(entry(losses=ENDLESS)).epsilon)
    with pytest.raises(AttributeError):
        ledger.epsilon = 1.0


def test_a_part_is_covered_by_an_entry_that_pays_for_it_under_a_claim():
    ledger = ledger_of(entry(parts=("structure", "seeds")), entry(name="domain"))
    covered = [part for part in get_args(Part) if ledger.covers_part(part)]
    assert covered == ["structure", "seeds"]
    assert ledger_of(entry(losses=(), parts=("domain",))).covers_part("domain")  # declared: free
    ledger.charge(entry(losses=ENDLESS))
    assert not ledger.covers_part("structure")
    for none in (ledger_of(), *(ledger_of(entry(name=name)) for name in ("structure", "model", "network"))):
        assert not none.covers_part("structure")  # an entry's name covers nothing


def test_unknown_parts_are_an_error():
    says = r"parts \(.*\) of entry 'arcs' must be a tuple of \('domain', 'structure'"
    for parts in ("structure", ("arcs",), ["structure"], None):
        with pytest.raises(ValueError, match=says):
            entry(parts=parts)


def test_what_costs_something_is_a_line_whatever_its_name_and_names_its_parts():
    """A learner of one's own names its entries. Control: the sentence of that name is no line."""
    for name in SENTENCE_ENTRIES:
        ledger = ledger_of(
            entry(name=name, parts=("structure",)),
            entry(name=name, losses=(), mechanism="a sentence"),
            entry(),
        )
        lines = [(line["mechanism"], line["parts"]) for line in ledger.to_dict()["entries"]]
        assert lines == [("noise", ["structure"]), ("noise", [])]
        assert ledger.said(name) == "a sentence"


def test_entries_saved_before_there_were_parts_load_and_pay_for_none():
    old = entry(parts=("structure",))
    del old.__dict__["parts"]  # what a file of that time holds
    assert b"parts" not in pickle.dumps(old)
    loaded = pickle.loads(pickle.dumps(ledger_of(old)))
    assert loaded.entries == (entry(),)
    assert loaded.claims_privacy
    assert not loaded.covers_part("structure")
    assert loaded.to_dict()["entries"][0]["parts"] == []
    assert pickle.loads(pickle.dumps(ledger_of(entry(parts=("structure",))))).covers_part("structure")


def planned(**options):
    """The ledger of a synthesizer of two columns, before any row is looked at."""
    metadata = metadata_from_columns({name: {"sdtype": "categorical"} for name in "ab"})
    domain = {name: {"range_values": ["x", "y"]} for name in "ab"}
    return (
        PlausibleDeniabilitySynthesizer(metadata, **values(**{"domain": domain, **options})).plan(100).ledger
    )


def test_every_entry_of_the_package_says_what_it_pays_for():
    for options in (
        {}, {"structure": "cfs"}, {"structure": {"b": ["a"]}}, {"structure": "independent"}, {"model": "uniform"}, {"omega": 1},
        {"omega": 1, "test": "randomized", "least_rows": 100_000, "row_cap": 100}, {"undeclared": "private", "domain": {}},
    ):  # fmt: skip
        ledger = planned(**options)
        assert [one.name for one in ledger.entries if not one.parts] == [SAYS_ONLY]
        assert all(ledger.covers_part(part) for part in ("domain", "parameters", "seeds"))
        # Of independent columns nothing was paid, or declared, for arcs.
        assert ledger.covers_part("structure") is (options.get("structure") != "independent")


def test_without_a_claim_that_comes_first_and_nothing_is_covered_or_said_of_what_an_attacker_gains():
    for options in NO_CLAIM:
        ledger = planned(**options)
        assert [one.name for one in ledger.entries if not one.parts] == [SAYS_ONLY]
        assert not any(ledger.covers_part(part) for part in get_args(Part))
        words = ledger.words
        assert words.lead.startswith("This release has no differential privacy guarantee")
        assert (words.total, words.conditions, words.annex) == ("", "", ())
        assert not re.search(r"of 100|hits|\bmu\b|[Tt]otal epsilon", str(ledger))


PROMISE = Path(__file__).parents[2] / "docs" / "explanation" / "privacy_promise.md"


def quoted_on(page):
    """The paragraphs of a page's first quotation, wherever its lines break."""
    first = re.search(r"(?:^>.*\n)+", page.read_text(encoding="utf-8"), re.MULTILINE).group()
    return [" ".join(part.split()) for part in re.sub(r"^> ?", "", first, flags=re.MULTILINE).split("\n\n")]


def test_the_promise_is_quoted_as_it_is_printed():
    """What an attacker can gain, the total, conditions; figures and all. Control: another delta."""
    words = planned().words
    assert quoted_on(PROMISE) == [words.lead, words.total, words.conditions]
    assert quoted_on(PROMISE) != str(planned(delta=1e-6)).splitlines()[:3]


def test_what_people_decide_by_comes_first_and_what_is_for_specialists_last():
    ledger = planned()
    lines = str(ledger).splitlines()
    assert lines[:3] == [ledger.words.lead, ledger.words.total, ledger.words.conditions]
    assert lines[0].endswith("is right at most 53.7 % of the time (50 % is guessing).")  # (1 + 0.0725) / 2
    annex = lines[lines.index("  Annex, for specialists:") + 1 :]
    wanted = f"{ALL_SEEDS} (Definition 1 of [PD])", RARE.rstrip(":"), NOISE.rstrip(":")
    assert [text.split(":")[0] for text in annex] == [f"    - {text}" for text in wanted]
    assert not re.search(r"plausible deniability|\bmu\b|hits", "\n".join(lines[: -len(annex)]))


def test_where_only_epsilon_and_delta_are_known_the_gain_is_theirs():
    """A plain form without it: never less than the truth, which randomised response reaches."""
    plain = {**planned().to_dict(), "meaning": ""}
    assert "right at most 73.1 % of the time" in LedgerText.of(plain).lead  # 1 / (1 + exp(-0.999)) = 0.7309
    for epsilon, delta in ((0.1, 0.01), (1.0, 1e-9), (3.0, 0.2), (20.0, 0.0), (1000.0, 1e-9)):
        bound = (1 + attackers([ApproxDP(epsilon=epsilon, delta=delta)]).advantage) / 2
        assert attacker_accuracy(epsilon, delta) == pytest.approx(bound, rel=1e-6)
    replaced = {**planned(neighbours="replace_one").to_dict(), "meaning": ""}
    assert "whether one row is this one or another is right" in LedgerText.of(replaced).lead


def test_a_ledger_of_other_words_keeps_them():
    """An older one's meaning and total stay whole, and what is no ledger of ours leads with its headline."""
    plain = planned().to_dict()
    older = {**plain, "headline": "Total epsilon 1 at delta 1.0e-09, as it was said.", "meaning": "Then."}
    assert LedgerText.of(older).first == "Then. Total epsilon 1 at delta 1.0e-09, as it was said."
    assert LedgerText.of({"headline": "The total."}).first == "The total."
    assert LedgerText.of({**plain, "headline": "No claim."}).first == "No claim."
    assert ledger_of().words.first == "Nothing has been charged yet, and no rows have been read."


def words_of(fragment):
    return " ".join(unescape(re.sub("<[^>]+>", " ", fragment)).split())


def test_the_html_has_the_ledgers_words_and_figures():
    ledger = ledger_of(entry(note="a remark"), entry(name="domain", losses=(), scope="the domain"))
    words = ledger.words
    expected = (
        f"{words.lead} {words.total} {words.conditions} what how epsilon covers status remarks arcs noise "
        f"{rounded_up(ledger.entries[0].epsilon(ledger.delta))} the model charged a remark domain noise free the "
        "domain declared "
        "These epsilons do not simply add up: the total is their exact composition. Not covered: "
        + " ".join([*ledger.not_covered, "Annex, for specialists:", *words.annex])
    )
    assert words_of(ledger.to_html()) == expected
    assert ledger._repr_html_() == ledger.to_html()
    assert "Nothing has been charged yet" in ledger_of().to_html()


def test_the_html_escapes_every_text():
    texts = dict.fromkeys(("name", "mechanism", "scope", "note"), HOSTILE)
    fragment = ledger_of(entry(**texts, losses=ENDLESS)).to_html()
    assert "<script" not in fragment
    assert words_of(fragment).count(HOSTILE) == 5  # once more in the sentence


def test_figures_of_a_guarantee_are_rounded_up():
    """Control: rounding to the nearest would say 1 for 1.0049."""
    figures = {1.0049: "1.01", 1.0: "1", 0.9989: "0.999", 1e-9: "1e-09", 0.0: "0", math.inf: "inf"}
    assert [rounded_up(figure) for figure in figures] == [*figures.values()]
    assert all(float(said) >= figure for figure, said in figures.items())
    assert f"{1.0049:.3g}" == "1"


@pytest.mark.parametrize("epsilon", [0.5004, 1.0049, 1.9999994, 12.118, 0.00012345678])
def test_no_figure_that_is_shown_is_below_the_true_one(epsilon):
    """In words, as text, as HTML and as JSON; control: three digits to the nearest are below."""
    delta = 1.2344e-9
    ledger = PrivacyLedger(delta=delta)
    ledger.charge(entry(losses=(PureDP(epsilon=epsilon),)))
    alone, whole = rounded_up(ledger.entries[0].epsilon(delta)), rounded_up(ledger.total())
    assert float(alone) >= epsilon > float(f"{epsilon:.3g}") or epsilon == 1.9999994
    assert f"Total epsilon {whole} at delta 1.24e-09" in ledger.sentence()
    assert "additional probability of at most 1.24e-09" in ledger.sentence()
    assert f"epsilon {alone} " in str(ledger).splitlines()[4]
    assert f">{alone}</td>" in ledger.to_html()
    assert epsilon * (1 - 1e-9) <= ledger.to_dict()["entries"][0]["epsilon"] <= epsilon + 1.1e-6
    advantage = float(re.search(r"false alarms by at most (\S+) %", str(ledger)).group(1))
    assert advantage >= 100 * ledger.attackers().advantage
    right = float(re.search(r"right at most (\S+) % of the time", ledger.words.lead).group(1))
    assert 50 * (1 + ledger.attackers().advantage) <= right <= 50.2 * (1 + ledger.attackers().advantage)


NEAREST = re.compile(r"\{[^{}]*(?:epsilon|delta|total|spent|advantage|cost)[^{}]*:,?\.\d+[gfe]\}")
PACKAGE = Path(sdv_plausible.__file__).parent


def nearest_in(source):
    """Places of a module where a figure of a guarantee is rounded to the nearest."""
    return [found.group() for found in NEAREST.finditer(source)]


def test_one_rule_writes_the_figures_of_a_guarantee():
    """But in the audit, which tells what an attack has shown, no guarantee. Control: figures rounded to the nearest."""
    files = [
        file
        for file in sorted(PACKAGE.rglob("*.py"))
        if file.relative_to(PACKAGE).parts[:2] != ("extensions", "audit")
    ]
    assert {file.name: found for file in files if (found := nearest_in(file.read_text("utf-8")))} == {}
    planted = 'f"epsilon {epsilon:.3g}"', 'f"{ledger.total():,.0f}"', "f'at {self.delta:.3g}'"
    assert all(nearest_in(text) for text in planted)
    assert nearest_in('f"epsilon {rounded_up(epsilon, 4)} of {rows:.3g} rows"') == []
