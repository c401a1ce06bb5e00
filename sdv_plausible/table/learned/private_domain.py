"""Budget for learning domains from the rows (docs/explanation/proofs/private_domain.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from sdv_plausible.privacy.accounting.composition import calibrate_gaussian
from sdv_plausible.privacy.accounting.losses import ApproxDP, InfiniteLoss, Loss, gaussian_noise, squares
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.parameter_checks import Refused, listed
from sdv_plausible.queries.budget_tracker import QueryBudget
from sdv_plausible.queries.partition_selection import LEAST_HOLDERS, threshold

if TYPE_CHECKING:
    from sdv_plausible.table.learned.declared_ranges import DeclaredRange, PartialDeclaration

DOMAIN_SHARE = 0.35  # share of mu**2 for the domain if every column is learned; the model gets the rest
FAILURE_SHARE = 0.1  # share of delta for all thresholds
WEIGHTS = {"categorical": 1.0, "ordinal": 1.0, "numerical": 1.0, "datetime": 1.0, "boolean": 0.25}
BOUNDED_WEIGHT = 1.5  # weight of a declared range: finding single values of a wide range is costly
SIZE_WEIGHT = 0.25
MOST_BINS = 5_000  # largest max_bins for learned columns, for run time and verification
MANY = 4  # number of categorical columns from which they are learned in two rounds
FIRST = 0.15  # share of the first round; the second is allocated by the rows that the first did not find
SEEN = 0.1  # a value or cell with this share of the rows must be found for a column to be usable
NO_NOISE = "the value sets were learned without noise (epsilon is infinite): give a finite epsilon"
Sdtypes = Mapping[str, str]


class BudgetShares(NamedTuple):
    """Shares of a column's budget."""

    precision: float
    values: float
    pattern: float
    levels: tuple[float, ...]


# Budget shares of numbers and dates, by the least ratio of rows to the noise that the column's budget allows.
# More rows allow more levels of finer cells.
BUDGET_SHARES = (
    (0.0, BudgetShares(0.12, 0.12, 0.04, (0.43, 0.29))),
    (60.0, BudgetShares(0.1, 0.14, 0.04, (0.31, 0.22, 0.19))),
    (500.0, BudgetShares(0.08, 0.19, 0.03, (0.28, 0.14, 0.14, 0.14))),
)


def check_bins(max_bins: int, columns: Sdtypes, unknown: Sequence[str] = ()) -> None:
    """Reject a ``max_bins`` too large for learned columns; ``unknown`` columns may be numbers."""
    learned = [name for name, sdtype in columns.items() if sdtype in ("numerical", "datetime")]
    names = [*dict.fromkeys([*learned, *unknown])]
    if names and max_bins > MOST_BINS:
        rule = f"must be at most {MOST_BINS:,} where numbers or dates are learned ({listed(names)})"
        raise Refused("max_bins", max_bins, rule, "try 100, or declare these columns (domain=...)")


class LearningBudget(NamedTuple):
    """Privacy budget of domain and model together."""

    mu: float  # Gaussian DP parameter; infinity for no noise
    failure: float  # failure probability of all thresholds together

    @classmethod
    def of(cls, epsilon: float, delta: float) -> LearningBudget:
        """Largest budget within (epsilon, delta); an infinite epsilon means no noise."""
        if not math.isfinite(epsilon):
            return cls(math.inf, 0.0)
        return cls(calibrate_gaussian(epsilon, delta * (1 - FAILURE_SHARE)), FAILURE_SHARE * delta)

    @classmethod
    def within(cls, envelope: Sequence[Loss]) -> LearningBudget:
        """Budget of a worst-case charge: Gaussian noise and failures, or one (epsilon, delta) pair."""
        noise = squares(envelope)
        pairs = [loss for loss in envelope if isinstance(loss, ApproxDP)]
        if not noise:
            return cls.of(pairs[0].epsilon, pairs[0].delta)
        return cls(math.sqrt(noise), pairs[0].delta)

    @property
    def most(self) -> tuple[Loss, ...]:
        """Largest cost of learning the domains of any columns."""
        mu = self.mu * math.sqrt(DOMAIN_SHARE * max(BOUNDED_WEIGHT, *WEIGHTS.values()))
        return *gaussian_noise(mu), ApproxDP(epsilon=0.0, delta=self.failure)


@dataclass(frozen=True, kw_only=True)
class DomainPlan:
    """Budget for learning the domains of some columns, from their semantic types alone."""

    columns: Sdtypes  # SDV's semantic type of each column to be learned
    # Gaussian DP parameter of all queries together; infinity means no noise and no guarantee.
    mu: float
    # Per thresholded query: probability that noise lifts a value of one unit over the threshold.
    failure: float
    never_missing: frozenset[str] = frozenset()  # columns declared without missing values
    neighbours: Neighbours = ONE_ROW  # the protected unit
    bounds: Mapping[str, DeclaredRange] = field(default_factory=dict)  # declared ranges
    stated: Mapping[str, PartialDeclaration] = field(default_factory=dict)  # of other columns

    @classmethod
    def make(
        cls, columns: Sdtypes, budget: LearningBudget, *, declared: int = 0,
        never_missing: frozenset[str] = frozenset(), neighbours: Neighbours = ONE_ROW,
        bounds: Mapping[str, DeclaredRange] | None = None,
        stated: Mapping[str, PartialDeclaration] | None = None,
    ) -> DomainPlan:  # fmt: skip
        """Plan within the domain's share of the budget of domain and model."""
        # The share grows with the learned columns among all columns; ``declared`` counts the others.
        bounds = dict(bounds or {})
        if not columns:
            return cls(columns={}, mu=0.0, failure=0.0)
        weights = sum(_weight(name, sdtype, bounds) for name, sdtype in columns.items())
        share = DOMAIN_SHARE * weights / (len(columns) + declared)
        return cls(
            columns=dict(columns),
            mu=budget.mu * math.sqrt(share),
            failure=budget.failure / max(1, _count_thresholded(columns, bounds)),
            never_missing=never_missing,
            neighbours=neighbours,
            bounds=bounds,
            stated=dict(stated or {}),
        )

    @property
    def is_private(self) -> bool:
        """Whether the counts are noisy."""
        return math.isfinite(self.mu)

    @property
    def digits(self) -> list[str]:
        """Numerical columns whose decimal places are learned."""
        numbers = [name for name, sdtype in self.columns.items() if sdtype == "numerical"]
        declared: dict[str, PartialDeclaration | DeclaredRange] = {**self.stated, **self.bounds}
        return [name for name in numbers if name not in declared or declared[name].grid is None]

    @property
    def losses(self) -> tuple[Loss, ...]:
        """Privacy loss of all queries."""
        if not self.columns:
            return ()
        if not self.is_private:
            return (InfiniteLoss(),)
        tables = _count_thresholded(self.columns, self.bounds)
        thresholds = (ApproxDP(epsilon=0.0, delta=self.failure, count=tables),) if tables else ()
        return (*gaussian_noise(self.mu), *thresholds)

    def entries(self) -> list[LedgerEntry]:
        """The ledger entry, if any column is learned."""
        if not self.columns:
            return []
        bounded = [name for name in self.columns if name in self.bounds]
        unbounded = [name for name in self.columns if name not in self.bounds]
        description = "; ".join(
            f"{heading}: {listed(names)}"
            for heading, names in (("learned", unbounded), ("learned within declared bounds", bounded))
            if names
        )
        threshold_note = (
            f"; categories in fewer than about {self.least_count:,} rows are not learned"
            if self.least_count
            else ""
        )
        counts = "noisy and thresholded counts" if self.is_private else "exact counts"
        return [
            LedgerEntry(
                name="domain",
                mechanism=f"{description}; {counts}{threshold_note}",
                losses=self.losses,
                scope="the domain",
                parts=("domain",),
                note="" if self.is_private else NO_NOISE,
            )
        ]

    def warnings(self, table_rows: int | None) -> list[str]:
        """Warnings for a table of about ``table_rows`` rows."""
        if table_rows is None or self.least_count <= 0.01 * table_rows:
            return []
        return [
            f"at about {table_rows:,} rows, undeclared categories in fewer than about {self.least_count:,} "
            "rows are not learned, and learned ranges are coarse. Declare the domain, or raise epsilon or "
            "delta"
        ]

    @property
    def categories(self) -> list[str]:
        """Categorical columns, whose frequent values are learned."""
        return _categories(self.columns)

    @property
    def has_two_rounds(self) -> bool:
        """Whether categories are learned in two rounds, the second allocated by the first."""
        return self.is_private and bool(_two_round_columns(self.columns))

    @property
    def least_count(self) -> int:
        """Rows that a category needs to be found with probability of about 1/2; 0 without categories."""
        if not self.categories:
            return 0
        if not self.is_private:
            return self.neighbours.rows_of(LEAST_HOLDERS)
        share = self.share(self.categories[0]) * (1 - FIRST if self.has_two_rounds else 1)
        sigma = QueryBudget(mu=self.mu).for_counts(self.neighbours).sigma(share)
        return threshold(sigma, self.failure, self.neighbours)

    @property
    def open(self) -> list[str]:
        """Columns that need many rows: neither booleans nor declared ranges."""
        return [
            name for name, sdtype in self.columns.items() if sdtype != "boolean" and name not in self.bounds
        ]

    @property
    def rows_needed(self) -> dict[str, int]:
        """Rows per open column from which a cell with a share ``SEEN`` of them exceeds the noise.

        With fewer rows, most of the column's values are not learned.
        """
        if not self.is_private:
            return {}
        cells = {
            name: self.least_count if name in self.categories else self._significant_cell(name)
            for name in self.open
        }
        return {name: math.ceil(cell / SEEN) for name, cell in cells.items()}

    def _significant_cell(self, name: str) -> float:
        """Rows that a cell of numbers or dates needs to be significant on every level."""
        from sdv_plausible.table.learned.value_grid import SURE

        share = self.share(name) * min(BUDGET_SHARES[0][1].levels)
        return SURE * QueryBudget(mu=self.mu).for_counts(self.neighbours).sigma(share)

    def share(self, name: str | None = None) -> float:
        """Share of mu**2 for a column, or for the number of rows (None)."""
        weights = {column: _weight(column, sdtype, self.bounds) for column, sdtype in self.columns.items()}
        return (SIZE_WEIGHT if name is None else weights[name]) / (SIZE_WEIGHT + sum(weights.values()))


def _weight(name: str, sdtype: str, bounds: Mapping[str, DeclaredRange]) -> float:
    return BOUNDED_WEIGHT if name in bounds else WEIGHTS[sdtype]


def _count_thresholded(columns: Sdtypes, bounds: Mapping[str, DeclaredRange]) -> int:
    """Largest number of partition selection queries."""
    return len(_two_round_columns(columns)) + sum(
        sdtype != "boolean" and (name not in bounds or bounds[name].may_be_long)
        for name, sdtype in columns.items()
    )


def _two_round_columns(columns: Sdtypes) -> list[str]:
    """Columns that a private plan learns in two rounds."""
    categories = _categories(columns)
    return categories if len(categories) >= MANY else []


def _categories(columns: Sdtypes) -> list[str]:
    return [name for name, sdtype in columns.items() if sdtype in ("categorical", "ordinal")]
