"""The published table that learning starts from: checks, ledger entry and codes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.models.adaptive.public_prior import PublicCodes
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.table.cells.canonical_forms import is_text
from sdv_plausible.table.cells.cell_series import normalize_cells
from sdv_plausible.table.codec import ColumnCodec
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.declared.specifications import MODELLED_SDTYPES
from sdv_plausible.table.files.storage_types import check_storage, mask_invalid_utf8
from sdv_plausible.utils.text_output import unhashable_types

LONGEST_SOURCE = 200
NOTE = (
    "only if that table is public: a confidential table, also an older one of the same survey, has a "
    "privacy cost of its own, which this ledger does not include"
)


@dataclass(frozen=True, eq=False)
class PublicTable:
    """A *published* table with some or all of the columns, from which learning starts.

    Parameters
    ----------
    frame : DataFrame
        The published rows, at least one.
    source : str, optional
        Publisher, for the ledger; at most 200 characters.

    Raises
    ------
    ValueError
        If ``frame`` is not a DataFrame with rows, or ``source`` not such a text.
    """

    frame: pd.DataFrame
    source: str | None = None

    def __post_init__(self) -> None:
        frame, source = self.frame, self.source
        if not isinstance(frame, pd.DataFrame) or not len(frame):
            rule = "must be a non-empty DataFrame with a published table"
            raise Refused("public", type(frame), rule)
        if source is not None and (not is_text(source, LONGEST_SOURCE) or not source.strip()):
            rule = f"must be a text of up to {LONGEST_SOURCE} characters that names its publisher"
            raise Refused("source", source, rule)

    @classmethod
    def read(cls, public: Any) -> PublicTable | None:
        """Read the argument ``public``: a PublicTable, a DataFrame or None."""
        return public if isinstance(public, cls) or public is None else cls(public)


def check_public(
    public: pd.DataFrame | None,
    columns: Collection[str],
    learner: Any,
    rules: RuleSet = RuleSet(),  # noqa: B008
) -> None:
    """Reject a published table that does not fit columns, rules or learner; its rows are not read."""
    if public is None:
        return
    names = [str(name) for name in public.columns]
    unknown = sorted(set(names) - set(columns))
    if unknown or not names or len(set(names)) < len(names):
        raise Refused.saying(
            "public",
            f"public (columns {names[:20]}) must have only columns of the metadata, each once: remove "
            f"{unknown or 'duplicates'}",
        )
    needed = {name for rule in rules.rules for name in rule.columns} - set(rules.added)
    absent = sorted(needed - set(names))
    if absent:
        raise Refused.saying(
            "public", f"public lacks columns {absent} of the rules: add them, or leave public out"
        )
    known = columns if isinstance(columns, Mapping) else {}
    sdtypes = {name: str(known[name].get("sdtype")) for name in names if name in known}
    read = {name: one for name, one in sdtypes.items() if one in MODELLED_SDTYPES}
    check_storage(normalize_cells(public.set_axis(names, axis=1)), read)
    nested = [name for name in public if unhashable_types(public[name])]
    if nested:
        raise Refused.saying(
            "public", f"public: column {nested[0]!r} holds lists, dicts or the like: leave it out"
        )
    if not learner.takes_public:
        raise Refused.saying(
            "public",
            f"public needs the default learner, not {type(learner).__name__}: leave public out, or use "
            'model="bayesian_network" with its default structure',
        )


def starts(public: pd.DataFrame, rows: pd.DataFrame) -> bool:
    """Whether the rows begin with the published table (a copy or an excerpt), for diagnostics."""
    first = rows.set_axis(rows.columns.astype(str), axis=1).iloc[: len(public)]
    public = public.set_axis(public.columns.astype(str), axis=1)
    names = [name for name in public if name in first]  # rows of a fit have no id columns
    first, public = (table[names].reset_index(drop=True).astype(object) for table in (first, public))
    return bool(names) and all(_same(first[name], public[name]) for name in names)


def _same(one: pd.Series[Any], other: pd.Series[Any]) -> bool:
    """Whether cells are equal in any storage, numbers as text included."""
    if one.equals(other) or one.map(str).equals(other.map(str)):
        return True
    first, second = (pd.to_numeric(cells, errors="coerce") for cells in (one, other))
    return bool(first.equals(second) and first.notna().sum() == one.notna().sum() == other.notna().sum())


def check_public_given(
    public: Any, said: tuple[int | None, str | None], *, is_the_table: bool, alone: bool
) -> None:
    """Reject a published table that was not saved, is the table itself, or meets SDV transformers."""
    if public is None and said[0] is not None:
        raise Refused.saying(
            "public",
            "public: this synthesizer was fitted with a published table, which its saved file does not "
            "contain. Create a new one with public=..., or without it",
        )
    if public is not None and is_the_table:
        raise Refused.saying(
            "public", "public must be a published table, not the table to be protected: leave it out"
        )
    if public is not None and not alone:
        raise Refused.saying(
            "public",
            "public cannot be combined with SDV constraints or custom transformers, which change the "
            "columns: remove one of them",
        )


def public_entries(rows: int | None, source: str | None) -> list[LedgerEntry]:
    """Entry of the published table, without a cost."""
    if rows is None:
        return []
    named = f", {source}" if source else ""
    how = f"no protected rows were used: published table of {rows:,} rows named by the data owner{named}"
    return [LedgerEntry(name="public table", mechanism=how, losses=(), scope="the model", note=NOTE)]


def with_public(learner: Any, public: pd.DataFrame, domain: Domain, rules: RuleSet) -> Any:
    """A copy of the learner with the codes of the published table; cells outside the domain are -1."""
    frame = normalize_cells(
        mask_invalid_utf8(public.set_axis(public.columns.astype(str), axis=1))
    ).reset_index(drop=True)
    # Rules apply if the table has their columns: of a column with an inferred type it may lack them.
    deriving_rules = tuple(rule for rule in rules.deriving_rules if {*rule.columns} <= {*frame, *rules.added})
    if rules:
        frame = replace(rules, deriving_rules=deriving_rules).fold(frame)
    codes = np.full((len(frame), len(domain)), -1, dtype=np.int32, order="F")
    for j, attribute in enumerate(domain):
        if attribute.name in frame:
            codes[:, j] = ColumnCodec(attribute).encode(frame[attribute.name])
    return replace(learner, public=PublicCodes(codes=codes))


def codes_digest(public: PublicCodes | None) -> str | None:
    """SHA-256 of the codes of a published table, row by row as little-endian int32."""
    return (
        None
        if public is None
        else sha256(np.ascontiguousarray(public.codes, dtype="<i4").tobytes()).hexdigest()
    )
