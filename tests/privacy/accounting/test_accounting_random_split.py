"""The total of a split release: the proved formula, its direction, and mistakes that must be caught."""

from __future__ import annotations

import math

import pytest
from theory.random_split import random_split

from sdv_plausible.privacy.accounting.composition import RandomSplit, compose, split_total
from sdv_plausible.privacy.accounting.losses import ApproxDP, GaussianLoss, Loss, PureDP
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger

DELTA = 1e-9
PARTS: list[tuple[float, list[Loss]]] = [
    (0.2, [PureDP(epsilon=0.1, count=20)]),
    (0.3, [GaussianLoss(sensitivity_over_sigma=0.4)]),
    (0.4, []),
]


def test_is_the_proved_joint_loss_in_both_directions() -> None:
    each = [(p, compose(losses, DELTA) if losses else 0.0, DELTA if losses else 0.0) for p, losses in PARTS]
    proved, total = random_split(each), split_total(PARTS, [], DELTA)
    assert total == pytest.approx(proved.remove.epsilon, rel=1e-9)
    assert total >= proved.add.epsilon
    assert max(proved.remove.delta, proved.add.delta) <= DELTA


def test_planted_mistakes_are_below() -> None:
    """The larger of amplified parts (the paper's), and the mean of the parts' losses, say too little."""
    each = [(p, compose(losses, DELTA)) for p, losses in PARTS if losses]
    total = split_total(PARTS, [], DELTA)
    assert total > 1.1 * max(math.log1p(p * math.expm1(e)) for p, e in each)
    assert total > sum(p * e for p, e in each)


def test_what_all_rows_are_used_for_is_added() -> None:
    with_common = split_total(PARTS, [PureDP(epsilon=0.5)], DELTA)
    assert with_common > 0.5 + 0.95 * split_total(PARTS, [], DELTA)
    assert split_total([(1.0, [PureDP(epsilon=0.5)])], [], DELTA) == pytest.approx(0.5)
    assert split_total([(0.5, [PureDP(epsilon=900.0)])], [], DELTA) == pytest.approx(900 + math.log(0.5))
    assert math.isinf(split_total([(0.5, [ApproxDP(epsilon=0.1, delta=0.5)])], [], DELTA))


def test_the_deltas_of_parts_and_of_all_rows_are_within_the_total() -> None:
    """The parts have half of delta: what all rows are used for has an epsilon at the other half, and at no more."""

    def total(of_all: float) -> float:
        return split_total(PARTS, [ApproxDP(epsilon=0.5, delta=of_all * DELTA)], DELTA)

    assert total(0.49) == pytest.approx(0.5 + split_total(PARTS, [], DELTA / 2))
    assert math.isinf(total(0.51))


def test_entries_go_to_the_parts_that_they_are_of() -> None:
    entries: list[tuple[tuple[str, ...], list[Loss]]] = [
        (("structure",), PARTS[0][1]),
        (("parameters",), PARTS[1][1]),
    ]
    fine, merged = (RandomSplit.of((0.2, 0.3, 0.4), apart=apart) for apart in (True, False))
    assert fine.total(entries, DELTA) == pytest.approx(split_total(PARTS, [], DELTA))
    together = split_total([(0.5, [*PARTS[0][1], *PARTS[1][1]])], [], DELTA)
    assert merged.total(entries, DELTA) == pytest.approx(together)
    domain: list[tuple[tuple[str, ...], list[Loss]]] = [(("domain",), [PureDP(epsilon=0.5)])]
    assert fine.total([*entries, *domain], DELTA) > 0.5
    both = [(("structure", "parameters"), PARTS[0][1])]
    assert fine.total(both, DELTA) == pytest.approx(compose(PARTS[0][1], DELTA), rel=0.1)  # of no part alone


def test_what_is_of_no_part_is_of_all_rows() -> None:
    """An entry that names no part is not amplified. Control: one that names a part is."""

    def total(parts: tuple[str, ...], split: RandomSplit | None) -> float:
        ledger = PrivacyLedger(delta=DELTA)
        ledger.split = split
        losses = (PureDP(epsilon=0.8),)
        ledger.charge(LedgerEntry(name="domain", mechanism="m", losses=losses, scope="s", parts=parts))
        return ledger.total()

    for apart in (True, False):
        split = RandomSplit.of((0.2, 0.3, 0.4), apart=apart)
        assert total((), split) == pytest.approx(total((), None)) == pytest.approx(0.8)
        assert total(("seeds",), split) < 0.5
