"""The whole audit: verdicts, resuming, time, and what is refused."""

import json

import pytest
from attacked import CopyCat, Stranger, people

from sdv_plausible.extensions import audit

TABLE = people(800)
SMALL = {"canaries": 150, "shadow_runs": 40, "false_alarm": 1e-6}


def test_a_copy_is_found_and_a_stranger_is_not_accused(tmp_path) -> None:
    """The attributes' excess of copies has 20 deviations to spare."""
    copied = audit.run(TABLE, CopyCat, **SMALL)
    found = {stage.name: stage.verdict for stage in copied.stages}
    assert set(found) == {"canaries", "shadow models", "attributes"}
    assert found["attributes"] == "leak found"
    assert copied.verdict == "leak found"
    honest = audit.run(TABLE, Stranger, **SMALL)
    assert honest.verdict == "nothing found"
    assert "proves at most" in str(honest) or "could have been proved" in str(honest)


def test_a_false_claim_is_broken() -> None:
    found = audit.run(people(1600), CopyCat, claimed_epsilon=0.01, canaries=400, shadow_runs=0, seconds=60)
    assert found.verdict == "claim broken"  # the bound is 1.5 and more


def test_the_white_box_of_our_own_is_a_stage() -> None:
    told = {"claimed_epsilon": 10.0, "delta": 1e-9, "ours": True, "white_box_runs": 100}
    first = audit.run(TABLE, Stranger, **told, **SMALL).stages[0]
    assert (first.name, first.verdict) == ("white box", "nothing found")


class Counting(Stranger):
    fits = 0

    def fit(self, data):
        Counting.fits += 1


def test_a_broken_off_audit_goes_on_where_it_was(tmp_path) -> None:
    said: list[str] = []
    first = audit.run(TABLE, Counting, folder=tmp_path, progress=said.append, **SMALL)
    fits = Counting.fits
    (tmp_path / "stage_attributes.json").unlink()
    with pytest.raises(ValueError, match="holds stages of an earlier audit"):
        audit.run(TABLE, Stranger, folder=tmp_path, **SMALL)
    second = audit.run(TABLE, Counting, folder=tmp_path, resume=True, **SMALL)
    assert Counting.fits == fits + 1
    assert second.stages[0] == audit.StageResult(**json.loads(json.dumps(vars(first.stages[0]))))
    assert len(said) == 6
    for table, other in ((people(800, seed=9), {}), (TABLE, {"false_alarm": 1e-5})):
        with pytest.raises(ValueError, match="another audit"):
            audit.run(table, Counting, folder=tmp_path, resume=True, **{**SMALL, **other})


class Failing(Stranger):
    def fit(self, data):
        raise RuntimeError(f"the cell {data.iloc[0, 0]}")


def test_a_synthesizer_that_fails_is_told_without_its_words(tmp_path) -> None:
    found = audit.run(TABLE, Failing, folder=tmp_path, **SMALL)
    assert found.verdict == "not computed"
    assert "the cell" not in str(found)
    assert not list(tmp_path.iterdir())


def test_more_time_goes_on_with_what_is_there(tmp_path) -> None:
    short = audit.run(TABLE, CopyCat, folder=tmp_path, seconds=0.0, **SMALL)
    (tmp_path / "stage_attributes.json").unlink(missing_ok=True)
    longer = audit.run(TABLE, CopyCat, folder=tmp_path, resume=True, seconds=600.0, **SMALL)
    assert {stage.verdict for stage in short.stages} == {"not computed"}  # without time nothing is begun
    kept = audit.run(TABLE, Failing, folder=tmp_path, resume=True, seconds=300.0, name="CopyCat", **SMALL)
    assert kept.stages == longer.stages, "the stages that were finished, whatever time they had"


def test_wrong_arguments_are_named() -> None:
    for rows, wrong, words in (
        (people(10), {}, "at least 40"), (TABLE, {"delta": 2.0}, "delta"), (TABLE, {"ours": True}, "claimed_epsilon"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            audit.run(rows, CopyCat, **wrong)
