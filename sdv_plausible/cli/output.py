"""Output of the commands: results as text or JSON, one-line warnings, emphasis, and progress."""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sdv_plausible.utils.messages import attention_table, translate
from sdv_plausible.utils.text_output import escape_controls

PROGRAM = "sdv-plausible"
_PACKAGE = Path(__file__).parents[1]
_BOLD, _RED, _YELLOW = 1, 31, 33  # codes of terminals
_EMPHASIS = (
    (re.compile("(?:NOT private|  ! ).*", re.MULTILINE), _YELLOW),
    (re.compile("^ *[A-Z][^:\n]{0,40}:$", re.MULTILINE), _BOLD),
)
"""Cautions and headings in an answer."""
TICK = 0.5  # seconds after which the elapsed time is shown anew


def print_result(
    options: argparse.Namespace, words: str | Sequence[str], document: Mapping[str, Any]
) -> None:
    """Print the result: text, or a list of lines, or one JSON object with ``--json``."""
    if not isinstance(words, str):
        words = "\n".join(escape_controls(line, keep="") for line in words)
    answer = json.dumps(_plain(document), indent=1, ensure_ascii=False) if options.json else words
    try:
        answer = escape_controls(answer)
        for pattern, style in () if options.json else _EMPHASIS:
            answer = pattern.sub(_emphasized(r"\g<0>", style, sys.stdout), answer)
        encoded = answer.encode(sys.stdout.encoding or "utf-8", "backslashreplace")
        print(encoded.decode(sys.stdout.encoding or "utf-8"), flush=True)
    except BrokenPipeError:
        raise
    except (OSError, ValueError, AttributeError) as error:  # the work is done and its files are written
        print_to_stderr(f"done, but the answer could not be printed ({type(error).__name__})")


def _emphasized(words: str, style: int, stream: Any) -> str:
    """Emphasize words if the stream is a terminal that has colours, and NO_COLOR is not set."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty()
    return words if is_plain else f"\033[{style}m{words}\033[0m"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of cells as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


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
    """Print this package's warnings on standard error, in a line or a table; hide all others."""
    # SDV's hints on saving metadata do not apply here, and foreign warnings may quote cells.
    printed: set[str] = set()

    def show(message: Warning | str, _: type[Warning], filename: str, *_rest: Any, **_more: Any) -> None:
        notes = getattr(message, "notes", ())
        if len(notes) > 1:  # a table of columns
            text = f"{str(message).splitlines()[0]}\n{attention_table(notes, 'command')}"
        else:
            text = translate(" ".join(str(message).split()), "command")
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
    kind, colon, rest = escape_controls(words).partition(":")
    if colon and kind in ("warning", "error"):
        kind = _emphasized(kind, _RED if kind == "error" else _YELLOW, sys.stderr)
    write(f"{PROGRAM}: {kind}{colon}{rest}", file=sys.stderr)


def print_line(words: str) -> None:
    """Print a line on standard output, before the result."""
    print(escape_controls(words), flush=True)


class ProgressSteps:
    """Progress of a command's steps, shown on a terminal."""

    def __init__(self, bar: Any, names: Sequence[str]) -> None:
        self._bar, self._waiting, self._start = bar, iter(names), 0.0

    def __call__(self) -> None:
        """Begin the next step."""
        self._start = time.monotonic()
        self._bar.set_postfix_str("", refresh=False)
        self._bar.set_description_str(next(self._waiting), refresh=False)
        self._bar.update()
        self._bar.refresh()

    def note(self, words: str) -> None:
        """Show the progress within the step."""
        self._bar.set_postfix_str(words)

    def rows(self, done: int, total: int) -> None:
        """Show the finished rows of the step, and the time left."""
        seconds = (time.monotonic() - self._start) * (total / max(done, 1) - 1)
        self.note(f"{done:,} of {total:,} rows, {self._bar.format_interval(seconds)} left")


@contextmanager
def progress_steps(*names: str) -> Iterator[ProgressSteps]:
    """Show the current step of a command and the elapsed time on a terminal; nothing in a pipe."""
    from tqdm import tqdm

    size, stopped = {"ncols": 79, "nrows": 24}, threading.Event()
    with suppress(OSError, ValueError):  # a terminal without a size has 0 columns and shows no bar
        size["ncols"] = (os.get_terminal_size(sys.stderr.fileno()).columns or 80) - 1
    with tqdm(
        total=len(names), disable=None, leave=False, file=sys.stderr, delay=1e-6, **size,
        bar_format="{desc} (step {n_fmt} of {total_fmt}{postfix}) [{elapsed}]",
    ) as bar:  # fmt: skip

        def tick() -> None:
            while not (bar.disable or stopped.wait(TICK)):
                bar.refresh()

        ticking = threading.Thread(target=tick, daemon=True)
        ticking.start()
        try:
            yield ProgressSteps(bar, names)
        finally:
            stopped.set()
            ticking.join()
