"""``sample``: rows from a release file, under conditions, without SDV."""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from sdv_plausible import Release, read_csv, read_excel
from sdv_plausible.cli import sample
from sdv_plausible.cli.main import main
from sdv_plausible.cli.sample import parse_conditions, parse_value
from sdv_plausible.table.columns.domain import Attribute


def rows(holder, folder, *more: str) -> pd.DataFrame:
    output = folder / "o.csv"
    assert main(["sample", str(holder / "people.release"), "-o", str(output), "--overwrite", *more]) == 0
    return pd.read_csv(output)


def test_conditions_hold_in_every_row(holder, tmp_path):
    found = rows(holder, tmp_path, "-n", "50", "--where", "age=34", "sex=Female")
    assert len(found) == 50
    assert set(found["age"]) == {34}
    assert set(found["sex"]) == {"Female"}


def test_the_same_rows_as_from_python(holder, tmp_path):
    found = rows(holder, tmp_path, "-n", "40", "--random-state", "5")
    again = Release.load(holder / "people.release").sample(40, random_state=5)
    assert found.astype(str).equals(again.astype(str).reset_index(drop=True))


def test_many_rows_come_in_parts(holder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sample, "PART_ROWS", 30)
    found = rows(holder, tmp_path, "-n", "100", "--json")
    assert len(found) == 100
    assert not found.iloc[:30].equals(found.iloc[30:60].reset_index(drop=True))
    captured = capsys.readouterr()
    assert json.loads(captured.out)["rows"] == 100
    assert captured.err == ""


def test_mistakes(holder, tmp_path, capsys):
    output = tmp_path / "o.csv"
    for option, values, said in (
        ("--where", "age", "must be COLUMN=VALUE"),
        ("--where", "age=3 age=4", "each column once"),
        ("--where", "age=old", "holds numbers"),
        ("--where", "age=400", "age"),
        ("--where", "age=34.5", "must be a whole number: the nearest are 34 and 35"),
        ("--where", "sex=maybe", "no such value"),
        ("--where", "shoe=3", "shoe"),
        ("--expect-sha256", "0" * 64, "is not the expected release"),
        ("--recipient", "Ann", "go together"),
    ):
        told = [
            "sample",
            str(holder / "people.release"),
            "-o",
            str(output),
            "-n",
            "5",
            option,
            *values.split(),
        ]
        assert main(told) == 2
        assert said in capsys.readouterr().err
        assert not output.exists()


def test_what_a_text_stands_for(holder):
    number = Attribute(name="a", kind="integer", lower=(0, 5), upper=(4, 9), values=("N",), nullable=True)
    flag = Attribute(name="b", kind="categorical", values=(False, True))
    day = Attribute(name="c", kind="datetime", lower=(0,), upper=(10**18,))
    found = [parse_value(text, number) for text in ("7", "N", "")]
    assert [*found, parse_value("true", flag), parse_value("2020-02-01", day)] == [
        7,
        "N",
        None,
        True,
        "2020-02-01",
    ]
    release = Release.load(holder / "people.release")
    assert parse_conditions(["sex=a=b"], release) == {"sex": "a=b"}  # a value may hold an equals sign


def test_without_sdv(holder, tmp_path):
    code = (
        "import sys\nfrom sdv_plausible.cli.main import main\nassert main(sys.argv[1:]) == 0\n"
        "print(sorted({'sdv', 'torch'} & set(sys.modules)))"
    )
    told = ["sample", str(holder / "people.release"), "-o", str(tmp_path / "o.csv"), "-n", "3"]
    said = subprocess.run([sys.executable, "-c", code, *told], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[-1] == "[]"
    assert said.stderr == ""


def test_the_format_of_the_output_by_name_or_ending(holder, tmp_path, capsys):
    def sampled(output: str, *more: str) -> int:
        options = ["-o", str(tmp_path / output), "-n", "5", "--random-state", "1", *more]
        return main(["sample", str(holder / "people.release"), *options])

    assert [sampled("o.csv"), sampled("o.data", "--format", "csv"), sampled("o.parquet")] == [0, 0, 0]
    assert (tmp_path / "o.csv").read_bytes() == (tmp_path / "o.data").read_bytes()
    assert (
        pd.read_parquet(tmp_path / "o.parquet")
        .astype(str)
        .equals(pd.read_csv(tmp_path / "o.csv").astype(str))
    )
    assert sampled("p.csv", "--format", "parquet") == 2
    assert "ends in .csv, and --format is parquet" in capsys.readouterr().err
    assert sampled("o.txt") == 2
    assert "must end in .csv or .parquet or .xlsx" in capsys.readouterr().err


def test_excel_files_are_written_and_read_by_the_commands(holder, declared, tmp_path, capsys, monkeypatch):
    pytest.importorskip("openpyxl")
    release, output = str(holder / "people.release"), tmp_path / "o.xlsx"
    assert main(["sample", release, "-o", str(output), "-n", "5", "--random-state", "1"]) == 0
    found = read_excel(output, declared)
    assert found.equals(read_csv_of(Release.load(release).sample(5, random_state=1), declared, tmp_path))
    capsys.readouterr()
    domain = ["--domain", str(holder / "domain.json")]
    assert main(["check", str(output), *domain, "--sheet", "Sheet1"]) == 0
    assert "count as missing: none" in capsys.readouterr().out
    for option, words in (
        ("--separator", "--separator ('x') only applies to CSV files, not to Excel"),
        ("--sheet", "sheet ('x')"),
    ):
        assert main(["check", str(output), *domain, option, "x"]) == 2
        assert words in capsys.readouterr().err
    assert main(["check", str(holder / "people.csv"), *domain, "--sheet", "a"]) == 2
    assert "--sheet ('a') is of Excel files, and no table is one" in capsys.readouterr().err
    monkeypatch.setattr("sdv_plausible.table.files.excel_files.MOST_ROWS", 4)
    assert main(["sample", release, "-o", str(tmp_path / "p.xlsx"), "-n", "5"]) == 2
    assert "must be at most 4" in capsys.readouterr().err
    monkeypatch.setattr("sdv_plausible.cli.files.find_spec", lambda _: None)
    assert main(["sample", release, "-o", str(tmp_path / "p.xlsx"), "-n", "3"]) == 2
    assert "pip install 'sdv-plausible[excel]'" in capsys.readouterr().err


def read_csv_of(rows: pd.DataFrame, declared: dict, folder: Path) -> pd.DataFrame:
    rows.to_csv(folder / "same.csv", index=False)
    return read_csv(folder / "same.csv", declared)
