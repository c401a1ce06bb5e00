"""Codes on disk count as the rows do, and are gone after the fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tables import COLUMNS, DECLARED, held
from test_coded import DOMAIN, FRAME, NAMES, SETS, agree, whole

from sdv_plausible import Budget, fit_source
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.sources.coded import Coder
from sdv_plausible.sources.kept import keep_codes
from sdv_plausible.sources.source import FrameSource

CODER = Coder(DOMAIN, RuleSet(), Coins.from_seed(1))


@pytest.mark.parametrize("n", [0, 1, 700])
def test_tables_are_those_of_the_rows(n: int, tmp_path: Path) -> None:
    kept = keep_codes(FrameSource(FRAME.iloc[:n], 100), CODER, NAMES, tmp_path)
    assert agree(kept, whole(FRAME.iloc[:n]))
    assert kept.num_rows() == n
    files = sorted(tmp_path.iterdir())
    assert len(files) == max(-(-n // 100), 1)
    assert {np.load(file).dtype for file in files} == {np.dtype(np.uint8)}
    assert kept.part(0, 0.5, Coins.from_seed(0)).num_rows() <= n
    assert len(SETS) == len(list(kept.tables(SETS)))


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_is_left(fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def stop(*arguments: object) -> None:
        seen.extend(tmp_path.rglob("*.npy"))
        raise KeyboardInterrupt

    if fails:
        monkeypatch.setattr("sdv_plausible.sources.learning.fit_release", stop)
        with pytest.raises(KeyboardInterrupt):
            fit_source(FRAME, COLUMNS, DECLARED, scratch=tmp_path)
        assert seen
    else:
        found = fit_source(FRAME, COLUMNS, DECLARED, scratch=tmp_path, random_state=0, rows=100)
        assert found == fit_source(FRAME, COLUMNS, DECLARED, random_state=0)
    assert not list(tmp_path.iterdir())


def test_rows_of_other_machines_stay_there(tmp_path: Path) -> None:
    source = held("dask", pd.DataFrame(FRAME), tmp_path)
    with pytest.raises(ValueError, match="scratch"):
        fit_source(source, COLUMNS, DECLARED, scratch=tmp_path)


def test_a_folder_that_is_not_there_costs_no_budget(tmp_path: Path) -> None:
    budget = Budget(1.5, 1e-8, tmp_path / "budget.json")
    with pytest.raises(ValueError, match="make it first"):
        fit_source(FRAME, COLUMNS, DECLARED, budget=budget, scratch=tmp_path / "none")
    fit_source(FRAME, COLUMNS, DECLARED, budget=budget, scratch=tmp_path)
