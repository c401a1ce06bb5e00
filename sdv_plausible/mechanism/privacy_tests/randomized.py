"""Privacy Test 2 of the paper: a noisy threshold, with differential privacy row by row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.mechanism.drawing.sampler import Sampler
from sdv_plausible.mechanism.privacy_tests.row_tests import RowByRowTest
from sdv_plausible.models.base import SeedModel
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.losses import ApproxDP, DiscreteLaplaceLoss, Loss
from sdv_plausible.privacy.accounting.release_loss import size_lower_bound_margin
from sdv_plausible.privacy.accounting.theorem1 import Noise, check_noise, floor_by_construction, theorem1_best
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.neighbours import ONE_ROW
from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.queryable import Queryable

SIZE_EPSILON = 0.1  # epsilon of the noisy number of seeds
COARSENESS = 16  # of the grid of an estimated cost
SIZE_DELTA_SHARE = 0.01  # share of the seeds' delta for a lower bound that is too high


@dataclass(frozen=True, kw_only=True)
class RandomizedTest(RowByRowTest):
    """Privacy Test 2 (section 2.1): Test 1 with a fresh random threshold for each candidate.

    The threshold is ``k + z`` with z discrete Laplace, ``Pr[z] ~ exp(-epsilon0 |z|)``. Counts are integers:
    integer noise loses nothing, and avoids floating-point attacks.

    Parameters
    ----------
    k : int
        Centre of the threshold, >= 1. A released row may have fewer plausible seeds. If people have several
        rows, the centre is the number of seeds of k people, and the noise covers all rows of one person
        (docs/explanation/proofs/persons.md, Theorem 5).
    epsilon0 : float
        Inverse scale of the threshold noise, > 0.
    omega : int, (int, int), "all" or None
        As in :class:`~sdv_plausible.ReleaseTest`. None keeps a few attributes with few values.
    seed_free_share : float
        Probability that a proposal resamples everything, in (0, 1]. All seeds are then plausible, so the pass
        rate is at least this share (docs/explanation/proofs/pass_rate.md, Theorem 3).
    least_rows : int
        Public lower bound on the number of seed records, >= 1. The cost of the rows is computed for it, so
        that the total does not depend on the rows. The fit fails if a noisy count contradicts it.
    threshold_noise : {"discrete_laplace", "laplace"}
        Noise of the threshold; "laplace" is the paper's.
    gamma, row_cap, max_plausible, max_check_plausible, hidden_omega
        As in `RowByRowTest`.

    Raises
    ------
    ValueError
        If a parameter is out of range, or ``max_check_plausible`` is used with another unit than single rows.
    """

    name: ClassVar[str] = "randomized"
    has_delta: ClassVar[bool] = True
    epsilon0: float = 1.0
    seed_free_share: float = 0.5
    least_rows: int = 1000
    threshold_noise: Noise = "discrete_laplace"

    def _check(self) -> None:
        check.positive("epsilon0", self.epsilon0, "try 1.0")
        check.rate("seed_free_share", self.seed_free_share, "try 0.5")
        check.whole("least_rows", self.least_rows, 1, "try 1000")
        check_noise(self.threshold_noise)
        super()._check()
        if self.neighbours != ONE_ROW and self.max_check_plausible is not None:
            raise ValueError(
                "max_check_plausible is accounted for single rows added or removed: leave out person and "
                "neighbours, or leave it out"
            )

    @classmethod
    def within(
        cls,
        epsilon: float,
        *,
        rows: int,
        least_rows: int,
        k: int | None = None,
        seed_free_share: float | None = None,
        delta: float = 1e-9,
        omega: int | None = None,
    ) -> RandomizedTest:
        """Find a test whose rows cost at most ``epsilon``, from public numbers alone.

        It holds for models with prefix groups (such as the default and the paper's), single rows as privacy
        unit, and one known omega. For others the ledger states the cost.

        Parameters
        ----------
        epsilon : float
            Largest cost of the rows and of the check of ``least_rows``, > 0. The model's epsilon is extra;
            ``synth.plan(total=...)`` finds the one for a given total.
        rows : int
            Number of rows to be released from one fit, >= 1.
        least_rows : int
            Public lower bound on the number of rows of the table, >= 1.
        k : int, optional
            Centre of the threshold, >= 1. By default the smallest feasible one: more candidates pass then.
        seed_free_share : float, optional
            Share of candidates without a seed, in (0, 1]. By default 0.5, or with a given k the smallest
            feasible of 0.5, 0.6, ..., 0.9 and 0.95.
        delta : float
            Delta of the whole release, in (0, 1), as in the synthesizer; half of it is for the seeds.
        omega : int, optional
            Number of columns that are resampled.

        Returns
        -------
        RandomizedTest
            The test, with the cheapest epsilon0 (docs/explanation/proofs/seed_test.md, Theorem 4).

        Raises
        ------
        ValueError
            If no test costs so little.
        """
        from sdv_plausible.mechanism.privacy_tests.parameter_search import within

        check.whole("rows", rows, 1)
        made = cls(row_cap=rows, least_rows=least_rows, omega=omega)
        test: RandomizedTest = within(epsilon, made, k, seed_free_share, delta)
        return test

    @property
    def covers(self) -> str | None:
        """The rows of one fit, up to the cap."""
        return (
            f"the first {self.row_cap:,} rows released from this fit; not the saved synthesizer, which "
            "holds records"
        )

    def charge(self, gamma: float, far: float = 0.0) -> tuple[LedgerEntry, ...]:
        """Entries of the check of ``least_rows`` and of all rows; ValueError if k is infeasible."""
        size = LedgerEntry(
            name="size",
            mechanism=f"number of seeds, discrete Laplace noise, epsilon {SIZE_EPSILON:g}",
            losses=self._size_losses,
            scope="the check of least_rows",
            parts=("seeds",),
        )
        return size, self._rows_entry(gamma, far)

    @property
    def _size_delta(self) -> float:
        return SIZE_DELTA_SHARE * self.delta

    @property
    def _size_losses(self) -> tuple[Loss, ...]:
        return DiscreteLaplaceLoss(epsilon=SIZE_EPSILON), ApproxDP(epsilon=0.0, delta=self._size_delta)

    def row_parameters(self, gamma: float, far: float = 0.0) -> dict[str, Any]:
        """Parameters of the rows' accounting, for a model with this factor between likelihoods."""
        unit = self.neighbours.rows
        n_lower = max(1, self.least_rows - unit) if self.neighbours.replace else self.least_rows
        per_row = self.epsilon0 / unit
        counted = min(n for n in (n_lower, self.stop, self.max_check_plausible) if n is not None)
        floor = floor_by_construction(
            self.seed_free_share, self.least_seeds, per_row, counted, noise=self.threshold_noise
        )
        parameters = {
            "num_rows": self.row_cap, "k": self.least_seeds, "epsilon0": per_row, "n_lower": n_lower,
            "gamma": self.gamma if self.hidden_omega else gamma, "noise": self.threshold_noise,
            "pass_rate_floor": floor,
        }  # fmt: skip
        if self.max_check_plausible is None:
            # Only with prefix groups, candidates without a seed depend on no record.
            parameters["seed_free_share"] = self.seed_free_share if gamma == 1 and not far else 0.0
        return parameters

    @property
    def is_feasible(self) -> bool:
        """Whether the charge is finite, for prefix groups and single rows."""
        from sdv_plausible.privacy.accounting.released_rows import ReleasedRows

        try:
            smallest = ReleasedRows(**self.row_parameters(1.0), t=1)
        except ValueError:  # k or 1/epsilon0 is beyond the range of the accounting
            return False
        return smallest.small_partition_delta() < self._rows_delta

    def estimated_cost(self) -> float:
        """Cost of the rows and the check of ``least_rows``, for prefix groups and single rows, estimated.

        By Theorem 3 on a coarse grid: an upper bound, mostly within 0.2 % of the charge, if it is feasible.
        """
        from sdv_plausible.privacy.accounting.loss_distribution import Composer, SortedLosses
        from sdv_plausible.privacy.accounting.one_row import IndependentRows

        losses = SortedLosses.of([*self._size_losses, IndependentRows(**self.row_parameters(1.0))])
        return Composer(losses, coarseness=COARSENESS).distribution(0.0).epsilon(self.delta)

    @property
    def _rows_delta(self) -> float:
        return (1 - SIZE_DELTA_SHARE) * self.delta

    def _rows_entry(self, gamma: float, far: float) -> LedgerEntry:
        parameters = self.row_parameters(gamma, far)
        if self.max_check_plausible is None:  # import only the accounting that is used
            from sdv_plausible.privacy.accounting.one_row import rows_loss

            loss, epsilon = rows_loss(**parameters, delta=self._rows_delta, neighbours=self.neighbours)
        else:
            from sdv_plausible.privacy.accounting.checked_rows import checked_rows_loss

            loss, epsilon = checked_rows_loss(
                **parameters,
                delta=self._rows_delta,
                max_checked=self.max_check_plausible,
                max_plausible=self.stop or self._surely_passes,
            )
        if not math.isfinite(epsilon):
            raise check.Refused.saying(
                "k",
                f"k ({self.k}) and epsilon0 ({self.epsilon0:g}) are out of reach for least_rows "
                f"({self.least_rows}) seeds at delta {rounded_up(self.delta)}: lower k, raise epsilon0, "
                "delta or least_rows, or use test='release'",
            )
        losses: tuple[Loss, ...] = (loss,)
        if far:  # latent_test.md, Lemma 3: bound on the probability that one of the rows is such a proposal
            losses += (ApproxDP(epsilon=0.0, delta=self.row_cap * far / parameters["pass_rate_floor"]),)
        return LedgerEntry(
            name="rows",
            mechanism=f"Privacy Test 2, {self._parameters}",
            losses=losses,
            scope=f"the first {self.row_cap:,} rows released from this fit, not the saved synthesizer",
            parts=("seeds",),
        )

    @property
    def _surely_passes(self) -> int:
        """Number of plausible seeds with which a candidate fails with probability below exp(-50)."""
        return self.least_seeds + math.ceil(50 / self.epsilon0)

    @property
    def seed_deniability(self) -> str:
        """Sentence: plausible deniability does not hold for certain."""
        return (
            "No (k, gamma)-plausible deniability holds for sure: the threshold is random, and a released row "
            f"may have fewer than {self.k} plausible seeds; the protection is epsilon"
        )

    @property
    def _parameters(self) -> str:
        return f"{self._threshold}{self._limits}"

    @property
    def _threshold(self) -> str:
        if self.neighbours != ONE_ROW:
            return f"threshold around {self.seeds_needed}, epsilon0 = {self.epsilon0:g}"
        return (
            f"k = {self.k}, epsilon0 = {self.epsilon0:g}; Theorem 1 added up over {self.row_cap:,} rows "
            f"would say {self._theorem1_sum():,.0f}"
        )

    def _theorem1_sum(self) -> float:
        """The paper's own accounting of the rows: Theorem 1 with the best t, times their number."""
        try:
            return (
                self.row_cap
                * theorem1_best(self.k, self.gamma, self.epsilon0, self.delta / self.row_cap).epsilon
            )
        except ValueError:
            return math.inf

    def confirm(self, seeds: Queryable) -> None:
        """Raise ValueError if a noisy count of the seeds contradicts ``least_rows``."""
        margin = size_lower_bound_margin(SIZE_EPSILON, self._size_delta, self.neighbours)
        if seeds.count_rows(SIZE_EPSILON, self._size_delta) - margin < self.least_rows:
            raise ValueError(
                f"least_rows ({self.least_rows}) is not confirmed by the noisy number of seeds, which must "
                f"exceed it by {margin}: declare a lower number, or use test='release'. That noisy number "
                f"has cost epsilon {SIZE_EPSILON}, and a domain learned privately its share of epsilon: both "
                "add to what the next fit will cost"
            )

    def passes(self, plausible_seeds: np.ndarray, coins: KeyedRNG) -> np.ndarray:
        """Boolean array: which candidates pass, each with a fresh threshold."""
        # Repeatable noise from the secret stream of the call: SDV's reset_sampling repeats the same rows.
        draw = noise.discrete_laplace if self.threshold_noise == "discrete_laplace" else noise.floored_laplace
        noisy = draw(
            plausible_seeds,
            sensitivity=self.neighbours.rows,
            epsilon=self.epsilon0,
            coins=coins,
            repeatable=True,
        )
        passed: np.ndarray = noisy >= self.least_seeds
        return passed

    def start(self, model: SeedModel, seeds: Queryable, omega: Omega, sampling: KeyedRNG) -> Sampler:
        """Mechanism 1, which proposes until enough candidates pass."""
        return self._mechanism(model, seeds, omega, sampling, seed_free_share=self.seed_free_share)

    def _table_warnings(self, table_rows: int) -> list[str]:
        warnings = super()._table_warnings(table_rows)
        if table_rows < self.least_rows:
            warnings.insert(
                0,
                f"least_rows ({self.least_rows}) is above the number of rows ({table_rows}): the fit would "
                "be refused",
            )
        return warnings
