"""What is written on the command line arrives as the constructor's arguments, in the values that hold it."""

import argparse
import json
import re

import pandas as pd
import pytest

from sdv_plausible import (
    AdaptiveNetwork,
    DeterministicTest,
    PaperNetwork,
    Person,
    RandomizedTest,
    ReleaseTest,
    metadata_of,
)
from sdv_plausible.cli import run_fit
from sdv_plausible.cli.files import UsageError
from sdv_plausible.cli.run_fit import add_parameters, constructor_arguments, open_budget
from sdv_plausible.fitting.options import OPTIONS

FRAME = pd.DataFrame({"age": [1]})
TYPES = {"age": {"sdtype": "numerical"}, "sex": {"sdtype": "categorical"}}
WRITTEN = {  # options -> what the constructor is to get
    "--no-enforce-min-max-values": ("enforce_min_max_values", False),
    "--no-enforce-rounding": ("enforce_rounding", False),
    "--locales de_DE": ("locales", ["de_DE"]),
    "--epsilon inf": ("epsilon", float("inf")),
    "--delta 1e-6": ("delta", 1e-6),
    "--k 7": ("test", ReleaseTest(k=7)),
    "--epsilon0 0.5 --omega 5-11": ("test", ReleaseTest(epsilon0=0.5, omega=(5, 11))),
    "--test randomized": ("test", "randomized"),
    "--test deterministic --gamma 2.5 --row-cap 30": ("test", DeterministicTest(gamma=2.5, row_cap=30)),
    "--test randomized --seed-free-share 0.25 --least-rows 500 --threshold-noise laplace": (
        "test", RandomizedTest(seed_free_share=0.25, least_rows=500, threshold_noise="laplace"),
    ),
    "--test randomized --max-plausible 60 --max-check-plausible 900 --hidden-omega": (
        "test", RandomizedTest(max_plausible=60, max_check_plausible=900, hidden_omega=True),
    ),
    "--model independent": ("model", "independent"),
    "--structure cfs": ("model", PaperNetwork()),
    "--model paper": ("model", "paper"),
    "--model paper --split 0.25,0.25,0.5 --noise paper": (
        "model", PaperNetwork(split=(0.25, 0.25, 0.5), noise="paper"),
    ),
    "--split 0.25,0.25,0.5": ("model", PaperNetwork(split=(0.25, 0.25, 0.5))),
    "--model independent --noise paper --accounting paper": (
        "model", PaperNetwork(structure="independent", noise="paper", accounting="paper"),
    ),
    '--model-parameters {"max_cost":300}': ("model", AdaptiveNetwork(max_cost=300)),
    "--types voted": ("types", "voted"),
    "--undeclared infer": ("undeclared", "infer"),
    "--max-bins 9": ("max_bins", 9),
    "--random-state 3": ("random_state", 3),
    "--anyway": ("anyway", True),
    "--person home": ("person", "home"),
    "--person home --rows-per-person 4": ("person", Person("home", rows=4)),
    "--neighbours replace_one": ("neighbours", "replace_one"),
}  # fmt: skip
NO_PART = {  # options, of which one plays no part -> it
    "--row-cap 30": "--row-cap",
    "--test release --gamma 3": "--gamma",
    "--test deterministic --epsilon0 3": "--epsilon0",
    "--test deterministic --least-rows 3": "--least-rows",
    "--model latent --structure cfs": "--structure (cfs) has no effect with --model latent",
    "--model correlated --split 0.2,0.3,0.5": "--split",
    "--model correlated --noise paper": "--noise (paper) has no effect with --model correlated",
    "--model independent --structure cfs": "structure",
    "--rows-per-person 3": "rows_per_person (3) needs person",
    "--public-source Office": "public_source ('Office') needs public",
}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser()
    add_parameters(made)
    return made


def parsed(text: str) -> argparse.Namespace:
    return parser().parse_args(text.split())


def test_every_option_is_written_somewhere():
    written = " ".join([*WRITTEN, *NO_PART]).replace("--no-", "--")
    assert [option.flag for option in OPTIONS.values() if option.flag not in written.split()] == []


def test_an_option_that_plays_no_part_is_refused_in_one_line():
    for text, words in NO_PART.items():
        with pytest.raises(ValueError, match=f"^{re.escape(words)}") as error:
            constructor_arguments(parsed(text))
        assert "\n" not in str(error.value)


def test_what_is_written_arrives_and_nothing_else_is_passed_on():
    """So every default is the constructor's."""
    budget = "--budget b 1 1e-8 --budget-filter rho"
    expected = {text: {name: value} for text, (name, value) in WRITTEN.items()} | {"": {}, budget: {}}
    assert {text: constructor_arguments(parsed(text)) for text in expected} == expected


def test_help_says_every_option_with_its_default():
    told = " ".join(parser().format_help().split())
    for option in OPTIONS.values():
        assert option.flag in told
        assert len(option.help) > 10
    assert "(default: 1000)" in told
    assert "privacy-test" not in told


def test_what_cannot_be_is_refused_and_the_old_spelling_says_the_new_one(capsys):
    for text, said in {
        "--omega few": "few", "--split 1,2": "1,2", "--k many": "many", "--undeclared guess": "guess",
        "--privacy-test randomized": "--test randomized",
    }.items():  # fmt: skip
        with pytest.raises(SystemExit, match="2"):
            parsed(text)
        assert said in capsys.readouterr().err


def test_a_mapping_can_be_a_file_and_is_refused_where_it_is_used(tmp_path):
    (tmp_path / "s.json").write_text(json.dumps({"age": ["sex"], "sex": []}))
    expected = {"model": PaperNetwork(structure={"age": ["sex"], "sex": []})}
    assert constructor_arguments(parsed(f"--structure {tmp_path / 's.json'}")) == expected
    for text in ("--model-parameters [1]", "--structure none.json", "--structure {age"):
        with pytest.raises(UsageError, match=text.split()[0]):
            constructor_arguments(parsed(text))


def test_the_synthesizer_gets_them():
    options = parsed("--k 7 --epsilon 2 --test randomized")
    options.domain, options.rules = None, None
    synth = run_fit.make_synthesizer(options, metadata_of(TYPES), k=9, row_cap=5)
    assert (synth.test, synth.epsilon, synth.delta) == (RandomizedTest(k=7, row_cap=5), 2, 1e-9)


def test_who_published_a_table_that_is_not_read_yet_waits_for_it():
    options = parsed("--public old.csv --public-source Office")
    assert constructor_arguments(options) == {}
    assert constructor_arguments(options, public=FRAME)["public"].source == "Office"


def test_a_budget_is_opened(tmp_path):
    options = parsed(f"--budget {tmp_path / 'b'} 1 1e-8 --budget-filter rho")
    assert "rho" in str(open_budget(options)) or (tmp_path / "b").exists()
    assert open_budget(parsed("")) is None
    with pytest.raises(UsageError, match="a file and two numbers"):
        open_budget(parsed("--budget b much 1e-8"))
    with pytest.raises(UsageError, match="which is not there"):
        open_budget(parsed("--budget-filter rho"))
