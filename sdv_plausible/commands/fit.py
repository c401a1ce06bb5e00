"""The command ``sdv-plausible fit``: a release file, from which rows are drawn without the table."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sdv_plausible.commands import shared_fit
from sdv_plausible.commands.on_disk import UsageError, check_outputs, write
from sdv_plausible.commands.speaking import say, steps

if TYPE_CHECKING:
    from sdv_plausible.sdv.synthesizer import PlausibleDeniabilitySynthesizer


def add_options(command: argparse.ArgumentParser) -> None:
    """What of a table is learned, how, and where the release goes."""
    shared_fit.add_fitting(command)
    command.add_argument("-o", "--output", type=Path, required=True, help="release file to write (.release)")
    command.add_argument("--readable", action="store_true", help="with line breaks, for people")
    shared_fit.allow_no_claim(command)


def run(options: argparse.Namespace) -> None:
    """Fit, and write the release with its ledger."""
    check_outputs(options, (".release", ".json"))
    test = getattr(options, "test", None)
    if test in shared_fit.ROW_BY_ROW:
        raise UsageError(
            f"--test {test} keeps records, and a release file holds none: leave it out, or take synthesize"
        )

    with steps("reading", "fitting", "writing") as begin:
        synth, found = shared_fit.fitted(options, begin, partial(_check, options))
        begin()
        ledger = synth.privacy_ledger()
        with shared_fit.kept_if_lost(synth, options.output):
            release = synth.release(allow_no_claim=options.allow_no_claim)
            write(options, options.output, release.to_bytes(readable=options.readable))
            if options.ledger is not None:
                write(options, options.ledger, ledger.to_json())
    say(
        options,
        f"{ledger}{found.hint()}\n\nWrote {options.output}, sha256 {release.digest}",
        {"output": options.output, "sha256": release.digest, **found.to_dict(), "ledger": ledger.to_dict()},
    )


def _check(options: argparse.Namespace, synth: PlausibleDeniabilitySynthesizer) -> None:
    """Refuse what cannot be released before anything is drawn from a budget."""
    from sdv_plausible.table.declared.column_types import column_types

    if not any(kind.is_modelled for kind in column_types(metadata=synth.metadata).values()):
        raise UsageError(
            "no column is modelled, so there is nothing to release: ids and personal data are made up anew. "
            "Declare another column, such as {'age': {'sdtype': 'numerical'}}, or take synthesize"
        )
    shared_fit.check_claim(options, synth)
