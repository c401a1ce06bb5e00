"""Every kind of query has a block in OpenDP's form, with the proof and the sensitivity bound of the code."""

from __future__ import annotations

import importlib
import math
import re
from types import SimpleNamespace
from typing import Any

import guarded
import numpy as np
import pytest
from pages import ROOT

from sdv_plausible.extensions.models.datasynthesizer.greedy_bayes import (
    GRID,
    information_sensitivity_in_steps,
)
from sdv_plausible.extensions.models.latent.training import LARGEST_NORM
from sdv_plausible.extensions.models.paper.structure import ENTROPY_GRID
from sdv_plausible.privacy.accounting.sensitivity import entropy_sensitivity_in_steps
from sdv_plausible.queries.count_queries import Axis

PAGE = (ROOT / "docs/explanation/proofs/questions.md").read_text(encoding="utf-8")
FORM = re.compile(
    r"^## (?P<name>\w+)\n\nIn `sdv_plausible/(?P<module>[\w/]+)\.py`\.\n\n```text\n(?P<code>def .+?)\n```\n\n"
    r"\*\*Preconditions\.\*\* (?P<before>.+?)\n\n\*\*Postcondition\.\*\* (?P<norm>[^`]+): `(?P<bound>[^`]+)`\.(?P<more>.*?)\n\n"
    r"\*\*Proof\.\*\* (?P<proof>.+?)\.\n",
    re.MULTILINE | re.DOTALL,
)
AXES = (Axis.of_codes(0, 3), Axis.of_codes(1, 2))
# Arguments of a query, and their names in the bound. Other queries have none.
PARAMETERS: dict[str, tuple[tuple[Any, ...], dict[str, float]]] = {
    "CountTable": ((AXES,), {}),
    "L1Distances": (((AXES, AXES, AXES[:1]), (np.zeros((3, 2)),) * 2), {"k": 3}),
    "ScoreProducts": (
        ([AXES, AXES[::-1]], {0: np.array([3, 0, -2]), 1: np.array([-2, 1])}),
        {"squares": 2 * 36},
    ),
    "Entropies": (((3, 2), (np.arange(3), np.arange(2)), 500), {"m": 2, "least_rows": 500}),
    "MutualInformation": ((((AXES[0], AXES[1:]),), 700), {"most_rows": 700}),
}


def forms(page: str = PAGE) -> dict[str, SimpleNamespace]:
    """Blocks of the page, by name."""
    return {match["name"]: SimpleNamespace(**match.groupdict()) for match in FORM.finditer(page)}


def question(form: SimpleNamespace) -> type:
    return getattr(importlib.import_module(f"sdv_plausible.{form.module.replace('/', '.')}"), form.name)


def cited(text: str) -> list[str]:
    """Cited pages and results, without folders and links."""
    plain = re.sub(r"\[(\w+)\]\(\w+\.md\)", r"\1.md", text).replace("docs/explanation/proofs/", "")
    return re.findall(r"\w+\.md|(?:Lemma|Theorem)s? \d(?: and \d)?", plain)


def bounded(form: SimpleNamespace, unit: Any) -> tuple[float, float]:
    """Bound on the page, and sensitivity in the code."""
    given, named = PARAMETERS.get(form.name, ((), {}))
    names = {
        "c": unit.rows, "replace": unit.replace, "h1": 2 * unit.rows if unit.replace else unit.rows, "sqrt": math.sqrt,
        "h2": unit.rows * (math.sqrt(2) if unit.replace else 1), "max": max, "norm": LARGEST_NORM,
        "entropy_steps": lambda n, c: entropy_sensitivity_in_steps(n, ENTROPY_GRID, c),
        "information_steps": lambda n, c: information_sensitivity_in_steps(n, GRID, c),
    }  # fmt: skip
    found = eval(form.bound, {"__builtins__": {}}, {**names, **named})
    kind = question(form)
    if not hasattr(kind, "sensitivity"):  # partition selection: its counts get the noise of a count table
        return found, unit.histogram_l2
    asked = kind(*given) if given else object.__new__(kind)
    return found, asked.sensitivity(unit)


def test_every_kind_has_a_block_and_no_other():
    assert set(forms()) == guarded.questions()
    assert len(re.findall("^## ", PAGE, re.MULTILINE)) == len(forms())


def test_a_block_cites_the_proof_of_the_code_and_has_its_bound():
    for name, form in forms().items():
        assert cited(form.proof) == cited(question(form).proof), name
        for unit in guarded.UNITS.values():
            said, used = bounded(form, unit)
            assert said == pytest.approx(used, rel=1e-12), name


@pytest.mark.parametrize(
    ("old", "new"),
    [("`h1 * sqrt(k)`", "`h1`"), ("`norm * h1`", "`norm`"), ("`c`", "`1`"), (" * (2 if replace else 1)", "")],
)
def test_planted_bounds_are_seen(old, new):
    assert old in PAGE
    found = forms(PAGE.replace(old, new))
    pairs = [bounded(form, unit) for form in found.values() for unit in guarded.UNITS.values()]
    assert any(said != pytest.approx(used, rel=1e-12) for said, used in pairs)


def test_a_block_without_a_part_is_none():
    for part in ("**Preconditions.** ", "**Postcondition.** ", "**Proof.** ", "```text\n"):
        assert set(forms(PAGE.replace(part, ""))) == set()
