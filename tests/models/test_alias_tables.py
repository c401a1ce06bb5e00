"""Alias tables: the law of every row in whole numbers, zeros as zeros, and draws that follow it unit by unit."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdv_plausible.models import conditional_table
from sdv_plausible.models.conditional_table import BITS, MOST_CODES, SHORT, AliasTable, Thresholds


def rows_of(seed, rows, cardinality):
    """Random laws, of which many cells are impossible and some next to it."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(cardinality, 0.3), rows)
    p[rng.random(p.shape) < 0.4] = 0
    p[rng.random(p.shape) < 0.1] = 1e-15
    p[p.sum(axis=1) == 0, -1] = 1
    return p / p.sum(axis=1, keepdims=True)


def law(table):
    """Units of mass of each code of each row, from what a draw looks up."""
    bins = 1 << table._log_bins
    size, found = 2**BITS // bins, []
    low = table._thresholds._low.reshape(-1, bins).tolist()
    for row, entries in enumerate(table._entries.reshape(-1, bins).tolist()):
        mass = [0] * bins
        for b, entry in enumerate(entries):
            own = (entry // bins << BITS - SHORT) + low[row][b]
            assert 0 <= own < size
            mass[b] += own
            mass[b ^ entry % bins] += size - own
        found.append(mass)
    return found


def farthest(table, p):
    """Largest distance of a mass from its probability; of a zero that is none, and of a code that is none, 1."""
    worst = Fraction(0)
    for mass, row in zip(law(table), p, strict=True):
        assert sum(mass) == 2**BITS
        wanted = [*map(Fraction, row.tolist()), *[Fraction(0)] * (len(mass) - len(row))]
        for units, w in zip(mass, wanted, strict=True):
            worst = max(worst, Fraction(1) if units and not w else abs(Fraction(units, 2**BITS) - w))
    return worst


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 30),
    st.sampled_from([1, 2, 3, 4, 5, 8, 17, 64, 100, MOST_CODES]),
)
def test_the_law_is_that_of_the_row_as_far_as_doubles_tell(seed, rows, cardinality):
    p = rows_of(seed, rows, cardinality)
    assert farthest(AliasTable(p), p) <= Fraction(cardinality + 1, 2**53)


@pytest.mark.parametrize("bug", ["coarse", "neighbour", "no sharing"])
def test_planted_bugs_are_far_from_the_law(bug, monkeypatch):
    """Control: masses of 24 bits; another code that shares; bins that their own code fills."""
    p = rows_of(1, 20, 5)
    if bug == "coarse":
        table = AliasTable(np.round(p * 2**24) / 2**24)
    elif bug == "neighbour":
        table = AliasTable(p)
        table._entries ^= np.uint16(1)
    else:
        monkeypatch.setattr(
            conditional_table, "_fill_bins", lambda m, size: (np.full_like(m, size), np.zeros_like(m))
        )
        table = AliasTable(p)
    assert farthest(table, p) > Fraction(6, 2**53)


class Told:
    """Coins that show numbers of 53 bits, first 32 of them and then, for all that are open, the rest."""

    def __init__(self, numbers, is_open):
        self.numbers, self.is_open, self.opened = np.array(numbers, dtype=np.uint64), np.array(is_open), 0

    def short_words(self, n):
        assert n == len(self.numbers)
        return (self.numbers >> np.uint64(BITS - SHORT)).astype(np.uint16)

    def words(self, n):
        self.opened = n
        return (self.numbers[self.is_open] << np.uint64(64 - BITS + SHORT)) | np.uint64(3)


def test_a_number_draws_the_code_of_its_unit():
    """Marks and ends of bins included. Control: a unit to the side, which draws another one at some mark."""
    p = rows_of(2, 6, 5)
    table = AliasTable(p)
    bins = 1 << table._log_bins
    size, rest = 2**BITS // bins, BITS - SHORT
    low, entries = table._thresholds._low.tolist(), table._entries.tolist()
    marks = [(b % bins) * size + (entry // bins << rest) + low[b] for b, entry in enumerate(entries)]
    units = [m + d for m in [*marks, *(b * size for b in range(bins))] for d in (-1, 0, 1)] + [2**BITS - 1]
    units = [u for u in units if 0 <= u < 2**BITS]

    def by_definition(row, unit):
        b = unit // size
        place = row * bins + b
        return b ^ entries[place] % bins if unit >= marks[place] else b

    for row in range(len(p)):
        rng = Told(units, [u >> rest == marks[row * bins + u // size] >> rest for u in units])
        drawn = table.draw(np.full(len(units), row), rng).tolist()
        assert rng.opened == rng.is_open.sum() > 0
        assert drawn == [by_definition(row, unit) for unit in units]
        assert drawn != [by_definition(row, max(unit - 1, 0)) for unit in units]
        assert (p[row, drawn] > 0).all()


def test_rows_that_are_no_law_are_refused():
    for row in ([0.0, 0.0], [0.5, -0.1], [np.nan, 1.0], [np.inf, 1.0]):
        with pytest.raises(ValueError, match="not all 0"):
            AliasTable(np.array([[0.5, 0.5], row]))


def test_marks_are_compared_to_the_last_bit():
    """Control: the short part alone, which cannot tell numbers next to one another."""
    marks = [0, 1, (5 << BITS - SHORT) + 7, 5 << BITS - SHORT, 2**BITS - 1]
    pairs = [(m, min(max(m + d, 0), 2**BITS - 1)) for m in marks for d in (-1, 0, 1)]
    rng = Told([u for _, u in pairs], [m >> BITS - SHORT == u >> BITS - SHORT for m, u in pairs])
    made = Thresholds(np.array([m for m, _ in pairs]))
    drawn = made.draw(np.arange(len(pairs)), rng).tolist()
    assert drawn == [u < m for m, u in pairs]
    assert drawn != [u >> BITS - SHORT < m >> BITS - SHORT for m, u in pairs]
