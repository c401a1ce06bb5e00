"""Learners of the tables in a release of related tables, as their fit had them."""

from __future__ import annotations

from typing import Any

from sdv_plausible.extensions.multi_table.related_release import FamilyRelease
from sdv_plausible.extensions.multi_table.simulation import child_learner, simulated_parents
from sdv_plausible.models import make_learner

ROOT_MODEL = "bayesian_network"


def learner_in(families: FamilyRelease, table: str) -> Any:
    """The learner of one table; parents of a child are simulated again from the releases before it."""
    if table == families.tree.root:
        return make_learner(ROOT_MODEL)
    link = families.tree.path(table)[-1]
    siblings = {link.of_sibling(name): name for name in families.own_modelled(table)}
    parents = simulated_parents(families.tree, families.roles, families.tables, link)
    return child_learner(link, families.roles, siblings, *parents)
