"""What a privacy test is to the rest.

It decides which candidates may leave, knows what that costs, and who draws the rows.

Three guarantees, never blurred (docs/explanation/privacy_promise.md):
:class:`~sdv_plausible.DeterministicTest` gives plausible deniability only,
:class:`~sdv_plausible.RandomizedTest` gives differential privacy row by row,
:class:`~sdv_plausible.ReleaseTest` gives one guarantee for any number of rows. Elsewhere it is asked
whether a test is the last one, which needs no records, and by a sentence of the ledger whether the second.
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
SEED_DELTA_SHARE = 0.5  # of delta, where seeds are used; the rest belongs to the model
PREFIX_CELLS = 8  # default omega keeps this many combinations of the seed's values, at most


def option_names(made: type[PrivacyTest]) -> tuple[str, ...]:
    """Options of a test."""
    return tuple(f.name for f in fields(made) if f.init)


@dataclass(frozen=True, kw_only=True)
class PrivacyTest(ABC):
    """What a synthesizer asks of its privacy test: a value that checks itself, bound to what a fit protects.

    Attributes
    ----------
    k : int
        Plausible seeds that a released row must have, each of another unit, >= 1.
    omega : Omega or None
        Number of attributes that are resampled; None chooses from the domain.
    delta : float
        Failure probability of the seeds, in (0, 1): the fit's.
    neighbours : Neighbours
        Whom the loss protects: the fit's.
    """

    name: ClassVar[str]
    """What the test is called where it has its usual options."""
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
        """The same test for a fit; ValueError if it cannot protect these neighbours."""
        test = copy(self)
        object.__setattr__(test, "delta", check.share_of_delta("delta", delta, "try 1e-9"))
        object.__setattr__(test, "neighbours", neighbours)
        test._check()
        return test

    @abstractmethod
    def _check(self) -> None:
        """Raise ValueError if options do not go together, or with whom the test protects."""

    @property
    def user_omega(self) -> Any:
        """Omega as it is given."""
        return None if self.omega is None else self.omega.to_user()

    @property
    def likelihood_factor(self) -> float:
        """Factor within which likelihoods of plausible seeds may lie; 1 where groups of them are equal."""
        return 1.0

    @property
    def least_seeds(self) -> int:
        """Seeds that are surely those of k units: k, where every row is a unit of its own."""
        return self.neighbours.rows_of(self.k)

    @property
    def seeds_needed(self) -> str:
        """The same in words."""
        if self.neighbours.of_people:
            return f"{self.least_seeds} seeds (k = {self.k} people)"
        return f"k = {self.k} seeds"

    @property
    def seeds_proved(self) -> str:
        """What they prove, in words."""
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
        """What the total is for, in words; None where there is no total."""

    @property
    def row_limit(self) -> int | None:
        """Rows that may ever be released from one fit; None for any number."""
        return None

    @abstractmethod
    def charge(self, gamma: float, far: float = 0.0) -> tuple[LedgerEntry, ...]:
        """Ledger entries of the seeds.

        Parameters
        ----------
        gamma : float
            Factor between the likelihoods that the model's plausible seeds may have: 1 for prefix groups of a
            known omega, else the test's own.
        far : float
            Probability, of each proposal, that a counted seed could not have made it.
        """

    def confirm(self, seeds: Queryable) -> None:  # noqa: B027  most tests have nothing to check
        """Check public claims about the seeds, before they cost more.

        Raises ValueError if one does not stand.
        """

    @property
    def says_of_seeds(self) -> str:
        """Which plausible deniability holds where seeds are used, in a sentence."""
        return ""

    @property
    def says_of_points(self) -> str:
        """The same where candidates are decoded from a latent point, which the test looks at."""
        return self.says_of_seeds

    def check_model(self, made: type[SeedModel]) -> None:  # noqa: B027  most tests take any model
        """Raise ValueError if a learner's models do not offer what the test needs."""

    def default_omega(self, order_cardinalities: Sequence[int]) -> Omega:
        """Number of resampled attributes, chosen from declared cardinalities where the user left it open.

        The first attributes of the order are kept as long as their values have at most ``PREFIX_CELLS``
        combinations: groups of an eighth of the seeds on average, large enough on 500 rows.
        """
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
        """Return who draws the rows, from a fitted model and the seeds; :meth:`charge` has been paid."""

    def complaints(self, num_rows: int) -> list[str]:  # noqa: ARG002
        """Errors for the holder of a table of so many rows, before anything is fitted."""
        return []

    def warnings(self, num_rows: int | None, table_rows: int | None) -> list[str]:
        """What to expect of so many rows wanted, from a table of about so many rows."""
        found = []
        if num_rows is not None and self.row_limit is not None and num_rows > self.row_limit:
            found.append(
                f"num_rows ({num_rows}) is above row_cap ({self.row_limit}): sampling would be refused"
            )
        return [*found, *([] if table_rows is None else self._table_warnings(table_rows))]

    def _table_warnings(self, table_rows: int) -> list[str]:
        if self.least_seeds > table_rows:
            return [f"{self._above} the number of rows ({table_rows}): hardly any row would pass"]
        return []

    @property
    def _above(self) -> str:
        if self.neighbours.of_people:
            return f"k ({self.k}) people have up to {self.least_seeds} rows, above"
        return f"k ({self.k}) is above"
