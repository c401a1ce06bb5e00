"""A fit in its own process. It reports each charge before the query, and each file it writes."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from sdv_plausible.extensions.app.pages.release_request import ReleaseRequest
from sdv_plausible.fitting.diagnostics import FitWarning
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.table.columns.cell_reader import reparse_columns
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.files.table_file import read_file, write_table
from sdv_plausible.utils.atomic_files import exits_on_signals, write_atomically
from sdv_plausible.utils.text_output import one_line

if TYPE_CHECKING:
    import pandas as pd

    from sdv_plausible.release.card.privacy_card import PrivacyCard
    from sdv_plausible.release.file.release import Release
    from sdv_plausible.sdv.synthesizer import PlausibleDeniabilitySynthesizer
import threading
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pickle import UnpicklingError
from typing import Any, Literal

ComparedColumns = tuple[Sequence[str], Sequence[str] | None]
"""Columns that were compared with the rows, and digests of the rules applied before."""
STAGES = (
    "Starting and reading the table", "Learning the model", "Making the rows", "Comparing with your rows",
    "Done",
)  # fmt: skip


@dataclass(frozen=True)
class FitFile:
    """An output file of a fit."""

    name: str
    title: str
    is_public: bool = False  # whether the ledger's privacy guarantee covers it


NOT_COMPARED = "the table was read in parts, so it is not in memory to compare with"
NO_ROWS = "no rows were made to compare"
FILES = {
    "rows": FitFile("synthetic.csv", "The rows (CSV)", True),
    "release": FitFile(
        "table.release", "The release file: it makes any number of rows, without your table", True
    ),
    "card": FitFile("card.html", "The privacy card, a page for the data-protection officer (HTML)", True),
    "ledger": FitFile("ledger.json", "The privacy ledger (JSON)", True),
    "report": FitFile("report_public.html", "Report, the part that may be published (HTML)", True),
    "plots": FitFile("columns_public.html", "Charts of every column, from the noisy answers (HTML)", True),
    "own_plots": FitFile("columns_private.html", "Charts of every column, beside your real rows (HTML)"),
    "full_report": FitFile("report_private.html", "Full report: compares with your rows (HTML)"),
    "inspection": FitFile("inspection_private.html", "Inspector: your table before and after (HTML)"),
}


def named_files(request: ReleaseRequest) -> dict[str, FitFile]:
    """Output files with the names of downloads: the card is named after its table."""
    return {**FILES, "card": replace(FILES["card"], name=f"{request.table_name}_card.html")}


@dataclass(frozen=True)
class FinishedFit:
    """A finished fit, its output folder and its pipe; ``rows`` are the real rows."""

    synth: PlausibleDeniabilitySynthesizer
    rows: pd.DataFrame | None  # None if they were read in parts
    folder: Path
    told: Connection

    def write(self, key: str, content: str | bytes | Callable[[Path], object]) -> None:
        """Write a file atomically, and report it."""
        write_atomically(self.folder / FILES[key].name, content, owner_only=not FILES[key].is_public)
        self.told.send(("file", key))


def run(request: ReleaseRequest, folder: Path, pipe: Connection) -> None:
    """Run the requested fit and report its progress."""
    try:
        _release(request, folder, pipe)
    except Exception as error:  # of SDV or pandas, whose messages may quote cells
        pipe.send(("failed", one_line(error, True)))


def process_main(request: ReleaseRequest, folder: Path, pipe: Connection) -> None:
    """Main function of the fit's process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process ends it
    with exits_on_signals():  # without partial files
        run(request, folder, pipe)


def _release(request: ReleaseRequest, folder: Path, pipe: Connection) -> None:
    pipe.send(("stage", 0))
    synth = request.synthesizer()
    compared: ComparedColumns = ((), None)

    def record(names: Collection[str], rules: Collection[str] | None) -> list[str]:
        nonlocal compared
        compared = sorted(names), None if rules is None else sorted(rules)
        return []

    synth.record = record
    synth.watch = lambda ledger: pipe.send(("charged", cost(ledger), [e.name for e in ledger.entries]))
    synth.watch_progress = lambda words: pipe.send(("pass", words))
    rows = None if request.in_parts else read_file(request.table.files, request.types)
    pipe.send(("stage", 1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if rows is None:
            synth.fit(request.table.files, folder)
        else:
            synth.fit(rows)
    fit_warnings = [one.message for one in caught if isinstance(one.message, FitWarning)]
    for_holder, public = (
        [str(note) for w in fit_warnings if w.for_holder is private for note in w.notes]
        for private in (True, False)
    )
    pipe.send(("warnings", for_holder, public, compared))
    found = column_types(metadata=synth.metadata)
    pipe.send(("types", {name: found[name].sdtype for name in request.open_columns if name in found}))
    pipe.send(("stage", 2))
    if rows is not None:
        texts = {one.name for one in synth.get_domain() if one.number_format is not None}
        voted = {name: found[name] for name in request.open_columns if name not in texts}
        rows = reparse_columns(rows, voted, request.spelling)
    done = FinishedFit(synth, rows, folder, pipe)
    has_file, synthetic = _write_release(done, request), None
    ledger = synth.privacy_ledger()
    words = ledger.words
    released = ("released", words.lead, words.total, str(ledger), ledger.claims_privacy)
    if has_file:  # even if sampling fails
        pipe.send(released)
    try:
        synthetic = synth.sample(int(request.numbers["rows"] or 1))
        done.write("rows", lambda path: write_table(synthetic, path))
    except Exception as error:  # such as too little memory; the release file can sample elsewhere
        if not has_file:
            raise
        pipe.send(("without", "rows", one_line(error, True)))
    if not has_file:
        pipe.send(released)
    pipe.send(("stage", 3))
    _compare(done, synthetic)
    pipe.send(("stage", 4))


def cost(ledger: PrivacyLedger) -> str:
    """Describe the charges of a ledger so far."""
    if not ledger.claims_privacy:
        return "without a limit: this fit makes no claim"
    return f"total epsilon {rounded_up(ledger.total())} at delta {rounded_up(ledger.delta)}"


def _write_release(done: FinishedFit, request: ReleaseRequest) -> bool:
    """Write the outputs that need no sampled rows; returns whether there is a release file."""
    done.write("ledger", done.synth.privacy_ledger().to_json())
    try:
        release = done.synth.release()
    except ValueError as error:
        done.told.send(("without", "release", " ".join(str(error).split())))
        return False
    content = release.to_bytes()
    done.write("release", content)
    reread = type(release).from_bytes(content)  # the card quotes texts as they are in the file
    _write_optional(done, "card", lambda: done.write("card", card_of(reread, request).to_html()))
    _write_optional(done, "plots", lambda: _plots(done, reread))
    return True


def _plots(done: FinishedFit, release: Release) -> None:
    """Draw every column from the noisy answers; beside the real rows in another file, for the data owner."""
    from sdv_plausible.extensions.app.pages import column_plots

    domain = release.domain
    counts = column_plots.noisy_counts(release.answers, domain)
    if not counts:
        raise ValueError("this model did not count the values of single columns")
    if done.synth.privacy_ledger().claims_privacy:
        figures = column_plots.noisy_figures(counts, domain)
        done.told.send(("plots", figures))
        done.write("plots", column_plots.columns_page(figures, is_private=False))
    if done.rows is not None:
        columns = {str(name): column for name, column in done.rows.items()}
        figures = column_plots.compared_figures(counts, domain, columns)
        done.write("own_plots", column_plots.columns_page(figures, is_private=True))


def card_of(release: Release, request: ReleaseRequest, **known: str) -> PrivacyCard:
    """Return the card of a request, named after the table by default."""
    return release.card(domain=request.file, **{"name": request.table_name, **known})


def _write_optional(done: FinishedFit, name: str, write: Callable[[], object]) -> None:
    """Write an optional output; report its error and continue."""
    try:
        write()
    except Exception as error:  # its message may quote cells
        done.told.send(("without", name, one_line(error, True)))


def _compare(done: FinishedFit, synthetic: pd.DataFrame | None) -> None:
    """Write the report and the inspector."""
    if done.rows is None or synthetic is None:
        for name in ("report", "inspection"):
            done.told.send(("without", name, NOT_COMPARED if done.rows is None else NO_ROWS))
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _write_optional(done, "report", lambda: _report(done, synthetic))
        _write_optional(done, "inspection", lambda: _inspection(done, synthetic))


def _report(done: FinishedFit, synthetic: pd.DataFrame) -> None:
    from sdv_plausible.evaluation import PlausibleDeniabilityReport

    ledger = done.synth.privacy_ledger()
    report = PlausibleDeniabilityReport(
        ledger=ledger,
        structure=_structure(done, synthetic),
        classifiers=("tree",),
        distinguishers=("tree",),
        num_runs=1,
    )
    report.generate(done.rows, synthetic, done.synth.metadata, verbose=False)
    done.write("full_report", report.to_html)
    if ledger.claims_privacy:
        done.write("report", lambda path: report.to_html(path, publishable=True))


def _structure(done: FinishedFit, synthetic: pd.DataFrame) -> dict[str, list[str]]:
    """The network, if it is over the table's own columns; rules replace some of them."""
    try:
        structure = done.synth.get_structure()
    except ValueError:  # this model has none
        return {}
    return structure if set(structure) <= set(synthetic.columns) else {}


def _inspection(done: FinishedFit, synthetic: pd.DataFrame) -> None:
    from sdv_plausible.evaluation.page.inspection import inspection_page
    from sdv_plausible.evaluation.table_pair import prepare_pair

    pair = prepare_pair(done.rows, synthetic, done.synth.metadata)
    done.write("inspection", inspection_page(pair, date.today().isoformat()))


State = Literal["running", "done", "failed", "cancelled"]
NOTHING = "nothing yet: no query has been made"
GRACE_SECONDS = 5.0  # seconds that a process may take to end


Start = Callable[[ReleaseRequest, Path], tuple[BaseProcess, Connection]]


def start_process(request: ReleaseRequest, folder: Path) -> tuple[BaseProcess, Connection]:
    """Start a new process, which shares nothing with the server, and return its pipe."""
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=process_main, args=(request, folder, sender), daemon=True)
    process.start()
    sender.close()
    return process, receiver


def time_text(seconds: float) -> str:
    """Format a duration: 45 s, 3 min 20 s, 2 h 5 min."""
    minutes, rest = divmod(int(seconds), 60)
    hours, part = divmod(minutes, 60)
    return f"{hours} h {part} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


class RunningFit:
    """A running or finished fit; its files are in a private folder."""

    def __init__(self, request: ReleaseRequest, folder: Path, start: Start = start_process) -> None:
        self.request, self.folder, self.state = request, folder, "running"
        self.stage, self.charged, self.entries = 0, NOTHING, list[str]()
        self._began, self._ended = [monotonic()], 0.0  # when each stage began, and the process ended
        self.at = ""  # progress in a table that is read in parts
        self.error, self.without = "", dict[str, str]()
        self.warnings, self.notes = (
            list[str](),
            list[str](),
        )  # comparisons with the rows, and results of private queries
        self.plots = tuple[Any, ...]()  # charts of the noisy answers
        self.types = dict[str, str]()  # inferred types of undeclared columns
        self.looked: ComparedColumns = ((), None)  # columns that the warnings are about
        self.sentence = self.total = self.ledger = ""
        self.is_released = self.claims_privacy = False
        self._files: list[str] = []
        self._lock = threading.RLock()
        self._process, self._receiver = start(request, folder)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def files(self) -> list[str]:
        """Keys of the files written so far, in the order of ``FILES``."""
        return [key for key in FILES if key in self._files]

    @property
    def step(self) -> str:
        """Description of the current stage."""
        return STAGES[self.stage]

    @property
    def elapsed(self) -> str:
        """Time since the fit began, until its end."""
        return time_text((self._ended or monotonic()) - self._began[0])

    @property
    def times(self) -> list[str]:
        """How long each finished stage took."""
        return [time_text(end - begin) for begin, end in pairwise(self._began)]

    def cancel(self) -> None:
        """Stop the fit; charges and released files remain."""
        with self._lock:
            if self.state != "running":
                return
            self.state = "cancelled"
        self._process.terminate()
        self._process.join(GRACE_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join(GRACE_SECONDS)
        self._listener.join(GRACE_SECONDS)  # receives the last charges

    def wait(self, seconds: float) -> None:
        """Wait until the fit has ended."""
        self._listener.join(seconds)

    def _listen(self) -> None:
        try:
            while True:
                self._handle_message(*self._receiver.recv())
        except (EOFError, OSError, UnpicklingError):
            self._ended = monotonic()
        with self._lock:
            if self.state == "running":
                self.state, self.error = "failed", "the process ended before it was done"
        self._process.join(GRACE_SECONDS)

    def _handle_message(self, kind: str, *values: Any) -> None:
        with self._lock:
            match kind:
                case "stage":
                    self._began += [monotonic()] * (values[0] - self.stage)
                    self.stage, self.at = values[0], ""
                    if self.stage == len(STAGES) - 1 and self.state == "running":
                        self.state = "done"
                case "pass":
                    self.at = values[0]
                case "charged":
                    self.charged, self.entries = values
                case "warnings":
                    self.warnings, self.notes, self.looked = values
                case "plots":
                    (self.plots,) = values
                case "types":
                    (self.types,) = values
                case "file":
                    self._files.append(values[0])
                case "without":
                    self.without[values[0]] = values[1]
                case "released":
                    self.sentence, self.total, self.ledger, self.claims_privacy = values
                    self.is_released = True
                case _:
                    self.state, self.error = "failed", values[0]
