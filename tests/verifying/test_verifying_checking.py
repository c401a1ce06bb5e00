"""`verify`: releases of every model and option agree with themselves, and lies about them are refused by name.

Nothing here is drawn but the releases, and a verdict hangs on no noise: the noise of an honest release is what
its entries say, whatever was drawn, and a planted lie is a lie of every release. So there is no false alarm.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import agreeing
import numpy as np
import pytest
from cases import fast_and_slow
from lying import LIES, damaged, honest, told

from sdv_plausible import Release
from sdv_plausible.fit.verified import Verification, verify
from sdv_plausible.verifying.checking import CANNOT_SHOW, CHECKS, check

CASES = agreeing.cases()
STORED = Path(__file__).parents[1] / "release/file/stored"
UNCHECKABLE = ("as printed", "normal", "correlated", "latent", "no noise", "noise", "accounting")
SLOW = ("copula", "correlated", "latent")
FAST = {
    *agreeing.WRITTEN, *agreeing.MORE, "adaptive, row", "workload, person", "cfs, row", "given arcs, row",
    "normal, row", "as printed, row", "independent, person replaced", "uniform, row", "random, row",
}  # fmt: skip


def seen(content: bytes, folder: Path, public: Any = None) -> Verification:
    path = folder / "x.release"
    path.write_bytes(content)
    return verify(path, public=public)


def test_every_option_has_a_case() -> None:
    """And every model and unit. Control: a registry with one more."""
    assert agreeing.without_a_case() == []
    assert agreeing.guarded.models_without_a_case() == agreeing.guarded.units_without_a_case() == []
    assert len(CASES) >= 100
    assert len(LIES) >= 40
    assert sum(lie.consistent for lie in LIES.values()) >= 15
    assert {case.split(",")[0] for case in CASES} >= {*agreeing.MODELS, *agreeing.WRITTEN}


@pytest.mark.parametrize("case", fast_and_slow(CASES, lambda case: case in FAST))
def test_releases_agree(case: str, tmp_path: Path) -> None:
    """Every claim is ok; of a model that secret coins made the one that cannot be checked is not called ok."""
    found = seen(agreeing.made(case).to_bytes(), tmp_path, CASES[case].get("public"))
    states = {verdict.about: verdict.state for verdict in found.verdicts}
    uncheckable = any(name in case.split(", ") for name in UNCHECKABLE) and "uniform" not in case
    assert states.pop("model from its answers") == ("not checkable" if uncheckable else "ok"), str(found)
    assert {*states.values()} == {"ok"}, str(found)
    assert {"format", "digest", *CHECKS, "charges of the model"} <= {*states}


@pytest.mark.parametrize("kind", sorted(path.stem for path in STORED.glob("*.release")))
def test_files_of_older_versions_agree(kind: str) -> None:
    """Their models were made by another learner: that is no lie, and not ok either."""
    if kind == "latent":
        pytest.skip("its entries take seconds: the same is a slow case above")
    found = verify(STORED / f"{kind}.release")
    assert not found.refused, str(found)
    older = kind in ("default", "learned", "no_claim", "person")
    assert {v.state for v in found.verdicts} == ({"ok", "not checkable"} if older else {"ok"})


@pytest.mark.parametrize("name", fast_and_slow(LIES, lambda name: LIES[name].case.split(",")[0] not in SLOW))
def test_lies_are_refused_by_name(name: str, tmp_path: Path) -> None:
    """Control: the file without the lie, in the test above. A consistent lie is read by the product."""
    lie = LIES[name]
    content = told(lie)
    if lie.consistent:
        assert json.loads(Release.from_bytes(content).to_bytes()) == json.loads(content)
    else:
        with pytest.raises(ValueError, match=r"."):
            Release.from_bytes(content)
    found = seen(content, tmp_path, CASES[lie.case].get("public"))
    assert lie.about in {verdict.about for verdict in found.refused}, str(found)


@pytest.mark.parametrize("check", CHECKS)
def test_every_check_is_needed(check: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lie that a check refuses is not refused by its name once the check is gone: its tests would see it."""
    name = next(name for name, lie in LIES.items() if lie.about == check and lie.case not in SLOW)
    monkeypatch.setitem(CHECKS, check, lambda _: "gone")
    with pytest.raises(AssertionError):
        test_lies_are_refused_by_name(name, tmp_path)


def test_a_digest_that_was_told_is_compared(tmp_path: Path) -> None:
    content = honest("adaptive, row").encode()
    release = Release.from_bytes(content)
    for told_digest, state in ((release.digest, "ok"), (release.digest[::-1], "refused")):
        assert check(content, told_digest)[1].state == state
    readable = check(release.to_bytes(readable=True), release.digest)
    assert readable[1].state == "ok"
    assert "form for people" in readable[1].why


def test_what_is_no_file_is_one_verdict(tmp_path: Path) -> None:
    for content in (
        b"",
        b"{",
        b"[]",
        b'{"a": 1, "a": 2}',
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b"\xff",
        b"[" * 10**5,
    ):
        (verdict,) = check(content)
        assert (verdict.about, verdict.state) == ("format", "refused")
    assert str(seen(b"{", tmp_path)).endswith("\n".join(CANNOT_SHOW))


@pytest.mark.parametrize("seed", range(3))
def test_damaged_files_are_verdicts(seed: int, tmp_path: Path) -> None:
    """Whatever is in a file: nothing is raised, and no value of it is quoted at length."""
    rng, whole = np.random.default_rng(seed), json.loads(honest("learned, strong"))
    for _ in range(25):
        found = seen(json.dumps(damaged(whole, rng)).encode(), tmp_path)
        assert found.verdicts[0].about == "format"
        assert all(len(str(verdict)) < 1500 for verdict in found.verdicts)


def test_a_total_above_the_entries_is_not_called_ok() -> None:
    """It may be an older version's, or an entry is missing: nobody can tell."""
    document = json.loads(honest("adaptive, row"))
    document["ledger"]["epsilon"] *= 1.01
    (total,) = (v for v in check(json.dumps(document).encode()) if v.about == "total")
    assert total.state == "not checkable"
    assert "an entry is missing" in total.why


def test_a_model_of_another_version_is_not_called_ok(tmp_path: Path) -> None:
    """Whoever names another version to hide another model gets no ok for it."""
    document = json.loads(honest("independent, row"))
    document["model"] = json.loads(honest("epsilon, independent"))["model"]
    document["versions"]["sdv-plausible"] = "9.9"
    found = seen(json.dumps(document).encode(), tmp_path)
    assert {v.about: v.state for v in found.verdicts}["model from its answers"] == "not checkable"
