"""Whatever the product registers has a case in the harnesses of the guarantee; what has none is named."""

from __future__ import annotations

from dataclasses import dataclass

import guarded
import pytest

from sdv_plausible.models import NAMES
from sdv_plausible.privacy.neighbours import RELATIONS


def test_every_model_has_a_case() -> None:
    assert guarded.models_without_a_case() == []
    assert guarded.models_without_a_case((*NAMES, "tree")) == ["tree"]


def test_every_value_of_a_learners_closed_parameters_has_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = guarded.models({})
    for name, lacks in (("as printed", "noise='paper'"), ("normal", "conditionals='normal'")):
        rest = {case: words for case, words in cases.items() if case != name}
        with monkeypatch.context() as patch:
            patch.setattr(guarded, "models", lambda arcs, rest=rest: rest)
            assert f"BayesianNetworkLearner.{lacks}" in guarded.models_without_a_case()


def test_every_unit_has_a_case() -> None:
    assert guarded.units_without_a_case() == []
    assert len(guarded.units_without_a_case((*RELATIONS, "swap"))) == 2

    @dataclass
    class Wider:
        rows: int
        replace: bool
        person: str
        years: int

    assert guarded.units_without_a_case(unit=Wider) == ["years"]
