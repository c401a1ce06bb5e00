"""Samplers: the part of a fitted release that samples rows and is saved with it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from sdv_plausible.mechanism.drawing.released_prefixes import ReleasedSeeds
from sdv_plausible.models.base import PrefixModel, SeedModel
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.transcript import NoisyAnswer

if TYPE_CHECKING:
    from sdv_plausible.mechanism.drawing.mechanism import PlausibleDeniabilityMechanism, Rows, RunParts

ATTEMPTS, ATTEMPTS_PER_ROW = 100_000, 1000  # attempts of Mechanism 1 where it may give up


@dataclass(kw_only=True)
class Sampler(ABC):
    """Samples rows of a fitted release."""

    holds_records: ClassVar[bool]
    """Whether the saved object contains records of the table."""
    samples_conditions: ClassVar[bool]
    """Whether rows can be sampled given known values."""

    model: SeedModel
    rng: KeyedRNG  # secret random stream for sampling, independent of the fit
    answers: tuple[NoisyAnswer, ...] = ()  # noisy answers of the fit, in order

    def set_random_state(self, state: Any) -> None:  # noqa: B027
        """Ignore the public seed of SDV: the random stream is secret."""

    @abstractmethod
    def sample(self, num_rows: int, known: Mapping[int, int], rng: KeyedRNG) -> np.ndarray:
        """Released rows as codes (num_rows, m), given known codes by column."""

    def sample_possible(self, num_rows: int, known: Mapping[int, int], rng: KeyedRNG) -> np.ndarray:
        """Rows with known codes; codes of probability 0 overwrite rows that were sampled without them."""
        codes = self.sample(num_rows, known, rng)
        if len(codes) or not known:
            return codes
        single = {
            j: code for j, code in known.items() if len(self.sample(1, {j: code}, rng.spawn("alone", j)))
        }
        possible = single if len(single) < len(known) else {}
        codes = self.sample(num_rows, possible, rng.spawn("possible"))
        codes = codes if len(codes) else self.sample(num_rows, {}, rng.spawn("any"))
        codes[:, list(known)] = list(known.values())
        return codes

    def sample_each(self, known: Mapping[int, np.ndarray], rng: KeyedRNG) -> np.ndarray:
        """A row for each combination of known codes (N,), as in :meth:`sample_possible`."""
        columns = list(known)
        table = np.stack([known[column] for column in columns], axis=1)
        codes, accepted = self._sample_each(known, rng.spawn("each"))
        left = np.flatnonzero(~accepted)
        combinations, which = np.unique(table[left], axis=0, return_inverse=True)
        for i, combination in enumerate(combinations.tolist()):
            rows = left[which.reshape(-1) == i]
            given = dict(zip(columns, combination, strict=True))
            codes[rows] = self.sample_possible(len(rows), given, rng.spawn("alike", *combination))
        return codes

    def _sample_each(
        self,
        known: Mapping[int, np.ndarray],
        rng: KeyedRNG,  # noqa: ARG002
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows with these known codes, and which of them were accepted; here none."""
        num_rows = len(next(iter(known.values())))
        codes = np.zeros((num_rows, self.model.num_attributes), dtype=np.int32, order="F")
        return codes, np.zeros(num_rows, dtype=bool)

    @contextmanager
    def in_processes(self, processes: int) -> Iterator[None]:
        """Sample rows in several processes within this context."""
        check.whole("processes", processes, 1, "1 for this process alone")
        if processes > 1:
            raise ValueError(
                f"processes ({processes}) only works with row-by-row tests. With test='release' a million "
                "rows take a second; for more, use release().sample_to_parquet(folder, rows, executor=...)"
            )
        yield


@dataclass(kw_only=True)
class PrefixSampler(Sampler):
    """Samples from released prefixes and the model; by default from the model alone."""

    holds_records: ClassVar[bool] = False
    samples_conditions: ClassVar[bool] = True
    model: PrefixModel
    seeds: ReleasedSeeds

    def sample(self, num_rows: int, known: Mapping[int, int], rng: KeyedRNG) -> np.ndarray:
        """Released rows as codes (num_rows, m), given known codes by column."""
        if known:
            return self.seeds.sample_given(num_rows, known, self.model, rng)
        return self.seeds.sample(num_rows, self.model, rng)

    def _sample_each(self, known: Mapping[int, np.ndarray], rng: KeyedRNG) -> tuple[np.ndarray, np.ndarray]:
        """Rows with these known codes, and which of them were accepted."""
        return self.seeds.sample_each(known, self.model, rng)


@dataclass(kw_only=True)
class RecordSampler(Sampler):
    """Samples by Mechanism 1, row by row; contains the seed records."""

    holds_records: ClassVar[bool] = True
    samples_conditions: ClassVar[bool] = False
    mechanism: PlausibleDeniabilityMechanism
    gives_up: bool  # whether a low pass rate ends in an error: only without a privacy guarantee
    _run: RunParts | None = None

    def sample(self, num_rows: int, known: Mapping[int, int], rng: KeyedRNG) -> np.ndarray:  # noqa: ARG002
        """Released rows as codes (num_rows, m)."""
        return self.sample_with_points(num_rows, rng)[0]

    def sample_with_points(self, num_rows: int, rng: KeyedRNG) -> Rows:
        """Released rows, and the latent point (num_rows, l) of each, if any."""
        from sdv_plausible.mechanism.drawing.mechanism import parts_of, workers

        parts = parts_of(
            num_rows, rng, lambda size: ATTEMPTS_PER_ROW * size + ATTEMPTS if self.gives_up else None
        )
        if self._run is not None:
            return _concatenate(self._run(parts))
        with workers(self.mechanism, 1) as run:
            return _concatenate(run(parts))

    @contextmanager
    def in_processes(self, processes: int) -> Iterator[None]:
        """Sample rows in several processes within this context; their number does not change the rows."""
        from sdv_plausible.mechanism.drawing.mechanism import workers

        with workers(self.mechanism, processes) as run:
            self._run = run
            try:
                yield
            finally:
                self._run = None


def _concatenate(parts: list[Rows]) -> Rows:
    rows, points = zip(*parts, strict=True)
    return np.concatenate(rows), np.concatenate(points)


SHOWN_OMEGAS = 6  # lines in a plot


def diagnose(sampler: Sampler, num_candidates: int) -> pd.DataFrame:
    """Quartiles of the numbers of plausible seeds, and the share with at least k, by omega. Not private."""
    mechanism, lines = _mechanism(sampler), []
    for omega, plausible in _plausible_seeds(mechanism, num_candidates).items():
        low, middle, high = np.percentile(plausible, [25, 50, 75])
        share = float((plausible >= mechanism.test.least_seeds).mean())
        lines.append((omega, mechanism.model.num_attributes - omega, low, middle, high, share))
    return pd.DataFrame(lines, columns=["omega", "kept", "size_25", "size_50", "size_75", "share_at_least_k"])


def seed_diagnostics(sampler: Sampler, num_candidates: int) -> dict[str, Any]:
    """Numbers of plausible seeds at the mechanism's omega, and pass rates by k and omega, for the report."""
    mechanism = _mechanism(sampler)
    by_omega = _plausible_seeds(mechanism, num_candidates)
    m, k = mechanism.model.num_attributes, mechanism.test.least_seeds
    used = mechanism.omega.among(m)
    shown = {used[0], used[-1], *np.linspace(0, m, SHOWN_OMEGAS).round().astype(int).tolist()}
    ks = sorted({max(1, round(k * factor)) for factor in (0.1, 0.2, 0.5, 1, 2, 5, 10)})
    return {
        "plausible_seeds": np.concatenate([by_omega[omega] for omega in used]),
        "pass_rates": {
            k: {omega: float((seeds >= k).mean()) for omega, seeds in by_omega.items() if omega in shown}
            for k in ks
        },
    }


def _mechanism(sampler: Sampler) -> PlausibleDeniabilityMechanism:
    if not isinstance(sampler, RecordSampler):
        raise ValueError(
            "diagnose() needs the seed records, which test='release' does not keep. To inspect them, fit a "
            "second synthesizer with test='randomized' to the same table"
        )
    return sampler.mechanism


def _plausible_seeds(mechanism: PlausibleDeniabilityMechanism, num_candidates: int) -> dict[int, np.ndarray]:
    """Numbers of plausible seeds of candidates from uniformly random seeds, for omega m to 0."""
    check.whole("num_candidates", num_candidates, 1, "try 10,000")
    rng = KeyedRNG.from_os_entropy()
    rows = rng.integers(mechanism.num_seeds, num_candidates)
    counts = {}
    for omega in range(mechanism.model.num_attributes, -1, -1):
        proposals = mechanism.model.propose(rows, np.full(len(rows), omega), rng)
        counts[omega] = mechanism.model.count_plausible(proposals, mechanism.test.gamma)
    return counts
