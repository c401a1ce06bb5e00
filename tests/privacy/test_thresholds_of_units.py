"""What passes a threshold, against all rows that a unit may bring or take: the real rules, enumerated.

The rule (which counts are looked at, which noisy counts are shown) is read off the code by giving it chosen
noise; the law of the noise is put in exactly. Proofs: docs/explanation/proofs/persons.md, Theorems 3 and 4.
Nothing is drawn: no false alarm, and every planted bug is caught surely.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import pytest
from cases import fast_and_nightly

from sdv_plausible.extensions.audit.disclosure import exact
from sdv_plausible.mechanism.privacy_tests import release_level
from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.privacy.accounting.losses import ApproxDP, GaussianLoss, ReleaseLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries import partition_selection, queryable
from sdv_plausible.queries.queryable import Queryable
from tests.flat import bound

Sizes = tuple[int, ...]
Law = Mapping[Any, Any]  # outcome -> probability
FACTORS = [Fraction(x) for x in ("1", "3/2", "2", "3", "5", "9")]


def parts(total: int, of: int) -> Iterator[Sizes]:
    """All ways to put at most so many rows into so many groups."""
    return (found for found in itertools.product(range(total + 1), repeat=of) if sum(found) <= total)


def neighbour_sizes(neighbours: Neighbours, groups: int, largest: int) -> Iterator[tuple[Sizes, Sizes]]:
    """Sizes of the groups on two neighbours; other people's rows first."""
    units = [unit for unit in parts(neighbours.rows, groups) if sum(unit)]
    for rest in itertools.product(range(largest + 1), repeat=groups):
        without = [rest] if not neighbours.replace else [plus(rest, unit) for unit in units]
        yield from ((one, plus(rest, unit)) for one in without for unit in units)


def plus(one: Sizes, other: Sizes) -> Sizes:
    return tuple(a + b for a, b in zip(one, other, strict=True))


def divergence(first: list[Law], second: list[Law], factor: Any) -> Any:
    """Hockey-stick divergence of products of independent groups."""
    total: Any = 0
    for outcome in itertools.product(*(set(a) | set(b) for a, b in zip(first, second, strict=True))):
        p = math.prod((law.get(x, 0) for law, x in zip(first, outcome, strict=True)), start=Fraction(1))
        q = math.prod((law.get(x, 0) for law, x in zip(second, outcome, strict=True)), start=Fraction(1))
        total += max(p - factor * q, 0)
    return total


A = Fraction(1, 2)  # the noise's ratio per row
TOP = 14  # noisy sizes from here on are one outcome: their ratio is constant


def release_test(neighbours: Neighbours, margin: int, k: int = 2) -> ReleaseTest:
    """A test whose noise falls by A per row, with a margin of choice."""

    class Chosen(ReleaseTest):
        margin = property(lambda self: margin)  # type: ignore[assignment]

    return Chosen(k=k, epsilon0=neighbours.histogram_l1 * -math.log(A)).bound(0.1, neighbours)


def laws_of(test: ReleaseTest, largest: int) -> list[Law]:
    """What is shown of a group of each size; None if it is not released."""
    shown: list[dict[Any, Fraction]] = [{} for _ in range(largest + 1)]
    for z in range(-TOP - largest, TOP + 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(release_level.noise, "discrete_laplace", lambda sizes, z=z, **_: sizes + z)
            visible = zip(
                *(x.tolist() for x in test.release(np.arange(largest + 1), KeyedRNG.from_seed(0))),
                strict=True,
            )
        for size, noisy in visible:
            if size and noisy < TOP:
                shown[size][noisy] = exact.discrete_laplace_mass(z, A)
    return [with_rest(law, size, test) for size, law in enumerate(shown)]


def with_rest(law: dict[Any, Fraction], size: int, test: ReleaseTest) -> Law:
    if size < test.least_seeds:
        assert not law
        return {None: Fraction(1)}
    law[TOP] = exact.discrete_laplace_tail(TOP - size, A)
    law[None] = 1 - sum(law.values())
    assert law[None] >= 0
    return law


def delta_of(neighbours: Neighbours, margin: int) -> Fraction:
    """Theorem 4: c groups that get one row each, or one that gets all; on both sides of a replacement."""
    c, sides = neighbours.rows, 2 if neighbours.replace else 1
    return sides * max(c * A**margin, A ** (margin + 1 - c)) / (1 + A)


def release_excess(test: ReleaseTest, margin: int, groups: int, largest: int = 4) -> tuple[float, Fraction]:
    """Largest excess over the claimed profile, and the largest divergence at epsilon0."""
    neighbours = test.neighbours
    laws = laws_of(test, largest + 2 * neighbours.rows)
    claimed = delta_of(neighbours, margin)
    loss = ReleaseLoss(epsilon0=test.epsilon0, delta=float(claimed), l1=neighbours.histogram_l1)
    profiles = {f: [float(x) for x in loss.profile(math.log(f))] for f in FACTORS}
    worst, at_epsilon0 = -1.0, Fraction(0)
    for sizes in neighbour_sizes(neighbours, groups, largest):
        less, more = ([laws[size] for size in one] for one in sizes)
        for pair, direction in (((more, less), 0), ((less, more), 1)):
            at_epsilon0 = max(at_epsilon0, divergence(*pair, A**-neighbours.histogram_l1))
            excess = (float(divergence(*pair, f)) - profiles[f][direction] for f in FACTORS)
            worst = max(worst, *excess)
    return worst, at_epsilon0


UNITS = [
    (Neighbours(), 1, 6),
    (Neighbours(rows=2), 2, 4),
    (Neighbours(rows=3), 2, 5),
    (Neighbours(replace=True), 2, 4),
]


@pytest.mark.parametrize(("neighbours", "groups", "largest"), UNITS)
@pytest.mark.parametrize("margin", fast_and_nightly([3], [5]))
def test_the_release_test_keeps_its_profile_for_every_unit(
    neighbours: Neighbours, groups: int, largest: int, margin: int
) -> None:
    worst, at_epsilon0 = release_excess(release_test(neighbours, margin), margin, groups, largest)
    claimed = delta_of(neighbours, margin)
    assert worst <= 1e-12
    assert at_epsilon0 <= claimed
    if not neighbours.replace:  # exact but for the product of small failures; replacement adds both sides up
        assert at_epsilon0 >= claimed * (1 - claimed)


@pytest.mark.parametrize("rows", [2, 3])
def test_planted_the_margin_of_one_row(rows: int) -> None:
    """The margin that keeps this delta for one row does not keep it for several."""
    neighbours, margin = Neighbours(rows=rows), 5
    claimed = ReleaseLoss(epsilon0=1.0, delta=float(delta_of(ONE_ROW, margin))).delta
    _, found = release_excess(release_test(neighbours, margin), margin, 2, 4)
    assert found > 1.9 * claimed


def test_planted_the_noise_of_one_row() -> None:
    """Noise for one row, and a unit of two: at the loss of one row they are told apart far too often."""
    laws = laws_of(release_test(ONE_ROW, 5), 12)
    worst = max(
        divergence([laws[x] for x in other], [laws[x] for x in one], A**-1)
        for one, other in neighbour_sizes(Neighbours(rows=2), 1, 6)
    )
    assert worst > 10 * delta_of(ONE_ROW, 5)


def test_a_released_prefix_has_seeds_of_k_people_surely() -> None:
    for rows, k in itertools.product((1, 2, 5), (1, 2, 4)):
        test = bound(ReleaseTest, k=k, epsilon0=1.0, delta=0.4, neighbours=Neighbours(rows=rows))
        assert test.least_seeds == (k - 1) * rows + 1  # k - 1 people have one row less, at most
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(release_level.noise, "discrete_laplace", lambda sizes, **_: sizes + 10**6)
            which, _ = test.release(np.arange(40), KeyedRNG.from_seed(0))
        assert which.min() == test.least_seeds


MU, FAILURE = 1.6, 0.02
EPSILONS = (0.0, 0.4, 1.0, 2.0, 3.0)
REACH = 60


class Counted:
    """A question whose values are numbers and whose counts are given."""

    def __init__(self, sizes: np.ndarray) -> None:
        self.sizes = sizes

    def occurring(self, rows: Any) -> Any:
        return range(len(self.sizes)), self.sizes, np.zeros(1, dtype=np.int64)


def door(neighbours: Neighbours, failure: float) -> Queryable:
    losses = (GaussianLoss(sensitivity_over_sigma=MU), ApproxDP(epsilon=0.0, delta=failure))
    entry = LedgerEntry(name="domain", mechanism="test", losses=losses, scope="test")
    return Queryable(None, PrivacyLedger(delta=1e-6, neighbours=neighbours), [entry], KeyedRNG.from_seed(0))


def frequent_laws(neighbours: Neighbours, largest: int, failure: float = FAILURE) -> tuple[list[Law], float]:
    """What is shown of a value with each count, and the noise's sigma."""
    used, at, visible = list[float](), np.arange(-REACH, REACH + 1), []
    for z in at:

        def shifted(
            values: np.ndarray, *, sensitivity: float, rho: float, z: Any = z, **_: Any
        ) -> np.ndarray:
            used.append(sensitivity / math.sqrt(2 * rho))
            return np.asarray(values) + z

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(noise, "discrete_gaussian", shifted)
            found = door(neighbours, failure).ask_frequent(Counted(np.arange(largest + 1)), 1.0, failure)
        visible.append(dict(zip(found.values, found.counts.astype(int).tolist(), strict=True)))
    sigma = used[0]
    laws: list[Law] = []
    for size in range(largest + 1):
        law: dict[Any, float] = {}
        for shown, p in zip(visible, gaussian_masses(at, sigma).tolist(), strict=True):
            outcome = shown.get(size) if size else None
            law[outcome] = law.get(outcome, 0.0) + p
        laws.append(law)
    return laws, sigma


def gaussian_masses(at: np.ndarray, sigma: float) -> np.ndarray:
    weight = np.exp(-(at**2) / (2 * sigma**2))
    return weight / weight.sum()


def frequent_excess(real: Neighbours, laws: list[Law], failure: float, values: int, largest: int) -> float:
    """Largest excess of the divergence over what the domain charges: the Gaussian next to the failure."""
    outcomes = {x for law in laws for x in law}
    table = np.array([[law.get(x, 0.0) for x in outcomes] for law in laws])
    gauss = {e: float(GaussianLoss(sensitivity_over_sigma=MU).profile(e)[0]) for e in EPSILONS}
    worst = -1.0
    for pair in neighbour_sizes(real, values, largest):
        p, q = (reduce(np.multiply.outer, [table[size] for size in sizes]) for sizes in pair)
        for e in EPSILONS:
            claim = failure + (1 - failure) * gauss[e]
            for first, second in ((p, q), (q, p)):
                worst = max(worst, float(np.maximum(first - math.exp(e) * second, 0).sum()) - claim)
    return worst


@pytest.fixture
def two_holders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queryable, "LEAST_HOLDERS", 2)
    monkeypatch.setattr(partition_selection, "LEAST_HOLDERS", 2)


FREQUENT_UNITS = [
    (Neighbours(), 1, 8),
    (Neighbours(rows=2), 2, 6),
    (Neighbours(rows=4), 1, 12),
    (Neighbours(replace=True), 2, 4),
    (Neighbours(rows=3, replace=True), 1, 9),
]


@pytest.mark.usefixtures("two_holders")
@pytest.mark.parametrize(("neighbours", "values", "largest"), FREQUENT_UNITS)
def test_values_that_occur_keep_their_charge(neighbours: Neighbours, values: int, largest: int) -> None:
    laws, sigma = frequent_laws(neighbours, largest + 2 * neighbours.rows)
    assert sigma == pytest.approx(neighbours.histogram_l2 / MU)
    assert frequent_excess(neighbours, laws, FAILURE, values, largest) <= 1e-9
    never = neighbours.rows_of(2) - 1  # rows of one holder
    assert all(set(law) == {None} for law in laws[: never + 1])
    assert set(laws[never + 1]) != {None}


@pytest.mark.usefixtures("two_holders")
@pytest.mark.parametrize("rows", [4, 6])
def test_planted_the_threshold_of_one_row(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise for all rows of a unit, and a threshold that was made for one."""
    neighbours, honest = Neighbours(rows=rows), partition_selection.threshold
    of_one = lambda sigma, failure, _: honest(sigma / rows, failure, ONE_ROW)  # noqa: E731
    monkeypatch.setattr(queryable, "threshold", of_one)
    laws, _ = frequent_laws(neighbours, 3 * rows)
    shown = max(1 - laws[size].get(None, 0.0) for size in range(rows, 2 * rows))
    assert shown > 10 * FAILURE
    laws, _ = frequent_laws(ONE_ROW, 12)  # planted: noise of one row
    assert frequent_excess(Neighbours(rows=3), laws, FAILURE, 1, 6) > 0.1


def test_a_value_of_one_person_alone_was_released_and_is_not() -> None:
    """Fifty equal rows of one person at mu 1.2, tau 1e-11: released nearly surely for one row, now never."""
    tau, rows, mu = 1e-11, 50, 1.2
    sigma = 1 / mu
    least = partition_selection.threshold(sigma, tau, ONE_ROW)
    z = np.arange(-40, 41)
    mass = gaussian_masses(z, sigma)
    assert mass[rows + z >= least].sum() > 0.999
    assert rows < Neighbours(rows=rows).rows_of(partition_selection.LEAST_HOLDERS)  # not even looked at now


def test_the_threshold_keeps_its_failure_for_new_values_of_one_unit() -> None:
    """All ways to spread c rows over values that were just too rare: the chances add up to tau at most."""

    for rows, mu, tau in itertools.product((1, 2, 4), (0.3, 1.0), (1e-4, 0.05)):
        neighbours = Neighbours(rows=rows)
        sigma, rare = neighbours.histogram_l2 / mu, neighbours.rows_of(partition_selection.LEAST_HOLDERS) - 1
        z = np.arange(-math.ceil(40 * sigma), math.ceil(40 * sigma) + 1)
        weight = gaussian_masses(z, sigma)

        def shown(least: int, rows: int, rare: int, z: np.ndarray, weight: np.ndarray) -> float:
            tail = [weight[rare + new + z >= least].sum() for new in range(rows + 1)]
            spreads = (found for found in parts(rows, rows) if sum(found) == rows)
            return float(max(sum(tail[new] for new in found if new) for found in spreads))

        made = (rows, rare, z, weight)
        assert shown(partition_selection.threshold(sigma, tau, neighbours), *made) <= tau
        assert rows == 1 or shown(partition_selection.threshold(sigma, tau, ONE_ROW), *made) > tau  # planted
