"""The command ``sdv-plausible audit``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from sdv_plausible.audit.attacks.synthesizers import Factory
    from sdv_plausible.audit.results import AuditResult

OURS = "PlausibleDeniabilitySynthesizer"
PAGE, RESULT = "audit.html", "audit.json"


def add_options(command: argparse.ArgumentParser) -> None:
    """What ``audit`` is told, beside how the table is read."""
    command.add_argument(
        "--synthesizer",
        metavar="MODULE:CLASS",
        help="what is attacked, such as sdv.single_table:GaussianCopulaSynthesizer (default: this package's)",
    )
    command.add_argument(
        "--epsilon", type=float, help="the claim (default: 1 for this package's, none for another one)"
    )
    command.add_argument(
        "--delta", type=float, help="of the claim (default: 1e-9 for this package's, else 0)"
    )
    command.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        help="folder for audit.html, audit.json and finished stages",
    )
    command.add_argument(
        "--public", action="store_true", help="your word that the table is public or simulated"
    )
    command.add_argument(
        "--seconds", type=float, default=600.0, help="time to begin stages in (default: 600)"
    )
    command.add_argument("--canaries", type=int, default=300, help="of the one-run audit (default: 300)")
    command.add_argument("--shadow-runs", type=int, default=60, help="fits on each side (default: 60)")
    command.add_argument("--white-box-runs", type=int, default=2000, help="on each side (default: 2000)")
    command.add_argument("--most-rows", type=int, default=5000, help="rows used, at random (default: 5000)")
    command.add_argument("--anonymeter", type=Path, metavar="PYTHON", help="a Python that has anonymeter")


def synthesizer_class(words: str) -> Any:
    """Return the class that ``module:Class`` names."""
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


def claim(options: argparse.Namespace) -> tuple[float | None, float]:
    """Epsilon and delta that are claimed, with what this package claims by default."""
    if options.synthesizer is None:
        return (
            1.0 if options.epsilon is None else options.epsilon,
            1e-9 if options.delta is None else options.delta,
        )
    return options.epsilon, options.delta or 0.0


def audit(
    options: argparse.Namespace,
    table: pd.DataFrame,
    factory: Factory,
    progress: Callable[[str], None],
) -> AuditResult:
    """Run the audit, write its page and its figures, and return what was found."""
    from sdv_plausible.audit.auditing import run

    epsilon, delta = claim(options)
    result = run(
        table, factory, name=options.synthesizer or OURS, claimed_epsilon=epsilon, delta=delta,
        ours=options.synthesizer is None, public=options.public, folder=options.output / "stages",
        seconds=options.seconds, canaries=options.canaries, shadow_runs=options.shadow_runs,
        white_box_runs=options.white_box_runs, most_rows=options.most_rows, anonymeter=options.anonymeter,
        progress=progress,
    )  # fmt: skip
    result.to_html(options.output / PAGE)
    result.save(options.output / RESULT)
    return result
