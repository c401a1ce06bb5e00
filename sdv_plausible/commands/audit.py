"""The command ``sdv-plausible audit``: attacks on a synthesizer, for the holder of a table."""

from __future__ import annotations

import argparse
from typing import Any

from sdv_plausible.commands.files import (
    UsageError,
    add_reading,
    check_inputs,
    check_nothing_read_is_written,
    declared_types,
    metadata_and_detected,
    read,
)
from sdv_plausible.commands.speaking import say


def add_options(command: argparse.ArgumentParser) -> None:
    """What ``audit`` is told."""
    from sdv_plausible.audit.command import add_options as add

    add_reading(command)
    add(command)
    command.set_defaults(only_declared=False)


def run(options: argparse.Namespace) -> None:
    """Run the attacks and write what they found."""
    from sdv_plausible.audit.command import PAGE, RESULT, audit, claim, synthesizer_class
    from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer

    check_inputs(options)
    check_nothing_read_is_written(options, options.output / PAGE, options.output / RESULT)
    if options.output.exists() and not options.output.is_dir():
        raise UsageError(f"{options.output} must be a folder, and is a file; choose another name")
    other = None if options.synthesizer is None else synthesizer_class(options.synthesizer)
    types = declared_types(options)
    metadata, detected = metadata_and_detected(options, types)
    epsilon, delta = claim(options)

    def factory() -> Any:
        if other is not None:
            return other(metadata)
        return PlausibleDeniabilitySynthesizer(
            metadata, epsilon=1.0 if epsilon is None else epsilon, delta=delta, domain=options.domain,
            types="detected" if detected else "declared", rules=options.rules or (),
        )  # fmt: skip

    options.rows_were_read = True

    def progress(words: str) -> None:
        if not options.json:
            print(f"  {words}", flush=True)

    result = audit(options, read(options, {**types, **detected}), factory, progress)
    written = f"Wrote {options.output}/{PAGE} and {RESULT}"
    say(options, f"{result}\n{written}", {"output": options.output, **result.to_dict()})
