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
from typing import Any

import numpy as np
import pytest
from cases import fast_and_nightly

from sdv_plausible.audit.disclosure import exact
from sdv_plausible.mechanism.privacy_tests import release_level
from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.privacy.accounting.losses import ApproxDP, GaussianLoss, ReleaseLoss
from sdv_plausible.privacy.accounting.release_loss import release_margin, size_lower_bound_margin
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.questions import frequent, queryable
from sdv_plausible.questions.queryable import Queryable
from tests.flat import bound

Sizes = tuple[int, ...]
Law = Mapping[Any, Any]  # outcome -> probability
FACTORS = [Fraction(x) for x in ("1", "3/2", "2", "3", "5", "9")]


def parts(total: int, of: int) -> Iterator[Sizes]:
    """All ways to put at most so many rows into so many groups."""
    for found in itertools.product(range(total + 1), repeat=of):
        if sum(found) <= total:
            yield found


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


# --- the release test: discrete Laplace noise, in fractions ---------------------------------------

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
            which, noisy = test.release(np.arange(largest + 1), Coins.from_seed(0))
        visible = dict(zip(which.tolist(), noisy.tolist(), strict=True))
        for size in range(1, largest + 1):
            if size in visible and visible[size] < TOP:
                shown[size][visible[size]] = exact.discrete_laplace_mass(z, A)
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
    for one, other in neighbour_sizes(neighbours, groups, largest):
        less, more = ([laws[size] for size in sizes] for sizes in (one, other))
        for pair, direction in (((more, less), 0), ((less, more), 1)):
            at_epsilon0 = max(at_epsilon0, divergence(*pair, A**-neighbours.histogram_l1))
            for factor in FACTORS:
                worst = max(worst, float(divergence(*pair, factor)) - profiles[factor][direction])
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


def test_a_unit_of_many_rows_may_be_one_group_or_many() -> None:
    """Both terms of Theorem 4 are needed: which one is larger depends on the noise."""
    c, s = 3, 4
    assert c * A**s < A ** (s + 1 - c)
    a = Fraction(9, 10)
    assert c * a**s > a ** (s + 1 - c)


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
            which, _ = test.release(np.arange(40), Coins.from_seed(0))
        assert which.min() == test.least_seeds


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 10, 50])
@pytest.mark.parametrize("epsilon0", [0.1, 1.0, 8.0])
def test_the_margin_is_the_smallest_that_keeps_delta(rows: int, epsilon0: float, replaced: bool) -> None:
    neighbours, delta = Neighbours(rows=rows, replace=replaced), 5e-10
    a = math.exp(-epsilon0 / neighbours.histogram_l1)

    def shown(s: int) -> float:
        return (1 + replaced) * max(rows * a**s, a ** (s + 1 - rows)) / (1 + a)

    s = release_margin(epsilon0, delta, neighbours)
    assert shown(s) <= delta * (1 + 1e-12)
    assert shown(s - 1) > delta
    assert neighbours == ONE_ROW or shown(release_margin(epsilon0, delta)) > delta  # planted: for one row


@pytest.mark.parametrize("rows", [1, 3, 20])
def test_the_size_bound_holds_for_the_smaller_neighbour(rows: int) -> None:
    """Pr[n + c + Z - margin > n], Z of scale c/epsilon, summed."""
    epsilon, beta = 0.5, 1e-4
    a = math.exp(-epsilon / rows)
    bad = lambda margin: a ** (margin + 1 - rows) / (1 + a)  # noqa: E731
    z = np.arange(-4000, 4001)
    mass = (1 - a) / (1 + a) * a ** np.abs(z)
    margin = size_lower_bound_margin(epsilon, beta, Neighbours(rows=rows))
    assert mass[z > margin - rows].sum() == pytest.approx(bad(margin), rel=1e-6)
    assert bad(margin) <= beta < bad(margin - 1)
    assert rows == 1 or bad(size_lower_bound_margin(epsilon, beta)) > beta  # planted: the margin of one row


# --- values that occur: discrete Gaussian noise, in doubles ---------------------------------------

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
    return Queryable(None, PrivacyLedger(delta=1e-6, neighbours=neighbours), [entry], Coins.from_seed(0))


def frequent_laws(neighbours: Neighbours, largest: int, failure: float = FAILURE) -> tuple[list[Law], float]:
    """What is shown of a value with each count, and the noise's sigma."""
    used: list[float] = []
    visible: dict[int, dict[int, int]] = {}
    for z in range(-REACH, REACH + 1):
        with pytest.MonkeyPatch.context() as patch:

            def shifted(
                values: np.ndarray, *, sensitivity: float, rho: float, z: int = z, **_: Any
            ) -> np.ndarray:
                used.append(sensitivity / math.sqrt(2 * rho))
                return np.asarray(values) + z

            patch.setattr(noise, "discrete_gaussian", shifted)
            found = door(neighbours, failure).ask_frequent(Counted(np.arange(largest + 1)), 1.0, failure)
        visible[z] = dict(zip(found.values, found.counts.astype(int).tolist(), strict=True))
    sigma = used[0]
    z = np.arange(-REACH, REACH + 1)
    weight = np.exp(-(z**2) / (2 * sigma**2))
    mass = dict(zip(z.tolist(), (weight / weight.sum()).tolist(), strict=True))
    laws = []
    for size in range(largest + 1):
        law: dict[Any, float] = {}
        for z_, p in mass.items():
            outcome = visible[z_].get(size) if size else None
            law[outcome] = law.get(outcome, 0.0) + p
        laws.append(law)
    return laws, sigma


def arrays(laws: list[Law]) -> np.ndarray:
    """Laws as rows over all outcomes, None first."""
    outcomes = [None, *sorted({x for law in laws for x in law if x is not None})]
    return np.array([[law.get(x, 0.0) for x in outcomes] for law in laws])


def frequent_excess(real: Neighbours, laws: list[Law], failure: float, values: int, largest: int) -> float:
    """Largest excess of the divergence over what the domain charges: the Gaussian next to the failure."""
    table = arrays(laws)
    gauss = {e: float(GaussianLoss(sensitivity_over_sigma=MU).profile(e)[0]) for e in EPSILONS}
    worst = -1.0
    for one, other in neighbour_sizes(real, values, largest):
        p, q = (reduce_outer([table[size] for size in sizes]) for sizes in (other, one))
        for e in EPSILONS:
            claim = failure + (1 - failure) * gauss[e]
            for first, second in ((p, q), (q, p)):
                worst = max(worst, float(np.maximum(first - math.exp(e) * second, 0).sum()) - claim)
    return worst


def reduce_outer(rows: list[np.ndarray]) -> np.ndarray:
    found = rows[0]
    for row in rows[1:]:
        found = np.multiply.outer(found, row)
    return found


@pytest.fixture
def two_holders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queryable, "LEAST_HOLDERS", 2)
    monkeypatch.setattr(frequent, "LEAST_HOLDERS", 2)


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
    neighbours, honest = Neighbours(rows=rows), frequent.threshold
    of_one = lambda sigma, failure, _: honest(sigma / rows, failure, ONE_ROW)  # noqa: E731
    monkeypatch.setattr(queryable, "threshold", of_one)
    laws, _ = frequent_laws(neighbours, 3 * rows)
    shown = max(1 - laws[size].get(None, 0.0) for size in range(rows, 2 * rows))
    assert shown > 10 * FAILURE


@pytest.mark.usefixtures("two_holders")
def test_planted_the_noise_of_one_row_for_values() -> None:
    laws, _ = frequent_laws(ONE_ROW, 12)
    assert frequent_excess(Neighbours(rows=3), laws, FAILURE, 1, 6) > 0.1


def test_a_value_of_one_person_alone_was_released_and_is_not() -> None:
    """Fifty equal rows of one person at mu 1.2, tau 1e-11: released nearly surely for one row, now never."""
    tau, rows, mu = 1e-11, 50, 1.2
    sigma = 1 / mu
    least = frequent.threshold(sigma, tau, ONE_ROW)
    z = np.arange(-40, 41)
    mass = np.exp(-(z**2) / (2 * sigma**2))
    mass /= mass.sum()
    assert mass[rows + z >= least].sum() > 0.999
    assert rows < Neighbours(rows=rows).rows_of(frequent.LEAST_HOLDERS)  # not even looked at now


def test_the_threshold_keeps_its_failure_for_new_values_of_one_unit() -> None:
    """All ways to spread c rows over values that were just too rare: the chances add up to tau at most."""

    def spread(rows: int) -> Iterator[Sizes]:
        return (found for found in parts(rows, rows) if sum(found) == rows)

    for rows, mu, tau in itertools.product((1, 2, 4), (0.3, 1.0), (1e-4, 0.05)):
        neighbours = Neighbours(rows=rows)
        sigma, rare = neighbours.histogram_l2 / mu, neighbours.rows_of(frequent.LEAST_HOLDERS) - 1
        z = np.arange(-math.ceil(40 * sigma), math.ceil(40 * sigma) + 1)
        weight = np.exp(-(z**2) / (2 * sigma**2))
        weight /= weight.sum()

        def shown(least: int, rows: int, rare: int, z: np.ndarray, weight: np.ndarray) -> float:
            tail = [weight[rare + new + z >= least].sum() for new in range(rows + 1)]
            return float(max(sum(tail[new] for new in found if new) for found in spread(rows)))

        made = (rows, rare, z, weight)
        assert shown(frequent.threshold(sigma, tau, neighbours), *made) <= tau
        assert rows == 1 or shown(frequent.threshold(sigma, tau, ONE_ROW), *made) > tau  # planted
