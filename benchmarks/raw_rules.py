"""Rules between columns that a code book states, and cells of a wrong type: counted, never repaired.

A rule is a mapping with ``rule`` and its parts:

- ``order``: ``columns`` [a, b]; a <= b where both are present;
- ``equal``: ``columns`` [a, b]; the same value, or both missing;
- ``combinations``: ``columns`` and ``allowed``, a list of value lists; every row has one of them;
- ``implies``: ``if`` and ``then``, each ``{column: condition}``; rows that meet all of ``if`` meet all of ``then``.

A condition is a list of values (null: missing), or ``{"min": .., "max": ..}``, which only numbers meet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.raw_codebooks import CodeBook
from sdv_plausible.evaluation.table_pair import to_numbers

Rule = Mapping[str, Any]
Condition = list[Any] | Mapping[str, float]


def plain(value: Any) -> Any:
    """A value that compares by content: numbers as floats, missing as None, everything else as text."""
    if value is None or (not isinstance(value, str) and pd.isna(value)):
        return None
    if isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)):
        return float(value)
    return str(value)


def plain_column(column: pd.Series) -> np.ndarray:
    """:func:`plain` of every cell."""
    codes, values = pd.factorize(column, use_na_sentinel=True)
    table = np.array([*(plain(v) for v in np.asarray(values, dtype=object)), None], dtype=object)
    return table[codes]


def meets(table: pd.DataFrame, conditions: Mapping[str, Condition]) -> np.ndarray:
    """Which rows meet all conditions."""
    met = np.ones(len(table), dtype=bool)
    for name, condition in conditions.items():
        if isinstance(condition, Mapping):
            numbers, _ = to_numbers(table[name], "numerical")
            met &= (numbers >= condition.get("min", -np.inf)) & (numbers <= condition.get("max", np.inf))
        else:
            allowed = {plain(v) for v in condition}
            met &= np.array([v in allowed for v in plain_column(table[name])], dtype=bool)
    return met


def broken(table: pd.DataFrame, rule: Rule, book: CodeBook) -> np.ndarray:
    """Which rows break a rule."""
    kind = rule["rule"]
    if kind == "implies":
        return meets(table, rule["if"]) & ~meets(table, rule["then"])
    names = rule["columns"]
    if kind == "combinations":
        allowed = {tuple(plain(v) for v in row) for row in rule["allowed"]}
        cells = zip(*(plain_column(table[name]) for name in names), strict=True)
        return np.array([row not in allowed for row in cells], dtype=bool)
    if kind == "equal":
        first, second = (plain_column(table[name]) for name in names)
        return np.array([a != b for a, b in zip(first, second, strict=True)], dtype=bool)
    if kind != "order":
        raise ValueError(f"rule {kind!r} must be order, equal, combinations or implies")
    low, high = (_ordered(table[name], book.metadata[name]) for name in names)
    return low > high


def _ordered(column: pd.Series, spec: Mapping[str, Any]) -> np.ndarray:
    kind = "datetime" if spec["sdtype"] == "datetime" else "numerical"
    return to_numbers(column, kind, spec.get("datetime_format"))[0]  # type: ignore[arg-type]


def short(rule: Rule) -> str:
    """One line that names a rule."""
    if rule["rule"] != "implies":
        return f"{rule['rule']}: {', '.join(rule['columns'])}"
    return f"implies: {_short_part(rule['if'])} -> {_short_part(rule['then'])}"


def _short_part(conditions: Mapping[str, Condition]) -> str:
    parts = []
    for name, condition in conditions.items():
        if isinstance(condition, Mapping):
            parts.append(f"{name} {condition.get('min', '')}..{condition.get('max', '')}")
        else:
            shown = ", ".join("missing" if v is None else str(v)[:20] for v in condition[:3])
            parts.append(f"{name} in {shown}{', ...' if len(condition) > 3 else ''}")
    return " and ".join(parts)


def violations(table: pd.DataFrame, book: CodeBook) -> dict[str, float]:
    """Share of rows that break each rule, by :func:`short` name."""
    return {short(rule): float(broken(table, rule, book).mean()) for rule in book.rules}


def any_broken(table: pd.DataFrame, book: CodeBook) -> float:
    """Share of rows that break at least one rule."""
    rows = np.zeros(len(table), dtype=bool)
    for rule in book.rules:
        rows |= broken(table, rule, book)
    return float(rows.mean())


def wrong_cells(real: pd.DataFrame, synthetic: pd.DataFrame, book: CodeBook) -> dict[str, float]:
    """Share of each column's synthetic cells that no real cell is like.

    Missing where no real cell is; no number, or a fraction where all real numbers are whole; no date in the file's
    format; a category that is neither declared nor in a real row (1 and "1" are two categories).
    """
    return {name: float(_wrong(real[name], synthetic[name], spec).mean()) for name, spec in book.full.items()}


def _wrong(real: pd.Series, synthetic: pd.Series, spec: Mapping[str, Any]) -> np.ndarray:
    missing = synthetic.isna().to_numpy(dtype=bool)
    wrong = missing & (not real.isna().any())
    if spec["sdtype"] in ("categorical", "boolean"):
        known = {_typed(v) for v in [*real.dropna().unique(), *spec.get("range_values", ())]}
        codes, values = pd.factorize(synthetic)
        strange = np.array([*(_typed(v) not in known for v in np.asarray(values, dtype=object)), False])
        return wrong | strange[codes]
    codes_beside = {plain(v) for v in spec.get("special_values", ()) if isinstance(v, str)}
    special = np.array([v in codes_beside for v in plain_column(synthetic)], dtype=bool)
    kind = "datetime" if spec["sdtype"] == "datetime" else "numerical"
    numbers, unreadable = to_numbers(synthetic, kind, spec.get("datetime_format"))  # type: ignore[arg-type]
    wrong |= unreadable & ~special
    if kind == "datetime" and not pd.api.types.is_datetime64_any_dtype(real.dtype):
        codes, values = pd.factorize(synthetic)
        texts = np.array([*(isinstance(v, str) for v in np.asarray(values, dtype=object)), True])
        return wrong | ~texts[codes]
    whole = to_numbers(real, kind, spec.get("datetime_format"))[0]  # type: ignore[arg-type]
    if kind == "numerical" and np.all(np.isnan(whole) | (whole == np.floor(whole))):
        wrong |= ~np.isnan(numbers) & (numbers != np.floor(numbers))
    return wrong


def _typed(value: Any) -> Any:
    """Text, numbers and truth values apart: a code 1 and the text "1" differ, 1 and 1.0 do not."""
    return (isinstance(value, str), plain(value))
