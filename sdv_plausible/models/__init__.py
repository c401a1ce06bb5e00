"""Learners and generative models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from typing import Any

from sdv_plausible.privacy.parameter_checks import Refused, one_of
from sdv_plausible.utils.entry_points import extension, extension_location, extension_names

DEFAULT = "bayesian_network"
NAMES = (DEFAULT, *extension_names("learner"))
PAPER_OPTIONS = ("structure", "split", "noise", "accounting")
"""Options of :class:`PaperNetwork` that release files and the command line list next to the model."""


def make_learner(model: Any) -> Any:
    """Return the learner of this name; a :class:`Learner` is returned unchanged."""
    # ``"bayesian_network"``, ``"paper"`` (the learner of [PD]), ``"independent"`` (its marginals baseline),
    # ``"correlated"`` (DataSynthesizer's GreedyBayes), ``"gaussian_copula"``, ``"latent"`` (an autoencoder),
    # ``"random"`` or ``"uniform"`` (no learning), or a :class:`sdv_plausible.models.base.Learner`.
    from sdv_plausible.models.base import Learner

    if not isinstance(model, Learner):
        return named_learner(model)
    if model.public is not None:
        rule = "must be no parameter of the learner"
        way_out = "pass the table to the synthesizer as public=, so that its ledger names it"
        raise Refused("public", model.public, rule, way_out)
    return model


def named_learner(model: str, parameters: Mapping[str, Any] | None = None, **paper_options: Any) -> Any:
    """Create a learner from its name and parameters, as in files and on the command line."""
    # With any option of ``PAPER_OPTIONS`` "bayesian_network" means PaperNetwork.
    one_of("model", model, NAMES, f", or a learner derived from {__name__}.base.Learner")
    learner_class, defaults = _class_and_defaults(
        "paper" if paper_options and model == "bayesian_network" else model
    )
    is_misplaced = paper_options and learner_class is not _class_and_defaults("paper")[0]
    if (name := next((name for name in paper_options if is_misplaced or name in defaults), None)) is not None:
        raise ValueError(
            f"{name} ({paper_options[name]!r}) is an option of the paper's network and has no effect with "
            f"model ({model!r}): remove {name}, or use model 'paper'"
        )
    options = {**defaults, **paper_options, **(parameters or {})}
    try:
        return make_learner(learner_class(**options))
    except TypeError as error:
        raise ValueError(f"model_parameters ({options!r}) do not fit model {model!r}: {error}") from error


def _class_and_defaults(name: str) -> tuple[Any, dict[str, Any]]:
    """Return the class of a learner's name and its default parameters."""
    if name == DEFAULT:
        from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork

        return AdaptiveNetwork, {}
    learner_class = extension("learner", name)
    return (
        (learner_class.func, dict(learner_class.keywords))
        if isinstance(learner_class, partial)
        else (learner_class, {})
    )


def learner_config(model: Any) -> dict[str, Any]:
    """Describe a learner as plain values for a file: the inverse of :func:`learner_from_config`."""
    config: dict[str, Any] = {"structure": None, "model_parameters": None, "noise": "calibrated"}
    config["accounting"] = "proved"
    if isinstance(model, str):
        return {"model": model, **config} if is_builtin(model) else config
    if (name := _name_of(model)) is None:
        return config
    values = {f.name: getattr(model, f.name) for f in fields(model)}
    paper_options = {name: values.pop(name) for name in PAPER_OPTIONS if name in values}
    changed = {f.name: values[f.name] for f in fields(model) if values.get(f.name, f.default) != f.default}
    return {**config, **paper_options, "model": name, "model_parameters": changed or None}


def is_builtin(learner: Any) -> bool:
    """Whether a learner, or a learner's name, belongs to this package."""
    if isinstance(learner, str):
        place = extension_location("learner", learner) or ""
        return learner == DEFAULT or place.startswith("sdv_plausible.")
    return _name_of(learner) is not None


def _name_of(learner: Any) -> str | None:
    """Return the first name of a built-in learner's class, or None."""
    learner_class = type(learner)
    import_path = f"{learner_class.__module__}:{learner_class.__name__}"
    if import_path == "sdv_plausible.models.adaptive.adaptive_network:AdaptiveNetwork":
        return DEFAULT
    is_own = import_path.startswith("sdv_plausible.")
    names = [name for name in NAMES[1:] if is_own and extension_location("learner", name) == import_path]
    return next((name for name in names if learner_class is _class_and_defaults(name)[0]), None)


def learner_from_config(config: Mapping[str, Any]) -> Any:
    """Create the learner of :func:`learner_config`, or of an earlier release file."""
    # Earlier files had no name for PaperNetwork: "bayesian_network" with a structure or with its noise meant
    # it. They may also hold options that had no effect.
    paper_options = {name: config[name] for name in PAPER_OPTIONS if config.get(name) is not None}
    is_paper = (
        paper_options.get("structure", "adaptive") != "adaptive" or paper_options.get("noise") == "paper"
    )
    if config.get("model") == "independent":
        paper_options.pop("structure", None)
    elif config.get("model") != "paper" and (config.get("model") != "bayesian_network" or not is_paper):
        paper_options = {}
    if paper_options.get("structure") == "adaptive":
        del paper_options["structure"]
    if "split" in paper_options:
        paper_options["split"] = tuple(paper_options["split"])
    return named_learner(config.get("model", ""), config.get("model_parameters"), **paper_options)
