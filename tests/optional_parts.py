"""Tests of the core and of optional parts of the package; the option ``--part`` selects one of them.

``./dev test`` runs the core, without the expensive tests in ``dear.txt``, and the canaries of each part: a few quick tests that
fail if the part does not work at all. A test is expensive if its cases take over a second together; its first case still runs
if that case is quick. ``./dev test all`` runs all tests but the nightly ones. ``./dev test audit`` runs the tests of one part.
Without ``--part`` pytest runs all tests.

``python tests/optional_parts.py costs.json`` updates the list from the costs that ``--cost-json costs.json`` has written.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
DEAR = TESTS / "dear.txt"
MOST_SECONDS = 1.0  # of CPU time, for all cases of a test of the core
ALL = "all"  # the default: all tests
CORE = (
    "cli",
    "datasets",
    "evaluation",
    "fitting",
    "house",
    "integration",
    "mechanism",
    "models",
    "privacy",
    "queries",
    "release",
    "rules",
    "sdv",
    "sources",
    "table",
    "theory",
    "utils",
    "test_models.py",
)  # their tests belong to the core, unless a part lists them


@dataclass(frozen=True)
class Part:
    """An optional part: its folders and files below tests/, and its tests that run with the core."""

    tests: tuple[str, ...]
    canaries: tuple[str, ...]

    def has(self, file: str) -> bool:
        """Whether a file below tests/ belongs to the part."""
        return any(file == path or file.startswith(f"{path}/") for path in self.tests)


PARTS = {
    "multi_table": Part(
        ("extensions/multi_table", "datasets/test_households.py"),
        (
            "extensions/multi_table/test_families_command.py::test_two_tables_are_released_and_drawn",
            "extensions/multi_table/test_sdv_shape.py::test_the_total_of_both_tables_is_epsilon_and_no_more",
            "extensions/multi_table/test_related_sampling.py::test_every_family_has_as_many_children_as_it_should",
        ),
    ),
    "audit": Part(
        ("extensions/audit",),
        (
            "extensions/audit/test_auditing.py::test_a_false_claim_is_broken",
            "extensions/audit/test_auditing.py::test_wrong_arguments_are_named",
        ),
    ),
    "app": Part(
        ("extensions/app", "integration/test_accessibility.py", "integration/test_app_in_browser.py", "integration/test_review_in_browser.py"),
        (
            "extensions/app/pages/test_app_pages.py::test_from_an_upload_to_a_download",
            "extensions/app/review/test_review.py::test_a_plan_reads_no_row",
        ),
    ),
    "verify": Part(
        ("extensions/verify",),
        (
            "extensions/verify/test_verify_command.py::test_a_published_table_is_compared",
            "extensions/verify/independent/test_all_checks.py::test_what_is_no_file_is_one_verdict",
        ),
    ),
    "standards": Part(
        ("extensions/standards",),
        (
            "extensions/standards/test_standards.py::test_what_is_said_is_there_and_what_is_not_leaves_no_blank",
        ),
    ),
    "codebooks": Part(
        ("extensions/codebooks",),
        ("extensions/codebooks/test_table_schema.py::test_every_field",),
    ),
    "clusters": Part(
        ("extensions/clusters",),
        (
            "extensions/clusters/test_cluster_source.py::test_partitions_are_added",
            "extensions/clusters/test_spark_source.py::test_sums_come_together_once[2-3]",
        ),
    ),
    "published_counts": Part(
        ("extensions/published_counts",),
        (
            "extensions/published_counts/test_count_importers.py::test_a_plain_table_with_standard_errors",
            "extensions/published_counts/test_stated_counts.py::test_values_of_one_bin_are_added_up_with_their_noise",
        ),
    ),
    "models": Part(
        ("extensions/models",),
        (
            "extensions/models/paper/test_paper_network.py::test_without_noise_the_data_is_learned",
            "extensions/models/datasynthesizer/test_greedy_bayes.py::test_without_noise_the_most_informative_pair_comes_next",
            "extensions/models/gaussian_copula/test_copula_learner.py::test_margins_are_found",
            "extensions/models/latent/test_latent_learner.py::test_it_finds_what_goes_together",
        ),
    ),
    "benchmarks": Part(
        ("benchmarks", "conformance"),
        (
            "benchmarks/test_links.py::test_a_split_has_no_row_twice",
            "benchmarks/test_paper_page.py::test_every_table_of_the_page_is_what_is_stored",
        ),
    ),
}  # fmt: skip


@cache
def parts_of(file: str) -> tuple[str, ...]:
    """Parts that a file below tests/ belongs to; none for a file of the core."""
    return tuple(name for name, part in PARTS.items() if part.has(file))


def dear_tests() -> set[str]:
    """Expensive tests of the core, by name below tests/; ``[*]`` stands for all cases but the first."""
    return {line for line in DEAR.read_text().splitlines() if line and not line.startswith("#")}


def dear_of(costs: Mapping[str, float]) -> set[str]:
    """Expensive tests of the core, from the CPU seconds of all cases in the order of the run."""
    cases: dict[str, list[float]] = {}
    for nodeid, seconds in costs.items():
        test = nodeid.removeprefix("tests/").split("[")[0]
        if not parts_of(test.split("::")[0]):
            cases.setdefault(test, []).append(seconds)
    dear = {test: seconds for test, seconds in cases.items() if sum(seconds) > MOST_SECONDS}
    return {f"{test}[*]" if len(s) > 1 and s[0] <= MOST_SECONDS else test for test, s in dear.items()}


def write_dear(costs: Mapping[str, float]) -> None:
    """Update the list; tests without costs keep their entries."""
    measured = {nodeid.removeprefix("tests/").split("[")[0] for nodeid in costs}
    kept = {test for test in dear_tests() if test.removesuffix("[*]") not in measured}
    about = f"# Tests of the core that take over {MOST_SECONDS:g} s of CPU time; [*]: all cases but the first. See optional_parts.py."
    DEAR.write_text("\n".join([about, *sorted(kept | dear_of(costs))]) + "\n")


def is_named(test: str, names: set[str]) -> bool:
    """Whether names contain the test, with its case or as all cases."""
    return test in names or test.split("[", maxsplit=1)[0] in names


def canaries() -> set[str]:
    """Canaries of all parts."""
    return {test for part in PARTS.values() for test in part.canaries}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--part", choices=["core", *PARTS, ALL], default=ALL, help="the tests of the core or of one part alone",
    )  # fmt: skip


def _below_tests(path: Path) -> str | None:
    return path.relative_to(TESTS).as_posix() if path.is_relative_to(TESTS) else None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore files without a test of the selected part."""
    part, file = config.getoption("part"), _below_tests(collection_path)
    if part == ALL or file is None or not collection_path.name.startswith("test_"):
        return None
    if part == "core":
        has_canary = any(test.startswith(f"{file}::") for test in canaries())
        return True if parts_of(file) and not has_canary else None
    return None if PARTS[part].has(file) else True


@pytest.hookimpl(trylast=True)  # after slow cases are deselected
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect expensive tests of the core, and all tests of the parts but the canaries."""
    if config.getoption("part") != "core":
        return
    dear, few, seen = dear_tests(), canaries(), set[str]()
    kept, left_out = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        test = f"{_below_tests(item.path)}::{item.nodeid.partition('::')[2]}"
        name = test.split("[", maxsplit=1)[0]
        if parts_of(test.split("::", maxsplit=1)[0]):
            is_kept = is_named(test, few)
        else:
            is_kept = name not in dear and not (f"{name}[*]" in dear and name in seen)
        seen.add(name)
        (kept if is_kept else left_out).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


if __name__ == "__main__":
    for path in sys.argv[1:]:
        write_dear(json.loads(Path(path).read_text())["costs"])
