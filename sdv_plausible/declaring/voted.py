"""Declarations of which some types are voted for: what the vote says, and what it will cost."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd

from sdv_plausible.privacy import checks as check
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.release_file.ledger import write_learned
from sdv_plausible.table.cell_texts import Spelling
from sdv_plausible.table.type_votes import COVERS, vote_entry, vote_types

TYPES_SHARE = 0.1  # of epsilon and delta, for the vote on undeclared types; the fit keeps to what is left


def with_voted(
    document: Mapping[str, Any], texts: pd.DataFrame, spelling: Spelling, epsilon: float, delta: float
) -> dict[str, Any]:
    """Declarations with the types that were voted for by undeclared columns as text, and what the vote cost.

    Epsilon and delta are of the whole release: the vote takes a tenth.
    """
    _check(document, list(texts.columns), epsilon, delta)
    voted, ledger = vote_types(texts, spelling, TYPES_SHARE * epsilon, TYPES_SHARE * delta)
    return _with(document, voted, ledger)


def before_the_vote(
    document: Mapping[str, Any], names: Collection[str], epsilon: float, delta: float
) -> dict[str, Any]:
    """The same before any row is looked at, for a plan: as if the columns were categories."""
    _check(document, names, epsilon, delta)
    ledger = PrivacyLedger(delta=TYPES_SHARE * delta, covers=COVERS)
    ledger.charge(vote_entry(len(names), TYPES_SHARE * epsilon, TYPES_SHARE * delta))
    return _with(document, {name: {"sdtype": "categorical"} for name in names}, ledger)


def _check(document: Mapping[str, Any], names: Collection[str], epsilon: float, delta: float) -> None:
    check.positive("epsilon", epsilon, "try 1.0")  # as it was given: of a share it would be told otherwise
    check.delta("delta", delta, "try 1e-9")
    if document.get("learned") is not None:
        raise ValueError(
            f"columns {list(names)} have no sdtype in the domain file, which was learned: give it them, or "
            "leave them out (--only-declared)"
        )


def _with(document: Mapping[str, Any], voted: Mapping[str, Any], ledger: PrivacyLedger) -> dict[str, Any]:
    learned = write_learned(ledger)
    # a type that the cells vote for within the budget repeats nothing of what a look has shown
    looked = {name: words for name, words in document.get("looked", {}).items() if name not in voted}
    known = {key: value for key, value in document.items() if key != "looked"}
    columns = {**document["columns"], **voted}
    return {**known, "columns": columns, **({"looked": looked} if looked else {}), "learned": learned}
