"""The release-level test: one noisy size per group of seeds, and any number of rows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.mechanism.drawing.released_prefixes import ReleasedSeeds
from sdv_plausible.mechanism.drawing.sampler import PrefixSampler, Sampler
from sdv_plausible.mechanism.privacy_tests.privacy_test import PrivacyTest
from sdv_plausible.models.base import PrefixModel, SeedModel
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.losses import ReleaseLoss
from sdv_plausible.privacy.accounting.release_loss import release_margin
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.queryable import Queryable


@dataclass(frozen=True, kw_only=True)
class ReleaseTest(PrivacyTest):
    """One noisy size per prefix group, drawn once: any number of rows for one (epsilon0, delta).

    Groups of at least k seeds get ``size + z``, z discrete Laplace with scale 1/epsilon0, and are released if
    that is at least ``k + margin``. So every released prefix has at least k true seeds, surely, and the loss
    is (epsilon0, Pr[z >= margin]) (docs/explanation/proofs/release_test.md). Where people have several rows,
    k counts people: ``least_seeds`` rows are of at least k of them, and noise and margin are those for all
    rows of one (persons.md).

    Parameters
    ----------
    k : int
        Sure lower bound on the seeds of every released prefix, each of another unit, >= 1.
    epsilon0 : float
        Privacy loss of the noisy sizes, > 0.
    omega : int, (int, int), "all" or None
        Number of attributes that are resampled; the others are a seed record's. A range is drawn from at
        every proposal. None is "all": the model alone is released then, and k and epsilon0 cost nothing.
    """

    name: ClassVar[str] = "release"
    has_delta: ClassVar[bool] = True
    epsilon0: float = 1.0

    def _check(self) -> None:
        check.positive("epsilon0", self.epsilon0, "try 1.0")

    @property
    def uses_seeds(self) -> bool:
        """Seeds play no part where every attribute is resampled, which is the default."""
        return self.omega is not None and not self.omega.is_all

    @property
    def covers(self) -> str | None:
        """Everything that can be drawn, the file and the object."""
        return "any number of rows, the release file and the saved synthesizer"

    @property
    def says_of_seeds(self) -> str:
        """(k, 1) of every released row, surely."""
        return (
            f"({self.k}, 1)-plausible deniability holds for every row, given which of its values are kept: "
            f"they are those of {self.seeds_proved}, surely, all equally likely to have been its seed"
        )

    @property
    def margin(self) -> int:
        """Smallest s >= 1 with Pr[z >= s] = a**s / (1 + a) <= delta, a = exp(-epsilon0), for one row."""
        return release_margin(self.epsilon0, self.delta, self.neighbours)

    def charge(self, gamma: float, far: float | None = None) -> tuple[LedgerEntry, ...]:  # noqa: ARG002
        """One entry for any number of rows."""
        if not self.uses_seeds:
            return (
                LedgerEntry(
                    name="seeds",
                    mechanism=(
                        "no seed record is used (every attribute is resampled): k, gamma and "
                        "epsilon0 play no part"
                    ),
                    losses=(),
                    scope="the release",
                    parts=("seeds",),
                ),
            )
        moved = self.neighbours.histogram_l1
        return (
            LedgerEntry(
                name="seeds",
                mechanism=(
                    f"one noisy size per prefix group of at least {self.seeds_needed}, discrete Laplace, "
                    f"epsilon0 {rounded_up(self.epsilon0)}; every released prefix has {self.seeds_proved}, "
                    "surely"
                ),
                losses=(ReleaseLoss(epsilon0=self.epsilon0, delta=self.delta, l1=moved),),
                scope="any number of rows, the release file and the saved synthesizer",
                parts=("seeds",),
            ),
        )

    def check_model(self, made: type[SeedModel]) -> None:
        """Raise ValueError unless the models keep a prefix of the seed."""
        if not issubclass(made, PrefixModel):
            raise check.Refused.saying(
                "test",
                f"test ('release') needs a model with prefix groups, not {made.__name__}: derive it "
                "from PrefixModel "
                "and let its learner say so (makes = ...), or use 'randomized' or 'deterministic'",
            )

    def default_omega(self, order_cardinalities: Sequence[int]) -> Omega:  # noqa: ARG002
        """All: copying part of a seed did not pay at equal total (benchmarks/README.md)."""
        return Omega(None, None)

    def release(self, group_sizes: np.ndarray, coins: KeyedRNG) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the groups that are released, and their noisy sizes, each >= least_seeds + margin."""
        large = np.flatnonzero(group_sizes >= self.least_seeds)
        if not len(large):
            return large, np.empty(0, dtype=np.int64)
        sizes, moved = group_sizes[large], self.neighbours.histogram_l1
        noisy = noise.discrete_laplace(sizes, sensitivity=moved, epsilon=self.epsilon0, coins=coins)
        kept = noisy >= self.least_seeds + self.margin
        return large[kept], noisy[kept]

    def start(self, model: SeedModel, seeds: Queryable, omega: Omega, sampling: KeyedRNG) -> Sampler:
        """Draw what leaves of the seeds, once; rows are post-processing of it."""
        assert isinstance(model, PrefixModel)  # see check_model
        return PrefixSampler(model=model, coins=sampling, seeds=ReleasedSeeds.draw(model, seeds, omega, self))

    def _table_warnings(self, table_rows: int) -> list[str]:
        return super()._table_warnings(table_rows) if self.uses_seeds else []
