"""Categories of many values without an order: as a number, as a category, and with declared groups.

Run: python -m benchmarks.many_values [--tables national2019 acs2018] [--epsilons 0.3 1 10] [--repeats 5] [--cases ...] [--first 0]

``national2019``: ages of the NIST excerpt, 100 values, in each of nine pairs; all 27,253 rows are training rows, and distances
are to these. ``acs2018``: 528 occupations (the groups are the letters before the hyphen of a label, such as MGR) and 172 places
of birth, in pairs with columns of at most 100 values, against rows that no method has seen. "before" has as many buckets of a
category as of a number, the likeliest values alone and the others in one. delta 1e-9; mean and deviation of the mean.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from benchmarks.raw_sources import read
from benchmarks.utility import ours
from benchmarks.utility_scores import distances
from benchmarks.utility_tables import DATA, CodedTable, acs2018
from sdv_plausible.models.adaptive.schedule import Schedule

DEMOGRAPHIC = (
    "AGEP", "SEX", "MSP", "RAC1P", "OWN_RENT", "HOUSING_TYPE", "EDU", "PINCP_DECILE", "DVET", "DEYE",
)  # fmt: skip
MANY = 100  # values, above which a column of acs2018 is looked at
YEARS = 5  # of a group of ages
Groups = Mapping[str, list[int]]


@dataclass(frozen=True)
class GroupedTable(CodedTable):
    """A table some of whose categories have groups."""

    groups: Mapping[str, Groups] = field(default_factory=dict)

    def declaration(self) -> dict[str, dict[str, Any]]:
        """The domain with its groups."""
        return {
            name: words | ({"groups": self.groups[name]} if name in self.groups else {})
            for name, words in super().declaration().items()
        }


def national(*, ordered: bool = False, grouped: bool = False) -> GroupedTable:
    """Ten demographic columns of NIST's national excerpt; ages as a number or a category."""
    table = read("national2019")[list(DEMOGRAPHIC)]
    codes = [
        table["AGEP"].to_numpy(),
        *(pd.factorize(table[n].astype(str), sort=True)[0] for n in DEMOGRAPHIC[1:]),
    ]
    ages = {f"from {low}": list(range(low, low + YEARS)) for low in range(0, 100, YEARS)}
    return GroupedTable(
        names=list(DEMOGRAPHIC),
        codes=np.stack(codes, axis=1).astype(np.int32),
        cardinalities=[100, *(int(c.max()) + 1 for c in codes[1:])],
        ordered=[ordered] + [False] * (len(DEMOGRAPHIC) - 1),
        target=2,
        num_train=len(table),
        delta=1e-9,
        groups={"AGEP": ages} if grouped else {},
    )


def acs(*, grouped: bool = False) -> GroupedTable:
    """ACS 2018; the occupations' groups are in their labels."""
    table = acs2018()
    path = DATA / "acs2018_us" / "acs2018_us_100k_11cols.parquet"
    labels = sorted(pd.read_parquet(path, columns=["Occupation"])["Occupation"].astype(str).unique())
    groups: dict[str, list[int]] = {}
    for code, label in enumerate(labels):
        groups.setdefault(label.split("-")[0], []).append(code)
    return GroupedTable(**_parts(table), groups={"Occupation": groups} if grouped else {})


def _parts(table: CodedTable) -> dict[str, Any]:
    return {part.name: getattr(table, part.name) for part in fields(CodedTable)}


@contextmanager
def before() -> Iterator[None]:
    """As many buckets of a category as of a number."""
    with patch.object(Schedule, "most_buckets_of", lambda self, attribute: self.most_buckets):
        yield


@contextmanager
def now() -> Iterator[None]:
    """As it is."""
    yield


CASES: dict[str, dict[str, tuple[Callable[[], GroupedTable], Any]]] = {
    "national2019": {
        "number": (lambda: national(ordered=True), now),
        "category, before": (national, before),
        "category": (national, now),
        "category with groups": (lambda: national(grouped=True), now),
    },
    "acs2018": {
        "category, before": (acs, before),
        "category": (acs, now),
        "category with groups": (lambda: acs(grouped=True), now),
    },
}


def pair_distances(table: CodedTable, made: np.ndarray, real: np.ndarray) -> dict[str, float]:
    """Distances of the pairs that are shown."""

    def mean(column: int, others: list[int]) -> float:
        two = [
            distances(
                made[:, [column, j]], real[:, [column, j]], [table.cardinalities[i] for i in (column, j)]
            )[1]
            for j in others
        ]
        return float(np.mean(two))

    columns = range(len(table.names))
    every = distances(made, real, table.cardinalities)[1]
    if "AGEP" in table.names:
        return {"AGEP x MSP": mean(0, [2]), "AGEP x others": mean(0, list(columns)[1:]), "all pairs": every}
    many = [j for j in columns if table.cardinalities[j] > MANY and not table.ordered[j]]
    few = [j for j in columns if table.cardinalities[j] <= MANY]
    return {f"{table.names[j]} x others": mean(j, few) for j in many} | {"all pairs": every}


def measured(table: CodedTable, epsilon: float, repeats: range) -> dict[str, str]:
    """Mean and deviation of the mean of every figure, and the mean time of a fit."""
    found = []
    for repeat in repeats:
        train, test = (table.codes,) * 2 if len(table.codes) == table.num_train else table.split(repeat)
        made, seconds = ours(table, train, epsilon)
        found.append(pair_distances(table, made, test) | {"fit s": seconds})
    frame = pd.DataFrame(found)
    error = frame.std(ddof=1).fillna(0) / np.sqrt(len(repeats))
    return {name: f"{frame[name].mean():.3f} ± {error[name]:.3f}" for name in frame}


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--tables", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.3, 1.0, 10.0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="number of the first split")
    parser.add_argument("--cases", nargs="+", help="those that are measured; otherwise all")
    given = parser.parse_args()
    repeats = range(given.first, given.first + given.repeats)
    for name in given.tables:
        lines = []
        for epsilon in given.epsilons:
            for case, (make, how) in CASES[name].items():
                if case not in (given.cases or CASES[name]):
                    continue
                with how():
                    lines.append({"epsilon": epsilon, "": case} | measured(make(), epsilon, repeats))
        print(f"\n{name}\n")
        for row in (list(lines[0]), ["---"] * len(lines[0]), *(line.values() for line in lines)):
            print(f"| {' | '.join(map(str, row))} |", flush=True)


if __name__ == "__main__":
    main()
