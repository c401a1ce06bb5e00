"""Learn child tables from simulated rows of their parents; the rows are simulated from releases.

All draws use a public seed and earlier releases only. So the fit and anyone who verifies a release file
simulate the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.extensions.multi_table.related_release import FamilyRelease
from sdv_plausible.extensions.multi_table.related_sampling import as_parent_column, child_samplers
from sdv_plausible.extensions.multi_table.relationships import Relationship, Role, TableTree, exactly_one_role
from sdv_plausible.models import make_learner
from sdv_plausible.models.adaptive.adaptive_network import NUM_SIMULATED, AdaptiveNetwork
from sdv_plausible.models.adaptive.maximum_entropy import Estimates, fit_network
from sdv_plausible.models.adaptive.measurements import ConditioningColumns, Measurements
from sdv_plausible.models.adaptive.schedule import SIZE_SHARE, Schedule, num_ordered
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.models.bayesian_network import BayesianNetwork, Conditional
from sdv_plausible.models.conditional_table import ConditionalTable, ParentConfigurations
from sdv_plausible.models.forecast import Forecast
from sdv_plausible.models.log_linear import Factor, LogLinearConditional
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import NumberOfRows
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.release.file.release import Release
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.domain import Domain

# Bayesian network of a child table's columns, given the columns of its parent and of one sibling.
# Each row of the table is a child, together with its parent's columns and those of one of its siblings. The
# parent's distribution is modelled elsewhere, and siblings are children. Therefore only pairs that contain a
# column of the child are measured, and only the child's conditionals are fitted, given simulated rows of
# parents and siblings (docs/explanation/proofs/related_tables.md).


@dataclass(frozen=True, kw_only=True)
class ChildNetwork(AdaptiveNetwork):
    """Learn a child's columns given those of its parent and of one sibling."""

    # Simulated codes of each of the parent's columns, one entry per child, by their names in the child's
    # table. They are drawn from models that are already paid for and contain no protected rows.
    parents: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False, compare=False)
    # Column of a sibling -> the child's own column that it is a copy of.
    siblings: Mapping[str, str] = field(default_factory=dict)
    early: tuple[str, ...] = ()  # the child's columns that come first in the network
    # Whether the child of each row of ``parents`` has no sibling.
    alone: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool), repr=False, compare=False)

    def first(self, domain: Domain) -> list[int]:
        """Indices of the columns of the parent and of the sibling."""
        return [j for j, name in enumerate(domain.names) if name in self.siblings or name in self.parents]

    def forecast(self, domain: Domain, budget: ModelBudget, rows: int) -> Forecast | None:
        """Forecast the effect of the noise on the child's own columns."""
        forecast = super().forecast(domain, budget, rows)
        if forecast is None:
            return None
        conditioning = {domain.names[j] for j in self.first(domain)}
        columns, shown = (
            {name: distance for name, distance in distances.items() if name not in conditioning}
            for distances in (forecast.columns, forecast.shown)
        )
        return replace(forecast, columns=columns, shown=shown)

    def fit(self, rows: Queryable, domain: Domain, budget: ModelBudget, rng: KeyedRNG) -> BayesianNetwork:  # noqa: ARG002
        """Learn the network; columns of the parent and of the sibling come first in its order."""
        simulation_rng = KeyedRNG.from_seed(self.simulation_seed)
        num_rows = float(rows.ask(NumberOfRows(), SIZE_SHARE).values[0])
        schedule = Schedule.make(
            num_rows, rows.allowance.for_counts(rows.neighbours), len(domain), num_ordered(domain)
        )
        parents, parent_columns = self._parents(domain)
        margins = {
            j: np.bincount(parents[:, i], minlength=domain.cardinalities[j]) / max(len(parents), 1)
            for i, j in enumerate(parent_columns)
        }
        beside = ConditioningColumns(columns=frozenset(self.first(domain)), margins=margins)
        measurements = Measurements(rows, domain, schedule, wanted=self.wanted(domain), beside=beside)
        simulated_rows = np.zeros((len(parents), len(domain)), dtype=np.int32, order="F")
        simulated_rows[:, parent_columns] = parents
        network: BayesianNetwork | None = None
        for i, stage in enumerate(schedule.rounds):
            has_new_pairs = measurements.measure_pairs(stage)
            is_remeasured = stage is schedule.rounds[-1] and measurements.measure_again()
            if has_new_pairs or is_remeasured or network is None:
                network = self._fit_measured(measurements, domain, simulated_rows, simulation_rng.spawn(i))
        measurements.tilt_unmeasured()
        if measurements.is_tilted_anew:
            network = self._fit_measured(measurements, domain, simulated_rows, simulation_rng.spawn("tilted"))
        assert network is not None
        if schedule.sets:
            has_new_pairs = measurements.measure_sets(schedule.sets)
            if measurements.measure_again() or has_new_pairs:
                network = self._fit_measured(
                    measurements, domain, simulated_rows, simulation_rng.spawn("sets")
                )
        return network

    def _parents(self, domain: Domain) -> tuple[np.ndarray, list[int]]:
        """Codes (N, p) of the simulated parents, and the indices of their columns."""
        known = [name for name in domain.names if name in self.parents]
        parents = np.column_stack([self.parents[name][:NUM_SIMULATED] for name in known])
        return parents, [domain.names.index(name) for name in known]

    def _fit_measured(
        self, measurements: Measurements, domain: Domain, simulated_rows: np.ndarray, rng: KeyedRNG
    ) -> BayesianNetwork:
        """Fit a network to the measurements so far; fills siblings into the simulated rows (N, m)."""
        # A sibling is drawn like a child without siblings: given its parent alone. Children without siblings
        # have missing values in the sibling's columns.
        index_of = {name: j for j, name in enumerate(domain.names)}
        own_column = {index_of[name]: index_of[own] for name, own in self.siblings.items()}
        first, estimates = self.first(domain), measurements.estimates()
        pairs = {e: table for e, table in estimates.pairs.items() if own_column.keys().isdisjoint(e)}
        parent_only = replace(estimates, pairs=pairs)
        sibling_network, drawn = self._fit_and_draw(parent_only, domain, simulated_rows, rng.spawn("first"))
        alone, names = self.alone[: len(simulated_rows)], list(domain)
        for j, own in own_column.items():
            simulated_rows[:, j] = drawn[:, own]
            simulated_rows[alone, j] = names[j].missing_code
        network, drawn = self._fit_and_draw(estimates, domain, simulated_rows, rng.spawn("next"))
        measurements.simulated = np.column_stack([b[drawn[:, j]] for j, b in enumerate(measurements.buckets)])
        sibling_of = {own: j for j, own in own_column.items()}
        parents = [table for table in network.tables[: len(first)] if table.child not in own_column]
        copies = [
            copy_conditional(table, sibling_of, domain.cardinalities)
            for table in sibling_network.tables[len(first) :]
        ]
        return BayesianNetwork([*parents, *copies, *network.tables[len(first) :]])

    def _fit_and_draw(
        self, estimates: Estimates, domain: Domain, simulated_rows: np.ndarray, rng: KeyedRNG
    ) -> tuple[BayesianNetwork, np.ndarray]:
        """Fit a network given simulated rows, and draw children (N, m) for them."""
        first, early = self.first(domain), [domain.names.index(name) for name in self.early]
        network, _ = fit_network(
            estimates, self.max_cost, len(simulated_rows), rng.spawn("fit"), is_last=True,
            given={j: simulated_rows[:, j] for j in first}, early=early,
        )  # fmt: skip
        return network, network.complete(simulated_rows.copy(order="F"), len(first), rng.spawn("children"))


def copy_conditional(
    table: Conditional, columns: Mapping[int, int], cardinalities: Sequence[int]
) -> Conditional:
    """Copy a conditional to other columns; codes that only these columns have get probability 0."""

    def remap(given: ParentConfigurations) -> ParentConfigurations:
        parents = tuple(columns.get(j, j) for j in given.parents)
        buckets = zip(parents, given.buckets, strict=True)
        return ParentConfigurations(
            parents=parents, buckets=tuple(np.pad(b, (0, cardinalities[j] - len(b))) for j, b in buckets)
        )

    child = columns.get(table.child, table.child)
    padding = (0, cardinalities[child] - table.cardinality)
    if isinstance(table, ConditionalTable):
        given, probabilities = remap(table.given), np.pad(table.probabilities, ((0, 0), padding))
        return ConditionalTable(
            child=child, parents=given.parents, buckets=given.buckets, probabilities=probabilities
        )
    return LogLinearConditional(
        child=child,
        bucket=np.pad(table.bucket, padding),
        inside=np.pad(table.inside, padding),
        base=table.base,
        factors=tuple(Factor(given=remap(f.given), weights=f.weights) for f in table.factors),
    )


SIMULATION_SEED, MAX_SIMULATED = 2017, 4 * NUM_SIMULATED
SORT_BLOCK = 2**18  # even: a stream is the same when drawn in whole blocks
Roles = Mapping[str, Sequence[Role]]


def simulate_rows(tree: TableTree, roles: Roles, releases: Mapping[str, Release], table: str) -> pd.DataFrame:
    """Simulate the modelled columns of a table's rows from the releases of the tables on its path."""
    rng = KeyedRNG.from_seed(SIMULATION_SEED)
    rows = releases[tree.root].sample_modelled(NUM_SIMULATED, rng.spawn("parents"))
    names = [link.child for link in tree.path(table)]
    on_path = {name: releases[name] for name in (tree.root, *names)}
    for name, sampler in child_samplers(tree, on_path, roles).items():
        sizes = rows[sampler.link.count].to_numpy(dtype=int)
        is_used = np.cumsum(sizes) <= MAX_SIMULATED  # complete families only
        rows = sampler.children(rows[is_used], sizes[is_used], rng.spawn("children", name))
    return rows


def simulate_parents(
    tree: TableTree, roles: Roles, releases: Mapping[str, Release], link: Relationship
) -> tuple[Domain, pd.DataFrame]:
    """A parent's domain and simulated rows, each repeated once per row of its children."""
    rows = simulate_rows(tree, roles, releases, link.parent)
    domain = Domain(tuple(a for a in releases[link.parent].domain if a.name in rows))
    return domain, parent_row_per_child(link, rows, _has_exactly_one_role(link, roles))


def parent_row_per_child(link: Relationship, parents: pd.DataFrame, has_first: bool) -> pd.DataFrame:
    """Repeat simulated parents once per child's row, in a public random order."""
    last = np.cumsum(np.maximum(parents[link.count].to_numpy(dtype=int) - has_first, 0))
    rows = np.searchsorted(last, _shuffled(int(last[-1]) if len(last) else 0), side="right")
    return parents.iloc[rows].reset_index(drop=True).rename(columns=link.of_parent)


def _shuffled(number: int) -> np.ndarray:
    """The first NUM_SIMULATED entries of a public permutation of 0, ..., number - 1, in bounded memory."""
    rng = KeyedRNG.from_seed(SIMULATION_SEED).spawn("order")
    keys, indices = np.zeros(0), np.zeros(0, dtype=int)
    for start in range(0, number, SORT_BLOCK):
        drawn = rng.uniform(min(SORT_BLOCK, number - start))
        candidates = np.flatnonzero(drawn < keys[-1]) if len(keys) == NUM_SIMULATED else np.arange(len(drawn))
        keys, indices = np.append(keys, drawn[candidates]), np.append(indices, start + candidates)
        first = keys.argsort()[:NUM_SIMULATED]
        keys, indices = keys[first], indices[first]
    return indices


def child_learner(
    link: Relationship,
    roles: Roles,
    siblings: Mapping[str, str],
    parents: Domain | None = None,
    simulated: pd.DataFrame | None = None,
) -> ChildNetwork:
    """Learner of a child table, given simulated rows of its parent; None before these are known."""
    codes, alone = dict[str, np.ndarray](), np.zeros(0, dtype=bool)
    if simulated is not None:
        parent_domain = Domain(tuple(as_parent_column(link, a) for a in parents or ()))
        drawn = Codec(parent_domain).encode(simulated, KeyedRNG.from_seed(SIMULATION_SEED).spawn("codes"))
        alone = simulated[link.of_parent(link.count)].to_numpy() == 1 + _has_exactly_one_role(link, roles)
        if simulated.empty:  # no simulated parent has a child: fit given one arbitrary row
            drawn, alone = np.zeros((1, len(parent_domain)), dtype=drawn.dtype), np.ones(1, dtype=bool)
        codes = dict(zip(parent_domain.names, drawn.T, strict=True))
    early = tuple(dict.fromkeys(role.column for role in roles.get(link.child, ())))
    return ChildNetwork(parents=codes, siblings=siblings, alone=alone, early=early)


def _has_exactly_one_role(link: Relationship, roles: Roles) -> bool:
    """Whether the child table has a role "exactly one"."""
    return exactly_one_role(roles.get(link.child, ())) is not None


ROOT_MODEL = "bayesian_network"


def replayed_learner(families: FamilyRelease, table: str) -> Any:
    """Return the learner of one table; the parents of a child are simulated again."""
    if table == families.tree.root:
        return make_learner(ROOT_MODEL)
    link = families.tree.path(table)[-1]
    siblings = {link.of_sibling(name): name for name in families.own_model_columns(table)}
    parents = simulate_parents(families.tree, families.roles, families.tables, link)
    return child_learner(link, families.roles, siblings, *parents)
