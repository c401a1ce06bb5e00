"""Base classes of learners and generative models.

Derive from these classes to plug in your own model (docs/how_to/own_model.md).
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
from sdv_plausible.privacy.entries import MODEL_PARTS, LedgerEntry
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.queryable import Queryable, SeedRecords
from sdv_plausible.table.columns.domain import Domain

if TYPE_CHECKING:
    from sdv_plausible.models.forecast import Forecast
    from sdv_plausible.privacy.plausible_seeds import PrefixGroups

SCAN_BLOCK = 256  # candidates per block when likelihoods under all seed records are computed


@dataclass(frozen=True, kw_only=True)
class ModelBudget:
    """Privacy budget of learning a model.

    Parameters
    ----------
    epsilon : float
        Total privacy loss, > 0. ``math.inf`` learns without noise and without a privacy guarantee.
    delta : float
        Failure probability of the guarantee, in [0, 1).
    spent : tuple of Loss
        Losses charged before learning, such as that of a privately learned domain. Together with learning
        they stay within (epsilon, delta).
    neighbours : Neighbours
        Neighbouring relation of the guarantee. It scales the noise, not the charge.
    left : float, optional
        Remaining Gaussian parameter mu, if it was fixed earlier.
    """

    epsilon: float
    delta: float
    spent: tuple[Loss, ...] = ()
    neighbours: Neighbours = ONE_ROW
    left: float | None = None

    def gaussian(self, failure: float = 0.0) -> float:
        """Return the largest Gaussian parameter mu for learning, given losses and a failure probability."""
        if math.isinf(self.epsilon):
            return math.inf
        if self.left is not None:
            return self.left
        return calibrate_gaussian(self.epsilon, self.delta - failure, self.spent)

    def entry(self, what: str) -> LedgerEntry:
        """Return the ledger entry of a learner that spends the whole budget on Gaussian noise."""
        mu = self.gaussian()
        if math.isinf(mu):
            from sdv_plausible.models.count_learning import stage_entry  # lazy: rarely needed

            return stage_entry("model", what, MODEL_PARTS, (), "")
        return LedgerEntry(
            name="model",
            mechanism=f"{what}; discrete Gaussian noise on every cell",
            losses=gaussian_noise(mu),
            scope="the model",
            parts=MODEL_PARTS,
        )


@dataclass(frozen=True, kw_only=True)
class Proposals:
    """Candidate rows, with the data that the privacy tests need.

    Attributes
    ----------
    candidates : ndarray of int, shape (N, m)
        Codes in the domain's column order.
    seeds : ndarray of int64, shape (N,)
        Row number of each candidate's seed record.
    omega : ndarray of int64, shape (N,)
        Number of resampled attributes. The other m - omega are the seed's.
    latents : ndarray, shape (N, l), optional
        Latent point from which each candidate was decoded, for models in a latent space.
    """

    candidates: np.ndarray
    seeds: np.ndarray
    omega: np.ndarray
    latents: np.ndarray | None = None

    def take(self, rows: np.ndarray) -> Proposals:
        """Return the proposals at these positions."""
        return Proposals(
            candidates=self.candidates[rows],
            seeds=self.seeds[rows],
            omega=self.omega[rows],
            latents=None if self.latents is None else self.latents[rows],
        )


class SeedModel(ABC):
    """Generative model that turns a seed record into a candidate, with an exact likelihood.

    Implement :meth:`propose` and :meth:`log_likelihood`. Plausible seeds are then counted by a scan over all
    seed records. If the model keeps the first attributes of a seed and draws the others, derive from
    :class:`PrefixModel`: it needs less code and counts by look-up.
    """

    _seeds: np.ndarray | None = None
    in_latent_space: ClassVar[bool] = False
    """Whether each candidate is decoded from a latent point alone, which the row tests use."""

    def for_row_tests(self) -> SeedModel:
        """Return the model whose candidates the row tests use: by default this one."""
        return self

    @property
    @abstractmethod
    def num_attributes(self) -> int:
        """Number m of attributes."""

    @property
    def num_latent(self) -> int:
        """Number of latent dimensions; 0 for models without a latent space."""
        return 0

    @property
    def order(self) -> tuple[int, ...]:
        """Resampling order sigma, as column numbers."""
        return tuple(range(self.num_attributes))

    @abstractmethod
    def propose(self, rows: np.ndarray, omega: np.ndarray, rng: KeyedRNG) -> Proposals:
        """Draw one candidate per seed row number (N,), resampling ``omega`` (N,) attributes."""

    @abstractmethod
    def log_likelihood(self, proposals: Proposals, rows: np.ndarray) -> np.ndarray:
        """Return log Pr[candidate i = M(seed rows[j]) | omega_i], shape (N, len(rows)); -inf is allowed."""

    def attach_seeds(self, seeds: SeedRecords) -> None:
        """Set the seed records from which proposals start."""
        self._seeds = np.asfortranarray(seeds.codes)

    @property
    def seeds(self) -> np.ndarray:
        """Codes of the seed records, shape (n_s, m).

        Raises
        ------
        RuntimeError
            If no seeds are attached; call :meth:`attach_seeds` first.
        """
        if self._seeds is None:
            raise RuntimeError("attach_seeds comes before what needs the seed records")
        return self._seeds

    def count_plausible(self, proposals: Proposals, gamma: float) -> np.ndarray:
        """Return the number k' of plausible seeds of each proposal, (N,), by a full scan (section 2)."""
        from sdv_plausible.privacy.plausible_seeds import scan_plausible_seeds

        counts = np.empty(len(proposals.seeds), dtype=np.int64)
        for start in range(0, len(counts), SCAN_BLOCK):
            block = proposals.take(np.arange(start, min(start + SCAN_BLOCK, len(counts))))
            seeds, inverse = np.unique(block.seeds, return_inverse=True)
            own = self.log_likelihood(block, seeds)[np.arange(len(inverse)), inverse]
            counts[start : start + SCAN_BLOCK] = scan_plausible_seeds(
                partial(self.log_likelihood, block), own, len(self.seeds), gamma=gamma
            )
        return counts


class PrefixModel(SeedModel):
    """Model that keeps the seed's first m - omega values and draws the rest (section 3.2).

    The likelihood of a candidate depends on a record only through whether they share the kept values
    (docs/explanation/proofs/prefix_groups.md). Plausible seeds are therefore prefix groups, counted by
    look-up, and all seeds of a group are equally likely.

    Implement :attr:`cardinalities`, :meth:`complete` and :meth:`log_completion`.
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
        self, codes: np.ndarray, kept: np.ndarray | int, rng: KeyedRNG, *, systematic: bool = False
    ) -> np.ndarray:
        """Draw, in place, the attributes of each record (N, m) after the first ``kept`` ones in the order.

        With ``systematic=True`` draws may depend on each other; each draw keeps its own distribution.
        """

    @abstractmethod
    def log_completion(self, candidates: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """Return the log probability of each candidate given its first ``kept`` values, (N,)."""

    def complete_given(
        self, codes: np.ndarray, kept: int, known: Mapping[int, int | np.ndarray], rng: KeyedRNG
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw as :meth:`complete` with some codes fixed; return the records and their log weights (N,).

        ``known`` maps a column to one code for all records or to one per record. This default draws every
        attribute and gives weight 0 to records that contradict the fixed codes.
        """
        codes = self.complete(codes, kept, rng)
        is_consistent = np.ones(len(codes), dtype=bool)
        for column, code in known.items():
            is_consistent &= codes[:, column] == code
        return codes, np.where(is_consistent, 0.0, -np.inf)

    def max_log_weight(self, known: Mapping[int, np.ndarray], kept: int) -> np.ndarray:  # noqa: ARG002
        """Return an upper bound on the log weight of :meth:`complete_given` for these fixed codes, (N,)."""
        return np.zeros(len(next(iter(known.values()))))

    def sample(self, num_rows: int, rng: KeyedRNG) -> np.ndarray:
        """Draw records without seeds, int32 codes (num_rows, m)."""
        return self.complete(np.zeros((num_rows, self.num_attributes), dtype=np.int32, order="F"), 0, rng)

    def attach_seeds(self, seeds: SeedRecords) -> None:
        """Set the seed records from which proposals start, and index their prefix groups."""
        from sdv_plausible.privacy.plausible_seeds import PrefixGroups

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
            If no seeds are attached.
        """
        if self._groups is None:
            raise RuntimeError(
                "attach_seeds comes before count_plausible: there are no seed records to look up"
            )
        return self._groups

    def propose(self, rows: np.ndarray, omega: np.ndarray, rng: KeyedRNG) -> Proposals:
        """Draw one candidate per seed row number (N,), each with its own omega (N,)."""
        candidates = np.zeros((len(rows), self.num_attributes), dtype=np.int32, order="F")
        for column in self.order[: self.num_attributes - int(omega.min(initial=self.num_attributes))]:
            candidates[:, column] = self.seeds[rows, column]
        self.complete(candidates, self.num_attributes - omega, rng)
        return Proposals(candidates=candidates, seeds=rows, omega=omega)

    def log_likelihood(self, proposals: Proposals, rows: np.ndarray) -> np.ndarray:
        """Return log Pr[candidate = M(seed) | omega] for seed row numbers (s,), shape (N, s)."""
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
        """Return the size of each proposal's prefix group; gamma has no effect when omega is known."""
        groups, kept = self.groups, self.num_attributes - proposals.omega
        lengths = np.flatnonzero(np.bincount(kept, minlength=1))
        candidates = (
            proposals.candidates[:, self.order[: lengths[-1]]] if len(lengths) else proposals.candidates
        )
        if len(lengths) == 1:
            return groups.sizes(candidates, int(lengths[0]))
        counts = np.zeros(len(candidates), dtype=np.int64)
        for length in lengths:
            rows = np.flatnonzero(kept == length)
            counts[rows] = groups.sizes(candidates[rows], int(length))
        return counts


class Learner(ABC):
    """Learns a :class:`SeedModel` from noisy answers, within a budget; the base class of all learners.

    Implement :meth:`plan` and :meth:`fit`. All other attributes have defaults.
    """

    makes: ClassVar[type] = SeedModel
    """Class of the fitted models. Only a :class:`PrefixModel` supports the release test."""
    split: tuple[float, float, float] | None = None
    """Shares of the rows for structure, parameters and seeds. None uses every row for all three."""
    parts_apart: ClassVar[bool] = False
    """Whether each entry covers the rows of its own part only. Honoured for built-in learners only."""
    looks_at_records: ClassVar[bool] = False
    """Whether the learner needs records instead of counts. Such a learner cannot fit partitioned tables."""
    takes_public: ClassVar[bool] = False
    """Whether the learner is a dataclass with a field ``public``, which fitting sets to public codes."""
    public: Any = None

    @abstractmethod
    def plan(self, domain: Domain, budget: ModelBudget) -> list[LedgerEntry]:
        """Return the ledger entries of learning, from the domain and the budget alone."""

    @abstractmethod
    def fit(self, rows: Queryable, domain: Domain, budget: ModelBudget, rng: KeyedRNG) -> SeedModel:
        """Learn a model from queries that the charged entries of :meth:`plan` pay for."""

    @property
    def looks_at_pairs(self) -> bool:
        """Whether the learner considers all pairs of columns, which limits the number of columns."""
        return False

    @property
    def arcs(self) -> Mapping[str, Sequence[str]] | None:
        """Declared parents of each column, by name; None if the structure is learned."""
        return None

    @property
    def names_columns(self) -> bool:
        """Whether the learner refers to columns by name, so that none may be split or dropped."""
        return self.arcs is not None

    def check_neighbours(self, neighbours: Neighbours) -> None:  # noqa: B027
        """Raise ValueError if the neighbouring relation is not supported, before any budget is spent."""

    def check_domain(self, domain: Domain) -> None:  # noqa: B027
        """Raise ValueError for unsupported columns, as far as they are declared."""

    def forecast(self, domain: Domain, budget: ModelBudget, rows: int) -> Forecast | None:  # noqa: ARG002
        """Return the expected effect of noise on a table of about ``rows`` rows, or None if unknown."""
        return None

    def as_printed(self, domain: Domain, budget: ModelBudget) -> tuple[str, str] | None:  # noqa: ARG002
        """Return what a paper's formulas state and what they omit, for the ledger; built-in learners only."""
        return None
