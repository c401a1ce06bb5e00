"""From a release of related tables back to what its synthesizer was told."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sdv_plausible.privacy.accounting.losses import InfiniteLoss
from sdv_plausible.privacy.ledger import PrivacyLedger

if TYPE_CHECKING:
    from sdv_plausible.related.release import FamilyRelease


def arguments_of(release: FamilyRelease) -> dict[str, Any]:
    """The constructor's arguments; value sets that were learned are not among them, and are learned anew."""
    settings, tree = release.tables[release.tree.root].settings, release.tree
    relations = [
        {
            "parent_table_name": link.parent, "parent_primary_key": link.primary_key,
            "child_table_name": link.child, "child_foreign_key": link.foreign_key,
        }
        for link in tree.links
    ]  # fmt: skip
    return {
        "metadata": {
            "tables": {name: _table(release, name) for name in tree.tables},
            "relationships": relations,
        },
        "locales": list(settings["locales"]),
        "epsilon": _epsilon(release),
        "delta": release.ledger.delta,
        "max_children": {link.child: link.most for link in tree.links},
        "domain": {name: _declared(release, name) for name in tree.tables},
        "roles": {name: _roles(release, name) for name in release.roles},
        "types": settings["types"],
        "max_bins": settings["max_bins"],
        "neighbours": tree.neighbours,
    }


def _table(release: FamilyRelease, name: str) -> dict[str, Any]:
    one, columns = release.tables[name], dict[str, Any]()
    for column in release.own_columns(name):
        columns[column.name] = dict(column.spec)
        if column.name in one.domain and (form := one.domain[column.name].datetime_format) is not None:
            columns[column.name].setdefault("datetime_format", form)  # a domain file may have told it
    key = one.schema.primary_key
    keys = {} if key is None else {"primary_key": list(key) if isinstance(key, tuple) else key}
    return {"columns": columns, **keys}


def _declared(release: FamilyRelease, name: str) -> dict[str, Any]:
    domain, own = release.tables[name].domain, [column.name for column in release.own_columns(name)]
    return {a.name: a for a in domain if a.name in own and a.provenance == "declared"}


def _roles(release: FamilyRelease, name: str) -> dict[str, Any]:
    domain, found = release.tables[name].domain, dict[str, Any]()
    for role in release.roles[name]:
        attribute = domain[role.column]
        at = role.code - len(attribute.lower)  # values come after bins, and missing after all
        value = attribute.values[at] if at < len(attribute.values) else None
        found.setdefault(role.column, {})[value] = role.often
    return found


def _epsilon(release: FamilyRelease) -> float:
    """What all tables cost together, also where an entry without noise of its own ends the claim."""
    if math.isinf(release.tables[release.tree.root].settings["epsilon"]):
        return math.inf
    charged = PrivacyLedger(delta=release.ledger.delta, neighbours=release.ledger.neighbours)
    for entry in release.ledger.entries:
        if not any(isinstance(loss, InfiniteLoss) for loss in entry.losses):
            charged.charge(entry)
    return charged.total()
