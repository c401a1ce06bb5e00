"""Whose rows are used: at most so many of a person, uniformly, whatever the order and whoever is there."""

import datetime as dt
import itertools
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from cases import fast_and_nightly
from miss_rates import chi_square
from scipy import stats

from sdv_plausible.fitting.ledger_notes import person_entry, unknown_persons_entry
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.table.cells.canonical_forms import canonical
from sdv_plausible.table.contribution_bounding import choose_rows, person_keys

ALARM, MISSED = (
    1e-6,
    1e-6,
)  # chances of a false alarm of each statistical check, and of missing its planted bug
DRAWS = 4000


def first_come(persons, most, rng):
    """Planted: the first rows of every person."""
    return np.flatnonzero(persons.groupby(persons).cumcount().to_numpy() < most)


def test_no_person_keeps_more_rows_and_none_keeps_fewer_than_there_are():
    persons = pd.Series(np.random.default_rng(1).integers(0, 40, 300))
    for most in (1, 2, 5):
        kept = persons.iloc[choose_rows(persons, most, KeyedRNG.from_os_entropy())].value_counts()
        assert (kept == persons.value_counts().clip(upper=most).loc[kept.index]).all()
        assert set(kept.index) == set(persons)


def sets_chosen(choose, persons, most, person):
    """How often each set of a person's rows was chosen; rows are told apart by their label."""
    found = Counter()
    for _ in range(DRAWS):
        chosen = persons.iloc[choose(persons, most, KeyedRNG.from_os_entropy())]
        found[frozenset(chosen.index[chosen == person])] += 1
    return found


def p_value(found, of, most):
    every = [frozenset(c) for c in itertools.combinations(of, most)]
    assert set(found) <= set(every)
    return float(stats.chisquare([found[c] for c in every]).pvalue)


ROWS = pd.Series(["ann", "bob", "ann", "bob", "ann", "ann", "cem"], index=list("abcdefg"))
ANNS = list("acef")


@pytest.mark.parametrize("order", fast_and_nightly([list("cagebdf")], [list("abcdefg"), list("gfedcba")]))
def test_every_choice_of_a_persons_rows_is_equally_likely_in_any_order(order):
    assert p_value(sets_chosen(choose_rows, ROWS.loc[order], 2, "ann"), ANNS, 2) > ALARM


def test_other_people_do_not_matter():
    alone = ROWS[ROWS == "ann"]
    assert p_value(sets_chosen(choose_rows, alone, 2, "ann"), ANNS, 2) > ALARM


def test_planted_the_first_rows_of_everybody():
    found = sets_chosen(first_come, ROWS, 2, "ann")  # one set alone, always
    assert p_value(found, ANNS, 2) < ALARM


def test_the_check_of_uniformity_would_see_a_preference():
    """A choice that prefers early rows by half would be missed with a probability below MISSED."""
    assert chi_square(DRAWS, [1] * 6, [2, 1, 1, 1, 1, 1], ALARM) < MISSED


def test_equal_coins_choose_equally_and_the_order_of_the_others_is_kept():
    persons = pd.Series(["x", "y"] * 20)
    one, other = (choose_rows(persons, 3, KeyedRNG.from_seed(4)) for _ in range(2))
    assert (one == other).all()
    assert (np.diff(one) > 0).all()


def test_rows_of_nobody_are_not_used():
    for missing in (None, np.nan, pd.NA, pd.NaT):
        persons = pd.Series(["x", missing, "y", missing, missing], dtype=object)
        assert set(choose_rows(persons, 1, KeyedRNG.from_seed(0))) == {0, 2}
    assert not len(choose_rows(pd.Series([], dtype=object), 1, KeyedRNG.from_seed(0)))


def test_a_person_has_one_name_however_it_is_stored():
    day = pd.Timestamp("2020-01-02")
    for same, different in (
        ([1, 1.0, np.int32(1), np.float64(1)], [2, "1"]),
        (["a", np.str_("a")], ["b", "A"]),
        ([day.to_pydatetime(), day, np.datetime64("2020-01-02")], [dt.datetime(2020, 1, 3)]),
        ([2**60], [2**60 + 1]),
        ([(1, 2), (1, 2)], [(1, 3)]),
    ):
        persons = pd.Series([*same, *different], dtype=object)
        kept = choose_rows(persons, 1, KeyedRNG.from_os_entropy())
        assert len(kept) == 1 + len(different)
        assert sum(i < len(same) for i in kept) == 1
    for dtype in ("int64", "Int64", "float64", "object", "category", "str", "datetime64[ns]"):
        names = np.array([3, 3, 3, 7, 7, 11])
        names = pd.to_datetime(names, unit="D") if dtype.startswith("datetime") else names
        assert len(choose_rows(pd.Series(names).astype(dtype), 2, KeyedRNG.from_os_entropy())) == 5
    assert len(choose_rows(pd.Series([2**53, 2**53 + 1]), 1, KeyedRNG.from_seed(0))) == 2


def test_entries_say_what_is_done_and_what_is_not_known():
    assert person_entry(Neighbours()) == unknown_persons_entry(Neighbours()) == []
    (entry,) = person_entry(Neighbours(rows=4, person="home"))
    assert (entry.status, entry.parts) == ("declared", ())
    assert "at most 4 of the rows of each value of home" in entry.mechanism
    assert "more than 4 rows count as if they had 4" in entry.note
    (entry,) = unknown_persons_entry(Neighbours(rows=4, person="home"))
    assert entry.status == "no claim"


def test_long_numbers_stay_several_people_whatever_the_cells_beside_them_are():
    """In doubles 2**53 and 2**53 + 1 are one number; one missing name must not make them one person."""
    for besides in (None, "another", 1j, 10**400, 0.5):
        persons = pd.Series([*(2**53 + i for i in range(6)), besides], dtype=object)
        assert {*range(6)} <= {*choose_rows(persons, 1, KeyedRNG.from_os_entropy()).tolist()}


def test_people_with_long_numbers_are_not_one():
    """By way of a double two people become one: a person more would then put other people's rows in their place."""
    firsts = [
        2**53, 10**17, Decimal(2**53), Decimal("0.12345678901234567890"), np.longdouble(2**53),
        Fraction(2**53),
    ]  # fmt: skip
    for first in firsts:
        other = first + (Decimal("1e-20") if first == firsts[3] else 1)
        if other == first:
            continue  # long doubles are doubles here
        names = pd.Series([first, other] * 5, dtype=object)
        assert len(set(person_keys(names))) == 2
        assert len(choose_rows(names, 5, KeyedRNG.from_seed(0))) == 10
        assert len({canonical(name) for name in names}) == 1 or isinstance(first, Fraction)  # the control


def test_a_tuple_that_holds_a_rounded_number_names_nobody():
    """Two people whose name holds a number of 2**53 or more as a double would be one person."""
    rounded = [
        float(2**53), -float(2**60), np.float64(2**53), np.float32(2**24), np.float16(2**11),
        np.complex64(2**24),
    ]  # fmt: skip
    names = [name for number in rounded for name in ((1, number), (number, 1), (1, 2, number))]
    told = [(1, 2.0**53 - 1), (1, np.float32(2**24 - 1)), (2**60, "x"), (Decimal(2**60), 1), (0.5, 1)]
    found = person_keys(pd.Series([*names, *told], dtype=object))
    assert [name is None for name in found] == [True] * len(names) + [False] * len(told)
    assert len({*found[len(names) :]}) == len(told)


def test_a_double_in_which_whole_numbers_become_one_names_nobody():
    """Of 2,000 people with long names a frame with one nameless row would have made a few."""
    long = pd.Series([2**60 + i for i in range(2000)])
    assert len(choose_rows(long, 1, KeyedRNG.from_seed(0))) == 2000
    rounded = pd.concat([long.astype(float), pd.Series([7.0, 2.0**53 - 1])], ignore_index=True)
    assert choose_rows(rounded, 1, KeyedRNG.from_seed(0)).tolist() == [2000, 2001]


def test_a_float_of_few_bits_in_which_whole_numbers_become_one_names_nobody():
    """Control: as doubles, which tell them apart, they are names."""
    for stored in ("float16", "float32", "Float32", "float[pyarrow]", "category", "object"):
        bits = 11 if stored == "float16" else 24
        numbers = pd.Series([7.0, 2.0**bits - 1, 2.0**bits])
        few = numbers.astype("float32" if stored in ("category", "object") else stored)
        few = pd.Series(list(few.to_numpy()), dtype=object) if stored == "object" else few.astype(stored)
        assert [name is None for name in person_keys(few)] == [False, False, True]
        assert None not in person_keys(numbers)


def test_a_name_that_python_has_no_object_for_is_nobodys_and_no_other_persons():
    """Names at the ends of what Arrow stores, each twice, beside two usual ones."""
    counts = pa.array([-(2**63) + 1, 2**63 - 1, 0, 86_400, -(2**63) + 2] * 2, "int64")
    for kind, unit in itertools.product((pa.timestamp, pa.duration), ("s", "ms", "us", "ns")):
        column = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([counts.view(kind(unit))])))
        names = person_keys(column)
        if kind is pa.duration:
            assert set(names) == {None}
            continue
        assert names[2] == names[7] != names[3] == names[8]
        assert None not in (names[2], names[3])
        for first, second in itertools.combinations(range(5), 2):
            assert names[first] is None or names[first] != names[second]
        chosen = choose_rows(column, 1, KeyedRNG.from_os_entropy())
        assert len(chosen) == len({name for name in names if name is not None})
