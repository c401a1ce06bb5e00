"""The privacy card: one page about a release, for a data-protection officer's files.

Everything on it comes from the release or from the data owner; no row is used. It has no pass rates and
nothing about single rows, and it starts with the ledger's own sentences. The first sheet holds what an
officer needs for the decision; details follow.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sdv_plausible.privacy.ledger_record import ATTACKER, TOTAL
from sdv_plausible.release.card.authority_questions import NOT_GIVEN
from sdv_plausible.release.card.conformance import markdown_cell
from sdv_plausible.utils.atomic_files import write_atomically
from sdv_plausible.utils.html_templates import environment

CLAIM, NO_CLAIM = f"{ATTACKER} from ", "This release has no differential privacy guarantee"
USEFULNESS = "How useful the rows are expected to be"
FURTHER = "Further statements of the ledger"
FILED_BY = {
    "name": "name of the release",
    "holder": "who holds the table",
    "purpose": "what the rows may be used for",
    "declared_by": "who declared the columns and confirms that this was done without the rows",
    "reviewed_by": "the officer who agreed",
    "date": "date of filing",
    "registry": "where the entry in the deployments registry is",
}
DATA_PROTECTION = {
    "controller": "who decides why and how the personal data are used",
    "lawful_basis": "legal ground for making this release, such as an article of the GDPR",
    "impact_assessment": "where the data protection impact assessment (DPIA) is filed",
    "recipients": "who receives the release",
    "retention": "how long the table and the release are kept",
    "environment": "access, contract and security agreed with the recipients",
    "review_date": "when this decision is reviewed",
}
KNOWN = FILED_BY | DATA_PROTECTION
"""Facts that only the data owner knows, with a hint for each."""


@dataclass(frozen=True, kw_only=True)
class PrivacyCard:
    """One page about a release, for the files: HTML, Markdown or JSON.

    Get one from :meth:`~sdv_plausible.Release.card`.

    Attributes
    ----------
    lead : str
        What an attacker can gain, or that there is no privacy claim, in the ledger's words.
    total : str
        The total in one sentence; empty without a claim.
    conditions : str
        What the total means and when it holds; empty without a claim.
    claim : bool
        Whether the ledger makes a privacy claim.
    said : tuple of str
        Further sentences of the ledger, such as the effect of the noise on the rows.
    annex : tuple of str
        Sentences of the ledger for specialists.
    facts : mapping of str to str
        Privacy unit, parameters, versions, digest.
    known : mapping of str to str
        Facts from the data owner; empty if not given.
    questions : tuple of mapping
        Questions of data-protection authorities and ISO standards, with answers.
    utility : tuple of str
        Expected distances of columns and pairs.
    costs, columns, conformance : tuple of mapping
        Lines of the tables.
    rules, error_bars, not_covered : tuple of str
        Sentences.
    budget : str
        The budget's sentence, or empty.
    audit : mapping
        An audit of a public or simulated table, or empty.

    Raises
    ------
    ValueError
        If ``lead`` or ``total`` is not the ledger's sentence.
    """

    lead: str
    total: str
    conditions: str
    claim: bool
    said: tuple[str, ...]
    annex: tuple[str, ...]
    facts: Mapping[str, str]
    known: Mapping[str, str]
    questions: tuple[Mapping[str, str], ...]
    utility: tuple[str, ...]
    costs: tuple[Mapping[str, str], ...]
    columns: tuple[Mapping[str, str], ...]
    conformance: tuple[Mapping[str, str], ...]
    rules: tuple[str, ...]
    error_bars: tuple[str, ...]
    not_covered: tuple[str, ...]
    budget: str = ""
    audit: Mapping[str, Any]

    def __post_init__(self) -> None:
        prefix, total = (CLAIM, TOTAL) if self.claim else (NO_CLAIM, "")
        if not (self.lead.startswith(prefix) and self.total[: len(TOTAL)] == total):
            raise ValueError(
                f"lead ({self.lead[:60]!r}) must be the ledger's sentence, which begins with {prefix!r} here "
                f"(and total, {self.total[:60]!r}, with {total!r}): a statement about single rows or a pass "
                "rate is no guarantee"
            )

    @property
    def title(self) -> str:
        """Title of the card."""
        return f"Privacy card: {self.known['name'] or self.facts['table']}"

    @property
    def blanks(self) -> tuple[str, ...]:
        """Names of the facts that are not given."""
        return tuple(name for name, text in self.known.items() if not text)

    def to_dict(self) -> dict[str, Any]:
        """Return the card as plain data, lead first."""
        return asdict(self)

    def to_json(self) -> str:
        """Return :meth:`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"

    def to_markdown(self) -> str:
        """Return the card as Markdown."""
        return "\n".join(_markdown(self)) + "\n"

    def to_html(self) -> str:
        """Return a self-contained, printable page: no script, no network."""
        templates = environment("sdv_plausible.release.card")
        return templates.get_template("card.html").render(
            card=self,
            filed_by=FILED_BY,
            data_protection=DATA_PROTECTION,
            not_given=NOT_GIVEN,
            further=FURTHER,
            usefulness=USEFULNESS,
        )

    def _repr_html_(self) -> str:
        return self.to_html()

    def save(self, path: str | Path) -> None:
        """Write the card atomically, in the format of the file extension.

        Parameters
        ----------
        path : str or Path
            Path that ends in .html, .md or .json.
        """
        writers = {".html": self.to_html, ".md": self.to_markdown, ".json": self.to_json}
        suffix = Path(path).suffix.lower()
        if suffix not in writers:
            raise ValueError(f"path ({str(path)!r}) must end in .html, .md or .json")
        write_atomically(path, writers[suffix]())


# --- Markdown ------------------------------------------------------------------------------------------


def _markdown(card: PrivacyCard) -> Iterator[str]:
    yield from (f"# {markdown_cell(card.title)}", "", f"> **{markdown_cell(card.lead)}**", "")
    for text in (card.total, card.conditions) if card.claim else ():
        yield from (markdown_cell(text), "")
    yield from _table(("", ""), [(name, text) for name, text in card.facts.items()])
    yield from _facts("Filed by", card, FILED_BY)
    if card.budget:
        yield from ("## Budget over all releases of these people", "", markdown_cell(card.budget), "")
    yield from _list("Not covered", card.not_covered)
    yield from _facts("Data-protection file", card, DATA_PROTECTION)
    yield from ("## Questions of data-protection authorities and ISO standards", "")
    yield from _table(("question", "answer", ""), [tuple(line.values()) for line in card.questions])
    yield from _list(USEFULNESS, card.utility)
    yield from _list(FURTHER, card.said)
    yield from ("## What it cost", "")
    fields = ("name", "mechanism", "epsilon", "scope", "note")
    costs = [tuple(line[field] for field in fields) for line in card.costs]
    yield from _table(("what", "how", "epsilon", "covers", "remarks"), costs)
    yield from ("## Columns", "")
    yield from _table(
        ("column", "kind", "value set", "source"), [tuple(line.values()) for line in card.columns]
    )
    for heading, lines in (
        ("Rules that hold in every row", card.rules),
        ("Error bars, at no further cost", card.error_bars),
        ("For specialists", card.annex),
    ):
        yield from _list(heading, lines)
    if card.audit:
        yield from ("## Audit of a public or simulated table", "")
        yield from (markdown_cell(f"{card.audit['synthesizer']}: {card.audit['verdict']}"), "")
        yield from _table(
            ("threat", "verdict", "figures"), [tuple(stage.values()) for stage in card.audit["stages"]]
        )
    if card.conformance:
        yield from ("## Annex: NIST SP 800-226", "")
        yield from _table(
            ("question", "this release", ""), [tuple(line.values()) for line in card.conformance]
        )


def _facts(heading: str, card: PrivacyCard, hints: Mapping[str, str]) -> Iterator[str]:
    lines = [
        (name.replace("_", " "), card.known[name] or f"{NOT_GIVEN} ({hint})") for name, hint in hints.items()
    ]
    yield from (f"## {heading}", "")
    yield from _table(("", ""), lines)


def _list(heading: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from (f"## {heading}", "", *(f"- {markdown_cell(line)}" for line in lines), "")


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for line in lines:
        yield f"| {' | '.join(markdown_cell(text) for text in line)} |"
    yield ""
