"""Conformance page in the terms of NIST SP 800-226: what a release covers and what it does not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sdv_plausible.privacy.ledger_record import LedgerRecord, probability_factor, rounded_up
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
            raise ValueError(
                f"page ('') must be given for {self.topic!r}, which is covered: name the page that proves it"
            )


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
        "# Conformance in the terms of NIST SP 800-226",
        "",
        f"> **{markdown_cell(record.words.lead)}**",
        ">",
        f"> {markdown_cell(record.words.total)}",
        "",
        markdown_cell(record.words.conditions),
        "",
        "",
        "Made from the privacy ledger: the software's own statement and no certificate.",
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
    epsilon = rounded_up(record.epsilon)
    factor = probability_factor(record.epsilon)
    yield ConformanceItem(
        topic="Privacy guarantee",
        state="covered",
        page=PROMISE,
        answer="(epsilon, delta)-differential privacy of everything in the scope of the ledger",
    )
    yield ConformanceItem(
        topic="Epsilon",
        state="covered",
        page=f"{PROOFS}/composition.md",
        answer=f"at most {epsilon}: the probability of any outcome changes by at most a factor of {factor}",
    )
    yield ConformanceItem(
        topic="Delta",
        state="covered",
        page=f"{PROOFS}/composition.md",
        answer=f"{rounded_up(record.delta)}: an additional probability of at most this",
    )
    yield ConformanceItem(
        topic="Choice of epsilon and delta",
        state="yours to do",
        answer="judge epsilon for these people and this use; delta should be far below 1 / number of people",
    )
    yield from _unit(record)
    yield ConformanceItem(
        topic="Budget across releases",
        state="yours to do",
        page=LIMITS,
        answer="this is one fit; losses of other fits to these people add up; a budget file limits them",
    )


def _unit(record: LedgerRecord) -> Iterator[ConformanceItem]:
    is_family = record.unit.startswith("one family")
    page = f"{PROOFS}/{'related_tables' if is_family else 'persons'}.md"
    yield ConformanceItem(topic="Unit of privacy", answer=record.unit, state="covered", page=page)
    yield ConformanceItem(topic="Neighbouring tables", answer=record.neighbours, state="covered", page=page)
    if record.of_people:
        answer = "no more rows of a person are used than the unit states"
        duty = "confirm that each person has one value of that column in all rows"
        if is_family:
            answer = "no more rows of a family are used than the unit states"
            duty = "confirm that all rows of a person are in one family"
        yield ConformanceItem(topic="Bounded contribution", state="covered", page=page, answer=answer)
        yield ConformanceItem(topic="Is the unit right?", state="yours to do", answer=duty)
    else:
        yield ConformanceItem(
            topic="Is the unit right?",
            state="yours to do",
            page=f"{PROMISE}#whom-it-protects",
            answer="confirm that each person has at most one row; otherwise protect persons in a new fit",
        )


# --- algorithms ----------------------------------------------------------------------------------------


def _algorithms(record: LedgerRecord) -> Iterator[ConformanceItem]:
    charged = "; ".join(entry.name for entry in record.charged) or "nothing"
    yield ConformanceItem(
        topic="Algorithms and their correctness",
        state="covered",
        page=f"{PROOFS}/learning.md",
        answer=f"charged: {charged}. Costs of this package's queries are proved and tested",
    )
    yield ConformanceItem(
        topic="Composition",
        state="covered",
        page=f"{PROOFS}/composition.md",
        answer="all parts are composed as if they used the same people",
    )
    yield ConformanceItem(
        topic="Models by other authors",
        state="yours to do",
        page="how_to/own_model.md",
        answer="such a model is as private as the queries that it charges; check it before use",
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
        answer="from the operating system; nobody knows a seed",
    )
    yield ConformanceItem(
        topic="Side channels: time, memory",
        state="not covered",
        page=f"{PROMISE}#out-of-scope",
        answer="they depend on the rows; do not let others measure a fit",
    )
    yield ConformanceItem(
        topic="Side channels: messages, logs, failures",
        state="yours to do",
        page=f"{PROMISE}#out-of-scope",
        answer="messages during a fit, and whether it failed, are for the data owner alone",
    )


def _preprocessing(record: LedgerRecord) -> Iterator[ConformanceItem]:
    yield ConformanceItem(
        topic="Data-dependent preprocessing: reading",
        state="yours to do",
        page=f"{PROOFS}/reading.md",
        answer="read files with this package, which reads each cell on its own",
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
            answer=f"{entry.mechanism}. Confirm that they were known without the rows",
            state="yours to do",
            page=f"{PROMISE}#when-nothing-is-promised",
        )
    for entry in record.declared:
        if entry.parts != ("seeds",):
            yield ConformanceItem(
                topic=f"Declared: {entry.name}",
                answer=f"{entry.mechanism}. Confirm that this was chosen without looking at the rows",
                state="yours to do",
                page=f"{PROMISE}#when-nothing-is-promised",
            )
    yield ConformanceItem(
        topic="Data-dependent choice of epsilon and arguments",
        state="yours to do",
        page=LIMITS,
        answer="choose them before the fit, or count every fit that was tried",
    )


# --- deployment ----------------------------------------------------------------------------------------


def _deployment() -> Iterator[ConformanceItem]:
    yield ConformanceItem(
        topic="Trust model",
        state="covered",
        page=THREATS,
        answer="central: the data owner and the owner's machine are trusted, recipients are not",
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
        answer="a release file runs no code; send its digest by another channel, and compare it before use",
    )
    yield ConformanceItem(
        topic="Utility",
        state="yours to do",
        page=LIMITS,
        answer="noise affects small groups most; the report, for the data owner alone, has the figures",
    )
    yield ConformanceItem(
        topic="Bias: systemic, human, statistical",
        state="not covered",
        page=LIMITS,
        answer="the rows repeat the table's bias, and noise and bounds add to it; inform users",
    )
    yield ConformanceItem(
        topic="Synthetic data used as real data",
        state="not covered",
        page=LIMITS,
        answer="standard intervals from the rows leave out the noise and are too short",
    )
