"""All Python and bash blocks of the pages run as written, in order, without warnings.

A block that cannot run has the reason in a hidden comment above it:

    <!-- skip: next "installs packages" -->
    <!-- skip: next if(find_spec("sdgym") is None, reason="SDGym works with SDV 1.38 alone") -->

The fast suite runs three pages with the most used commands, on both versions of SDV. The slow suite runs the others.
SDV_STACK=1 ./dev slow runs all pages on SDV 1.38; LONG_PAGES=1 adds the block that takes three minutes.

A Python block that begins with a file name, `# my_tables.py`, is written to that file and run as a program.
"""

from __future__ import annotations

import os
import re
import runpy
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from unittest import SkipTest

import pytest
from pages import ROOT, Page, all_pages, page_names
from sybil import Document, Example
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser, SkipParser

from sdv_plausible.cli.main import main

LANGUAGES = {"python", "bash"}
FAST = {"README.md", "docs/tutorials/from_a_raw_table.md", "docs/how_to/command_line.md"}
PAGES = [name for name in page_names() if name.startswith(("README.md", "CONTRIBUTING.md", "docs/"))]


def run_python(example: Example) -> None:
    """Run a block in the page's namespace, or as a program if it begins with a file name."""
    file = re.match(r"# (\w+\.py)\n", example.parsed)
    if file is None:
        PythonEvaluator()(example)
    else:
        Path(file[1]).write_text(example.parsed)
        runpy.run_path(file[1], run_name="__main__")


def run_bash(example: Example) -> None:
    """Run a block in a shell that stops at the first failure and finds this environment's programs first.

    A block of our own commands without shell syntax runs in this process, which is faster.
    """
    lines = [shlex.split(line, comments=True) for line in example.parsed.splitlines()]
    is_ours = all(words[:1] in ([], ["sdv-plausible"]) for words in lines)
    if is_ours and not set(r"\$`|&;<>()*?[]{}~") & set(example.parsed):
        for words in filter(None, lines):
            assert main(words[1:]) == 0, f"{example.path}:{example.line}: {words}"
        return
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command, env = ["bash", "-euo", "pipefail", "-c", example.parsed], {**os.environ, "PATH": path}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{example.path}:{example.line}\n{done.stdout}\n{done.stderr}"


def run_page(path: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[str]]:
    """Run a page; return the number of blocks that ran and the reasons of skipped ones. Raise the first error."""
    parsers = (CodeBlockParser("python", run_python), CodeBlockParser("bash", run_bash), SkipParser())
    document = Document.parse(path, *parsers)
    page = ModuleType("page")  # a module, so that objects of the page's classes can be pickled
    page.__dict__.update(find_spec=find_spec, environ=os.environ)
    document.namespace = page.__dict__
    monkeypatch.setitem(sys.modules, "page", page)
    ran, skipped = 0, []
    for example in document.examples():
        is_block = not isinstance(example.parsed, tuple)  # else a skip: ("next", reason)
        assert is_block or example.parsed[1], f"{path}:{example.line}: a block that does not run says why"
        try:
            example.evaluate()
            ran += is_block
        except SkipTest as reason:
            skipped.append(str(reason))
    return ran, skipped


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))  # later blocks import files that a page writes
    return tmp_path


def _blocks(page: Page) -> int:
    return sum(token.type == "fence" and token.info.split(" ")[0] in LANGUAGES for token in page.tokens)


RUNNING = [name for name in PAGES if re.search("```(python|bash)", (ROOT / name).read_text())]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in FAST else [pytest.mark.slow]) for name in RUNNING]
)
@pytest.mark.usefixtures("empty_folder")
@pytest.mark.filterwarnings(
    "ignore:We strongly recommend saving the metadata:UserWarning"
)  # SDV on detected metadata
@pytest.mark.filterwarnings(
    "ignore:The \\w+ table \\w+ report is deprecated:FutureWarning"
)  # SDGym when imported
@pytest.mark.counts
def test_page(name, monkeypatch, capsys):
    ran, skipped = run_page(str(ROOT / name), monkeypatch)
    assert ran + len(skipped) == _blocks(all_pages()[name])  # no block was overlooked
    if name == "README.md":
        assert not_printed(all_pages()[name], printed := capsys.readouterr().out) == []
        planted = Page.parse(name, "```text\nWrote domain.json: 11 columns\nWrote no such file\n```\n")
        assert len(not_printed(planted, printed)) == 1


def not_printed(page: Page, printed: str) -> list[str]:
    """Parts of a page's text blocks that were not printed in this order, whatever their numbers and line breaks."""
    wrong = []
    for token in page.tokens:
        if token.type == "fence" and token.info == "text":
            rest = _plain(printed)
            for part in map(_plain, token.content.split("...\n")):
                _, found, rest = rest.partition(part)
                if not found:
                    wrong.append(part)
    return wrong


def _plain(text: str) -> str:
    return re.sub(r"[\d.,]*\d", "0", " ".join(text.split()))


PROGRAM = "```python\n# my_program.py\nif __name__ == '__main__':\n    raise KeyError\n```\n"
SKIPPED = '<!-- skip: next "why" -->\n\n```bash\nfalse\n```\n\n```bash\nfalse\n```\n'
PLANTED = {
    "an error": ("```python\nx = 1 / 0\n```\n", ZeroDivisionError),
    "a name of a later block": ("```python\nprint(x)\n```\n\n```python\nx = 1\n```\n", NameError),
    "a warning": ("```python\nimport warnings\nwarnings.warn('old')\n```\n", UserWarning),
    "in a list": ("1. First\n\n   ```python\n   raise KeyError\n   ```\n", KeyError),
    "a program": (PROGRAM, KeyError),
    "a command": ("```bash\nsdv-plausible --no-such-option\ntrue\n```\n", AssertionError),
    "after one that is skipped": (SKIPPED, AssertionError),
    "skipped without a reason": ("<!-- skip: next -->\n\n```bash\nfalse\n```\n", AssertionError),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_block_fails(kind, empty_folder, monkeypatch):
    text, error = PLANTED[kind]
    said = "says why" if "without a reason" in kind else None
    page = empty_folder / "planted.md"
    page.write_text(f"# Page\n\n{text}")
    with pytest.raises(error, match=said):
        run_page(str(page), monkeypatch)


def test_no_page_shows_a_claim_on_types_that_were_detected():
    """Detected types depend on the rows: pages with a privacy guarantee use metadata_of(domain)."""
    for name in PAGES:
        for block in re.findall(
            r"```python\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), flags=re.DOTALL
        ):
            detects = "detect_from_dataframes" in block and "PlausibleDeniabilitySynthesizer(" in block
            assert not detects or 'types="detected"' in block, name
