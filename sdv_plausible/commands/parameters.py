"""The synthesizer's parameters as options: names, defaults and explanations are the constructor's own.

They are read from its source, so that ``--help`` is there without SDV. An option that is not given is not
passed on: so every default is the constructor's.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import sdv_plausible
from sdv_plausible.commands.files import UsageError

OTHERWISE = {
    "metadata": "--metadata, and the types in --domain",
    "domain": "--domain",
    "rules": "--rules",
    "source": "--domain metadata says that the ranges in --metadata were written",
    "types": "declared in --domain or --metadata, or voted for within the budget, or detected",
    "budget": "--budget",
    "public": "--public",
    "model_kwargs": "of a class as model, which has no name here",
}
"""Parameters that are not options of their own, and what says them."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of the constructor, as its source says it."""

    name: str
    annotation: str
    default: str
    form: str  # from the docstring: its type in words
    words: str

    @property
    def option(self) -> str:
        """What it is called on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def choices(self) -> tuple[str, ...] | None:
        """Its values, where they are all that there are."""
        closed = re.fullmatch(r"\{(.*)\}", self.form)
        return tuple(json.loads(f"[{closed[1]}]")) if closed else None

    @property
    def help(self) -> str:
        """Its explanation, with the default."""
        shown = self.default.strip("[]()'\"")
        default = f" (default: {shown})" if shown not in ("None", "") and not shown.isupper() else ""
        return f"{self.words}{default}".replace("%", "%%")


@cache
def parameters() -> tuple[Parameter, ...]:
    """All parameters of the synthesizer but its metadata."""
    source = Path(sdv_plausible.__file__).parent / "sdv" / "synthesizer.py"
    tree = ast.parse(source.read_text(encoding="utf-8"))
    made = next(
        n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "PlausibleDeniabilitySynthesizer"
    )
    init = next(n for n in made.body if isinstance(n, ast.FunctionDef) and n.name == "__init__")
    said = documented(ast.get_docstring(made) or "")
    arguments = init.args.args[-len(init.args.defaults) :]
    return tuple(
        Parameter(a.arg, ast.unparse(a.annotation) if a.annotation else "", ast.unparse(d), *said[a.arg])
        for a, d in zip(arguments, init.args.defaults, strict=True)
    )


def documented(docstring: str) -> dict[str, tuple[str, str]]:
    """Type and explanation of every parameter that a docstring explains."""
    section = re.split(r"\n(?=\w+\n-+\n)", docstring.split("Parameters\n----------\n")[1])[0]
    found: dict[str, tuple[str, str]] = {}
    for names, form, words in re.findall(
        r"^(\S[^\n]*?) : ([^\n]+)\n((?:[ ]{4}[^\n]*\n?|\n)+)", section, re.M
    ):
        plain = " ".join(words.replace("``", "").split())
        found |= {name: (form.removesuffix(", optional"), plain) for name in names.split(", ")}
    return found


def default_of(name: str) -> Any:
    """The constructor's default of a parameter."""
    return ast.literal_eval(next(p.default for p in parameters() if p.name == name))


def add_parameters(command: argparse.ArgumentParser) -> None:
    """Make an option of every parameter, but those that are said otherwise."""
    group = command.add_argument_group("parameters of the synthesizer")
    for parameter in parameters():
        if parameter.name not in OTHERWISE:
            _add(group, parameter)
    group.add_argument(
        "--budget", nargs=3, metavar=("FILE", "EPSILON", "DELTA"),
        help="a total over several releases, kept in a file, which is made if it is not there",
    )  # fmt: skip
    group.add_argument(
        "--budget-filter", choices=("sum", "rho"), help="how fits add up in --budget (default: sum)"
    )
    group.add_argument(
        "--public", type=Path,
        help="a PUBLISHED table (CSV or Parquet) of the same columns, from which learning starts",
    )  # fmt: skip


def _add(group: Any, parameter: Parameter) -> None:
    known: dict[str, Any] = {"default": argparse.SUPPRESS, "help": parameter.help}
    if parameter.annotation == "bool":
        group.add_argument(parameter.option, action=argparse.BooleanOptionalAction, **known)
    elif parameter.name == "locales":
        group.add_argument(parameter.option, nargs="+", metavar="LOCALE", **known)
    elif parameter.choices is not None and parameter.name != "model":
        group.add_argument(parameter.option, choices=parameter.choices, **known)
    else:
        read = READERS.get(parameter.name) or _plain(parameter.annotation)
        group.add_argument(parameter.option, type=read, metavar=_metavar(parameter), **known)


def _metavar(parameter: Parameter) -> str:
    word = parameter.annotation.split(" ")[0]
    plain = {"int": "N", "float": "NUMBER", "str": "TEXT"}.get(word, "TEXT")
    return METAVARS.get(parameter.name, plain)


def _plain(annotation: str) -> Any:
    return {"int": int, "float": float}.get(annotation.split(" ", maxsplit=1)[0], str)


def given(options: argparse.Namespace) -> dict[str, Any]:
    """Parameters that were given, and they alone."""
    found = {p.name: getattr(options, p.name) for p in parameters() if hasattr(options, p.name)}
    for name in OTHERWISE:
        found.pop(name, None)
    return {name: IN_FILES[name](value) if name in IN_FILES else value for name, value in found.items()}


def opened_budget(options: argparse.Namespace) -> Any:
    """The budget that a fit draws from; None if none was given."""
    from sdv_plausible.release.budget import Budget

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
        found = json.loads(path.read_text(encoding="utf-8") if text[:1] != "{" else text)
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise UsageError(f"{option} ({text!r}) must be a JSON object, or a file that holds one")
    return found


def _structure(text: str) -> Any:
    return _object(text, "--structure") if text[:1] == "{" or text.endswith(".json") else text


READERS = {"omega": _omega, "split": _split}
IN_FILES = {"structure": _structure, "model_parameters": _object}
"""Options that may name a file: what they name is known until it is read."""
METAVARS = {
    "omega": "N|LOW-HIGH|all",
    "split": "A,B,C",
    "structure": "NAME|JSON",
    "model_parameters": "JSON",
    "model": "NAME",
    "person": "COLUMN",
}
