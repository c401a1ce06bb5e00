"""``bkt()`` (paper Eq. 7): coarser codes for parents, from noisy margins. Post-processing."""

from __future__ import annotations

import numpy as np

from sdv_plausible.table.columns.domain import Attribute

MAX_BUCKETS = 10  # of the paper's learner
APART = 4.0  # floors that a code of a group must hold to stand alone: its group says much of it
MOST_PATTERNS = 20  # of structural zeros, beyond which buckets are not split by them


def groups_of_codes(attribute: Attribute) -> np.ndarray | None:
    """Declared group of every code; missing is like no value. None where no groups are declared."""
    if attribute.groups is None:
        return None
    groups = np.unique(attribute.groups, return_inverse=True)[1]
    return np.append(groups, groups.max(initial=-1) + 1) if attribute.nullable else groups


def make_buckets(
    margin: np.ndarray, is_ordered: bool, most: int, floor: float, groups: np.ndarray | None = None
) -> np.ndarray:
    """Bucket of every code, at most about ``most`` buckets of mass at least ``floor``."""
    # ``margin`` is a (noisy) distribution over the codes. Ordered: values heavier than ``1 / most`` stand
    # alone, the rest is cut into runs of equal mass. Else the likeliest values stand alone, the others share
    # one bucket, or one per group of codes that are like one another.
    if len(margin) <= 2:
        return np.arange(len(margin))
    if is_ordered:
        return _runs(margin, most, floor)
    return _likeliest(margin, most, floor) if groups is None else _grouped(margin, most, floor, groups)


def _runs(p: np.ndarray, most: int, floor: float) -> np.ndarray:
    spike = p > 1 / most
    quota = max((1 - p[spike].sum()) / max(most - spike.sum(), 1), floor, 1e-12)
    bucket, current, mass = np.zeros(len(p), dtype=np.int64), 0, 0.0
    for code in range(len(p)):
        if code and (spike[code] or mass >= quota or spike[code - 1]):
            current, mass = current + 1, 0.0
        bucket[code], mass = current, mass + p[code]
    return _merge_small(bucket, p, max(floor, 1e-12))


def _likeliest(p: np.ndarray, most: int, floor: float) -> np.ndarray:
    order = np.argsort(-p, kind="stable")
    if len(p) <= most and p[order[-1]] >= floor:
        return np.arange(len(p))
    keep = [code for code in order[: most - 1] if p[code] >= floor]
    bucket = np.full(len(p), len(keep), dtype=np.int64)
    bucket[keep] = np.arange(len(keep))
    if len(keep) > 1 and p[bucket == len(keep)].sum() < floor:
        bucket[bucket == len(keep)] = len(keep) - 1
    return bucket


def _grouped(p: np.ndarray, most: int, floor: float, groups: np.ndarray) -> np.ndarray:
    """The likeliest codes alone, the others of a group together, and what is too light for that in one."""
    room = max(most - 1 - len(np.unique(groups)), 0)
    alone = [code for code in np.argsort(-p, kind="stable")[:room] if p[code] >= APART * floor]
    bucket = len(p) + groups
    bucket[alone] = np.arange(len(alone))
    mass = np.bincount(bucket, p)
    shared = np.unique(bucket[bucket >= len(p)])
    shared = shared[np.argsort(-mass[shared], kind="stable")]
    kept = [b for b in shared[: most - 1] if mass[b] >= floor]
    rest = ~np.isin(bucket, kept) & (bucket >= len(p))
    others = [*range(len(alone)), *kept]
    light = p[rest].sum() < floor and len(others) > 1
    bucket[rest] = min(others, key=lambda b: mass[b]) if light else bucket.max() + 1
    return np.unique(bucket, return_inverse=True)[1].reshape(-1)


def _merge_small(bucket: np.ndarray, p: np.ndarray, floor: float) -> np.ndarray:
    """Merge neighbouring buckets until each holds at least ``floor`` of the mass."""
    while bucket.max() > 0:
        mass = np.bincount(bucket, p)
        light = int(mass.argmin())
        if mass[light] >= floor:
            break
        left = light == len(mass) - 1 or (light > 0 and mass[light - 1] < mass[light + 1])
        bucket = np.where(bucket > (light - 1 if left else light), bucket - 1, bucket)
    return bucket


def split_buckets(buckets: np.ndarray, possible: np.ndarray) -> np.ndarray:
    """Split buckets so that all codes of one can go with the same codes of another column."""
    # Then a table of buckets holds the structural zeros of the codes exactly. ``possible``, shape (codes,
    # codes of the other column): which pairs of codes can occur.
    patterns = np.unique(possible, axis=0, return_inverse=True)[1].reshape(-1)
    if patterns.max() >= MOST_PATTERNS:  # a table of combinations, not a rule: its buckets would be its codes
        return buckets
    return np.unique(np.stack([buckets, patterns]), axis=1, return_inverse=True)[1].reshape(-1)


def default_buckets(
    attribute: Attribute, margin: np.ndarray | None = None, max_buckets: int = MAX_BUCKETS
) -> np.ndarray:
    """``bkt()`` of an attribute: declared, its groups, runs of about equal mass, or every code by itself."""
    # Without a (noisy) margin runs are of equal length; of unordered attributes the ``max_buckets - 1``
    # likeliest codes stay by themselves. One bucket more if missing is a value, and for each text beside
    # numbers.
    if attribute.buckets is not None:
        return np.unique(attribute.buckets, return_inverse=True)[1]
    groups = groups_of_codes(attribute)
    if groups is not None and groups.max() < max_buckets < attribute.cardinality:
        return groups
    apart = attribute.nullable + len(attribute.texts)  # codes at the end that are like no other
    size = attribute.cardinality - apart
    if size <= max_buckets:
        return np.arange(attribute.cardinality)
    weight = np.ones(size) if margin is None else np.maximum(margin[:size], 0) + 1e-12
    if attribute.is_ordered:
        middle = (np.cumsum(weight) - weight / 2) / weight.sum()
        bucket = np.minimum((middle * max_buckets).astype(int), max_buckets - 1)
    else:
        rank = np.argsort(np.argsort(-weight, kind="stable"), kind="stable")
        bucket = np.minimum(rank, max_buckets - 1)
    dense = np.unique(bucket, return_inverse=True)[1]
    return np.append(dense, dense.max(initial=-1) + 1 + np.arange(apart))
