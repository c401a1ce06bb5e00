"""SDGym finds the synthesizer by name and benchmarks it with our metrics, offline, with and without a timeout."""

from __future__ import annotations

import pickle
import socket
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.sdv import sdv_versions as sdv_compat

ROOT = Path(__file__).parents[2]
OURS = "PlausibleDeniabilitySynthesizer"
SCORES = ["TotalVariationDistance", "PairwiseTotalVariationDistance"]
pytestmark = pytest.mark.filterwarnings("ignore")  # SDGym's own imports warn of deprecations


@pytest.fixture
def benchmarks(monkeypatch):
    """Make the benchmarks importable, here and in spawned processes."""
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.fixture
def sdgym():
    if sdv_compat.TAKES_DICT:
        pytest.skip("SDGym needs SDV below 2: runs on the SDV 1.38 stack")
    return pytest.importorskip("sdgym", reason="SDGym is not installed: pip install 'sdv-plausible[sdgym]'")


@pytest.fixture
def offline(monkeypatch):
    """Fail on every attempt to reach the network; local sockets are how processes talk to each other."""
    connect = socket.socket.connect

    def local_only(self, address):
        if self.family != socket.AF_UNIX:
            raise AssertionError(f"tried to connect to {address}")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", local_only)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: pytest.fail(f"looked up {args[0]}"))


@pytest.fixture
def datasets(tmp_path, sdgym, benchmarks):
    """Two equal columns of a fair coin, and one that is independent of them: 300 rows in SDGym's folders."""
    from benchmarks.sdgym_run import write_dataset

    rng = np.random.default_rng(3)
    coin = rng.choice(["heads", "tails"], 300)
    table = pd.DataFrame({"coin": coin, "twin": coin, "size": rng.integers(0, 10, 300)})
    write_dataset(tmp_path, "coins", table)
    return tmp_path


def test_found_by_name(sdgym):
    from sdgym.synthesizers import get_available_single_table_synthesizers

    assert OURS in get_available_single_table_synthesizers()


def test_offline_benchmark_by_name_with_variants_and_metrics(datasets, sdgym, offline):
    from benchmarks import sdgym_run, sdgym_variants

    variants = [sdgym_variants.PlausibleNoNoise, sdgym_variants.PlausibleEpsilonEight]
    metrics = sdgym_run.our_metrics(300, num_runs=1)[:2]
    table = sdgym_run.run(datasets, [OURS, "DataIdentity"], variants, metrics).set_index("Synthesizer")
    others = {"DataIdentity", "UniformSynthesizer", "PlausibleNoNoise", "PlausibleEpsilonEight"}
    assert set(table.index) == {OURS, *others}
    assert "Error" not in table, table.get("Error")
    assert table.loc["DataIdentity", SCORES].tolist() == [1.0, 1.0]
    # SDGym shows 1 - distance. Where coin and twin are independent, that pair costs a third of 0.5, and chance costs each
    # of the other two about 0.15: 0.74 in all with a standard deviation of 0.01, so a false alarm has odds of about 1e-7.
    assert table.loc["PlausibleNoNoise", SCORES[1]] > 0.8 > table.loc["UniformSynthesizer", SCORES[1]]
    promised = table["Promised_Epsilon"].to_dict()
    assert 0 < float(promised.pop("PlausibleEpsilonEight")) <= 8
    none = {"DataIdentity": "-", "UniformSynthesizer": "-", "PlausibleNoNoise": "no claim"}
    assert promised == {**none, OURS: "1"}  # nothing is read off the rows by default


def test_metrics_by_name(datasets, sdgym, offline):
    import sdv_plausible.evaluation.metrics  # noqa: F401  makes the names known
    from benchmarks.sdgym_run import run

    game = ("DistinguishingGame", {"num_runs": 1, "classifiers": ("tree",)})
    table = run(datasets, [OURS], [], [*SCORES, game])
    assert table[[*SCORES, "DistinguishingGame"]].notna().all(axis=None)


def test_timeout_runs_in_spawned_processes(datasets, sdgym, offline):
    from benchmarks import sdgym_run, sdgym_variants

    variants = [sdgym_variants.PlausibleEpsilonEight]
    table = sdgym_run.run(datasets, [], variants, sdgym_run.our_metrics(300)[:1], timeout=300)
    table = table.set_index("Synthesizer")
    assert "Error" not in table, table.get("Error")
    assert table["TotalVariationDistance"].between(0, 1).all()
    assert 0 < float(table.loc["PlausibleEpsilonEight", "Promised_Epsilon"]) <= 8


def test_variants_can_be_sent_to_another_process(sdgym, benchmarks):
    from benchmarks import sdgym_variants

    variants = [*sdgym_variants.NOT_PRIVATE, *sdgym_variants.BUDGETS, *sdgym_variants.SEEDS]
    assert [pickle.loads(pickle.dumps(variant)) for variant in variants] == variants
    with pytest.raises(pickle.PicklingError):  # control: SDGym's own cannot
        pickle.dumps(sdgym.create_synthesizer_variant("k = 10", "GaussianCopulaSynthesizer", {}))


def test_no_name_of_a_variant_begins_another_one(sdgym, benchmarks):
    from benchmarks import sdgym_variants

    variants = (*sdgym_variants.NOT_PRIVATE, *sdgym_variants.BUDGETS, *sdgym_variants.SEEDS)
    names = [OURS, *(variant.__name__ for variant in variants)]  # of saved files, which would be mixed up
    assert not [(a, b) for a in names for b in names if a != b and b.startswith(a)]


def test_missing_sdgym_says_what_to_install(monkeypatch, benchmarks):
    for name in [
        one for one in sys.modules if one.split(".")[0] == "sdgym" or one == "benchmarks.sdgym_variants"
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sdgym", None)
    with pytest.raises(ImportError, match=r"needs SDV below 2.*pip install 'sdv-plausible\[sdgym\]'"):
        import benchmarks.sdgym_variants  # noqa: F401
