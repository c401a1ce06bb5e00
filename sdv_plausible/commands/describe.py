"""The command ``sdv-plausible describe``: a table's description, which is a readable release file."""

from __future__ import annotations

import argparse
from pathlib import Path

from sdv_plausible.commands.looking import recorder
from sdv_plausible.commands.on_disk import UsageError, add_reading, check_outputs, read, write
from sdv_plausible.commands.shared_fit import allow_no_claim, check_claim, kept_if_lost
from sdv_plausible.commands.speaking import say
from sdv_plausible.commands.undeclared import columns_of, spelling
from sdv_plausible.fit.options import default_of
from sdv_plausible.models import named_learner
from sdv_plausible.sdv.synthesizer import PlausibleDeniabilitySynthesizer
from sdv_plausible.table.columns.domain import MAX_BINS
from sdv_plausible.table.declared.column_types import check_released

MODES = ("correlated", "independent", "random")


def add_options(command: argparse.ArgumentParser) -> None:
    """What ``describe`` is told."""
    add = command.add_argument
    add_reading(command)
    add("-o", "--output", type=Path, required=True, help="description (JSON) to write: a release file")
    add("--mode", choices=MODES, default=MODES[0], help="default: correlated")
    add("--epsilon", type=float, default=0.1, help="total privacy budget, types included (default: 0.1)")
    add("--delta", type=float, default=default_of("delta"), help="failure probability (default: %(default)s)")
    add("--max-parents", type=int, default=4, help="of --mode correlated (default: 4)")
    add("--bins", type=int, default=MAX_BINS, help=f"of numbers and dates, at most (default: {MAX_BINS})")
    add("--only-declared", action="store_true", help="leave out columns whose type is not declared")
    allow_no_claim(command)
    add("--overwrite", action="store_true", help="replace the output if it exists")
    command.set_defaults(ledger=None)


def run(options: argparse.Namespace) -> None:
    """Vote on undeclared types, learn the description and write it."""
    check_outputs(options, (".json", ".release"))
    if options.domain == "written":
        raise UsageError(
            "--domain written: describe takes types from --metadata, and ranges from a domain file alone: "
            "declare them there (--domain domain.json), or use fit"
        )
    check_released(options.metadata)
    given_domain, columns = options.domain, columns_of(options)
    parameters = {"max_parents": options.max_parents} if options.mode == "correlated" else {}
    model = named_learner(options.mode, parameters)
    synth = PlausibleDeniabilitySynthesizer(
        columns.metadata,
        epsilon=options.epsilon,
        delta=options.delta,
        model=model,
        max_bins=options.bins,
        rules=options.rules or (),
        **columns.arguments,
    )
    check_claim(options, synth)  # before a cell votes
    synth.spelling, synth.record = spelling(options), recorder(given_domain)
    synth.fit(read(options, columns.types))
    with kept_if_lost(synth, options.output):
        release = synth.release(allow_no_claim=options.allow_no_claim)
        write(options, options.output, release.to_bytes(readable=True))
    ledger, found = synth.privacy_ledger(), columns.found(synth)
    say(
        options,
        f"{ledger}{found.hint()}\n\nWrote {options.output}, sha256 {release.digest}",
        {"output": options.output, "sha256": release.digest, **found.to_dict(), "ledger": ledger.to_dict()},
    )
