"""Shared data and helpers of the tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

pytest_plugins = ["optional_parts", "cost_report"]  # in this order: the second imports the first

# The same examples on every run, so that a failure is the change's and not the day's; HYPOTHESIS_PROFILE=search draws new ones.
settings.register_profile("same", derandomize=True, deadline=None, database=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# Where these are set, pytest explains a failing comparison of two long values in full, line by line: minutes, where a test
# plants a fault and expects the failure (comparing.py). Told here, in every process of the tests.
for _variable in ("CI", "BUILD_NUMBER"):
    os.environ.pop(_variable, None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """No search for garbage while tests are collected: what is made there stays, and later searches pass it over."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


DATA = Path(os.environ.get("SDV_PLAUSIBLE_DATA", Path(__file__).parents[1] / "../shared/data")).resolve()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the real tables; tests that need it are skipped where it is absent."""
    if not DATA.is_dir():
        pytest.skip(f"real tables are not at {DATA}; set SDV_PLAUSIBLE_DATA")
    return DATA


@pytest.fixture(autouse=True)
def _quiet_progress_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TQDM_DISABLE", "1")


@pytest.fixture(autouse=True, scope="session")
def _few_rows_are_enough() -> Generator[Callable[..., bool], None, None]:
    """Small tables are fitted all over the tests, as with anyway=True, but by tests that are marked ``counts``."""
    from sdv_plausible.fitting import row_count_check

    with pytest.MonkeyPatch.context() as patch:
        honest = row_count_check.is_counted
        patch.setattr(row_count_check, "is_counted", lambda *_: False)
        yield honest


@pytest.fixture(autouse=True)
def _rows_are_counted(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, _few_rows_are_enough: Callable[..., bool]
) -> None:
    if request.node.get_closest_marker("counts") is not None:
        monkeypatch.setattr("sdv_plausible.fitting.row_count_check.is_counted", _few_rows_are_enough)


@pytest.fixture
def untrained_classifiers(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what stands around a report: to train its classifiers takes seconds, whatever the table."""
    monkeypatch.setattr(
        "sdv_plausible.evaluation.classifiers.Training.predict",
        lambda self: np.full(len(self.test.trees), self.labels[0]),
    )


@pytest.fixture
def mixed_table() -> pd.DataFrame:
    """600 rows with every kind of column that SDV knows."""
    rng = np.random.default_rng(7)
    n = 600
    city = rng.choice(["Bern", "Basel", "Chur"], n, p=[0.5, 0.3, 0.2])
    income = np.round(rng.gamma(3, 900, n) + 500 * (city == "Basel"), 2)
    income[rng.random(n) < 0.1] = np.nan
    start = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    table = pd.DataFrame(
        {
            "id": [f"P{i:05d}" for i in range(n)],
            "email": [f"user{i}@example.org" for i in range(n)],
            "ticket": [f"T-{i % 17}" for i in range(n)],
            "city": pd.Series(city).where(rng.random(n) > 0.05),
            "member": rng.random(n) < 0.4,
            "age": rng.integers(18, 90, n),
            "children": pd.array(rng.integers(0, 4, n), dtype="Int64"),
            "income": income,
            "start": pd.Series(start).where(rng.random(n) > 0.07),
            "day": pd.Series(start.strftime("%d.%m.%Y")),
            "grade": pd.Categorical(rng.choice(["A", "B", "C"], n), categories=["A", "B", "C", "never used"]),
        }
    )
    table.loc[::29, "children"] = pd.NA
    return table
