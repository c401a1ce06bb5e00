"""At most so many rows of a person on every engine.

docs/explanation/proofs/persons.md, Lemma 2. Planted: an engine whose rows are chosen part by part, in which a person with rows
in several parts has too many; persons told apart by texts that depend on the other cells; the first rows of everybody.
"""

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import crc32

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tables import COLUMNS, DECLARED, ENGINES, SEED, document, held, in_memory, table

from sdv_plausible import Budget, Person, fit_source
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.sources import bounded_rows as module
from sdv_plausible.sources.bounded_rows import bound_locally, of_persons
from sdv_plausible.sources.source import FrameSource, InMemoryPart
from sdv_plausible.sources.source_types import open_source
from sdv_plausible.table.columns.cell_reader import ColumnType
from sdv_plausible.table.contribution_bounding import choose_rows
from sdv_plausible.table.declared.column_types import column_types
from tests.flat import values

ALARM = 1e-12  # of the check of uniformity: its chance of a false alarm is below 1e-9 (1e-12 but for chi-square's tail)
LONG = 2**53  # one more, and doubles cannot tell it from this one


def of_people(n=900, people=120):
    """Rows of people, some with many, some of nobody; a person's rows are far apart."""
    rng = np.random.default_rng(3)
    key = np.array([f"k{i}" for i in rng.integers(0, people, n) ** 2 // people], dtype=object)
    key[rng.random(n) < 0.05] = None
    return table(n).assign(key=key)


FRAME = of_people()


@dataclass(frozen=True)
class Gathered:
    """Work: the rows themselves, which tests alone may see."""

    def count(self, part, number):
        return part

    def merge(self, one, other):
        return pd.concat([one.astype(object), other.astype(object)], ignore_index=True)


def chosen(source, most, folder, rng=None):
    """The rows used, all columns."""
    rng = rng or KeyedRNG.from_os_entropy()
    names = list(source.names)
    found, _ = of_persons(source, Neighbours(rows=most, person="key"), names, rng, folder)
    return found.total(Gathered(), names).infer_objects()


def too_many(rows, frame, most):
    """People that have another number of rows than they should."""
    counts, expected = rows["key"].value_counts(), frame["key"].value_counts().clip(upper=most)
    return sorted(expected.index[counts.reindex(expected.index, fill_value=0) != expected])


@pytest.mark.parametrize("most", [2])
@pytest.mark.parametrize("engine", ENGINES)
def test_each_person_has_so_many_rows_and_no_more(engine, most, tmp_path):
    (tmp_path / "scratch").mkdir()
    source = open_source(held(engine, FRAME, tmp_path), column_types(DECLARED, COLUMNS), 100)
    rows = chosen(source, most, tmp_path / "scratch")
    assert not too_many(rows, FRAME, most)
    assert rows["key"].notna().all()
    left = Counter(map(tuple, FRAME[["key", "age", "sex", "born"]].astype(str).to_numpy()))
    left.subtract(map(tuple, rows[["key", "age", "sex", "born"]].astype({"age": int}).astype(str).to_numpy()))
    assert min(left.values()) >= 0  # rows of the table, none twice


def test_planted_rows_that_are_bounded_in_each_part_alone(tmp_path, monkeypatch):
    def in_parts(paths, _):
        return [piece for path in paths for _, piece, _ in module._read(path)]

    monkeypatch.setattr(module, "_chosen", in_parts)
    assert too_many(chosen(FrameSource(FRAME, 100), 1, tmp_path), FRAME, 1)


@pytest.mark.parametrize("engine", ["pandas", "duckdb", "dask"])
def test_with_room_for_all_rows_the_release_is_that_of_memory(engine, everything, tmp_path):
    (tmp_path / "scratch").mkdir()
    scratch = None if engine == "dask" else tmp_path / "scratch"
    found = fit_source(held(engine, FRAME, tmp_path), COLUMNS, DECLARED, scratch=scratch, random_state=SEED, allow_no_claim=True, rows=100, types="declared", person=Person("key", rows=100))  # fmt: skip
    assert document(found) == everything
    assert not list((tmp_path / "scratch").iterdir())
    assert found.sample(5)["key"].nunique() == 5


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    options = {"domain": DECLARED, "types": "declared", "person": "key", "rows_per_person": 100}
    return document(in_memory(FRAME, tmp_path_factory.mktemp("people"), **options))


class Once(FrameSource):
    """A table that may be read once."""

    passes = 0

    def pieces(self, names):
        self.passes += 1
        assert self.passes == 1, "whoever asks twice asks the whole table"
        return super().pieces(names)


def test_what_is_asked_is_asked_of_the_rows_used_alone(tmp_path, monkeypatch):
    """Value sets too are learned of them: with no noise to speak of, the number of rows is that of the people."""
    monkeypatch.setattr(
        "sdv_plausible.fitting.partitioned_table.open_source", lambda *_, **__: Once(FRAME, 100)
    )
    found = fit_source(FRAME, COLUMNS, epsilon=1e5, scratch=tmp_path, person=Person("key", rows=1))
    assert found.ledger.claims_privacy
    assert "of which at most 1 is used" in str(found.ledger)
    rows = [answer for answer in found.answers.answers if answer.values.size == 2]
    # the most: of what is learned of a range, some tables of two cells are of a part of the rows
    assert max(round(float(answer.values.sum())) for answer in rows) == FRAME["key"].nunique()


@pytest.mark.parametrize("rows", [600, 500])
def test_every_choice_of_a_persons_rows_is_equally_likely_wherever_they_are(rows):
    """At the same place of every part, and at others. The planted choice, first rows first, fails the same check."""
    frame = pd.DataFrame({"key": np.tile(range(600), 4), "row": np.repeat(range(4), 600)})
    with TemporaryDirectory() as folder:
        used = chosen(FrameSource(frame, rows), 2, Path(folder)).sort_values("row").groupby("key")["row"]
    sets = [(a, b) for a in range(4) for b in range(4) if a < b]
    ours, first_rows = (
        Counter(used.agg(tuple)),
        Counter(frame.groupby("key")["row"].agg(lambda r: tuple(r[:2]))),
    )
    p, planted = (stats.chisquare([counts[one] for one in sets]).pvalue for counts in (ours, first_rows))
    assert p > ALARM > planted


def test_a_persons_choice_is_not_moved_by_others(tmp_path):
    """Rows keep their numbers, by place: with one person more at the end everybody else's rows are the same."""
    more = pd.concat([FRAME, FRAME.iloc[:7].assign(key="new")], ignore_index=True)
    rows = []
    for name, frame in (("without", FRAME), ("with", more)):
        (tmp_path / name).mkdir()
        used = chosen(FrameSource(frame, 100), 2, tmp_path / name, KeyedRNG.from_seed(1))
        rows.append(used[used["key"] != "new"].sort_values(["key", "age", "born"]).reset_index(drop=True))
    pd.testing.assert_frame_equal(*rows)


def test_long_numbers_are_people_of_their_own_and_no_cell_changes_its_type(tmp_path):
    frame = pd.DataFrame({"key": [LONG, LONG + 1, LONG] * 5, "n": LONG + 1})

    class Stored(FrameSource):
        def pieces(self, names):
            for i, piece in enumerate(super().pieces(names)):
                yield InMemoryPart(i, piece.part.astype({"key": object} if i % 2 else {"n": float}))

    for most, people in ((1, 2), (10, 15)):
        folder = tmp_path / str(most)
        folder.mkdir()
        neighbours = Neighbours(rows=most, person="key")
        kept = bound_locally(Stored(frame, 4), neighbours, ["key", "n"], KeyedRNG.from_seed(0), folder)
        parts = list(kept.parts(["key", "n"]))
        assert sum(map(len, parts)) == people
        assert {int(key) for part in parts for key in part["key"]} == {LONG, LONG + 1}
    whole = [n for part in parts for n in part["n"] if part["n"].dtype != float]
    assert whole == [LONG + 1] * 7  # those that came as whole numbers


@pytest.mark.parametrize("most", [1, 2])
def test_equal_names_of_several_types_are_one_person(most, tmp_path, monkeypatch):
    """In memory they are. Planted: files dealt out by how a name is written, so that 7 and 7.0 are two people."""
    kinds = (int, float, Decimal, Fraction, np.int64)
    frame = pd.DataFrame({"key": pd.Series([kind(i) for kind in kinds for i in range(40)], dtype=object)})

    def people(folder):
        (tmp_path / folder).mkdir()
        return Counter(map(int, chosen(FrameSource(frame, 40), most, tmp_path / folder)["key"]))

    assert people("dealt") == dict.fromkeys(range(40), most)
    assert len(choose_rows(frame["key"], most, KeyedRNG.from_os_entropy())) == 40 * most
    monkeypatch.setattr(module, "name_hash", lambda name: crc32(repr(name).encode()))
    assert max(people("planted").values()) > most


def test_what_cannot_be_costs_no_budget(tmp_path):
    budget = Budget(1.5, 1e-8, tmp_path / "budget.json")
    for more, says in (
        ({}, "needs scratch"),
        ({"person": "house"}, "metadata or domain names"),
        ({"rows_per_person": 0}, r"rows \(0\)"),
    ):
        with pytest.raises(ValueError, match=says):
            fit_source(FRAME, COLUMNS, DECLARED, budget=budget, **values(**{"person": "key"} | more))
    fit_source(FRAME, COLUMNS, DECLARED, budget=budget)


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_people_whose_names_are_intervals_are_told_apart(engine, tmp_path):
    """Python's object for one cannot be written to a file of rows."""
    import pyarrow as pa

    names = pa.array([(0, i % 7, 0) for i in range(70)], pa.month_day_nano_interval())
    rows = pa.table({"key": names, "sex": ["f", "m"] * 35})
    source = rows if engine == "arrow" else pytest.importorskip("duckdb").from_arrow(rows)
    types = {"key": ColumnType(name="key", sdtype="id"), "sex": ColumnType(name="sex", sdtype="categorical")}
    person = Neighbours.parse("add_remove", Person("key", rows=2))
    found = bound_locally(
        open_source(source, types, 20), person, ["sex"], KeyedRNG.from_os_entropy(), tmp_path
    )
    assert sum(map(len, found.parts(["sex"]))) == 7 * 2
