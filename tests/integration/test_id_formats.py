"""Patterns of ids from which no text could be invented, or not in time: refused by one rule at every door, before any row or budget."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from cases import each_once

from sdv_plausible import Budget, PlausibleDeniabilitySynthesizer, Release, fit_source, metadata_of
from sdv_plausible.cli.main import main
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.table.columns import id_formats
from sdv_plausible.table.declared.column_types import column_types

ENDLESS = [
    "[a-z]{1000000}", "[a-z]{1,999}", "((x{99}){99}){99}", "(([a-z]+)+)+", "(a|b{600}){600}", "x{1,100000}",
    "x{100001}",
]  # fmt: skip
NO_PATTERNS = ["[a-z", "x{99999999999999999999}", "x" * 201, "(" * 200]
UNKNOWN = [  # to the generator of SDV: it stops with a KeyError, repeats one text for ever, or makes other texts
    "[^a]", "[^ab]{3}", "ab|cd", "(a|bc)", "a+?", "a{0}", "x(y{0,0})", "x{17,}", "a(?=b)b", r"(a)\1", "(?:^a){2}",
    "a()", "^$", "^a|b$", "", "(?:ab){2}", "." * 200, r"P\ud800", r"[a\ud800]", r"[\ud7ff-\ud900]", "P\ud800",
]  # fmt: skip
FORMATS = [
    r"ID-2024-[0-9]{4}", "[a-z]{1,64}", "[A-Z0-9]{128}", r"\d{4}(-[A-F]{2,9}){3}", "[a-z]+", "x" * 200,
    "a|b", "(ab){2}", r"[\w-]?\S", "x{16,}", "(?P<n>[0-9])",
]  # fmt: skip
ROWS = pd.DataFrame({"who": [f"P{i}" for i in range(300)], "sex": ["f", "m", "m"] * 100})
SEX = {"range_values": ["f", "m"]}


def columns(form: str) -> dict[str, dict[str, Any]]:
    return {"who": {"sdtype": "id", "regex_format": form}, "sex": {"sdtype": "categorical"}}


def declared(form: str) -> dict[str, dict[str, Any]]:
    return {**columns(form), "sex": SEX}


def at_the_command_line(option: str) -> Callable[[str, Path, Any], None]:
    def door(form: str, folder: Path, capsys: Any) -> None:
        ROWS.to_csv(folder / "rows.csv", index=False)
        files = {"domain": declared(form), "metadata": metadata_from_columns(columns(form)).to_dict()}
        (folder / "x.json").write_text(json.dumps(files[option]))
        output = folder / "x.release"
        answer = main(["fit", f"{folder}/rows.csv", f"--{option}", f"{folder}/x.json", "-o", str(output)])
        said = capsys.readouterr().err
        assert output.exists() == (answer == 0)
        if answer:
            raise ValueError(said.strip())
        assert main(["sample", str(output), "-o", str(folder / "made.csv"), "-n", "5"]) == 0

    return door


def of_a_source(**given: Any) -> Callable[[str, Path, Any], None]:
    def door(form: str, folder: Path, capsys: Any) -> None:
        budget = Budget(1.0, 1e-8, folder / "budget.json")
        before = budget.path.read_bytes()
        try:
            release = fit_source(ROWS, budget=budget, **{name: make(form) for name, make in given.items()})
        except ValueError:
            assert budget.path.read_bytes() == before
            raise
        rows = PlausibleDeniabilitySynthesizer.from_release(release).sample(1)
        assert rows["who"].str.fullmatch(form).all()

    return door


def of_a_file(form: str, folder: Path, capsys: Any) -> None:
    release = fit_source(ROWS, domain=declared("P[0-9]{4}"))
    document = json.loads(release.to_bytes())
    next(c for c in document["schema"]["columns"] if c["name"] == "who")["regex_format"] = form
    Release.from_bytes(json.dumps(document).encode()).sample(3)


DOORS: dict[str, Callable[[str, Path, Any], object]] = {
    "types": lambda form, folder, capsys: column_types(columns(form)),
    "types of metadata": lambda form, folder, capsys: column_types(None, columns(form)),
    "metadata of a domain": lambda form, folder, capsys: metadata_of(declared(form)),
    "synthesizer, metadata": lambda form, folder, capsys: PlausibleDeniabilitySynthesizer(
        metadata_from_columns(columns(form)), domain={"sex": SEX}
    ),
    "synthesizer, domain": lambda form, folder, capsys: PlausibleDeniabilitySynthesizer(
        metadata_from_columns(columns("P[0-9]{4}") | {"who": {"sdtype": "id"}}), domain=declared(form)
    ),
    "a source's domain": of_a_source(domain=declared),
    "a source's metadata": of_a_source(metadata=columns, domain=lambda form: {"sex": SEX}),
    "command line, domain": at_the_command_line("domain"),
    "command line, metadata": at_the_command_line("metadata"),
    "a release file": of_a_file,
}


def check_door(door: str, form: str, folder: Path, capsys: Any) -> None:
    with pytest.raises(ValueError, match=r"must be a regular expression of at most 200 letters") as raised:
        DOORS[door](form, folder, capsys)
    assert "\n" not in str(raised.value)
    assert "regex_format" in str(raised.value)


@pytest.mark.parametrize("door", DOORS)
def test_a_pattern_without_texts_or_that_sdv_cannot_follow_is_refused(
    door: str, tmp_path: Path, capsys: Any
) -> None:
    for number, form in enumerate([*ENDLESS, *NO_PATTERNS, *(UNKNOWN if door != "a release file" else ())]):
        (tmp_path / str(number)).mkdir()
        check_door(door, form, tmp_path / str(number), capsys)


def test_a_release_of_before_can_be_read_without_sdv(tmp_path: Path, capsys: Any) -> None:
    """Whose ids are numbered there; SDV's generator is asked for none of them."""
    for form in ("ab|cd", "[^a]", "a()"):
        of_a_file(form, tmp_path, capsys)


@pytest.mark.parametrize(("door", "form"), each_once(DOORS, FORMATS))
def test_a_pattern_of_ids_is_taken(door: str, form: str, tmp_path: Path, capsys: Any) -> None:
    DOORS[door](form, tmp_path, capsys)


def test_without_the_rule_a_pattern_would_be_taken(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(id_formats, "MAX_PARTS", 10**12)
    with pytest.raises(pytest.fail.Exception):
        check_door("types of metadata", ENDLESS[1], tmp_path, capsys)
    monkeypatch.setattr(id_formats, "_texts", lambda _: 1)
    with pytest.raises(AssertionError):  # SDV makes aa of it
        of_a_source(domain=declared)("(?:ab){2}", tmp_path, capsys)
