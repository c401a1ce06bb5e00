"""One list of options: the constructor, ``fit_source``, the values and the command line agree with it."""

from __future__ import annotations

import argparse
import inspect
import pickle
import runpy
import typing
from dataclasses import MISSING, fields, replace
from functools import partial

import pandas as pd
import pytest

import sdv_plausible
from sdv_plausible import (
    AdaptiveNetwork,
    DeterministicTest,
    PaperNetwork,
    Person,
    PlausibleDeniabilitySynthesizer,
    PublicTable,
    RandomizedTest,
    ReleaseTest,
    fit_source,
    metadata_of,
)
from sdv_plausible.cli import declare
from sdv_plausible.cli.run_fit import add_parameters
from sdv_plausible.extensions.audit import audit_command
from sdv_plausible.fitting.options import (
    MODELS,
    NAMED,
    OPTIONS,
    VALUES,
    Option,
    moved_to,
    to_constructor_arguments,
    unused_option,
)
from sdv_plausible.mechanism.privacy_tests.privacy_settings import TESTS_BY_NAME
from sdv_plausible.models import NAMES, PAPER_OPTIONS, make_learner
from sdv_plausible.privacy.parameter_checks import Refused, shown

MADE = {
    value.__name__: value
    for value in (ReleaseTest, RandomizedTest, DeterministicTest, PaperNetwork, Person, PublicTable)
}
ARGUMENTS = (
    "metadata", "enforce_min_max_values", "enforce_rounding", "locales", "epsilon", "delta", "model", "test",
    "domain", "types", "undeclared", "max_bins", "person", "neighbours", "budget", "rules", "public",
    "random_state", "anyway",
)  # fmt: skip
OF_SOURCES = ("source", "table_name", "rows", "scratch", "workers", "progress", "allow_no_claim")
WITHOUT_OPTION = (
    "metadata",
    "domain",
    "rules",
    "budget",
    "public",
)  # the command line has own ways to say them
BY_JSON = ("max_cost", "max_parents", "concentration", "parameters", "conditionals")  # --model-parameters


def arguments(function):
    found = inspect.signature(function).parameters.values()
    return {p.name: p for p in found if p.name != "self" and p.kind is not p.VAR_KEYWORD}


def disagreements(known):
    """What the list says otherwise than a door, a value or the command line."""
    own = {name: option for name, option in known.items() if not option.of}
    synthesizer = arguments(PlausibleDeniabilitySynthesizer.__init__)
    found = [f"synthesizer: {name}" for name in {*own} ^ ({*synthesizer} - {*WITHOUT_OPTION})]
    found += [f"fit_source: {n}" for n in {*arguments(fit_source)} - {*own, *WITHOUT_OPTION, *OF_SOURCES}]
    for door, there in {"synthesizer": synthesizer, "fit_source": arguments(fit_source)}.items():
        for name in {*own} & {*there}:
            default = there[name].default
            same = (list(default) if isinstance(default, tuple) else default) == own[name].default
            found += [] if same else [f"{door}: the default of {name}"]
    for name, made in MADE.items():
        defaults = {f.name: f.default for f in fields(made) if f.init and f.name not in BY_JSON}
        said = {o.within or o.name: o.default for o in known.values() if name in o.of}
        left = {f for f, default in defaults.items() if default is MISSING}
        found += [f"{name}: {f}" for f in {*defaults} ^ {*said} ^ left]
        found += [f"{name}: the default of {f}" for f in said if f in defaults and said[f] != defaults[f]]
        hints = typing.get_type_hints(made)
        for option in known.values():
            if name in option.of and option.choices:
                literal = typing.get_args(hints[option.within or option.name])
                found += [] if literal == tuple(option.choices) else [f"{name}: the choices of {option.name}"]
    parser = argparse.ArgumentParser()
    add_parameters(parser)
    flags = {flag for action in parser._actions for flag in action.option_strings}
    found += [f"command line: {option.flag}" for option in known.values() if option.flag not in flags]
    return sorted(found)


def test_doors_values_and_command_line_agree_with_the_list():
    assert disagreements(OPTIONS) == []
    assert tuple(arguments(PlausibleDeniabilitySynthesizer.__init__)) == ARGUMENTS
    assert (*MODELS,) == tuple(sorted(NAMES, key=[*MODELS].index))
    assert {*MADE} <= {*sdv_plausible.__all__}
    assert {name: made.__name__ for name, made in TESTS_BY_NAME.items()} == NAMED["test"]
    assert tuple(name for name, option in OPTIONS.items() if option.of == ("PaperNetwork",)) == PAPER_OPTIONS


def test_a_planted_disagreement_is_seen():
    tests = ("ReleaseTest", "RandomizedTest", "DeterministicTest")
    honest = {*disagreements(OPTIONS)}
    for name, planted, named in (
        ("epsilon", {"default": 2.0}, ["fit_source: the default of epsilon", "synthesizer: the default of epsilon"]),
        ("row_cap", {"default": 5}, ["DeterministicTest: the default of row_cap", "RandomizedTest: the default of row_cap"]),
        ("row_cap", {"of": tests}, ["ReleaseTest: row_cap"]),
        ("noise", {"choices": ("calibrated",)}, ["PaperNetwork: the choices of noise"]),
        ("depth", None, ["command line: --depth", "synthesizer: depth"]),  # which no door has
    ):  # fmt: skip
        option = replace(OPTIONS[name], **planted) if planted else Option(name, int, 1, "how deep")
        assert sorted({*disagreements({**OPTIONS, name: option})} - honest) == named


def test_what_plays_no_part_is_no_argument_of_a_test():
    for name in OPTIONS:
        for test, value in NAMED["test"].items():
            if VALUES.get(next(iter(OPTIONS[name].of), "")) == "test":
                assert (unused_option("test", test, {name: 1}) is None) == (value in OPTIONS[name].of)
    papers = {name for name in NAMES if unused_option("model", name, PAPER_OPTIONS) is None}
    assert papers == {"bayesian_network", *(n for n in NAMES if isinstance(make_learner(n), PaperNetwork))}
    with pytest.raises(TypeError):
        ReleaseTest(row_cap=5)


OLD = {  # argument of 0.1: what was given, and where it went
    "k": (20, "k: give test=ReleaseTest(k=20)"),
    "gamma": (2.0, "gamma: give test=RandomizedTest(gamma=2.0)"),
    "epsilon0": (0.5, "epsilon0: give test=ReleaseTest(epsilon0=0.5)"),
    "omega": ((1, 2), "omega: give test=ReleaseTest(omega=(1, 2))"),
    "privacy_test": ("randomized", "privacy_test: give test='randomized'"),
    "structure": ("cfs", "structure: give model=PaperNetwork(structure='cfs')"),
    "model_parameters": ({"max_cost": 3}, "AdaptiveNetwork(max_cost=10_000)"),
    "split": ((0.2, 0.3, 0.5), "split: give model=PaperNetwork(split=(0.2, 0.3, 0.5))"),
    "row_cap": (9, "row_cap: give test=RandomizedTest(row_cap=9)"),
    "seed_free_share": (0.1, "RandomizedTest"),
    "least_rows": (10, "RandomizedTest"),
    "rows_per_person": (3, 'rows_per_person: give person=Person("column", rows=3)'),
    "source": ("written", 'source: give domain="written"'),
    "max_plausible": (3, "RandomizedTest"),
    "max_check_plausible": (3, "RandomizedTest"),
    "hidden_omega": (True, "RandomizedTest(hidden_omega=True)"),
    "threshold_noise": ("laplace", "RandomizedTest"),
    "noise": ("paper", "noise: give model=PaperNetwork(noise='paper')"),
    "accounting": ("paper", "PaperNetwork"),
    "public_source": ("an office", "public=PublicTable(frame, source='an office')"),
    "model_kwargs": ({}, "model=SDVCopula("),
}


def test_an_argument_of_0_1_says_where_it_went():
    types = {"age": {"sdtype": "numerical"}}
    doors = (partial(PlausibleDeniabilitySynthesizer, metadata_of(types)), partial(fit_source, "none.csv", types))  # fmt: skip
    for name, (value, way) in OLD.items():
        for door in doors[: 1 if name == "source" else 2]:  # fit_source has one of its own
            with pytest.raises(TypeError) as error:
                door(**{name: value})
            assert way in str(error.value)
            assert "\n" not in str(error.value)


def test_what_it_would_replace_is_named_too_and_what_never_was_an_argument_is_none():
    types = metadata_of({"age": {"sdtype": "numerical"}})
    words = r"^noise: give model=PaperNetwork\(noise='paper'\) in the place of model="
    for model in ("correlated", AdaptiveNetwork(max_cost=9)):
        for door in (PlausibleDeniabilitySynthesizer, partial(fit_source, "none.csv")):
            with pytest.raises(TypeError, match=words) as error:
                door(types, model=model, noise="paper")
            assert str(error.value).endswith(f"model={shown(model)}, or leave noise out")
    with pytest.raises(TypeError, match=r"PlausibleDeniabilitySynthesizer\(\) has no argument 'depth'"):
        PlausibleDeniabilitySynthesizer(metadata_of({"age": {"sdtype": "numerical"}}), depth=3)
    assert moved_to("depth", 3) is None
    assert moved_to("epsilon", 3) is None


def test_flat_options_become_the_values_that_hold_them():
    plain = {"epsilon": 2.0, "person": "home", "model": "independent", "table_rows": 9}
    assert to_constructor_arguments(plain) == plain
    flat = {**plain, "k": 20, "rows_per_person": 3, "split": (0.2, 0.3, 0.5)}
    assert to_constructor_arguments(flat) == {
        **plain,
        "test": ReleaseTest(k=20),
        "person": Person("home", rows=3),
        "model": PaperNetwork(structure="independent", split=(0.2, 0.3, 0.5)),
    }
    assert to_constructor_arguments({"model_parameters": {"max_cost": 300}}) == {
        "model": AdaptiveNetwork(max_cost=300)
    }


def test_a_total_becomes_a_test_within_it():
    assert to_constructor_arguments({"total": 2.0, "k": 20, "omega": 3}) == {
        "epsilon": 2.0,
        "test": ReleaseTest.within(k=20, omega=3),
    }
    rows = {"total": 1.0, "test": "randomized", "row_cap": 9, "least_rows": 900}
    assert to_constructor_arguments({**rows, "seed_free_share": 0.8}) == {
        "epsilon": 1.0,
        "test": RandomizedTest.within(rows=9, least_rows=900, seed_free_share=0.8),
    }
    for flat, field in (
        ({"total": 1.0, "epsilon": 1.0}, "total"),
        ({"total": 1.0, "epsilon0": 1.0}, "epsilon0"),
        ({**rows, "gamma": 2.0}, "gamma"),
        ({**rows, "test": "deterministic"}, "test"),
        *(({n: v for n, v in rows.items() if n != name}, name) for name in ("row_cap", "least_rows")),
    ):
        with pytest.raises(Refused) as refused:
            to_constructor_arguments(flat)
        assert refused.value.field == field


# --- refusals say where --------------------------------------------------------------------------------

TABLE = pd.DataFrame({"p": ["x", "y"], "a": ["u", "v"]})
METADATA = metadata_of({"p": {"sdtype": "id"}, "a": {"sdtype": "categorical"}})
SDVS_OWN = ("enforce_min_max_values", "enforce_rounding")  # SDV refuses them


def made_with(option, value):
    """Arguments of the constructor, of which one option has this value."""
    if not option.of:
        return {option.name: value}
    of = option.of[0]
    first = {"Person": ("p",), "PublicTable": (TABLE,)}.get(of, ())
    return {VALUES[of]: MADE[of](*first, **{option.within or option.name: value})}


def test_every_refusal_names_its_field():
    for name in {*OPTIONS, *WITHOUT_OPTION} - {*SDVS_OWN}:
        option = OPTIONS.get(name, Option(name, object, None, ""))
        with pytest.raises(Refused) as refused:  # nothing that any option can be
            PlausibleDeniabilitySynthesizer(**{"metadata": METADATA, **made_with(option, 1j)})
        assert refused.value.field in (name, option.within, *(VALUES[of] for of in option.of))
        again = pickle.loads(pickle.dumps(refused.value))  # errors of workers are sent
        assert (str(again), again.field) == (str(refused.value), refused.value.field)
        assert isinstance(refused.value, ValueError)


def test_a_refusal_holds_no_cell():
    """A table given in the wrong place is in no part of the error: neither its text, nor an attribute."""
    secret = pd.DataFrame({"name": ["NAME-1234567", "NAME-7654321"]})
    records = secret.to_dict("records")
    for value in (secret, secret["name"], secret.to_numpy(), {"table": secret}, records, [secret]):
        for name in ("epsilon", "locales", "person", "max_bins", "rules", "model", "enforce_rounding"):
            with pytest.raises(Refused) as refused:
                PlausibleDeniabilitySynthesizer(METADATA, **{name: value})
            error = refused.value
            assert "NAME-" not in f"{error} {error!r} {error.args} {vars(error)}"


def test_commands_with_few_options_of_their_own_take_defaults_from_the_list(monkeypatch):
    monkeypatch.setitem(OPTIONS, "delta", replace(OPTIONS["delta"], default=3e-7))
    for command in (audit_command, declare):
        made = runpy.run_path(str(command.__file__))  # as it is imported
        parser = argparse.ArgumentParser()
        made["add_options"](parser)
        assert "default: 3e-7" in " ".join(parser.format_help().split())
    assert parser.parse_args(["people.csv", "-o", "x.json"]).delta == 3e-7
    assert audit_command.claim(argparse.Namespace(synthesizer=None, epsilon=None, delta=None)) == (1.0, 3e-7)
    assert audit_command.claim(argparse.Namespace(synthesizer="a:B", epsilon=None, delta=None)) == (None, 0.0)
