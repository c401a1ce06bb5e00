"""Adaptive learning of a Bayesian network: measure the worst-modelled marginals with noise, and refit.

All stages use all rows and share one Gaussian budget:

1. The number of rows. With the declared domain it determines all shares and resolutions below.
2. One-way counts of all columns. Ordered ones are smoothed, all are projected on the simplex.
3. Columns are cut into buckets of equal noisy mass. Then, once or twice:

   a. scores: for every unmeasured pair, the distance between its table and the model's;
   b. selection of the pairs whose score exceeds the noise of measuring them (a forest in the first of two
      rounds), and measurement of their tables;
   c. denoising of the tables with the model as prior, reconciliation of tables and margins, and a refit.

4. If the budget allows, one such round for sets of three and four columns, on coarse levels.
5. The unspent budget is used for second tables of the pairs, or else of the columns.

Only the answers in 1, 2, 3a, 3b, 4 and 5 depend on rows (docs/explanation/proofs/adaptive_network.md).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sdv_plausible.models.adaptive.maximum_entropy import fit_network
from sdv_plausible.models.adaptive.measurements import Measurements
from sdv_plausible.models.adaptive.schedule import SIZE_SHARE, Schedule, forecast, num_ordered
from sdv_plausible.models.base import Learner, ModelBudget, SeedModel
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.models.forecast import Forecast
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.budget_tracker import QueryBudget
from sdv_plausible.queries.count_queries import NumberOfRows
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.queries.transcript import NoisyAnswer
from sdv_plausible.table.columns.domain import Domain

if TYPE_CHECKING:
    from sdv_plausible.models.adaptive.public_prior import PublicCodes

NUM_SIMULATED = 60_000


@dataclass(frozen=True, kw_only=True)
class AdaptiveNetwork(Learner):
    """The default learner: adaptive measurements, then a maximum-entropy Bayesian network.

    Parameters
    ----------
    max_cost : int
        Largest number of cells of a conditional that is stored as one dense table, at least 1. Larger
        conditionals remain products of factors, one per measured marginal.
    simulation_seed : int
        Public seed of the rows that fit the conditionals, at least 0. It affects neither noise nor released
        rows: the answers determine the model.
    workload : sequence of sequence of str
        Sets of columns that you want to relate, such as the columns of a regression. All pairs within a set
        are measured, even if their dependence is weak. By default the noisy scores select the pairs. Columns
        that you name need declared types, and datetimes among them are not split into date and time.
    public : PublicCodes, optional
        Public table of the same columns; see :mod:`sdv_plausible.models.adaptive.public_prior`.

    Raises
    ------
    ValueError
        If a parameter is out of range, or ``workload`` is not a list of lists of at least two column names.
    """

    max_cost: int = 300_000
    simulation_seed: int = 2017
    workload: Sequence[Sequence[str]] = ()
    public: PublicCodes | None = None
    makes: ClassVar[type[SeedModel]] = BayesianNetwork
    takes_public: ClassVar[bool] = True
    looks_at_pairs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check.whole("max_cost", self.max_cost, 1, "it is the largest number of cells of a table")
        check.whole("simulation_seed", self.simulation_seed, 0)
        object.__setattr__(self, "workload", _sets_of_names(self.workload))

    @property
    def names_columns(self) -> bool:
        """Whether a workload names columns, which must then exist under these names."""
        return bool(self.workload)

    def check_domain(self, domain: Domain) -> None:
        """Raise ValueError if the workload names an unknown column."""
        unknown = {name for names in self.workload for name in names} - set(domain.names)
        if unknown:
            raise check.Refused.saying(
                "workload",
                f"workload names {sorted(unknown)}, but the modelled columns are {list(domain.names)}",
            )

    def plan(self, domain: Domain, budget: ModelBudget) -> list[LedgerEntry]:  # noqa: ARG002
        """Return one ledger entry: the stages share one Gaussian budget, in shares chosen during the fit."""
        words = "number of rows, one-way counts, correlations, scores of pairs and sets, chosen tables"
        return [budget.entry(words)]

    def fit(self, rows: Queryable, domain: Domain, budget: ModelBudget, rng: KeyedRNG) -> BayesianNetwork:  # noqa: ARG002
        """Learn a network. Under a split, structure and parameter rows are combined."""
        simulated = KeyedRNG.from_seed(self.simulation_seed)
        number = float(rows.ask(NumberOfRows(), SIZE_SHARE).values[0])
        schedule = Schedule.make(
            number, rows.allowance.for_counts(rows.neighbours), len(domain), num_ordered(domain)
        )
        measurements = Measurements(rows, domain, schedule, self.public, self.wanted(domain))
        network: BayesianNetwork | None = None
        num_rounds = len(schedule.rounds) + bool(schedule.sets)
        for i, current in enumerate(schedule.rounds):
            rows.report(f"learning the model, round {i + 1} of {num_rounds}")
            chosen, is_last = measurements.measure_pairs(current), current is schedule.rounds[-1]
            is_remeasured = is_last and measurements.measure_again()
            if chosen or is_remeasured or network is None:
                network = None  # frees memory before the next fit
                network, measurements.simulated = fit_network(
                    measurements.estimates(), self.max_cost, NUM_SIMULATED,
                    simulated.spawn(*measurements.stream_name if is_remeasured else (i,)),
                    is_last=is_last and not schedule.sets and not measurements.may_tilt,
                )  # fmt: skip
        measurements.tilt_unmeasured()
        if measurements.is_tilted_anew:
            network = None
            network, measurements.simulated = fit_network(
                measurements.estimates(), self.max_cost, NUM_SIMULATED, simulated.spawn("tilted"),
                is_last=not schedule.sets,
            )  # fmt: skip
        assert network is not None
        if schedule.sets:
            rows.report(f"learning the model, round {num_rounds} of {num_rounds}")
            chosen = measurements.measure_sets(schedule.sets)
            is_remeasured = measurements.measure_again()
            if chosen or is_remeasured:
                estimates = measurements.estimates()
                network = None
                name = ("sets",) if chosen else measurements.stream_name
                network, _ = fit_network(
                    estimates, self.max_cost, NUM_SIMULATED, simulated.spawn(*name), is_last=True
                )
        return network

    def wanted(self, domain: Domain) -> set[tuple[int, int]]:
        """Return the pairs of columns, by number, within the sets of the workload."""
        sets = [sorted(map(domain.names.index, names)) for names in self.workload]
        return {pair for columns in sets for pair in itertools.combinations(columns, 2)}

    def refit(self, answers: Sequence[NoisyAnswer], domain: Domain, rng: KeyedRNG) -> BayesianNetwork:  # noqa: ARG002
        """Learn a network from other answers to the same queries (post-processing).

        The answers of the original fit reproduce its network.
        """
        from sdv_plausible.models.adaptive.refitting import refit_network  # lazy: not part of a fit

        return refit_network(
            answers, domain, self.max_cost, NUM_SIMULATED, KeyedRNG.from_seed(self.simulation_seed)
        )

    def redrawn(
        self, answers: Sequence[NoisyAnswer], domain: Domain, rows: np.ndarray, rng: KeyedRNG
    ) -> BayesianNetwork:
        """Learn a network from resampled answers, without shrinkage, for inference (post-processing).

        ``rows`` (N, m) are codes of the released model's rows.
        """
        from sdv_plausible.models.adaptive.refitting import replicate_network  # lazy: not part of a fit

        return replicate_network(answers, domain, rows, self.max_cost, NUM_SIMULATED, rng)

    def forecast(self, domain: Domain, budget: ModelBudget, rows: int) -> Forecast | None:
        """Return the expected effect of noise on a table of about ``rows`` rows."""
        return forecast(domain, QueryBudget.of(self.plan(domain, budget)).for_counts(budget.neighbours), rows)


def _sets_of_names(workload: object) -> tuple[tuple[str, ...], ...]:
    """Validate a workload and return it as tuples of distinct names."""
    rule, way_out = "must be a list of lists of at least two columns", 'such as [["age", "sex", "income"]]'
    if isinstance(workload, str) or not isinstance(workload, Sequence):
        raise check.Refused("workload", workload, rule, way_out)
    for names in workload:
        if isinstance(names, str) or not isinstance(names, Sequence) or len({*names}) < 2:
            raise check.Refused("workload", workload, rule, way_out)
        if not all(isinstance(name, str) for name in names):
            raise check.Refused("workload", workload, rule, way_out)
    return tuple(tuple(dict.fromkeys(names)) for names in workload)
