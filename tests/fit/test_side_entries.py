"""What stands beside the mechanism and ends the claim: each thing has its entry, and nothing else has one."""

from __future__ import annotations

import itertools

import pytest

from sdv_plausible.fit.side_entries import side_entries


@pytest.mark.parametrize("chosen", list(itertools.product([None, 7], [False, True], [False, True])), ids=str)
def test_each_thing_has_an_entry_of_its_own(chosen):
    random_state, constraints, own = chosen
    entries = side_entries(random_state, has_constraints=constraints, transformers=["a"] if own else [])
    wanted = [name for name, there in (("coins", random_state is not None), ("constraints", constraints), ("transformers", own)) if there]  # fmt: skip
    assert [entry.name for entry in entries] == wanted
    assert {entry.status for entry in entries} <= {"no claim"}
    assert all(entry.note and entry.parts == () for entry in entries)


def test_a_random_state_of_zero_is_one():
    assert side_entries(0, has_constraints=False)[0].mechanism == "random_state = 0"
