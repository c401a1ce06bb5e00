"""One fitted object in several processes: where its copies draw the same rows, each process says so, once."""

from __future__ import annotations

import multiprocessing
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from joblib import Parallel, delayed

from sdv_plausible import PlausibleDeniabilitySynthesizer, metadata_of
from tests.flat import values

DOMAIN = {"age": {"range_min": 0, "range_max": 99}, "sex": {"range_values": ["f", "m"]}}
ROWS = pd.DataFrame({"age": [i % 100 for i in range(1200)], "sex": ["f", "m", "m"] * 400})
FORK = multiprocessing.get_context("fork")
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
held: list[Any] = []
Drawn = tuple[list[int], list[str]]


def fitted(**options: Any) -> PlausibleDeniabilitySynthesizer:
    options = values(model="independent", **options)
    synth = PlausibleDeniabilitySynthesizer(metadata_of(DOMAIN), domain=DOMAIN, **options)
    synth.fit(ROWS)
    return synth


def drawn(thing: Any) -> Drawn:
    """Rows of two calls, and what was warned of meanwhile."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        rows = [*thing.sample(30)["age"], *thing.sample(30)["age"]]
    return list(map(int, rows)), [str(warning.message) for warning in found]


def drawn_by_the_held() -> Drawn:
    return drawn(held[-1])


def drawn_from(file: Path) -> Drawn:
    return drawn(PlausibleDeniabilitySynthesizer.load(file))


def by_fork(thing: Any) -> list[Drawn]:
    held.append(thing)
    found = []
    for _ in range(2):
        with FORK.Pool(1) as pool:
            found.append(pool.apply(drawn_by_the_held))
    return found


def by_pickle(thing: Any) -> list[Drawn]:
    with FORK.Pool(1) as pool:
        return [pool.apply(drawn, (thing,)) for _ in range(2)]


def by_joblib(thing: Any) -> list[Drawn]:
    found: list[Drawn] = Parallel(n_jobs=2)(delayed(drawn)(thing) for _ in range(2))
    return found


WAYS: dict[str, Callable[[Any], list[Drawn]]] = {"fork": by_fork, "pickle": by_pickle, "joblib": by_joblib}


def check_told(found: list[Drawn], mine: Drawn) -> None:
    """Copies repeat the rows, and each process has been told so once."""
    assert [rows for rows, _ in found] == [mine[0]] * 2
    assert not mine[1]
    for _, told in found:
        assert len(told) == 1
        assert "all copies draw the same rows" in told[0]
        assert "release()" in told[0]
        assert "\n" not in told[0]


@pytest.mark.parametrize("way", WAYS)
def test_copies_that_repeat_say_so_once_in_each_process_and_a_release_is_the_way_out(way: str) -> None:
    synth = fitted()
    release = synth.release()
    check_told(WAYS[way](synth), drawn(synth))
    (one, told), (two, _) = WAYS[way](release)
    assert not told
    assert one != two


def test_seeded_ones_and_row_tests_say_so_too() -> None:
    """Rows of a test must repeat: each copy would release up to its cap, and the ledger covers one."""
    for options in ({"random_state": 1}, {"test": "randomized", "row_cap": 60, "least_rows": 100}):
        synth = fitted(**options)
        check_told(by_fork(synth), drawn(synth))


def test_what_repeats_nothing_says_nothing(tmp_path: Path) -> None:
    """A copy in the same process, an object that comes from a worker or a file, and processes of its own."""
    synth = fitted()
    assert not drawn(pickle.loads(pickle.dumps(synth)))[1]
    with FORK.Pool(1) as pool:
        assert not drawn(pool.apply(fitted))[1]
    synth.save(tmp_path / "x.pkl")
    (_, told), (_, _) = Parallel(n_jobs=2)(delayed(drawn_from)(tmp_path / "x.pkl") for _ in range(2))
    assert not told
    tested = fitted(test="randomized", row_cap=40, least_rows=100)
    assert len(tested.sample(40, processes=2)) == 40


def test_an_object_that_took_over_where_it_arrives_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: what a parent hands on counts as the worker's own."""
    monkeypatch.setattr("sdv_plausible.sdv.synthesizer.parents", set)
    synth = fitted()
    with pytest.raises(AssertionError):
        check_told(by_pickle(synth), drawn(synth))
