"""A model and seeds that the tests of this room share."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.models.conditional_table import ConditionalTable
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG

CARDS = (2, 3, 4, 3)
DERIVED = ("_log", "_guide", "_levels", "_ceiling", "_flat", "_shares", "_alias", "_proposals")
"""Look-up tables that follow from seeds and model."""


def network() -> BayesianNetwork:
    rng = np.random.default_rng(1)

    def table(child, parents=()):
        p = rng.dirichlet(np.ones(CARDS[child]), int(np.prod([CARDS[j] for j in parents], dtype=int)))
        buckets = tuple(np.arange(CARDS[j]) for j in parents)
        return ConditionalTable(child=child, parents=parents, buckets=buckets, probabilities=p)

    return BayesianNetwork([table(0), table(3, (0,)), table(1, (3, 0)), table(2, (1,))])


SEEDS = network().sample(300, KeyedRNG.from_seed(2))


def state(value: Any, seen: dict[int, Any] | None = None) -> Any:
    """Everything an object holds, as plain nested values; derived look-up tables are left out.

    ``seen`` keeps what it met alive: the identity of an object made on the way would be given to the next one.
    """
    seen = {} if seen is None else seen
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, (str, bytes, int, float, bool, type(None))):
        return value
    if id(value) in seen:
        return None
    seen[id(value)] = value
    if isinstance(value, dict):
        return {str(k): state(v, seen) for k, v in value.items() if k not in DERIVED}
    if isinstance(value, (list, tuple)):
        return [state(v, seen) for v in value]
    held = {f.name: getattr(value, f.name) for f in fields(value)} if is_dataclass(value) else {}
    return type(value).__name__, state({**held, **getattr(value, "__dict__", {})}, seen)
