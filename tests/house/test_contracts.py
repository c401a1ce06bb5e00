"""The import contracts of pyproject.toml see what they are for: each fails when an import is planted."""

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

# How the contract begins that must say so, and where what is planted, and how: in new modules of a room (planted.py),
# so that hardly a module of today is named here.
PLANTS: list[tuple[str, str, str, str]] = [
    ("One-way road", "privacy", PLAIN, "import sdv_plausible.models.base"),
    ("One-way road", "privacy/accounting", TYPES, "from sdv_plausible.table.columns import domain"),
    ("One-way road", "models", LAZY, "from sdv_plausible import evaluation"),
    ("One-way road", "models", TYPES, "from ..mechanism import drawing"),
    ("One-way road", "sdv", LAZY, "import sdv_plausible.cli.main"),
    ("One-way road", "sdv", LAZY, "from sdv_plausible.extensions.multi_table import families"),
    ("One-way road", "related", LAZY, "from sdv_plausible.sdv import metadata"),
    ("One-way road", "fit", LAZY, "from sdv_plausible.extensions.multi_table import links"),
    ("SDV is", "related", LAZY, "from sdv.metadata import Metadata"),
    ("One-way road", "synthesizer.py", LAZY, "from sdv_plausible.extensions.audit.disclosure import exact"),
    ("One-way road", "attic.py", PLAIN, '"""A module outside the rooms."""'),
    ("One-way road", "declaring", LAZY, "from sdv_plausible.sdv import detection"),
    ("Intervals know", "release/intervals", LAZY, "from sdv_plausible.models import base"),
    ("Intervals and", "release/file", LAZY, "from sdv_plausible.privacy.noise import mechanisms"),
    ("Tables", "table/cells", LAZY, "from sdv_plausible.table.learned import lattice"),
    ("Tables", "table", PLAIN, '"""A module without a floor of its own."""'),
    ("Mechanism", "mechanism/drawing", TYPES, "from sdv_plausible.mechanism import privacy_tests"),
    ("Releases", "release/file", LAZY, "from sdv_plausible.release import attestation"),
    ("Releases", "release/papers", LAZY, "from sdv_plausible.release.file import release"),
    ("Mechanism", "mechanism", PLAIN, '"""A module without a floor of its own."""'),
    ("Releases", "release/intervals", LAZY, "from sdv_plausible.release import signing"),
    ("Releases", "release", PLAIN, '"""A module without a floor of its own."""'),
    ("One-way road", "privacy", LAZY, "import sdv_plausible.queries"),
    ("The privacy core", "privacy/accounting", LAZY, "from sdv_plausible.utils import counting"),
    ("The privacy core", "privacy", PLAIN, "from sdv_plausible.utils.atomic_files import write_whole"),
    ("Accounting", "privacy/noise", LAZY, "import sdv_plausible.privacy.accounting"),
    ("Accounting", "privacy/accounting", TYPES, "from sdv_plausible.privacy import noise"),
    ("Evaluation judges", "evaluation/report", TYPES, "from sdv_plausible.privacy import ledger"),
    ("Evaluation judges", "evaluation", LAZY, "import sdv_plausible.queries"),
    ("Evaluation judges", "evaluation", LAZY, "from sdv_plausible.table.cells import series"),
    ("Audits stand", "audit", LAZY, "import sdv_plausible.sdv"),
    ("Audits stand", "audit", TYPES, "from sdv_plausible.table.columns import domain"),
    ("Audits stand", "audit/attacks", PLAIN, "from sdv_plausible.mechanism import drawing"),
    (
        "Audits: attacks",
        "audit/disclosure",
        LAZY,
        "from sdv_plausible.extensions.audit.attacks import bounds",
    ),
    (
        "Audits: attacks",
        "audit/attacks",
        TYPES,
        "from sdv_plausible.extensions.audit.disclosure import exact",
    ),
    ("Audits: attacks", "audit", PLAIN, '"""A module without a floor of its own."""'),
    (
        "Audits stand",
        "extensions/audit/attacks/white_box.py",
        LAZY,
        "from sdv_plausible.table.columns.domain import Domain",
    ),
    ("No room", "release", LAZY, "from sdv_plausible.extensions.models.paper import paper_network"),
    ("What meets SDV", "sdv", TYPES, "from sdv_plausible.queries.queryable import Queryable"),
    ("What meets SDV", "extensions/models/sdv_copula.py", LAZY, "from sdv_plausible.queries import door"),
    ("Evaluation: ", "evaluation/page", LAZY, "from sdv_plausible.evaluation import report"),
    ("Evaluation: ", "evaluation", PLAIN, '"""A module without a floor of its own."""'),
    ("Evaluation is", "release", LAZY, "import sdv_plausible.evaluation.page"),
    ("Evaluation is", "extensions/audit/results.py", LAZY, "from sdv_plausible.evaluation.page import pages"),
    ("Simulated", "evaluation", LAZY, "import sdv_plausible.datasets"),
    ("SDV is", "privacy", PLAIN, "import sdv"),
    ("SDV is", "cli/main.py", LAZY, "from sdv.metadata import Metadata"),
    ("SDMetrics", "sdv", LAZY, "from sdmetrics.reports import single_table"),
    ("SDMetrics", "privacy", LAZY, "import sklearn.linear_model"),
    ("Processes", "evaluation", LAZY, "import joblib"),
    ("Plotly", "privacy", PLAIN, "from plotly import express"),
    ("Plotly", "audit", LAZY, "import plotly.graph_objects"),
    ("Templates", "release", LAZY, "import jinja2"),
    ("One server", "sdv", LAZY, "import uvicorn"),
    ("One server", "web/app", LAZY, "import uvicorn"),
    ("Pages are", "declaring", LAZY, "from starlette.requests import Request"),
    ("Pages are", "utils", LAZY, "import starlette.responses"),
    ("Templates", "declaring", LAZY, "import jinja2"),
    ("The command line", "commands", LAZY, "from sdv_plausible.extensions.app.pages import pages"),
    ("The command line", "audit", LAZY, "from sdv_plausible.extensions.app import forms"),
    ("Pages: ", "web/review", LAZY, "from sdv_plausible.extensions.app.pages import order"),
    ("Pages: ", "web/serving", TYPES, "from sdv_plausible.extensions.app import forms"),
    ("Pages: ", "web", PLAIN, '"""A module without a floor of its own."""'),
    ("One-way road", "sdv", LAZY, "from sdv_plausible.extensions.app.pages import pages"),
    ("Evaluation is", "web/app", LAZY, "from sdv_plausible.evaluation import report"),
    ("Models", "web/app", LAZY, "import pandas"),
    ("Nobody imports the", "commands", LAZY, "from sdv_plausible.cli import cli"),
    ("Faker", "table", LAZY, "from faker import Faker"),
    ("Code books", "table", LAZY, "import pyreadstat"),
    ("Other frames", "table", LAZY, "import narwhals"),
    ("Arrow", "release", LAZY, "import pyarrow.parquet"),
    ("Progress", "table", LAZY, "import tqdm"),
    ("Engines", "table", LAZY, "import dask.dataframe"),
    ("Engines", "sdv", LAZY, "import pyspark.sql"),
    ("One-way road", "sources", LAZY, "from sdv_plausible.sdv import versions"),
    ("Noise", "models", LAZY, "from sdv_plausible.privacy.noise import mechanisms"),
    ("Noise", "table", LAZY, "from sdv_plausible.privacy.noise.mechanisms import *"),
    ("Noise", "audit", LAZY, "from sdv_plausible.privacy.noise.mechanisms import discrete_laplace"),
    ("Randomness", "models", LAZY, "import secrets"),
    ("Randomness", "release/papers", LAZY, "from cryptography.hazmat.primitives import ciphers"),
    ("Randomness", "privacy/accounting", PLAIN, "import opendp.prelude as dp"),
    ("dp_accounting", "models", LAZY, "from dp_accounting.pld import privacy_loss_distribution"),
    ("The second reading of", "verifying", LAZY, "from sdv_plausible.privacy.accounting import composition"),
    ("The second reading of", "verifying", TYPES, "from sdv_plausible.release.file import documents"),
    ("The second reading of", "verifying", PLAIN, "import sdv_plausible.utils.strict_json"),
    (
        "The second reading is",
        "release",
        LAZY,
        "from sdv_plausible.extensions.verify.independent import totals",
    ),
    ("Models", "privacy", TYPES, "import pandas as pd"),
    ("Models", "models", PLAIN, "import pandas as pd"),
    ("Nobody imports what", "sdv", LAZY, "from rdt.transformers import NullTransformer"),
    ("Nobody imports what", "privacy/noise", PLAIN, "from random import SystemRandom"),
    ("Nobody imports what", "models", PLAIN, "from copulas import multivariate"),
]
CIRCLES = "No circles within a room"
CIRCLE = {
    "sdv_plausible/models/planted.py": "from sdv_plausible.models import planted_too",
    "sdv_plausible/models/planted_too.py": "def planted():\n    import sdv_plausible.models.planted\n",
}


def answers(folder: Path, plants: list[dict[str, str]]) -> list[dict[str, bool]]:
    """What the contracts say of a copy of the package with each plant in turn."""
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
    """What an answer says of the contract of a plant."""
    (verdict,) = (is_kept for name, is_kept in answer.items() if name.startswith(PLANTS[number][0]))
    return verdict


def unseen(numbers: Iterable[int], said: Iterable[dict[str, bool]]) -> list[tuple[str, str, str, str]]:
    """Plants whose contract is kept all the same."""
    return [PLANTS[n] for n, answer in zip(numbers, said, strict=True) if kept(answer, n)]


def test_the_package_keeps_every_contract_and_an_import_against_each_is_seen(tmp_path: Path) -> None:
    """In one process, of one plant of every contract."""
    as_it_is, circle, *said = answers(tmp_path, [{}, CIRCLE, *map(files, FIRST.values())])
    assert all(as_it_is.values()), as_it_is
    assert [
        name for name in as_it_is if not name.startswith((CIRCLES, *FIRST))
    ] == []  # every contract is probed
    assert circle[CIRCLES] is False
    assert unseen(FIRST.values(), said) == []
    assert unseen(FIRST.values(), [as_it_is] * len(FIRST)) == [PLANTS[n] for n in FIRST.values()]  # control


@pytest.mark.slow
def test_every_planted_import_is_seen(tmp_path: Path) -> None:
    others = [n for n in range(len(PLANTS)) if n not in FIRST.values()]
    assert unseen(others, answers(tmp_path, [*map(files, others)])) == []


def names_of_the_package(text: str) -> list[str]:
    """Public names that a module takes from the package itself, where the contracts see no room."""
    asked = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom))
    names = (alias.name for node in asked if node.module == "sdv_plausible" for alias in node.names)
    rooms = {path.stem for path in (ROOT / "sdv_plausible").iterdir()}
    return [name for name in names if name not in rooms]


def test_no_room_asks_the_package_for_a_public_name() -> None:
    """Such a name loads late, from whatever floor. Control: planted ones are seen, modules are none."""
    for path in (ROOT / "sdv_plausible").rglob("*.py"):
        assert names_of_the_package(path.read_text(encoding="utf-8")) == [], path
    for shape in (PLAIN, LAZY, TYPES):
        text = shape.format("from sdv_plausible import Release, rules")
        assert names_of_the_package(text) == ["Release"]


def floors(text: str) -> list[list[str]]:
    """The package's floors, from the layers of its contract or the block on the page, the highest first."""
    lines = (line.split("#")[0].replace('"', "").strip(" ,") for line in text.splitlines())
    return [line.split(" | ") for line in lines if line]


def test_the_page_shows_the_floors_as_the_contract_has_them():
    told = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    page = (ROOT / "docs/explanation/architecture.md").read_text(encoding="utf-8")
    known = floors(told.split('containers = ["sdv_plausible"]')[1].split("layers = [")[1].split("]")[0])
    shown = floors(page.split("as `pyproject.toml` has them:")[1].split("```")[1])
    assert shown == known
    assert (
        floors(page.split("as `pyproject.toml` has them:")[1].split("```")[1].replace("fit\n", "")) != known
    )
    plan = page.split("```\nsdv_plausible/")[1].split("```")[0]
    rooms = re.findall(r"^  (\w+)(?:/|\.py) ", plan, re.MULTILINE)
    height = {room: number for number, floor in enumerate(known) for room in floor}
    assert [height[room] for room in rooms] == sorted(height[room] for room in rooms)


def test_every_library_has_its_place():
    """A library that no contract names has not been thought about: say in one which room may import it."""
    graph = grimp.build_graph("sdv_plausible", include_external_packages=True, cache_dir=None)
    external = {module for module in graph.modules if module.split(".")[0] != "sdv_plausible"}
    named = set(re.findall(r'"(\w+)"', (ROOT / "pyproject.toml").read_text().split("[tool.importlinter]")[1]))
    everywhere = {"numpy", "scipy"}
    assert external - set(sys.stdlib_module_names) - named - everywhere == set()
