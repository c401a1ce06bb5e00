"""``bkt()`` (paper Eq. 7): coarser codes for parents, from noisy margins (post-processing)."""

from __future__ import annotations

import numpy as np

from sdv_plausible.table.columns.domain import Attribute

MAX_BUCKETS = 10  # default of the paper's learner
OWN_BUCKET = 4.0  # mass, in units of the floor, from which a code of a group gets its own bucket
MOST_PATTERNS = 20  # distinct patterns of structural zeros up to which buckets are split by them


def groups_of_codes(attribute: Attribute) -> np.ndarray | None:
    """Return the declared group of every code, and one group for missing; None without declared groups."""
    if attribute.groups is None:
        return None
    groups = np.unique(attribute.groups, return_inverse=True)[1]
    return np.append(groups, groups.max(initial=-1) + 1) if attribute.nullable else groups


def make_buckets(
    margin: np.ndarray, is_ordered: bool, most: int, floor: float, groups: np.ndarray | None = None
) -> np.ndarray:
    """Return the bucket of every code: at most about ``most`` buckets of mass at least ``floor``."""
    # ``margin`` is a (noisy) distribution over the codes. Ordered columns: values heavier than ``1 / most``
    # get their own bucket, and the rest is cut into runs of equal mass. Other columns: the likeliest values
    # get their own buckets, and the rest shares one bucket, or one per declared group.
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
    alone = [code for code in order[: most - 1] if p[code] >= floor]
    bucket = np.full(len(p), len(alone), dtype=np.int64)
    bucket[alone] = np.arange(len(alone))
    if len(alone) > 1 and p[bucket == len(alone)].sum() < floor:
        bucket[bucket == len(alone)] = len(alone) - 1
    return bucket


def _grouped(p: np.ndarray, most: int, floor: float, groups: np.ndarray) -> np.ndarray:
    """Likeliest codes alone, the rest by group, and groups below the floor in one bucket."""
    num_alone = max(most - 1 - len(np.unique(groups)), 0)
    alone = [code for code in np.argsort(-p, kind="stable")[:num_alone] if p[code] >= OWN_BUCKET * floor]
    bucket = len(p) + groups
    bucket[alone] = np.arange(len(alone))
    mass = np.bincount(bucket, p)
    shared = np.unique(bucket[bucket >= len(p)])
    shared = shared[np.argsort(-mass[shared], kind="stable")]
    shared_kept = [b for b in shared[: most - 1] if mass[b] >= floor]
    rest = ~np.isin(bucket, shared_kept) & (bucket >= len(p))
    candidates = [*range(len(alone)), *shared_kept]
    is_light = p[rest].sum() < floor and len(candidates) > 1
    bucket[rest] = min(candidates, key=lambda b: mass[b]) if is_light else bucket.max() + 1
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
    """Split buckets so that all codes of a bucket share the same structural zeros with another column."""
    # A table of buckets then represents the structural zeros exactly. ``possible``, shape (codes, codes of
    # the other column), marks the pairs of codes that can occur.
    patterns = np.unique(possible, axis=0, return_inverse=True)[1].reshape(-1)
    if (
        patterns.max() >= MOST_PATTERNS
    ):  # arbitrary combinations instead of a rule: every code would be its own bucket
        return buckets
    return np.unique(np.stack([buckets, patterns]), axis=1, return_inverse=True)[1].reshape(-1)


def default_buckets(
    attribute: Attribute, margin: np.ndarray | None = None, max_buckets: int = MAX_BUCKETS
) -> np.ndarray:
    """Return ``bkt()`` of an attribute: declared, its groups, runs of about equal mass, or single codes."""
    # Without a (noisy) margin the runs have equal length. Unordered attributes keep their
    # ``max_buckets - 1`` likeliest codes. Missing, and each text in a numeric column, gets its own bucket.
    if attribute.buckets is not None:
        return np.unique(attribute.buckets, return_inverse=True)[1]
    groups = groups_of_codes(attribute)
    if groups is not None and groups.max() < max_buckets < attribute.cardinality:
        return groups
    num_special = attribute.nullable + len(attribute.texts)  # codes at the end with their own buckets
    size = attribute.cardinality - num_special
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
    return np.append(dense, dense.max(initial=-1) + 1 + np.arange(num_special))
