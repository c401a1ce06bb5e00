"""Totals of the same losses are composed once in these tests: most lies change none of them."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from sdv_plausible.extensions.verify.independent import ledger_checks, related_table_checks, totals


@cache
def _total(losses: str, delta: float) -> float:
    return totals.total(json.loads(losses), delta)


@pytest.fixture(autouse=True, scope="session")
def composed_once() -> Iterator[None]:
    """The second reading's totals, kept; ``test_totals.py`` asks for them anew."""

    def total(losses: Any, delta: float) -> float:
        return _total(json.dumps(losses, sort_keys=True), delta)

    with pytest.MonkeyPatch.context() as patch:
        for module in (ledger_checks, related_table_checks):
            patch.setattr(module, "total", total)
        yield
