"""Texts of foreign documents attack every place that shows or uses them, and nothing comes of it.

What a text may do is judged by what a harmless text of the same place leads to: the same elements on a page, the
same lines on a terminal, the same entries in JSON and YAML. An audit hook of Python hears which files are opened,
which modules are imported and which programs are started meanwhile.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from markdown_it import MarkdownIt

from tests.hostile import TEXTS, TOGETHER
from tests.hostile_places import PLACES, Shown, Steps

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
MOST_SECONDS = 20.0  # of the processor, for one text at one place: some are fits' worth of work
VERDICT = re.compile(r".+: (ok|refused|not checkable): ")
FORBIDDEN = ("nowhere", "victim", "PWNED", "hostile_module")
OWN_ELEMENTS = {
    "a", "body", "button", "code", "details", "div", "em", "fieldset", "form", "h1", "h2", "h3", "head", "header", "html", "input",
    "label", "legend", "li", "link", "main", "meta", "nav", "ol", "option", "p", "pre", "script", "section", "select", "span",
    "dd", "dl", "dt", "summary", "table", "tbody", "td", "textarea", "th", "thead", "title", "tr", "ul",
}  # fmt: skip
"""Elements of the app's templates: no picture, no style and nothing else is among them."""


class Elements(HTMLParser):
    """Elements of a page with the names of their attributes, in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.comments = 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.found.append((tag, tuple(name for name, _ in attributes)))

    def handle_comment(self, data: str) -> None:
        self.comments += 1


Event = tuple[str, str, bool]
HEARD: list[Event] = []
_LISTENING: list[bool] = []
_STARTS = ("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "socket.connect", "webbrowser.open")
_TOLD = {"open", "import", "os.rename", "os.remove", "os.mkdir", "os.link", *_STARTS}


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if not _LISTENING or event not in _TOLD:
        return
    is_opened = event == "open"
    flags = arguments[2] if is_opened and isinstance(arguments[2], int) else 0
    is_written = event.startswith("os.") or bool(is_opened and flags & (os.O_WRONLY | os.O_RDWR))
    for what in arguments[: 2 if event in ("os.rename", "os.link") else 1]:
        is_path = isinstance(what, (str, bytes, os.PathLike))
        HEARD.append((event, os.fsdecode(what) if is_path else "", is_written))


sys.addaudithook(_hear)


@contextmanager
def heard() -> Iterator[list[Event]]:
    """What Python opens, imports and starts meanwhile."""
    HEARD.clear()
    _LISTENING.append(True)
    try:
        yield HEARD
    finally:
        _LISTENING.clear()


def is_fault(event: Event, folder: Path) -> bool:
    """Whether what Python did is none of what a place may do: it reads its program, and writes into its folder."""
    kind, what, is_written = event
    if kind in _STARTS:
        return True
    if kind != "import":
        if Path(os.path.realpath(what)).is_relative_to(os.path.realpath(folder)) or "__pycache__" in what:
            return False
        if is_written and what not in ("", os.devnull):
            return True
    return any(word in what for word in FORBIDDEN)


def faults(shown: Shown, harmless: Shown | None) -> Iterator[str]:
    """What is wrong with what was shown."""
    if found := CONTROL.search(shown.beside):
        yield f"standard error is sent {found[0]!r}"
    if shown.kind in ("terminal", "verdict", "refusal"):
        if found := CONTROL.search(shown.text.replace("\r\n", "\n")):
            yield f"a terminal is sent {found[0]!r}"
        strange = [line for line in shown.text.partition("\n\n")[0].splitlines() if not VERDICT.match(line)]
        if shown.kind == "verdict" and strange:
            yield f"no verdicts: {strange[:3]}"
        if shown.kind == "terminal" and harmless and shown.text.count("\n") != harmless.text.count("\n"):
            yield f"{shown.text.count(chr(10))} lines instead of {harmless.text.count(chr(10))}"
        if shown.kind == "refusal" and shown.text.count("\n") != 1:
            yield f"a refusal in {shown.text.count(chr(10))} lines"
    elif shown.kind in ("page", "form"):
        elements = Elements(shown.text)
        if shown.kind == "form":  # whose answer may be another page
            if other := {tag for tag, _ in elements.found} - OWN_ELEMENTS:
                yield f"foreign elements: {sorted(other)}"
            if any(tag == "script" and "src" not in names for tag, names in elements.found):
                yield "a foreign script"
        elif harmless is not None and elements.found != Elements(harmless.text).found:
            yield f"other elements: {sorted({*elements.found} - {*Elements(harmless.text).found})}"
        if any(name.startswith("on") for _, names in elements.found for name in names):
            yield "an attribute that runs a script"
        if shown.kind == "page" and (found := CONTROL.search(shown.text.replace("\r", ""))):
            yield f"a page holds {found[0]!r}"
    elif shown.kind == "picture":
        ElementTree.fromstring(shown.text)
        if found := CONTROL.search(shown.text):
            yield f"a picture holds {found[0]!r}"
    elif shown.kind == "json":
        document = json.loads(shown.text)
        if harmless is not None and {*document} != {*json.loads(harmless.text)}:
            yield "other entries of JSON"
    elif shown.kind == "yaml":
        document = yaml.safe_load(shown.text)
        if harmless is not None and names_of(document) != names_of(yaml.safe_load(harmless.text)):
            yield "other entries of YAML"
    elif shown.kind == "markdown":
        if CONTROL.search(shown.text):
            yield "control characters in Markdown"
        if harmless is not None and shown.text.count("\n") != harmless.text.count("\n"):
            yield "other lines of Markdown"
        tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(shown.text)
        for token in (inner for outer in tokens for inner in (outer, *(outer.children or ()))):
            if token.type in ("html_inline", "html_block", "image", "fence", "code_inline"):
                yield f"{token.type} in Markdown"
            if token.type == "link_open" and not str(token.attrs["href"]).startswith("docs/"):
                yield f"a foreign link in Markdown: {token.attrs}"
    elif shown.kind == "name":
        is_plain = len(Path(shown.text).parts) == 1 and shown.text.isprintable() and len(shown.text) <= 100
        if not is_plain or shown.text.startswith("."):
            yield "no harmless name of a file"
    if "62615533" in shown.text:
        yield "a template was run"


def names_of(document: Any) -> Any:
    """Names of the entries of a document, at every depth."""
    return {name: names_of(inner) for name, inner in document.items()} if isinstance(document, dict) else None


def fed(place: str, text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Steps, list[str]]:
    """What a place shows of a text, and what else went wrong there."""
    work = folder / "work"
    work.mkdir(parents=True)
    (folder / "victim").mkdir()
    (folder / "victim" / "people.csv").write_text("precious")
    monkeypatch.chdir(work)
    monkeypatch.setattr(tempfile, "tempdir", str(work))
    begun = time.process_time()
    with heard() as events, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        shown = PLACES[place](text, work)
    wrong = [f"{event[0]}: {event[1]:.120}" for event in events if is_fault(event, work)]
    odd = [one.message for one in warned if CONTROL.search(str(one.message))]
    wrong += [f"a warning holds a control character: {message!r}" for message in odd]
    if (seconds := time.process_time() - begun) > MOST_SECONDS:
        wrong.append(f"it took {seconds:.0f} seconds")
    found = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    outside = {path: content for path, content in found.items() if not path.startswith(f"{work}{os.sep}")}
    if outside != {str(folder / "victim" / "people.csv"): b"precious"}:
        wrong.append(f"files outside its folder: {[*outside]}")
    if any(path.name == "PWNED" for path in work.rglob("*")):
        wrong.append("a shell ran")
    return shown, wrong


def check(place: str, texts: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Everything that is wrong at a place, text by text."""
    found = list[str]()
    harmless, wrong = fed(place, "harmless", folder / "harmless", monkeypatch)
    found += [f"harmless: {one}" for one in wrong]
    for number, name in enumerate(texts):
        shown, wrong = fed(place, TEXTS[name], folder / str(number), monkeypatch)
        for step, plain in zip(shown, harmless, strict=True):
            alike = [one.kind for one in step] == [one.kind for one in plain]
            for one, other in zip(step, plain if alike else [None] * len(step), strict=True):
                wrong += [f"{fault} ({one.text[:80]!r})" for fault in faults(one, other)]
        found += [f"{name}: {one}" for one in dict.fromkeys(wrong)]
    return found


@pytest.mark.parametrize("place", PLACES)
def test_no_text_of_a_document_does_anything(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check(place, ["all of them"], tmp_path, monkeypatch) == []


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_no_single_text_does_anything(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts that a place takes alone, though it refuses all of them together; those of one kind are one text."""
    texts = [name for name in TEXTS if name not in ("all of them", *TOGETHER)]
    assert check(place, texts, tmp_path, monkeypatch) == []
