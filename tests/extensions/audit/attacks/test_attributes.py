"""Attribute inference: what is known of the population is no leak, what is copied is."""

import numpy as np
import pandas as pd
import pytest
from attacked import CopyCat, people

from sdv_plausible.extensions.audit.attacks.black_box import attribute_inference, worst_attribute

MEMBERS, OTHERS = people(600, seed=1), people(600, seed=2)


def test_copies_leak_and_strangers_do_not() -> None:
    """Of a copy 63 % of the rows are there: at least 40 % more are guessed right, of a chance of .02 to .3."""
    copies = CopyCat()
    copies.fit(MEMBERS)
    found = attribute_inference(MEMBERS, OTHERS, copies.sample(600), "job", false_alarm=1e-4)
    assert found.excess > 0.1
    assert "job" in str(found)
    for bound in worst_attribute(MEMBERS, OTHERS, people(600, seed=3), false_alarm=1e-4):
        assert bound.excess == 0.0


def test_what_everybody_knows_is_no_leak() -> None:
    """A column that follows from another is guessed right for all."""
    tables = [
        pd.DataFrame({"age": t["age"], "old": np.where(t["age"] > 50, "yes", "no")})
        for t in (MEMBERS, OTHERS)
    ]
    found = attribute_inference(tables[0], tables[1], tables[1], "old")
    assert found.members > 0.95
    assert found.excess == 0.0
    with pytest.raises(ValueError, match="secret"):
        attribute_inference(MEMBERS, OTHERS, OTHERS, "nothing")
