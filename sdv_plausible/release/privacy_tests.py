"""The privacy tests: which candidates may leave, what that costs, and who draws the rows.

Three guarantees, never blurred (docs/explanation/privacy_promise.md): :class:`DeterministicTest` gives plausible
deniability only, :class:`RandomizedTest` gives differential privacy row by row, :class:`ReleaseTest` gives one
guarantee for any number of rows. Each owns its cost: nothing else in the package asks which test it is.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sdv_plausible.models.base import PrefixModel, SeedModel
from sdv_plausible.models.omega import Omega
from sdv_plausible.privacy import checks as check
from sdv_plausible.privacy.accounting.losses import ApproxDP, InfiniteLoss, ReleaseLoss
from sdv_plausible.privacy.accounting.pass_rate import floor_by_construction
from sdv_plausible.privacy.accounting.released_rows import seed_test_loss
from sdv_plausible.privacy.accounting.theorem1 import release_test_loss, size_lower_bound_margin, theorem1_best
from sdv_plausible.privacy.ledger import LedgerEntry
from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.questions.queryable import Queryable
from sdv_plausible.release.mechanism import PlausibleDeniabilityMechanism
from sdv_plausible.release.released_prefixes import ReleasedSeeds
from sdv_plausible.release.sampler import PrefixSampler, RecordSampler, Sampler

PREFIX_CELLS = 8  # default omega keeps this many combinations of the seed's values, at most
SIZE_EPSILON = 0.1  # randomised test: spent on the noisy number of seeds
SIZE_DELTA_SHARE = 0.01  # of the seeds' delta, for the event that its lower bound is too high


def check_k(k: Any) -> None:
    """Raise unless k is a whole number >= 1."""
    check.whole("k", k, 1, "it is a number of plausible seed records; try 50")


def check_gamma(gamma: Any) -> None:
    """Raise unless gamma is finite and > 1."""
    if check.at_least("gamma", gamma, 1.0, "it is a factor; try 4.0") == 1.0:
        raise ValueError(f"gamma ({gamma!r}) must be a finite number above 1: it is a factor; try 4.0")


class PrivacyTest(ABC):
    """What a synthesizer asks of its privacy test."""

    has_delta: ClassVar[bool]
    """Whether the seeds take a share of delta."""

    k: int

    @classmethod
    def uses_seeds_with(cls, omega: Omega | None) -> bool:  # noqa: ARG003
        """Whether seed records enter the release at this omega."""
        return True

    @property
    @abstractmethod
    def covers(self) -> str | None:
        """What the total is for, in words; None where there is no total."""

    @property
    def row_limit(self) -> int | None:
        """Rows that may ever be released from one fit; None for any number."""
        return None

    @abstractmethod
    def charge(self, gamma: float) -> tuple[LedgerEntry, ...]:
        """Ledger entries of the seeds.

        Parameters
        ----------
        gamma : float
            Factor between the likelihoods that the model's plausible seeds may have: 1 for prefix groups of a known omega,
            else the test's own.
        """

    def confirm(self, seeds: Queryable) -> None:  # noqa: B027  most tests have nothing to check
        """Check public claims about the seeds, before they cost more. Raises ValueError if one does not stand."""

    def check_model(self, made: type[SeedModel]) -> None:  # noqa: B027  most tests take any model
        """Raise ValueError if a learner's models do not offer what the test needs."""

    def default_omega(self, order_cardinalities: Sequence[int]) -> Omega:
        """Number of resampled attributes, chosen from declared cardinalities where the user left it open.

        The first attributes of the order are kept as long as their values have at most ``PREFIX_CELLS`` combinations:
        groups of an eighth of the seeds on average, large enough on 500 rows.
        """
        m = len(order_cardinalities)
        kept, cells = 0, 1
        for cardinality in order_cardinalities[: max(0, m - 1)]:
            cells *= cardinality
            if cells > PREFIX_CELLS:
                break
            kept += 1
        return Omega(m - kept, m - kept)

    @abstractmethod
    def start(self, model: SeedModel, seeds: Queryable, omega: Omega, sampling: Coins) -> Sampler:
        """Return who draws the rows, from a fitted model and the seeds, whose :meth:`charge` has been paid.

        Parameters
        ----------
        model : SeedModel
            Fitted.
        seeds : Queryable
            The seed records behind their door.
        omega : Omega
            Number of resampled attributes.
        sampling : Coins
            Secret of the sampling streams.
        """

    def complaints(self, num_rows: int) -> list[str]:  # noqa: ARG002
        """Errors for the holder of a table of so many rows, before anything is fitted."""
        return []

    def warnings(self, num_rows: int | None, table_rows: int | None) -> list[str]:
        """What to expect of so many rows wanted, from a table of about so many rows."""
        found = []
        if num_rows is not None and self.row_limit is not None and num_rows > self.row_limit:
            found.append(f"num_rows ({num_rows}) is above row_cap ({self.row_limit}): sampling would be refused")
        return [*found, *([] if table_rows is None else self._table_warnings(table_rows))]

    def _table_warnings(self, table_rows: int) -> list[str]:
        if self.k > table_rows:
            return [f"k ({self.k}) is above the number of rows ({table_rows}): hardly any row would pass"]
        return []


@dataclass(frozen=True, kw_only=True)
class DeterministicTest(PrivacyTest):
    """Privacy Test 1 (section 2): pass if the candidate has at least k plausible seeds.

    It gives plausible deniability, not differential privacy: whether a row passes depends on a sharp threshold.

    Parameters
    ----------
    k : int
        Plausible seeds needed, >= 1; the seed itself counts.
    gamma : float
        Partition width, > 1.
    row_cap : int
        Rows that may ever be released from one fit.
    """

    has_delta: ClassVar[bool] = False
    k: int
    gamma: float
    row_cap: int = 1_000_000

    def __post_init__(self) -> None:
        check_k(self.k)
        check_gamma(self.gamma)

    @property
    def covers(self) -> str | None:
        """Nothing: there is no total."""
        return None

    @property
    def row_limit(self) -> int | None:
        """The row cap."""
        return self.row_cap

    def charge(self, gamma: float) -> tuple[LedgerEntry, ...]:  # noqa: ARG002
        """One entry, without a finite epsilon."""
        return (
            LedgerEntry(
                name="rows",
                mechanism=(
                    f"Privacy Test 1, k = {self.k}, gamma = {self.gamma:g}: each row has at least {self.k} "
                    "plausible seeds (plausible deniability)"
                ),
                losses=(InfiniteLoss(),),
                scope="each released row",
                note="Privacy Test 1 has a sharp threshold, which gives plausible deniability but no epsilon; use "
                "privacy_test='release'",
            ),
        )

    def passes(self, plausible_seeds: np.ndarray, coins: Coins) -> np.ndarray:  # noqa: ARG002
        """Boolean array: which candidates pass."""
        passed: np.ndarray = plausible_seeds >= self.k
        return passed

    def start(self, model: SeedModel, seeds: Queryable, omega: Omega, sampling: Coins) -> Sampler:
        """Mechanism 1, which gives up where too few candidates pass: nothing is claimed that a failure could break."""
        return _mechanism(self, model, seeds, omega, sampling, gives_up=True)

    def complaints(self, num_rows: int) -> list[str]:
        """No row could pass with fewer records than k."""
        if self.k > num_rows:
            return [f"k ({self.k}) is above the number of rows ({num_rows}): no row could have k plausible seeds; lower k"]
        return []


@dataclass(frozen=True, kw_only=True)
class RandomizedTest(PrivacyTest):
    """Privacy Test 2 (section 2.1): as Test 1, with the threshold drawn afresh for every candidate.

    The threshold is ``k + z`` with z discrete Laplace, ``Pr[z] ~ exp(-epsilon0 |z|)``: counts are integers, so
    integer noise loses nothing and has no floating-point side door.

    Parameters
    ----------
    k : int
        Centre of the threshold, >= 1. No released row is sure to have k plausible seeds.
    gamma : float
        Partition width, > 1.
    epsilon0 : float
        Inverse scale of the threshold noise, > 0.
    delta : float
        Failure probability for the rows and the check of ``least_rows``, in (0, 1).
    row_cap : int
        Rows that may ever be released from one fit; all are charged.
    seed_free_share : float
        Probability that a proposal resamples everything, in (0, 1]. All seeds are then plausible, so the pass rate cannot
        fall below this share by construction (docs/explanation/proofs/pass_rate.md, Theorem 3).
    least_rows : int
        A public number that the count of seeds reaches.
    """

    has_delta: ClassVar[bool] = True
    k: int
    gamma: float
    epsilon0: float
    delta: float = 1e-9
    row_cap: int = 1_000_000
    seed_free_share: float = 0.5
    least_rows: int = 1000

    def __post_init__(self) -> None:
        check_k(self.k)
        check_gamma(self.gamma)
        check.positive("epsilon0", self.epsilon0, "try 1.0")

    @property
    def covers(self) -> str | None:
        """The rows of one fit."""
        return f"the first {self.row_cap:,} rows released from this fit; not the saved synthesizer, which holds records"

    @property
    def row_limit(self) -> int | None:
        """The row cap."""
        return self.row_cap

    def charge(self, gamma: float) -> tuple[LedgerEntry, ...]:
        """Return the check of ``least_rows``, and all rows up to the cap.

        Raises
        ------
        ValueError
            If so few seeds as ``least_rows`` cannot carry this k.
        """
        size = LedgerEntry(
            name="size",
            mechanism=f"number of seeds, discrete Laplace noise, epsilon {SIZE_EPSILON:g}",
            losses=(ApproxDP(epsilon=SIZE_EPSILON, delta=self._size_delta),),
            scope="the check of least_rows",
        )
        return size, self._rows_entry(gamma)

    @property
    def _size_delta(self) -> float:
        return SIZE_DELTA_SHARE * self.delta

    def _rows_entry(self, gamma: float) -> LedgerEntry:
        floor = floor_by_construction(self.seed_free_share, self.k, self.epsilon0, self.least_rows)
        loss = seed_test_loss(
            num_rows=self.row_cap, k=self.k, gamma=gamma, epsilon0=self.epsilon0,
            delta=(1 - SIZE_DELTA_SHARE) * self.delta, pass_rate_floor=floor, n_lower=self.least_rows,
        )  # fmt: skip
        if not math.isfinite(loss.epsilon):
            raise ValueError(
                f"k ({self.k}) and epsilon0 ({self.epsilon0:g}) are out of reach for least_rows ({self.least_rows}) seeds at "
                f"delta {self.delta:.3g}: lower k, raise epsilon0, delta or least_rows, or use privacy_test='release'"
            )
        return LedgerEntry(
            name="rows",
            mechanism=(
                f"Privacy Test 2, k = {self.k}, epsilon0 = {self.epsilon0:g}; Theorem 1 added up over "
                f"{self.row_cap:,} rows would say {self._theorem1_sum():,.0f}"
            ),
            losses=(ApproxDP(epsilon=loss.epsilon, delta=loss.delta),),
            scope=f"the first {self.row_cap:,} rows released from this fit, not the saved synthesizer",
        )

    def _theorem1_sum(self) -> float:
        """The paper's own accounting of the rows: Theorem 1 with the best t, added up."""
        try:
            return self.row_cap * theorem1_best(self.k, self.gamma, self.epsilon0, self.delta / self.row_cap).epsilon
        except ValueError:
            return math.inf

    def confirm(self, seeds: Queryable) -> None:
        """Refuse where a noisy count of the seeds contradicts the declared lower bound.

        Raises
        ------
        ValueError
            If the bound does not stand. This depends on the noisy count alone.
        """
        margin = size_lower_bound_margin(SIZE_EPSILON, self._size_delta)
        if seeds.count_rows(SIZE_EPSILON, self._size_delta) - margin < self.least_rows:
            raise ValueError(
                f"least_rows ({self.least_rows}) is not confirmed by the noisy number of seeds, which must exceed it by "
                f"{margin}: declare a lower number, or use privacy_test='release'. That noisy number has cost epsilon "
                f"{SIZE_EPSILON}, and a domain learned privately its share of epsilon: both add to what the next fit will cost"
            )

    def passes(self, plausible_seeds: np.ndarray, coins: Coins) -> np.ndarray:
        """Boolean array: which candidates pass; one fresh threshold each."""
        # Repeatable: drawn from the call's own secret stream, so that SDV's reset_sampling repeats the very same rows.
        noisy = noise.discrete_laplace(plausible_seeds, sensitivity=1, epsilon=self.epsilon0, coins=coins, repeatable=True)
        passed: np.ndarray = noisy >= self.k
        return passed

    def start(self, model: SeedModel, seeds: Queryable, omega: Omega, sampling: Coins) -> Sampler:
        """Mechanism 1, which proposes until enough rows pass."""
        return _mechanism(self, model, seeds, omega, sampling, seed_free_share=self.seed_free_share)

    def _table_warnings(self, table_rows: int) -> list[str]:
        found = super()._table_warnings(table_rows)
        if table_rows < self.least_rows:
            found.insert(
                0, f"least_rows ({self.least_rows}) is above the number of rows ({table_rows}): the fit would be refused"
            )
        return found


@dataclass(frozen=True, kw_only=True)
class ReleaseTest(PrivacyTest):
    """One noisy size per prefix group, drawn once: any number of rows for one (epsilon0, delta).

    Groups of at least k seeds get ``size + z``, z discrete Laplace with scale 1/epsilon0, and are released if that is
    at least ``k + margin``. So every released prefix has at least k true seeds, surely, and the loss is
    (epsilon0, Pr[z >= margin]) (docs/explanation/proofs/release_test.md).

    Parameters
    ----------
    k : int
        Sure lower bound on the seeds of every released prefix, >= 1.
    epsilon0 : float
        Privacy loss of the noisy sizes, > 0.
    delta : float
        Upper bound on the failure probability, in (0, 1).
    uses_seeds : bool
        Whether any attribute is kept; else the model alone is released, and k, epsilon0 and delta play no part.
    """

    has_delta: ClassVar[bool] = True
    k: int
    epsilon0: float
    delta: float
    uses_seeds: bool = True

    def __post_init__(self) -> None:
        check_k(self.k)
        check.positive("epsilon0", self.epsilon0, "try 1.0")
        check.open_probability("delta", self.delta, "try 1e-9")

    @classmethod
    def uses_seeds_with(cls, omega: Omega | None) -> bool:
        """Seeds play no part where every attribute is resampled, which is the default."""
        return omega is not None and not omega.is_all

    @property
    def covers(self) -> str | None:
        """Everything that can be drawn, and the object."""
        return "any number of rows, and the saved synthesizer"

    @property
    def margin(self) -> int:
        """Smallest s >= 1 with Pr[z >= s] = a**s / (1 + a) <= delta, where a = exp(-epsilon0)."""
        return max(1, release_test_loss(k=self.k, epsilon0=self.epsilon0, delta=self.delta).s)

    def charge(self, gamma: float) -> tuple[LedgerEntry, ...]:  # noqa: ARG002
        """One entry for any number of rows."""
        if not self.uses_seeds:
            return (
                LedgerEntry(
                    name="seeds",
                    mechanism="no seed record is used (every attribute is resampled): k, gamma and epsilon0 play no part",
                    losses=(),
                    scope="the release",
                ),
            )
        return (
            LedgerEntry(
                name="seeds",
                mechanism=(
                    f"one noisy size per prefix group of at least k = {self.k} seeds, discrete Laplace, epsilon0 "
                    f"{self.epsilon0:g}; every released prefix has at least {self.k} seeds, surely"
                ),
                losses=(ReleaseLoss(epsilon0=self.epsilon0, delta=self.delta),),
                scope="any number of rows and the saved synthesizer",
            ),
        )

    def check_model(self, made: type[SeedModel]) -> None:
        """Raise ValueError unless the models keep a prefix of the seed."""
        if not issubclass(made, PrefixModel):
            raise ValueError(
                f"privacy_test ('release') needs a model with prefix groups, not {made.__name__}: derive it from PrefixModel "
                "and let its learner say so (makes = ...), or use 'randomized' or 'deterministic'"
            )

    def default_omega(self, order_cardinalities: Sequence[int]) -> Omega:  # noqa: ARG002
        """All: copying part of a seed did not pay at equal total (benchmarks/README.md)."""
        return Omega(None, None)

    def release(self, group_sizes: np.ndarray, coins: Coins) -> tuple[np.ndarray, np.ndarray]:
        """Select groups and draw their released sizes.

        Parameters
        ----------
        group_sizes : ndarray of int, shape (g,)
            True sizes of the groups present.
        coins : Coins
            Source of the noise.

        Returns
        -------
        released : ndarray of int
            Positions of the released groups.
        noisy_sizes : ndarray of int64
            Their released sizes, each >= k + margin.
        """
        large = np.flatnonzero(group_sizes >= self.k)
        if not len(large):
            return large, np.empty(0, dtype=np.int64)
        noisy = noise.discrete_laplace(group_sizes[large], sensitivity=1, epsilon=self.epsilon0, coins=coins)
        kept = noisy >= self.k + self.margin
        return large[kept], noisy[kept]

    def start(self, model: SeedModel, seeds: Queryable, omega: Omega, sampling: Coins) -> Sampler:
        """Draw what leaves of the seeds, once; rows are post-processing of it."""
        assert isinstance(model, PrefixModel)  # see check_model
        return PrefixSampler(model=model, coins=sampling, seeds=ReleasedSeeds.draw(model, seeds, omega, self))

    def _table_warnings(self, table_rows: int) -> list[str]:
        return super()._table_warnings(table_rows) if self.uses_seeds else []


def _mechanism(
    test: DeterministicTest | RandomizedTest,
    model: SeedModel,
    seeds: Queryable,
    omega: Omega,
    sampling: Coins,
    *,
    seed_free_share: float = 0.0,
    gives_up: bool = False,
) -> Sampler:
    """Mechanism 1, with the records that it needs."""
    records = seeds.seed_records("rows")
    model.attach_seeds(records)
    mechanism = PlausibleDeniabilityMechanism(
        model=model, num_seeds=len(records), test=test, omega=omega, seed_free_share=seed_free_share
    )
    return RecordSampler(model=model, coins=sampling, mechanism=mechanism, gives_up=gives_up)
