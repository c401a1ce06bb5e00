"""Sums over parts are the counts of the whole; every row is in one cell; every engine gives the same codes.

docs/explanation/proofs/parts.md, Lemmas 1 to 3.
"""

import datetime as dt
import pickle
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tables import COLUMNS, DECLARED, ENGINES, held, table

from sdv_plausible import Domain, read_parquet
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import Axis, CodeArray
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.sources import source_counts
from sdv_plausible.sources.fingerprints import fingerprint
from sdv_plausible.sources.source import FrameSource
from sdv_plausible.sources.source_counts import PartEncoder, SourceCounts
from sdv_plausible.sources.source_types import open_source
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.domain import Attribute
from sdv_plausible.table.declared.column_types import column_types

DOMAIN = Domain.from_declarations({name: COLUMNS[name] | words for name, words in DECLARED.items()})
NAMES = tuple(DOMAIN.names)
SETS = [(Axis.of_codes(j, DOMAIN.cardinalities[j]),) for j in range(len(DOMAIN))]
SETS += [(Axis(0, np.arange(DOMAIN.cardinalities[0]) // 10), one[0]) for one in SETS[1:]]
SETS += [(SETS[2][0], SETS[3][0], SETS[1][0]), ()]
FRAME = table(700)


class Unordered(FrameSource):
    """A source that promises no order."""

    in_order = False


class CountsAPartTwice(FrameSource):
    """The bug to be found: a part that is read again after a failure is added again."""

    def pieces(self, names):
        for number, part in enumerate(super().pieces(names)):
            yield part
            if number == 1:
                yield part


def counts(source, domain=DOMAIN):
    return SourceCounts(source, PartEncoder(domain, RuleSet(), KeyedRNG.from_seed(1)), tuple(domain.names))


def whole(frame=FRAME):
    return CodeArray(Codec(DOMAIN).encode(frame, KeyedRNG.from_seed(1)), DOMAIN.cardinalities)


def agree(one, rows):
    return all(
        np.array_equal(a, b) and a.dtype == np.int64
        for a, b in zip(one.tables(SETS), rows.tables(SETS), strict=True)
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 90), st.integers(0, 80))
def test_tables_are_those_of_the_whole(rows, n):
    frame = FRAME.iloc[:n]
    found = counts(FrameSource(frame, rows))
    assert agree(found, whole(frame))
    assert found.num_rows() == n


CELLS = {
    "age": st.integers(-5, 130),
    "wage": st.one_of(st.none(), st.floats(-1e3, 1e4), st.sampled_from([0.05, 0.15, 1000.0, 999.95])),
    "sex": st.sampled_from(["f", "m", "M", " m", "1", "nan", "true"]),
    "city": st.sampled_from(["Bern", "Basel", "Genf", "Chur", None, "bern", "NA"]),
    "born": st.one_of(st.dates(dt.date(1940, 1, 1), dt.date(2020, 12, 31)).map(str), st.just("1999-02-30")),
    "key": st.just("k"),
}
AS_THEY_ARE = ("pandas", "dask", "dask parquet")  # blanks around a text count in them
TABLES = st.lists(st.tuples(*CELLS.values()), min_size=10, max_size=40)


@dataclass(frozen=True)
class Codes:
    """Work: codes of all rows, -1 for cells outside the domain."""

    def count(self, part, number):
        return Codec(DOMAIN).known(part).tolist()

    def merge(self, one, other):
        return one + other


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=4, deadline=None, phases=[Phase.generate])
@given(rows=TABLES)
def test_every_cell_has_on_every_engine_the_code_of_memory(engine, rows):
    frame = pd.DataFrame(rows, columns=list(CELLS)).astype({"sex": object, "city": object, "born": object})
    frame["wage"] = frame["wage"].astype(float)
    with TemporaryDirectory() as folder:
        source = open_source(held(engine, frame, Path(folder)), column_types(DECLARED, COLUMNS), 5)
        found = source.total(Codes(), NAMES)
        if engine not in AS_THEY_ARE:  # all else is read as a file is
            frame.to_parquet(Path(folder) / "whole")
            frame = read_parquet(Path(folder) / "whole", DECLARED, COLUMNS)
    assert sorted(found) == sorted(Codec(DOMAIN).known(frame).tolist())


def test_a_part_that_is_added_twice_is_seen():
    assert not agree(counts(CountsAPartTwice(FRAME, 100)), whole())


def test_groups_are_those_of_the_whole():
    found = counts(FrameSource(FRAME, 64))
    for columns, least in (((2, 3), 1), ((2, 3), 100), ((4, 0), 2)):
        expected = dict(zip(map(tuple, (g := whole().groups(columns, least))[0]), g[1], strict=True))
        groups, sizes = found.groups(columns, least)
        assert dict(zip(map(tuple, groups), sizes, strict=True)) == expected


def test_parts_by_secret_numbers_fill_up_the_whole():
    source, rng = counts(FrameSource(FRAME, 64)), KeyedRNG.from_seed(4)
    some = [source.part(low, high, rng) for low, high in ((0, 0.3), (0.3, 0.5), (0.5, 1))]
    tables = [np.concatenate([t.ravel() for t in part.tables(SETS)]) for part in some]
    assert np.array_equal(sum(tables), np.concatenate([t.ravel() for t in whole().tables(SETS)]))
    assert [part.num_rows() > 60 for part in some] == [True] * 3
    halves = [some[2].part(low, low + 0.5, rng.spawn("more")) for low in (0, 0.5)]
    assert sum(half.num_rows() for half in halves) == some[2].num_rows()
    assert source.part(0, 1, rng) is source
    with pytest.raises(ValueError, match="stable row order"):
        counts(Unordered(FRAME, 64)).part(0, 0.5, rng)


def test_cells_outside_the_domain_are_drawn_once_for_each_row_or_once_for_each_pass():
    never = Domain.from_declarations({"sex": {"range_values": ["f", "m"], "range_is_nullable": False}})
    strange = pd.DataFrame({"sex": ["x"] * 400})

    def passes(source):
        found = counts(source, never)
        return [tuple(found.groups((0,), 1)[1].tolist()) for _ in range(4)]

    kept, drawn = passes(FrameSource(strange, 50)), passes(Unordered(strange, 50))
    assert all(sum(sizes) == 400 for sizes in kept + drawn)
    assert len({*kept}) == 1
    assert len({*drawn}) > 1  # all four alike: less than one in a thousand
    assert passes(Unordered(strange, 50)) == drawn


def test_the_narrow_type_holds_every_code_and_strangers():
    for number in (1, 127, 128, 129, 255, 256, 257, 2**15, 2**15 + 1, 2**16 + 1):
        values = tuple(f"v{i}" for i in range(number))
        domain = Domain((Attribute(name="x", kind="categorical", values=values),))
        frame = pd.DataFrame({"x": [values[0], values[number // 2], values[-1], *["stranger"] * 99]})
        codes, told = PartEncoder(domain, RuleSet(), KeyedRNG.from_seed(number)).encode_all(frame, 0)
        assert codes[:3, 0].tolist() == [0, number // 2, number - 1]
        assert ((codes >= 0) & (codes < number)).all()
        assert len(np.unique(codes[3:])) > min(number, 20) / 2  # 99 draws; few of many: less than 1e-9
        assert told.tolist() == fingerprint(Codec(domain).known(frame)).tolist()


CHANGES = {
    "a row more": lambda frame: pd.concat([frame, frame.iloc[:1]]),
    "another order": lambda frame: pd.concat([frame.iloc[1:], frame.iloc[:1]]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_table_that_changes_is_refused_and_not_remembered(change, monkeypatch):
    class Changing(FrameSource):
        def pieces(self, names):
            self._table = CHANGES[change](self._table)
            return super().pieces(names)

    for most in (source_counts.MAX_TOTAL_CELLS, 0):
        monkeypatch.setattr(source_counts, "MAX_TOTAL_CELLS", most)
        found = counts(Changing(FRAME, 100))
        next(found.tables(SETS))
        if most:
            next(found.tables(SETS))  # no pass
        for _ in range(2):
            with pytest.raises(RuntimeError, match="than in an earlier pass"):
                next(found.tables([SETS[-2][::-1]]))
        with pytest.raises(RuntimeError, match="than in an earlier pass"):
            found.groups((2, 3), 1)


def test_rows_stay():
    found = counts(FrameSource(FRAME, 100))
    with pytest.raises(ValueError, match=r"about 0\.0 GB"):
        found.records()
    for holder in (found, FrameSource(FRAME)):
        with pytest.raises(TypeError, match="rows cannot be pickled"):
            pickle.dumps(holder)
