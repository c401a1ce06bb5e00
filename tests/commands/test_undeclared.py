"""Columns without a declared type: when the vote is held, what it costs, and what is said."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from quoting import check_unquoted

from sdv_plausible.cli import main
from sdv_plausible.commands.undeclared import Undeclared
from sdv_plausible.declaring import voted

ROWS = 3000


@pytest.fixture
def people(tmp_path):
    """Ages and towns, and one odd cell among the ages."""
    draw = np.random.default_rng(0)
    ages = draw.integers(18, 90, ROWS).astype(str).astype(object)
    ages[17] = "secret-text"
    path = tmp_path / "people.csv"
    pd.DataFrame({"age": ages, "town": draw.choice(["Bern", "Chur"], ROWS)}).to_csv(path, index=False)
    return path


def synthesized(path, capsys, *options):
    output = path.with_name("rows.csv")
    code = main(["synthesize", str(path), "-o", str(output), "-n", "400", "--overwrite", "--json", *options])
    return code, json.loads(capsys.readouterr().out), pd.read_csv(output)


def test_one_odd_cell_decides_no_column(people, capsys):
    """Under a vote ages stay numbers. Control: types that are read off the rows become what the cell says."""
    _, said, rows = synthesized(people, capsys, "--epsilon", "4")
    assert said["types_voted"] == {"age": "numerical", "town": "categorical"}
    assert said["types_detected"] == []
    assert pd.api.types.is_numeric_dtype(rows["age"])
    assert "secret-text" not in rows.to_csv()
    entry = next(entry for entry in said["ledger"]["entries"] if entry["name"] == "types")
    assert (
        "learned earlier at epsilon 0.4 and delta 1e-10" in entry["mechanism"]
    )  # a tenth of what was asked for
    _, said, rows = synthesized(people, capsys, "--epsilon", "inf")
    assert said["types_voted"] == {}
    assert said["types_detected"] == ["age", "town"]


def test_what_the_vote_cannot_be_part_of(people, tmp_path, capsys):
    whole_people = ["--person", "town", "--rows-per-person", "2"]
    replaced = ["--neighbours", "replace_one"]
    for options in (["--random-state", "1"], ["--undeclared", "infer"], whole_people, replaced):
        code, said, _ = synthesized(people, capsys, *options)
        assert code == 0
        assert said["types_voted"] == {}
    budget = ["--budget", str(tmp_path / "people.budget"), "5", "1e-8"]  # is drawn from before any look
    assert main(["synthesize", str(people), "-o", str(tmp_path / "b.csv"), *budget]) == 2
    assert not (tmp_path / "b.csv").exists()
    capsys.readouterr()


def test_a_learned_file_is_not_voted_on_again(people, tmp_path, capsys):
    types, learned = tmp_path / "types.json", tmp_path / "learned.json"
    types.write_text(json.dumps({"town": {"sdtype": "categorical"}}))
    learn = ["declare", str(people), "-o", str(learned), "--domain", str(types), "--private", "0.2"]
    types.write_text(json.dumps({"town": {"sdtype": "categorical"}, "age": {"sdtype": "numerical"}}))
    assert main(learn) == 0
    capsys.readouterr()
    _, said, _ = synthesized(people, capsys, "--domain", str(learned))
    assert said["types_voted"] == {}
    assert said["types_detected"] == []
    more = tmp_path / "more.csv"
    pd.read_csv(people).assign(child=True).to_csv(more, index=False)
    code, said, _ = synthesized(more, capsys, "--domain", str(learned))
    assert (code, said["types_voted"], said["types_detected"]) == (0, {}, ["child"])


def test_what_was_taken_for_personal_data_is_said():
    detected = {"city": {"sdtype": "city", "pii": True}, "age": {"sdtype": "numerical"}}
    said = Undeclared(detected=detected).hint()
    assert "Types detected: city, age. Declare them" in said
    assert (
        'invented: city. If they are categories, declare them so: {"city": {"sdtype": "categorical"}}' in said
    )
    assert "invented" not in Undeclared(detected={"age": {"sdtype": "numerical"}}).hint()
    assert Undeclared().hint() == ""


def test_blanks_of_a_template_are_voted_on_and_columns_keep_their_order(people, tmp_path, capsys):
    template = tmp_path / "domain.json"
    assert main(["declare", str(people), "-o", str(template)]) == 0
    document = json.loads(template.read_text())
    document["columns"]["town"] = {"sdtype": "categorical", "range_values": ["Bern", "Chur"]}
    template.write_text(json.dumps(document))
    capsys.readouterr()
    _, said, rows = synthesized(people, capsys, "--domain", str(template), "--epsilon", "4")
    assert said["types_voted"] == {"age": "numerical"}
    assert rows.columns.tolist() == ["age", "town"]
    _, _, rows = synthesized(people, capsys, "--domain", str(template), "--only-declared")
    assert rows.columns.tolist() == ["town"]
    refused = ["synthesize", str(people), "-o", str(tmp_path / "r.csv"), "--domain", str(template)]
    assert (
        main([*refused, "--random-state", "1"]) == 2
    )  # nothing can be voted on: the blank is to be filled in
    assert "fill in sdtype" in capsys.readouterr().err
    types = tmp_path / "town.json"
    types.write_text(json.dumps({"town": {"sdtype": "categorical"}}))
    _, _, rows = synthesized(people, capsys, "--domain", str(types), "--random-state", "1")
    assert rows.columns.tolist() == ["age", "town"]


@pytest.mark.parametrize(
    "words",
    [
        ["synthesize", "-o", "r.csv", "--k", "0"],
        ["synthesize", "-o", "r.csv", "--omega", "99"],
        ["fit", "-o", "r.release", "--structure", "none.json"],
        ["fit", "-o", "r.release", "--model", "gan"],
        ["fit", "-o", "r.release", "--domain", "detected.json"],
        ["describe", "-o", "d.json", "--bins", "0"],
        ["describe", "-o", "d.json", "--max-parents", "-1"],
    ],
)
def test_what_is_refused_is_refused_before_a_cell_votes(people, words, monkeypatch, capsys):
    """Control: without the wrong word the vote is asked for, and would have been held."""
    monkeypatch.chdir(people.parent)
    age = {"sdtype": "numerical", "range_min": 0, "range_max": 99}
    document = {"schema": "sdv-plausible-declarations/1", "detected": True, "columns": {"age": age}}
    Path("detected.json").write_text(json.dumps(document))
    held = []
    monkeypatch.setattr("sdv_plausible.declaring.voted.vote_types", lambda *_: held.append(1) or 1 / 0)
    name, *options = words
    assert main([name, str(people), *options]) == 2
    assert held == []
    assert main([name, str(people), *options[:2]]) == 2
    assert held == [1]
    capsys.readouterr()


@pytest.mark.parametrize("command", ["synthesize", "describe"])
def test_an_error_of_others_in_the_vote_quotes_no_cell(command, people, monkeypatch, capsys):
    """Control: with --debug the holder sees it."""
    monkeypatch.setattr(voted, "vote_types", lambda texts, *_: float(texts["age"][17]))
    words = [
        command,
        str(people),
        "-o",
        str(people.with_name("out.json" if command == "describe" else "out.csv")),
    ]
    check_unquoted(words, "secret-text", capsys)


@pytest.mark.parametrize(("option", "value"), [("epsilon", "-1.0"), ("delta", "2.0")])
def test_a_total_is_refused_as_it_was_given(option, value, people, capsys):
    """Before, the vote's share of it was: epsilon (-0.1)."""
    words = ["synthesize", str(people), "-o", str(people.with_name("out.csv")), f"--{option}", value]
    assert main(words) == 2
    assert f"{option} ({value}) must" in capsys.readouterr().err
