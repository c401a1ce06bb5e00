"""Multiple synthesis: models fitted again to noisier answers, for inference that includes the noise.

Post-processing: fresh noise of the same distribution is added to released answers, no row is used, and
nothing is charged (docs/explanation/proofs/error_bars.md, Theorem 3).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import numpy as np

from sdv_plausible.mechanism.drawing.released_prefixes import ReleasedSeeds
from sdv_plausible.models.base import PrefixModel, SeedModel
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.count_queries import CodeArray, ScoreProducts
from sdv_plausible.queries.transcript import ALL_ROWS, NoisyAnswer
from sdv_plausible.release.intervals.measured_counts import number_of_rows
from sdv_plausible.table.columns.domain import Domain

About = Literal["population", "table"]
REFERENCE_ROWS = 60_000  # rows of the released model that a learner gets before it fits again


class ModelRows(ReleasedSeeds):
    """Independent rows of the model; stratified rows vary less than the combining rules assume."""

    def sample(self, num_rows: int, model: PrefixModel, rng: KeyedRNG) -> np.ndarray:
        """Codes of rows (num_rows, m)."""
        codes = np.zeros((num_rows, model.num_attributes), dtype=np.int32, order="F")
        return model.complete(codes, np.zeros(num_rows, dtype=np.int64), rng, systematic=False)


INDEPENDENT_ROWS = ModelRows(parts=ReleasedSeeds.none().parts)


@runtime_checkable
class Refitter(Protocol):
    """A learner that can fit again from answers alone."""

    def refit(self, answers: Sequence[NoisyAnswer], domain: Domain, rng: KeyedRNG) -> PrefixModel:
        """Fit a model to the same tables of counts, as from rows."""

    def redrawn(
        self, answers: Sequence[NoisyAnswer], domain: Domain, rows: np.ndarray, rng: KeyedRNG
    ) -> PrefixModel:
        """Fit to noisier counts, unshrunk; ``rows`` (N, m) are codes of rows of the released model."""

    def wanted(self, domain: Domain) -> set[tuple[int, int]]:
        """Pairs of column indices that the learner always measures."""


def refitted_models(
    learner: Any,
    model: SeedModel,
    answers: Sequence[NoisyAnswer],
    domain: Domain,
    num_models: int,
    about: About,
    rng: KeyedRNG,
    *,
    rows_per_unit: int,
    is_public: bool,
) -> list[PrefixModel]:
    """Models of answers with fresh noise; for the "population", with sampling variation too."""
    check.whole("num_tables", num_models, 2, "one table has no variance: try 20")
    check.one_of("about", about, get_args(About))
    if about == "population" and rows_per_unit > 1:
        rule = f"assumes independent rows, but a person may have {rows_per_unit}"
        raise check.Refused("about", about, rule, 'give about="table": of the rows used')
    if is_public:
        raise check.Refused.saying(
            "public",
            "sample_multiple cannot be used after a fit with public=: its tables reflect the noise, but "
            "not the error of a published table. Fit without public=",
        )
    counts = learner_answers(answers)
    if (
        not isinstance(learner, Refitter)
        or not isinstance(model, PrefixModel)
        or not counts
        or any(answer.rows != ALL_ROWS for answer in counts)
    ):
        raise check.Refused.saying(
            "model",
            f"model ({type(learner).__name__}) cannot be learned again from noisy answers: sample_multiple "
            'needs model="bayesian_network" with its default structure, a finite epsilon and no split',
        )
    if any(a.noise != "discrete gaussian" or np.ndim(a.scales) for a in counts):
        raise check.Refused.saying(
            "answers",
            "sample_multiple needs answers with Gaussian noise of one sigma each, because it adds the same "
            "noise again. Some answers here have other noise: use margins, which gives intervals of every "
            "count",
        )
    _warn_of_unmeasured_pairs(learner.wanted(domain), counts, domain)
    deviations: Sequence[Any] = [None] * num_models
    if about == "population":
        num_rows = number_of_rows(counts, len(domain))
        codes_of_tables = [
            INDEPENDENT_ROWS.sample(num_rows, model, rng.spawn("rows", i)) for i in range(num_models)
        ]
        tables = [CodeArray(codes, domain.cardinalities) for codes in codes_of_tables]
        deviations = sampling_deviations(counts, tables)
    rows = INDEPENDENT_ROWS.sample(REFERENCE_ROWS, model, rng.spawn("what is known"))
    return [
        learner.redrawn(add_noise(counts, rng.spawn("noise", i), d), domain, rows, rng.spawn("model", i))
        for i, d in enumerate(deviations)
    ]


def _warn_of_unmeasured_pairs(
    wanted: set[tuple[int, int]], answers: Sequence[NoisyAnswer], domain: Domain
) -> None:
    """Warn of pairs of columns that were not measured: of the wanted pairs, else of all."""
    counts = [a.asked.tables[0] for a in answers if a.asked.kind == "counts"]
    measured = {tuple(axis.column for axis in axes) for axes in counts if len(axes) == 2}
    pairs = wanted or {*combinations(range(len(domain)), 2)}
    if lacking := sorted(pairs - measured):
        first, second = (domain.names[j] for j in lacking[0])
        warnings.warn(
            f"{len(lacking)} of {len(pairs)} pairs of columns were not measured, such as {first!r} with "
            f"{second!r}, so intervals that depend on them are too narrow. Fit with the columns of each "
            "estimate in one set of model=AdaptiveNetwork(workload=[[...]]). If they are, raise epsilon",
            stacklevel=4,
        )


def learner_answers(answers: Sequence[NoisyAnswer]) -> tuple[NoisyAnswer, ...]:
    """Answers to a learner's queries: counts of codes, in order, and the scores between them."""
    return tuple(a for a in answers if a.asked.tables)


def sampling_deviations(
    answers: Sequence[NoisyAnswer], tables: Sequence[CodeArray]
) -> list[list[np.ndarray]]:
    """Deviations of counts between at least two tables drawn from one model, scaled to one table."""
    counted = [i for i, a in enumerate(answers) if a.asked.kind == "counts"]
    products = {i: ScoreProducts.of(a.asked) for i, a in enumerate(answers) if a.asked.kind == "products"}
    counts = np.zeros((len(tables), len(answers)), dtype=object)
    axes_of_tables = [answers[i].asked.tables[0] for i in counted]
    for t, rows in enumerate(tables):
        for i, table in zip(counted, rows.tables(axes_of_tables), strict=True):
            counts[t, i] = table
        for i, query in products.items():
            counts[t, i] = query.exact(rows)
    deviations = np.sqrt(len(tables) / (len(tables) - 1)) * (counts - counts.mean(axis=0))
    return [list(drawn) for drawn in deviations]


def add_noise(
    answers: Sequence[NoisyAnswer], rng: KeyedRNG, deviations: Sequence[np.ndarray] | None = None
) -> tuple[NoisyAnswer, ...]:
    """Add fresh noise of the same distribution to counts and products; scores, which chose, are kept."""
    # The new scale is that of both noises together, for the learner's denoising.

    def with_noise(i: int, answer: NoisyAnswer) -> NoisyAnswer:
        if answer.asked.kind not in ("counts", "products"):
            return answer
        step = answer.granularity
        shift = 0 if deviations is None else np.rint(deviations[i] / step).astype(np.int64)
        values = noise.discrete_gaussian(
            np.rint(answer.values / step).astype(np.int64) + shift, sensitivity=answer.scale / step, rho=0.5,
            rng=rng.spawn("again", i),
        )  # fmt: skip
        values = values if step == 1 else values * step
        return replace(answer, values=values, scale=math.sqrt(2) * answer.scale)

    return tuple(with_noise(i, answer) for i, answer in enumerate(answers))
