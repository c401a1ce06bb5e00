"""Tables of Dask, also on a real cluster of two worker processes, one of which is killed: the release is the same.

docs/explanation/proofs/parts.md, Lemmas 4 and 6. Planted: fingerprints without places, and none.
"""

import os
import signal
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from engines import keeping_nothing
from tables import COLUMNS, DECLARED, SEED, table
from test_source_counts import DOMAIN, NAMES, agree, whole
from test_spark_source import CHANGES, turned

from sdv_plausible import Person, fit_source
from sdv_plausible.extensions.clusters import cluster_source, dask_source
from sdv_plausible.extensions.clusters.cluster_source import MERGE_FAN_IN, group_by_worker, group_small_parts
from sdv_plausible.extensions.clusters.dask_source import DaskParts, DaskSource
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.sources import source_counts
from sdv_plausible.sources.encoded_cache import EncodeTask, cache_codes
from sdv_plausible.sources.fingerprints import Fingerprints, fingerprint
from sdv_plausible.sources.source import SourceError
from sdv_plausible.sources.source_columns import RowCountTask, SourceColumns
from sdv_plausible.sources.source_counts import PartEncoder
from sdv_plausible.utils import counting

distributed = pytest.importorskip("distributed", reason="distributed is not installed")
dask, dd = pytest.importorskip("dask"), pytest.importorskip("dask.dataframe")
Client, LocalCluster = distributed.Client, distributed.LocalCluster
FRAME = table(2_000)


def partitions(number=8, frame=FRAME):
    return dd.from_pandas(frame, npartitions=number)


def fitted(source, **more):
    return fit_source(source, COLUMNS, DECLARED, random_state=SEED, allow_no_claim=True, **more)


def test_partitions_are_added():
    for number in (1, 2, 20):
        assert DaskSource(partitions(number)).total(RowCountTask(), ["age"]) == len(FRAME)


def test_a_task_that_fails_once_is_run_again(tmp_path):
    """Each task fails the first time it runs; the second gives the same counts."""

    def fragile(part, folder):
        mark = Path(folder) / str(part.index[0] if len(part) else "none")
        if len(part) and part["key"].iloc[0] != "foo" and not mark.exists():
            mark.write_text("failed once")
            raise OSError("a worker's disk")
        return part

    with Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None):
        found = fitted(partitions(4).map_partitions(fragile, str(tmp_path), meta=FRAME.iloc[:0]))
    assert len(list(tmp_path.iterdir())) == 4
    assert same(found, fitted(FRAME))


def same(one, other):
    tables = ([answer.values.tolist() for answer in found.answers.answers] for found in (one, other))
    return next(tables) == next(tables) and one.ledger.entries == other.ledger.entries


@pytest.mark.slow
@pytest.mark.parametrize("when", ["while codes are made", "before a pass"])
def test_a_worker_that_is_killed_changes_nothing(when, monkeypatch):
    """Its codes are made again, of the same rows in the same order."""
    expected = fitted(FRAME, epsilon=1000)  # so much that pairs, too, are asked
    monkeypatch.setattr(cluster_source, "PART_ROWS", 100)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        workers, seen = [int(pid) for pid in client.run(os.getpid).values()], []
        total, kept, killed = DaskParts.total, DaskSource.persist, threading.Event()

        def kill():
            os.kill(workers[0], signal.SIGKILL)
            killed.set()

        def counting(self, work, names):
            seen.append(len(seen))
            if len(seen) == 2 and when == "before a pass":
                kill()
            return total(self, work, names)

        def keeping(self, work, names):
            if when == "while codes are made":
                threading.Timer(0.05, kill).start()
            return kept(self, work, names)

        monkeypatch.setattr(DaskParts, "total", counting)
        monkeypatch.setattr(DaskSource, "persist", keeping)
        found = fitted(partitions(40), epsilon=1000)
        assert killed.is_set()
    assert same(found, expected)


STRANGE = FRAME.assign(sex=["f", "m", "x", "y"] * (len(FRAME) // 4))  # half the cells are drawn


class Remade:
    """A partition that is another one when it is made again, from a given time on."""

    def __init__(self, change, after):
        self.change, self.times, self.after = change, 0, after

    def __dask_tokenize__(self):
        return object.__repr__(self), time.perf_counter_ns()  # Dask would take another test's for this one

    def __call__(self, part, partition_info=None):
        if partition_info is None or partition_info["number"] != 1:
            return part
        self.times += 1
        return self.change(part) if self.times > self.after else part


def made_again(change, after=1, **more):
    """A fit whose workers keep nothing, and of which one partition is another one from the second time on."""
    one = Remade(change, after)
    with keeping_nothing(), dask.config.set(scheduler="synchronous"):
        found = fitted(partitions(4, STRANGE).map_partitions(one, meta=STRANGE.iloc[:0]), **more)
    assert one.times > after
    return found


def test_codes_that_are_made_again_are_the_same():
    """Also those that were drawn: as if nothing had been lost."""
    assert same(made_again(lambda part: part), fitted(partitions(4, STRANGE)))


@pytest.mark.parametrize("change", CHANGES)
def test_codes_of_other_rows_stop_the_fit(change):
    for after in (1, 3):
        with pytest.raises(RuntimeError, match="than in an earlier pass"):
            made_again(CHANGES[change], after, epsilon=1000)  # so much that pairs, too, are asked


def test_planted_codes_in_another_order_go_on():
    """Without places, and with no word of its parts: a stranger's draw is then another row's in one pass than in the next."""
    for place, name, planted in (
        (source_counts, "fingerprint", lambda codes, part=None: fingerprint(codes)),
        (Fingerprints, "check", lambda *_: None),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(place, name, planted)
            assert made_again(turned).answers


def test_rows_that_change_after_the_choice_stop_the_fit():
    """Those of a person who are all used; their order is no matter."""
    person = Person("key", rows=len(FRAME))
    for change in ("a cell", "a row less"):
        with pytest.raises(RuntimeError, match="than in an earlier pass"):
            made_again(CHANGES[change], 2, person=person)
    assert made_again(turned, 2, person=person).answers


def test_equal_fingerprints_are_of_equal_codes():
    """Of drawn ones too, in each of 200 draws. A false alarm has a chance of about 200 in 2^64."""
    encode, missed = EncodeTask(PartEncoder(DOMAIN, RuleSet(), KeyedRNG.from_os_entropy(), placed=True)), 0
    for seed in range(200):
        rng, part = np.random.default_rng(seed), STRANGE.iloc[:40]
        other = part.iloc[rng.permutation(40)] if seed % 2 else part.assign(age=rng.integers(0, 2, 40))
        one, two, third = (encode.count(rows.reset_index(drop=True), 3) for rows in (part, other, part))
        assert (one.digest == third.digest).all()
        assert (one.rows == third.rows).all()
        missed += bool((one.digest == two.digest).all()) and bool((one.rows != two.rows).any())
        assert (one.digest != two.digest).any()
    assert missed == 0


@pytest.mark.parametrize("fails", ["never", "while codes are made", "after that"])
def test_workers_forget_the_codes_after_the_fit(fails, monkeypatch):
    held_then, count, error = [], EncodeTask.count, None

    def stop(*_):
        held_then.extend(map(len, client.has_what().values()))
        raise KeyboardInterrupt

    def fail(self, part, number):
        if number == 3:
            raise OSError("a worker's disk")
        return count(self, part, number)

    with Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as client:
        if fails == "after that":
            monkeypatch.setattr("sdv_plausible.fitting.fit.fit_release", stop)
        if fails == "while codes are made":
            monkeypatch.setattr(EncodeTask, "count", fail)
        try:
            fit_source(partitions(4), COLUMNS, DECLARED, person=Person("key", rows=2))
        except (KeyboardInterrupt, SourceError) as raised:
            error = raised  # it holds all that was on the way, as a notebook does
        assert (error is None) == (fails == "never")
        assert bool(held_then) == (fails == "after that")
        assert all(held_then)
        for _ in range(100):
            if not any(client.has_what().values()):
                break
            time.sleep(0.05)
        assert not any(client.has_what().values())


def test_small_parts_are_counted_together_and_a_task_sums_up_what_one_worker_has(monkeypatch):
    assert list(group_small_parts([3, 4, 9])) == [[0, 1, 2]]
    monkeypatch.setattr(cluster_source, "PART_ROWS", 7)
    assert list(group_small_parts([3, 4, 1, 9, 0])) == [[0, 1], [2], [3], [4]]
    assert list(group_small_parts([0])) == [[0]]
    assert list(group_by_worker(["a", "b", "a", "a", "a"], {"a": 2})) == [[0, 2], [3, 4], [1]]
    assert list(group_by_worker(["a"], {"a": 4})) == [[0]]
    for number in (1, 8, 9, 100):
        tasks = list(group_by_worker(["a"] * number, {}))
        assert [i for some in tasks for i in some] == list(range(number))
        assert len(tasks) == -(-number // MERGE_FAN_IN)  # a worker need not hold all of its codes at once


@pytest.mark.parametrize("planted", [False, True])
def test_larger_tables_become_those_that_were_asked(planted, monkeypatch):
    """Planted: tasks that send the larger ones."""
    monkeypatch.setattr(counting, "FEWEST_ROWS", 1)
    monkeypatch.setattr(counting, "MIN_ROWS_PER_CELL", 1)
    monkeypatch.setattr(cluster_source, "PART_ROWS", 300)
    if planted:
        monkeypatch.setattr(dask_source, "compact", lambda _, counts: counts)
    counts = cache_codes(
        DaskSource(partitions(20)), PartEncoder(DOMAIN, RuleSet(), KeyedRNG.from_seed(1)), NAMES, None
    )
    assert counts.num_rows() == len(FRAME)
    with pytest.raises(ValueError, match="shorter") if planted else nullcontext():
        assert agree(counts, whole(FRAME))


def value_counts_of(parts, meta):
    table = dd.from_delayed([dask.delayed(part) for part in parts], meta=meta.iloc[:0], verify_meta=False)
    return SourceColumns(DaskSource(table), RuleSet(), ["code"]).value_counts("code")


def counted(codes, stored=None):
    """Values of a column of which the second partition is stored as said, and its meta says objects."""
    frame = pd.DataFrame({"code": codes.astype(object)})
    second = frame.iloc[3:] if stored is None else frame.iloc[3:].astype(stored)
    values, counts, missing = value_counts_of((frame.iloc[:3], second), frame)
    return dict(zip(values, counts.tolist(), strict=True)), missing


def test_a_partition_that_is_stored_otherwise_is_read_cell_by_cell():
    """What else its partition holds decides on no cell: Dask promises types, and keeps to none."""
    codes = pd.Series([1, 2, 2, 3, 3, 0])
    for texts in (False, True):  # objects, and texts of them
        with dask.config.set({"dataframe.convert-string": texts}):
            for stored in ("int8", "Sparse[int]", "category", "Int64"):
                assert counted(codes, stored) == counted(codes)


@pytest.mark.parametrize("promised", ["object", "datetime64[us, Asia/Tokyo]"])
def test_far_moments_of_such_a_partition_are_missing(promised):
    """Python has no object for them: of 64 bits of nanoseconds another moment was made, and of seconds none."""
    for unit in ("ns", "s"):  # the latter ended the process: it is not come to where the former is wrong
        far = pd.Series(np.array([0, 2**63 - 1, -(2**63) + 1]).view(f"M8[{unit}]")).dt.tz_localize("UTC")
        frame = pd.DataFrame({"code": far.dt.tz_convert("Asia/Tokyo")})
        first = frame.iloc[:1].astype(promised)
        values, counts, missing = value_counts_of((first, frame), first)
        assert all("1970-01-01" in str(value) for value in values)
        assert missing == 2
        assert counts.sum() == 2
