"""Sentences of the ledger beside its total: which plausible deniability holds, what the paper prints, noise.

They are entries without a loss, charged with the rest, so that they stay with the ledger wherever it goes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.mechanism.privacy_tests.privacy_settings import Settings
from sdv_plausible.mechanism.privacy_tests.randomized import RandomizedTest
from sdv_plausible.models import is_builtin
from sdv_plausible.models.base import Learner
from sdv_plausible.models.learner_checks import makes
from sdv_plausible.privacy.accounting.theorem1 import theorem1_best
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import SAID
from sdv_plausible.privacy.ledger_record import ALL_SEEDS, rounded_up
from sdv_plausible.queries.transcript import NoisyAnswer
from sdv_plausible.table.columns.cell_reader import Spelling
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.declared.declarations import Declarations, Specs
from sdv_plausible.table.declared.personal_names import personal_sdtype
from sdv_plausible.table.declared.spec_words import MODELLED_SDTYPES

FOR_SURE = (
    6.0  # deviations that noise has in one of a thousand kinds of a hundred columns once in 10,000 fits
)
RARE = 0.01  # share of a column's cells that were left out, from which that is said
NO_SEED = (
    f"{ALL_SEEDS} (Definition 1 of [PD]): no row is made from a record (no seed is used), so every record "
    "could have produced it with the same probability. What the rows tell of the records that the model was "
    "learned from is bounded by epsilon alone"
)
NO_SEED_NO_EPSILON = (
    "This test gives no epsilon: nothing bounds what the rows tell of the records that the model was learned "
    f"from. {ALL_SEEDS} (Definition 1 of [PD]): no row is made from a record (no seed is used)"
)
FROM_POINTS = (
    "The test looks at the latent point from which alone the row is decoded: what it guarantees in epsilon "
    "holds for the row and for the pair, which sample_with_points releases at no further cost; plausible "
    "deniability holds for the pair alone, as seeds of far-apart points may all give the same row"
)
_PYTHON = re.compile(r" \(domain=[^()]*\)")
MISSED_OF_ROWS = "that a rejection can be seen, that several rows are released and not one candidate, "


def sentences(settings: Settings, learner: Learner, domain: Domain) -> tuple[LedgerEntry, ...]:
    """Entries of a ledger's further sentences."""
    found = [_entry(SAID[0], deniability(settings, latent=settings.looks_at_points(makes(learner))))]
    budget = settings.model_budget(settings.empty_ledger())
    if is_builtin(learner) and (printed := learner.as_printed(domain, budget)):
        found.append(_entry(SAID[1], as_printed(settings, *printed)))
    return tuple(found)


def of_noise(warnings: Sequence[str]) -> tuple[LedgerEntry, ...]:
    """Entry of what noise does to a release that is made, if there is anything to say."""
    return _told(SAID[2], warnings)


def of_types(said: Sequence[str]) -> tuple[LedgerEntry, ...]:
    """Entry of what a vote on types left out, if it did."""
    return _told(SAID[3], said)


def of_vote(types: Specs, answers: Sequence[NoisyAnswer], spelling: Spelling) -> list[str]:
    """Say what a vote on types left out, and the way out. Answers are no secret."""
    from sdv_plausible.table.learned.type_inference import OTHERS, others_of  # where there is a vote

    hidden, others = [], []
    for name, (decided, share) in others_of(answers, spelling).items():
        if not decided:
            hidden += [name] if share.least <= OTHERS and types[name]["sdtype"] in MODELLED_SDTYPES else []
            continue
        surely = share.estimate - FOR_SURE * share.deviation > 0 and share.estimate >= RARE
        others += [f"{name} ({share.estimate:.0%})"] if surely else []
    found = invented(types)
    if hidden:
        found.append(
            f"{', '.join(hidden)}: noise hid the types of these columns, and they are treated as categories. "
            "Declare those that are numbers or dates (domain=...), or give more epsilon"
        )
    if others:
        found.append(
            f"{', '.join(others)}: these shares of the cells are of another type than their column, and "
            "count as missing. Declare the columns where they mean something "
            '(special_values beside numbers; codes are "categorical")'
        )
    return found


def of_others(types: Specs, answers: Sequence[NoisyAnswer], spelling: Spelling) -> dict[str, float]:
    """Share of the cells of columns whose kind was voted for that may be of another, with 95 % certainty."""
    from sdv_plausible.table.learned.type_inference import others_of  # where there is a vote

    known = others_of(answers, spelling)
    return {
        name: round(share.most, 4) for name, (decided, share) in known.items() if decided and name in types
    }


def blurred(others: Mapping[str, float]) -> list[str]:
    """Say up to how many cells may be of another kind than their column, by a vote."""
    if not others or max(others.values()) < RARE:
        return []
    names = ", ".join(f"{name} {share:.0%}" for name, share in others.items())
    return [
        f"{names}: at most these shares of the cells may be of another type than their column, which the "
        "noise hides. Such cells count as missing. Declare the types to be sure (domain=...)"
    ]


def invented(types: Specs) -> list[str]:
    """Say which columns a vote on types took for identifiers."""
    names = [name for name, words in types.items() if words["sdtype"] not in MODELLED_SDTYPES]
    if not names:
        return []
    return [
        f"{', '.join(names)}: the cells look like identifiers or free text, so placeholder values are "
        "generated instead, and none is missing. If they are dates, numbers or categories, declare them "
        f'(domain={{"{names[0]}": {{"sdtype": "categorical"}}}}; of dates give datetime_format, of numbers '
        "number_format, too)"
    ]


def personal(specs: Specs, declared: Declarations) -> list[str]:
    """Say which columns have names for what identifies people, and are learned as categories."""
    names = {
        name: sdtype
        for name, words in specs.items()
        if words.get("sdtype") == "categorical"
        and declared.known(name) is None
        and (sdtype := personal_sdtype(name)) is not None
    }
    if not names:
        return []
    first = next(iter(names))
    return [
        f"{', '.join(names)}: the name suggests personal data, and texts that enough rows share are released "
        f'as they are. Generate placeholder values (domain={{"{first}": {{"sdtype": "{names[first]}"}}}}), '
        "or list the values (range_values) where these are public"
    ]


def _told(name: str, warnings: Sequence[str]) -> tuple[LedgerEntry, ...]:
    # What begins with names of columns keeps their case. How to declare them is Python's: a ledger is read by
    # others.
    warnings = [_PYTHON.sub("", one) for one in warnings]
    text = ". ".join(f"A{one[1:]}" if one.startswith("at about ") else one for one in warnings)
    return (_entry(name, text),) if warnings else ()


def _entry(name: str, text: str) -> LedgerEntry:
    return LedgerEntry(name=name, mechanism=f"{text}.", losses=(), scope="the release")


def deniability(settings: Settings, *, latent: bool = False) -> str:
    """Which (k, gamma)-plausible deniability holds, with its k, or that none does."""
    # ``latent``: the test looks at a latent point and not at the row.
    test = settings.test
    if (test.omega is not None and test.omega.is_all) or not test.uses_seeds:
        return NO_SEED if test.name != "deterministic" else NO_SEED_NO_EPSILON
    says = test.says_of_seeds
    if latent:
        says = f"{test.says_of_points}. {FROM_POINTS}"
    return f"{says}. It speaks of a row's seed, not of whom the model was learned from"


def as_printed(settings: Settings, model: str, missed: str) -> str:
    """What a paper's formulas give, of the model and of rows, and what they miss."""
    text, test = f"As printed in [PD] this would be {model}", settings.test
    if isinstance(test, RandomizedTest) and test.omega != Omega(None, None):
        missed = MISSED_OF_ROWS + missed
        try:
            best = theorem1_best(test.k, test.gamma, test.epsilon0, settings.seed_delta)
            text += f", and epsilon {rounded_up(best.epsilon)} for each candidate (Theorem 1, t = {best.t})"
        except ValueError:
            text += ", and no epsilon for candidates (Theorem 1 has no t at this delta)"
    return f"{text}; it misses {missed}"
