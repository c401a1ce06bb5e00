"""From codes to something that can be sampled: split, learn, and put the privacy test in front."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.models import plausible_gamma
from sdv_plausible.models.base import Learner, LearningRows, ModelBudget
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.privacy import checks as check
from sdv_plausible.privacy.accounting.losses import InfiniteLoss
from sdv_plausible.privacy.ledger import LedgerEntry, PrivacyLedger
from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.privacy.privacy_tests import DeterministicTest, ReleaseTest
from sdv_plausible.release.mechanism import PlausibleDeniabilityMechanism, ReleasedSeeds
from sdv_plausible.release.plan import SIZE_EPSILON, Settings
from sdv_plausible.table.domain import Domain


@dataclass(kw_only=True)
class Released:
    """A fitted release: what :meth:`sample` needs, and nothing else.

    Attributes
    ----------
    network : SeedModel
        The fitted model; under the row-by-row tests it holds the seed records.
    coins : Coins
        Secret of the sampling streams, independent of everything drawn while fitting.
    seeds : ReleasedSeeds or None
        Release test: the released prefixes.
    mechanism : PlausibleDeniabilityMechanism or None
        Row-by-row tests: Mechanism 1.
    """

    network: Any
    coins: Coins
    seeds: ReleasedSeeds | None
    mechanism: PlausibleDeniabilityMechanism | None

    @property
    def holds_records(self) -> bool:
        """Whether saving this object saves records of the table."""
        return self.mechanism is not None

    @property
    def samples_conditions(self) -> bool:
        """Whether rows can be drawn given known values."""
        return self.seeds is not None

    def set_random_state(self, state: Any) -> None:
        """SDV offers its public seed; secret coins take none."""

    def sample(self, num_rows: int, known: Mapping[int, int], coins: Coins) -> np.ndarray:
        """Released rows as codes (num_rows, m), given known codes per column."""
        if self.seeds is not None:
            if known:
                return self.seeds.sample_given(num_rows, known, self.network, coins)
            return self.seeds.sample(num_rows, self.network, coins)
        assert self.mechanism is not None
        deterministic = isinstance(self.mechanism.test, DeterministicTest)
        return self.mechanism.release(num_rows, coins, 1000 * num_rows + 100_000 if deterministic else None)

    def diagnose(self, num_candidates: int) -> pd.DataFrame:
        """Plausible seeds of candidates by number of kept attributes. Looks at the records: not private."""
        found = []
        for omega, plausible in self._plausible_seeds(num_candidates).items():
            low, middle, high = np.percentile(plausible, [25, 50, 75])
            share = float((plausible >= self._mechanism_with_records.test.k).mean())
            found.append((omega, self._mechanism_with_records.num_attributes - omega, low, middle, high, share))
        return pd.DataFrame(found, columns=["omega", "kept", "size_25", "size_50", "size_75", "share_at_least_k"])

    def seed_diagnostics(self, num_candidates: int) -> dict[str, Any]:
        """The same for the report: plausible seeds at the mechanism's omega, and who passes at which k and omega."""
        mechanism, by_omega = self._mechanism_with_records, self._plausible_seeds(num_candidates)
        omegas = (mechanism.num_attributes,) if mechanism.omega == "all" else np.atleast_1d(mechanism.omega)
        of_mechanism = [by_omega[omega] for omega in range(min(omegas), max(omegas) + 1)]
        shown = {*omegas, *np.linspace(0, mechanism.num_attributes, 6).round().astype(int).tolist()}  # a readable number
        ks = sorted({max(1, round(mechanism.test.k * factor)) for factor in (0.1, 0.2, 0.5, 1, 2, 5, 10)})
        return {
            "plausible_seeds": np.concatenate(of_mechanism),
            "pass_rates": {
                k: {omega: float((seeds >= k).mean()) for omega, seeds in by_omega.items() if omega in shown} for k in ks
            },
        }

    def _plausible_seeds(self, num_candidates: int) -> dict[int, np.ndarray]:
        """Number of plausible seeds of candidates made from uniformly random seeds, for every omega from m to 0."""
        check.whole("num_candidates", num_candidates, 1, "try 10,000")
        mechanism, coins = self._mechanism_with_records, Coins.from_os_entropy()
        rows = coins.integers(mechanism.num_seeds, num_candidates)
        counts = {}
        for omega in range(mechanism.num_attributes, -1, -1):
            proposals = self.network.propose(rows, np.full(len(rows), omega), coins)
            counts[omega] = self.network.count_plausible(proposals, mechanism.test.gamma)
        return counts

    @property
    def _mechanism_with_records(self) -> PlausibleDeniabilityMechanism:
        if self.mechanism is None:
            raise ValueError(
                "diagnose() needs the seed records, which privacy_test='release' does not keep; fit a second synthesizer with "
                "privacy_test='randomized' on the same table to look at them"
            )
        return self.mechanism


def fit_release(
    codes: np.ndarray, domain: Domain, settings: Settings, learner: Learner, ledger: PrivacyLedger, coins: Coins
) -> Released:
    """Split the rows, learn the model, and prepare the release.

    Parameters
    ----------
    codes : ndarray of int, shape (n, m)
        All rows.
    domain : Domain
        Their columns.
    settings : Settings
        Privacy parameters.
    learner : Learner
        Makes the model.
    ledger : PrivacyLedger
        Charged before every look at the rows.
    coins : Coins
        Coins of this fit.
    """
    structure, parameters, seeds = split_rows(codes, settings.split, coins.spawn("split"))
    budget = ModelBudget(epsilon=settings.epsilon, delta=settings.model_delta, spent=ledger.losses)
    rows = LearningRows(structure=structure, parameters=parameters)
    ledger.charge(*settings.seed_charge(plausible_gamma(learner, settings.gamma)))
    if settings.privacy_test == "randomized":  # before the rows have cost more
        _check_least_rows(len(seeds), settings, coins.spawn("number of seeds"))
    charged = len(ledger.entries)
    network: Any = learner.fit(rows, domain, budget, ledger, coins.spawn("learning"))
    if len(ledger.entries) == charged:
        ledger.charge(_UNCHARGED)
    m = len(domain)
    cards = domain.cardinalities
    omega = settings.resolve_omega(tuple(cards[j] for j in network.order))
    sampling = coins.spawn("sampling")
    test = settings.test()
    if isinstance(test, ReleaseTest):
        if not isinstance(network, BayesianNetwork):
            raise ValueError(
                f"privacy_test ('release') needs a model with prefix groups, not {type(network).__name__}; use 'randomized' "
                "or 'deterministic'"
            )
        released = ReleasedSeeds.draw(network, seeds, omega, test, coins.spawn("release"))
        return Released(network=network, coins=sampling, seeds=released, mechanism=None)
    network.attach_seeds(seeds)
    mechanism = PlausibleDeniabilityMechanism(
        model=network, num_seeds=len(seeds), test=test, omega=omega, num_attributes=m,
        seed_free_share=settings.seed_free_share if settings.privacy_test == "randomized" else 0.0,
    )  # fmt: skip
    return Released(network=network, coins=sampling, seeds=None, mechanism=mechanism)


_UNCHARGED = LedgerEntry(
    name="model",
    mechanism="a learner that charged nothing",
    losses=(InfiniteLoss(),),
    scope="the model",
    note="the model's learner charged nothing for what it learned; let its fit charge the ledger",
)


def _check_least_rows(num_seeds: int, settings: Settings, coins: Coins) -> None:
    """Refuse where a noisy count of the seeds, charged before, contradicts the declared lower bound.

    Raises
    ------
    ValueError
        If the bound does not stand. This depends on the noisy count alone.
    """
    _, margin = settings.size_charge()
    noisy = noise.discrete_laplace(np.array([num_seeds]), sensitivity=1, epsilon=SIZE_EPSILON, coins=coins)
    if int(noisy[0]) - margin < settings.least_rows:
        raise ValueError(
            f"least_rows ({settings.least_rows}) is not confirmed by the noisy number of seeds, which must exceed it by "
            f"{margin}: declare a lower number, or use privacy_test='release'. That noisy number has cost epsilon "
            f"{SIZE_EPSILON}, and a domain learned privately its share of epsilon: both add to what the next fit will cost"
        )


def split_rows(
    codes: np.ndarray, split: tuple[float, float, float] | None, coins: Coins
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows for structure, parameters and seeds: all rows thrice, or disjoint parts by secret independent draws."""
    if split is None:
        return codes, codes, codes
    u = coins.uniform(len(codes))
    ends = np.cumsum([0.0, *split])
    first, second, third = (codes[(low <= u) & (u < high)] for low, high in zip(ends[:-1], ends[1:], strict=True))
    return first, second, third
