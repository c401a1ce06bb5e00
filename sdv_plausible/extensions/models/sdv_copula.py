"""SDV's Gaussian copula as a model with prefix groups, for use with the privacy tests.

SDV learns its parameters from the rows without noise. The model's privacy loss is infinite, which the ledger
reports first.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from sdv_plausible.extensions.models.gaussian_copula.copula_model import CopulaModel, factors
from sdv_plausible.models.base import Learner, ModelBudget, SeedModel
from sdv_plausible.privacy.accounting.losses import InfiniteLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.sdv.sdv_versions import from_native, sdv_bases, to_native
from sdv_plausible.table.codec import Codec
from sdv_plausible.table.columns.domain import Attribute, Domain

POINTS = 4096  # points of the latent axis at which SDV's marginals are evaluated
LEAST = 1e-6  # total mass of codes that SDV's marginals never produce
WAY_OUT = 'use model="gaussian_copula" or model="bayesian_network", or docs/how_to/own_model.md'
COPULA = "GaussianCopulaSynthesizer"
_GENERATOR = "a generator network tells no probability of a row, and cannot keep a seed's values"
_WHY = {
    "CopulaGANSynthesizer": _GENERATOR,
    "CTGANSynthesizer": _GENERATOR,
    "TVAESynthesizer": "its decoder tells no probability of a row given some of a seed's values",
    "BaseMultiTableSynthesizer": (
        "it models several tables at once, for which no guarantee is stated (docs/explanation/sdv_models.md)"
    ),
}
NOTE = (
    "SDV's model learned from the rows without noise (epsilon is infinite), whatever the privacy test says "
    'of seeds; use model="gaussian_copula", which learns from noisy counts'
)


class SDVCopula(Learner):
    """SDV's Gaussian copula, fitted to binned rows without noise, or already fitted.

    Parameters
    ----------
    given : type or object
        ``GaussianCopulaSynthesizer`` or a derived class; an unfitted instance, whose parameters are used; or
        a fitted instance, which is used as it is, without any query.
    **arguments
        Keyword arguments of the class.

    Raises
    ------
    ValueError
        If ``given`` is no SDV synthesizer with likelihoods, or ``arguments`` are given with an instance.
    """

    makes: ClassVar[type[SeedModel]] = CopulaModel
    looks_at_pairs: ClassVar[bool] = True

    def __init__(self, given: Any, **arguments: Any) -> None:
        self.sdv_class = given if isinstance(given, type) else type(given)
        bases = sdv_bases(given)
        if COPULA not in bases:
            why = next((_WHY[base] for base in bases if base in _WHY), "it tells no probability of a row")
            raise Refused.saying(
                "model",
                f"model ({self.sdv_class.__name__}) cannot stand behind the privacy test: {why}; {WAY_OUT}",
            )
        if arguments and not isinstance(given, type):
            raise Refused.saying(
                "model",
                f"model ({self.sdv_class.__name__}) is an instance, which has its arguments: leave out "
                f"{', '.join(arguments)}, or give the class",
            )
        self.fitted = given if getattr(given, "_fitted", False) else None
        unfitted = not isinstance(given, type) and self.fitted is None
        self.arguments = dict(given.get_parameters()) if unfitted else arguments

    @property
    def names_columns(self) -> bool:
        """Whether the model is already fitted, to columns with fixed names."""
        return self.fitted is not None

    def plan(self, domain: Domain, budget: ModelBudget) -> list[LedgerEntry]:  # noqa: ARG002
        """Return one entry with infinite loss."""
        how = "fitted before" if self.fitted is not None else "fitted to the binned rows"
        return [
            LedgerEntry(
                name="model",
                mechanism=f"SDV's {self.sdv_class.__name__}, {how}, no noise",
                losses=(InfiniteLoss(),),
                scope="the model",
                note=NOTE,
                parts=("structure", "parameters"),
            )
        ]

    def fit(self, rows: Queryable, domain: Domain, budget: ModelBudget, rng: KeyedRNG) -> CopulaModel:  # noqa: ARG002
        """Fit SDV's model to rows decoded from their bins, and convert its parameters."""
        fitted = self.fitted
        if fitted is None:
            codes = rows.raw_rows(f"SDV's {self.sdv_class.__name__} learns from binned rows")
            fitted = self._fitted(codes, domain, rng.spawn("bins"))
        return of_fitted(fitted, domain, rng.spawn("encoding"))

    def _fitted(self, codes: np.ndarray, domain: Domain, rng: KeyedRNG) -> Any:
        if not len(codes):
            raise ValueError(
                f"data (0 rows) must have rows: SDV's {self.sdv_class.__name__} learns from none else"
            )
        frame = Codec(domain).decode(codes, rng)
        metadata = metadata_from_columns({column.name: _sdv_column(column) for column in domain})
        try:
            synth = self.sdv_class(metadata, **self.arguments)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"SDVCopula: the arguments {self.arguments!r} do not fit {self.sdv_class.__name__}: {error}"
            ) from error
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they may quote values
            synth.fit(to_native("table", frame))
        return synth


def of_fitted(fitted: Any, domain: Domain, rng: KeyedRNG) -> CopulaModel:
    """Convert a fitted SDV copula to a copula on codes.

    SDV's marginals are evaluated along their latent axes, which gives the order and the mass of the codes.
    The correlations are SDV's.
    """
    # Raises ValueError if SDV's model and the domain have different columns.
    model = fitted._model
    names = [str(column) for column in model.columns]
    if set(names) != set(domain.names):
        odd = sorted(set(names) ^ set(domain.names))
        raise Refused.saying(
            "model",
            f"model ({type(fitted).__name__}) must have been fitted to the modelled columns, one latent "
            f"column for each; these differ: {odd[:10]}. Give the class instead, which is fitted to them",
        )
    quantiles = (np.arange(POINTS) + 0.5) / POINTS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        latent = {
            c: np.asarray(u.percent_point(quantiles)) for c, u in zip(names, model.univariates, strict=True)
        }
        table = from_native(fitted._data_processor.reverse_transform(pd.DataFrame(latent)))
    codes = Codec(domain).encode(table.rename(columns=str), rng)
    axes, margins = zip(
        *(
            _axis(codes[:, j], cardinality, column.is_ordered)
            for j, (cardinality, column) in enumerate(zip(domain.cardinalities, domain, strict=True))
        ),
        strict=True,
    )
    position = [names.index(name) for name in domain.names]
    correlations = np.nan_to_num(np.asarray(model.correlation, dtype=np.float64)[np.ix_(position, position)])
    np.fill_diagonal(correlations, 1.0)
    return CopulaModel.of_margins(factors(correlations), axes, margins)


def _axis(codes: np.ndarray, cardinality: int, is_ordered: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of a column's codes on the latent axis and their masses, small for unseen codes."""
    counts = np.bincount(codes, minlength=cardinality)
    mean_position = np.bincount(codes, np.arange(len(codes)), minlength=cardinality) / np.maximum(counts, 1)
    observed = np.flatnonzero(counts)
    absent = np.flatnonzero(counts == 0)
    mean_position[absent] = np.interp(absent, observed, mean_position[observed]) if is_ordered else len(codes)
    margin = counts / len(codes) + LEAST / cardinality
    return np.argsort(mean_position, kind="stable"), margin / margin.sum()


def _sdv_column(column: Attribute) -> dict[str, Any]:
    """Return SDV's type of a decoded column; a numeric column with texts is categorical."""
    if column.kind == "datetime":
        form = column.datetime_format
        return {"sdtype": "datetime", **({"datetime_format": form} if form else {})}
    is_number = column.kind in ("integer", "float") and not column.texts
    return {"sdtype": "numerical" if is_number else "categorical"}
