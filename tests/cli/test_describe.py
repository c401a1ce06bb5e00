"""``describe``: any CSV without configuration, under one total; or what was declared of it."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sentences import LEAD, NO_CLAIM, total

from sdv_plausible import Budget
from sdv_plausible.cli.main import main
from sdv_plausible.privacy.noise import mechanisms
from sdv_plausible.release.file.release import Release
from sdv_plausible.table.declared.domain_file import DomainFile, read_domain_file

WORDS = {"a": {"range_values": [0, 1, 2, 3]}, "b": {"range_values": list("pqrs")}, "name": {"sdtype": "id"}}


def table(path, n: int = 6_000) -> str:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, n)
    names = ["".join(rng.choice(list("xyz"), int(k))) + str(i) for i, k in enumerate(rng.integers(3, 6, n))]
    frame = pd.DataFrame({"a": a, "b": np.array(list("pqrs"))[a], "name": names})
    frame.to_csv(path / "data.csv", index=False)
    return str(path / "data.csv")


def described(folder, *more, output="d.json"):
    return main(["describe", table(folder), "-o", str(folder / output), *more])


@pytest.mark.parametrize("mode", ["correlated", "independent", "random"])
def test_any_file_without_configuration(tmp_path, capsys, mode):
    assert described(tmp_path, "--mode", mode, "--epsilon", "8") == 0
    said, warned = capsys.readouterr()
    assert said.startswith(LEAD)
    assert said.splitlines()[1].startswith(total())
    assert "name: the cells look like identifiers" in warned
    assert re.search(r"Inferred types, for three tenths of epsilon: .*name id", said)
    assert "private type inference from the cells of 3 undeclared columns" in said
    assert json.loads((tmp_path / "d.json").read_text("utf-8"))["format"] == "sdv-plausible-release/1"
    release = Release.load(tmp_path / "d.json")
    assert 0 < release.ledger.total() <= 8 * (1 + 1e-6)
    rows = release.sample(500)
    assert list(rows.columns) == ["a", "b", "name"]
    assert rows["name"].str.fullmatch("[a-z]{4,9}").all()
    assert rows["b"].dropna().isin(list("pqrs")).mean() > 0.9  # noise may let it have missing cells
    if mode == "correlated":
        assert (rows["b"] == rows["a"].map(dict(enumerate("pqrs")))).mean() > 0.8
    else:  # without links parents play no part
        assert described(tmp_path, "--mode", mode, "--max-parents", "4", output="e.json") == 2
        assert f"--max-parents has no effect with --mode {mode}" in capsys.readouterr().err
        assert not (tmp_path / "e.json").exists()


def test_a_look_is_written_down_in_the_file_that_was_given(tmp_path, capsys):
    """What the vote makes of it is another document."""
    declared, data = tmp_path / "domain.json", table(tmp_path, 600)
    DomainFile(columns={"a": {"sdtype": "numerical", "range_min": 50, "range_max": 99}}).save(declared)
    words = ["describe", data, "-o", str(tmp_path / "d.json"), "--domain", str(declared), "--mode", "random"]
    assert main(words) == 0
    assert "a: most cells are outside" in capsys.readouterr().err
    assert set(read_domain_file(declared).looked) == {"a"}


def test_what_is_declared_is_not_voted_on(tmp_path, capsys):
    domain = tmp_path / "domain.json"
    domain.write_text(json.dumps(WORDS), encoding="utf-8")
    arguments = ["describe", table(tmp_path), "-o", str(tmp_path / "d.json"), "--domain", str(domain)]
    assert main(arguments) == 0
    assert "vote" not in capsys.readouterr().out
    assert 0.09 < Release.load(tmp_path / "d.json").ledger.total() <= 0.1  # which is the default
    assert main(arguments) == 2  # it is there
    assert "exists" in capsys.readouterr().err


def test_people_a_budget_and_a_table_in_parts(tmp_path, capsys):
    """It fits as ``fit`` does: what it could not be told it takes."""
    data, domain, budget = table(tmp_path), tmp_path / "domain.json", tmp_path / "people.budget"
    domain.write_text(json.dumps({"b": {"range_values": list("pqrs")}, "name": {"sdtype": "id"}}))
    words = ["describe", data, "-o", str(tmp_path / "d.json"), "--domain", str(domain), "--epsilon", "2"]
    given = ["--person", "name", "--rows-per-person", "2", "--budget", str(budget), "3", "1e-8"]
    assert main([*words, *given, "--scratch", str(tmp_path)]) == 0
    release = Release.load(tmp_path / "d.json")
    assert (release.ledger.neighbours.person, release.ledger.neighbours.rows) == ("name", 2)
    assert release.ledger.claims_privacy
    assert [column.name for column in release.schema.columns] == ["a", "b", "name"]
    assert 1.9 < Budget(3, 1e-8, budget).charged()["epsilon"] <= 2
    assert main([*words, *given, "--overwrite"]) == 2
    assert "would exceed the budget" in capsys.readouterr().err


def metadata_file(folder, **columns):
    path = folder / "metadata.json"
    path.write_text(json.dumps({"tables": {"t": {"columns": columns}}, "METADATA_SPEC_VERSION": "V1"}))
    return str(path)


@pytest.mark.parametrize("more", [[], ["--only-declared"]])
def test_what_metadata_declares_is_described(tmp_path, capsys, more):
    """It took no part: its columns were left out of the release, once the budget had paid for the rest."""
    metadata = metadata_file(tmp_path, a={"sdtype": "numerical", "range_max": 1}, name={"sdtype": "id"})
    output, domain = tmp_path / "d.json", tmp_path / "domain.json"
    domain.write_text(json.dumps({"a": {"range_min": 0, "range_max": 3}}))  # its type is the metadata's
    words = ["describe", table(tmp_path), "-o", str(output), "--metadata", metadata, "--domain", str(domain)]
    assert main([*words, "--epsilon", "8", *more]) == 0
    assert ("1 undeclared columns" in capsys.readouterr().out) is not more
    release = Release.load(output)
    assert release.ledger.claims_privacy
    assert [column.name for column in release.schema.columns] == ["a", *([] if more else ["b"]), "name"]
    assert release.schema.columns[-1].spec["sdtype"] == "id"
    assert release.sample(300)["a"].max() == 3  # ranges of metadata declare nothing here


def test_ranges_of_metadata_are_refused_before_a_cell_is_read(tmp_path, capsys):
    metadata = metadata_file(tmp_path, a={"sdtype": "numerical"})
    assert described(tmp_path, "--metadata", metadata, "--domain", "written") == 2
    said = capsys.readouterr().err
    assert "--domain written" in said
    assert "--domain domain.json" in said


@pytest.mark.parametrize("exact", [False, True], ids=["answers alone", "planted: exact answers"])
def test_nothing_but_answers_reaches_the_description(exact, tmp_path, monkeypatch, capsys):
    """Answers that depend on nothing but their shape: whatever differs between two tables was never asked."""

    def blind(values, **_):
        return np.asarray(values) if exact else np.arange(np.size(values)).reshape(np.shape(values)) % 3 + 40

    monkeypatch.setattr(mechanisms, "discrete_gaussian", blind)
    found = []
    for rows in ("31,ann\n" * 300, "31,ann\n" * 300 + '"n/a",' + "x" * 90 + "\n", ",\n", ""):
        (tmp_path / "t.csv").write_text("age,name\n" + rows, encoding="utf-8")
        output = tmp_path / "d.json"
        options = ["--mode", "independent", "--epsilon", "1", "--overwrite"]
        assert main(["describe", str(tmp_path / "t.csv"), "-o", str(output), *options]) == 0
        found.append((output.read_text("utf-8"), *capsys.readouterr()))
    assert (len(set(found)) > 1) == exact


@pytest.mark.parametrize("history", [{"looked": {"b": "0" * 64}}, {"detected": True}])
def test_without_a_claim_nothing_is_written_unless_it_was_allowed(history, tmp_path, capsys, monkeypatch):
    data = table(tmp_path, 300)
    monkeypatch.chdir(tmp_path)
    file = {"schema": "sdv-plausible-declarations/1", "columns": WORDS, **history}
    (tmp_path / "domain.json").write_text(json.dumps(file))
    arguments = ["describe", data, "-o", "d.json", "--domain", "domain.json"]
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert NO_CLAIM in said.err
    assert "add --allow-no-claim" in said.err
    assert not (tmp_path / "d.json").exists()
    assert main([*arguments, "--allow-no-claim"]) == 0
    assert not Release.load(tmp_path / "d.json").ledger.claims_privacy
