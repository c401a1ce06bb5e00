"""Options and the constructor are the same parameters, with the same defaults: nothing is said twice."""

from __future__ import annotations

import argparse
import inspect
import json
import typing

import pytest

from sdv_plausible import PlausibleDeniabilitySynthesizer, metadata_of
from sdv_plausible.commands import fitting, parameters
from sdv_plausible.commands.files import UsageError
from sdv_plausible.commands.parameters import OTHERWISE, add_parameters, documented, given, opened_budget

TYPES = {"age": {"sdtype": "numerical"}, "sex": {"sdtype": "categorical"}}
WRITTEN = {  # option -> what the constructor is to get
    "--no-enforce-min-max-values": ("enforce_min_max_values", False),
    "--no-enforce-rounding": ("enforce_rounding", False),
    "--locales de_DE": ("locales", ["de_DE"]),
    "--epsilon inf": ("epsilon", float("inf")),
    "--delta 1e-6": ("delta", 1e-6),
    "--k 7": ("k", 7),
    "--gamma 2.5": ("gamma", 2.5),
    "--epsilon0 0.5": ("epsilon0", 0.5),
    "--omega 5-11": ("omega", (5, 11)),
    "--privacy-test randomized": ("privacy_test", "randomized"),
    "--model independent": ("model", "independent"),
    "--structure chow_liu": ("structure", "chow_liu"),
    '--model-parameters {"max_cost":300}': ("model_parameters", {"max_cost": 300}),
    "--undeclared infer": ("undeclared", "infer"),
    "--max-bins 9": ("max_bins", 9),
    "--split 0.25,0.25,0.5": ("split", (0.25, 0.25, 0.5)),
    "--row-cap 30": ("row_cap", 30),
    "--seed-free-share 0.25": ("seed_free_share", 0.25),
    "--least-rows 500": ("least_rows", 500),
    "--random-state 3": ("random_state", 3),
    "--person home": ("person", "home"),
    "--rows-per-person 4": ("rows_per_person", 4),
    "--neighbours replace_one": ("neighbours", "replace_one"),
    "--max-plausible 60": ("max_plausible", 60),
    "--max-check-plausible 900": ("max_check_plausible", 900),
    "--hidden-omega": ("hidden_omega", True),
    "--threshold-noise laplace": ("threshold_noise", "laplace"),
    "--noise paper": ("noise", "paper"),
    "--accounting paper": ("accounting", "paper"),
    "--public-source Office": ("public_source", "Office"),
}


def parsed(text: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_parameters(parser)
    return parser.parse_args(text.split())


def signature() -> dict[str, inspect.Parameter]:
    found = inspect.signature(PlausibleDeniabilitySynthesizer.__init__).parameters
    return {name: parameter for name, parameter in found.items() if name not in ("self", "metadata")}


def test_every_parameter_is_an_option_or_is_said_otherwise():
    options = {name for name, _ in WRITTEN.values()}
    assert options | set(OTHERWISE) - {"metadata"} == set(signature())
    assert not options & set(OTHERWISE)


@pytest.mark.parametrize("text", WRITTEN)
def test_what_is_written_arrives(text):
    name, value = WRITTEN[text]
    assert given(parsed(text)) == {name: value}


def test_nothing_that_was_not_written_is_passed_on():
    """So every default is the constructor's."""
    assert given(parsed("")) == {}
    options = parsed("--budget b 1 1e-8 --budget-filter rho")
    assert given(options) == {}


def test_what_help_says_is_the_constructors():
    hints = typing.get_type_hints(PlausibleDeniabilitySynthesizer.__init__)
    for parameter in parameters.parameters():
        real = signature()[parameter.name]
        if parameter.default.isupper():  # a name, which help does not show
            assert "default" not in parameter.help
        else:
            assert eval(parameter.default) == real.default
            assert ("(default: " in parameter.help) == (real.default not in (None, ()))
        if parameter.choices and parameter.name != "model":
            assert set(parameter.choices) == set(typing.get_args(hints[parameter.name]))
        assert len(parameter.words) > 10


def test_a_parameter_that_nobody_explains_is_seen():
    assert documented("What.\n\nParameters\n----------\na, b : int, optional\n    Two\n    lines.\n") == {
        "a": ("int", "Two lines."),
        "b": ("int", "Two lines."),
    }


@pytest.mark.parametrize("text", ["--omega few", "--split 1,2", "--k many", "--undeclared guess"])
def test_what_cannot_be_is_refused(text, capsys):
    with pytest.raises(SystemExit, match="2"):
        parsed(text)
    assert text.split()[1].strip("[]") in capsys.readouterr().err


def test_a_mapping_can_be_a_file(tmp_path):
    (tmp_path / "s.json").write_text(json.dumps({"age": ["sex"], "sex": []}))
    assert given(parsed(f"--structure {tmp_path / 's.json'}")) == {"structure": {"age": ["sex"], "sex": []}}


@pytest.mark.parametrize("text", ["--model-parameters [1]", "--structure none.json", "--structure {age"])
def test_what_is_no_mapping_is_refused_where_it_is_used(text):
    option, value = text.split()
    with pytest.raises(UsageError, match=option):
        given(parsed(f"{option} {value}"))


def test_the_synthesizer_gets_them():
    options = parsed("--k 7 --epsilon 2")
    options.domain, options.rules = None, None
    synth = fitting.synthesizer(options, metadata_of(TYPES), k=9, row_cap=5)
    assert (synth.k, synth.epsilon, synth.row_cap, synth.delta) == (7, 2, 5, 1e-9)


def test_a_budget_is_opened(tmp_path):
    options = parsed(f"--budget {tmp_path / 'b'} 1 1e-8 --budget-filter rho")
    assert "rho" in str(opened_budget(options)) or (tmp_path / "b").exists()
    assert opened_budget(parsed("")) is None
    with pytest.raises(UsageError, match="a file and two numbers"):
        opened_budget(parsed("--budget b much 1e-8"))
    with pytest.raises(UsageError, match="which is not there"):
        opened_budget(parsed("--budget-filter rho"))
