"""The guarantee of the page: the ledger's words, and what may be shown under it."""

import json

import pandas as pd
import pytest

from sdv_plausible.evaluation.page.sections import NO_GUARANTEE, GuaranteeSection
from sdv_plausible.privacy.accounting.losses import GaussianLoss, InfiniteLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger


def test_no_ledger_is_no_guarantee():
    guarantee = GuaranteeSection.of(None)
    assert guarantee.words.first == NO_GUARANTEE
    assert not guarantee.claimed
    assert not guarantee.covers_structure


def document(*entries):
    """The plain form of a ledger; an entry is (name, epsilon, provenance, parts)."""
    keys = ("name", "epsilon", "provenance", "parts")
    return {"headline": "The total.", "entries": [dict(zip(keys, entry, strict=True)) for entry in entries]}


def test_the_network_is_covered_only_by_a_finite_entry_that_pays_for_it():
    tables = ("tables", 0.5, "charged", ["parameters"])
    for entries, claimed, covers in (
        ([("anything", 0.5, "charged", ["structure"]), tables], True, True),
        ([("domain", None, "declared", ["domain"]), ("arcs", None, "declared", ["structure"])], True, True),
        ([("model", 0.5, "charged", ["structure", "parameters"])], True, True),
        ([tables], True, False),
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
    ):
        guarantee = GuaranteeSection.of(document(*entries))
        assert (guarantee.claimed, guarantee.covers_structure) == (claimed, covers), entries
        assert guarantee.words.first == "The total."


NOISE = GaussianLoss(sensitivity_over_sigma=0.1)


def charged(ledger, **changes):
    entry = {"name": "arcs", "mechanism": "noise", "losses": (NOISE,), "scope": "the model"}
    ledger.charge(LedgerEntry(**{**entry, **changes}))
    return ledger


def ledger_of(**changes):
    return charged(PrivacyLedger(delta=1e-9), **changes)


def test_an_entry_merely_named_structure_does_not_publish_the_network():
    assert GuaranteeSection.of(ledger_of(parts=("structure",))).covers_structure
    for name in ("structure", "network", "model"):
        named = GuaranteeSection.of(ledger_of(name=name))
        assert named.claimed
        assert not named.covers_structure
    assert not GuaranteeSection.of(ledger_of(parts=("structure",), losses=(InfiniteLoss(),))).covers_structure


def test_a_ledger_says_the_same_as_its_plain_form_and_its_json():
    for parts in ((), ("structure",), ("domain", "parameters", "seeds")):
        ledger = ledger_of(parts=parts, note="a note")
        guarantee = GuaranteeSection.of(ledger)
        assert guarantee.words == ledger.words
        assert guarantee.covers_structure == ("structure" in parts)
        assert guarantee.not_covered
        assert (
            GuaranteeSection.of(ledger.to_dict())
            == GuaranteeSection.of(json.loads(ledger.to_json()))
            == guarantee
        )


def test_the_ledger_itself_is_asked():
    class Reluctant(PrivacyLedger):
        def covers_part(self, part):
            return False

    ledger = charged(Reluctant(delta=1e-9), parts=("structure",))
    assert not GuaranteeSection.of(ledger).covers_structure


def test_what_is_no_ledger_is_an_error():
    for wrong in ("ledger.json", {"epsilon": 1}, [], pd.DataFrame({"headline": [1]})):
        with pytest.raises(ValueError, match=r"must be a PrivacyLedger, or a dict as read from its JSON"):
            GuaranteeSection.of(wrong)


def test_entries_within_an_envelope_are_paid_for():
    """After a vote domain and model are lines within another, which pays: that is a claim."""
    ledger, parts = PrivacyLedger(delta=1e-9), ("domain", "structure", "parameters")
    charged(ledger, name="types")
    charged(ledger, name="learning", parts=parts, envelope=True)
    charged(ledger, name="model", parts=("structure",))
    assert [one["provenance"] for one in ledger.to_dict()["entries"]].count("within another") == 1
    forms = (lambda ledger: ledger, PrivacyLedger.to_dict, lambda one: json.loads(one.to_json()))
    for form in forms:
        guarantee = GuaranteeSection.of(form(ledger))
        assert (guarantee.claimed, guarantee.covers_structure) == (True, True)
    charged(ledger, name="seen", losses=(InfiniteLoss(),))
    assert [GuaranteeSection.of(form(ledger)).claimed for form in forms] == [False] * 3
