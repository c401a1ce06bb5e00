"""Notes of the ledger beside its total: plausible deniability, the paper's own accounting, effects of noise.

They are entries without a loss, charged with the others, so that they stay with the ledger.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.mechanism.privacy_tests.privacy_settings import Settings
from sdv_plausible.mechanism.privacy_tests.row_tests import RandomizedTest
from sdv_plausible.models import is_builtin
from sdv_plausible.models.base import Learner
from sdv_plausible.models.learner_checks import model_class
from sdv_plausible.privacy.accounting.losses import InfiniteLoss
from sdv_plausible.privacy.accounting.paper_theorems import theorem1_best
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import SENTENCE_ENTRIES
from sdv_plausible.privacy.ledger_record import ALL_SEEDS, rounded_up
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.parameter_checks import listed, one_of
from sdv_plausible.queries.transcript import NoisyAnswer
from sdv_plausible.table.columns.cell_reader import Spelling
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.declared.column_types import personal_sdtype
from sdv_plausible.table.declared.declarations import Declarations, Specs, Types
from sdv_plausible.table.declared.specifications import MODELLED_SDTYPES

FOR_SURE = 6.0  # standard deviations; among 100 columns with 1000 types noise exceeds it once in 10,000 fits
RARE = 0.01  # smallest share of a column's cells whose loss is reported
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
    """The notes on plausible deniability, and on the paper's accounting where it applies."""
    entries = [
        _entry(
            SENTENCE_ENTRIES[0],
            deniability(settings, latent=settings.tests_latent_points(model_class(learner))),
        )
    ]
    budget = settings.model_budget(settings.empty_ledger())
    if is_builtin(learner) and (printed := learner.as_printed(domain, budget)):
        entries.append(_entry(SENTENCE_ENTRIES[1], as_printed(settings, *printed)))
    return tuple(entries)


def noise_entries(notes: Sequence[str]) -> tuple[LedgerEntry, ...]:
    """Entry on the effects of noise; none without notes."""
    return _entries(SENTENCE_ENTRIES[2], notes)


def type_entries(notes: Sequence[str]) -> tuple[LedgerEntry, ...]:
    """Entry on inferred types; none without notes."""
    return _entries(SENTENCE_ENTRIES[3], notes)


def inferred_type_notes(types: Specs, answers: Sequence[NoisyAnswer], spelling: Spelling) -> list[str]:
    """Notes on what type inference left out, from its noisy answers alone."""
    from sdv_plausible.table.learned.type_inference import (  # only if types are inferred
        OTHERS,
        other_kind_shares,
    )

    hidden, others = [], []
    for name, (decided, share) in other_kind_shares(answers, spelling).items():
        if not decided:
            hidden += [name] if share.least <= OTHERS and types[name]["sdtype"] in MODELLED_SDTYPES else []
            continue
        is_significant = share.estimate - FOR_SURE * share.deviation > 0 and share.estimate >= RARE
        others += [f"{name} ({share.estimate:.0%})"] if is_significant else []
    notes = placeholder_notes(types)
    if hidden:
        notes.append(
            f"{', '.join(hidden)}: noise hid the types of these columns, and they are treated as categories. "
            "Declare those that are numbers or dates (domain=...), or give more epsilon"
        )
    if others:
        notes.append(
            f"{', '.join(others)}: these shares of the cells are of another type than their column, and "
            "count as missing. Declare the columns where they mean something "
            '(special_values beside numbers; codes are "categorical")'
        )
    return notes


def other_type_shares(types: Specs, answers: Sequence[NoisyAnswer], spelling: Spelling) -> dict[str, float]:
    """Upper 95 % bound on the share of cells of another type, by column with an inferred type."""
    from sdv_plausible.table.learned.type_inference import other_kind_shares  # only if types are inferred

    shares = other_kind_shares(answers, spelling)
    return {
        name: round(share.most, 4) for name, (decided, share) in shares.items() if decided and name in types
    }


def other_type_notes(others: Mapping[str, float]) -> list[str]:
    """Note on the cells that may be of another type than their column."""
    if not others or max(others.values()) < RARE:
        return []
    names = ", ".join(f"{name} {share:.0%}" for name, share in others.items())
    return [
        f"{names}: at most these shares of the cells may be of another type than their column, which the "
        "noise hides. Such cells count as missing. Declare the types to be sure (domain=...)"
    ]


def placeholder_notes(types: Specs) -> list[str]:
    """Note on the columns that type inference took for identifiers or free text."""
    names = [name for name, words in types.items() if words["sdtype"] not in MODELLED_SDTYPES]
    if not names:
        return []
    return [
        f"{', '.join(names)}: the cells look like identifiers or free text, so placeholder values are "
        "generated instead, and none is missing. If they are dates, numbers or categories, declare them "
        f'(domain={{"{names[0]}": {{"sdtype": "categorical"}}}}; of dates give datetime_format, of numbers '
        "number_format, too)"
    ]


def personal_data_notes(specs: Specs, declared: Declarations) -> list[str]:
    """Note on columns whose names suggest personal data, and which are learned as categories."""
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


def _entries(name: str, notes: Sequence[str]) -> tuple[LedgerEntry, ...]:
    """One entry of all notes, without hints in Python: a ledger has other readers."""
    notes = [_PYTHON.sub("", note) for note in notes]
    # Notes that begin with a column name keep its case.
    text = ". ".join(f"A{note[1:]}" if note.startswith("at about ") else note for note in notes)
    return (_entry(name, text),) if notes else ()


def _entry(name: str, text: str) -> LedgerEntry:
    return LedgerEntry(name=name, mechanism=f"{text}.", losses=(), scope="the release")


def deniability(settings: Settings, *, latent: bool = False) -> str:
    """Which (k, gamma)-plausible deniability holds, if any; ``latent`` if the test checks latent points."""
    test = settings.test
    if (test.omega is not None and test.omega.is_all) or not test.uses_seeds:
        return NO_SEED if test.name != "deterministic" else NO_SEED_NO_EPSILON
    says = test.seed_deniability
    if latent:
        says = f"{test.point_deniability}. {FROM_POINTS}"
    return f"{says}. It speaks of a row's seed, not of whom the model was learned from"


def as_printed(settings: Settings, model: str, missed: str) -> str:
    """The guarantee by the paper's own formulas, for model and rows, and what they omit."""
    text, test = f"As printed in [PD] this would be {model}", settings.test
    if isinstance(test, RandomizedTest) and test.omega != Omega(None, None):
        missed = MISSED_OF_ROWS + missed
        try:
            best = theorem1_best(test.k, test.gamma, test.epsilon0, settings.seed_delta)
            text += f", and epsilon {rounded_up(best.epsilon)} for each candidate (Theorem 1, t = {best.t})"
        except ValueError:
            text += ", and no epsilon for candidates (Theorem 1 has no t at this delta)"
    return f"{text}; it misses {missed}"


def check_types(types: Any) -> None:
    """Reject an unknown ``types``: a typo must not give a guarantee for types read off the rows."""
    if types is not None:
        one_of("types", types, get_args(Types), ", or None")


def entries_without_cost(
    random_state: int | None,
    *,
    has_constraints: bool,
    transformers: Sequence[str] = (),
    types: Types | None = "declared",
    assumed: Sequence[str] = (),
) -> list[LedgerEntry]:
    """One entry for each thing that reads the rows without noise or reveals the noise.

    ``types`` is the source of semantic types and date formats; ``transformers`` and ``assumed`` are columns.
    """
    reasons = {}
    if types == "detected":
        reasons["types"] = (
            "semantic types and date formats detected in the rows",
            "semantic types were detected in the rows, where one row can change what a column is taken for; "
            "declare them: give "
            "every column its sdtype, in the domain file or in metadata that you wrote, and say "
            'types="declared", or have the cells vote (types="voted")',
        )
    if random_state is not None:
        reasons["coins"] = (
            f"random_state = {random_state}",
            "the coins come from random_state and can be guessed; leave random_state out",
        )
    if has_constraints:
        reasons["constraints"] = (
            "SDV constraints",
            "SDV constraints learn from the rows without noise; drop them",
        )
    if transformers:
        reasons["transformers"] = (
            f"transformers of {', '.join(transformers)}",
            "your own transformers learn from the rows without noise; leave the default ones",
        )
    no_claim = [
        LedgerEntry(name=name, mechanism=how, losses=(InfiniteLoss(),), scope="everything", note=note)
        for name, (how, note) in reasons.items()
    ]
    return [*assumed_types_entry(assumed), *no_claim]


def assumed_types_entry(columns: Sequence[str]) -> list[LedgerEntry]:
    """Entry of column types of unknown origin, on which the guarantee depends; none without columns."""
    if not columns:
        return []
    how = f"types, date formats and keys of {listed(columns)} are taken from metadata of unknown origin"
    note = (
        'the total holds if they were known without the data: types="declared" is your word that they were; '
        'types="voted" learns those of a single table within the budget'
    )
    entry = LedgerEntry(
        name="column types", mechanism=how, losses=(), scope="the release", note=note, assumes=tuple(columns)
    )
    return [entry]


def person_entry(neighbours: Neighbours) -> list[LedgerEntry]:
    """Ledger entry for the bound on a person's rows; none if every row is a unit of its own."""
    if neighbours.person is None:
        return []
    how = (
        f"at most {neighbours.rows:,} of the rows of each value of {neighbours.person} are used, chosen "
        "secretly; rows without a value are not; the column itself is invented anew"
    )
    note = neighbours.bias
    return [LedgerEntry(name="persons", mechanism=how, losses=(), scope="the rows used", note=note)]


def unknown_persons_entry(neighbours: Neighbours) -> list[LedgerEntry]:
    """Ledger entry for processed rows without a person column: it ends the privacy claim."""
    if neighbours.person is None:
        return []
    return [
        LedgerEntry(
            name="persons",
            mechanism="processed rows",
            losses=(InfiniteLoss(),),
            scope="everything",
            note=f"processed rows do not say whose they are ({neighbours.person}): fit the rows themselves",
        )
    ]
