"""Another package's learner, command, source and code-book reader work like the built-in ones."""

from __future__ import annotations

import os
import subprocess
import sys
from textwrap import dedent

import pytest

ENTRY_POINTS = """
[sdv_plausible.extensions]
learner.toy = toy_package.learner:Toy
learner.paper = toy_package.learner:Toy
model.toy = toy_package.learner
command.hello = toy_package.hello
source.toys = toy_package.source:TOYS
codebook.toy = toy_package.book:READER
"""
LEARNER = """
from dataclasses import dataclass

import numpy as np

from sdv_plausible.extensions.models.uniform import Uniform
from sdv_plausible.models.model_types import register_model_type
from sdv_plausible.models.bayesian_network import BayesianNetwork


@dataclass(frozen=True)
class Toy(Uniform):
    size: int = 3
"""
HELLO = """
from sdv_plausible.cli.output import print_result

PURPOSE = "say hello"


def add_options(command):
    command.add_argument("name")


def run(options):
    print_result(options, f"Hello {options.name}", {"name": options.name})
"""
SOURCE = """
import pandas as pd

from sdv_plausible.sources.source import FrameSource, SourceType


class Toy:
    frame = pd.DataFrame({"a": ["x", "y"] * 500})


TOYS = SourceType("toys", lambda data: isinstance(data, Toy), lambda data, types, rows: FrameSource(data.frame, rows))
"""
BOOK = """
from sdv_plausible.table.declared.codebook import Codebook, CodebookReader

READER = CodebookReader(lambda path: Codebook(columns={"a": {"sdtype": "id"}}), endings=(".toy",))
"""
PROGRAM = """
from sdv_plausible import fit_source, verify
from sdv_plausible.models import NAMES, make_learner
from sdv_plausible.table.declared.codebook import read_codebook
from toy_package.learner import Toy
from toy_package import source

assert isinstance(make_learner("toy"), Toy) and NAMES.count("paper") == 1
assert not isinstance(make_learner("paper"), Toy)  # a built-in name keeps its meaning
release = fit_source(source.Toy(), {"a": {"sdtype": "categorical", "range_values": ["x", "y"]}}, model="toy")
assert set(release.sample(20)["a"]) <= {"x", "y"}
release.save("toy.release")
assert verify("toy.release").refused == ()  # the file names no learner of another package
assert read_codebook("b.toy").columns["a"]["sdtype"] == "id"
print("done")
"""


@pytest.fixture
def environment(tmp_path):
    package, info = tmp_path / "toy_package", tmp_path / "toy_package-1.0.dist-info"
    for folder in (package, info):
        folder.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    texts = {"__init__": "", "learner": LEARNER, "hello": HELLO, "source": SOURCE, "book": BOOK}
    for name, text in texts.items():
        (package / f"{name}.py").write_text(text)
    (tmp_path / "b.toy").write_text("")
    return {**os.environ, "PYTHONPATH": str(tmp_path)}


def run(tmp_path, environment, *command):
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, cwd=tmp_path, env=environment, check=True
    ).stdout


def test_learner_source_and_code_book(tmp_path, environment):
    assert run(tmp_path, environment, "-c", dedent(PROGRAM)) == "done\n"


def test_a_command(tmp_path, environment):
    assert run(tmp_path, environment, "-m", "sdv_plausible", "hello", "Ada") == "Hello Ada\n"
    assert "say hello" in run(tmp_path, environment, "-m", "sdv_plausible", "--help")
    assert "toy" in run(tmp_path, environment, "-m", "sdv_plausible", "fit", "--help")
