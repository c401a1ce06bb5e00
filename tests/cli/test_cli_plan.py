"""``plan``: the cost without a table."""

import json

import pytest

from sdv_plausible import PlausibleDeniabilitySynthesizer, metadata_of
from sdv_plausible.cli.main import main


def test_a_plan_needs_no_table_and_is_the_synthesizers(holder, declared, capsys):
    options = ["plan", "--domain", str(holder / "domain.json"), "--table-rows", "2000"]
    assert main(options) == 0
    said = capsys.readouterr().out
    assert (
        said
        == f"{PlausibleDeniabilitySynthesizer(metadata_of(declared), domain=declared).plan(table_rows=2000)}\n"
    )
    assert main([*options, "--json", "--epsilon", "2"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["epsilon"] == 2
    assert 1.9 < document["ledger"]["epsilon"] <= 2
    assert document["forecast"]["rows"] == 2000


def test_where_every_row_costs_the_rows_asked_for_are_planned(holder, capsys):
    options = ["plan", "--domain", str(holder / "domain.json"), "--test", "randomized", "--json"]
    costs = []
    for more in (["-n", "300"], ["-n", "300", "--row-cap", "3000"], ["--row-cap", "30000"]):
        assert main([*options, *more]) == 0
        document = json.loads(capsys.readouterr().out)
        costs.append(document["ledger"]["epsilon"])
        if not costs[1:]:
            assert "the first 300 rows" in document["ledger"]["headline"]
    assert costs[0] < 60 < costs[1] < costs[2]
    assert main(options) == 2
    said = capsys.readouterr().err
    assert "row_cap (1,000,000, the default) is the number of rows" in said
    assert "--total 1 --row-cap 1000 --least-rows 20000 keeps all of the release within epsilon" in said
    assert "With --test release rows are free" in said
    assert "RandomizedTest" not in said
    assert main([*options, "-n", "300", "--row-cap", "299"]) == 2
    assert "row_cap (299) must be at least the number of requested rows (300)" in capsys.readouterr().err
    rules = holder / "rules.json"
    rules.write_text('[{"rule": "forbidden", "when": {"sex": "Male", "age": {"max": 20}}}]')
    assert main([*options, "-n", "300", "--rules", str(rules)]) == 2
    assert "set row_cap to the number of rows to draw, such as 600" in capsys.readouterr().err
    assert main([*options, "-n", "300", "--rules", str(rules), "--row-cap", "600"]) == 0
    assert "the first 600 rows" in json.loads(capsys.readouterr().out)["ledger"]["headline"]


def test_an_advantage_and_mistakes(holder, capsys):
    declared = ["--domain", str(holder / "domain.json")]
    assert main(["plan", *declared, "--max-advantage", "0.05", "--json"]) == 0
    assert 0.01 < json.loads(capsys.readouterr().out)["epsilon"] < 1
    assert main(["plan", *declared, "--total", "2", "--test", "release", "--omega", "3", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert 1.99 < document["ledger"]["epsilon"] <= 2  # the test's own 1 included
    assert document["epsilon"] == 2
    assert "epsilon0 1;" in next(
        e["mechanism"] for e in document["ledger"]["entries"] if e["name"] == "seeds"
    )
    rows = ["--total", "1", "--test", "randomized", "-n", "1"]
    assert main(["plan", *declared, *rows, "--least-rows", "500", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert 0.999 < document["ledger"]["epsilon"] <= document["epsilon"] == 1
    for more, words in (
        ([*declared, *rows], "least_rows is missing"),
        ([*declared, "--total", "2", "--epsilon", "1"], "total (2.0) is the epsilon of the whole release"),
        ([], "no column is declared"),
        ([*declared, "--budget", "b", "1", "1e-8"], "draws from no budget"),
        ([*declared, "--k", "0"], "k (0)"),
    ):
        assert main(["plan", *more]) == 2
        assert words in capsys.readouterr().err


def test_blanks_of_a_template_are_planned_as_they_are_charged(holder, tmp_path, capsys):
    people, template = str(holder / "people.csv"), str(tmp_path / "domain.json")
    assert main(["declare", people, "-o", template]) == 0
    capsys.readouterr()
    assert main(["plan", "--domain", template, "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)["ledger"]
    assert main(["fit", people, "-o", str(tmp_path / "p.release"), "--domain", template, "--json"]) == 0
    charged = json.loads(capsys.readouterr().out)["ledger"]
    assert planned["epsilon"] == pytest.approx(charged["epsilon"], rel=1e-6)
    assert next(e for e in planned["entries"] if e["name"] == "types") in charged["entries"]
    assert main(["plan", "--domain", template, "--epsilon", "inf"]) == 2  # nobody votes there
    assert "set sdtype" in capsys.readouterr().err
