"""However many count, and whatever they are: the same sums, in order, and errors that end the whole."""

import math
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
from dataclasses import dataclass
from types import SimpleNamespace

import pandas as pd
import pytest
from tables import COLUMNS, DECLARED, ENGINES, held, table
from test_source_counts import DOMAIN, NAMES, SETS

from sdv_plausible import fit_source
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import shape
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.sources import file_sources, worker_pool
from sdv_plausible.sources import source as source_module
from sdv_plausible.sources.bounded_rows import bound_locally
from sdv_plausible.sources.encoded_cache import EncodeTask, StoreCodesTask, cache_codes
from sdv_plausible.sources.source import FrameSource, LocalSource
from sdv_plausible.sources.source_counts import CountTablesTask, PartEncoder, SourceCounts
from sdv_plausible.sources.source_types import open_source
from sdv_plausible.sources.worker_pool import WorkerPool, compact
from sdv_plausible.table.contribution_bounding import name_hash
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.utils import counting

FRAME = table(900)
CODER = PartEncoder(DOMAIN, RuleSet(), KeyedRNG.from_seed(1))
PIECES = 70


def tables(source, folder, *, kept):
    if kept:
        folder.mkdir()
    counts = cache_codes(source, CODER, NAMES, folder) if kept else SourceCounts(source, CODER, NAMES)
    return [found.ravel().tolist() for found in counts.tables(SETS)]


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
def test_three_workers_count_as_one(engine, kept, tmp_path):
    source = open_source(held(engine, FRAME, tmp_path), column_types(DECLARED, COLUMNS), PIECES)
    if kept and not isinstance(source, LocalSource):
        pytest.skip("codes of rows on other machines are kept there")
    one = tables(source, tmp_path / "one", kept=kept)
    source.worker_pool = WorkerPool(3)
    assert tables(source, tmp_path / "three", kept=kept) == one


@dataclass(frozen=True)
class Sizes:
    """Work: rows of every part."""

    def count(self, part, number):
        return [len(part)]

    def merge(self, one, other):
        return one + other


@pytest.mark.parametrize("engine", ENGINES)
def test_parts_are_bounded_in_cells(engine, tmp_path, monkeypatch):
    """A table of many columns has fewer rows in a part: memory is what is bounded. Dask's parts are the user's."""
    monkeypatch.setattr("sdv_plausible.table.files.csv_files.BLOCK", 10)
    types = column_types(DECLARED, COLUMNS)
    sizes = []
    for cells in (10**9, 60 * len(types)):
        monkeypatch.setattr("sdv_plausible.sources.source_types.PART_CELLS", cells)
        folder = tmp_path / str(cells)
        folder.mkdir()
        source = open_source(held(engine, FRAME, folder), types)
        sizes.append(max(source.total(Sizes(), ["age"])))
    assert sizes[0] > 60
    assert sizes[1] <= 60 or engine.startswith("dask")


@pytest.mark.parametrize("engine", ENGINES)
def test_what_travels_is_no_more_than_what_was_asked(engine, tmp_path, monkeypatch):
    """Other processes send tables of the sets; of this one's threads the larger ones are added, as is faster."""
    monkeypatch.setattr(counting, "FEWEST_ROWS", 1)
    source = open_source(held(engine, FRAME, tmp_path), column_types(DECLARED, COLUMNS), PIECES)
    found, honest = [], CountTablesTask.compact

    def noted(work, counts):
        found.append((work, honest(work, counts)))
        return found[-1][1]

    monkeypatch.setattr(CountTablesTask, "compact", noted)
    if source.on_cluster:  # in this process, to see what its tasks give
        monkeypatch.setattr(source, "total", lambda work, names: compact(work, work.count(FRAME, 0)))
    counts = SourceCounts(source, CODER, NAMES)
    source.worker_pool = WorkerPool(1)
    assert counts.num_rows() == len(FRAME)
    list(counts.tables(SETS))
    work, sent = found[-1]
    asked = sorted(math.prod(shape(axes)) for axes in work.sets)
    assert (sorted(table.size for table in sent[1]) == asked) is (source.counts_travel is True)


def as_file(kind, folder):
    if kind == "csv":
        FRAME.to_csv(folder / "rows.csv", index=False)
    else:
        FRAME.to_parquet(folder / "rows.parquet", row_group_size=100)
    return folder / f"rows.{kind}"


PROGRAM = f"""
import sys
from sdv_plausible import fit_source
from sdv_plausible.sources import file_sources, source
from sdv_plausible.table.files import csv_files
print('once')
source.SHARES_BEFORE_PROCESSES, source.MIN_PIECES_FOR_PROCESSES, file_sources.TEXT_ROWS, csv_files.BLOCK = 1, 2, 1, 100
columns, declared = {COLUMNS!r}, {DECLARED!r}
fits = [fit_source(sys.argv[1], columns, declared, workers=w, random_state=0, allow_no_claim=True, scratch='scratch', rows=200)
        for w in (1, 2)]
from joblib import Parallel, delayed
from sdv_plausible.sources.worker_pool import RUNNING
print(fits[0] == fits[1], *(len(executor._processes) for executor in RUNNING.values()))
print(Parallel(n_jobs=2)(delayed(abs)(number) for number in (-1, 2)) == [1, 2])
"""


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_processes_that_count_never_run_the_users_program(kind, tmp_path):
    """A program without "if __name__ == '__main__'" is run once; its fit is the one of a single core."""
    (tmp_path / "scratch").mkdir()
    (tmp_path / "program.py").write_text(PROGRAM)
    run = [sys.executable, "-W", "ignore", "program.py", as_file(kind, tmp_path).name]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    # one process counts codes beside this one, and joblib.Parallel works after the fit
    assert done.stdout.split() == ["once", "True", "1", "True"], done.stderr


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_process_that_may_start_none_counts_by_itself(kind, tmp_path, monkeypatch):
    """The fit of the app is one: its threads count."""
    monkeypatch.setattr(file_sources, "TEXT_ROWS", 100)
    monkeypatch.setattr(source_module, "SHARES_BEFORE_PROCESSES", 0)
    monkeypatch.setattr(source_module, "MIN_PIECES_FOR_PROCESSES", 2)
    monkeypatch.setattr(multiprocessing, "current_process", lambda: SimpleNamespace(daemon=True))
    source = open_source(as_file(kind, tmp_path), column_types(DECLARED, COLUMNS), 100)
    assert isinstance(source, LocalSource)
    source.worker_pool, seen, honest = WorkerPool(2), set(), Sizes.count
    monkeypatch.setattr(Sizes, "count", lambda *given: seen.add(threading.get_ident()) or honest(*given))
    assert sum(source.total(Sizes(), ["age"])) == 900
    assert len(seen) > 1


class Where:
    """Work: the process that counts a part."""

    def count(self, part, number):
        return {os.getpid()} if len(part) else set()

    def merge(self, one, other):
        return one | other


def test_this_process_counts_beside_the_others(tmp_path, monkeypatch):
    """The first share starts a process, the second is counted here."""
    monkeypatch.setattr(source_module, "MIN_PIECES_FOR_PROCESSES", 2)
    source = open_source(as_file("parquet", tmp_path), column_types(DECLARED, COLUMNS), 100)
    source.worker_pool = WorkerPool(2)
    found = source.total(Where(), ["age"])
    assert len(found) == 2
    assert os.getpid() in found


def test_a_process_that_counts_starts_without_what_it_does_not_need(tmp_path):
    """Whoever reads a task has loaded neither accountant nor SDV: they would take longer than all else. Planted: it has."""
    source = open_source(as_file("parquet", tmp_path), column_types(DECLARED, COLUMNS), PIECES)
    assert isinstance(source, LocalSource)
    work = StoreCodesTask(EncodeTask(CODER), tmp_path), CountTablesTask.of(CODER, SETS, 10**7, small=False)
    (tmp_path / "task").write_bytes(pickle.dumps((*work, list(source.pieces(NAMES)))))
    for planted, loaded in (
        ("sys", []),
        ("sdv_plausible.table.declared.declarations", ["dp_accounting", "scipy.stats"]),
    ):
        script = (
            f"import pickle, sys\nimport {planted}\npickle.load(open('task', 'rb'))\n"
            "print(*sorted({'dp_accounting', 'sdv', 'scipy.stats', 'opendp'}.intersection(sys.modules)))"
        )
        run = [sys.executable, "-c", script]
        done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout.split() == loaded


def test_at_most_so_many_rows_of_each_person_whoever_deals_them_out(tmp_path):
    frame = FRAME.assign(key=[f"k{i % 300}" for i in range(900)])
    for workers in (1, 3):
        source, folder = FrameSource(frame, PIECES), tmp_path / str(workers)
        source.worker_pool = WorkerPool(workers)
        folder.mkdir()
        found = bound_locally(
            source, Neighbours(rows=2, person="key"), list(frame), KeyedRNG.from_seed(3), folder
        )
        rows = pd.concat(found.parts(list(frame)), ignore_index=True)
        assert set(rows.groupby("key").size()) == {2}
        assert len(rows) == 600


def test_a_person_is_dealt_to_one_file_in_every_process():
    """Python's own hash of texts, bytes and moments is another one in each process: the planted one is seen."""
    names = "['Anna', b'Anna', ('a', 1), 3, pd.Timestamp('2020-01-01'), (pd.Timestamp('2020-01-01'), 2.0)]"
    script = (
        "import sys, pandas as pd\nfrom sdv_plausible.table.contribution_bounding import name_hash\n"
        f"names = {names}\nprint([name_hash(name) for name in names])\nprint([hash(name) for name in names])"
    )
    ours, planted = set(), set()
    for seed in "12":
        where = {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)}
        run = [sys.executable, "-c", script]
        done = subprocess.run(run, env=where, capture_output=True, text=True, check=True).stdout.splitlines()
        ours.add(done[0])
        planted.add(done[1])
    assert (len(ours), len(planted)) == (1, 2)
    assert name_hash(3) == name_hash(3.0) == name_hash(True + 2)


@pytest.mark.parametrize("broken", ["task", "work"])
def test_an_error_ends_the_pass(broken):
    """Of the source, between pieces, or of the work, in a thread: neither waits for ever."""

    class Breaks(FrameSource):
        def pieces(self, names):
            for i, piece in enumerate(super().pieces(names)):
                if i == 5 and broken == "task":
                    raise KeyError("broken")
                yield piece

    class Work:
        def count(self, part, number):
            if number == 5 and broken == "work":
                raise KeyError("broken")
            return len(part)

        def merge(self, one, other):
            return one + other

    source, before = Breaks(FRAME, 10), set(threading.enumerate())
    source.worker_pool = WorkerPool(2)
    with pytest.raises(KeyError, match="broken"):
        source.total(Work(), ["age"])
    assert {thread for thread in threading.enumerate() if not thread.daemon} <= before  # tqdm has one


def test_all_cores_by_default_and_what_is_no_number_of_workers_is_refused(monkeypatch):
    for workers in (0, -1, 1.5, "two", True):
        with pytest.raises(ValueError, match=r"workers \("):
            fit_source(FRAME, COLUMNS, DECLARED, workers=workers)
    monkeypatch.setattr("joblib.cpu_count", lambda: 7)
    assert (WorkerPool.of(None).workers, WorkerPool.of(2).workers, worker_pool.SINGLE_WORKER.workers) == (
        7,
        2,
        1,
    )


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 has no safe path")
def test_processes_import_nothing_from_the_current_folder(monkeypatch):
    """Else a module beside a table would run in them."""
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)  # which the command line sets for itself
    with WorkerPool(2)._processes(1) as processes:
        assert processes.submit(eval, "__import__('sys').flags.safe_path").result() is True
