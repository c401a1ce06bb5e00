"""Rows, and what is its holder's, never leave with a synthesizer: not in the middle of a fit, nor after an interrupt."""

from __future__ import annotations

import pickle
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy, deepcopy
from pathlib import Path
from types import FrameType
from typing import Any

import cloudpickle
import pandas as pd
import pytest
from rdt.transformers import FloatFormatter
from sdv.cag import FixedIncrements, OneHotEncoding

import sdv_plausible
from sdv_plausible import Budget, DeterministicTest, PlausibleDeniabilitySynthesizer, PublicTable
from sdv_plausible.fitting import fit
from sdv_plausible.fitting.object_state import TRANSIENT
from sdv_plausible.sdv import sdv_state
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.sdv.sampling_requests import RowCapExceededError

pytestmark = pytest.mark.filterwarnings("ignore:You are saving a synthesizer that has not yet been fitted")
MARKER = "ZZMARKER17"
COLUMNS = {
    "id": {"sdtype": "id"}, "person": {"sdtype": "id"}, "kind": {"sdtype": "categorical"},
    "size": {"sdtype": "numerical"},
}  # fmt: skip
DOMAIN = {
    "kind": {"range_values": ["x", "y"], "range_is_nullable": True},
    "size": {"range_min": 0, "range_max": 9, "range_is_nullable": False},
}
Synth = PlausibleDeniabilitySynthesizer


def table() -> pd.DataFrame:
    ids, persons = [f"{MARKER}-{i}" for i in range(60)], [f"{MARKER}p{i // 2}" for i in range(60)]
    frame = pd.DataFrame(
        {"id": ids, "person": persons, "kind": ["x", "y", "y"] * 20, "size": [*range(10)] * 6}
    )
    frame.loc[3, "kind"] = f"{MARKER}kind"
    frame.attrs = {"of": f"{MARKER}attrs"}
    return frame


def make(**parameters: Any) -> Synth:
    given = {"model": "independent", "person": "person", "domain": DOMAIN, **parameters}
    return Synth(metadata_from_columns(COLUMNS), **given)


def saved(synth: Synth, folder: Path) -> bytes:
    synth.save(folder / "synth.pkl")
    return (folder / "synth.pkl").read_bytes()


WAYS: dict[str, Callable[[Synth, Path], bytes]] = {
    "save": saved, "cloudpickle": lambda synth, _: cloudpickle.dumps(synth), "attributes": lambda synth,
    _: b"".join(cloudpickle.dumps(value) for name, value in vars(synth).items() if name not in TRANSIENT),
    "copy": lambda synth, _: cloudpickle.dumps(vars(copy(synth))), "deepcopy": lambda synth,
    _: cloudpickle.dumps(vars(deepcopy(synth))),
}  # fmt: skip


def left(synth: Synth, folder: Path) -> list[str]:
    """Ways in which the marker of the rows leaves with a synthesizer."""
    return [name for name, way in WAYS.items() if MARKER.encode() in way(synth, folder)]


def looking(synth: Synth, folder: Path) -> list[list[str]]:
    """What leaves at each charge and stage of a fit from now on; whoever watches holds the rows."""
    found: list[list[str]] = []
    kept = table()
    synth.watch = lambda _: found.append(left(synth, folder)) if len(kept) else None
    synth.watch_progress = synth.watch
    synth.record = lambda names, rules: [kept.to_csv()[:0]]
    return found


def test_no_row_leaves_at_any_charge_of_a_fit(tmp_path: Path) -> None:
    synth = make(budget=Budget(5.0, 1e-6, tmp_path / "budget"))
    found = looking(synth, tmp_path)
    for _ in range(2):  # anew, and again
        synth.fit(table())
    assert len(found) > 4
    assert not any(found)
    assert left(synth, tmp_path) == []


def test_a_row_that_is_an_attribute_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Synth._fit_rows

    def keep(self: Any, *given: Any) -> Any:
        self._kept = self._rows
        return honest(self, *given)

    monkeypatch.setattr(Synth, "_fit_rows", keep)
    synth = make()
    found = looking(synth, tmp_path)
    synth.fit(table())
    assert found[-1] == list(WAYS)


class Stop(BaseException):
    """An interrupt."""


def stopped(call: Callable[[], object], at: int) -> int:
    """Interrupt a call at a line of the package, and return how many lines it came to."""
    package, lines = str(Path(sdv_plausible.__file__).parent / "sdv"), 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if not frame.f_code.co_filename.startswith(package):
            return None
        if event == "line":
            lines += 1
            if lines == at:
                raise Stop
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except Stop:
        pass
    finally:
        sys.settrace(before)
    return lines


CALLS: dict[str, Callable[[Synth], object]] = {
    "fit": lambda synth: synth.fit(table()),
    "preprocess": lambda synth: synth.preprocess(table()),
    "auto_assign_transformers": lambda synth: synth.auto_assign_transformers(table()),
    "validate": lambda synth: synth.validate(table()),
}


@pytest.mark.filterwarnings("ignore:preprocess")
@pytest.mark.parametrize("places", [8, pytest.param(80, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_an_interrupt_at_any_line_leaves_no_row_and_no_call(name: str, fitted: bool, places: int) -> None:
    call, at = CALLS[name], 1
    first = make()
    if fitted:
        first.fit(table())
    content = cloudpickle.dumps(first)
    total = stopped(lambda: call(pickle.loads(content)), -1)
    assert total > 20
    for at in range(1, total, max(1, total // places)):
        synth = pickle.loads(content)
        stopped(lambda: call(synth), at)  # noqa: B023
        assert MARKER.encode() not in cloudpickle.dumps(synth)
        assert synth._rows is None
        synth.validate(table())  # no call is under way


@contextmanager
def held_up(place: Any, function: str, call: Callable[[], object]) -> Iterator[None]:
    """A call in another thread, which waits in a function while the block runs, and then ends."""
    honest, reached, go, raised = getattr(place, function), threading.Event(), threading.Event(), []

    def slow(*given: Any, **options: Any) -> Any:
        reached.set()
        assert go.wait(30)
        return honest(*given, **options)

    def fit() -> None:
        try:
            call()
        except BaseException as error:
            raised.append(error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, function, slow)
        thread = threading.Thread(target=fit)
        thread.start()
        assert reached.wait(30)
        try:
            yield
        finally:
            go.set()
            thread.join()
    assert not raised


@pytest.mark.parametrize("name", ["fit", "auto_assign_transformers"])
def test_what_another_thread_saves_holds_no_row(name: str, tmp_path: Path) -> None:
    synth = make()
    synth.fit(table())
    with held_up(sdv_state, "make_placeholder_table", lambda: CALLS[name](synth)):
        assert left(synth, tmp_path) == []
        for call in CALLS.values():
            with pytest.raises(ValueError, match="another call that reads rows is running"):
                call(synth)
    assert left(synth, tmp_path) == []
    synth.fit(table())  # none is under way any more


def test_a_second_fit_waits_for_the_first(tmp_path: Path) -> None:
    """Two at once left the rows of the one that failed in the object for good, under the claim of the other."""
    synth = make()
    synth.fit(table())
    waits = pytest.raises(ValueError, match="Wait until it ends, or create a second synthesizer")
    with held_up(fit, "fit_release", lambda: synth.fit(table())), waits:
        synth.fit(table())
    assert len(synth.sample(3)) == 3
    assert left(synth, tmp_path) == []


@pytest.mark.parametrize("types", ["declared", "voted"])
def test_who_watches_a_fit_shows_its_object_no_rows(types: str) -> None:
    """SDV's part would be fitted to them, in the place of stand-ins."""
    synth = make() if types == "declared" else make(types=types, domain={"id": {"sdtype": "id"}})
    for call in CALLS.values():
        synth.watch = lambda _, call=call: call(synth)
        with pytest.raises(ValueError, match="another call that reads rows is running"):
            synth.fit(table())
    del synth.watch
    synth.fit(table())


def test_another_object_may_be_fitted_meanwhile() -> None:
    synth, other = make(), make()
    synth.watch = lambda _: other.fit(table())
    synth.fit(table())
    assert len(other.sample(2)) == len(synth.sample(2)) == 2


def test_what_is_the_holders_stays(tmp_path: Path) -> None:
    """One list for save, pickle, copy and deepcopy: budgets, published tables, and who watches."""
    public = table()[["kind"]].replace(f"{MARKER}kind", "x").assign(kind=f"{MARKER}public")
    public.loc[::2, "kind"] = "x"
    synth = make(
        model="bayesian_network", public=PublicTable(public, "an office"),
        budget=Budget(5.0, 1e-6, tmp_path / f"{MARKER}budget"),
    )  # fmt: skip
    synth.check(table(), show=lambda _: None)
    looking(synth, tmp_path)
    synth.fit(table())
    synth._points, synth._paid = [], {}  # as in the middle of calls
    here = {
        "budget", "public", "_public_given", "_given", "watch", "watch_progress", "record", "_charge", "_paid", "_points",
    }  # fmt: skip
    assert {name for name in here if vars(synth).get(name) is not None} == here == set(TRANSIENT)
    for twin in (copy(synth), deepcopy(synth), pickle.loads(cloudpickle.dumps(synth))):
        assert {name: vars(twin).get(name) for name in here} == dict.fromkeys(here)
        with pytest.raises(ValueError, match=r"public: .* its saved file does not contain"):
            twin.fit(table())
    del synth._points, synth._paid
    assert left(synth, tmp_path) == []
    twin = copy(make(budget=synth.budget))
    with pytest.raises(ValueError, match="had a budget, which its saved file does not contain"):
        twin.fit(table())


def floats() -> FloatFormatter:
    return FloatFormatter(enforce_min_max_values=True, learn_rounding_scheme=True)


def other_metadata(synth: Synth) -> object:
    return synth.metadata.update_column("size", table_name=synth._table_name, sdtype="categorical")


DONE: dict[str, Callable[[Synth], object]] = {
    "fit": lambda synth: synth.fit(table().astype({"size": float})),
    "update_transformers": lambda synth: synth.update_transformers({"size": floats()}),
    "fit with transformers": lambda synth: (synth.update_transformers({"size": floats()}), synth.fit(table())),
    "add_constraints": lambda synth: synth.add_constraints([OneHotEncoding(["size", "kind"])]),
    "fit with constraints": lambda synth: (
        synth.add_constraints([FixedIncrements("size", 1)]), synth.fit(table()),
    ),
    "preprocess": lambda synth: synth.preprocess(table()),
    "auto_assign_transformers": lambda synth: synth.auto_assign_transformers(table()),
    "metadata": other_metadata,
    "original metadata": lambda synth: synth._original_metadata.update_column(
        "size", table_name=synth._table_name, sdtype="categorical"
    ),
    "sample": lambda synth: (synth.sample(7), synth.sample(3)),
}  # fmt: skip


def shown(synth: Synth) -> dict[str, bytes | str]:
    """Rows and ledger of an object, and each of its attributes."""
    synth.reset_sampling()
    rows = synth.sample(40).to_csv()
    synth.reset_sampling()
    held = {name: value for name, value in vars(synth).items() if name not in ("watch", "watch_progress")}
    attributes = {name: pickle.dumps(value) for name, value in held.items()}
    return {**attributes, "rows": rows, "ledger": str(synth.privacy_ledger()), "plan": str(synth.plan())}


def touched(synth: Synth, way: str) -> list[str]:
    """What of an object is another after something was done to its copy."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        synth.sample(3)
        before = shown(synth)
        DONE[way](copy(synth))
        after = shown(synth)
    return sorted({*before, *after} - {name for name in before if before[name] == after.get(name)})


@pytest.fixture(scope="module")
def fitted_once() -> bytes:
    synth = make(domain=None, person=None)
    synth.fit(table())
    return pickle.dumps(synth)


@pytest.mark.parametrize("way", DONE)
def test_what_is_done_to_a_copy_changes_nothing_of_its_original(way: str, fitted_once: bytes) -> None:
    """SDV's formatters put single rows' bounds and digits into samples that were claimed to hold none."""
    assert touched(pickle.loads(fitted_once), way) == []


def test_an_sdv_part_that_a_copy_shares_would_be_found(
    fitted_once: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Synth, "__copy__", Synth._shallow_copy)
    for way, part in (("fit with transformers", "rows"), ("metadata", "metadata")):
        assert part in touched(pickle.loads(fitted_once), way)


def test_rows_of_a_copy_count_towards_the_same_cap() -> None:
    """Else each copy would release other rows, all of them paid for once."""
    synth = make(test=DeterministicTest(k=2, row_cap=10))
    synth.fit(table())
    twin = copy(synth)
    twin.sample(6)
    with pytest.raises(RowCapExceededError, match="6 of row_cap"):
        synth.sample(5)
