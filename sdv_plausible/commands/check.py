"""The command ``sdv-plausible check``: what of a table does not fit its declarations, for its holder."""

from __future__ import annotations

import argparse

from sdv_plausible.commands import on_disk
from sdv_plausible.commands.looking import NO_RECORD
from sdv_plausible.commands.speaking import say
from sdv_plausible.commands.undeclared import filled_in


def add_options(command: argparse.ArgumentParser) -> None:
    """What ``check`` is told."""
    on_disk.add_reading(command)
    command.set_defaults(only_declared=True)


def run(options: argparse.Namespace) -> None:
    """Count cells and rows that do not fit, and note what was looked at."""
    from sdv_plausible.fit.telling import compared
    from sdv_plausible.rules.declared import rules_with_declarations
    from sdv_plausible.table.columns.domain import MAX_BINS
    from sdv_plausible.table.declared.declarations import read_declarations
    from sdv_plausible.table.declared.looks import note_look
    from sdv_plausible.table.files.one_file import unreadable

    on_disk.check_inputs(options)
    if options.domain == "written":
        raise on_disk.UsageError(
            "--domain written compares nothing with the rows: declare the ranges in a domain file, which "
            "also keeps a record of the look (--domain domain.json)"
        )
    given, options.domain = options.domain, filled_in(options.domain)
    types = on_disk.declared_types(options)
    left, lines = [name for name in on_disk.names_of(options, types) if name not in types], list[str]()
    options.rows_were_read = True
    unread = unreadable(on_disk.files_of(options), types)
    if given is not None or options.rules:
        words = {name: kind.words for name, kind in types.items()}
        domain, words, rules = rules_with_declarations(options.rules or (), options.domain, words, MAX_BINS)
        declared = read_declarations(domain, "infer", MAX_BINS, words)
        found, looked, shown = compared(declared, rules, words, on_disk.read(options, types))
        lines += [*shown, str(found)]
        if given is not None:
            unread = {name: count for name, count in unread.items() if name in looked}  # of others nothing
            lines += note_look(given, looked, rules.digests or None)
        else:
            lines.append(f"{NO_RECORD} do not change the rules now")
    else:
        lines.append(f"{NO_RECORD} do not change the metadata now")
    if left:
        lines.append(f"Not declared, and not compared: {', '.join(left)}")
    counts = ", ".join(f"{name} {count:,}" for name, count in unread.items())
    told = f"NOT private, for your eyes. Cells that cannot be read, and count as missing: {counts or 'none'}"
    say(
        options,
        "\n".join([told, *lines]),
        {"for_the_holder_alone": True, "unreadable": unread, "found": lines, "undeclared": left},
    )
