"""Adaptive learning of a Bayesian network: measure what the model gets most wrong, with noise, and fit again.

Every stage uses all rows and one Gaussian budget:

1. the number of rows: with the declared domain it decides every share and resolution below;
2. one-way counts of every column; ordered ones are smoothed, all are projected to the simplex;
3. columns are cut to buckets of equal noisy mass; then once or twice:
   a. scores: for every unmeasured pair the distance between its table and the current model's;
   b. the pairs whose scores exceed the noise that measuring them would add are chosen (a forest in the first
   of two
      rounds) and their tables measured;
   c. tables are denoised against the model, tables and margins are made consistent, the network is
   fitted;
4. where the budget can carry it, the same once for sets of three and four columns, on coarse levels;
5. what no pair or set was worth is spent on second tables of the pairs, or else of the columns.

Only the answers in 1, 2, 3a, 3b, 4 and 5 come from rows (docs/explanation/proofs/adaptive_network.md).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sdv_plausible.models.adaptive.maximum_entropy import fit_network
from sdv_plausible.models.adaptive.measurements import Measurements
from sdv_plausible.models.adaptive.public_prior import PublicCodes
from sdv_plausible.models.adaptive.schedule import SIZE_SHARE, Schedule, forecast
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

NUM_SIMULATED = 60_000


@dataclass(frozen=True, kw_only=True)
class AdaptiveNetwork(Learner):
    """The default learner: adaptive measurement, then a maximum-entropy Bayesian network.

    Parameters
    ----------
    max_cost : int
        Cells up to which a conditional is kept as one table over its parents; larger ones stay products of
        factors, one for each table that was measured.
    simulation_seed : int
        Public seed of the rows by which conditionals are fitted: no noise and no released row comes from it,
        and the answers determine the model.
    workload : sequence of sequence of str
        Sets of columns between which a user will look, such as those of a regression: every pair of columns
        of a set is measured, however weakly it depends. By default what is measured is what the rows tell to
        be worth it. Whoever names columns declares their types, and moments are then not split into date and
        time.
    public : PublicCodes, optional
        A published table of the columns: see :mod:`sdv_plausible.models.adaptive.public_prior`.
    """

    max_cost: int = 300_000
    simulation_seed: int = 2017
    workload: Sequence[Sequence[str]] = ()
    public: PublicCodes | None = None
    makes: ClassVar[type[SeedModel]] = BayesianNetwork
    takes_public: ClassVar[bool] = True
    looks_at_pairs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check.whole("max_cost", self.max_cost, 1, "it bounds the cells of a table")
        check.whole("simulation_seed", self.simulation_seed, 0)
        object.__setattr__(self, "workload", _sets_of_names(self.workload))

    @property
    def names_columns(self) -> bool:
        """Whether there is a workload, whose columns must be there as they were named."""
        return bool(self.workload)

    def check_domain(self, domain: Domain) -> None:
        """Raise ValueError where the workload names another column."""
        unknown = {name for names in self.workload for name in names} - set(domain.names)
        if unknown:
            raise check.Refused.saying(
                "workload",
                f"workload names {sorted(unknown)}, which are not modelled columns {list(domain.names)}",
            )

    def plan(self, domain: Domain, budget: ModelBudget) -> list[LedgerEntry]:  # noqa: ARG002
        """One entry: the stages share one Gaussian budget, in shares that are decided on the way."""
        return [budget.entry("number of rows, one-way counts, scores of pairs and sets, chosen tables")]

    def fit(self, rows: Queryable, domain: Domain, budget: ModelBudget, coins: KeyedRNG) -> BayesianNetwork:  # noqa: ARG002
        """Learn a network. Of a split, structure and parameter rows are used together for both."""
        simulated = KeyedRNG.from_seed(self.simulation_seed)
        number = float(rows.ask(NumberOfRows(), SIZE_SHARE).values[0])
        schedule = Schedule.make(number, rows.allowance.for_counts(rows.neighbours), len(domain))
        measured = Measurements(rows, domain, schedule, self.public, self.wanted(domain))
        network: BayesianNetwork | None = None
        for i, this in enumerate(schedule.rounds):
            chosen, is_last = measured.measure_pairs(this), this is schedule.rounds[-1]
            again = is_last and measured.measure_again()
            if chosen or again or network is None:
                network = None  # two at once would be twice the memory
                network, measured.simulated = fit_network(
                    measured.estimates(), self.max_cost, NUM_SIMULATED,
                    simulated.spawn(*measured.name_of_fit if again else (i,)),
                    is_last=is_last and not schedule.sets,
                )  # fmt: skip
        assert network is not None
        if schedule.sets:
            chosen = measured.measure_sets(schedule.sets)
            again = measured.measure_again()
            if chosen or again:
                estimates = measured.estimates()
                network = None
                name = ("sets",) if chosen else measured.name_of_fit
                network, _ = fit_network(
                    estimates, self.max_cost, NUM_SIMULATED, simulated.spawn(*name), is_last=True
                )
        return network

    def wanted(self, domain: Domain) -> set[tuple[int, int]]:
        """Pairs of columns, by number, that the workload holds."""
        sets = [sorted(map(domain.names.index, names)) for names in self.workload]
        return {pair for columns in sets for pair in itertools.combinations(columns, 2)}

    def refit(self, answers: Sequence[NoisyAnswer], domain: Domain, coins: KeyedRNG) -> BayesianNetwork:  # noqa: ARG002
        """Learn a network of the same tables from other answers: post-processing, no row is asked.

        From those of the fit itself it is the same network.
        """
        from sdv_plausible.models.adaptive.refitting import refit_network  # not in a fit

        return refit_network(
            answers, domain, self.max_cost, NUM_SIMULATED, KeyedRNG.from_seed(self.simulation_seed)
        )

    def redrawn(
        self, answers: Sequence[NoisyAnswer], domain: Domain, rows: np.ndarray, coins: KeyedRNG
    ) -> BayesianNetwork:
        """Learn a network of the same tables from answers drawn again, for inference: nothing is shrunk.

        ``rows`` (N, m): codes of rows of the released model.
        """
        from sdv_plausible.models.adaptive.refitting import redrawn_network  # not in a fit

        return redrawn_network(answers, domain, rows, self.max_cost, NUM_SIMULATED, coins)

    def forecast(self, domain: Domain, budget: ModelBudget, rows: int) -> Forecast | None:
        """How the noise will show on a table of about so many rows."""
        return forecast(domain, QueryBudget.of(self.plan(domain, budget)).for_counts(budget.neighbours), rows)


def _sets_of_names(workload: object) -> tuple[tuple[str, ...], ...]:
    """A workload in one form."""
    rule, way_out = "must be a list of lists of at least two columns", 'such as [["age", "sex", "income"]]'
    if isinstance(workload, str) or not isinstance(workload, Sequence):
        raise check.Refused("workload", workload, rule, way_out)
    for names in workload:
        if isinstance(names, str) or not isinstance(names, Sequence) or len({*names}) < 2:
            raise check.Refused("workload", workload, rule, way_out)
        if not all(isinstance(name, str) for name in names):
            raise check.Refused("workload", workload, rule, way_out)
    return tuple(tuple(dict.fromkeys(names)) for names in workload)
