"""A fit in a process of its own: it tells what it charged before it asks, and what files are there."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date
from multiprocessing.connection import Connection
from pathlib import Path
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

LookedAt = tuple[Sequence[str], Sequence[str] | None]
"""Columns that were compared with the rows, and digests of the rules that they were compared through."""
STAGES = (
    "Starting, and reading the table", "Learning the model", "Making the rows", "Comparing, for your eyes",
    "Done",
)  # fmt: skip


@dataclass(frozen=True)
class FitFile:
    """A file that a fit leaves."""

    name: str
    title: str
    is_public: bool = False  # whether it may be handed out under the ledger's claim


NOT_COMPARED = "the table was read in parts, and is not in memory to be compared with"
NO_ROWS = "no rows were made to compare"
FILES = {
    "rows": FitFile("synthetic.csv", "The rows (CSV)", True),
    "release": FitFile(
        "table.release", "The release file: makes any number of rows, without your table", True
    ),
    "card": FitFile("card.html", "The privacy card, a page for the data-protection officer (HTML)", True),
    "ledger": FitFile("ledger.json", "The privacy ledger (JSON)", True),
    "report": FitFile("report_public.html", "Report, the part that may be published (HTML)", True),
    "full_report": FitFile("report_private.html", "Full report: compares with your rows (HTML)"),
    "inspection": FitFile("inspection_private.html", "Inspector: your table before and after (HTML)"),
}


def files_of(order: ReleaseRequest) -> dict[str, FitFile]:
    """The files as they are handed out: a card that is filed among others has its table's name."""
    return {**FILES, "card": replace(FILES["card"], name=f"{order.table_name}_card.html")}


@dataclass(frozen=True)
class FinishedFit:
    """A fit that is done, where its files go, and who hears of them; ``rows`` are the real ones."""

    synth: PlausibleDeniabilitySynthesizer
    rows: pd.DataFrame | None  # None: they were read in parts
    folder: Path
    told: Connection

    def write(self, key: str, content: str | bytes | Callable[[Path], object]) -> None:
        """Write a file, whole or not at all, and tell that it is there."""
        write_atomically(self.folder / FILES[key].name, content, owner_only=not FILES[key].is_public)
        self.told.send(("file", key))


def run(order: ReleaseRequest, folder: Path, told: Connection) -> None:
    """Do what is ordered, and tell how far it is."""
    try:
        _release(order, folder, told)
    except Exception as error:  # whatever SDV or pandas raise: their texts may quote cells
        told.send(("failed", one_line(error, True)))


def run_alone(order: ReleaseRequest, folder: Path, told: Connection) -> None:
    """Do the same as a process's main function."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it ends it
    with exits_on_signals():  # and leaves nothing half
        run(order, folder, told)


def _release(order: ReleaseRequest, folder: Path, told: Connection) -> None:
    told.send(("stage", 0))
    synth = order.synthesizer()
    looked: LookedAt = ((), None)

    def record(names: Collection[str], rules: Collection[str] | None) -> list[str]:
        nonlocal looked
        looked = sorted(names), None if rules is None else sorted(rules)
        return []

    synth.record = record
    synth.watch = lambda ledger: told.send(("charged", cost(ledger), [e.name for e in ledger.entries]))
    synth.watch_passes = lambda words: told.send(("pass", words))
    rows = None if order.in_parts else read_file(order.table.files, order.types)
    told.send(("stage", 1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if rows is None:
            synth.fit(order.table.files, folder)
        else:
            synth.fit(rows)
    said = [one.message for one in caught if isinstance(one.message, FitWarning)]
    looks, answers = ([str(one) for one in said if one.for_holder is mine] for mine in (True, False))
    told.send(("warnings", looks, answers, looked))
    found = column_types(metadata=synth.metadata)
    told.send(("types", {name: found[name].sdtype for name in order.open_columns if name in found}))
    told.send(("stage", 2))
    if rows is not None:
        texts = {one.name for one in synth.get_domain() if one.number_format is not None}
        voted = {name: found[name] for name in order.open_columns if name not in texts}
        rows = reparse_columns(rows, voted, order.spelling)
    done = FinishedFit(synth, rows, folder, told)
    has_file, synthetic = _write_release(done, order), None
    ledger = synth.privacy_ledger()
    words = ledger.words
    released = ("released", words.lead, words.total, str(ledger), ledger.claims_privacy)
    if has_file:  # whatever becomes of the rows
        told.send(released)
    try:
        synthetic = synth.sample(int(order.numbers["rows"] or 1))
        done.write("rows", lambda path: write_table(synthetic, path))
    except Exception as error:  # such as too many for this machine: the file makes as many elsewhere
        if not has_file:
            raise
        told.send(("without", "rows", one_line(error, True)))
    if not has_file:
        told.send(released)
    told.send(("stage", 3))
    _compare(done, synthetic)
    told.send(("stage", 4))


def cost(ledger: PrivacyLedger) -> str:
    """What a ledger has charged so far, in words."""
    if not ledger.claims_privacy:
        return "more than any claim covers: there is none"
    return f"total epsilon {rounded_up(ledger.total())} at delta {rounded_up(ledger.delta)}"


def _write_release(done: FinishedFit, order: ReleaseRequest) -> bool:
    """Write what needs no row drawn; whether there is a release file."""
    done.write("ledger", done.synth.privacy_ledger().to_json())
    try:
        release = done.synth.release()
    except ValueError as error:
        done.told.send(("without", "release", " ".join(str(error).split())))
        return False
    content = release.to_bytes()
    done.write("release", content)
    again = type(release).from_bytes(
        content
    )  # as a person's additions make the card: a file's texts are quoted
    _or_without(done, "card", lambda: done.write("card", card_of(again, order).to_html()))
    return True


def card_of(release: Release, order: ReleaseRequest, **known: str) -> PrivacyCard:
    """The card of what was ordered, with the table's name where no other was typed."""
    return release.card(domain=order.file, **{"name": order.table_name, **known})


def _or_without(done: FinishedFit, name: str, write: Callable[[], object]) -> None:
    """Write something; a failure there takes nothing back."""
    try:
        write()
    except Exception as error:  # its text may quote cells
        done.told.send(("without", name, one_line(error, True)))


def _compare(done: FinishedFit, synthetic: pd.DataFrame | None) -> None:
    """Write report and inspector."""
    if done.rows is None or synthetic is None:
        for name in ("report", "inspection"):
            done.told.send(("without", name, NOT_COMPARED if done.rows is None else NO_ROWS))
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _or_without(done, "report", lambda: _report(done, synthetic))
        _or_without(done, "inspection", lambda: _inspection(done, synthetic))


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
    """The network, if it is one of the table's own columns: rules put others in their place."""
    try:
        found = done.synth.get_structure()
    except ValueError:  # this model has none
        return {}
    return found if set(found) <= set(synthetic.columns) else {}


def _inspection(done: FinishedFit, synthetic: pd.DataFrame) -> None:
    from sdv_plausible.evaluation.page.inspection import inspection_page
    from sdv_plausible.evaluation.table_pair import prepare_pair

    pair = prepare_pair(done.rows, synthetic, done.synth.metadata)
    done.write("inspection", inspection_page(pair, date.today().isoformat()))
