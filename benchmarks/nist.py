"""NIST's scoreboard: scores of SDNist's report on the excerpts of the American Community Survey.

Run: python -m benchmarks.nist [--tables national2019 ma2019] [--sets demographic industry family all] [--epsilons 1 5 10]
     [--repeats 5] [--cases none rules bootstrap] [--delta 1e-5]

Feature sets are those of the Collaborative Research Cycle. All rows are training rows, and the scores compare with these, as NIST's
do. Declared: the code book (benchmarks/domains), with the areas of the excerpt; ``rules``: its rules and the published checks too.
``bootstrap``: real rows drawn with replacement. Mean and deviation of the mean. Results are kept in results/nist.jsonl.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.nist_scores import checks, scores
from benchmarks.raw_codebooks import CodeBook, read_codebook
from benchmarks.raw_rule_book import our_rules
from benchmarks.raw_sources import read
from benchmarks.utility_tables import DATA

KEPT = Path(__file__).parent / "results" / "nist.jsonl"
WORDS = ("special_values", "resolution")
SETS = {
    "demographic": [
        "AGEP",
        "SEX",
        "MSP",
        "RAC1P",
        "HOUSING_TYPE",
        "OWN_RENT",
        "EDU",
        "PINCP_DECILE",
        "DVET",
        "DEYE",
    ],
    "industry": ["PUMA", "SEX", "MSP", "HISP", "RAC1P", "OWN_RENT", "INDP_CAT", "EDU", "PINCP_DECILE"],
    "family": [
        "PUMA",
        "AGEP",
        "SEX",
        "MSP",
        "HISP",
        "RAC1P",
        "NOC",
        "NPF",
        "OWN_RENT",
        "PINCP_DECILE",
        "POVPIP",
    ],
    "all": [],
}
OTHER_EXCERPTS = {"national2019": ("25-", "48-"), "ma2019": ()}


def areas_of_dictionary() -> list[str]:
    """Codes of areas, in the data dictionary's order."""
    document = json.loads((DATA / "nist_acs_excerpts" / "data_dictionary.json").read_text(encoding="utf-8"))
    return list(document["PUMA"]["values"])


def book_of(name: str, columns: Sequence[str]) -> CodeBook:
    """The code book of some columns; areas of the other excerpts are left out, and the published checks are rules."""
    book = read_codebook(name)
    domain = {n: book.domain[n] for n in columns if n in book.domain}
    if "PUMA" in domain:
        values = domain["PUMA"]["range_values"]
        if name == "ma2019":
            kept = [v for v in values if v.startswith("25-")]
        else:
            kept = [v for v in values if not v.startswith(OTHER_EXCERPTS[name])]
        domain["PUMA"] = {**domain["PUMA"], "range_values": kept}
    published = [rule for rules in checks(columns).values() for rule in rules]
    known = [r for rule in book.rules if (r := _within(rule, columns))]
    return replace(
        book,
        metadata={n: book.metadata[n] for n in columns},
        domain=domain,
        wanted={n: spec for n, spec in book.wanted.items() if n in columns},
        rules=[*known, *(rule for rule in published if rule not in known)],
    )


def _within(rule: dict[str, Any], columns: Sequence[str]) -> dict[str, Any] | None:
    """What a rule says of these columns."""
    if rule["rule"] != "implies":
        return rule if set(rule["columns"]) <= set(columns) else None
    then = {n: c for n, c in rule["then"].items() if n in columns}
    return {**rule, "then": then} if then and set(rule["if"]) <= set(columns) else None


def made_by_ours(
    table: pd.DataFrame, book: CodeBook, epsilon: float, delta: float, *, rules: bool
) -> tuple[pd.DataFrame, float]:
    """As many rows, and the seconds of the fit."""
    from sdv_plausible import PlausibleDeniabilitySynthesizer
    from sdv_plausible.sdv import sdv_versions as sdv_compat
    from sdv_plausible.sdv.metadata import metadata_from_columns

    declared = book.declared(WORDS)
    synth = PlausibleDeniabilitySynthesizer(
        metadata_from_columns(book.storage(WORDS)),
        domain=declared,
        epsilon=epsilon,
        delta=delta,
        rules=our_rules(book.rules, declared) if rules else [],
    )
    start = time.perf_counter()
    synth.fit(sdv_compat.to_native("table", table))
    seconds = time.perf_counter() - start
    return sdv_compat.from_native(synth.sample(len(table))), seconds


def measured(
    name: str, feature_set: str, case: str, epsilon: float, delta: float, repeat: int
) -> dict[str, Any]:
    """One run's scores."""
    whole = read(name)
    table = whole[SETS[feature_set] or list(whole)]
    book = book_of(name, list(table))
    if case == "bootstrap":
        made, seconds = table.sample(len(table), replace=True, random_state=repeat), 0.0
    else:
        made, seconds = made_by_ours(table, book, epsilon, delta, rules=case == "rules")
    label = {"table": name, "set": feature_set, "case": case, "epsilon": epsilon, "delta": delta}
    return {**label, **scores(table, made, book, areas_of_dictionary()), "fit s": seconds}


def shown(found: pd.DataFrame) -> str:
    """Mean and deviation of the mean of every figure, as a table."""
    labels, digits = (
        ["table", "set", "case", "epsilon", "delta"],
        {"PMSE": 4, "unique matches": 0, "inconsistencies": 0},
    )
    lines = []
    for key, runs in found.groupby(labels, sort=False):
        line: dict[str, Any] = {**dict(zip(labels, key, strict=True)), "runs": len(runs)}
        for figure in [c for c in found if c not in labels]:
            error = runs[figure].std(ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else float("nan")
            places = digits.get(figure, 0 if figure == "rows inconsistent" else 1)
            line[figure] = f"{runs[figure].mean():.{places}f} ± {error:.{places}f}"
        lines.append(line)
    rows = (list(lines[0]), ["---"] * len(lines[0]), *(line.values() for line in lines))
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--tables", nargs="+", choices=OTHER_EXCERPTS, default=list(OTHER_EXCERPTS))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 5.0, 10.0])
    parser.add_argument(
        "--cases", nargs="+", choices=["none", "rules", "bootstrap"], default=["none", "rules"]
    )
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    KEPT.parent.mkdir(exist_ok=True)
    found = []
    for name in given.tables:
        for feature_set in given.sets:
            for case in given.cases:
                for epsilon in given.epsilons if case != "bootstrap" else [float("inf")]:
                    for repeat in range(given.repeats):
                        found.append(measured(name, feature_set, case, epsilon, given.delta, repeat))
                        with KEPT.open("a", encoding="utf-8") as file:
                            file.write(json.dumps(found[-1]) + "\n")
    print(shown(pd.DataFrame(found)))


if __name__ == "__main__":
    main()
