"""The command ``sdv-plausible declare``: a domain file drafted, learned or reviewed."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from sdv_plausible.commands.files import UsageError, check_output, is_same
from sdv_plausible.commands.speaking import say

if TYPE_CHECKING:
    from sdv_plausible.release.plan import Plan


def add_options(command: argparse.ArgumentParser) -> None:
    """What ``declare`` is told."""
    from sdv_plausible.declaring.command import add_options as add

    add(command)


def run(options: argparse.Namespace) -> None:
    """Check the files, then write the domain file or open the review page."""
    from sdv_plausible.declaring.command import declare

    for path in (options.from_public, options.from_codebook):
        if path is not None and is_same(options.data, path):
            raise UsageError(
                f"{path} is the table itself: what is read off it is no declaration; name a published table, "
                "or have the domain learned (synthesize --undeclared private)"
            )
    if options.private is None and (options.person is not None or options.rows_per_person != 1):
        raise UsageError("--person and --rows-per-person go with --private: without it no row is looked at")
    for path in (options.data, options.from_public, options.from_codebook):
        if path is not None and not path.is_file():
            raise UsageError(f"there is no file {path}")
    check_output(options.output, options.overwrite or options.web, (".json",))
    if options.web:
        _check_web(options)
    declare(options, plan_of, partial(say, options))


def _check_web(options: argparse.Namespace) -> None:
    """Refuse what does not go with the review page, before anything is read."""
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise UsageError("--web needs starlette and uvicorn: pip install 'sdv-plausible[app]'")
    if options.private is not None:
        raise UsageError("--web does not go with --private: review and save the file, then learn the rest")
    sources = (options.domain, options.from_public, options.from_codebook)
    if options.output.exists() and not options.overwrite and any(path is not None for path in sources):
        raise UsageError(
            f"{options.output} exists, and is what --web would open: leave --domain and the sources out, or "
            "add --overwrite to start anew"
        )


def plan_of(declarations: Mapping[str, Any], epsilon: float, delta: float, table_rows: int | None) -> Plan:
    """What a release with these declarations would cost and carry."""
    from sdv_plausible.sdv.versions import metadata_of
    from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer

    synth = PlausibleDeniabilitySynthesizer(
        metadata_of(declarations), domain=declarations, epsilon=epsilon, delta=delta
    )
    return synth.plan(table_rows=table_rows)
