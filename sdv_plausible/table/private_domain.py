"""Learn columns' domains from the rows under a budget (docs/explanation/proofs/private_domain.md).

Every look at the rows is a table of counts in which one row changes one cell by 1, released with discrete Gaussian
noise out of one Gaussian budget; what is done with the noisy counts is post-processing
(:mod:`sdv_plausible.table.lattice`). Two kinds of tables:

- *public cells* (missing or not, number of decimals, powers of two, calendar years, parts of such cells): every cell
  gets noise, whether a row is in it or not;
- *values that occur* (categories, single numbers): at least ``LEAST_ROWS`` rows must hold a value, and its noisy count
  must reach a threshold that the noise alone passes with a probability that is charged to delta.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from sdv_plausible.privacy.accounting.composition import calibrate_gaussian
from sdv_plausible.privacy.accounting.losses import ApproxDP, GaussianLoss, Loss
from sdv_plausible.privacy.ledger import BudgetExceededError, LedgerEntry
from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.table.domain import Attribute, as_nanoseconds, date_style
from sdv_plausible.table.lattice import DATE_UNITS, MOST_DECIMALS, Cells, Lattice, make_bins, split_heavy

DOMAIN_SHARE = 0.35  # of mu**2, if every column is to be learned: what the domain takes from the model
FAILURE_SHARE = 0.1  # of delta: all thresholds together
LEAST_ROWS = 5  # a value held by fewer rows is never released
WEIGHTS = {"categorical": 1.0, "ordinal": 1.0, "numerical": 1.0, "datetime": 1.0, "boolean": 0.25}
SIZE_WEIGHT = 0.25
ROUNDS = 3
# Shares of a number's or date's budget; a table too small for the finer looks spends all on the coarse ones.
FULL = {"precision": 0.08, "values": 0.2, "magnitude": 0.36, "round": 0.12}
COARSE = {"precision": 0.2, "values": 0.0, "magnitude": 0.8, "round": 0.0}
FULL_POWER = 500.0  # rows per standard deviation, at a column's whole budget, from which all looks are worth it
PRESENT = 2.5  # standard deviations above 0 at which missing values count as present
Names = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class DomainPlan:
    """Budget of learning the domains of some columns, decided from their semantic types alone.

    Parameters
    ----------
    columns : mapping of str to str
        SDV's semantic type of each column to be learned.
    mu : float
        Gaussian privacy parameter of all looks together.
    failure : float
        Probability that noise alone lifts a value of ``LEAST_ROWS`` rows over its threshold; of each thresholded table.
    never_missing : frozenset of str
        Columns for which the user ruled out missing values.
    """

    columns: Names
    mu: float
    failure: float
    never_missing: frozenset[str] = frozenset()

    @classmethod
    def make(
        cls, columns: Names, epsilon: float, delta: float, *, declared: int = 0, never_missing: frozenset[str] = frozenset()
    ) -> DomainPlan:
        """Plan within a share of (epsilon, delta); nothing is planned for no columns or an infinite epsilon.

        Parameters
        ----------
        columns : mapping of str to str
            Semantic type of each column to be learned.
        epsilon, delta : float
            Budget of domain and model together.
        declared : int
            Number of other columns in the model: the fewer columns are learned, the smaller the domain's share.
        never_missing : frozenset of str
            Columns for which the user ruled out missing values.
        """
        if not columns or math.isinf(epsilon):
            return cls(columns={}, mu=0.0, failure=0.0)
        whole = calibrate_gaussian(epsilon, delta * (1 - FAILURE_SHARE))
        share = DOMAIN_SHARE * sum(WEIGHTS[s] for s in columns.values()) / (len(columns) + declared)
        failure = FAILURE_SHARE * delta / max(1, _thresholded(columns))
        return cls(columns=dict(columns), mu=whole * math.sqrt(share), failure=failure, never_missing=never_missing)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What all looks cost."""
        if not self.columns:
            return ()
        tables = _thresholded(self.columns)
        thresholds = (ApproxDP(epsilon=0.0, delta=self.failure, count=tables),) if tables else ()
        return (GaussianLoss(sensitivity_over_sigma=self.mu), *thresholds)

    def entries(self) -> list[LedgerEntry]:
        """One ledger entry, or none."""
        if not self.columns:
            return []
        names = list(self.columns)
        listed = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
        rows = f"; a category held by fewer than about {self.least_count:,} rows becomes missing" if self.least_count else ""
        return [
            LedgerEntry(
                name="domain",
                mechanism=f"learned: {listed}; noisy and thresholded counts, mu {self.mu:.4g} in all{rows}",
                losses=self.losses,
                scope="the domain",
                parts=("domain",),
            )
        ]

    def warnings(self, table_rows: int | None) -> list[str]:
        """What to expect of a table of about so many rows."""
        if table_rows is None or self.least_count <= 0.01 * table_rows:
            return []
        return [
            f"undeclared='private': categories held by fewer than about {self.least_count:,} of {table_rows:,} rows become "
            "missing, and ranges are coarse; declare the domain, or raise epsilon or delta"
        ]

    @property
    def least_count(self) -> int:
        """Rows that a category needs to be found about every other time; 0 without categories."""
        if not {"categorical", "ordinal"} & set(self.columns.values()):
            return 0
        return _Meter(self.mu, self.failure).threshold(self.share("categorical"))

    def share(self, sdtype: str | None = None) -> float:
        """Share of mu**2 for a column of this type, or (None) for the number of rows."""
        whole = SIZE_WEIGHT + sum(WEIGHTS[s] for s in self.columns.values())
        return (SIZE_WEIGHT if sdtype is None else WEIGHTS[sdtype]) / whole


def _thresholded(columns: Names) -> int:
    return sum(sdtype != "boolean" for sdtype in columns.values())


class _Meter:
    """Noisy counts out of one budget: the only place here from which anything about the rows leaves."""

    def __init__(self, mu: float, failure: float) -> None:
        self._mu, self._failure, self._used = mu, failure, 0.0

    def sigma(self, share: float) -> float:
        return 1 / (self._mu * math.sqrt(share))

    def threshold(self, share: float) -> int:
        """Least noisy count of a value that is released: Pr[LEAST_ROWS + Z >= threshold] <= failure."""
        return LEAST_ROWS + math.ceil(self.sigma(share) * float(norm.isf(self._failure))) + 1

    def counts(self, table: np.ndarray, share: float, coins: Coins) -> np.ndarray:
        """Noise on every cell of a table in which one row changes one cell by 1."""
        if self._used + share > 1 + 1e-9:
            raise BudgetExceededError(f"share ({share:.4g}) of the domain's budget exceeds what is left ({1 - self._used:.4g})")
        self._used += share
        return noise.discrete_gaussian(table, sensitivity=1, rho=self._mu**2 * share / 2, coins=coins).astype(float)

    def frequent(self, table: np.ndarray, missing: int, share: float, coins: Coins) -> tuple[np.ndarray, np.ndarray, float]:
        """Release the values that pass, from the counts of those that occur: index, noisy count; and of missing ones."""
        enough = np.flatnonzero(table >= LEAST_ROWS)
        noisy = self.counts(np.append(missing, table[enough]), share, coins)  # missing is a public cell: no threshold
        passed = noisy[1:] >= self.threshold(share)
        return enough[passed], noisy[1:][passed], float(noisy[0])


def learn_attributes(
    table: pd.DataFrame, plan: DomainPlan, specs: Mapping[str, Mapping[str, Any]], max_bins: int, coins: Coins
) -> dict[str, Attribute]:
    """Learn the domain of every planned column. The plan's entries must have been charged before.

    Parameters
    ----------
    table : DataFrame
        The rows.
    plan : DomainPlan
        Columns and budget.
    specs : mapping
        The metadata's columns; only ``datetime_format`` is used.
    max_bins : int
        Most bins of a number or date.
    coins : Coins
        Source of the noise.
    """
    if not plan.columns:
        return {}
    meter = _Meter(plan.mu, plan.failure)
    size = float(meter.counts(np.array([len(table)]), plan.share(), coins.spawn("size"))[0])
    found = {}
    for name, sdtype in plan.columns.items():
        look = _Column(
            meter, plan.share(sdtype), size, meter.sigma(plan.share()), name not in plan.never_missing, coins.spawn(name)
        )
        if sdtype == "boolean":
            found[name] = look.flags(name, table[name])
        elif sdtype in ("categorical", "ordinal"):
            found[name] = look.categories(name, table[name], sdtype)
        else:
            form = specs.get(name, {}).get("datetime_format")
            found[name] = look.numbers(name, table[name], sdtype, form, max_bins)
    return found


@dataclass(frozen=True)
class _Column:
    """Looks at one column, within its share."""

    meter: _Meter
    share: float
    size: float
    size_sigma: float
    may_miss: bool
    coins: Coins

    def flags(self, name: str, column: pd.Series[Any]) -> Attribute:
        """False and True are known; whether there are missing values is not."""
        missing = column.isna().to_numpy()
        noisy = self.meter.counts(np.bincount(missing, minlength=2), self.share, self.coins)
        nullable = self.may_miss and bool(noisy[1] > PRESENT * self.meter.sigma(self.share))
        return Attribute(name=name, kind="categorical", values=(False, True), nullable=nullable, provenance="private")

    def categories(self, name: str, column: pd.Series[Any], sdtype: str) -> Attribute:
        """Values that many rows hold, and missing if many rows hold none of them."""
        counts, missing = value_counts(column)
        order = _sorted(counts)
        held = np.array([counts[v] for v in order], dtype=np.int64)
        which, noisy, absent = self.meter.frequent(held, missing, self.share, self.coins)
        values = tuple(dict.fromkeys(order[i][1] for i in which))  # True and 1 are one value to pandas
        sigma = self.meter.sigma(self.share)
        rest = self.size - noisy.sum()  # rows without a value or with one that did not pass
        many = absent > PRESENT * sigma or rest > PRESENT * math.sqrt(len(values) * sigma**2 + self.size_sigma**2)
        nullable = (self.may_miss and bool(many)) or not values
        kind = "ordinal" if sdtype == "ordinal" else "categorical"
        return Attribute(name=name, kind=kind, values=values, nullable=nullable, provenance="private")  # type: ignore[arg-type]

    def numbers(self, name: str, column: pd.Series[Any], sdtype: str, form: str | None, max_bins: int) -> Attribute:
        """Precision, frequent values, orders of magnitude, then ever finer parts of what holds many rows."""
        shares = FULL if self.size >= FULL_POWER * self.meter.sigma(self.share) else COARSE
        shares = {what: self.share * s for what, s in shares.items()}
        values, missing, precision, levels = _read(column, sdtype, form)
        table = np.bincount(np.append(precision, np.full(missing, levels)), minlength=levels + 1)
        noisy = self.meter.counts(table, shares["precision"], self.coins.spawn("precision"))
        sigma = self.meter.sigma(shares["precision"])
        nullable = self.may_miss and bool(noisy[-1] > PRESENT * sigma)
        lattice = _lattice(sdtype, _finest(noisy[:-1], sigma))
        points = np.sort(lattice.index(values))
        spikes = self._frequent_points(points, shares["values"], max_bins // 2) if shares["values"] else []
        points = points[~np.isin(points, spikes)]
        cells = self._cells(points, lattice, shares, max_bins)
        bins = make_bins(cells, spikes, max_bins)
        style = date_style(column, form) if sdtype == "datetime" else {}
        return Attribute(
            name=name, kind=lattice.kind, nullable=nullable or not bins, decimals=lattice.decimals,
            lower=tuple(lattice.value(first) for first, _ in bins), upper=tuple(lattice.value(last) for _, last in bins),
            unit=lattice.unit, provenance="private", **style,
        )  # fmt: skip

    def _frequent_points(self, points: np.ndarray, share: float, most: int) -> list[int]:
        """Lattice points that many rows hold, at most ``most`` of them."""
        distinct, counts = np.unique(points, return_counts=True)
        which, noisy, _ = self.meter.frequent(counts, 0, share, self.coins.spawn("values"))
        found = sorted(zip(distinct[which].tolist(), noisy.tolist(), strict=True), key=lambda v: -v[1])
        return [point for point, _ in found[:most]]

    def _cells(self, points: np.ndarray, lattice: Lattice, shares: Mapping[str, float], max_bins: int) -> Cells:
        """Noisy counts of adaptive cells: the parts of a cell that holds many rows are counted in the next round."""
        first, last = lattice.grid()
        cells = self._count(points, first, last, shares["magnitude"], "magnitude").inhabited()
        share = shares["round"]
        if not share:
            return cells
        target = max(self.size / max_bins, 4 * self.meter.sigma(share))
        for number in range(ROUNDS):
            cells, parts = split_heavy(cells, target)
            if parts:
                first, last = np.array(parts, dtype=np.int64).T
                cells = cells.join(self._count(points, first, last, share, number))
        return cells

    def _count(self, points: np.ndarray, first: np.ndarray, last: np.ndarray, share: float, name: str | int) -> Cells:
        table = np.searchsorted(points, last, side="right") - np.searchsorted(points, first, side="left")
        noisy = self.meter.counts(table, share, self.coins.spawn("cells", name))
        return Cells(first, last, noisy, np.full(len(first), self.meter.sigma(share)))


def value_counts(column: pd.Series[Any]) -> tuple[dict[tuple[bool, Hashable], int], int]:
    """Rows of each value that occurs, by (is it a truth value, value), and of missing ones.

    A value has one form whatever the column's type is made by the other rows: 1 and 1.0 are 1, but True is not.
    """
    present = column[column.notna()]
    if present.dtype == object:
        is_flag = np.fromiter((isinstance(v, (bool, np.bool_)) for v in present), dtype=bool, count=len(present))
    else:
        is_flag = np.full(len(present), pd.api.types.is_bool_dtype(present.dtype))
    counts: dict[tuple[bool, Hashable], int] = {}
    for flag in (False, True):
        for value, count in present[is_flag == flag].value_counts(sort=False).items():
            if count:
                key = (flag, _plain(value))
                counts[key] = counts.get(key, 0) + int(count)
    return counts, len(column) - len(present)


def _plain(value: Any) -> Hashable:
    if isinstance(value, np.generic):
        value = value.item()
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**63
    return int(value) if whole else value


def _sorted(counts: Mapping[tuple[bool, Hashable], int]) -> list[tuple[bool, Hashable]]:
    """Order that depends on each pair of values alone."""
    return sorted(counts, key=lambda key: (_family(key), key[1] if _family(key) != "~" else str(key[1])))


def _family(key: tuple[bool, Hashable]) -> str:
    if key[0]:
        return "bool"
    for known in (str, int, float):
        if isinstance(key[1], known):
            return "str" if known is str else "number"
    return "~"


def _read(column: pd.Series[Any], sdtype: str, form: str | None) -> tuple[np.ndarray, int, np.ndarray, int]:
    """Values present, number of missing ones, precision level of each value present, number of levels."""
    if sdtype == "datetime":
        stamps = as_nanoseconds(column, form)
        present = stamps[stamps != np.iinfo(np.int64).min]
        fits = [present % unit == 0 for unit in DATE_UNITS]
        return present, len(stamps) - len(present), np.argmax(fits, axis=0), len(DATE_UNITS)
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    present = numbers[np.isfinite(numbers)]
    level = np.full(len(present), MOST_DECIMALS + 1)
    for digits in range(MOST_DECIMALS, -1, -1):
        with np.errstate(over="ignore", invalid="ignore"):
            level[np.round(present, digits) == present] = digits
    return present, len(numbers) - len(present), level, MOST_DECIMALS + 2


def _finest(counts: np.ndarray, sigma: float) -> int:
    """Coarsest precision level beyond which the counts together do not stand out from the noise."""
    for level in range(len(counts) - 1):
        beyond = counts[level + 1 :]
        if beyond.sum() <= 3 * sigma * math.sqrt(len(beyond)):
            return level
    return len(counts) - 1


def _lattice(sdtype: str, level: int) -> Lattice:
    if sdtype == "datetime":
        return Lattice(kind="datetime", unit=DATE_UNITS[level])
    if level == 0:
        return Lattice(kind="integer")
    return Lattice(kind="float", decimals=level if level <= MOST_DECIMALS else None)
