"""Damaged release files of each kind are verdicts: nothing is raised, and each verdict is one short line."""

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from lying import honest
from mutating import made, mutations
from test_related_table_checks import FEW, SIMULATING
from test_related_table_checks import fitted as families

from sdv_plausible import FamilyRelease, Release
from sdv_plausible.extensions.verify.independent import all_checks
from sdv_plausible.extensions.verify.independent.all_checks import check
from sdv_plausible.extensions.verify.verification import verify

KINDS = (
    "learned, strong", "k", "inequality", "numbers within bounds", "types", "public_source",
    "seeds of people", "independent, person replaced", "no noise",
)  # fmt: skip


@cache
def document(kind: str) -> Any:
    if kind != "families":
        return json.loads(honest(kind))
    with pytest.MonkeyPatch.context() as patch:
        for module in SIMULATING:
            patch.setattr(module, "NUM_SIMULATED", FEW)
        return families()


def judged(content: bytes, folder: Path) -> list[Any]:
    """Verdicts: of the second reading, and of the program where the file is of the format."""
    found = check(content)
    if found[0].state == "ok":
        (folder / "x.release").write_bytes(content)
        found = [*verify(folder / "x.release").verdicts]
    return found


def complaints(kind: str, many: int | None, folder: Path) -> list[str]:
    """What is wrong with the verdicts on some of the mutations of a file, or on all."""
    every = list(mutations(document(kind)))
    chosen = every if many is None else random.Random(kind).sample(every, many)
    found = []
    for path, change in chosen:
        content, place = json.dumps(made(*change)).encode(), f"{kind}: {'.'.join(map(str, path))}"
        read = FamilyRelease.from_bytes if kind == "families" else Release.from_bytes
        try:
            read(content)
        except ValueError as error:
            found += [f"{place}: the reader's message is no line"] if "\n" in str(error) else []
        except Exception as error:
            found.append(f"{place}: the reader raises {error!r:.80}")
        try:
            lines = [str(verdict) for verdict in judged(content, folder)]
        except Exception as error:
            found.append(f"{place}: {error!r:.80}")
        else:
            found += [f"{place}: {line:.80}" for line in lines if len(line) > 1500 or not line.isprintable()]
    return found


def test_some_mutations_of_every_kind_are_verdicts(tmp_path):
    assert [one for kind in KINDS for one in complaints(kind, 5, tmp_path)] == []


@pytest.mark.nightly
@pytest.mark.parametrize("kind", [*KINDS, "families"])
def test_every_mutation_is_a_verdict(kind, tmp_path):
    assert complaints(kind, None, tmp_path) == []


def test_a_detail_that_is_no_array_is_refused(tmp_path):
    """Of the kind that once ended in a traceback: a text without a shape."""
    changed = json.loads(honest("learned, strong"))
    runs = next(one for one in changed["answers"]["asked"] if one["kind"] == "runs")
    runs["details"]["first"] = "x"
    states = {one.about: one.state for one in judged(json.dumps(changed).encode(), tmp_path)}
    assert {states[about] for about in ("domain", "answers paid by domain", "program")} == {"refused"}


def test_a_judge_that_raises_would_be_seen(tmp_path, monkeypatch):
    def judge(*_):
        raise AttributeError("shape")

    monkeypatch.setattr(all_checks, "run_check", judge)
    assert complaints("k", 20, tmp_path)
