"""The command: from a file to a page, for this package's synthesizer and for another one."""

import json

import pytest
from attacked import people
from quoting import check_unquoted

from sdv_plausible.cli.main import main
from sdv_plausible.extensions.audit.audit_command import synthesizer_class

QUICK = ["--canaries", "30", "--shadow-runs", "0", "--white-box-runs", "40"]


@pytest.fixture
def told(tmp_path):
    """The command on a table of its own; what it writes is in tmp_path / "audit"."""
    people(200)[["age", "job"]].to_csv(tmp_path / "people.csv", index=False)
    domain = {
        "age": {"sdtype": "numerical", "range_min": 0, "range_max": 120},
        "job": {"sdtype": "categorical", "range_values": list("abcdefgh")},
    }
    (tmp_path / "domain.json").write_text(json.dumps(domain))
    table, declared, out = (str(tmp_path / name) for name in ("people.csv", "domain.json", "audit"))
    return ["audit", table, "-o", out, "--domain", declared]


def test_our_own_is_audited_and_stages_of_an_earlier_audit_are_taken_up_when_asked_alone(
    told, tmp_path, capsys
) -> None:
    out = tmp_path / "audit"
    assert main([*told, *QUICK]) == 0, capsys.readouterr().err
    found = json.loads((out / "audit.json").read_text())
    assert (found["claimed_epsilon"], found["may_be_published"]) == (1.0, False)
    assert found["stages"][0]["name"] == "white box"
    assert "Do not publish" in (out / "audit.html").read_text()
    assert (out / "stages" / "stage_canaries.json").is_file()
    assert "holder" in capsys.readouterr().out
    assert main([*told, *QUICK]) == 2
    assert "stages of an earlier audit" in capsys.readouterr().err
    assert main([*told, *QUICK, "--resume"]) == 0, capsys.readouterr().err


def test_an_error_of_others_quotes_no_cell(told, monkeypatch, capsys) -> None:
    monkeypatch.setattr("sdv_plausible.extensions.audit.auditing.run", lambda *_, **__: float("secret-text"))
    check_unquoted(told, "secret-text", capsys)


def test_another_one_is_audited(told, tmp_path, capsys) -> None:
    other = ["--synthesizer", "sdv.single_table:GaussianCopulaSynthesizer", "--public"]
    assert main([*told[:4], *other, *QUICK]) == 0, capsys.readouterr().err
    found = json.loads((tmp_path / "audit" / "audit.json").read_text())
    assert (found["claimed_epsilon"], found["may_be_published"]) == (None, True)
    assert {stage["name"]: stage["verdict"] for stage in found["stages"]}["canaries"] != "not computed"


def test_an_endless_claim_is_refused(told, tmp_path, capsys) -> None:
    """Its file would not be read again: no JSON has such a number."""
    assert main([*told, "--epsilon", "inf"]) == 2
    assert "--epsilon (inf) claims nothing" in capsys.readouterr().err
    assert not (tmp_path / "audit").exists()


def test_names_that_lead_nowhere_are_refused() -> None:
    for words in ("nothing", "no_such_module:Class", "sdv.single_table:NoSuchClass"):
        with pytest.raises(ValueError, match="--synthesizer"):
            synthesizer_class(words)
