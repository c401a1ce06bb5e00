"""A table that changes between passes is noticed; one that stands still never is.

docs/explanation/proofs/parts.md, Lemmas 3 and 5. The planted checks are what was there before: the number of rows
alone, sums of every column by itself, and sums without places.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import COLUMNS, DECLARED, table
from test_source_counts import DOMAIN, SETS, Unordered, counts

from sdv_plausible import PaperNetwork, fit_source
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import Axis
from sdv_plausible.sources import fingerprints, source_counts
from sdv_plausible.sources.fingerprints import Fingerprints, fingerprint
from sdv_plausible.sources.source import FrameSource

FRAME, SECRET = table(300), KeyedRNG.from_seed(2)
STRANGE = FRAME.assign(sex="x")  # outside a domain that has no code for it


def codes(seed, n=200, m=5):
    return np.asfortranarray(np.random.default_rng(seed).integers(-1, 9, (n, m)).astype(np.int32))


@given(st.integers(0, 99), st.integers(0, 200), st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_order_parts_and_types_of_codes_do_not_matter(seed, cut, random):
    rows = codes(seed)
    order = np.array(random.sample(range(len(rows)), len(rows)))
    parts = np.asfortranarray(rows[order[:cut]]), np.asfortranarray(rows[order[cut:]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fingerprints, "BLOCK_ROWS", 64)
        assert (fingerprint(parts[0]) + fingerprint(parts[1]) == fingerprint(rows)).all()
    assert rows.min() == -1
    for kind in (np.int8, np.int16, np.int64):
        assert (fingerprint(rows.astype(kind), 5) == fingerprint(rows, 5)).all()


def by_rows(rows):
    return [len(rows)]


def by_columns(rows):
    return [len(rows), *rows.sum(axis=0)]


def noticed(told, one, other):
    check = Fingerprints()
    check.check(told(one))
    try:
        check.check(told(other))
    except RuntimeError:
        return True
    return False


def test_changed_and_exchanged_cells_are_noticed():
    """Two sums are equal by chance with probability about 2^-64 each: never in 400 draws."""
    missed = {by_rows: 0, by_columns: 0, fingerprint: 0}
    for seed in range(200):
        rows, rng = codes(seed), np.random.default_rng(seed)
        one, exchanged = rows.copy(order="F"), rows.copy(order="F")
        i, j = rng.integers(len(rows)), rng.integers(rows.shape[1])
        one[i, j] = (one[i, j] + 2) % 9
        k = int(np.flatnonzero(rows[:, j] != rows[i, j])[0])
        exchanged[[i, k], j] = rows[[k, i], j]
        for told in missed:
            missed[told] += (not noticed(told, rows, one)) + (not noticed(told, rows, exchanged))
    assert missed == {by_rows: 400, by_columns: missed[by_columns], fingerprint: 0}
    assert missed[by_columns] >= 200


class Changing(FrameSource):
    """In its second pass two rows have exchanged a cell."""

    passes = 0

    def pieces(self, names):
        self.passes += 1
        if self.passes == 2:
            self._table = self._table.copy()
            row = int(np.flatnonzero(self._table["sex"].ne(self._table["sex"].iloc[0]))[0])
            self._table.loc[[0, row], "sex"] = self._table.loc[[row, 0], "sex"].to_numpy()
        return super().pieces(names)


def test_a_fit_of_a_table_that_changes_fails():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "sdv_plausible.fitting.partitioned_table.open_source", lambda *_, **__: Changing(FRAME, 100)
        )
        with pytest.raises(RuntimeError, match=r"other rows, .* than in an earlier pass"):
            fit_source(FRAME, COLUMNS, DECLARED, epsilon=1000)  # so much that pairs, too, are asked


def test_coins_of_a_pass_are_no_change():
    for frame in (FRAME, STRANGE, FRAME.iloc[:0]):
        found = counts(Unordered(frame, 70))
        for _ in range(3):
            list(found.tables(SETS))
        found.groups((2, 3), 1)


def test_parts_by_secret_numbers_are_held_against_the_whole():
    halves = halves_of(counts(Changing(FRAME, 100)))
    list(halves[0].tables(SETS))
    with pytest.raises(RuntimeError, match="other rows"):
        list(halves[1].tables(SETS))


class Sorting(FrameSource):
    """It promises an order, and has its rows in another one from the second pass on."""

    passes = 0

    def pieces(self, names):
        self.passes += 1
        if self.passes == 2:
            self._table = self._table.sort_values("wage", kind="stable")
        return super().pieces(names)


class SortingOpenly(Sorting):
    """It promises no order."""

    in_order = False


def halves_of(found):
    return [found.part(*ends, SECRET) for ends in ((0, 0.5), (0.5, 1))]


def halves_of_rows(source):
    """In how many halves each row is, when each half is counted in a pass of its own."""
    one_row = [(Axis(0, np.arange(DOMAIN.cardinalities[0])),)]
    return np.add(*(next(iter(half.tables(one_row))) for half in halves_of(counts(source)))).tolist()


def test_a_source_that_sorts_itself_between_passes_stops_the_fit():
    """Without places in the sum a row falls into both halves, and other rows into none."""
    whole = FRAME["age"].clip(0, 99).value_counts().reindex(range(100), fill_value=0).tolist()
    assert halves_of_rows(FrameSource(FRAME, 100)) == whole
    with pytest.raises(RuntimeError, match="in other places"):
        halves_of_rows(Sorting(FRAME, 100))
    with pytest.MonkeyPatch.context() as patch:  # the planted bug: sums without places
        patch.setattr(source_counts, "fingerprint", lambda codes, part=None: fingerprint(codes))
        assert halves_of_rows(Sorting(FRAME, 100)) != whole
    openly = counts(SortingOpenly(FRAME, 100))
    assert all(len(list(openly.tables(SETS))) == len(SETS) for _ in range(3))


def test_every_place_is_told_from_every_other():
    """Two rows that change places, in a part or between parts, are noticed in each of 200 draws."""
    for seed in range(100):
        rows, rng = codes(seed), np.random.default_rng(seed)
        i = int(rng.integers(len(rows)))
        k = int(np.flatnonzero((rows != rows[i]).any(axis=1))[0])
        moved = rows.copy(order="F")
        moved[[i, k]] = rows[[k, i]]
        assert noticed(lambda given: fingerprint(given, 3), rows, moved)
        assert not noticed(fingerprint, rows, moved)
        one, other = rows[[i]], rows[[k]]
        assert noticed(
            lambda two: fingerprint(two[0], 0) + fingerprint(two[1], 1), (one, other), (other, one)
        )


def test_a_database_may_be_split_with_codes_kept_and_a_cluster_whose_workers_keep_them(tmp_path):
    duckdb, frames = pytest.importorskip("duckdb"), pytest.importorskip("dask.dataframe")
    model = PaperNetwork(split=(0.4, 0.3, 0.3))
    with pytest.raises(ValueError, match="give scratch"):
        fit_source(duckdb.from_df(FRAME), COLUMNS, DECLARED, model=model)
    found = fit_source(duckdb.from_df(FRAME), COLUMNS, DECLARED, scratch=tmp_path, model=model)
    assert found.ledger.claims_privacy
    table = frames.from_pandas(FRAME, npartitions=3)
    assert fit_source(table, COLUMNS, DECLARED, model=model).ledger.claims_privacy
