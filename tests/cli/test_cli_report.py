"""``report``: a page for the holder alone, or one that may be published."""

import json
from contextlib import contextmanager
from pathlib import Path

import pytest
from quoting import check_unquoted
from sentences import total

from sdv_plausible import Release, evaluation
from sdv_plausible.cli import report as commands_report
from sdv_plausible.cli.main import main
from sdv_plausible.evaluation.page.report_page import UNPROTECTED
from sdv_plausible.privacy.accounting.losses import InfiniteLoss
from sdv_plausible.privacy.entries import LedgerEntry


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
        assert total() in page.read_text()


def test_an_error_of_others_quotes_no_cell(files, tmp_path, monkeypatch, capsys):
    report = evaluation.PlausibleDeniabilityReport
    monkeypatch.setattr(report, "generate", lambda *_, **__: float("secret-text"))
    check_unquoted(["report", *files, "-o", str(tmp_path / "p.html")], "secret-text", capsys)


def test_a_ledger_that_contradicts_itself_is_on_no_page(files, holder, tmp_path, capsys):
    """A smaller total in words, entries that cost nothing, a thing said twice. Control: the ledger as it was written."""
    ledger, page = tmp_path / "ledger.json", tmp_path / "p.html"
    plain = Release.load(holder / "people.release").ledger.to_dict()
    free = {"headline": "Total epsilon 0", "entries": [{"name": "x", "epsilon": 0, "provenance": "declared"}]}
    words = ["report", *files, "--ledger", str(ledger), "--publishable", "-o", str(page)]
    for lie, said in (
        (json.dumps(plain | {"headline": "Total epsilon 0.001 at delta 1e-09"}), "ledger"),
        (json.dumps(plain | free), "ledger"),
        (json.dumps(plain)[:-1] + ', "epsilon": 0.1}', "is no ledger"),
    ):
        ledger.write_text(lie)
        assert main(words) == 2
        assert said in capsys.readouterr().err
        assert not page.exists()
    ledger.write_text(json.dumps(plain))
    assert main(words) == 0


def test_mistakes(files, tmp_path, capsys):
    page = tmp_path / "p.html"
    for more, words in (
        (["--release", "x", "--ledger", "y"], "there is no file x"),
        (["--ledger", files[0]], "is no ledger"),
        (["--holdout", "none.csv"], "there is no file none.csv"),
        (["--publishable", "--holdout", files[0]], "--allow-no-claim"),
    ):
        assert main(["report", *files, "-o", str(page), *more]) == 2
        assert words in capsys.readouterr().err
    assert main(["report", files[0], files[0], *files[2:], "--publishable", "-o", str(page)]) == 2
    assert "is the real table" in capsys.readouterr().err  # no real rows are published as synthetic ones
    assert not page.exists()


@pytest.mark.usefixtures("few_scores")
@pytest.mark.parametrize("ledger", ["none", "without a claim"])
def test_a_page_that_nothing_protects_is_published_by_word_alone(files, holder, tmp_path, capsys, ledger):
    """What is said of it beside the page is what the page says itself."""
    page, given = tmp_path / "p.html", []
    if ledger != "none":
        path = tmp_path / "ledger.json"
        no_claim = Release.load(holder / "people.release").ledger
        seeded = {
            "name": "coins",
            "mechanism": "seeded",
            "losses": (InfiniteLoss(),),
            "scope": "all",
            "note": "x",
        }
        no_claim.charge(LedgerEntry(**seeded))
        path.write_text(no_claim.to_json())
        given = ["--ledger", str(path)]
    capsys.readouterr()
    words = ["report", *files, *given, "-o", str(page), "--publishable"]
    assert main(words) == 2
    assert "--allow-no-claim" in capsys.readouterr().err
    assert not page.exists()
    assert main([*words, "--allow-no-claim"]) == 0
    said = capsys.readouterr().out
    assert UNPROTECTED in said
    assert UNPROTECTED in page.read_text()
    assert "may be published" not in said
    assert page.stat().st_mode & 0o077 == 0
    assert main([*words, "--allow-no-claim", "--overwrite", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["for_the_holder_alone"] is True


@pytest.mark.parametrize("option", ["--ledger", "--rules", "--metadata", "--domain"])
def test_a_table_that_is_named_by_mistake_is_not_quoted(files, tmp_path, capsys, monkeypatch, option):
    """Nor is anything compared before it is refused."""
    monkeypatch.delattr(evaluation.PlausibleDeniabilityReport, "generate")
    path, told = tmp_path / "table.json", ["check", files[0]]
    if option in ("--ledger", "--rules"):
        told = ["report", *files, "-o", str(tmp_path / "p.html")]
    for content in (["ALICE"], [{"name": "ALICE", "rule": "ALICE"}], {"name": ["ALICE"]}, "ALICE"):
        path.write_text(json.dumps(content))
        assert main([*told, option, str(path)]) == 2
        said = capsys.readouterr()
        assert "ALICE" not in said.err + said.out
        assert option.strip("-") in said.err or "column" in said.err
        assert said.err.count("\n") == 1
        assert "Error" not in said.err


@pytest.mark.usefixtures("few_scores")
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


def test_a_release_after_a_vote_that_splits_a_moment_has_its_page(tmp_path, capsys):
    """Its ledger makes a claim, and its network is of columns that the table has not."""
    table, release, rows, page = (tmp_path / name for name in ("t.csv", "t.release", "s.csv", "p.html"))
    lines = [f"{'ab'[i % 2]},2020-01-{i % 28 + 1:02} {i % 24:02}:{i % 60:02}:00" for i in range(900)]
    table.write_text("\n".join(["it,at", *lines]) + "\n")
    assert main(["fit", str(table), "-o", str(release), "--epsilon", "20"]) == 0
    assert {"at: date", "it"} <= set(Release.load(release).domain.names)
    assert main(["sample", str(release), "-o", str(rows), "-n", "300"]) == 0
    given = ["report", str(table), str(rows), "--release", str(release), "-o", str(page), "--publishable"]
    assert main(given) == 0, capsys.readouterr().err
    assert UNPROTECTED not in page.read_text()


@pytest.mark.usefixtures("few_scores")
def test_every_step_that_is_announced_begins(files, holder, tmp_path, monkeypatch, capsys):
    """One too many is a StopIteration; one too few shows the wrong words. The way to a guarantee is told."""
    announced, begun = [], []

    @contextmanager
    def steps(*names):
        announced.extend(names)

        def begin() -> None:
            begun.append(announced[len(begun)])

        begin.note = lambda _: None
        yield begin

    words = ["report", *files, "-o", str(tmp_path / "p.html"), "--overwrite"]
    with monkeypatch.context() as patch:
        patch.setattr(commands_report, "progress_steps", steps)
        assert main(words) == 0
    assert begun == announced != []
    assert "--release" in capsys.readouterr().out
    assert main([*words, "--release", str(holder / "people.release")]) == 0
    assert "--release" not in capsys.readouterr().out


@pytest.mark.usefixtures("few_scores")
@pytest.mark.parametrize("empty", [0, 1])
def test_a_table_without_rows_is_refused_in_a_line(files, tmp_path, capsys, empty):
    """But of a page to be published the real rows say nothing, not even that there are none."""
    path, page = tmp_path / "empty.csv", tmp_path / "p.html"
    path.write_text(Path(files[empty]).read_text().splitlines()[0] + "\n")
    words = ["report", *(str(path) if i == empty else file for i, file in enumerate(files)), "-o", str(page)]
    capsys.readouterr()
    assert main(words) == 2
    said = capsys.readouterr().err
    assert f"{path} has no rows" in said
    assert said.count("\n") == 1
    assert not page.exists()
    assert main([*words, "--publishable", "--allow-no-claim"]) == (0 if empty == 0 else 2)
    assert page.exists() is (empty == 0)
