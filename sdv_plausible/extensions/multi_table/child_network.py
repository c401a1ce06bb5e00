"""Rows that hang on others: a network that draws a child's columns given its parent's and a sibling's.

The table holds a line for each child, with its parent's columns and those of one of its siblings beside
it. The joint law of parents is known otherwise, and siblings are children: only pairs with a column of the
child itself are asked for, and only the child's conditionals are fitted, under rows of parents and siblings
that were simulated (docs/explanation/proofs/related_tables.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sdv_plausible.models.adaptive.adaptive_network import NUM_SIMULATED, AdaptiveNetwork
from sdv_plausible.models.adaptive.maximum_entropy import Estimates, fit_network
from sdv_plausible.models.adaptive.measurements import ConditioningColumns, Measurements
from sdv_plausible.models.adaptive.schedule import SIZE_SHARE, Schedule
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.bayesian_network import BayesianNetwork, Conditional
from sdv_plausible.models.conditional_table import ConditionalTable, ParentConfigurations
from sdv_plausible.models.forecast import Forecast
from sdv_plausible.models.log_linear import Factor, LogLinearConditional
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import NumberOfRows
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.table.columns.domain import Domain


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
    early : tuple of str
        The child's columns that come before its others in the network.
    alone : ndarray of bool
        Whether the child of each row of ``parents`` has no sibling.
    """

    parents: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False, compare=False)
    siblings: Mapping[str, str] = field(default_factory=dict)
    early: tuple[str, ...] = ()
    alone: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool), repr=False, compare=False)

    def first(self, domain: Domain) -> list[int]:
        """Columns of the parent and of the sibling, by number."""
        return [j for j, name in enumerate(domain.names) if name in self.siblings or name in self.parents]

    def forecast(self, domain: Domain, budget: ModelBudget, rows: int) -> Forecast | None:
        """How the noise will show in the child's own columns."""
        found = super().forecast(domain, budget, rows)
        if found is None:
            return None
        beside = {domain.names[j] for j in self.first(domain)}
        columns, shown = (
            {name: distance for name, distance in distances.items() if name not in beside}
            for distances in (found.columns, found.shown)
        )
        return replace(found, columns=columns, shown=shown)

    def fit(self, rows: Queryable, domain: Domain, budget: ModelBudget, coins: KeyedRNG) -> BayesianNetwork:  # noqa: ARG002
        """Learn the network: columns of parent and sibling come first in its order."""
        simulated = KeyedRNG.from_seed(self.simulation_seed)
        number = float(rows.ask(NumberOfRows(), SIZE_SHARE).values[0])
        schedule = Schedule.make(number, rows.allowance.for_counts(rows.neighbours), len(domain))
        parents, at = self._parents(domain)
        margins = {
            j: np.bincount(parents[:, i], minlength=domain.cardinalities[j]) / max(len(parents), 1)
            for i, j in enumerate(at)
        }
        beside = ConditioningColumns(columns=frozenset(self.first(domain)), margins=margins)
        measured = Measurements(rows, domain, schedule, wanted=self.wanted(domain), beside=beside)
        families = np.zeros((len(parents), len(domain)), dtype=np.int32, order="F")
        families[:, at] = parents
        network: BayesianNetwork | None = None
        for i, this in enumerate(schedule.rounds):
            chosen = measured.measure_pairs(this)
            again = this is schedule.rounds[-1] and measured.measure_again()
            if chosen or again or network is None:
                network = self._fitted(measured, domain, families, simulated.spawn(i))
        assert network is not None
        if schedule.sets:
            chosen = measured.measure_sets(schedule.sets)
            if measured.measure_again() or chosen:
                network = self._fitted(measured, domain, families, simulated.spawn("sets"))
        return network

    def _parents(self, domain: Domain) -> tuple[np.ndarray, list[int]]:
        """Codes (N, p) of the simulated parents, and the numbers of their columns."""
        known = [name for name in domain.names if name in self.parents]
        parents = np.column_stack([self.parents[name][:NUM_SIMULATED] for name in known])
        return parents, [domain.names.index(name) for name in known]

    def _fitted(
        self, measured: Measurements, domain: Domain, families: np.ndarray, coins: KeyedRNG
    ) -> BayesianNetwork:
        """The network of what was measured so far; siblings are put into the simulated families (N, m)."""
        # A sibling is a child whose own siblings nobody looks at: its conditionals are those of a child,
        # given its parent alone. Children who are alone have nobody beside them.
        places = {name: j for j, name in enumerate(domain.names)}
        own_of = {places[name]: places[own] for name, own in self.siblings.items()}
        first, estimates = self.first(domain), measured.estimates()
        pairs = {e: table for e, table in estimates.pairs.items() if own_of.keys().isdisjoint(e)}
        alone_law = replace(estimates, pairs=pairs)
        by_itself, drawn = self._drawn(alone_law, domain, families, coins.spawn("first"))
        alone, names = self.alone[: len(families)], list(domain)
        for j, own in own_of.items():
            families[:, j] = drawn[:, own]
            families[alone, j] = names[j].missing_code
        network, drawn = self._drawn(estimates, domain, families, coins.spawn("next"))
        measured.simulated = np.column_stack([b[drawn[:, j]] for j, b in enumerate(measured.buckets)])
        sibling_of = {own: j for j, own in own_of.items()}
        parents = [table for table in network.tables[: len(first)] if table.child not in own_of]
        copies = [
            renamed(table, sibling_of, domain.cardinalities) for table in by_itself.tables[len(first) :]
        ]
        return BayesianNetwork([*parents, *copies, *network.tables[len(first) :]])

    def _drawn(
        self, estimates: Estimates, domain: Domain, families: np.ndarray, coins: KeyedRNG
    ) -> tuple[BayesianNetwork, np.ndarray]:
        """A network fitted under families, and children (N, m) that it draws for them."""
        first, early = self.first(domain), [domain.names.index(name) for name in self.early]
        network, _ = fit_network(
            estimates, self.max_cost, len(families), coins.spawn("fit"), is_last=True,
            given={j: families[:, j] for j in first}, early=early,
        )  # fmt: skip
        return network, network.complete(families.copy(order="F"), len(first), coins.spawn("children"))


def renamed(table: Conditional, columns: Mapping[int, int], cardinalities: Sequence[int]) -> Conditional:
    """A conditional of the columns that some are copied to; codes that only these have are never drawn."""

    def longer(given: ParentConfigurations) -> ParentConfigurations:
        parents = tuple(columns.get(j, j) for j in given.parents)
        buckets = zip(parents, given.buckets, strict=True)
        return ParentConfigurations(
            parents=parents, buckets=tuple(np.pad(b, (0, cardinalities[j] - len(b))) for j, b in buckets)
        )

    child = columns.get(table.child, table.child)
    more = (0, cardinalities[child] - table.cardinality)
    if isinstance(table, ConditionalTable):
        given, law = longer(table.given), np.pad(table.probabilities, ((0, 0), more))
        return ConditionalTable(child=child, parents=given.parents, buckets=given.buckets, probabilities=law)
    return LogLinearConditional(
        child=child,
        bucket=np.pad(table.bucket, more),
        inside=np.pad(table.inside, more),
        base=table.base,
        factors=tuple(Factor(given=longer(f.given), weights=f.weights) for f in table.factors),
    )
