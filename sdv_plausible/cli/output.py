"""Output of the commands: results as text or JSON, one-line warnings, and progress bars."""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sdv_plausible.utils.text_output import escape_controls

PROGRAM = "sdv-plausible"
_PACKAGE = Path(__file__).parents[1]
_OPTIONS = {
    "domain=...": "--domain FILE",
    "domain={": "--domain FILE with {",
    'types="voted"': "--types voted",
    "in RandomizedTest(row_cap=1_000). RandomizedTest.within(rows=1_000, least_rows=20_000) keeps": (
        "in --row-cap 1000. --total 1 --row-cap 1000 --least-rows 20000 keeps"
    ),
    "; RandomizedTest.within makes a test that costs less": "",
    "RandomizedTest.within": "--total",
    "test='release'": "--test release",
    "print(plan())": "sdv-plausible plan",
}
"""Python in messages, and the corresponding command-line options."""


def in_options(text: str) -> str:
    """A message with command-line options in the place of Python arguments."""
    for argument, option in _OPTIONS.items():
        text = text.replace(argument, option)
    return text


def print_result(
    options: argparse.Namespace, words: str | Sequence[str], document: Mapping[str, Any]
) -> None:
    """Print the result: text, or a list of lines, or one JSON object with ``--json``."""
    if not isinstance(words, str):
        words = "\n".join(escape_controls(line, keep="") for line in words)
    answer = json.dumps(_plain(document), indent=1, ensure_ascii=False) if options.json else words
    try:
        encoded = escape_controls(answer).encode(sys.stdout.encoding or "utf-8", "backslashreplace")
        print(encoded.decode(sys.stdout.encoding or "utf-8"), flush=True)
    except BrokenPipeError:
        raise
    except (OSError, ValueError, AttributeError) as error:  # the work is done and its files are written
        print_to_stderr(f"done, but the answer could not be printed ({type(error).__name__})")


def _plain(value: Any) -> Any:
    """Convert to JSON types; JSON has no infinity and no paths."""
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value


@contextmanager
def one_line_warnings() -> Iterator[None]:
    """Print this package's warnings on standard error, one line each; hide all others."""
    # SDV's hints on saving metadata do not apply here, and foreign warnings may quote cells.
    printed: set[str] = set()

    def show(message: Warning | str, _: type[Warning], filename: str, *_rest: Any, **_more: Any) -> None:
        text = in_options(" ".join(str(message).split()))
        if text not in printed and _PACKAGE in Path(filename).parents:
            printed.add(text)
            print_to_stderr(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def print_to_stderr(words: str) -> None:
    """Print a line on standard error."""
    bars = sys.modules.get("tqdm")  # let a progress bar make room for the line
    write: Callable[..., object] = print if bars is None else bars.tqdm.write
    write(escape_controls(f"{PROGRAM}: {words}"), file=sys.stderr)


def print_line(words: str) -> None:
    """Print a line on standard output, before the result."""
    print(escape_controls(words), flush=True)


class ProgressSteps:
    """Progress of a command's steps, shown on a terminal."""

    def __init__(self, bar: Any, names: Sequence[str]) -> None:
        self._bar, self._waiting = bar, iter(names)

    def __call__(self) -> None:
        """Begin the next step."""
        self._bar.set_postfix_str("", refresh=False)
        self._bar.set_description_str(next(self._waiting), refresh=False)
        self._bar.update()
        self._bar.refresh()

    def note(self, words: str) -> None:
        """Show the progress within the step."""
        self._bar.set_postfix_str(words)


@contextmanager
def progress_steps(*names: str) -> Iterator[ProgressSteps]:
    """Show the current step of a command on a terminal; nothing in a pipe."""
    from tqdm import tqdm

    bar_format = "{desc} (step {n_fmt} of {total_fmt}) {bar} {elapsed}{postfix}"
    with tqdm(total=len(names), disable=None, leave=False, file=sys.stderr, bar_format=bar_format) as bar:
        yield ProgressSteps(bar, names)


@contextmanager
def rows_bar(total: int) -> Iterator[Callable[[int], object]]:
    """Show the number of finished rows on a terminal; nothing in a pipe."""
    from tqdm import tqdm

    with tqdm(total=total, unit=" rows", disable=None, leave=False, file=sys.stderr) as bar:
        yield bar.update
