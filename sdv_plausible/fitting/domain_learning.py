"""Learn a domain once, within its own budget, and store it with its cost in a domain file.

Every fit that uses the file adds these losses to its ledger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from sdv_plausible.fitting import row_count_check
from sdv_plausible.fitting.diagnostics import HolderDiagnostics, missing_in
from sdv_plausible.fitting.fit import PaidFit, check_texts, draw_all
from sdv_plausible.fitting.fit_rows import InMemoryRows
from sdv_plausible.fitting.ledger_notes import person_entry
from sdv_plausible.fitting.release_budget import Budget, check_budget
from sdv_plausible.fitting.reused_domain import cost_document
from sdv_plausible.mechanism.privacy_tests.privacy_settings import Settings
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.ledger_record import rounded_up
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.queries.transcript import Transcript
from sdv_plausible.release.file.ledger_section import check_ledger_fits
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.table.cells.cell_series import normalize_cells
from sdv_plausible.table.cells.dates import check_dates
from sdv_plausible.table.columns.domain import MAX_BINS, Domain, write_attribute
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.declared.declarations import read_declarations
from sdv_plausible.table.declared.domain_file import DomainFile
from sdv_plausible.table.domain_building import build_domain
from sdv_plausible.table.files.storage_types import PERSON_SDTYPE, check_storage, mask_invalid_utf8
from sdv_plausible.table.learned.lost_mass import lost_mass_warnings
from sdv_plausible.table.learned.private_domain import LearningBudget, check_bins


def learned_file(
    table: pd.DataFrame,
    file: DomainFile,
    epsilon: float,
    delta: float,
    *,
    budget: Budget | None = None,
    what: str = "a domain",
    max_bins: int = MAX_BINS,
    neighbours: Neighbours = ONE_ROW,
    anyway: bool = False,
) -> DomainFile:
    """Learn the domains that a domain file leaves open; the budget is charged before any row is read.

    A fit that uses the file must have the same ``neighbours``. Declarations derived from the rows are
    rejected. Unless ``anyway`` is set, the rows are counted first. If most columns would be lost, the rest
    of the budget is not spent.
    """
    check.positive("epsilon", epsilon, "try 0.1")
    check.delta("delta", delta, "try 1e-9")
    check_budget(budget)
    if file.learned is not None:
        raise ValueError("this file already contains learned columns: start from a file without them")
    stored = table = mask_invalid_utf8(table.set_axis(table.columns.astype(str), axis=1))
    table = normalize_cells(table)
    document = file.to_dict()
    types = column_types(document, person=neighbours.person)
    specs = {name: kind.words for name, kind in types.items() if kind.is_modelled}
    declared = read_declarations(document, "private", max_bins, {n: kind.words for n, kind in types.items()})
    if declared.origins:
        raise ValueError(
            f"the declarations of {', '.join(declared.origins)} come from the rows: start from a file "
            "without them"
        )
    plan = declared.plan_private(specs, LearningBudget.of(epsilon, delta), neighbours)
    if not plan.columns:
        raise ValueError("there is nothing to learn: the values of every column are declared")
    check_bins(max_bins, plan.columns)
    settings = Settings(epsilon=epsilon, delta=delta, neighbours=neighbours)
    is_counted = bool(plan.open) and row_count_check.is_counted(settings, anyway)
    count = (row_count_check.count_entry(settings),) if is_counted else ()
    left = row_count_check.after_count(settings) if is_counted else settings
    plan = replace(plan, mu=LearningBudget.of(left.epsilon, delta).mu)  # the domain gets what is left
    ledger = PrivacyLedger(delta=delta, covers="the domain file", neighbours=neighbours)
    planned = PrivacyLedger(delta=delta, covers="the domain file", neighbours=neighbours)
    planned.charge(*count, *plan.entries())
    check_texts(planned)
    check_ledger_fits(epsilon, planned)
    for frame in (stored, table):  # both as stored and normalised
        _check_table(frame, neighbours, {name: str(spec["sdtype"]) for name, spec in specs.items()})
    check_dates(
        table, {n: declared.date_format(n, specs[n]) for n, t in plan.columns.items() if t == "datetime"}
    )
    rng = KeyedRNG.from_os_entropy()
    what = f"the domain of {what}, epsilon {rounded_up(epsilon)}"
    charge, pending = draw_all(ledger, planned, budget, what, count=count)
    paid, transcript = PaidFit(ledger=ledger, charge=charge, pending=pending), Transcript()
    names = [name for name in table.columns if name in specs]
    persons = None if neighbours.person is None else table[neighbours.person]
    rows = InMemoryRows(table[names], RuleSet(), persons).of_persons(neighbours, rng.spawn("persons"))
    if count:
        cells = Queryable(rows.columns(names), ledger, count, rng.spawn("count"))
        row_count_check.check_row_count(cells, settings, plan.rows_needed, specs)
        paid = paid.draw_pending()
    domain = build_domain(
        rows.folded(names), declared, specs, max_bins, plan, ledger, rng.spawn("domain"), transcript
    )
    diagnostics = HolderDiagnostics()
    diagnostics.report_unidentified_persons(neighbours.person, rows)
    diagnostics.report_domain(domain, transcript.answers)
    diagnostics.report_missing_cells(missing_in(domain, transcript.answers))
    diagnostics.report_hidden_digits(domain, plan.digits, transcript.answers)
    diagnostics.report(lost_mass_warnings(domain, transcript.answers))
    diagnostics.warn()
    paid.close().charge(*person_entry(neighbours))
    return _with_learned(file, domain, paid)


def _check_table(table: pd.DataFrame, neighbours: Neighbours, learned: Mapping[str, str]) -> None:
    """Reject a table with missing, repeated or unreadable columns, before the budget is charged."""
    names, person = list(table.columns), neighbours.person
    if person is not None and person not in names:
        raise ValueError(f"person ({person!r}) must be a column of the table: {names}")
    wrong = sorted(name for name in learned if names.count(name) != 1)
    if wrong:
        raise ValueError(f"data must have each declared column once: {wrong} are missing or duplicated")
    check_storage(table, learned if person is None else {**learned, person: PERSON_SDTYPE})


def _with_learned(file: DomainFile, domain: Domain, paid: PaidFit) -> DomainFile:
    """The file with the learned columns and their cost."""
    columns = {}
    for attribute in domain:
        if attribute.provenance == "private":
            columns[attribute.name] = write_attribute(attribute)
            del columns[attribute.name]["name"]
    learned = cost_document(paid.ledger, domain, paid.charge)
    return replace(file, columns={**file.columns, **columns}, learned=learned).paid_for(columns)
