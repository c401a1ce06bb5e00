"""The options of a fit on the command line: flat, from the one list of them.

An option that is not given is not passed on: so every default is the constructor's.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sdv_plausible.commands.on_disk import UsageError
from sdv_plausible.fit.options import NAMED, OPTIONS, VALUES, Option, default_of, misplaced
from sdv_plausible.utils.strict_json import strict_json


def add_parameters(command: argparse.ArgumentParser) -> None:
    """Make an option of every parameter, but those that are said otherwise."""
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
    """The options of :func:`opened_budget`."""
    command.add_argument("--budget", nargs=3, metavar=("FILE", "EPSILON", "DELTA"), help=why)
    command.add_argument(
        "--budget-filter", choices=("sum", "rho"), help="how fits add up in --budget (default: sum)"
    )


def add_option(group: Any, option: Option) -> None:
    """One of them."""
    shown = ", ".join(option.default) if option.kind is list else option.default
    default = "" if shown is None or option.kind is bool else f" (default: {shown})"
    known: dict[str, Any] = {
        "default": argparse.SUPPRESS, "help": f"{option.help}{default}".replace("%", "%%"),
    }  # fmt: skip
    if option.kind is bool:
        group.add_argument(option.flag, action=argparse.BooleanOptionalAction, **known)
    elif option.kind is list:
        group.add_argument(option.flag, nargs="+", metavar=option.written, **known)
    elif option.choices and not option.written:
        group.add_argument(option.flag, choices=tuple(option.choices), **known)
    else:
        read = READERS.get(option.name, option.kind if option.kind in (int, float) else str)
        plain = {int: "N", float: "NUMBER"}.get(option.kind, "TEXT")
        group.add_argument(option.flag, type=read, metavar=option.written or plain, **known)


def given(options: argparse.Namespace, **known: Any) -> dict[str, Any]:
    """Arguments of the constructor from the options that were given, and from them alone."""
    # ``known`` are options or arguments that the command knows itself: what was given comes first.
    from sdv_plausible.fit.public_table import PublicTable
    from sdv_plausible.models import named_learner
    from sdv_plausible.privacy.neighbours import person_of

    found = {**known, **{name: getattr(options, name) for name in OPTIONS if hasattr(options, name)}}
    of: dict[str, dict[str, Any]] = {argument: {} for argument in VALUES.values()}
    for name in [name for name in found if name in OPTIONS and OPTIONS[name].of]:
        of[VALUES[OPTIONS[name].of[0]]][name] = found.pop(name)
    if of["test"]:
        found["test"] = _test(found.get("test", default_of("test")), of["test"])
    parameters = getattr(options, "model_parameters", None)
    if of["model"] or parameters is not None:
        if isinstance(of["model"].get("structure"), str):
            of["model"]["structure"] = _structure(of["model"]["structure"])
        more = None if parameters is None else _object(parameters)
        found["model"] = named_learner(found.get("model", default_of("model")), more, **of["model"])
    if of["person"]:
        found["person"] = person_of(found.get("person"), *of["person"].values())
    if of["public"] and ("public" in found or getattr(options, "public", None) is None):
        found["public"] = PublicTable(found.get("public"), *of["public"].values())  # type: ignore[arg-type]
    return found


def _test(name: str, given: Mapping[str, Any]) -> Any:
    from sdv_plausible.release.privacy_tests.settings import TESTS_BY_NAME

    if (odd := misplaced(name, given)) is not None:
        tests = " or ".join(test for test, value in NAMED.items() if value in OPTIONS[odd].of)
        raise UsageError(
            f"{OPTIONS[odd].flag} ({given[odd]}) plays no part under --test {name}: leave it out, or take "
            f"--test {tests}"
        )
    return TESTS_BY_NAME[name](**given)


def opened_budget(options: argparse.Namespace) -> Any:
    """The budget that a fit draws from; None if none was given."""
    from sdv_plausible.fit.budget import Budget

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


# --- how single ones are written ------------------------------------------------------------------------


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


def _object(text: str, option: str = "--model-parameters") -> Mapping[str, Any]:
    """A JSON object, or the path of a file that holds one."""
    path = Path(text)
    try:
        found = strict_json(path.read_text(encoding="utf-8") if text[:1] != "{" else text)
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise UsageError(f"{option} ({text!r}) must be a JSON object, or a file that holds one")
    return found


def _moved(text: str) -> str:
    raise argparse.ArgumentTypeError(f"this is --test {text} now")


def _structure(text: str) -> Any:
    return _object(text, "--structure") if text[:1] == "{" or text.endswith(".json") else text


READERS = {"omega": _omega, "split": _split}
