"""What may be asked of the rows: whoever learns holds a :class:`Queryable` and never the rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.losses import InfiniteLoss, ReleaseLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.neighbours import ONE_ROW
from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.queries.count_queries import Axes, CountTable, NumberOfRows, Query, numbers_apart
from sdv_plausible.queries.partition_selection import (
    LEAST_HOLDERS,
    FrequentValueCounts,
    GroupRelease,
    OccurringValues,
    threshold,
)
from sdv_plausible.queries.query_session import MANY_TABLES, NoisyValues, QuerySession, noise_groups
from sdv_plausible.queries.transcript import describe

__all__ = ["MANY_TABLES", "NoisyValues", "Queryable", "SeedRecords"]


@dataclass(frozen=True)
class SeedRecords:
    """Records of the table, held by Mechanism 1's row-by-row tests and by nothing else.

    Whoever saves it saves people.
    """

    codes: np.ndarray  # shape (n_s, m): seed records, in column order

    def __len__(self) -> int:
        return len(self.codes)


class Queryable(QuerySession):
    """Rows that can be asked, within what ledger entries have paid for.

    Parameters
    ----------
    rows : object
        An engine of exact answers, such as :class:`~sdv_plausible.queries.coded_rows.CodeArray`.
    ledger : PrivacyLedger
        Where ``entries`` are charged, now. Its neighbours are those of every answer.
    entries : iterable of LedgerEntry
        What all questions together may cost.
    coins : Coins
        Source of the noise.
    parts : mapping of str to engine
        Named parts of the rows, for :meth:`part`; the same rows where there is no split.
    transcript : Transcript, optional
        Where noisy answers are written down.
    name : str
        Which rows these are, for the transcript.

    Raises
    ------
    BudgetExceededError
        If the ledger has a limit that the entries exceed.
    """

    def part(self, name: str) -> Queryable:
        """Return a part of the rows ("structure" or "parameters"), asked out of the same budget."""
        if name not in self._parts:
            return self
        view = object.__new__(type(self))  # who listens hears the parts too
        view.__dict__.update(self.__dict__)
        view._rows = self._parts[name]
        if view._rows is not self._rows:
            view._name = name
        return view

    # --- asking -----------------------------------------------------------------------------------

    def ask(self, question: Query[Any], share: float, failure: float = 0.0) -> NoisyValues:
        """Ask for a share of mu^2: discrete Gaussian noise on every entry of the exact answer.

        Parameters
        ----------
        question : Question
            What to ask.
        share : float
            Share of mu^2, > 0.
        failure : float
            Probability, charged as well, that what is made of the answer fails, such as a bound.

        Raises
        ------
        BudgetExceededError
            If less than the share is left. Nothing is looked at then.
        """
        self._meter.spend(share=share, failure=failure, parts=numbers_apart(question))
        answer = self._noisy(question.exact(self._rows), question.sensitivity(self.neighbours), share)
        return self._give(describe(question), answer)

    def ask_tables(self, sets: Sequence[Axes], shares: Sequence[float]) -> list[NoisyValues]:
        """Ask for several tables of counts, each for a share of its own, in one pass over the rows."""
        if len(sets) != len(shares):
            raise ValueError(f"shares ({len(shares)}) must be as many as sets ({len(sets)}): one for each")
        self._meter.spend(share=shares)
        questions = [CountTable(axes) for axes in sets]
        exact = list(self._rows.tables(sets))
        moved = [question.sensitivity(self.neighbours) for question in questions]
        answers: dict[int, NoisyValues] = {}
        for same in noise_groups(shares):
            share, most = shares[same[0]], max(moved[i] for i in same)
            if len(same) == 1:
                answers[same[0]] = self._noisy(exact[same[0]], most, share)
            else:
                found = self._noisy_tables([exact[i] for i in same], most, share)
                answers |= dict(zip(same, found, strict=True))
        return [self._give(question.asked(), answers[i]) for i, question in enumerate(questions)]

    def _noisy_tables(
        self, tables: Sequence[np.ndarray], moved: float, share: float
    ) -> Iterator[NoisyValues]:
        """Noise for k tables of equal shares as one vector."""
        # A unit moves the vector by sqrt(k) times what it moves a table by at most (``moved``), and the
        # vector has k shares: every cell's noise has the deviation that it would have by itself.
        k = len(tables)
        flat = self._noisy(np.concatenate([t.ravel() for t in tables]), moved * math.sqrt(k), share * k)
        parts = np.split(flat.values, np.cumsum([t.size for t in tables])[:-1])
        for table, values in zip(tables, parts, strict=True):
            yield replace(flat, values=values.reshape(table.shape))

    def choose(self, question: Query[Any]) -> int:
        """Choose the largest number of an answer, by the exponential mechanism, for one charged choice.

        Parameters
        ----------
        question : Question
            One score for each candidate; its ``sensitivity`` is the most that any one of them moves, whole.

        Raises
        ------
        ValueError
            If that is no whole number. Nothing is looked at then.
        """
        moved = question.sensitivity(self.neighbours)
        whole = int(moved) if float(moved).is_integer() else moved
        sensitivity = check.whole("sensitivity", whole, 1, "round up what any score moves by")
        self._meter.spend_choice()
        scores = question.exact(self._rows)
        if not self.allowance.is_private:
            return int(np.argmax(scores))
        chosen = noise.exponential_choice(
            scores,
            sensitivity=sensitivity,
            epsilon=self.allowance.choice,
            coins=self._coins.spawn("choice", self._meter.next_answer()),
        )
        return self._give(None, chosen)  # what is asked next, and is written down, follows from it

    def ask_frequent(self, question: OccurringValues, share: float, failure: float) -> FrequentValueCounts:
        """Ask for values that occur: of those that enough units hold, those that noisily pass a threshold.

        Parameters
        ----------
        question : Occurring
            What to ask.
        share : float
            Share of mu^2 for the noise.
        failure : float
            Probability that noise alone lifts any value of one unit over the threshold.
        """
        self._meter.spend(share=share, failure=failure)
        values, counts, public = question.occurring(self._rows)
        enough = np.flatnonzero(counts >= self.neighbours.rows_of(LEAST_HOLDERS))
        answer = self._noisy(np.concatenate([public, counts[enough]]), self.neighbours.histogram_l2, share)
        noisy = answer.values[len(public) :]
        passed = np.ones(len(enough), dtype=bool)
        if self.allowance.is_private:
            passed = noisy >= threshold(answer.sigma, failure, self.neighbours)
        found = FrequentValueCounts(
            values=[values[i] for i in enough[passed]],
            counts=noisy[passed],
            public=answer.values[: len(public)],
            sigma=answer.sigma,
            granularity=answer.granularity,
        )
        return self._give(describe(question), found)

    def count_rows(self, epsilon: float, failure: float) -> int:
        """Number of rows with discrete Laplace noise.

        Parameters
        ----------
        epsilon : float
            Its loss.
        failure : float
            Probability that what is made of it fails.
        """
        self._meter.spend(epsilon=epsilon, failure=failure)
        question, b = NumberOfRows(), 0.0
        found = question.exact(self._rows)
        if self.allowance.is_private:
            b = self.neighbours.rows / epsilon
            found = noise.discrete_laplace(
                found, sensitivity=self.neighbours.rows, epsilon=epsilon, coins=self._coins
            )
        return int(
            self._give(question.asked(), NoisyValues(values=found, sigma=b), "discrete laplace").values[0]
        )

    def ask_laplace(self, question: Any, epsilon: float, failure: float = 0.0) -> NoisyValues:
        """Ask for an epsilon: discrete Laplace noise on every entry of the exact answer.

        Parameters
        ----------
        question : Question
            What to ask; its ``l1(neighbours)`` is the L1 sensitivity of the whole answer, a whole number.
        epsilon : float
            Loss of the whole answer.
        failure : float
            Probability, charged as well, that what is made of the answer fails.
        """
        self._meter.spend(epsilon=epsilon, failure=failure, parts=numbers_apart(question))
        found, scale = np.asarray(question.exact(self._rows)), 0.0
        if self.allowance.is_private:
            moved = question.l1(self.neighbours)
            coins = self._coins.spawn("answer", self._meter.next_answer())
            scale = moved / epsilon
            found = noise.discrete_laplace(found, sensitivity=moved, epsilon=epsilon, coins=coins)
        answer = NoisyValues(values=found.astype(float), sigma=scale)
        return self._give(describe(question), answer, "discrete laplace")

    def ask_sampled(self, question: Query[Any], rate: float) -> NoisyValues:
        """Ask of a fresh sample of the rows, each in it by itself, for one charged sum over samples.

        Parameters
        ----------
        question : Question
            What to ask of the sample; discrete Gaussian noise, as charged, is added to every entry.
        rate : float
            Probability that a row is in the sample, at most the one that was charged.

        Raises
        ------
        BudgetExceededError
            If no sum is left, or the rate is higher. Nothing is looked at then.
        ValueError
            If people or replaced rows are protected: the loss is proved for a row added or removed.
        """
        moved = question.sensitivity(self.neighbours)
        if self.neighbours != ONE_ROW:
            raise ValueError(
                f"sums over samples are accounted for single rows added or removed, not for the "
                f"{self.neighbours.relation}: leave out person and neighbours, or use another model"
            )
        self._meter.spend_sum(rate)
        number = self._meter.next_answer()
        exact = question.exact(self._rows.part(0.0, rate, self._coins.spawn("sample", number)))
        paid = self.allowance.sampled
        if paid is None:  # no claim
            return NoisyValues(values=exact.astype(float), sigma=0.0)
        noisy = noise.discrete_gaussian(
            exact,
            sensitivity=moved,
            rho=paid.sensitivity_over_sigma**2 / 2,
            coins=self._coins.spawn("answer", number),
        )
        answer = NoisyValues(values=noisy.astype(float), sigma=moved / paid.sensitivity_over_sigma)
        return self._give(None, answer)  # of no use to anybody else: not written down

    def release_groups(
        self, sets: Sequence[Sequence[int]], test: GroupRelease
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Ask which combinations of codes large groups of rows share, by a test that charges for itself.

        Every row belongs to one of the sets of columns, by a secret draw that does not look at its values: a
        row changes one group of one set, and all of them together cost what one costs.

        Parameters
        ----------
        sets : sequence of sequences of int
            Column numbers; of no columns there is one combination, released without a look.
        test : GroupRelease
            Chooses the groups and draws their sizes.

        Returns
        -------
        list of (ndarray of int, ndarray of int64)
            For each set the released combinations, (g, columns), and their noisy sizes, (g,).
        """
        if test.neighbours != self.neighbours:
            raise ValueError(
                f"test: its noise is for the {test.neighbours.relation}, and the ledger protects the "
                f"{self.neighbours.relation}: bind it to the same"
            )
        l1 = self.neighbours.histogram_l1
        self._meter.spend_release(ReleaseLoss(epsilon0=test.epsilon0, delta=test.delta, l1=l1))
        released = []
        for i, columns in enumerate(sets):
            if not columns:
                released.append((np.empty((1, 0), dtype=np.int32), np.ones(1, dtype=np.int64)))
                continue
            part = self._rows.part(i / len(sets), (i + 1) / len(sets), self._coins.spawn("set of columns"))
            groups, sizes = part.groups(columns, test.least_seeds)
            which, noisy = test.release(sizes, self._coins.spawn("sizes", i))
            released.append((groups[which], noisy))
        return self._give(None, released)  # the released prefixes themselves are kept by who asked

    # --- the rows themselves ----------------------------------------------------------------------

    def seed_records(self, paid_for: str) -> SeedRecords:
        """Records for a row-by-row privacy test, whose own entry must have opened this door.

        Parameters
        ----------
        paid_for : str
            Name of the entry that charges what is done with them.

        Raises
        ------
        ValueError
            If there is no such entry.
        """
        if paid_for not in self._of_test:
            raise ValueError(
                f"no entry {paid_for!r} of a privacy test (parts seeds) with a loss has opened this door: "
                "charge it before records are handed out"
            )
        return SeedRecords(self._rows.records())

    def raw_rows(self, why: str) -> np.ndarray:
        """Codes of all rows, (n, m), for a model that cannot learn from answers.

        The release then makes no claim.

        Parameters
        ----------
        why : str
            What is done with them; it goes into the ledger, first.
        """
        self._ledger.charge(
            LedgerEntry(
                name="model",
                mechanism=f"raw rows: {why}",
                losses=(InfiniteLoss(),),
                scope="the model",
                parts=("structure", "parameters"),
                note=(
                    f"the rows themselves were handed out ({why}), without noise; use a model that learns "
                    "from noisy answers"
                ),
            )
        )
        return np.asarray(self._rows.records())
