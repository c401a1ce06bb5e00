"""The command line as a user runs it: files whole or not at all, one clear line on bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest
import yaml
from sentences import LEAD, NO_CLAIM, total

from sdv_plausible import PlausibleDeniabilitySynthesizer, metadata_of, to_conformance
from sdv_plausible.cli import files, run_fit
from sdv_plausible.cli.main import COMMANDS, main
from sdv_plausible.datasets import census_like
from sdv_plausible.sdv.sdv_versions import SDV_MAJOR
from sdv_plausible.utils.entry_points import extension_location


def run(*words):
    return main([str(word) for word in words])


def synthesize(data, output, *more):
    return run("synthesize", data, "-o", output, *more)


def refusal(capsys, *words):
    """What is said on a refused command, in one line."""
    assert run(*words) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    census_like(400).to_csv(path, index=False)
    return path


def test_demo(tmp_path, capsys):
    out = tmp_path / "out"
    assert run("demo", "--rows", 200, "--table-rows", 2000, "-o", out) == 0
    assert sorted(p.name for p in out.iterdir()) == ["comparison.html", "ledger.json", "synthetic.csv"]
    assert len(pd.read_csv(out / "synthetic.csv")) == 200
    assert json.loads((out / "ledger.json").read_text())["epsilon"] <= 1
    said = capsys.readouterr().out
    assert total() in said
    assert len(said.splitlines()) <= 25


def test_the_package_runs_as_a_module():
    for word, code in (("--version", 0), ("no-such-command", 2)):
        command = [sys.executable, "-m", "sdv_plausible", word]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == code
        assert (done.stdout == f"sdv-plausible {version('sdv-plausible')}\n") == (code == 0)


def test_synthesize_csv_to_parquet_and_back(people, tmp_path, capsys):
    parquet, csv, ledger = tmp_path / "o.parquet", tmp_path / "o.csv", tmp_path / "l.json"
    assert synthesize(people, parquet, "--ledger", ledger) == 0
    assert len(pd.read_parquet(parquet)) == 10_000
    assert "headline" in json.loads(ledger.read_text())
    assert NO_CLAIM in capsys.readouterr().out or json.loads(ledger.read_text())["epsilon"]
    assert synthesize(parquet, csv, "--rows", 7, "--test", "deterministic", "--k", 5) == 0
    assert len(pd.read_csv(csv)) == 7


BAD_OPTIONS = {
    "--k 0": "k (0)", "--gamma 0.5": "gamma (0.5)", "--epsilon nan": "epsilon (nan)", "--omega 99": "omega (99)",
    "--rows -3": "num_rows (-3)", "--metadata nowhere.json": "nowhere.json", "--domain nowhere.json": "nowhere.json",
    "--domain written": "--domain written needs --metadata", "--model gan": "model ('gan')",
    "--encoding utf-99": "encoding ('utf-99')", "--separator ;;": "separator (';;')", "--decimal 5": "decimal ('5')",
    "--only-declared": "no column is declared, and no other is taken",
}  # fmt: skip


def test_bad_options_write_nothing(people, tmp_path, capsys):
    for options, words in BAD_OPTIONS.items():
        assert words in refusal(capsys, "synthesize", people, "-o", tmp_path / "o.csv", *options.split())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["people.csv"]


def test_files_that_exist_are_kept(people, tmp_path, capsys):
    output = tmp_path / "o.csv"
    output.write_text("precious")
    assert "exists" in refusal(capsys, "synthesize", people, "-o", output)
    assert output.read_text() == "precious"
    assert synthesize(people, output, "--overwrite", "--rows", 3) == 0
    assert len(pd.read_csv(output)) == 3


DECLARED = {
    "age": {"sdtype": "numerical", "range_min": 0, "range_max": 110},
    "sex": {"sdtype": "categorical", "range_values": ["f", "m"]},
}


@pytest.mark.skipif(SDV_MAJOR < 2, reason="the metadata of SDV 1.38 has no ranges")
def test_ranges_written_in_a_metadata_file_are_declared(tmp_path, capsys):
    written, data = tmp_path / "metadata.json", tmp_path / "two.csv"
    pd.DataFrame({"age": [*range(20, 40)] * 4, "sex": ["f", "m"] * 40}).to_csv(data, index=False)
    tables = {"people": {"columns": DECLARED}}
    document = {"tables": tables, "relationships": [], "METADATA_SPEC_VERSION": "V2"}
    written.write_text(json.dumps(document))
    more = ["--metadata", written, "--domain", "written", "--rows", 5]
    assert synthesize(data, tmp_path / "o.csv", *more) == 0
    assert capsys.readouterr().out.startswith(LEAD)


def test_an_interrupted_write_leaves_the_old_file(people, tmp_path, monkeypatch):
    output = tmp_path / "o.csv"
    output.write_text("precious")

    def interrupted(self, path, **options):
        path.write_text("half a")
        raise OSError("disk full")

    monkeypatch.setattr(pd.DataFrame, "to_csv", interrupted)
    assert synthesize(people, output, "--overwrite", "--rows", 3) == 2
    assert output.read_text() == "precious"
    (kept,) = tmp_path.glob("sdv-plausible-*/o.csv.release")  # of the fit, which was paid for
    assert {p.name for p in tmp_path.iterdir()} == {"o.csv", kept.parent.name, "people.csv"}


def test_unreadable_inputs(people, tmp_path, capsys):
    (tmp_path / "empty.csv").write_text("")
    for data, output, words in (
        ("none.csv", "o.csv", "there is no file"),
        ("empty.csv", "o.csv", "has no header line"),
        ("people.csv", "no/o.csv", "folder"),
        ("people.csv", "o.ods", ".csv or .parquet or .xlsx"),
    ):
        assert words in refusal(capsys, "synthesize", tmp_path / data, "-o", tmp_path / output)


TYPES = {
    **DECLARED,
    "grade": {"range_values": [1, 2, 3]},
    "zip": {"sdtype": "id"},
    "start": {"range_min": "2020-01-01", "range_max": "2020-12-31", "datetime_format": "%Y-%m-%d"},
    "member": {"sdtype": "boolean"},
}
LINE = "34,f,{},01234,2020-02-0{},yes"


def domain_file(folder, document=TYPES):
    (folder / "domain.json").write_text(json.dumps(document))
    return folder / "domain.json"


def table_file(folder, lines):
    (folder / "people.csv").write_text("\n".join([",".join(TYPES), *lines, ""]))
    return folder / "people.csv"


FINE = [LINE.format(i % 3 + 1, i % 9 + 1) for i in range(600)]
ODD = {
    "one cell that fits nothing": [*FINE, "n/k,x,n/k,n/k,today,maybe"], "missing cells": [*FINE, ",,,,,"],
    "one row": FINE[:1], "no row": [], "nothing that fits": ["x,x,x,x,x,x"] * 50,
    "numbers alone": ["1,1,1,1,1,1"] * 50,
}  # fmt: skip


def said_of(tmp_path, capsys, lines, document, *more):
    """Exit code, output, ledger and header of one run, but for what its noisy answers say of noise."""
    output, ledger = tmp_path / "o.csv", tmp_path / "l.json"
    more = [
        "--domain", domain_file(tmp_path, document), "--ledger", ledger, "--overwrite", "--rows", 5, *more,
    ]  # fmt: skip
    code = synthesize(table_file(tmp_path, lines), output, *more)
    ledger = json.loads(ledger.read_text())
    said = [text for text in ledger.pop("said") if "t about " not in text]
    out = [line for line in capsys.readouterr().out.splitlines() if "t about " not in line]
    return code, "\n".join(out), (ledger, said), output.read_text().splitlines()[0]


ALONE = {
    name: {"sdtype": spec.get("sdtype", "categorical")} for name, spec in TYPES.items()
}  # types, no values
ALONE["start"] = {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"}


@pytest.mark.parametrize(("document", "more"), [(TYPES, ()), (ALONE, ("--undeclared", "private"))])
def test_under_a_claim_nothing_that_is_said_depends_on_the_rows(tmp_path, capsys, document, more):
    """Exit code, output and ledger are the very same for tables that could not differ more."""
    fine = said_of(tmp_path, capsys, FINE, document, *more)
    assert fine[0] == 0
    assert fine[1].startswith(LEAD)
    found = {case: said_of(tmp_path, capsys, lines, document, *more) for case, lines in ODD.items()}
    assert {case: said for case, said in found.items() if said != fine} == {}


def test_a_reader_that_complains_about_cells_would_be_caught(tmp_path, capsys, monkeypatch):
    honest = files.read_table

    def complaining(options, types):
        table = honest(options, types)
        if table["age"].isna().any():
            raise ValueError("age: cells that are no numbers")
        return table

    fine = said_of(tmp_path, capsys, FINE, TYPES)
    monkeypatch.setattr(files, "read_table", complaining)
    assert said_of(tmp_path, capsys, ODD["missing cells"], TYPES) != fine


def test_one_row_recodes_no_other(tmp_path):
    """With pandas' inference 20,000 grades become text that matches nothing."""
    grades = [LINE.format(i % 3 + 1, 1) for i in range(20_000)]
    data, output = table_file(tmp_path, [*grades, "34,f,n/k,n/k,2020-02-01,yes"]), tmp_path / "o.csv"
    assert synthesize(data, output, "--domain", domain_file(tmp_path), "--rows", 2000) == 0
    rows = pd.read_csv(output)
    assert rows["grade"].isna().mean() < 0.05
    assert rows["start"].dropna().str.fullmatch("2020-[0-9]{2}-[0-9]{2}").all()


def test_types_that_nobody_declared_are_voted_for_or_detected_without_a_claim(tmp_path, capsys):
    data, output = table_file(tmp_path, FINE), tmp_path / "o.csv"
    options = ["--domain", domain_file(tmp_path, DECLARED), "--rows", 5, "--overwrite"]
    assert synthesize(data, output, *options) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[1].startswith(total(1, 1e-09))
    assert "private type inference from the cells of 4 undeclared columns" in out
    assert "Inferred types, for three tenths of epsilon: grade " in out
    for no_vote in (["--types", "detected"], ["--epsilon", "inf"]):
        assert synthesize(data, output, *options, *no_vote) == 0
        out = capsys.readouterr().out
        assert out.startswith(NO_CLAIM)
        assert "Types detected: grade, zip, start, member. Declare them (--domain)" in out
    assert synthesize(data, output, *options, "--only-declared") == 0
    assert capsys.readouterr().out.startswith(LEAD)
    assert pd.read_csv(output).columns.tolist() == ["age", "sex"]


def test_detection_keeps_leading_zeros(tmp_path):
    assert synthesize(table_file(tmp_path, FINE), tmp_path / "o.csv", "--rows", 50) == 0
    rows = pd.read_csv(tmp_path / "o.csv", dtype=str)
    assert set(rows["member"].dropna()) <= {"yes", "no"}
    zips = rows["zip"].dropna()
    assert zips.str.fullmatch("0[0-9]{4}|[0-9]{5}").all() or zips.eq("01234").all()
    assert rows["age"].dropna().eq("34").all()


def test_spellings(tmp_path, capsys):
    data = tmp_path / "p.csv"
    data.write_bytes("größe;da\n1.234,5;ja\n-;nein\n".encode("cp1252"))
    columns = {"größe": {"range_min": 0.0, "range_max": 5000.0}, "da": {"sdtype": "boolean"}}
    domain = ["--domain", domain_file(tmp_path, columns)]
    how = [
        "--encoding", "cp1252", "--separator", ";", "--decimal", ",", "--thousands", ".", "--na-values", "", "-",
    ]  # fmt: skip
    true = ["--true-values", "ja", "--false-values", "nein"]
    assert run("check", data, *domain, *how, *true) == 0
    assert capsys.readouterr().out.count("none") == 1
    assert run("check", data, *domain, *how) == 0
    assert "count as missing: da 2\n" in capsys.readouterr().out
    assert synthesize(data, tmp_path / "o.csv", *domain, "--rows", 3, *how, *true) == 0
    (tmp_path / "t.csv").write_text("größe\tda\n1\t1\n")
    assert run("check", tmp_path / "t.csv", *domain, "--separator", "tab") == 0


def test_check_counts_for_the_holder_alone(tmp_path, capsys):
    data = table_file(tmp_path, [*FINE, "200,x,9,01234,today,maybe"])
    assert run("check", data, "--domain", domain_file(tmp_path)) == 0
    out = capsys.readouterr().out
    assert out.startswith("NOT private")
    wanted = (
        "age: 1 cells", "sex: 1 cells", "grade: 1 cells", "count as missing: start 1, member 1", "clipped to it",
    )  # fmt: skip
    assert [line for line in wanted if line not in out] == []


def spellings(folder, path):
    (folder / "sub").mkdir(exist_ok=True)
    yield path
    yield folder / "sub" / ".." / path.name
    for name, link in (("soft", "symlink_to"), ("hard", "hardlink_to")):
        alias = folder / f"{name}{path.suffix}"
        alias.unlink(missing_ok=True)
        getattr(alias, link)(path)
        yield alias


def test_files_that_are_inputs_are_refused_before_anything_is_read(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(run_fit, "columns_of", lambda *_: pytest.fail("read before the check"))
    data, domain = table_file(tmp_path, FINE), domain_file(tmp_path)
    metadata, ledger = tmp_path / "metadata.json", tmp_path / "ledger.json"
    metadata.write_text("{}")
    ledger.write_text("precious")
    before = {path: path.read_text() for path in (data, domain, metadata, ledger)}
    for path in before:
        for alias in spellings(tmp_path, path):
            outputs = (alias, ledger) if path in (data, ledger) else (tmp_path / "o.csv", alias)
            more = ["--ledger", outputs[1], "--domain", domain, "--metadata", metadata, "--overwrite"]
            said = refusal(capsys, "synthesize", data, "-o", outputs[0], *more)
            assert "are the same file, and one would destroy the other" in said
    assert before == {path: path.read_text() for path in before}


def test_files_that_cannot_be_outputs(people, tmp_path, capsys):
    (tmp_path / "link.json").symlink_to(tmp_path / "p.csv")  # which is not there yet
    (tmp_path / "o.csv").mkdir()
    for words, said in (
        (
            ("synthesize", people, "-o", tmp_path / "p.csv", "--ledger", tmp_path / "link.json"),
            "are the same file",
        ),
        (("synthesize", people, "-o", tmp_path / "o.csv", "--overwrite"), "is a folder; name a file in it"),
        (("synthesize", people, "-o", "."), ". is a folder; name a file in it"),  # as a mark is, too
        (
            ("synthesize", people, "-o", tmp_path / "p.csv", "--ledger", tmp_path / "l.txt"),
            "must end in .json",
        ),
        (("demo", "-o", people), "must be a folder, and is a file"),
    ):
        assert said in refusal(capsys, *words)


def test_errors_of_others_show_no_value(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        PlausibleDeniabilitySynthesizer, "fit", lambda self, table: int(f"SECRET {table.iloc[0, 0]}")
    )
    data = table_file(tmp_path, FINE)
    words = ["synthesize", data, "-o", tmp_path / "o.csv", "--domain", domain_file(tmp_path)]
    err = refusal(capsys, *words)
    assert "ValueError while the rows were processed" in err
    assert "SECRET" not in err
    assert run(*words, "--debug") == 2
    assert "Traceback" in (err := capsys.readouterr().err)
    assert "SECRET" in err


def test_errors_before_the_rows_are_read_are_shown(tmp_path, capsys):
    data, metadata = table_file(tmp_path, FINE), tmp_path / "m.json"
    metadata.write_text(json.dumps({"tables": {"t": {"columns": {"age": {"sdtype": "numericle"}}}}}))
    words = ["synthesize", data, "-o", tmp_path / "o.csv", "--metadata", metadata, "--only-declared"]
    assert "numericle" in refusal(capsys, *words)


@pytest.fixture
def release(tmp_path):
    columns = {"age": {"range_min": 0, "range_max": 110}, "sex": {"range_values": ["f", "m"]}}
    types = {"age": {"sdtype": "numerical"}, "sex": {"sdtype": "categorical"}}
    synth = PlausibleDeniabilitySynthesizer(metadata_of(types), domain=columns)
    synth.fit(pd.DataFrame({"age": [20, 30, 40] * 50, "sex": ["f", "m", "f"] * 50}))
    synth.release().save(tmp_path / "x.release")
    (tmp_path / "ledger.json").write_text(synth.privacy_ledger().to_json())
    return synth.privacy_ledger()


def papers(tmp_path, source, *more):
    entry, table = tmp_path / "entry.yaml", tmp_path / "README.md"
    return run("registry", tmp_path / source, "-o", entry, "--conformance", table, *more), entry, table


@pytest.mark.parametrize("source", ["ledger.json", "x.release"])
def test_papers_from_a_ledger_or_a_release(tmp_path, capsys, release, source):
    told = ["--name", "Ages", "--data-curators", "Office A", "Office B"]
    found, entry, table = papers(tmp_path, source, *told)
    assert found == 0
    said = yaml.safe_load(entry.read_text())["deployment"]
    assert said["basic"]["name"] == "Ages"
    assert said["basic"]["data_curators"] == ["Office A", "Office B"]
    assert release.total() <= said["privacy_loss"]["privacy_parameters"]["epsilon"] <= 1
    assert ("- age: integer" in said["dp_variant"]["data_domain"]) == (source == "x.release")
    own, read = (
        to_conformance(release).splitlines(),
        table.read_text().splitlines(),
    )  # of a file, texts are quoted
    assert (len(own), own[0]) == (len(read), read[0])
    assert "An attacker who tries to tell from this release" in table.read_text()
    printed = capsys.readouterr().out
    assert "To be filled in" in printed
    assert "publication_date" in printed
    assert ("data_domain" in printed) == (source == "ledger.json")
    assert papers(tmp_path, source)[0] == 2  # they exist
    assert papers(tmp_path, source, "--overwrite")[0] == 0


NO_LEDGERS = {
    '{"format":"sdv-plausible-release/1"}': "is not a release file, or is damaged",
    "{}": "not a privacy ledger",
    "\xff": "it is not JSON",
}
NO_PAPERS = {
    "--publication-date soon": "must be a date such as", "--data-product-sector Sport": 'must be "Technology"',
    "-o ledger.json": "are the same file", "-o entry.txt": "must end in .yaml",
    "--conformance table.txt": "must end in .md", "--conformance none/README.md": "missing or not writable",
}  # fmt: skip


def test_papers_are_refused_with_one_line(tmp_path, capsys, monkeypatch, release):
    monkeypatch.chdir(tmp_path)
    path = Path("ledger.json")
    honest = path.read_text()
    twice = honest.rstrip().removesuffix("}") + ', "epsilon": 0.1}'
    no_json = "is no privacy ledger: it is not JSON, or it has the key 'epsilon' twice"
    cases = [(text, (), words) for text, words in {**NO_LEDGERS, twice: no_json}.items()]
    cases += [(honest, more.split(), words) for more, words in NO_PAPERS.items()]
    for content, more, words in cases:
        path.write_bytes(content.encode("latin-1"))
        found, entry, table = papers(tmp_path, "ledger.json", *more)
        shown = capsys.readouterr().err
        assert (found, shown.count("\n")) == (2, 1)
        assert words in shown
        assert not entry.exists()
        assert not table.exists()
    assert papers(tmp_path, "gone.json")[0] == 2
    assert "there is no ledger file" in capsys.readouterr().err


def test_no_papers_without_a_claim(people, tmp_path, capsys):
    more = ["--ledger", tmp_path / "ledger.json", "--random-state", 1, "--rows", 10]
    assert synthesize(people, tmp_path / "o.csv", *more) == 0
    found, entry, _ = papers(tmp_path, "ledger.json")
    assert found == 2
    assert f"this one has none: {NO_CLAIM}" in capsys.readouterr().err
    assert not entry.exists()


RULES = [
    {"rule": "implies", "when": {"age": {"max": 29}}, "then": {"sex": "f"}},
    {"rule": "determined", "column": "code", "by": "sex", "mapping": {"f": 1, "m": 2}},
]


def test_rules_hold_in_what_is_written(tmp_path, capsys):
    path, output, rules = tmp_path / "three.csv", tmp_path / "o.csv", tmp_path / "rules.json"
    table = pd.DataFrame({"age": [*range(20, 40)] * 4, "sex": ["f", "m"] * 40})
    table.assign(code=table["sex"].map({"f": 1, "m": 2})).to_csv(path, index=False)
    domain = domain_file(tmp_path, {**DECLARED, "code": {"sdtype": "numerical"}})
    rules.write_text(json.dumps(RULES))
    options = ["--domain", domain, "--rules", rules]
    assert synthesize(path, output, "--rows", 200, *options) == 0
    rows = pd.read_csv(output)
    assert (rows.loc[rows["age"] <= 29, "sex"] == "f").all()
    assert (rows["sex"].map({"f": 1, "m": 2}).fillna(0) == rows["code"].fillna(0)).all()
    capsys.readouterr()
    assert run("check", path, *options) == 0
    assert "if age <= 29, then sex is f" in capsys.readouterr().out, "20 rows are below, and m"
    rules.write_text("[5")
    assert "is not a JSON file" in refusal(capsys, "synthesize", path, "-o", tmp_path / "p.csv", *options)
    assert "--rules: there is no file" in refusal(capsys, "check", path, "--rules", tmp_path / "none.json")


def test_a_command_imports_no_other():
    """``--help`` is there at once: pandas and SDV come with the command that needs them."""
    code = (
        "import sys\nfrom sdv_plausible.cli.main import main\n"
        "for words in (['--help'], ['--version'], ['registry', '--help']):\n"
        "    try:\n        main(words)\n    except SystemExit as end:\n        assert end.code == 0\n"
        "    print(sorted({'sdv', 'pandas', 'torch', 'sdv_plausible.extensions.audit.auditing'} & set(sys.modules)))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[-1] == "[]"


def test_a_command_is_a_module():
    modules = [extension_location("command", name) for name in COMMANDS]
    assert [name for name in modules if find_spec(name) is None] == []
