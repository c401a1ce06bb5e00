"""The privacy parameters of a synthesizer, checked, with the privacy test that they bind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.mechanism.privacy_tests.deterministic import DeterministicTest
from sdv_plausible.mechanism.privacy_tests.privacy_test import SEED_DELTA_SHARE, PrivacyTest
from sdv_plausible.mechanism.privacy_tests.randomized import RandomizedTest
from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.models import is_builtin
from sdv_plausible.models.base import Learner, ModelBudget, SeedModel
from sdv_plausible.models.learner_checks import makes
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.losses import InfiniteLoss, squares
from sdv_plausible.privacy.accounting.random_split import RandomSplit, check_split
from sdv_plausible.privacy.entries import first_count
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours

TestName = Literal["release", "randomized", "deterministic"]
MARGIN = 1e-6  # of an envelope's noise: how discrete noise adds up is computed to a ten millionth
TESTS_BY_NAME: dict[str, type[PrivacyTest]] = {
    test.name: test for test in (ReleaseTest, RandomizedTest, DeterministicTest)
}


def read_test(test: Any) -> PrivacyTest:
    """The privacy test that the argument ``test`` names or is."""
    if isinstance(test, PrivacyTest):
        return test
    also = ", or one of them with its options, such as ReleaseTest(k=20)"
    return TESTS_BY_NAME[check.one_of("test", test, TESTS_BY_NAME, also)]()


def check_total(epsilon: Any, delta: Any) -> None:
    """Refuse a total that no release can have."""
    if not (isinstance(epsilon, float) and epsilon == math.inf):
        check.positive("epsilon", epsilon, "math.inf for no privacy; try 1.0")
    check.delta("delta", delta, "try 1e-9")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The privacy parameters of a synthesizer, checked."""

    # Budget of learning the domain and the model; epsilon may be infinite (no claim), delta in (0, 1)
    epsilon: float
    delta: float
    # Which test; here it is bound to delta and neighbours. It knows what it costs and who draws the rows
    test: PrivacyTest = field(default_factory=ReleaseTest)
    neighbours: Neighbours = ONE_ROW
    split: tuple[float, float, float] | None = None

    def __post_init__(self) -> None:
        check.plain_numbers(self)
        check_total(self.epsilon, self.delta)
        if self.split is not None:
            check_split(self.split)
        test = self.test.bound(self.seed_delta or self.delta, self.neighbours)
        object.__setattr__(self, "test", test)

    @classmethod
    def of(
        cls, epsilon: float, delta: float, test: Any, neighbours: Neighbours, learner: Learner
    ) -> Settings:
        """Those of a door's arguments, with the learner's split of the rows."""
        found = cls(
            epsilon=epsilon, delta=delta, test=read_test(test), neighbours=neighbours, split=learner.split
        )
        found.check_learner(learner)
        return found

    def check_model(self, made: type[SeedModel]) -> None:
        """Raise ValueError if a learner's models do not offer what the privacy test or omega needs."""
        self.test.check_model(made)
        kept = self.test.omega is not None and not self.test.omega.is_all
        if self.looks_at_points(made) and kept:
            raise check.Refused.saying(
                "omega",
                f"omega ({self.test.omega}) is a number of resampled columns, and this model keeps none of a "
                f"seed under test={self.test.name!r}: a row is decoded from the seed's latent point; "
                "leave omega out, or use test='release'",
            )

    def check_learner(self, learner: Learner) -> None:
        """Raise ValueError for a learner that cannot be, before a row is looked at."""
        # A domain that is learned privately comes before the learner's plan: what the plan would refuse then
        # has cost that already.
        self.check_model(makes(learner))
        learner.check_neighbours(self.neighbours)

    def omega_for(self, model: SeedModel, cardinalities: Sequence[int]) -> Omega:
        """Return the omega of a release: the user's, or the test's choice for these columns."""
        # A row that is decoded from a seed's latent point keeps no column: there is nothing to choose, and
        # resampling all columns would mean that no seed is used.
        if self.test.omega is not None:
            return self.test.omega
        if self.looks_at_points(type(model)):
            return Omega(0, 0)
        return self.test.default_omega([cardinalities[j] for j in model.order])

    def looks_at_points(self, made: type[SeedModel]) -> bool:
        """Whether the privacy test looks at latent points of a learner's models, and not at rows."""
        return made.in_latent_space and not isinstance(self.test, ReleaseTest)

    @property
    def parts_rows(self) -> bool:
        """Whether rows belong to parts by secret draws: of a split, or one for each number of a range."""
        omega = self.test.omega
        return self.split is not None or (omega is not None and omega.low != omega.high)

    @property
    def model_delta(self) -> float:
        """Share of delta for the domain and the model."""
        spent_on_seeds = self.test.uses_seeds and self.test.has_delta
        return self.delta * (1 - SEED_DELTA_SHARE) if spent_on_seeds else self.delta

    @property
    def seed_delta(self) -> float:
        """Share of delta for the seeds."""
        return self.delta - self.model_delta

    def among(self, columns: int) -> Settings:
        """The same for so many columns: where they are fewer than omega, all of them are resampled."""
        omega = self.test.omega
        if omega is None or omega.low is None or omega.high is None or omega.high <= columns:
            return self
        ends = min(omega.low, columns), min(omega.high, columns)
        return replace(self, test=replace(self.test, omega=Omega(*ends)))

    def empty_ledger(self) -> PrivacyLedger:
        """Ledger of a release, with nothing charged yet."""
        return PrivacyLedger(delta=self.delta, covers=self.test.covers, neighbours=self.neighbours)

    def model_budget(self, ledger: PrivacyLedger) -> ModelBudget:
        """What a model may spend next to what was charged before; after a vote, within its envelope."""
        who, envelope, spent = self.neighbours, ledger.envelope, ledger.within
        if envelope is None:
            # A count that came first is no part of it: ``epsilon`` is what was left beside it.
            count = first_count(ledger.entries)
            before = tuple(loss for e in ledger.entries if e is not count for loss in e.losses)
            spent = tuple(loss for loss in before if not isinstance(loss, InfiniteLoss))
            return ModelBudget(epsilon=self.epsilon, delta=self.model_delta, spent=spent, neighbours=who)
        if (noise := squares(envelope.losses)) == 0:
            (pair,) = (loss.pair() for loss in envelope.losses)
            assert pair is not None
            return ModelBudget(epsilon=pair.epsilon, delta=pair.delta, spent=spent, neighbours=who)
        left = math.sqrt(max(noise * (1 - MARGIN) - squares(spent), 0.0))
        return ModelBudget(
            epsilon=self.epsilon, delta=self.model_delta, spent=spent, neighbours=who, left=left
        )

    def random_split(self, learner: Learner) -> RandomSplit | None:
        """How the split lowers the total, for single rows; which parts a learner asks must be known."""
        if self.split is None or self.neighbours != ONE_ROW:
            return None
        return RandomSplit.of(self.split, apart=is_builtin(learner) and learner.parts_apart)
