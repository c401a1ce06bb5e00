"""Results of audits: the gravest verdict counts, and only audits of public tables may be published."""

import json

import pytest

from sdv_plausible.extensions.audit import AuditResult, StageResult


def result(*verdicts: str, public: bool = False) -> AuditResult:
    same = {"confidence": 0.95, "words": "words", "figures": {}, "seconds": 1.0}
    stages = tuple(StageResult(name=v, threat=f"threat <{v}>", verdict=v, **same) for v in verdicts)
    return AuditResult(synthesizer="S", claimed_epsilon=1.0, delta=1e-9, public=public, stages=stages)


def test_the_gravest_verdict_counts() -> None:
    assert result("nothing found", "claim broken", "leak found").verdict == "claim broken"
    assert result("nothing found", "not computed").verdict == "nothing found"
    assert result("not computed").verdict == "not computed"


def test_audits_of_real_rows_are_the_holders() -> None:
    with pytest.raises(ValueError, match="for the holder only"):
        result("leak found").publishable()
    assert "Do not publish" in str(result("leak found"))
    assert result("leak found").to_dict()["may_be_published"] is False
    assert result("leak found", public=True).publishable()["verdict"] == "leak found"


def test_page_and_file_carry_the_mark(tmp_path) -> None:
    result("leak found").to_html(tmp_path / "a.html", day="2026-01-01")
    page = (tmp_path / "a.html").read_text()
    assert "Do not publish" in page
    assert "2026-01-01" in page
    assert "threat &lt;leak found&gt;" in page
    result("leak found", public=True).save(tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["may_be_published"] is True


def test_what_was_made_of_real_rows_is_for_its_owner_alone(tmp_path) -> None:
    for public in (False, True):
        folder = tmp_path / str(public)  # a file that is written anew keeps its mode
        folder.mkdir()
        result("leak found", public=public).to_html(folder / "a.html")
        result("leak found", public=public).save(folder / "a.json")
        for path in folder.iterdir():
            assert (path.stat().st_mode & 0o077 == 0) is not public
