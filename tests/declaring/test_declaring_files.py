"""A look at the rows is written down before anything is shown."""

from __future__ import annotations

import json

import pytest

from sdv_plausible import PlausibleDeniabilitySynthesizer, metadata_of, read_csv
from sdv_plausible.cli import main
from sdv_plausible.declaring import files
from sdv_plausible.declaring.files import read_domain_file, record_look
from sdv_plausible.table.domain import Domain
from sdv_plausible.table.domain_file import DomainFile

COLUMNS = {
    "age": {"sdtype": "numerical", "range_min": 0, "range_max": 90},
    "sex": {"range_values": ["f", "m"], "sdtype": "categorical"},
    "size": {"sdtype": "numerical"},
    "id": {"sdtype": "id"},
}


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("id,age,sex,size\n" + "\n".join(f"i{i},{i},f,{'x' if i == 3 else i}" for i in range(100)))
    return path


@pytest.fixture(params=["bare", "file"])
def domain(tmp_path, request):
    path = tmp_path / "domain.json"
    if request.param == "bare":
        path.write_text(json.dumps(COLUMNS))
    else:
        DomainFile(columns=COLUMNS).save(path)
    return path


def fitted(table, domain):
    synth = PlausibleDeniabilitySynthesizer(metadata_of(domain), domain=str(domain), undeclared="private")
    synth.fit(read_csv(table, domain))
    return synth.privacy_ledger()


def test_check_records_which_columns_were_shown(table, domain, capsys):
    before = fitted(table, domain)
    assert before.claims_privacy
    assert main(["check", str(table), "--domain", str(domain)]) == 0
    said = capsys.readouterr().out
    assert "age, size were looked at" in said
    assert set(read_domain_file(domain).looked) == {"age", "size"}
    assert fitted(table, domain).claims_privacy  # nothing was edited

    found = read_domain_file(domain)
    age = {**COLUMNS["age"], "range_max": 99}
    DomainFile(columns={**COLUMNS, "age": age}, looked=found.looked).save(domain)
    assert main(["check", str(table), "--domain", str(domain)]) == 0  # nothing to see of age: it fits now
    ledger = fitted(table, domain)
    assert not ledger.claims_privacy
    assert "edited after looking at the rows: age" in str(ledger)

    age["source"] = "https://example.org/codebook"
    DomainFile(columns={**COLUMNS, "age": age}, looked=found.looked).save(domain)
    ledger = fitted(table, domain)
    assert ledger.claims_privacy
    assert "age: from https://example.org/codebook" in str(ledger)


def test_a_plan_says_so_too(domain):
    record_look(domain, ["sex"])
    found = read_domain_file(domain)
    columns = {**COLUMNS, "sex": {"sdtype": "categorical", "range_values": ["f", "m", "d"]}}
    DomainFile(columns=columns, looked=found.looked).save(domain)
    synth = PlausibleDeniabilitySynthesizer(metadata_of(domain), domain=str(domain), undeclared="private")
    assert not synth.plan().ledger.claims_privacy


def test_what_was_detected_makes_no_claim(table, domain):
    DomainFile(columns={**COLUMNS, "id": {"sdtype": "id", "detected": True}}).save(domain)
    ledger = fitted(table, domain)
    assert not ledger.claims_privacy
    assert "semantic types were detected" in ledger.sentence()


def test_nothing_is_shown_that_could_not_be_written_down(table, domain, capsys, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.DomainFile, "save", full)
    assert main(["check", str(table), "--domain", str(domain)]) == 2
    assert not capsys.readouterr().out


def test_a_check_of_the_synthesizer_is_written_down_too(table, domain):
    synth = PlausibleDeniabilitySynthesizer(metadata_of(domain), domain=str(domain), undeclared="private")
    shown = []
    assert not synth.check(read_csv(table, domain), show=shown.append)
    assert "age were looked at" in shown[-1]
    assert set(read_domain_file(domain).looked) == {"age"}


def test_looks_are_added(domain):
    assert record_look(domain, ["age", "unknown"]) == (
        "age",
        "unknown",
    )  # declared later, it may repeat what was seen
    assert record_look(domain, ["age", "sex"]) == ("sex",)
    assert record_look(domain, ["age"]) == ()


def test_a_finished_domain_keeps_no_record(table, tmp_path, capsys):
    path = tmp_path / "finished.json"
    Domain.from_declarations({"age": COLUMNS["age"]}).save(path)
    assert main(["check", str(table), "--domain", str(path)]) == 0
    assert "keeps no record" in capsys.readouterr().out
    with pytest.raises(ValueError, match="its 'schema'"):
        record_look(path, ["age"])


def test_no_domain_file(tmp_path):
    path = tmp_path / "list.json"
    path.write_text("[]")
    with pytest.raises(ValueError, match="is no domain file"):
        read_domain_file(path)
