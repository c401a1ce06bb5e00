"""What a command says: an answer for people or programs, warnings in a line each, progress on a terminal."""

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

from sdv_plausible.utils.printable import visible

PROGRAM = "sdv-plausible"
_PACKAGE = Path(__file__).parents[1]
_OPTIONS = {
    "domain=...": "--domain FILE",
    "domain={": "--domain FILE with {",
    'types="voted"': "--types voted",
}
"""Arguments that warnings name as in Python, and the options of commands."""


def say(options: argparse.Namespace, words: str | Sequence[str], document: Mapping[str, Any]) -> None:
    """Print the answer: words, of which a list holds lines, or with ``--json`` one JSON object."""
    if not isinstance(words, str):
        words = "\n".join(visible(line, keep="") for line in words)
    answer = json.dumps(_plain(document), indent=1, ensure_ascii=False) if options.json else words
    try:
        coded = visible(answer).encode(sys.stdout.encoding or "utf-8", "backslashreplace")
        print(coded.decode(sys.stdout.encoding or "utf-8"), flush=True)
    except BrokenPipeError:
        raise
    except (OSError, ValueError, AttributeError) as error:  # the work is done, and what it wrote is there
        to_holder(f"done, but the answer could not be printed ({type(error).__name__})")


def _plain(value: Any) -> Any:
    """JSON has no infinity, and no paths."""
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value


@contextmanager
def warnings_in_lines() -> Iterator[None]:
    """Show this package's warnings in one line each, on standard error, and those of others not at all."""
    # SDV's hints on saving metadata are not for this audience, and what others say of rows may quote cells.
    said: set[str] = set()

    def show(message: Warning | str, _: type[Warning], filename: str, *_rest: Any, **_more: Any) -> None:
        text = " ".join(str(message).split())
        for argument, option in _OPTIONS.items():
            text = text.replace(argument, option)
        if text not in said and _PACKAGE in Path(filename).parents:
            said.add(text)
            to_holder(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def to_holder(words: str) -> None:
    """Print a line on standard error, which is for whoever holds the table."""
    bars = sys.modules.get("tqdm")  # a bar on the terminal makes room for it
    write: Callable[..., object] = print if bars is None else bars.tqdm.write
    write(visible(f"{PROGRAM}: {words}"), file=sys.stderr)


def show(words: str) -> None:
    """Print a line on standard output, beside the answer."""
    print(visible(words), flush=True)


class ProgressSteps:
    """The step that a command is at, on a terminal."""

    def __init__(self, bar: Any, names: Sequence[str]) -> None:
        self._bar, self._waiting = bar, iter(names)

    def __call__(self) -> None:
        """Begin one."""
        self._bar.set_postfix_str("", refresh=False)
        self._bar.set_description_str(next(self._waiting), refresh=False)
        self._bar.update()
        self._bar.refresh()

    def note(self, words: str) -> None:
        """Say how far it is."""
        self._bar.set_postfix_str(words)


@contextmanager
def steps(*names: str) -> Iterator[ProgressSteps]:
    """Show on a terminal which step a command is at; nothing in a pipe."""
    from tqdm import tqdm

    form = "{desc} (step {n_fmt} of {total_fmt}) {bar} {elapsed}{postfix}"
    with tqdm(total=len(names), disable=None, leave=False, file=sys.stderr, bar_format=form) as bar:
        yield ProgressSteps(bar, names)


@contextmanager
def rows_bar(total: int) -> Iterator[Callable[[int], object]]:
    """Show on a terminal how many rows there are; nothing in a pipe."""
    from tqdm import tqdm

    with tqdm(total=total, unit=" rows", disable=None, leave=False, file=sys.stderr) as bar:
        yield bar.update
