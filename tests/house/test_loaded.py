"""What a fit does not use is not loaded: modules of the package after README's first example, in a fresh process."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from pages import ROOT

# Of modules with code: rooms whose file holds a sentence come on top, 17 of them. 1,700 lines are for levels of learned
# cells, statements without a value set, files that are given, a count first; 150 for limits of what is paid for, 150 for totals of tests.
MODULES, LINES = 171, 30_150
OTHERS = (
    "web", "audit", "commands", "release.intervals.margins", "models.paper", "rules.conditions", "sources.source",
)  # fmt: skip
BY_SDMETRICS = {  # the classes of its entry points, whenever SDV imports it; what computes them is not among these
    "evaluation", "evaluation.metrics", "evaluation.page", "evaluation.report",
    "evaluation.report.plausible_deniability", "evaluation.tables",
}  # fmt: skip
LOADED = "import json, sys; print(json.dumps({m: f.__file__ for m, f in sys.modules.items() if m.startswith('sdv_plausible')}))"


def example() -> str:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (code, *_) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return code.replace("100_000", "5_000").replace("10_000", "500")


PLANTED = "import sdv_plausible.extensions.audit.disclosure.exact, sdv_plausible.evaluation.classifiers"


def loaded(folder: Path) -> list[dict[str, Path]]:
    """File of every module of the package that a program has loaded, and then with what it does not use."""
    code = f"{example()}\n{LOADED}\n{PLANTED}\n{LOADED}"
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, check=True, cwd=folder)
    found = [json.loads(line) for line in done.stdout.splitlines()[-2:]]
    prefix = "sdv_plausible"
    return [{m.removeprefix(prefix).lstrip("."): Path(file) for m, file in one.items()} for one in found]


def faults(found: dict[str, Path]) -> list[str]:
    others = [name for name in found for room in OTHERS if name == room or name.startswith(f"{room}.")]
    others += sorted({name for name in found if name.split(".")[0] == "evaluation"} - BY_SDMETRICS)
    lengths = [len(path.read_text(encoding="utf-8").splitlines()) for path in found.values()]
    lines, modules = sum(lengths), sum(length > 1 for length in lengths)
    too_many = [f"{modules} modules"] * (modules > MODULES) + [f"{lines} lines"] * (lines > LINES)
    return others + too_many


def test_a_fit_loads_what_it_uses(tmp_path: Path) -> None:
    """Planted, what it does not use is seen."""
    used, planted = map(faults, loaded(tmp_path))
    assert used == []
    assert {"audit", "audit.disclosure.exact", "evaluation.game"} <= set(planted)
    assert any(one.endswith(" lines") for one in planted)
