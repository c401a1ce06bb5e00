"""The diffs of CONTRIBUTING.md apply: context lines and removed lines are in the file."""

from __future__ import annotations

import re

from pages import ROOT


def misfits(page: str) -> list[str]:
    """Context lines and removed lines that are not in the file."""
    wrong, there = [], set[str]()
    for block in re.findall(r"```diff\n(.*?)```", page, flags=re.S):
        for line in block.splitlines():
            if line.startswith("--- "):
                there = set((ROOT / line[4:]).read_text().splitlines())
            elif not line.startswith("+") and line[1:] not in there:
                wrong.append(line)
    return wrong


def test_diffs_fit() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    assert page.count("```diff") == 5
    assert misfits(page) == []


def test_planted_a_line_that_has_gone_is_found() -> None:
    page = "```diff\n--- sdv_plausible/cli/main.py\n from __future__ import annotations\n-no such line\n+new\n```"
    assert misfits(page) == ["-no such line"]
