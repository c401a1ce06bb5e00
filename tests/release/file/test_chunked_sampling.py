"""Rows in parts: the same for any number of workers, one table whose keys are distinct, files of one schema."""

import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import pandas as pd
import pytest
from releases import shared
from sdv.sampling import Condition

from sdv_plausible import Release
from sdv_plausible.cli.main import main
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.release.file import release_sampling
from sdv_plausible.release.file.release_sampling import PartRequest, make_parts


@pytest.fixture(scope="module")
def release() -> Release:
    return shared().release()


@pytest.fixture(scope="module")
def expected(release: Release, tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    folder = tmp_path_factory.mktemp("alone") / "rows"
    return [p.read_bytes() for p in release.sample_to_parquet(folder, 250, rows=100, random_state=1)]


def test_bytes_are_the_same_for_any_number_of_threads(release, expected, tmp_path):
    for workers in (1, 2, 3):
        with ThreadPoolExecutor(workers) as executor:
            found = release.sample_to_parquet(
                tmp_path / f"{workers}", 250, rows=100, random_state=1, executor=executor
            )
        assert [p.read_bytes() for p in found] == expected


def test_bytes_are_the_same_for_processes(release, expected, tmp_path):
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        found = release.sample_to_parquet(tmp_path / "r", 250, rows=100, random_state=1, executor=executor)
    assert [p.read_bytes() for p in found] == expected


def test_parts_are_one_table(release, tmp_path):
    frames = list(release.sample_parts(250, rows=100, random_state=1))
    assert [len(f) for f in frames] == [100, 100, 50]
    table = pd.concat(frames)
    keys = list(release.schema.keys)
    assert table[keys].nunique().eq(250).all()
    files = release.sample_to_parquet(tmp_path / "rows", 250, rows=100, random_state=1)
    read = pd.read_parquet(tmp_path / "rows")
    assert len(files) == 3
    assert read[keys[0]].astype(str).tolist() == table[keys[0]].astype(str).tolist()


def test_parts_have_coins_of_their_own(release):
    call = PartRequest.of(release._sampling_arguments(), 200, 100, 1)
    names = list(release.domain.names)
    one, two = call.part(0)[names], call.part(1)[names]
    assert not one.astype(str).equals(two.astype(str))
    fresh = [
        PartRequest.of(release._sampling_arguments(), 100, 100, None).part(0)[names].astype(str)
        for _ in range(2)
    ]
    assert not fresh[0].equals(fresh[1])


def test_a_call_is_read_once_in_a_process(release):
    call = PartRequest.of(release._sampling_arguments(), 200, 100, None)
    one, two = (pickle.loads(pickle.dumps(call)) for _ in range(2))
    assert one is two
    assert one is not call
    assert one.parquet(1) == call.parquet(1)
    other = PartRequest.of(release._sampling_arguments(), 200, 100, None)
    assert pickle.loads(pickle.dumps(other)).parquet(0) != one.parquet(0)


def test_few_parts_are_under_way():
    class Counting(Executor):
        open = most = 0

        def submit(self, make, *arguments):  # type: ignore[override]
            Counting.open += 1
            Counting.most = max(Counting.most, Counting.open)
            done: Future[Any] = Future()
            done.set_result(make(*arguments))
            return done

    call = PartRequest({}, 1000, 10, KeyedRNG.from_seed(0))

    def taken():
        for number in make_parts(call, lambda _, number: number, Counting()):
            Counting.open -= 1
            yield number

    assert list(taken()) == list(range(100))
    assert Counting.most <= 4


def test_a_folder_with_something_in_it_is_left_alone_and_numbers_are_checked(release, tmp_path):
    (tmp_path / "a").write_text("mine")
    with pytest.raises(ValueError, match="new or empty"):
        release.sample_to_parquet(tmp_path, 10)
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    for wrong in ({"num_rows": -1}, {"num_rows": 5, "rows": 0}):
        with pytest.raises(ValueError, match="rows"):
            next(release.sample_parts(**wrong))


WHOLE_TABLES: dict[str, Callable[[Any, int], object]] = {
    "a synthesizer": lambda synth, rows: synth.sample(rows),
    "its conditions": lambda synth, rows: synth.sample_from_conditions(
        [Condition({"city": "Bern"}, num_rows=rows)]
    ),
    "its several tables": lambda synth, rows: synth.sample_multiple(2, rows // 2),
    "a release": lambda synth, rows: synth.release().sample(rows),
    "its several tables without SDV": lambda synth, rows: synth.release().sample_multiple(2, rows // 2),
}


@pytest.mark.parametrize("way", WHOLE_TABLES)
def test_a_table_that_does_not_fit_in_memory_is_refused_before_a_row_is_drawn(way, monkeypatch):
    synth = shared()
    with pytest.raises(ValueError, match=r"num_rows \(1000000000\) needs about .* GiB .*sample_parts"):
        WHOLE_TABLES[way](synth, 10**9)  # no machine that runs this has half a terabyte
    monkeypatch.setattr(release_sampling, "available_memory", lambda: 20_000)
    WHOLE_TABLES[way](synth, 10)
    with pytest.raises(ValueError, match=r"num_rows \(1000\) needs about"):
        WHOLE_TABLES[way](synth, 1000)
    assert len(next(synth.release().sample_parts(1000, rows=400, random_state=1))) == 400


def test_the_command_line_refuses_it_too(tmp_path, capsys):
    shared().release().save(tmp_path / "x.release")
    words = ["sample", str(tmp_path / "x.release"), "-o", str(tmp_path / "x.csv"), "-n", "1000000000"]
    assert main(words) == 2
    assert "GiB are free" in capsys.readouterr().err


def test_no_less_memory_is_foreseen_than_the_rows_take(release, monkeypatch):
    """Texts that rows share counted once, as they are in memory."""
    assert 2**26 < release_sampling.available_memory() < 2**50
    rows = release.sample(2000, random_state=1)
    made_up = [name for name in rows if str(name) not in release.rules.whole(release.domain)]
    taken = int(rows.memory_usage(deep=False).sum() + rows[made_up].memory_usage(deep=True).sum())
    monkeypatch.setattr(release_sampling, "available_memory", lambda: taken)
    with pytest.raises(ValueError, match="num_rows"):
        release.check_memory(2000)
    monkeypatch.setattr(release_sampling, "available_memory", lambda: 20 * taken)
    release.check_memory(2000)
