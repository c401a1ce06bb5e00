"""The secret streams: exact numbers, independent names, no sharing between processes, no influence of public seeds.

A statistical check rejects at p < ALARM, its false-alarm probability, and misses each planted fault with a probability
that is computed beside it (:mod:`miss_rates`) and below MISSED; controls without one are certain.
"""

from __future__ import annotations

import copy
import hmac
import itertools
import os
import pickle
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable
from typing import Any

import miss_rates
import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sdv_plausible.privacy.noise import keyed_rng as rng_module
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG, _encode

ALARM, MISSED = 1e-7, 1e-6
SECRET_AND_SEEDED = KeyedRNG.from_os_entropy(), KeyedRNG.from_seed(1)
STREAMS = *SECRET_AND_SEEDED, KeyedRNG.from_os_entropy().spawn("a")


def in_new_process(script: str, *arguments: bytes) -> str:
    """Run a script in a fresh interpreter; it finds the arguments, decoded, in `given`."""
    header = "import sys\ngiven = [bytes.fromhex(a) for a in sys.argv[1:]]\n"
    command = [sys.executable, "-c", header + script, *(a.hex() for a in arguments)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_stream_is_aes_256_in_counter_mode_under_a_derived_key() -> None:
    """Also of draws longer than what is encrypted at once, and from a place in between."""
    rng, length = KeyedRNG.from_os_entropy(), 2 * len(rng_module._PLAIN) + 40
    key = hmac.digest(rng._key, b"stream\0", "sha256")
    counters = b"".join(i.to_bytes(16, "big") for i in range(1 + -(-length // 16)))
    expected = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(counters)
    assert rng.bytes(5) == expected[:5]
    twin = copy.copy(rng)
    assert rng.bytes(length) == twin.bytes(length) == expected[16 : 16 + length]
    assert not twin.bytes(0)
    assert rng.bytes(16) == twin.bytes(16) not in expected
    whole, parts = KeyedRNG.from_seed(5), KeyedRNG.from_seed(5)  # draws follow each other without overlap
    assert whole.bytes(80) == parts.bytes(16) + parts.bytes(48) + parts.bytes(16)
    assert whole.short_words(5).astype("<u2").tobytes() == parts.bytes(10)
    assert whole.bytes(16) == parts.bytes(16)


def test_seeded_numbers_stay_the_same_over_releases() -> None:
    rng = KeyedRNG.from_seed(42)
    assert rng.integers(1000, 4).tolist() == [778, 709, 47, 439]
    assert rng.spawn("fit", 3, (None, 0.5)).integers(1000, 4).tolist() == [455, 536, 757, 229]


def test_seeds_are_integers_reproducible_and_differ() -> None:
    first = KeyedRNG.from_seed(3).uniform(5)
    assert (first == KeyedRNG.from_seed(np.int64(3)).uniform(5)).all()
    for other in (4, 0, 2**80 + 3):
        assert not np.isin(KeyedRNG.from_seed(other).uniform(5), first).any()
    for seed in (None, 1.0, "1", True, np.float64(1), -1, np.int64(-1)):
        with pytest.raises(ValueError, match="random_state"):
            KeyedRNG.from_seed(seed)  # type: ignore[arg-type]


def test_threads_never_draw_the_same_words() -> None:
    def words_of(streams: list[KeyedRNG]) -> np.ndarray:
        drawn: list[np.ndarray] = []
        draw = lambda rng: drawn.extend(rng.words(2) for _ in range(300))  # noqa: E731
        workers = [threading.Thread(target=draw, args=(rng,)) for rng in streams]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return np.concatenate(drawn)

    shared = KeyedRNG.from_os_entropy()
    words = words_of([shared] * 4)
    assert len(np.unique(words)) == len(words)  # false alarm: 2400**2 / 2**65, below 1e-12
    copies = words_of([copy.copy(shared) for _ in range(4)])  # control: copies share a position
    assert len(np.unique(copies)) < len(copies)


def bits_are_fair(uniform: np.ndarray) -> bool:
    """Check the 53 bits of uniforms, four at a time, by the chi-square of 16 patterns."""
    words = (uniform * 2.0**53).astype(np.uint64)
    assert (words * 2.0**-53 == uniform).all()
    tables = [
        np.bincount((words >> np.uint64(s)).astype(np.int64) & 15, minlength=16)
        for s in [*range(0, 49, 4), 49]
    ]
    return all(stats.chisquare(table).pvalue > ALARM / len(tables) for table in tables)


def test_uniform_has_53_fair_bits_in_the_half_open_interval() -> None:
    for rng in SECRET_AND_SEEDED:
        uniform = rng.uniform(50_000)
        assert uniform.dtype == np.float64
        assert 0 <= uniform.min() < uniform.max() < 1
        assert bits_are_fair(uniform)
        assert not bits_are_fair(np.floor(uniform * 2**32) / 2**32)  # control: a 32-bit generator


def test_largest_and_smallest_uniform_give_finite_tails(monkeypatch: pytest.MonkeyPatch) -> None:
    for word, uniform, low, high in ((2**64 - 1, 1 - 2.0**-53, 8.2, 8.3), (0, 0.0, -8.3, -8.2)):
        monkeypatch.setattr(KeyedRNG, "words", lambda self, n, word=word: np.full(n, word, dtype=np.uint64))
        assert KeyedRNG.from_seed(0).uniform() == uniform
        assert low < KeyedRNG.from_seed(0).normal() < high


def test_integers_are_uniform() -> None:
    for rng, high in itertools.product(SECRET_AND_SEEDED, (1, 2, 10, 24, 255)):
        drawn = rng.integers(high, 100_000)
        assert drawn.dtype == np.int64
        counts = np.bincount(drawn, minlength=high)
        assert len(counts) == high
        if high > 1:
            assert stats.chisquare(counts).pvalue > ALARM
            # Control: the last value never drawn; certain, as its empty cell alone adds 100,000/high: too much.
            assert 100_000 / high > stats.chi2.isf(ALARM, high - 1)
            assert stats.chisquare(np.append(counts[:-2], [counts[-2] + counts[-1], 0])).pvalue < ALARM


def test_integers_have_no_modulo_bias() -> None:
    high = 3 * 2**61  # 2**64 is 2 2/3 of it: remainders below 2**62 have three words each, the others two

    def fair(drawn: np.ndarray) -> bool:
        low = int((drawn < 2**62).sum())
        return bool(stats.binomtest(low, len(drawn), 2 / 3).pvalue > ALARM)

    for rng in SECRET_AND_SEEDED:
        assert fair(rng.integers(high, 20_000))
        assert fair(rng.integers(np.full(20_000, high)))
        assert not fair(rng.words(20_000) % np.uint64(high))  # control: 3/4 instead of 2/3
    assert miss_rates.binomial(20_000, 2 / 3, 3 / 4, ALARM) < MISSED


def test_integers_with_a_bound_for_each() -> None:
    highs = np.array([1, 5, 2**63 - 1] * 1000)
    drawn = KeyedRNG.from_seed(2).integers(highs)
    assert ((drawn >= 0) & (drawn < highs)).all()
    assert np.bincount(drawn[1::3]).min() > 100
    assert KeyedRNG.from_seed(2).integers(np.array([3, 4]), (5, 2)).shape == (5, 2)


def test_shapes_and_scalars() -> None:
    rng = KeyedRNG.from_seed(9)
    assert [type(draw) for draw in (rng.uniform(), rng.integers(3), rng.normal())] == [float, int, float]
    for draw in (rng.uniform, rng.normal, lambda size: rng.integers(9, size)):
        assert [np.shape(draw(size)) for size in (3, (2, 0), (2, 3), ())] == [(3,), (2, 0), (2, 3), ()]
        assert np.shape(draw(0)) == rng.permutation(0).shape == (0,)


def test_permutations_are_uniform(monkeypatch: pytest.MonkeyPatch) -> None:
    def fair(orders: list[np.ndarray]) -> bool:
        counts = np.bincount([int(o @ [64, 16, 4, 1]) for o in orders], minlength=256)
        return bool(stats.chisquare(counts[counts > 0]).pvalue > ALARM) and np.count_nonzero(counts) == 24

    def swapped(order: np.ndarray, others: Iterable[int]) -> np.ndarray:
        for i, j in enumerate(others):
            order[[i, j]] = order[[j, i]]
        return order

    def swap_with_any(rng: KeyedRNG) -> np.ndarray:  # control: the well-known wrong shuffle
        return swapped(np.arange(4), rng.integers(4, 4))

    rng = KeyedRNG.from_seed(8)
    assert fair([rng.permutation(4) for _ in range(12_000)])
    assert not fair([swap_with_any(rng) for _ in range(12_000)])
    ways = Counter(tuple(swapped(np.arange(4), js)) for js in itertools.product(range(4), repeat=4))
    assert miss_rates.chi_square(12_000, np.ones(24), list(ways.values()), ALARM) < MISSED
    keys = iter([[7, 7, 1], [5, 9, 2]])  # where keys tie it draws again
    monkeypatch.setattr(KeyedRNG, "words", lambda self, n: np.array(next(keys), dtype=np.uint64))
    assert rng.permutation(3).tolist() == [2, 0, 1]


def test_continuous_draws_follow_their_distribution() -> None:
    zeros = KeyedRNG.from_seed(4).standard_gamma([[0, 1, 2.5], [0.0, 0.0, 1e4]]) == 0  # the shape is kept
    assert zeros.tolist() == [[True, False, False], [True, True, False]]
    for draw, exact in (
        (lambda c, n: c.normal(n), stats.norm()),
        (lambda c, n: c.standard_gamma(np.full(n, 0.3)), stats.gamma(0.3)),
        (lambda c, n: c.standard_gamma(np.full(n, 20)), stats.gamma(20)),
    ):
        drawn = draw(KeyedRNG.from_seed(4), 20_000)
        assert stats.kstest(drawn, exact.cdf).pvalue > ALARM
        assert stats.kstest(1.3 * drawn, exact.cdf).pvalue < ALARM  # control: too wide
        points = exact.ppf(np.linspace(0.01, 0.99, 99))
        chances = exact.cdf(points), exact.cdf(points / 1.3)
        assert miss_rates.kolmogorov_smirnov(20_000, *chances, ALARM) < MISSED


items = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4).map(tuple),
    max_leaves=6,
)


def typed(item: object) -> object:
    """Return a value that is equal exactly for contexts that must name the same stream."""
    return (type(item).__name__, tuple(map(typed, item)) if isinstance(item, tuple) else item)


@given(items, items)
def test_contexts_have_the_same_encoding_only_if_they_are_the_same(one: object, other: object) -> None:
    assert (_encode(one) == _encode(other)) == (typed(one) == typed(other))


AMBIGUOUS = [
    (("a", "bc"), ("ab", "c"), (("a", "bc"),), ("abc",), (b"abc",), ("a", ("bc",))),
    ((1,), (1.0,), (True,), ("1",), (b"1",), (b"\x01",), ((1,),), (1, None), (1, ())),
    ((-1,), (255,), (65535,), (-129,), (2**64,)),
]


def test_similar_names_are_different_streams_and_equal_names_are_one() -> None:
    parent = KeyedRNG.from_os_entropy()
    for contexts in AMBIGUOUS:
        assert len({parent.spawn(*context).bytes(16) for context in contexts}) == len(contexts)
        joined = {"".join(str(item) for item in context) for context in contexts[:4]}
        assert len(joined) < 4 or contexts is AMBIGUOUS[2]  # control: plain text would confuse them
    for one, other in ((0.0, -0.0), (3, np.int64(3)), (float("nan"), -float("nan"))):
        assert parent.spawn(one).bytes(32) == parent.spawn(other).bytes(32)
    assert parent.spawn().bytes(32) == parent.spawn().bytes(32)


def test_spawn_is_pure() -> None:
    parent, untouched = KeyedRNG.from_seed(6), KeyedRNG.from_seed(6)
    child = parent.spawn("child")
    before = child.uniform(10)
    assert (parent.uniform(3) == untouched.uniform(3)).all()
    assert (parent.spawn("child").uniform(10) == before).all()  # wherever parent and child stand
    assert len({KeyedRNG.from_os_entropy().spawn("child").bytes(16) for _ in range(2)}) == 2


def test_parent_and_children_are_independent() -> None:
    def independent(one: np.ndarray, other: np.ndarray) -> bool:
        table = np.bincount((one * 8).astype(int) * 8 + (other * 8).astype(int), minlength=64)
        return bool(stats.chisquare(table).pvalue > ALARM)

    n, parent = 20_000, KeyedRNG.from_seed(7)
    children = parent.spawn(), parent.spawn(0), parent.spawn(1), parent.spawn(0).spawn(0)
    streams = [rng.uniform(n) for rng in (parent, *children)]
    assert all(independent(a, b) for a, b in itertools.combinations(streams, 2))
    mixed = np.where(streams[1] < 0.1, streams[0], streams[1])  # control: a tenth in common
    assert not independent(streams[0], mixed)
    common = np.full((8, 8), 0.9 / 64) + np.eye(8) * 0.1 / 8
    assert miss_rates.chi_square(n, np.ones(64), common.ravel(), ALARM) < MISSED


def test_public_seeds_reach_no_secret_coin() -> None:
    def repeats(draw) -> bool:
        seen = []
        for _ in range(2):
            np.random.seed(73251)  # noqa: NPY002 (what SDV does)
            random.seed(73251)
            seen.append(draw())
        return bool(np.array_equal(*seen))

    assert not repeats(lambda: KeyedRNG.from_os_entropy().uniform(4))  # false alarm: 2**-212
    assert not repeats(lambda: KeyedRNG.from_os_entropy().spawn("a").permutation(100))
    assert repeats(lambda: np.random.random(4))  # noqa: NPY002 (control)
    assert repeats(random.random)


def test_coins_leave_public_generators_alone() -> None:
    before = np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002
    KeyedRNG.from_seed(1).spawn(2).standard_gamma(np.ones(10))
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before  # noqa: NPY002


def test_text_never_shows_the_key_and_secrecy_is_inherited() -> None:
    for rng in STREAMS:
        shown = f"{rng!r} {rng} {[rng]}"
        assert not any(key in shown for key in (rng._key.hex(), repr(rng._key), str(rng._key[:4])))
        assert ("secret" in shown) == rng.is_secret == rng.spawn("a").spawn(1).is_secret
        assert rng.is_secret == (rng is not STREAMS[1])  # which is of a public seed
        with pytest.raises(AttributeError):
            rng.is_secret = True  # type: ignore[misc]


def test_copies_continue_where_the_original_is() -> None:
    by_pickle = lambda rng: pickle.loads(pickle.dumps(rng))  # noqa: E731
    for rng, duplicate in itertools.product(STREAMS, (copy.copy, copy.deepcopy, by_pickle)):
        rng.uniform(3)
        twin = duplicate(rng)
        assert twin.is_secret == rng.is_secret
        assert (twin.spawn("b").uniform(5) == rng.spawn("b").uniform(5)).all()
        first = twin.uniform(5)
        assert (first == rng.uniform(5)).all()
        assert not np.isin(twin.uniform(5), first).any()


FORK = """
import os, pickle
from sdv_plausible.privacy.noise.mechanisms import discrete_laplace
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
root, seeded = KeyedRNG.from_os_entropy(), KeyedRNG.from_seed(1)
child = root.spawn("child")

def attempt(rng):
    try:
        return rng.uniform(2).tolist()
    except RuntimeError as error:
        assert "spawn" in str(error)
        return "refused"

def report():
    import copy
    named = [root.spawn("worker", 1), pickle.loads(pickle.dumps(child))]
    noise = discrete_laplace([0] * 40, sensitivity=1, epsilon=0.01, rng=root).tolist()
    unnamed = [root, child, copy.copy(child), pickle.loads(pickle.dumps(root)), seeded]
    return [attempt(c) for c in unnamed + named] + [noise]

read, write = os.pipe()
if os.fork() == 0:
    os.write(write, repr(report()).encode())
    os._exit(0)
os.wait()
print([report(), eval(os.read(read, 100000))])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on this platform")
def test_a_fork_shares_no_stream_by_accident() -> None:
    parent, worker = eval(in_new_process(FORK))
    assert worker[:4] == ["refused"] * 4  # root, child, and copies of both that no pickle of the child made
    assert "refused" not in parent
    assert worker[4] == parent[4]  # control: an unguarded stream does draw the same numbers in both
    assert worker[5:7] == parent[5:7]  # streams by name repeat
    assert worker[7] != parent[7]  # noise is fresh; false alarm below 1e-90


def test_a_pickle_in_another_process_repeats_names_and_refuses_the_root() -> None:
    root = KeyedRNG.from_os_entropy()
    named = root.spawn("rows", 3)
    named.uniform(5)
    script = """
import pickle
root, named = map(pickle.loads, given)
try:
    root.uniform()
except RuntimeError:
    print([named.uniform(3).tolist(), root.spawn("rows", 4).uniform(3).tolist()])
"""
    there = in_new_process(script, pickle.dumps(root), pickle.dumps(named))
    assert there == str([named.uniform(3).tolist(), root.spawn("rows", 4).uniform(3).tolist()])


def test_bad_arguments_are_named() -> None:
    bad: dict[str, list[Any]] = {
        "integers": [(0,), ([3, -1],), (2.0,), (2**63,), ([1, 2], 3)],
        "uniform": [(-1,), ((2, 2.0),)],
        "permutation": [(-1,)],
        "bytes": [(1.5,)],
        "standard_gamma": [([1.0, -0.1],), ([np.nan],), (["1"],)],
        "spawn": [([1],), ({"a": 1},), (np.array([1]),), (object(),), (np.bool_(True),), (1j,), ((1, [2]),)],
    }
    for name, arguments in ((name, arguments) for name, calls in bad.items() for arguments in calls):
        with pytest.raises((ValueError, TypeError), match=r"^(high|size|n|shape|context item)\b"):
            getattr(KeyedRNG.from_seed(0), name)(*arguments)
