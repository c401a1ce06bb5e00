"""What stands beside the mechanism and ends the claim: each thing has its entry, and nothing else has one."""

from __future__ import annotations

import itertools

from sdv_plausible.fitting.ledger_notes import entries_without_cost


def test_each_thing_has_an_entry_of_its_own():
    for seed, constraints, own in itertools.product([None, 7], [False, True], [False, True]):
        entries = entries_without_cost(seed, has_constraints=constraints, transformers=["a"] if own else [])
        wanted = {"coins": seed is not None, "constraints": constraints, "transformers": own}
        assert [entry.name for entry in entries] == [name for name, is_there in wanted.items() if is_there]
        assert {entry.status for entry in entries} <= {"no claim"}
        assert all(entry.note and entry.parts == () for entry in entries)
    assert (
        entries_without_cost(0, has_constraints=False)[0].mechanism == "random_state = 0"
    )  # zero is one, too
