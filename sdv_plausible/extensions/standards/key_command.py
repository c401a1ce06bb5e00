"""The command ``sdv-plausible key``: make a key pair for signing fits."""

from __future__ import annotations

import argparse
from pathlib import Path

from sdv_plausible.cli.files import UsageError, check_output
from sdv_plausible.cli.output import print_result

PURPOSE = "make a key that signs releases (fit --sign)"
EXAMPLE = "-o signing.pem"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("-o", "--output", type=Path, required=True, help="secret key to make (.pem)")
    command.set_defaults(overwrite=False)


def run(options: argparse.Namespace) -> None:
    """Make a key pair, and write its two files."""
    from sdv_plausible.extensions.standards.attestation import new_key, public_file

    for path in (options.output, public_file(options.output)):
        if path.is_file():
            raise UsageError(f"--output: {path} exists, and no key is replaced; choose another name")
    check_output(options, "output", (".pem",))
    name, public = new_key(options.output), public_file(options.output)
    print_result(
        options,
        f"Wrote {options.output}, the secret key: keep it.\nWrote {public}, the public key: give it to "
        f"whoever checks what you sign.\nIts id is {name}",
        {"secret": options.output, "public": public, "id": name},
    )
