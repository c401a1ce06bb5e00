"""What stands beside the mechanism and ends the claim: each thing has its entry, and nothing else has one."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest

from sdv_plausible.release.side_entries import own_transformers, side_entries


def transformer(is_generator: bool, **more):
    return SimpleNamespace(is_generator=lambda: is_generator, **more)


LEARNS, INVENTS = transformer(False), transformer(True)
REPEATS = {rule: transformer(True, cardinality_rule=rule) for rule in ("match", "scale", "unique", None)}


@pytest.mark.parametrize("chosen", list(itertools.product([None, 7], [False, True], [False, True])), ids=str)
def test_each_thing_has_an_entry_of_its_own(chosen):
    random_state, constraints, own = chosen
    transformers = {"a": LEARNS if own else INVENTS, "b": None}
    entries = side_entries(random_state, has_constraints=constraints, transformers=transformers)
    wanted = [name for name, there in (("coins", random_state is not None), ("constraints", constraints), ("transformers", own)) if there]  # fmt: skip
    assert [entry.name for entry in entries] == wanted
    assert {entry.status for entry in entries} <= {"no claim"}
    assert all(entry.note and entry.parts == () for entry in entries)


def test_a_random_state_of_zero_is_one():
    assert side_entries(0, has_constraints=False, transformers={})[0].mechanism == "random_state = 0"


def test_transformers_that_learn_are_named():
    """Those that are no generators, and generators that repeat the number of values."""
    named = {
        "learns": LEARNS,
        "invents": INVENTS,
        "none": None,
        **{str(rule): t for rule, t in REPEATS.items()},
        3: LEARNS,
    }
    assert own_transformers(named) == ["learns", "3", "match", "scale"]


def test_a_generator_that_hands_values_on_is_named():
    """As SDV's pseudonyms, of which every real value has one. Control: what a generator makes and keeps."""
    hands_on, keeps = (
        transformer(True, output_properties={None: {"sdtype": made}}) for made in ("categorical", None)
    )
    assert own_transformers({"hands on": hands_on, "keeps": keeps}) == ["hands on"]
