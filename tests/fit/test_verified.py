"""Models made anew from the answers in a file: of every learner whose model answers alone decide."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sdv_plausible import Release
from sdv_plausible.fit import verified
from sdv_plausible.fit.verified import ROUNDING, check_again, check_charges, verify
from sdv_plausible.verifying.verdict import LieError
from tests import ruled
from tests.releases import CASES, shared

STORED = Path(__file__).parents[1] / "release/file/stored"


@pytest.mark.parametrize("case", CASES)
def test_the_answers_lead_to_the_same_model(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On one machine to the last digit. Control: a rounding of nothing is kept, and less is not."""
    release = shared(case).release()
    monkeypatch.setattr(verified, "ROUNDING", 0.0)
    assert check_again(release).startswith("the answers lead to it again")
    monkeypatch.setattr(verified, "ROUNDING", -1.0)
    with pytest.raises(LieError, match="another|other"):
        check_again(release)


def test_rules_of_all_kinds_are_kept_again(tmp_path: Path) -> None:
    ruled.fitted().release().save(tmp_path / "x.release")
    found = verify(tmp_path / "x.release")
    assert not found.refused, str(found)
    assert {v.about: v.state for v in found.verdicts}["model from its answers"] == "ok"


@pytest.mark.parametrize("apart", [ROUNDING / 2, ROUNDING * 2])
def test_a_model_is_the_same_up_to_the_stated_rounding(apart: float) -> None:
    document = json.loads(shared("independent, split").release().to_bytes(readable=True))
    (row, *_) = document["model"]["tables"][0]["probabilities"]["values"]
    at = int(np.argmax(row))
    row[at] -= apart
    row[at - 1] += apart
    changed = Release.from_bytes(json.dumps(document).encode())
    if apart < ROUNDING:
        assert check_again(changed)
    else:
        with pytest.raises(LieError, match="other probabilities"):
            check_again(changed)


@pytest.mark.parametrize("kind", ["default", "copula", "split", "seeds", "person", "learned"])
def test_charges_are_those_of_the_learner(kind: str) -> None:
    """Of files of version 0.1, too. Control: options with which it charges otherwise."""
    release = Release.load(STORED / f"{kind}.release")
    assert "the learner charges" in check_charges(release)
    settings: dict[str, Any] = {**release.settings, "epsilon": release.settings["epsilon"] * 1.01}
    object.__setattr__(release, "settings", settings)
    with pytest.raises(LieError, match="another loss"):
        check_charges(release)
