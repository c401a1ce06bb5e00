"""Nothing declared, the defaults: a true claim; and what ends it says so."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.sdv import sdv_versions as sdv_compat
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer

COLUMNS = {"age": {"sdtype": "numerical"}, "city": {"sdtype": "categorical"}}


def table(n: int = 4000) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"age": rng.integers(0, 90, n), "city": rng.choice(["Bern", "Chur", "Thun"], n)})
    frame.loc[0] = [987_654_321, "Single Person's Town"]
    return frame


def make(**options) -> PlausibleDeniabilitySynthesizer:
    return PlausibleDeniabilitySynthesizer(metadata_from_columns(COLUMNS), **options)


def test_the_defaults_make_a_claim_and_hold_no_single_persons_value() -> None:
    """Control: reading the value sets off the rows holds both, and makes no claim."""
    synth = make()
    synth.fit(table())
    assert synth.privacy_ledger().total() <= 1.0
    domain = synth.get_domain()
    assert max(domain["age"].upper) < 987_654_321
    assert "Single Person's Town" not in domain["city"].values

    synth = make(undeclared="infer")
    synth.fit(table())
    assert not synth.privacy_ledger().claims_privacy
    domain = synth.get_domain()
    assert max(domain["age"].upper) == 987_654_321
    assert "Single Person's Town" in domain["city"].values


def test_reading_value_sets_off_the_rows_warns() -> None:
    said = "age, city: values were taken from the rows.*no privacy guarantee"
    with pytest.warns(UserWarning, match=said):
        make(undeclared="infer").fit(table())
    with warnings.catch_warnings(record=True) as told:  # among them what the noise hides
        warnings.simplefilter("always")
        make().fit(table())
    assert not [w for w in told if "taken from the rows" in str(w.message)]


@pytest.mark.skipif(not sdv_compat.TAKES_DICT, reason="SDV 1 has no declared ranges in its metadata")
def test_ranges_in_the_metadata_need_the_callers_word() -> None:
    with pytest.raises(TypeError, match='^source: give domain="written"$'):
        make(domain="metadata", source="written")
    assert make(domain="written").plan().ledger.claims_privacy
