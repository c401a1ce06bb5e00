"""Random numbers are drawn in privacy/noise only; checked in the syntax trees.

The import contracts miss attributes (`np.random`, `os.urandom`, draws of SciPy and pandas) and imports by a name in a
string.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "sdv_plausible"

NOISE = ("privacy/noise",)
SEEDED = ("datasets", "evaluation", "extensions/audit")  # seeded simulation, which protects nobody
BY_NAME = (
    "extensions/audit/audit_command.py",  # the synthesizer to attack
    "utils/lazy_names.py",  # public names that load on first use
    "utils/moved_modules.py",  # old names of modules
)

NUMPY = {"np", "numpy"}
OPERATING_SYSTEM = {"urandom", "getrandom"}
FRAME_SAMPLE = {"n", "frac", "replace", "weights", "random_state"}  # arguments of DataFrame.sample


def _inside(module: str, places: tuple[str, ...]) -> bool:
    return any(module == place or module.startswith(f"{place}/") for place in places)


def _says(node: ast.AST) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Restricted uses of a node, each with the places where it is allowed."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr="random") if name in NUMPY:
            yield "numpy.random", SEEDED
        case ast.Import(names=names) if any(alias.name.startswith("numpy.random") for alias in names):
            yield "numpy.random", SEEDED
        case ast.ImportFrom(module="numpy", names=names) if any(alias.name == "random" for alias in names):
            yield "numpy.random", SEEDED
        case ast.ImportFrom(module=str(module)) if module.startswith("numpy.random"):
            yield "numpy.random", SEEDED
        case ast.Call(
            func=ast.Attribute(attr="default_rng") | ast.Name(id="default_rng"), args=[], keywords=[]
        ):
            yield "default_rng without a seed", ()
        case ast.Attribute(attr=name) if name in OPERATING_SYSTEM:
            yield f"os.{name}", NOISE
        case ast.ImportFrom(module="os", names=names) if OPERATING_SYSTEM & {alias.name for alias in names}:
            yield "os.urandom", NOISE
        case ast.Attribute(attr="rvs"):
            yield "SciPy's draws (rvs)", ()
        case ast.Call(func=ast.Attribute(attr="sample"), keywords=keywords) if FRAME_SAMPLE & {
            k.arg for k in keywords
        }:
            yield "DataFrame.sample", ()
        case ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__"):
            yield "a module imported by a name in a string", BY_NAME
        case ast.Name(id="exec" | "eval"):
            yield "code in a string", ()


def trespasses(module: str, source: str) -> list[str]:
    """Forbidden uses in a module, with line numbers; `module` is a path in the package."""
    return [
        f"{module}:{getattr(node, 'lineno', 0)}: {what}"
        for node in ast.walk(ast.parse(source))
        for what, places in _says(node)
        if not _inside(module, places)
    ]


def test_randomness_is_made_in_the_noise_room():
    modules = {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in PACKAGE.rglob("*.py")}
    assert len(modules) > 50
    assert [said for module, source in modules.items() for said in trespasses(module, source)] == []


PLANTS = {
    "models/a.py": "import numpy as np\ndef f(n):\n    return np.random.normal(size=n)\n",
    "privacy/ledger.py": "import numpy\nrng = numpy.random.default_rng(1)\n",
    "privacy/noise/keyed_rng.py": "import numpy as np\nrng = np.random.default_rng(1)\n",
    "table/a.py": "def f():\n    from numpy import random\n", "table/b.py": "import numpy.random as draws\n",
    "release/a.py": "from numpy.random import default_rng\n",
    "evaluation/a.py": "import numpy as np\nrng = np.random.default_rng()\n",
    "privacy/accounting/a.py": "import os\nkey = os.urandom(32)\n", "extensions/audit/a.py": "from os import urandom\n",
    "privacy/accounting/b.py": "from scipy import stats\nx = stats.norm.rvs(size=3)\n",
    "table/c.py": "def f(table):\n    return table.sample(frac=0.5)\n",
    "models/b.py": "from importlib import import_module\ncoins = import_module('ran' + 'dom')\n",
    "models/c.py": "coins = __import__('secrets')\n", "models/d.py": "exec('import secrets')\n",
}  # fmt: skip


def test_a_planted_draw_is_seen_and_seeded_simulation_and_the_noise_room_are_free():
    assert [module for module, source in PLANTS.items() if not trespasses(module, source)] == []
    seeded = "import numpy as np\ndef f(seed):\n    return np.random.default_rng(seed)\n"
    assert not trespasses("datasets/census.py", seeded)
    assert not trespasses("privacy/noise/keyed_rng.py", "import os\nkey = os.urandom(32)\n")
