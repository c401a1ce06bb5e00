"""Types of columns that nobody declared, by a vote over cells, within a budget: no odd cell decides a column.

Every cell is of one public kind by its own text alone; the noisy counts of the kinds decide. Of columns of
text it is then asked which values are frequent: where they are few of the cells, the column is text of such
and such lengths, and no category (docs/explanation/proofs/type_votes.md). Where noise hides which are
frequent, it is a category too: the values are learned later, with more of the budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdv_plausible.privacy.accounting.composition import calibrate_gaussian
from sdv_plausible.privacy.accounting.losses import ApproxDP, GaussianLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.questions.counts import Asked
from sdv_plausible.questions.queryable import Queryable
from sdv_plausible.table.cells.date_texts import DIGITS, FORMATS, main_form
from sdv_plausible.table.cells.number_texts import NUMBER_KINDS
from sdv_plausible.table.columns.cell_texts import Spelling, kind_of, spelling_of_numbers
from sdv_plausible.table.learned.raw_counts import ExactColumns, FrequentValues

KINDS = ("missing", "truth", "text", *FORMATS, *NUMBER_KINDS)
OF_EVERY_KIND = "cells of every kind"  # the question that decides
_PLACE = {kind: i for i, kind in enumerate(KINDS)}
UNKNOWN_LENGTHS = (1, 16)  # where noise hides all of them
LONGEST = 64  # lengths from here on are one
KIND_SHARE, VALUE_SHARE, LENGTH_SHARE = 0.4, 0.4, 0.2  # of mu^2
MOSTLY = 0.9  # share of the cells that decides for a kind; the others then count as missing
CATEGORY = 0.5  # share of the cells that frequent values must have for a category
COMMON = 0.1  # share of the cells: where noise hides values so frequent, there are no lengths but a category
CLEAR = 4.0  # deviations of the noise that a count must have to be seen
FAILURE_SHARE = 0.1  # of delta: thresholds of frequent values
_PROOF = "docs/explanation/proofs/type_votes.md"
Words = dict[str, Any]


@dataclass(frozen=True)
class CellKinds:
    """How many cells of a column are of each kind, or have each length."""

    name: str
    spelling: Spelling
    lengths: bool = False
    proof = f"{_PROOF}, Lemma 1"

    def asked(self) -> Asked:
        """Say what is asked."""
        kind = "cells of every length" if self.lengths else OF_EVERY_KIND
        return Asked(kind=kind, columns=(self.name,))

    def exact(self, rows: ExactColumns) -> np.ndarray:
        """Return counts, shape (kinds,) or (LONGEST + 1,); missing cells have length 0."""
        found = np.zeros(LONGEST + 1 if self.lengths else len(KINDS), dtype=np.int64)
        values, counts, missing = rows.value_counts(self.name)
        found[0] = missing
        for (_, value), count in zip(values, counts, strict=True):
            text = str(value)
            found[min(len(text), LONGEST) if self.lengths else _PLACE[kind_of(text, self.spelling)]] += count
        return found

    def sensitivity(self, neighbours: Neighbours) -> float:
        """One cell is of one kind, and has one length."""
        return neighbours.histogram_l2


def vote_types(rows: Queryable, names: Sequence[str], spelling: Spelling, failure: float) -> dict[str, Words]:
    """Types of columns of text, in the words of a domain file."""
    # Cells are as a file would hold them, missing as None, and opened by vote_entry; ``failure`` is the
    # probability that was charged for thresholds.
    each = 1 / max(len(names), 1)
    return {name: _voted(rows, name, spelling, each, failure * each) for name in names}


def vote_entry(columns: int, epsilon: float, delta: float) -> LedgerEntry:
    """Return what a vote on the types of so many columns charges; no row is looked at."""
    mu, failure = calibrate_gaussian(epsilon, delta * (1 - FAILURE_SHARE)), vote_failure(delta)
    losses = (GaussianLoss(sensitivity_over_sigma=mu), ApproxDP(epsilon=0.0, delta=failure))
    how = f"a vote over the cells of {columns} undeclared columns"
    return LedgerEntry(name="types", mechanism=how, losses=losses, scope="the types", parts=("domain",))


def vote_failure(delta: float) -> float:
    """Of what a vote may fail with, the share of its thresholds."""
    return delta * FAILURE_SHARE


def seen(values: np.ndarray, hidden: float) -> dict[str, float]:
    """Cells of each kind of a noisy answer; none of a kind that has no more than noise may hide."""
    return dict(zip(KINDS, np.where(values > hidden, values, 0).tolist(), strict=True))


def _voted(rows: Queryable, name: str, spelling: Spelling, each: float, failure: float) -> Words:
    """Words of one column, for an equal share of the budget."""
    answer = rows.ask(CellKinds(name, spelling), KIND_SHARE * each)
    hidden = CLEAR * answer.sigma
    counts = seen(answer.values, hidden)
    present = sum(counts[kind] for kind in KINDS[1:])
    digits = counts[DIGITS]
    dates = {form: counts[form] for form in FORMATS if form != DIGITS}
    decided = max(MOSTLY * present, 2 * hidden)  # twice what another kind may hide
    if digits > decided:
        return {"sdtype": "datetime", "datetime_format": DIGITS}
    number_format, numbers = spelling_of_numbers(counts, spelling)
    if numbers > decided:  # among them dates of eight digits, where they are few
        spelled = {} if number_format is None else {"number_format": number_format}
        return {"sdtype": "numerical", **spelled}
    if counts["truth"] > decided:
        return {"sdtype": "boolean"}
    if sum(dates.values()) > decided:
        return {"sdtype": "datetime", "datetime_format": main_form(dates, present)}
    frequent = rows.ask_frequent(FrequentValues(name), VALUE_SHARE * each, failure)
    if frequent.counts.sum() >= CATEGORY * present or CLEAR * frequent.sigma > COMMON * present:
        return {"sdtype": "categorical"}
    lengths = rows.ask(CellKinds(name, spelling, lengths=True), LENGTH_SHARE * each)
    low, high = length_range(lengths.values[1:], lengths.sigma)
    return {"sdtype": "id", "regex_format": f"[a-z]{{{low},{high}}}"}


def length_range(noisy: Sequence[float] | np.ndarray, sigma: float = 0.0) -> tuple[int, int]:
    """Shortest and longest length that stands out of the noise, but for 1 % of the cells at either end."""
    counts = np.asarray(noisy, dtype=float)
    counts = np.where(counts > CLEAR * sigma, np.maximum(counts, 0), 0)
    if not counts.sum():
        return UNKNOWN_LENGTHS
    below = np.cumsum(counts) / counts.sum()
    low, high = np.searchsorted(below, [0.01, 0.99])
    return int(low) + 1, int(min(high, len(counts) - 1)) + 1
