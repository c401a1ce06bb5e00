"""Write the tree of packages on docs/explanation/architecture.md, each with its docstring's first line.

python docs/write_tree.py            writes the tree anew; a test compares it with the packages
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/explanation/architecture.md"
BEGIN, END = "```text\nsdv_plausible/\n", "```\n"
WIDTH, DEPTH = 26, 2


def tree(package: Path = ROOT / "sdv_plausible") -> str:
    """One line for each package, indented by its depth, and for each module at the top."""
    lines = []
    places = [
        *(path for path in package.glob("*.py") if path.name != "__init__.py"),
        *package.rglob("*/__init__.py"),
    ]
    for path in sorted(
        places, key=lambda path: (path.parent if path.name == "__init__.py" else path).as_posix()
    ):
        place = path.parent if path.name == "__init__.py" else path
        parts = place.relative_to(package).parts
        if len(parts) > DEPTH:
            continue
        name = "  " * len(parts) + parts[-1] + ("/" if path.name == "__init__.py" else "")
        summary = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n")[0]
        lines.append(f"{name:<{WIDTH}}{summary}\n")
    return "".join(lines)


def parts(page: str) -> tuple[str, str, str]:
    """The page before, in and after the tree."""
    before, rest = page.split(BEGIN)
    shown, after = rest.split(END, 1)
    return before + BEGIN, shown, END + after


if __name__ == "__main__":
    before, _, after = parts(PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(before + tree() + after, encoding="utf-8")
