"""The guarantee of the page: the ledger's words, and what may be shown under it."""

import json

import pandas as pd
import pytest

from sdv_plausible.evaluation.page.guarantee import NO_GUARANTEE, Guarantee
from sdv_plausible.privacy.accounting.losses import GaussianLoss, InfiniteLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger


def test_no_ledger_is_no_guarantee():
    guarantee = Guarantee.of(None)
    assert guarantee.words.first == NO_GUARANTEE
    assert not guarantee.claimed
    assert not guarantee.covers_structure


def document(*entries):
    """The plain form of a ledger; an entry is (name, epsilon, provenance, parts)."""
    keys = ("name", "epsilon", "provenance", "parts")
    return {"headline": "The total.", "entries": [dict(zip(keys, entry, strict=True)) for entry in entries]}


@pytest.mark.parametrize(
    ("entries", "claimed", "covers"),
    [
        (
            [("anything", 0.5, "charged", ["structure"]), ("tables", 0.5, "charged", ["parameters"])],
            True,
            True,
        ),
        ([("domain", None, "declared", ["domain"]), ("arcs", None, "declared", ["structure"])], True, True),
        ([("model", 0.5, "charged", ["structure", "parameters"])], True, True),
        ([("tables", 0.5, "charged", ["parameters"])], True, False),
        ([("structure of the network and model", 0.5, "charged", [])], True, False),  # only named so
        ([("model", 0.5, "charged", None)], True, False),  # an older ledger, without parts
        ([("model", 0.5, "charged", "structure")], True, False),  # text is no list of parts
        (
            [("structure", 0.5, "charged", ["structure"]), ("domain", None, "no claim", ["domain"])],
            False,
            False,
        ),
        ([("structure", None, None, ["structure"])], False, False),  # no cost stated
        ([("structure", float("inf"), "charged", ["structure"])], False, False),
        ([], False, False),
    ],
)
def test_the_network_is_covered_only_by_a_finite_entry_that_pays_for_it(entries, claimed, covers):
    guarantee = Guarantee.of(document(*entries))
    assert (guarantee.claimed, guarantee.covers_structure) == (claimed, covers)
    assert guarantee.words.first == "The total."


def ledger_of(**changes):
    ledger = PrivacyLedger(delta=1e-9)
    entry = {
        "name": "arcs",
        "mechanism": "noise",
        "losses": (GaussianLoss(sensitivity_over_sigma=0.1),),
        "scope": "the model",
    }
    ledger.charge(LedgerEntry(**{**entry, **changes}))
    return ledger


def test_an_entry_merely_named_structure_does_not_publish_the_network():
    assert Guarantee.of(ledger_of(parts=("structure",))).covers_structure
    for name in ("structure", "network", "model"):
        named = Guarantee.of(ledger_of(name=name))
        assert named.claimed
        assert not named.covers_structure
    assert not Guarantee.of(ledger_of(parts=("structure",), losses=(InfiniteLoss(),))).covers_structure


def test_a_ledger_says_the_same_as_its_plain_form_and_its_json():
    for parts in ((), ("structure",), ("domain", "parameters", "seeds")):
        ledger = ledger_of(parts=parts, note="a note")
        guarantee = Guarantee.of(ledger)
        assert guarantee.words == ledger.words
        assert guarantee.covers_structure == ("structure" in parts)
        assert guarantee.not_covered
        assert Guarantee.of(ledger.to_dict()) == Guarantee.of(json.loads(ledger.to_json())) == guarantee


def test_the_ledger_itself_is_asked():
    class Reluctant(PrivacyLedger):
        def covers_part(self, part):
            return False

    ledger = Reluctant(delta=1e-9)
    ledger.charge(*ledger_of(parts=("structure",)).entries)
    assert not Guarantee.of(ledger).covers_structure


@pytest.mark.parametrize("wrong", ["ledger.json", {"epsilon": 1}, [], pd.DataFrame({"headline": [1]})])
def test_what_is_no_ledger_is_an_error(wrong):
    with pytest.raises(ValueError, match=r"must be a PrivacyLedger, or a dict as read from its JSON"):
        Guarantee.of(wrong)


@pytest.mark.parametrize(
    "form", [lambda ledger: ledger, PrivacyLedger.to_dict, lambda one: json.loads(one.to_json())]
)
def test_entries_within_an_envelope_are_paid_for(form):
    """After a vote domain and model are lines within another, which pays: that is a claim."""
    noise = GaussianLoss(sensitivity_over_sigma=0.1)
    parts = {"learning": ("domain", "structure", "parameters"), "model": ("structure",)}
    ledger = PrivacyLedger(delta=1e-9)
    for name, envelope in (("types", False), ("learning", True), ("model", False)):
        ledger.charge(
            LedgerEntry(
                name=name, mechanism="m", losses=(noise,), scope="s", parts=parts.get(name, ()),
                envelope=envelope,
            )
        )  # fmt: skip
    assert [one["provenance"] for one in ledger.to_dict()["entries"]].count("within another") == 1
    guarantee = Guarantee.of(form(ledger))
    assert (guarantee.claimed, guarantee.covers_structure) == (True, True)
    ledger.charge(LedgerEntry(name="seen", mechanism="m", losses=(InfiniteLoss(),), scope="s"))
    assert not Guarantee.of(form(ledger)).claimed
