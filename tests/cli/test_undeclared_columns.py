"""Columns without a declared type: when the vote is held, what it costs, and what is said."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from quoting import check_unquoted
from sentences import total

from sdv_plausible import Budget, metadata_of
from sdv_plausible.cli.main import main
from sdv_plausible.cli.undeclared_columns import InferredTypes
from sdv_plausible.table.declared.domain_file import DomainFile
from sdv_plausible.table.learned import type_inference

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


def written(path, document):
    """A file of it, and its name."""
    path.write_text(json.dumps(document))
    return str(path)


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
    assert "private type inference from the cells of 2 undeclared columns" in entry["mechanism"]
    assert 1.1 < entry["epsilon"] <= 1.2  # three tenths of what was asked for
    assert said["ledger"]["epsilon"] <= 4
    _, said, rows = synthesized(people, capsys, "--epsilon", "inf")
    assert said["types_voted"] == {}
    assert said["types_detected"] == ["age", "town"]


def claimed(said):
    """Whether what a command says makes a claim."""
    return said["ledger"]["headline"].startswith(total())


def test_the_vote_goes_with_whatever_a_fit_goes_with(people, tmp_path, capsys):
    """Those that asked for a person, for replacement or for a budget had types detected, without a claim."""
    path, metadata = tmp_path / "people.budget", tmp_path / "metadata.json"
    metadata_of({"town": {"sdtype": "categorical"}}).save_to_json(metadata)
    for options, has_claim in (
        (["--person", "town", "--rows-per-person", "2"], True),
        (["--neighbours", "replace_one"], True),
        (["--budget", str(path), "5", "1e-8"], True),
        (["--metadata", str(metadata)], True),
        (["--random-state", "1"], False),
        (["--undeclared", "infer"], False),
    ):
        code, said, _ = synthesized(people, capsys, *options)
        assert code == 0
        assert "age" in said["types_voted"]
        assert said["types_detected"] == []
        assert claimed(said) == has_claim
    assert 0.99 < Budget(5, 1e-8, path).charged()["epsilon"] <= 1
    refused = ["synthesize", str(people), "-o", str(tmp_path / "b.csv"), "--budget", str(path), "5", "1e-8"]
    assert main([*refused, "--epsilon", "4.5"]) == 2
    assert "would exceed the budget" in capsys.readouterr().err


def test_where_types_are_from_can_be_said(people, capsys):
    code, said, _ = synthesized(people, capsys, "--types", "detected")
    assert (code, said["types_voted"], claimed(said)) == (0, {}, False)
    for more, words in (
        (["declared"], "age, town have no type"),
        (["voted", "--epsilon", "inf"], "needs a finite epsilon"),
    ):
        assert main(["synthesize", str(people), "-o", "r.csv", "--types", *more]) == 2
        assert words in capsys.readouterr().err


def test_what_is_declared_beside_a_vote_is_metadata_and_domain_alike(people, tmp_path, capsys):
    """Also ranges in metadata, by the word that they were written; and words that were looked at stay those."""
    metadata, domain = tmp_path / "metadata.json", tmp_path / "domain.json"
    words = {"town": {"sdtype": "categorical", "range_values": ["Bern", "Chur"]}}
    load = {"tables": {"table": {"columns": words}}, "relationships": [], "METADATA_SPEC_VERSION": "V2"}
    _, said, rows = synthesized(people, capsys, "--metadata", written(metadata, load), "--domain", "written")
    assert "declared: town" in str(said["ledger"]["entries"])
    assert set(rows["town"]) == {"Bern", "Chur"}
    DomainFile(columns={"town": {"range_values": ["Bern", "Chur"]}}).looked_at(["town"]).save(domain)
    load["tables"]["table"]["columns"] = {"town": {"sdtype": "categorical"}}
    _, said, rows = synthesized(
        people, capsys, "--metadata", written(metadata, load), "--domain", str(domain)
    )
    assert claimed(said)


def test_spelling_counts_in_the_vote_and_after_it(tmp_path, capsys):
    path = tmp_path / "t.csv"
    amounts = [f"1.{i % 900 + 100},5" for i in range(ROWS)]
    path.write_text("\n".join(["amount", *(f'"{x}"' for x in amounts), ""]))
    options = ["--decimal", ",", "--thousands", ".", "--epsilon", "8"]
    _, said, rows = synthesized(path, capsys, *options)
    assert said["types_voted"] == {"amount": "numerical"}
    assert rows["amount"].between(1000, 2100).mean() > 0.9
    _, said, rows = synthesized(path, capsys, "--epsilon", "8")  # a spelling of the list: text in, text out
    assert said["types_voted"] == {"amount": "numerical"}
    assert rows["amount"].str.fullmatch(r"([0-9]\.)?[0-9]{1,3},[0-9]").mean() > 0.9


def test_what_was_found_is_said():
    """Copied types are not called public, and what was taken for personal data is told."""
    age = {"age": {"sdtype": "numerical"}}
    said = InferredTypes(voted=age).hint()
    assert "come from the rows" in said
    assert "Declare them" not in said
    said = InferredTypes(detected={"city": {"sdtype": "city", "pii": True}, **age}).hint()
    assert "Types detected: city, age. Declare them" in said
    assert (
        'placeholder values: city. If they are categories, declare them so: {"city": {"sdtype": "categorical"}}'
        in said
    )
    assert "invented" not in InferredTypes(detected=age).hint()
    assert InferredTypes().hint() == ""


def test_a_learned_file_is_not_voted_on_again(people, tmp_path, capsys):
    learned, more = tmp_path / "learned.json", tmp_path / "more.csv"
    types = written(
        tmp_path / "types.json", {"town": {"sdtype": "categorical"}, "age": {"sdtype": "numerical"}}
    )
    assert main(["declare", str(people), "-o", str(learned), "--domain", types, "--private", "0.2"]) == 0
    capsys.readouterr()
    _, said, _ = synthesized(people, capsys, "--domain", str(learned))
    assert said["types_voted"] == {}
    assert said["types_detected"] == []
    pd.read_csv(people).assign(child=True).to_csv(more, index=False)
    code, said, _ = synthesized(more, capsys, "--domain", str(learned))
    assert (code, list(said["types_voted"]), claimed(said)) == (0, ["child"], True)


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
    _, said, _ = synthesized(people, capsys, "--domain", str(template), "--epsilon", "inf")
    assert said["types_detected"] == ["age"]
    types = written(tmp_path / "town.json", {"town": {"sdtype": "categorical"}})
    _, _, rows = synthesized(people, capsys, "--domain", types, "--random-state", "1")
    assert rows.columns.tolist() == ["age", "town"]


def test_a_person_that_was_left_blank_is_not_edited_by_being_named(people, tmp_path, capsys):
    """Its words counted as written after the look. Control: those of a column that were."""
    table = pd.read_csv(people).assign(pets=1, home=range(ROWS))
    table.to_csv(people, index=False)
    blank = DomainFile(columns={"home": {"sdtype": None}})
    for looked, claims in (["home"], True), (["home", "pets"], False):
        file = blank.looked_at(looked)
        replace(file, columns={**file.columns, "pets": {"sdtype": "numerical"}}).save(tmp_path / "d.json")
        words = ["--domain", str(tmp_path / "d.json"), "--person", "home", "--epsilon", "8"]
        _, said, _ = synthesized(people, capsys, *words)
        assert said["types_voted"].keys() == {"age", "town"}
        assert claimed(said) is claims


def test_types_in_metadata_are_voted_on_or_assumed_or_vouched_for(people, tmp_path, capsys):
    """Metadata does not say whether its types were detected; a domain file, or the user's word, declares them."""
    metadata, found = tmp_path / "metadata.json", {}
    words = {"age": {"sdtype": "numerical"}, "town": {"sdtype": "categorical"}}
    metadata_of(words).save_to_json(metadata)
    met, domain = ["--metadata", str(metadata)], written(tmp_path / "domain.json", words)
    for name, more in {
        "assumed": [],
        "vouched for": ["--types", "declared"],
        "in a domain file": ["--domain", domain],
        "voted on": ["--types", "voted"],
    }.items():
        output = ["-o", str(tmp_path / "r.csv"), "--overwrite", "--json", "--model", "uniform"]
        code = main(["synthesize", str(people), *output, *met, *more])
        out, err = capsys.readouterr()
        said = json.loads(out)
        assert (code, claimed(said)) == (0, True)
        condition = (
            "if the column types in the metadata were known without the data" in said["ledger"]["headline"]
        )
        warned = (
            "warning: age, town: the privacy guarantee holds only if these column types were known" in err
        )
        found[name] = (condition, warned, [*said["types_voted"]])
    assert found == {
        "assumed": (True, True, []),
        "vouched for": (False, False, []),
        "in a domain file": (False, False, []),
        "voted on": (False, False, ["age", "town"]),
    }


REFUSED = {
    "synthesize -o r.csv": {"--epsilon": "-1.0", "--delta": "2.0", "--k": "0", "--omega": "99"},
    "fit -o r.release": {"--structure": "none.json", "--model": "gan", "--domain": "detected.json"},
    "describe -o d.json": {"--bins": "0", "--max-parents": "-1"},
}


@pytest.mark.parametrize("told", REFUSED)
def test_what_is_refused_is_refused_before_a_cell_votes(people, told, monkeypatch, capsys):
    """As it was given, and not the vote's share of it. Control: without the wrong word the vote is asked for."""
    monkeypatch.chdir(people.parent)
    columns, held = {"age": {"sdtype": "numerical", "range_min": 0, "range_max": 99}}, []
    document = {"schema": "sdv-plausible-declarations/1", "detected": True, "columns": columns}
    written(Path("detected.json"), document)
    monkeypatch.setattr(type_inference, "infer_types", lambda *_: held.append(1) or 1 / 0)
    name, *output = told.split()
    for option, value in REFUSED[told].items():
        assert main([name, str(people), *output, option, value]) == 2, option
        said = capsys.readouterr().err
        assert option not in ("--epsilon", "--delta") or f"{option[2:]} ({value}) must" in said
        assert held == []
    assert main([name, str(people), *output]) == 2
    assert held == [1]


@pytest.mark.parametrize("command", ["synthesize", "describe"])
def test_an_error_of_others_in_the_vote_quotes_no_cell(command, people, monkeypatch, capsys):
    """Control: with --debug the holder sees it."""

    def vote(rows, *_):
        return [float(text) for _, text in rows._rows.value_counts("age")[0]]

    monkeypatch.setattr(type_inference, "infer_types", vote)
    output = people.with_name("out.json" if command == "describe" else "out.csv")
    check_unquoted([command, str(people), "-o", str(output)], "secret-text", capsys)
