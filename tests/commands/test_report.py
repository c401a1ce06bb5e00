"""``report``: a page for the holder alone, or one that may be published."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sdv_plausible.cli import main


@pytest.fixture
def files(holder, tmp_path):
    rows = tmp_path / "rows.csv"
    assert main(["sample", str(holder / "people.release"), "-o", str(rows), "-n", "200"]) == 0
    real = tmp_path / "real.csv"
    real.write_text("\n".join((holder / "people.csv").read_text().splitlines()[:201]) + "\n")
    return [str(real), str(rows), "--domain", str(holder / "domain.json")]


def test_pages(files, holder, tmp_path, capsys):
    capsys.readouterr()
    release = ("--release", str(holder / "people.release"))
    for name, more, private in (("own", [], True), ("public", ["--publishable"], False)):
        page = tmp_path / f"{name}.html"
        assert main(["report", *files, *release, "-o", str(page), "--json", *more]) == 0
        assert json.loads(capsys.readouterr().out)["for_the_holder_alone"] is private
        assert (page.stat().st_mode & 0o077 == 0) is private
        assert "Total epsilon" in page.read_text()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--release", "x", "--ledger", "y"], "there is no file x"),
        (["--ledger", "REAL"], "is no ledger"),
        (["--holdout", "none.csv"], "there is no file none.csv"),
    ],
)
def test_mistakes(files, tmp_path, capsys, more, words):
    given = [files[0] if word == "REAL" else word for word in more]
    assert main(["report", *files, "-o", str(tmp_path / "p.html"), *given]) == 2
    assert words in capsys.readouterr().err


def test_no_real_cell_decides_how_a_published_page_looks(files, holder, tmp_path):
    """Types that nobody declared are those of the synthetic rows: a table of words leaves the same page."""
    real, rows = files[:2]
    lines = Path(real).read_text().splitlines()
    words = tmp_path / "words.csv"
    words.write_text("\n".join([lines[0], *("a b,c,d,e f" for _ in lines[1:])]) + "\n")
    pages = []
    for name, table in (("one", real), ("other", str(words))):
        page = tmp_path / f"{name}.html"
        release = ["--release", str(holder / "people.release"), "--publishable", "-o", str(page)]
        assert main(["report", table, rows, *release]) == 0
        pages.append(page.read_text())
    assert pages[0] == pages[1]


def test_real_rows_are_not_published_as_synthetic_ones(files, tmp_path, capsys):
    page = tmp_path / "p.html"
    assert main(["report", files[0], files[0], *files[2:], "--publishable", "-o", str(page)]) == 2
    assert "is the real table" in capsys.readouterr().err
    assert not page.exists()
