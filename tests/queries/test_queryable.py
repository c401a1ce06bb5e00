"""The door: charged before anything is looked at, nothing beyond the budget, noise as paid for, exact without a claim."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.privacy.accounting.losses import (
    ApproxDP,
    BoundedRangeLoss,
    GaussianLoss,
    InfiniteLoss,
    PureDP,
    ReleaseLoss,
)
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import BudgetExceededError, PrivacyLedger
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.noise.mechanisms import record_calls
from sdv_plausible.queries.count_queries import Axis, CodeArray, CountTable, L1Distances, NumberOfRows
from sdv_plausible.queries.partition_selection import LEAST_HOLDERS, threshold
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.queries.transcript import Transcript
from tests.flat import bound

CARDS = (3, 2, 4)
CODES = np.random.default_rng(0).integers(0, CARDS, (90, 3))
FIRST, SECOND = Axis.of_codes(0, 3), Axis.of_codes(1, 2)
TEST = bound(ReleaseTest, k=5, epsilon0=0.5, delta=0.01)
GAUSSIAN, CELLS = GaussianLoss(sensitivity_over_sigma=0.1), CodeArray(np.zeros((5, 1), dtype=int), (200,))
PAID = (
    GaussianLoss(sensitivity_over_sigma=0.5), ApproxDP(epsilon=0.5, delta=0.02),
    ReleaseLoss(epsilon0=0.5, delta=0.01),
)  # fmt: skip


class LookedAtError(Exception):
    """Somebody touched the rows."""


class Untouchable:
    """Stands in for rows: every use is seen."""

    def __getattribute__(self, name):
        raise LookedAtError(name)


class Occurring:
    """The codes of the first column; those of the value 2 are the public cell."""

    def occurring(self, rows):
        counts = next(iter(rows.tables([[FIRST]])))
        return ["a", "b"], counts[:2], counts[2:]


def entry(*losses, name="model"):
    return LedgerEntry(name=name, mechanism="test", losses=losses, scope="test")


def door(
    *losses, rows = None, ledger = None, seed = 1,
    neighbours = ONE_ROW, **options,
):  # fmt: skip
    rows = CodeArray(CODES, CARDS) if rows is None else rows
    ledger = ledger or PrivacyLedger(delta=1e-6, neighbours=neighbours)
    return Queryable(rows, ledger, [entry(*losses)], KeyedRNG.from_seed(seed), **options)


# Everything that can be asked, and a way to ask a door for it that costs its whole budget (PAID).
ASKING = {
    "ask": lambda rows: rows.ask(NumberOfRows(), 1.0),
    "ask, with a failure": lambda rows: rows.ask(NumberOfRows(), 0.5, failure=0.02),
    "ask_tables": lambda rows: rows.ask_tables([[FIRST], [FIRST, SECOND]], [0.6, 0.4]),
    "ask_frequent": lambda rows: rows.ask_frequent(Occurring(), 1.0, 0.02),
    "count_rows": lambda rows: rows.count_rows(0.5, 0.01),
    "release_groups": lambda rows: rows.release_groups([[0, 1], [2]], TEST),
}


# --- charged first ----------------------------------------------------------------------------------------------------


def test_a_door_opens_only_when_the_ledger_has_its_entries():
    """All or none: a ledger with a limit refuses, and there is no door."""
    ledger = PrivacyLedger(delta=1e-6, limit=1.0)
    with pytest.raises(BudgetExceededError):
        door(PureDP(epsilon=2.0), rows=Untouchable(), ledger=ledger)
    assert ledger.entries == ()
    opened = door(PureDP(epsilon=0.5), rows=Untouchable(), ledger=ledger)
    assert ledger.entries == (entry(PureDP(epsilon=0.5)),)
    assert opened.allowance.epsilon == 0.5


def refused_unseen(ask, kind=Queryable):
    """Whether a door whose budget is spent refuses without a look at the rows and without a draw of noise."""
    rows = kind(Untouchable(), PrivacyLedger(delta=1e-6), [entry(GAUSSIAN)], KeyedRNG.from_seed(1))
    rows._meter.spend(share=1.0)
    with record_calls() as calls:
        try:
            ask(rows)
        except BudgetExceededError:
            return not calls
        except LookedAtError:
            return False
    return False


def test_nothing_is_looked_at_beyond_the_budget():
    """Control: with the budget, the same rows are touched."""
    assert [what for what, ask in ASKING.items() if not refused_unseen(ask)] == []
    for ask in ASKING.values():
        with pytest.raises(LookedAtError):
            ask(door(*PAID, rows=Untouchable()))


class LooksFirst(Queryable):
    """Planted fault: the exact answer is computed before it is paid for."""

    def ask(self, question, share, failure=0.0):
        question.exact(self._rows)
        return super().ask(question, share, failure)


class NeverPays(Queryable):
    """Planted fault: the answer is not paid for."""

    def ask(self, question, share, failure=0.0):
        return self._noisy(question.exact(self._rows), question.sensitivity(self.neighbours), share)


def test_planted_doors_that_look_first_are_caught():
    assert [refused_unseen(ASKING["ask"], kind) for kind in (Queryable, LooksFirst, NeverPays)] == [True, False, False]  # fmt: skip


def test_an_answer_is_given_once_for_the_whole_budget():
    for ask in ASKING.values():
        rows = door(*PAID)
        ask(rows)
        spent = (rows._meter.share, rows._meter.epsilon, rows._meter.failure)
        with pytest.raises(BudgetExceededError):
            ask(rows)
        assert (rows._meter.share, rows._meter.epsilon, rows._meter.failure) == spent


class Moved:
    """Scores, each of which a unit moves by as much as is said."""

    def __init__(self, by):
        self.by = by

    def exact(self, rows):
        return next(iter(rows.tables([[FIRST]])))

    def sensitivity(self, neighbours):
        return self.by


def test_a_choice_is_not_made_with_less_noise_than_scores_move_by():
    """A learner's own question of 1.9 got the noise of 1. Control: whole doubles are whole."""
    paid = (BoundedRangeLoss(epsilon=1.0),)
    refused = door(*paid, rows=Untouchable())
    for by in (1.9, 0.5, 0.0, math.inf, math.nan):
        with pytest.raises(ValueError, match=r"^sensitivity \(.*\) must be a whole number of at least 1"):
            refused.choose(Moved(by))
    with pytest.raises(LookedAtError):
        refused.choose(Moved(2.0))  # nothing was paid for the others
    with record_calls() as calls:
        door(*paid).choose(Moved(2.0))
    assert [call.sensitivity for call in calls] == [2.0]


def test_parts_share_one_budget_and_one_count_of_answers():
    """The same question to two parts of equal rows: other noise, and the budget is gone. A part is asked and not the whole."""
    rows = door(GAUSSIAN, parts={"structure": CodeArray(CODES, CARDS)})
    assert rows.part("parameters") is rows  # where there is no split, the rows are all rows
    view = rows.part("structure")
    answers = [part.ask(CountTable([FIRST, SECOND]), 0.5).values for part in (view, rows)]
    assert not np.array_equal(*answers)
    for part in (rows, view):
        assert part._meter.share == 1.0
        with pytest.raises(BudgetExceededError):
            part.ask(NumberOfRows(), 0.1)
    rows = door(InfiniteLoss(), parts={"structure": CodeArray(CODES[:10], CARDS)})
    numbers = [part.ask(NumberOfRows(), 0.1).values.tolist() for part in (rows.part("structure"), rows)]
    assert numbers == [[10], [90]]


# --- noise as paid for ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", [ONE_ROW, Neighbours(rows=3), Neighbours(replace=True)], ids=str)
def test_noise_is_that_of_the_sensitivity_and_the_share(relation):
    """Each answer's (sensitivity / scale)^2 is its share of mu^2, and its sigma is the noise's."""
    rows = door(GaussianLoss(sensitivity_over_sigma=0.7), neighbours=relation)
    scores = L1Distances([[FIRST], [SECOND]], [np.zeros(3), np.zeros(2)])
    with record_calls() as calls:
        answers = [rows.ask(NumberOfRows(), 0.1), rows.ask(scores, 0.2)]
        answers += rows.ask_tables([[FIRST], [SECOND]], [0.3, 0.4])
    assert {call.name for call in calls} == {"discrete_gaussian"}
    assert [call.shape for call in calls] == [(1,), (2,), (3,), (2,)]
    asked = [NumberOfRows().sensitivity(relation), scores.sensitivity(relation)]
    assert [call.sensitivity for call in calls] == [*asked, *[relation.histogram_l2] * 2]
    assert [(c.sensitivity / c.scale) ** 2 / 0.49 for c in calls] == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert [answer.sigma for answer in answers] == pytest.approx([call.scale for call in calls])
    assert rows.sigma(0.3) == pytest.approx(calls[2].scale)
    assert rows._meter.share == pytest.approx(1.0)


def test_every_cell_has_fresh_noise():
    """Twice the same question, 200 cells each. False alarm: that all cells agree, below 1e-100."""
    rows, again = (door(GAUSSIAN, rows=CELLS) for _ in range(2))
    cell = [Axis(0, np.arange(200))]
    first, second = (rows.ask_tables([cell], [0.5])[0].values for _ in range(2))
    assert (first != second).any()
    assert len(set(first.tolist())) > 10
    assert again.ask_tables([cell], [0.5])[0].values.tolist() == first.tolist()  # seeded coins repeat


def test_the_number_of_rows_has_laplace_noise_of_a_unit():
    """Control: the sensitivity of one row, where a unit has three, is another scale."""
    rows = door(ApproxDP(epsilon=0.5, delta=0.01), neighbours=Neighbours(rows=3))
    with record_calls() as calls:
        rows.count_rows(0.5, 0.01)
    (call,) = calls
    assert (call.name, call.sensitivity, call.budget, call.shape) == ("discrete_laplace", 3.0, 0.5, (1,))
    assert call.scale == pytest.approx(6.0)
    assert rows._meter.failure == 0.01
    with pytest.raises(BudgetExceededError, match="epsilon"):
        rows.count_rows(0.01, 0.0)


# --- values that occur ------------------------------------------------------------------------------------------------


class Held:
    """Values that so many rows hold; no row in the public cell."""

    def __init__(self, counts):
        self.counts = counts

    def occurring(self, rows):
        return list(self.counts), np.array(list(self.counts.values())), np.zeros(1, dtype=np.int64)


@pytest.mark.parametrize("relation", [ONE_ROW, Neighbours(rows=3)], ids=str)
def test_a_value_is_named_only_above_the_threshold(relation):
    """Values far above it are named in the question's order, values that fewer than LEAST_HOLDERS hold never."""
    paid = (GaussianLoss(sensitivity_over_sigma=1.0), ApproxDP(epsilon=1e-9, delta=0.1))
    rows = door(*paid, neighbours=relation)
    most = threshold(rows.sigma(1.0), 0.01, relation)
    held = {"z": 10 * most, "rare": relation.rows_of(LEAST_HOLDERS) - 1, "a": 20 * most, "one": 1}
    with record_calls() as calls:
        found = rows.ask_frequent(Held(held), 1.0, 0.01)
    assert found.values == ["z", "a"]
    assert calls[0].shape == (3,)  # the public cell and the two values that enough rows hold
    assert (found.counts >= most).all()
    assert found.sigma == pytest.approx(calls[0].scale)
    assert len(found.public) == 1
    assert rows._meter.failure == pytest.approx(0.01)


def test_values_pass_the_threshold_by_their_noisy_counts():
    """Of 200 values that just reach it half pass; by their true counts all would. False alarm below 1e-50."""
    rows = door(GAUSSIAN, ApproxDP(epsilon=1e-9, delta=0.1))
    most = threshold(rows.sigma(1.0), 0.01, ONE_ROW)
    found = rows.ask_frequent(Held({f"value {i}": most for i in range(200)}), 1.0, 0.01)
    assert 0 < len(found.values) < 200
    assert (found.counts >= most).all()


def test_the_least_values_that_are_named():
    """Without a claim all of enough rows; at the threshold, where noise of next to nothing leaves the count as it is."""
    found = door(InfiniteLoss()).ask_frequent(Held({"a": LEAST_HOLDERS, "b": LEAST_HOLDERS - 1}), 1.0, 0.01)
    assert (found.values, found.counts.tolist()) == (["a"], [LEAST_HOLDERS])
    assert (found.public.tolist(), found.sigma) == ([0], 0.0)
    rows = door(GaussianLoss(sensitivity_over_sigma=1e6), ApproxDP(epsilon=1e-9, delta=0.1))
    most = threshold(rows.sigma(1.0), 0.01, ONE_ROW)
    found = rows.ask_frequent(Held({"at": most, "below": most - 1}), 1.0, 0.01)
    assert (found.values, found.counts.tolist()) == (["at"], [most])


# --- what is written down ---------------------------------------------------------------------------------------------


class Flagged(Held):
    """Values that come with a flag, which is not part of them."""

    def occurring(self, rows):
        values, counts, public = super().occurring(rows)
        return [("flag", value) for value in values], counts, public


def test_every_noisy_answer_is_written_down_with_its_rows_and_noise():
    transcript, half = Transcript(), CodeArray(CODES[:45], CARDS)
    rows = door(
        GaussianLoss(sensitivity_over_sigma=1.0), ApproxDP(epsilon=1.0, delta=0.1), transcript=transcript,
        neighbours=Neighbours(rows=3), parts={"structure": half}, name="learning",
    )  # fmt: skip
    whole = rows.ask(NumberOfRows(), 0.1)
    rows.part("structure").ask_tables([[FIRST]], [0.1])
    rows.part("elsewhere").count_rows(0.5, 0.01)
    rows.ask_frequent(Flagged({"a": 10**6, "b": 1}), 0.5, 0.01)
    notes = transcript.answers
    assert [n.asked.kind for n in notes] == ["number of rows", "counts", "number of rows", "Flagged"]
    assert [n.rows for n in notes] == ["learning", "structure", "learning", "learning"]
    assert [n.noise for n in notes] == ["discrete gaussian"] * 2 + ["discrete laplace", "discrete gaussian"]
    assert notes[0].scale == whole.sigma
    assert notes[2].scale == pytest.approx(3 / 0.5)
    assert notes[3].asked.details["found"] == ("a",)
    assert {n.paid_by for n in notes} == {("model",)}


# --- groups -----------------------------------------------------------------------------------------------------------


class Everything:
    """A release of all groups at their true sizes, which remembers what it was given."""

    def __init__(self, k=1):
        self.least_seeds, self.epsilon0, self.delta, self.given = k, 1e-9, 1e-9, []
        self.neighbours = ONE_ROW

    def release(self, sizes, rng):
        self.given.append((sizes.copy(), rng))
        return np.arange(len(sizes)), sizes


def test_groups_for_others_than_the_ledger_protects_are_refused():
    """Their noise would be a row's, where a person has five. Control: bound to the same."""
    who = Neighbours(rows=5)
    rows = door(ReleaseLoss(epsilon0=0.5, delta=0.01, l1=5), rows=Untouchable(), neighbours=who)
    with pytest.raises(ValueError, match="^test: its noise is for the addition or removal of any one row"):
        rows.release_groups([[0]], TEST)
    with pytest.raises(LookedAtError):
        rows.release_groups([[0]], TEST.bound(0.01, who))


def test_every_row_serves_one_set_of_columns():
    """One row then changes one group of one set. Control: with one set, all rows serve it."""
    test = Everything()
    parts = door(ReleaseLoss(epsilon0=0.5, delta=0.1)).release_groups([[0], [0, 1], [2]], test)
    assert sum(int(sizes.sum()) for _, sizes in parts) == len(CODES)
    assert all(sizes.sum() > 10 for _, sizes in parts)
    ((groups, sizes),) = door(ReleaseLoss(epsilon0=0.5, delta=0.1)).release_groups([[1, 0]], test)
    counted = Counter(map(tuple, CODES[:, [1, 0]].tolist()))
    assert dict(zip(map(tuple, groups.tolist()), sizes.tolist(), strict=True)) == counted
    drawn = [rng.uniform(8).tolist() for _, rng in test.given]
    assert len({tuple(d) for d in drawn[:3]}) == 3  # each set has coins of its own


def test_only_groups_that_the_test_may_look_at_reach_it():
    """Of no columns there is one group, and no need of a look."""
    ((_, sizes),) = door(ReleaseLoss(epsilon0=0.5, delta=0.1)).release_groups([[0, 1]], Everything(k=14))
    counted = Counter(map(tuple, CODES[:, [0, 1]].tolist()))
    assert sorted(sizes.tolist()) == sorted(n for n in counted.values() if n >= 14) != []
    rows = door(ReleaseLoss(epsilon0=0.5, delta=0.01), rows=Untouchable())
    ((groups, sizes),) = rows.release_groups([[]], TEST)
    assert (groups.shape, sizes.tolist()) == ((1, 0), [1])


# --- the rows themselves ----------------------------------------------------------------------------------------------


class Watched(CodeArray):
    """Rows that note what the ledger says at the moment when they are handed out."""

    def __init__(self, ledger):
        super().__init__(CODES, CARDS)
        self.ledger, self.seen = ledger, []

    def records(self):
        self.seen.append(self.ledger.claims_privacy)
        return super().records()


def test_raw_rows_end_the_claim_first():
    """Where the ledger has a limit they are not handed out."""
    ledger = PrivacyLedger(delta=1e-6)
    rows = Watched(ledger)
    opened = door(PureDP(epsilon=0.5), rows=rows, ledger=ledger)
    assert ledger.claims_privacy
    assert opened.raw_rows("a copula is fitted").tolist() == CODES.tolist()
    assert rows.seen == [False]
    assert "raw rows: a copula is fitted" in str(ledger)
    assert ledger.total() == math.inf
    ledger = PrivacyLedger(delta=1e-6, limit=1.0)
    opened = door(PureDP(epsilon=0.5), rows=Untouchable(), ledger=ledger)
    with pytest.raises(BudgetExceededError):
        opened.raw_rows("why not")
    assert ledger.claims_privacy


def test_records_are_for_the_door_of_a_privacy_test():
    """A learner's stays shut, also where the test is charged in the same ledger. Control: the test's own."""
    ledger, rng = PrivacyLedger(delta=1e-6), KeyedRNG.from_seed(1)
    of_test = replace(entry(PureDP(epsilon=0.5), name="rows"), parts=("seeds",))
    records = Queryable(CodeArray(CODES, CARDS), ledger, [of_test], rng).seed_records("rows")
    free = replace(entry(name="rows"), parts=("seeds",))  # declared: it costs nothing, and pays for nothing
    for entries in ([entry(PureDP(epsilon=0.5))], [entry(InfiniteLoss(), name="rows")], [free], []):
        opened = Queryable(Untouchable(), ledger, entries, rng)
        for name in ("rows", "model", ""):
            with pytest.raises(ValueError, match=f"no entry '{name}' of a privacy test"):
                opened.seed_records(name)
    assert records.codes.tolist() == CODES.tolist()
    assert len(records) == 90


# --- without a claim --------------------------------------------------------------------------------------------------


def test_answers_without_a_claim_are_exact():
    """And not written down."""
    transcript = Transcript()
    rows = door(InfiniteLoss(), transcript=transcript)
    with record_calls() as calls:
        number = rows.ask(NumberOfRows(), 0.1)
        first, both = rows.ask_tables([[FIRST], [FIRST, SECOND]], [0.1, 0.1])
        scores = rows.ask(L1Distances([[FIRST]], [np.full(3, 7.0)]), 0.1)
        frequent = rows.ask_frequent(Occurring(), 0.1, 0.1)
        count = rows.count_rows(0.1, 0.1)
    counted = np.bincount(CODES[:, 0], minlength=3)
    assert not calls
    assert transcript.answers == ()
    assert (number.values.tolist(), count) == ([90], 90)
    assert first.values.tolist() == both.values.sum(axis=1).tolist() == counted.tolist()
    assert scores.values.tolist() == [np.abs(counted - 7).sum()]
    assert frequent.counts.tolist() == counted[:2].tolist()
    assert {number.sigma, first.sigma, both.sigma, scores.sigma, frequent.sigma} == {0.0}
    assert first.values.dtype == float


@pytest.mark.parametrize("neighbours", [ONE_ROW, Neighbours(rows=3)])
def test_many_tables_of_one_share_get_their_noise_together_and_no_less_of_it(neighbours):
    """Every cell has the deviation that its share alone buys, and all calls cost the shares; the noise differs from cell to cell."""
    number, paid = 70, GaussianLoss(sensitivity_over_sigma=0.5)
    shares = [0.9 / number] * number + [0.1]
    rows = door(paid, neighbours=neighbours)
    with record_calls() as calls:
        answers = rows.ask_tables([[FIRST, SECOND]] * number + [[SECOND]], shares)
    assert [call.shape for call in calls] == [(6 * number,), (2,)]
    assert sum(call.budget for call in calls) == pytest.approx(0.5**2 / 2)
    assert calls[0].sensitivity == pytest.approx(neighbours.histogram_l2 * math.sqrt(number))
    for call, share in zip(calls, (shares[0], shares[-1]), strict=True):
        assert call.scale == pytest.approx(rows.sigma(share))
    assert [a.sigma for a in answers] == pytest.approx([rows.sigma(share) for share in shares])
    exact = next(CodeArray(CODES, CARDS).tables([[FIRST, SECOND]]))
    noise = np.stack([a.values - exact for a in answers[:-1]])
    assert noise.shape == (number, 3, 2)
    assert len(np.unique(noise)) > 50
    assert 0.8 < noise.std() / rows.sigma(shares[0]) < 1.2  # seeded
    with pytest.raises(ValueError, match="as many as sets"):
        door(*PAID).ask_tables([[FIRST], [SECOND]], [0.5])
    free = door(InfiniteLoss()).ask_tables([[FIRST, SECOND]] * number, [1 / number] * number)
    assert all((a.values == exact).all() and a.sigma == 0 for a in free)
