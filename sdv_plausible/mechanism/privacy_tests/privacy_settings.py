"""Checked privacy parameters of a fit, with their privacy test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.mechanism.privacy_tests.contract import SEED_DELTA_SHARE, PrivacyTest, WithinEpsilon
from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.mechanism.privacy_tests.row_tests import DeterministicTest, RandomizedTest, RowByRowTest
from sdv_plausible.models import is_builtin
from sdv_plausible.models.base import Learner, ModelBudget, PrefixModel, SeedModel
from sdv_plausible.models.learner_checks import model_class
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting.composition import RandomSplit, check_split
from sdv_plausible.privacy.accounting.losses import InfiniteLoss, squares
from sdv_plausible.privacy.entries import first_row_count
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours

TestName = Literal["release", "randomized", "deterministic"]
TEST_SHARE = 0.5  # share of a total that the search for a test may spend
MARGIN = 1e-6  # relative margin of a worst-case charge: sums of discrete noise are exact to 1e-7
TESTS_BY_NAME: dict[str, type[PrivacyTest]] = {
    test.name: test for test in (ReleaseTest, RandomizedTest, DeterministicTest)
}


def read_test(test: Any) -> PrivacyTest:
    """Read the argument ``test``: a name or a PrivacyTest."""
    if isinstance(test, PrivacyTest):
        return test
    also = ", or one of them with its options, such as ReleaseTest(k=20)"
    return TESTS_BY_NAME[check.one_of("test", test, TESTS_BY_NAME, also)]()


def _found_test(within: WithinEpsilon, epsilon: Any, delta: Any, neighbours: Neighbours) -> PrivacyTest:
    """The test that a share of epsilon pays for."""
    check_total(epsilon, delta)
    if epsilon == math.inf:
        raise check.Refused("epsilon", epsilon, f"must be finite with test={within!r}, which shares it")
    if within.kind is RandomizedTest and neighbours != ONE_ROW:
        words = "holds for single rows added or removed: leave out person and neighbours, or give "
        raise check.Refused.saying(
            "test", f"test ({within!r}) {words}RandomizedTest(k=..., epsilon0=..., row_cap=...)"
        )
    share, options = TEST_SHARE * epsilon, within.options
    if within.kind is RandomizedTest:
        return RandomizedTest.within(share, delta=delta, **options)
    test = ReleaseTest(**options)
    return replace(test, epsilon0=share) if test.uses_seeds else test


def check_total(epsilon: Any, delta: Any) -> None:
    """Reject an epsilon or delta out of range."""
    if not (isinstance(epsilon, float) and epsilon == math.inf):
        check.positive("epsilon", epsilon, "try 1.0, or math.inf to learn without noise")
    check.delta("delta", delta, "try 1e-9")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Checked privacy parameters of a fit."""

    epsilon: float  # of domain and model, > 0; infinite for no guarantee
    delta: float  # of the whole release, in (0, 1)
    test: PrivacyTest = field(default_factory=ReleaseTest)  # bound to delta and neighbours
    neighbours: Neighbours = ONE_ROW
    split: tuple[float, float, float] | None = None  # shares of the rows for structure, parameters, seeds
    total: float | None = None  # of the whole release; epsilon is then found by `Fit.within_total`

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
        """Settings from the arguments of an entry point, with the learner's split of the rows."""
        total = None
        if isinstance(test, WithinEpsilon):
            test = _found_test(test, epsilon, delta, neighbours)
            total = epsilon if test.uses_seeds else None
        test = read_test(test)
        no_seed = test.omega is not None and test.omega.is_all
        if no_seed and isinstance(test, RowByRowTest) and issubclass(model_class(learner), PrefixModel):
            # Candidates without a seed always pass, at no cost (docs/explanation/proofs/release_test.md).
            test = ReleaseTest(k=test.k, omega=test.omega)
        settings = cls(
            epsilon=epsilon if total is None else (1 - TEST_SHARE) * total,
            delta=delta, test=test, neighbours=neighbours, split=learner.split, total=total,
        )  # fmt: skip
        settings.check_learner(learner)
        return settings

    def check_model(self, made: type[SeedModel]) -> None:
        """Raise ValueError if a class of models is incompatible with the privacy test or omega."""
        self.test.check_model(made)
        keeps_columns = self.test.omega is not None and not self.test.omega.is_all
        if self.tests_latent_points(made) and keeps_columns:
            raise check.Refused.saying(
                "omega",
                f"omega ({self.test.omega}) is a number of resampled columns, and this model keeps none of "
                f"a seed under test={self.test.name!r}: a row is decoded from the seed's latent point. "
                "Remove omega, or use test='release'",
            )

    def check_learner(self, learner: Learner) -> None:
        """Raise ValueError for an incompatible learner, before the budget for learning a domain is spent."""
        self.check_model(model_class(learner))
        learner.check_neighbours(self.neighbours)

    def omega_for(self, model: SeedModel, cardinalities: Sequence[int]) -> Omega:
        """Omega of a release: the user's, or the test's choice for these columns."""
        # A row decoded from a latent point keeps no column of its seed. Omega is then 0, as "all" would mean
        # that no seed is used.
        if self.test.omega is not None:
            return self.test.omega
        if self.tests_latent_points(type(model)):
            return Omega(0, 0)
        return self.test.default_omega([cardinalities[j] for j in model.order])

    def tests_latent_points(self, made: type[SeedModel]) -> bool:
        """Whether the privacy test compares latent points of these models, and not rows."""
        return made.in_latent_space and not isinstance(self.test, ReleaseTest)

    @property
    def splits_rows(self) -> bool:
        """Whether rows are assigned to parts secretly at random: by a split, or by a range of omega."""
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
        """The settings with omega clipped to a number of columns."""
        omega = self.test.omega
        if omega is None or omega.low is None or omega.high is None or omega.high <= columns:
            return self
        ends = min(omega.low, columns), min(omega.high, columns)
        return replace(self, test=replace(self.test, omega=Omega(*ends)))

    def empty_ledger(self) -> PrivacyLedger:
        """A ledger without charges."""
        return PrivacyLedger(delta=self.delta, covers=self.test.covers, neighbours=self.neighbours)

    def model_budget(self, ledger: PrivacyLedger) -> ModelBudget:
        """Budget of the model after earlier charges, or within the worst-case charge if there is one."""
        unit, envelope, spent = self.neighbours, ledger.envelope, ledger.within
        if envelope is None:
            # The row count is left out: its cost is already deducted from ``epsilon``.
            count = first_row_count(ledger.entries)
            before = tuple(loss for e in ledger.entries if e is not count for loss in e.losses)
            spent = tuple(loss for loss in before if not isinstance(loss, InfiniteLoss))
            return ModelBudget(epsilon=self.epsilon, delta=self.model_delta, spent=spent, neighbours=unit)
        if (noise := squares(envelope.losses)) == 0:
            (pair,) = (loss.pair() for loss in envelope.losses)
            assert pair is not None
            return ModelBudget(epsilon=pair.epsilon, delta=pair.delta, spent=spent, neighbours=unit)
        left = math.sqrt(max(noise * (1 - MARGIN) - squares(spent), 0.0))
        return ModelBudget(
            epsilon=self.epsilon, delta=self.model_delta, spent=spent, neighbours=unit, left=left
        )

    def random_split(self, learner: Learner) -> RandomSplit | None:
        """The random split for the accountant; None without one, or if the unit is not a single row."""
        if self.split is None or self.neighbours != ONE_ROW:
            return None
        return RandomSplit.of(self.split, apart=is_builtin(learner) and learner.parts_apart)
