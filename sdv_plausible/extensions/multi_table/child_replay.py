"""Rebuild the learners of a release of related tables, as its fit used them."""

from __future__ import annotations

from typing import Any

from sdv_plausible.extensions.multi_table.related_release import FamilyRelease
from sdv_plausible.extensions.multi_table.simulation import child_learner, simulate_parents
from sdv_plausible.models import make_learner

ROOT_MODEL = "bayesian_network"


def replayed_learner(families: FamilyRelease, table: str) -> Any:
    """Return the learner of one table; the parents of a child are simulated again."""
    if table == families.tree.root:
        return make_learner(ROOT_MODEL)
    link = families.tree.path(table)[-1]
    siblings = {link.of_sibling(name): name for name in families.own_model_columns(table)}
    parents = simulate_parents(families.tree, families.roles, families.tables, link)
    return child_learner(link, families.roles, siblings, *parents)
