"""Candidates: all of them, or so many by lot, and never by a look at rows."""

import itertools
import math

import numpy as np

from sdv_plausible.extensions.models.datasynthesizer import greedy_bayes as module
from sdv_plausible.extensions.models.datasynthesizer.greedy_bayes import AttributeLevels, candidates
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.table.columns.domain import Attribute, Domain

COINS = KeyedRNG.from_seed(3)


def test_of_many_so_many_are_drawn_each_once_and_all_can_be(monkeypatch):
    visited, rest = list(range(6)), [6, 7, 8]
    for listed in (0, 20_000):
        monkeypatch.setattr(module, "LISTED", listed)
        every = {(c, tuple(sorted(p))) for c, p in candidates(visited, rest, 3, 10**6, COINS)}
        seen = set()
        for i in range(60):
            drawn = candidates(visited, rest, 3, 20, COINS.spawn(i))
            assert len(set(drawn)) == len(drawn) == 20
            seen |= set(drawn)
        assert seen == every
    found = candidates([4, 1, 2], [0, 3], 2, 100, COINS)
    sets = [(4,), (1,), (2,), *itertools.combinations((4, 1, 2), 2)]
    assert sorted(found) == sorted((child, parents) for child in (0, 3) for parents in sets)


def test_the_finest_level_that_fits():
    ends = tuple(range(40))
    domain = Domain(tuple(Attribute(name=n, kind="integer", lower=ends, upper=ends) for n in "abc"))
    margins = [np.full(40, 1 / 40)] * 3
    levels = AttributeLevels.make(domain, margins, 130)
    child, parents = levels.finest(0, (1, 2))
    assert math.prod(axis.size for axis in (child, *parents)) == 125
    assert levels.finest(0, (1,))[0].size == 10
    assert AttributeLevels.make(domain, margins, 7).finest(0, (1, 2)) is None
