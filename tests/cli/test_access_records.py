"""Commands that show rows write it down: what is declared afterwards makes no claim, what was declared before does."""

import json
import shutil
from pathlib import Path

import pytest

from sdv_plausible.cli.main import main
from sdv_plausible.rules.conditions import Implies
from sdv_plausible.table.declared.domain_file import read_domain_file

LOOKS = {name: [name, "people.csv", "people.csv", "-o", "page.html"] for name in ("report", "inspect")}
RULE = [Implies({"sex": "Male"}, {"age": {"min": 17}}).to_dict()]


@pytest.fixture
def folder(holder, tmp_path, monkeypatch, declared, few_scores):
    here = tmp_path / "here"
    shutil.copytree(holder, here)
    monkeypatch.chdir(here)
    rows = (here / "people.csv").read_text().splitlines(keepends=True)
    (here / "people.csv").write_text("".join(rows[:201]))
    (here / "domain.json").write_text(
        json.dumps({name: declared[name] for name in declared if name != "race"})
    )
    return here


def claims(capsys, *more):
    capsys.readouterr()
    assert main(["plan", "--domain", "domain.json", "--json", *more]) == 0
    return json.loads(capsys.readouterr().out)["ledger"]["epsilon"] is not None


def edit(**columns):
    document = json.loads(Path("domain.json").read_text())
    document["columns"] |= columns
    Path("domain.json").write_text(json.dumps(document))


@pytest.mark.parametrize("name", LOOKS)
def test_a_look_is_written_down(name, folder, capsys):
    assert main(LOOKS[name]) == 0
    assert "No domain file (--domain) keeps a record of this look" in capsys.readouterr().out
    words = {"sdtype": "categorical", "range_values": ["White", "Black"]}
    assert claims(capsys)
    looks = [*LOOKS[name], "--overwrite", "--domain", "domain.json"]
    assert main(looks) == 0
    assert "Recorded in domain.json: age, sex, hours_per_week, race were compared" in capsys.readouterr().out
    file = read_domain_file("domain.json")
    assert set(file.looked) == {"age", "sex", "race", "hours_per_week"}
    assert file.looked_rules == ()
    assert claims(capsys)  # nothing was changed
    edit(race=words)  # was not declared when its rows were shown
    assert file.edited == ()
    assert read_domain_file("domain.json").edited == ("race",)
    assert not claims(capsys)
    edit(race={**words, "source": "the census office"})
    assert claims(capsys)
    edit(age={"sdtype": "numerical", "range_min": 17, "range_max": 88})
    assert not claims(capsys)


@pytest.mark.parametrize("name", LOOKS)
def test_rules_that_were_made_before_keep_their_claim(name, folder, capsys):
    Path("rules.json").write_text(json.dumps(RULE))
    assert main([*LOOKS[name], "--domain", "domain.json", "--rules", "rules.json"]) == 0
    assert claims(capsys, "--rules", "rules.json")
    assert not claims(capsys)


@pytest.mark.parametrize("name", LOOKS)
def test_what_cannot_be_written_down_is_not_shown(name, folder, monkeypatch):
    def refuse(*_):
        raise OSError("read-only")

    monkeypatch.setattr("sdv_plausible.table.declared.domain_file.write_atomically", refuse)
    assert main([*LOOKS[name], "--domain", "domain.json"]) == 2
    assert not (folder / "page.html").exists()


def test_a_page_to_be_published_is_no_look(folder):
    assert main(["sample", "people.release", "-o", "rows.csv", "-n", "200"]) == 0
    before = (folder / "domain.json").read_bytes()
    told = (
        "report people.csv rows.csv -o page.html --domain domain.json --publishable --release people.release"
    )
    assert main(told.split()) == 0
    assert (folder / "domain.json").read_bytes() == before


@pytest.mark.parametrize("name", LOOKS)
@pytest.mark.parametrize("blank", [True, False])
def test_a_column_without_a_type_is_voted_on_with_a_claim_after_a_look(blank, name, folder, capsys):
    if blank:
        assert main(["declare", "people.csv", "-o", "new.json", "--domain", "domain.json"]) == 0
        (folder / "new.json").replace("domain.json")
    assert main([*LOOKS[name], "--domain", "domain.json"]) == 0
    capsys.readouterr()
    words = ["synthesize", "people.csv", "-o", "rows.csv", "-n", "9", "--domain", "domain.json", "--json"]
    assert main(words) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["types_voted"] == {"race": "categorical"}
    assert said["ledger"]["epsilon"] <= 1
