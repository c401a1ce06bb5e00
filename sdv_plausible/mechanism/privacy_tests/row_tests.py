"""What both tests of the paper share: candidates are decided one by one (section 2)."""

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


@dataclass(frozen=True, kw_only=True)
class RowByRowTest(PrivacyTest):
    """What both of the paper's tests may be told about counting plausible seeds (section 5).

    Parameters
    ----------
    gamma : float
        Factor within which probabilities count as "about the same", >= 1. Irrelevant for a fixed omega.
    row_cap : int
        Rows that may ever be released from one fit; all are charged.
    max_plausible : int, optional
        Counting stops at so many plausible seeds, at least as many as the test needs.
    max_check_plausible : int, optional
        So many seeds are looked at, in a random order that is fresh for every candidate. It changes the law
        of the test, and what it costs. Counting is a look-up here: neither makes it faster.
    hidden_omega : bool
        Whether likelihoods are those of the mixture over a range of omega, and not those of the omega drawn.
    """

    gamma: float = 4.0
    row_cap: int = 1_000_000
    max_plausible: int | None = None
    max_check_plausible: int | None = None
    hidden_omega: bool = False

    @property
    def row_limit(self) -> int | None:
        """The row cap."""
        return self.row_cap

    @property
    def likelihood_factor(self) -> float:
        """The partition's width."""
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
        """Plausible seeds at which counting stops; where only some seeds are looked at, it always does."""
        if self.max_plausible is None and self.max_check_plausible is not None:
            return self._surely_passes
        return self.max_plausible

    @property
    def _surely_passes(self) -> int:
        """Plausible seeds beyond which more make no difference that could be seen."""
        return self.least_seeds

    @abstractmethod
    def passes(self, plausible_seeds: np.ndarray, coins: KeyedRNG) -> np.ndarray:
        """Boolean array: which candidates pass."""

    def check_model(self, made: type[SeedModel]) -> None:
        """Raise ValueError if the mixture over omega is asked of a model that has none."""
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
        """Mechanism 1, with the records that it needs."""
        records, model = seeds.seed_records("rows"), model.for_row_tests()
        model.attach_seeds(records)
        mechanism = PlausibleDeniabilityMechanism(
            model=model, num_seeds=len(records), test=self, omega=omega, seed_free_share=seed_free_share
        )
        return RecordSampler(model=model, coins=sampling, mechanism=mechanism, gives_up=gives_up)

    @property
    def _limits(self) -> str:
        found = ["omega hidden"] if self.hidden_omega else []
        found += [] if self.max_plausible is None else [f"max_plausible = {self.max_plausible:,}"]
        if self.max_check_plausible is not None:
            found.append(f"max_check_plausible = {self.max_check_plausible:,}")
        return "".join(f", {text}" for text in found)
