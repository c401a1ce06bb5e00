"""Generative models behind the privacy test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from sdv_plausible.privacy.checks import Refused

NAMES = ("bayesian_network", "independent", "correlated", "gaussian_copula", "latent", "random", "uniform")
OF_PAPER = ("structure", "split", "noise", "accounting")
"""Options of the paper's network that files and the command line say beside the model."""


def make_learner(model: Any) -> Any:
    """Build the learner of a model from its name, or pass a learner through."""
    # ``"bayesian_network"``, ``"independent"`` (the paper's marginals baseline), ``"correlated"``
    # (DataSynthesizer's GreedyBayes), ``"gaussian_copula"``, ``"latent"`` (an autoencoder), ``"random"`` or
    # ``"uniform"`` (nothing is learned), or an object with the methods of
    # :class:`sdv_plausible.models.base.Learner`.
    from sdv_plausible.models.base import Learner

    if isinstance(model, str):
        return named_learner(model)
    if isinstance(model, type) or not isinstance(model, Learner):
        raise Refused(
            "model", model, "must be a name or an object with the methods plan and fit of a Learner"
        )
    if getattr(model, "public", None) is not None:
        raise Refused.saying(
            "public",
            "public must be no parameter of the learner: give the table as public= to the synthesizer, whose "
            "ledger names it",
        )
    return model


def named_learner(model: str, parameters: Mapping[str, Any] | None = None, **of_paper: Any) -> Any:
    """Build a learner from plain words, as the command line and files have them."""
    # ``of_paper`` holds ``OF_PAPER``: with one of them, ``"bayesian_network"`` is the paper's.
    if model not in NAMES:
        raise Refused("model", model, f"must be one of {', '.join(NAMES)}, or a learner object")
    makers = _makers()
    (made, usual), (network, _) = makers[model], makers["independent"]
    if of_paper and model == "bayesian_network":
        made = network
    name = next((name for name in of_paper if made is not network or name in usual), None)
    if name is not None:
        raise ValueError(
            f"{name} ({of_paper[name]!r}) is an option of the paper's network, and plays no part in model "
            f"{model!r}: leave it out, or leave the model out"
        )
    options = {**usual, **of_paper, **(parameters or {})}
    try:
        return make_learner(made(**options))
    except TypeError as error:
        raise ValueError(f"model_parameters ({options!r}) do not fit model {model!r}: {error}") from error


def _makers() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Class and usual options of every name."""
    from sdv_plausible.models.adaptive.learner import AdaptiveNetwork
    from sdv_plausible.models.datasynthesizer.learner import GreedyBayes
    from sdv_plausible.models.gaussian_copula.learner import GaussianCopula
    from sdv_plausible.models.latent.learner import Latent
    from sdv_plausible.models.paper.learner import PaperNetwork
    from sdv_plausible.models.uniform import Uniform

    return {
        "bayesian_network": (AdaptiveNetwork, {}),
        "independent": (PaperNetwork, {"structure": "independent"}), "correlated": (GreedyBayes, {}),
        "gaussian_copula": (GaussianCopula, {}), "latent": (Latent, {}), "random": (Uniform, {}),
        "uniform": (Uniform, {}),
    }  # fmt: skip


def words_of(model: Any) -> dict[str, Any]:
    """A model in plain words for a file: :func:`named_learner` turned round; no name for another's class."""
    words: dict[str, Any] = {"structure": None, "model_parameters": None, "noise": "calibrated"}
    words["accounting"] = "proved"
    if isinstance(model, str):
        return {"model": model, **words}
    name = next((name for name, (made, _) in _makers().items() if type(model) is made), None)
    if name is None:
        return words
    given = {f.name: getattr(model, f.name) for f in fields(model)}
    own = {name: given.pop(name) for name in OF_PAPER if name in given}
    changed = {f.name: given[f.name] for f in fields(model) if given.get(f.name, f.default) != f.default}
    name = "bayesian_network" if own else name  # whose structure says that it is the paper's
    return {**words, **own, "model": name, "model_parameters": changed or None}


def learner_of(words: Mapping[str, Any]) -> Any:
    """The learner of :func:`words_of`, and of earlier files: they may hold options that played no part."""
    own = {name: words[name] for name in OF_PAPER if words.get(name) is not None}
    of_paper = own.get("structure", "adaptive") != "adaptive" or own.get("noise") == "paper"
    if words.get("model") == "independent":
        own.pop("structure", None)
    elif words.get("model") != "bayesian_network" or not of_paper:
        own = {}
    if own.get("structure") == "adaptive":
        del own["structure"]
    if "split" in own:
        own["split"] = tuple(own["split"])
    return named_learner(words.get("model", ""), words.get("model_parameters"), **own)
