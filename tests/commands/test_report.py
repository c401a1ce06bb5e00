"""``report``: a page for the holder alone, or one that may be published."""

from __future__ import annotations

import json

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
