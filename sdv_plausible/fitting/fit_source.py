"""fit_source: fit a table in parts where it is stored, without SDV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sdv_plausible.fitting.arguments import FitArguments
from sdv_plausible.fitting.diagnostics import HolderDiagnostics
from sdv_plausible.fitting.fit import Fit, FitResult
from sdv_plausible.fitting.ledger_notes import entries_without_cost, person_entry
from sdv_plausible.fitting.options import check_no_moved
from sdv_plausible.fitting.partitioned_table import check_partitionable, open_in_parts, spelling_of
from sdv_plausible.fitting.release_budget import Budget
from sdv_plausible.mechanism.drawing.sampler import PrefixSampler
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import Person, Relation
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.release.file.answers_section import AnswersSection
from sdv_plausible.release.file.release import Release
from sdv_plausible.release.file.schema_section import SchemaColumn, TableSchema
from sdv_plausible.release.file.settings_section import release_settings, versions_of
from sdv_plausible.sources.progress import on_terminal
from sdv_plausible.sources.source import PART_ROWS
from sdv_plausible.sources.source_types import open_source
from sdv_plausible.sources.worker_pool import WorkerPool
from sdv_plausible.table.columns.cell_reader import ColumnType
from sdv_plausible.table.columns.domain import MAX_BINS, Domain
from sdv_plausible.table.columns.output_types import generated_type, output_type, uses_storage
from sdv_plausible.table.declared.access_log import log_access_of_domain
from sdv_plausible.table.declared.column_types import column_types, metadata_columns
from sdv_plausible.table.declared.declarations import Types, uses_metadata_values
from sdv_plausible.table.declared.specifications import check_table_name


def fit_source(
    source: Any,
    metadata: Any = None,
    domain: Any = None,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-9,
    model: Any = "bayesian_network",
    test: Any = "release",
    types: Types | None = None,
    max_bins: int = MAX_BINS,
    person: str | Person | None = None,
    neighbours: Relation = "add_remove",
    rules: Any = (),
    budget: Budget | None = None,
    locales: Sequence[str] = ("en_US",),
    table_name: str = "table",
    random_state: int | None = None,
    anyway: bool = False,
    rows: int = PART_ROWS,
    scratch: str | Path | None = None,
    workers: int | None = None,
    progress: bool = False,
    allow_no_claim: bool = False,
    **moved: Any,
) -> Release:
    """Fit a table that need not fit in memory, and return the release. SDV is not imported.

    Parameters
    ----------
    source : path, Files, frame, table, relation or callable
        A Parquet or CSV file, a folder or glob pattern of files, or :class:`~sdv_plausible.Files`. A pandas
        or polars frame, lazy or not. An Arrow table, a DuckDB relation, an Ibis table, or a Dask or Spark
        DataFrame. An object with a reusable Arrow C stream. A function without arguments that opens an Arrow
        stream, or record batches of one schema, anew for each pass.
    metadata, domain
        Column specifications, as in :func:`~sdv_plausible.read_parquet`. Only the columns that they name are
        read. With ``types="voted"``, all columns are read, and ``metadata`` must be omitted. Domains that are
        not declared are learned within the budget.
    epsilon, delta, model, types, max_bins, neighbours, rules, budget, locales, random_state, anyway
        As in :class:`~sdv_plausible.PlausibleDeniabilitySynthesizer`.
    test : "release" or ReleaseTest
        As in the synthesizer. The row-by-row tests need all records in memory and are rejected.
    person : str or Person, optional
        As in the synthesizer. The rows of each person are grouped in ``scratch``, which is then required;
        those of a Dask or Spark DataFrame are grouped on the cluster.
    table_name : str
        Name of the table in the release.
    rows : int
        Rows in memory at a time per worker, >= 1; fewer are read if there are many columns. A Dask DataFrame
        is read partition by partition.
    scratch : str or Path, optional
        Folder on a local disk for the codes of all rows, one or two bytes per cell. Cells are then read and
        encoded once instead of once per pass. With ``person`` the folder also holds the declared columns of
        the rows used, about 8 bytes per cell. These files are as confidential as the rows. They are removed
        after the fit. If the program is killed, they stay until the next fit with the same folder; you can
        also delete ``.sdv-plausible-part-*``. Not for Dask or Spark, whose workers keep the codes.
    workers : int, optional
        Parallel workers for a large table on this machine; by default one per core. No count depends on it.
    progress : bool
        Whether each pass shows the rows read and the peak memory.
    allow_no_claim : bool
        Whether a release without a privacy guarantee is allowed, for example with ``random_state``.

    Returns
    -------
    Release
        The release, to sample from or to save as one file.

    Raises
    ------
    ValueError
        If a parameter or declaration is invalid, if a column is missing or of a nested type, or if there is
        no privacy guarantee and ``allow_no_claim`` is False.
    BudgetExceededError
        If ``budget`` has too little left.
    TooFewRowsError
        If noise would hide most undeclared columns, by a noisy row count.

    Examples
    --------
    >>> from sdv_plausible import fit_source
    >>> release = fit_source("census/*.parquet", domain="census.domain.json")   # doctest: +SKIP
    >>> release.save("census.release")                                           # doctest: +SKIP
    """
    check_no_moved("fit_source", moved, model=model, test=test)
    check.whole("rows", rows, 1, f"try {PART_ROWS}")
    check_table_name(table_name)
    WorkerPool.of(workers)
    check.truth("progress", progress)
    check.truth("allow_no_claim", allow_no_claim)
    if uses_metadata_values(domain):
        raise check.Refused.saying(
            "domain", 'domain ("written") must be the declarations themselves: pass the mapping as domain'
        )
    arguments = FitArguments.of(
        metadata, domain, epsilon=epsilon, delta=delta, model=model, test=test, types=types, person=person,
        neighbours=neighbours, budget=budget, locales=locales, random_state=random_state,
    )  # fmt: skip
    learner = arguments.learner
    check_partitionable(arguments.settings.test, learner)
    fit = arguments.read(
        _columns_of(source, metadata, arguments, rows),
        rules=rules, max_bins=max_bins, anyway=anyway, spelling=spelling_of(source), name=table_name,
    ).within_total()  # fmt: skip
    settings = fit.settings
    columns = fit.column_specs.types
    modelled = [name for name, column in columns.items() if column.is_modelled]
    if not modelled:
        raise ValueError(
            "metadata and domain declare no modelled column: try {'age': {'sdtype': 'numerical'}}"
        )
    words = release_settings(
        settings, model, fit.column_specs.open, max_bins=max_bins,
        types=arguments.types, locales=arguments.locales,
        enforce_min_max_values=True, enforce_rounding=True, undeclared="private", returns_tables=False,
    )  # fmt: skip
    side = entries_without_cost(random_state, has_constraints=False, types=types, assumed=fit.assumed)
    fit = replace(fit, stored_settings=words, extra_entries=(*person_entry(settings.neighbours), *side))
    rng = KeyedRNG.from_os_entropy() if random_state is None else KeyedRNG.from_seed(random_state)
    with (
        on_terminal() if progress else nullcontext() as tell,
        open_in_parts(
            source, columns, settings, learner, scratch, is_paid=budget is not None, rows=rows,
            tell=tell, workers=workers,
        ) as parts,
    ):  # fmt: skip
        _check_claim(fit.plan().ledger, allow_no_claim=allow_no_claim)
        paid = fit.pay(budget)  # before the first row
        record = partial(log_access_of_domain, domain)
        diagnostics = HolderDiagnostics(record, tell=parts.source.progress.stage)
        result = fit.run(parts.rows(fit.rules, modelled), paid, rng, diagnostics)
    columns = {**columns, **column_types(result.types)}
    release = make_release(
        result, fit, columns, table_name, storage={
            name: stored
            for name, stored in parts.source.storage.items()
            if name in columns and uses_storage(columns[name].words, voted=name in result.types)
        },
    )  # fmt: skip
    diagnostics.warn()
    return release


def _columns_of(source: Any, metadata: Any, arguments: FitArguments, rows: int) -> dict[str, dict[str, Any]]:
    """Specifications of the columns to read: the named ones, or all if types are inferred."""
    person = arguments.settings.neighbours.person
    if arguments.types == "voted":
        from sdv_plausible.fitting.column_specs import split_undeclared  # only if types are inferred

        if metadata is not None:
            raise check.Refused.saying(
                "types",
                'types ("voted"): metadata is not used, because its types may have been detected. Remove '
                "metadata, and declare known columns in domain={...}",
            )
        words, file, _ = split_undeclared(() if person is None else (person,), arguments.domain, person)
        # Declared types help to tell a header line from a record.
        table = open_source(source, column_types(words) | column_types(file), rows)
        if odd := table.uneven:
            raise check.Refused.saying(
                "types",
                f'types ("voted") uses all columns, but {", ".join(odd)} are not in every file (or come '
                "from folder names): give files with the same columns, or declare the columns to use "
                "(domain={...}) and leave types out",
            )
        return {name: {} for name in table.names}
    known = column_types(arguments.domain, metadata, person)
    named = {*metadata_columns(metadata), *(arguments.domain.columns if arguments.domain else ())}
    if person is not None:
        of, also = "a column that metadata or domain names", ", or named there as {'sdtype': 'id'}"
        check.one_of("person", person, sorted(named), also, of=of)
    return {name: kind.words for name, kind in known.items()}


def make_release(
    result: FitResult,
    fit: Fit,
    types: Mapping[str, ColumnType],
    name: str,
    key: str | tuple[str, ...] | None = None,
    *,
    storage: Mapping[str, str] = MappingProxyType({}),
) -> Release:
    """The release of a fit of a table with columns of these types."""
    sampler = result.sampler
    assert isinstance(sampler, PrefixSampler)  # by the release test
    return Release(
        schema=replace(
            release_schema(types, result.rules.whole(result.domain), name, storage), primary_key=key
        ),
        domain=result.domain, rules=result.rules,
        model=sampler.model, seeds=sampler.seeds,
        answers=AnswersSection(sampler.answers, result.domain.names), ledger=result.ledger,
        settings={**fit.stored_settings, **({"voted_others": dict(result.others)} if result.others else {})},
        versions=versions_of(),
    )  # fmt: skip


def release_schema(
    types: Mapping[str, ColumnType],
    domain: Domain,
    name: str,
    storage: Mapping[str, str] = MappingProxyType({}),
) -> TableSchema:
    """Schema of the release, from released and declared domains and a file's schema, never from rows."""
    return TableSchema(
        table=name,
        columns=tuple(
            SchemaColumn(
                name=column,
                label=column,
                spec=spec.words,
                dtype=output_type(domain[column]) if column in domain else generated_type(spec.words),
                storage=storage.get(column),
            )
            for column, spec in types.items()
        ),
    )


def _check_claim(planned: PrivacyLedger, *, allow_no_claim: bool) -> None:
    if planned.claims_privacy or allow_no_claim:
        return
    raise ValueError(
        f"{planned.sentence()} The release may contain values of single people. Remove the cause, or call "
        "fit_source(..., allow_no_claim=True)"
    )
