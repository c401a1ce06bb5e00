"""Questions of data-protection authorities and ISO standards, with answers from the ledger and the owner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sdv_plausible.privacy.ledger_record import (
    CONDITION,
    NO_CLAIM,
    LedgerRecord,
    probability_factor,
    rounded_up,
)

NOT_GIVEN = "not given"
NO_LIMIT = f"{NO_CLAIM} Nothing limits this risk."
PROTECT = "Protect the release like the table itself."
State = Literal["limited", "limited in part", "not limited", "yours to do", "stated"]


@dataclass(frozen=True, kw_only=True)
class AuthorityQuestion:
    """One question and its answer, in sentences that can be quoted."""

    question: str
    answer: str
    state: State


def authority_questions(
    record: LedgerRecord | None, known: Mapping[str, str], audit: Mapping[str, Any], *, has_budget: bool
) -> tuple[AuthorityQuestion, ...]:
    """Answer the questions; ``record`` is None without a privacy guarantee."""
    lasting, recipients = (_LASTING, _ANY_RECIPIENT) if record else (PROTECT, PROTECT)
    model = "differential privacy, in the central model (the data owner adds the noise)" if record else "none"
    return (
        *(_no_claim() if record is None else _opinion_216(record, has_budget=has_budget)),
        _intruder(record, audit),
        _item(REVIEW, f"{lasting} Review date: {_given(known, 'review_date')}.", "yours to do"),
        _item(ENVIRONMENT, f"{recipients} Agreed controls: {_given(known, 'environment')}.", "stated"),
        _item(TECHNIQUE, f"Synthetic data. Formal privacy measurement model: {model}.", "stated"),
    )


SINGLING_OUT = "Singling out (WP 216): can an attacker isolate the record of one person?"
LINKABILITY = "Linkability (WP 216): can two records about one person be linked, here or with other data?"
INFERENCE = "Inference (WP 216): can an attacker deduce the value of an attribute of one person?"
INTRUDER = "Motivated intruder (ICO): could a determined person identify somebody?"
REVIEW = "Review (ICO)"
ENVIRONMENT = "Environment of the recipient (ISO/IEC 27559)"
TECHNIQUE = "Technique and class (ISO/IEC 20889)"
_LASTING = (
    "The limit does not weaken with new technology or new data about these people. Review the decision when "
    "the purpose, the recipients or the law change, and before another release about these people."
)
_ANY_RECIPIENT = (
    "Nothing is assumed about recipients: not their intent, skill or security, and not the other data that "
    "they hold. The data owner and the owner's machine are trusted."
)
_NO_SEARCH = (
    "The software has not tried to identify people with this release. If your authority expects such a test, "
    "run it and record the result."
)


def _opinion_216(record: LedgerRecord, *, has_budget: bool) -> Iterator[AuthorityQuestion]:
    factor = probability_factor(record.epsilon)
    condition = f", {CONDITION}" if record.assumed else ""
    yield _item(
        SINGLING_OUT,
        f"The {record.neighbours} changes the probability of any outcome by at most a factor of {factor}, "
        f"apart from an additional probability of at most {rounded_up(record.delta)}{condition}. "
        "This limits every conclusion about one person's record. The limit covers the whole release and all "
        "rows that are sampled.",
        "limited",
    )
    several = (
        "" if record.of_people else " A person with several rows is protected less: the limit is for one row."
    )
    others = (
        "The budget on this card limits all releases that draw from it together."
        if has_budget
        else "Other releases about these people are not included: their losses add up."
    )
    yield _item(
        LINKABILITY,
        "The same limit holds for links with any other data that an attacker has now or gets later."
        f"{several} {others}",
        "limited",
    )
    yield _item(
        INFERENCE,
        "The same limit holds for deductions about a person that depend on that person's own data. Facts "
        "about a whole group can still be learned from other people's data, and applied to anybody in that "
        "group. Decide whether this is acceptable.",
        "limited in part",
    )


def _no_claim() -> Iterator[AuthorityQuestion]:
    for question in (SINGLING_OUT, LINKABILITY, INFERENCE):
        yield _item(question, NO_LIMIT, "not limited")


def _intruder(record: LedgerRecord | None, audit: Mapping[str, Any]) -> AuthorityQuestion:
    limit = (
        NO_LIMIT
        if record is None
        else f"{record.words.lead} This holds for any skill, effort and other data."
    )
    attacks = (
        f"An audit attacked the software on a public or simulated table. Result: {audit['verdict']}. This is "
        "evidence about the software and no proof."
        if audit
        else "No audit is attached to this card."
    )
    return _item(INTRUDER, f"{limit} {attacks} {_NO_SEARCH}", "yours to do")


def _item(question: str, answer: str, state: State) -> AuthorityQuestion:
    return AuthorityQuestion(question=question, answer=answer, state=state)


def _given(known: Mapping[str, str], name: str) -> str:
    return known[name].rstrip(".") or NOT_GIVEN
