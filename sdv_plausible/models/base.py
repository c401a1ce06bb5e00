"""What learners and models are.

The two things that a user's own model implements (docs/how_to/own_model.md).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sdv_plausible.privacy.accounting.composition import calibrate_gaussian
from sdv_plausible.privacy.accounting.losses import Loss, gaussian_noise
from sdv_plausible.privacy.entries import WHOLE_MODEL, LedgerEntry
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.plausible_seeds import PrefixGroups, scan_plausible_seeds
from sdv_plausible.queries.queryable import Queryable, SeedRecords
from sdv_plausible.table.columns.domain import Domain

if TYPE_CHECKING:
    from sdv_plausible.models.forecast import Forecast

SCAN_BLOCK = 256  # candidates whose likelihoods under thousands of records are held at once


@dataclass(frozen=True, kw_only=True)
class ModelBudget:
    """What a model may spend on learning.

    Parameters
    ----------
    epsilon : float
        Total privacy loss of learning; ``math.inf`` learns without noise (and without a claim).
    delta : float
        Failure probability that goes with it.
    spent : tuple of Loss
        What was charged before, such as a privately learned domain: the total with it stays within (epsilon,
        delta).
    neighbours : Neighbours
        Whom the total protects. What is charged does not depend on it: answers get the noise that it needs.
    left : float, optional
        Gaussian parameter mu that is left, where it was fixed before.
    """

    epsilon: float
    delta: float
    spent: tuple[Loss, ...] = ()
    neighbours: Neighbours = ONE_ROW
    left: float | None = None

    def gaussian(self, failure: float = 0.0) -> float:
        """Largest Gaussian parameter mu for learning, next to what was spent and a failure probability."""
        if math.isinf(self.epsilon):
            return math.inf
        if self.left is not None:
            return self.left
        return calibrate_gaussian(self.epsilon, self.delta - failure, self.spent)

    def entry(self, what: str) -> LedgerEntry:
        """Ledger entry of a learner that spends all of it on one Gaussian budget."""
        mu = self.gaussian()
        if math.isinf(mu):
            from sdv_plausible.models.budget_stages import stage_entry  # seldom: no claim

            return stage_entry("model", what, WHOLE_MODEL, (), "")
        return LedgerEntry(
            name="model",
            mechanism=f"{what}; discrete Gaussian noise on every cell",
            losses=gaussian_noise(mu),
            scope="the model",
            parts=WHOLE_MODEL,
        )


@dataclass(frozen=True, kw_only=True)
class Proposals:
    """Candidate rows and what the privacy test must know about them.

    Attributes
    ----------
    candidates : ndarray of int, shape (N, m)
        Codes in the domain's column order.
    seeds : ndarray of int64, shape (N,)
        Row number of the seed record each candidate was made from.
    omega : ndarray of int64, shape (N,)
        Number of attributes that were resampled; the other m - omega are the seed's.
    latents : ndarray, optional
        Where the test looks at it: the latent point (N, l) that each candidate was decoded from.
    """

    candidates: np.ndarray
    seeds: np.ndarray
    omega: np.ndarray
    latents: np.ndarray | None = None

    def take(self, rows: np.ndarray) -> Proposals:
        """Return some of the proposals."""
        return Proposals(
            candidates=self.candidates[rows],
            seeds=self.seeds[rows],
            omega=self.omega[rows],
            latents=None if self.latents is None else self.latents[rows],
        )


class SeedModel(ABC):
    """A generative model that turns a seed record into a candidate, with an exact likelihood of doing so.

    Two methods make a model; the plausible seeds are then counted by looking at all records. A model that
    keeps the first attributes of a seed and draws the others should be a :class:`PrefixModel`: it needs less
    code and counts by look-up.
    """

    _seeds: np.ndarray | None = None
    in_latent_space: ClassVar[bool] = False
    """Whether row-by-row tests look at a latent point, from which alone the candidate is decoded."""

    def for_row_tests(self) -> SeedModel:
        """Model whose candidates the row-by-row tests look at: by default this one."""
        return self

    @property
    @abstractmethod
    def num_attributes(self) -> int:
        """Number m of attributes."""

    @property
    def num_latent(self) -> int:
        """Dimensions of the latent points that come with proposals; 0 if there are none."""
        return 0

    @property
    def order(self) -> tuple[int, ...]:
        """The resampling order sigma, as column numbers."""
        return tuple(range(self.num_attributes))

    @abstractmethod
    def propose(self, rows: np.ndarray, omega: np.ndarray, coins: KeyedRNG) -> Proposals:
        """Make one candidate from each seed row number (N,), resampling omega (N,) attributes."""

    @abstractmethod
    def log_likelihood(self, proposals: Proposals, rows: np.ndarray) -> np.ndarray:
        """Natural log of Pr[candidate i = M(seed rows[j]) | omega_i], shape (N, len(rows)); -inf allowed."""

    def attach_seeds(self, seeds: SeedRecords) -> None:
        """Take the seed records that proposals start from."""
        self._seeds = np.asfortranarray(seeds.codes)

    @property
    def seeds(self) -> np.ndarray:
        """Codes (n_s, m) of the seed records.

        Raises
        ------
        RuntimeError
            If there are none: :meth:`attach_seeds` comes first.
        """
        if self._seeds is None:
            raise RuntimeError("attach_seeds comes before what needs the seed records")
        return self._seeds

    def count_plausible(self, proposals: Proposals, gamma: float) -> np.ndarray:
        """Plausible seeds k' of every proposal, (N,), by looking at every record (section 2)."""
        found = np.empty(len(proposals.seeds), dtype=np.int64)
        for start in range(0, len(found), SCAN_BLOCK):
            block = proposals.take(np.arange(start, min(start + SCAN_BLOCK, len(found))))
            seeds, which = np.unique(block.seeds, return_inverse=True)
            own = self.log_likelihood(block, seeds)[np.arange(len(which)), which]
            found[start : start + SCAN_BLOCK] = scan_plausible_seeds(
                partial(self.log_likelihood, block), own, len(self.seeds), gamma=gamma
            )
        return found


class PrefixModel(SeedModel):
    """A model that keeps the seed's first m - omega values and draws the rest (section 3.2).

    A candidate's likelihood then depends on a record only through whether it shares the kept values
    (docs/explanation/proofs/prefix_groups.md): plausible seeds are prefix groups, counted by look-up, and all
    of them are equally likely. Two methods make such a model.
    """

    _groups: PrefixGroups | None = None

    @property
    @abstractmethod
    def cardinalities(self) -> tuple[int, ...]:
        """Number of codes of each attribute, in column order."""

    @property
    def num_attributes(self) -> int:
        """Number m of attributes."""
        return len(self.cardinalities)

    @abstractmethod
    def complete(
        self, codes: np.ndarray, kept: np.ndarray | int, coins: KeyedRNG, *, systematic: bool = False
    ) -> np.ndarray:
        """Draw, in place, every attribute of each record (N, m) beyond its first ``kept`` ones in the order.

        ``systematic`` allows draws that depend on each other, each with its own right law.
        """

    @abstractmethod
    def log_completion(self, candidates: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """Log probability that :meth:`complete` draws each candidate from its ``kept`` values, (N,)."""

    def complete_given(
        self, codes: np.ndarray, kept: int, known: Mapping[int, int | np.ndarray], coins: KeyedRNG
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw as :meth:`complete` with known codes put in, and the log weight of each record.

        A known code is that of all records, or of each. The general way draws everything and gives weight 0
        to what contradicts the known codes.
        """
        codes = self.complete(codes, kept, coins)
        fits = np.ones(len(codes), dtype=bool)
        for column, code in known.items():
            fits &= codes[:, column] == code
        return codes, np.where(fits, 0.0, -np.inf)

    def most_given(self, known: Mapping[int, np.ndarray], kept: int) -> np.ndarray:  # noqa: ARG002
        """Log weight that :meth:`complete_given` gives at most to records with these known codes, (N,)."""
        return np.zeros(len(next(iter(known.values()))))

    def sample(self, num_rows: int, coins: KeyedRNG) -> np.ndarray:
        """Records drawn from the model alone, int32 codes (num_rows, m)."""
        return self.complete(np.zeros((num_rows, self.num_attributes), dtype=np.int32, order="F"), 0, coins)

    def attach_seeds(self, seeds: SeedRecords) -> None:
        """Take the seed records that proposals start from, and index their prefix groups."""
        super().attach_seeds(seeds)
        order = self.order
        self._groups = PrefixGroups(
            np.asfortranarray(self.seeds[:, order]), [self.cardinalities[j] for j in order]
        )

    @property
    def groups(self) -> PrefixGroups:
        """Prefix groups of the seed records.

        Raises
        ------
        RuntimeError
            If there are no seed records.
        """
        if self._groups is None:
            raise RuntimeError(
                "attach_seeds comes before count_plausible: there are no seed records to look up"
            )
        return self._groups

    def propose(self, rows: np.ndarray, omega: np.ndarray, coins: KeyedRNG) -> Proposals:
        """Candidates from seed row numbers (N,), each with its own omega (N,)."""
        candidates = np.zeros((len(rows), self.num_attributes), dtype=np.int32, order="F")
        for column in self.order[: self.num_attributes - int(omega.min(initial=self.num_attributes))]:
            candidates[:, column] = self.seeds[rows, column]
        self.complete(candidates, self.num_attributes - omega, coins)
        return Proposals(candidates=candidates, seeds=rows, omega=omega)

    def log_likelihood(self, proposals: Proposals, rows: np.ndarray) -> np.ndarray:
        """Natural log of Pr[candidate = M(seed) | omega] for seed row numbers (s,), shape (N, s)."""
        kept = self.num_attributes - proposals.omega
        candidates = proposals.candidates[:, self.order]
        seeds = self.seeds[rows][:, self.order]
        shared = np.ones((len(candidates), len(rows)), dtype=bool)
        for position in range(int(kept.max(initial=0))):
            same = candidates[:, position, None] == seeds[None, :, position]
            shared &= same | (position >= kept)[:, None]
        own = self.log_completion(proposals.candidates, kept)
        return np.where(shared, own[:, None], -np.inf)

    def count_plausible(self, proposals: Proposals, gamma: float) -> np.ndarray:  # noqa: ARG002
        """Plausible seeds of each proposal.

        The size of its prefix group (gamma is irrelevant for a known omega).
        """
        groups, kept = self.groups, self.num_attributes - proposals.omega
        lengths = np.flatnonzero(np.bincount(kept, minlength=1))
        candidates = (
            proposals.candidates[:, self.order[: lengths[-1]]] if len(lengths) else proposals.candidates
        )
        if len(lengths) == 1:
            return groups.sizes(candidates, int(lengths[0]))
        found = np.zeros(len(candidates), dtype=np.int64)
        for length in lengths:
            rows = np.flatnonzero(kept == length)
            found[rows] = groups.sizes(candidates[rows], int(length))
        return found


class Learner(ABC):
    """Makes a :class:`SeedModel` from noisy answers, within a budget: what every learner derives from.

    Two methods make one. What it says besides has a default here; no fit asks it for anything else.
    """

    makes: ClassVar[type] = SeedModel
    """Class of its models: a :class:`PrefixModel` has the release test, and its exact accounting."""
    split: tuple[float, float, float] | None = None
    """Shares of the rows for structure, parameters and seeds; None: every row serves all three."""
    parts_apart: ClassVar[bool] = False
    """Whether each entry pays for the rows of its own part alone: believed of the package's learners only."""
    looks_at_records: ClassVar[bool] = False
    """Whether it needs records, and not counts alone: it is refused where a table stays in parts."""
    takes_public: ClassVar[bool] = False
    """Whether it is a dataclass with ``public``, codes of a published table, for a fit to fill in."""
    public: Any = None

    @abstractmethod
    def plan(self, domain: Domain, budget: ModelBudget) -> list[LedgerEntry]:
        """Ledger entries of learning, from the domain and the budget alone."""

    @abstractmethod
    def fit(self, rows: Queryable, domain: Domain, budget: ModelBudget, coins: KeyedRNG) -> SeedModel:
        """Learn from what can be asked for the charged entries of :meth:`plan`."""

    @property
    def looks_at_pairs(self) -> bool:
        """Whether all pairs of columns are looked at, so that there may not be too many."""
        return False

    @property
    def arcs(self) -> Mapping[str, Sequence[str]] | None:
        """Parents of columns that it was given, by name; None if it finds its own."""
        return None

    @property
    def names_columns(self) -> bool:
        """Whether it names the columns of its model, so that none may be split or left out."""
        return self.arcs is not None

    def check_neighbours(self, neighbours: Neighbours) -> None:  # noqa: B027
        """Raise ValueError for whom it cannot protect: before a domain costs."""

    def check_domain(self, domain: Domain) -> None:  # noqa: B027
        """Raise ValueError for columns that it cannot take, as far as they are declared."""

    def forecast(self, domain: Domain, budget: ModelBudget, rows: int) -> Forecast | None:  # noqa: ARG002
        """How noise will show on a table of about so many rows; None if that is not known."""
        return None

    def as_printed(self, domain: Domain, budget: ModelBudget) -> tuple[str, str] | None:  # noqa: ARG002
        """What a paper's formulas give and miss, said beside the total: of the package's learners only."""
        return None
