"""Hundreds of mistakes at every door: each is refused in one line with parameter, value and rule.

What is tried comes from the registries, so that whatever is added is tried, too: the list of options, the arguments of the doors,
the fields of the learners, the options of the commands, the words of domain files, the parts of rules, what releases, ledgers and
budgets hold, and the fields of the app.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import inspect
import io
import json
import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from functools import partial, reduce
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sdv_plausible
from sdv_plausible import Budget, PlausibleDeniabilitySynthesizer, Release, fit_source, metadata_of
from sdv_plausible.cli import main
from sdv_plausible.cli.files import CSV_OPTIONS
from sdv_plausible.extensions.app.pages import release_request
from sdv_plausible.extensions.app.review.review import ReviewedTable
from sdv_plausible.fitting.options import OPTIONS, VALUES
from sdv_plausible.models import NAMES, named_learner
from sdv_plausible.privacy.ledger_record import LedgerRecord
from sdv_plausible.privacy.noise.keyed_rng import new_secret
from sdv_plausible.privacy.parameter_checks import shown
from sdv_plausible.rules.rule_document import KINDS
from sdv_plausible.rules.rule_document import SHARED as OF_RULES
from sdv_plausible.rules.rule_files import rule_from_dict, rule_to_json
from sdv_plausible.table.columns.column_document import SHARED, WORDS
from sdv_plausible.table.declared.domain_file import draft_domain_file
from sdv_plausible.utils.json_schema import parse_with_schema
from tests import ruled
from tests.families import write_families
from tests.hostile_places import with_text

DECLARED: dict[str, dict[str, Any]] = {
    "age": {"sdtype": "numerical", "range_min": 0, "range_max": 9},
    "sex": {"sdtype": "categorical", "range_values": ["f", "m"]},
}
FRAME = pd.DataFrame({"age": [1, 2] * 40, "sex": ["f", "m"] * 40})
METADATA = metadata_of(DECLARED)
Call = Callable[[Any], object]

RULE = re.compile(
    r" must | needs |no such file|there is no file|no file is there|names no file|is no |is not a|cannot be written|is an unknown|lacks |invalid |is a folder|is unknown"
    r"|has no |damaged|contradicts|expected|ignored|cannot write|is not one of|is not JSON|write a list",
    re.IGNORECASE,
)
OF_NO_VALUE = re.compile(
    r"expected \w+ argument|has no effect|only applies|go(es)? (together|with)|is of cells|leave --|says how fits add up|this is --"
)
"""Refusals of an option, whatever its value."""
TABLES = ("source", "public", "rules", "metadata", "domain")
"""Parameters of which a mistake may be a table: errors show its type, or that of what it holds, and nothing of it."""


def fault(call: Call, names: Iterable[str], value: Any, *, quotes: bool = True) -> str | None:
    """What is wrong with the refusal of a value; None if it is one line that names parameter, value and rule."""
    try:
        call(value)
    except (ValueError, TypeError, OSError) as error:
        text = str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    else:
        return "accepted"
    names = tuple(names)
    if not text.isprintable():
        return f"not one line: {text!r}"
    if not any(name in text for name in names):
        return f"names no parameter: {text}"
    if OF_NO_VALUE.search(text):
        return None
    if quotes and not any(one in text for one in ways_to_show(value, names)):
        return f"does not show {shown(value)}: {text}"
    return None if RULE.search(text) else f"says no rule: {text}"


def ways_to_show(value: Any, names: tuple[str, ...]) -> Iterator[str]:
    yield shown(value)
    if not isinstance(value, int):
        yield repr(value)
    if isinstance(value, str):
        yield from (value,) if value else ("'.'", " .", "data .")  # as a path
        with contextlib.suppress(ValueError):
            yield f"{float(value):g}"
    if {*names} & {*TABLES}:
        yield from (
            type(one).__name__ for one in (value, *(value if isinstance(value, (list, np.ndarray)) else ()))
        )


def faults(call: Call, names: Iterable[str], values: Iterable[Any], **how: Any) -> list[str]:
    names = tuple(names)
    found = [(value, fault(call, names, value, **how)) for value in values]
    return [f"{shown(value):.40}: {why}" for value, why in found if why is not None]


BEYOND = 2**1100  # all doubles
WRONG: tuple[Any, ...] = (
    pd.NA, math.nan, math.inf, -1, BEYOND, 10**5000, True, "nonsense", "", Decimal("1.5"), 1j, np.array([1, 2]),
    ["nonsense", object()], object(),
)  # fmt: skip
"""Values that hardly any parameter takes."""
RIGHT: dict[str, Callable[[Any], bool]] = {  # of a parameter: those that it does
    "epsilon": lambda value: value is math.inf,
    "random_state": lambda value: type(value) is int,
    **dict.fromkeys(("table_name", "recipient"), lambda value: value is WRONG[7]),
}


def wrong_for(name: str, default: Any) -> list[Any]:
    """Values that a parameter cannot have."""
    takes_truth = isinstance(default, bool)
    is_right = RIGHT.get(name, lambda value: False)
    return [value for value in WRONG if not (takes_truth and value is True) and not is_right(value)]


def synthesizer(name: str, value: Any) -> object:
    return PlausibleDeniabilitySynthesizer(**{"metadata": METADATA, "domain": DECLARED, name: value})


def source(name: str, value: Any) -> object:
    return fit_source(**{"source": FRAME, "domain": DECLARED, name: value})


def in_value(kind: type[Any], name: str, value: Any) -> object:
    """An option of a value, in the constructor's argument that takes it."""
    return synthesizer(VALUES[kind.__name__], kind(**{name: value}))


def in_learner(model: str, name: str, value: Any) -> object:
    return synthesizer("model", type(named_learner(model))(**{name: value}))


def of_python() -> Iterator[tuple[str, str, Call, list[Any]]]:
    """Every parameter of every door of Python: where it is, what it is called, how it is given, and wrong values."""
    for made, door in ((PlausibleDeniabilitySynthesizer, synthesizer), (fit_source, source)):
        for one in inspect.signature(made).parameters.values():
            if one.kind is not one.VAR_KEYWORD:
                yield made.__name__, one.name, partial(door, one.name), wrong_for(one.name, one.default)
    for option in OPTIONS.values():
        for of in option.of:
            name, kind = option.within or option.name, getattr(sdv_plausible, of)
            call = partial(in_value, kind, name)
            if of == "Person":
                call = lambda value, kind=kind: synthesizer("person", kind("age", value))  # noqa: E731
            if of == "PublicTable":
                call = lambda value, kind=kind: synthesizer("public", kind(FRAME, value))  # noqa: E731
            free = option.kind is str and not option.choices  # any text but the empty one
            wrong = wrong_for(name, option.default)
            yield of, name, call, [value for value in wrong if not (free and value is WRONG[7])]
    for model in NAMES:
        for field in dataclasses.fields(named_learner(model)):
            call = partial(in_learner, model, field.name)
            yield model, field.name, call, wrong_for(field.name, field.default)


def test_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # which a source of no name is
    tried, found = dict.fromkeys((option.name for option in OPTIONS.values()), 0), []
    for where, name, call, values in of_python():
        assert len(values) >= 10
        found += [f"{where} {name}: {one}" for one in faults(call, (name,), values)]
        for option in OPTIONS.values():
            tried[option.name] += len(values) * (name in (option.name, option.within or option.name))
    assert not found, "\n".join(found)
    assert min(tried.values()) >= 3, tried
    assert sum(len(values) for *_, values in of_python()) > 1000


WRONG_JSON: tuple[Any, ...] = (
    "\u0000", "", -1.5, True, {"x": [0]}, [[]], ["nonsense", 1, "nonsense"], 10**400, [10**400], 0,
)  # fmt: skip


def misfits(form: Any, shared: Any) -> list[Any]:
    """Values that the form of a word refuses."""
    found = []
    for value in WRONG_JSON:
        try:
            parse_with_schema(form, value, shared)
        except ValueError:
            found.append(value)
    return found


def declared(name: str, sdtype: str, value: Any) -> object:
    known = {"c": {"sdtype": sdtype}}
    return PlausibleDeniabilitySynthesizer(metadata_of(known), domain={"c": {**known["c"], name: value}})


def test_words_of_a_domain_file() -> None:
    tried, found = 0, []
    for name in (name for name, word in WORDS.items() if word.about != "nothing"):
        sdtype = "id" if name == "regex_format" else next(iter(WORDS[name].suits), "numerical")
        values = misfits(WORDS[name].form, SHARED)
        assert len(values) >= 3
        tried += len(values)
        found += faults(partial(declared, name, sdtype), (name,), values)
    assert not found, "\n".join(found)
    assert tried > 140


RULES = {one["rule"]: one for one in reversed([rule_to_json(rule) for rule in ruled.RULES])}


def test_parts_of_rules() -> None:
    found = []
    for kind, part in [(name, part) for name, one in KINDS.items() for part in one.saved]:
        form = KINDS[kind].form["properties"][part]
        values = misfits(form, OF_RULES)
        assert len(values) >= 3 or form == OF_RULES.get("cell"), values
        call = lambda value, k=kind, p=part: rule_from_dict({**RULES[k], p: value})  # noqa: E731
        names = (part, f"{KINDS[kind].of}: columns", f"{KINDS[kind].of} (")
        found += [f"{kind} {one}" for one in faults(call, names, values, quotes=False)]
    assert not found, "\n".join(found)


def places(document: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every entry of a document, however deep, that is in no list."""
    if isinstance(document, Mapping):
        for name, inner in document.items():
            yield (*path, name)
            yield from places(inner, (*path, name))


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Release, Path]:
    path = tmp_path_factory.mktemp("budget") / "a.budget"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = fit_source(FRAME, domain=DECLARED, model="independent", budget=Budget(2.0, 1e-6, path))
    return made, path


OPEN = ("model", "model_parameters", "structure", "noise", "versions")
"""Parts of a release file that say how it was made, and may say it of programs to come."""


def test_entries_of_release_files_ledgers_and_budgets(fitted: tuple[Release, Path], tmp_path: Path) -> None:
    """They may be strangers': of a release file and a budget no value is quoted."""
    release, budget = fitted
    wrong: tuple[Any, ...] = ({"nonsense": 0}, [[None]], True)
    doors: dict[str, tuple[Any, Callable[[Any], object], tuple[str, ...]]] = {
        "release": (
            json.loads(release.to_bytes(readable=True)),
            lambda document: Release.from_bytes(json.dumps(document).encode()), (),
        ),
        "ledger": (release.ledger.to_dict(), LedgerRecord.of, ()),
        "budget": (json.loads(budget.read_text()), partial(opened, tmp_path / "b"), ("path",)),
    }  # fmt: skip
    found = []
    for door, (document, call, names) in doors.items():
        for path in places(document):
            if door == "release" and {*path} & {*OPEN}:
                continue
            is_flag = isinstance(reduce(getitem, path, document), bool)
            values = [value for value in wrong if not (is_flag and value is True)]
            give = lambda value, d=document, p=path, c=call: c(with_text(d, p, value))  # noqa: E731
            found += [f"{door} {path} {one}" for one in faults(give, names or path, values, quotes=False)]
    assert not found, "\n".join(found)


def opened(path: Path, document: Any) -> object:
    path.write_text(json.dumps(document))
    return Budget(2.0, 1e-6, path)


TOLD = {  # what each command is told besides, in a folder with people.csv, domain.json and people.release
    "declare": "people.csv -o d.json", "check": "people.csv --domain domain.json", "plan": "--domain domain.json",
    "synthesize": "people.csv -o s.csv --domain domain.json", "fit": "people.csv -o f.release --domain domain.json",
    "families": "households.csv persons.csv --metadata both.json -o f.release", "sample": "people.release -o r.csv -n 9", "report": "people.csv people.csv -o r.html --domain domain.json",
    "describe": "people.csv -o d.json --domain domain.json", "generate": "people.release -o r.csv -n 9",
    "inspect": "people.csv people.csv -o i.html --domain domain.json", "card": "people.release -o c.html",
    "audit": "people.csv -o audit --domain domain.json --seconds 0", "registry": "people.release -o r.yaml",
    "types": "people.release", "key": "-o k.pem", "verify": "people.release", "completion": "bash", "demo": "--rows 20 --table-rows 400 -o demo",
}  # fmt: skip
FOLDERS = {("demo", "output"), ("audit", "output")}
"""Outputs that are folders, and are made where they are not there."""


def commanded(*words: str) -> None:
    """Run a command that is to be refused: with exit code 2 and one line, which becomes the error."""
    told, answer = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(told), contextlib.redirect_stdout(answer):
        try:
            code: Any = main.main(words)
        except SystemExit as error:
            code = error.code
    if code != 0:
        assert code == 2
        assert re.match(r"sdv-plausible[a-z -]*: error: ", told.getvalue()), told.getvalue()
        raise ValueError(told.getvalue().removesuffix("\n"))


def options_of(command: str) -> list[argparse.Action]:
    (commands,) = (a for a in main.parser((command,))._actions if isinstance(a, argparse._SubParsersAction))
    return [a for a in commands.choices[command]._actions if a.option_strings and a.dest != "help"]


def wrong_words(command: str, action: argparse.Action) -> list[list[str]]:
    """What follows an option: nothing where something must, and what it cannot be."""
    kind, own = action.type, action.dest not in OPTIONS or command == "plan"
    if action.nargs == 0:
        return [["=1"], ["=yes"], ["="]]
    found: list[str] = []
    if kind in (int, float):
        found = ["nonsense", "", "1,5"]
        if own and action.dest not in ("random_state",):
            found += ["-1", "nan", "1e999"] if action.dest != "epsilon" else ["-1", "nan"]
    elif action.choices is not None or action.dest in READ_ALONE:
        found = ["nonsense", "1;2", ""]
    elif kind is Path and action.dest != "scratch" and (command, action.dest) not in FOLDERS:
        found = ["nowhere/nothing.x", "", "."]
    elif action.dest in CSV_OPTIONS:
        found = ["nonsense"]
    return [[], *([word] * (action.nargs if isinstance(action.nargs, int) else 1) for word in found)]


READ_ALONE = ("split", "privacy_test", "private")


@pytest.mark.parametrize("command", TOLD)
def test_options_of_commands(command: str, fitted: tuple[Release, Path], tmp_path: Path, monkeypatch) -> None:
    assert {*TOLD} == {*main.COMMANDS} - {"app"}  # which serves pages
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "domain.json").write_text(json.dumps(DECLARED))
    fitted[0].save(tmp_path / "people.release")
    write_families(tmp_path)
    monkeypatch.chdir(tmp_path)
    found = []
    for action in options_of(command):
        flag = action.option_strings[-1]
        for words in wrong_words(command, action):
            line = [command, *TOLD[command].split()]
            line += [f"{flag}{words[0]}"] if action.nargs == 0 else [flag, *words]
            value = (words or ["argument"])[0].lstrip("=")
            names = (*action.option_strings, action.dest)
            why = fault(lambda _, line=line: commanded(*line), names, value)
            found += [f"{' '.join(line)}: {why}"] * (why is not None)
    assert not found, "\n".join(found)


TYPED = {  # what is no number, choice, column or list of rules; by whoever reads it
    **dict.fromkeys(release_request._NUMBERS, ("nonsense", "1;5", "-1", "nan", "1e999", "0")),
    **dict.fromkeys(release_request._CHOICES, ("nonsense", "", "0")),
    "person": ("nonsense", "agee", "0"), "rules": ("nonsense", "{}", '[{"rule": "none"}]', "[1]", "[}"),
}  # fmt: skip


def ordered(table: ReviewedTable, name: str, text: str) -> None:
    """Fill in a form with one field that is wrong, and plan what is ordered."""
    filled = {name: text, "test": "randomized"} if name == "row_cap" else {name: text}
    found, refusals = release_request.read_request(table, draft_domain_file(table.names, DECLARED), filled)
    if refusals:
        assert list(refusals) == [name]
        raise ValueError(refusals[name])
    assert found is not None
    found.plan()


def test_fields_of_the_app(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    table, found = ReviewedTable(tmp_path / "people.csv", tuple(FRAME), {"encoding": "utf-8"}), []
    for name in release_request.USUAL:
        values = [text for text in TYPED[name] if not (name == "epsilon" and text == "1e999")]
        found += faults(partial(ordered, table, name), (name,), values, quotes=name != "rules")
    assert not found, "\n".join(found)


def test_of_what_was_fitted(fitted: tuple[Release, Path]) -> None:
    """What is asked of a release, and of a plan."""
    plan = PlausibleDeniabilitySynthesizer(METADATA, domain=DECLARED).plan
    found = []
    for door in (fitted[0].sample, plan):
        for name, one in inspect.signature(door).parameters.items():
            if one.kind is not one.VAR_KEYWORD:
                beside: Any = {"recipient": {"secret": new_secret()}, "secret": {"recipient": "us"}}
                needed = beside.get(name, {})
                give = lambda value, d=door, n=name, m=needed: d(**{**m, n: value})  # noqa: E731
                why = faults(give, (name,), wrong_for(name, one.default), quotes=name != "secret")
                found += [f"{door.__name__} {name} {one}" for one in why]
    found += faults(PlausibleDeniabilitySynthesizer.from_release, ("release",), WRONG, quotes=False)
    assert not found, "\n".join(found)


def test_there_are_hundreds() -> None:
    actions = [(command, action) for command in TOLD for action in options_of(command)]
    assert sum(len(wrong_words(command, action)) for command, action in actions) > 300


def saying(text: str) -> Call:
    def call(value: Any) -> None:
        raise ValueError(text)

    return call


def test_a_planted_option_without_a_check_is_seen() -> None:
    for call, why in (
        (lambda value: None, "accepted"),
        (saying("toy (-1) must be\nat least 1"), "not one line"),
        (saying("must be at least 1, not -1"), "names no parameter"),
        (saying("toy must be at least 1"), "does not show -1"),
        (saying("toy (-1)"), "says no rule"),
        (lambda value: {}[value], "KeyError"),
        (saying("toy (-1) must be at least 1"), "None"),
    ):
        assert str(fault(call, ("toy",), -1)).startswith(why)


def test_a_planted_field_of_a_learner_without_a_check_is_seen() -> None:
    """As somebody adds one: it is tried, and found to take all that the synthesizer hands on."""

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Toy(sdv_plausible.AdaptiveNetwork):
        toy: int = 3

    (field,) = [one for one in dataclasses.fields(Toy) if one.name == "toy"]
    values = wrong_for(field.name, field.default)
    found = faults(lambda value: synthesizer("model", Toy(toy=value)), (field.name,), values)
    assert len(found) == len(values)
