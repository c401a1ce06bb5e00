"""The command ``sdv-plausible check``: what does not fit the declarations, for the data owner."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from sdv_plausible.cli import files
from sdv_plausible.cli.files import NO_RECORD
from sdv_plausible.cli.output import print_result, print_to_stderr
from sdv_plausible.cli.undeclared_columns import without_blank_columns
from sdv_plausible.utils.entry_points import extension

PURPOSE = "count cells that do not fit the declarations (confidential)"
EXAMPLE = "people.csv --domain domain.json"

FORMAT_HINT = (
    "If values are there, say how they are written: datetime_format or number_format of the column, "
    "--decimal, --thousands or --na-values of the file"
)
CODES_HINT = (
    "A number keeps no zeros in front, no plus and about 15 digits. Declare codes as id, or as categorical "
    "with range_values"
)
OWNER_NOTICE = "NOT private, for your eyes. Cells that cannot be read, and count as missing"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of ``check``."""
    add = command.add_argument
    add("data", type=Path, nargs="+", help="CSV, Parquet or Excel file; or all related tables")
    files.add_declarations(command)
    files.add_format_options(command, "data")
    add("--max-children", metavar="N", help="for related tables, as for families (default: 8)")
    command.set_defaults(only_declared=True)


def run(options: argparse.Namespace) -> None:
    """Count cells and rows that do not fit, and record the access."""
    if len(options.data) > 1:
        extension("release", "families").check(options)
    elif options.max_children is not None:
        raise files.UsageError(
            f"--max-children ({options.max_children}) needs several tables: name all related ones"
        )
    else:
        (options.data,) = options.data
        _check_table(options)


def _check_table(options: argparse.Namespace) -> None:
    """Check a single table."""
    from sdv_plausible.fitting.diagnostics import compare_with_declarations
    from sdv_plausible.rules.rules_and_declarations import rules_with_declarations
    from sdv_plausible.table.columns.domain import MAX_BINS
    from sdv_plausible.table.declared.access_log import log_access
    from sdv_plausible.table.declared.declarations import read_declarations
    from sdv_plausible.table.files.table_file import count_code_cells, count_unreadable_cells

    files.check_inputs(options)
    if options.domain == "written":
        raise files.UsageError(
            "--domain written compares nothing with the rows: declare the ranges in a domain file, which "
            "also keeps a record of the look (--domain domain.json)"
        )
    domain_file, options.domain = options.domain, without_blank_columns(options.domain)
    types = files.declared_types(options)
    undeclared, lines = [name for name in files.names_of(options, types) if name not in types], list[str]()
    options.rows_were_read = True
    file = files.files_of(options)
    unreadable_cells, codes = count_unreadable_cells(file, types), count_code_cells(file, types)
    if domain_file is not None or options.rules:
        words = {name: kind.words for name, kind in types.items()}
        domain, words, rules = rules_with_declarations(options.rules or (), options.domain, words, MAX_BINS)
        declared = read_declarations(domain, "infer", MAX_BINS, words)
        findings, compared_columns, notices = compare_with_declarations(
            declared, rules, words, files.read_table(options, types)
        )
        lines += [*notices, *str(findings).splitlines()]
        if domain_file is not None:
            unreadable_cells, codes = (  # report compared columns only
                {name: count for name, count in counts.items() if name in compared_columns}
                for counts in (unreadable_cells, codes)
            )
            lines += log_access(domain_file, compared_columns, rules.digests or None)
        else:
            lines.append(f"{NO_RECORD} do not change the rules now")
    else:
        lines.append(f"{NO_RECORD} do not change the metadata now")
    print_findings(options, lines, unreadable_cells, codes, undeclared)


def print_findings(
    options: argparse.Namespace,
    lines: Sequence[str],
    unreadable_cells: Mapping[str, int],
    codes: Mapping[str, int],
    undeclared: Sequence[str],
) -> None:
    """Print the findings about a table, as text or JSON."""
    if undeclared:
        lines = [*lines, f"Not declared, and not compared: {', '.join(undeclared)}"]
    if counts := _counts(unreadable_cells):
        print_to_stderr(f"warning: cells that cannot be read, and count as missing: {counts}. {FORMAT_HINT}")
        lines = [line.replace("every cell matches", "every cell that can be read matches") for line in lines]
    if codes:
        print_to_stderr(
            f"warning: cells of numbers that are written as codes: {_counts(codes)}. {CODES_HINT}"
        )
        lines = [
            line.replace("every cell matches its declaration", "every cell can be read as declared")
            for line in lines
        ]
    print_result(
        options,
        [f"{OWNER_NOTICE}: {counts or 'none'}", *lines],
        {
            "for_the_holder_alone": True,
            "unreadable": unreadable_cells,
            "codes": codes,
            "found": lines,
            "undeclared": undeclared,
        },
    )


def _counts(cells: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in cells.items())
