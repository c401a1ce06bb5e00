"""Generative models behind the privacy test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NAMES = ("bayesian_network", "independent", "correlated", "gaussian_copula", "latent", "random", "uniform")


def make_learner(model: Any, structure: Any = None, parameters: Mapping[str, Any] | None = None) -> Any:
    """Build the learner of a model from its name, or pass a learner object through.

    Parameters
    ----------
    model : str or object
        ``"bayesian_network"``, ``"independent"`` (the paper's marginals baseline), ``"correlated"``
        (DataSynthesizer's GreedyBayes), ``"gaussian_copula"``, ``"latent"`` (an autoencoder), ``"random"`` or
        ``"uniform"`` (nothing is learned), or an object with the methods of
        :class:`sdv_plausible.models.base.Learner`.
    structure : "adaptive", "cfs", "independent" or mapping, optional
        How the network is learned: adaptively (the default), by the paper's correlation-based feature
        selection, without arcs, or with the arcs of ``{child: [parents]}``.
    parameters : mapping, optional
        Further keyword arguments of the learner.

    Raises
    ------
    ValueError
        If the name is unknown or a parameter does not fit.
    """
    from sdv_plausible.models.adaptive.learner import AdaptiveLearner
    from sdv_plausible.models.base import Learner
    from sdv_plausible.models.datasynthesizer.learner import CorrelatedLearner
    from sdv_plausible.models.gaussian_copula.learner import GaussianCopulaLearner
    from sdv_plausible.models.latent.learner import LatentLearner
    from sdv_plausible.models.paper.learner import BayesianNetworkLearner
    from sdv_plausible.models.uniform import UniformLearner

    options = dict(parameters or {})
    if not isinstance(model, str):
        if not isinstance(model, Learner):
            raise ValueError(
                f"model ({model!r}) must be a name or an object with the methods plan and fit of a Learner"
            )
        return _without_public(model)
    if model not in NAMES:
        raise ValueError(f"model ({model!r}) must be one of {', '.join(NAMES)}, or a learner object")
    maker: Any = BayesianNetworkLearner
    if model in ("random", "uniform"):
        maker = UniformLearner
    elif model == "correlated":
        maker = CorrelatedLearner
    elif model == "gaussian_copula":
        maker = GaussianCopulaLearner
    elif model == "latent":
        maker = LatentLearner
    elif model == "independent":
        options["structure"] = "independent"
    elif structure is None or structure == "adaptive":
        maker = AdaptiveLearner
    else:
        options["structure"] = structure
    try:
        return _without_public(maker(**options))
    except TypeError as error:
        raise ValueError(
            f"model_parameters ({dict(options)!r}) do not fit model {model!r}: {error}"
        ) from error


def _without_public(learner: Any) -> Any:
    """Refuse a published table inside a learner: no ledger would name it, and saved objects would hold it."""
    from sdv_plausible.models.adaptive.learner import AdaptiveLearner

    if isinstance(learner, AdaptiveLearner) and learner.public is not None:
        raise ValueError(
            "public must be no parameter of the learner: give the table as public= to the synthesizer, whose "
            "ledger names it"
        )
    return learner
