"""Building a domain from declarations and a table, and its ledger entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from sdv_plausible.privacy.accounting.losses import InfiniteLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import listed
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.queries.transcript import Transcript
from sdv_plausible.table.cells.dates import date_style
from sdv_plausible.table.columns.column_document import Provenance
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.declared.declarations import Declarations, Specs
from sdv_plausible.table.learned.private_domain import DomainPlan

if TYPE_CHECKING:
    from sdv_plausible.table.learned.raw_queries import ExactColumns


def build_domain(
    table: pd.DataFrame,
    declarations: Declarations,
    specs: Specs,
    max_bins: int,
    private: DomainPlan,
    ledger: PrivacyLedger,
    rng: KeyedRNG,
    transcript: Transcript | None = None,
    engine: ExactColumns | None = None,
) -> Domain:
    """Domain of the modelled columns, in the table's column order; charges the plan first."""
    forms = {
        name: declarations.date_format(name, specs[name])
        for name, sdtype in private.columns.items()
        if sdtype == "datetime"
    }
    styles = {name: date_style(table[name], form) for name, form in forms.items()}  # schema, not rows
    learned: Mapping[str, Attribute] = {}
    if private.columns:
        # Only if needed.
        from sdv_plausible.table.learned.private_columns import learn_attributes
        from sdv_plausible.table.learned.raw_queries import FrameColumns

        # An engine counts rows stored elsewhere; then only the table's column types are used.
        columns = FrameColumns(table) if engine is None else engine
        rows = Queryable(columns, ledger, private.entries(), rng, transcript=transcript)
        learned = learn_attributes(rows, private, specs, styles, max_bins)
    attributes = []
    for name in table.columns:
        declared = declarations.known(name)
        spec = specs[name]
        if name in learned:
            attributes.append(learned[name])
        elif declared is None or spec.get("transformed"):
            from sdv_plausible.table.learned.inferred_domains import infer_attribute  # ends the claim

            inferred = infer_attribute(name, table[name], spec["sdtype"], spec, max_bins)
            attributes.append(declarations.kept(inferred))
        elif declared.kind == "datetime" and declared.time_zone is None:
            from sdv_plausible.table.learned.declared_ranges import in_time_zone

            # The style of dates is the table's schema, not its rows.
            form = declarations.date_format(name, spec)
            style = {"datetime_format": None, **date_style(table[name], form)}
            attributes.append(in_time_zone(declared, style))
        else:
            attributes.append(declared)
    return Domain(tuple(map(declarations.marked, attributes)))


def domain_entries(domain: Domain, declarations: Declarations | None = None) -> list[LedgerEntry]:
    """Ledger entries of a domain: declarations are free; inferred or edited ones end the claim."""
    # The plan charges private attributes.
    entries = []
    declared = [a.name for a in domain if a.provenance == "declared"]
    sources = declarations.sources if declarations else {}
    if declared or sources:
        entries.append(
            LedgerEntry(
                name="domain",
                mechanism=f"declared: {listed(declared or list(sources))}",
                losses=(),
                scope="the domain",
                parts=("domain",),
                note=_source_note(sources),
            )
        )
    entries += _edited_entry(domain, declarations)
    if domain.inferred:
        names = listed(domain.inferred)
        entries.append(
            _no_claim_entry(
                f"derived from the rows: {names}",
                f"the value sets of {names} were read from the rows without noise: declare them "
                '(domain=...), or learn them within the budget (undeclared="private")',
            )
        )
    if others := [n for n in _with_provenance("inferred", domain, declarations) if n not in domain.inferred]:
        names = listed(others)
        entries.append(
            _no_claim_entry(
                f"detected in the rows: {names}",
                f"semantic types and patterns of {names} were detected in the rows, where a single row may "
                'decide them: declare them yourself, without "detected"',
            )
        )
    return entries


def _edited_entry(domain: Domain, declarations: Declarations | None) -> list[LedgerEntry]:
    """Entry for declarations that were changed after a comparison with the rows."""
    if not (edited := _with_provenance("edited", domain, declarations)):
        return []
    names = listed(edited)
    return [
        _no_claim_entry(
            f"declared, then edited after a comparison with the rows: {names}",
            f"the declarations of {names} were changed after a comparison with the rows, and may repeat "
            "values of the rows: cite a public source for each column (source), or remove it from the file "
            'to learn it within the budget (undeclared="private")',
        )
    ]


def _with_provenance(origin: Provenance, domain: Domain, declarations: Declarations | None) -> list[str]:
    """Columns of one provenance, modelled or not: the pattern of an id is released, too."""
    origins = declarations.origins if declarations else {}
    names = [attribute.name for attribute in domain if attribute.provenance == origin]
    return names + [name for name, source in origins.items() if source == origin and name not in names]


def _no_claim_entry(how: str, why: str) -> LedgerEntry:
    """Entry for value sets that may depend on single rows."""
    return LedgerEntry(
        name="domain",
        mechanism=how,
        losses=(InfiniteLoss(),),
        scope="the domain",
        parts=("domain",),
        note=why,
    )


def _source_note(sources: Mapping[str, str]) -> str:
    """Columns by public source, as one text."""
    columns: dict[str, list[str]] = {}
    for name, source in sources.items():
        columns.setdefault(source, []).append(name)
    return "; ".join(f"{listed(names)}: from {source}" for source, names in columns.items())
