"""With undeclared="private" a fit makes a claim with nothing declared, and SDV's own machinery carries no row past it."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from sdv_plausible import sdv_compat
from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer

pytestmark = pytest.mark.filterwarnings("ignore:We strongly recommend saving the metadata:UserWarning")

COLUMNS = {
    "id": {"sdtype": "id", "regex_format": "P[0-9]{5}"},
    "email": {"sdtype": "email", "pii": True},
    "ticket": {"sdtype": "id"},
    "city": {"sdtype": "categorical"},
    "member": {"sdtype": "boolean"},
    "age": {"sdtype": "numerical"},
    "children": {"sdtype": "numerical"},
    "income": {"sdtype": "numerical"},
    "start": {"sdtype": "datetime"},
    "day": {"sdtype": "datetime", "datetime_format": "%d.%m.%Y"},
    "grade": {"sdtype": "categorical"},
}


def make(columns=None, **options):
    metadata = sdv_compat.metadata_from_columns(columns or COLUMNS)
    return PlausibleDeniabilitySynthesizer(metadata, **{"undeclared": "private", **options})


def fitted(table, columns=None, **options):
    synth = make(columns, **options)
    synth.fit(table)
    return synth


def test_claim_with_nothing_declared(mixed_table):
    synth = make(epsilon=2.0, delta=1e-6)
    planned = synth.plan(table_rows=len(mixed_table))
    assert any("become missing" in w for w in planned.warnings)
    synth.fit(mixed_table)
    ledger = synth.privacy_ledger()
    assert ledger.claims_privacy
    assert 1.9 < ledger.total() <= 2.0  # domain and model together, all of the budget
    assert planned.ledger.to_dict() == ledger.to_dict()
    rows = synth.sample(300)
    assert list(rows.columns) == list(mixed_table.columns)
    assert len(rows) == 300


def test_types_on_a_larger_table(mixed_table):
    table = pd.concat([mixed_table] * 30, ignore_index=True).drop(columns=["id", "email", "ticket"])
    columns = {n: COLUMNS[n] for n in table}
    rows = fitted(table, columns, epsilon=2.0, delta=1e-6, random_state=4).sample(2000)
    for name in table:
        if name != "grade":
            assert rows[name].dtype == table[name].dtype, name
    assert list(rows["grade"].cat.categories) == ["A", "B", "C"]  # the one never used is not known to be there
    assert set(rows["city"].dropna()) == {"Bern", "Basel", "Chur"}
    assert 0.02 < rows["city"].isna().mean() < 0.1
    assert rows["age"].between(16, 127).all()
    assert (rows["income"].dropna() == rows["income"].dropna().round(2)).all()
    assert pd.to_datetime(rows["day"], format="%d.%m.%Y").dt.year.isin([2020, 2021, 2022, 2023]).mean() > 0.98


def test_declared_and_private_columns_together(mixed_table):
    columns = {"age": COLUMNS["age"], "city": COLUMNS["city"]}
    table = mixed_table[["age", "city"]]
    synth = fitted(table, columns, domain={"age": {"range_min": 0, "range_max": 110}}, delta=1e-6)
    found = {a.name: a.provenance for a in synth._codec.domain}
    assert found == {"age": "declared", "city": "private"}
    assert synth.privacy_ledger().total() <= 1.0


@pytest.mark.skipif(not sdv_compat.TAKES_DICT, reason="SDV 1 has no declared ranges in its metadata")
def test_missing_values_ruled_out_in_the_users_metadata():
    table = pd.DataFrame({"x": ["a"] * 2000 + [f"rare {i}" for i in range(2000)]})
    columns = {"x": {"sdtype": "categorical", "range_is_nullable": False}}
    for domain, nullable in ((None, True), ("metadata", False)):
        assert fitted(table, columns, domain=domain, epsilon=5.0)._codec.domain["x"].nullable is nullable


def test_without_noise_nothing_is_private(mixed_table):
    synth = fitted(mixed_table, epsilon=np.inf)
    assert not synth.privacy_ledger().claims_privacy
    assert {a.provenance for a in synth._codec.domain} == {"inferred"}
    assert not make(epsilon=np.inf).plan().ledger.claims_privacy


def test_bad_argument():
    with pytest.raises(ValueError, match='undeclared .* must be "infer" or "private"'):
        make(undeclared="guess")


# ---- what SDV invents --------------------------------------------------------------------------------------------------

INVENTED = {"email": {"sdtype": "email", "pii": True}, "code": {"sdtype": "unknown"}, "city": {"sdtype": "categorical"}}


def invented_table():
    n = 400
    return pd.DataFrame(
        {"email": [f"u{i}@example.org" for i in range(n)], "code": np.arange(n) + 10, "city": ["Bern", "Chur"] * (n // 2)}
    )


def changed_table():
    """Other first rows, one missing value, one longer number: all of it in columns that are invented."""
    table = invented_table()
    table.loc[:4, "email"] = [f"other{i}@example.com" for i in range(5)]
    table.loc[5, "email"] = None
    table.loc[0, "code"] = 123_456_789_012
    return table


def test_invented_columns_do_not_depend_on_the_rows():
    first, second = (fitted(t, INVENTED, random_state=3).sample(200) for t in (invented_table(), changed_table()))
    pd.testing.assert_frame_equal(first, second)


def test_invented_columns_do_not_tell_the_number_of_rows():
    for rows in (400, 401):
        synth = fitted(changed_table().reindex(range(rows), method="ffill"), INVENTED, random_state=3)
        transformers = synth._data_processor._hyper_transformer.field_transformers.values()
        assert not any(getattr(t, "data_length", 0) for t in transformers)


@pytest.mark.parametrize("left_out", ["_faker_random_seed", "_nan_frequency", "function_kwargs"])
def test_planted_fault_one_learned_thing_kept(left_out, monkeypatch):
    """Each of the three things that SDV learned there shows if it is kept."""
    from sdv_plausible import _synthesizer

    forget = _synthesizer.forget_rows

    def forgetful(processor, specs, coins):
        transformers = processor._hyper_transformer.field_transformers
        kept = {n: getattr(t, left_out) for n, t in transformers.items() if t is not None and hasattr(t, left_out)}
        forget(processor, specs, coins)
        for name, value in kept.items():
            setattr(transformers[name], left_out, value)
            transformers[name].reset_randomization()

    monkeypatch.setattr(_synthesizer, "forget_rows", forgetful)
    first, second = (fitted(t, INVENTED, random_state=3).sample(400) for t in (invented_table(), changed_table()))
    assert not first.equals(second)


def test_generator_that_learns_the_number_of_values_ends_the_claim():
    from rdt.transformers import AnonymizedFaker

    synth = make(INVENTED)
    table = sdv_compat.to_native(synth._table_name, invented_table())
    synth.auto_assign_transformers(table)
    synth.update_transformers({"email": AnonymizedFaker("internet", "email", cardinality_rule="match")})
    synth.fit(invented_table())
    assert not synth.privacy_ledger().claims_privacy


def test_the_plan_says_what_the_rows_can_carry(mixed_table):
    small, large = make(epsilon=0.1).plan(table_rows=600), make(epsilon=1.0).plan(table_rows=10_000_000)
    assert any("close to noise" in w for w in small.warnings)
    assert not any("close to noise" in w for w in large.warnings)
    assert "At about 600 rows noise moves a column by up to" in str(small)
    assert "stand well above the noise from about" in str(make().plan())
    assert make(epsilon=math.inf, undeclared="infer").plan(table_rows=600).forecast is None
