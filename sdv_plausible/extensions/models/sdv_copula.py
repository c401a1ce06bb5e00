"""SDV's Gaussian copula behind the privacy test: its fitted parameters become a model with prefix groups.

SDV learns them from the rows without noise, so the model's loss is infinite, and the ledger says so first.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from sdv_plausible.extensions.models.gaussian_copula.copula_model import CopulaModel
from sdv_plausible.extensions.models.gaussian_copula.correlations import factors
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

POINTS = 4096  # of the latent axis at which SDV's columns are read
LEAST = 1e-6  # mass of codes that SDV's columns never reach, in all
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
    """SDV's Gaussian copula, fitted to binned rows without noise, or fitted before.

    Parameters
    ----------
    given : type or object
        ``GaussianCopulaSynthesizer`` or a class derived from it; an instance, whose parameters are taken; or
        a fitted instance: then no row is asked for, and what it learned is taken.
    **arguments
        Keyword arguments of a class.

    Raises
    ------
    ValueError
        If it is no SDV synthesizer with likelihoods, or there are arguments and no class.
    """

    makes: ClassVar[type[SeedModel]] = CopulaModel
    looks_at_pairs: ClassVar[bool] = True

    def __init__(self, given: Any, **arguments: Any) -> None:
        self.made = given if isinstance(given, type) else type(given)
        bases = sdv_bases(given)
        if COPULA not in bases:
            why = next((_WHY[base] for base in bases if base in _WHY), "it tells no probability of a row")
            raise Refused.saying(
                "model",
                f"model ({self.made.__name__}) cannot stand behind the privacy test: {why}; {WAY_OUT}",
            )
        if arguments and not isinstance(given, type):
            raise Refused.saying(
                "model",
                f"model ({self.made.__name__}) is an instance, which has its arguments: leave out "
                f"{', '.join(arguments)}, or give the class",
            )
        self.fitted = given if getattr(given, "_fitted", False) else None
        unfitted = not isinstance(given, type) and self.fitted is None
        self.arguments = dict(given.get_parameters()) if unfitted else arguments

    @property
    def names_columns(self) -> bool:
        """Whether it was fitted to columns before."""
        return self.fitted is not None

    def plan(self, domain: Domain, budget: ModelBudget) -> list[LedgerEntry]:  # noqa: ARG002
        """One entry: an infinite loss."""
        how = "fitted before" if self.fitted is not None else "fitted to the binned rows"
        return [
            LedgerEntry(
                name="model",
                mechanism=f"SDV's {self.made.__name__}, {how}, no noise",
                losses=(InfiniteLoss(),),
                scope="the model",
                note=NOTE,
                parts=("structure", "parameters"),
            )
        ]

    def fit(self, rows: Queryable, domain: Domain, budget: ModelBudget, coins: KeyedRNG) -> CopulaModel:  # noqa: ARG002
        """Fit SDV's model to rows of which only the bins are known, and take its parameters."""
        fitted = self.fitted
        if fitted is None:
            codes = rows.raw_rows(f"SDV's {self.made.__name__} learns from binned rows")
            fitted = self._fitted(codes, domain, coins.spawn("bins"))
        return of_fitted(fitted, domain, coins.spawn("encoding"))

    def _fitted(self, codes: np.ndarray, domain: Domain, coins: KeyedRNG) -> Any:
        if not len(codes):
            raise ValueError(
                f"data (0 rows) must have rows: SDV's {self.made.__name__} learns from none else"
            )
        frame = Codec(domain).decode(codes, coins)
        metadata = metadata_from_columns({column.name: _words(column) for column in domain})
        try:
            synth = self.made(metadata, **self.arguments)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"SDVCopula: the arguments {self.arguments!r} do not fit {self.made.__name__}: {error}"
            ) from error
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they may quote values
            synth.fit(to_native("table", frame))
        return synth


def of_fitted(fitted: Any, domain: Domain, coins: KeyedRNG) -> CopulaModel:
    """Copula on codes from a fitted SDV copula.

    Every column of SDV's model is read along its latent axis, which says where each code lies and how much
    mass it has; correlations are SDV's.

    Raises
    ------
    ValueError
        If SDV's model has other columns than the domain.
    """
    model = fitted._model
    names = [str(column) for column in model.columns]
    if set(names) != set(domain.names):
        odd = sorted(set(names) ^ set(domain.names))
        raise Refused.saying(
            "model",
            f"model ({type(fitted).__name__}) must have been fitted to the modelled columns, one latent "
            f"column for each; these differ: {odd[:10]}. Give the class instead, which is fitted to them",
        )
    where = (np.arange(POINTS) + 0.5) / POINTS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        latent = {
            c: np.asarray(u.percent_point(where)) for c, u in zip(names, model.univariates, strict=True)
        }
        table = from_native(fitted._data_processor.reverse_transform(pd.DataFrame(latent)))
    codes = Codec(domain).encode(table.rename(columns=str), coins)
    axes, margins = zip(
        *(_axis(codes[:, j], c, column.is_ordered) for j, (c, column) in enumerate(_sized(domain))),
        strict=True,
    )
    place = [names.index(name) for name in domain.names]
    correlations = np.nan_to_num(np.asarray(model.correlation, dtype=np.float64)[np.ix_(place, place)])
    np.fill_diagonal(correlations, 1.0)
    return CopulaModel.of_margins(factors(correlations), axes, margins)


def _sized(domain: Domain) -> list[tuple[int, Attribute]]:
    return list(zip(domain.cardinalities, domain, strict=True))


def _axis(codes: np.ndarray, cardinality: int, is_ordered: bool) -> tuple[np.ndarray, np.ndarray]:
    """Order of a column's codes on the latent axis, and their masses; codes never met get next to none."""
    seen = np.bincount(codes, minlength=cardinality)
    where = np.bincount(codes, np.arange(len(codes)), minlength=cardinality) / np.maximum(seen, 1)
    met = np.flatnonzero(seen)
    absent = np.flatnonzero(seen == 0)
    where[absent] = np.interp(absent, met, where[met]) if is_ordered else len(codes)
    margin = seen / len(codes) + LEAST / cardinality
    return np.argsort(where, kind="stable"), margin / margin.sum()


def _words(column: Attribute) -> dict[str, Any]:
    """SDV's type of a column as it is decoded: texts beside numbers make it a category."""
    if column.kind == "datetime":
        form = column.datetime_format
        return {"sdtype": "datetime", **({"datetime_format": form} if form else {})}
    is_number = column.kind in ("integer", "float") and not column.texts
    return {"sdtype": "numerical" if is_number else "categorical"}
