"""Total of a release with a secret random split of the rows (``docs/explanation/proofs/random_split.md``)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sdv_plausible.privacy.accounting.composition import compose
from sdv_plausible.privacy.accounting.losses import ApproxDP, Loss
from sdv_plausible.privacy.parameter_checks import Refused

COMMON_SHARE = 0.5  # share of delta for uses of all rows, where there are any


def split_total(parts: Sequence[tuple[float, Sequence[Loss]]], common: Iterable[Loss], delta: float) -> float:
    """Epsilon at delta where each row is, independently and secretly, in one part or in none."""
    # ``ln(1 + sum p_i (e^eps_i - 1))``: all uses of a part are composed first, and amplified once. ``parts``
    # holds, for each part, the probability that a row is in it and the losses of its uses; ``common`` holds
    # the losses of uses of all rows. For one row added or removed; infinite where a part has no epsilon at
    # its share of delta.
    shared = list(common)
    share = delta * (1 - COMMON_SHARE) if shared else delta
    # The parts' largest delta holds in both directions; their mean does not hold for adding a row.
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
    """A random split of the rows into parts with different uses.

    ``parts`` holds, for each part, the probability that a row is in it, and its own uses: ``"structure"``,
    ``"parameters"``, ``"seeds"``.
    """

    parts: tuple[tuple[float, frozenset[str]], ...]

    @classmethod
    def of(cls, split: Sequence[float], *, apart: bool) -> RandomSplit:
        """Structure, parameters and seeds; the first two are one part unless known to be separate."""
        structure, parameters, seeds = split
        model_parts = ((structure + parameters, frozenset({"structure", "parameters"})),)
        if apart:
            model_parts = (  # type: ignore[assignment]
                (structure, frozenset({"structure"})), (parameters, frozenset({"parameters"})),
            )  # fmt: skip
        return cls((*model_parts, (seeds, frozenset({"seeds"}))))

    def part_of(self, uses: Sequence[str]) -> int | None:
        """Index of the part that alone has these uses; None for all rows."""
        return next((i for i, (_, allowed) in enumerate(self.parts) if uses and set(uses) <= allowed), None)

    def total(self, entries: Iterable[tuple[Sequence[str], Sequence[Loss]]], delta: float) -> float:
        """Epsilon at delta of entries (uses, losses); uses that fit no single part count for all rows."""
        of_parts: list[list[Loss]] = [[] for _ in self.parts]
        common: list[Loss] = []
        for uses, losses in entries:
            part = self.part_of(uses)
            (common if part is None else of_parts[part]).extend(losses)
        return split_total(
            [(p, losses) for (p, _), losses in zip(self.parts, of_parts, strict=True)], common, delta
        )


def check_split(parts: Any) -> None:
    """Raise ValueError unless these are the shares of structure, parameters and seeds."""
    three = isinstance(parts, (tuple, list)) and len(parts) == 3
    shares = three and all(isinstance(p, (int, float)) and not isinstance(p, bool) and p > 0 for p in parts)
    if not shares or sum(parts) > 1 + 1e-9:
        rule = "must be three shares > 0 for structure, parameters and seeds with a sum of at most 1"
        raise Refused("split", parts, rule, "try (0.25, 0.25, 0.5)")
