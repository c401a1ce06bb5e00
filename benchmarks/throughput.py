"""Speed of the mechanism, of fitting and of sampling, as ratios within one run.

Run: python -m benchmarks.throughput [--quick]

1. Candidates proposed and tested per second on one core, prefix groups against the generic scan, at the paper's setting
   (omega = 9, k = 50, gamma = 4) on 735,000 simulated seeds.
2. Seconds to fit 1,500,000 rows of 11 columns.
3. ``sample(1_000_000)`` through SDV against an SDV synthesizer that does nothing, and against GaussianCopula.
4. ``sample_remaining_columns``: CPU for each distinct combination of known values, all at once and combination by
   combination, as SDV draws them.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

from sdv_plausible.fitting.fit import learn_model
from sdv_plausible.mechanism.drawing.omega import Omega
from sdv_plausible.queries.count_queries import CodeArray
from sdv_plausible.queries.queryable import SeedRecords

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

import numpy as np
import pandas as pd
from sdv.single_table import GaussianCopulaSynthesizer
from sdv.single_table.base import BaseSingleTableSynthesizer

from sdv_plausible.datasets import census_like, census_like_codes, census_like_metadata
from sdv_plausible.mechanism.drawing.mechanism import PlausibleDeniabilityMechanism
from sdv_plausible.mechanism.privacy_tests.row_tests import DeterministicTest, RandomizedTest
from sdv_plausible.models import make_learner
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.plausible_seeds import scan_plausible_seeds
from sdv_plausible.sdv import known_values
from sdv_plausible.sdv import sdv_versions as sdv_compat
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.declared.specifications import declared_attribute

K, GAMMA, EPSILON0, OMEGA = 50, 4.0, 1.0, 9


class DoNothingSynthesizer(BaseSingleTableSynthesizer):
    """Gives back rows of the processed table: the floor that SDV's own pipeline sets."""

    def _fit(self, processed_data: pd.DataFrame) -> None:
        self._model = _Rows(processed_data.reset_index(drop=True))

    def _sample(self, num_rows: int, conditions: Any = None) -> pd.DataFrame:
        return self._model.take(num_rows)


class RawDoNothingSynthesizer(DoNothingSynthesizer):
    """The same without SDV's transformers, as ours: a lower floor."""

    _model_sdtype_transformers = dict.fromkeys(("numerical", "categorical", "boolean", "datetime"))


class _Rows:
    def __init__(self, rows: pd.DataFrame) -> None:
        self.rows = rows

    def set_random_state(self, state: Any) -> None:
        self.rng = np.random.default_rng(state)

    def take(self, n: int) -> pd.DataFrame:
        return self.rows.take(self.rng.integers(len(self.rows), size=n)).reset_index(drop=True)


def seconds(work: Callable[[], Any], repeats: int = 3) -> float:
    """Median of several runs."""
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return float(np.median(found))


def mechanism_speed(num_seeds: int, candidates: int, scanned: int) -> None:
    """Print candidates per second of both counting paths, and check that they agree."""
    codes, cards = census_like_codes(num_seeds, random_state=1)
    specs = census_like_metadata()
    domain = Domain(tuple(a for a in (declared_attribute(n, s) for n, s in specs.items()) if a is not None))
    assert domain.cardinalities == tuple(cards)
    rng = KeyedRNG.from_os_entropy()
    ledger = PrivacyLedger(delta=1e-9)
    rows = {"learning": CodeArray(codes, domain.cardinalities)}
    budget = ModelBudget(epsilon=1.0, delta=1e-9)
    network = learn_model(rows, domain, make_learner("bayesian_network"), budget, ledger, rng)
    network.attach_seeds(SeedRecords(codes))

    def release(test: DeterministicTest | RandomizedTest) -> None:
        mechanism = PlausibleDeniabilityMechanism(
            model=network, num_seeds=num_seeds, test=test, omega=Omega.parse(OMEGA)
        )
        proposals = 0
        while proposals < candidates:
            size = 1 << 17
            rows = rng.integers(num_seeds, size)
            made = network.propose(rows, mechanism._draw_omega(size, rng), rng)
            test.passes(network.count_plausible(made, GAMMA), rng)
            proposals += size

    for name, test in (
        ("deterministic test", DeterministicTest(k=K, gamma=GAMMA)),
        ("randomised test", RandomizedTest(k=K, gamma=GAMMA, epsilon0=EPSILON0)),
    ):
        release(test)
        batches = -(-candidates // (1 << 17)) * (1 << 17)
        fast = batches / seconds(lambda test=test: release(test))
        print(f"  prefix groups, {name:<19}: {fast:>12,.0f} candidates/s")
    rows = rng.integers(num_seeds, scanned)
    made = network.propose(rows, np.full(scanned, OMEGA), rng)
    own = network.log_suffix(made.candidates)[:, len(domain) - OMEGA]

    def scan() -> np.ndarray:
        return scan_plausible_seeds(lambda r: network.log_likelihood(made, r), own, num_seeds, gamma=GAMMA)

    slow = scanned / seconds(scan, repeats=1)
    print(f"  generic scan                       : {slow:>12,.1f} candidates/s")
    print(f"  ratio, randomised test to scan     : {fast / slow:>12,.0f}")
    assert (scan() == network.count_plausible(made, GAMMA)).all(), "the two paths must agree"


def fit_speed(num_rows: int) -> pd.DataFrame:
    """Print the seconds of the learner alone and of the whole fit."""
    codes, _ = census_like_codes(num_rows, random_state=2)
    specs = census_like_metadata()
    domain = Domain(tuple(a for a in (declared_attribute(n, s) for n, s in specs.items()) if a is not None))
    rows = {"learning": CodeArray(codes, domain.cardinalities)}
    budget = ModelBudget(epsilon=1.0, delta=1e-9)

    def learn() -> None:
        ledger, rng = PrivacyLedger(delta=1e-9), KeyedRNG.from_os_entropy()
        learn_model(rows, domain, make_learner("bayesian_network"), budget, ledger, rng)

    print(f"  learner alone, {num_rows:,} x 11: {seconds(learn, 1):.1f} s")
    table = census_like(num_rows, random_state=2)
    synth = PlausibleDeniabilitySynthesizer(metadata_from_columns(specs), domain=specs)
    print(f"  fit through SDV, {num_rows:,} x 11: {seconds(lambda: synth.fit(table), 1):.1f} s")
    return table


def sample_speed(table: pd.DataFrame, num_rows: int) -> None:
    """Print seconds of sample(num_rows) for three synthesizers."""
    specs = census_like_metadata()
    metadata = metadata_from_columns(specs)
    makers = {
        "do nothing": lambda: DoNothingSynthesizer(metadata),
        "do nothing, raw": lambda: RawDoNothingSynthesizer(metadata),
        "ours": lambda: PlausibleDeniabilitySynthesizer(metadata, domain=specs),
        "GaussianCopula": lambda: GaussianCopulaSynthesizer(metadata),
    }
    found = {}
    for name, maker in makers.items():
        synth = maker()
        synth.fit(table if name == "ours" else sdv_compat.to_native("table", table))
        repeats = 1 if name == "GaussianCopula" else 3
        found[name] = seconds(lambda synth=synth: synth.sample(num_rows), repeats)
        print(
            f"  sample({num_rows:,}), {name:<15}: {found[name]:.1f} s  ({found[name] / found['do nothing']:.2f} x)"
        )


def remaining_speed(table: pd.DataFrame, combinations: int, few: int) -> None:
    """Print CPU milliseconds for each combination of known values, of all at once and one after the other."""
    specs = census_like_metadata()
    synth = PlausibleDeniabilitySynthesizer(metadata_from_columns(specs), domain=specs)
    synth.fit(table)
    names = list(specs)[:4]
    known = table[names].drop_duplicates().head(combinations).reset_index(drop=True)
    found = {}
    batched = known_values.can_be_batched
    for name, rows, test in (("at once", known, batched), ("one by one", known.head(few), lambda *_: False)):
        known_values.can_be_batched = test
        start = time.process_time()
        synth.sample_remaining_columns(rows)
        found[name] = 1000 * (time.process_time() - start) / len(rows)
        print(
            f"  {len(rows):,} combinations of {len(names)} known columns, {name:<10}: {found[name]:.2f} ms each"
        )
    known_values.can_be_batched = batched
    print(f"  ratio: {found['one by one'] / found['at once']:,.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    scale = 10 if parser.parse_args().quick else 1
    warnings.simplefilter("ignore")
    print("1. Mechanism 1, one core")
    mechanism_speed(735_000 // scale, 2_000_000 // scale, 64)
    print("2. Fit")
    table = fit_speed(1_500_000 // scale)
    print("3. Sample")
    sample_speed(table.head(100_000), 1_000_000 // scale)
    print("4. Remaining columns")
    remaining_speed(table.head(100_000), 10_000 // scale, 50)


if __name__ == "__main__":
    main()
