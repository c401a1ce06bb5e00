"""Rows that hang on others: a network that draws a child's columns given its parent's and a sibling's.

The table holds a line for each child, with its parent's columns and those of one of its siblings beside
it. The joint law of parents is known otherwise, and siblings are children: only pairs with a column of the
child itself are asked for, and only the child's conditionals are fitted, under rows of parents and siblings
that were simulated (docs/explanation/proofs/related_tables.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from sdv_plausible.models.adaptive.adaptive_network import NUM_SIMULATED, AdaptiveNetwork
from sdv_plausible.models.adaptive.beside import Beside
from sdv_plausible.models.adaptive.maximum_entropy import fit_network
from sdv_plausible.models.adaptive.measurements import Measurements
from sdv_plausible.models.adaptive.schedule import SIZE_SHARE, Schedule
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.questions.counts import NumberOfRows
from sdv_plausible.questions.queryable import Queryable
from sdv_plausible.table.columns.domain import Domain

RENEWED = 2  # times that siblings are simulated anew by the network that they helped to fit


@dataclass(frozen=True, kw_only=True)
class ChildNetwork(AdaptiveNetwork):
    """Learns a child's columns beside those of its parent and of one sibling.

    Parameters
    ----------
    parents : mapping of str to ndarray of int
        Simulated codes: an entry for each child, of each of the parent's columns as the table names them. No
        rows that are to be protected: what they are made of was paid for.
    siblings : mapping of str to str
        The column of the child that each column of a sibling is one of.
    alone : ndarray of bool
        Whether the child of each row of ``parents`` has no sibling.
    """

    parents: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False, compare=False)
    siblings: Mapping[str, str] = field(default_factory=dict)
    alone: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool), repr=False, compare=False)

    def first(self, domain: Domain) -> list[int]:
        """Columns of the parent and of the sibling, by number."""
        return [j for j, name in enumerate(domain.names) if name in self.siblings or name in self.parents]

    def fit(self, rows: Queryable, domain: Domain, budget: ModelBudget, coins: Coins) -> BayesianNetwork:  # noqa: ARG002
        """Learn the network: columns of parent and sibling come first in its order."""
        simulated = Coins.from_seed(self.simulation_seed)
        number = float(rows.ask(NumberOfRows(), SIZE_SHARE).values[0])
        schedule = Schedule.make(number, rows.allowance.for_counts(rows.neighbours), len(domain))
        parents, at = self._parents(domain)
        margins = {
            j: np.bincount(parents[:, i], minlength=domain.cardinalities[j]) / max(len(parents), 1)
            for i, j in enumerate(at)
        }
        beside = Beside(columns=frozenset(self.first(domain)), margins=margins)
        measured = Measurements(rows, domain, schedule, wanted=self.wanted(domain), beside=beside)
        families = np.zeros((len(parents), len(domain)), dtype=np.int32, order="F")
        families[:, at] = parents
        self._put_siblings(families, domain, measured, simulated.spawn("siblings"))
        network: BayesianNetwork | None = None
        for i, this in enumerate(schedule.rounds):
            if measured.measure_pairs(this) or network is None:
                network = self._fitted(measured, domain, families, simulated.spawn(i))
        assert network is not None
        if schedule.sets and measured.measure_sets(schedule.sets):
            network = self._fitted(measured, domain, families, simulated.spawn("sets"))
        return network

    def _parents(self, domain: Domain) -> tuple[np.ndarray, list[int]]:
        """Codes (N, p) of the simulated parents, and the numbers of their columns."""
        known = [name for name in domain.names if name in self.parents]
        parents = np.column_stack([self.parents[name][:NUM_SIMULATED] for name in known])
        return parents, [domain.names.index(name) for name in known]

    def _put_siblings(self, codes: np.ndarray, domain: Domain, measured: Measurements, coins: Coins) -> None:
        """Put siblings, in place, whose columns are independent so far."""
        for name in self.siblings:
            j = domain.names.index(name)
            mass = measured.margins[j].copy()
            if (none := domain[name].missing_code) is not None and mass.sum() > mass[none]:
                mass[none] = 0.0
            places = np.searchsorted(np.cumsum(mass) / mass.sum(), coins.uniform(len(codes)), side="right")
            codes[:, j] = np.minimum(places, len(mass) - 1)
        self._without_siblings(codes, domain)

    def _without_siblings(self, codes: np.ndarray, domain: Domain) -> None:
        """Children who are alone have nobody beside them."""
        alone = self.alone[: len(codes)]
        for name in self.siblings:
            codes[alone, domain.names.index(name)] = domain[name].missing_code

    def _fitted(
        self, measured: Measurements, domain: Domain, families: np.ndarray, coins: Coins
    ) -> BayesianNetwork:
        """The network of what was measured so far: children that it draws are the siblings of the next."""
        first, estimates = self.first(domain), measured.estimates()
        for i in range(RENEWED + 1):
            given = {j: families[:, j] for j in first}
            network, _ = fit_network(
                estimates, self.max_cost, len(families), coins.spawn("fit", i), is_last=True, given=given
            )
            drawn = network.complete(families.copy(order="F"), len(first), coins.spawn("siblings", i))
            for name, own in self.siblings.items():
                families[:, domain.names.index(name)] = drawn[:, domain.names.index(own)]
            self._without_siblings(families, domain)
        measured.simulated = np.column_stack([b[drawn[:, j]] for j, b in enumerate(measured.buckets)])
        return network
