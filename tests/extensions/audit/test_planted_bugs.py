"""The audit turned on ourselves: the honest one passes, each planted bug is found.

Found elsewhere in the same set: noise of half the scale and a forgotten square root (attacks/test_white_box.py), a
threshold without noise, seeds and persons (test_membership.py). Every honest audit here is accused with probability ALARM
at most, for each bound; how often a bug is missed stands beside it.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from attacked import people
from cases import fast_and_nightly

from sdv_plausible import PlausibleDeniabilitySynthesizer
from sdv_plausible.extensions.audit import attack_bounds, canary_game, white_box_of_default
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.sdv.metadata import metadata_from_columns

ALARM = 1e-6
FILE_ALARM = 1e-3  # the honest file says the same in every run: it is never accused
DELTA = 1e-9
COLUMNS = {"age": {"sdtype": "numerical"}, "job": {"sdtype": "categorical"}, "member": {"sdtype": "boolean"}}
DECLARED = {
    "age": {**COLUMNS["age"], "range_min": 0, "range_max": 120, "decimal_places": 0},
    "job": {**COLUMNS["job"], "range_values": [*"abcdefgh", "zebra"]},
    "member": COLUMNS["member"],
}


def ours(**changes) -> PlausibleDeniabilitySynthesizer:
    settings = {"epsilon": 0.5, "delta": DELTA, "domain": DECLARED, **changes}
    return PlausibleDeniabilitySynthesizer(metadata_from_columns(COLUMNS), **settings)


class LeaksSeeds:
    """Seeds of all columns among rows of strangers: whoever looks for a person finds it or does not."""

    def fit(self, data: pd.DataFrame) -> None:
        self._rows = data

    def sample(self, num_rows: int) -> pd.DataFrame:
        strangers = people(num_rows, seed=int(KeyedRNG.from_os_entropy().integers(2**31)))
        return pd.concat([strangers, self._rows], ignore_index=True)


def rows(number: int = 3000) -> pd.DataFrame:
    return people(number)[list(COLUMNS)]


def test_the_default_passes_and_leaked_seeds_are_found() -> None:
    """The bound for leaked seeds is 2.7 with standard deviation .17: a miss wants 10 of them."""
    honest = canary_game(rows(), lambda: ours(epsilon=1.0), canaries=600, delta=DELTA, false_alarm=ALARM)
    assert max(honest.distance.epsilon, honest.density.epsilon) <= 1.0
    wide = people(3000)
    leaking = canary_game(wide, LeaksSeeds, canaries=600, delta=DELTA, false_alarm=ALARM)
    assert leaking.distance.epsilon > 1.0


def test_public_coins_are_found(monkeypatch) -> None:
    """Planted: the same coins in every fit. Then every run tells, always: the bound is the largest there is."""
    assert not white_box_of_default(10.0, DELTA, runs=100, false_alarm=ALARM).broken
    monkeypatch.setattr(KeyedRNG, "from_os_entropy", classmethod(lambda cls: cls.from_seed(1)))
    found = white_box_of_default(10.0, DELTA, runs=100, false_alarm=ALARM)
    assert found.broken
    assert found.bounds.mu == pytest.approx(found.bounds.most_mu)


def says_zebra(make, table: pd.DataFrame, path: Path) -> float:
    """Whether the file of a release has the target's value, which nobody else has."""
    synth = make(table)
    synth.fit(table)
    synth.release(allow_no_claim=True).save(path)
    return float(b"zebra" in path.read_bytes())


def attack_file(make, folder: Path):
    absent, runs = rows(60), 24
    present = pd.concat([absent, absent.iloc[:1].assign(job="zebra")], ignore_index=True)
    scores = [
        [says_zebra(make, table, folder / "a.release") for _ in range(runs)] for table in (present, absent)
    ]
    return attack_bounds(*map(np.array, scores), DELTA, false_alarm=FILE_ALARM)


def from_rows(table: pd.DataFrame) -> PlausibleDeniabilitySynthesizer:
    """The planted bug: what is called declared was read off the rows, and stands in the file."""
    job = {**DECLARED["job"], "range_values": sorted(table["job"].unique())}
    return ours(domain={**DECLARED, "job": job})


def inferred(_: pd.DataFrame) -> PlausibleDeniabilitySynthesizer:
    """The planted bug: the domain is inferred (the ledger says so; the attack does not read it)."""
    return ours(domain={name: DECLARED[name] for name in ("age", "member")}, undeclared="infer")


@pytest.mark.slow
@pytest.mark.parametrize("planted", fast_and_nightly([from_rows], [inferred]))
def test_metadata_and_domains_from_the_rows_are_found_in_the_file(planted, tmp_path) -> None:
    """Every run tells: 24 on each side prove epsilon .64, of a claim of .5, always."""
    found = attack_file(planted, tmp_path)
    assert found.epsilon > 0.5
    assert found.epsilon == pytest.approx(found.most_epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("honest", fast_and_nightly([lambda _: ours(domain=None)], [lambda _: ours()]))
def test_files_of_declared_and_private_domains_tell_nothing(honest, tmp_path) -> None:
    assert attack_file(honest, tmp_path).epsilon == 0.0
