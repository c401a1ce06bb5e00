"""Entries without a cost that end or condition the guarantee: types, random state, constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from sdv_plausible.privacy.accounting.losses import InfiniteLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.parameter_checks import listed, one_of
from sdv_plausible.table.declared.declarations import Types


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
