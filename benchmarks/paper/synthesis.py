"""Models and released rows of one repeat, each made once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from benchmarks.paper.data import CHILDREN_COST, CHILDREN_ORDER, EXAMPLE_GRAPH, Split, load
from benchmarks.paper.settings import DELTA, EPSILON0, GAMMA, K, Row, Sizes
from sdv_plausible.extensions.models.paper.paper_network import PaperNetwork, least_rows
from sdv_plausible.extensions.models.paper.paper_plans import SHARES, SIZE_FAILURE, LearningPlan, Structure
from sdv_plausible.extensions.models.paper.structure import (
    Entropies,
    cfs_merit,
    correlation_feature_selection,
)
from sdv_plausible.fitting.fit import learn_model
from sdv_plausible.mechanism.drawing.mechanism import PlausibleDeniabilityMechanism
from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.mechanism.drawing.released_prefixes import ReleasedSeeds
from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.mechanism.privacy_tests.row_tests import RandomizedTest
from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.bayesian_network import BayesianNetwork, Parents
from sdv_plausible.models.buckets import default_buckets
from sdv_plausible.models.conditional_table import num_configurations
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import ONE_ROW
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import CodeArray
from sdv_plausible.queries.queryable import Queryable, SeedRecords

ALL_RESAMPLED = Omega(None, None)
MAX_ATTEMPTS_PER_ROW = 10_000  # a study may fail visibly; a release under a claim must not
STRUCTURES: dict[str, Structure] = {
    "marginals": "independent",
    "cfs": "cfs",
    "printed": "cfs",
    "example": EXAMPLE_GRAPH,
}
Search = Callable[[np.ndarray, Sequence[np.ndarray], int], Parents]


def child_after_child(
    correlation: np.ndarray,
    buckets: Sequence[np.ndarray],
    max_cost: int,
    order: Sequence[int] = CHILDREN_ORDER,
) -> Parents:
    """All parents of one child before the next one's: the other reading of section 3.3."""
    found: dict[int, list[int]] = {}
    ancestors = {j: {j} for j in order}

    def merit(child: int, parent: int) -> float:
        return cfs_merit(correlation, child, [*found[child], parent])

    for child in order:
        found[child] = []
        while True:
            fitting = [
                p
                for p in order
                if p not in found[child]
                and child not in ancestors[p]
                and num_configurations([buckets[i] for i in [*found[child], p]]) <= CHILDREN_COST
            ]
            best = max(fitting, key=lambda p: merit(child, p), default=None)
            if best is None or merit(child, best) <= cfs_merit(correlation, child, found[child]):
                break
            found[child].append(best)
            for below in ancestors.values():
                if child in below:
                    below.update(ancestors[best])
    return tuple(tuple(found[j]) for j in sorted(found))


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
        self.rng = KeyedRNG.from_seed(repeat)
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

    def learn(self, kind: str, epsilon: float, draw: int = 0) -> BayesianNetwork:
        """Learn afresh: ours from all rows of D_T, D_P and D_S, the paper's from D_T and D_P; another model for every draw."""
        split = self.split
        budget, ledger = ModelBudget(epsilon=epsilon, delta=DELTA), PrivacyLedger(delta=DELTA)
        rng = self.rng.spawn("learn", kind, epsilon, *([draw] if draw else []))
        if kind == "ours":
            rows = np.concatenate([split.structure, split.parameters, split.seeds])
            everything = {"learning": CodeArray(rows, split.plain_domain.cardinalities)}
            return learn_model(everything, split.plain_domain, AdaptiveNetwork(), budget, ledger, rng)
        searches: dict[str, Search] = {"parts": correlation_feature_selection, "children": child_after_child}
        structure = self._structure(epsilon, rng, searches[kind]) if kind in searches else STRUCTURES[kind]
        learner = PaperNetwork(structure=structure, noise="paper" if kind == "printed" else "calibrated")
        codes = {"learning": split.parameters, "structure": split.structure, "parameters": split.parameters}
        rows = {part: CodeArray(c, split.domain.cardinalities) for part, c in codes.items()}
        return learn_model(rows, split.domain, learner, budget, ledger, rng)

    def _structure(self, epsilon: float, rng: KeyedRNG, search: Search) -> dict[str, list[str]]:
        """Arcs by CFS with the whole epsilon on D_T (section 3.5: D_T and D_P share no row, so the larger loss counts)."""
        domain, failure = self.split.domain, SIZE_FAILURE * DELTA
        shares = {
            stage: SHARES[stage] / (SHARES["size"] + SHARES["structure"]) for stage in ("size", "structure")
        }
        mu = ModelBudget(epsilon=epsilon, delta=DELTA).gaussian(failure)
        plan = LearningPlan(mu=mu, shares=shares, num_attributes=len(domain), size_failure=failure)
        codes = CodeArray(self.split.structure, domain.cardinalities)
        rows = Queryable(codes, PrivacyLedger(delta=DELTA), plan.entries("cfs"), rng.spawn("structure"))
        buckets = [default_buckets(attribute) for attribute in domain]
        question = Entropies(domain.cardinalities, buckets, least_rows(rows, plan))
        entropies = question.table(rows.ask(question, shares["structure"]).values)
        parents = search(entropies.correlation(), buckets, PaperNetwork.max_cost)
        return {domain.names[j]: [domain.names[p] for p in chosen] for j, chosen in enumerate(parents)}

    def released(self, row: Row) -> np.ndarray:
        """``sizes.synthetics`` rows (N, 11): released ones, or for ``"reals"`` the first seeds."""
        if row.name not in self._rows:
            self._rows[row.name] = self._release(row)
        return self._rows[row.name]

    def _release(self, row: Row) -> np.ndarray:
        if row.kind == "reals":
            return self.split.seeds[: self.sizes.synthetics]
        rng = self.rng.spawn("release", row.name)
        network = self.network(row.kind, row.epsilon)
        if row.kind == "marginals":
            return network.sample(self.sizes.synthetics, rng)
        if row.kind == "ours":
            test = ReleaseTest(k=K, epsilon0=EPSILON0, omega=1).bound(DELTA, ONE_ROW)
            seeds = Queryable(
                CodeArray(self.split.seeds, network.cardinalities), PrivacyLedger(delta=DELTA), (), rng
            )
            released = ReleasedSeeds.draw(network, seeds, ALL_RESAMPLED, test)
            return released.sample(self.sizes.synthetics, network, rng)
        return self.mechanism(network, row.omega).release(
            self.sizes.synthetics, rng, MAX_ATTEMPTS_PER_ROW * self.sizes.synthetics
        )

    def mechanism(
        self, network: BayesianNetwork, omega: object, **limits: int
    ) -> PlausibleDeniabilityMechanism:
        """Mechanism 1 with Privacy Test 2 on D_S, and ``max_plausible`` and ``max_check_plausible`` if they are given."""
        network.attach_seeds(SeedRecords(self.split.seeds))
        test = RandomizedTest(k=K, gamma=GAMMA, epsilon0=EPSILON0, **limits)
        return PlausibleDeniabilityMechanism(
            model=network, num_seeds=len(self.split.seeds), test=test, omega=Omega.parse(omega)
        )
