"""The release-level test: one noisy size per group of seeds, for any number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.mechanism.drawing.released_prefixes import ReleasedSeeds
from sdv_plausible.mechanism.drawing.sampler import PrefixSampler, Sampler
from sdv_plausible.mechanism.privacy_tests.contract import PrivacyTest, WithinEpsilon
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
    """One noisy size per prefix group, drawn once: one (epsilon0, delta) for any number of rows.

    Each group of at least k seeds gets the noisy size ``size + z``, with z discrete Laplace of scale
    1/epsilon0. It is released if the noisy size is at least ``k + margin``. So each released prefix always
    has at least k true seeds, and the loss is (epsilon0, Pr[z >= margin])
    (docs/explanation/proofs/release_test.md). If people have several rows, k counts people: ``least_seeds``
    rows belong to at least k people, and noise and margin cover all rows of one person (persons.md).

    Parameters
    ----------
    k : int
        Lower bound on the seeds of each released prefix, each of another privacy unit, >= 1.
    epsilon0 : float
        Privacy loss of the noisy sizes, > 0.
    omega : int, (int, int), "all" or None
        Number of attributes that are resampled; the others are copied from a seed record. Each proposal draws
        from a range. None means "all": only the model is released, and k and epsilon0 are not used.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """

    name: ClassVar[str] = "release"
    has_delta: ClassVar[bool] = True
    epsilon0: float = 1.0

    @classmethod
    def within(cls, *, k: int = 50, omega: Any = None) -> WithinEpsilon:
        """A test for which the synthesizer's epsilon is the total of the release, this test included.

        If values are kept (``omega``), ``epsilon0`` is half of epsilon, and the model gets what is left.

        Parameters
        ----------
        k, omega
            As in :class:`ReleaseTest`.

        Returns
        -------
        WithinEpsilon
            A value for ``test=``.
        """
        test = cls(k=k, omega=omega)
        return WithinEpsilon(cls, {"k": test.k, "omega": test.user_omega})

    def _check(self) -> None:
        check.positive("epsilon0", self.epsilon0, "try 1.0")

    @property
    def uses_seeds(self) -> bool:
        """Whether some attribute is kept; by default all are resampled."""
        return self.omega is not None and not self.omega.is_all

    @property
    def covers(self) -> str | None:
        """All rows, the release file and the saved object."""
        return "any number of rows, the release file and the saved synthesizer"

    @property
    def seed_deniability(self) -> str:
        """Sentence on the (k, 1)-plausible deniability of each row."""
        return (
            f"({self.k}, 1)-plausible deniability holds for every row, given which values were kept from "
            f"its seed: {self.seeds_proved} certainly share these values, and all are equally likely to be "
            "the seed"
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
                        "no seed record is used (every attribute is resampled), so k, gamma and epsilon0 "
                        "have no effect"
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
                    f"epsilon0 {rounded_up(self.epsilon0)}; every released prefix certainly has "
                    f"{self.seeds_proved}"
                ),
                losses=(ReleaseLoss(epsilon0=self.epsilon0, delta=self.delta, l1=moved),),
                scope="any number of rows, the release file and the saved synthesizer",
                parts=("seeds",),
            ),
        )

    def check_model(self, made: type[SeedModel]) -> None:
        """Raise ValueError unless the models can keep a prefix of the seed."""
        if not issubclass(made, PrefixModel):
            raise check.Refused.saying(
                "test",
                f"test ('release') needs a model with prefix groups, not {made.__name__}: derive it from "
                "PrefixModel and declare that in its learner (makes = ...), or use 'randomized' or "
                "'deterministic'",
            )

    def default_omega(self, order_cardinalities: Sequence[int]) -> Omega:  # noqa: ARG002
        """All: at equal total, keeping part of a seed was no gain (benchmarks/README.md)."""
        return Omega(None, None)

    def release(self, group_sizes: np.ndarray, rng: KeyedRNG) -> tuple[np.ndarray, np.ndarray]:
        """Indices of the released groups, and their noisy sizes, each >= least_seeds + margin."""
        large = np.flatnonzero(group_sizes >= self.least_seeds)
        if not len(large):
            return large, np.empty(0, dtype=np.int64)
        sizes, moved = group_sizes[large], self.neighbours.histogram_l1
        noisy = noise.discrete_laplace(sizes, sensitivity=moved, epsilon=self.epsilon0, rng=rng)
        kept = noisy >= self.least_seeds + self.margin
        return large[kept], noisy[kept]

    def start(self, model: SeedModel, seeds: Queryable, omega: Omega, sampling: KeyedRNG) -> Sampler:
        """Draw the released prefixes once, if seeds are used; rows are post-processing."""
        assert isinstance(model, PrefixModel)  # see check_model
        return PrefixSampler(model=model, rng=sampling, seeds=ReleasedSeeds.draw(model, seeds, omega, self))

    def _table_warnings(self, table_rows: int) -> list[str]:
        return super()._table_warnings(table_rows) if self.uses_seeds else []
