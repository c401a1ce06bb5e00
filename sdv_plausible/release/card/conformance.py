"""Conformance page in the terms of NIST SP 800-226: what a release covers and what it does not."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sdv_plausible.privacy.ledger_record import LedgerRecord, rounded_up
from sdv_plausible.utils.text_output import escape_controls

if TYPE_CHECKING:
    from sdv_plausible.privacy.ledger import PrivacyLedger

State = Literal["covered", "not covered", "yours to do"]
PROMISE, THREATS = "explanation/privacy_promise.md", "explanation/threat_model.md"
LIMITS, PROOFS = "explanation/limitations.md", "explanation/proofs"


@dataclass(frozen=True, kw_only=True)
class ConformanceItem:
    """One line of the page."""

    topic: str  # the question, in the publication's terms
    answer: str
    state: State
    page: str = ""  # page under ``docs`` that proves or explains it; may be empty

    def __post_init__(self) -> None:
        if self.state == "covered" and not self.page:
            raise ValueError(f"{self.topic!r} is said to be covered: name the page that proves it")


def to_conformance(ledger: PrivacyLedger, *, pages: str = "docs") -> str:
    """Return a conformance page in the terms of NIST SP 800-226: covered, not covered, and yours to do.

    Parameters
    ----------
    ledger : PrivacyLedger
        The ledger of the release.
    pages : str
        Path or URL of this package's ``docs`` folder, for the links.

    Returns
    -------
    str
        The page, in Markdown.

    Raises
    ------
    ValueError
        If the ledger makes no privacy claim.
    """
    return conformance_page(LedgerRecord.of(ledger.to_dict()), pages=pages)


def conformance_page(record: LedgerRecord, *, pages: str = "docs") -> str:
    """Return the page in Markdown; ``pages`` is the path or URL of this package's ``docs`` folder."""
    lines = [
        "# Conformance, in the words of NIST SP 800-226",
        "",
        f"> **{markdown_cell(record.words.lead)}**",
        ">",
        f"> {markdown_cell(record.words.total)}",
        "",
        markdown_cell(record.words.conditions),
        "",
        "",
        "Made from the privacy ledger: the software's own account and no certificate.",
        "",
        "| question | this release | |",
        "|---|---|---|",
    ]
    for item in conformance_items(record):
        state = f"[{item.state}]({pages.rstrip('/')}/{item.page})" if item.page else item.state
        lines.append(f"| {markdown_cell(item.topic)} | {markdown_cell(item.answer)} | {state} |")
    return "\n".join(lines) + "\n"


def conformance_items(record: LedgerRecord) -> tuple[ConformanceItem, ...]:
    """Return the lines of the page."""
    return (*_guarantee(record), *_algorithms(record), *_deployment())


def markdown_cell(text: str) -> str:
    """Escape text for a cell of a Markdown table."""
    plain = escape_controls(" ".join(text.split()), keep="")
    return re.sub(r"([\\|\[\]`])", r"\\\1", plain).replace("&", "&amp;").replace("<", "&lt;")


# --- guarantee -----------------------------------------------------------------------------------------


def _guarantee(record: LedgerRecord) -> Iterator[ConformanceItem]:
    epsilon = rounded_up(record.epsilon, 4)
    factor = rounded_up(math.exp(float(epsilon)), 4) if float(epsilon) < 700 else f"exp({epsilon})"
    yield ConformanceItem(
        topic="Privacy guarantee",
        state="covered",
        page=PROMISE,
        answer="(epsilon, delta)-differential privacy of everything that the ledger's words name",
    )
    yield ConformanceItem(
        topic="Epsilon",
        state="covered",
        page=f"{PROOFS}/composition.md",
        answer=f"at most {epsilon}: no conclusion gets more than {factor} times as likely, or unlikely",
    )
    yield ConformanceItem(
        topic="Delta",
        state="covered",
        page=f"{PROOFS}/composition.md",
        answer=f"{rounded_up(record.delta)}: an additional probability of at most so much",
    )
    yield ConformanceItem(
        topic="Is it little enough?",
        state="yours to do",
        answer="judge epsilon for these people and this use; delta should be far below 1 / number of people",
    )
    yield from _unit(record)
    yield ConformanceItem(
        topic="Budget across releases",
        state="yours to do",
        page=LIMITS,
        answer="this is one fit; others of these people add up: let a Budget hold the limit",
    )


def _unit(record: LedgerRecord) -> Iterator[ConformanceItem]:
    is_family = record.unit.startswith("one family")
    page = f"{PROOFS}/{'related_tables' if is_family else 'persons'}.md"
    yield ConformanceItem(topic="Unit of privacy", answer=record.unit, state="covered", page=page)
    yield ConformanceItem(topic="Neighbouring tables", answer=record.neighbours, state="covered", page=page)
    if record.of_people:
        answer = "no more rows of a person are used; people with more count as if they had so many"
        duty = "make sure that each person has one value of that column in all rows"
        if is_family:
            answer = "no more rows of a family are used; what has more counts as if it had so many"
            duty = "make sure that all rows of a person are of one family"
        yield ConformanceItem(topic="Bounded contribution", state="covered", page=page, answer=answer)
        yield ConformanceItem(topic="Is the unit right?", state="yours to do", answer=duty)
    else:
        yield ConformanceItem(
            topic="Is the unit right?",
            state="yours to do",
            page=f"{PROMISE}#whom-it-protects",
            answer="make sure that each person has one row at most; else fit again with person=...",
        )


# --- algorithms ----------------------------------------------------------------------------------------


def _algorithms(record: LedgerRecord) -> Iterator[ConformanceItem]:
    charged = "; ".join(entry.name for entry in record.charged) or "nothing"
    yield ConformanceItem(
        topic="Algorithms and their correctness",
        state="covered",
        page=f"{PROOFS}/learning.md",
        answer=f"charged: {charged}. What this package charges is proved, checked, and tested with faults",
    )
    yield ConformanceItem(
        topic="Composition",
        state="covered",
        page=f"{PROOFS}/composition.md",
        answer="all parts together, each as if it saw the same people",
    )
    yield ConformanceItem(
        topic="Queries of other people's code",
        state="yours to do",
        page="how_to/own_model.md",
        answer="a model of your own is as good as what it charges: check_learner",
    )
    yield from _preprocessing(record)
    yield ConformanceItem(
        topic="Floating point",
        state="covered",
        page=f"{THREATS}#noise-and-accounting",
        answer="answers and noise are whole numbers; OpenDP draws the noise",
    )
    yield ConformanceItem(
        topic="Random numbers",
        state="covered",
        page=f"{THREATS}#noise-and-accounting",
        answer="the operating system's; no seed that anybody knows",
    )
    yield ConformanceItem(
        topic="Side channels: time, memory",
        state="not covered",
        page=f"{PROMISE}#out-of-scope",
        answer="they depend on the rows: do not let others measure a fit",
    )
    yield ConformanceItem(
        topic="Side channels: messages, logs, failures",
        state="yours to do",
        page=f"{PROMISE}#out-of-scope",
        answer="what SDV shows while fitting, and whether a fit failed, is for the holder alone",
    )


def _preprocessing(record: LedgerRecord) -> Iterator[ConformanceItem]:
    yield ConformanceItem(
        topic="Data-dependent preprocessing: reading",
        state="yours to do",
        page=f"{PROOFS}/reading.md",
        answer="read with read_csv, read_parquet or the command line: they read each cell alone",
    )
    for entry in record.used:
        if "domain" in entry.parts:
            is_type_query = entry.name in ("types", "learning")
            yield ConformanceItem(
                topic=f"Data-dependent preprocessing: {'types' if entry.name == 'types' else 'value sets'}",
                answer=entry.mechanism,
                state="covered",
                page=f"{PROOFS}/{'type_votes' if is_type_query else 'private_domain'}.md",
            )
    for entry in record.assumed:
        yield ConformanceItem(
            topic=f"Assumed: {entry.name}",
            answer=f"{entry.mechanism}. Make sure that they were known without the rows",
            state="yours to do",
            page=f"{PROMISE}#when-nothing-is-promised",
        )
    for entry in record.declared:
        if entry.parts != ("seeds",):
            yield ConformanceItem(
                topic=f"Declared: {entry.name}",
                answer=f"{entry.mechanism}. Vouch that this was not chosen by looking at the rows",
                state="yours to do",
                page=f"{PROMISE}#when-nothing-is-promised",
            )
    yield ConformanceItem(
        topic="Data-dependent choice of epsilon and arguments",
        state="yours to do",
        page=LIMITS,
        answer="choose them before, or count every fit that was tried",
    )


# --- deployment ----------------------------------------------------------------------------------------


def _deployment() -> Iterator[ConformanceItem]:
    yield ConformanceItem(
        topic="Trust model",
        state="covered",
        page=THREATS,
        answer="central: the table's holder and machine are trusted, whoever gets the release is not",
    )
    yield ConformanceItem(
        topic="Data collection, security, access control",
        state="yours to do",
        answer="protect the table, the machine and its backups; differential privacy does not",
    )
    yield ConformanceItem(
        topic="Integrity of what is handed over",
        state="yours to do",
        page="reference/release_file.md",
        answer="a release file runs no code; give its digest on another way, and load with expect_sha256",
    )
    yield ConformanceItem(
        topic="Utility",
        state="yours to do",
        page=LIMITS,
        answer="noise costs small groups most: compare with the table by the report, for your eyes alone",
    )
    yield ConformanceItem(
        topic="Bias: systemic, human, statistical",
        state="not covered",
        page=LIMITS,
        answer="the rows repeat the table's bias and add that of noise and bounds: tell their users",
    )
    yield ConformanceItem(
        topic="Synthetic data taken for real",
        state="not covered",
        page=LIMITS,
        answer="intervals computed from the rows leave out the noise and are too short",
    )
