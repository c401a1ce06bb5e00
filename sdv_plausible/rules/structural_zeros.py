"""Structural zeros: which pairs of codes the rules allow. No row is read."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pandas as pd

from sdv_plausible.rules import rule_cells
from sdv_plausible.rules.conditions import Allowed, Implies
from sdv_plausible.rules.contradictions import dates_to_nanoseconds, named_values
from sdv_plausible.rules.rule import Rule
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.table.columns.domain import Attribute, Domain

MAX_PAIRS = 1_000_000  # maximum number of value pairs checked per rule


def possible_pairs(rule_set: RuleSet, domain: Domain) -> dict[tuple[int, int], np.ndarray]:
    """Structural zeros from rules on two modelled columns, and from surrogates that are missing together.

    A pair of codes is possible if the rule allows any pair of their values. A bin that a rule divides is
    checked on both sides. The result is ``possible`` of :class:`~sdv_plausible.table.columns.domain.Domain`.
    """
    possible: dict[tuple[int, int], np.ndarray] = {}
    names = domain.names
    for rule in chain.from_iterable(map(_pairwise_rules, rule_set.row_constraints)):
        if not set(rule.columns) <= set(names):
            continue
        i, j = sorted(map(names.index, rule.columns))
        cells = _possible_cells(rule, domain.attributes[i], domain.attributes[j], rule_set)
        if cells is not None:
            possible[i, j] = cells & possible[i, j] if (i, j) in possible else cells
    for deriving_rules in rule_set.deriving_rules:
        for pair in combinations(sorted(map(names.index, set(deriving_rules.together) & set(names))), 2):
            missing, other = (domain.attributes[i].missing_code for i in pair)
            if missing is not None and other is not None:
                cells = np.ones([domain.cardinalities[i] for i in pair], dtype=bool)
                cells[missing], cells[:, other], cells[missing, other] = False, False, True
                possible[pair] = cells & possible[pair] if pair in possible else cells
    return {pair: cells for pair, cells in possible.items() if not cells.all() and cells.any()}


def _pairwise_rules(rule: Rule) -> list[Rule]:
    """The parts of a rule about two columns: each conclusion alone, each pair of columns of a table."""
    if isinstance(rule, Implies) and len(rule.when) == 1:
        (when,) = rule.when
        condition = {when.column: when.to_user()}
        return [Implies(condition, {c.column: c.to_user()}) for c in rule.then if c.column != when.column]
    if isinstance(rule, Allowed):
        pairs = combinations(range(len(rule.columns)), 2)
        return [
            Allowed([rule.columns[i], rule.columns[j]], {(row[i], row[j]) for row in rule.combinations})
            for i, j in pairs
        ]
    return [rule] if len(rule.columns) == 2 else []


def _possible_cells(rule: Rule, first: Attribute, second: Attribute, rule_set: RuleSet) -> np.ndarray | None:
    (a, left), (b, right) = (_representatives(attribute, rule) for attribute in (first, second))
    if len(a) * len(b) > MAX_PAIRS:
        return None
    left, right = left.rename(first.name), right.rename(second.name)
    table = pd.merge(left, right, how="cross")
    holds = rule.holds(table, rule_set.formats).reshape(len(a), len(b))
    cells = np.zeros((first.cardinality, second.cardinality), dtype=bool)
    np.logical_or.at(cells, (a[:, None], b[None]), holds)
    return cells


def _representatives(attribute: Attribute, rule: Rule) -> tuple[np.ndarray, pd.Series]:
    """Code and value of representatives of all values that the rule distinguishes."""
    values_named = named_values(attribute.name, [rule])
    if attribute.kind == "datetime":
        points = dates_to_nanoseconds(values_named, attribute.datetime_format)
    else:
        points = [value for value in values_named if rule_cells.is_number(value)]
    thresholds = np.array(points, dtype=np.int64 if attribute.kind == "datetime" else float)
    codes: list[int] = []
    values: list[object] = []
    for code, (low, high) in enumerate(zip(attribute.lower, attribute.upper, strict=True)):
        step = attribute.unit if attribute.kind == "datetime" else 1
        neighbours = np.concatenate([thresholds - step, thresholds, thresholds + step])
        for value in sorted({low, high, *neighbours[(neighbours > low) & (neighbours < high)].tolist()}):
            codes.append(code)
            values.append(pd.Timestamp(int(value)) if attribute.kind == "datetime" else value)
    for value in attribute.values:
        codes.append(len(attribute.lower) + attribute.values.index(value))
        values.append(value)
    if attribute.nullable:
        codes.append(attribute.cardinality - 1)
        values.append(None)
    return np.array(codes), pd.Series(values, dtype=object)
