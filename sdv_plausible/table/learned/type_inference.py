"""Type inference of undeclared columns under differential privacy (docs/explanation/proofs/type_votes.md).

The text of a cell alone determines its public kind, and every kind belongs to one family. The steps:

1. Noisy counts of families decide the type, if at most a tenth of the cells may be of another kind.
2. For numbers, dates and booleans, noisy counts of spellings or formats decide how to read them.
3. For text, partition selection finds frequent values. The counts of a public hash show whether values
   repeat even if noise hides which ones do.
4. Text with few repeated cells becomes an id with a range of lengths. Otherwise, or if noise hides the
   answer, the column is categorical; its values are learned later, with more budget.
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
from sdv_plausible.table.cells.dates import BROADER, DIGIT_FORMATS, FORMATS, main_date_format
from sdv_plausible.table.cells.number_texts import NUMBER_KINDS
from sdv_plausible.table.columns.cell_reader import (
    CODE_KIND,
    FRACTION_KINDS,
    PHONE_KIND,
    UPPER_BOOLEAN_KIND,
    Spelling,
    cell_kind,
    detect_number_format,
    plain_number_kinds,
)
from sdv_plausible.table.learned.raw_queries import ExactColumns, FrequentValues

CountedBy = Literal[
    "family",
    "spelling of numbers",
    "format of dates",
    "spelling of truth values",
    "length",
    "bucket of a hash",
]
NUMBERS = (*NUMBER_KINDS, *FRACTION_KINDS)
TRUTHS = ("truth", UPPER_BOOLEAN_KIND)
FAMILIES = ("missing", "truth", "text", "code", "number", "spelled", "digits", "date")
"""Families of kinds. "spelled": numbers in another spelling. "digits": both dates and numbers."""
UNKNOWN_LENGTHS = (1, 16)  # range of lengths if noise hides all of them
LONGEST = 64  # longer texts count as this length
BUCKETS = 64  # number of buckets of the public hash
LIFTED = 1.5  # deviations of noise that the median bucket may be too high (1.1 if over half are empty)
_LENGTHS = tuple(map(str, range(LONGEST + 1)))
LISTS: Mapping[CountedBy, Sequence[str]] = {
    "family": FAMILIES,
    "spelling of numbers": NUMBERS,
    "format of dates": FORMATS,
    "spelling of truth values": TRUTHS,
    "length": (*_LENGTHS, *(f"+{length}" for length in _LENGTHS)),  # lengths, and those of phone numbers
    "bucket of a hash": tuple(map(str, range(BUCKETS))),
}
"""The public list of cells of each count table."""
KIND_OF: Mapping[CountedBy, str] = {by: f"cells of every {by}" for by in LISTS}
ROWS = "rows of a vote"
ROWS_SHARE, COLUMNS_SHARE = 0.06, 0.94  # shares of mu^2
FAMILY_SHARE, AGAIN_SHARE = 0.5, 0.3  # shares of a column: families, and a second round if undecided
PLAIN_SHARE = 0.16  # spelling of plain numbers; other spellings and formats get the rest
VALUE_SHARE, BUCKET_SHARE, LENGTH_SHARE = 0.4, 0.4, 0.2  # shares of the rest, for a column of text
MOSTLY = 0.5  # estimated share of one kind from which families are queried again
OTHERS = 0.1  # largest possible share of other kinds for a decision in the first round
SEEM, MAY = 0.05, 0.2  # after all rounds: largest estimated and largest possible share
CODES = 0.02  # share of codes from which a column is not numerical
CATEGORY = 0.5  # share of the cells with frequent values from which a column is categorical
COMMON = 0.1  # if noise hides values with this share of the cells, the column is categorical
HOLDERS = 1.0  # deviations of noise: least mean number of other rows with the value of a cell
CLEAR = 4.0  # deviations of noise from which a count is significant
CLEAR_OF_MANY = 5.0  # the same for 1,952 counts: a false positive in one of 1,800 columns
DOUBT = 2.5  # the same for codes and other spellings to be queried: .6 % by chance
SECOND = 3.0  # the same for codes in the second round
LIKELY = 1.64  # deviations of noise added to an estimate for an upper limit
FAILURE_SHARE = 0.1  # share of delta for the thresholds of partition selection
_PROOF = "docs/explanation/proofs/type_votes.md"
_POSITIONS = {by: {kind: i for i, kind in enumerate(kinds)} for by, kinds in LISTS.items()}
Declaration = dict[str, Any]


@dataclass(frozen=True)
class CellKindCounts:
    """Counts of cells by family, spelling, date format, length or hash bucket."""

    name: str
    spelling: Spelling
    by: CountedBy = "family"
    proof = f"{_PROOF}, Lemma 1"

    def asked(self) -> QueryRecord:
        """Record of this query."""
        return QueryRecord(kind=KIND_OF[self.by], columns=(self.name,))

    def exact(self, rows: ExactColumns) -> np.ndarray:
        """One count per entry of the list; other cells are not counted."""
        index = _POSITIONS[self.by]
        table = np.zeros(len(index), dtype=np.int64)
        values, counts, missing = rows.value_counts(self.name)
        if self.by in ("family", "length"):
            table[0] = missing  # counts as length 0
        for (_, value), count in zip(values, counts, strict=True):
            position = index.get(self._entry(str(value)))
            if position is not None:
                table[position] += count
        return table

    def sensitivity(self, neighbours: Neighbours) -> float:
        """A cell has one kind and one length."""
        return neighbours.histogram_l2

    def _entry(self, text: str) -> str:
        kind = cell_kind(text, self.spelling)
        if self.by == "length":
            return f"{'+' if kind == PHONE_KIND else ''}{min(len(text), LONGEST)}"
        if self.by == "bucket of a hash":
            return kind if kind == "missing" else str(zlib.crc32(text.encode()) % BUCKETS)
        return family_of(kind, self.spelling) if self.by == "family" else kind


@dataclass(frozen=True)
class InferenceRowCount:
    """Number of rows."""

    proof = f"{_PROOF}, Lemma 1"

    def asked(self) -> QueryRecord:
        """Record of this query."""
        return QueryRecord(kind=ROWS)

    def exact(self, rows: ExactColumns) -> np.ndarray:
        """The number of rows, shape (1,)."""
        return np.array([rows.num_rows()], dtype=np.int64)

    def sensitivity(self, neighbours: Neighbours) -> float:
        """A unit changes one count."""
        return neighbours.histogram_l2


def family_of(kind: str, spelling: Spelling) -> str:
    """Family of a kind."""
    if kind in (CODE_KIND, PHONE_KIND):
        return "code"
    if kind in TRUTHS:
        return "truth"
    if kind in DIGIT_FORMATS:
        return "digits"
    if kind in _POSITIONS["format of dates"]:
        return "date"
    if kind in plain_number_kinds(spelling):
        return "number"
    return "spelled" if kind in _POSITIONS["spelling of numbers"] else kind


def infer_types(
    rows: Queryable, names: Sequence[str], spelling: Spelling, failure: float
) -> dict[str, Declaration]:
    """Infer the types of text columns, as declarations of a domain file."""
    # Cells are text as in a CSV file, with None for missing. The budget is that of vote_entry. ``failure`` is
    # the failure probability charged for thresholds.
    if not names:
        return {}
    answer = rows.ask(InferenceRowCount(), ROWS_SHARE)
    total, budget = (float(answer.values[0]), answer.sigma**2), COLUMNS_SHARE
    declarations = {}
    for i, name in enumerate(names):  # unspent budget goes to the later columns
        column = _ColumnQueries(rows=rows, name=name, spelling=spelling, budget=budget / (len(names) - i))
        declarations[name] = _infer_column(column, total, failure / len(names))
        budget -= column.spent
    return declarations


def type_inference_entry(columns: int, epsilon: float, delta: float) -> LedgerEntry:
    """The charge for inferring the types of ``columns`` columns; reads no rows."""
    mu, failure = calibrate_gaussian(epsilon, delta * (1 - FAILURE_SHARE)), threshold_failure(delta)
    losses = (*gaussian_noise(mu), ApproxDP(epsilon=0.0, delta=failure))
    mechanism = f"private type inference from the cells of {columns} undeclared columns"
    return LedgerEntry(name="types", mechanism=mechanism, losses=losses, scope="the types", parts=("domain",))


def threshold_failure(delta: float) -> float:
    """Part of delta that covers the thresholds."""
    return delta * FAILURE_SHARE


# --- decisions from noisy counts ------------------------------------------------------------------


@dataclass(frozen=True)
class FamilyCounts:
    """Noisy counts of a column's families, and the noisy number of rows with its variance."""

    values: np.ndarray
    sigma: float
    total: tuple[float, float]

    def averaged_with(self, values: np.ndarray, sigma: float) -> FamilyCounts:
        """Inverse-variance weighted means with a second answer."""
        other_variance, own_variance = sigma**2, self.sigma**2
        if not other_variance + own_variance:
            return self
        total = other_variance + own_variance
        means = (other_variance * np.asarray(self.values) + own_variance * np.asarray(values)) / total
        return FamilyCounts(means, math.sqrt(other_variance * own_variance / total), self.total)

    @cached_property
    def counts(self) -> dict[str, float]:
        """Count of each family."""
        return dict(zip(FAMILIES, np.asarray(self.values, dtype=float).tolist(), strict=True))

    @property
    def present(self) -> float:
        """Number of cells that are not missing."""
        return max(self.total[0] - self.counts["missing"], 0.0)

    def others(self, own: Collection[str], unread: float = 0.0, variance: float = 0.0) -> NoisyShare:
        """Share of the present cells outside the families ``own``, or unreadable.

        The weighted mean of two independent estimates: the sum of the other families' counts, and the present
        cells minus the own families' counts.
        """
        others = [family for family in FAMILIES[1:] if family not in own]
        direct = sum(self.counts[family] for family in others)
        rest = self.present - sum(self.counts[family] for family in own)
        if self.present < 1:
            return NoisyShare(1.0, 1.0)
        direct_variance = len(others) * self.sigma**2
        rest_variance = (1 + len(own)) * self.sigma**2 + self.total[1]
        estimate = direct
        if total := direct_variance + rest_variance:
            estimate = (direct * rest_variance + rest * direct_variance) / total
            variance += direct_variance * rest_variance / total
        deviation = math.sqrt(variance)
        return NoisyShare(max(estimate, 0.0) + unread, deviation) / self.present

    @property
    def others_of_likeliest(self) -> NoisyShare:
        """Share of the present cells outside the families of the likeliest type."""
        types = (("digits",), ("date",), ("truth",), ALL_NUMBERS)
        return min((self.others(own) for own in types), key=lambda share: share.most)

    @property
    def shows_spelled(self) -> bool:
        """Whether the count of numbers in other spellings is significant."""
        return self.counts["spelled"] > DOUBT * self.sigma

    def shows_codes(self, deviations: float) -> bool:
        """Whether the count of codes is significant: then the column is not numerical."""
        return self.counts["code"] > max(deviations * self.sigma, CODES * self.present)


@dataclass(frozen=True)
class NoisyShare:
    """A noisy share and its standard deviation."""

    estimate: float
    deviation: float

    def __truediv__(self, total: float) -> NoisyShare:
        """Both divided by ``total``."""
        return NoisyShare(self.estimate / total, self.deviation / total)

    @property
    def most(self) -> float:
        """Upper confidence limit."""
        return min(1.0, self.estimate + LIKELY * self.deviation)

    @property
    def decides(self) -> bool:
        """Whether a type is decided if this share of the cells is of other kinds."""
        return self.most <= OTHERS or (self.estimate <= SEEM and self.most <= MAY)

    @property
    def least(self) -> float:
        """Lower confidence limit."""
        return max(0.0, self.estimate - LIKELY * self.deviation)


PLAIN_NUMBERS = ("number", "digits")
ALL_NUMBERS = (*PLAIN_NUMBERS, "spelled")
_CATEGORICAL = {"sdtype": "categorical"}


def significant_counts(by: CountedBy, values: np.ndarray, sigma: float) -> dict[str, float]:
    """Noisy counts of a list, with 0 for insignificant ones."""
    threshold = CLEAR_OF_MANY if by == "spelling of numbers" else CLEAR
    return dict(zip(LISTS[by], np.where(values > threshold * sigma, values, 0).tolist(), strict=True))


def _numbers(
    families: FamilyCounts, values: np.ndarray, sigma: float, spelling: Spelling
) -> tuple[Declaration, NoisyShare]:
    counts = significant_counts("spelling of numbers", values, sigma)
    number_format, readable = detect_number_format(counts, spelling)
    if number_format is None or not families.shows_spelled:
        return {"sdtype": "numerical"}, families.others(PLAIN_NUMBERS)
    significant = [count for count in counts.values() if count]
    unread, variance = (
        (sum(significant) - readable, len(significant) * sigma**2)
        if sum(significant) > readable
        else (0.0, 0.0)
    )
    return {"sdtype": "numerical", "number_format": number_format}, families.others(
        ALL_NUMBERS, unread, variance
    )


def _dates(families: FamilyCounts, values: np.ndarray, sigma: float) -> tuple[Declaration, NoisyShare]:
    counts = significant_counts("format of dates", values, sigma)
    date_format = main_date_format(counts, families.present)
    if not counts[date_format]:
        return {}, NoisyShare(1.0, 0.0)
    unread = [n for kind, n in counts.items() if n and date_format not in (kind, BROADER.get(kind))]
    own = ("digits",) if date_format in DIGIT_FORMATS else ("date",)
    others = families.others(own, sum(unread), len(unread) * sigma**2)
    return {"sdtype": "datetime", "datetime_format": date_format}, others


def next_query(families: FamilyCounts, *, at_once: bool) -> CountedBy | None:
    """The query of spellings or formats that follows, or None if no type is decided."""

    def is_type(*own: str) -> bool:
        share = families.others(own)
        return share.most <= OTHERS if at_once else share.decides

    if is_type("digits") or is_type("date"):
        return "format of dates"
    if is_type("truth"):
        return "spelling of truth values"
    if is_type(*ALL_NUMBERS) and not families.shows_codes(DOUBT if at_once else SECOND):
        return "spelling of numbers"
    return None


def declaration_of(
    by: CountedBy, families: FamilyCounts, values: np.ndarray, sigma: float, spelling: Spelling
) -> tuple[Declaration, NoisyShare]:
    """Declaration of a column, and the share of cells that it cannot read."""
    if by == "spelling of truth values":
        truth, upper = values.tolist()
        return {"sdtype": "categorical" if upper > truth else "boolean"}, families.others(("truth",))
    if by == "format of dates":
        return _dates(families, values, sigma)
    return _numbers(families, values, sigma, spelling)


def other_kind_shares(
    answers: Sequence[NoisyAnswer], spelling: Spelling
) -> dict[str, tuple[bool, NoisyShare]]:
    """Per column with an inferred type: whether it was decided, and the share of cells of other kinds.

    Computed from the released answers. The share refers to the likeliest type if none was decided. Columns of
    text and codes are omitted.
    """
    first_answers: dict[tuple[str, tuple[str, ...]], NoisyAnswer] = {}
    second_answers: dict[tuple[str, ...], NoisyAnswer] = {}
    for answer in answers:
        if first_answers.setdefault((answer.asked.kind, answer.asked.columns), answer) is not answer:
            second_answers[answer.asked.columns] = answer
    rows, shares = first_answers.get((ROWS, ())), {}
    for (kind, columns), answer in first_answers.items():
        if kind != KIND_OF["family"] or rows is None:
            continue
        (name,) = columns
        families = FamilyCounts(answer.values, answer.scale, (float(rows.values.ravel()[0]), rows.scale**2))
        if (second := second_answers.get(columns)) is not None:
            families = families.averaged_with(second.values, second.scale)
        by = next_query(families, at_once=second is None)
        if by is not None and (form_answer := first_answers.get((KIND_OF[by], columns))) is not None:
            share = declaration_of(by, families, form_answer.values, form_answer.scale, spelling)[1]
            shares[name] = share.decides, share
        elif by is None and not families.shows_codes(CLEAR if second is None else SECOND):
            shares[name] = False, families.others_of_likeliest
    return shares


@dataclass(kw_only=True)
class _ColumnQueries:
    """Queries about one column within its budget."""

    rows: Queryable
    name: str
    spelling: Spelling
    budget: float
    spent: float = 0.0

    def ask(self, by: CountedBy, share: float) -> tuple[np.ndarray, float]:
        """Noisy counts of cells, and the standard deviation of the noise."""
        self.spent += share * self.budget
        answer = self.rows.ask(CellKindCounts(self.name, self.spelling, by), share * self.budget)
        return answer.values, answer.sigma

    def frequent(self, share: float, failure: float) -> FrequentValueCounts:
        """Frequent values, by partition selection."""
        self.spent += share * self.budget
        return self.rows.ask_frequent(FrequentValues(self.name), share * self.budget, failure)


def _infer_column(column: _ColumnQueries, total: tuple[float, float], failure: float) -> Declaration:
    """Infer the declaration of one column."""
    ask, spelling = column.ask, column.spelling
    families, budget = FamilyCounts(*ask("family", FAMILY_SHARE), total), 1 - FAMILY_SHARE
    number_declaration: Declaration | None = None
    by = next_query(families, at_once=True)
    if by is None and not families.shows_codes(CLEAR) and families.others_of_likeliest.estimate < 1 - MOSTLY:
        families, budget = families.averaged_with(*ask("family", AGAIN_SHARE)), budget - AGAIN_SHARE
        by = next_query(families, at_once=False)
    if by is not None:
        is_plain = by == "spelling of numbers" and not families.shows_spelled
        values, sigma = ask(by, PLAIN_SHARE if is_plain else budget)
        budget -= PLAIN_SHARE
        declaration, unread = declaration_of(by, families, values, sigma, spelling)
        if not unread.decides:  # the budget is spent, so lengths cannot be queried
            return dict(_CATEGORICAL)
        if not is_plain or not _mixes_fraction_digits(values, sigma, families.present):
            return declaration
        number_declaration = declaration
    frequent = column.frequent(VALUE_SHARE * budget, failure)
    if frequent.counts.sum() >= CATEGORY * families.present:
        return dict(_CATEGORICAL)
    if number_declaration is not None:
        return number_declaration
    if has_repeats(families.present, *ask("bucket of a hash", BUCKET_SHARE * budget)):
        return dict(_CATEGORICAL)
    return {"sdtype": "id", "regex_format": id_format(families, *ask("length", LENGTH_SHARE * budget))}


def has_repeats(present: float, buckets: np.ndarray, sigma: float) -> bool:
    """Whether values of a text column repeat, or noise would hide a value with share ``COMMON``.

    Distinct cells fill the buckets evenly; cells of few values fill few buckets.
    """
    cells = max(present, 1.0)
    noise = math.sqrt(2 * BUCKETS * sigma**4 + 4 * sigma**2 * cells + 2 * cells**2 / BUCKETS)
    deviation = noise / cells  # deviation of ``holders`` if no value repeats
    if DOUBT * deviation > COMMON * cells:
        return True
    squares = float(np.square(buckets - np.mean(buckets)).sum())
    holders = (squares - (BUCKETS - 1) * sigma**2) / cells - 1
    median = float(np.median(buckets)) - LIFTED * sigma
    unique_share = median * BUCKETS / cells  # least share of cells whose values hardly repeat
    return holders > max(HOLDERS * sigma, DOUBT * deviation) and unique_share < 1 - CATEGORY


def _mixes_fraction_digits(values: np.ndarray, sigma: float, present: float) -> bool:
    """Whether fractions with one digit and with trailing zeros occur (1.9 and 1.10), as in versions."""
    counts = dict(zip(NUMBERS, values.tolist(), strict=True))
    threshold = max(DOUBT * sigma, CODES * present)
    return counts[FRACTION_KINDS[0]] > threshold and counts["1234.5"] > threshold


def id_format(families: FamilyCounts, lengths: np.ndarray, sigma: float) -> str:
    """Regex of placeholders: with a plus sign, of digits, or of letters, whichever most cells have."""
    plain, with_plus = np.split(lengths, 2)
    if with_plus[with_plus > CLEAR * sigma].sum() > families.present / 2:
        low, high = length_limits(with_plus[2:], sigma)
        return f"\\+[0-9]{{{low},{high}}}"
    low, high = length_limits(plain[1:], sigma)
    digits = sum(families.counts[family] for family in (*ALL_NUMBERS, "code")) > families.present / 2
    return f"[{'0-9' if digits else 'a-z'}]{{{low},{high}}}"


def length_limits(noisy: Sequence[float] | np.ndarray, sigma: float = 0.0) -> tuple[int, int]:
    """Range of the significant lengths, without 1 % of the cells at either end."""
    counts = np.asarray(noisy, dtype=float)
    counts = np.where(counts > CLEAR * sigma, np.maximum(counts, 0), 0)
    if not counts.sum():
        return UNKNOWN_LENGTHS
    cumulative = np.cumsum(counts) / counts.sum()
    low, high = np.searchsorted(cumulative, [0.01, 0.99])
    return int(low) + 1, int(min(high, len(counts) - 1)) + 1
