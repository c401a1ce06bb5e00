"""The options of the constructor, ``fit_source``, the command line and the app.

An option belongs to the constructor, or to a value object of one of its arguments: a test, a model, a person
or a published table. On the command line and in release files all options are flat. This module imports
little, so that ``--help`` works without SDV.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sdv_plausible.utils.entry_points import extension_names

MODELS = {
    "bayesian_network": "Bayesian network, adaptive (default)",
    "paper": "Bayesian network of the paper on plausible deniability",
    "correlated": "correlated attributes (DataSynthesizer)",
    "independent": "independent attributes (DataSynthesizer)",
    "random": "random: declared values alone (DataSynthesizer)",
    "gaussian_copula": "Gaussian copula",
    "latent": "autoencoder",
    "uniform": "the same as random",
}
MODELS |= {name: name for name in extension_names("learner") if name not in MODELS}  # by entry points
TESTS = {
    "release": "one guarantee for any number of rows (default)",
    "randomized": "row by row, randomised: every row costs",
    "deterministic": "row by row, plausible deniability without an epsilon",
}
TYPES_SHARE = 0.3
"""Share of epsilon and of the model's delta for type inference.

With Gaussian noise this is a tenth of mu^2, so the domain and the model get about 5 % more noise.
"""
VOTE_TAKES = "three tenths of epsilon"
VALUES = {
    "ReleaseTest": "test", "RandomizedTest": "test", "DeterministicTest": "test", "PaperNetwork": "model",
    "Person": "person", "PublicTable": "public",
}  # fmt: skip
"""Value class -> constructor argument that takes it."""
NAMED = {
    "test": {"release": "ReleaseTest", "randomized": "RandomizedTest", "deterministic": "DeterministicTest"},
    "model": dict.fromkeys(("paper", "independent", "bayesian_network"), "PaperNetwork"),
}
"""Constructor argument -> name -> value class that holds the name's options."""
_TESTS = tuple(NAMED["test"].values())
_BY_ROW = _TESTS[1:]


@dataclass(frozen=True)
class Option:
    """One option."""

    # ``name``, ``kind``, ``default``, ``help``: flat name, type, default and help text.
    # ``within``, ``written``: name in the value class, and placeholder on the command line, if they differ.

    name: str
    kind: type
    default: Any
    help: str
    of: tuple[str, ...] = ()  # value classes that hold it; empty for options of the constructor
    choices: Mapping[str, str] | tuple[str, ...] = ()  # allowed values, with labels for a form
    within: str = ""
    written: str = ""

    @property
    def flag(self) -> str:
        """Name on the command line."""
        return f"--{self.name.replace('_', '-')}"


_PAPER = ("PaperNetwork",)
_LIST = (
    Option("enforce_min_max_values", bool, True, "kept for SDV's sake: values never leave the domain"),
    Option("enforce_rounding", bool, True, "round numbers to the digits of the domain"),
    Option("locales", list, ["en_US"], "locales of personal data that is invented", written="LOCALE"),
    Option("epsilon", float, 1.0, "privacy budget; inf learns without noise and without a claim"),
    Option("delta", float, 1e-9, "failure probability of the whole release, in (0, 1)"),
    Option("model", str, "bayesian_network", f"{', '.join(MODELS)}", choices=MODELS, written="NAME"),
    Option("test", str, "release", "the privacy test", choices=TESTS),
    Option(
        "types", str, None,
        "where types are from: without a word, a claim says that it depends on those of --metadata; on the "
        "command line cells vote on types that nobody declared",
        choices=("declared", "voted", "detected"),
    ),
    Option(
        "undeclared", str, "private",
        "domains of undeclared columns: learned with noise, or read off the rows without a claim",
        choices=("private", "infer"),
    ),
    Option("anyway", bool, False,
           "learn what nobody declared without a count of the rows first, however few there are"),
    Option("max_bins", int, 100, "numbers and dates with more values are put into so many bins"),
    Option("person", str, None, "column that says whose a row is: all of one's rows are protected",
           written="COLUMN"),
    Option("neighbours", str, "add_remove", "tables with a row (or person) more, or with another one",
           choices=("add_remove", "replace_one")),
    Option("random_state", int, None, "reproducible runs for tests; the ledger then makes no claim"),
    Option("k", int, 50, "at least k records behind every row (randomized: about k); without a seed, all are",
           _TESTS),
    Option("epsilon0", float, 1.0, "inverse scale of the test's noise; --total finds it", _TESTS[:2]),
    Option("omega", object, None, "attributes that are resampled (default: the test's choice)", _TESTS,
           written="N|LOW-HIGH|all"),
    Option("gamma", float, 4.0, 'factor within which probabilities are "about the same"', _BY_ROW),
    Option("row_cap", int, None, "rows that one fit may ever release; all are charged (default: those of -n)",
           _BY_ROW),
    Option("max_plausible", int, None, "counting plausible seeds stops at so many", _BY_ROW),
    Option("max_check_plausible", int, None, "so many seeds are looked at", _BY_ROW),
    Option("hidden_omega", bool, False, "likelihoods of the mixture over a range of omega", _BY_ROW),
    Option("seed_free_share", float, 0.5, "probability that a proposal resamples everything", _BY_ROW[:1]),
    Option("least_rows", int, 1000, "a public number that the count of seeds reaches", _BY_ROW[:1]),
    Option("threshold_noise", str, "discrete_laplace", "noise of the threshold; laplace is the paper's",
           _BY_ROW[:1], ("discrete_laplace", "laplace")),
    Option("structure", object, "cfs", "of the paper's network: cfs, independent, or {child: [parents]}",
           _PAPER, written="NAME|JSON"),
    Option("split", tuple, None, "of the paper's network: shares for structure, parameters and seeds", _PAPER,
           written="A,B,C"),
    Option("noise", str, "calibrated", "of the paper's network: paper is the noise as printed", _PAPER,
           ("calibrated", "paper")),
    Option("accounting", str, "proved", "of the paper's network: paper adds what its formulas give", _PAPER,
           ("proved", "paper")),
    Option("rows_per_person", int, 1, "so many rows of each person are used, at most", ("Person",),
           within="rows"),
    Option("public_source", str, None, "who published --public, for the ledger", ("PublicTable",),
           within="source"),
)  # fmt: skip
OPTIONS = {option.name: option for option in _LIST}
_MOVED = {
    "privacy_test": "give test={value}",
    "source": 'give domain="written"',
    "model_parameters": "pass them to the model, as in model=AdaptiveNetwork(max_cost=10_000)",
    "model_kwargs": "use model=SDVCopula(GaussianCopulaSynthesizer, ...)",
    "rows_per_person": 'give person=Person("column", rows={value})',
    "public_source": "give public=PublicTable(frame, source={value})",
}
"""Arguments of version 0.1 that are no longer constructor arguments -> replacement."""


def default_of(name: str) -> Any:
    """Default of an option."""
    return OPTIONS[name].default


def typed_default(name: str) -> str:
    """The default as typed on the command line, such as 1e-9."""
    default = default_of(name)
    return default if isinstance(default, str) else f"{default:.12g}".replace("e-0", "e-")


def moved_to(name: str, value: Any) -> str | None:
    """The replacement of an argument of version 0.1, with its value; None if there was no such argument."""
    is_short = (
        isinstance(value, tuple) and len(value) < 4 and all(isinstance(x, (str, int, float)) for x in value)
    )
    shown = repr(value) if is_short or isinstance(value, (str, int, float, type(None))) else "..."
    if name in _MOVED:
        return _MOVED[name].format(value=shown)
    of = OPTIONS[name].of if name in OPTIONS else ()
    return f"give {VALUES[of[0]]}={of[0]}({name}={shown})" if of else None


def check_no_moved(where: str, given: Mapping[str, Any], **beside: Any) -> None:
    """Raise TypeError for unknown keyword arguments of ``where``, naming replacements of those of 0.1.

    ``beside`` holds the arguments that take value objects, as passed.
    """
    from sdv_plausible.privacy.parameter_checks import shown

    for name, value in given.items():
        if (replacement := moved_to(name, value)) is None:
            raise TypeError(f"{where}() has no argument {name!r}")
        argument = _argument(name)
        if argument in beside and beside[argument] is not default_of(argument):
            replacement += f" in the place of {argument}={shown(beside[argument])}, or leave {name} out"
        raise TypeError(f"{name}: {replacement}")


def unused_option(argument: str, chosen: str, given: Iterable[str]) -> str | None:
    """The first flat option in ``given`` that the chosen test or model does not use, or None."""
    held = {name: OPTIONS[name].of for name in given if name != argument and _argument(name) == argument}
    return next((name for name, of in held.items() if NAMED[argument].get(chosen) not in of), None)


def to_constructor_arguments(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Constructor arguments from flat options and "model_parameters", with value objects built.

    With ``total`` in the place of ``epsilon``, that of the whole release, the test is found within it.
    """
    from sdv_plausible.fitting.public_table import PublicTable
    from sdv_plausible.mechanism.privacy_tests.privacy_settings import TESTS_BY_NAME
    from sdv_plausible.models import named_learner
    from sdv_plausible.privacy.neighbours import person_from_fields
    from sdv_plausible.privacy.parameter_checks import Refused, positive

    arguments: dict[str, Any] = {}
    by_argument: dict[str, dict[str, Any]] = {argument: {} for argument in VALUES.values()}
    for name, value in flat.items():
        (arguments if _argument(name) == name else by_argument[_argument(name)])[name] = value
    model_parameters = arguments.pop("model_parameters", None)
    if "total" in arguments:
        total, test = arguments.pop("total"), arguments.get("test", default_of("test"))
        positive("total", total, "try 1.0")
        if "epsilon" in arguments:
            raise Refused("total", total, "is the epsilon of the whole release", "leave epsilon out")
        arguments |= {"epsilon": total, "test": _within_epsilon(test, by_argument["test"])}
    elif by_argument["test"]:
        arguments["test"] = TESTS_BY_NAME[arguments.get("test", default_of("test"))](**by_argument["test"])
    if by_argument["model"] or model_parameters is not None:
        arguments["model"] = named_learner(
            arguments.get("model", default_of("model")), model_parameters, **by_argument["model"]
        )
    if by_argument["person"]:
        arguments["person"] = person_from_fields(arguments.get("person"), *by_argument["person"].values())
    if by_argument["public"]:
        if arguments.get("public") is None:
            given = next(iter(by_argument["public"].values()))
            raise Refused("public_source", given, "needs public, the published table")
        arguments["public"] = PublicTable(arguments.get("public"), *by_argument["public"].values())  # type: ignore[arg-type]
    return arguments


def _within_epsilon(name: str, options: Mapping[str, Any]) -> Any:
    """The test of a total, from its flat options."""
    from sdv_plausible.mechanism.privacy_tests.privacy_settings import TESTS_BY_NAME
    from sdv_plausible.privacy.parameter_checks import Refused

    of_test = {"release": (), "randomized": ("row_cap", "least_rows", "seed_free_share")}
    if name not in of_test:
        raise Refused("test", name, "has no epsilon, and no total", "leave total out, or take another test")
    for option, value in options.items():
        if option not in ("k", "omega", *of_test[name]):
            raise Refused(option, value, "plays no part within a total", "leave it or total out")
    if missing := [option for option in of_test[name][:2] if option not in options]:
        raise Refused.saying(
            missing[0],
            f"{missing[0]} is missing: within a total, the randomized test needs row_cap, the number of rows "
            "to release, and least_rows, a public number of rows that the table has for sure",
        )
    test: Any = TESTS_BY_NAME[name]
    return test.within(**{"rows" if option == "row_cap" else option: v for option, v in options.items()})


def _argument(name: str) -> str:
    """The constructor argument that takes a flat option; options of the constructor are their own."""
    of = OPTIONS[name].of if name in OPTIONS else ()
    return VALUES[of[0]] if of else name
