"""public=: what may be given, what the ledger says, and that the table is in no file."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sentences import notes_of

from sdv_plausible import Budget, PlausibleDeniabilitySynthesizer, Release, metadata_of
from sdv_plausible.cli.main import main
from sdv_plausible.fitting.public_table import public_entries, starts, with_public
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.adaptive.public_prior import PublicCodes
from sdv_plausible.rules.conditions import Implies
from sdv_plausible.rules.rule_set import RuleSet
from tests.flat import values

DOMAIN = {
    "ward": {"range_values": ["A", "B", "C"]},
    "days": {"range_min": 0, "range_max": 29},
    "sex": {"range_values": ["f", "m"]},
}
MARK = "Office of Marks, 2019"


def people(rows, seed):
    rng = np.random.default_rng(seed)
    days = rng.integers(0, 30, rows)
    ward = np.where(rng.random(rows) < 0.7, np.array(["A", "B", "C"])[days // 10], "A")
    return pd.DataFrame({"ward": ward, "days": days, "sex": rng.choice(["f", "m"], rows)})


def made(domain=DOMAIN, **options):
    options = {"epsilon": 0.5, **values(**options)}
    return PlausibleDeniabilitySynthesizer(metadata_of(domain), domain=domain, **options)


@pytest.fixture(scope="module")
def fitted():
    synth = made(public=people(200, 1)[["days", "ward"]], public_source=MARK)
    synth.fit(people(2000, 0))
    return synth


def test_it_is_free_and_named_wherever_the_ledger_is_read(fitted):
    """Control: a fit without one says nothing of it."""
    ledger = fitted.privacy_ledger()
    entry = next(e for e in ledger.entries if e.name == "public table")
    assert entry.status == "declared"
    assert "no protected rows were used: published table of 200 rows" in entry.mechanism
    assert MARK in entry.mechanism
    assert "public table" in {e.name for e in fitted.plan().ledger.entries}
    assert public_entries(None, None) == []
    condition = "only if that table is public: a confidential table"
    for text in (str(ledger), ledger.to_html(), ledger.to_json(), fitted.release().card().to_html()):
        assert condition in text
    without = made()
    without.fit(people(2000, 0))
    assert ledger.total() == without.privacy_ledger().total()
    assert condition not in str(without.privacy_ledger())
    assert not {"public", "public_rows", "public_source"} & set(without.release().settings)


def test_saved_object_and_release_hold_no_table(fitted, tmp_path):
    fitted.save(tmp_path / "synth.pkl")
    loaded = PlausibleDeniabilitySynthesizer.load(tmp_path / "synth.pkl")
    assert loaded.public is None
    assert loaded._fit_template.learner.public is None
    assert fitted.public is not None
    assert len(loaded.sample(5)) == 5
    with pytest.raises(ValueError, match="its saved file does not contain"):
        loaded.fit(people(2000, 0))
    fitted.release().save(tmp_path / "release.json", readable=True)
    release = Release.load(tmp_path / "release.json")
    assert (release.settings["public_rows"], release.settings["public_source"]) == (200, MARK)
    again = PlausibleDeniabilitySynthesizer.from_release(release)
    assert again.release().settings["public_rows"] == 200
    for varied in (again, release):
        with pytest.raises(ValueError, match="sample_multiple cannot be used after a fit with public"):
            varied.sample_multiple(2)
    document = json.loads((tmp_path / "release.json").read_text())
    document["settings"]["public_rows"] = 0
    with pytest.raises(ValueError, match="public_rows"):
        Release.from_bytes(json.dumps(document).encode())


def test_cells_are_read_as_the_domain_reads_them(fitted):
    odd = pd.DataFrame({"ward": ["B", "Z", None], "days": [3, 99, None]})
    domain = fitted.get_domain()
    codes = with_public(fitted._fit_template.learner, odd, domain, RuleSet()).public.codes
    found = {name: codes[:, j].tolist() for j, name in enumerate(domain.names)}
    assert found == {"ward": [1, -1, -1], "days": [3, 29, -1], "sex": [-1, -1, -1]}


def test_rules_need_their_columns():
    rule = Implies({"ward": "C"}, {"sex": "f"})
    table = people(1000, 0)
    table.loc[table["ward"] == "C", "sex"] = "f"
    synth = made(public=people(50, 1), rules=[rule])
    synth.fit(table)
    drawn = synth.sample(200)
    assert (drawn.loc[drawn["ward"] == "C", "sex"] == "f").all()
    with pytest.raises(ValueError, match=r"public lacks columns \['sex'\] of the rules"):
        made(public=people(50, 1)[["ward"]], rules=[rule]).fit(table)


def test_what_is_refused():
    """No table comes in by way of a learner, either; and the rows themselves are no published table."""
    table = people(100, 0)
    hidden = PublicCodes(codes=np.zeros((9, 3), dtype=np.int32))
    for options, told in (
        ({"public": "file.csv"}, r"public \(str\) must be a non-empty DataFrame"),
        ({"public": table[:0]}, r"public \(DataFrame\) must be a non-empty DataFrame"),
        ({"public": table.assign(x=1)}, r"remove \['x'\]"),
        ({"public": table[["ward", "ward"]]}, "each once"),
        ({"public": table, "model": "independent"}, "needs the default learner"),
        ({"public": "file.csv", "public_source": MARK}, r"public \(str\) must be"),
        ({"public": table, "public_source": 3}, r"source \(3\) must be a text"),
        ({"model_parameters": {"public": hidden}}, "no parameter of the learner"),
        ({"model": AdaptiveNetwork(public=hidden)}, "no parameter of the learner"),
    ):
        with pytest.raises(ValueError, match=told):
            made(**options)
    with pytest.raises(ValueError, match="not the table to be protected"):
        made(public=table).fit(table)


def test_a_table_that_is_changed_later_changes_nothing():
    """It is copied: what the ledger calls a table of 200 rows is the one that was given."""
    given = people(200, 1)
    synth = made(public=given)
    given["sex"] = None
    with pytest.raises(AttributeError, match=r"public \(.* cannot be changed"):
        synth.public = people(300, 1)
    synth.fit(people(1000, 0))
    assert "public table" in {e.name for e in synth.privacy_ledger().entries}
    assert synth.release().settings["public_rows"] == 200
    assert synth.public["sex"].notna().all()


def test_the_holder_is_warned_of_copies_of_the_rows():
    table = people(100, 0)
    for part in (slice(None), slice(40)):
        with pytest.warns(UserWarning, match="Nothing protects them"):
            made(public=table[["sex", "days"]].iloc[part].copy()).fit(table)
    synth = made(public=table)
    processed = synth.preprocess(table)
    with pytest.warns(UserWarning, match="Nothing protects them"):
        synth.fit_processed_data(processed)
    table = people(100, 0)
    for copied in (table.head(3), table.assign(x=1)):  # an id, say
        assert starts(copied, table)
    others = (table.iloc[1:4], pd.concat([table, table]), table.assign(ward="A"), table[[]].assign(x=1))
    assert not any(starts(other, table) for other in others)


def test_the_table_itself_is_seen_beside_an_id(tmp_path, capsys):
    """Ids are not among the rows that a model sees: they do not make a published table of the table itself."""
    rows = people(300, 0).assign(home=range(300))
    columns = {**DOMAIN, "home": {"sdtype": "id"}}
    with pytest.warns(UserWarning, match="public: it contains the first rows"):
        made(columns, public=rows.copy()).fit(rows)
    rows.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "d.json").write_text(json.dumps(columns))
    words = ["fit", "t.csv", "-o", "t.release", "--domain", "d.json", "--public", "t.csv"]
    assert main([str(tmp_path / word) if "." in word else word for word in words]) == 2
    assert "is the table to be protected" in capsys.readouterr().err


def test_a_column_of_one_value_loses_no_fit(tmp_path):
    """Declared or learned: nothing of such a column is measured, and the published table says nothing of it."""
    tables = [people(3000, n).assign(country="CH", copy=lambda rows: rows["ward"]) for n in (0, 1)]
    for i, country in enumerate(({}, {"range_values": ["CH"]})):
        domain = {**DOMAIN, "copy": DOMAIN["ward"], "country": {"sdtype": "categorical", **country}}
        budget = Budget(1, 1e-8, tmp_path / str(i))
        synth = made(domain, public=tables[1], budget=budget, epsilon=0.9)
        synth.fit(tables[0])
        assert synth.privacy_ledger().total() <= 0.9
        assert (synth.sample(50)["country"] == "CH").all()


def test_a_column_that_says_nothing_is_named():
    """Its cells are not as the table's are, though a number names it. Control: as they are, and a column that is not there."""
    public, rows = people(200, 1), people(2000, 0)
    lower = public.assign(ward=public["ward"].str.lower())
    for given, told in ((lower, True), (public, False), (public.drop(columns="ward"), False)):
        assert is_named("ward", made(public=given), rows) == told
    numbered = {"0": DOMAIN["ward"], "1": DOMAIN["sex"]}
    lower, public, rows = (t[["ward", "sex"]].set_axis([0, 1], axis=1) for t in (lower, public, rows))
    for given, told in ((lower, True), (public, False)):
        assert is_named("0", made(numbered, public=given), rows) == told


def is_named(column, synth, rows):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        synth.fit(rows)
    return any(text.startswith(f"{column}: most cells of the public table") for text in notes_of(caught))
