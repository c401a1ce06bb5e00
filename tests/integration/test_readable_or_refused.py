"""A fit is refused before it is paid for, or both readers take its file."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sdv_plausible import Budget, Person, Release, fit_source
from sdv_plausible.extensions.verify.independent.all_checks import check
from sdv_plausible.fitting.domain_learning import learned_file
from sdv_plausible.release.file import ledger_section
from sdv_plausible.table.declared.domain_file import DomainFile

Domain = dict[str, dict[str, Any]]
EPSILONS = (1e-3, 1.0, 1e3, 1e5, 3e5, 1e6)
REFUSED = "cannot be stored in a release file.*count: must be a whole number from 1 to 10000000"


def table(columns: int) -> pd.DataFrame:
    rng = np.random.default_rng(columns)
    return pd.DataFrame({f"c{i}": rng.integers(0, 3, 30) for i in range(columns)})


def declared(columns: int) -> Domain:
    return {f"c{i}": {"sdtype": "numerical", "range_min": 0, "range_max": 2} for i in range(columns)}


def open_types(columns: int) -> Domain:
    return {f"c{i}": {"sdtype": "numerical"} for i in range(columns)}


def outcome(path: Path, columns: int, domain: Domain, **options: Any) -> str:
    """What became of a fit: refused and nothing paid, or the file is read by both readers."""
    budget = Budget(epsilon=1e9, delta=0.99, path=path)
    try:
        release = fit_source(table(columns), domain=domain, types="declared", budget=budget, **options)
    except ValueError:
        return "paid, and refused" if any(budget.charged().values()) else "refused"
    Release.from_bytes(release.to_bytes())
    assert [one for one in check(release.to_bytes()) if one.state == "refused"] == []
    return "readable"


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_every_setting_is_refused_before_it_is_paid_for_or_readable(epsilon: float, tmp_path: Path) -> None:
    """Control: both happen."""
    settings = (1e-12, 1), (1e-9, 5), (1e-3, 1), (1e-3, 5)
    cases = itertools.product(settings, (declared, open_types))
    for number, ((delta, columns), domain) in enumerate(cases):
        found = outcome(tmp_path / str(number), columns, domain(columns), epsilon=epsilon, delta=delta)
        assert found == "readable" or epsilon > 2e5
        assert found == "refused" or epsilon < 1e6


@pytest.mark.parametrize("model", ["paper", "independent", "gaussian_copula", "correlated"])
def test_every_model_is_refused_before_it_is_paid_for_or_readable(model: str, tmp_path: Path) -> None:
    for epsilon, wanted in ((0.01, "readable"), (10.0, "readable"), (1e6, "refused")):
        options = {"model": model, "epsilon": epsilon, "delta": 1e-9}
        assert outcome(tmp_path / f"{epsilon}", 3, declared(3), **options) == wanted


def test_a_domain_that_no_file_could_hold_is_not_learned(tmp_path: Path) -> None:
    """Control: the same one at an epsilon that files hold."""
    file, budget = DomainFile(columns=open_types(2)), Budget(epsilon=1e9, delta=0.5, path=tmp_path / "b")
    with pytest.raises(ValueError, match=REFUSED):
        learned_file(table(2), file, 1e6, 1e-9, budget=budget)
    assert not any(budget.charged().values())
    learned_file(table(2), file, 1.0, 1e-9, budget=budget)
    assert any(budget.charged().values())


def test_a_vote_and_persons_are_held_to_the_same_limit(tmp_path: Path) -> None:
    persons = {**open_types(3), "c0": {"sdtype": "id"}}
    of_persons = {"types": "declared", "person": Person("c0", rows=2), "scratch": tmp_path}
    for i, (domain, options) in enumerate((({}, {"types": "voted"}), (persons, of_persons))):
        budget = Budget(epsilon=1e9, delta=0.5, path=tmp_path / str(i))
        with pytest.raises(ValueError, match="cannot be stored in a release file"):
            fit_source(table(3), domain=domain, epsilon=1e6, budget=budget, **options)
        assert not any(budget.charged().values())


def test_limits_of_files_hold_before_a_fit_is_paid_for(tmp_path, monkeypatch):
    """Whatever limit the readers have: here fewer losses than a fit charges."""
    monkeypatch.setattr(ledger_section, "MOST_LOSSES", 0)
    assert outcome(tmp_path / "b", 2, declared(2), epsilon=1.0, delta=1e-9) == "refused"
