"""What a release will cost, decided before any row is looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from sdv_plausible.models import plausible_gamma
from sdv_plausible.models.base import ModelBudget, Omega, check_omega
from sdv_plausible.models.forecast import Forecast, Forecaster, rows_needed
from sdv_plausible.privacy import checks as check
from sdv_plausible.privacy.accounting.losses import ApproxDP, InfiniteLoss, ReleaseLoss
from sdv_plausible.privacy.accounting.pass_rate import floor_by_construction
from sdv_plausible.privacy.accounting.released_rows import seed_test_loss
from sdv_plausible.privacy.accounting.theorem1 import size_lower_bound_margin, theorem1_best
from sdv_plausible.privacy.ledger import LedgerEntry, PrivacyLedger
from sdv_plausible.privacy.privacy_tests import (
    DeterministicTest,
    RandomizedTest,
    ReleaseTest,
    check_epsilon0,
    check_gamma,
    check_k,
)
from sdv_plausible.table.domain import Domain

TestName = Literal["release", "randomized", "deterministic"]
PREFIX_CELLS = 8  # default omega keeps this many combinations of the seed's values, at most
SIZE_EPSILON = 0.1  # randomised test: spent on the noisy number of seeds
SIZE_DELTA_SHARE = 0.01  # of the seeds' delta, for the event that its lower bound is too high
HARDLY_ANY = 20.0  # total epsilon from which on a plan warns
SEED_DELTA_SHARE = 0.5  # of delta, where seeds are used; the rest belongs to the model


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The privacy parameters of a synthesizer, checked.

    Parameters
    ----------
    epsilon, delta : float
        Budget of learning the domain and the model; epsilon may be infinite (no claim), delta in (0, 1).
    k, gamma, epsilon0 : number
        Parameters of the privacy test.
    omega : int, (int, int), "all" or None
        Number of resampled attributes; None chooses from the domain.
    privacy_test : {"release", "randomized", "deterministic"}
        Which test.
    row_cap : int
        Row-by-row tests: rows that may ever be released from one fit.
    seed_free_share : float
        Randomised test: probability that a proposal resamples everything, in (0, 1]; a lower bound on the pass rate.
    least_rows : int
        Randomised test: a public number that the count of seed records reaches. Every charge is made at this number,
        so that the total does not depend on the rows; a noisy count that contradicts it refuses the fit.
    split : (float, float, float), optional
        Probabilities with which a row serves structure, parameters or seeds; each >= 0, sum at most 1 (the rest of
        the rows is not used). None: every row serves all three.
    """

    epsilon: float
    delta: float
    k: int
    gamma: float
    epsilon0: float
    omega: Omega | None
    privacy_test: TestName
    row_cap: int
    seed_free_share: float
    split: tuple[float, float, float] | None = None
    least_rows: int = 1000

    def __post_init__(self) -> None:
        if not _is_real(self.epsilon) or not self.epsilon > 0:
            raise ValueError(f"epsilon ({self.epsilon!r}) must be a number > 0 (math.inf for no privacy); try 1.0")
        if not _is_real(self.delta) or not 0 < self.delta < 1:
            raise ValueError(f"delta ({self.delta!r}) must lie strictly between 0 and 1; try 1e-9")
        check_k(self.k)
        check_gamma(self.gamma)
        check_epsilon0(self.epsilon0)
        check_omega(self.omega)
        if self.privacy_test not in ("release", "randomized", "deterministic"):
            raise ValueError(f'privacy_test ({self.privacy_test!r}) must be "release", "randomized" or "deterministic"')
        if not isinstance(self.row_cap, int) or isinstance(self.row_cap, bool) or self.row_cap < 1:
            raise ValueError(f"row_cap ({self.row_cap!r}) must be a whole number >= 1: the rows ever released")
        if not _is_real(self.seed_free_share) or not 0 < self.seed_free_share <= 1:
            raise ValueError(f"seed_free_share ({self.seed_free_share!r}) must lie in (0, 1]; try 0.5")

        if not isinstance(self.least_rows, int) or isinstance(self.least_rows, bool) or self.least_rows < 1:
            raise ValueError(f"least_rows ({self.least_rows!r}) must be a whole number >= 1; try 1000")
        if self.split is not None:
            parts = self.split
            ok = isinstance(parts, (tuple, list)) and len(parts) == 3 and all(_is_real(p) and p > 0 for p in parts)
            if not ok or sum(parts) > 1 + 1e-9:
                raise ValueError(
                    f"split ({parts!r}) must be three shares > 0 for structure, parameters and seeds with a sum of at "
                    "most 1; try (0.25, 0.25, 0.5)"
                )

    @property
    def uses_seeds(self) -> bool:
        """Whether seed records enter the release at all."""
        return self.privacy_test != "release" or self.omega not in (None, "all")

    @property
    def model_delta(self) -> float:
        """Share of delta for the domain and the model."""
        seeds_charged = self.uses_seeds and self.privacy_test != "deterministic"
        return self.delta * (1 - SEED_DELTA_SHARE) if seeds_charged else self.delta

    @property
    def seed_delta(self) -> float:
        """Share of delta for the seeds."""
        return self.delta - self.model_delta

    def test(self) -> DeterministicTest | RandomizedTest | ReleaseTest:
        """Build the privacy test."""
        if self.privacy_test == "release":
            return ReleaseTest(k=self.k, epsilon0=self.epsilon0, delta=self.seed_delta or self.delta)
        if self.privacy_test == "randomized":
            return RandomizedTest(k=self.k, gamma=self.gamma, epsilon0=self.epsilon0)
        return DeterministicTest(k=self.k, gamma=self.gamma)

    def resolve_omega(self, order_cardinalities: tuple[int, ...]) -> Omega:
        """Number of resampled attributes, chosen from declared cardinalities where the user left it open.

        Under the row-by-row tests the first attributes of the order are kept as long as their values have at most
        ``PREFIX_CELLS`` combinations: groups of an eighth of the seeds on average, large enough on 500 rows.
        """
        m = len(order_cardinalities)
        if self.omega is not None:
            check_omega(self.omega, m)
            return self.omega
        if self.privacy_test == "release":
            return "all"
        kept, cells = 0, 1
        for cardinality in order_cardinalities[: max(0, m - 1)]:
            cells *= cardinality
            if cells > PREFIX_CELLS:
                break
            kept += 1
        return m - kept

    def size_charge(self) -> tuple[LedgerEntry, int]:
        """Ledger entry of the noisy number of seeds, and the margin that makes it a lower bound."""
        beta = SIZE_DELTA_SHARE * self.seed_delta
        entry = LedgerEntry(
            name="size",
            mechanism=f"number of seeds, discrete Laplace noise, epsilon {SIZE_EPSILON:g}",
            losses=(ApproxDP(epsilon=SIZE_EPSILON, delta=beta),),
            scope="the check of least_rows",
            parts=("seeds",),
        )
        return entry, size_lower_bound_margin(SIZE_EPSILON, beta)

    @property
    def covers(self) -> str | None:
        """What the total is for, in words; None where there is no total."""
        if self.privacy_test == "release":
            return "any number of rows, and the saved synthesizer"
        if self.privacy_test == "randomized":
            return f"the first {self.row_cap:,} rows released from this fit; not the saved synthesizer, which holds records"
        return None

    def seed_charge(self, gamma: float) -> tuple[LedgerEntry, ...]:
        """Ledger entries of the seeds.

        Parameters
        ----------
        gamma : float
            Factor between the likelihoods that the model's plausible seeds may have: 1 for prefix groups of a known omega,
            else the test's own.
        """
        if not self.uses_seeds:
            return (_no_seeds_entry(),)
        if self.privacy_test == "release":
            return (_release_entry(self.test()),)
        if self.privacy_test == "deterministic":
            return (_deterministic_entry(self),)
        return (self.size_charge()[0], _rows_entry(self, gamma))


def _no_seeds_entry() -> LedgerEntry:
    return LedgerEntry(
        name="seeds",
        mechanism="no seed record is used (every attribute is resampled): k, gamma and epsilon0 play no part",
        losses=(),
        scope="the release",
        parts=("seeds",),
    )


def _rows_entry(settings: Settings, gamma: float) -> LedgerEntry:
    """Ledger entry of all rows of the randomised test, up to the cap.

    Raises
    ------
    ValueError
        If so few seeds as ``least_rows`` cannot carry this k.
    """
    n_lower = settings.least_rows
    delta = (1 - SIZE_DELTA_SHARE) * settings.seed_delta
    floor = floor_by_construction(settings.seed_free_share, settings.k, settings.epsilon0, n_lower)
    loss = seed_test_loss(
        num_rows=settings.row_cap, k=settings.k, gamma=gamma, epsilon0=settings.epsilon0, delta=delta,
        pass_rate_floor=floor, n_lower=n_lower,
    )  # fmt: skip
    if not math.isfinite(loss.epsilon):
        raise ValueError(
            f"k ({settings.k}) and epsilon0 ({settings.epsilon0:g}) are out of reach for least_rows ({n_lower}) seeds at "
            f"delta {settings.delta:.3g}: lower k, raise epsilon0, delta or least_rows, or use privacy_test='release'"
        )
    return LedgerEntry(
        name="rows",
        mechanism=(
            f"Privacy Test 2, k = {settings.k}, epsilon0 = {settings.epsilon0:g}; Theorem 1 added up over "
            f"{settings.row_cap:,} rows would say {_theorem1_sum(settings):,.0f}"
        ),
        losses=(ApproxDP(epsilon=loss.epsilon, delta=loss.delta),),
        scope=f"the first {settings.row_cap:,} rows released from this fit, not the saved synthesizer",
        parts=("seeds",),
    )


def _theorem1_sum(settings: Settings) -> float:
    """The paper's own accounting of the rows: Theorem 1 with the best t, added up."""
    share = settings.seed_delta / settings.row_cap
    try:
        return settings.row_cap * theorem1_best(settings.k, settings.gamma, settings.epsilon0, share).epsilon
    except ValueError:
        return math.inf


def _release_entry(test: Any) -> LedgerEntry:
    """Ledger entry of the release-level test."""
    return LedgerEntry(
        name="seeds",
        mechanism=(
            f"one noisy size per prefix group of at least k = {test.k} seeds, discrete Laplace, epsilon0 "
            f"{test.epsilon0:g}; every released prefix has at least {test.k} seeds, surely"
        ),
        losses=(ReleaseLoss(epsilon0=test.epsilon0, delta=test.delta),),
        scope="any number of rows and the saved synthesizer",
        parts=("seeds",),
    )


def _deterministic_entry(settings: Settings) -> LedgerEntry:
    """Ledger entry of Privacy Test 1, which has no finite epsilon."""
    return LedgerEntry(
        name="rows",
        mechanism=(
            f"Privacy Test 1, k = {settings.k}, gamma = {settings.gamma:g}: each row has at least {settings.k} "
            "plausible seeds (plausible deniability)"
        ),
        losses=(InfiniteLoss(),),
        scope="each released row",
        note="Privacy Test 1 has a sharp threshold, which gives plausible deniability but no epsilon; use "
        "privacy_test='release'",
        parts=("seeds",),
    )


def _is_real(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The cost of a release, before it is made.

    Attributes
    ----------
    ledger : PrivacyLedger
        What the ledger will say.
    forecast : Forecast or None
        How the noise will show at the number of rows that was named; None if none was, or nothing is known.
    rows_needed : int or None
        Rows, to a factor of two, at which columns and links stand well above the noise; None if nothing is known.
    warnings : tuple of str
        What to expect of the output: none of it depends on the rows.
    """

    ledger: PrivacyLedger
    forecast: Forecast | None = None
    rows_needed: int | None = None
    warnings: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        notes = [] if self.forecast is None else [str(self.forecast)]
        if self.rows_needed is not None:
            notes.append(f"Columns and links stand well above the noise from about {self.rows_needed:,} rows on")
        lines = [f"  {note}" for note in notes] + [f"  ! {warning}" for warning in self.warnings]
        return "\n".join([f"Plan (no row has been looked at)\n{self.ledger}", *lines])

    __repr__ = __str__


def plan(
    settings: Settings,
    learner: Any,
    domain: Domain,
    *,
    num_rows: int | None = None,
    table_rows: int | None = None,
    extra: tuple[LedgerEntry, ...] = (),
    assumed: Domain | None = None,
) -> Plan:
    """Plan a release.

    Parameters
    ----------
    settings : Settings
        Privacy parameters.
    learner : object
        The model's learner, with a ``plan(domain, budget)`` that returns entries.
    domain : Domain
        The modelled columns.
    num_rows : int, optional
        Rows wanted, to compare with the row cap.
    table_rows : int, optional
        A public figure or guess for the number of rows of the table.
    extra : tuple of LedgerEntry
        Entries of the domain and the coins.
    assumed : Domain, optional
        For the forecast: with a usual number of codes where a column's domain is not known yet.
    """
    for name, value in (("num_rows", num_rows), ("table_rows", table_rows)):
        if value is not None:
            check.whole(name, value, 1)
    ledger = PrivacyLedger(delta=settings.delta, covers=settings.covers)
    ledger.charge(*extra)
    budget = ModelBudget(epsilon=settings.epsilon, delta=settings.model_delta, spent=ledger.losses)
    ledger.charge(*settings.seed_charge(plausible_gamma(learner, settings.gamma)))
    ledger.charge(*learner.plan(domain, budget))
    forecast, needed = None, None
    if isinstance(learner, Forecaster) and len(domain):
        share = sum(settings.split[:2]) if settings.split else 1.0  # of the rows goes into learning

        def foresee(rows: int) -> Forecast | None:
            found = learner.forecast(assumed or domain, budget, max(round(share * rows), 1))
            return replace(found, rows=rows) if found else None

        needed = rows_needed(foresee)
        forecast = foresee(table_rows) if table_rows else None
    found = [*_warnings(settings, num_rows, table_rows), *(forecast.warnings() if forecast else [])]
    total = ledger.total()
    if HARDLY_ANY < total < math.inf:
        found.append(
            f"a total epsilon of {total:,.0f} is hardly any protection: lower epsilon, or row_cap "
            f"({settings.row_cap}) where rows are charged, or use privacy_test='release'"
        )
    return Plan(ledger=ledger, forecast=forecast, rows_needed=needed, warnings=tuple(found))


def _warnings(settings: Settings, num_rows: int | None, table_rows: int | None) -> list[str]:
    found = []
    if num_rows is not None and settings.privacy_test != "release" and num_rows > settings.row_cap:
        found.append(f"num_rows ({num_rows}) is above row_cap ({settings.row_cap}): sampling would be refused")
    if table_rows is None:
        return found
    if settings.privacy_test == "randomized" and table_rows < settings.least_rows:
        found.append(f"least_rows ({settings.least_rows}) is above the number of rows ({table_rows}): the fit would be refused")
    if settings.uses_seeds and settings.k > table_rows:
        found.append(f"k ({settings.k}) is above the number of rows ({table_rows}): hardly any row would pass")
    return found
