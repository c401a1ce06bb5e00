"""Release-level test, random split, margins and the paper's formulas: exact enumeration, and planted errors that are caught."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import oracles_accounting as oracle
import pytest

from sdv_plausible.audit.theory.paper_formulas import (
    paper_advanced_composition,
    paper_model_loss,
    paper_parameter_loss,
    paper_sampling_amplification,
    paper_sequential_composition,
    paper_structure_loss,
)
from sdv_plausible.privacy.accounting.losses import ReleaseLoss
from sdv_plausible.privacy.accounting.theorem1 import (
    EpsilonDelta,
    random_split,
    release_test_loss,
    replace_one,
    size_lower_bound_margin,
)

A = Fraction(1, 3)
EPSILON0 = math.log(3)
K = 3


def released_size(size: int, threshold: int, pre_threshold: bool) -> oracle.Distribution:
    """Outcomes of one group: its noisy size if released, else None; values from 12 up merged (their ratio is constant)."""
    if size == 0 or (pre_threshold and size < K):
        return {None: Fraction(1)}
    top = 12
    out: oracle.Distribution = {None: 1 - oracle.geometric_tail(threshold - size, A)}
    for value in range(threshold, top):
        out[value] = (1 - A) / (1 + A) * A ** abs(value - size)
    out[top] = oracle.geometric_tail(top - size, A)
    return out


@pytest.mark.parametrize("pre_threshold", [True, False])
@pytest.mark.parametrize("s", [0, 1, 3])
def test_release_test_delta_is_exact(pre_threshold: bool, s: int) -> None:
    loss = release_test_loss(k=K, epsilon0=EPSILON0, pre_threshold=pre_threshold, s=s)
    worst = Fraction(0)
    for size in range(8):
        less, more = (released_size(x, K + s, pre_threshold) for x in (size, size + 1))
        for pair in ((more, less), (less, more)):
            worst = max(worst, oracle.hockey_stick(*pair, 1 / A))
            for factor in (Fraction(1), Fraction(3, 2), Fraction(5, 2), Fraction(7)):
                found = float(oracle.hockey_stick(*pair, factor))
                remove, add = ReleaseLoss(epsilon0=EPSILON0, delta=loss.delta).profile(math.log(factor))
                assert found <= float(remove if pair[0] is more else add) + 1e-12
    assert loss.epsilon == EPSILON0
    assert float(worst) == pytest.approx(loss.delta, rel=1e-12)  # exact: any smaller claim is false
    # Planted: off by one in the tail.
    wrong = float(A) * loss.delta
    assert float(worst) > wrong * 2


def test_release_margin_is_the_smallest_that_meets_delta() -> None:
    for pre_threshold, epsilon0, delta in itertools.product((True, False), (0.1, 0.5, 1.0), (1e-3, 1e-9, 2.0**-30)):
        found = release_test_loss(k=20, epsilon0=epsilon0, pre_threshold=pre_threshold, delta=delta)
        assert found.delta <= delta
        if found.s:
            looser = release_test_loss(k=20, epsilon0=epsilon0, pre_threshold=pre_threshold, s=found.s - 1)
            assert looser.delta > delta
    with pytest.raises(ValueError, match="exactly one"):
        release_test_loss(k=3, epsilon0=1.0)


def test_size_margin_covers_both_neighbours() -> None:
    for epsilon, beta in [(0.1, 1e-6), (1.0, 1e-3)]:
        s = size_lower_bound_margin(epsilon, beta)
        a = Fraction(math.exp(-epsilon))
        # The bound exceeds the smaller size n if Z >= s + 1 at size n, and if Z >= s at size n + 1.
        assert float(oracle.geometric_tail(s, a)) <= beta
        assert float(oracle.geometric_tail(s - 1, a)) > beta


def noisy_count(size: int, limit: int, a: Fraction) -> oracle.Distribution:
    """Discrete Laplace count, clamped to 0..limit: ln(1/a)-DP."""
    out = {v: (1 - a) / (1 + a) * a ** abs(v - size) for v in range(1, limit)}
    return {**out, 0: 1 - oracle.geometric_tail(1 - size, a), limit: oracle.geometric_tail(limit - size, a)}


def split_outputs(num_rows: int, parts: list[tuple[Fraction, list[Fraction]]]) -> oracle.Distribution:
    """Joint outcome of noisy counts of every part; a part's list holds one noise parameter for every use of it."""
    rest = 1 - sum(p for p, _ in parts)
    out: oracle.Distribution = {}
    for where in itertools.product(range(len(parts) + 1), repeat=num_rows):
        weight = math.prod(((*[p for p, _ in parts], rest)[w] for w in where), start=Fraction(1))
        uses = [noisy_count(where.count(i), 3, a) for i, (_, noises) in enumerate(parts) for a in noises]
        for outcome in itertools.product(*(u.items() for u in uses)):
            key = tuple(v for v, _ in outcome)
            out[key] = out.get(key, Fraction(0)) + weight * math.prod((p for _, p in outcome), start=Fraction(1))
    return out


def split_deltas(parts: list[tuple[Fraction, list[Fraction]]], epsilon: float) -> tuple[float, float]:
    factor = Fraction(math.exp(epsilon))
    more, less = split_outputs(3, parts), split_outputs(2, parts)
    return float(oracle.hockey_stick(more, less, factor)), float(oracle.hockey_stick(less, more, factor))


def test_random_split_is_joint_and_both_directions_hold() -> None:
    parts = [(Fraction(1, 4), [Fraction(1, 2)]), (Fraction(1, 2), [Fraction(1, 4)])]
    claim = random_split([(0.25, math.log(2), 0.0), (0.5, math.log(4), 0.0)])
    assert claim.remove.epsilon == pytest.approx(math.log(0.25 * 2 + 0.5 * 4 + 0.25))
    assert claim.add.epsilon == pytest.approx(-math.log(0.25 / 2 + 0.5 / 4 + 0.25))
    assert claim.remove.epsilon < math.log(4)
    remove, _ = split_deltas(parts, claim.remove.epsilon)
    _, add = split_deltas(parts, claim.add.epsilon)
    assert remove <= 1e-12
    assert add <= 1e-12
    assert split_deltas(parts, claim.remove.epsilon * 0.8)[0] > 1e-4  # tight enough to catch a smaller claim


def test_split_used_twice_is_composed_first_and_amplified_once() -> None:
    """Planted: two uses of the same part, each amplified, then added. The exact loss exceeds that sum."""
    half = Fraction(1, 2)
    parts = [(Fraction(1, 5), [half, half])]
    once = random_split([(0.2, 2 * math.log(2), 0.0)])
    added = 2 * random_split([(0.2, math.log(2), 0.0)]).remove.epsilon
    assert split_deltas(parts, once.remove.epsilon)[0] <= 1e-12
    assert added < once.remove.epsilon
    assert split_deltas(parts, added)[0] > 1e-3


def test_split_delta_of_adding_is_not_the_average() -> None:
    """Part 1 shows its size with probability 1/10, part 2 is a noisy count: sum p_c delta_c alone is too small."""
    shown, a = Fraction(1, 10), Fraction(1, 9)

    def outputs(num_rows: int) -> oracle.Distribution:
        out: oracle.Distribution = {}
        for where in itertools.product((0, 1), repeat=num_rows):
            weight = Fraction(1, 2**num_rows)
            for value, p in noisy_count(where.count(1), 3, a).items():
                for first, q in ((where.count(0), shown), (None, 1 - shown)):
                    out[first, value] = out.get((first, value), Fraction(0)) + weight * p * q
        return out

    claim = random_split([(0.5, 0.0, 0.1), (0.5, math.log(9), 0.0)])
    # One table of no rows against one of one row: all of the loss is in the added row's part.
    exact = float(oracle.hockey_stick(outputs(0), outputs(1), Fraction(math.exp(claim.add.epsilon))))
    average = 0.5 * 0.1
    assert claim.remove.delta == pytest.approx(average)
    assert average < exact <= claim.add.delta
    assert claim.worst.delta <= 0.1


def test_split_errors() -> None:
    with pytest.raises(ValueError, match="one part only"):
        random_split([(0.7, 1.0, 0.0), (0.7, 1.0, 0.0)])
    assert random_split([(1.0, 0.3, 1e-9)]).worst == pytest.approx(EpsilonDelta(0.3, 1e-9))


def test_replace_one_is_two_steps() -> None:
    assert replace_one(EpsilonDelta(0.5, 1e-6)) == pytest.approx((1.0, (1 + math.exp(0.5)) * 1e-6))
    assert replace_one(EpsilonDelta(1e6, 0.0)) == (2e6, 0.0)


def test_paper_formulas_as_printed() -> None:
    assert paper_sequential_composition([(0.1, 1e-9), (0.2, 0.0)]) == pytest.approx((0.3, 1e-9))
    epsilon, delta = paper_advanced_composition(0.1, 1e-10, 100, 1e-9)
    assert epsilon == pytest.approx(0.1 * math.sqrt(200 * math.log(1e9)) + 10 * (math.exp(0.1) - 1))
    assert delta == pytest.approx(1e-8 + 1e-9)
    assert paper_sampling_amplification(1.0, 1e-9, 0.1) == pytest.approx((math.log(1 + 0.1 * (math.e - 1)), 1e-10))
    structure = paper_structure_loss(11, 0.005, 2.0**-30, 0.01)
    assert structure.epsilon == pytest.approx(
        0.005 * math.sqrt(264 * 30 * math.log(2)) + 132 * 0.005 * math.expm1(0.005) + 0.01
    )
    parameters = paper_parameter_loss(11, 0.05, 2.0**-30)
    assert paper_model_loss(structure, parameters) == (max(structure.epsilon, parameters.epsilon), 2.0**-30)


def test_paper_figures_are_above_ours() -> None:
    """Theorem 3 on 132 entropies against the exact composition of the same noise."""
    from sdv_plausible.privacy.accounting.composition import compose
    from sdv_plausible.privacy.accounting.losses import PureDP

    printed = paper_advanced_composition(0.02, 0.0, 132, 1e-9).epsilon
    ours = compose([PureDP(epsilon=0.02, count=132)], 1e-9)
    assert ours < 0.95 * printed
    assert np.isfinite(ours)
