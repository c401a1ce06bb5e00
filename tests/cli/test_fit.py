"""``fit``: a release file, refused beforehand where it could hold single people's values."""

import json
import os
import stat
from pathlib import Path

import pytest
from sentences import NO_CLAIM

from sdv_plausible import Budget, Release
from sdv_plausible.cli import files
from sdv_plausible.cli.main import main
from sdv_plausible.utils.atomic_files import write_atomically


@pytest.fixture
def people(holder):
    """The table, and what is declared of it."""
    return [str(holder / "people.csv"), "--domain", str(holder / "domain.json")]


def full(*_):
    raise OSError(28, "No space left on device")


def fit(people, output, *more):
    return main(["fit", *people, "-o", str(output), *more])


def test_a_release_file(people, tmp_path, capsys):
    output, ledger = tmp_path / "p.release", tmp_path / "l.json"
    assert fit(people, output, "--epsilon", "2", "--ledger", str(ledger), "--json") == 0
    said, release = json.loads(capsys.readouterr().out), Release.load(output)
    assert said["sha256"] == release.digest
    assert said["ledger"] == json.loads(ledger.read_text())
    ledgers = said["ledger"], release.ledger.to_dict()
    quoted = ("entries", "said")  # which a ledger of a file shows in quotation marks
    plain, loaded = ({k: v for k, v in one.items() if k not in quoted} for one in ledgers)
    assert plain == loaded
    assert release.settings["epsilon"] == 2
    assert said["types_detected"] == []


def test_without_a_claim_only_on_demand_and_before_anything_is_fitted(people, tmp_path, capsys, monkeypatch):
    output, told = tmp_path / "p.release", ("--random-state", "1")
    with monkeypatch.context() as patch:
        patch.setattr("sdv_plausible.cli.files.read_table", None)  # would fail if it were called
        assert fit(people, output, *told) == 2
    assert "--allow-no-claim. Nothing was fitted" in capsys.readouterr().err
    assert not output.exists()
    assert fit(people, output, *told, "--allow-no-claim") == 0
    assert capsys.readouterr().out.startswith(NO_CLAIM)
    assert not Release.load(output).ledger.claims_privacy


def test_what_cannot_be_is_refused_before_the_draw(people, tmp_path, capsys, monkeypatch):
    (tmp_path / "ids.json").write_text('{"age": {"sdtype": "id"}}')
    monkeypatch.setattr(Budget, "draw", None)  # would fail if it were called
    budget = ["--budget", str(tmp_path / "b"), "3", "1e-6"]
    for name, more, words in (
        ("p.release", ["--test", "deterministic"], "keeps records"),
        ("p.release", ["--domain", str(tmp_path / "ids.json"), "--only-declared"], "no column is modelled"),
        ("p.csv", [], "must end in"),
        ("no/p.release", [], "is missing"),
    ):
        assert fit(people, tmp_path / name, *more, *budget) == 2
        assert words in capsys.readouterr().err


def test_a_budget_is_drawn_from(people, tmp_path, capsys):
    budget = ("--budget", str(tmp_path / "b"), "1", "1e-8")
    assert fit(people, tmp_path / "p.release", "--epsilon", "0.7", *budget) == 0
    assert fit(people, tmp_path / "q.release", "--epsilon", "0.7", *budget) == 2
    assert "budget" in capsys.readouterr().err
    assert not (tmp_path / "q.release").exists()


def test_a_published_table(people, tmp_path):
    (tmp_path / "old.csv").write_text("sex,race\n" + "Male,White\nFemale,White\n" * 50)
    public = ("--public", str(tmp_path / "old.csv"), "--public-source", "Office of Numbers, 2010")
    assert fit(people, tmp_path / "p.release", *public) == 0
    assert Release.load(tmp_path / "p.release").settings["public_rows"] == 100


def test_a_person(people, tmp_path):
    """The column that tells people apart needs no declaration: that it does is one."""
    head, *lines = Path(people[0]).read_text().splitlines()
    rows = (f"{i // 2},{line}" for i, line in enumerate(lines))
    (tmp_path / "homes.csv").write_text("\n".join([f"home,{head}", *rows]))
    told = [str(tmp_path / "homes.csv"), *people[1:], "--person", "home", "--rows-per-person", "2"]
    assert fit(told, tmp_path / "p.release") == 0
    protected = Release.load(tmp_path / "p.release").ledger.neighbours
    assert (protected.person, protected.rows) == ("home", 2)


@pytest.mark.parametrize("command", ["fit", "synthesize"])
@pytest.mark.parametrize("which", ["budget", "public"])
def test_nothing_that_is_read_is_replaced(people, tmp_path, capsys, command, which):
    """Above all not the budget: it would be begun anew, and forget every fit before."""
    kept = tmp_path / {"budget": "people.json", "public": "people.csv"}[which]
    kept.write_text(Path(people[0]).read_text() if which == "public" else "")
    before = kept.read_bytes()
    output = tmp_path / ("out.release" if command == "fit" else "out.csv")
    given = [str(kept), "3", "1e-6"] if which == "budget" else [str(kept)]
    target = ["-o", str(output), "--ledger", str(kept)]
    if (command, which) == ("synthesize", "public"):
        target = ["-o", str(kept)]
    assert main([command, *people, f"--{which}", *given, *target, "--overwrite"]) == 2
    assert "are the same file" in capsys.readouterr().err
    assert kept.read_bytes() == before
    assert not output.exists()


def test_what_was_paid_for_is_kept_where_rows_cannot_be_written(people, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sdv_plausible.cli.synthesize.write_table", full)
    assert main(["synthesize", *people, "-n", "5", "-o", str(tmp_path / "rows.csv")]) != 0
    assert "sdv-plausible sample" in capsys.readouterr().err
    (kept,) = tmp_path.glob("sdv-plausible-*/rows.csv.release")
    assert len(Release.load(kept).sample(5)) == 5
    assert not (tmp_path / "rows.csv").exists()


def full_disk(monkeypatch, is_full):
    """Make writes fail at some places."""

    def write(path, *more, **options):
        return full() if is_full(path) else write_atomically(path, *more, **options)

    monkeypatch.setattr(files, "write_atomically", write)
    monkeypatch.setattr("sdv_plausible.release.file.release.write_atomically", write)


def test_what_is_kept_replaces_nothing(people, tmp_path, capsys, monkeypatch):
    """Of two fits whose rows cannot be written, both are there: both were paid for."""
    full_disk(monkeypatch, lambda path: path.name == "p.release")
    said = ""
    for _ in range(2):
        assert fit(people, tmp_path / "p.release") != 0
        said += capsys.readouterr().err
    kept = list(tmp_path.glob("sdv-plausible-*/p.release.release"))
    assert len({Release.load(one).digest for one in kept if f"kept in {one}:" in said}) == 2


def test_what_was_paid_for_is_kept_elsewhere_where_nothing_can_be_written_beside_it(
    people, tmp_path, capsys, monkeypatch
):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    full_disk(monkeypatch, lambda path: elsewhere not in path.parents)
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    assert fit(people, tmp_path / "p.release") != 0
    (kept,) = elsewhere.glob("sdv-plausible-*/p.release.release")
    assert str(kept) in capsys.readouterr().err
    assert len(Release.load(kept).sample(5)) == 5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere"]


def synthesize_paid(people, tmp_path, monkeypatch):
    """Rows of a test that pays for each, which cannot be written where they should be."""
    monkeypatch.setattr("sdv_plausible.cli.synthesize.write_table", full)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    paid = ["--test", "randomized", "--budget", str(tmp_path / "b"), "100", "1e-6"]
    return main(["synthesize", *people, "-n", "5", *paid, "-o", str(tmp_path / "rows.parquet")])


def test_rows_that_were_paid_for_are_kept_where_there_is_no_release_to_keep(
    people, tmp_path, capsys, monkeypatch
):
    assert synthesize_paid(people, tmp_path, monkeypatch) != 0
    (kept,) = tmp_path.glob("sdv-plausible-*/rows.csv")
    assert f"the rows are kept in {kept}" in capsys.readouterr().err
    assert len(kept.read_text().splitlines()) == 6
    if os.name == "posix":
        assert [stat.S_IMODE(path.stat().st_mode) for path in (kept, kept.parent)] == [0o600, 0o700]


def test_it_is_said_where_nothing_can_be_kept(people, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sdv_plausible.cli.run_fit.write_table", full)
    assert synthesize_paid(people, tmp_path, monkeypatch) != 0
    said = capsys.readouterr().err
    assert "nothing of this fit could be kept" in said
    assert "No space left" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == [".b.lock", "b"]


def test_rows_without_a_claim_are_not_kept(people, tmp_path, capsys, monkeypatch):
    """Nothing was paid for, and they may hold single people's values."""
    monkeypatch.setattr("sdv_plausible.cli.synthesize.write_table", None)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert (
        main(["synthesize", *people, "-n", "5", "--random-state", "1", "-o", str(tmp_path / "rows.csv")]) != 0
    )
    assert "kept" not in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["fit", "synthesize", "describe", "ledger"])
def test_an_output_that_came_meanwhile_stays_and_the_fit_is_kept(
    people, tmp_path, capsys, monkeypatch, command
):
    """Two fits at once with one output both ended well, and one of them was gone. Control: --overwrite."""
    name = {"synthesize": "o.csv", "describe": "o.json"}.get(command, "o.release")
    read, came = files.read_table, tmp_path / ("l.json" if command == "ledger" else name)

    def meanwhile(*given):
        came.write_text("of another")
        return read(*given)

    monkeypatch.setattr(files, "read_table", meanwhile)
    words = ["fit" if command == "ledger" else command, *people, "-o", str(tmp_path / name)]
    words += ["--ledger", str(came)] if command == "ledger" else []
    assert main(words) == 2
    said = capsys.readouterr().err
    assert f"{came} was made meanwhile" in said
    assert came.read_text() == "of another"
    (kept,) = tmp_path.glob(f"sdv-plausible-*/{name}.release")
    assert f"kept in {kept}" in said
    assert Release.load(kept).ledger.claims_privacy
    assert main([*words, "--overwrite"]) == 0
    assert came.read_text() != "of another"
