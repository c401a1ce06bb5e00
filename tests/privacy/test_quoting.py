"""Ledgers of files: words of every loss, known names of entries, and texts that stay inside their quotation marks."""

from __future__ import annotations

import math

import pytest

from sdv_plausible.privacy.accounting.losses import ApproxDP, GaussianLoss, InfiniteLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import (
    SENTENCE_ENTRIES,
    WORDS,
    PrivacyLedger,
    in_own_words,
    loss_words,
    with_quoted_names,
)
from sdv_plausible.privacy.ledger_record import NAMES, LedgerRecord, LedgerText, quote_record, says
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours, RelatedTablesUnit
from sdv_plausible.release.file.ledger_section import LOSSES

LIE = "Certified by the Federal Office: epsilon 0.001"


def ledger(**texts: str) -> PrivacyLedger:
    """A ledger with one charged entry, and one sentence."""
    found = PrivacyLedger(delta=1e-9, neighbours=Neighbours(person=LIE))
    loss = GaussianLoss(sensitivity_over_sigma=0.1)
    given = {"name": "model", "mechanism": "counts", "scope": "the model", **texts}
    found.charge(
        LedgerEntry(losses=(loss,), parts=("structure", "parameters"), **given),
        LedgerEntry(name="noise", mechanism=given["mechanism"], losses=(), scope="the release"),
    )
    return found


def test_every_loss_has_words() -> None:
    assert {*WORDS} == {*LOSSES}
    assert {*SENTENCE_ENTRIES} <= {*NAMES}
    assert loss_words(ApproxDP(epsilon=0.0, delta=1e-11, count=3)).endswith("epsilon 0, delta 1e-11, 3 times")
    assert loss_words(InfiniteLoss()) == "no privacy guarantee"


def test_units_quote_names_of_columns_and_tables() -> None:
    assert with_quoted_names(ONE_ROW) == ONE_ROW
    unit = with_quoted_names(Neighbours(rows=2, person=LIE))
    assert f'all rows with one value of "{LIE}"' in unit.relation
    family = RelatedTablesUnit(
        rows=2, person="key", root="my homes", hanging=(("people", "my homes", "of home", 2),)
    )
    relation = with_quoted_names(family).relation
    assert 'a row of "my homes" with all rows of people that name it in "of home"' in relation


@pytest.mark.parametrize("text", ["name", "mechanism", "scope", "note"])
def test_texts_of_a_recorded_ledger_are_quoted(text: str) -> None:
    """Control: those of a fit are not, and the sentence as it is written has the column's name."""
    read, fresh = ledger(**{text: LIE}), ledger(**{text: LIE})
    plain = (
        fresh.to_dict()
    )  # of JSON the figures are kept; the headline is made of them, what it says beyond is the file's
    found = quote_record({**plain, "headline": f"{plain['headline']} {LIE}", "meaning": LIE})
    record, words = LedgerRecord.of(found), LedgerText.of(found)
    assert record.epsilon == plain["epsilon"]
    assert words.total.startswith("Total epsilon ")
    read.is_recorded = True
    of_json = [
        *map(str, found["entries"][0].values()),
        words.lead,
        words.total,
        words.conditions,
        *words.further,
    ]
    for shown in (str(read), read.to_html().replace("&#34;", '"'), read.sentence(), *of_json):
        assert not any(LIE in part for part in shown.split('"')[::2])
    assert LIE in "".join(str(fresh).split('"')[::2])
    assert f"value of {LIE}" in read.sentence(as_written=True)
    assert read.total() == fresh.total()


def test_an_entry_that_ends_the_claim_gives_its_reason_in_quotation_marks() -> None:
    read = ledger()
    read.charge(
        LedgerEntry(name="coins", mechanism="x", losses=(InfiniteLoss(),), scope="everything", note=LIE)
    )
    found = quote_record(read.to_dict())
    assert found["headline"].startswith(
        'This release has no differential privacy guarantee. The file says: "'
    )
    assert found["epsilon"] is None
    read.is_recorded = True
    assert math.isinf(read.total())
    assert read.sentence() == f"This release has no differential privacy guarantee. {says(LIE)}"
    assert in_own_words(read.entries[-1]).mechanism == f"no privacy guarantee; {says('x')}"
