"""The contract of privacy tests: which candidates are released, the cost, and the sampler.

There are three guarantees (docs/explanation/privacy_promise.md):
:class:`~sdv_plausible.DeterministicTest` gives plausible deniability only,
:class:`~sdv_plausible.RandomizedTest` gives differential privacy row by row,
:class:`~sdv_plausible.ReleaseTest` gives one guarantee for any number of rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, TypeVar

from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.mechanism.drawing.sampler import Sampler
from sdv_plausible.models.base import SeedModel
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.queryable import Queryable

Test = TypeVar("Test", bound="PrivacyTest")
SEED_DELTA_SHARE = 0.5  # share of delta for the seeds, if they are used; the rest is for the model
PREFIX_CELLS = 8  # the default omega keeps at most this many combinations of values of the seed


def option_names(made: type[PrivacyTest]) -> tuple[str, ...]:
    """Names of the options of a test."""
    return tuple(f.name for f in fields(made) if f.init)


@dataclass(frozen=True, kw_only=True)
class PrivacyTest(ABC):
    """Base class of privacy tests: a checked value, bound to the delta and privacy unit of a fit.

    Attributes
    ----------
    k : int
        Plausible seeds that a released row must have, each of another privacy unit, >= 1.
    omega : Omega or None
        Number of attributes that are resampled; None chooses from the domain.
    delta : float
        Failure probability for the seeds, in (0, 1).
    neighbours : Neighbours
        The privacy unit.
    """

    name: ClassVar[str]
    """Name of the test with default options."""
    has_delta: ClassVar[bool]
    """Whether the seeds take a share of delta."""

    k: int = 50
    omega: Any = None
    delta: float = field(default=1e-9, init=False, repr=False)
    neighbours: Neighbours = field(default=ONE_ROW, init=False, repr=False)

    def __post_init__(self) -> None:
        check.plain_numbers(self)
        check.whole("k", self.k, 1, "it is a number of plausible seed records; try 50")
        object.__setattr__(self, "omega", Omega.parse(self.omega))
        self._check()

    def bound(self: Test, delta: float, neighbours: Neighbours) -> Test:
        """The test for a fit; ValueError if it cannot protect these neighbours."""
        test = copy(self)
        object.__setattr__(test, "delta", check.share_of_delta("delta", delta, "try 1e-9"))
        object.__setattr__(test, "neighbours", neighbours)
        test._check()
        return test

    @abstractmethod
    def _check(self) -> None:
        """Raise ValueError if options contradict each other or the privacy unit."""

    @property
    def user_omega(self) -> Any:
        """Omega as the user wrote it."""
        return None if self.omega is None else self.omega.to_user()

    @property
    def likelihood_factor(self) -> float:
        """Largest factor between likelihoods of plausible seeds; 1 if they are equal."""
        return 1.0

    @property
    def least_seeds(self) -> int:
        """Number of seeds that always belong to at least k privacy units; k for single rows."""
        return self.neighbours.rows_of(self.k)

    @property
    def seeds_needed(self) -> str:
        """The needed seeds in words."""
        if self.neighbours.of_people:
            return f"{self.least_seeds} seeds (k = {self.k} people)"
        return f"k = {self.k} seeds"

    @property
    def seeds_proved(self) -> str:
        """The proved seeds in words."""
        if self.neighbours.of_people:
            return f"seeds of at least {self.k} people"
        return f"at least {self.k} seeds"

    @property
    def uses_seeds(self) -> bool:
        """Whether seed records enter the release."""
        return True

    @property
    @abstractmethod
    def covers(self) -> str | None:
        """What the total covers, in words; None without a total."""

    @property
    def row_limit(self) -> int | None:
        """Largest number of rows that one fit may release; None for any number."""
        return None

    @abstractmethod
    def charge(self, gamma: float, far: float = 0.0) -> tuple[LedgerEntry, ...]:
        """Ledger entries of the seeds.

        Parameters
        ----------
        gamma : float
            Largest factor between likelihoods of the model's plausible seeds: 1 for prefix groups of a known
            omega, else the test's own.
        far : float
            Probability per proposal that a counted seed could not have produced it.
        """

    def confirm(self, seeds: Queryable) -> None:  # noqa: B027  most tests have nothing to check
        """Check declared numbers about the seeds, before they cost more; ValueError if one is wrong."""

    @property
    def seed_deniability(self) -> str:
        """Sentence on the plausible deniability if seeds are used."""
        return ""

    @property
    def point_deniability(self) -> str:
        """Sentence on the plausible deniability if the test compares latent points."""
        return self.seed_deniability

    def check_model(self, made: type[SeedModel]) -> None:  # noqa: B027  most tests take any model
        """Raise ValueError if a class of models does not fit the test."""

    def default_omega(self, order_cardinalities: Sequence[int]) -> Omega:
        """Default omega: keep the first attributes while they have at most ``PREFIX_CELLS`` combinations."""
        m = len(order_cardinalities)
        kept, cells = 0, 1
        for cardinality in order_cardinalities[: max(0, m - 1)]:
            cells *= cardinality
            if cells > PREFIX_CELLS:
                break
            kept += 1
        return Omega(m - kept, m - kept)

    @abstractmethod
    def start(self, model: SeedModel, seeds: Queryable, omega: Omega, sampling: KeyedRNG) -> Sampler:
        """The sampler, from a fitted model and the seeds, after :meth:`charge` has been paid."""

    def complaints(self, num_rows: int) -> list[str]:  # noqa: ARG002
        """Errors for the data owner of a table with this number of rows, before the fit."""
        return []

    def warnings(self, num_rows: int | None, table_rows: int | None) -> list[str]:
        """Warnings for a number of rows wanted, from a table of about ``table_rows`` rows."""
        warnings = []
        if num_rows is not None and self.row_limit is not None and num_rows > self.row_limit:
            warnings.append(
                f"num_rows ({num_rows}) is above row_cap ({self.row_limit}), so sampling would fail"
            )
        return [*warnings, *([] if table_rows is None else self._table_warnings(table_rows))]

    def _table_warnings(self, table_rows: int) -> list[str]:
        if self.least_seeds > table_rows:
            return [f"{self._above} the number of rows ({table_rows}): hardly any row would pass"]
        return []

    @property
    def _above(self) -> str:
        if self.neighbours.of_people:
            return f"k ({self.k}) people have up to {self.least_seeds} rows, above"
        return f"k ({self.k}) is above"


@dataclass(frozen=True)
class WithinEpsilon:
    """A privacy test that epsilon, then the total, pays for: ``within`` of a test makes it, with options."""

    kind: type[PrivacyTest]
    options: dict[str, Any]

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"{self.kind.__name__}.within({options})"
