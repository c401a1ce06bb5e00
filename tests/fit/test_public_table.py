"""public=: what may be given, what the ledger says, and that the table is in no file."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from sdv_plausible import Budget, PlausibleDeniabilitySynthesizer, Release, metadata_of
from sdv_plausible.fit.public_table import public_entries, starts, with_public
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.adaptive.public import PublicCodes
from sdv_plausible.rules.conditions import Implies
from sdv_plausible.rules.rule_set import RuleSet
from tests.flat import values

DOMAIN = {
    "ward": {"range_values": ["A", "B", "C"]},
    "days": {"range_min": 0, "range_max": 29},
    "sex": {"range_values": ["f", "m"]},
}
MARK = "Office of Marks, 2019"


def people(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    days = rng.integers(0, 30, rows)
    ward = np.where(rng.random(rows) < 0.7, np.array(["A", "B", "C"])[days // 10], "A")
    return pd.DataFrame({"ward": ward, "days": days, "sex": rng.choice(["f", "m"], rows)})


def made(**options) -> PlausibleDeniabilitySynthesizer:
    return PlausibleDeniabilitySynthesizer(
        metadata_of(DOMAIN), domain=DOMAIN, epsilon=0.5, **values(**options)
    )


@pytest.fixture(scope="module")
def fitted() -> PlausibleDeniabilitySynthesizer:
    synth = made(public=people(200, 1)[["days", "ward"]], public_source=MARK)
    synth.fit(people(2000, 0))
    return synth


def test_it_is_free_and_named_in_the_ledger(fitted):
    ledger = fitted.privacy_ledger()
    entry = next(e for e in ledger.entries if e.name == "public table")
    assert entry.status == "declared"
    assert "no protected row was used: published table of 200 rows" in entry.mechanism
    assert MARK in entry.mechanism
    without = made()
    without.fit(people(2000, 0))
    assert ledger.total() == without.privacy_ledger().total()
    planned = {e.name for e in fitted.plan().ledger.entries}
    assert "public table" in planned
    assert public_entries(None, None) == []


def test_whom_a_public_table_must_not_hold_is_said_wherever_the_ledger_is_read(fitted):
    """Control: a fit without one says nothing of it."""
    condition = "only if everybody may see that table: a confidential one"
    ledger = fitted.privacy_ledger()
    for text in (str(ledger), ledger.to_html(), ledger.to_json(), fitted.release().card().to_html()):
        assert condition in text
    assert condition not in str(made().plan().ledger)


def test_saved_object_and_release_hold_no_table(fitted, tmp_path):
    fitted.save(tmp_path / "synth.pkl")
    loaded = PlausibleDeniabilitySynthesizer.load(tmp_path / "synth.pkl")
    assert loaded.public is None
    assert loaded._known.learner.public is None
    assert fitted.public is not None
    assert len(loaded.sample(5)) == 5
    with pytest.raises(ValueError, match="its saved file does not hold"):
        loaded.fit(people(2000, 0))
    fitted.release().save(tmp_path / "release.json")
    release = Release.load(tmp_path / "release.json")
    assert (release.settings["public_rows"], release.settings["public_source"]) == (200, MARK)
    again = PlausibleDeniabilitySynthesizer.from_release(release)
    assert again.release().settings["public_rows"] == 200
    with pytest.raises(ValueError, match="sample_multiple does not go with public"):
        again.sample_multiple(2)


def test_without_it_the_release_says_nothing_of_it():
    synth = made()
    synth.fit(people(2000, 0))
    assert not {"public", "public_rows", "public_source"} & set(synth.release().settings)


def test_cells_are_read_as_the_domain_reads_them(fitted):
    odd = pd.DataFrame({"ward": ["B", "Z", None], "days": [3, 99, None]})
    domain = fitted.get_domain()
    codes = with_public(fitted._known.learner, odd, domain, RuleSet()).public.codes
    found = {name: codes[:, j].tolist() for j, name in enumerate(domain.names)}
    assert found == {"ward": [1, -1, -1], "days": [3, 29, -1], "sex": [-1, -1, -1]}


def test_a_budget_pays_the_same(tmp_path):
    synth = made(public=people(50, 1), budget=Budget(0.5, 1e-8, tmp_path / "budget.json"))
    synth.fit(people(1000, 0))
    assert synth.privacy_ledger().total() <= 0.5


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


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"public": "file.csv"}, r"public \(str\) must be a DataFrame with rows"),
        ({"public": people(5, 1)[:0]}, r"public \(DataFrame\) must be a DataFrame with rows"),
        ({"public": people(5, 1).assign(x=1)}, r"leave out \['x'\]"),
        ({"public": people(5, 1)[["ward", "ward"]]}, "once each"),
        ({"public": people(5, 1), "model": "independent"}, "goes with the default learner"),
        ({"public": "file.csv", "public_source": MARK}, r"public \(str\) must be"),
        ({"public": people(5, 1), "public_source": 3}, r"source \(3\) must be a text"),
    ],
)
def test_what_is_refused(options, told):
    with pytest.raises(ValueError, match=told):
        made(**options)


def test_no_table_comes_in_by_way_of_a_learner():
    hidden = PublicCodes(codes=np.zeros((9, 3), dtype=np.int32))
    for options in ({"model_parameters": {"public": hidden}}, {"model": AdaptiveNetwork(public=hidden)}):
        with pytest.raises(ValueError, match="no parameter of the learner"):
            made(**options)


def test_the_rows_themselves_are_refused():
    table = people(100, 0)
    synth = made(public=table)
    with pytest.raises(ValueError, match="is the one to be protected"):
        synth.fit(table)


def test_a_file_with_a_wrong_number_is_refused(fitted, tmp_path):
    path = tmp_path / "release.json"
    fitted.release().save(path)
    if path.read_bytes()[:1] != b"{":
        pytest.skip("the file is packed")
    document = json.loads(path.read_text())
    document["settings"]["public_rows"] = 0
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="public_rows"):
        Release.load(path)


def test_a_table_that_is_changed_later_changes_nothing():
    """It is copied: what the ledger calls a table of 200 rows is the one that was given."""
    given = people(200, 1)
    synth = made(public=given)
    given["sex"] = None
    with pytest.raises(AttributeError, match=r"public \(.* is fixed when a synthesizer is made"):
        synth.public = people(300, 1)
    synth.fit(people(1000, 0))
    assert "public table" in {e.name for e in synth.privacy_ledger().entries}
    assert synth.release().settings["public_rows"] == 200
    assert synth.public["sex"].notna().all()


@pytest.mark.parametrize("part", [slice(None), slice(40)])
def test_the_holder_is_warned_of_copies_of_the_rows(part):
    table = people(100, 0)
    with pytest.warns(UserWarning, match="Nothing protects them"):
        made(public=table[["sex", "days"]].iloc[part].copy()).fit(table)
    synth = made(public=table)
    processed = synth.preprocess(table)
    with pytest.warns(UserWarning, match="Nothing protects them"):
        synth.fit_processed_data(processed)


def test_what_no_copy_is_is_no_copy():
    table = people(100, 0)
    assert starts(table.head(3), table)
    assert not starts(table.iloc[1:4], table)
    assert not starts(pd.concat([table, table]), table)
    assert not starts(table.assign(ward="A"), table)
    assert starts(table.assign(x=1), table)  # an id, say
    assert not starts(table[[]].assign(x=1), table)


def test_the_release_refuses_tables_that_vary_as_the_noise_does(fitted):
    with pytest.raises(ValueError, match="sample_multiple does not go with"):
        fitted.release().sample_multiple(2)


def test_the_table_itself_is_seen_beside_an_id(tmp_path, capsys):
    """Ids are not among the rows that a model sees: they do not make a published table of the table itself."""
    from sdv_plausible.commands.cli import main

    rows = people(300, 0).assign(home=range(300))
    columns = {**DOMAIN, "home": {"sdtype": "id"}}
    synth = PlausibleDeniabilitySynthesizer(metadata_of(columns), domain=columns, public=rows.copy())
    with pytest.warns(UserWarning, match="public: it contains the first rows"):
        synth.fit(rows)
    rows.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "d.json").write_text(json.dumps(columns))
    words = ["fit", "t.csv", "-o", "t.release", "--domain", "d.json", "--public", "t.csv"]
    words = [str(tmp_path / word) if "." in word else word for word in words]
    assert main(words) == 2
    assert "is the table to be protected" in capsys.readouterr().err


@pytest.mark.parametrize("values_of", [["CH"], None])
def test_a_column_of_one_value_loses_no_fit(values_of, tmp_path):
    """Declared or learned: nothing of such a column is measured, and the published table says nothing of it."""

    def table(seed):
        return people(3000, seed).assign(country="CH", copy=lambda rows: rows["ward"])

    country = {"sdtype": "categorical", **({"range_values": values_of} if values_of else {})}
    domain = {**DOMAIN, "copy": DOMAIN["ward"], "country": country}
    budget = Budget(1, 1e-8, tmp_path / "budget.json")
    synth = PlausibleDeniabilitySynthesizer(
        metadata_of(domain), domain=domain, public=table(1), budget=budget, epsilon=0.9
    )
    synth.fit(table(0))
    assert (synth.sample(50)["country"] == "CH").all()


def test_a_column_that_says_nothing_is_named():
    """Its cells are not as the table's are. Control: as they are, and a column that is not there."""
    public = people(200, 1)
    for given, told in (
        (public.assign(ward=public["ward"].str.lower()), True), (public, False), (public.drop(columns="ward"), False),
    ):  # fmt: skip
        assert is_named("ward", made(public=given), people(2000, 0)) == told


def test_a_column_that_says_nothing_is_named_though_a_number_names_it():
    numbered = {"0": DOMAIN["ward"], "1": DOMAIN["sex"]}
    public, rows = (people(n, n)[["ward", "sex"]].set_axis([0, 1], axis=1) for n in (200, 2000))
    for given, told in ((public.replace({0: {"A": "a", "B": "b", "C": "c"}}), True), (public, False)):
        synth = PlausibleDeniabilitySynthesizer(
            metadata_of(numbered), domain=numbered, epsilon=0.5, **values(public=given)
        )
        assert is_named("0", synth, rows) == told


def is_named(column: str, synth: PlausibleDeniabilitySynthesizer, rows: pd.DataFrame) -> bool:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        synth.fit(rows)
    return any(f"most cells of {column} do not match" in str(warning.message) for warning in caught)
