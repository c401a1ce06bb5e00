"""Fit where the data lives: one function from a table in parts to a release. SDV is not needed."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from sdv_plausible.declaring.domain_files import told_of_look
from sdv_plausible.declaring.private import earlier_losses
from sdv_plausible.fit.options import refuse_moved
from sdv_plausible.fit.parts import check_form, opened_parts, refuse_whole, spelling_of
from sdv_plausible.fit.run import Fit, Found
from sdv_plausible.fit.telling import FitWarning, Teller
from sdv_plausible.fit.voting import Told, check_vote, left_open
from sdv_plausible.models import make_learner
from sdv_plausible.models.bayesian_network import names_columns
from sdv_plausible.models.learners import check_number_of_columns
from sdv_plausible.privacy import checks as check
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import Neighbours, Person, Relation
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.release.budget import Budget, check_budget
from sdv_plausible.release.sampler import PrefixSampler
from sdv_plausible.release.settings import Settings
from sdv_plausible.release.side_entries import Types, check_types, side_entries
from sdv_plausible.release_file.answers import Answers
from sdv_plausible.release_file.invented import check_invented
from sdv_plausible.release_file.release import Release
from sdv_plausible.release_file.schema import Column, TableSchema
from sdv_plausible.release_file.settings import check_locales, said, versions_of
from sdv_plausible.sources.opening import open_source
from sdv_plausible.sources.source import PART_ROWS
from sdv_plausible.sources.source_rows import SourceRows
from sdv_plausible.table.cell_texts import PLAIN, Spelling
from sdv_plausible.table.column_types import ColumnType, check_released, column_types, with_id
from sdv_plausible.table.domain import MAX_BINS
from sdv_plausible.table.output_types import invented_type, output_type
from sdv_plausible.table.persons import person_entry
from sdv_plausible.table.words import check_table_name
from sdv_plausible.whole_files import part_folder

PACKAGES = ("sdv-plausible", "opendp", "dp-accounting", "numpy", "pandas")


def fit_source(
    source: Any,
    metadata: Any = None,
    domain: Any = None,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-9,
    model: Any = "bayesian_network",
    test: Any = "release",
    types: Types = "declared",
    max_bins: int = MAX_BINS,
    person: str | Person | None = None,
    neighbours: Relation = "add_remove",
    rules: Any = (),
    budget: Budget | None = None,
    locales: Sequence[str] = ("en_US",),
    table_name: str = "table",
    random_state: int | None = None,
    rows: int = PART_ROWS,
    scratch: str | Path | None = None,
    progress: bool = False,
    allow_no_claim: bool = False,
    **moved: Any,
) -> Release:
    """Fit a table that need not fit in memory, and return the release. SDV is not imported.

    Parameters
    ----------
    source : path, Files, frame, table or relation
        A Parquet or CSV file, a folder of them or a pattern, or :class:`~sdv_plausible.Files`; a pandas or
        polars frame, lazy or not; an Arrow table; a DuckDB relation; a Dask DataFrame, of whatever cluster; a
        table of Ibis; an object that offers Arrow's C stream as often as it is asked; a function without
        arguments that opens an Arrow stream, or record batches of one schema, anew for every pass.
    metadata, domain
        What the columns are, as for :func:`~sdv_plausible.read_parquet`. Columns that neither names are not
        read, but for ``types="voted"``, which takes all that ``domain`` does not name, and no metadata. Value
        sets that are not declared are learned under the budget.
    epsilon, delta, model, types, max_bins, neighbours, rules, budget, locales, random_state
        As for :class:`~sdv_plausible.PlausibleDeniabilitySynthesizer`.
    test : "release" or ReleaseTest
        As there; the row-by-row tests need all records in memory: refused.
    person : str or Person, optional
        As there: each person's rows are brought together in ``scratch``, which must be given. Not of a Dask
        DataFrame.
    table_name : str
        Name of the table in the release.
    rows : int
        Rows that are in memory at a time; of a Dask DataFrame, a partition.
    scratch : str or Path, optional
        A folder on a disk of yours for the codes of all rows, a byte or two for each cell, which are removed
        after the fit: cells are then read and coded once, not once for every pass. They are as secret as the
        rows. With ``person`` also for the declared columns of the rows used, some 8 bytes for each cell. What
        a program that was killed left there, the next fit in the folder removes.
    progress : bool
        Whether every pass shows how many rows it has read.
    allow_no_claim : bool
        Whether a release may be made that protects nobody, as with ``random_state``: say so yourself.

    Returns
    -------
    Release
        It samples, and can be saved as one file.

    Raises
    ------
    ValueError
        If a parameter or declaration cannot be, the source lacks a column or has one of a nested type, or no
        claim can be made and that was not allowed.

    Examples
    --------
    >>> from sdv_plausible import fit_source
    >>> release = fit_source("census/*.parquet", domain="census.domain.json")   # doctest: +SKIP
    >>> release.save("census.release")                                           # doctest: +SKIP
    """
    refuse_moved("fit_source", moved)
    check_types(types)
    check.whole("rows", rows, 1, f"try {PART_ROWS}")
    check_table_name(table_name)
    check_budget(budget)
    check_released(metadata)
    learner, neighbour = make_learner(model), Neighbours.parse(neighbours, person)
    settings = Settings.of(epsilon, delta, test, neighbour, learner)
    refuse_whole(settings.test, learner)
    known_locales = check_locales(locales)
    told, open_ = domain, tuple[str, ...]()
    if types == "voted":
        words, told, open_ = left_open(
            _names_of(source, metadata, domain, neighbour.person, rows), domain, neighbour.person
        )
        columns = with_id(column_types(words), neighbour.person)
    else:
        columns = with_id(column_types(domain, metadata), neighbour.person)
    check_invented({name: kind.sdtype for name, kind in columns.items()}, known_locales)
    others = {
        "max_bins": max_bins, "types": types, "locales": known_locales, "enforce_min_max_values": True,
        "enforce_rounding": True, "undeclared": "private", "returns_tables": False,
        **({"voted": list(open_)} if open_ else {}),
    }  # fmt: skip
    fit = read_fit(
        columns, told, rules, max_bins, settings=settings, learner=learner, name=table_name, open_=open_,
        spelling=spelling_of(source), words=said(settings, model) | others,
        side=(
            *person_entry(settings.neighbours),
            *side_entries(random_state, has_constraints=False, transformers={}, types=types),
        ),
    )  # fmt: skip
    table = opened_parts(source, columns, settings, scratch, rows, progress=progress)
    _ask(fit.plan().ledger, allow_no_claim=allow_no_claim)
    if budget is not None:
        check_form(table)
    coins = Coins.from_os_entropy() if random_state is None else Coins.from_seed(random_state)
    modelled = [name for name, column in columns.items() if column.is_modelled]
    teller = Teller(partial(told_of_look, domain))
    with nullcontext() if scratch is None else part_folder(Path(scratch)) as folder:
        opened = fit.opened(budget)  # before the first row
        found = fit.run(SourceRows(table, fit.rules, modelled, folder), opened, coins, teller)
    sampler = found.sampler
    assert isinstance(sampler, PrefixSampler)  # the release test's
    release = Release(
        schema=_schema({**columns, **column_types(found.types)}, found, table_name), domain=found.domain,
        rules=found.rules,
        model=sampler.model, seeds=sampler.seeds,
        answers=Answers(sampler.answers, found.domain.names), ledger=found.ledger,
        settings=dict(fit.said),
        versions=versions_of(PACKAGES),
    )  # fmt: skip
    for text in teller.told:
        try:
            warnings.warn(text, FitWarning, stacklevel=2)
        except UserWarning:  # of whoever makes errors of them: what was paid for is not lost
            if sys.stderr is not None:  # a window's program has none
                sys.stderr.write(f"{text}\n")
    return release


def read_fit(
    types: Mapping[str, ColumnType],
    domain: Any,
    rules: Any,
    max_bins: int,
    *,
    settings: Settings,
    learner: Any,
    side: Sequence[LedgerEntry],
    words: Mapping[str, Any],
    name: str,
    open_: tuple[str, ...] = (),
    spelling: Spelling = PLAIN,
) -> Fit:
    """Read rules and declarations.

    Raises
    ------
    ValueError
        If they cannot be, or no column is modelled.
    """
    if isinstance(domain, str) and domain == "written":
        raise check.Refused.saying(
            "domain", 'domain ("written") must be the declarations themselves: give the mapping as domain'
        )
    told = Told(
        columns={name: column.words for name, column in types.items()},
        rules=rules,
        domain=domain,
        max_bins=max_bins,
        split_dates=not names_columns(learner),
        open=open_,
        spelling=spelling,
    )
    check_vote(told, settings, learner)
    declared, rule_set, specs = told.read()
    if not any(column.is_modelled for column in types.values()):
        raise ValueError(
            "metadata and domain declare no column that is modelled: try {'age': {'sdtype': 'numerical'}}"
        )
    check_number_of_columns(learner, len(specs))
    return Fit(
        told=told, declared=declared, rules=rule_set, specs=specs, settings=settings, learner=learner,
        side=tuple(side), said=words, earlier=earlier_losses(domain, settings.neighbours), name=name,
    )  # fmt: skip


def _names_of(source: Any, metadata: Any, domain: Any, person: str | None, rows: int) -> list[str]:
    """Columns of a source, all of which are modelled or invented; of metadata nothing is used."""
    if metadata is not None:
        raise check.Refused.saying(
            "types",
            'types ("voted"): metadata plays no part, as its types may have been detected: declare what you '
            "know in domain={...}, and leave metadata out",
        )
    words, file, _ = left_open(() if person is None else (person,), domain, person)
    return list(open_source(source, column_types(words) | column_types(file), rows).names)


def _schema(types: Mapping[str, ColumnType], found: Found, name: str) -> TableSchema:
    """Columns of the release: types from what was released and declared, none from the source."""
    whole = found.rules.whole(found.domain)
    return TableSchema(
        table=name,
        columns=tuple(
            Column(
                name=column,
                label=column,
                spec=spec.words,
                dtype=output_type(whole[column]) if column in whole else invented_type(spec.words),
            )
            for column, spec in types.items()
        ),
    )


def _ask(planned: PrivacyLedger, *, allow_no_claim: bool) -> None:
    if planned.claims_privacy or allow_no_claim:
        return
    raise ValueError(
        f"{planned.sentence()} So the release may hold single people's values: mend that, or say "
        "fit_source(..., allow_no_claim=True)"
    )
