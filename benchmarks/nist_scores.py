"""Scores of NIST's report on deidentified data (SDNist 2.5), written from their definitions.

Checked against the package: see "NIST's scoreboard" in history.md. Tables are as the excerpts store them, with ``N`` for
what does not apply. A score never changes a table.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from benchmarks.raw_codebooks import CodeBook
from benchmarks.raw_rules import broken

NOT_APPLICABLE = "N"
GROUP = "PUMA"
NUM_BINS = 20
BINNED = ("AGEP", "PINCP", "POVPIP", "PWGTP", "WGTP")
DENSITY_EDGES = [0.0, 150.0, *np.logspace(1, np.log10(52864.7 + 500), 21)[8:]]
Check = Mapping[str, Any]

_GIVEN = {
    "MSP": [str(i) for i in range(1, 7)],
    "PINCP": {"min": -9000},
    "PINCP_DECILE": [str(i) for i in range(10)],
    "EDU": [str(i) for i in range(1, 13)],
    "DPHY": ["1", "2"],
    "DREM": ["1", "2"],
}


def _implies(condition: Check, then: Check) -> dict[str, Any]:
    return {"rule": "implies", "if": condition, "then": then}


def _young(most: int, column: str, highest: int = 0) -> dict[str, Any]:
    allowed = [NOT_APPLICABLE, *(str(i) for i in range(1, highest + 1))]
    return _implies({"AGEP": {"max": most}}, {column: allowed})


def checks(columns: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """The published consistency checks that these columns allow, as rules of a code book (see domains/README.md).

    Every rule of a check counts its own violations. Incomes above 3,000,000 in poverty are left out: the data
    dictionary ends at 1,341,000.
    """
    found = {
        **{
            f"child_{c}": [_young(14, c)]
            for c in ("DVET", "MSP", "PINCP", "PINCP_DECILE", "INDP", "INDP_CAT")
        },
        "child_phd": [_young(14, "EDU", 11)],
        "toddler_DPHY": [_young(4, "DPHY")],
        "toddler_DREM": [_young(4, "DREM")],
        "toddler_diploma": [_young(4, "EDU", 4)],
        "infant_EDU": [_young(2, "EDU")],
        "adult_N": [_implies({"AGEP": {"min": 16}}, {c: v for c, v in _GIVEN.items() if c in columns})],
        "adult_child": _agree("MSP", "PINCP_DECILE") if "AGEP" not in columns else [],
        "invalid_INDP_CAT": _agree("INDP", "INDP_CAT"),
        "too_many_children": [{"rule": "combinations", "columns": ["NOC", "NPF"], "allowed": _families()}],
        "gq_own": [_implies({"HOUSING_TYPE": [2, 3]}, {"OWN_RENT": [0]})],
        "gq_h_family_NOC": [_implies({"HOUSING_TYPE": [2, 3]}, {"NOC": [NOT_APPLICABLE]})],
        "gq_h_family_NPF": [_implies({"HOUSING_TYPE": [2, 3]}, {"NPF": [NOT_APPLICABLE]})],
        "house_OWN_RENT": [_implies({"HOUSING_TYPE": [1]}, {"OWN_RENT": [1, 2]})],
        "house_NOC": [_implies({"HOUSING_TYPE": [1]}, {"NOC": [str(i) for i in range(20)]})],
    }
    return {
        name: kept
        for name, rules in found.items()
        if (kept := [r for r in rules if _named(r) <= set(columns)])
    }


def _agree(first: str, second: str) -> list[dict[str, Any]]:
    """What does not apply in one of them does not apply in the other."""
    return [
        _implies({first: [NOT_APPLICABLE]}, {second: [NOT_APPLICABLE]}),
        _implies({second: [NOT_APPLICABLE]}, {first: [NOT_APPLICABLE]}),
    ]


def _families() -> list[list[str]]:
    """Fewer own children than persons in the family, where both are told."""
    children, persons = ["N", *map(str, range(20))], ["N", *map(str, range(2, 21))]
    return [[a, b] for a in children for b in persons if "N" in (a, b) or int(a) < int(b)]


def _named(rule: Check) -> set[str]:
    return set(rule.get("columns", [])) | set(rule.get("if", {})) | set(rule.get("then", {}))


def inconsistencies(table: pd.DataFrame, book: CodeBook) -> dict[str, int]:
    """Violations of every check, and in how many rows there is one."""
    found, any_broken = {}, np.zeros(len(table), dtype=bool)
    for name, rules in checks(list(table)).items():
        each = [broken(table, rule, book) for rule in rules]
        found[name] = int(sum(b.sum() for b in each))
        any_broken |= np.logical_or.reduce(each)
    return {**found, "violations": sum(found.values()), "rows": int(any_broken.sum())}


def as_codes(table: pd.DataFrame, areas: Sequence[str]) -> pd.DataFrame:
    """Numbers in place of texts; what does not apply lies below them, areas are in the dictionary's order."""
    coded = {}
    for name in table:
        if name == GROUP:
            coded[name] = table[name].map({area: i for i, area in enumerate(areas)}).fillna(-2)
        elif name == "DENSITY":
            coded[name] = _cut(table[name].to_numpy(float), DENSITY_EDGES)
        else:
            numbers = pd.to_numeric(table[name].astype(str), errors="coerce")
            coded[name] = numbers.fillna(-9001 if name == "PINCP" else -1)
    return pd.DataFrame(coded, index=table.index).astype(float)


def binned(real: pd.DataFrame, made: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Coded tables with long columns in quantiles of the real one."""
    real, made = real.copy(), made.copy()
    for name in set(BINNED) & set(real):
        apart = {"PINCP": -9001.0, "POVPIP": -1.0}.get(name)
        one, two = (
            t[name].to_numpy() if apart is None else t[name][t[name] != apart].to_numpy()
            for t in (real, made)
        )
        edges = _edges(one, two if len(two) else one, NUM_BINS - (apart is not None))
        for table in (real, made):
            inside = np.ones(len(table), dtype=bool) if apart is None else (table[name] != apart).to_numpy()
            cut = np.full(len(table), -1.0)
            cut[inside] = _cut(table[name].to_numpy()[inside], edges)
            table[name] = cut
    return real, made


def _edges(real: np.ndarray, made: np.ndarray, number: int) -> list[float]:
    """Quantiles of the real values; made ones beyond them get a bin of their own, out of the same number."""
    ends = [real.max()]
    if made.max() > real.max():
        ends.append(made.max())
    if made.min() < real.min():
        ends.insert(0, made.min())
    number -= len(ends) - 1
    quantiles = np.percentile(real, np.arange(number) * (100 / number), method="higher")
    return sorted({*quantiles.tolist(), *ends})


def _cut(values: np.ndarray, edges: Sequence[float]) -> np.ndarray:
    """Bin of every value: above the edge before, up to its own."""
    return np.clip(np.searchsorted(edges, values, side="left") - 1, 0, len(edges) - 2)


def k_marginal(real: pd.DataFrame, made: pd.DataFrame) -> float:
    """1,000 less 500 times the mean L1 distance of pairs, of each area where it is a column.

    Parameters
    ----------
    real, made : DataFrame
        Binned tables.
    """
    return 1000 - 500 * float(np.mean(list(pair_distances(real, made).values())))


def pair_distances(real: pd.DataFrame, made: pd.DataFrame) -> dict[tuple[str, str], float]:
    """L1 distance of every pair's shares, of each area where it is a column."""
    both = pd.concat([real, made], ignore_index=True)
    codes = {n: pd.factorize(both[n])[0] for n in both}
    sizes = {n: int(c.max()) + 1 for n, c in codes.items()}
    group = codes.get(GROUP, np.zeros(len(both), dtype=int))
    others = sorted(set(real) - {GROUP})
    found = {}
    for a, b in itertools.combinations(others, 2):
        cell = (group * sizes[a] + codes[a]) * sizes[b] + codes[b]
        one, two = (
            np.bincount(c, minlength=int(cell.max()) + 1) / len(c)
            for c in (cell[: len(real)], cell[len(real) :])
        )
        found[a, b] = float(np.abs(one - two).sum())
    return found


def propensity(real: pd.DataFrame, made: pd.DataFrame) -> float:
    """Mean squared distance of a tree's probability of being made (depth 6) from the share of made rows."""
    features = np.concatenate([real.to_numpy(), made[list(real)].to_numpy()])
    label = np.repeat([0, 1], [len(real), len(made)])
    tree = DecisionTreeClassifier(max_depth=6, random_state=0).fit(features, label)
    return float(np.mean((tree.predict_proba(features)[:, 1] - label.mean()) ** 2))


def unique_exact_matches(real: pd.DataFrame, made: pd.DataFrame) -> tuple[int, float]:
    """Real rows that no other real row equals and a made one does: number, and percentage of those that none equals."""
    alone = real[~real.duplicated(keep=False)]
    matched = len(alone.merge(made.drop_duplicates(), how="inner", on=list(real)))
    return matched, 100 * matched / max(len(alone), 1)


def scores(real: pd.DataFrame, made: pd.DataFrame, book: CodeBook, areas: Sequence[str]) -> dict[str, float]:
    """All of them."""
    columns = list(real)
    one, two = as_codes(real, areas), as_codes(made[columns], areas)
    matched, share = unique_exact_matches(one, two)
    wrong = inconsistencies(made[columns], book)
    return {
        "k-marginal": k_marginal(*binned(one, two)),
        "PMSE": propensity(one, two),
        "inconsistencies": wrong["violations"],
        "rows inconsistent": wrong["rows"],
        "unique matches": matched,
        "unique matches %": share,
    }
