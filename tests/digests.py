"""Digests that differ from one in as little as can be."""

from __future__ import annotations


def others(digest: str) -> list[str]:
    """The digest with another digit at each place, and parts and repetitions of it."""
    changed = [f"{digest[:i]}{int(digest[i], 16) ^ 1:x}{digest[i + 1 :]}" for i in range(len(digest))]
    return [*changed, digest[:-1], digest[:4], digest[-4:], f"{digest}0", digest + digest, ""]
