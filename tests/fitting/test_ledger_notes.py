"""The ledger's further sentences: which plausible deniability holds, and what the paper prints."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sdv_plausible.extensions.models.paper.paper_network import PaperNetwork
from sdv_plausible.fitting.ledger_notes import (
    deniability,
    inferred_type_notes,
    other_type_notes,
    other_type_shares,
    sentences,
)
from sdv_plausible.fitting.plan import plan
from sdv_plausible.queries.transcript import NoisyAnswer
from sdv_plausible.table.columns.cell_reader import Spelling
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.learned.type_inference import LISTS, CellKindCounts, InferenceRowCount
from tests.flat import settings_of

DOMAIN = Domain(tuple(Attribute(name=f"c{i}", kind="categorical", values=(0, 1)) for i in range(11)))
PAPER = PaperNetwork(noise="paper", accounting="paper")
SPLIT = (0.187, 0.187, 0.49)


USUAL = {
    "epsilon": 1.0, "delta": 2.0**-30, "k": 50, "gamma": 4.0, "epsilon0": 1.0, "omega": None,
    "test": "release", "row_cap": 1000, "seed_free_share": 0.5,
}  # fmt: skip


def settings(**given):
    return settings_of(**{**USUAL, **given})


def as_printed(made):
    return sentences(made, replace(PAPER, split=made.split), DOMAIN)[1].mechanism


def test_which_deniability_holds():
    for given, said in (
        ({}, "with k = all records and gamma = 1"),
        ({"omega": "all", "test": "randomized"}, "with k = all records and gamma = 1"),
        ({"omega": "all", "test": "deterministic"}, "This test gives no epsilon"),
        ({"omega": 3}, "(50, 1)-plausible deniability holds"),
        ({"omega": 3, "test": "deterministic"}, "(50, 4)-plausible deniability holds"),
        ({"omega": (2, 3), "test": "deterministic"}, "the factor is not certain"),
        ({"omega": (2, 3), "test": "deterministic", "hidden_omega": True}, "also where omega stays hidden"),
        ({"omega": 3, "test": "randomized"}, "No (k, gamma)-plausible deniability is certain"),
    ):
        made = settings(**given)
        assert said in deniability(made)
        planned = plan(made, PaperNetwork(structure="independent"), DOMAIN)
        lines = str(planned).splitlines()  # the title, what an attacker gains, the total, conditions
        third = lines[2 if made.test.name == "deterministic" else 4]
        assert any(said in line for line in (lines[-5:] if said.startswith("with k = all") else [third]))
        document = planned.ledger.to_dict()
        assert document["said"][0].startswith(deniability(made))
        assert all(entry["name"] != "plausible deniability" for entry in document["entries"])


def test_printed_total_stands_beside_the_proved_one():
    made = settings(epsilon=2.32, split=SPLIT)
    text = as_printed(made)
    for said in ("epsilon 1 at delta 1.75e-10 for the model", "p = 0.187", "twice"):
        assert said in text
    ledger = plan(made, replace(PAPER, split=SPLIT), DOMAIN).ledger
    assert text in ledger.said("as printed")
    assert 0.5 < ledger.total() < 1.0  # proved, and here below what is printed
    same_rows = settings(epsilon=2.32)
    assert "the same rows" in as_printed(same_rows)
    assert plan(same_rows, PAPER, DOMAIN).ledger.total() > 2.32
    made = settings(epsilon=2.32, split=SPLIT, test="randomized", omega=3)
    assert "for each candidate (Theorem 1" in as_printed(made)
    high = settings(test="randomized", omega=3, epsilon0=0.01, k=400, row_cap=1)
    assert "no epsilon for candidates" in as_printed(high)
    assert "no epsilon for the model" in as_printed(settings(epsilon=math.inf))


def test_what_others_say_of_a_papers_formulas_is_not_repeated():
    """A learner of one's own could put any number beside the total. Control: the paper's, which it derives from."""

    class Mine(PaperNetwork):
        def as_printed(self, *_):
            return "epsilon 0.001", "nothing"

    own = Mine(noise="paper", accounting="paper")
    assert [len(sentences(settings(), learner, DOMAIN)) for learner in (PAPER, own)] == [2, 1]
    with pytest.raises(ValueError, match="noise"):
        PaperNetwork(accounting="paper")
    assert len(sentences(settings(), PaperNetwork(), DOMAIN)) == 1


NUMBER, CATEGORY = {"sdtype": "numerical"}, {"sdtype": "categorical"}
DAYS = {"sdtype": "datetime", "datetime_format": "%d/%m/%Y"}
MONEY = {"sdtype": "numerical", "number_format": "$1,234.5"}


def test_what_a_vote_leaves_out_is_said():
    """Of 10,000 rows, without noise, as if there were some of 25."""
    for words, families, forms, says in (
        (NUMBER, {"number": 9700, "text": 300}, {"number": 9700}, "x (3%)"),
        (NUMBER, {"number": 9850, "text": 150}, {"number": 9850}, None),  # as many as noise may make
        (NUMBER, {"number": 9700, "digits": 300}, {"number": 9700}, None),  # which are read as numbers, too
        (NUMBER, {"number": 9500, "truth": 500}, {"number": 9500}, "x (5%)"),
        (MONEY, {"spelled": 9000, "number": 1000}, {"$1,234.5": 9000, "number": 1000}, None),
        (MONEY, {"spelled": 10000}, {"$1,234.5": 9500, "€1,234.5": 500}, "x (5%)"),
        (DAYS, {"date": 10000}, {"%d/%m/%Y": 5000, "%m/%d/%Y": 5000}, None),  # it reads both
        (DAYS, {"date": 10000}, {"%d/%m/%Y": 9500, "%Y-%m-%d": 500}, "x (5%)"),
        ({"sdtype": "boolean"}, {"truth": 9400, "text": 600}, {"truth": 9400}, "x (6%)"),
        (CATEGORY, {"text": 9000, "number": 1000}, {}, None),
        (CATEGORY, {"number": 400, "text": 10, "missing": 9590}, {}, "the noise hid the type"),
        (CATEGORY, {"date": 300, "missing": 9700}, {}, "the noise hid the type"),
        (CATEGORY, {"number": 9000, "code": 1000}, {}, None),  # zeros in front: codes, and no numbers
    ):
        said = inferred_type_notes({"x": words}, answered(families, forms), Spelling())
        assert [says in one for one in said] == [True] if says else not said


def answered(families, forms):
    """Answers of a vote on one column, of 10,000 rows, without noise, as if there were some of 25."""
    asked = [(InferenceRowCount().asked(), np.array([10_000.0]))]
    by_form = [(by, forms) for by in [*LISTS][1:] if {*forms} & {*LISTS[by]}]
    for by, counts in (("family", families), *by_form):
        values = np.array([float(counts.get(kind, 0)) for kind in LISTS[by]])
        asked.append((CellKindCounts("x", Spelling(), by).asked(), values))
    known = {"noise": "discrete gaussian", "scale": 25.0, "paid_by": ("types",)}
    return [NoisyAnswer(asked=one, values=values, **known) for one, values in asked]


def test_what_a_vote_may_have_missed_is_said_from_its_answers():
    """By hand: 1.64 deviations of 25 times the root of 4 x 5 / 9, of 10,000 cells: .6 %; of 2,000 3 %."""
    few, many = answered({"number": 2000, "missing": 8000}, {"number": 2000}), answered(*[{"number": 10_000}] * 2)  # fmt: skip
    missed = [other_type_shares({"x": NUMBER}, answers, Spelling()) for answers in (few, many)]
    assert missed[0] == {"x": 0.0306}
    (said,) = other_type_notes(missed[0])
    assert "x (up to 3%)" in said
    assert not other_type_notes(missed[1])
