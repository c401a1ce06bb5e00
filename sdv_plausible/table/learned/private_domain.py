"""The budget of learning columns' domains from the rows (docs/explanation/proofs/private_domain.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sdv_plausible.privacy.accounting.composition import calibrate_gaussian
from sdv_plausible.privacy.accounting.losses import ApproxDP, InfiniteLoss, Loss, gaussian_noise, squares
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.parameter_checks import Refused, listed
from sdv_plausible.queries.budget_tracker import QueryBudget
from sdv_plausible.queries.partition_selection import LEAST_HOLDERS, threshold
from sdv_plausible.table.learned.declared_ranges import DeclaredRange
from sdv_plausible.table.learned.partial_declarations import PartialDeclaration
from sdv_plausible.table.learned.value_grid import SURE

DOMAIN_SHARE = 0.35  # of mu**2, if every column is to be learned: what the domain takes from the model
FAILURE_SHARE = 0.1  # of delta: all thresholds together
WEIGHTS = {"categorical": 1.0, "ordinal": 1.0, "numerical": 1.0, "datetime": 1.0, "boolean": 0.25}
BOUNDED_WEIGHT = 1.5  # of one whose bounds are declared: it takes power to find single values of a wide range
SIZE_WEIGHT = 0.25
MOST_BINS = 5_000  # of a learned column: noise on more takes minutes, and verification computes no more anew
MANY = 4  # categories from which on they are looked at twice
FIRST = 0.15  # of their budget for the first look; the second is shared by what the first one left unlearned
SEEN = 0.1  # share of the rows: what so many share must be seen for a column not to be lost
NO_NOISE = "the value sets were learned without noise (epsilon is infinite); give a finite epsilon"
Names = Mapping[str, str]


class BudgetShares(NamedTuple):
    """Shares of a column's budget."""

    precision: float
    values: float
    pattern: float
    levels: tuple[float, ...]


# Shares of a number's or date's budget: levels of ever finer cells, as many as the rows are worth.
# From so many rows per standard deviation on, at a column's whole budget: precision, values, pattern, levels.
LOOKS = (
    (0.0, BudgetShares(0.12, 0.12, 0.04, (0.43, 0.29))),
    (60.0, BudgetShares(0.1, 0.14, 0.04, (0.31, 0.22, 0.19))),
    (500.0, BudgetShares(0.08, 0.19, 0.03, (0.28, 0.14, 0.14, 0.14))),
)


def check_bins(max_bins: int, columns: Names, unknown: Sequence[str] = ()) -> None:
    """Refuse more bins than a learned column may have; ``unknown`` columns may turn out to be numbers."""
    learned = [name for name, sdtype in columns.items() if sdtype in ("numerical", "datetime")]
    names = [*dict.fromkeys([*learned, *unknown])]
    if names and max_bins > MOST_BINS:
        rule = f"must be at most {MOST_BINS:,} where numbers or dates are learned ({listed(names)})"
        raise Refused("max_bins", max_bins, rule, "try 100, or declare these columns (domain=...)")


class LearningBudget(NamedTuple):
    """What domain and model have together."""

    mu: float  # Gaussian parameter; infinity for no noise
    failure: float  # probability that thresholds may fail with, all together

    @classmethod
    def of(cls, epsilon: float, delta: float) -> LearningBudget:
        """Within (epsilon, delta); an infinite epsilon has the same looks without noise."""
        if not math.isfinite(epsilon):
            return cls(math.inf, 0.0)
        return cls(calibrate_gaussian(epsilon, delta * (1 - FAILURE_SHARE)), FAILURE_SHARE * delta)

    @classmethod
    def within(cls, envelope: Sequence[Loss]) -> LearningBudget:
        """Of what stands for both: Gaussian noise and failures, the thresholds' first, or one pair."""
        noise = squares(envelope)
        pairs = [loss for loss in envelope if isinstance(loss, ApproxDP)]
        if not noise:
            return cls.of(pairs[0].epsilon, pairs[0].delta)
        return cls(math.sqrt(noise), pairs[0].delta)

    @property
    def most(self) -> tuple[Loss, ...]:
        """What learning domains costs of it at most, whatever the columns."""
        mu = self.mu * math.sqrt(DOMAIN_SHARE * max(BOUNDED_WEIGHT, *WEIGHTS.values()))
        return *gaussian_noise(mu), ApproxDP(epsilon=0.0, delta=self.failure)


@dataclass(frozen=True, kw_only=True)
class DomainPlan:
    """Budget of learning the domains of some columns, decided from their semantic types alone."""

    columns: Names  # SDV's semantic type of each column to be learned
    # Gaussian privacy parameter of all looks together; infinity looks without noise, and without a claim
    mu: float
    # Probability that noise alone lifts a value of one unit over its threshold; of each thresholded table
    failure: float
    never_missing: frozenset[str] = frozenset()  # columns for which the user ruled out missing values
    neighbours: Neighbours = ONE_ROW  # whom the total protects
    bounds: Mapping[str, DeclaredRange] = field(
        default_factory=dict
    )  # those of the columns whose range is declared
    stated: Mapping[str, PartialDeclaration] = field(default_factory=dict)  # and what is declared of others

    @classmethod
    def make(
        cls, columns: Names, whole: LearningBudget, *, declared: int = 0,
        never_missing: frozenset[str] = frozenset(), neighbours: Neighbours = ONE_ROW,
        bounds: Mapping[str, DeclaredRange] | None = None, stated: Mapping[str, PartialDeclaration] | None = None,
    ) -> DomainPlan:  # fmt: skip
        """Plan within a share of what domain and model have together."""
        # The budget is that of domain and model together; the fewer columns are learned beside ``declared``
        # other ones, the smaller the domain's share.
        bounds = dict(bounds or {})
        if not columns:
            return cls(columns={}, mu=0.0, failure=0.0)
        weights = sum(_weight(name, sdtype, bounds) for name, sdtype in columns.items())
        share = DOMAIN_SHARE * weights / (len(columns) + declared)
        mu, failure = whole.mu * math.sqrt(share), whole.failure / max(1, _thresholded(columns, bounds))
        return cls(
            columns=dict(columns), mu=mu, failure=failure, never_missing=never_missing,
            neighbours=neighbours, bounds=bounds, stated=dict(stated or {}),
        )  # fmt: skip

    @property
    def is_private(self) -> bool:
        """Whether there is noise at all."""
        return math.isfinite(self.mu)

    @property
    def digits(self) -> list[str]:
        """Numbers whose digits after the point are learned."""
        numbers = [name for name, sdtype in self.columns.items() if sdtype == "numerical"]
        known: dict[str, PartialDeclaration | DeclaredRange] = {**self.stated, **self.bounds}
        return [n for n in numbers if n not in known or known[n].lattice is None]

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What all looks cost."""
        if not self.columns:
            return ()
        if not self.is_private:
            return (InfiniteLoss(),)
        tables = _thresholded(self.columns, self.bounds)
        thresholds = (ApproxDP(epsilon=0.0, delta=self.failure, count=tables),) if tables else ()
        return (*gaussian_noise(self.mu), *thresholds)

    def entries(self) -> list[LedgerEntry]:
        """One ledger entry, or none."""
        if not self.columns:
            return []
        bounded = [name for name in self.columns if name in self.bounds]
        whole = [name for name in self.columns if name not in self.bounds]
        columns = "; ".join(
            f"{what}: {listed(names)}"
            for what, names in (("learned", whole), ("learned within declared bounds", bounded))
            if names
        )
        rows = (
            f"; a category held by fewer than about {self.least_count:,} rows is not learned"
            if self.least_count
            else ""
        )
        how = "exact counts"
        if self.is_private:
            how = "noisy and thresholded counts"
        return [
            LedgerEntry(
                name="domain",
                mechanism=f"{columns}; {how}{rows}",
                losses=self.losses,
                scope="the domain",
                parts=("domain",),
                note="" if self.is_private else NO_NOISE,
            )
        ]

    def warnings(self, table_rows: int | None) -> list[str]:
        """What to expect of a table of about so many rows."""
        if table_rows is None or self.least_count <= 0.01 * table_rows:
            return []
        return [
            f"at about {table_rows:,} rows categories that nobody declared and fewer than about "
            f"{self.least_count:,} rows hold are not learned, and ranges are coarse: declare the domain, or "
            "raise epsilon or delta"
        ]

    @property
    def categories(self) -> list[str]:
        """Columns of which the values that many rows hold are learned."""
        return _categories(self.columns)

    @property
    def looks_twice(self) -> bool:
        """Whether what a first look at all categories leaves unlearned shares most of their budget."""
        return self.is_private and bool(_seen_twice(self.columns))

    @property
    def least_count(self) -> int:
        """Rows that a category needs to be found about every other time; 0 without categories."""
        if not self.categories:
            return 0
        if not self.is_private:
            return self.neighbours.rows_of(LEAST_HOLDERS)
        share = self.share(self.categories[0]) * (1 - FIRST if self.looks_twice else 1)
        sigma = QueryBudget(mu=self.mu).for_counts(self.neighbours).sigma(share)
        return threshold(sigma, self.failure, self.neighbours)

    @property
    def open(self) -> list[str]:
        """Columns that few rows may lose: whose range is not declared, and no truth values."""
        return [n for n, sdtype in self.columns.items() if sdtype != "boolean" and n not in self.bounds]

    @property
    def rows_needed(self) -> dict[str, int]:
        """Rows at which what ``SEEN`` of them share stands out of the noise, by column that is open.

        Below, most of what it holds is not learned.
        """
        if not self.is_private:
            return {}
        cells = {n: self.least_count if n in self.categories else self._cell(n) for n in self.open}
        return {name: math.ceil(cell / SEEN) for name, cell in cells.items()}

    def _cell(self, name: str) -> float:
        """Rows of a cell of numbers or dates that stands out on every level."""
        share = self.share(name) * min(LOOKS[0][1].levels)
        return SURE * QueryBudget(mu=self.mu).for_counts(self.neighbours).sigma(share)

    def share(self, name: str | None = None) -> float:
        """Share of mu**2 for a column, or (None) for the number of rows."""
        weights = {n: _weight(n, sdtype, self.bounds) for n, sdtype in self.columns.items()}
        return (SIZE_WEIGHT if name is None else weights[name]) / (SIZE_WEIGHT + sum(weights.values()))


def _weight(name: str, sdtype: str, bounds: Mapping[str, DeclaredRange]) -> float:
    return BOUNDED_WEIGHT if name in bounds else WEIGHTS[sdtype]


def _thresholded(columns: Names, bounds: Mapping[str, DeclaredRange]) -> int:
    """Number of times that values that occur may be asked for."""
    return len(_seen_twice(columns)) + sum(
        sdtype != "boolean" and (name not in bounds or bounds[name].may_be_long)
        for name, sdtype in columns.items()
    )


def _seen_twice(columns: Names) -> list[str]:
    """Columns that a private plan looks at a second time."""
    found = _categories(columns)
    return found if len(found) >= MANY else []


def _categories(columns: Names) -> list[str]:
    return [name for name, sdtype in columns.items() if sdtype in ("categorical", "ordinal")]
