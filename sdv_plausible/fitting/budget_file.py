"""The file of a budget over several releases: its limits, and every charge."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sdv_plausible.privacy.accounting.privacy_filters import FILTERS, Cost, PrivacyFilter
from sdv_plausible.privacy.neighbours import Neighbours, neighbours_from_fields
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.utils.atomic_files import write_atomically
from sdv_plausible.utils.input_files import open_regular_file
from sdv_plausible.utils.strict_json import strict_json

FORMAT = "sdv-plausible budget 1"
_MOST_BYTES = 64 * 2**20


@dataclass(frozen=True, kw_only=True)
class BudgetCharge:
    """One charge, written before the fit reads a row.

    It does not depend on the rows, nor on whether the fit succeeded. A fit with a row count makes two charges
    with the same date and name; the second one depends on the noisy count.
    """

    when: str  # date and time of the charge, in UTC
    what: str
    cost: Cost  # amount by unit of the filter
    assumes_types: bool = False  # whether the guarantee assumes column types of unknown origin

    def to_dict(self) -> dict[str, Any]:
        """JSON form; ``assumes_types`` is written only if true."""
        plain = {name: value for name, value in asdict(self).items() if name != "assumes_types"}
        return {**plain, "assumes_types": True} if self.assumes_types else plain


@dataclass(frozen=True, kw_only=True)
class BudgetState:
    """Content of a budget file."""

    filter: PrivacyFilter  # the total, and how costs compose
    neighbours: Neighbours | None = None  # privacy unit of all fits; None before the first
    fits: tuple[BudgetCharge, ...] = ()  # in order

    @property
    def costs(self) -> list[Cost]:
        """Costs of all charges."""
        return [fit.cost for fit in self.fits]

    def with_charge(self, charge: BudgetCharge, neighbours: Neighbours) -> BudgetState:
        """The state with one more charge."""
        return replace(self, fits=(*self.fits, charge), neighbours=neighbours)

    def write(self, path: Path) -> None:
        """Replace the file durably."""
        content = {
            "format": FORMAT,
            "epsilon": self.filter.epsilon,
            "delta": self.filter.delta,
            "filter": self.filter.name,
            "neighbours": None if self.neighbours is None else asdict(self.neighbours),
            "fits": [fit.to_dict() for fit in self.fits],
        }
        text = json.dumps(content | {"sha256": _digest(content)}, indent=1, allow_nan=False) + "\n"
        write_atomically(path, text)

    @classmethod
    def read(cls, path: Path) -> BudgetState:
        """Read a file."""
        try:
            with open_regular_file(path) as file:
                _check_links(file.fileno(), path)
                data = file.read(_MOST_BYTES + 1)
        except FileNotFoundError:
            raise ValueError(
                f"path ({str(path)!r}): the budget file is gone. Put it back: what was charged still counts"
            ) from None
        try:
            if len(data) > _MOST_BYTES:
                raise ValueError("too large")
            return _state(strict_json(data.decode("utf-8")))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(
                f"path ({str(path)!r}) is no budget file, or was changed or damaged ({type(error).__name__}: "
                f"{str(error)[:80]}): put a whole copy back; what was charged still counts"
            ) from None


def _check_links(file: int, path: Path) -> None:
    """Reject a file with hard links: after a write, each name would be a budget of its own."""
    if (names := os.fstat(file).st_nlink) > 1:
        raise Refused.saying(
            "path",
            f"path ({str(path)!r}): this budget file has {names} names (hard links), and what is charged "
            "under one would be left under the others: remove these, or take a symbolic link instead",
        )


def _state(content: Any) -> BudgetState:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"not of format {FORMAT!r}")
    if content.pop("sha256", None) != _digest(content):
        raise ValueError("its digest does not fit")
    neighbours = content["neighbours"]
    state = BudgetState(
        filter=FILTERS[content["filter"]](content["epsilon"], content["delta"]),
        neighbours=None if neighbours is None else neighbours_from_fields(neighbours),
        fits=tuple(
            BudgetCharge(
                when=f["when"],
                what=f["what"],
                cost=dict(f["cost"]),
                assumes_types=f.get("assumes_types", False),
            )
            for f in content["fits"]
        ),
    )
    if not all(isinstance(fit.assumes_types, bool) for fit in state.fits):
        raise ValueError("assumes_types must be true or false")
    units = set(state.filter.limits)
    for cost in state.costs:
        if set(cost) != units or not all(
            isinstance(amount, float) and math.isfinite(amount) and amount >= 0 for amount in cost.values()
        ):
            raise ValueError(f"a cost is not made of {', '.join(sorted(units))}")
    if not state.filter.admits(state.costs) or (state.neighbours is None and state.fits):
        raise ValueError("its charges contradict its limits")
    return state


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode("utf-8")).hexdigest()
