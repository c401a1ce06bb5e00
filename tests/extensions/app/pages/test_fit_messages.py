"""Messages of a fit in the words of the pages, and by column."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import sdv_plausible
from sdv_plausible.extensions.app.pages.app_steps import FitMessages, by_column, in_app
from sdv_plausible.fitting.row_count_check import TooFewRowsError

ROOT = Path(sdv_plausible.__file__).parent
TELLING = (
    "fitting/ledger_notes.py",
    "fitting/diagnostics.py",
    "fitting/row_count_check.py",
    "fitting/plan.py",
    "table/learned/lost_mass.py",
    "models/forecast.py",
)
NOT_IN_PAGES = re.compile(r"domain=|anyway=|types=|test=|synth\\.|sdv-plausible |--[a-z]")
BEFORE_A_FIT = (
    "the privacy guarantee holds only if", "Otherwise infer them", "the total holds only if", "semantic types were detected",
    "row_cap (x, the default)",
)  # fmt: skip  # of metadata, which the app makes itself, and of rows to be paid for, for which it asks


def messages() -> list[str]:
    """Texts in the modules that tell something, with the letter x for what is filled in."""
    found = []
    for name in TELLING:
        tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
        parts = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(tree):
            if node in parts:
                continue
            if isinstance(node, ast.JoinedStr):
                found.append(
                    "".join(str(p.value) if isinstance(p, ast.Constant) else "x" for p in node.values)
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return [text for text in found if NOT_IN_PAGES.search(text) and len(text) > 30]


def test_no_message_of_the_app_speaks_python() -> None:
    known = messages()
    assert len(known) > 10
    wrong = [
        text
        for text in known
        if NOT_IN_PAGES.search(in_app(text)) and not any(b in text for b in BEFORE_A_FIT)
    ]
    assert [text for text in wrong if text not in docstrings()] == []


def docstrings() -> set[str]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    trees = [ast.parse((ROOT / name).read_text(encoding="utf-8")) for name in TELLING]
    return {
        ast.get_docstring(n, clean=False) or ""
        for tree in trees
        for n in ast.walk(tree)
        if isinstance(n, kinds)
    }


def test_too_few_rows_say_where_to_go_on() -> None:
    error = TooFewRowsError.of(300, {"age": 2000}, 0.005, {"age": {"sdtype": "numerical"}})
    said = in_app(str(error))
    assert "on the page Columns. Or use more rows" in said
    assert said.endswith("choose so on the page Budget")


@pytest.mark.parametrize(
    "text", ["at about 900 rows pairs of columns may be off by 0.3", "other: cells are missing"]
)
def test_what_is_of_no_column_stays_a_sentence(text: str) -> None:
    assert by_column([text], ["age", "city"]) == FitMessages({}, [text])


def test_messages_are_grouped_by_column_in_the_order_of_the_table() -> None:
    said = [
        "city (12%), a, b (7%): these shares are lost. Declare them (domain=...)",
        "age, city: only one value survived",
        'age 5%, city 2%: may be of another type (domain={"age": {"sdtype": "categorical"}})',
    ]
    found = by_column(said, ["age", "a, b", "city"])
    assert not found.others or found.others == [in_app(said[0])], "a name with a comma may stay in a sentence"
    assert list(found.columns) == ["age", "city"]
    assert found.columns["age"] == [
        "Only one value survived",
        "5%: may be of another type on the page Columns",
    ]
