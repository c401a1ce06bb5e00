"""The command: from a file to a page, for this package's synthesizer and for another one."""

import json

import pytest
from attacked import people
from quoting import check_unquoted

from sdv_plausible.commands.audit import synthesizer_class
from sdv_plausible.commands.cli import main

QUICK = ["--canaries", "30", "--shadow-runs", "0", "--white-box-runs", "40"]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "people.csv"
    people(200)[["age", "job"]].to_csv(path, index=False)
    domain = {
        "age": {"sdtype": "numerical", "range_min": 0, "range_max": 120},
        "job": {"sdtype": "categorical", "range_values": list("abcdefgh")},
    }
    (tmp_path / "domain.json").write_text(json.dumps(domain))
    return path


def test_our_own_is_audited(table, tmp_path, capsys) -> None:
    out = tmp_path / "audit"
    told = main(["audit", str(table), "--domain", str(tmp_path / "domain.json"), "-o", str(out), *QUICK])
    assert told == 0, capsys.readouterr().err
    found = json.loads((out / "audit.json").read_text())
    assert found["claimed_epsilon"] == 1.0
    assert found["may_be_published"] is False
    assert found["stages"][0]["name"] == "white box"
    assert "Do not publish" in (out / "audit.html").read_text()
    assert (out / "stages" / "stage_canaries.json").is_file()
    assert "holder" in capsys.readouterr().out


def test_an_error_of_others_quotes_no_cell(table, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr("sdv_plausible.audit.auditing.run", lambda *_, **__: float("secret-text"))
    words = ["audit", str(table), "--domain", str(tmp_path / "domain.json"), "-o", str(tmp_path / "a")]
    check_unquoted(words, "secret-text", capsys)


def test_another_one_is_audited(table, tmp_path, capsys) -> None:
    out = tmp_path / "audit"
    other = ["--synthesizer", "sdv.single_table:GaussianCopulaSynthesizer", "--public"]
    assert main(["audit", str(table), *other, "-o", str(out), *QUICK]) == 0, capsys.readouterr().err
    found = json.loads((out / "audit.json").read_text())
    assert found["claimed_epsilon"] is None
    assert found["may_be_published"] is True
    assert {stage["name"]: stage["verdict"] for stage in found["stages"]}["canaries"] != "not computed"


def test_stages_of_an_earlier_audit_are_taken_up_when_asked_alone(table, tmp_path, capsys) -> None:
    words = [
        "audit",
        str(table),
        "--domain",
        str(tmp_path / "domain.json"),
        "-o",
        str(tmp_path / "audit"),
        *QUICK,
    ]
    assert main(words) == 0, capsys.readouterr().err
    assert main(words) == 2
    assert "stages of an earlier audit" in capsys.readouterr().err
    assert main([*words, "--resume"]) == 0, capsys.readouterr().err


def test_an_endless_claim_is_refused(table, tmp_path, capsys) -> None:
    """Its file would not be read again: no JSON has such a number."""
    out = tmp_path / "audit"
    words = [
        "audit",
        str(table),
        "--domain",
        str(tmp_path / "domain.json"),
        "-o",
        str(out),
        "--epsilon",
        "inf",
    ]
    assert main(words) == 2
    assert "--epsilon (inf) claims nothing" in capsys.readouterr().err
    assert not out.exists()


def test_names_that_lead_nowhere_are_refused() -> None:
    for words in ("nothing", "no_such_module:Class", "sdv.single_table:NoSuchClass"):
        with pytest.raises(ValueError, match="--synthesizer"):
            synthesizer_class(words)
