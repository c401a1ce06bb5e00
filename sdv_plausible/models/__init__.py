"""Generative models behind the privacy test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def make_learner(model: Any, structure: Any = None, parameters: Mapping[str, Any] | None = None) -> Any:
    """Build the learner of a model from its name, or pass a learner object through.

    Parameters
    ----------
    model : str or object
        ``"bayesian_network"``, ``"independent"`` (the paper's marginals baseline), ``"uniform"`` (nothing is learned),
        or an object with the methods of :class:`sdv_plausible.models.base.Learner`.
    structure : str or mapping, optional
        Structure of the Bayesian network.
    parameters : mapping, optional
        Further keyword arguments of the learner.

    Raises
    ------
    ValueError
        If the name is unknown or a parameter does not fit.
    """
    from sdv_plausible.models.base import Learner
    from sdv_plausible.models.learning import BayesianNetworkLearner
    from sdv_plausible.models.uniform import UniformLearner

    options = dict(parameters or {})
    if not isinstance(model, str):
        if not isinstance(model, Learner):
            raise ValueError(f"model ({model!r}) must be a name or an object with the methods plan and fit of a Learner")
        return model
    makers = {
        "bayesian_network": BayesianNetworkLearner,
        "independent": BayesianNetworkLearner,
        "uniform": UniformLearner,
    }
    if model not in makers:
        raise ValueError(f"model ({model!r}) must be one of {sorted(makers)}, or a learner object")
    if model == "independent":
        options["structure"] = "independent"
    elif structure is not None:
        options["structure"] = structure
    try:
        return makers[model](**options)
    except TypeError as error:
        raise ValueError(f"model_parameters ({dict(options)!r}) do not fit model {model!r}: {error}") from error
