"""A table, or a part of one, in the place of any argument: no error quotes a cell of it."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sdv.sampling import Condition

import sdv_plausible
from sdv_plausible import PlausibleDeniabilitySynthesizer, metadata_of, rules
from sdv_plausible.privacy import parameter_checks

CELLS = "77123.25", "SECRETQ"
TABLE = pd.DataFrame({"a": [77123.25] * 3 + [1.0] * 60, "c": ["SECRETQ"] * 3 + ["x"] * 60})
WRONG: dict[str, Any] = {
    "frame": TABLE, "numbers": TABLE["a"], "texts": TABLE["c"], "row": TABLE.iloc[0], "array": TABLE.to_numpy(),
    "columns": {"a": TABLE["a"]}, "frames": [TABLE], "records": TABLE.to_dict("records"), "list": TABLE["c"].tolist(),
    "values": {"c": {"sdtype": "categorical", "range_values": TABLE}},
}  # fmt: skip
NEEDED: dict[str, Any] = {
    "metadata": metadata_of({"a": {"sdtype": "numerical"}, "c": {"sdtype": "categorical"}}), "data": TABLE,
    "column": "a", "columns": ["a", "c"], "low": "a", "high": "c", "by": "c", "mapping": {"x": 1.0}, "total": "a",
    "parts": ["a", "c"], "factor": 2, "real": TABLE, "synthetic": TABLE, "source": TABLE, "frame": TABLE, "epsilon": 1.0, "delta": 1e-9,
}  # fmt: skip


def doors() -> Iterator[tuple[str, Any]]:
    """Public names that are called, and methods of what a fit leaves."""
    for name in sdv_plausible.__all__:
        if callable(found := getattr(sdv_plausible, name)):
            yield name, found
    synth = PlausibleDeniabilitySynthesizer(NEEDED["metadata"], model="independent")
    synth.fit(TABLE)
    release = synth.release()
    for made in (release, synth.privacy_ledger(), synth.get_domain(), release.answers, synth):
        for kind in type(made).__mro__:
            if kind.__module__.startswith("sdv_plausible"):
                yield from _methods(type(made).__name__, made, vars(kind))
    for name in rules.__all__:
        if callable(found := getattr(rules, name)):
            yield f"rules.{name}", found
    path = Path("t.csv")
    path.write_text("a,c\n1.0,x\n")
    yield "read_csv of a file", partial(sdv_plausible.read_csv, path, {"a": {"sdtype": "numerical"}})


def _methods(name: str, made: Any, of: Any) -> Iterator[tuple[str, Any]]:
    for method in of:
        if not method.startswith("_") and callable(found := getattr(made, method)):
            yield f"{name}.{method}", found


def quoted(door: Any, parameter: inspect.Parameter, wrong: Any) -> str | None:
    """What an error of it says, if it quotes a cell."""
    given = {
        p.name: NEEDED.get(p.name, 5)
        for p in inspect.signature(door).parameters.values()
        if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    } | {parameter.name: wrong}
    first = [given.pop(parameter.name)] if parameter.kind is parameter.POSITIONAL_ONLY else []
    try:
        door(*first, **given)
    except Exception as error:
        seen: BaseException | None = error
        while seen is not None:
            if any(cell in str(seen) for cell in CELLS):
                return f"{type(seen).__name__}: {str(seen)[:200]}"
            seen = seen.__cause__
    return None


def sweep(only: str = "") -> list[str]:
    found = []
    for name, door in doors():
        try:
            parameters = inspect.signature(door).parameters.values()
        except ValueError:
            continue
        named = [p for p in parameters if only in name and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
        for parameter, (kind, wrong) in itertools.product(named, WRONG.items()):
            if said := quoted(door, parameter, wrong):
                found.append(f"{name}({parameter.name}=<{kind}>) {said}")
    return found


@pytest.mark.filterwarnings("ignore")
def test_no_error_quotes_a_table_that_is_given_in_the_wrong_place(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert sweep() == []


@pytest.mark.filterwarnings("ignore")
def test_no_error_quotes_what_stands_in_a_cell_of_what_is_known() -> None:
    cells = [*CELLS], {CELLS[1]: CELLS[0]}, TABLE["c"], TABLE, tuple(CELLS), TABLE["a"].to_numpy()
    synth = PlausibleDeniabilitySynthesizer(NEEDED["metadata"], model="independent")
    synth.fit(TABLE)
    for cell in cells:
        known, release = pd.DataFrame({"c": pd.Series([cell], dtype=object)}), synth.release()
        for ask in (
            partial(synth.sample_remaining_columns, known),
            partial(synth.sample_from_conditions, [Condition({"c": cell}, num_rows=1)]),
            partial(release.sample, 5, given={"c": cell}),
            partial(release.sample, 5, given=known),
        ):
            with pytest.raises(Exception, match=r"\w") as caught:
                ask()
            assert not any(one in str(caught.value) for one in CELLS)


@pytest.mark.filterwarnings("ignore")
def test_planted_an_error_that_shows_whatever_it_is_given(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(parameter_checks, "_is_plain", lambda _: True)
    assert sweep("PublicTable")
