"""Notes of the ledger beside its total: plausible deniability, the paper's own accounting, effects of noise.

They are entries without a loss, charged with the others, so that they stay with the ledger.
"""

from __future__ import annotations

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
from sdv_plausible.utils.messages import ColumnNote, translate

FOR_SURE = 6.0  # standard deviations; among 100 columns with 1000 types noise exceeds it once in 10,000 fits
RARE = 0.01  # smallest share of a column's cells whose loss is reported
NO_SEED = (
    f"{ALL_SEEDS} (Definition 1 of [PD]): no seed record is used, so every record could have produced a row "
    "with the same probability. Only epsilon bounds what the rows reveal about the records that the model "
    "was learned from"
)
NO_SEED_NO_EPSILON = (
    "This test gives no epsilon, so nothing bounds what the rows reveal about the records that the model "
    f"was learned from. {ALL_SEEDS} (Definition 1 of [PD]): no seed record is used"
)
FROM_POINTS = (
    "The test checks the latent point from which the row is decoded. Its epsilon holds for the row and for "
    "the pair of row and point, which sample_with_points releases at no further cost. Plausible "
    "deniability holds for the pair only, because seeds with distant points may all give the same row"
)
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

    hidden, others = list[str](), dict[str, str]()
    for name, (decided, share) in other_kind_shares(answers, spelling).items():
        if not decided:
            hidden += [name] if share.least <= OTHERS and types[name]["sdtype"] in MODELLED_SDTYPES else []
            continue
        is_significant = share.estimate - FOR_SURE * share.deviation > 0 and share.estimate >= RARE
        others |= {name: f"{share.estimate:.0%}"} if is_significant else {}
    notes = placeholder_notes(types)
    if hidden:
        notes.append(
            ColumnNote(
                hidden,
                "the noise hid the type, and the column is treated as categorical",
                "If it holds numbers or dates, declare it (domain=...), or raise epsilon.",
            )
        )
    if others:
        notes.append(
            ColumnNote(
                others,
                "of the cells are of another type than their column, and count as missing",
                "If they mean something, declare the column (special_values for codes beside numbers; "
                '"categorical" for codes).',
            )
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
    return [
        ColumnNote(
            {name: f"up to {share:.0%}" for name, share in others.items()},
            "of the cells may be of another type than their column, hidden by the noise, and count as "
            "missing",
            "Declare the types to be sure (domain=...).",
        )
    ]


def placeholder_notes(types: Specs) -> list[str]:
    """Note on the columns that type inference took for identifiers or free text."""
    names = [name for name, words in types.items() if words["sdtype"] not in MODELLED_SDTYPES]
    if not names:
        return []
    return [
        ColumnNote(
            names,
            "the cells look like identifiers or free text, so placeholder values are generated instead, and "
            "none is missing",
            f'If they are categories, dates or numbers, declare them (domain={{"{names[0]}": {{"sdtype": '
            f'"categorical"}}}}; dates also need datetime_format, numbers number_format).',
        )
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
        ColumnNote(
            [*names],
            "the name suggests personal data, and texts that enough rows share are released as they are",
            f'Generate placeholder values (domain={{"{first}": {{"sdtype": "{names[first]}"}}}}), or list '
            "the values (range_values) if these are public.",
        )
    ]


def _entries(name: str, notes: Sequence[str]) -> tuple[LedgerEntry, ...]:
    """One entry of all notes, without hints in Python: a ledger has other readers."""
    notes = [translate(note, "ledger").removesuffix(".") for note in notes]
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
    return f"{says}. This concerns the seed of a row, not the records that the model was learned from"


def as_printed(settings: Settings, model: str, missed: str) -> str:
    """The guarantee by the paper's own formulas, for model and rows, and what they omit."""
    text, test = f"The formulas of [PD] give {model}", settings.test
    if isinstance(test, RandomizedTest) and test.omega != Omega(None, None):
        missed = MISSED_OF_ROWS + missed
        try:
            best = theorem1_best(test.k, test.gamma, test.epsilon0, settings.seed_delta)
            text += f", and epsilon {rounded_up(best.epsilon)} for each candidate (Theorem 1, t = {best.t})"
        except ValueError:
            text += ", and no epsilon for candidates (Theorem 1 has no t at this delta)"
    return f"{text}. They omit {missed}"


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
            "semantic types were detected in the rows, where one row can change the type of a column: "
            'declare every sdtype in the domain file or in metadata that you wrote (types="declared"), or '
            'infer them within the budget (types="voted")',
        )
    if random_state is not None:
        reasons["coins"] = (
            f"random_state = {random_state}",
            "random_state makes all random numbers predictable: leave it out",
        )
    if has_constraints:
        reasons["constraints"] = (
            "SDV constraints",
            "SDV constraints learn from the rows without noise: remove them",
        )
    if transformers:
        reasons["transformers"] = (
            f"transformers of {', '.join(transformers)}",
            "custom transformers learn from the rows without noise: use the default ones",
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
        'the total holds only if these were known without the data: confirm that (types="declared"), or '
        'infer the types of a single table within the budget (types="voted")'
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
        f"at most {neighbours.rows:,} rows per value of {neighbours.person} are used, chosen secretly; rows "
        "without a value are not used; the column itself gets placeholder values"
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
            note=f"processed rows do not identify persons ({neighbours.person}): call fit() with the table",
        )
    ]
