"""Small releases of every model, unit and option that the product registers, for the tests of verify."""

import math
import warnings
from functools import cache
from typing import Any

import guarded
import numpy as np
import pandas as pd

from sdv_plausible import PlausibleDeniabilitySynthesizer, Release
from sdv_plausible.fitting.options import OPTIONS
from sdv_plausible.rules import Implies, Inequality
from sdv_plausible.sdv.metadata import metadata_from_columns
from tests.flat import values

COLUMNS = {
    "ticket": {"sdtype": "id"}, "ward": {"sdtype": "categorical"}, "stage": {"sdtype": "categorical"},
    "days": {"sdtype": "numerical"}, "kept": {"sdtype": "boolean"},
}  # fmt: skip
DECLARED: dict[str, Any] = {
    "ward": {"range_values": ["A", "B", "C"], "range_is_nullable": False},
    "stage": {"range_values": ["i", "ii", "iii"], "range_is_nullable": False},
    "days": {"range_min": 0, "range_max": 14, "range_is_nullable": False},
    "kept": {"range_is_nullable": False},
}
ARCS = {"stage": ["ward"]}
MODELS = guarded.models(ARCS)
SEEDS = {"k": 3, "epsilon0": 2.0, "delta": 1e-4}
FEW = {"ward": DECLARED["ward"], "kept": {"sdtype": "boolean", "range_is_nullable": False}}


def table(n: int = 400, seed: int = 5) -> pd.DataFrame:
    """Rows of a ward, four of each person."""
    rng = np.random.default_rng(seed)
    ward = rng.choice(["A", "B", "C"], n, p=[0.5, 0.3, 0.2])
    stage = np.where(rng.random(n) < 0.7, np.where(ward == "A", "i", "ii"), "iii")
    return pd.DataFrame(
        {
            "ticket": np.arange(n) // 4, "ward": ward, "stage": stage,
            "days": rng.integers(0, 10, n) + 5 * (ward == "C"), "kept": rng.random(n) < 0.3,
        },
    )  # fmt: skip


def with_pay(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows four times, each with a salary that many share or with one of its own, and with dates."""
    rows, rng = pd.concat([rows] * 4, ignore_index=True), np.random.default_rng(7)
    pay = np.where(rng.random(len(rows)) < 0.2, 52_341.05, np.round(rng.lognormal(10.8, 0.4, len(rows)), 2))
    days = pd.to_timedelta(rng.integers(0, 20_000, len(rows)), unit="D")
    born = pd.Timestamp("1950-01-01") + days
    seen = pd.Timestamp("2001-01-01") + days
    return rows.assign(pay=pay, born=born.strftime("%Y-%m-%d"), seen=seen.strftime("%Y-%m"))


# Every option of the registry that a release file can hold, with a value other than the default.
WRITTEN: dict[str, dict[str, Any]] = {
    "enforce_min_max_values": {"enforce_min_max_values": False}, "enforce_rounding": {"enforce_rounding": False},
    "locales": {"locales": ["de_CH"]}, "epsilon": {"epsilon": 4.0}, "delta": {"delta": 1e-6},
    "types": {"types": "voted", "domain": FEW, "epsilon": 5.0}, "undeclared": {"undeclared": "infer", "domain": FEW},
    "max_bins": {"max_bins": 5}, "random_state": {"random_state": 3}, "k": {**SEEDS, "k": 5, "omega": 3},
    "epsilon0": {**SEEDS, "epsilon0": 4.0, "omega": 2}, "omega": {**SEEDS, "omega": (2, 3)},
    "structure": {"structure": {"days": ["kept"]}}, "split": {"structure": "cfs", "split": (0.3, 0.3, 0.4)},
    "noise": {"structure": "independent", "noise": "paper"},
    "accounting": {"structure": "cfs", "noise": "paper", "accounting": "paper"},
    "public_source": {"public": table(60, 9), "public_source": "an office"},
    "rows_per_person": {"person": "ticket", "rows_per_person": 2},
}  # fmt: skip
ELSEWHERE = {
    "model": "MODELS", "person": "UNITS", "neighbours": "UNITS", "test": "no file holds what other tests need",
    "anyway": "tests/fitting/test_row_count_check.py",
    **dict.fromkeys(
        ("gamma", "row_cap", "max_plausible", "max_check_plausible", "hidden_omega", "seed_free_share", "least_rows",
            "threshold_noise"), "of tests row by row"),
}  # fmt: skip
PAY = {
    "pay": {"sdtype": "numerical"},
    "born": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
    "seen": {"sdtype": "datetime", "datetime_format": "%Y-%m"},
}
WITHIN: dict[str, Any] = {
    "pay": {"range_min": 0, "range_max": 250_000, "decimal_places": 2, "special_values": [1.0]},
    "born": {"range_min": "1900-01-01", "range_max": "2024-12-31"},
    "seen": {"range_min": "1990-01", "range_max": "2030-12", "range_is_nullable": False},
}
MORE: dict[str, dict[str, Any]] = {
    "numbers": {"columns": PAY, "domain": FEW, "epsilon": 30.0, "model": "independent"},
    "numbers of all digits": {
        "columns": PAY, "domain": FEW, "epsilon": 30.0, "model": "independent", "enforce_rounding": False,
    },
    "numbers within bounds": {
        "columns": {name: {**PAY[name], **words} for name, words in WITHIN.items()},
        "domain": {**FEW, **{name: {**PAY[name], **words} for name, words in WITHIN.items()}},
        "epsilon": 30.0, "model": "independent",
    },
    "learned": {"domain": {}}, "learned, strong": {"domain": {}, "epsilon": 8.0},
    "partly learned": {"domain": FEW, "epsilon": 2.0}, "no noise": {"epsilon": math.inf},
    "detected": {"types": "detected"},
    "rules": {"rules": [Implies({"ward": "C"}, {"kept": [True, False]})]},
    "inequality": {"rules": [Inequality("days", "more", most=5)], "more": True},
    "seeds of people": {**SEEDS, "epsilon0": 4.0, "omega": 3, "person": "ticket", "rows_per_person": 2},
    "weak": {"epsilon": 0.1}, "very weak": {"epsilon": 0.02, "delta": 1e-12}, "strong": {"epsilon": 20.0},
    "large delta": {"delta": 1e-3, "epsilon": 0.5},
}  # fmt: skip


def cases() -> dict[str, dict[str, Any]]:
    """At least a hundred, by name: every model for every unit, and every option for some models."""
    found: dict[str, dict[str, Any]] = {}
    for model, chosen in MODELS.items():
        for unit, neighbours in guarded.UNITS.items():
            if unit == "row" or model not in ("as printed", "latent"):
                found[f"{model}, {unit}"] = {**chosen, **guarded.parameters_of(neighbours)}
    for name, options in {**WRITTEN, **MORE}.items():
        found[name] = options
        alone = {"structure", "split", "noise", "accounting", "public", "types"} & {*options}
        for model in ("given arcs", "independent", "uniform"):
            if not alone:
                found[f"{name}, {model}"] = {**options, **MODELS[model]}
    return found


@cache
def made(case: str) -> Release:
    """The release of a case."""
    options = dict(cases()[case])
    rows, columns = table(), {**COLUMNS, **options.pop("columns", {})}
    if "pay" in columns:
        rows = with_pay(rows)
        columns |= PAY
    domain = options.pop("domain", DECLARED)
    if options.pop("more", False):
        rows = rows.assign(more=rows["days"] + np.arange(len(rows)) % 4)
        columns["more"] = {"sdtype": "numerical"}
        domain = {**domain, "more": {"range_min": 0, "range_max": 20, "range_is_nullable": False}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        synth = PlausibleDeniabilitySynthesizer(
            metadata_from_columns(columns), domain=domain, **values(**options)
        )
        synth.fit(rows)
        return synth.release(allow_no_claim=not synth.privacy_ledger().claims_privacy)


def without_a_case() -> list[str]:
    """Options that the product registers and no case sets."""
    return guarded.unequal(OPTIONS, {**WRITTEN, **ELSEWHERE})
