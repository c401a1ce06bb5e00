"""A look at the rows is written down before anything is shown."""

import io
import json
import pickle
from contextlib import contextmanager, nullcontext, redirect_stdout
from copy import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cases import each_once
from sdv import cag as sdv_constraints

from sdv_plausible import PlausibleDeniabilitySynthesizer, metadata_of, read_csv
from sdv_plausible.cli import declare
from sdv_plausible.cli.main import main
from sdv_plausible.extensions.app.review.review import Review, ReviewedTable
from sdv_plausible.fitting.release_budget import Budget
from sdv_plausible.rules import Inequality
from sdv_plausible.rules.rule_files import save_rules
from sdv_plausible.sdv.metadata import detect_metadata
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.declared import access_log
from sdv_plausible.table.declared.access_log import log_access, record_access
from sdv_plausible.table.declared.declarations import as_domain_file, with_access_record
from sdv_plausible.table.declared.domain_file import SCHEMA, DomainFile, read_domain_file

COLUMNS = {
    "age": {"sdtype": "numerical", "range_min": 0, "range_max": 90},
    "sex": {"range_values": ["f", "m"], "sdtype": "categorical"},
    "size": {"sdtype": "numerical"},
    "id": {"sdtype": "id"},
}


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("id,age,sex,size\n" + "\n".join(f"i{i},{i},f,{'x' if i == 3 else i}" for i in range(100)))
    return path


@pytest.fixture(params=["bare", "file"])
def domain(tmp_path, request):
    path = tmp_path / "domain.json"
    if request.param == "bare":
        path.write_text(json.dumps(COLUMNS))
    else:
        DomainFile(columns=COLUMNS).save(path)
    return path


@pytest.fixture
def bare(tmp_path):
    path = tmp_path / "domain.json"
    path.write_text(json.dumps(COLUMNS))
    return path


@pytest.fixture
def no_space(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(access_log.DomainFile, "save", full)


def synthesizer(domain, words=None, **options):
    given = domain if isinstance(domain, dict | Domain) else str(domain)
    metadata = metadata_of(words or domain)
    return PlausibleDeniabilitySynthesizer(metadata, domain=given, model="independent", **options)


def fitted(table, domain):
    synth = synthesizer(domain, undeclared="private")
    synth.fit(read_csv(table, domain))
    return synth.privacy_ledger()


def claims(domain, **options):
    return synthesizer(domain, **options).plan().ledger.claims_privacy


def check_command(table, domain, *options):
    return main(["check", str(table), "--domain", str(domain), *map(str, options)])


def test_looks_at_columns_are_added_and_one_at_rules_alone_is_written_down(domain):
    """Also that there were none: one that is made afterwards may repeat what was seen. Control: no look."""
    assert log_access(domain, []) == []
    assert read_domain_file(domain).looked_rules is None
    assert "that there are no rules" in log_access(domain, [], [])[0]
    assert read_domain_file(domain).looked_rules == ()
    assert record_access(domain, ["age", "unknown"]) == ("age", "unknown")  # it may be declared later
    assert record_access(domain, ["age", "sex"]) == ("sex",)
    assert record_access(domain, ["age"]) == ()


def test_check_records_which_columns_were_shown(table, domain, capsys):
    before = fitted(table, domain)
    assert before.claims_privacy
    assert check_command(table, domain) == 0
    said = capsys.readouterr().out
    assert "age, sex were compared" in said
    assert "cannot be read, and count as missing: none" in said  # of size one cannot, which is left open
    assert set(read_domain_file(domain).looked) == {"age", "sex"}
    assert fitted(table, domain).claims_privacy  # nothing was edited

    found = read_domain_file(domain)
    age = {**COLUMNS["age"], "range_max": 99}
    DomainFile(columns={**COLUMNS, "age": age}, looked=found.looked).save(domain)
    assert check_command(table, domain) == 0  # nothing to see of age: it fits now
    ledger = fitted(table, domain)
    assert not ledger.claims_privacy
    assert not claims(domain, undeclared="private")  # a plan says so too
    assert "edited after a comparison with the rows: age" in str(ledger)

    age["source"] = "https://example.org/codebook"
    DomainFile(columns={**COLUMNS, "age": age}, looked=found.looked).save(domain)
    ledger = fitted(table, domain)
    assert ledger.claims_privacy
    assert "age: from https://example.org/codebook" in str(ledger)


def test_what_was_detected_makes_no_claim(table, bare):
    DomainFile(columns={**COLUMNS, "id": {"sdtype": "id", "detected": True}}).save(bare)
    ledger = fitted(table, bare)
    assert not ledger.claims_privacy
    assert "were detected in the rows" in ledger.sentence()
    bare.write_text("[]")
    with pytest.raises(ValueError, match="is not a domain file"):
        read_domain_file(bare)


def test_nothing_is_shown_that_could_not_be_written_down(table, bare, capsys, no_space):
    assert check_command(table, bare) == 2
    assert not capsys.readouterr().out


def write_columns(domain, **columns):
    file = read_domain_file(domain)
    replace(file, columns={**file.columns, **columns}).save(domain)


def by_command(table, domain):
    assert check_command(table, domain) == 0


def by_object(table, domain):
    shown = []
    synthesizer(domain).check(read_csv(table, domain), show=shown.append)
    assert "age, sex were compared" in shown[-2]
    assert "Undeclared, and not compared: size." in shown[-1]


def by_page(table, domain):
    seen = ReviewedTable(table, ("age",), {"encoding": "utf-8", "separator": ",", "quote": '"'})
    Review(read_domain_file(domain), seen, domain, lambda *_: None, is_saved=True).compare()


@pytest.mark.parametrize("look", [by_command, by_object, by_page])
def test_the_record_does_not_depend_on_a_cell(look, bare, tmp_path):
    """It is in the file that is handed on: a column left open was in it where one person's cell could not be read."""
    before = bare.read_text()
    for cell in ("3", "x"):
        path = tmp_path / f"{cell}.csv"
        path.write_text("id,age,sex,size\n" + "\n".join(f"i{i},{i % 90},f,{cell}" for i in range(100)))
        bare.write_text(before)
        look(path, bare)
        assert set(read_domain_file(bare).looked) == {"age", "sex"}


@pytest.mark.parametrize("look", [by_command, by_object, by_page])
def test_ranges_tried_until_one_person_is_the_bound_end_the_claim(look, table, bare):
    """Each try fits or does not: five of them find the oldest. The first words were declared, the last were not."""
    for highest in (120, 110, 100, 99):  # the oldest is 99: every try fits
        write_columns(bare, age={**COLUMNS["age"], "range_max": highest})
        look(table, bare)
    file = read_domain_file(bare)
    assert file.edited == ("age",)
    assert not fitted(table, bare).claims_privacy
    write_columns(bare, age={**COLUMNS["age"], "range_max": 120})  # as it was at the first look
    assert fitted(table, bare).claims_privacy


def test_what_was_left_open_may_be_declared_later(table, bare, capsys):
    table.write_text("id,age,sex,size\n" + "\n".join(f"i{i},{i % 90},f,{i}" for i in range(100)))
    by_command(table, bare)
    said = capsys.readouterr().out
    for told in (
        "every cell matches",
        "age, sex were compared",
        "Undeclared, and not compared: size. Their ranges and values may be declared later",
    ):
        assert told in said
    write_columns(bare, size={"sdtype": "numerical", "range_min": 0, "range_max": 150})
    assert claims(bare, undeclared="private")
    by_command(table, bare)
    write_columns(bare, size={"sdtype": "numerical", "range_min": 0, "range_max": 100})
    assert not claims(bare, undeclared="private")


def test_what_a_rule_is_about_was_compared(table, bare, tmp_path):
    """Else rules are the tries, and the range is declared once they have found it."""
    save_rules([Inequality("size", "age", strict=False)], tmp_path / "rules.json")
    assert check_command(table, bare, "--rules", tmp_path / "rules.json") == 0
    assert "size" in read_domain_file(bare).looked


def test_dates_with_a_time_of_day_are_left_open_too(tmp_path, capsys):
    """The time of day has a value set of its own, which every date fits: to compare it tells nothing."""
    table, domain = tmp_path / "t.csv", tmp_path / "domain.json"
    table.write_text("a,b\n" + "2020-01-01 10:00,2020-01-01 10:00\n" * 30)
    form = {"sdtype": "datetime", "datetime_format": "%Y-%m-%d %H:%M"}
    declared = {**form, "range_min": "2020-01-01 00:00", "range_max": "2021-01-01 00:00"}
    domain.write_text(json.dumps({"a": form, "b": declared}))
    by_command(table, domain)
    assert set(read_domain_file(domain).looked) == {"b"}


def test_an_object_keeps_the_look_where_there_is_no_file(table):
    synth, shown = synthesizer(COLUMNS), []
    rows = read_csv(table, COLUMNS)
    synth.check(rows, show=shown.append)
    assert "This comparison of age, sex" in shown[-1]
    assert "domain file" in shown[-1]
    for one in (synth, pickle.loads(pickle.dumps(synth))):
        assert set(one._looked.looked) == {"age", "sex"}
    synth.fit(rows)
    assert synth.privacy_ledger().claims_privacy  # the words were written before the look


WRONG = {**COLUMNS, "sex": {"sdtype": "categorical", "range_values": [1, 2]}}


@pytest.fixture
def wrong(bare):
    bare.write_text(json.dumps(WRONG))
    return bare


def test_what_a_fit_warns_of_is_a_look(table, wrong):
    with pytest.warns(UserWarning, match=r"sex: most cells .* Recorded in .*: age, sex were compared"):
        ledger = fitted(table, wrong)
    assert ledger.claims_privacy
    assert set(read_domain_file(wrong).looked) == {"age", "sex"}  # all that were compared: it tells of no row
    write_columns(wrong, sex=COLUMNS["sex"])
    assert not fitted(table, wrong).claims_privacy
    write_columns(wrong, sex={**COLUMNS["sex"], "source": "the law"})
    assert fitted(table, wrong).claims_privacy
    with pytest.warns(UserWarning, match="This comparison of age, sex"):
        assert fitted(table, WRONG).claims_privacy


def test_a_fit_names_nothing_that_cannot_be_written_down(table, wrong, no_space):
    synth = synthesizer(wrong)
    with pytest.warns(UserWarning, match="not named: .*No space left") as told:
        synth.fit(read_csv(table, wrong))
    of_rows = [one.message for one in told if getattr(one.message, "for_holder", True)]
    assert "sex" not in "".join(map(str, of_rows))  # what answers say of noise may name it
    assert synth.privacy_ledger().claims_privacy


@pytest.mark.parametrize("command", ["fit", "synthesize", "describe"])
@pytest.mark.parametrize("is_blank", [False, True])
def test_commands_write_down_what_their_fit_warns_of(command, is_blank, table, wrong, capsys):
    if is_blank:  # its type is voted for
        words = {name: spec for name, spec in WRONG.items() if name != "size"}
        wrong.write_text(json.dumps(words | ({} if command == "describe" else {"size": {"sdtype": None}})))
    output = table.with_name("out.csv" if command == "synthesize" else "out.json")
    assert main([command, str(table), "-o", str(output), "--domain", str(wrong), "--epsilon", "2"]) == 0
    assert "sex: most cells" in capsys.readouterr().err
    assert set(read_domain_file(wrong).looked) == {"age", "sex"}


def test_metadata_alone_compares_nothing(table, tmp_path, capsys):
    metadata = tmp_path / "metadata.json"
    metadata_of(COLUMNS).save_to_json(metadata)
    assert main(["check", str(table), "--metadata", str(metadata), "--domain", "written"]) == 2
    said = capsys.readouterr()
    assert not said.out
    assert "compares nothing" in said.err
    assert "--domain domain.json" in said.err


def test_of_two_looks_at_once_both_are_written_down(bare, monkeypatch):
    """The second reads what the first wrote, and not what was there before."""
    honest, met = access_log.read_domain_file, []

    def meanwhile(path):
        found = honest(path)
        if not met:  # another command writes its look between reading and writing
            met.append(path)
            record_access(path, ["age"])
        return found

    monkeypatch.setattr(access_log, "read_domain_file", meanwhile)
    record_access(bare, ["sex"])
    assert set(honest(bare).looked) == {"age", "sex"}


def test_a_look_that_gets_the_lock_first_is_kept_when_the_file_is_replaced(bare, monkeypatch):
    """Looks are read under the lock: else one that is written before the file is replaced is lost."""
    honest, file = access_log.locked, read_domain_file(bare)

    def meanwhile(path):
        monkeypatch.setattr(access_log, "locked", honest)
        record_access(bare, ["age"])
        return honest(path)

    monkeypatch.setattr(access_log, "locked", meanwhile)
    assert access_log.replace_file(bare, file, (), {}) == ["age"]
    assert set(read_domain_file(bare).looked) == {"age"}


def test_a_look_is_read_and_written_under_the_files_lock(bare, monkeypatch):
    """Read before the lock, a look that another command wrote meanwhile would be lost."""
    honest_read, honest_save, happened = access_log.read_domain_file, access_log.DomainFile.save, []

    @contextmanager
    def locked(path):
        happened.append(("locked", path))
        yield
        happened.append("unlocked")

    monkeypatch.setattr(access_log, "locked", locked)
    monkeypatch.setattr(
        access_log, "read_domain_file", lambda path: happened.append("read") or honest_read(path)
    )
    monkeypatch.setattr(
        access_log.DomainFile, "save", lambda *args: happened.append("written") or honest_save(*args)
    )
    record_access(bare, ["sex"])
    assert happened == ["read", ("locked", bare.resolve()), "read", "written", "unlocked"]


def test_a_record_that_cannot_be_read_is_not_replaced(tmp_path):
    """A byte-order mark of an editor was enough: the looks were gone, and what they had shown made a claim."""
    path = tmp_path / "domain.json"
    file = DomainFile(columns={"age": {"sdtype": "numerical", "range_min": 0, "range_max": 99}})
    file.looked_at(["age"]).save(path)
    honest = path.read_text()
    comma = honest.rstrip().rstrip("}") + ",}"
    for damaged in ("\ufeff" + honest, comma, honest.replace(SCHEMA, SCHEMA + "0"), "[]"):
        path.write_text(damaged)
        with pytest.raises(ValueError, match="may contain a record of comparisons with the rows"):
            access_log.replace_file(path, file, (), {})
        assert path.read_text() == damaged
    path.write_text(honest)
    assert access_log.replace_file(path, file, (), {}) == ["age"]


@pytest.mark.parametrize("method", ["validate", "auto_assign_transformers"])
def test_sdvs_own_comparisons_are_looks(method, tmp_path):
    """They quote cells that do not fit: edited after it, the words repeat what was seen."""
    path, words = tmp_path / "domain.json", {"sdtype": "numerical", "range_min": 0, "range_max": 99}
    DomainFile(columns={"age": words}).save(path)
    rows = pd.DataFrame({"age": [*range(50), "refused"]}, dtype=object)
    with pytest.raises(Exception, match="refused"):
        getattr(synthesizer(path), method)(rows)
    assert list(read_domain_file(path).looked) == ["age"]
    write_columns(path, age={**words, "special_values": ["refused"]})
    assert not claims(path)
    DomainFile(columns={"age": words}).save(path)
    honest = synthesizer(path)
    honest.fit(rows[:50].astype(int))
    assert honest.privacy_ledger().claims_privacy
    assert list(read_domain_file(path).looked) == ["age"]


@pytest.mark.parametrize("method", ["validate", "auto_assign_transformers"])
def test_who_makes_sdv_compare_is_told_of_the_look(method, table, tmp_path, capsys):
    """As by check(): with a mapping the object keeps it. Control: nothing is declared."""
    declared = {name: COLUMNS[name] for name in ("id", "age", "sex")}
    rows = read_csv(table, COLUMNS)[[*declared]]
    synth = synthesizer(declared)
    getattr(synth, method)(rows)
    assert "This comparison of age, id, sex" in capsys.readouterr().out
    assert set(synth._looked.looked) == {"age", "sex", "id"}
    path = tmp_path / "declared.json"
    path.write_text(json.dumps(declared))
    getattr(synthesizer(path), method)(rows)
    assert f"Recorded in {path}: id, age, sex were compared" in capsys.readouterr().out
    getattr(PlausibleDeniabilitySynthesizer(metadata_of(declared)), method)(rows)
    assert capsys.readouterr().out == ""


ORDERED = {name: {"sdtype": "numerical", "range_min": 0, "range_max": 99} for name in ("low", "high")}


@pytest.fixture
def ordered(tmp_path):
    DomainFile(columns=ORDERED).save(tmp_path / "ordered.json")
    return tmp_path / "ordered.json"


def constrained(domain):
    synth = synthesizer(domain)
    synth.add_constraints([sdv_constraints.Inequality("low", "high")])
    return synth


@pytest.mark.parametrize("is_kept", [True, False])
@pytest.mark.parametrize("method", ["fit", "preprocess", "validate_constraints"])
def test_a_comparison_with_sdv_constraints_is_a_look(method, is_kept, ordered):
    """SDV's errors name or quote the rows that break them; a fit without them then repeats what was seen."""
    synth = constrained(ordered)
    rows = pd.DataFrame({"low": range(50), "high": range(1, 51)})
    if method == "validate_constraints":
        synth.fit(rows)
        DomainFile(columns=ORDERED).save(ordered)
    if not is_kept:
        rows.loc[7, "low"] = 61
    with nullcontext() if is_kept else pytest.raises(Exception, match=r"61|: 7"):
        getattr(synth, method)(rows)
    assert set(read_domain_file(ordered).looked) == {"low", "high"}
    write_columns(ordered, low={**ORDERED["low"], "range_max": 61})
    assert not claims(ordered)


def test_rows_are_shown_to_constraints_alone_and_after_the_look_is_written_down(ordered, request):
    rows = pd.DataFrame({"low": [61], "high": [1]})
    synthesizer(ordered).validate_constraints(rows)  # there are none
    assert not read_domain_file(ordered).looked
    synth = constrained(ordered)
    request.getfixturevalue("no_space")
    with pytest.raises(OSError, match="No space left"):
        synth.fit(rows)


def test_a_look_is_written_into_the_file_that_was_given_whatever_folder_is_the_current_one(
    table, tmp_path, monkeypatch
):
    """A file by the same name in the new folder got the record, and the edited one a claim."""
    here, there = tmp_path / "here", tmp_path / "there"
    for folder, rules in ((here, []), (there, [Inequality("age", "size")])):
        folder.mkdir()
        (folder / "domain.json").write_text(json.dumps(COLUMNS))
        save_rules(rules, folder / "rules.json")
    monkeypatch.chdir(here)
    synth = synthesizer("domain.json", rules="rules.json", types="voted")
    assert synth.domain == synth.get_parameters()["domain"] == "domain.json"
    monkeypatch.chdir(there)
    synth.check(read_csv(table, COLUMNS), show=lambda _: None)
    assert not read_domain_file("domain.json").looked
    assert set(read_domain_file(here / "domain.json").looked) == {"age", "sex"}
    assert not synth._fit_template.column_specs.read()[1].rules  # those of the first folder
    assert str(tmp_path).encode() not in pickle.dumps(synth)  # the holder's folders leave with no object


SMALL = {
    "age": {"sdtype": "numerical", "range_min": 0, "range_max": 30, "decimal_places": 0},
    "sex": {"sdtype": "categorical", "range_values": ["f", "m"]},
}
PEOPLE = pd.DataFrame({"age": range(18, 90), "sex": ["f", "m"] * 36})


def given_as(kind, folder):
    domain = Domain.from_declarations(SMALL)
    DomainFile(columns=SMALL).save(folder / "domain.json")
    return {"file": folder / "domain.json", "mapping": SMALL, "domain": domain}[kind]


def edit(path, **changed):
    """Change a column of a saved domain by hand."""
    document = json.loads(path.read_text())
    for entry in document["attributes"]:
        if entry["name"] in changed:
            entry.update(changed[entry["name"]])
    path.write_text(json.dumps(document))
    return path


SEEN = {"age": {"lower": list(range(18, 90)), "upper": list(range(18, 90))}}


@pytest.mark.filterwarnings("ignore:age. most cells:UserWarning")
@pytest.mark.parametrize(
    ("kind", "through"),
    each_once(["file", "mapping", "domain"], ["itself", lambda one: pickle.loads(pickle.dumps(one)), copy]),
)
def test_the_domain_of_a_fit_holds_the_looks(kind, through, tmp_path):
    """Saved, and edited to what the warning made one look up, it gave the claim that its file does not."""
    path = tmp_path / "E.json"
    Domain.from_declarations(SMALL).save(path)
    assert "looked" not in json.loads(path.read_text())
    assert claims(edit(path, **SEEN))  # nobody has compared it
    synth = synthesizer(given_as(kind, tmp_path))
    synth.fit(PEOPLE)
    synth = synth if through == "itself" else through(synth)
    synth.get_domain().save(path)
    assert claims(path)
    assert claims(Domain.load(path))
    assert not claims(edit(path, **SEEN))
    assert not claims(Domain.load(path))
    again = synthesizer(Domain.load(path))  # and of the next fit's
    again.fit(PEOPLE.assign(age=20))
    again.get_domain().save(path)
    assert not claims(path)


def test_a_record_of_before_the_fit_is_in_its_domain(tmp_path):
    path = given_as("file", tmp_path)
    record_access(path, ["age"])
    write_columns(path, age={**SMALL["age"], "range_max": 89, "source": "the law"})
    synth = synthesizer(path)
    synth.fit(PEOPLE.iloc[:12].assign(age=20))
    synth.get_domain().save(tmp_path / "E.json")
    assert claims(tmp_path / "E.json")  # the source was cited
    assert not claims(edit(tmp_path / "E.json", **SEEN))


def test_a_look_at_a_finished_domain_is_written_down_in_it(tmp_path):
    """It keeps what it has beside the declarations; control: it is edited before the look."""
    path, told = tmp_path / "E.json", []
    domain = Domain.from_declarations(SMALL)
    domain = replace(domain, possible={(0, 1): np.ones(domain.cardinalities, dtype=bool)})
    domain.save(path)
    synthesizer(path).check(PEOPLE, show=told.append)
    assert f"Recorded in {path}: age, sex were compared" in told[-1]
    assert Domain.load(path) == domain
    assert np.array_equal(Domain.load(path).possible[0, 1], domain.possible[0, 1])
    assert claims(path)
    drafted = DomainFile(columns={**SMALL, "age": {**SMALL["age"], "range_max": 89}})
    assert access_log.with_access_records(drafted, path, SMALL)[0].edited == (
        "age",
        "sex",
    )  # as of the file it replaces
    assert not claims(edit(path, sex={"values": ["f", "d"]}))


def test_the_domain_of_a_fit_holds_the_rules_that_were_looked_through(tmp_path):
    def rules(most):
        return {"words": ORDERED, "rules": [Inequality("low", "high", most=most)]}

    synth, path = synthesizer(ORDERED, **rules(9)), tmp_path / "E.json"
    synth.fit(pd.DataFrame({"low": range(50), "high": range(1, 51)}))
    synth.get_domain().save(path)
    assert claims(path, **rules(9))
    assert not claims(path, **rules(8))
    (stand_in,) = {*synth.get_domain().names} - {"low"}
    edit(path, **{stand_in: {"lower": list(range(10)), "upper": list(range(10))}})
    assert claims(path, **rules(9))  # as it was
    edit(path, **{stand_in: {"lower": [0, 1], "upper": [0, 9]}})
    assert not claims(path, **rules(9))


def test_what_is_read_back_is_not_edited(mixed_table, tmp_path):
    """Of every kind of column, learned and declared; control: one digit more."""
    metadata = detect_metadata(mixed_table)
    synth = PlausibleDeniabilitySynthesizer(metadata, model="independent", epsilon=20)
    synth.fit(mixed_table)
    with redirect_stdout(io.StringIO()):
        synth.validate(mixed_table)
    domain = synth.get_domain()
    domain.save(tmp_path / "E.json")
    read = Domain.load(tmp_path / "E.json")
    assert {*domain.names} <= {*read.looked} == {*mixed_table}
    assert read.looked == domain.looked
    for one in (domain, read, read.declared()):
        assert as_domain_file(one).edited == ()
    read_off = Domain(tuple(replace(a, provenance="inferred") for a in read))
    assert (
        as_domain_file(with_access_record(read_off, read.names).declared()).edited == ()
    )  # its holder's word
    other = replace(
        read, attributes=tuple(replace(a, buckets=tuple(range(a.cardinality))) for a in read if not a.groups)
    )
    assert as_domain_file(other).edited == other.names


def test_a_damaged_record_of_a_domain_is_refused():
    for record, told in (
        ({"looked": []}, "'looked' must map names"),
        ({"looked_rules": ["x"]}, "'looked_rules' must list"),
    ):
        document = {**Domain.from_declarations(SMALL).to_dict(), **record}
        with pytest.raises(ValueError, match=f"domain document: {told} .* restore the original file"):
            Domain.from_dict(document)


def test_sdvs_comparison_is_a_look_at_what_a_rule_makes_too(ordered):
    """It compares the table's columns, and not those that the model sees in their place."""
    DomainFile(columns={**ORDERED, "key": {"sdtype": "id"}}).save(ordered)
    rows = pd.DataFrame({"low": range(50), "high": range(50), "key": range(50)})
    synthesizer(ordered, rules=[Inequality("low", "high", most=9)]).validate(rows)
    assert sorted(read_domain_file(ordered).looked) == ["high", "key", "low"]


def test_what_was_learned_is_kept_where_its_file_cannot_be_replaced(tmp_path, capsys, monkeypatch):
    """It was paid for; and whoever may not take the file's lock is told before that."""
    rows, output, budget = tmp_path / "t.csv", tmp_path / "d.json", tmp_path / "b"
    rows.write_text("age\n" + "\n".join(str(i % 90) for i in range(900)))
    words = tmp_path / "words.json"
    for path in (words, output):
        DomainFile(columns={"age": {"sdtype": "numerical"}}).save(path)
    command = (
        f"declare {rows} -o {output} --domain {words} --overwrite --private 0.5 --budget {budget} 1 1e-8"
    )
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(declare, "locked", refuse)
        assert main(command.split()) != 0
    assert not budget.exists() or Budget(1, 1e-8, budget).charged()["epsilon"] == 0
    monkeypatch.setattr(declare, "replace_file", refuse)
    assert main(command.split()) != 0
    (kept,) = tmp_path.glob("sdv-plausible-*/d.json")
    assert str(kept) in capsys.readouterr().err
    assert read_domain_file(kept).learned is not None
