"""A synthesizer is fitted to a table in parts: what it releases is what a table in memory gives."""

from __future__ import annotations

import json
import pickle
from copy import copy

import numpy as np
import pandas as pd
import pytest
from engines import CLUSTERS, HELD, held

from sdv_plausible import (
    Budget,
    Files,
    PlausibleDeniabilitySynthesizer,
    fit_source,
    metadata_of,
    read_csv,
    read_parquet,
)
from sdv_plausible.cli.main import main
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.rules import Inequality

DOMAIN = {
    "home": {"sdtype": "id"},
    "sex": {"sdtype": "categorical", "range_values": ["f", "m"]},
    "age": {"sdtype": "numerical", "range_min": 0, "range_max": 99, "decimal_places": 0},
    "paid": {"sdtype": "numerical", "range_min": 0, "range_max": 9, "decimal_places": 1},
}


def people(rows=1500):
    random = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "home": [f"HOME-{i % 700}" for i in range(rows)],
            "sex": random.choice(["f", "m"], rows),
            "age": random.integers(0, 100, rows),
            "paid": random.integers(0, 90, rows) / 10,
        }
    )


def made(domain=DOMAIN, columns=DOMAIN, **options):
    return PlausibleDeniabilitySynthesizer(metadata_of(columns), domain=domain, **options)


def digest(synth, data, *scratch):
    synth.fit(data, *scratch)
    return synth.release(allow_no_claim=True).digest


@pytest.fixture
def path(tmp_path):
    """People in a file."""
    return held("csv", people(), tmp_path)


WHOLE = ("sdv_plausible.cli.files.read_table", None)  # would fail if it were called


@pytest.fixture
def never_whole(monkeypatch):
    monkeypatch.setattr(*WHOLE)


@pytest.mark.parametrize("engine", HELD)
def test_every_engine_gives_the_release_of_a_table_in_memory(engine, tmp_path):
    data, table = held(engine, people(), tmp_path), people()
    if engine == "parquet":  # which says how columns are stored; read_parquet passes that on
        (tmp_path / "one").mkdir()
        table.to_parquet(tmp_path / "one" / "whole.parquet", index=False)
        table = read_parquet(tmp_path / "one" / "whole.parquet", DOMAIN)
    whole = digest(made(random_state=3), table)
    scratch = () if engine in CLUSTERS else (tmp_path,)
    assert digest(made(random_state=3), data, *scratch) == whole
    assert digest(made(random_state=4), data, *scratch) != whole


def test_rules_and_a_published_table_go_with_parts(path):
    table = people()
    public = table.iloc[::-1][["sex", "age", "paid"]]
    options = {"rules": [Inequality("paid", "age")], "public": public, "random_state": 3}
    synth = made(**options)
    assert digest(synth, path) == digest(made(**options), table)
    assert list(synth.sample(20).columns) == list(table.columns)


def test_it_is_the_fit_of_fit_source(path):
    synth = made(random_state=3, types="voted", domain=None)
    synth.fit(path)
    release = fit_source(path, types="voted", random_state=3, allow_no_claim=True)
    assert synth.privacy_ledger().to_dict() == release.ledger.to_dict()
    assert list(synth.get_domain()) == list(release.domain)


@pytest.mark.parametrize("types", ["declared", "voted"])
def test_files_say_how_they_are_written(types, tmp_path):
    table, plain = people(), tmp_path / "plain.csv"
    if types == "voted":
        table["sex"] = table["sex"].where(table.index % 3 > 0)
    table.to_csv(plain, index=False)
    table.to_csv(tmp_path / "own.csv", index=False, sep=";", decimal=",", na_rep="NA", encoding="utf-16")
    own = Files(tmp_path / "own.csv", separator=";", decimal=",", na_values=["", "NA"], encoding="utf-16")
    options = {"domain": DOMAIN if types == "declared" else None, "types": types, "random_state": 3}
    assert digest(made(**options), own) == digest(made(**options), plain)
    one, other = (fit_source(file, allow_no_claim=True, **options).domain for file in (own, plain))
    assert one == other
    with pytest.raises(ValueError, match="decimal"):
        Files("own.csv", decimal="1")


WORDS = DOMAIN["age"] | {"special_values": ["refused"]}
DATES = {"sdtype": "datetime", "datetime_format": "%d.%m.%Y", "range_min": "01.01.2020", "range_max": "31.12.2021"}  # fmt: skip


def among(*values):
    return [*values], {"sdtype": "categorical", "range_values": [*values]}


CELLS = {  # in halves
    "texts beside numbers": (["refused", 3], WORDS),
    "and missing ones": (["refused", None], WORDS | {"range_is_nullable": True}),
    "numbers": among(7, 1),
    "numbers and texts": among(7, "a"),
    "truth values": among(True, False),
    "dates": (["13.02.2020", "02.11.2021"], DATES),
}


@pytest.mark.parametrize("types", ["declared", "voted"])
@pytest.mark.parametrize("case", CELLS)
def test_cells_are_read_in_parts_as_they_are_declared(case, types, tmp_path):
    values, words = CELLS[case]
    domain = {"sex": DOMAIN["sex"], "it": words}
    path = tmp_path / "table.csv"
    pd.DataFrame({"sex": ["f", "m", "m", "f"] * 400, "it": values * 800}).to_csv(path, index=False)
    options = {"domain": domain, "types": types, "random_state": 3}
    synth = made(columns={name: {"sdtype": one["sdtype"]} for name, one in domain.items()}, **options)
    assert digest(synth, path) == digest(copy(synth), read_csv(path, domain))
    source = fit_source(path, allow_no_claim=True, epsilon=20, **options)
    for sampled in (synth.sample(1000)["it"], source.sample(1000)["it"]):
        if case == "dates":
            assert {one[6:] for one in sampled} == {"2020", "2021"}
            continue
        halves = sampled.astype(object).where(sampled.notna(), None).map(str).value_counts(normalize=True)
        assert [0.4 < halves[str(value)] < 0.6 for value in values] == [True, True]


REFUSED = (
    ({"test": "randomized"}, "people.csv", r'test \(\'randomized\'\) must be "release"'),
    ({"model": "latent"}, "people.csv", r"model \(Latent\) learns from records"),
    ({"undeclared": "infer", "domain": None}, "people.csv", r'undeclared \("infer"\)'),
    ({"person": "home"}, "people.csv", "scratch"),
    ({}, "nothing.csv", "names no file"),
    ({}, "other.csv", "lacks the declared columns"),
    ({}, "broken.csv", "line 3 has 5 cells"),
)


def test_what_needs_the_whole_table_is_refused_before_the_draw(path, tmp_path):
    path.rename(tmp_path / "people.csv")
    people()[["home", "sex"]].to_csv(tmp_path / "other.csv", index=False)
    (tmp_path / "broken.csv").write_text("home,sex,age,paid\na,f,1,2\na,f,1,2,3\n")
    budget = Budget(2, 1e-8, tmp_path / "budget.json")
    for options, name, words in REFUSED:
        with pytest.raises(ValueError, match=words):
            made(budget=budget, **options).fit(tmp_path / name)
    assert budget.charged()["epsilon"] == 0
    with pytest.raises(Refused) as caught:
        made(test="deterministic").fit("people.csv")
    assert caught.value.field == "test"


def test_what_sdv_learns_from_rows_is_refused(path):
    constraints = pytest.importorskip("sdv.cag")
    synth = made()
    synth.add_constraints([constraints.Inequality("paid", "age")])
    with pytest.raises(ValueError, match=r"rules=\["):
        synth.fit(path)


def test_a_failed_fit_leaves_the_earlier_one_and_nothing_in_the_folder(path, tmp_path):
    synth, scratch = made(), tmp_path / "scratch"
    scratch.mkdir()
    synth.fit(path, scratch)
    before = synth.release().digest
    assert list(scratch.iterdir()) == []
    path.write_text(path.read_text() + "a,b\n")
    with pytest.raises(ValueError, match="has 2 cells"):
        synth.fit(path, scratch)
    assert synth.release().digest == before
    assert list(scratch.iterdir()) == []


def test_persons_are_brought_together(path, tmp_path):
    synth = made(person="home", types="voted", domain={"sex": DOMAIN["sex"]})
    synth.fit(path, tmp_path)
    assert "home" in str(synth.privacy_ledger())
    assert not synth.sample(50)["home"].isin(people()["home"]).any()
    assert b"HOME-1" not in pickle.dumps(synth)


def test_the_command_line_reads_in_parts(path, tmp_path, capsys, monkeypatch):
    scratch, said = tmp_path / "scratch", []
    (tmp_path / "domain.json").write_text(json.dumps(DOMAIN))
    scratch.mkdir()
    for more in ([], ["--scratch", str(scratch)]):
        output = tmp_path / f"{len(said)}.release"
        words = ["fit", str(path), "--domain", str(tmp_path / "domain.json"), "-o", str(output)]
        assert main([*words, "--random-state", "3", "--allow-no-claim", "--json", *more]) == 0
        said.append(json.loads(capsys.readouterr().out)["sha256"])
    assert said[0] == said[1]
    assert list(scratch.iterdir()) == []
    monkeypatch.setattr(*WHOLE)  # which nobody calls where there is a folder for parts
    rows = ["synthesize", str(path), "-o", str(tmp_path / "rows.csv"), "--scratch", str(scratch), "-n", "30"]
    for more, why in (
        (["--types", "detected"], "--types detected: a table in parts is not in memory"),
        (["--test", "randomized"], 'must be "release"'),
    ):
        assert main([*rows, *more]) == 2
        assert why in capsys.readouterr().err
    assert main([*rows, "--person", "home"]) == 0
    assert len(read_csv(tmp_path / "rows.csv", DOMAIN)) == 30
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("words", [["one.csv", "two.csv"], ["*.csv"], ["."]])
def test_the_command_line_takes_several_files(words, tmp_path, monkeypatch, capsys, never_whole):
    """By name, pattern or folder: in parts, as no table of several files is read whole."""
    (tmp_path / "rows").mkdir()
    monkeypatch.chdir(tmp_path / "rows")
    for name, half in (("one.csv", people()[::2]), ("two.csv", people()[1::2])):
        half.to_csv(name, index=False)
    assert main(["fit", *words, "-o", str(tmp_path / "a.release")]) == 0
    assert "home" in capsys.readouterr().out
    for wrong, why in (
        ([*words, *words], "the same file"),
        (["one.csv", "three.csv"], "three.csv"),
        ([*words, "--public", "two.csv"], "--public"),
    ):
        assert main(["fit", *wrong, "-o", str(tmp_path / "b.release")]) == 2
        assert why in capsys.readouterr().err
    assert not (tmp_path / "b.release").exists()


def test_a_large_file_is_read_in_parts_without_being_asked(path, tmp_path, monkeypatch, never_whole):
    monkeypatch.setattr("sdv_plausible.table.files.text_files.LARGE_FILE_BYTES", 100)
    assert main(["fit", str(path), "-o", str(tmp_path / "r.release")]) == 0


def test_a_published_table_that_is_the_rows_is_known_in_parts_too(tmp_path):
    table = people()[["sex", "age", "paid"]]
    domain = {name: words for name, words in DOMAIN.items() if name != "home"}
    with pytest.raises(ValueError, match="not the table to be protected"):
        made(domain, domain, public=table).fit(table, tmp_path)
    table.to_parquet(tmp_path / "t.parquet")
    table.to_csv(tmp_path / "t.csv", index=False)
    head = {"public": pd.read_csv(tmp_path / "t.csv").head(100), "types": "voted", "domain": None}
    for rows, options in (
        (tmp_path / "t.parquet", {"public": read_parquet(tmp_path / "t.parquet", domain), "domain": domain}),
        (tmp_path / "t.csv", head), (pd.read_csv(tmp_path / "t.csv"), head),
    ):  # fmt: skip
        with pytest.warns(UserWarning, match="public: it contains the first rows"):
            made(columns=domain, **options).fit(rows)


def test_text_by_other_endings_is_read_as_in_memory(tmp_path):
    for ending in (".txt", ".tsv"):
        path = tmp_path / f"t{ending}"
        people().to_csv(path, index=False, sep="\t")
        whole = digest(made(random_state=3), read_csv(path, DOMAIN, separator="\t"))
        assert digest(made(random_state=3), Files(path, separator="\t")) == whole
