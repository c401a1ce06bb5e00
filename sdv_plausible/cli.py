"""Command line: what there is, and one clear line when something is wrong. The work is in ``commands/``."""

from __future__ import annotations

import argparse
import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from types import ModuleType

COMMANDS = {
    "demo": "fit the embedded census example and look at the result",
    "synthesize": "make a synthetic copy of a CSV or Parquet table",
    "declare": "draft a domain file: the columns, and what public sources say",
    "check": "count cells that the declarations do not fit: not private, for your eyes",
    "describe": "learn a description of a table: a release file",
    "generate": "make rows from a description, without the data",
    "inspect": "a page of a table before and after: not private, for your eyes",
    "audit": "attack a synthesizer on a table: not private, for your eyes",
    "registry": "papers on a release: registry entry, conformance",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 on success, 2 with one clear line on bad input."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser(given).parse_args(given)
    options.rows_were_read = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SDV's hints on saving metadata are not for this audience
            options.run(options)
    except Exception as error:  # whatever SDV or pandas raise: their texts may quote cells
        from sdv_plausible.declaring.errors import one_line

        if options.debug:
            traceback.print_exception(error)
        said = one_line(error, options.rows_were_read, ", --debug shows it")
        print(f"sdv-plausible: error: {said}", file=sys.stderr)
        return 2
    return 0


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    """All commands, and the options of the one that is asked for: the others are not imported."""
    parser = argparse.ArgumentParser(
        prog="sdv-plausible",
        description="Synthetic tables with plausible deniability and differential privacy.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {version('sdv-plausible')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(name, help=purpose, description=purpose)
        if name in given[:1]:
            module = _module(name)
            module.add_options(command)
            command.set_defaults(run=module.run)
        command.add_argument(
            "--debug",
            action="store_true",
            help="show tracebacks of errors: they may quote cells of the table",
        )
    return parser


def _module(name: str) -> ModuleType:
    """The module of a command."""
    match name:
        case "demo":
            from sdv_plausible.commands import demo

            return demo
        case "synthesize":
            from sdv_plausible.commands import synthesize

            return synthesize
        case "declare":
            from sdv_plausible.commands import declare

            return declare
        case "check":
            from sdv_plausible.commands import check

            return check
        case "describe":
            from sdv_plausible.commands import describe

            return describe
        case "generate":
            from sdv_plausible.commands import generate

            return generate
        case "inspect":
            from sdv_plausible.commands import inspect

            return inspect
        case "audit":
            from sdv_plausible.commands import audit

            return audit
        case _:
            from sdv_plausible.commands import registry

            return registry


if __name__ == "__main__":
    sys.exit(main())
