"""Structure learning as in section 3.3 of the paper: correlation-based feature selection (CFS)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from sdv_plausible.models.bayesian_network import Parents, topological_order
from sdv_plausible.models.buckets import default_buckets
from sdv_plausible.models.conditional_table import num_configurations
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.table.columns.domain import Domain

MAX_CELLS = 50_000_000  # largest number of cells of a conditional table


def correlation_feature_selection(
    correlation: np.ndarray, buckets: Sequence[np.ndarray], max_cost: int, max_parents: int | None = None
) -> Parents:
    """Return greedy acyclic parent sets by the CFS merit (Eq. 4), under the cost bound (Eq. 6)."""
    # Each step adds the arc with the largest gain in merit over all children, until no arc has a gain. The
    # paper fixes no order of the children; this order does not depend on the columns' order.
    # ``correlation`` is ``corr(x_i, bkt(x_j))``, shape (m, m); ``max_cost`` bounds the configurations of a
    # parent set.
    m = len(correlation)
    parents: list[list[int]] = [[] for _ in range(m)]
    merit = np.zeros(m)
    ancestors = np.eye(m, dtype=bool)  # ancestors[i, j]: j is i or an ancestor of i
    while True:
        best = (1e-12, -1, -1)
        for child in range(m):
            if max_parents is not None and len(parents[child]) >= max_parents:
                continue
            for parent in range(m):
                if parent in parents[child] or ancestors[parent, child]:
                    continue  # the arc would close a cycle
                enlarged = [*parents[child], parent]
                if num_configurations([buckets[p] for p in enlarged]) > max_cost:
                    continue
                gain = cfs_merit(correlation, child, enlarged) - merit[child]
                best = max(best, (gain, child, parent))
        gain, child, parent = best
        if child < 0:
            return tuple(tuple(p) for p in parents)
        parents[child].append(parent)
        merit[child] += gain
        descendants = ancestors[:, child]
        ancestors[descendants] |= ancestors[parent]


def check_tables(parents: Parents, domain: Domain) -> None:
    """Raise if tables of declared arcs do not fit into memory, as far as the columns are declared."""
    buckets = [default_buckets(attribute) for attribute in domain]
    for child, chosen in zip(domain, parents, strict=True):
        cells = num_configurations([buckets[p] for p in chosen]) * child.cardinality
        if cells > MAX_CELLS:
            raise Refused.saying(
                "structure",
                f"structure: the table of {child.name!r} with parents {[domain.names[p] for p in chosen]} "
                f"has {cells:,} cells, above {MAX_CELLS:,}: leave out parents, or declare coarser buckets "
                "for them",
            )


def within_memory(parents: Parents, buckets: Sequence[np.ndarray], cardinalities: Sequence[int]) -> Parents:
    """Drop the last parents of tables that do not fit into memory."""
    # The number of learned values is known only after the budget is spent, so the fit must not fail here.
    reduced = [list(kept_parents) for kept_parents in parents]
    for kept_parents, cardinality in zip(reduced, cardinalities, strict=True):
        while num_configurations([buckets[p] for p in kept_parents]) * cardinality > MAX_CELLS:
            kept_parents.pop()
    return tuple(map(tuple, reduced))


def cfs_merit(correlation: np.ndarray, child: int, parents: Sequence[int]) -> float:
    """Return the merit of a parent set (Eq. 4): high correlation with the child, low among the parents."""
    if not parents:
        return 0.0
    chosen = list(parents)
    among = correlation[np.ix_(chosen, chosen)]
    redundancy = (among + among.T)[~np.eye(len(chosen), dtype=bool)].sum() / 2
    return float(correlation[child, chosen].sum() / math.sqrt(len(chosen) + redundancy))


def check_structure(structure: Mapping[str, Sequence[str]], domain: Domain) -> Parents:
    """Convert ``{child: [parents]}`` to column numbers; omitted children have no parents."""
    number = {name: j for j, name in enumerate(domain.names)}
    for child, named in structure.items():
        if isinstance(named, str):
            raise Refused.saying(
                "structure",
                f"structure: the parents of {child!r} ({named!r}) must be a list of columns, such as "
                f"[{named!r}]",
            )
    unknown = ({*structure} | {p for ps in structure.values() for p in ps}) - set(number)
    if unknown:
        raise Refused.saying(
            "structure", f"structure names {sorted(unknown)}, which are not modelled columns {list(number)}"
        )
    parents = tuple(tuple(number[p] for p in dict.fromkeys(structure.get(name, ()))) for name in domain.names)
    try:
        topological_order(parents, domain.cardinalities)
    except ValueError as error:
        raise Refused.saying(
            "structure", f"structure {dict(structure)!r} has a cycle: leave out one of its arcs"
        ) from error
    return parents
