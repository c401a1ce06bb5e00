"""The review page of ``declare --web``: edit a domain file in a browser."""

from __future__ import annotations

import argparse
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from sdv_plausible.cli import files
from sdv_plausible.cli.output import print_line, print_result
from sdv_plausible.extensions.app.review.review import Review, ReviewedTable
from sdv_plausible.fitting.plan import Plan
from sdv_plausible.table.declared.domain_file import DomainFile

if TYPE_CHECKING:
    from sdv_plausible.extensions.app.serving.access_guard import AccessGuard, AccessKeys


def check(options: argparse.Namespace) -> None:
    """Reject options that conflict with the review page, before reading anything."""
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise files.UsageError("--web needs starlette and uvicorn: pip install 'sdv-plausible[app]'")
    if options.private is not None:
        raise files.UsageError(
            "--web does not go with --private: review and save the file, then learn the rest"
        )
    sources = (options.domain, options.from_public, options.from_codebook)
    if options.output.exists() and not options.overwrite and any(path is not None for path in sources):
        raise files.UsageError(
            f"{options.output} exists, and is what --web would open: leave --domain and the sources out, or "
            "add --overwrite to start anew"
        )


def plan_of(declarations: Mapping[str, Any], epsilon: float, delta: float, table_rows: int | None) -> Plan:
    """Plan a release with these declarations."""
    from sdv_plausible.sdv.metadata import metadata_of
    from sdv_plausible.sdv.synthesizer import PlausibleDeniabilitySynthesizer

    synth = PlausibleDeniabilitySynthesizer(
        metadata_of(declarations), domain=declarations, epsilon=epsilon, delta=delta
    )
    return synth.plan(table_rows=table_rows)


def serve_review(
    options: argparse.Namespace,
    file: DomainFile,
    names: Sequence[str],
    *,
    is_saved: bool,
    learned: Mapping[str, Any],
    lines: Sequence[str],
    document: dict[str, Any],
) -> None:
    """Serve the review page until it is closed."""
    table = ReviewedTable(options.data, names, files.given_format(options, options.data))
    review = Review(file, table, options.output, plan_of, is_saved=is_saved, learned=learned)

    from sdv_plausible.extensions.app.review.review_pages import ReviewPages
    from sdv_plausible.extensions.app.serving.access_guard import AccessGuard
    from sdv_plausible.extensions.app.serving.server import serve
    from sdv_plausible.privacy.noise.keyed_rng import new_token

    def print_address(address: str) -> None:
        print_result(options, [*lines, *serving(address).splitlines()], {**document, "address": address})

    def on_error(error: Exception) -> None:
        if options.debug:
            traceback.print_exception(error)

    def make_application(keys: AccessKeys, host: str, close: Callable[[], object]) -> AccessGuard:
        return AccessGuard(ReviewPages(review, keys, close).application(), keys, host, on_error)

    with suppress(KeyboardInterrupt):
        serve(make_application, print_address, new_token())
    if not options.json:
        saved = "saved" if review.is_saved else "not written: nothing was saved"
        print_line(f"Closed. {options.output} is {saved}.")


def serving(address: str) -> str:
    """Message shown once the pages are served."""
    return (
        f"Open in a browser on this machine: {address}\n"
        "Close it on the page, or here with Ctrl-C. Nothing is kept but what you save."
    )
