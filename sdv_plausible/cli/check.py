"""The command ``sdv-plausible check``: what of tables does not fit their declarations, for their holder."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from sdv_plausible.cli import files
from sdv_plausible.cli.access_records import NO_RECORD
from sdv_plausible.cli.output import say, to_holder
from sdv_plausible.cli.undeclared_columns import filled_in
from sdv_plausible.utils.entry_points import extension

PURPOSE = "count cells that the declarations do not fit: not private, for your eyes"

SPELL = (
    "If values are there, say how they are written: datetime_format or number_format of the column, "
    "--decimal, --thousands or --na-values of the file"
)
CODES = (
    "A number keeps no zeros in front, no plus and about 15 digits. Declare codes as id, or as categorical "
    "with range_values"
)
TOLD = "NOT private, for your eyes. Cells that cannot be read, and count as missing"


def add_options(command: argparse.ArgumentParser) -> None:
    """What ``check`` is told."""
    add = command.add_argument
    add("data", type=Path, nargs="+", help="CSV or Parquet file; of related tables all, as for families")
    files.add_declarations(command)
    files.add_spelling(command, "data")
    add("--max-children", metavar="N", help="of related tables: as for families (default: 8)")
    command.set_defaults(only_declared=True)


def run(options: argparse.Namespace) -> None:
    """Count cells and rows that do not fit, and note what was looked at."""
    if len(options.data) > 1:
        extension("release", "families").check(options)
    elif options.max_children is not None:
        raise files.UsageError(
            f"--max-children ({options.max_children}) plays no part in one table: name all related ones"
        )
    else:
        (options.data,) = options.data
        _one(options)


def _one(options: argparse.Namespace) -> None:
    """Those of one table."""
    from sdv_plausible.fitting.diagnostics import compared
    from sdv_plausible.rules.rules_and_declarations import rules_with_declarations
    from sdv_plausible.table.columns.domain import MAX_BINS
    from sdv_plausible.table.declared.access_log import note_look
    from sdv_plausible.table.declared.declarations import read_declarations
    from sdv_plausible.table.files.table_file import unreadable, written_as_codes

    files.check_inputs(options)
    if options.domain == "written":
        raise files.UsageError(
            "--domain written compares nothing with the rows: declare the ranges in a domain file, which "
            "also keeps a record of the look (--domain domain.json)"
        )
    given, options.domain = options.domain, filled_in(options.domain)
    types = files.declared_types(options)
    left, lines = [name for name in files.names_of(options, types) if name not in types], list[str]()
    options.rows_were_read = True
    file = files.files_of(options)
    unread, codes = unreadable(file, types), written_as_codes(file, types)
    if given is not None or options.rules:
        words = {name: kind.words for name, kind in types.items()}
        domain, words, rules = rules_with_declarations(options.rules or (), options.domain, words, MAX_BINS)
        declared = read_declarations(domain, "infer", MAX_BINS, words)
        found, looked, shown = compared(declared, rules, words, files.read(options, types))
        lines += [*shown, *str(found).splitlines()]
        if given is not None:
            unread, codes = (  # of others nothing
                {name: count for name, count in counts.items() if name in looked}
                for counts in (unread, codes)
            )
            lines += note_look(given, looked, rules.digests or None)
        else:
            lines.append(f"{NO_RECORD} do not change the rules now")
    else:
        lines.append(f"{NO_RECORD} do not change the metadata now")
    say_found(options, lines, unread, codes, left)


def say_found(
    options: argparse.Namespace,
    lines: Sequence[str],
    unread: Mapping[str, int],
    codes: Mapping[str, int],
    left: Sequence[str],
) -> None:
    if left:
        lines = [*lines, f"Not declared, and not compared: {', '.join(left)}"]
    if counts := _counts(unread):
        to_holder(f"warning: cells that cannot be read, and count as missing: {counts}. {SPELL}")
        lines = [line.replace("every cell fits", "every cell that can be read fits") for line in lines]
    if codes:
        to_holder(f"warning: cells of numbers that are written as codes: {_counts(codes)}. {CODES}")
        lines = [line.replace("every cell fits", "every cell can be read as") for line in lines]
    say(
        options,
        [f"{TOLD}: {counts or 'none'}", *lines],
        {
            "for_the_holder_alone": True,
            "unreadable": unread,
            "codes": codes,
            "found": lines,
            "undeclared": left,
        },
    )


def _counts(cells: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in cells.items())
