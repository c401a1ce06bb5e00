"""Every option once: the constructor's, ``fit_source``'s, the command line's and the app's are these.

Options belong to the constructor, or to a value that one of its arguments takes: a test, a model, a person or
a published table. On the command line and in release files they are flat. Nothing is imported, so that
``--help`` is there without SDV.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

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
TESTS = {
    "release": "one guarantee for any number of rows (default)",
    "randomized": "row by row, randomised: every row costs",
    "deterministic": "row by row, plausible deniability without an epsilon",
}
TYPES_SHARE = 0.3
"""Of epsilon and of the model's delta, for a vote on types: domain and model keep to what is left.

Of Gaussian noise it is a tenth of mu^2: domain and model have noise that is a twentieth larger than without.
"""
VOTE_TAKES = "three tenths of epsilon"
VALUES = {
    "ReleaseTest": "test", "RandomizedTest": "test", "DeterministicTest": "test", "PaperNetwork": "model",
    "Person": "person", "PublicTable": "public",
}  # fmt: skip
"""Values, and the constructor's argument that takes them."""
NAMED = {
    "test": {"release": "ReleaseTest", "randomized": "RandomizedTest", "deterministic": "DeterministicTest"},
    "model": dict.fromkeys(("paper", "independent", "bayesian_network"), "PaperNetwork"),
}
"""Names of an argument, and the value that holds the options which stand beside each."""
_TESTS = tuple(NAMED["test"].values())
_BY_ROW = _TESTS[1:]


@dataclass(frozen=True)
class Option:
    """One option.

    Attributes
    ----------
    name, kind, default, help
        What it is called where options are flat, of which type it is, and what is said of it in a line.
    of : tuple of str
        Values that hold it; none where it is the constructor's own.
    choices : mapping or tuple
        All its values, with what each is for a form.
    within, written : str
        What it is called in them, and how its value is shown on the command line, where that differs.
    """

    name: str
    kind: type
    default: Any
    help: str
    of: tuple[str, ...] = ()
    choices: Mapping[str, str] | tuple[str, ...] = ()
    within: str = ""
    written: str = ""

    @property
    def flag(self) -> str:
        """What it is called on the command line."""
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
    Option("k", int, 50, "plausible seeds that a released row must have, >= 1", _TESTS),
    Option("epsilon0", float, 1.0, "inverse scale of the test's noise", _TESTS[:2]),
    Option("omega", object, None, "attributes that are resampled (default: the test's choice)", _TESTS,
           written="N|LOW-HIGH|all"),
    Option("gamma", float, 4.0, 'factor within which probabilities are "about the same"', _BY_ROW),
    Option("row_cap", int, 1_000_000, "rows that one fit may ever release; all are charged", _BY_ROW),
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
    "model_parameters": "give model= a value with them, such as AdaptiveNetwork(max_cost=10_000)",
    "model_kwargs": "give model=SDVCopula(GaussianCopulaSynthesizer, ...)",
    "rows_per_person": 'give person=Person("column", rows={value})',
    "public_source": "give public=PublicTable(frame, source={value})",
}
"""Arguments of 0.1 that are no option of a value by the same name, and where they went."""


def default_of(name: str) -> Any:
    """The default of an option."""
    return OPTIONS[name].default


def typed_default(name: str) -> str:
    """The same as somebody types it: 1e-9."""
    default = default_of(name)
    return default if isinstance(default, str) else f"{default:.12g}".replace("e-0", "e-")


def moved_to(name: str, value: Any) -> str | None:
    """Where an argument of 0.1 went; None for what was none.

    Parameters
    ----------
    name : str
        What it was called.
    value : object
        What was given.
    """
    few = isinstance(value, tuple) and len(value) < 4 and all(isinstance(x, (str, int, float)) for x in value)
    shown = repr(value) if few or isinstance(value, (str, int, float, type(None))) else "..."
    if name in _MOVED:
        return _MOVED[name].format(value=shown)
    of = OPTIONS[name].of if name in OPTIONS else ()
    return f"give {VALUES[of[0]]}={of[0]}({name}={shown})" if of else None


def refuse_moved(where: str, given: Mapping[str, Any], **beside: Any) -> None:
    """Refuse keyword arguments that are none, and say where those of 0.1 went.

    Parameters
    ----------
    where : str
        Who has no such argument.
    given : mapping
        The keyword arguments.
    **beside : object
        Arguments that take values, as they were given: the one that a way out would replace is named.

    Raises
    ------
    TypeError
        If there is one.
    """
    from sdv_plausible.privacy.parameter_checks import shown

    for name, value in given.items():
        if (way := moved_to(name, value)) is None:
            raise TypeError(f"{where}() has no argument {name!r}")
        argument = _argument(name)
        if argument in beside and beside[argument] is not default_of(argument):
            way += f" in the place of {argument}={shown(beside[argument])}, or leave {name} out"
        raise TypeError(f"{name}: {way}")


def misplaced(argument: str, chosen: str, given: Iterable[str]) -> str | None:
    """The first of some flat options that plays no part beside a test or model; None if there is none."""
    held = {name: OPTIONS[name].of for name in given if name != argument and _argument(name) == argument}
    return next((name for name, of in held.items() if NAMED[argument].get(chosen) not in of), None)


def arguments_of(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of the constructor from flat options and "model_parameters": a value's become the value."""
    from sdv_plausible.fitting.public_table import PublicTable
    from sdv_plausible.mechanism.privacy_tests.privacy_settings import TESTS_BY_NAME
    from sdv_plausible.models import named_learner
    from sdv_plausible.privacy.neighbours import person_of
    from sdv_plausible.privacy.parameter_checks import Refused

    found: dict[str, Any] = {}
    of: dict[str, dict[str, Any]] = {argument: {} for argument in VALUES.values()}
    for name, value in flat.items():
        (found if _argument(name) == name else of[_argument(name)])[name] = value
    more = found.pop("model_parameters", None)
    if of["test"]:
        found["test"] = TESTS_BY_NAME[found.get("test", default_of("test"))](**of["test"])
    if of["model"] or more is not None:
        found["model"] = named_learner(found.get("model", default_of("model")), more, **of["model"])
    if of["person"]:
        found["person"] = person_of(found.get("person"), *of["person"].values())
    if of["public"]:
        if found.get("public") is None:
            given = next(iter(of["public"].values()))
            raise Refused("public_source", given, "needs public, the table that was published")
        found["public"] = PublicTable(found.get("public"), *of["public"].values())  # type: ignore[arg-type]
    return found


def _argument(name: str) -> str:
    """The constructor's argument that takes a flat option: itself where it is no value's."""
    of = OPTIONS[name].of if name in OPTIONS else ()
    return VALUES[of[0]] if of else name
