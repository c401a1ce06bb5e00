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

ROAD = "One-way road: every room has its floor, and imports from floors below only"
CORE = "The privacy core imports no other room"
APART = "Accounting draws nothing, noise accounts for nothing"
JUDGE = "Evaluation judges tables: it knows no mechanism, and nothing of codes"
AUDIT = "Audits stand beside what they audit: models, the door and the privacy core"
TWO_AUDITS = (
    "Audits: attacks on real tables and exact disclosure of small mechanisms know nothing of each other"
)
LEARNERS = "No room names one learner: what it must know of any, the base says"
FACE = "What meets SDV asks nothing of rows: its copula alone, a learner, is handed their door by the fit"
JUDGED_BY = "Evaluation is imported by the command line, the app and, for plots, by the synthesizer"
SIMULATED = "Simulated tables are for the demo"
SDV = "SDV is imported in the sdv room alone"
SCORES = "SDMetrics and scikit-learn are evaluation's"
FIGURES = "Plotly draws for evaluation and for audits"
COINS = "Randomness is drawn in the noise room alone"
LOSSES = "dp_accounting is the accounting room's, and the second reading's"
SECOND = "The second reading of release files shares no code with the program"
ASKED = "The second reading is asked by what checks a release of somebody else"
CODES = "Models, questions, exact audits and the privacy core know codes, not data frames"
NOBODY = "Nobody imports what stands behind SDV, nor coins that can be guessed"
WITHIN = "Evaluation: the report over its page over the measures"
TEMPLATES = (
    "Templates are for pages: fragments makes those of every room but the ledger, which imports no other"
)
PAGES = "Pages are of one room: the review of declarations and the app, by one server"
SERVER = "One server serves all pages, on this machine alone"
STARTED = "Nobody imports the command line"
OPENED = "The command line alone opens the app and the review page"
STEPS = "Pages: the app over the review page, which is one of its steps, over forms and the server"
FAKER = "Faker invents what a release file without SDV does not hold"
BOOKS = "Code books are read where declarations are made"
FRAMES = "Other frames become pandas where SDV is met"
ARROW = "Arrow is for files: where tables are read, and where rows are written in parts"
ENGINES = "Engines that hold tables are met where tables stay where they are"
PROGRESS = "Progress is shown where tables are read in parts, and on the command line"
NOISE = "Noise is added at the door to the rows and in the privacy tests"
ANSWERS = "Intervals know no model, and nothing of files"
AS_THEY_ARE = "Intervals and release files take answers as they are"
TABLES = "Tables: from cells to columns, to what is learned and declared of them, to files and codes"
RELEASES = (
    "Releases: from intervals and signatures to papers and what is drawn anew, to the file, to its statement"
)
MECHANISM = "Mechanism: privacy tests over who draws the rows"
CREW = "Processes that count parts are the crew's"
CIRCLES = "No circles within a room"

LAZY = "\ndef planted():\n    {}\n"
TYPES = "\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {}\n"
PLAIN = "\n{}\n"

# The contract that must say so, and what is planted, where and how: in new modules of a room (planted.py), so
# that hardly a module of today is named here.
PLANTS: list[tuple[str, str, str, str]] = [
    (ROAD, "privacy/planted.py", PLAIN, "import sdv_plausible.models.base"),
    (ROAD, "privacy/accounting/planted.py", TYPES, "from sdv_plausible.table.columns import domain"),
    (ROAD, "models/planted.py", LAZY, "from sdv_plausible import evaluation"),
    (ROAD, "models/planted.py", TYPES, "from ..mechanism import drawing"),
    (ROAD, "sdv/planted.py", LAZY, "import sdv_plausible.commands.cli"),
    (ROAD, "sdv/planted.py", LAZY, "from sdv_plausible.related import families"),
    (ROAD, "related/planted.py", LAZY, "from sdv_plausible.sdv import metadata"),
    (ROAD, "fit/planted.py", LAZY, "from sdv_plausible.related import links"),
    (SDV, "related/planted.py", LAZY, "from sdv.metadata import Metadata"),
    (ROAD, "synthesizer.py", LAZY, "from sdv_plausible.audit.disclosure import exact"),
    (ROAD, "attic.py", PLAIN, '"""A module outside the rooms."""'),
    (ROAD, "declaring/planted.py", LAZY, "from sdv_plausible.sdv import detection"),
    (ANSWERS, "release/intervals/planted.py", LAZY, "from sdv_plausible.models import base"),
    (AS_THEY_ARE, "release/file/planted.py", LAZY, "from sdv_plausible.privacy.noise import mechanisms"),
    (TABLES, "table/cells/planted.py", LAZY, "from sdv_plausible.table.learned import lattice"),
    (TABLES, "table/planted.py", PLAIN, '"""A module without a floor of its own."""'),
    (MECHANISM, "mechanism/drawing/planted.py", TYPES, "from sdv_plausible.mechanism import privacy_tests"),
    (RELEASES, "release/file/planted.py", LAZY, "from sdv_plausible.release import attestation"),
    (RELEASES, "release/papers/planted.py", LAZY, "from sdv_plausible.release.file import release"),
    (MECHANISM, "mechanism/planted.py", PLAIN, '"""A module without a floor of its own."""'),
    (RELEASES, "release/intervals/planted.py", LAZY, "from sdv_plausible.release import signing"),
    (RELEASES, "release/planted.py", PLAIN, '"""A module without a floor of its own."""'),
    (ROAD, "privacy/planted.py", LAZY, "import sdv_plausible.questions"),
    (CORE, "privacy/accounting/planted.py", LAZY, "from sdv_plausible.utils import counting"),
    (CORE, "privacy/planted.py", PLAIN, "from sdv_plausible.utils.whole_files import write_whole"),
    (APART, "privacy/noise/planted.py", LAZY, "import sdv_plausible.privacy.accounting"),
    (APART, "privacy/accounting/planted.py", TYPES, "from sdv_plausible.privacy import noise"),
    (JUDGE, "evaluation/report/planted.py", TYPES, "from sdv_plausible.privacy import ledger"),
    (JUDGE, "evaluation/planted.py", LAZY, "import sdv_plausible.questions"),
    (JUDGE, "evaluation/planted.py", LAZY, "from sdv_plausible.table.cells import series"),
    (AUDIT, "audit/planted.py", LAZY, "import sdv_plausible.sdv"),
    (AUDIT, "audit/planted.py", TYPES, "from sdv_plausible.table.columns import domain"),
    (AUDIT, "audit/attacks/planted.py", PLAIN, "from sdv_plausible.mechanism import drawing"),
    (TWO_AUDITS, "audit/disclosure/planted.py", LAZY, "from sdv_plausible.audit.attacks import bounds"),
    (TWO_AUDITS, "audit/attacks/planted.py", TYPES, "from sdv_plausible.audit.disclosure import exact"),
    (TWO_AUDITS, "audit/planted.py", PLAIN, '"""A module without a floor of its own."""'),
    (AUDIT, "audit/attacks/white_box.py", LAZY, "from sdv_plausible.table.columns.domain import Domain"),
    (LEARNERS, "release/planted.py", LAZY, "from sdv_plausible.models.paper import paper_network"),
    (FACE, "sdv/planted.py", TYPES, "from sdv_plausible.questions.queryable import Queryable"),
    (FACE, "sdv/copula.py", LAZY, "from sdv_plausible.questions import door"),
    (WITHIN, "evaluation/page/planted.py", LAZY, "from sdv_plausible.evaluation import report"),
    (WITHIN, "evaluation/planted.py", PLAIN, '"""A module without a floor of its own."""'),
    (JUDGED_BY, "release/planted.py", LAZY, "import sdv_plausible.evaluation.page"),
    (JUDGED_BY, "audit/results.py", LAZY, "from sdv_plausible.evaluation.page import pages"),
    (SIMULATED, "evaluation/planted.py", LAZY, "import sdv_plausible.datasets"),
    (SDV, "privacy/planted.py", PLAIN, "import sdv"),
    (SDV, "commands/cli.py", LAZY, "from sdv.metadata import Metadata"),
    (SCORES, "sdv/planted.py", LAZY, "from sdmetrics.reports import single_table"),
    (SCORES, "privacy/planted.py", LAZY, "import sklearn.linear_model"),
    (CREW, "evaluation/planted.py", LAZY, "import joblib"),
    (FIGURES, "privacy/planted.py", PLAIN, "from plotly import express"),
    (FIGURES, "audit/planted.py", LAZY, "import plotly.graph_objects"),
    (TEMPLATES, "release/planted.py", LAZY, "import jinja2"),
    (SERVER, "sdv/planted.py", LAZY, "import uvicorn"),
    (SERVER, "web/app/planted.py", LAZY, "import uvicorn"),
    (PAGES, "declaring/planted.py", LAZY, "from starlette.requests import Request"),
    (PAGES, "utils/planted.py", LAZY, "import starlette.responses"),
    (TEMPLATES, "declaring/planted.py", LAZY, "import jinja2"),
    (OPENED, "commands/planted.py", LAZY, "from sdv_plausible.web.app import pages"),
    (OPENED, "audit/planted.py", LAZY, "from sdv_plausible.web import forms"),
    (STEPS, "web/review/planted.py", LAZY, "from sdv_plausible.web.app import order"),
    (STEPS, "web/serving/planted.py", TYPES, "from sdv_plausible.web import forms"),
    (STEPS, "web/planted.py", PLAIN, '"""A module without a floor of its own."""'),
    (ROAD, "sdv/planted.py", LAZY, "from sdv_plausible.web.app import pages"),
    (JUDGED_BY, "web/app/planted.py", LAZY, "from sdv_plausible.evaluation import report"),
    (CODES, "web/app/planted.py", LAZY, "import pandas"),
    (STARTED, "commands/planted.py", LAZY, "from sdv_plausible.commands import cli"),
    (FAKER, "table/planted.py", LAZY, "from faker import Faker"),
    (BOOKS, "table/planted.py", LAZY, "import pyreadstat"),
    (FRAMES, "table/planted.py", LAZY, "import narwhals"),
    (ARROW, "release/planted.py", LAZY, "import pyarrow.parquet"),
    (PROGRESS, "table/planted.py", LAZY, "import tqdm"),
    (ENGINES, "table/planted.py", LAZY, "import dask.dataframe"),
    (ENGINES, "sdv/planted.py", LAZY, "import pyspark.sql"),
    (ROAD, "sources/planted.py", LAZY, "from sdv_plausible.sdv import versions"),
    (NOISE, "models/planted.py", LAZY, "from sdv_plausible.privacy.noise import mechanisms"),
    (NOISE, "table/planted.py", LAZY, "from sdv_plausible.privacy.noise.mechanisms import *"),
    (NOISE, "audit/planted.py", LAZY, "from sdv_plausible.privacy.noise.mechanisms import discrete_laplace"),
    (COINS, "models/planted.py", LAZY, "import secrets"),
    (COINS, "release/papers/planted.py", LAZY, "from cryptography.hazmat.primitives import ciphers"),
    (COINS, "privacy/accounting/planted.py", PLAIN, "import opendp.prelude as dp"),
    (LOSSES, "models/planted.py", LAZY, "from dp_accounting.pld import privacy_loss_distribution"),
    (SECOND, "verifying/planted.py", LAZY, "from sdv_plausible.privacy.accounting import composition"),
    (SECOND, "verifying/planted.py", TYPES, "from sdv_plausible.release.file import documents"),
    (SECOND, "verifying/planted.py", PLAIN, "import sdv_plausible.utils.strict_json"),
    (ASKED, "release/planted.py", LAZY, "from sdv_plausible.verifying import totals"),
    (CODES, "privacy/planted.py", TYPES, "import pandas as pd"),
    (CODES, "models/planted.py", PLAIN, "import pandas as pd"),
    (NOBODY, "sdv/planted.py", LAZY, "from rdt.transformers import NullTransformer"),
    (NOBODY, "privacy/noise/planted.py", PLAIN, "from random import SystemRandom"),
    (NOBODY, "models/planted.py", PLAIN, "from copulas import multivariate"),
]
CIRCLE = {
    "sdv_plausible/models/planted.py": "from sdv_plausible.models import planted_too",
    "sdv_plausible/models/planted_too.py": "def planted():\n    import sdv_plausible.models.planted\n",
}


def answers(folder: Path, plants: list[dict[str, str]]) -> list[dict[str, bool]]:
    """What the contracts say of a copy of the package with each plant in turn."""
    shutil.copytree(
        ROOT / "sdv_plausible", folder / "sdv_plausible", ignore=shutil.ignore_patterns("__pycache__")
    )
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
    return {f"sdv_plausible/{place}": shape.format(text)}


def unseen(numbers: Iterable[int], said: Iterable[dict[str, bool]]) -> list[tuple[str, str, str, str]]:
    """Plants whose contract is kept all the same."""
    return [PLANTS[n] for n, answer in zip(numbers, said, strict=True) if answer[PLANTS[n][0]]]


def test_the_package_keeps_every_contract_and_an_import_against_each_is_seen(tmp_path: Path) -> None:
    """In one process, of one plant of every contract."""
    as_it_is, circle, *said = answers(tmp_path, [{}, CIRCLE, *map(files, FIRST.values())])
    assert all(as_it_is.values()), as_it_is
    assert set(as_it_is) == {CIRCLES, *FIRST}  # every contract is probed
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
