"""Every option once: the constructor's, ``fit_source``'s, the command line's and the app's are these.

Options belong to the constructor, or to a value that one of its arguments takes: a test, a model, a person or
a published table. On the command line and in release files they are flat. Nothing is imported, so that
``--help`` is there without SDV.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MODELS = {
    "bayesian_network": "Bayesian network, adaptive (default)",
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
VALUES = {
    "ReleaseTest": "test", "RandomizedTest": "test", "DeterministicTest": "test", "PaperNetwork": "model",
    "Person": "person", "PublicTable": "public",
}  # fmt: skip
"""Values, and the constructor's argument that takes them."""
NAMED = {"release": "ReleaseTest", "randomized": "RandomizedTest", "deterministic": "DeterministicTest"}
_TESTS = tuple(NAMED.values())
_BY_ROW = _TESTS[1:]


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option.

    Attributes
    ----------
    name : str
        Where options are flat.
    kind : type
        Of its values; ``dict`` for JSON.
    default : object
        Where it is not given.
    help : str
        One line.
    choices : mapping or tuple
        All its values, with what each is for a form.
    of : tuple of str
        Values that hold it; none where it is the constructor's own.
    within : str
        What it is called in them.
    written : str
        How its value is shown on the command line.
    """

    name: str
    kind: type
    default: Any
    help: str
    choices: Mapping[str, str] | tuple[str, ...] = ()
    of: tuple[str, ...] = ()
    within: str = ""
    written: str = field(default="")

    @property
    def flag(self) -> str:
        """What it is called on the command line."""
        return f"--{self.name.replace('_', '-')}"


def _option(name: str, kind: type, default: Any, help: str, **more: Any) -> Option:
    return Option(name=name, kind=kind, default=default, help=help, **more)


OPTIONS = {
    option.name: option
    for option in (
        _option("enforce_min_max_values", bool, True, "kept for SDV's sake: values never leave the domain"),
        _option("enforce_rounding", bool, True, "round numbers to the digits of the domain"),
        _option("locales", list, ["en_US"], "locales of personal data that is invented", written="LOCALE"),
        _option("epsilon", float, 1.0, "privacy budget; inf learns without noise and without a claim"),
        _option("delta", float, 1e-9, "failure probability of the whole release, in (0, 1)"),
        _option(
            "model", str, "bayesian_network", f"what is learned: {', '.join(MODELS)}", choices=MODELS,
            written="NAME",
        ),
        _option("test", str, "release", "the privacy test", choices=TESTS),
        _option(
            "undeclared", str, "private",
            "domains of undeclared columns: learned with noise, or read off the rows without a claim",
            choices=("private", "infer"),
        ),
        _option("max_bins", int, 100, "numbers and dates with more values are put into so many bins"),
        _option("person", str, None, "column that says whose a row is: all rows of one are protected",
                written="COLUMN"),
        _option(
            "neighbours", str, "add_remove",
            "tables with a row (or person) more or less, or with another one in its place",
            choices=("add_remove", "replace_one"),
        ),
        _option("random_state", int, None, "reproducible runs for tests; the ledger then makes no claim"),
        # --- of values --------------------------------------------------------------------------------
        _option("k", int, 50, "plausible seeds that a released row must have, >= 1", of=_TESTS),
        _option("epsilon0", float, 1.0, "inverse scale of the test's noise", of=_TESTS[:2]),
        _option("omega", object, None, "attributes that are resampled (default: the test's choice)",
                of=_TESTS, written="N|LOW-HIGH|all"),
        _option("gamma", float, 4.0, 'factor within which probabilities are "about the same"', of=_BY_ROW),
        _option("row_cap", int, 1_000_000, "rows that may ever be released from one fit; all are charged",
                of=_BY_ROW),
        _option("max_plausible", int, None, "counting plausible seeds stops at so many", of=_BY_ROW),
        _option("max_check_plausible", int, None, "so many seeds are looked at", of=_BY_ROW),
        _option("hidden_omega", bool, False, "likelihoods of the mixture over a range of omega", of=_BY_ROW),
        _option("seed_free_share", float, 0.5, "probability that a proposal resamples everything",
                of=_BY_ROW[:1]),
        _option("least_rows", int, 1000, "a public number that the count of seeds reaches", of=_BY_ROW[:1]),
        _option("threshold_noise", str, "discrete_laplace", "noise of the threshold; laplace is the paper's",
                of=_BY_ROW[:1], choices=("discrete_laplace", "laplace")),
        _option("structure", object, "cfs", "of the paper's network: cfs, independent, or {child: [parents]}",
                of=("PaperNetwork",), written="NAME|JSON"),
        _option("split", tuple, None, "of the paper's network: shares for structure, parameters and seeds",
                of=("PaperNetwork",), written="A,B,C"),
        _option("noise", str, "calibrated", "of the paper's network: paper is the noise as printed",
                of=("PaperNetwork",), choices=("calibrated", "paper")),
        _option("accounting", str, "proved",
                "of the paper's network: paper also says what the paper's formulas give",
                of=("PaperNetwork",), choices=("proved", "paper")),
        _option("rows_per_person", int, 1, "so many rows of each person are used, at most", of=("Person",),
                within="rows"),
        _option("public_source", str, None, "who published --public, for the ledger", of=("PublicTable",),
                within="source"),
    )
}  # fmt: skip
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


def moved_to(name: str, value: Any) -> str | None:
    """Where an argument of 0.1 went; None for what was none.

    Parameters
    ----------
    name : str
        What it was called.
    value : object
        What was given.
    """
    shown = repr(value) if isinstance(value, (str, int, float, tuple, type(None))) else "..."
    if name in _MOVED:
        return _MOVED[name].format(value=shown)
    of = OPTIONS[name].of if name in OPTIONS else ()
    return f"give {VALUES[of[0]]}={of[0]}({name}={shown})" if of else None


def refuse_moved(where: str, given: Mapping[str, Any]) -> None:
    """Refuse keyword arguments that are none, and say where those of 0.1 went.

    Raises
    ------
    TypeError
        If there is one.
    """
    for name, value in given.items():
        way = moved_to(name, value)
        raise TypeError(f"{where}() has no argument {name!r}" if way is None else f"{name}: {way}")


def misplaced(test: str, given: Mapping[str, Any]) -> str | None:
    """The first of some flat options that plays no part in a test; None if there is none."""
    tests = {
        name: OPTIONS[name].of for name in given if VALUES.get(next(iter(OPTIONS[name].of), "")) == "test"
    }
    return next((name for name, of in tests.items() if NAMED[test] not in of), None)
