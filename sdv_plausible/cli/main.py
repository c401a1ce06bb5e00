"""Command line: what there is, and one clear line when something is wrong. The work is beside it."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

from sdv_plausible.utils.printable import visible

COMMANDS = {
    "demo": "fit the embedded census example and look at the result",
    "declare": "draft a domain file: the columns, and what public sources say",
    "check": "count cells that the declarations do not fit: not private, for your eyes",
    "plan": "what a release will cost, before any row is looked at",
    "synthesize": "make a synthetic copy of a CSV or Parquet table",
    "fit": "learn a release file, from which rows are drawn without the table",
    "families": "learn related tables, such as households and persons, under one total",
    "sample": "draw rows from a release file",
    "report": "compare synthetic with real rows on a page: not private unless --publishable",
    "describe": "learn a description of a table in DataSynthesizer's modes: a readable release file",
    "generate": "sample, for descriptions",
    "inspect": "a page of a table before and after: not private, for your eyes",
    "audit": "attack a synthesizer on a table: not private, for your eyes",
    "app": "from a table to a release in a browser on this machine, without code",
    "card": "the page on a release that a data-protection officer files",
    "types": "whether a release file holds types of columns that were read off the rows",
    "registry": "papers on a release: registry entry, conformance",
    "key": "make a key with which fits are signed (--sign)",
    "verify": "check a release of somebody else, claim by claim, without the rows",
    "completion": "what bash, zsh or fish need to complete commands and options",
}
NAMED_OTHERWISE = {"generate": "sample"}  # as DataSynthesizer calls it
EXIT_CODES = (
    "exit codes: 0 done; 1 verify refused a claim of a file; 2 refused or failed, with one line on standard "
    "error and nothing half written; "
    "130 interrupted, 129 or 143 ended by SIGHUP or SIGTERM, nothing half written. "
    "With a privacy claim, the exit code depends on the rows only through a noisy count that is paid for."
)
REFUSED, INTERRUPTED = 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 on success, 1 if a claim was refused, 2 with one line, 130 if interrupted."""
    from sdv_plausible.cli.files import check_nothing_read_is_written, check_spelling
    from sdv_plausible.cli.output import to_holder, warnings_in_lines
    from sdv_plausible.utils.atomic_files import exits_on_signals

    if not os.environ.get("PYTHONSAFEPATH"):
        os.environ["PYTHONSAFEPATH"] = "1"  # processes that are started import nothing from here
    if sys.stderr is None:  # closed by whoever called: nobody is to be told
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115  for as long as the program runs
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser(given[:1]).parse_args(given)
    options.rows_were_read, status = False, 0
    try:
        with exits_on_signals(), warnings_in_lines():
            check_nothing_read_is_written(options)
            check_spelling(options)
            status = options.run(options) or 0
            with suppress(OSError, ValueError, AttributeError):  # the work is done
                sys.stdout.flush()
    except BrokenPipeError:  # whoever read the answer has enough of it; the work is done
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        drawn = ", and what a budget was charged stays charged" if getattr(options, "budget", None) else ""
        to_holder(f"interrupted; nothing is half written{drawn}")
        return INTERRUPTED
    except Exception as error:  # whatever SDV or pandas raise: their texts may quote cells
        from sdv_plausible.utils.error_messages import one_line

        if options.debug:
            traceback.print_exception(error)
        to_holder(f"error: {one_line(error, options.rows_were_read, ', --debug shows it')}")
        return REFUSED
    return status


class _Parser(argparse.ArgumentParser):
    """One whose refusals are one line, as all others are."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where it is said what there is."""
        words = visible(" ".join(message.split()))
        self.exit(REFUSED, f"{self.prog}: error: {words}; see {self.prog} --help\n")


def parser(wanted: Sequence[str]) -> argparse.ArgumentParser:
    """All commands, with the options of those that are wanted: the others are not imported."""
    made = _Parser(
        prog="sdv-plausible",
        description="Synthetic tables with plausible deniability and differential privacy.",
        epilog=EXIT_CODES,
    )
    made.add_argument("--version", action="version", version=f"%(prog)s {version('sdv-plausible')}")
    commands = made.add_subparsers(required=True, metavar="COMMAND")
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(name, help=purpose, description=purpose, epilog=EXIT_CODES)
        if name in wanted:
            module = import_module(f"sdv_plausible.cli.{NAMED_OTHERWISE.get(name, name)}")
            module.add_options(command)
            command.set_defaults(run=module.run, all_commands=lambda: parser(tuple(COMMANDS)))
            command.usage = _usage(command)
        command.add_argument("--json", action="store_true", help="print one JSON object instead of words")
        command.add_argument(
            "--debug",
            action="store_true",
            help="show tracebacks of errors: they may quote cells of the table",
        )
    return made


def _usage(command: argparse.ArgumentParser) -> str:
    """What must be given; all that may be given is explained below it."""
    needed = [
        f"{action.option_strings[0]} {action.dest.upper()}" if action.option_strings else action.dest.upper()
        for action in command._actions
        if action.required
    ]
    return " ".join([command.prog, *needed, "[options]"])
