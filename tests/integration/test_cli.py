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
from sdv_plausible.commands import on_disk, shared_fit
from sdv_plausible.commands.cli import COMMANDS, NAMED_OTHERWISE, main
from sdv_plausible.datasets import census_like
from sdv_plausible.sdv.versions import SDV_MAJOR


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    census_like(400).to_csv(path, index=False)
    return path


def test_demo(tmp_path, capsys):
    assert main(["demo", "--rows", "200", "--table-rows", "2000", "-o", str(tmp_path / "out")]) == 0
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "comparison.html",
        "ledger.json",
        "synthetic.csv",
    ]
    assert len(pd.read_csv(tmp_path / "out" / "synthetic.csv")) == 200
    assert json.loads((tmp_path / "out" / "ledger.json").read_text())["epsilon"] <= 1
    assert total() in capsys.readouterr().out


@pytest.mark.parametrize(("word", "code"), [("--version", 0), ("no-such-command", 2)])
def test_the_package_runs_as_a_module(word, code):
    done = subprocess.run(
        [sys.executable, "-m", "sdv_plausible", word], capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert (done.stdout == f"sdv-plausible {version('sdv-plausible')}\n") == (code == 0)


def test_synthesize_csv_to_parquet_and_back(people, tmp_path, capsys):
    parquet, csv, ledger = tmp_path / "o.parquet", tmp_path / "o.csv", tmp_path / "l.json"
    assert main(["synthesize", str(people), "-o", str(parquet), "--ledger", str(ledger)]) == 0
    assert len(pd.read_parquet(parquet)) == 10_000
    assert "headline" in json.loads(ledger.read_text())
    assert NO_CLAIM in capsys.readouterr().out or json.loads(ledger.read_text())["epsilon"]
    assert (
        main(
            ["synthesize", str(parquet), "-o", str(csv), "--rows", "7", "--test", "deterministic", "--k", "5"]
        )
        == 0
    )
    assert len(pd.read_csv(csv)) == 7


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--k", "0"], "k (0)"),
        (["--gamma", "0.5"], "gamma (0.5)"),
        (["--epsilon", "nan"], "epsilon (nan)"),
        (["--omega", "99"], "omega (99)"),
        (["--rows", "-3"], "num_rows (-3)"),
        (["--metadata", "nowhere.json"], "nowhere.json"),
        (["--domain", "nowhere.json"], "nowhere.json"),
        (["--domain", "written"], "--domain written needs --metadata"),
        (["--model", "gan"], "model ('gan')"),
        (["--encoding", "utf-99"], "encoding ('utf-99')"),
        (["--separator", ";;"], "separator (';;')"),
        (["--decimal", "5"], "decimal ('5')"),
        (["--only-declared"], "no column is declared, and no other is taken"),
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
    document = {
        "tables": {"people": {"columns": DECLARED}},
        "relationships": [],
        "METADATA_SPEC_VERSION": "V2",
    }
    written.write_text(json.dumps(document))
    options = ["--metadata", str(written), "--domain", "written", "--rows", "5"]
    assert main(["synthesize", str(two_columns(tmp_path)), "-o", str(output), *options]) == 0
    assert capsys.readouterr().out.startswith(LEAD)


def test_ranges_written_in_a_domain_file_are_declared(tmp_path, capsys):
    written, output = tmp_path / "domain.json", tmp_path / "o.csv"
    written.write_text(json.dumps(DECLARED))
    assert (
        main(
            [
                "synthesize",
                str(two_columns(tmp_path)),
                "-o",
                str(output),
                "--domain",
                str(written),
                "--rows",
                "5",
            ]
        )
        == 0
    )
    assert capsys.readouterr().out.startswith(LEAD)


def test_an_interrupted_write_leaves_the_old_file(people, tmp_path, monkeypatch):
    output = tmp_path / "o.csv"
    output.write_text("precious")

    def interrupted(self, path, **options):
        path.write_text("half a")
        raise OSError("disk full")

    monkeypatch.setattr(pd.DataFrame, "to_csv", interrupted)
    assert main(["synthesize", str(people), "-o", str(output), "--overwrite", "--rows", "3"]) == 2
    assert output.read_text() == "precious"
    (kept,) = tmp_path.glob("sdv-plausible-*/o.csv.release")  # of the fit, which was paid for
    assert {p.name for p in tmp_path.iterdir()} == {"o.csv", kept.parent.name, "people.csv"}


def test_unreadable_inputs(people, tmp_path, capsys):
    assert main(["synthesize", str(tmp_path / "none.csv"), "-o", str(tmp_path / "o.csv")]) == 2
    assert "there is no file" in capsys.readouterr().err
    (tmp_path / "empty.csv").write_text("")
    assert main(["synthesize", str(tmp_path / "empty.csv"), "-o", str(tmp_path / "o.csv")]) == 2
    assert "has no header line" in capsys.readouterr().err
    assert main(["synthesize", str(people), "-o", str(tmp_path / "no" / "o.csv")]) == 2
    assert "folder" in capsys.readouterr().err
    assert main(["synthesize", str(people), "-o", str(tmp_path / "o.xlsx")]) == 2
    assert ".csv or .parquet" in capsys.readouterr().err


# --- reading: each cell by itself, as declared --------------------------------------------------------------------------

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
    return str(folder / "domain.json")


def table_file(folder, lines, name="people.csv"):
    (folder / name).write_text("\n".join([",".join(TYPES), *lines, ""]))
    return str(folder / name)


FINE = [LINE.format(i % 3 + 1, i % 9 + 1) for i in range(600)]
ODD = {
    "one cell that fits nothing": [*FINE, "n/k,x,n/k,n/k,today,maybe"],
    "missing cells": [*FINE, ",,,,,"],
    "one row": FINE[:1],
    "no row": [],
    "nothing that fits": ["x,x,x,x,x,x"] * 50,
    "numbers alone": ["1,1,1,1,1,1"] * 50,
}


def said_of(tmp_path, capsys, lines, document, *more):
    """Exit code, output, ledger and header of one run, but for what its noisy answers say of noise."""
    options = [
        "--domain",
        domain_file(tmp_path, document),
        "--ledger",
        str(tmp_path / "l.json"),
        "--overwrite",
        "--rows",
        "5",
    ]
    code = main(["synthesize", table_file(tmp_path, lines), "-o", str(tmp_path / "o.csv"), *options, *more])
    header = (tmp_path / "o.csv").read_text().splitlines()[0]
    ledger = json.loads((tmp_path / "l.json").read_text())
    said = [text for text in ledger.pop("said") if not text.startswith("At about ")]
    out = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("At about ")]
    return code, "\n".join(out), (ledger, said), header


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
    assert {
        case: said for case in ODD if (said := said_of(tmp_path, capsys, ODD[case], document, *more)) != fine
    } == {}


def test_a_reader_that_complains_about_cells_would_be_caught(tmp_path, capsys, monkeypatch):
    honest = on_disk.read

    def complaining(options, types):
        table = honest(options, types)
        if table["age"].isna().any():
            raise ValueError("age: cells that are no numbers")
        return table

    fine = said_of(tmp_path, capsys, FINE, TYPES)
    monkeypatch.setattr(on_disk, "read", complaining)
    assert said_of(tmp_path, capsys, ODD["missing cells"], TYPES) != fine


def test_one_row_recodes_no_other(tmp_path):
    """The issue's table: with pandas' inference 20,000 grades become text that matches nothing."""
    grades = [LINE.format(i % 3 + 1, 1) for i in range(20_000)]
    data = table_file(tmp_path, [*grades, "34,f,n/k,n/k,2020-02-01,yes"])
    assert (
        main(
            [
                "synthesize",
                data,
                "-o",
                str(tmp_path / "o.csv"),
                "--domain",
                domain_file(tmp_path),
                "--rows",
                "2000",
            ]
        )
        == 0
    )
    rows = pd.read_csv(tmp_path / "o.csv")
    assert rows["grade"].isna().mean() < 0.05
    assert rows["start"].dropna().str.fullmatch("2020-[0-9]{2}-[0-9]{2}").all()


def test_types_that_nobody_declared_are_voted_for_or_detected_without_a_claim(tmp_path, capsys):
    data = table_file(tmp_path, FINE)
    some = domain_file(tmp_path, {name: TYPES[name] for name in ("age", "sex")})
    options = ["--domain", some, "--rows", "5", "--overwrite"]
    assert main(["synthesize", data, "-o", str(tmp_path / "o.csv"), *options]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[1].startswith(total(1, 1e-09))
    assert "a vote over the cells of 4 undeclared columns" in out
    assert "Types by a vote, for three tenths of epsilon: grade " in out
    for no_vote in (["--types", "detected"], ["--epsilon", "inf"]):
        assert main(["synthesize", data, "-o", str(tmp_path / "o.csv"), *options, *no_vote]) == 0
        out = capsys.readouterr().out
        assert out.startswith(NO_CLAIM)
        assert "Types detected: grade, zip, start, member. Declare them (--domain)" in out
    options = ["--domain", some, "--rows", "5", "--only-declared"]
    assert main(["synthesize", data, "-o", str(tmp_path / "p.csv"), *options]) == 0
    assert capsys.readouterr().out.startswith(LEAD)
    assert pd.read_csv(tmp_path / "p.csv").columns.tolist() == ["age", "sex"]


def test_detection_keeps_leading_zeros(tmp_path):
    data = table_file(tmp_path, FINE)
    assert main(["synthesize", data, "-o", str(tmp_path / "o.csv"), "--rows", "50"]) == 0
    rows = pd.read_csv(tmp_path / "o.csv", dtype=str)
    assert set(rows["member"].dropna()) <= {"yes", "no"}
    assert (
        rows["zip"].dropna().str.fullmatch("0[0-9]{4}|[0-9]{5}").all()
        or rows["zip"].dropna().eq("01234").all()
    )
    assert rows["age"].dropna().eq("34").all()


def test_spellings(tmp_path, capsys):
    (tmp_path / "p.csv").write_bytes("größe;da\n1.234,5;ja\n-;nein\n".encode("cp1252"))
    domain = domain_file(
        tmp_path, {"größe": {"range_min": 0.0, "range_max": 5000.0}, "da": {"sdtype": "boolean"}}
    )
    how = [
        "--encoding",
        "cp1252",
        "--separator",
        ";",
        "--decimal",
        ",",
        "--thousands",
        ".",
        "--na-values",
        "",
        "-",
    ]
    how += ["--true-values", "ja", "--false-values", "nein"]
    assert main(["check", str(tmp_path / "p.csv"), "--domain", domain, *how]) == 0
    assert capsys.readouterr().out.count("none") == 1
    assert main(["check", str(tmp_path / "p.csv"), "--domain", domain, *how[:-4]]) == 0
    assert "count as missing: da 2\n" in capsys.readouterr().out
    assert (
        main(
            [
                "synthesize",
                str(tmp_path / "p.csv"),
                "-o",
                str(tmp_path / "o.csv"),
                "--domain",
                domain,
                "--rows",
                "3",
                *how,
            ]
        )
        == 0
    )
    (tmp_path / "t.csv").write_text("größe\tda\n1\t1\n")
    assert main(["check", str(tmp_path / "t.csv"), "--domain", domain, "--separator", "tab"]) == 0


def test_check_counts_for_the_holder_alone(tmp_path, capsys):
    data = table_file(tmp_path, [*FINE, "200,x,9,01234,today,maybe"])
    assert main(["check", data, "--domain", domain_file(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("NOT private")
    assert "count as missing: start 1, member 1" in out
    assert [line for line in ("age: 1 cells", "sex: 1 cells", "grade: 1 cells") if line not in out] == []
    assert "moved to its ends" in out


# --- files that are read are never written ------------------------------------------------------------------------------


def spellings(folder, path):
    (folder / "sub").mkdir(exist_ok=True)
    yield str(path)
    yield str(folder / "sub" / ".." / path.name)
    for name, link in (("soft", "symlink_to"), ("hard", "hardlink_to")):
        alias = folder / f"{name}{path.suffix}"
        alias.unlink(missing_ok=True)
        getattr(alias, link)(path)
        yield str(alias)


@pytest.mark.parametrize("which", ["data", "domain", "metadata", "ledger"])
def test_on_disk_that_are_inputs_are_refused_before_anything_is_read(tmp_path, capsys, monkeypatch, which):
    def read(*arguments):
        raise AssertionError("read before the check")

    data, domain, metadata = (
        Path(table_file(tmp_path, FINE)),
        Path(domain_file(tmp_path)),
        tmp_path / "metadata.json",
    )
    metadata.write_text("{}")
    ledger = tmp_path / "ledger.json"
    ledger.write_text("precious")
    monkeypatch.setattr(shared_fit, "columns_of", read)
    before = {path: path.read_text() for path in (data, domain, metadata, ledger)}
    for alias in spellings(
        tmp_path, {"data": data, "domain": domain, "metadata": metadata, "ledger": ledger}[which]
    ):
        outputs = (
            ["-o", alias, "--ledger", str(ledger)]
            if which in ("data", "ledger")
            else ["-o", str(tmp_path / "o.csv"), "--ledger", alias]
        )
        options = ["--domain", str(domain), "--metadata", str(metadata), "--overwrite"]
        assert main(["synthesize", str(data), *outputs, *options]) == 2
        assert "are the same file, and one would destroy the other" in capsys.readouterr().err
    assert before == {path: path.read_text() for path in before}


def test_on_disk_that_are_not_there_yet_can_be_the_same(people, tmp_path, capsys):
    (tmp_path / "link.json").symlink_to(tmp_path / "o.csv")
    assert (
        main(
            [
                "synthesize",
                str(people),
                "-o",
                str(tmp_path / "o.csv"),
                "--ledger",
                str(tmp_path / "link.json"),
            ]
        )
        == 2
    )
    assert "are the same file" in capsys.readouterr().err


def test_on_disk_that_are_folders(people, tmp_path, capsys):
    (tmp_path / "o.csv").mkdir()
    assert main(["synthesize", str(people), "-o", str(tmp_path / "o.csv"), "--overwrite"]) == 2
    assert "is a folder; name a file in it" in capsys.readouterr().err
    assert main(["synthesize", str(people), "-o", "."]) == 2  # as a mark is, too
    assert ". is a folder; name a file in it" in capsys.readouterr().err
    assert (
        main(["synthesize", str(people), "-o", str(tmp_path / "p.csv"), "--ledger", str(tmp_path / "l.txt")])
        == 2
    )
    assert "must end in .json" in capsys.readouterr().err
    assert main(["demo", "-o", str(people)]) == 2
    assert "must be a folder, and is a file" in capsys.readouterr().err


# --- errors -------------------------------------------------------------------------------------------------------------


def test_errors_of_others_show_no_value(tmp_path, capsys, monkeypatch):
    def fit(self, table):
        int(f"SECRET {table.iloc[0, 0]}")

    monkeypatch.setattr(PlausibleDeniabilitySynthesizer, "fit", fit)
    arguments = [
        "synthesize",
        table_file(tmp_path, FINE),
        "-o",
        str(tmp_path / "o.csv"),
        "--domain",
        domain_file(tmp_path),
    ]
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "ValueError while the rows were worked on" in err
    assert "SECRET" not in err
    assert main([*arguments, "--debug"]) == 2
    assert "Traceback" in (err := capsys.readouterr().err)
    assert "SECRET" in err


def test_errors_before_the_rows_are_read_are_shown(tmp_path, capsys):
    data = table_file(tmp_path, FINE)
    (tmp_path / "m.json").write_text(
        json.dumps({"tables": {"t": {"columns": {"age": {"sdtype": "numericle"}}}}})
    )
    assert (
        main(
            [
                "synthesize",
                data,
                "-o",
                str(tmp_path / "o.csv"),
                "--metadata",
                str(tmp_path / "m.json"),
                "--only-declared",
            ]
        )
        == 2
    )
    err = capsys.readouterr().err
    assert "numericle" in err
    assert err.count("\n") == 1


# --- papers -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def release(tmp_path):
    columns = {"age": {"range_min": 0, "range_max": 110}, "sex": {"range_values": ["f", "m"]}}
    table = pd.DataFrame({"age": [20, 30, 40] * 50, "sex": ["f", "m", "f"] * 50})
    types = {"age": {"sdtype": "numerical"}, "sex": {"sdtype": "categorical"}}
    synth = PlausibleDeniabilitySynthesizer(metadata_of(types), domain=columns)
    synth.fit(table)
    synth.release().save(tmp_path / "x.release")
    (tmp_path / "ledger.json").write_text(synth.privacy_ledger().to_json())
    return synth.privacy_ledger()


def papers(tmp_path, source, *more):
    entry, table = tmp_path / "entry.yaml", tmp_path / "README.md"
    found = main(["registry", str(tmp_path / source), "-o", str(entry), "--conformance", str(table), *more])
    return found, entry, table


@pytest.mark.parametrize("source", ["ledger.json", "x.release"])
def test_papers_from_a_ledger_or_a_release(tmp_path, capsys, release, source):
    found, entry, table = papers(
        tmp_path, source, "--name", "Ages", "--data-curators", "Office A", "Office B"
    )
    assert found == 0
    said = yaml.safe_load(entry.read_text())["deployment"]
    assert said["basic"]["name"] == "Ages"
    assert said["basic"]["data_curators"] == ["Office A", "Office B"]
    assert release.total() <= said["privacy_loss"]["privacy_parameters"]["epsilon"] <= 1
    columns = said["dp_variant"]["data_domain"]
    assert ("- age: integer" in columns) == (source == "x.release")
    own, read = (
        to_conformance(release).splitlines(),
        table.read_text().splitlines(),
    )  # a file's texts are quoted
    assert len(own) == len(read)
    assert own[0] == read[0]
    assert "An attacker who tries to tell from this release" in table.read_text()
    printed = capsys.readouterr().out
    assert "To be filled in" in printed
    assert "publication_date" in printed
    assert ("data_domain" in printed) == (source == "ledger.json")
    assert papers(tmp_path, source)[0] == 2  # they exist
    assert papers(tmp_path, source, "--overwrite")[0] == 0


@pytest.mark.usefixtures("release")
def test_a_ledger_that_says_a_name_twice_has_no_papers(tmp_path, capsys):
    path = tmp_path / "ledger.json"
    path.write_text(path.read_text().rstrip().removesuffix("}") + ', "epsilon": 0.1}')
    assert json.loads(path.read_text())["epsilon"] == 0.1
    found, entry, table = papers(tmp_path, "ledger.json")
    err = capsys.readouterr().err
    assert found == 2
    assert (
        err
        == f"sdv-plausible: error: {path} is no privacy ledger: it is not JSON, or it says 'epsilon' twice\n"
    )
    assert not entry.exists()
    assert not table.exists()


@pytest.mark.parametrize(
    ("content", "more", "words"),
    [
        ('{"format":"sdv-plausible-release/1"}', (), "is not a release file, or is damaged"),
        ("{}", (), "no privacy ledger"),
        ("\xff", (), "it is not JSON"),
        (None, ("--publication-date", "soon"), "must be a date such as"),
        (None, ("--data-product-sector", "Sport"), 'must be "Technology"'),
        (None, ("-o", "ledger.json"), "are the same file"),
        (None, ("-o", "entry.txt"), "must end in .yaml"),
        (None, ("--conformance", "table.txt"), "must end in .md"),
        (None, ("--conformance", "no folder/README.md"), "missing or not writable"),
    ],
)
def test_papers_are_refused_with_one_line(tmp_path, capsys, monkeypatch, release, content, more, words):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path("ledger.json").write_bytes(content.encode("latin-1"))
    found, entry, table = papers(tmp_path, "ledger.json", *more)
    shown = capsys.readouterr().err
    assert found == 2
    assert shown.count("\n") == 1
    assert words in shown
    assert not entry.exists()
    assert not table.exists()


def test_no_papers_without_a_claim(people, tmp_path, capsys):
    ledger = tmp_path / "ledger.json"
    options = ["--ledger", str(ledger), "--random-state", "1", "--rows", "10"]
    assert main(["synthesize", str(people), "-o", str(tmp_path / "o.csv"), *options]) == 0
    found, entry, _ = papers(tmp_path, "ledger.json")
    assert found == 2
    assert f"this one has none: {NO_CLAIM}" in capsys.readouterr().err
    assert not entry.exists()


def test_no_file_no_papers(tmp_path, capsys):
    assert papers(tmp_path, "gone.json")[0] == 2
    assert "there is no ledger file" in capsys.readouterr().err


RULES = [
    {"rule": "implies", "when": {"age": {"max": 29}}, "then": {"sex": "f"}},
    {"rule": "determined", "column": "code", "by": "sex", "mapping": {"f": 1, "m": 2}},
]


def test_rules_hold_in_what_is_written(tmp_path, capsys):
    path, output = tmp_path / "three.csv", tmp_path / "o.csv"
    table = pd.DataFrame({"age": [*range(20, 40)] * 4, "sex": ["f", "m"] * 40})
    table.assign(code=table["sex"].map({"f": 1, "m": 2})).to_csv(path, index=False)
    domain, rules = tmp_path / "domain.json", tmp_path / "rules.json"
    domain.write_text(json.dumps({**DECLARED, "code": {"sdtype": "numerical"}}))
    rules.write_text(json.dumps(RULES))
    options = ["--domain", str(domain), "--rules", str(rules)]
    assert main(["synthesize", str(path), "-o", str(output), "--rows", "200", *options]) == 0
    rows = pd.read_csv(output)
    assert (rows.loc[rows["age"] <= 29, "sex"] == "f").all()
    assert (rows["sex"].map({"f": 1, "m": 2}).fillna(0) == rows["code"].fillna(0)).all()
    capsys.readouterr()
    assert main(["check", str(path), *options]) == 0
    assert "if age <= 29, then sex is f" in capsys.readouterr().out, "20 rows are below, and m"
    rules.write_text("[5")
    assert main(["synthesize", str(path), "-o", str(tmp_path / "p.csv"), *options]) == 2
    assert "is not a JSON file" in capsys.readouterr().err
    assert main(["check", str(path), "--rules", str(tmp_path / "none.json")]) == 2
    assert "--rules: there is no file" in capsys.readouterr().err


def test_a_command_imports_no_other(tmp_path):
    """``--help`` is there at once: pandas and SDV come with the command that needs them."""
    code = (
        "import sys\nfrom sdv_plausible.commands.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "print(sorted({'sdv', 'pandas', 'torch', 'sdv_plausible.audit'} & set(sys.modules)))"
    )
    for arguments, loaded in ((["--help"], "[]"), (["--version"], "[]"), (["registry", "--help"], "[]")):
        said = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
        )
        assert said.stdout.splitlines()[-1] == loaded, arguments


def test_the_version_is_the_packages(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out.split() == ["sdv-plausible", version("sdv-plausible")]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_a_module(name):
    assert find_spec(f"sdv_plausible.commands.{NAMED_OTHERWISE.get(name, name)}") is not None
