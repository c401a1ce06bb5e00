"""Models made anew from the answers in a file: of every learner whose model answers alone decide."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sdv_plausible import Release
from sdv_plausible.extensions.verify import model_replay
from sdv_plausible.extensions.verify.independent.verdict import ContradictionError
from sdv_plausible.extensions.verify.model_replay import (
    ROUNDING,
    RecordedAnswers,
    check_charges,
    check_public,
    replay_model,
)
from sdv_plausible.extensions.verify.verification import verify
from sdv_plausible.fitting.public_table import codes_digest, with_public
from sdv_plausible.models import learner_from_config
from sdv_plausible.privacy.accounting.losses import gaussian_noise
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.neighbours import ONE_ROW
from sdv_plausible.queries.budget_tracker import QueryBudget
from sdv_plausible.queries.count_queries import Axis, CountTable
from sdv_plausible.queries.transcript import NoisyAnswer
from tests import ruled
from tests.digests import others
from tests.releases import CASES, shared

STORED = Path(__file__).parents[2] / "release/file/stored"


@pytest.mark.parametrize("case", CASES)
def test_the_answers_lead_to_the_same_model(case, monkeypatch):
    """On one machine to the last digit. Control: a rounding of nothing is kept, and less is not."""
    release = shared(case).release()
    monkeypatch.setattr(model_replay, "ROUNDING", 0.0)
    assert replay_model(release).startswith("the answers lead to it again")
    monkeypatch.setattr(model_replay, "ROUNDING", -1.0)
    with pytest.raises(ContradictionError, match="another|other"):
        replay_model(release)


def test_rules_of_all_kinds_are_kept_again(tmp_path):
    ruled.fitted().release().save(tmp_path / "x.release")
    found = verify(tmp_path / "x.release")
    assert not found.refused, str(found)
    assert {v.about: v.state for v in found.verdicts}["model from its answers"] == "ok"


def test_a_model_is_the_same_up_to_the_stated_rounding():
    text = shared("independent, split").release().to_bytes(readable=True)

    def moved(apart):
        document = json.loads(text)
        (row, *_) = document["model"]["tables"][0]["probabilities"]["values"]
        at = int(np.argmax(row))
        row[at] -= apart
        row[at - 1] += apart
        return Release.from_bytes(json.dumps(document).encode())

    assert replay_model(moved(ROUNDING / 2))
    with pytest.raises(ContradictionError, match="other probabilities"):
        replay_model(moved(ROUNDING * 2))


def test_every_digit_of_a_published_tables_digest_counts():
    """Of a release that a table was used for, which here is none: its cells have a digest all the same."""
    frame, release = pd.DataFrame({"city": ["Bern", "Chur"]}), shared("declared").release()
    learner = with_public(
        learner_from_config(release.settings), frame, release.domain, release.rules.rule_set
    )
    digest = codes_digest(learner.public)

    def checked(told):
        settings = {**release.settings, "public_rows": 2, "public_sha256": told}
        return check_public(frame, {}, replace(release, settings=settings))

    assert "its digest" in checked(digest)
    for other in others(digest):
        with pytest.raises(ContradictionError, match="other cells"):
            checked(other)


def test_charges_are_those_of_the_learner():
    """Of files of version 0.1, too. Control: options with which it charges otherwise."""
    for kind in ("default", "copula", "split", "seeds", "person", "learned"):
        release = Release.load(STORED / f"{kind}.release")
        assert "the learner charges" in check_charges(release)
        settings = {**release.settings, "epsilon": release.settings["epsilon"] * 1.01}
        object.__setattr__(release, "settings", settings)
        with pytest.raises(ContradictionError, match="another loss"):
            check_charges(release)


def test_answers_are_in_the_steps_of_a_fit():
    """Finer ones cost less. Control: the fit's own, and whole numbers, as earlier versions had them."""
    entry = LedgerEntry(name="model", mechanism="m", losses=gaussian_noise(3.0), scope="s")
    allowance, question = QueryBudget.of([entry]), CountTable([Axis(0, np.arange(2))])
    step = allowance.granularity(1.0, 1.0)
    assert step < 1

    def asked(granularity):
        scale = allowance.sigma(1.0, 1.0, granularity)
        known = {"noise": "discrete gaussian", "scale": scale, "granularity": granularity}
        answer = NoisyAnswer(asked=question.asked(), values=np.zeros(2), paid_by=("model",), **known)
        return RecordedAnswers([answer], allowance, ONE_ROW).ask(question, 1.0)

    for granularity in (step, 1.0):
        assert asked(granularity).granularity == granularity
    for granularity in (step / 2, 2 * step):
        with pytest.raises(ContradictionError, match="is in steps of"):
            asked(granularity)
