"""Nothing but the released rows leaves: no attempts, no counts, no records, no shared coins. Each check has a planted bug."""

from __future__ import annotations

import io
import json
import logging
import multiprocessing
import pickle
import pickletools
import random
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import fast_and_slow
from sdv.sampling import Condition
from sdv.single_table import base as sdv_base

from sdv_plausible import PlausibleDeniabilitySynthesizer
from sdv_plausible.fitting import fit as releasing
from sdv_plausible.mechanism.drawing.mechanism import PlausibleDeniabilityMechanism
from sdv_plausible.mechanism.drawing.released_prefixes import ReleasedSeeds
from sdv_plausible.mechanism.privacy_tests.row_tests import RandomizedTest
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.queryable import SeedRecords
from sdv_plausible.sdv.metadata import metadata_from_columns
from tests.flat import values

ROWS = 2039  # a prime that occurs nowhere else
CANARY = (63, "Vrin", 47)
COLUMNS = {
    "id": {"sdtype": "id", "regex_format": "P[0-9]{6}"},
    "email": {"sdtype": "email", "pii": True},
    "age": {"sdtype": "numerical"},
    "city": {"sdtype": "categorical"},
    "visits": {"sdtype": "numerical"},
}
CITIES = ("Basel", "Bern", "Chur", "Vrin")
DECLARED = {
    "age": {"range_min": 0, "range_max": 99, "range_is_nullable": False},
    "city": {"range_values": list(CITIES), "range_is_nullable": False},
    "visits": {"range_min": 0, "range_max": 49, "range_is_nullable": False},
}


def table(n: int = ROWS, seed: int = 0) -> pd.DataFrame:
    """Rows in which one record is unlike all others."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "id": [f"P{i:06d}" for i in range(n)],
            "email": [f"person{i}@example.org" for i in range(n)],
            "age": rng.integers(20, 60, n),
            "city": rng.choice(CITIES[:3], n),
            "visits": rng.integers(0, 46, n),
        }
    )
    frame.loc[n // 2, ["id", "email", "age", "city", "visits"]] = ["P424242", "canary@example.org", *CANARY]
    return frame


def fitted(frame: pd.DataFrame | None = None, **changes: Any) -> PlausibleDeniabilitySynthesizer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings = {"domain": DECLARED, "model": "independent", **changes}
        synth = PlausibleDeniabilitySynthesizer(metadata_from_columns(COLUMNS), **values(**settings))
        synth.fit(table() if frame is None else frame)
    return synth


ROW_BY_ROW = {"test": "randomized", "k": 40, "epsilon0": 0.3, "omega": 2, "delta": 1e-3, "row_cap": 5000}


class Bar:
    """Stands in for SDV's progress bar and keeps what it was told."""

    told: list[Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.told.append((args, sorted(kwargs.items())))

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *args: object) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: self.told.append((name, args, sorted(kwargs.items())))


@contextmanager
def everything_shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Collect log records of every level, warnings, both output streams and the progress bar."""
    shown: list[Any] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            message = record.msg if isinstance(record.msg, dict) else {"": record.getMessage()}
            told = {k: str(v) for k, v in message.items() if k not in ("TIMESTAMP", "SYNTHESIZER ID")}
            shown.append((record.name, record.levelname, told))

    Bar.told = []
    monkeypatch.setattr(sdv_base.tqdm, "tqdm", Bar)
    root, handler = logging.getLogger(), Keep(level=logging.DEBUG)
    level, out, err = root.level, io.StringIO(), io.StringIO()
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with warnings.catch_warnings(record=True) as caught, redirect_stdout(out), redirect_stderr(err):
            warnings.simplefilter("always")
            yield shown
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        shown += [(w.category.__name__, str(w.message)) for w in caught]
        shown += [out.getvalue(), err.getvalue(), Bar.told]


def trace_of_sampling(saved: bytes, rejecting: bool, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What can be seen of sampling 300 rows, the rows' values aside; the first attempts pass, or are all rejected."""
    synth, calls, passes = pickle.loads(saved), [0], RandomizedTest.passes

    def most_rejected(self: RandomizedTest, plausible: np.ndarray, rng: KeyedRNG) -> np.ndarray:
        calls[0] += 1
        passed = passes(self, plausible, rng)
        return passed & (calls[0] > 3) if rejecting else passed

    with monkeypatch.context() as patch:
        patch.setattr(RandomizedTest, "passes", most_rejected)
        with everything_shown(patch) as shown:
            rows = synth.sample(300, batch_size=100)
    assert calls[0] > 3 or not rejecting
    return {
        "shape": (rows.shape, rows.dtypes.astype(str).to_dict(), list(rows.index)),
        "shown": shown,
        # SDV's generators of invented columns are compared apart, where one call has one state.
        "saved": pickle.dumps({name: v for name, v in vars(synth).items() if name != "_data_processor"}),
        "info": synth.get_info(),
        "parameters": synth.get_parameters(),
        "ledger": synth.privacy_ledger().to_json(),
    }


@cache
def row_by_row() -> bytes:
    return pickle.dumps(fitted(**ROW_BY_ROW))


def test_rejected_proposals_leave_no_trace(monkeypatch) -> None:
    saved = row_by_row()
    assert trace_of_sampling(saved, False, monkeypatch) == trace_of_sampling(saved, True, monkeypatch)


LEAKS = {
    "kept": lambda mechanism, n: object.__setattr__(
        mechanism, "attempts", getattr(mechanism, "attempts", 0) + n
    ),
    "logged": lambda _, n: logging.getLogger("sdv_plausible").debug("attempts: %s", n),
    "printed": lambda _, n: print(n, file=sys.stderr),
    "warned": lambda _, n: warnings.warn(f"pass rate {n}", stacklevel=2),
}


@pytest.mark.parametrize("leak", fast_and_slow(LEAKS, lambda leak: leak == "kept"))
def test_attempts_that_show_are_caught(leak, monkeypatch) -> None:
    """The planted bugs: attempts kept, logged or printed."""
    honest = PlausibleDeniabilityMechanism.release_with_points

    def counted(self: PlausibleDeniabilityMechanism, *how: Any) -> tuple[np.ndarray, np.ndarray]:
        attempts, passes = list[int](), RandomizedTest.passes

        def counting(test: RandomizedTest, plausible: np.ndarray, rng: KeyedRNG) -> np.ndarray:
            attempts.append(len(plausible))
            return passes(test, plausible, rng)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RandomizedTest, "passes", counting)
            rows = honest(self, *how)
        LEAKS[leak](self, sum(attempts))
        return rows

    saved = row_by_row()
    monkeypatch.setattr(PlausibleDeniabilityMechanism, "release_with_points", counted)
    assert trace_of_sampling(saved, False, monkeypatch) != trace_of_sampling(saved, True, monkeypatch)


def shown_by_a_fit(frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    with everything_shown(monkeypatch) as shown:
        fitted(frame)
    return shown


def test_a_fit_shows_nothing_of_the_rows(monkeypatch) -> None:
    """Not even the line of SDV's log, which has their number. Control: a print, and the log of sampling."""
    assert shown_by_a_fit(table(), monkeypatch) == shown_by_a_fit(table(1201, seed=7), monkeypatch)
    with everything_shown(monkeypatch) as shown:
        fitted().sample(17)
    assert "'TOTAL NUMBER OF ROWS': '17'" in str(shown)
    honest = releasing.split_rows

    def talks(rows, *args):
        print(rows.num_rows())
        return honest(rows, *args)

    monkeypatch.setattr(releasing, "split_rows", talks)
    assert shown_by_a_fit(table(), monkeypatch) != shown_by_a_fit(table(1201, seed=7), monkeypatch)


def traces_of_rows(synth: PlausibleDeniabilitySynthesizer, frame: pd.DataFrame, groups: int) -> list[str]:
    """What of the saved object is a record, the number of rows or the number of prefix groups; of arrays, their shapes."""
    saved, counts = pickle.dumps(synth), {len(frame), groups}
    codes = synth._codec.encode(frame, KeyedRNG.from_seed(0))
    canary = codes[len(frame) // 2]
    found = [f"{w}" for w in (b"canary@", b"P424242") if w in saved]
    for kind in (np.int8, np.int16, np.int32, np.int64, np.float64):
        if kind is not np.int8 and canary.astype(kind).tobytes() in saved:
            found.append(f"record as {kind.__name__}")
        found += [f"column {j}" for j, c in enumerate(codes[:20].T) if c.astype(kind).tobytes() in saved]
    for step, value, _ in pickletools.genops(saved):
        is_numpys = isinstance(value, bytes) and len(value) in (4, 8)
        number = int.from_bytes(value, "little") if is_numpys else value
        if number in counts and ("INT" in step.name or "BYTES" in step.name):
            found.append(f"{step.name} {number}")
    return found


RELEASE = {"omega": 1, "k": 3, "delta": 1e-3}


def prefix_groups(synth: PlausibleDeniabilitySynthesizer, frame: pd.DataFrame, kept: int) -> int:
    codes = synth._codec.encode(frame, KeyedRNG.from_seed(0))
    return len(np.unique(codes[:, synth._sampler.model.order[:kept]], axis=0))


def test_the_saved_object_of_the_release_test_holds_no_record_and_no_count() -> None:
    frame = table()
    synth = fitted(frame, **RELEASE)
    groups = prefix_groups(synth, frame, 2)
    assert groups not in range(120), "a number that would be found by chance"
    assert traces_of_rows(synth, frame, groups) == []
    synth.sample(50)
    assert traces_of_rows(synth, frame, groups) == []


def test_records_in_the_saved_object_are_caught(monkeypatch, tmp_path) -> None:
    frame = table()
    row_by_row = fitted(frame, **ROW_BY_ROW)
    with pytest.warns(UserWarning, match="holds seed records"):
        row_by_row.save(tmp_path / "synthesizer.pkl")
    assert traces_of_rows(row_by_row, frame, -1)
    honest = ReleasedSeeds.draw

    def keeps_seeds(network, seeds, *args):
        network.attach_seeds(SeedRecords(seeds._rows.records()))
        return honest(network, seeds, *args)

    def keeps_count(network, seeds, *args):
        released = honest(network, seeds, *args)
        object.__setattr__(released, "dropped", len(seeds._rows.groups(network.order[:2], 1)[1]))
        return released

    for bug in (keeps_seeds, keeps_count):
        monkeypatch.setattr(ReleasedSeeds, "draw", bug)
        synth = fitted(frame, **RELEASE)
        assert traces_of_rows(synth, frame, prefix_groups(synth, frame, 2))


def ledgers(**changes: Any) -> list[dict[str, Any]]:
    """Ledgers of fits to two tables of other sizes and values, but for what noisy answers say of noise."""
    found = [fitted(t, **changes).privacy_ledger() for t in (table(), table(1201, seed=7))]
    plain = [json.loads(ledger.to_json()) for ledger in found]
    for words, ledger in zip(plain, found, strict=True):
        words["said"] = [text for text in words["said"] if text != ledger.said("noise")]
    return plain


@pytest.mark.parametrize(
    "options",
    [{"model": "bayesian_network"}, RELEASE, {"test": "deterministic", "k": 20, "omega": 2}],
    ids=["all", "release", "Test 1"],
)
def test_the_ledger_knows_nothing_of_the_rows(options) -> None:
    first, second = ledgers(**options)
    assert first == second


def test_the_ledger_of_the_randomised_test_is_charged_at_the_declared_size() -> None:
    """Its total would otherwise be a figure chosen after a look at the rows."""
    first, second = ledgers(**ROW_BY_ROW)
    assert {e["name"] for e in first["entries"]} >= {"size", "rows"}, "the check of the size is charged"
    assert first == second


def test_a_declared_size_that_the_rows_contradict_is_refused() -> None:
    with pytest.raises(ValueError, match=r"least_rows \(100000\) is not confirmed"):
        ledgers(**ROW_BY_ROW, least_rows=100_000)


def test_a_count_in_the_ledger_is_caught(monkeypatch) -> None:
    draw, fit_release, at_work = ReleasedSeeds.draw, releasing.fit_release, []

    def tells(network, seeds, *args):
        said = f"{seeds._rows.num_rows()} seeds"
        at_work[-1].charge(LedgerEntry(name="note", mechanism=said, losses=(), scope=""))
        return draw(network, seeds, *args)

    def remembering(rows, domain, settings, learner, ledger, *args):
        at_work.append(ledger)
        return fit_release(rows, domain, settings, learner, ledger, *args)

    monkeypatch.setattr(ReleasedSeeds, "draw", tells)
    monkeypatch.setattr("sdv_plausible.fitting.fit.fit_release", remembering)
    first, second = ledgers(**RELEASE)
    assert first != second


def seed_everything() -> None:
    np.random.seed(73251)  # noqa: NPY002  SDV's public constant
    random.seed(73251)


def coins_are_secret() -> bool:
    """Whether two runs differ though every public seed is the same."""
    runs = []
    for _ in range(2):
        seed_everything()
        synth = fitted()
        seed_everything()
        runs.append(synth.sample(200)[["age", "city", "visits"]])
    return not runs[0].equals(runs[1])


def test_public_seeds_do_not_reach_the_coins(monkeypatch) -> None:
    """Two hundred rows of three columns agree by chance with probability far below 1e-100."""
    assert coins_are_secret()
    with monkeypatch.context() as patch:  # control: coins from numpy's generator

        def guessable(cls: type[KeyedRNG]) -> KeyedRNG:
            return KeyedRNG.from_seed(int(np.random.randint(2**31)))  # noqa: NPY002

        patch.setattr(KeyedRNG, "from_os_entropy", classmethod(guessable))
        assert not coins_are_secret()


def test_reset_sampling_repeats_for_the_holder_alone() -> None:
    first, second = fitted(), fitted()

    def again(synth: PlausibleDeniabilitySynthesizer) -> pd.DataFrame:
        synth.reset_sampling()
        return synth.sample(100)

    rows, modelled = again(first), ["age", "visits"]
    assert again(first).equals(rows)
    assert not first.sample(100).equals(rows)
    assert not again(second)[modelled].equals(rows[modelled])
    assert again(pickle.loads(pickle.dumps(first)))[modelled].equals(rows[modelled])


SAMPLING = ("sample",), ("sample each",)  # how the names of the streams of a call's rows begin


def names_of_streams(monkeypatch: pytest.MonkeyPatch, synth: PlausibleDeniabilitySynthesizer) -> list[bytes]:
    """Keys of the sampling streams of calls that all differ in an argument."""
    keys: list[bytes] = []
    spawn = KeyedRNG.spawn

    def recording(self: KeyedRNG, *context: Any) -> KeyedRNG:
        child = spawn(self, *context)
        if context[:1] in SAMPLING:
            keys.append(child._key)
        return child

    with monkeypatch.context() as patch:
        patch.setattr(KeyedRNG, "spawn", recording)
        for num_rows in (5, 6):
            synth.reset_sampling()
            synth.sample(num_rows)
        for city in CITIES[:2]:
            synth.reset_sampling()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                synth.sample_from_conditions([Condition(column_values={"city": city}, num_rows=5)])
        synth.sample(5)
    return keys


def test_calls_with_other_arguments_never_share_coins(monkeypatch) -> None:
    keys = names_of_streams(monkeypatch, fitted())
    assert len(keys) == len(set(keys)) >= 5
    spawn = KeyedRNG.spawn  # control: a stream named by the public seed and the call's number alone

    def forgetful(self: KeyedRNG, *context: Any) -> KeyedRNG:
        return spawn(self, *(context[:3] if context[:1] in SAMPLING else context))

    monkeypatch.setattr(KeyedRNG, "spawn", forgetful)
    keys = names_of_streams(monkeypatch, fitted())
    assert len(keys) > len(set(keys))


def _sample_in_worker(saved: bytes) -> list[int]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="this synthesizer was copied to another process")
        return [int(x) for x in pickle.loads(saved).sample(60)["age"]]


def _fit_in_worker(seed: int) -> list[int]:
    seed_everything()
    return [int(x) for x in fitted().sample(60)["age"]]


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_forked_workers_fit_apart_and_repeat_what_they_hold() -> None:
    with multiprocessing.get_context("fork").Pool(2) as pool:
        first, second = pool.map(_fit_in_worker, [0, 0], chunksize=1)
        assert first != second
        saved = pickle.dumps(fitted())
        first, second = pool.map(_sample_in_worker, [saved, saved], chunksize=1)
        assert first == second == _sample_in_worker(saved)
