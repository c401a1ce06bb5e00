"""Plausible-seed statistics of a fitted synthesizer: [PD] figure 6. Private: they are counts of real rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

_PARTS = ("plausible_seeds", "pass_rates")


@dataclass(frozen=True, kw_only=True)
class SeedDiagnostics:
    """What is shown of the seeds."""

    # share of candidates with 1, 2 to 3, 4 to 7, and so on, plausible seeds
    sizes: tuple[tuple[str, float], ...]
    ks: tuple[int, ...]  # increasing
    # of each omega the share of candidates that pass at each k; NaN where unknown
    pass_rates: tuple[tuple[str, tuple[float, ...]], ...]

    @classmethod
    def of(cls, diagnostics: Mapping[str, Any] | None) -> SeedDiagnostics | None:
        """Aggregate ``{"plausible_seeds": array, "pass_rates": {k: {omega: rate}}}``, or one part."""
        if diagnostics is None:
            return None
        unknown = sorted(set(diagnostics) - set(_PARTS))
        if unknown:
            raise ValueError(f"diagnostics has the parts {unknown}: only {_PARTS} are known")
        rates: Mapping[int, Mapping[Any, float]] = diagnostics.get("pass_rates") or {}
        flat = [rate for row in rates.values() for rate in row.values()]
        if any(not 0 <= rate <= 1 for rate in flat):
            raise ValueError(
                f"diagnostics['pass_rates'] ({min(flat)} to {max(flat)}) must be shares in [0, 1]"
            )
        ks = sorted(rates)
        omegas = list(dict.fromkeys(omega for k in ks for omega in rates[k]))
        return cls(
            sizes=_size_shares(np.asarray(diagnostics.get("plausible_seeds", ()), dtype=np.int64)),
            ks=tuple(int(k) for k in ks),
            pass_rates=tuple((str(o), tuple(float(rates[k].get(o, np.nan)) for k in ks)) for o in omegas),
        )


def _size_shares(seeds: Any) -> tuple[tuple[str, float], ...]:
    if seeds.size == 0:
        return ()
    if seeds.min() < 1:
        raise ValueError(
            f"diagnostics['plausible_seeds'] ({seeds.min()}) must be at least 1: its own seed is plausible"
        )
    level = np.frexp(seeds.astype(np.float64))[1] - 1  # number in [2^level, 2^(level + 1))
    return tuple(
        ("1" if i == 0 else f"{2**i} to {2 ** (i + 1) - 1}", float(share))
        for i, share in enumerate(np.bincount(level) / seeds.size)
    )
