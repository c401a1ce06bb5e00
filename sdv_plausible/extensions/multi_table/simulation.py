"""Parents' rows simulated from releases, beside which children are learned.

Everything is drawn with a public seed from what was released before. So the fit draws these rows, and so does
whoever checks a release file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from sdv_plausible.extensions.multi_table.child_network import ChildNetwork
from sdv_plausible.extensions.multi_table.related_sampling import beside_child, drawings
from sdv_plausible.extensions.multi_table.relationships import Relationship, TableTree
from sdv_plausible.extensions.multi_table.roles import Role, first_of
from sdv_plausible.models.adaptive.adaptive_network import NUM_SIMULATED
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.release.file.release import Release
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.domain import Domain

SIMULATION_SEED, MOST_SIMULATED = 2017, 4 * NUM_SIMULATED
SORTED_TOGETHER = 2**18  # even: a stream of coins is the same in parts of whole blocks
Roles = Mapping[str, Sequence[Role]]


def simulated_rows(tree: TableTree, roles: Roles, found: Mapping[str, Release], table: str) -> pd.DataFrame:
    """The model's columns of a table's rows, drawn with a public seed from releases on the way to it."""
    coins = KeyedRNG.from_seed(SIMULATION_SEED)
    rows = found[tree.root].sample_modelled(NUM_SIMULATED, coins.spawn("parents"))
    path = [link.child for link in tree.path(table)]
    on_the_way = {name: found[name] for name in (tree.root, *path)}
    for name, drawing in drawings(tree, on_the_way, roles).items():
        sizes = rows[drawing.link.count].to_numpy(dtype=int)
        few = np.cumsum(sizes) <= MOST_SIMULATED  # whole families, as many as that
        rows = drawing.children(rows[few], sizes[few], coins.spawn("children", name))
    return rows


def simulated_parents(
    tree: TableTree, roles: Roles, found: Mapping[str, Release], link: Relationship
) -> tuple[Domain, pd.DataFrame]:
    """A parent's columns, and simulated rows of them: each as often as it has lines of children."""
    rows = simulated_rows(tree, roles, found, link.parent)
    parents = Domain(tuple(a for a in found[link.parent].domain if a.name in rows))
    return parents, lines_of_children(link, rows, _has_first(link, roles))


def lines_of_children(link: Relationship, parents: pd.DataFrame, has_first: bool) -> pd.DataFrame:
    """Simulated rows of a parent's table, each as often as it has lines of children, in a public order."""
    ends = np.cumsum(np.maximum(parents[link.count].to_numpy(dtype=int) - has_first, 0))
    rows = np.searchsorted(ends, _shuffled(int(ends[-1]) if len(ends) else 0), side="right")
    return parents.iloc[rows].reset_index(drop=True).rename(columns=link.of_parent)


def _shuffled(number: int) -> np.ndarray:
    """The first NUM_SIMULATED of 0, ..., number - 1 in a public order, without the others in memory."""
    coins = KeyedRNG.from_seed(SIMULATION_SEED).spawn("order")
    keys, found = np.zeros(0), np.zeros(0, dtype=int)
    for start in range(0, number, SORTED_TOGETHER):
        drawn = coins.uniform(min(SORTED_TOGETHER, number - start))
        early = np.flatnonzero(drawn < keys[-1]) if len(keys) == NUM_SIMULATED else np.arange(len(drawn))
        keys, found = np.append(keys, drawn[early]), np.append(found, start + early)
        first = keys.argsort()[:NUM_SIMULATED]
        keys, found = keys[first], found[first]
    return found


def child_learner(
    link: Relationship,
    roles: Roles,
    siblings: Mapping[str, str],
    parents: Domain | None = None,
    simulated: pd.DataFrame | None = None,
) -> ChildNetwork:
    """Learner of a table beside its parent's simulated rows; None: of that nothing is known yet."""
    codes, alone = dict[str, np.ndarray](), np.zeros(0, dtype=bool)
    if simulated is not None:
        beside = Domain(tuple(beside_child(link, a) for a in parents or ()))
        drawn = Codec(beside).encode(simulated, KeyedRNG.from_seed(SIMULATION_SEED).spawn("codes"))
        alone = simulated[link.of_parent(link.count)].to_numpy() == 1 + _has_first(link, roles)
        if simulated.empty:  # no parent was drawn with a child: laws are fitted under any one row
            drawn, alone = np.zeros((1, len(beside)), dtype=drawn.dtype), np.ones(1, dtype=bool)
        codes = dict(zip(beside.names, drawn.T, strict=True))
    early = tuple(dict.fromkeys(role.column for role in roles.get(link.child, ())))
    return ChildNetwork(parents=codes, siblings=siblings, alone=alone, early=early)


def _has_first(link: Relationship, roles: Roles) -> bool:
    """Whether one row of a child's table stands in its parent's line."""
    return first_of(roles.get(link.child, ())) is not None
