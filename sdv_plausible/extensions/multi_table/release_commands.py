"""The commands ``check``, ``sample`` and ``card`` for related tables."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from sdv_plausible.cli import files
from sdv_plausible.cli.check import print_findings
from sdv_plausible.cli.files import UsageError, given_options, option_name
from sdv_plausible.cli.output import print_result
from sdv_plausible.extensions.multi_table.families_command import (
    check_new_folder,
    files_by_table,
    read_tables,
    synthesizer_of,
    write_tables,
)


def check(options: argparse.Namespace) -> None:
    """Compare related tables with their declarations, and count rows whose keys do not match."""
    from sdv_plausible.table.files.table_file import count_code_cells, count_unreadable_cells, file_columns

    if options.metadata is None:
        raise files.UsageError("several files need --metadata: SDV's, of the tables and their relationships")
    if options.rules is not None:
        raise files.UsageError("--rules are of one table, and related tables take none: leave it out")
    options.domain = None if options.domain is None else Path(options.domain)
    options.max_children = "8" if options.max_children is None else options.max_children
    files.check_files_exist(options, "data", "metadata", "domain")
    synth = synthesizer_of(options)
    by_table = files_by_table(options, synth, options.data)
    undeclared = [
        f"{name}.{column}"
        for name, (file, types) in by_table.items()
        for column in file_columns(file, types)
        if column not in types
    ]
    lines: list[str] = []
    findings, compared = synth.compared(read_tables(options, by_table), lines.append)
    unreadable_cells, coded_cells = (
        {
            f"{name}.{column}": count
            for name, file in by_table.items()
            for column, count in counts(*file).items()
            if f"{name}.{column}" in compared  # no figures on other columns
        }
        for counts in (count_unreadable_cells, count_code_cells)
    )
    print_findings(options, [*lines, *str(findings).splitlines()], unreadable_cells, coded_cells, undeclared)


def sample(options: argparse.Namespace) -> None:
    """Sample all tables and write them to a new folder."""
    for name in ("where", "uniform", "recipient", "secret"):
        if value := getattr(options, name):
            raise UsageError(f"--{name} ({value}) has no effect for related tables: remove it")
    check_new_folder(options, "output")
    from sdv_plausible.extensions.multi_table.related_release import FamilyRelease

    release = FamilyRelease.load(options.release, options.expect_sha256)
    tables = release.sample(options.rows, **given_options(options, "random_state"))
    write_tables(tables, options.output, options.format or "csv")
    rows = {name: len(table) for name, table in tables.items()}
    summary = ", ".join(f"{number:,} of {name}" for name, number in rows.items())
    print_result(
        options,
        f"Wrote rows to {options.output}: {summary}",
        {"output": options.output, "rows": rows, "sha256": release.digest},
    )


def load(options: argparse.Namespace) -> tuple[Any, tuple[str, ...]]:
    """Return the release that ``card`` describes, and the names of its tables."""
    if unsupported := given_options(options, "standard", "domain", "audit"):
        raise UsageError(
            f"{option_name(next(iter(unsupported)))} has no effect for related tables: remove it"
        )
    from sdv_plausible.extensions.multi_table.related_release import FamilyRelease

    release = FamilyRelease.load(options.release, options.expect_sha256)
    return release, tuple(release.tree.tables)
