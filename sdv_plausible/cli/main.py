"""Command-line entry point: dispatches to commands and reports errors in one line."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from sdv_plausible.utils.entry_points import constant_of, extension, extension_names
from sdv_plausible.utils.text_output import escape_controls

GROUPS = {
    "start": ("demo", "app"),
    "declare the columns": ("declare", "check"),
    "make a release": ("plan", "fit", "synthesize", "sample", "families", "describe", "generate"),
    "look at the result": ("report", "inspect", "audit"),
    "publish": ("card", "registry", "key"),
    "check a release": ("verify", "types"),
    "set up the shell": ("completion",),
}
"""Commands by task, in the order of --help."""
ORDER = tuple(name for names in GROUPS.values() for name in names)
COMMANDS = tuple(sorted(extension_names("command"), key=lambda name: (*ORDER, name).index(name)))
"""Names of all commands, in the order of --help; commands of other packages come last."""
EXIT_CODES = """\
exit codes:
  0         done
  1         verify: a claim of the file is wrong or cannot be checked
  2         refused or failed: one line on standard error gives the reason
  130       interrupted
  129, 143  ended by SIGHUP or SIGTERM
No file is ever half written. With a privacy guarantee, the exit code depends
on the rows only through a noisy count that is paid for."""
REFUSED, INTERRUPTED = 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 0 on success, 1 if a claim is refuted, 2 on errors, 130 if interrupted."""
    from sdv_plausible.cli.files import check_distinct_outputs, check_spelling
    from sdv_plausible.cli.output import one_line_warnings, print_to_stderr
    from sdv_plausible.utils.atomic_files import exits_on_signals

    if not os.environ.get("PYTHONSAFEPATH"):
        os.environ["PYTHONSAFEPATH"] = "1"  # subprocesses must not import from the current folder
    if sys.stderr is None:  # closed by the caller: discard messages
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115  open for the lifetime of the program
    words = list(sys.argv[1:] if arguments is None else arguments)
    options = parser(words[:1]).parse_args(words)
    options.rows_were_read, status = False, 0
    try:
        with exits_on_signals(), one_line_warnings():
            check_distinct_outputs(options)
            check_spelling(options)
            status = options.run(options) or 0
            with suppress(OSError, ValueError, AttributeError):  # the work is done
                sys.stdout.flush()
    except BrokenPipeError:  # the reader closed the pipe; the work is done
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        drawn = ", and what a budget was charged stays charged" if getattr(options, "budget", None) else ""
        print_to_stderr(f"interrupted; nothing is half written{drawn}")
        return INTERRUPTED
    except Exception as error:  # includes foreign errors, whose texts may quote cells
        from sdv_plausible.utils.messages import translate
        from sdv_plausible.utils.text_output import one_line

        if options.debug:
            traceback.print_exception(error)
        text = one_line(error, options.rows_were_read, ", --debug shows it")
        print_to_stderr(f"error: {translate(text, 'command')}")
        return REFUSED
    return status


class _Parser(argparse.ArgumentParser):
    """Argument parser with one-line errors."""

    def error(self, message: str) -> NoReturn:
        """Print the error and a reference to --help in one line."""
        words = escape_controls(" ".join(message.split()))
        self.exit(REFUSED, f"{self.prog}: error: {words}; see {self.prog} --help\n")


def parser(wanted: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of all commands, with the options of the wanted ones."""
    lists_all = not {*wanted} & {*COMMANDS}  # --help, or an error that lists the commands
    purposes = {n: constant_of("command", n, "PURPOSE") for n in COMMANDS if lists_all or n in wanted}
    layout: dict[str, Any] = {"formatter_class": argparse.RawDescriptionHelpFormatter}
    root = _Parser(
        prog="sdv-plausible",
        usage="sdv-plausible COMMAND [options]",
        description=f"Synthetic tables with differential privacy.\n\n{_by_task(purposes)}",
        epilog=f"sdv-plausible COMMAND --help shows all options, and an example.\n\n{EXIT_CODES}",
        **layout,
    )
    root.add_argument("--version", action="version", version=f"%(prog)s {version('sdv-plausible')}")
    commands = root.add_subparsers(required=True, metavar="COMMAND", help=argparse.SUPPRESS, prog=root.prog)
    for name in COMMANDS:
        purpose = purposes.get(name, "")
        command = commands.add_parser(
            name, help=purpose, description=_sentence(purpose), epilog=EXIT_CODES, **layout
        )
        if name in wanted:
            module = extension("command", name)
            module.add_options(command)
            example = getattr(module, "EXAMPLE", "")
            command.epilog = f"example:\n  {command.prog} {example}".rstrip() + f"\n\n{EXIT_CODES}"
            command.set_defaults(run=module.run, all_commands=lambda: parser(tuple(COMMANDS)))
            command.usage = _usage(command)
        command.add_argument("--json", action="store_true", help="print one JSON object instead of text")
        command.add_argument(
            "--debug",
            action="store_true",
            help="show tracebacks of errors, which may quote cells of the table",
        )
    return root


def _by_task(purposes: Mapping[str, str]) -> str:
    """Return the list of commands, grouped by task."""
    groups = {**GROUPS, "from other packages": tuple(name for name in purposes if name not in ORDER)}
    lines: list[str] = []
    for task, names in groups.items():
        rows = [f"  {name:<12}{purposes[name]}" for name in names if name in purposes]
        lines += [f"{task}:", *rows, ""] if rows else []
    return "\n".join(lines).rstrip()


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _usage(command: argparse.ArgumentParser) -> str:
    """Return the usage line, with required arguments only."""
    required = [
        f"{action.option_strings[0]} {action.dest.upper()}" if action.option_strings else action.dest.upper()
        for action in command._actions
        if action.required
    ]
    return " ".join([command.prog, *required, "[options]"])
