"""The import contracts of pyproject.toml hold, and each fails if a forbidden import is planted."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]

LAZY = "\ndef planted():\n    {}\n"
TYPES = "\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {}\n"
PLAIN = "\n{}\n"

# Start of the contract's name, folder, form of the import, import. A folder gets a new module planted.py, so that the list
# names few existing modules.
PLANTS: list[tuple[str, str, str, str]] = [
    ("Layers", "privacy", PLAIN, "import sdv_plausible.models.base"),
    ("Layers", "privacy/accounting", TYPES, "from sdv_plausible.table.columns import domain"),
    ("Layers", "models", LAZY, "from sdv_plausible import evaluation"),
    ("Layers", "models", TYPES, "from ..mechanism import drawing"),
    ("Layers", "sdv", LAZY, "import sdv_plausible.cli.main"),
    ("Layers", "sdv", LAZY, "from sdv_plausible.extensions.multi_table import relationships"),
    ("Layers", "fitting", LAZY, "from sdv_plausible.extensions.models.paper import paper_network"),
    ("Layers", "cli", LAZY, "import sdv_plausible.extensions.app"),
    ("Layers", "sources", LAZY, "from sdv_plausible.extensions.clusters import dask_source"),
    ("Layers", "table", LAZY, "from sdv_plausible.extensions.codebooks import sql"),
    ("Layers", "synthesizer.py", LAZY, "from sdv_plausible.extensions.audit.disclosure import exact"),
    ("Layers", "attic.py", PLAIN, '"""A module outside the layers."""'),
    ("Layers", "sources", LAZY, "from sdv_plausible.sdv import sdv_versions"),
    ("Layers", "privacy", LAZY, "import sdv_plausible.queries"),
    ("Extensions do not", "extensions/audit", LAZY, "from sdv_plausible.extensions.app import forms"),
    (
        "Extensions do not",
        "extensions/standards",
        LAZY,
        "from sdv_plausible.extensions.verify.independent import totals",
    ),
    ("Extensions do not", "extensions/verify", LAZY, "from sdv_plausible.extensions.models import uniform"),
    ("The privacy core", "privacy/accounting", LAZY, "from sdv_plausible.utils import counting"),
    ("The privacy core", "privacy", PLAIN, "from sdv_plausible.utils.atomic_files import write_atomically"),
    (
        "The independent",
        "extensions/verify/independent",
        LAZY,
        "from sdv_plausible.privacy.accounting import composition",
    ),
    (
        "The independent",
        "extensions/verify/independent",
        TYPES,
        "from sdv_plausible.release.file import json_documents",
    ),
    ("The independent", "extensions/verify/independent", PLAIN, "import sdv_plausible.utils.json_schema"),
    ("Accounting", "privacy/noise", LAZY, "import sdv_plausible.privacy.accounting"),
    ("Accounting", "privacy/accounting", TYPES, "from sdv_plausible.privacy import noise"),
    ("Evaluation compares", "evaluation/report", TYPES, "from sdv_plausible.privacy import ledger"),
    ("Evaluation compares", "evaluation", LAZY, "import sdv_plausible.queries"),
    ("Evaluation compares", "evaluation", LAZY, "from sdv_plausible.table.cells import cell_series"),
    ("Audits use", "extensions/audit", LAZY, "import sdv_plausible.sdv"),
    ("Audits use", "extensions/audit", TYPES, "from sdv_plausible.table.columns import domain"),
    ("Audits use", "extensions/audit/attacks", PLAIN, "from sdv_plausible.mechanism import drawing"),
    ("The core names", "fitting", LAZY, "from sdv_plausible.models.adaptive import adaptive_network"),
    (
        "The core names",
        "extensions/audit",
        LAZY,
        "from sdv_plausible.extensions.models.paper import paper_network",
    ),
    ("The SDV layer", "sdv", TYPES, "from sdv_plausible.queries.queryable import Queryable"),
    (
        "Audits: attacks",
        "extensions/audit/disclosure",
        LAZY,
        "from sdv_plausible.extensions.audit.attacks import bounds",
    ),
    (
        "Audits: attacks",
        "extensions/audit/attacks",
        TYPES,
        "from sdv_plausible.extensions.audit.disclosure import exact",
    ),
    ("Audits: attacks", "extensions/audit", PLAIN, '"""A module outside the layers."""'),
    ("Evaluation: ", "evaluation/page", LAZY, "from sdv_plausible.evaluation import report"),
    ("Evaluation: ", "evaluation", PLAIN, '"""A module outside the layers."""'),
    ("Tables", "table/cells", LAZY, "from sdv_plausible.table.learned import value_grid"),
    ("Tables", "table", PLAIN, '"""A module outside the layers."""'),
    ("Releases", "release/card", LAZY, "from sdv_plausible.release.file import release"),
    ("Releases", "release", PLAIN, '"""A module outside the layers."""'),
    ("Mechanism", "mechanism/drawing", TYPES, "from sdv_plausible.mechanism import privacy_tests"),
    ("Mechanism", "mechanism", PLAIN, '"""A module outside the layers."""'),
    (
        "The app",
        "extensions/app/review",
        LAZY,
        "from sdv_plausible.extensions.app.pages import release_request",
    ),
    ("The app", "extensions/app/serving", TYPES, "from sdv_plausible.extensions.app import forms"),
    ("The app", "extensions/app", PLAIN, '"""A module outside the layers."""'),
    ("Evaluation is", "release", LAZY, "import sdv_plausible.evaluation.page"),
    ("Evaluation is", "extensions/app/pages", LAZY, "from sdv_plausible.evaluation import report"),
    ("Simulated", "evaluation", LAZY, "import sdv_plausible.datasets"),
    ("SDV is", "privacy", PLAIN, "import sdv"),
    ("SDV is", "cli/main.py", LAZY, "from sdv.metadata import Metadata"),
    ("SDV is", "extensions/multi_table", LAZY, "from sdv.metadata import Metadata"),
    ("SDMetrics", "sdv", LAZY, "from sdmetrics.reports import single_table"),
    ("SDMetrics", "privacy", LAZY, "import sklearn.linear_model"),
    ("Only the worker", "evaluation", LAZY, "import joblib"),
    ("Plotly", "privacy", PLAIN, "from plotly import express"),
    ("Plotly", "extensions/audit", LAZY, "import plotly.graph_objects"),
    ("Frames of", "table", LAZY, "import narwhals"),
    ("Arrow", "release", LAZY, "import pyarrow.parquet"),
    ("Excel is", "cli", LAZY, "import openpyxl"),
    ("Data engines", "table", LAZY, "import dask.dataframe"),
    ("Data engines", "sdv", LAZY, "import pyspark.sql"),
    ("Progress", "table", LAZY, "import tqdm"),
    ("Code-book", "table", LAZY, "import pyreadstat"),
    ("Faker", "table", LAZY, "from faker import Faker"),
    ("Templates", "release", LAZY, "import jinja2"),
    ("Starlette", "utils", LAZY, "import starlette.responses"),
    ("One server", "sdv", LAZY, "import uvicorn"),
    ("One server", "extensions/app/pages", LAZY, "import uvicorn"),
    ("Nothing imports the", "cli", LAZY, "from sdv_plausible.cli import main"),
    ("Noise", "models", LAZY, "from sdv_plausible.privacy.noise import mechanisms"),
    ("Noise", "table", LAZY, "from sdv_plausible.privacy.noise.mechanisms import *"),
    (
        "Noise",
        "extensions/audit",
        LAZY,
        "from sdv_plausible.privacy.noise.mechanisms import discrete_laplace",
    ),
    ("Intervals and", "release/file", LAZY, "from sdv_plausible.privacy.noise import mechanisms"),
    ("Intervals depend", "release/intervals", LAZY, "from sdv_plausible.models import base"),
    ("Random numbers", "models", LAZY, "import secrets"),
    ("Random numbers", "extensions/standards", LAZY, "from cryptography.hazmat.primitives import ciphers"),
    ("Random numbers", "privacy/accounting", PLAIN, "import opendp.prelude as dp"),
    ("dp_accounting", "models", LAZY, "from dp_accounting.pld import privacy_loss_distribution"),
    ("Models", "privacy", TYPES, "import pandas as pd"),
    ("Models", "models", PLAIN, "import pandas as pd"),
    ("Nothing imports SDV", "sdv", LAZY, "from rdt.transformers import NullTransformer"),
    ("Nothing imports SDV", "privacy/noise", PLAIN, "from random import SystemRandom"),
    ("Nothing imports SDV", "models", PLAIN, "from copulas import multivariate"),
]
CIRCLES = "No import cycles"
CIRCLE = {
    "sdv_plausible/models/planted.py": "from sdv_plausible.models import planted_too",
    "sdv_plausible/models/planted_too.py": "def planted():\n    import sdv_plausible.models.planted\n",
}


def answers(folder: Path, plants: list[dict[str, str]]) -> list[dict[str, bool]]:
    """Verdicts of the contracts on a copy of the package, for each plant."""
    package, compiled = folder / "sdv_plausible", shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "sdv_plausible", package, ignore=compiled)
    shutil.copy(ROOT / "pyproject.toml", folder)
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("planted_imports.py"))],
        input=json.dumps(plants), cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    said: list[dict[str, bool]] = json.loads(done.stdout)
    return said


FIRST = {contract: number for number, (contract, *_) in reversed([*enumerate(PLANTS)])}


def files(number: int) -> dict[str, str]:
    _, place, shape, text = PLANTS[number]
    place = place if place.endswith(".py") else f"{place}/planted.py"
    return {f"sdv_plausible/{place}": shape.format(text)}


def kept(answer: dict[str, bool], number: int) -> bool:
    """Whether the contract of a plant is kept."""
    (verdict,) = (is_kept for name, is_kept in answer.items() if name.startswith(PLANTS[number][0]))
    return verdict


def unseen(numbers: Iterable[int], said: Iterable[dict[str, bool]]) -> list[tuple[str, str, str, str]]:
    """Plants whose contract is kept."""
    return [PLANTS[n] for n, answer in zip(numbers, said, strict=True) if kept(answer, n)]


def test_the_package_keeps_every_contract_and_an_import_against_each_is_seen(tmp_path: Path) -> None:
    """One plant for each contract, in one process."""
    as_it_is, circle, *said = answers(tmp_path, [{}, CIRCLE, *map(files, FIRST.values())])
    assert all(as_it_is.values()), as_it_is
    assert [
        name for name in as_it_is if not name.startswith((CIRCLES, *FIRST))
    ] == []  # every contract has a plant
    assert circle[CIRCLES] is False
    assert unseen(FIRST.values(), said) == []
    assert unseen(FIRST.values(), [as_it_is] * len(FIRST)) == [PLANTS[n] for n in FIRST.values()]  # control


@pytest.mark.slow
def test_every_planted_import_is_seen(tmp_path: Path) -> None:
    others = [n for n in range(len(PLANTS)) if n not in FIRST.values()]
    assert unseen(others, answers(tmp_path, [*map(files, others)])) == []


def names_of_the_package(text: str) -> list[str]:
    """Public names that a module imports from the package itself, which the contracts do not check."""
    asked = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom))
    names = (alias.name for node in asked if node.module == "sdv_plausible" for alias in node.names)
    packages = {path.stem for path in (ROOT / "sdv_plausible").iterdir()}
    return [name for name in names if name not in packages]


def test_no_room_asks_the_package_for_a_public_name() -> None:
    """Such names load lazily, from any layer. Control: planted names are seen; packages are not reported."""
    for path in (ROOT / "sdv_plausible").rglob("*.py"):
        assert names_of_the_package(path.read_text(encoding="utf-8")) == [], path
    for shape in (PLAIN, LAZY, TYPES):
        text = shape.format("from sdv_plausible import Release, rules")
        assert names_of_the_package(text) == ["Release"]


def floors(text: str) -> list[list[str]]:
    """Layers of the package, highest first, from the contract or from the page."""
    lines = (line.split("#")[0].replace('"', "").strip(" ,") for line in text.splitlines())
    return [line.split(" | ") for line in lines if line]


def test_the_page_shows_the_floors_as_the_contract_has_them():
    told = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    page = (ROOT / "docs/explanation/architecture.md").read_text(encoding="utf-8")
    known = floors(told.split('containers = ["sdv_plausible"]')[1].split("layers = [")[1].split("]")[0])
    shown = floors(page.split("as `pyproject.toml` has them:")[1].split("```")[1])
    assert shown == known
    assert (
        floors(page.split("as `pyproject.toml` has them:")[1].split("```")[1].replace("fitting\n", ""))
        != known
    )


def test_every_library_has_its_place():
    """Every external library is in a contract that states which packages may import it."""
    graph = grimp.build_graph("sdv_plausible", include_external_packages=True, cache_dir=None)
    external = {module for module in graph.modules if module.split(".")[0] != "sdv_plausible"}
    named = set(re.findall(r'"(\w+)"', (ROOT / "pyproject.toml").read_text().split("[tool.importlinter]")[1]))
    everywhere = {"numpy", "scipy"}
    assert external - set(sys.stdlib_module_names) - named - everywhere == set()
