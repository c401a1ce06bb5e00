"""Types by a vote in a domain file: what is planned is what is charged."""

from __future__ import annotations

import pandas as pd
import pytest

from sdv_plausible.declaring.private import earlier_losses
from sdv_plausible.declaring.voted import TYPES_SHARE, before_the_vote, with_voted
from sdv_plausible.privacy.neighbours import ONE_ROW
from sdv_plausible.table.cell_texts import Spelling

GIVEN = {"schema": "sdv-plausible-declarations/1", "columns": {"sex": {"sdtype": "categorical"}}}
TEXTS = pd.DataFrame({"age": [str(i % 60) for i in range(5000)], "town": ["Bern", "Chur"] * 2500})


def test_the_plan_charges_what_the_vote_does():
    planned = before_the_vote(GIVEN, list(TEXTS), 50.0, 1e-9)
    voted = with_voted(GIVEN, TEXTS, Spelling(), 50.0, 1e-9)
    assert voted["columns"]["age"] == {"sdtype": "numerical"}
    assert voted["columns"]["sex"] == planned["columns"]["sex"] == GIVEN["columns"]["sex"]
    assert {name: planned["columns"][name]["sdtype"] for name in TEXTS} == dict.fromkeys(TEXTS, "categorical")
    entries = [earlier_losses(document, ONE_ROW).entries for document in (planned, voted)]
    assert entries[0] == entries[1]
    assert 0.9 * 50 * TYPES_SHARE <= entries[0][0].epsilon(TYPES_SHARE * 1e-9) <= 50 * TYPES_SHARE


def test_a_file_that_was_learned_before_has_its_types():
    for ask in (
        lambda document: before_the_vote(document, ["age"], 1, 1e-9),
        lambda document: with_voted(document, TEXTS, Spelling(), 1, 1e-9),
    ):
        with pytest.raises(ValueError, match="have no sdtype in the domain file"):
            ask({**GIVEN, "learned": {}})
