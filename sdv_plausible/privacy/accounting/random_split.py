"""Total of a release with a secret random split of the rows (``docs/explanation/proofs/random_split.md``)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.losses import ApproxDP, Loss
from sdv_plausible.privacy.parameter_checks import Refused

COMMON_SHARE = 0.5  # of delta, where all rows were used for something as well


def split_total(parts: Sequence[tuple[float, Sequence[Loss]]], common: Iterable[Loss], delta: float) -> float:
    """Epsilon at delta where each row falls, independently and secretly, into one part or into none."""
    # ``ln(1 + sum p_i (e^eps_i - 1))``: everything that ever uses a part is composed first, and amplified
    # once. ``parts``: a row's chance to fall into each, and all that its rows are used for; ``common``: what
    # all rows are used for. For one row added or removed; infinity where a part has no epsilon at its share
    # of delta.
    shared = list(common)
    share = delta * (1 - COMMON_SHARE) if shared else delta
    # The largest of the parts' deltas holds in both directions; their mean does not for adding a row.
    composed = [(p, compose(losses, share) if losses else 0.0) for p, losses in parts]
    largest = max((epsilon for _, epsilon in composed), default=0.0)
    if math.isinf(largest):
        return math.inf
    rest = 1 - math.fsum(p for p, _ in composed)
    inner = math.fsum(p * math.exp(epsilon - largest) for p, epsilon in composed)
    amplified = max(0.0, largest + math.log(inner + max(rest, 0.0) * math.exp(-largest)))
    return compose([ApproxDP(epsilon=amplified, delta=share), *shared], delta) if shared else amplified


@dataclass(frozen=True)
class RandomSplit:
    """A split of single rows into parts, each used for its own ends.

    ``parts``: a row's chance to fall into each, and what it alone is used for: ``"structure"``,
    ``"parameters"``, ``"seeds"``.
    """

    parts: tuple[tuple[float, frozenset[str]], ...]

    @classmethod
    def of(cls, split: Sequence[float], *, apart: bool) -> RandomSplit:
        """Structure, parameters and seeds; the first two are one part where not known to be apart."""
        structure, parameters, seeds = split
        learned = ((structure + parameters, frozenset({"structure", "parameters"})),)
        if apart:
            learned = (  # type: ignore[assignment]
                (structure, frozenset({"structure"})), (parameters, frozenset({"parameters"})),
            )  # fmt: skip
        return cls((*learned, (seeds, frozenset({"seeds"}))))

    def part_of(self, uses: Sequence[str]) -> int | None:
        """Number of the part whose rows alone are used for these; None for all rows."""
        return next((i for i, (_, alone) in enumerate(self.parts) if uses and set(uses) <= alone), None)

    def total(self, entries: Iterable[tuple[Sequence[str], Sequence[Loss]]], delta: float) -> float:
        """Epsilon at delta of entries, each what it is used for, and its losses; others are of all rows."""
        of_parts: list[list[Loss]] = [[] for _ in self.parts]
        common: list[Loss] = []
        for uses, losses in entries:
            home = self.part_of(uses)
            (common if home is None else of_parts[home]).extend(losses)
        return split_total(
            [(p, losses) for (p, _), losses in zip(self.parts, of_parts, strict=True)], common, delta
        )


def check_split(parts: Any) -> None:
    """Raise ValueError unless these are shares of structure, parameters and seeds."""
    three = isinstance(parts, (tuple, list)) and len(parts) == 3
    shares = three and all(isinstance(p, (int, float)) and not isinstance(p, bool) and p > 0 for p in parts)
    if not shares or sum(parts) > 1 + 1e-9:
        rule = "must be three shares > 0 for structure, parameters and seeds with a sum of at most 1"
        raise Refused("split", parts, rule, "try (0.25, 0.25, 0.5)")
