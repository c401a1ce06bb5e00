"""The query interface of a table: learners hold a :class:`Queryable` and never the rows."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.losses import InfiniteLoss, ReleaseLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.budget_tracker import BudgetTracker, QueryBudget
from sdv_plausible.queries.count_queries import (
    Axes,
    CountTable,
    NumberOfRows,
    Query,
    QueryRecord,
    num_charges,
)
from sdv_plausible.queries.partition_selection import (
    LEAST_HOLDERS,
    FrequentValueCounts,
    GroupRelease,
    OccurringValues,
    threshold,
)
from sdv_plausible.queries.transcript import ALL_ROWS, Noise, Transcript, query_record

AnswerT = TypeVar("AnswerT")
MANY_TABLES = 64  # from this many tables of one share on, one sampler call is faster than one per table


def noise_groups(shares: Sequence[float]) -> list[list[int]]:
    """Group positions of tables that share one noise call, in call order."""
    equal: dict[float, list[int]] = defaultdict(list)
    for i, share in enumerate(shares):
        equal[share].append(i)
    groups: list[list[int]] = []
    for positions in equal.values():
        groups += [positions] if len(positions) >= MANY_TABLES else [[i] for i in positions]
    return groups


@dataclass(frozen=True, kw_only=True)
class NoisyValues:
    """A noisy answer."""

    values: np.ndarray  # multiples of the granularity
    sigma: float  # noise parameter of every value: sigma, or b of Laplace noise; 0 without noise
    granularity: float = 1.0  # spacing of the noise's values


class QuerySession:
    """Rows with a charged privacy budget, and the noise for their answers; base of :class:`Queryable`."""

    def __init__(
        self,
        rows: Any,
        ledger: PrivacyLedger,
        entries: Iterable[LedgerEntry],
        rng: KeyedRNG,
        parts: Mapping[str, Any] | None = None,
        transcript: Transcript | None = None,
        name: str = ALL_ROWS,
    ) -> None:
        charged = tuple(entries)
        ledger.charge(*charged)
        self._rows, self._ledger, self._rng = rows, ledger, rng
        self._meter = BudgetTracker(QueryBudget.of(charged))
        self._parts = dict(parts or {})
        self._transcript, self._name = transcript or Transcript(), name
        self._paid_by = tuple(entry.name for entry in charged)
        self._test_entries = {entry.name for entry in charged if entry.losses and entry.parts == ("seeds",)}

    @property
    def neighbours(self) -> Neighbours:
        """Neighbour relation of the guarantee."""
        return self._ledger.neighbours

    @property
    def allowance(self) -> QueryBudget:
        """Privacy budget of all queries together."""
        return self._meter.allowance

    def report(self, words: str) -> None:
        """Report a learner's progress to the data owner. It has no effect on the answers."""
        self._transcript.report(words)

    def sigma(self, share: float) -> float:
        """Noise deviation of a count table for a share of mu^2; 0 without a guarantee."""
        return self.allowance.sigma(share, self.neighbours.histogram_l2)

    def _give(self, asked: QueryRecord | None, answer: AnswerT, law: Noise = "discrete gaussian") -> AnswerT:
        """Record an answer and return it: the last step of every query method."""
        if asked is not None and isinstance(answer, (NoisyValues, FrequentValueCounts)):
            if isinstance(answer, FrequentValueCounts):
                # A value may be a tuple (flag, value).
                values_found = tuple(v[1] if isinstance(v, tuple) else v for v in answer.values)
                asked = replace(asked, details={**asked.details, "found": values_found})
                values = np.concatenate([answer.public, answer.counts])
            else:
                values = answer.values
            self._transcript.note(
                asked, values, answer.sigma, paid_by=self._paid_by, rows=self._name, noise=law,
                granularity=answer.granularity,
            )  # fmt: skip
        return answer

    def _noisy(self, exact: np.ndarray, sensitivity: float, share: float) -> NoisyValues:
        """Add discrete Gaussian noise of sigma = sensitivity / (mu sqrt(share)) to an exact answer.

        For large shares sigma is a little larger. The share was spent before. Without a
        guarantee, the answer stays exact.
        """
        if not self.allowance.is_private:
            return NoisyValues(values=exact.astype(float), sigma=0.0)
        sigma, rho = self.allowance.sigma(share, sensitivity), self.allowance.mu**2 * share / 2
        if self.allowance.rate is not None:  # answers of more than one charged piece need a little more noise
            rho = (sensitivity / sigma) ** 2 / 2
        rng = self._rng.spawn("answer", self._meter.next_answer())
        step = self.allowance.granularity(share, sensitivity)
        noisy = noise.discrete_gaussian(exact, sensitivity=sensitivity, rho=rho, rng=rng, granularity=step)
        return NoisyValues(values=noisy.astype(float), sigma=sigma, granularity=step)


__all__ = ["MANY_TABLES", "NoisyValues", "Queryable", "SeedRecords"]


@dataclass(frozen=True)
class SeedRecords:
    """Raw seed records, held only by Mechanism 1's row-by-row privacy tests.

    Saving them saves personal data.
    """

    codes: np.ndarray  # shape (n_s, m), in column order

    def __len__(self) -> int:
        return len(self.codes)


class Queryable(QuerySession):
    """Rows that answer queries with noise, within the privacy budget that ledger entries have paid for.

    Parameters
    ----------
    rows : object
        An engine for exact answers, such as :class:`~sdv_plausible.queries.count_queries.CodeArray`.
    ledger : PrivacyLedger
        Charged with ``entries`` at construction. Its neighbour relation applies to every answer.
    entries : iterable of LedgerEntry
        The privacy budget of all queries together.
    rng : KeyedRNG
        Random stream. If it is secret, noise is drawn by OpenDP from the operating system's entropy, and the
        stream only chooses samples and parts of the rows. If it is reproducible, it is the source of the
        noise too, and there is no guarantee.
    parts : mapping of str to engine
        Named parts of the rows, for :meth:`part`. Without a split, each part is all rows.
    transcript : Transcript, optional
        Records the noisy answers.
    name : str
        Name of these rows in the transcript.

    Raises
    ------
    BudgetExceededError
        If the entries exceed the ledger's limit.
    """

    def part(self, name: str) -> Queryable:
        """Return a view of one part of the rows that shares this budget.

        Parameters
        ----------
        name : str
            The part, "structure" or "parameters". An unknown name returns this object.
        """
        if name not in self._parts:
            return self
        view = object.__new__(type(self))  # keeps subclasses that record queries
        view.__dict__.update(self.__dict__)
        view._rows = self._parts[name]
        if view._rows is not self._rows:
            view._name = name
        return view

    # --- noisy answers ----------------------------------------------------------------------------
    def ask(self, question: Query[Any], share: float, failure: float = 0.0) -> NoisyValues:
        """Answer a query with discrete Gaussian noise on every entry, for a share of mu^2.

        Here mu is the Gaussian budget that the entries paid for (``allowance.mu``). All shares add up to 1 at
        most.

        Parameters
        ----------
        question : Query
            The query.
        share : float
            Share of mu^2, > 0.
        failure : float
            Failure probability of a bound derived from the answer; spent from the budget.

        Returns
        -------
        NoisyValues
            Noisy values of the exact answer's shape, and the noise's standard deviation.

        Raises
        ------
        BudgetExceededError
            If less than the share is left. The rows are not read then.
        """
        self._meter.spend(share=share, failure=failure, parts=num_charges(question))
        answer = self._noisy(question.exact(self._rows), question.sensitivity(self.neighbours), share)
        return self._give(query_record(question), answer)

    def ask_tables(self, sets: Sequence[Axes], shares: Sequence[float]) -> list[NoisyValues]:
        """Answer several count tables in one pass over the rows, each for its own share of mu^2.

        Parameters
        ----------
        sets : sequence of sequences of Axis
            Axes of each table.
        shares : sequence of float
            Share of mu^2 for each table, > 0.

        Returns
        -------
        list of NoisyValues
            One noisy table per set, in the axes' shape.

        Raises
        ------
        BudgetExceededError
            If less than the sum of the shares is left. The rows are not read then.
        """
        if len(sets) != len(shares):
            raise ValueError(f"shares ({len(shares)}) must be as many as sets ({len(sets)}): one for each")
        self._meter.spend(share=shares)
        queries = [CountTable(axes) for axes in sets]
        exact = list(self._rows.tables(sets))
        sensitivities = [query.sensitivity(self.neighbours) for query in queries]
        answers: dict[int, NoisyValues] = {}
        for positions in noise_groups(shares):
            share, sensitivity = shares[positions[0]], max(sensitivities[i] for i in positions)
            if len(positions) == 1:
                answers[positions[0]] = self._noisy(exact[positions[0]], sensitivity, share)
            else:
                noisy = self._noisy_tables([exact[i] for i in positions], sensitivity, share)
                answers |= dict(zip(positions, noisy, strict=True))
        return [self._give(query.asked(), answers[i]) for i, query in enumerate(queries)]

    def _noisy_tables(
        self, tables: Sequence[np.ndarray], sensitivity: float, share: float
    ) -> Iterator[NoisyValues]:
        """Add noise to k tables of equal shares as one vector."""
        # One unit moves the vector by at most sqrt(k) times the sensitivity of a table, and the vector has k
        # shares: the noise on a cell has the same deviation as for a single table.
        k = len(tables)
        flat = self._noisy(np.concatenate([t.ravel() for t in tables]), sensitivity * math.sqrt(k), share * k)
        parts = np.split(flat.values, np.cumsum([t.size for t in tables])[:-1])
        for table, values in zip(tables, parts, strict=True):
            yield replace(flat, values=values.reshape(table.shape))

    def choose(self, question: Query[Any]) -> int:
        """Choose the largest entry of an answer by the exponential mechanism, for one charged choice.

        Parameters
        ----------
        question : Query
            A query with one score per candidate. Its ``sensitivity``, an integer, bounds how far one unit
            moves any score.

        Returns
        -------
        int
            Position of the chosen score.

        Raises
        ------
        ValueError
            If the sensitivity is not an integer. The rows are not read then.
        BudgetExceededError
            If no choice is left.
        """
        bound = question.sensitivity(self.neighbours)
        bound = int(bound) if float(bound).is_integer() else bound
        sensitivity = check.whole("sensitivity", bound, 1, "round up what any score moves by")
        self._meter.spend_choice()
        scores = question.exact(self._rows)
        if not self.allowance.is_private:
            return int(np.argmax(scores))
        chosen = noise.exponential_choice(
            scores,
            sensitivity=sensitivity,
            epsilon=self.allowance.choice,
            rng=self._rng.spawn("choice", self._meter.next_answer()),
        )
        return self._give(None, chosen)  # not recorded: the next recorded query reveals the choice

    def ask_frequent(self, question: OccurringValues, share: float, failure: float) -> FrequentValueCounts:
        """Select frequent values: values that enough units hold and whose noisy count passes a threshold.

        Parameters
        ----------
        question : OccurringValues
            The query.
        share : float
            Share of mu^2 for the noise.
        failure : float
            Probability that noise alone lifts any value of one unit over the threshold.

        Returns
        -------
        FrequentValueCounts
            The selected values and their noisy counts.
        """
        self._meter.spend(share=share, failure=failure)
        values, counts, public = question.occurring(self._rows)
        candidates = np.flatnonzero(counts >= self.neighbours.rows_of(LEAST_HOLDERS))
        answer = self._noisy(
            np.concatenate([public, counts[candidates]]), self.neighbours.histogram_l2, share
        )
        noisy = answer.values[len(public) :]
        passed = np.ones(len(candidates), dtype=bool)
        if self.allowance.is_private:
            passed = noisy >= threshold(answer.sigma, failure, self.neighbours)
        frequent = FrequentValueCounts(
            values=[values[i] for i in candidates[passed]],
            counts=noisy[passed],
            public=answer.values[: len(public)],
            sigma=answer.sigma,
            granularity=answer.granularity,
        )
        return self._give(query_record(question), frequent)

    def count_rows(self, epsilon: float, failure: float) -> int:
        """Return the number of rows with discrete Laplace noise.

        Parameters
        ----------
        epsilon : float
            Privacy loss of the count, > 0.
        failure : float
            Failure probability of a bound derived from the count; spent from the budget.

        Returns
        -------
        int
            The noisy number; it may be negative.
        """
        self._meter.spend(epsilon=epsilon, failure=failure)
        question, b = NumberOfRows(), 0.0
        count = question.exact(self._rows)
        if self.allowance.is_private:
            b = self.neighbours.rows / epsilon
            count = noise.discrete_laplace(
                count, sensitivity=self.neighbours.rows, epsilon=epsilon, rng=self._rng
            )
        return int(
            self._give(question.asked(), NoisyValues(values=count, sigma=b), "discrete laplace").values[0]
        )

    def ask_laplace(self, question: Any, epsilon: float, failure: float = 0.0) -> NoisyValues:
        """Answer a query with discrete Laplace noise on every entry, for an epsilon.

        Parameters
        ----------
        question : Query
            The query. Its ``l1(neighbours)`` is the integer L1 sensitivity of the whole answer.
        epsilon : float
            Privacy loss of the whole answer, > 0.
        failure : float
            Failure probability of a bound derived from the answer; spent from the budget.

        Returns
        -------
        NoisyValues
            The noisy answer. Its ``sigma`` is the noise's scale b = sensitivity / epsilon.
        """
        self._meter.spend(epsilon=epsilon, failure=failure, parts=num_charges(question))
        values, scale = np.asarray(question.exact(self._rows)), 0.0
        if self.allowance.is_private:
            sensitivity = question.l1(self.neighbours)
            rng = self._rng.spawn("answer", self._meter.next_answer())
            scale = sensitivity / epsilon
            values = noise.discrete_laplace(values, sensitivity=sensitivity, epsilon=epsilon, rng=rng)
        answer = NoisyValues(values=values.astype(float), sigma=scale)
        return self._give(query_record(question), answer, "discrete laplace")

    def ask_sampled(self, question: Query[Any], rate: float) -> NoisyValues:
        """Answer a query on a fresh Poisson sample of the rows, for one charged sum over samples.

        Parameters
        ----------
        question : Query
            The query on the sample. Every entry gets discrete Gaussian noise, as charged.
        rate : float
            Probability that a row is in the sample, independently of the others; at most the charged rate.

        Raises
        ------
        BudgetExceededError
            If no sum is left, or the rate exceeds the charged one. The rows are not read then.
        ValueError
            If the privacy unit is a person, or units are replaced: the loss is proved only for adding or
            removing one row.
        """
        sensitivity = question.sensitivity(self.neighbours)
        if self.neighbours != ONE_ROW:
            raise ValueError(
                "sums over samples only support the addition or removal of single rows, not the "
                f"{self.neighbours.relation}: remove person and neighbours, or use another model"
            )
        self._meter.spend_sum(rate)
        number = self._meter.next_answer()
        exact = question.exact(self._rows.part(0.0, rate, self._rng.spawn("sample", number)))
        charged = self.allowance.sampled
        if charged is None:  # no claim
            return NoisyValues(values=exact.astype(float), sigma=0.0)
        noisy = noise.discrete_gaussian(
            exact,
            sensitivity=sensitivity,
            rho=charged.sensitivity_over_sigma**2 / 2,
            rng=self._rng.spawn("answer", number),
        )
        answer = NoisyValues(values=noisy.astype(float), sigma=sensitivity / charged.sensitivity_over_sigma)
        return self._give(None, answer)  # not recorded

    def release_groups(
        self, sets: Sequence[Sequence[int]], test: GroupRelease
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Release large groups of rows with equal codes, by a test whose loss was charged.

        Every row belongs to one of the sets of columns, by a secret random draw that ignores its values. So
        a row changes one group of one set, and all sets together cost as much as one.

        Parameters
        ----------
        sets : sequence of sequences of int
            Column numbers. An empty set has one combination, which is released without reading the rows.
        test : GroupRelease
            Selects the groups and draws their noisy sizes.

        Returns
        -------
        list of (ndarray of int, ndarray of int64)
            For each set the released combinations, shape (g, columns), and their noisy sizes, shape (g,).
        """
        if test.neighbours != self.neighbours:
            raise ValueError(
                f"test: its noise is for the {test.neighbours.relation}, but the ledger protects the "
                f"{self.neighbours.relation}: use the same neighbours"
            )
        l1 = self.neighbours.histogram_l1
        self._meter.spend_release(ReleaseLoss(epsilon0=test.epsilon0, delta=test.delta, l1=l1))
        released = []
        for i, columns in enumerate(sets):
            if not columns:
                released.append((np.empty((1, 0), dtype=np.int32), np.ones(1, dtype=np.int64)))
                continue
            part = self._rows.part(i / len(sets), (i + 1) / len(sets), self._rng.spawn("set of columns"))
            groups, sizes = part.groups(columns, test.least_seeds)
            selected, noisy_sizes = test.release(sizes, self._rng.spawn("sizes", i))
            released.append((groups[selected], noisy_sizes))
        return self._give(None, released)  # not recorded: the caller stores the released prefixes

    # --- the rows themselves ----------------------------------------------------------------------

    def seed_records(self, paid_for: str) -> SeedRecords:
        """Return the seed records for a row-by-row privacy test whose entry was charged.

        Parameters
        ----------
        paid_for : str
            Name of the entry that charges the test.

        Returns
        -------
        SeedRecords
            Codes of all rows.

        Raises
        ------
        ValueError
            If there is no such entry.
        """
        if paid_for not in self._test_entries:
            raise ValueError(
                f"no entry {paid_for!r} of a privacy test (parts seeds) with a loss opened this query "
                "session: charge it before records are returned"
            )
        return SeedRecords(self._rows.records())

    def raw_rows(self, why: str) -> np.ndarray:
        """Return the codes of all rows for a model that cannot learn from noisy answers.

        The release then has no privacy guarantee.

        Parameters
        ----------
        why : str
            Purpose, for the ledger entry, which is charged before the rows are returned.

        Returns
        -------
        ndarray of int, shape (n, m)
            Codes of the n rows in the m columns.
        """
        self._ledger.charge(
            LedgerEntry(
                name="model",
                mechanism=f"raw rows: {why}",
                losses=(InfiniteLoss(),),
                scope="the model",
                parts=("structure", "parameters"),
                note=(
                    f"the model learned from the rows without noise ({why}): use a model that learns from "
                    "noisy answers"
                ),
            )
        )
        return np.asarray(self._rows.records())
