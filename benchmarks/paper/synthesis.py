"""Models and released rows of one repeat, each made once."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from benchmarks.paper.data import EXAMPLE_GRAPH, Split, load
from benchmarks.paper.settings import DELTA, EPSILON0, GAMMA, K, Omega, Row, Sizes
from sdv_plausible.models.adaptive.learner import AdaptiveLearner
from sdv_plausible.models.base import LearningRows, ModelBudget
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.models.paper.learner import (
    SHARES,
    SIZE_FAILURE,
    BayesianNetworkLearner,
    LearningPlan,
    Structure,
    _Measurer,
)
from sdv_plausible.models.paper.structure import correlation_feature_selection, default_buckets
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.privacy.privacy_tests import RandomizedTest, ReleaseTest
from sdv_plausible.release.mechanism import PlausibleDeniabilityMechanism, ReleasedSeeds

MAX_ATTEMPTS_PER_ROW = 10_000  # a study may fail visibly; a release under a claim must not
STRUCTURES: dict[str, Structure] = {"marginals": "independent", "cfs": "cfs", "example": EXAMPLE_GRAPH}


class Study:
    """One repeat: its rows, its models, its released rows. Coins come from the repeat's number: no privacy claim.

    Parameters
    ----------
    data : {"acs", "simulated"}
        Source of the real rows.
    sizes : Sizes
        Numbers of rows.
    repeat : int
        Number of the repeat.
    """

    def __init__(self, data: str, sizes: Sizes, repeat: int) -> None:
        self.data, self.sizes, self.repeat = data, sizes, repeat
        self.coins = Coins.from_seed(repeat)
        self._networks: dict[tuple[str, float], BayesianNetwork] = {}
        self._rows: dict[str, np.ndarray] = {}

    @cached_property
    def split(self) -> Split:
        """The real rows."""
        return load(self.data, self.sizes, self.repeat)

    def network(self, kind: str, epsilon: float) -> BayesianNetwork:
        """The model of a kind of row, learned at most once, without seeds."""
        if (kind, epsilon) not in self._networks:
            self._networks[kind, epsilon] = self.learn(kind, epsilon)
        return self._networks[kind, epsilon]

    def learn(self, kind: str, epsilon: float) -> BayesianNetwork:
        """Learn afresh: ours from all rows of D_T, D_P and D_S, the paper's from D_T and D_P."""
        split = self.split
        budget, ledger = ModelBudget(epsilon=epsilon, delta=DELTA), PrivacyLedger(delta=DELTA)
        coins = self.coins.spawn("learn", kind, epsilon)
        if kind == "ours":
            rows = np.concatenate([split.structure, split.parameters, split.seeds])
            everything = LearningRows(structure=rows, parameters=rows)
            return AdaptiveLearner().fit(everything, split.plain_domain, budget, ledger, coins)
        structure = self._structure(epsilon, coins) if kind == "parts" else STRUCTURES[kind]
        learner = BayesianNetworkLearner(structure=structure)
        separate = LearningRows(structure=split.structure, parameters=split.parameters)
        return learner.fit(separate, split.domain, budget, ledger, coins)

    def _structure(self, epsilon: float, coins: Coins) -> dict[str, list[str]]:
        """Arcs by CFS with the whole epsilon on D_T (section 3.5: D_T and D_P share no row, so the larger loss counts)."""
        domain, failure = self.split.domain, SIZE_FAILURE * DELTA
        mu = ModelBudget(epsilon=epsilon, delta=DELTA).gaussian(failure)
        shares = {stage: SHARES[stage] / (SHARES["size"] + SHARES["structure"]) for stage in ("size", "structure")}
        stages = {stage: math.sqrt(share) * mu for stage, share in shares.items()}
        plan = LearningPlan(mu=stages, num_attributes=len(domain), size_failure=failure)
        buckets = [default_buckets(attribute) for attribute in domain]
        entropies = _Measurer(self.split.structure, plan, coins.spawn("structure")).entropies(domain.cardinalities, buckets)
        parents = correlation_feature_selection(entropies.correlation(), buckets, BayesianNetworkLearner.max_cost)
        return {domain.names[j]: [domain.names[p] for p in chosen] for j, chosen in enumerate(parents)}

    def released(self, row: Row) -> np.ndarray:
        """``sizes.synthetics`` rows (N, 11): released ones, or for ``"reals"`` the first seeds."""
        if row.name not in self._rows:
            self._rows[row.name] = self._release(row)
        return self._rows[row.name]

    def _release(self, row: Row) -> np.ndarray:
        if row.kind == "reals":
            return self.split.seeds[: self.sizes.synthetics]
        coins = self.coins.spawn("release", row.name)
        network = self.network(row.kind, row.epsilon)
        if row.kind == "marginals":
            return network.sample(self.sizes.synthetics, coins)
        if row.kind == "ours":
            test = ReleaseTest(k=K, epsilon0=EPSILON0, delta=DELTA)
            return ReleasedSeeds.draw(network, self.split.seeds, "all", test, coins).sample(
                self.sizes.synthetics, network, coins
            )
        return self.mechanism(network, row.omega).release(
            self.sizes.synthetics, coins, MAX_ATTEMPTS_PER_ROW * self.sizes.synthetics
        )

    def mechanism(self, network: BayesianNetwork, omega: Omega) -> PlausibleDeniabilityMechanism:
        """Mechanism 1 with Privacy Test 2 on D_S."""
        network.attach_seeds(self.split.seeds)
        return PlausibleDeniabilityMechanism(
            model=network, num_seeds=len(self.split.seeds), test=RandomizedTest(k=K, gamma=GAMMA, epsilon0=EPSILON0),
            omega=omega, num_attributes=len(self.split.domain),
        )  # fmt: skip
