"""Flat options as the values that hold them: for tests whose cases are tables of options."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from sdv_plausible import PublicTable, ReleaseTest
from sdv_plausible.fitting.options import OPTIONS, VALUES
from sdv_plausible.mechanism.privacy_tests.contract import PrivacyTest, option_names
from sdv_plausible.mechanism.privacy_tests.privacy_settings import TESTS_BY_NAME, Settings, read_test
from sdv_plausible.models import PAPER_OPTIONS, named_learner
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours, Person

Test = TypeVar("Test", bound=PrivacyTest)
OF_TESTS = [name for name, option in OPTIONS.items() if option.of and VALUES[option.of[0]] == "test"]


def values(**flat: Any) -> dict[str, Any]:
    """Arguments of the constructor; options of a test count where they are the test's."""
    given = {name: flat.pop(name) for name in OF_TESTS if name in flat}
    if given and flat.get("test", "release") in TESTS_BY_NAME:
        made = TESTS_BY_NAME[flat.get("test", "release")]
        flat["test"] = made(**{name: value for name, value in given.items() if name in option_names(made)})
    of_paper = {name: flat.pop(name) for name in PAPER_OPTIONS if name in flat}
    parameters = flat.pop("model_parameters", None)
    of_paper = {name: value for name, value in of_paper.items() if value is not None}
    if of_paper or parameters:
        flat["model"] = named_learner(flat.get("model", "bayesian_network"), parameters, **of_paper)
    if "rows_per_person" in flat:
        rows = flat.pop("rows_per_person")
        if flat.get("person") is not None:
            flat["person"] = Person(flat["person"], rows=rows)
    if "public_source" in flat:
        flat["public"] = PublicTable(flat["public"], flat.pop("public_source"))
    return flat


def settings_of(*, split: Any = None, epsilon: float = 1.0, delta: float = 1e-9, **flat: Any) -> Settings:
    """Privacy parameters of flat options."""
    neighbours = flat.pop("neighbours", ONE_ROW)
    test = read_test(values(**flat).get("test", "release"))
    return Settings(epsilon=epsilon, delta=delta, test=test, neighbours=neighbours, split=split)


def bound(
    made: type[Test], *, delta: float = 1e-9, neighbours: Neighbours = ONE_ROW, uses_seeds: bool = True, **options: Any
) -> Test:  # fmt: skip
    """A test that is bound to what a fit protects; a release test with seeds, if nothing else is said."""
    if made is ReleaseTest:
        options.setdefault("omega", 1 if uses_seeds else None)
    return made(**options).bound(delta, neighbours)


def rebound(test: Test, neighbours: Neighbours | None = None, **changed: Any) -> Test:
    """The same test with other options, or for other neighbours."""
    return replace(test, **changed).bound(test.delta, neighbours or test.neighbours)
