"""The command line as a user runs it: files whole or not at all, one clear line on bad input."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from sdv_plausible.cli import main
from sdv_plausible.datasets import census_like
from sdv_plausible.sdv.versions import SDV_MAJOR


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    census_like(400).to_csv(path, index=False)
    return path


def test_demo(tmp_path, capsys):
    assert main(["demo", "--rows", "200", "--table-rows", "2000", "-o", str(tmp_path / "out")]) == 0
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["comparison.html", "ledger.json", "synthetic.csv"]
    assert len(pd.read_csv(tmp_path / "out" / "synthetic.csv")) == 200
    assert json.loads((tmp_path / "out" / "ledger.json").read_text())["epsilon"] <= 1
    assert "Total epsilon" in capsys.readouterr().out


def test_synthesize_csv_to_parquet_and_back(people, tmp_path, capsys):
    parquet, csv, ledger = tmp_path / "o.parquet", tmp_path / "o.csv", tmp_path / "l.json"
    assert main(["synthesize", str(people), "-o", str(parquet), "--ledger", str(ledger)]) == 0
    assert len(pd.read_parquet(parquet)) == 10_000
    assert "headline" in json.loads(ledger.read_text())
    assert "No differential-privacy claim" in capsys.readouterr().out or json.loads(ledger.read_text())["epsilon"]
    assert main(["synthesize", str(parquet), "-o", str(csv), "--rows", "7", "--privacy-test", "deterministic", "--k", "5"]) == 0
    assert len(pd.read_csv(csv)) == 7


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--k", "0"], "k (0)"),
        (["--gamma", "1"], "gamma (1.0)"),
        (["--epsilon", "nan"], "epsilon (nan)"),
        (["--omega", "99"], "omega (99)"),
        (["--rows", "-3"], "num_rows (-3)"),
        (["--metadata", "nowhere.json"], "nowhere.json"),
        (["--domain", "nowhere.json"], "nowhere.json"),
        (["--domain", "metadata"], "--domain metadata needs --metadata"),
        (["--model", "gan"], "model ('gan')"),
    ],
)
def test_bad_options_write_nothing(people, tmp_path, capsys, options, words):
    output = tmp_path / "o.csv"
    assert main(["synthesize", str(people), "-o", str(output), *options]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.err.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["people.csv"]


def test_files_that_exist_are_kept(people, tmp_path, capsys):
    output = tmp_path / "o.csv"
    output.write_text("precious")
    assert main(["synthesize", str(people), "-o", str(output)]) == 2
    assert "exists" in capsys.readouterr().err
    assert output.read_text() == "precious"
    assert main(["synthesize", str(people), "-o", str(output), "--overwrite", "--rows", "3"]) == 0
    assert len(pd.read_csv(output)) == 3


DECLARED = {
    "age": {"sdtype": "numerical", "range_min": 0, "range_max": 110},
    "sex": {"sdtype": "categorical", "range_values": ["f", "m"]},
}


def two_columns(folder):
    path = folder / "two.csv"
    pd.DataFrame({"age": [*range(20, 40)] * 4, "sex": ["f", "m"] * 40}).to_csv(path, index=False)
    return path


@pytest.mark.skipif(SDV_MAJOR < 2, reason="the metadata of SDV 1.38 has no ranges")
def test_ranges_written_in_a_metadata_file_are_declared(tmp_path, capsys):
    written, output = tmp_path / "metadata.json", tmp_path / "o.csv"
    document = {"tables": {"people": {"columns": DECLARED}}, "relationships": [], "METADATA_SPEC_VERSION": "V2"}
    written.write_text(json.dumps(document))
    options = ["--metadata", str(written), "--domain", "metadata", "--rows", "5"]
    assert main(["synthesize", str(two_columns(tmp_path)), "-o", str(output), *options]) == 0
    assert capsys.readouterr().out.startswith("Total epsilon")


def test_ranges_written_in_a_domain_file_are_declared(tmp_path, capsys):
    written, output = tmp_path / "domain.json", tmp_path / "o.csv"
    written.write_text(json.dumps(DECLARED))
    assert main(["synthesize", str(two_columns(tmp_path)), "-o", str(output), "--domain", str(written), "--rows", "5"]) == 0
    assert capsys.readouterr().out.startswith("Total epsilon")


def test_an_interrupted_write_leaves_the_old_file(people, tmp_path, monkeypatch):
    output = tmp_path / "o.csv"
    output.write_text("precious")

    def interrupted(self, path, **options):
        path.write_text("half a")
        raise OSError("disk full")

    monkeypatch.setattr(pd.DataFrame, "to_csv", interrupted)
    assert main(["synthesize", str(people), "-o", str(output), "--overwrite", "--rows", "3"]) == 2
    assert output.read_text() == "precious"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["o.csv", "people.csv"]


def test_unreadable_inputs(people, tmp_path, capsys):
    assert main(["synthesize", str(tmp_path / "none.csv"), "-o", str(tmp_path / "o.csv")]) == 2
    assert "there is no file" in capsys.readouterr().err
    (tmp_path / "empty.csv").write_text("")
    assert main(["synthesize", str(tmp_path / "empty.csv"), "-o", str(tmp_path / "o.csv")]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert main(["synthesize", str(people), "-o", str(tmp_path / "no" / "o.csv")]) == 2
    assert "folder" in capsys.readouterr().err
    assert main(["synthesize", str(people), "-o", str(tmp_path / "o.xlsx")]) == 2
    assert ".csv or .parquet" in capsys.readouterr().err
