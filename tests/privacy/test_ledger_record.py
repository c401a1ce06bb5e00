"""A ledger as it was written down is read back, or refused with one clear line."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdv_plausible import to_conformance, to_registry
from sdv_plausible.privacy.accounting.losses import GaussianLoss, InfiniteLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.ledger_record import LedgerRecord, rounded_up
from sdv_plausible.privacy.neighbours import Neighbours

CHARGED = LedgerEntry(
    name="model", mechanism="noise", losses=(GaussianLoss(sensitivity_over_sigma=0.1),), scope="the model"
)
DECLARED = LedgerEntry(name="domain", mechanism="declared: age", losses=(), scope="", parts=("domain",))


def ledger(*entries: LedgerEntry, **options) -> PrivacyLedger:
    made = PrivacyLedger(delta=1e-9, **options)
    made.charge(*(entries or (CHARGED, DECLARED)))
    return made


def test_a_record_says_what_the_ledger_says():
    made = ledger(neighbours=Neighbours(rows=3, person="home"))
    record = LedgerRecord.of(json.loads(made.to_json()))
    assert record == LedgerRecord.of(made.to_dict())
    assert (record.epsilon, record.delta) == (made.total(), made.delta)
    assert record.headline == made.sentence()
    assert record.unit == made.neighbours.unit
    assert record.not_covered == made.not_covered
    assert [entry.name for entry in record.charged] == ["model"]
    assert [entry.parts for entry in record.declared] == [("domain",)]
    assert record.of_people
    assert not LedgerRecord.of(ledger().to_dict()).of_people


def test_a_ledger_that_was_written_before_there_were_parts():
    plain = ledger().to_dict()
    for entry in plain["entries"]:
        del entry["parts"]
    assert {entry.parts for entry in LedgerRecord.of(plain).entries} == {()}


def test_no_claim_no_papers():
    endless = LedgerEntry(name="x", mechanism="m", losses=(InfiniteLoss(),), scope="all", note="leave it out")
    for made in (ledger(endless), ledger(CHARGED, endless), PrivacyLedger(delta=1e-9)):
        for paper in (to_registry, to_conformance, lambda made: LedgerRecord.of(made.to_dict())):
            with pytest.raises(
                ValueError,
                match="guarantee, and this one has none: (This release has no diff.*leave it out|Nothing)",
            ):
                paper(made)


def test_rounded_entries_are_no_contradiction():
    """An entry is written with six digits, and may be rounded above a total that it makes alone."""
    for mu in (0.0123456, 0.00071237, 0.3000004, 0.5):
        loss = GaussianLoss(sensitivity_over_sigma=mu)
        made = LedgerEntry(name="x", mechanism="m", losses=(loss,), scope="all")
        assert LedgerRecord.of(ledger(made).to_dict()).epsilon > 0


def test_an_entry_costs_no_more_than_the_whole():
    """Under a secret split the whole may cost less than an entry would on all rows."""
    made = ledger(CHARGED)
    whole = made.total()
    made.split = type("Half", (), {"total": lambda self, charged, delta: whole / 2})()
    plain = made.to_dict()
    assert plain["epsilon"] == whole / 2
    assert max(entry["epsilon"] or 0 for entry in plain["entries"]) <= whole / 2 + 1e-6
    assert LedgerRecord.of(plain).epsilon == whole / 2


def test_what_is_no_ledger_is_refused():
    of_ledger = [
        {"epsilon": "1"}, {"epsilon": True}, {"epsilon": -1}, {"epsilon": math.nan}, {"headline": None}, {"entries": 5},
        {"entries": [5]}, {"not_covered": [1]},
    ]  # fmt: skip
    damaged = [{**ledger().to_dict(), **change} for change in of_ledger]
    damaged.append({name: value for name, value in ledger().to_dict().items() if name != "unit"})
    for change in ({"epsilon": "much"}, {"parts": [1]}, {}):
        damaged.append(ledger().to_dict())
        damaged[-1]["entries"][0].update(change)
    del damaged[-1]["entries"][0]["mechanism"]
    for plain in (*damaged, [], 5, None, "x", {}):
        with pytest.raises(
            ValueError, match=r"this is not a privacy ledger \(.*\): use a file that ledger.to_json"
        ):
            LedgerRecord.of(plain)


@given(st.floats(1e-12, 1e12))
def test_a_published_total_is_never_below_the_true_one(epsilon):
    shown = float(rounded_up(epsilon, 4))
    assert Fraction(epsilon) <= Fraction(shown) <= Fraction(epsilon) * Fraction(1002, 1000)


def test_rounding():
    assert [float(rounded_up(x, 4)) for x in (0.0, 1.0, 0.99871, 0.998712, 12.10001, 123456.0)] == [
        0.0, 1.0, 0.9988, 0.9988, 12.11, 123500.0,
    ]  # fmt: skip


def test_a_ledger_that_was_edited_in_one_place_is_refused():
    """Control: as it was written it is read."""
    plain = json.loads(ledger().to_json())
    assert LedgerRecord.of(plain).epsilon == plain["epsilon"]
    headlines = "Total epsilon 8 at delta 1e-09, for ...", "Nobody can learn anything of anybody."
    for change in ({"epsilon": 0.001}, {"delta": 1e-12}, *({"headline": text} for text in headlines)):
        with pytest.raises(ValueError, match="contradicts itself: its total"):
            LedgerRecord.of({**plain, **change})
