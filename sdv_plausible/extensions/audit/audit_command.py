"""The command ``sdv-plausible audit``: attacks on a synthesizer, for the data owner."""

from __future__ import annotations

import argparse
import math
from importlib import import_module
from pathlib import Path
from typing import Any

from sdv_plausible.cli import files
from sdv_plausible.cli.output import print_result, progress_steps
from sdv_plausible.cli.undeclared_columns import without_blank_columns
from sdv_plausible.fitting.options import default_of, typed_default

PURPOSE = "attack a synthesizer on your table (confidential)"
EXAMPLE = "people.csv -o audit --domain domain.json --epsilon 1"

OURS = "PlausibleDeniabilitySynthesizer"
PAGE, RESULT = "audit.html", "audit.json"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of ``audit``."""
    add = command.add_argument
    files.add_reading(command)
    command.set_defaults(only_declared=False)
    add(
        "--synthesizer",
        metavar="MODULE:CLASS",
        help="synthesizer, such as sdv.single_table:GaussianCopulaSynthesizer (default: this package's)",
    )
    epsilon, delta = typed_default("epsilon"), typed_default("delta")
    words = f"the claim (default: {epsilon} for this package's, none for another one)"
    add("--epsilon", type=float, help=words)
    add("--delta", type=float, help=f"of the claim (default: {delta} for this package's, else 0)")
    add(
        "-o",
        "--output",
        type=Path,
        required=True,
        help="output folder for audit.html, audit.json and finished stages",
    )
    add("--resume", action="store_true", help="continue an audit of the same synthesizer")
    add("--public", action="store_true", help="confirm that the table is public or simulated")
    add("--seconds", type=float, default=600.0, help="start no stage after this many seconds (default: 600)")
    add("--canaries", type=int, default=300, help="canaries of the one-run audit (default: 300)")
    add("--shadow-runs", type=int, default=60, help="fits with and without the target, each (default: 60)")
    add("--white-box-runs", type=int, default=2000, help="runs with and without it, each (default: 2000)")
    add("--most-rows", type=int, default=5000, help="most rows used, chosen at random (default: 5000)")
    add("--anonymeter", type=Path, metavar="PYTHON", help="Python executable that has anonymeter installed")


def run(options: argparse.Namespace) -> None:
    """Run the attacks and write their results."""
    from sdv_plausible.extensions.audit.auditing import run as attack
    from sdv_plausible.sdv.synthesizer import PlausibleDeniabilitySynthesizer

    files.check_inputs(options)
    files.check_distinct_outputs(options, options.output / PAGE, options.output / RESULT)
    if options.output.exists() and not options.output.is_dir():
        raise files.UsageError(f"{options.output} must be a folder, and is a file; choose another name")
    foreign_class = None if options.synthesizer is None else synthesizer_class(options.synthesizer)
    options.domain = without_blank_columns(options.domain)
    types = files.declared_types(options)
    metadata, detected = files.metadata_and_detected(options, types)
    epsilon, delta = claim(options)

    def factory() -> Any:
        if foreign_class is not None:
            return foreign_class(metadata)
        return PlausibleDeniabilitySynthesizer(
            metadata, epsilon=epsilon, delta=delta, domain=options.domain,
            types="detected" if detected else None, rules=options.rules or (),
        )  # fmt: skip

    with progress_steps("reading", "attacking", "writing") as begin:
        begin()
        table = files.read_table(options, {**types, **detected})
        begin()
        result = attack(
            table,
            factory,
            name=options.synthesizer or OURS,
            claimed_epsilon=epsilon,
            delta=delta,
            ours=foreign_class is None,
            public=options.public,
            folder=options.output / "stages",
            seconds=options.seconds,
            canaries=options.canaries,
            shadow_runs=options.shadow_runs,
            white_box_runs=options.white_box_runs,
            most_rows=options.most_rows,
            anonymeter=options.anonymeter,
            resume=options.resume,
            progress=begin.note,
        )
        begin()
        result.to_html(options.output / PAGE)
        result.save(options.output / RESULT)
    written = f"Wrote {options.output}/{PAGE} and {RESULT}"
    print_result(options, f"{result}\n{written}", {"output": options.output, **result.to_dict()})


def synthesizer_class(words: str) -> Any:
    """Return the class named by ``module:Class``."""
    module, separator, name = words.partition(":")
    if not separator or not module or not name:
        raise ValueError(
            f"--synthesizer ({words}) must be module:Class, such as sdv.single_table:CTGANSynthesizer"
        )
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"--synthesizer ({words}) cannot be imported: {type(error).__name__}; install its package, or "
            "correct the name"
        ) from None


def claim(options: argparse.Namespace) -> tuple[Any, float]:
    """Return the claimed epsilon (or None) and delta; this package claims its defaults."""
    epsilon, delta = options.epsilon, options.delta
    if epsilon is not None and not math.isfinite(epsilon):
        raise ValueError(
            f"--epsilon ({epsilon:g}) claims nothing that could be held against an attack: leave it out"
        )
    if options.synthesizer is not None:
        return epsilon, delta or 0.0
    epsilon = default_of("epsilon") if epsilon is None else epsilon
    return epsilon, default_of("delta") if delta is None else delta
