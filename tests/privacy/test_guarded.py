"""Whatever the product registers has a case in the harnesses of the guarantee; what has none is named."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import guarded
import pytest
import ruled
from engines import HELD, held
from test_replay import CASES, DECLARED, RANDOMISED, ROW_BY_ROW, first_table
from test_replay_of_doors import RUNS, SOURCES

from sdv_plausible import PlausibleDeniabilitySynthesizer, fit_source
from sdv_plausible.cli import main
from sdv_plausible.fitting.options import OPTIONS
from sdv_plausible.mechanism.privacy_tests import privacy_settings
from sdv_plausible.models import NAMES
from sdv_plausible.privacy.neighbours import RELATIONS
from sdv_plausible.rules.rule_document import KINDS
from sdv_plausible.sources.source import SourceType
from sdv_plausible.sources.source_types import engine_of, engines
from tests.flat import values

PAGE = Path(__file__).parents[2] / "docs/how_to/command_line.md"
# Parameters, and values of them, that no case of replay gives.
NO_CLAIM = ("random_state", "types='detected'", "undeclared='infer'", "test='deterministic'")
OWN_TEST = ("rules", "budget")
EVERY_CASE = ("self", "metadata", "source")
FOR_THE_HOLDER = ("allow_no_claim", "progress")
# Of 0.1, which is refused; the default's fit, of which the ledger's words alone differ (test_assumed_types.py); and what all cases have, as no
# rows are counted first but in tests/fitting/test_row_count_check.py.
NO_CASE = ("moved", "types='declared'", "anyway")


def test_every_model_has_a_case() -> None:
    assert guarded.models_without_a_case() == [], "each needs a case in models() of tests/guarded.py"
    assert guarded.models_without_a_case((*NAMES, "tree")) == ["tree"]


def test_every_value_of_a_learners_closed_parameters_has_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = guarded.models({})
    for name, lacks in (("as printed", "noise='paper'"), ("normal", "conditionals='normal'")):
        rest = {case: words for case, words in cases.items() if case != name}
        with monkeypatch.context() as patch:
            patch.setattr(guarded, "models", lambda arcs, rest=rest: rest)
            assert f"PaperNetwork.{lacks}" in guarded.models_without_a_case()


def test_every_unit_has_a_case() -> None:
    assert guarded.units_without_a_case() == [], "each needs a case in UNITS of tests/guarded.py"
    assert len(guarded.units_without_a_case((*RELATIONS, "swap"))) == 2

    @dataclass
    class Wider:
        rows: int
        replace: bool
        person: str
        years: int

    assert guarded.units_without_a_case(unit=Wider) == ["years"]


def test_every_door_has_a_case() -> None:
    """Doors of the harnesses are doors; that replay goes through the functions that they stand for is seen there."""
    source = "\n".join(guarded.sources().values())
    assert [n for n in guarded.OPENERS if not re.search(rf"^(?:def|class) {n}\b", source, re.MULTILINE)] == []
    known = {*guarded.DOORS, *guarded.NO_DOORS}
    assert guarded.unequal(guarded.doors(), known) == [], "DOORS or NO_DOORS of tests/guarded.py"
    assert {*guarded.DOORS.values(), *guarded.COMMANDS.values()} == {*RUNS, *guarded.REPLAYED_ELSEWHERE}
    assert all(Path(test).is_file() for test in guarded.REPLAYED_ELSEWHERE.values())
    planted = "class Side:\n    def look(self, rows):\n        return Queryable(rows, ledger, [], rng)\n"
    assert {*guarded.doors({"sdv/side.py": planted})} - {*guarded.DOORS} == {"sdv/side.py: Side.look"}


def test_every_command_has_a_case() -> None:
    cases = {*guarded.COMMANDS, *guarded.NO_COMMANDS}
    assert guarded.unequal(main.COMMANDS, cases) == [], "COMMANDS or NO_COMMANDS of tests/guarded.py"
    assert guarded.unequal({*main.COMMANDS, "refit"}, cases) == ["refit"]
    table = re.search(r"\| command \|.*?\n\n", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
    assert [name for name in main.COMMANDS if f"`{name}`" not in table] == [], PAGE


def test_every_engine_has_a_case(tmp_path: Path) -> None:
    def lacking(engines: Collection[SourceType]) -> list[str]:
        return guarded.unequal([engine.name for engine in engines], met)

    met = set()
    for name in HELD:
        (tmp_path / name).mkdir()
        met.add(engine_of(held(name, first_table(9), tmp_path / name))[0].name)
    assert lacking(engines()) == [], "each needs a table in HELD of tests/engines.py"
    spark = SourceType("Spark", lambda data: False, lambda *_: None)  # type: ignore[arg-type, return-value]
    assert lacking((*engines(), spark)) == ["Spark"]


def test_every_parameter_of_a_fit_has_a_case() -> None:
    known = {*NO_CLAIM, *OWN_TEST, *EVERY_CASE, *FOR_THE_HOLDER, *NO_CASE}
    cases = [values(**case) for case in every_case()]
    lacking = guarded.parameters_without_a_case(PlausibleDeniabilitySynthesizer.__init__, cases)
    assert lacking <= known
    of_sources = [{"domain": DECLARED}, *(values(**case) for case in SOURCES.values())]
    sources = guarded.parameters_without_a_case(fit_source, of_sources)
    assert sources <= known
    assert lacking | sources == known


def test_every_option_of_a_value_has_a_case() -> None:
    assert options_without_a_case(every_case()) == [], "OPTIONS or ROW_BY_ROW of tests/privacy/test_replay.py"
    without = [{name: value for name, value in case.items() if name != "row_cap"} for case in every_case()]
    assert options_without_a_case(without) == ["row_cap"]


def every_case() -> list[dict[str, Any]]:
    return [*CASES.values(), *({**RANDOMISED, **case} for case in ROW_BY_ROW.values())]


def options_without_a_case(cases: list[dict[str, Any]]) -> list[str]:
    """Options of tests, persons and published tables: those of models are the learners' parameters."""
    wanted = [o for o in OPTIONS.values() if o.of and o.of != ("PaperNetwork",)]
    met = {o.name: {case[o.name] for case in cases if o.name in case} - {o.default} for o in wanted}
    return [o.name for o in wanted if not met[o.name] or {*o.choices} - {o.default} - met[o.name]]


def test_a_parameter_without_a_case_is_named() -> None:
    def fit(rows: int, depth: int = 1, shape: Literal["round", "flat"] = "round") -> None:
        """A fit with a new parameter, and a new value of one."""

    assert guarded.parameters_without_a_case(fit, [{"depth": 2}]) == {"rows", "shape='flat'"}
    assert guarded.parameters_without_a_case(fit, [{"depth": 1, "shape": "flat", "rows": 3}]) == {"depth"}


def test_every_privacy_test_and_kind_of_rule_has_a_case() -> None:
    assert (
        guarded.unequal(privacy_settings.TESTS_BY_NAME, get_args(privacy_settings.TestName)) == []
    )  # whose values are closed parameters
    assert guarded.unequal(KINDS, {rule.kind for rule in ruled.RULES}) == []
    assert guarded.unequal({**KINDS, "odd": None}, {rule.kind for rule in ruled.RULES}) == ["odd"]
