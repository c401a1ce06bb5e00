"""The command `verify`: a verdict per line, and what nobody can show."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sdv_plausible import PlausibleDeniabilitySynthesizer, PublicTable, Release, metadata_of, verify
from sdv_plausible.cli.main import main
from sdv_plausible.extensions.standards import attestation
from sdv_plausible.extensions.standards.attestation import attest, new_key
from sdv_plausible.extensions.verify.independent.all_checks import CANNOT_SHOW

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
    wards, days = rng.choice(["A", "B", "C"], n), rng.integers(0, 30, n)
    return pd.DataFrame({"ward": wards, "day": day.strftime("%d.%m.%Y"), "days": days})


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A release that a published table was used for, that table, and another one."""
    folder, published = tmp_path_factory.mktemp("verify"), people(60, 1)
    public = PublicTable(published, "an office")
    synth = PlausibleDeniabilitySynthesizer(metadata_of(DOMAIN), domain=DOMAIN, epsilon=4.0, public=public)
    synth.fit(people(500, 0))
    synth.release().save(folder / "x.release")
    published.to_csv(folder / "published.csv", index=False)
    published.assign(ward="B").to_csv(folder / "other.csv", index=False, sep=";")
    return folder


def verdicts(capsys) -> dict[str, str]:
    found = json.loads(capsys.readouterr().out)
    assert found["cannot_show"] == list(CANNOT_SHOW)
    return {verdict["about"]: verdict["state"] for verdict in found["verdicts"]}


def test_a_published_table_is_compared(files, capsys):
    """As a file, read as the release says its columns are. Controls: none, and another one."""
    release = str(files / "x.release")
    assert main(["verify", release, "--public", str(files / "published.csv"), "--json"]) == 0
    assert {*verdicts(capsys).values()} == {"ok"}
    assert main(["verify", release, "--json"]) == 1
    without = verdicts(capsys)
    assert main(["verify", release, "--allow-unchecked", "--json"]) == 0
    assert verdicts(capsys) == without
    assert without["published table"] == without["model from its answers"] == "not checkable"
    assert main(["verify", release, "--public", str(files / "other.csv"), "--separator", ";", "--json"]) == 1
    other = verdicts(capsys)
    assert other["published table"] == other["model from its answers"] == "refused"


def test_words_are_a_line_per_verdict_and_what_is_open(files, tmp_path, capsys):
    assert main(["verify", str(files / "x.release"), "--expect-sha256", "0" * 64]) == 1
    lines, open_ = capsys.readouterr().out.splitlines(), len(CANNOT_SHOW)
    assert lines[1].startswith("digest: refused: sha256 is ")
    assert lines[-open_:] == list(CANNOT_SHOW)
    assert lines[-open_ - 2] == "result: refused: 1 claim is contradicted by the rest of the file"
    assert (
        "answers: ok: each of the 2 entries that pay for noisy answers has its answers in the file" in lines
    )
    assert all(": " in line for line in lines[: -open_ - 1])
    assert main(["verify", str(tmp_path / "no.release")]) == 2
    assert "there is no file" in capsys.readouterr().err


def test_a_signed_statement_is_of_this_file_by_this_key(files, tmp_path, capsys, monkeypatch):
    """Controls: another key, none that is there, another file's statement, another total."""
    first, other = tmp_path / "first.pem", tmp_path / "other.pem"
    for key in (first, other):
        new_key(key)
    release, path = Release.load(files / "x.release"), tmp_path / "x.release"
    release.save(path)

    def state(*more, key=first):
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
    for what in ("epsilon", "delta", "digest"):
        beside.write_text(attest(release, first, draw={what: 1.0}))
        assert state() == "refused"


def lying(release: Release, draw: Any, readable: bool) -> Any:
    """A statement of another total, or of another file."""
    told = HONEST(release, None, readable)
    (what,) = draw
    if what in told["predicate"]["total"]:
        told["predicate"]["total"][what] /= 2
    else:
        told["subject"][0]["digest"]["sha256"] = "0" * 64
    return told


def test_a_statement_needs_a_key(files, capsys):
    release = str(files / "x.release")
    assert main(["verify", release, "--statement", release]) == 2
    assert "--key" in capsys.readouterr().err
    with pytest.raises(ValueError, match="statement needs key"):
        verify(release, statement=release)


def test_what_cannot_be_checked_is_not_passed_unless_allowed(files):
    """Of the published table that nobody gave. Controls: with it, and by the parameter's word."""
    release, published = files / "x.release", files / "published.csv"
    assert verify(release, public=published).passed
    found = verify(release)
    assert not found.passed
    assert [one.about for one in found.unchecked] == ["published table", "model from its answers"]
    assert "2 claims are not checkable; allow_unchecked (--allow-unchecked)" in str(found)
    allowed = verify(release, allow_unchecked=True)
    assert allowed.passed
    assert "passed, though 2 claims are not checkable" in str(allowed)
    assert not verify(release, allow_unchecked=True, expect_sha256="0" * 64).passed


def test_no_name_of_a_file_makes_a_line(files, tmp_path):
    """Nor colours on a terminal, nor words that look like a verdict."""
    document = json.loads((files / "x.release").read_bytes())
    name = "model\nmodel from its answers: ok: certified \x1b[32m"
    (entry,) = [e for e in document["ledger"]["entries"] if e["name"] == "model"]
    entry["name"] = name
    for answer in document["answers"]["asked"]:
        answer["paid_by"] = [name if one == "model" else one for one in answer["paid_by"]]
    (tmp_path / "x").write_text(json.dumps(document))
    lines = str(verify(tmp_path / "x")).splitlines()
    assert len([line for line in lines if line.startswith("model from its answers: ")]) == 1
    assert not any("\x1b" in line for line in lines)
    assert any(line.startswith("answers paid by 'model") for line in lines)
