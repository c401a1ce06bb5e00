"""Command-line options of a fit, generated from the parameter list.

Omitted options are not passed on, so that the constructor's defaults apply.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sdv_plausible.cli.files import UsageError
from sdv_plausible.fitting.options import (
    NAMED,
    OPTIONS,
    Option,
    default_of,
    to_constructor_arguments,
    unused_option,
)
from sdv_plausible.utils.input_files import read_text_file
from sdv_plausible.utils.strict_json import strict_json


def add_parameters(command: argparse.ArgumentParser) -> None:
    """Add an option for every parameter of the synthesizer."""
    group = command.add_argument_group("parameters of the synthesizer")
    add = group.add_argument
    for option in OPTIONS.values():
        add_option(group, option)
    add(
        "--model-parameters",
        metavar="JSON",
        default=argparse.SUPPRESS,
        help='further options of the model, such as {"max_cost": 300}, or a file that holds them',
    )
    add("--privacy-test", type=_moved, default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    add_budget(group, "a total over several releases, kept in a file, which is made if it is not there")
    add(
        "--public",
        type=Path,
        help="a PUBLISHED table (CSV or Parquet) of the same columns, from which learning starts",
    )


def add_budget(command: Any, why: str) -> None:
    """Add the options of :func:`open_budget`."""
    command.add_argument("--budget", nargs=3, metavar=("FILE", "EPSILON", "DELTA"), help=why)
    command.add_argument(
        "--budget-filter", choices=("sum", "rho"), help="how fits add up in --budget (default: sum)"
    )


def add_option(group: Any, option: Option) -> None:
    """Add the option of one parameter."""
    default_text = ", ".join(option.default) if option.kind is list else option.default
    default = "" if default_text is None or option.kind is bool else f" (default: {default_text})"
    common: dict[str, Any] = {
        "default": argparse.SUPPRESS, "help": f"{option.help}{default}".replace("%", "%%"),
    }  # fmt: skip
    if option.kind is bool:
        group.add_argument(option.flag, action=argparse.BooleanOptionalAction, **common)
    elif option.kind is list:
        group.add_argument(option.flag, nargs="+", metavar=option.written, **common)
    elif option.choices and not option.written:
        group.add_argument(option.flag, choices=tuple(option.choices), **common)
    else:
        read = READERS.get(option.name, option.kind if option.kind in (int, float) else str)
        placeholder = {int: "N", float: "NUMBER"}.get(option.kind, "TEXT")
        group.add_argument(option.flag, type=read, metavar=option.written or placeholder, **common)


def constructor_arguments(options: argparse.Namespace, **defaults: Any) -> dict[str, Any]:
    """Return the constructor's arguments from the given options."""
    # ``defaults`` are arguments set by the command; given options take precedence.
    arguments = {**defaults, **{name: getattr(options, name) for name in OPTIONS if hasattr(options, name)}}
    for argument, names in NAMED.items():
        chosen = arguments.get(argument, default_of(argument))
        if (misused := unused_option(argument, chosen, arguments)) is not None:
            others = " or ".join(name for name, value in names.items() if value in OPTIONS[misused].of)
            raise UsageError(
                f"{OPTIONS[misused].flag} ({arguments[misused]}) plays no part under --{argument} {chosen}: "
                f"leave it out, or take --{argument} {others}"
            )
    structure = arguments.get("structure")
    if isinstance(structure, str) and (structure[:1] == "{" or structure.endswith(".json")):
        arguments["structure"] = read_object(structure, "--structure")
    if "public" not in arguments and getattr(options, "public", None) is not None:
        arguments.pop("public_source", None)  # refers to a table that is not read yet
    if hasattr(options, "model_parameters"):
        arguments["model_parameters"] = read_object(options.model_parameters)
    return to_constructor_arguments(arguments)


def open_budget(options: argparse.Namespace) -> Any:
    """Open the budget that a fit draws from; None if none is given."""
    from sdv_plausible.fitting.release_budget import Budget

    if options.budget is None:
        if options.budget_filter is not None:
            raise UsageError("--budget-filter says how fits add up in --budget, which is not there")
        return None
    path, epsilon, delta = options.budget
    try:
        limits = float(epsilon), float(delta)
    except ValueError:
        raise UsageError(
            f"--budget ({' '.join(options.budget)}) must be a file and two numbers, epsilon and delta: "
            "try --budget people.budget 1.0 1e-8"
        ) from None
    return Budget(*limits, path, filter=options.budget_filter or "sum")


# --- parsers of single options --------------------------------------------------------------------------


def _omega(text: str) -> Any:
    if text == "all":
        return text
    parts = text.split("-")
    if not all(part.isdigit() for part in parts) or len(parts) > 2:
        raise argparse.ArgumentTypeError(
            f'{text!r} must be a whole number, "low-high" such as 5-11, or "all"'
        )
    return int(text) if len(parts) == 1 else (int(parts[0]), int(parts[1]))


def _split(text: str) -> tuple[float, ...]:
    try:
        shares = tuple(float(part) for part in text.split(","))
    except ValueError:
        shares = ()
    if len(shares) != 3:
        raise argparse.ArgumentTypeError(f"{text!r} must be three numbers such as 0.25,0.25,0.5")
    return shares


def read_object(text: str, option: str = "--model-parameters") -> Mapping[str, Any]:
    """Parse a JSON object, or a file that contains one."""
    path = Path(text)
    try:
        document = strict_json(read_text_file(path) if text[:1] != "{" else text)
    except (OSError, ValueError):
        document = None
    if not isinstance(document, dict):
        raise UsageError(f"{option} ({text!r}) must be a JSON object, or a file that holds one")
    return document


def _moved(text: str) -> str:
    raise argparse.ArgumentTypeError(f"this is --test {text} now")


READERS = {"omega": _omega, "split": _split}
