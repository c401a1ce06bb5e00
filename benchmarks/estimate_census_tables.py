"""Estimate the conditional tables of ``sdv_plausible.datasets.census_like`` from the public survey extract.

    python benchmarks/estimate_census_tables.py           write sdv_plausible/datasets/census_tables.json, then check it
    python benchmarks/estimate_census_tables.py --check   only compare the simulator with the extract

The extract (100,000 person records, American Community Survey 2013 PUMS, public domain) is looked for in
``acs2013_paper/`` of the folder named by the environment variable SDV_PLAUSIBLE_DATA (default: ``../shared/data``).

No table holds individual records: a configuration of parents gets a row of its own only if ``minimum`` records have
it, cells with fewer than ``SMALLEST_CELL`` records are not told apart by them, and weights are rounded. The points of
the income class are coefficients of a penalised logistic regression, each of a group of ``POINTS_MINIMUM`` records or
more, rounded to hundredths.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import expit

from sdv_plausible.datasets.census import COLUMNS, TABLES_FILE, census_like_codes

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "sdv_plausible" / "datasets" / TABLES_FILE
POSITION = {column.name: i for i, column in enumerate(COLUMNS)}
CARDINALITY = [len(column.values) for column in COLUMNS]

SMALLEST_CELL = 5  # records
SHRINKAGE = 5.0  # records' worth of the row of one parent less, from the second parent on
SCALE = 10_000  # sum of a row's weights
IMPOSSIBLE = {"hours_per_week": [0]}  # the survey leaves them blank
ABOUT = (
    "Conditional tables estimated from 100,000 person records of the American Community Survey 2013 PUMS (US Census "
    "Bureau, public domain), smoothed and rounded. Level j lists configurations of the groups of the first j parents, "
    "the last varying fastest; a row's weights add up to scale, the last weight is left out. "
    "The income class has points of a logistic regression, unit times which is log odds."
)


def starting_at(column: str, *values: object) -> list[int]:
    """Cut a column's codes into groups that begin at the given values."""
    domain = list(COLUMNS[POSITION[column]].values)
    starts = {domain.index(value) for value in values}
    return np.cumsum([code in starts for code in range(len(domain))]).tolist()


def each(column: str) -> list[int]:
    """Keep every code of a column apart."""
    return list(range(CARDINALITY[POSITION[column]]))


@dataclass(frozen=True, kw_only=True)
class Node:
    """A column of the network, the groups of its parents' codes (most important parent first) and its precision.

    ``minimum`` is how many records a configuration needs for a row of its own.
    """

    column: str
    parents: dict[str, list[int]]
    minimum: int
    scale: int = SCALE


AGES = starting_at("age", 19, 22, 25, 30, 40, 50, 60, 70)
FAMILY_AGES = starting_at("age", 19, 21, 23, 25, 28, 32, 37, 45, 55, 62, 70)
LEAVING_HOME = starting_at(
    "age", 18, 19, 20, 21, 22, 23, 24, 25, 27, 29, 32, 36, 40, 45, 50, 55, 60, 65, 70, 75, 80
)  # fmt: skip
SCHOOLING = starting_at(
    "education", "Grade 6", "Grade 12 (no diploma)", "GED or alternative credential", "Some college (1 year or more)",
    "Bachelor's degree", "Master's degree", "Professional degree", "Doctorate",
)  # fmt: skip
DEGREES = starting_at(
    "education",
    "Grade 12 (no diploma)",
    "GED or alternative credential",
    "Bachelor's degree",
    "Master's degree",
)
# reference person, spouse, child, other relative, roomer or other nonrelative, unmarried partner, two group quarters
HOUSEHOLD = [0, 1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 4, 4, 5, 4, 4, 6, 7]
MARRIAGE = [0, 1, 1, 1, 2]  # married, was married, never married
EMPLOYER = [0, 0, 1, 1, 1, 2, 2, 2]  # private, government, own or family business
BIRTH_REGION = [0, 1, 2, 3, 4, 5, 4, 4]  # Europe with Northern America and Oceania
BIRTH = [0, 1, 1, 2, 3, 3, 3, 3]  # US state, Latin America, Asia, elsewhere

NETWORK = (
    Node(column="age", parents={}, minimum=0, scale=100_000),
    Node(column="sex", parents={"age": AGES}, minimum=100),
    Node(column="relationship", parents={"age": LEAVING_HOME, "sex": each("sex")}, minimum=100),
    Node(
        column="marital_status",
        parents={"relationship": HOUSEHOLD, "age": FAMILY_AGES, "sex": each("sex")},
        minimum=50,
    ),
    Node(
        column="birth_area",
        parents={"relationship": HOUSEHOLD, "age": AGES, "marital_status": MARRIAGE},
        minimum=200,
    ),
    Node(
        column="race",
        parents={
            "birth_area": each("birth_area"),
            "relationship": HOUSEHOLD,
            "marital_status": MARRIAGE,
            "sex": each("sex"),
        },
        minimum=100,
    ),
    Node(
        column="education",
        parents={
            "age": FAMILY_AGES,
            "birth_area": BIRTH_REGION,
            "race": each("race"),
            "relationship": HOUSEHOLD,
            "sex": each("sex"),
        },
        minimum=300,
    ),
    Node(
        column="occupation",
        parents={
            "education": SCHOOLING,
            "sex": each("sex"),
            "age": AGES,
            "race": each("race"),
            "birth_area": BIRTH,
        },
        minimum=250,
    ),
    Node(
        column="workclass",
        parents={
            "occupation": each("occupation"),
            "age": starting_at("age", 25, 40, 60),
            "education": DEGREES,
            "race": each("race"),
        },
        minimum=200,
    ),
    Node(
        column="hours_per_week",
        parents={
            "age": starting_at("age", 19, 22, 25, 60, 65, 70),
            "occupation": each("occupation"),
            "sex": each("sex"),
            "workclass": EMPLOYER,
        },
        minimum=300,
    ),
)

# The income class: points of groups of every other column, and of the coarser groups of pairs of them.
POINTS_MINIMUM = 200  # records that a configuration needs for points of its own; others have 0
PENALTY = 1e-4  # of the logistic regression, per record
STRETCH = 1.06  # of the points: stands for dependence among the other columns that their tables do not hold
UNIT = 0.01  # log odds of one point
START_SHIFT = 4  # points that keep the share of high incomes where it was
NEWTON_STEPS = 9
WHOLE = {
    name: each(name) for name in ("workclass", "education", "marital_status", "occupation", "race", "sex")
}
POINT_GROUPS = {
    "age": (
        starting_at("age", 19, 21, 23, 25, 27, 29, 31, 33, 36, 39, 43, 48, 55, 60, 65, 70),
        starting_at("age", 23, 27, 31, 36, 45, 55, 65),
    ),
    **{name: (groups, groups) for name, groups in WHOLE.items()},
    "education": (each("education"), SCHOOLING),
    "relationship": (HOUSEHOLD, HOUSEHOLD),
    "hours_per_week": (
        starting_at("hours_per_week", 10, 20, 30, 35, 36, 40, 41, 45, 46, 50, 51, 60, 61),
        starting_at("hours_per_week", 20, 35, 40, 41, 50),
    ),
    "birth_area": (each("birth_area"), each("birth_area")),
}
POINT_PAIRS = {
    "age": (
        "education",
        "occupation",
        "hours_per_week",
        "relationship",
        "workclass",
        "sex",
        "marital_status",
    ),
    "education": ("occupation", "race", "birth_area", "relationship"),
    "sex": ("marital_status", "occupation", "relationship", "education", "hours_per_week"),
    "hours_per_week": ("occupation", "education", "workclass", "relationship"),
    "workclass": ("occupation", "education"),
    "occupation": ("birth_area", "race", "relationship"),
}


def read_extract() -> np.ndarray:
    """Read the extract as codes of the census schema, shape (100000, 11)."""
    folder = Path(os.environ.get("SDV_PLAUSIBLE_DATA", ROOT.parent / "shared" / "data")) / "acs2013_paper"
    described = json.loads((folder / "columns.json").read_text(encoding="utf-8"))["columns"]
    name_of = {c["pums"]: c["name"] for c in described}
    table = pd.read_csv(folder / "acs2013_100k.csv.gz")
    codes = table[[name_of[column.survey_variable] for column in COLUMNS]].to_numpy() - 1
    codes[:, POSITION["hours_per_week"]] += 1  # the extract's code is the number of hours itself
    return codes


def margin_row(counts: np.ndarray, impossible: list[int]) -> np.ndarray:
    """Estimate a distribution without parents: the cells below SMALLEST_CELL share their records equally."""
    small = counts < SMALLEST_CELL
    small[impossible] = False
    row = np.where(counts >= SMALLEST_CELL, counts, 0.0)
    pooled = counts[small].sum()
    if pooled >= SMALLEST_CELL:
        row[small] = pooled / small.sum()
    return row / row.sum()


def smoothed_row(counts: np.ndarray, lower: np.ndarray, shrinkage: float) -> np.ndarray:
    """Estimate a distribution given parents, smoothed by ``lower``, the one given one parent less.

    The cells below SMALLEST_CELL share their records as ``lower`` has it; where together they have fewer than that,
    any number but 0 counts as half of it, or as what ``lower`` expects if that is less. What is impossible in ``lower``
    stays impossible.
    """
    small = counts < SMALLEST_CELL
    row = np.where(small, 0.0, counts)
    pooled, expected = float(counts[small].sum()), lower[small].sum()
    if 0 < pooled < SMALLEST_CELL:
        pooled = min(SMALLEST_CELL / 2, expected * counts.sum())
    if pooled and expected:
        row[small] = pooled * lower[small] / expected
    return (row + shrinkage * lower) / (row.sum() + shrinkage)


def rounded(row: np.ndarray, scale: int) -> list[int]:
    """Round probabilities to weights that add up to ``scale`` (largest remainders)."""
    weights = np.floor(row * scale).astype(int)
    order = np.argsort(weights - row * scale, kind="stable")
    weights[order[: scale - weights.sum()]] += 1
    return weights.tolist()


def estimate(node: Node, codes: np.ndarray) -> dict[str, object]:
    """Estimate one conditional table, level by level; rows that no configuration uses are left out."""
    child, cardinality = codes[:, POSITION[node.column]], CARDINALITY[POSITION[node.column]]
    rows = [margin_row(np.bincount(child, minlength=cardinality), IMPOSSIBLE.get(node.column, []))]
    homes = [(0, 0)]  # level and configuration of each row
    row_of, configuration = np.zeros(1, int), np.zeros(len(codes), int)
    for level, (parent, groups) in enumerate(node.parents.items(), start=1):
        sizes = max(groups) + 1
        configuration = configuration * sizes + np.array(groups)[codes[:, POSITION[parent]]]
        row_of = np.repeat(row_of, sizes)
        counts = np.bincount(configuration * cardinality + child, minlength=len(row_of) * cardinality)
        counts = counts.reshape(len(row_of), cardinality)
        for c in np.flatnonzero(counts.sum(axis=1) >= node.minimum):
            # Rows of the first parent stay unshrunk: an unmarried spouse is to remain impossible.
            rows.append(smoothed_row(counts[c], rows[row_of[c]], SHRINKAGE if level > 1 else 0.0))
            homes.append((level, int(c)))
            row_of[c] = len(rows) - 1
    levels: list[dict[str, list]] = [{"configurations": [], "rows": []} for _ in range(len(node.parents) + 1)]
    for r in np.unique(row_of):
        level, c = homes[r]
        levels[level]["configurations"].append(c)
        levels[level]["rows"].append(rounded(rows[r], node.scale)[:-1])
    return {"scale": node.scale, "parents": node.parents, "levels": levels}


def point_terms() -> list[list[tuple[str, int]]]:
    """Columns of every term, each with which of its groups the term takes."""
    pairs = [[(a, 1), (b, 1)] for a, others in POINT_PAIRS.items() for b in others]
    return [[(name, 0)] for name in POINT_GROUPS] + pairs


def configurations(term: list[tuple[str, int]], codes: np.ndarray) -> tuple[np.ndarray, int]:
    """Number every record's configuration of a term's groups; also how many there are."""
    found, sizes = np.zeros(len(codes), int), 1
    for name, which in term:
        groups = np.array(POINT_GROUPS[name][which])
        found, sizes = (
            found * (groups.max() + 1) + groups[codes[:, POSITION[name]]],
            sizes * (groups.max() + 1),
        )
    return found, int(sizes)


def regression(features: sparse.csr_matrix, outcome: np.ndarray, penalty: float) -> np.ndarray:
    """Fit a logistic regression by Newton's method, to a point where rounding no longer depends on the machine."""
    found, strength = np.zeros(features.shape[1]), penalty * len(outcome)
    for _ in range(NEWTON_STEPS):
        p = expit(features @ found)
        gradient = features.T @ (p - outcome) + strength * found
        weighted = features.multiply((p * (1 - p))[:, None]).tocsr()
        curvature = (features.T @ weighted).toarray() + strength * np.eye(len(found))
        found -= np.linalg.solve(curvature, gradient)
    return found


def estimate_points(codes: np.ndarray) -> dict[str, object]:
    """Estimate the points of the income class; every number of them is of POINTS_MINIMUM records or more."""
    blocks, kept, sizes = [sparse.csr_matrix(np.ones((len(codes), 1)))], [], []
    for term in point_terms():
        configuration, size = configurations(term, codes)
        enough = np.flatnonzero(np.bincount(configuration, minlength=size) >= POINTS_MINIMUM)
        row, column = np.nonzero(configuration[:, None] == enough)
        blocks.append(sparse.csr_matrix((np.ones(len(row)), (row, column)), shape=(len(codes), len(enough))))
        kept.append(enough)
        sizes.append(size)
    fitted = regression(sparse.hstack(blocks, format="csr"), codes[:, POSITION["income_class"]], PENALTY)
    points = np.rint(STRETCH / UNIT * fitted).astype(int)
    start, rest = int(points[0]), points[1:]
    terms = []
    for term, enough, size in zip(point_terms(), kept, sizes, strict=True):
        own, rest = rest[: len(enough)], rest[len(enough) :]
        every = np.zeros(size, int)
        every[enough] = own
        terms.append({"parents": term, "points": every.tolist()})
    return {
        "scale": SCALE,
        "unit": UNIT,
        "start": start + START_SHIFT,
        "groups": POINT_GROUPS,
        "terms": terms,
    }


def document(codes: np.ndarray) -> str:
    """Write all tables as JSON text, one line per level."""
    lines = [f'{{"about": {json.dumps(ABOUT)},\n"tables": {{']
    for node in NETWORK:
        table = estimate(node, codes)
        levels = ",\n".join(json.dumps(level, separators=(",", ":")) for level in table["levels"])
        head = json.dumps({"scale": table["scale"], "parents": table["parents"]}, separators=(",", ":"))
        lines.append(f'"{node.column}": {head[:-1]},"levels":[\n{levels}]}},')
    points = estimate_points(codes)
    terms = ",\n".join(json.dumps(term, separators=(",", ":")) for term in points.pop("terms"))
    lines.append(f'"income_class": {json.dumps(points, separators=(",", ":"))[:-1]},"terms":[\n{terms}]}}')
    return "\n".join([*lines, "}}"]) + "\n"


def distances(a: np.ndarray, b: np.ndarray, ways: int) -> np.ndarray:
    """Return the total variation distance of every ``ways``-way marginal of two code tables."""

    def shares(codes: np.ndarray, columns: tuple[int, ...]) -> np.ndarray:
        sizes = [CARDINALITY[i] for i in columns]
        key = np.ravel_multi_index([codes[:, i].astype(int) for i in columns], sizes)
        return np.bincount(key, minlength=int(np.prod(sizes))) / len(codes)

    pairs = combinations(range(len(COLUMNS)), ways)
    return np.array([abs(shares(a, columns) - shares(b, columns)).sum() / 2 for columns in pairs])


def check(real: np.ndarray) -> None:
    """Print how far 100,000 simulated rows are from the extract, beside what sampling alone explains."""
    from sklearn.ensemble import RandomForestClassifier

    simulated, again = (census_like_codes(len(real), seed)[0] for seed in (0, 1))
    for ways in (1, 2):
        for label, other in (("the extract", real), ("another simulation", again)):
            d = distances(simulated, other, ways)
            print(f"{ways}-way total variation distance to {label}: mean {d.mean():.4f}, max {d.max():.4f}")

    def accuracy(train: np.ndarray, test: np.ndarray) -> float:
        forest = RandomForestClassifier(100, min_samples_leaf=2, random_state=0, n_jobs=1)
        return float(
            forest.fit(train[:35_000, :-1], train[:35_000, -1]).score(test[70_000:, :-1], test[70_000:, -1])
        )

    for a, train in (("extract", real), ("simulated", simulated)):
        for b, test in (("extract", real), ("simulated", simulated)):
            print(
                f"random forest on income, 35,000 {a} rows -> 30,000 {b} rows: accuracy {accuracy(train, test):.3f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="leave the stored tables as they are")
    arguments = parser.parse_args()
    codes = read_extract()
    if not arguments.check:
        OUTPUT.write_text(document(codes), encoding="utf-8")
        print(f"{OUTPUT.relative_to(ROOT)}: {OUTPUT.stat().st_size:,} bytes")
    check(codes)


if __name__ == "__main__":
    main()
