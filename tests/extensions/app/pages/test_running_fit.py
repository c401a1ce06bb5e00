"""A fit as its holder sees it: told, cancelled, dead."""

from multiprocessing import Pipe
from pathlib import Path
from threading import Event
from time import monotonic, sleep

import pytest
from sentences import total

from sdv_plausible.extensions.app.pages.background_fit import NOTHING, STAGES, RunningFit


class Played:
    """A process that tells what a test has it tell."""

    def __init__(self):
        self.heard, self.told = Pipe(duplex=False)
        self.ended = []

    def terminate(self):
        self.ended.append("terminated")
        self.told.close()

    def kill(self):
        self.ended.append("killed")

    def join(self, timeout=None):
        """It is gone at once."""

    def is_alive(self):
        return False

    def fit(self, *said):
        fit = RunningFit(None, Path(), lambda *_: (self, self.heard))
        for one in said:
            self.told.send(one)
        return fit


CHARGED = ("charged", "total epsilon 0.5 at delta 1e-09", ["domain", "model"])
RELEASED = ("released", total(1), "", "ledger", True)


def test_told_to_the_end():
    played = Played()
    files = ("file", "ledger"), ("file", "rows")
    fit = played.fit(
        ("stage", 1), CHARGED, ("types", {"age": "id"}), *files, RELEASED, ("stage", len(STAGES) - 1)
    )
    played.told.close()
    fit.wait(10)
    assert (fit.state, fit.charged, fit.is_released) == ("done", CHARGED[1], True)
    assert (fit.files, fit.types) == (["rows", "ledger"], {"age": "id"})
    fit.cancel()
    assert fit.state == "done"
    assert played.ended == []


def test_elapsed_times(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("sdv_plausible.extensions.app.pages.background_fit.monotonic", lambda: clock[0])
    played = Played()
    fit = played.fit()
    assert (fit.elapsed, fit.times) == ("0 s", [])
    for stage, now in ((1, 105), (2, 170)):
        clock[0] = now
        fit._handle_message("stage", stage)
    assert (fit.elapsed, fit.times) == ("1 min 10 s", ["5 s", "1 min 5 s"])
    clock[0] = 8000
    played.told.close()
    fit.wait(10)
    clock[0] = 9000
    assert fit.elapsed == "2 h 11 min"  # it has ended


def test_cancelled_after_charges():
    played = Played()
    fit = played.fit(("stage", 1), CHARGED, ("pass", "pass 1, 300 rows"))
    late = monotonic() + 60
    while not fit.at and monotonic() < late:  # it is heard by a thread of its own
        sleep(0.01)
    assert fit.at == "pass 1, 300 rows"
    fit.cancel()
    assert played.ended == ["terminated"]
    assert (fit.state, fit.charged, fit.entries) == ("cancelled", CHARGED[1], CHARGED[2])
    assert not fit.is_released

    fit = Played().fit(("stage", 0))
    fit.cancel()
    assert fit.charged == NOTHING  # before any


def test_the_last_charges_are_heard_before_it_says_what_was_spent(monkeypatch):
    """They are in the pipe when the process ends."""
    played, waited_for = Played(), Event()

    class Late:
        def recv(self):
            waited_for.wait(10)
            return played.heard.recv()

    played.told.send(CHARGED)
    fit = RunningFit(None, Path(), lambda *_: (played, Late()))
    join = fit._listener.join
    monkeypatch.setattr(fit._listener, "join", lambda seconds: waited_for.set() or join(seconds))
    fit.cancel()
    heard = fit.charged
    waited_for.set()
    assert heard == CHARGED[1]


def test_failed_or_dead():
    for told, error in (
        (("failed", "epsilon is too small"),) * 2,
        (CHARGED, ("", "the process ended before it was done")),
    ):
        played = Played()
        fit = played.fit(told)
        played.told.close()
        fit.wait(10)
        assert (fit.state, fit.error) == ("failed", error[1])


def test_the_process_is_a_fresh_one():
    """A forked one would hold the server's memory: other people's tables, and tokens."""
    from sdv_plausible.extensions.app.pages import background_fit

    asked = []

    def context(method):
        asked.append(method)
        raise RuntimeError("enough")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(background_fit, "get_context", context)
        with pytest.raises(RuntimeError):
            background_fit.start_process(None, None)
    assert asked == ["spawn"]
