"""Plausible-seed statistics as the page shows them."""

import numpy as np
import pytest

from sdv_plausible.evaluation.page.sections import SeedDiagnostics


def test_seed_statistics_are_shares_by_powers_of_two():
    found = SeedDiagnostics.of(
        {
            "plausible_seeds": np.array([1, 1, 2, 3, 4]),
            "pass_rates": {50: {9: 0.5, "[5-11]": 0.75}, 10: {9: 1.0}},
        }
    )
    assert found.sizes == (("1", 0.4), ("2 to 3", 0.4), ("4 to 7", 0.2))
    assert found.ks == (10, 50)
    assert found.pass_rates[0] == ("9", (1.0, 0.5))
    assert found.pass_rates[1][0] == "[5-11]"
    assert np.isnan(found.pass_rates[1][1][0])
    assert SeedDiagnostics.of(None) is None
    assert SeedDiagnostics.of({}).sizes == ()


@pytest.mark.parametrize(
    ("diagnostics", "words"),
    [
        ({"sizes": [1]}, r"has the parts \['sizes'\]"),
        ({"plausible_seeds": [0]}, r"\(0\) must be at least 1"),
        ({"pass_rates": {5: {1: 1.5}}}, r"must be shares in \[0, 1\]"),
    ],
)
def test_bad_seed_statistics_get_clear_errors(diagnostics, words):
    with pytest.raises(ValueError, match=words):
        SeedDiagnostics.of(diagnostics)
