"""The command ``sdv-plausible synthesize``: rows like those of a table."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from sdv_plausible.commands.files import (
    add_reading,
    check_outputs,
    declared_types,
    metadata_and_detected,
    read,
    write_table,
)
from sdv_plausible.whole_files import write_whole


def add_options(command: argparse.ArgumentParser) -> None:
    """What of a table is learned, how, and where rows and ledger go."""
    add_reading(command)
    command.add_argument("-o", "--output", type=Path, required=True, help="CSV or Parquet file to write")
    command.add_argument(
        "--undeclared", choices=("private", "infer"), default="private",
        help=("value sets that are not declared: learned under the budget (default), or read off the rows, "
            "without a claim"),
    )  # fmt: skip
    command.add_argument(
        "--only-declared", action="store_true", help="leave out columns whose type is not declared"
    )
    command.add_argument(
        "--rows",
        type=int,
        default=10_000,
        help="synthetic rows (default: 10000; the table's own number is private)",
    )
    command.add_argument(
        "--epsilon", type=float, default=1.0, help='privacy budget, "inf" for none (default: 1)'
    )
    command.add_argument("--delta", type=float, default=1e-9, help="failure probability (default: 1e-9)")
    command.add_argument("--k", type=int, default=50, help="plausible seeds (default: 50)")
    command.add_argument(
        "--gamma", type=float, default=4.0, help="factor of about equal probability (default: 4)"
    )
    command.add_argument(
        "--epsilon0", type=float, default=1.0, help="parameter of the privacy test (default: 1)"
    )
    command.add_argument("--omega", type=_omega, help='resampled attributes: a number, "low-high", or "all"')
    command.add_argument(
        "--privacy-test", choices=("release", "randomized", "deterministic"), default="release"
    )
    command.add_argument(
        "--max-plausible", type=int, help="row-by-row tests: plausible seeds at which counting stops"
    )
    command.add_argument(
        "--max-check-plausible", type=int, help="row-by-row tests: seeds looked at; changes what rows cost"
    )
    command.add_argument(
        "--hidden-omega", action="store_true", help="row-by-row tests: likelihoods of the mixture over omega"
    )
    command.add_argument(
        "--model",
        default="bayesian_network",
        help="bayesian_network, independent, correlated, gaussian_copula, latent or random",
    )
    command.add_argument("--ledger", type=Path, help="also write the privacy ledger as JSON")
    command.add_argument("--random-state", type=int, help="reproducible, without a privacy claim")
    command.add_argument(
        "--overwrite", action="store_true", help="replace files that exist, never one that is read"
    )


def run(options: argparse.Namespace) -> None:
    """Fit, draw rows, and write them with their ledger."""
    from sdv_plausible.privacy import checks as check
    from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer

    check.whole("num_rows", options.rows, 0, "try 10000")
    check_outputs(options)
    types = declared_types(options)
    metadata, detected = metadata_and_detected(options, types)
    synth = PlausibleDeniabilitySynthesizer(
        metadata, epsilon=options.epsilon, delta=options.delta, k=options.k, gamma=options.gamma,
        epsilon0=options.epsilon0, omega=options.omega, privacy_test=options.privacy_test,
        max_plausible=options.max_plausible, max_check_plausible=options.max_check_plausible,
        hidden_omega=options.hidden_omega, model=options.model,
        domain=options.domain, source="written" if options.domain == "metadata" else None,
        undeclared=options.undeclared, random_state=options.random_state,
        types="detected" if detected else "declared", rules=options.rules or (),
    )  # fmt: skip
    options.rows_were_read = True  # from here on errors of others may quote cells
    synth.fit(read(options, {**types, **detected}))
    synthetic = synth.sample(options.rows)
    ledger = synth.privacy_ledger()
    write_whole(options.output, lambda path: write_table(synthetic, path))
    if options.ledger is not None:
        write_whole(options.ledger, ledger.to_json())
    print(ledger)
    if detected:
        print(
            f"\n  Types detected: {', '.join(detected)}. Declare them (--domain), or leave them out "
            "(--only-declared)."
        )
    print(f"\nWrote {len(synthetic):,} rows to {options.output}")


def _omega(text: str) -> Any:
    if text == "all":
        return text
    parts = text.split("-")
    if not all(part.isdigit() for part in parts) or len(parts) > 2:
        raise argparse.ArgumentTypeError(
            f'{text!r} must be a whole number, "low-high" such as 5-11, or "all"'
        )
    return int(text) if len(parts) == 1 else (int(parts[0]), int(parts[1]))
