"""The command `verify`: a verdict per line, and what nobody can show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sdv_plausible import PlausibleDeniabilitySynthesizer, PublicTable, Release, metadata_of, verify
from sdv_plausible.commands.cli import main
from sdv_plausible.release import attestation
from sdv_plausible.release.attestation import attest
from sdv_plausible.release.signing import new_key
from sdv_plausible.verifying.checking import CANNOT_SHOW

DOMAIN: dict[str, Any] = {
    "ward": {"range_values": ["A", "B", "C"], "range_is_nullable": False},
    "day": {
        "sdtype": "datetime", "datetime_format": "%d.%m.%Y", "range_min": "01.01.2020", "range_max": "31.12.2020",
    },
    "days": {"sdtype": "numerical"},
}  # fmt: skip


HONEST = attestation._statement


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 360, n), unit="D")
    return pd.DataFrame(
        {
            "ward": rng.choice(["A", "B", "C"], n),
            "day": day.strftime("%d.%m.%Y"),
            "days": rng.integers(0, 30, n),
        }
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release that a published table was used for, that table, and another one."""
    folder = tmp_path_factory.mktemp("verify")
    published = people(60, 1)
    synth = PlausibleDeniabilitySynthesizer(
        metadata_of(DOMAIN), domain=DOMAIN, epsilon=4.0, public=PublicTable(published, "an office")
    )
    synth.fit(people(500, 0))
    synth.release().save(folder / "x.release")
    published.to_csv(folder / "published.csv", index=False)
    published.assign(ward="B").to_csv(folder / "other.csv", index=False, sep=";")
    return folder


def verdicts(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    found = json.loads(capsys.readouterr().out)
    assert found["cannot_show"] == list(CANNOT_SHOW)
    return {verdict["about"]: verdict["state"] for verdict in found["verdicts"]}


def test_a_published_table_is_compared(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a file, read as the release says its columns are. Controls: none, and another one."""
    release = str(files / "x.release")
    assert main(["verify", release, "--public", str(files / "published.csv"), "--json"]) == 0
    assert {*verdicts(capsys).values()} == {"ok"}
    assert main(["verify", release, "--json"]) == 0
    without = verdicts(capsys)
    assert without["published table"] == without["model from its answers"] == "not checkable"
    assert main(["verify", release, "--public", str(files / "other.csv"), "--separator", ";", "--json"]) == 1
    other = verdicts(capsys)
    assert other["published table"] == "refused"
    assert other["model from its answers"] == "refused"


def test_words_are_a_line_per_verdict_and_what_is_open(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(files / "x.release"), "--expect-sha256", "0" * 64]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("digest: refused: sha256 is ")
    assert lines[-len(CANNOT_SHOW) :] == list(CANNOT_SHOW)
    assert all(": " in line for line in lines[: -len(CANNOT_SHOW) - 1])


def test_a_file_that_is_not_there_is_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(tmp_path / "no.release")]) == 2
    assert "there is no file" in capsys.readouterr().err


def test_a_signed_statement_is_of_this_file_by_this_key(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Controls: another key, none that is there, another file's statement, another total."""
    first, other = tmp_path / "first.pem", tmp_path / "other.pem"
    for key in (first, other):
        new_key(key)
    release, path = Release.load(files / "x.release"), tmp_path / "x.release"
    release.save(path)

    def state(*more: str, key: Path = first) -> str:
        main(["verify", str(path), "--key", f"{key}.pub", *more, "--json"])
        return verdicts(capsys)["statement"]

    assert state() == "refused"
    beside = path.with_name("x.release.intoto.jsonl")
    beside.write_text(attest(release, first))
    assert state() == "ok"
    assert state(key=other) == "refused"
    elsewhere = tmp_path / "elsewhere.jsonl"
    beside.rename(elsewhere)
    assert state("--statement", str(elsewhere)) == "ok"
    monkeypatch.setattr(attestation, "_statement", lying)
    for what in ("total", "digest"):
        beside.write_text(attest(release, first, draw={what: 1.0}))
        assert state() == "refused"


def lying(release: Release, draw: Any, readable: bool) -> Any:
    """A statement of another total, or of another file."""
    told = HONEST(release, None, readable)
    if "total" in draw:
        told["predicate"]["total"]["epsilon"] /= 2
    else:
        told["subject"][0]["digest"]["sha256"] = "0" * 64
    return told


def test_a_statement_needs_a_key(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    release = str(files / "x.release")
    assert main(["verify", release, "--statement", release]) == 2
    assert "--key" in capsys.readouterr().err
    with pytest.raises(ValueError, match="statement needs key"):
        verify(release, statement=release)
