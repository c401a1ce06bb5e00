"""Learning a domain once, within a budget of its own: the file it goes to says what it cost.

Whoever uses the file later pays: the losses are added to the ledger of every fit that uses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from sdv_plausible.fitting import row_count_check
from sdv_plausible.fitting.diagnostics import HolderDiagnostics, missing_in
from sdv_plausible.fitting.fit import PaidFit, chosen
from sdv_plausible.fitting.fit_rows import InMemoryRows
from sdv_plausible.fitting.release_budget import Budget, check_budget, check_texts, draw_all
from sdv_plausible.fitting.reused_domain import write_learned
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
from sdv_plausible.table.cells.cell_series import plain_cells
from sdv_plausible.table.cells.dates import check_dates
from sdv_plausible.table.columns.domain import MAX_BINS, Domain, write_attribute
from sdv_plausible.table.contribution_bounding import person_entry
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.declared.declarations import read_declarations
from sdv_plausible.table.declared.domain_file import DomainFile
from sdv_plausible.table.domain_building import build_domain
from sdv_plausible.table.files.storage_types import PERSON, check_storage, with_texts
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
    """Learn the value sets that a domain file leaves open, drawing from a budget before a row is looked at.

    ``neighbours`` says whom the total protects, and how many rows of a person are looked at: a fit that uses
    the file must protect the same. A file that was detected or edited after a look is refused. The rows are
    counted first, unless ``anyway``: where most columns would be lost, the rest is not spent.
    """
    check.positive("epsilon", epsilon, "try 0.1")
    check.delta("delta", delta, "try 1e-9")
    check_budget(budget)
    if file.learned is not None:
        raise ValueError("columns of this file are learned already: start from a file without them")
    stored = table = with_texts(table.set_axis(table.columns.astype(str), axis=1))
    table = plain_cells(table)
    document = file.to_dict()
    types = column_types(document, person=neighbours.person)
    specs = {name: kind.words for name, kind in types.items() if kind.is_modelled}
    declared = read_declarations(document, "private", max_bins, {n: kind.words for n, kind in types.items()})
    if declared.origins:
        raise ValueError(
            f"the declarations of {', '.join(declared.origins)} were read off the rows: start from a file "
            "without them"
        )
    plan = declared.plan_private(specs, LearningBudget.of(epsilon, delta), neighbours)
    if not plan.columns:
        raise ValueError("there is nothing to learn: every column's values are declared")
    check_bins(max_bins, plan.columns)
    settings = Settings(epsilon=epsilon, delta=delta, neighbours=neighbours)
    count = (
        (row_count_check.count_entry(settings),)
        if plan.open and row_count_check.is_counted(settings, anyway)
        else ()
    )
    left = row_count_check.after_count(settings).epsilon if count else epsilon
    # all of it is the domain's
    plan = replace(plan, mu=LearningBudget.of(left, delta).mu)
    ledger = PrivacyLedger(delta=delta, covers="the domain file", neighbours=neighbours)
    planned = PrivacyLedger(delta=delta, covers="the domain file", neighbours=neighbours)
    planned.charge(*count, *plan.entries())
    check_texts(planned)
    check_ledger_fits(epsilon, planned)
    for one in (stored, table):  # as it was stored, too
        _check_table(one, neighbours, {name: str(spec["sdtype"]) for name, spec in specs.items()})
    check_dates(
        table, {n: declared.date_format(n, specs[n]) for n, t in plan.columns.items() if t == "datetime"}
    )
    coins = KeyedRNG.from_os_entropy()
    what = f"the domain of {what}, epsilon {rounded_up(epsilon)}"
    charge, rest = draw_all(ledger, planned, budget, what, count=count)
    opened, teller = PaidFit(ledger=ledger, charge=charge, rest=rest), HolderDiagnostics()
    names = [name for name in table.columns if name in specs]
    persons = None if neighbours.person is None else table[neighbours.person]
    rows = chosen(InMemoryRows(table[names], RuleSet(), persons), neighbours, coins, teller)
    transcript = Transcript()
    if count:
        asked = Queryable(rows.columns(names), ledger, count, coins.spawn("count"))
        row_count_check.counted_rows(asked, settings, plan.rows_needed, specs)
        opened = opened.going_on()
    domain = build_domain(
        rows.folded(names), declared, specs, max_bins, plan, ledger, coins.spawn("domain"), transcript
    )
    teller.tell_of_domain(domain, transcript.answers)
    teller.tell_of_missing(missing_in(domain, transcript.answers))
    teller.tell_of_digits(domain, plan.digits, transcript.answers)
    from sdv_plausible.table.learned.lost_mass import of_mass

    teller.tell_all(of_mass(domain, transcript.answers))
    teller.warn()
    opened.closed().charge(*person_entry(neighbours))
    return _with(file, domain, opened)


def _check_table(table: pd.DataFrame, neighbours: Neighbours, learned: Mapping[str, str]) -> None:
    """Refuse a table that lacks a column, names one twice or cannot be read, before a draw."""
    names, person = list(table.columns), neighbours.person
    if person is not None and person not in names:
        raise ValueError(f"person ({person!r}) must be a column of the table: {names}")
    wrong = sorted(name for name in learned if names.count(name) != 1)
    if wrong:
        raise ValueError(f"data must have each declared column once: {wrong} are missing, or there twice")
    check_storage(table, learned if person is None else {**learned, person: PERSON})


def _with(file: DomainFile, domain: Domain, opened: PaidFit) -> DomainFile:
    found = {}
    for attribute in domain:
        if attribute.provenance == "private":
            found[attribute.name] = write_attribute(attribute)
            del found[attribute.name]["name"]
    learned = write_learned(opened.ledger, domain, opened.charge)
    return replace(file, columns={**file.columns, **found}, learned=learned).paid_for(found)
