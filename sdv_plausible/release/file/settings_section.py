"""The synthesizer's settings in a release file: plain values by name."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any, get_args

import numpy as np

from sdv_plausible.mechanism.privacy_tests.contract import PrivacyTest, option_names
from sdv_plausible.mechanism.privacy_tests.privacy_settings import TESTS_BY_NAME, Settings
from sdv_plausible.mechanism.privacy_tests.row_tests import DEFAULT_ROW_CAP, RandomizedTest
from sdv_plausible.models import learner_config, learner_from_config
from sdv_plausible.privacy.accounting.composition import RandomSplit
from sdv_plausible.privacy.neighbours import ONE_ROW, RELATIONS, Neighbours, person_from_fields
from sdv_plausible.release.file.document_nodes import DocumentNode, check_writable
from sdv_plausible.release.file.fake_columns import LOCALE
from sdv_plausible.table.cells.canonical_forms import LONGEST_NAME
from sdv_plausible.table.declared.declarations import Types, Undeclared
from sdv_plausible.utils.text_output import escape_controls

_PACKAGES = ("sdv-plausible", "opendp", "dp-accounting", "numpy", "pandas")
PACKAGES, VERSION = (*_PACKAGES, "sdv"), r"^[0-9][0-9A-Za-z.+!_-]{0,99}$"
"""Packages whose versions a file may hold, and the form of a version (PEP 440)."""
PRIVACY = (
    "epsilon", "delta", "k", "gamma", "epsilon0", "omega", "privacy_test", "row_cap", "seed_free_share",
    "split", "least_rows",
)  # fmt: skip
"""Settings that every file has; options of other privacy tests have their defaults."""
_TEST_OPTIONS = dict.fromkeys(name for test in TESTS_BY_NAME.values() for name in option_names(test))
OPTIONAL = (*(name for name in _TEST_OPTIONS if name not in PRIVACY), "accounting", "noise")
"""Settings that older files lack; they default."""
UNIT = ("neighbours", "person", "rows_per_person")
OTHERS = (
    "enforce_min_max_values",
    "enforce_rounding",
    "locales",
    "max_bins",
    "types",
    "undeclared",
    "returns_tables",
)
KNOWN: tuple[str, ...] = (
    *PRIVACY, *OPTIONAL, *UNIT, *OTHERS, "model", "structure", "model_parameters", "public_rows",
    "public_source", "public_sha256", "voted", "voted_others",
)  # fmt: skip
_MAX_DEPTH = 3


def release_settings(settings: Settings, model: Any, voted: Sequence[str], **others: Any) -> dict[str, Any]:
    """Settings of a release as plain values; privacy and model parameters without such a form are omitted."""
    if {*others} != {*OTHERS}:
        raise TypeError(f"settings of a release are {OTHERS}, but these are {sorted(others)}")
    other_values = {name: as_json(value) for name, value in others.items()}
    neighbours, test = settings.neighbours, settings.test
    unit = ("replace_one" if neighbours.replace else "add_remove", neighbours.person, neighbours.rows)
    parameters = {name: getattr(RandomizedTest(), name) for name in option_names(RandomizedTest)}
    parameters |= {name: getattr(test, name) for name in option_names(type(test))}
    parameters |= {"epsilon": settings.epsilon, "delta": settings.delta, "privacy_test": test.name}
    parameters["row_cap"] = test.row_limit or DEFAULT_ROW_CAP
    parameters |= {"omega": test.user_omega, "split": settings.split, **dict(zip(UNIT, unit, strict=True))}
    values = {name: as_json(value) for name, value in {**learner_config(model), **parameters}.items()}
    values = {name: value for name, value in values.items() if is_plain(value)}
    return {**values, **other_values, **({"voted": list(voted)} if voted else {})}


def as_json(value: Any) -> Any:
    """Value with JSON's lists and numbers."""
    if isinstance(value, Mapping):
        return {str(name): as_json(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(inner) for inner in value]
    return value.item() if isinstance(value, np.generic) else value


def is_plain(value: Any) -> bool:
    """Whether a file can hold a value of :func:`as_json`."""
    if isinstance(value, dict):
        return all(map(is_plain, value.values()))
    if isinstance(value, list):
        return all(map(is_plain, value))
    return isinstance(value, (str, int, float, type(None)))


def versions_of(*others: str) -> dict[str, str]:
    """Versions of the installed packages, by name; a source checkout may lack its own."""
    versions = {}
    for name in sorted((*_PACKAGES, *others)):
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def read_versions(node: DocumentNode) -> dict[str, str]:
    """Read and check the section of the package versions."""
    if unknown := sorted({*node.entries(100)} - {*PACKAGES}):
        raise node.refuse(f"must name packages among {', '.join(PACKAGES)}, and not {unknown[0]!r:.60}")
    return {name: item.text(LONGEST_NAME, VERSION) for name, item in node.entries(100).items()}


def write_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as a section; an infinite epsilon is null."""
    document: dict[str, Any] = _sorted(settings)
    return document | {"epsilon": None if settings["epsilon"] == math.inf else settings["epsilon"]}


def check_settings(settings: Mapping[str, Any]) -> None:
    """Check before a fit that a release file can hold the settings."""
    check_writable("settings", "a setting", lambda: write_settings(settings), read_settings, path="")


def _sorted(value: Any) -> Any:
    """Mappings with sorted keys."""
    return {name: _sorted(value[name]) for name in sorted(value)} if isinstance(value, Mapping) else value


def read_settings(node: DocumentNode) -> dict[str, Any]:
    """Read and check the section of the settings."""
    f = node.entries(1000)
    if unknown := sorted({*f} - {*KNOWN}):
        raise f[unknown[0]].refuse(
            "is an unknown setting: remove it, or install the version that wrote the file"
        )
    missing = sorted({*PRIVACY, *UNIT, *OTHERS} - set(f))
    if missing:
        raise node.refuse(f"must have the entries {', '.join(missing)}")
    values = {name: _plain(item, 0) for name, item in f.items()}
    values["epsilon"] = math.inf if values["epsilon"] is None else values["epsilon"]
    optional = [name for name in OPTIONAL if name in values]
    for name in (*PRIVACY, *optional):
        if not _has_simple_form(values[name]):
            raise f[name].refuse("must be a number, a short text, null, or a list of up to three numbers")
    f["row_cap"].whole(1)
    f["neighbours"].choice(RELATIONS)
    f["person"].optional(lambda p: p.text(LONGEST_NAME))
    f["rows_per_person"].whole(1)
    f["privacy_test"].choice(TESTS_BY_NAME)
    if "accounting" in values:
        f["accounting"].choice(("paper", "proved"))
    node.validate(lambda: privacy_of(values))
    _warn_of_unused(values)
    for name in ("enforce_min_max_values", "enforce_rounding", "returns_tables"):
        f[name].boolean()
    f["max_bins"].whole(2)
    f["undeclared"].choice(get_args(Undeclared))
    f["types"].optional(lambda p: p.choice(get_args(Types)))
    _check_voted(f)
    if not isinstance(values.get("model_parameters"), (dict, type(None))):
        raise f["model_parameters"].refuse("must be an object or null")
    if values.get("model_parameters") and "model" not in values:
        raise f["model_parameters"].refuse("must be null where no model is named")
    if "public_rows" in values:
        f["public_rows"].whole(1)
    elif unused := [name for name in ("public_source", "public_sha256") if name in values]:
        raise f[unused[0]].refuse("must be absent: it has no effect without public_rows")
    if values.get("public_source") is not None:
        f["public_source"].text(LONGEST_NAME)
    if "public_sha256" in values:
        f["public_sha256"].text(64, "[0-9a-f]{64}")
    values["locales"] = [item.text(10, LOCALE) for item in f["locales"].items(100)]
    return values


def privacy_of(settings: Mapping[str, Any]) -> Settings:
    """Privacy parameters among the settings, checked."""
    test, relation = privacy_test_of(settings), settings["neighbours"]
    unit = Neighbours.parse(relation, person_from_fields(settings["person"], settings["rows_per_person"]))
    for kind in TESTS_BY_NAME.values():  # unused options are shown, so they are checked too
        _make_test(kind, settings)
    return Settings(
        epsilon=settings["epsilon"], delta=settings["delta"], test=test, neighbours=unit,
        split=settings["split"],
    )  # fmt: skip


def privacy_test_of(settings: Mapping[str, Any]) -> PrivacyTest:
    """The privacy test among the settings."""
    return _make_test(TESTS_BY_NAME[settings["privacy_test"]], settings)


def _make_test(kind: type[PrivacyTest], settings: Mapping[str, Any]) -> PrivacyTest:
    return kind(**{name: settings[name] for name in option_names(kind) if name in settings})


def splits_of(settings: Mapping[str, Any]) -> tuple[RandomSplit | None, ...]:
    """Possible effects of a secret split on the total, the smallest reduction first."""
    privacy = privacy_of(settings)
    if privacy.split is None or privacy.neighbours != ONE_ROW:
        return (None,)
    if "model" in settings:
        return (privacy.random_split(learner_from_config(settings)),)
    # The learner is unknown.
    return tuple(RandomSplit.of(privacy.split, apart=apart) for apart in (False, True))


def _has_simple_form(value: Any) -> bool:
    """Whether a privacy parameter is a scalar or a short list; ``Settings`` checks its value."""
    if isinstance(value, list):
        return len(value) <= 3 and all(isinstance(item, (int, float)) for item in value)
    return len(value) <= 40 if isinstance(value, str) else not isinstance(value, dict)


def _warn_of_unused(values: Mapping[str, Any]) -> None:
    """Warn of non-default options of other tests, which files of version 0.1 may have."""
    test = values["privacy_test"]
    own = option_names(TESTS_BY_NAME[test])
    others = [name for name in _TEST_OPTIONS if name in values and name not in own]
    usual = RandomizedTest(row_cap=DEFAULT_ROW_CAP)
    unused = {name: values[name] for name in others if values[name] != getattr(usual, name)}
    if unused:
        text = escape_controls(
            ", ".join(f"{name} ({value!r:.40})" for name, value in unused.items()), keep=""
        )
        warnings.warn(f"settings without effect under privacy_test {test!r}: {text}", stacklevel=2)


def _check_voted(f: Mapping[str, DocumentNode]) -> None:
    """Check the columns with inferred types, and the shares of their cells of another kind."""
    voted = [item.text(LONGEST_NAME) for item in f["voted"].items(100_000)] if "voted" in f else []
    for name, share in f["voted_others"].entries(100_000).items() if "voted_others" in f else ():
        share.number(0, 1)
        if name not in voted:
            raise share.refuse("must name a column with an inferred type")


def _plain(node: DocumentNode, depth: int) -> Any:
    """A string, number, bool, null, or a nested list or object of such."""
    value = node.value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return node.text()
    if isinstance(value, (int, float)):
        return node.number()
    if depth == _MAX_DEPTH:
        raise node.refuse("is nested too deeply")
    if isinstance(value, list):
        return [_plain(item, depth + 1) for item in node.items(100_000)]
    return {name: _plain(item, depth + 1) for name, item in node.entries().items()}
