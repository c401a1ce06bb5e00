"""Noise covers every declared cell: removing the only record of a cell changes nothing but noise.

A spy collects every noise call. Shapes and scales must be those of the declared tables for D and D' alike; in return a
table in which only the occupied cells get noise, the planted bug, shows which cells are occupied.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from doors import fit_codes

from sdv_plausible.models.adaptive.adaptive_network import AdaptiveNetwork
from sdv_plausible.models.paper.paper_network import PaperNetwork
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise import mechanisms as noise
from sdv_plausible.privacy.noise.coins import Coins
from sdv_plausible.questions import queryable
from sdv_plausible.table.columns.domain import Attribute, Domain
from tests.flat import settings_of

CARDS = (3, 2, 4, 5)
DOMAIN = Domain(
    tuple(Attribute(name=f"c{j}", kind="categorical", values=tuple(range(c))) for j, c in enumerate(CARDS))
)
CHAIN = {"c1": ["c0"], "c2": ["c1"], "c3": ["c2"]}
SETTINGS = settings_of(
    epsilon=1.0, delta=1e-6, k=10, gamma=2.0, epsilon0=1.0, omega="all", test="release", row_cap=10, seed_free_share=0.1
)  # fmt: skip
LEARNERS = {
    "independent": PaperNetwork(structure="independent"),
    "given arcs": PaperNetwork(structure=CHAIN),
    "cfs": PaperNetwork(structure="cfs"),
    "adaptive": AdaptiveNetwork(),
}


def tables() -> tuple[np.ndarray, np.ndarray]:
    """400 rows of which the first is the only one with values 3 and 4 in the last columns, and the same without it."""
    rng = np.random.default_rng(1)
    rows = np.stack([rng.integers(0, c, 400) % (c - 1 if j >= 2 else c) for j, c in enumerate(CARDS)], axis=1)
    rows[0] = [2, 1, 3, 4]
    return np.asfortranarray(rows.astype(np.int32)), np.asfortranarray(rows[1:].astype(np.int32))


def noise_calls(rows: np.ndarray, learner) -> list[noise.NoiseCall]:
    with noise.record_calls() as calls:
        fit_codes(
            rows, DOMAIN, SETTINGS, learner, PrivacyLedger(delta=SETTINGS.delta), Coins.from_os_entropy()
        )
    return calls


def declared_shapes(name: str, calls: list[noise.NoiseCall]) -> list[tuple[int, ...]]:
    """Shapes that follow from the declared domain (and, for the adaptive learner, the number of rounds) alone."""
    margins, m = [(c,) for c in CARDS], len(CARDS)
    if name == "independent":
        return margins
    if name == "given arcs":
        return [*margins, (3,), *((a, b) for a, b in pairwise(CARDS))]
    if name == "cfs":
        return [
            *margins,
            (1,),
            (m * (m + 1),),
        ]  # then one table per column, whose parents were learned with noise
    return [(1,), *((c,) for c in CARDS)]  # then scores and chosen pairs, decided by what was released


def check(name: str) -> None:
    first, second = tables()
    calls = [noise_calls(rows, LEARNERS[name]) for rows in (first, second)]
    for found in calls:
        expected = declared_shapes(name, found)
        assert [c.shape for c in found[: len(expected)]] == expected
        assert {c.name for c in found} == {"discrete_gaussian"}
        if name in ("independent", "given arcs"):
            assert len(found) == len(expected)
        if name == "cfs":
            cells = [int(np.prod(c.shape)) for c in found[len(expected) :]]
            assert len(cells) == len(CARDS)
            assert all(size % card == 0 for size, card in zip(cells, CARDS, strict=True))
    if name in ("independent", "given arcs"):
        assert [(c.shape, c.scale) for c in calls[0]] == [(c.shape, c.scale) for c in calls[1]]


@pytest.mark.parametrize("name", LEARNERS)
def test_the_only_record_of_a_cell_changes_no_noise_call(name: str) -> None:
    check(name)


def only_observed(values, **how):
    """The planted bug: cells without a row stay as they are."""
    noisy = np.array(values)
    occupied = noisy > 0
    noisy[occupied] = TRUE_NOISE(noisy[occupied], **how)
    return noisy


TRUE_NOISE = noise.discrete_gaussian


@pytest.mark.parametrize("name", LEARNERS)
def test_noise_on_observed_cells_only_is_caught(name: str, monkeypatch) -> None:
    assert queryable.noise is noise
    monkeypatch.setattr(noise, "discrete_gaussian", only_observed)
    with pytest.raises(AssertionError):
        check(name)


def test_the_release_test_draws_noise_for_groups_that_are_large_enough_alone() -> None:
    """The one table that is not declared: prefix groups present. What its length tells is paid for by delta, and stays inside."""
    first, _ = tables()
    settings = settings_of(
        epsilon=1.0, delta=1e-6, k=10, gamma=2.0, epsilon0=1.0, omega=2, test="release", row_cap=10, seed_free_share=0.1
    )  # fmt: skip
    ledger = PrivacyLedger(delta=settings.delta)
    with noise.record_calls() as calls:
        released = fit_codes(first, DOMAIN, settings, LEARNERS["given arcs"], ledger, Coins.from_os_entropy())
    assert calls[-1].name == "discrete_laplace"
    assert calls[-1].scale == pytest.approx(1 / settings.test.epsilon0)
    (part,) = released.seeds.parts
    assert (part.sizes >= settings.test.k + settings.test.margin).all()
    assert "seeds" in {entry.name for entry in ledger.entries}
