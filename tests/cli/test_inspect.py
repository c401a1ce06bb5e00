"""``inspect``: one page, for the holder alone."""

import json

import numpy as np
import pandas as pd
import pytest
from quoting import check_unquoted

from sdv_plausible.cli import inspect
from sdv_plausible.cli.main import main


def test_a_page_is_written_and_says_whom_it_is_for(tmp_path, capsys):
    rng = np.random.default_rng(0)
    for name in ("real", "synthetic"):
        frame = pd.DataFrame({"a": rng.integers(0, 9, 60), "b": rng.choice(["x", "y"], 60)})
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    files = [str(tmp_path / f"{name}.csv") for name in ("real", "synthetic")]
    page = tmp_path / "page.html"
    assert main(["inspect", *files, "-o", str(page)]) == 0
    assert "NOT private" in capsys.readouterr().out
    assert page.stat().st_mode & 0o077 == 0
    text = page.read_text(encoding="utf-8")
    assert "NOT private" in text
    for part in ("First and last rows", "Divergence", "Correlation", "Networks"):
        assert part in text
    assert main(["inspect", files[0], str(tmp_path / "none.csv"), "-o", str(page)]) == 2


@pytest.fixture
def declared(tmp_path):
    """A file of one column that is declared: its first words follow."""

    def made(sdtype, cells):
        domain = {"schema": "sdv-plausible-declarations/1", "columns": {"a": {"sdtype": sdtype}}}
        (tmp_path / "d.json").write_text(json.dumps(domain))
        pd.DataFrame({"a": cells}).to_csv(tmp_path / "t.csv", index=False)
        table, page, words = (str(tmp_path / name) for name in ("t.csv", "page.html", "d.json"))
        return ["inspect", table, table, "-o", page, "--domain", words]

    return made


def test_an_error_of_others_quotes_no_cell(declared, monkeypatch, capsys):
    """Control: with --debug the holder sees it."""
    monkeypatch.setattr(inspect, "prepare_pair", lambda real, *_: float(real["a"][0]))
    check_unquoted(declared("categorical", ["secret-text"] * 60), "secret-text", capsys)


def test_all_columns_may_be_declared(declared):
    assert main(declared("numerical", range(60))) == 0


def test_parquet_and_other_separators(tmp_path):
    frame = pd.DataFrame({"a": [1.5, 2.5] * 30, "b": ["x", "y"] * 30})
    before, after, page = (tmp_path / name for name in ("t.parquet", "t.csv", "page.html"))
    frame.to_parquet(before)
    frame.to_csv(after, index=False, sep=";", decimal=",")
    for path, *more in ((before,), (after, "--overwrite", "--separator", ";", "--decimal", ",", "--alike")):
        assert main(["inspect", str(path), str(path), "-o", str(page), *more]) == 0
    assert "2.5" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("command", ["inspect", "report", "report --publishable --allow-no-claim"])
def test_a_column_that_nobody_declared_is_not_said_to_be_declared(command, ending, tmp_path, capsys):
    """As after ``fit --only-declared``: the synthetic table has what was declared, and no more."""
    frame = pd.DataFrame({"a": range(60), "b": range(60), "d": range(60)})
    write = {"csv": pd.DataFrame.to_csv, "parquet": pd.DataFrame.to_parquet}[ending]
    real, synthetic = str(tmp_path / f"real.{ending}"), str(tmp_path / f"synthetic.{ending}")
    write(frame, real, index=False)
    write(frame[["a", "b"]], synthetic, index=False)
    word, *more = command.split()
    page = tmp_path / "page.html"
    assert main([word, real, synthetic, "-o", str(page), *more]) == 2
    said = f"{synthetic} lacks the columns ['d'] of the real table: leave them out there, too"
    assert capsys.readouterr().err.strip().endswith(said)
    assert not page.exists()
