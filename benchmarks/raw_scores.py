"""Scores of synthetic raw rows against real rows that no method has seen; per table, and per column where there is one."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.raw_codebooks import CodeBook
from benchmarks.raw_grid import grid_distances
from benchmarks.raw_methods import DELTA
from benchmarks.raw_rules import any_broken, plain_column, violations, wrong_cells
from sdv_plausible.evaluation import table_codes
from sdv_plausible.evaluation.classifiers import compare_classifiers, distinguishing_game
from sdv_plausible.evaluation.table_pair import prepare_pair, to_numbers

CLOSE = 0.03  # what a column's grid distance may exceed the noisy histogram's by: the goal
SHOWN = {
    "quality": "Quality",
    "diagnostic": "Diagnostic",
    "column distance": "column distance",
    "pair distance": "pair distance",
    "RF accuracy": "RF",
    "agreement": "agreement",
    "game RF": "game RF",
    "grid": "grid",
    "grid noisy": "noisy histogram",
    "far columns": "columns over + .03",
    "wrong cells": "wrong cells",
    "broken rows": "broken rows",
    "fit s": "fit s",
    "sample s": "sample s",
    "MB": "MB",
}
"""Scores of a table, and their headings in the report."""


def scores(
    tables: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame],
    name: str,
    book: CodeBook,
    target: str,
    epsilon: float,
) -> dict[str, Any]:
    """All scores of (training, test, synthetic) rows; ``columns`` and ``rules`` hold one entry each."""
    train, test, synthetic = (table[book.modelled] for table in tables)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shapes, found = _sdmetrics(test, pd.concat([train, test], ignore_index=True), synthetic, book)
        column_distances, more = _ours(train, test, synthetic, book, target)
    by_column: dict[str, dict[str, float]] = {}
    grid = grid_distances((train, test, synthetic), name, book, epsilon, DELTA)
    wrong = wrong_cells(pd.concat([train, test]), synthetic, book)
    for column in book.modelled:
        entry = by_column[column] = {
            "shape": shapes[column],
            "distance": column_distances[column],
            "wrong": wrong[column],
            "missing": float(synthetic[column].isna().mean() - test[column].isna().mean()),
        }
        if book.full[column]["sdtype"] == "numerical":
            entry.update(single_values(test[column], synthetic[column]))
        if column in grid:
            entry["grid"], entry["noisy"], entry["sampling"] = grid[column]
    ours, noisy, sampling = np.array(list(grid.values())).T
    private = math.isfinite(epsilon)
    return {
        **found,
        **more,
        "grid": float(ours.mean()),
        "grid noisy": float(noisy.mean()) if private else None,
        "grid sampling": float(sampling.mean()),
        "far columns": int((ours > noisy + CLOSE).sum()),
        "wrong cells": float(np.mean(list(wrong.values()))),
        "broken rows": any_broken(synthetic, book),
        "broken real rows": any_broken(test, book),
        "dtypes changed": [c for c in book.modelled if train[c].dtype != synthetic[c].dtype],
        "columns": by_column,
        "rules": {rule: share for rule, share in violations(synthetic, book).items() if share},
    }


def single_values(test: pd.Series, synthetic: pd.Series) -> dict[str, float]:
    """One-way distance over every single value of a column, and the most frequent real value's share in both tables."""
    real, made = (Counter(plain_column(column)) for column in (test, synthetic))
    shares = np.array([(real[v] / len(test), made[v] / len(synthetic)) for v in {*real, *made}])
    top = int(shares[:, 0].argmax())
    return {
        "single values": float(np.abs(shares[:, 0] - shares[:, 1]).sum() / 2),
        "real top": float(shares[top, 0]),
        "top": float(shares[top, 1]),
    }


def right_types(table: pd.DataFrame, book: CodeBook) -> pd.DataFrame:
    """The table as SDMetrics can read it: numbers are numbers, and a code in words beside numbers is missing."""
    out = {}
    for name, spec in book.full.items():
        column = table[name]
        if spec["sdtype"] == "numerical":
            out[name] = pd.Series(to_numbers(column, "numerical")[0], index=table.index)
        else:
            out[name] = column.astype(object) if isinstance(column.dtype, pd.CategoricalDtype) else column
    return pd.DataFrame(out)


def _scored_metadata(book: CodeBook) -> dict[str, Any]:
    return {
        "columns": {
            n: {k: s[k] for k in ("sdtype", "datetime_format") if k in s} for n, s in book.full.items()
        }
    }


def _sdmetrics(
    test: pd.DataFrame, real: pd.DataFrame, synthetic: pd.DataFrame, book: CodeBook
) -> tuple[dict[str, float], dict[str, float]]:
    """Column shapes, and the scores of SDMetrics' Quality (against test rows) and Diagnostic (ranges of all real rows)."""
    from sdmetrics.reports.single_table import DiagnosticReport, QualityReport

    metadata = _scored_metadata(book)
    made = right_types(synthetic, book)
    quality, diagnostic = QualityReport(), DiagnosticReport()
    quality.generate(right_types(test, book), made, metadata, verbose=False)
    diagnostic.generate(right_types(real, book), made, metadata, verbose=False)
    parts = quality.get_properties().set_index("Property")["Score"]
    columns = quality.get_details("Column Shapes").set_index("Column")["Score"]
    return {name: float(columns.get(name, math.nan)) for name in book.modelled}, {
        "quality": float(quality.get_score()),
        "column shapes": float(parts["Column Shapes"]),
        "column pair trends": float(parts["Column Pair Trends"]),
        "diagnostic": float(diagnostic.get_score()),
    }


def _ours(
    train: pd.DataFrame, test: pd.DataFrame, synthetic: pd.DataFrame, book: CodeBook, target: str
) -> tuple[dict[str, float], dict[str, float]]:
    """Our report's scores: distances to and game with the test rows; forests of training and synthetic rows on them."""
    metadata = _scored_metadata(book)
    pair = prepare_pair(test, synthetic, metadata)
    coded, _ = table_codes.encode_pair(pair, table_codes.DEFAULT_NUM_BINS, None, 0)
    real, made = coded.tables
    compared = compare_classifiers(
        prepare_pair(train, synthetic, metadata),
        target,
        classifiers="random_forest",
        num_runs=1,
        holdout=test,
    )
    forest = compared.results["random_forest"]
    game = distinguishing_game(pair, classifiers=("random_forest", "tree"), num_runs=1)
    of_columns = table_codes.column_distances(real, made, coded.cardinalities)
    return dict(zip(coded.columns, map(float, of_columns), strict=True)), {
        "column distance": float(of_columns.mean()),
        "pair distance": float(
            np.mean(list(table_codes.pair_distances(real, made, coded.cardinalities).values()))
        ),
        "RF accuracy": forest.synthetic_accuracy.mean,
        "real RF accuracy": forest.real_accuracy.mean,
        "agreement": forest.agreement.mean,
        "game RF": game.accuracy["random_forest"].mean,
        "game tree": game.accuracy["tree"].mean,
    }
