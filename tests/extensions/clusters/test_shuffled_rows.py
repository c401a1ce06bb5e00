"""Which rows of a person are used on a cluster: a function of the person's rows and a key, and all choices alike.

docs/explanation/proofs/persons.md, Lemma 3. Planted: a hash without a key; ties by place, and none; people whose rows go to several
places; a key that is drawn in every pass.
"""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from engines import held, keeping_nothing
from scipy import stats
from tables import COLUMNS, DECLARED
from test_bounded_rows import ALARM, FRAME, too_many
from test_bounded_rows import chosen as used

from sdv_plausible import Person, fit_source
from sdv_plausible.extensions.clusters import shuffled_rows
from sdv_plausible.extensions.clusters.dask_source import DaskSource
from sdv_plausible.extensions.clusters.shuffled_rows import RowChoice, hash_rows, select_rows
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.table.contribution_bounding import choose_rows, name_hash, select_smallest

PEOPLE = 3_000
Chooses = Callable[[np.ndarray, np.ndarray, int, bytes], np.ndarray]


def of_four(kinds):
    """Four rows of each person: whose, their contents, and which of the four kinds; in no order."""
    whose, kind = np.repeat(np.arange(PEOPLE), 4), np.tile(kinds, PEOPLE)
    order = np.random.default_rng(1).permutation(len(whose))
    return whose[order], hash_rows(pd.DataFrame({"whose": whose, "kind": kind}))[order], kind[order]


def pairs(choose, kinds, key):
    """How often each two kinds are those used."""
    whose, content, kind = of_four(kinds)
    rows = choose(whose, content, 2, key)
    used = pd.DataFrame({"whose": whose[rows], "kind": kind[rows]}).groupby("whose")["kind"]
    return Counter(used.agg(lambda two: tuple(sorted(two))))


def p_of(found, kinds):
    """Of the claim that all six choices of two of the four rows are equally likely."""
    choices = Counter(tuple(sorted((kinds[i], kinds[j]))) for i in range(4) for j in range(i))
    expected = [PEOPLE * n / 6 for n in choices.values()]
    return float(stats.chisquare([found[one] for one in choices], expected).pvalue)


def without_ranks(whose, content, most, key):
    """The planted bug: equal rows have one number."""
    return select_smallest(whose, content, most)


def first_ones(whose, content, most, key):
    """The planted bug: numbers by place."""
    return select_smallest(whose, np.arange(len(content)), most)


def test_every_choice_of_a_persons_rows_is_equally_likely():
    """Also of equal rows. With keys of the system's entropy a false alarm has a chance below 1e-9. Planted: one number."""
    for kinds in ((0, 1, 2, 3), (0, 0, 1, 2), (0, 0, 0, 1)):
        assert p_of(pairs(select_rows, kinds, os.urandom(32)), kinds) > ALARM
    assert p_of(pairs(without_ranks, (0, 0, 1, 2), b""), (0, 0, 1, 2)) < ALARM


def agreeing(choose):
    """Share of people of whom two keys choose the same two of four rows."""
    whose, content, _ = of_four((0, 1, 2, 3))
    one, other = (set(choose(whose, content, 2, os.urandom(32)).tolist()) for _ in range(2))
    same = pd.Series(np.isin(np.arange(len(whose)), [*(one ^ other)], invert=True)).groupby(whose).all()
    return float(same.mean())


def test_the_key_decides():
    """A sixth agrees by chance: between .1 and .25 but for a chance below 1e-20. Planted: a hash without a key."""
    assert 0.1 < agreeing(select_rows) < 0.25
    assert agreeing(lambda whose, content, most, _: select_rows(whose, content, most, b"public")) == 1


def multiset(choose, order, key):
    """What is used of the rows in some order."""
    whose, content, kind = (values[order] for values in of_four((0, 0, 1, 2)))
    rows = choose(whose, content, 2, key)
    return Counter(zip(whose[rows].tolist(), kind[rows].tolist(), strict=True))


def test_the_order_of_the_rows_is_no_matter():
    """Planted: numbers by place."""
    key, rng = os.urandom(32), np.random.default_rng(0)
    orders = [np.arange(4 * PEOPLE), *(rng.permutation(4 * PEOPLE) for _ in range(3))]
    assert len({frozenset(multiset(select_rows, order, key).items()) for order in orders}) == 1
    assert len({frozenset(multiset(first_ones, order, key).items()) for order in orders}) == len(orders)


def test_other_people_are_no_matter():
    whose, content, kind = of_four((0, 0, 1, 2))
    key, some = os.urandom(32), whose % 3 == 0
    rows, alone = select_rows(whose, content, 2, key), select_rows(whose[some], content[some], 2, key)
    among, by_themselves = rows[whose[rows] % 3 == 0], np.flatnonzero(some)[alone]
    used = (Counter(zip(whose[these], kind[these], strict=True)) for these in (among, by_themselves))
    assert next(used) == next(used)


def test_nobody_and_those_with_room_for_all():
    whose, content = np.array([-1, 0, 0, 1, -1, 1, 1]), np.zeros(7, dtype=np.uint64)
    assert sorted(whose[select_rows(whose, content, 2, b"")]) == [0, 0, 1, 1]
    assert select_rows(whose[:0], content[:0], 2, b"").size == 0


CELLS = [
    "a", b"a", 1, 1.5, True, None, np.nan, Decimal(1), pd.Timestamp("2020-02-02"), (1, "a"), "\ud800",
]  # fmt: skip


def test_a_cell_is_read_by_itself():
    """What else its column holds changes no number: it would make a person's choice another one's business."""
    together = hash_rows(pd.DataFrame({"cell": pd.Series(CELLS, dtype=object)}))
    alone = [int(hash_rows(pd.DataFrame({"cell": pd.Series([cell], dtype=object)}))[0]) for cell in CELLS]
    assert together.tolist() == alone
    assert len(set(alone)) == len(CELLS)
    texts = pd.Series(["x", "y", None, "x"], dtype="category")
    one, other = (hash_rows(pd.DataFrame({"cell": column})) for column in (texts, texts.iloc[::-1]))
    assert one.tolist() == other[::-1].tolist()
    assert one[0] == hash_rows(pd.DataFrame({"cell": pd.Series(["x"], dtype="category")}))[0]


def test_equal_names_share_a_number_in_every_process():
    names = [7, 7.0, Decimal(7), Fraction(7), np.float64(7)]
    assert len({name_hash(name) for name in names}) == 1
    assert name_hash((7, "a")) == name_hash((7.0, "a"))
    code = "import datetime as d; from sdv_plausible.table.contribution_bounding import name_hash as h; print([h(n) for n in ('a', b'a', d.date(2020, 1, 1), ('a', 7))])"
    told = {subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True).stdout for seed in "12"}  # fmt: skip
    assert len(told) == 1


def on_dask(frame, parts=5):
    return DaskSource(pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=parts, sort=False))


def test_other_partitions_and_another_order_have_the_same_rows_used(tmp_path):
    tables = on_dask(FRAME, 3), on_dask(FRAME.sample(frac=1, random_state=1), 7)
    found = (used(one, 2, tmp_path, KeyedRNG.from_seed(1)).astype(str) for one in tables)
    pd.testing.assert_frame_equal(*(rows.sort_values([*rows]).reset_index(drop=True) for rows in found))


def test_planted_people_whose_rows_go_to_several_places(tmp_path, monkeypatch):
    assert not too_many(used(on_dask(FRAME), 1, tmp_path), FRAME, 1)
    monkeypatch.setattr(shuffled_rows, "name_hash", lambda _: int.from_bytes(os.urandom(4), "big"))
    assert too_many(used(on_dask(FRAME), 1, tmp_path), FRAME, 1)


def test_equal_names_of_several_types_are_one_person(tmp_path):
    kinds = (int, float, Decimal, Fraction)
    frame = pd.DataFrame({"key": pd.Series([kind(i) for kind in kinds for i in range(40)], dtype=object)})
    dask = pytest.importorskip("dask")
    with dask.config.set({"dataframe.convert-string": False}):
        rows = used(on_dask(frame, 4), 1, tmp_path)
    assert len(rows) == len(choose_rows(frame["key"], 1, KeyedRNG.from_os_entropy())) == 40


def test_a_choice_that_is_made_anew_in_every_pass_stops_the_fit():
    """Workers that keep nothing choose again for each pass: the same rows. Planted: by another key."""
    frame = held("dask", FRAME, Path())
    with keeping_nothing(), pytest.MonkeyPatch.context() as patch:
        assert fit_source(frame, COLUMNS, DECLARED, person=Person("key", rows=1)).ledger.claims_privacy
        patch.setattr(shuffled_rows, "select_rows", lambda *given: select_rows(*given[:3], os.urandom(32)))
        with pytest.raises(RuntimeError, match="than in an earlier pass"):
            fit_source(frame, COLUMNS, DECLARED, person=Person("key", rows=1))


def test_cells_that_name_nobody_are_told_of(tmp_path):
    places = np.arange(len(FRAME))
    frame = FRAME.assign(key=np.where(places == 5, 2.0**60, places % 9))
    with pytest.warns(UserWarning, match="key"):
        found = fit_source(held("dask", frame, tmp_path), COLUMNS, DECLARED, person=Person("key", rows=4))
    assert found.ledger.claims_privacy


def test_no_cell_changes_however_pieces_store_it():
    """One part has categories, one texts, one objects; pandas would take texts for others up to a NUL, and 1 for True."""
    key, cells = pd.Series(["p", "q"] * 3), ["a", "a\0b", "", None, "1", "x"]
    stored = [
        pd.Series(cells, dtype="category"),
        pd.Series(cells, dtype=object),
        pd.Series([1, True, 1.0, "1", None, 2**60], dtype=object),
        pd.Series([1, 2, 3, 4, 5, 6]),
        pd.Series([True, 1, "a", 1.5, 0, 0], dtype=object).astype("category"),
        pd.Series(cells[:2], dtype="category"),
        pd.Series([], dtype="category"),
    ]
    choice = RowChoice("key", 10**6, b"secret")
    assert "secret" not in repr(choice)
    parts = [pd.DataFrame({"key": key[: len(one)], "cell": one}) for one in stored]
    for some in (parts, parts[:1] + parts[5:], parts[3:4], parts[6:]):
        dealt = [rows for part in some for _, rows in choice.distribute(part, 4)]
        found = choice.select(dealt, parts[6]).rows

        def told(rows):
            return Counter(f"{who!r} {cell!r}".replace("None", "nan") for part in rows for who, cell in zip(part["key"], part["cell"], strict=True))  # fmt: skip

        assert told([found]) == told(some)
