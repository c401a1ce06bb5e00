"""Base class of the paper's two tests, which decide candidate by candidate (section 2)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from sdv_plausible.mechanism.drawing.mechanism import PlausibleDeniabilityMechanism
from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.mechanism.drawing.sampler import RecordSampler, Sampler
from sdv_plausible.mechanism.privacy_tests.privacy_test import PrivacyTest
from sdv_plausible.models.base import SeedModel
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.privacy import parameter_checks as check
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
    row_cap : int
        Largest number of rows that one fit may release, >= 1; all are charged.
    max_plausible : int, optional
        Number of plausible seeds at which counting stops, at least the number that the test needs.
    max_check_plausible : int, optional
        Number of seeds checked, in a fresh random order per candidate. It changes the distribution and the
        cost of the test. Neither limit saves time, as counting is a look-up here.
    hidden_omega : bool
        Whether likelihoods are those of the mixture over a range of omega, instead of the drawn omega.
    """

    gamma: float = 4.0
    row_cap: int = DEFAULT_ROW_CAP
    max_plausible: int | None = None
    max_check_plausible: int | None = None
    hidden_omega: bool = False

    @property
    def row_limit(self) -> int | None:
        """The row cap."""
        return self.row_cap

    @property
    def likelihood_factor(self) -> float:
        """Width of the partition, gamma."""
        return self.gamma

    def _check(self) -> None:
        check.at_least("gamma", self.gamma, 1.0, "it is a factor; try 4.0")
        check.truth("hidden_omega", self.hidden_omega)
        check.whole("row_cap", self.row_cap, 1, "it is the number of rows ever released")
        for name in ("max_plausible", "max_check_plausible"):
            limit = getattr(self, name)
            if limit is not None and check.whole(name, limit, 1) < self.least_seeds:
                raise ValueError(
                    f"{name} ({limit}) is below the {self.least_seeds} plausible seeds that a row needs: "
                    "no row could pass for sure; raise it, or lower k"
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
    def passes(self, plausible_seeds: np.ndarray, coins: KeyedRNG) -> np.ndarray:
        """Boolean array: which candidates pass."""

    def check_model(self, made: type[SeedModel]) -> None:
        """Raise ValueError if the models have no mixture over omega and it is needed."""
        if self.hidden_omega and not issubclass(made, BayesianNetwork):
            raise ValueError(
                f"hidden_omega needs a Bayesian network, not {made.__name__}: leave it out, and omega counts "
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
        records, model = seeds.seed_records("rows"), model.for_row_tests()
        model.attach_seeds(records)
        mechanism = PlausibleDeniabilityMechanism(
            model=model, num_seeds=len(records), test=self, omega=omega, seed_free_share=seed_free_share
        )
        return RecordSampler(model=model, coins=sampling, mechanism=mechanism, gives_up=gives_up)

    @property
    def _limits(self) -> str:
        limits = ["omega hidden"] if self.hidden_omega else []
        limits += [] if self.max_plausible is None else [f"max_plausible = {self.max_plausible:,}"]
        if self.max_check_plausible is not None:
            limits.append(f"max_check_plausible = {self.max_check_plausible:,}")
        return "".join(f", {limit}" for limit in limits)
