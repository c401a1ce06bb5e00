"""Simulate parents' rows from releases, to learn child tables from.

All draws use a public seed and earlier releases only. So the fit and anyone who verifies a release file
simulate the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.extensions.multi_table.child_network import ChildNetwork
from sdv_plausible.extensions.multi_table.related_release import FamilyRelease
from sdv_plausible.extensions.multi_table.related_sampling import as_parent_column, child_samplers
from sdv_plausible.extensions.multi_table.relationships import Relationship, Role, TableTree, exactly_one_role
from sdv_plausible.models import make_learner
from sdv_plausible.models.adaptive.adaptive_network import NUM_SIMULATED
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.release.file.release import Release
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.domain import Domain

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
