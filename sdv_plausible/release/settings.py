"""The privacy parameters of a synthesizer, checked, and the privacy test that they make."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from sdv_plausible.models.base import ModelBudget, SeedModel, makes
from sdv_plausible.models.omega import Omega
from sdv_plausible.models.paper.learner import BayesianNetworkLearner
from sdv_plausible.privacy import checks as check
from sdv_plausible.privacy.accounting.losses import Loss
from sdv_plausible.privacy.accounting.split import RandomSplit
from sdv_plausible.privacy.accounting.theorem1 import Noise, check_noise
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.release.privacy_tests import PrivacyTest, check_gamma, check_k
from sdv_plausible.release.release_level import ReleaseTest
from sdv_plausible.release.row_tests import DeterministicTest, RandomizedTest

TestName = Literal["release", "randomized", "deterministic"]
Accounting = Literal["proved", "paper"]
SEED_DELTA_SHARE = 0.5  # of delta, where seeds are used; the rest belongs to the model


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The privacy parameters of a synthesizer, checked.

    Parameters
    ----------
    epsilon, delta : float
        Budget of learning the domain and the model; epsilon may be infinite (no claim), delta in (0, 1).
    k, gamma, epsilon0 : number
        Parameters of the privacy test.
    omega : int, (int, int), "all", Omega or None
        Number of resampled attributes; None chooses from the domain.
    privacy_test : {"release", "randomized", "deterministic"}
        Which test.
    row_cap : int
        Row-by-row tests: rows that may ever be released from one fit.
    seed_free_share : float
        Randomised test: probability that a proposal resamples everything, in (0, 1]; a lower bound on the
        pass rate.
    least_rows : int
        Randomised test: a public number that the count of seed records reaches. Every charge is made at this
        number, so that the total does not depend on the rows; a noisy count that contradicts it refuses the
        fit.
    split : (float, float, float), optional
        Probabilities with which a row serves structure, parameters or seeds; each > 0, sum at most 1 (the
        rest of the rows is not used). None: every row serves all three.
    neighbours : Neighbours
        Whom the total protects.
    max_plausible, max_check_plausible : int, optional
        Row-by-row tests: where counting plausible seeds stops, and how many seeds are looked at.
    hidden_omega : bool
        Row-by-row tests: whether likelihoods are those of the mixture over a range of omega.
    threshold_noise : {"discrete_laplace", "laplace"}
        Randomised test: noise of the threshold.
    accounting : {"proved", "paper"}
        ``"paper"``: the ledger also says what the paper's formulas give. The total is the proved one.
    """

    epsilon: float
    delta: float
    k: int
    gamma: float
    epsilon0: float
    omega: Any
    privacy_test: TestName
    row_cap: int
    seed_free_share: float
    split: tuple[float, float, float] | None = None
    least_rows: int = 1000
    neighbours: Neighbours = ONE_ROW
    max_plausible: int | None = None
    max_check_plausible: int | None = None
    hidden_omega: bool = False
    threshold_noise: Noise = "discrete_laplace"
    accounting: Accounting = "proved"

    def __post_init__(self) -> None:
        if self.epsilon != math.inf:
            check.positive("epsilon", self.epsilon, "math.inf for no privacy; try 1.0")
        check.delta("delta", self.delta, "try 1e-9")
        check_k(self.k)
        check_gamma(self.gamma)
        check.positive("epsilon0", self.epsilon0, "try 1.0")
        object.__setattr__(self, "omega", Omega.parse(self.omega))
        if self.privacy_test not in _TESTS:
            raise ValueError(
                f'privacy_test ({self.privacy_test!r}) must be "release", "randomized" or "deterministic"'
            )
        check.whole("row_cap", self.row_cap, 1, "it is the number of rows ever released")
        check.rate("seed_free_share", self.seed_free_share, "try 0.5")
        check.whole("least_rows", self.least_rows, 1, "try 1000")
        if self.split is not None:
            _check_split(self.split)
        check_noise(self.threshold_noise)
        if self.accounting not in ("proved", "paper"):
            raise ValueError(f'accounting ({self.accounting!r}) must be "proved" or "paper"')
        limits = {"max_plausible": self.max_plausible, "max_check_plausible": self.max_check_plausible}
        given = [name for name, value in limits.items() if value is not None]
        if self.privacy_test == "release" and (given or self.hidden_omega):
            raise ValueError(
                f"{' and '.join(given or ['hidden_omega'])} belong to the row-by-row tests: the release test "
                "counts each group once and exactly; leave it out, or use privacy_test='randomized'"
            )
        self.test  # noqa: B018  its own checks, now rather than at fit

    def check_model(self, made: type[SeedModel]) -> None:
        """Raise ValueError if a learner's models do not offer what the privacy test or omega needs."""
        self.test.check_model(made)
        kept = self.omega is not None and not self.omega.is_all
        if self.looks_at_points(made) and kept:
            raise ValueError(
                f"omega ({self.omega}) is a number of resampled columns, and this model keeps none of a seed "
                f"under privacy_test={self.privacy_test!r}: a row is decoded from the seed's latent point; "
                "leave omega out, or use privacy_test='release'"
            )

    def check_learner(self, learner: Any) -> None:
        """Raise ValueError for a learner that cannot be, before a row is looked at.

        A domain that is learned privately comes before the learner's plan: what the plan would refuse then
        has cost that already.
        """
        self.check_model(makes(learner))
        check_neighbours = getattr(learner, "check_neighbours", None)
        if check_neighbours is not None:
            check_neighbours(self.neighbours)

    def omega_for(self, model: SeedModel, cardinalities: Sequence[int]) -> Omega:
        """Return the omega of a release: the user's, or the test's choice for these columns.

        A row that is decoded from a seed's latent point keeps no column: there is nothing to choose, and
        resampling all columns would mean that no seed is used.
        """
        if self.omega is not None:
            return self.omega
        if self.looks_at_points(type(model)):
            return Omega(0, 0)
        return self.test.default_omega([cardinalities[j] for j in model.order])

    def looks_at_points(self, made: type[SeedModel]) -> bool:
        """Whether the privacy test looks at latent points of a learner's models, and not at rows."""
        return made.in_latent_space and self.privacy_test != "release"

    @property
    def uses_seeds(self) -> bool:
        """Whether seed records enter the release at all."""
        return _TESTS[self.privacy_test].uses_seeds_with(self.omega)

    @property
    def parts_rows(self) -> bool:
        """Whether rows belong to parts by secret draws: of a split, or one for each number of a range."""
        return self.split is not None or (self.omega is not None and self.omega.low != self.omega.high)

    @property
    def model_delta(self) -> float:
        """Share of delta for the domain and the model."""
        spent_on_seeds = self.uses_seeds and _TESTS[self.privacy_test].has_delta
        return self.delta * (1 - SEED_DELTA_SHARE) if spent_on_seeds else self.delta

    @property
    def seed_delta(self) -> float:
        """Share of delta for the seeds."""
        return self.delta - self.model_delta

    def empty_ledger(self) -> PrivacyLedger:
        """Ledger of a release, with nothing charged yet."""
        return PrivacyLedger(delta=self.delta, covers=self.test.covers, neighbours=self.neighbours)

    def model_budget(self, spent: tuple[Loss, ...]) -> ModelBudget:
        """What a model may spend next to what was spent before."""
        who = self.neighbours
        return ModelBudget(epsilon=self.epsilon, delta=self.model_delta, spent=spent, neighbours=who)

    @cached_property
    def test(self) -> PrivacyTest:
        """The privacy test: it knows what it costs and who draws the rows."""
        if self.privacy_test == "release":
            return ReleaseTest(
                k=self.k, epsilon0=self.epsilon0, delta=self.seed_delta or self.delta,
                uses_seeds=self.uses_seeds, neighbours=self.neighbours,
            )  # fmt: skip
        if self.privacy_test == "randomized":
            return RandomizedTest(
                k=self.k, gamma=self.gamma, epsilon0=self.epsilon0, delta=self.seed_delta,
                row_cap=self.row_cap,
                seed_free_share=self.seed_free_share, least_rows=self.least_rows,
                threshold_noise=self.threshold_noise, neighbours=self.neighbours, **self._counting,
            )  # fmt: skip
        return DeterministicTest(
            k=self.k, gamma=self.gamma, row_cap=self.row_cap, neighbours=self.neighbours, **self._counting
        )

    @property
    def _counting(self) -> dict[str, Any]:
        return {
            "max_plausible": self.max_plausible,
            "max_check_plausible": self.max_check_plausible,
            "hidden_omega": self.hidden_omega,
        }

    def random_split(self, learner: Any) -> RandomSplit | None:
        """How the split lowers the total, for single rows; which parts a learner asks must be known."""
        if self.split is None or self.neighbours != ONE_ROW:
            return None
        # Each entry of the paper's learner pays for one part's rows alone; of others that is not known.
        return RandomSplit.of(self.split, apart=type(learner) is BayesianNetworkLearner)


_TESTS: dict[str, type[PrivacyTest]] = {
    "release": ReleaseTest,
    "randomized": RandomizedTest,
    "deterministic": DeterministicTest,
}


def _check_split(parts: Any) -> None:
    three = isinstance(parts, (tuple, list)) and len(parts) == 3
    shares = three and all(isinstance(p, (int, float)) and not isinstance(p, bool) and p > 0 for p in parts)
    if not shares or sum(parts) > 1 + 1e-9:
        raise ValueError(
            f"split ({parts!r}) must be three shares > 0 for structure, parameters and seeds with a sum of "
            "at "
            "most 1; try (0.25, 0.25, 0.5)"
        )
