"""Generative models behind the privacy test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from typing import Any

from sdv_plausible.privacy.parameter_checks import Refused, one_of
from sdv_plausible.utils.entry_points import extension, extension_names, extension_place

DEFAULT = "bayesian_network"
NAMES = (DEFAULT, *extension_names("learner"))
OF_PAPER = ("structure", "split", "noise", "accounting")
"""Options of the paper's network that files and the command line say beside the model."""


def make_learner(model: Any) -> Any:
    """Build the learner of a model from its name, or pass a learner through."""
    # ``"bayesian_network"``, ``"paper"`` (the learner of [PD]), ``"independent"`` (its marginals baseline),
    # ``"correlated"`` (DataSynthesizer's GreedyBayes), ``"gaussian_copula"``, ``"latent"`` (an autoencoder),
    # ``"random"`` or ``"uniform"`` (nothing is learned), or a :class:`sdv_plausible.models.base.Learner`.
    from sdv_plausible.models.base import Learner

    if not isinstance(model, Learner):
        return named_learner(model)
    if model.public is not None:
        rule = "must be no parameter of the learner"
        way_out = "give the table as public= to the synthesizer, whose ledger names it"
        raise Refused("public", model.public, rule, way_out)
    return model


def named_learner(model: str, parameters: Mapping[str, Any] | None = None, **of_paper: Any) -> Any:
    """Build a learner from plain words, as the command line and files have them."""
    # ``of_paper`` holds ``OF_PAPER``: with one of them, ``"bayesian_network"`` is the paper's.
    one_of("model", model, NAMES, f", or a learner: derive your own from {__name__}.base.Learner")
    made, usual = _made("paper" if of_paper and model == "bayesian_network" else model)
    of_others = of_paper and made is not _made("paper")[0]
    if (name := next((name for name in of_paper if of_others or name in usual), None)) is not None:
        raise ValueError(
            f"{name} ({of_paper[name]!r}) is an option of the paper's network, and plays no part in model "
            f"({model!r}): leave {name} out, or take model 'paper'"
        )
    options = {**usual, **of_paper, **(parameters or {})}
    try:
        return make_learner(made(**options))
    except TypeError as error:
        raise ValueError(f"model_parameters ({options!r}) do not fit model {model!r}: {error}") from error


def _made(name: str) -> tuple[Any, dict[str, Any]]:
    """Class and usual options of a name."""
    if name == DEFAULT:
        from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork

        return AdaptiveNetwork, {}
    made = extension("learner", name)
    return (made.func, dict(made.keywords)) if isinstance(made, partial) else (made, {})


def words_of(model: Any) -> dict[str, Any]:
    """A model in plain words for a file: :func:`named_learner` turned round; no name for another's class."""
    words: dict[str, Any] = {"structure": None, "model_parameters": None, "noise": "calibrated"}
    words["accounting"] = "proved"
    if isinstance(model, str):
        return {"model": model, **words}
    if (name := _name_of(model)) is None:
        return words
    given = {f.name: getattr(model, f.name) for f in fields(model)}
    own = {name: given.pop(name) for name in OF_PAPER if name in given}
    changed = {f.name: given[f.name] for f in fields(model) if given.get(f.name, f.default) != f.default}
    return {**words, **own, "model": name, "model_parameters": changed or None}


def is_builtin(learner: Any) -> bool:
    """Whether a learner is one of this package: what it plans by is known."""
    return isinstance(learner, str) or _name_of(learner) is not None


def _name_of(learner: Any) -> str | None:
    """The first name of a built-in learner's class, or None."""
    made = type(learner)
    place = f"{made.__module__}:{made.__name__}"
    if place == "sdv_plausible.models.adaptive.adaptive_network:AdaptiveNetwork":
        return DEFAULT
    ours = place.startswith("sdv_plausible.")
    known = [name for name in NAMES[1:] if ours and extension_place("learner", name) == place]
    return next((name for name in known if made is _made(name)[0]), None)


def learner_of(words: Mapping[str, Any]) -> Any:
    """The learner of :func:`words_of`, and of earlier files: they may hold options that played no part."""
    # There the paper's network had no name: "bayesian_network" with a structure, or with its noise, was it.
    own = {name: words[name] for name in OF_PAPER if words.get(name) is not None}
    of_paper = own.get("structure", "adaptive") != "adaptive" or own.get("noise") == "paper"
    if words.get("model") == "independent":
        own.pop("structure", None)
    elif words.get("model") != "paper" and (words.get("model") != "bayesian_network" or not of_paper):
        own = {}
    if own.get("structure") == "adaptive":
        del own["structure"]
    if "split" in own:
        own["split"] = tuple(own["split"])
    return named_learner(words.get("model", ""), words.get("model_parameters"), **own)
