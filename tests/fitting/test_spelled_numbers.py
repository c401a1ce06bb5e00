"""Numbers as text: voted for or declared, learned, and written back in their spelling, at every door."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sdv.sampling import Condition

from sdv_plausible import Domain, PlausibleDeniabilitySynthesizer, Release, fit_source, metadata_of
from sdv_plausible.cli import inspect
from sdv_plausible.cli.main import main
from sdv_plausible.rules import Inequality, Sum
from sdv_plausible.table.cells.number_texts import read_number, read_numbers, write_number

ROWS = 2000
FORMS = {
    "share": ("1234.5%", 0), "price": ("EUR 1,234.5", 2), "dear": ("1.234,5 €", 2), "cheap": ("$1234.5", 0),
    "many": ("1,234.5", 0), "height": ("1234,5", 1), "people": ("1 234.5", 0), "francs": ("1'234.5 CHF", 2),
}  # fmt: skip
USUAL = {"epsilon": 8.0, "model": "independent", "random_state": 1}
DOLLARS = "$1,234.5"
pytestmark = pytest.mark.filterwarnings("ignore")  # of noise


@functools.cache
def numbers():
    return np.random.default_rng(0).gamma(3, 400, ROWS)


@functools.cache
def spelled():
    """One odd cell, and one that is missing, in every column."""
    columns = {}
    for name, (form, digits) in FORMS.items():
        texts = [write_number(round(float(x), digits), form, digits) for x in numbers()]
        columns[name] = [*texts[:-2], "none of yours", None]
    return pd.DataFrame(columns, dtype=object)


def assert_alike(rows, names=tuple(FORMS)):
    """In the same spelling, with as many digits, and within the same range; medians move by 15 % at most."""
    for name in names:
        form, digits = FORMS[name]
        texts = rows[name].dropna()
        assert len(texts) > 0.9 * len(rows), name
        values = np.array([read_number(text, form) for text in texts])
        assert [write_number(value, form, digits) for value in values] == list(texts), name
        assert abs(np.median(values) / np.median(numbers()) - 1) < 0.15, name


@pytest.fixture(scope="module")
def voted():
    return fit_source(spelled(), types="voted", allow_no_claim=True, **USUAL)


def made(domain, **options):
    return PlausibleDeniabilitySynthesizer(metadata_of(domain), domain=domain, **options)


def fitted_anew(synth, table):
    anew = PlausibleDeniabilitySynthesizer.from_release(synth.release(allow_no_claim=True), random_state=1)
    anew.fit(table)
    return anew


def test_a_vote_finds_each_spelling_and_rows_come_back_in_it(voted, tmp_path):
    """Of parts as Parquet, too. Seeded: no false alarm."""
    found = {a.name: a.number_format for a in voted.domain}
    assert found == {name: form for name, (form, _) in FORMS.items()}
    assert_alike(voted.sample(1000))
    voted.save(tmp_path / "numbers.release")
    again = Release.load(tmp_path / "numbers.release")
    assert again.domain == voted.domain
    pd.testing.assert_frame_equal(again.sample(50, random_state=1), voted.sample(50, random_state=1))
    files = voted.sample_to_parquet(tmp_path / "parts", 200, random_state=1)
    assert_alike(pd.concat(map(pd.read_parquet, files)))
    for value in ("450%", 450):
        assert set(voted.sample(5, given={"share": value})["share"]) == {"450%"}
    with pytest.raises(ValueError, match="no such value"):
        voted.sample(5, given={"share": "$450"})


def test_a_file_is_voted_for_and_a_second_fit_reads_the_saved_domain(tmp_path):
    """A DataFrame, its file, the domain that the fit saved, and the release fitted anew."""
    table, path = spelled()[["share", "dear"]], tmp_path / "table.csv"
    table.to_csv(path, index=False)
    metadata = metadata_of({name: {"sdtype": "categorical"} for name in table})
    first = PlausibleDeniabilitySynthesizer(metadata, types="voted", **USUAL)
    for rows in (table, path):
        first.fit(rows)
        assert_alike(first.sample(500), table)
    drawn = first.sample_from_conditions([Condition(num_rows=3, column_values={"share": "450%"})])
    assert set(drawn["share"]) == {"450%"}
    assert all("number_format" not in words for words in first.metadata.tables["table"].columns.values())
    first.get_domain().save(tmp_path / "domain.json")
    assert Domain.load(tmp_path / "domain.json")["dear"].number_format == "1.234,5 €"
    second = PlausibleDeniabilitySynthesizer(first.metadata, domain=tmp_path / "domain.json", **USUAL)
    for rows in (table, path):
        second.fit(rows)
        assert_alike(second.sample(500), table)
    assert_alike(fitted_anew(first, table).sample(500), table)


FRANCS = {"range_min": 0, "range_max": 9000, "bins": 90, "decimal_places": 2}
DECLARED = {
    "share": {"sdtype": "numerical", "number_format": "1234.5%"},
    "price": {"range_min": 0.0, "range_max": 9000.0, "decimal_places": 2, "number_format": "EUR 1,234.5"},
    "francs": {"sdtype": "numerical", "number_format": "1'234.5 CHF", **FRANCS},
}


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet", "source", "infer"])
def test_a_declared_spelling_at_every_door(kind, tmp_path):
    table = spelled()[list(DECLARED)]
    path = tmp_path / f"table.{kind if kind in ('csv', 'parquet') else 'csv'}"
    (table.to_parquet if kind == "parquet" else table.to_csv)(path, index=False)
    if kind == "source":
        release = fit_source(path, domain=DECLARED, allow_no_claim=True, **USUAL)
        assert_alike(release.sample(500), DECLARED)
        return
    synth = made(DECLARED, undeclared="infer" if kind == "infer" else "private", **USUAL)
    synth.fit(table if kind in ("frame", "infer") else path)
    assert_alike(synth.sample(500), DECLARED)
    assert_alike(fitted_anew(synth, table).sample(500), DECLARED)


def test_the_command_line_says_the_spelling_and_writes_it(tmp_path, capsys):
    path, out = tmp_path / "table.csv", tmp_path / "out.csv"
    spelled()[["share", "dear"]].to_csv(path, index=False)
    main(["synthesize", str(path), "-o", str(out), "--epsilon", "8", "-n", "300"])
    assert "share numerical (1234.5%), dear numerical (1.234,5 €)" in capsys.readouterr().out
    assert_alike(pd.read_csv(out, dtype=object), ["share", "dear"])
    main(["synthesize", str(path), "-o", str(out), "--overwrite", "--types", "detected", "-n", "300"])
    rows = pd.read_csv(out, dtype=object)
    assert set(rows["share"].dropna()) <= {*spelled()["share"]}  # an odd cell: no detected numbers


def test_a_detection_keeps_the_spelling_too(tmp_path):
    """Also beside metadata that holds none."""
    path, out = tmp_path / "table.csv", tmp_path / "out.csv"
    spelled()[["share", "dear"]].iloc[:-2].to_csv(path, index=False)
    metadata_of({"share": {"sdtype": "categorical"}}).save_to_json(tmp_path / "metadata.json")
    words = ["synthesize", str(path), "-o", str(out), "--types", "detected", "-n", "300", "--overwrite"]
    for more, names in (([], ["share", "dear"]), (["--metadata", str(tmp_path / "metadata.json")], ["dear"])):
        main([*words, *more])
        assert_alike(pd.read_csv(out, dtype=object), names)


def test_check_says_what_is_not_in_the_spelling():
    found = made(DECLARED).check(spelled()[list(DECLARED)].iloc[:-1])
    assert {finding.column: finding.cells for finding in found.findings} == {"price": 1, "francs": 1}
    assert "are not numbers" in str(found)


def test_rules_make_columns_of_numbers_that_are_text():
    """A sum of two spelled columns, itself spelled; read from text, written as text."""
    table = pd.DataFrame({"a": numbers()[:1000].round(), "b": numbers()[1000:].round()})
    forms = {"a": DOLLARS, "b": DOLLARS, "total": "1.234,5 €"}
    table["total"] = table["a"] + table["b"]
    texts = pd.DataFrame({n: [write_number(int(x), f, 0) for x in table[n]] for n, f in forms.items()})
    limits = {"range_min": 0, "range_max": 9000, "sdtype": "numerical"}
    domain = {name: {**limits, "number_format": form} for name, form in forms.items()}
    synth = made(domain, rules=[Sum("total", ["a", "b"])], epsilon=8.0, random_state=1)
    synth.fit(texts)
    rows = synth.sample(200)
    read = pd.DataFrame({name: read_numbers(rows[name], form) for name, form in forms.items()})
    assert (read["total"] == read["a"] + read["b"]).all()
    assert [write_number(int(x), forms["total"], 0) for x in read["total"]] == list(rows["total"])


NET = {"rules": [Inequality("net", "gross")]}


@pytest.mark.parametrize("most", [90, 390])
def test_a_distance_is_read_from_spelled_columns_and_kept_in_a_release(most, tmp_path):
    """The model sees the distance of two texts, and the second column is made of it; ranges declared, or learned in."""
    low = np.arange(1000) % most + 1000
    texts = pd.DataFrame({"net": low, "gross": low + 7}).map(lambda x: write_number(int(x), DOLLARS, 0))
    words = {"range_min": 1000, "range_max": 1010 + most, "sdtype": "numerical", "number_format": DOLLARS}
    synth = made({name: dict(words) for name in texts}, epsilon=20.0, random_state=1, **NET)
    texts.to_csv(tmp_path / "table.csv", index=False)
    for rows in (texts, tmp_path / "table.csv"):
        synth.fit(rows)
        again = Release.from_bytes(synth.release(allow_no_claim=True).to_bytes())
        for source in (synth, again, fitted_anew(synth, texts)):
            drawn = source.sample(200)
            net, gross = (np.array(read_numbers(drawn[name], DOLLARS)) for name in ("net", "gross"))
            assert np.median(gross - net) == 7


def test_text_that_fits_is_no_stranger_of_a_rule_s_columns(recwarn):
    """In parts too, whose first rows the holder is told of. Control: another spelling."""
    table = pd.DataFrame({"net": ["$1,000"] * 300, "gross": ["$1,007"] * 300})
    words = {"sdtype": "numerical", "range_min": 900, "range_max": 1100}
    for form, told in (("€1,234.5", 2), (DOLLARS, 0)):
        domain = {name: {**words, "number_format": form} for name in table}
        recwarn.clear()
        fit_source(table, domain=domain, epsilon=8.0, **NET)
        made(domain, epsilon=8.0, **NET).fit(table)
        assert len([one for one in recwarn if "for you" in str(one.message)]) == told
    synth = made(domain, **NET)
    assert not synth.check(table).findings
    assert "break the rule" in str(synth.check(table.assign(gross="$999")))


def test_the_inspector_reads_declared_spellings(tmp_path, monkeypatch):
    spelled()[list(DECLARED)].to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "d.json").write_text(json.dumps(DECLARED))
    seen, honest = [], inspect.prepare_pair
    monkeypatch.setattr(inspect, "prepare_pair", lambda *a: seen.append(a) or honest(*a))
    path = str(tmp_path / "a.csv")
    main(["inspect", path, path, "-o", str(tmp_path / "p.html"), "--domain", str(tmp_path / "d.json")])
    assert all(frame[name].notna().mean() > 0.99 for frame in seen[0][:2] for name in DECLARED)


def test_no_spelling_of_the_list_is_refused_with_the_way_out():
    words = r"column 'x': number_format \(.*\) must be the number 1234.5 written as"
    for bad in ("$1,234.50", "$12", "₿1234.5", 5, "1,234,5"):
        with pytest.raises(ValueError, match=words):
            metadata_of({"x": {"sdtype": "numerical", "number_format": bad}})
    with pytest.raises(ValueError, match="number_format cannot be used with sdtype 'categorical'"):
        PlausibleDeniabilitySynthesizer(
            metadata_of({"x": {"sdtype": "categorical"}}),
            domain={"x": {"sdtype": "categorical", "number_format": DOLLARS}},
        )
    assert "number_format" in Path("docs/reference/declarations.schema.json").read_text()
