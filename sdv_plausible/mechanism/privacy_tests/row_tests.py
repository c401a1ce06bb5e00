"""Base class of the paper's two tests, which decide candidate by candidate (section 2)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, overload

import numpy as np

from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.mechanism.drawing.sampler import RecordSampler, Sampler
from sdv_plausible.mechanism.privacy_tests.contract import SEED_DELTA_SHARE, PrivacyTest, WithinEpsilon
from sdv_plausible.models.base import SeedModel
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.losses import ApproxDP, DiscreteLaplaceLoss, InfiniteLoss, Loss
from sdv_plausible.privacy.accounting.paper_theorems import (
    Noise,
    check_noise,
    floor_by_construction,
    theorem1_best,
)
from sdv_plausible.privacy.accounting.release_loss import size_lower_bound_margin
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.neighbours import ONE_ROW
from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.queryable import Queryable

DEFAULT_ROW_CAP = 1_000_000


@dataclass(frozen=True, kw_only=True)
class RowByRowTest(PrivacyTest):
    """Options of both tests of the paper for counting plausible seeds (section 5).

    Parameters
    ----------
    gamma : float
        Factor within which probabilities count as "about the same", >= 1. Not used for a fixed omega.
    row_cap : int, optional
        Largest number of rows that one fit may release, >= 1; all are charged. Without it, a million, which a
        fit refuses if they cost an epsilon above 10.
    max_plausible : int, optional
        Number of plausible seeds at which counting stops, at least the number that the test needs.
    max_check_plausible : int, optional
        Number of seeds checked, in a fresh random order per candidate. It changes the distribution and the
        cost of the test. Neither limit saves time, as counting is a look-up here.
    hidden_omega : bool
        Whether likelihoods are those of the mixture over a range of omega, instead of the drawn omega.
    """

    gamma: float = 4.0
    row_cap: int | None = None
    max_plausible: int | None = None
    max_check_plausible: int | None = None
    hidden_omega: bool = False

    @property
    def row_limit(self) -> int:
        """The row cap, by default a million."""
        return DEFAULT_ROW_CAP if self.row_cap is None else self.row_cap

    @property
    def likelihood_factor(self) -> float:
        """Width of the partition, gamma."""
        return self.gamma

    def _check(self) -> None:
        check.at_least("gamma", self.gamma, 1.0, "it is a factor; try 4.0")
        check.truth("hidden_omega", self.hidden_omega)
        check.whole("row_cap", self.row_limit, 1, "it is the largest number of rows ever released")
        for name in ("max_plausible", "max_check_plausible"):
            limit = getattr(self, name)
            if limit is not None and check.whole(name, limit, 1) < self.least_seeds:
                raise ValueError(
                    f"{name} ({limit}) is below the {self.least_seeds} plausible seeds that a row needs, so "
                    "no row could pass with certainty: raise it, or lower k"
                )

    @property
    def stop(self) -> int | None:
        """Plausible seeds at which counting stops; always set if only some seeds are checked."""
        if self.max_plausible is None and self.max_check_plausible is not None:
            return self._surely_passes
        return self.max_plausible

    @property
    def _surely_passes(self) -> int:
        """Number of plausible seeds with which a candidate passes for certain."""
        return self.least_seeds

    @abstractmethod
    def passes(self, plausible_seeds: np.ndarray, rng: KeyedRNG) -> np.ndarray:
        """Boolean array: which candidates pass."""

    def check_model(self, made: type[SeedModel]) -> None:
        """Raise ValueError if the models have no mixture over omega and it is needed."""
        if self.hidden_omega and not issubclass(made, BayesianNetwork):
            raise ValueError(
                f"hidden_omega needs a Bayesian network, not {made.__name__}: remove it, and omega counts "
                "as known"
            )

    def _mechanism(
        self,
        model: SeedModel,
        seeds: Queryable,
        omega: Omega,
        sampling: KeyedRNG,
        *,
        seed_free_share: float = 0.0,
        gives_up: bool = False,
    ) -> Sampler:
        """A sampler by Mechanism 1, with the seed records attached."""
        from sdv_plausible.mechanism.drawing.mechanism import PlausibleDeniabilityMechanism

        records, model = seeds.seed_records("rows"), model.for_row_tests()
        model.attach_seeds(records)
        mechanism = PlausibleDeniabilityMechanism(
            model=model, num_seeds=len(records), test=self, omega=omega, seed_free_share=seed_free_share
        )
        return RecordSampler(model=model, rng=sampling, mechanism=mechanism, gives_up=gives_up)

    @property
    def _limits(self) -> str:
        limits = ["omega hidden"] if self.hidden_omega else []
        limits += [] if self.max_plausible is None else [f"max_plausible = {self.max_plausible:,}"]
        if self.max_check_plausible is not None:
            limits.append(f"max_check_plausible = {self.max_check_plausible:,}")
        return "".join(f", {limit}" for limit in limits)


@dataclass(frozen=True, kw_only=True)
class DeterministicTest(RowByRowTest):
    """Privacy Test 1 (section 2): a candidate passes if it has at least k plausible seeds.

    The threshold is sharp: the test gives plausible deniability, but not differential privacy.

    Parameters
    ----------
    k : int
        Plausible seeds needed, each of another privacy unit, >= 1; the seed itself counts. If people have
        several rows, ``least_seeds`` records ensure k people.
    omega : int, (int, int), "all" or None
        As in :class:`~sdv_plausible.ReleaseTest`. None keeps a few attributes with few values.
    gamma, row_cap, max_plausible, max_check_plausible, hidden_omega
        As in :class:`RowByRowTest`.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """

    name: ClassVar[str] = "deterministic"
    has_delta: ClassVar[bool] = False

    @property
    def seed_deniability(self) -> str:
        """Sentence on the (k, gamma)-plausible deniability of each row."""
        least = f"at least {self.least_seeds} records"
        if self.hidden_omega:
            how = (
                f"({self.k}, {self.gamma:g})-plausible deniability holds for every released row, also where "
                f"omega stays hidden: {least} were its seed with probabilities within the factor "
            )
            return how + f"{self.gamma:g}"
        return (
            f"({self.k}, {self.gamma:g})-plausible deniability holds for every released row if omega is "
            f"known: {least} are about equally likely to be its seed. If a range of omega stays hidden, the "
            "factor is not certain"
        )

    @property
    def point_deniability(self) -> str:
        """Sentence on the (k, gamma)-plausible deniability of each pair of latent point and row."""
        return (
            f"({self.k}, {self.gamma:g})-plausible deniability holds for every released row together with "
            f"its latent point, not for the row alone: at least {self.least_seeds} records are about "
            "equally likely to have produced that point"
        )

    @property
    def covers(self) -> str | None:
        """None: there is no total."""
        return None

    def charge(self, gamma: float, far: float | None = None) -> tuple[LedgerEntry, ...]:  # noqa: ARG002
        """One entry without a finite epsilon."""
        return (
            LedgerEntry(
                name="rows",
                mechanism=(
                    f"Privacy Test 1, k = {self.k}, gamma = {self.gamma:g}{self._limits}: each row has "
                    f"{self._deniability} (plausible deniability)"
                ),
                losses=(InfiniteLoss(),),
                scope="each released row",
                note=(
                    "Privacy Test 1 has a deterministic threshold, which gives plausible deniability but "
                    "no epsilon: use test='release'"
                ),
                parts=("seeds",),
            ),
        )

    @property
    def _deniability(self) -> str:
        of_people = f", which are records of at least {self.k} people" if self.neighbours.of_people else ""
        return f"at least {self.least_seeds} plausible seeds{of_people}"

    def passes(self, plausible_seeds: np.ndarray, rng: KeyedRNG) -> np.ndarray:  # noqa: ARG002
        """Boolean array: which candidates pass."""
        passed: np.ndarray = plausible_seeds >= self.least_seeds
        return passed

    def start(self, model: SeedModel, seeds: Queryable, omega: Omega, sampling: KeyedRNG) -> Sampler:
        """Mechanism 1, which gives up if too few candidates pass: there is no guarantee to break."""
        return self._mechanism(model, seeds, omega, sampling, gives_up=True)

    def complaints(self, num_rows: int) -> list[str]:
        """The error for a table with fewer rows than needed seeds."""
        if self.least_seeds > num_rows:
            above = f"{self._above} the number of rows ({num_rows})"
            return [f"{above}: no row could have k plausible seeds; lower k"]
        return []


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
                "max_check_plausible only supports the addition or removal of single rows: remove it, or "
                "remove person and neighbours"
            )

    @overload
    @classmethod
    def within(
        cls, epsilon: float, *, rows: int, least_rows: int, k: int | None = None,
        seed_free_share: float | None = None, delta: float = 1e-9, omega: int | None = None,
    ) -> RandomizedTest: ...  # fmt: skip

    @overload
    @classmethod
    def within(
        cls, epsilon: None = None, *, rows: int, least_rows: int, k: int | None = None,
        seed_free_share: float | None = None, omega: int | None = None,
    ) -> WithinEpsilon: ...  # fmt: skip

    @classmethod
    def within(
        cls,
        epsilon: float | None = None,
        *,
        rows: int,
        least_rows: int,
        k: int | None = None,
        seed_free_share: float | None = None,
        delta: float | None = None,
        omega: int | None = None,
    ) -> RandomizedTest | WithinEpsilon:
        """Find a test whose rows cost at most ``epsilon``, from public numbers alone.

        Without ``epsilon``, the synthesizer's epsilon is the total of the release, this test included. Half
        of it buys the smallest k, and the model gets what is left.

        It holds for models with prefix groups (such as the default and the paper's), single rows as privacy
        unit, and one known omega. For others the ledger states the cost.

        Parameters
        ----------
        epsilon : float, optional
            Largest cost of the rows and of the check of ``least_rows``, > 0. The model's epsilon is extra.
        rows : int
            Number of rows to be released from one fit, >= 1.
        least_rows : int
            Public lower bound on the number of rows of the table, >= 1.
        k : int, optional
            Centre of the threshold, >= 1. By default the smallest feasible one: more candidates pass then.
        seed_free_share : float, optional
            Share of candidates without a seed, in (0, 1]. By default 0.5, or with a given k the smallest
            feasible of 0.5, 0.6, ..., 0.9 and 0.95.
        delta : float, optional
            Delta of the release, in (0, 1), by default 1e-9 or the synthesizer's; half is for the seeds.
        omega : int, optional
            Number of columns that are resampled.

        Returns
        -------
        RandomizedTest or WithinEpsilon
            For ``test=``, with the cheapest epsilon0 (docs/explanation/proofs/seed_test.md, Theorem 4).

        Raises
        ------
        ValueError
            If no test costs so little.
        """
        check.whole("rows", rows, 1)
        made = cls(row_cap=rows, least_rows=least_rows, omega=omega)
        if epsilon is None:
            if delta is not None:
                raise check.Refused("delta", delta, "is the synthesizer's without epsilon", "leave it out")
            options: dict[str, Any] = {"k": k, "seed_free_share": seed_free_share, "omega": omega}
            options = {name: value for name, value in options.items() if value is not None}
            replace(made, **options)  # raises for invalid options
            return WithinEpsilon(cls, {"rows": rows, "least_rows": least_rows, **options})
        test: RandomizedTest = within(epsilon, made, k, seed_free_share, 1e-9 if delta is None else delta)
        return test

    @property
    def covers(self) -> str | None:
        """The rows of one fit, up to the cap."""
        return (
            f"the first {self.row_limit:,} rows released from this fit; not the saved synthesizer, which "
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
            "num_rows": self.row_limit, "k": self.least_seeds, "epsilon0": per_row, "n_lower": n_lower,
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
        from sdv_plausible.privacy.accounting.released_rows import IndependentRows

        losses = SortedLosses.of([*self._size_losses, IndependentRows(**self.row_parameters(1.0))])
        return Composer(losses, coarseness=COARSENESS).distribution(0.0).epsilon(self.delta)

    @property
    def _rows_delta(self) -> float:
        return (1 - SIZE_DELTA_SHARE) * self.delta

    def _rows_entry(self, gamma: float, far: float) -> LedgerEntry:
        parameters = self.row_parameters(gamma, far)
        if self.max_check_plausible is None:  # import only the accounting that is used
            from sdv_plausible.privacy.accounting.released_rows import rows_loss

            loss, epsilon = rows_loss(**parameters, delta=self._rows_delta, neighbours=self.neighbours)
        else:
            from sdv_plausible.privacy.accounting.released_rows import checked_rows_loss

            loss, epsilon = checked_rows_loss(
                **parameters,
                delta=self._rows_delta,
                max_checked=self.max_check_plausible,
                max_plausible=self.stop or self._surely_passes,
            )
        if not math.isfinite(epsilon):
            raise check.Refused.saying(
                "k",
                f"k ({self.k}) and epsilon0 ({self.epsilon0:g}) cannot be reached with least_rows "
                f"({self.least_rows}) seeds at delta {rounded_up(self.delta)}: lower k, raise epsilon0, "
                "delta or least_rows, or use test='release'",
            )
        losses: tuple[Loss, ...] = (loss,)
        if far:  # latent_test.md, Lemma 3: bound on the probability that one of the rows is such a proposal
            losses += (ApproxDP(epsilon=0.0, delta=self.row_limit * far / parameters["pass_rate_floor"]),)
        return LedgerEntry(
            name="rows",
            mechanism=f"Privacy Test 2, {self._parameters}",
            losses=losses,
            scope=f"the first {self.row_limit:,} rows released from this fit, not the saved synthesizer",
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
            "No (k, gamma)-plausible deniability is certain: the threshold is random, so a released row "
            f"may have fewer than {self.k} plausible seeds. Epsilon is the protection"
        )

    @property
    def _parameters(self) -> str:
        return f"{self._threshold}{self._limits}"

    @property
    def _threshold(self) -> str:
        if self.neighbours != ONE_ROW:
            return f"threshold around {self.seeds_needed}, epsilon0 = {self.epsilon0:g}"
        return (
            f"k = {self.k}, epsilon0 = {self.epsilon0:g}; Theorem 1 summed over {self.row_limit:,} rows "
            f"would give {self._theorem1_sum():,.0f}"
        )

    def _theorem1_sum(self) -> float:
        """The paper's own accounting of the rows: Theorem 1 with the best t, times their number."""
        try:
            return (
                self.row_limit
                * theorem1_best(self.k, self.gamma, self.epsilon0, self.delta / self.row_limit).epsilon
            )
        except ValueError:
            return math.inf

    def confirm(self, seeds: Queryable) -> None:
        """Raise ValueError if a noisy count of the seeds contradicts ``least_rows``."""
        margin = size_lower_bound_margin(SIZE_EPSILON, self._size_delta, self.neighbours)
        if seeds.count_rows(SIZE_EPSILON, self._size_delta) - margin < self.least_rows:
            raise ValueError(
                f"least_rows ({self.least_rows}) is not confirmed: the noisy number of seeds must exceed it "
                f"by {margin}. Set a lower number, or use test='release'. The noisy number has cost epsilon "
                f"{SIZE_EPSILON}, and a privately learned domain its share of epsilon. Both add to the cost "
                "of the next fit"
            )

    def passes(self, plausible_seeds: np.ndarray, rng: KeyedRNG) -> np.ndarray:
        """Boolean array: which candidates pass, each with a fresh threshold."""
        # Repeatable noise from the secret stream of the call: SDV's reset_sampling repeats the same rows.
        draw = noise.discrete_laplace if self.threshold_noise == "discrete_laplace" else noise.floored_laplace
        noisy = draw(
            plausible_seeds, sensitivity=self.neighbours.rows, epsilon=self.epsilon0, rng=rng, repeatable=True
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
                f"least_rows ({self.least_rows}) is above the number of rows ({table_rows}), so the fit "
                "would fail",
            )
        return warnings


Test = Any  # a RandomizedTest, whose module imports this one
# Estimated costs decide nearly all of the search. The charge itself decides where an estimate is close to the
# limit, and it is always computed for the result.
MOST_K = 10**6
WIDTHS = (0.6, 4.0)  # range of k * epsilon0, in units of ln(rows / (delta * least_rows * share))
BEYOND = (1.04, 1.0, 1.12)  # candidates for the cheapest epsilon0, as multiples of the smallest feasible
FINE = 1.03  # relative precision of epsilon0 and k
CLOSE = 1.05  # an estimate above the limit by up to this factor is replaced by the charge
FAR = 1.5  # an estimate above the limit by this factor rules out the other candidates for epsilon0
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)  # seed-free shares to try for a given k


def within(epsilon: float, made: Test, k: int | None, seed_free_share: float | None, delta: float) -> Test:
    """See :meth:`~sdv_plausible.RandomizedTest.within`; ``made`` is the test at any k."""
    check.positive("epsilon", epsilon, "try 0.5")
    seeds_delta = SEED_DELTA_SHARE * check.delta("delta", delta, "try 1e-9")
    charged = cache(lambda test: charged_cost(test, seeds_delta))

    @cache
    def cheapest_test(k: int, share: float) -> Test:
        return cheapest(replace(made, k=k, seed_free_share=share), seeds_delta)[0]

    def fits(k: int, share: float) -> bool:
        test, estimate = cheapest(replace(made, k=k, seed_free_share=share), seeds_delta, epsilon)
        return estimate <= epsilon or (estimate <= CLOSE * epsilon and charged(test) <= epsilon)

    share = 0.5 if seed_free_share is None else seed_free_share
    rows = f"{made.row_limit:,} rows of a table of at least {made.least_rows:,}"
    if k is None:
        largest = min(MOST_K, made.least_rows)
        k = _smallest(lambda k: fits(k, share), 1, largest)
        while k is not None and charged(cheapest_test(k, share)) > epsilon:
            k = math.ceil(k * FINE) if k < largest / FINE else None
        if k is None:
            raise ValueError(
                f"epsilon ({epsilon:g}) cannot be reached for {rows} with any k: raise epsilon or "
                f"seed_free_share ({share:g}), take fewer rows, or raise least_rows if the public number is "
                "larger"
            )
        return cheapest_test(k, share)
    check.whole("k", k, 1)
    shares = SHARES if seed_free_share is None else (seed_free_share,)
    for share in shares:
        if fits(k, share) and charged(test := cheapest_test(k, share)) <= epsilon:
            return test
    test, estimate = cheapest(replace(made, k=k, seed_free_share=shares[-1]), seeds_delta)
    cost = charged(test) if math.isfinite(estimate) else math.inf
    raise ValueError(
        f"k ({k}) is too small: {rows} cost {rounded_up(cost)}, above epsilon ({epsilon:g}): raise k or "
        "epsilon, or take fewer rows"
    )


def charged_cost(test: Test, delta: float) -> float:
    """What a ledger charges for the rows and the check of ``least_rows``; infinite if infeasible."""
    try:
        entries = test.bound(delta, ONE_ROW).charge(1.0)
    except ValueError:
        return math.inf
    return compose([loss for entry in entries for loss in entry.losses], delta)


def cheapest(test: Test, delta: float, limit: float | None = None) -> tuple[Test, float]:
    """The test with the cheapest epsilon0, and the estimated cost of its rows; infinite if infeasible.

    With a limit, the first epsilon0 that decides whether the cost can be below it.
    """

    def at(epsilon0: float) -> Test:
        return replace(test, epsilon0=epsilon0).bound(delta, ONE_ROW)

    width = max(math.log(test.row_limit / (delta * test.least_rows * test.seed_free_share)), 5.0)
    low, high = (times * width / test.k for times in WIDTHS)
    if not at(high).is_feasible:
        return test, math.inf
    while high / low > FINE:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if at(middle).is_feasible else (middle, high)
    estimates: dict[float, float] = {}
    for epsilon0 in (high * times for times in BEYOND):
        estimates[epsilon0] = at(epsilon0).estimated_cost()
        if limit is not None and not limit < estimates[epsilon0] <= FAR * limit:
            break
    best = min(estimates, key=lambda epsilon0: estimates[epsilon0])
    return replace(test, epsilon0=best), estimates[best]


def _smallest(holds: Callable[[int], bool], low: int, high: int) -> int | None:
    """About the smallest integer from which a monotone condition holds; None if it fails at ``high``."""
    largest = high
    while high - low > max(1, (FINE - 1) * low):
        middle = math.isqrt(low * high) if low > 1 else (low + high) // 2
        middle = min(max(middle, low + 1), high - 1)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high if high < largest or holds(high) else None  # slow for a large k
