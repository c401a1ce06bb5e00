"""README's first example loads only the modules that it uses; measured in a new process."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from pages import ROOT

# Limits for the modules of the package that are loaded; a module of one line (a package with a docstring) is not counted.
MODULES, LINES = 122, 28_100
OTHERS = (
    "cli",
    "extensions",
    "sources",
    "release.intervals.margins",
    "rules.conditions",
)  # must not be loaded
# SDMetrics loads the classes of its entry points. The modules that compute them are not loaded.
BY_SDMETRICS = {
    "evaluation", "evaluation.metrics", "evaluation.page", "evaluation.report", "evaluation.report.report",
    "evaluation.table_pair",
}  # fmt: skip
LOADED = "import json, sys; print(json.dumps({m: f.__file__ for m, f in sys.modules.items() if m.startswith('sdv_plausible')}))"


def example() -> str:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (code, *_) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return code.replace("100_000", "5_000").replace("10_000", "500")


PLANTED = "import sdv_plausible.extensions.audit.disclosure.exact, sdv_plausible.evaluation.classifiers"


def loaded(folder: Path) -> list[dict[str, Path]]:
    """Files of the loaded modules, by name: after the example, and after unused modules are imported too."""
    code = f"{example()}\n{LOADED}\n{PLANTED}\n{LOADED}"
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, check=True, cwd=folder)
    found = [json.loads(line) for line in done.stdout.splitlines()[-2:]]
    prefix = "sdv_plausible"
    return [{m.removeprefix(prefix).lstrip("."): Path(file) for m, file in one.items()} for one in found]


def faults(found: dict[str, Path]) -> list[str]:
    others = [name for name in found for other in OTHERS if f"{name}.".startswith(f"{other}.")]
    others += sorted({name for name in found if name.split(".")[0] == "evaluation"} - BY_SDMETRICS)
    lengths = [len(path.read_text(encoding="utf-8").splitlines()) for path in found.values()]
    lines, modules = sum(lengths), sum(length > 1 for length in lengths)
    too_many = [f"{modules} modules"] * (modules > MODULES) + [f"{lines} lines"] * (lines > LINES)
    return others + too_many


def test_a_fit_loads_what_it_uses(tmp_path: Path) -> None:
    """Control: planted imports are reported."""
    used, planted = map(faults, loaded(tmp_path))
    assert used == []
    assert {"extensions.audit", "extensions.audit.disclosure.exact", "evaluation.classifiers"} <= set(planted)
    assert any(one.endswith(" lines") for one in planted)
