"""Types of columns that nobody declared, by a vote over cells, within a budget: no odd cell decides a column.

Every cell is of one public kind by its own text alone, and every kind is of one family. Noisy counts of the
families decide what a column is, where at most a tenth of its cells may be of another kind. Then it is asked
how its numbers or dates are written. Of columns of text it is asked which values are frequent, and how
unevenly a public hash spreads the cells, which shows that values repeat where noise hides which they are.
Where few cells repeat, the column is text of such and such lengths, and no category. Where noise hides that
too, it is a category: the values are learned later, with more of the budget
(docs/explanation/proofs/type_votes.md).
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from sdv_plausible.privacy.accounting.composition import calibrate_gaussian
from sdv_plausible.privacy.accounting.losses import ApproxDP, gaussian_noise
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.queries.count_queries import QueryRecord
from sdv_plausible.queries.partition_selection import FrequentValueCounts
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.queries.transcript import NoisyAnswer
from sdv_plausible.table.cells.date_texts import BROADER, DIGITS, FORMATS, main_form
from sdv_plausible.table.cells.number_texts import NUMBER_KINDS
from sdv_plausible.table.columns.cell_reader import (
    CODE,
    FINER,
    PHONE,
    UPPER,
    Spelling,
    kind_of,
    plain_numbers,
    spelling_of_numbers,
)
from sdv_plausible.table.learned.raw_queries import ExactColumns, FrequentValues

By = Literal[
    "family",
    "spelling of numbers",
    "format of dates",
    "spelling of truth values",
    "length",
    "bucket of a hash",
]
NUMBERS = (*NUMBER_KINDS, *FINER)
TRUTHS = ("truth", UPPER)
FAMILIES = ("missing", "truth", "text", "code", "number", "spelled", "digits", "date")
"""Families of kinds: "spelled" numbers are not as the table writes them, "digits" are dates and numbers."""
UNKNOWN_LENGTHS = (1, 16)  # where noise hides all of them
LONGEST = 64  # lengths from here on are one
BUCKETS = 64  # that a public hash spreads texts over
LIFTED = 1.5  # deviations of the noise by which their median may be high: if more than half are empty 1.1
_LENGTHS = tuple(map(str, range(LONGEST + 1)))
LISTS: Mapping[By, Sequence[str]] = {
    "family": FAMILIES,
    "spelling of numbers": NUMBERS,
    "format of dates": FORMATS,
    "spelling of truth values": TRUTHS,
    "length": (*_LENGTHS, *(f"+{length}" for length in _LENGTHS)),  # of texts with a plus in front, of others
    "bucket of a hash": tuple(map(str, range(BUCKETS))),
}
"""What is counted: one count for each of a public list."""
OF_EVERY: Mapping[By, str] = {by: f"cells of every {by}" for by in LISTS}
ROWS = "rows of a vote"
ROWS_SHARE, COLUMNS_SHARE = 0.06, 0.94  # of mu^2
FAMILY_SHARE, AGAIN_SHARE = 0.5, 0.3  # of a column's part of it: once, and where noise left it undecided
PLAIN_SHARE = 0.16  # how plain numbers are written; the other forms have all that is left
VALUE_SHARE, BUCKET_SHARE, LENGTH_SHARE = 0.4, 0.4, 0.2  # of what is left then for a column of text
MOSTLY = 0.5  # share of the cells that a kind seems to have where the families are asked for again
OTHERS = 0.1  # share of the cells that may be of another kind where a column's kind is decided at once
SEEM, MAY = 0.05, 0.2  # the same once all is asked: share that seems to be, and that may be
CODES = 0.02  # share of codes among numbers from which they are no numbers
CATEGORY = 0.5  # share of the cells that frequent values must have for a category
COMMON = 0.1  # share of the cells: where noise hides that values so frequent repeat, there is a category
HOLDERS = 1.0  # deviations of the noise: rows that share the value of a cell, on average, in a category
CLEAR = 4.0  # deviations of the noise that a count must have to be seen
CLEAR_OF_MANY = 5.0  # the same of one of 1,952 counts: noise lifts one that high in one of 1,800 columns
DOUBT = 2.5  # the same of codes among numbers, and of other spellings, to be asked for: .6 % by chance
SECOND = 3.0  # the same of codes once they were asked for again
LIKELY = 1.64  # deviations of the noise that "may be" allows for
FAILURE_SHARE = 0.1  # of delta: thresholds of frequent values
_PROOF = "docs/explanation/proofs/type_votes.md"
_PLACES = {by: {kind: i for i, kind in enumerate(kinds)} for by, kinds in LISTS.items()}
Words = dict[str, Any]


@dataclass(frozen=True)
class CellKindCounts:
    """How many cells of a column are of each family, spelling of numbers, format of dates, or length."""

    name: str
    spelling: Spelling
    by: By = "family"
    proof = f"{_PROOF}, Lemma 1"

    def asked(self) -> QueryRecord:
        """Say what is asked."""
        return QueryRecord(kind=OF_EVERY[self.by], columns=(self.name,))

    def exact(self, rows: ExactColumns) -> np.ndarray:
        """Return one count for each of the list; cells that are none of it are not counted."""
        places = _PLACES[self.by]
        found = np.zeros(len(places), dtype=np.int64)
        values, counts, missing = rows.value_counts(self.name)
        if self.by in ("family", "length"):
            found[0] = missing  # which has length 0
        for (_, value), count in zip(values, counts, strict=True):
            place = places.get(self._of(str(value)))
            if place is not None:
                found[place] += count
        return found

    def sensitivity(self, neighbours: Neighbours) -> float:
        """One cell is of one kind, and has one length."""
        return neighbours.histogram_l2

    def _of(self, text: str) -> str:
        kind = kind_of(text, self.spelling)
        if self.by == "length":
            return f"{'+' if kind == PHONE else ''}{min(len(text), LONGEST)}"
        if self.by == "bucket of a hash":
            return kind if kind == "missing" else str(zlib.crc32(text.encode()) % BUCKETS)
        return family_of(kind, self.spelling) if self.by == "family" else kind


@dataclass(frozen=True)
class VoteRowCount:
    """How many rows vote."""

    proof = f"{_PROOF}, Lemma 1"

    def asked(self) -> QueryRecord:
        """Say what is asked."""
        return QueryRecord(kind=ROWS)

    def exact(self, rows: ExactColumns) -> np.ndarray:
        """Return the number of rows, shape (1,)."""
        return np.array([rows.num_rows()], dtype=np.int64)

    def sensitivity(self, neighbours: Neighbours) -> float:
        """A unit moves one count."""
        return neighbours.histogram_l2


def family_of(kind: str, spelling: Spelling) -> str:
    """Family of a kind."""
    if kind in (CODE, PHONE):
        return "code"
    if kind in TRUTHS:
        return "truth"
    if kind in DIGITS:
        return "digits"
    if kind in _PLACES["format of dates"]:
        return "date"
    if kind in plain_numbers(spelling):
        return "number"
    return "spelled" if kind in _PLACES["spelling of numbers"] else kind


def vote_types(rows: Queryable, names: Sequence[str], spelling: Spelling, failure: float) -> dict[str, Words]:
    """Types of columns of text, in the words of a domain file."""
    # Cells are as a file would hold them, missing as None, and opened by vote_entry; ``failure`` is the
    # probability that was charged for thresholds.
    if not names:
        return {}
    answer = rows.ask(VoteRowCount(), ROWS_SHARE)
    total, left = (float(answer.values[0]), answer.sigma**2), COLUMNS_SHARE
    found = {}
    for i, name in enumerate(names):  # what one has no use for is shared by those after it
        column = _Vote(rows=rows, name=name, spelling=spelling, part=left / (len(names) - i))
        found[name] = _voted(column, total, failure / len(names))
        left -= column.spent
    return found


def vote_entry(columns: int, epsilon: float, delta: float) -> LedgerEntry:
    """Return what a vote on the types of so many columns charges; no row is looked at."""
    mu, failure = calibrate_gaussian(epsilon, delta * (1 - FAILURE_SHARE)), vote_failure(delta)
    losses = (*gaussian_noise(mu), ApproxDP(epsilon=0.0, delta=failure))
    how = f"a vote over the cells of {columns} undeclared columns"
    return LedgerEntry(name="types", mechanism=how, losses=losses, scope="the types", parts=("domain",))


def vote_failure(delta: float) -> float:
    """Of what a vote may fail with, the share of its thresholds."""
    return delta * FAILURE_SHARE


# --- what noisy counts say ------------------------------------------------------------------------


@dataclass(frozen=True)
class FamilyCounts:
    """Noisy counts of a column's families, and of all rows: a count, and the variance of its noise."""

    values: np.ndarray
    sigma: float
    total: tuple[float, float]

    def again(self, values: np.ndarray, sigma: float) -> FamilyCounts:
        """Together with a second answer: means weighed by the variances of the noise."""
        a, b = sigma**2, self.sigma**2
        if not a + b:
            return self
        means = (a * np.asarray(self.values) + b * np.asarray(values)) / (a + b)
        return FamilyCounts(means, math.sqrt(a * b / (a + b)), self.total)

    @cached_property
    def counts(self) -> dict[str, float]:
        """Count of each family."""
        return dict(zip(FAMILIES, np.asarray(self.values, dtype=float).tolist(), strict=True))

    @property
    def present(self) -> float:
        """Cells that are not missing."""
        return max(self.total[0] - self.counts["missing"], 0.0)

    def others(self, own: Collection[str], unread: float = 0.0, variance: float = 0.0) -> NoisyShare:
        """Share of the present cells that are of no own family, or of one and cannot be read.

        Two estimates of it, whose noise is independent, are weighed: the counts of the other families, and
        what the own ones leave of all rows.
        """
        others = [family for family in FAMILIES[1:] if family not in own]
        direct = sum(self.counts[family] for family in others)
        left = self.present - sum(self.counts[family] for family in own)
        a, b = len(others) * self.sigma**2, (1 + len(own)) * self.sigma**2 + self.total[1]
        found = direct if not a + b else (direct * b + left * a) / (a + b)
        deviation = math.sqrt((a * b / (a + b) if a + b else 0.0) + variance)
        if self.present < 1:
            return NoisyShare(1.0, 1.0)
        return NoisyShare(max(found, 0.0) + unread, deviation) / self.present

    @property
    def likeliest(self) -> NoisyShare:
        """Share of the present cells that are of no family of the likeliest kind."""
        kinds = (("digits",), ("date",), ("truth",), ALL_NUMBERS)
        return min((self.others(own) for own in kinds), key=lambda share: share.most)

    @property
    def shows_spelled(self) -> bool:
        """Whether numbers that the table does not write so stand out of the noise."""
        return self.counts["spelled"] > DOUBT * self.sigma

    def shows_codes(self, deviations: float) -> bool:
        """Whether texts that no number writes so stand out of the noise: then the column is one of codes."""
        return self.counts["code"] > max(deviations * self.sigma, CODES * self.present)


@dataclass(frozen=True)
class NoisyShare:
    """A share that noise blurs."""

    estimate: float
    deviation: float

    def __truediv__(self, whole: float) -> NoisyShare:
        """The share of a whole."""
        return NoisyShare(self.estimate / whole, self.deviation / whole)

    @property
    def most(self) -> float:
        """What it may be."""
        return min(1.0, self.estimate + LIKELY * self.deviation)

    @property
    def decides(self) -> bool:
        """Whether a kind is decided on that so many cells are not of."""
        return self.most <= OTHERS or (self.estimate <= SEEM and self.most <= MAY)

    @property
    def least(self) -> float:
        """What it is at least."""
        return max(0.0, self.estimate - LIKELY * self.deviation)


PLAIN_NUMBERS = ("number", "digits")
ALL_NUMBERS = (*PLAIN_NUMBERS, "spelled")
_CATEGORY = {"sdtype": "categorical"}


def seen(by: By, values: np.ndarray, sigma: float) -> dict[str, float]:
    """Noisy counts of a list; none of what has no more than noise may hide."""
    clear = CLEAR_OF_MANY if by == "spelling of numbers" else CLEAR
    return dict(zip(LISTS[by], np.where(values > clear * sigma, values, 0).tolist(), strict=True))


def _numbers(
    families: FamilyCounts, values: np.ndarray, sigma: float, spelling: Spelling
) -> tuple[Words, NoisyShare]:
    counts = seen("spelling of numbers", values, sigma)
    form, read = spelling_of_numbers(counts, spelling)
    if form is None or not families.shows_spelled:
        return {"sdtype": "numerical"}, families.others(PLAIN_NUMBERS)
    found = [count for count in counts.values() if count]
    unread, noise = (sum(found) - read, len(found) * sigma**2) if sum(found) > read else (0.0, 0.0)
    return {"sdtype": "numerical", "number_format": form}, families.others(ALL_NUMBERS, unread, noise)


def _dates(families: FamilyCounts, values: np.ndarray, sigma: float) -> tuple[Words, NoisyShare]:
    counts = seen("format of dates", values, sigma)
    form = main_form(counts, families.present)
    if not counts[form]:
        return {}, NoisyShare(1.0, 0.0)
    other = [n for kind, n in counts.items() if n and form not in (kind, BROADER.get(kind))]
    own = ("digits",) if form in DIGITS else ("date",)
    others = families.others(own, sum(other), len(other) * sigma**2)
    return {"sdtype": "datetime", "datetime_format": form}, others


def form_of_column(found: FamilyCounts, *, at_once: bool) -> By | None:
    """What is asked next of a column: how its cells are written; None if it is none of numbers and dates."""

    def are(*own: str) -> bool:
        share = found.others(own)
        return share.most <= OTHERS if at_once else share.decides

    if are("digits") or are("date"):
        return "format of dates"
    if are("truth"):
        return "spelling of truth values"
    if are(*ALL_NUMBERS) and not found.shows_codes(DOUBT if at_once else SECOND):
        return "spelling of numbers"
    return None


def words_of(
    by: By, families: FamilyCounts, values: np.ndarray, sigma: float, spelling: Spelling
) -> tuple[Words, NoisyShare]:
    """Words of a column, and the share of its cells that they do not read."""
    if by == "spelling of truth values":
        truth, upper = values.tolist()
        return {"sdtype": "categorical" if upper > truth else "boolean"}, families.others(("truth",))
    if by == "format of dates":
        return _dates(families, values, sigma)
    return _numbers(families, values, sigma, spelling)


def others_of(answers: Sequence[NoisyAnswer], spelling: Spelling) -> dict[str, tuple[bool, NoisyShare]]:
    """Of every voted column: whether its kind was decided, and what share of its cells may be of another.

    Computed from the answers of the vote. Where it was not decided, it is the share that the likeliest kind
    leaves. Columns of text and codes are left out.
    """
    given: dict[tuple[str, tuple[str, ...]], NoisyAnswer] = {}
    again: dict[tuple[str, ...], NoisyAnswer] = {}
    for answer in answers:
        if given.setdefault((answer.asked.kind, answer.asked.columns), answer) is not answer:
            again[answer.asked.columns] = answer
    rows, found = given.get((ROWS, ())), {}
    for (kind, columns), answer in given.items():
        if kind != OF_EVERY["family"] or rows is None:
            continue
        (name,) = columns
        families = FamilyCounts(answer.values, answer.scale, (float(rows.values.ravel()[0]), rows.scale**2))
        if (second := again.get(columns)) is not None:
            families = families.again(second.values, second.scale)
        by = form_of_column(families, at_once=second is None)
        if by is not None and (form := given.get((OF_EVERY[by], columns))) is not None:
            share = words_of(by, families, form.values, form.scale, spelling)[1]
            found[name] = share.decides, share
        elif by is None and not families.shows_codes(CLEAR if second is None else SECOND):
            found[name] = False, families.likeliest
    return found


@dataclass(kw_only=True)
class _Vote:
    """Questions about one column, within its part of the budget."""

    rows: Queryable
    name: str
    spelling: Spelling
    part: float
    spent: float = 0.0

    def ask(self, by: By, share: float) -> tuple[np.ndarray, float]:
        """Counts of the kinds of cells, and the deviation of their noise."""
        self.spent += share * self.part
        answer = self.rows.ask(CellKindCounts(self.name, self.spelling, by), share * self.part)
        return answer.values, answer.sigma

    def frequent(self, share: float, failure: float) -> FrequentValueCounts:
        """Values that many rows hold."""
        self.spent += share * self.part
        return self.rows.ask_frequent(FrequentValues(self.name), share * self.part, failure)


def _voted(column: _Vote, total: tuple[float, float], failure: float) -> Words:
    """Words of one column."""
    ask, spelling = column.ask, column.spelling
    found, left = FamilyCounts(*ask("family", FAMILY_SHARE), total), 1 - FAMILY_SHARE
    number: Words | None = None
    by = form_of_column(found, at_once=True)
    if by is None and not found.shows_codes(CLEAR) and found.likeliest.estimate < 1 - MOSTLY:
        found, left = found.again(*ask("family", AGAIN_SHARE)), left - AGAIN_SHARE
        by = form_of_column(found, at_once=False)
    if by is not None:
        is_plain = by == "spelling of numbers" and not found.shows_spelled
        values, sigma = ask(by, PLAIN_SHARE if is_plain else left)
        left -= PLAIN_SHARE
        words, others = words_of(by, found, values, sigma, spelling)
        if not others.decides:  # nothing of the column's part is left for the lengths of placeholders
            return dict(_CATEGORY)
        if not is_plain or not _differ(values, sigma, found.present):
            return words
        number = words
    frequent = column.frequent(VALUE_SHARE * left, failure)
    if frequent.counts.sum() >= CATEGORY * found.present:
        return dict(_CATEGORY)
    if number is not None:
        return number
    if repeats(found.present, *ask("bucket of a hash", BUCKET_SHARE * left)):
        return dict(_CATEGORY)
    return {"sdtype": "id", "regex_format": id_format(found, *ask("length", LENGTH_SHARE * left))}


def repeats(present: float, buckets: np.ndarray, sigma: float) -> bool:
    """Whether values of a column of text repeat, or noise hides that values with a tenth of the cells do.

    Cells that no other cell is like are spread evenly; cells of few values are in few buckets.
    """
    cells = max(present, 1.0)
    noise = math.sqrt(2 * BUCKETS * sigma**4 + 4 * sigma**2 * cells + 2 * cells**2 / BUCKETS)
    deviation = noise / cells  # of the rows that share the value of a cell, where no value repeats
    if DOUBT * deviation > COMMON * cells:
        return True
    squares = float(np.square(buckets - np.mean(buckets)).sum())
    holders = (squares - (BUCKETS - 1) * sigma**2) / cells - 1
    median = float(np.median(buckets)) - LIFTED * sigma
    alone = median * BUCKETS / cells  # share of the cells, at least, of values that hardly repeat
    return holders > max(HOLDERS * sigma, DOUBT * deviation) and alone < 1 - CATEGORY


def _differ(values: np.ndarray, sigma: float, present: float) -> bool:
    """Whether fractions have one digit, and two and more that end in a zero: 1.9 and 1.10, as versions do."""
    counts = dict(zip(NUMBERS, values.tolist(), strict=True))
    least = max(DOUBT * sigma, CODES * present)
    return counts[FINER[0]] > least and counts["1234.5"] > least


def id_format(found: FamilyCounts, lengths: np.ndarray, sigma: float) -> str:
    """Pattern of placeholders: of digits where most cells are, with a plus in front where most have one."""
    plain, plus = np.split(lengths, 2)
    if plus[plus > CLEAR * sigma].sum() > found.present / 2:
        low, high = length_range(plus[2:], sigma)
        return f"\\+[0-9]{{{low},{high}}}"
    low, high = length_range(plain[1:], sigma)
    digits = sum(found.counts[family] for family in (*ALL_NUMBERS, "code")) > found.present / 2
    return f"[{'0-9' if digits else 'a-z'}]{{{low},{high}}}"


def length_range(noisy: Sequence[float] | np.ndarray, sigma: float = 0.0) -> tuple[int, int]:
    """Shortest and longest length that stands out of the noise, but for 1 % of the cells at either end."""
    counts = np.asarray(noisy, dtype=float)
    counts = np.where(counts > CLEAR * sigma, np.maximum(counts, 0), 0)
    if not counts.sum():
        return UNKNOWN_LENGTHS
    below = np.cumsum(counts) / counts.sum()
    low, high = np.searchsorted(below, [0.01, 0.99])
    return int(low) + 1, int(min(high, len(counts) - 1)) + 1
