"""Children as they are drawn: the law of a pair of siblings, and roles."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.extensions.multi_table import relationships as roles_module
from sdv_plausible.extensions.multi_table.related_sampling import ChildSampler
from sdv_plausible.extensions.multi_table.relationships import Relationship, Role, read_roles
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.models.conditional_table import ConditionalTable
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import Refused
from sdv_plausible.table.columns.domain import Attribute, Domain

LINK = Relationship(parent="home", child="person", primary_key="id", foreign_key="home_id", most=8)
VALUES = ("head", "spouse", "child")
FAMILIES, FALSE_ALARM = 20_000, 1e-9
# Symmetric laws of a pair of siblings, by the parent's value.
PAIRS = np.array(
    [[[0.1, 0.2, 0.1], [0.2, 0.0, 0.1], [0.1, 0.1, 0.1]], [[0.3, 0.0, 0.1], [0.0, 0.2, 0.0], [0.1, 0.0, 0.3]]]
)


def attribute(name: str, values: tuple[str, ...], *, nullable: bool = False) -> Attribute:
    return Attribute(name=name, kind="categorical", values=values, nullable=nullable)


def made(roles: tuple[Role, ...] = ()) -> ChildSampler:
    """A model that knows the laws: columns of the child, of its parent, of a sibling."""
    sibling = attribute("sibling.role", VALUES, nullable=True)
    domain = Domain((attribute("role", VALUES), attribute("home.p", ("u", "v")), sibling))
    alone = PAIRS.sum(axis=2)  # of a child that has no sibling
    given = np.concatenate([PAIRS / PAIRS.sum(axis=1, keepdims=True), alone[:, :, None]], axis=2)
    table = np.moveaxis(given, 1, 2).reshape(-1, 3)  # lines: parent, then sibling
    first = np.column_stack([alone, [0, 0]])  # nobody is missing who is beside
    network = BayesianNetwork([law(1, [[0.5, 0.5]]), law(2, first, 1), law(0, table, 1, 2)])
    return ChildSampler(model=network, domain=domain, parents=("p",), link=LINK, roles=roles)


def law(child: int, probabilities: Any, *parents: int) -> ConditionalTable:
    """A table given the parent's value, and the sibling's."""
    buckets = tuple(np.arange({1: 2, 2: 4}[j]) for j in parents)
    return ConditionalTable(
        child=child, parents=parents, buckets=buckets, probabilities=np.array(probabilities)
    )


def drawn(sizes: np.ndarray, roles: tuple[Role, ...] = (), seed: int = 1) -> tuple[pd.Series, np.ndarray]:
    """Children of families of these sizes, and the parents' values."""
    home = np.arange(len(sizes)) % 2
    parents = pd.DataFrame({"p": np.array(["u", "v"])[home]})
    return made(roles).children(parents, sizes, KeyedRNG.from_seed(seed))["role"], home


def farthest(found: pd.Series, home: np.ndarray) -> float:
    """How far the counts of pairs in families of two are from their law, in multiples of what chance allows."""
    codes = found.map(dict(zip(VALUES, range(3), strict=True))).to_numpy(dtype=int).reshape(-1, 2)
    most = 0.0
    for parent, law in enumerate(PAIRS):
        pairs = codes[home == parent]
        counts = np.bincount(pairs[:, 0] * 3 + pairs[:, 1], minlength=9).reshape(3, 3)
        # Hoeffding's inequality for each of 18 cells
        allowed = math.sqrt(len(pairs) / 2 * math.log(2 * 18 / FALSE_ALARM))
        most = max(most, float(np.abs(counts - len(pairs) * law).max()) / allowed)
    return most


def test_two_children_have_the_law_of_a_pair_of_siblings():
    """A false alarm has a chance of 1e-9; one of the laws never leaves a value once it is there."""
    assert farthest(*drawn(np.full(FAMILIES, 2))) < 1


def test_a_child_alone_has_the_law_of_a_child_without_a_sibling():
    """The same bound for each of six shares. Children of a pair have other laws, given the other one."""
    found, home = drawn(np.ones(FAMILIES, dtype=int))
    for parent, law in enumerate(PAIRS.sum(axis=2)):
        shares = [(found[home == parent] == value).mean() for value in VALUES]
        allowed = math.sqrt(math.log(2 * 6 / FALSE_ALARM) / FAMILIES)  # of half as many families
        assert np.abs(np.array(shares) - law).max() < allowed
        given = PAIRS[parent] / PAIRS[parent].sum(axis=0)
        assert np.abs(given - law[:, None]).max(axis=0).min() > 1.9 * allowed


def test_planted_children_that_do_not_know_whose_they_are_are_seen(monkeypatch):
    """Neither a sibling, then no parent."""
    encoded = ChildSampler._encoded
    for name, fault in (
        ("_draw_given", ChildSampler._draw_first),
        ("_encoded", lambda *a: {j: np.zeros_like(codes) for j, codes in encoded(*a).items()}),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(ChildSampler, name, fault)
            assert farthest(*drawn(np.full(FAMILIES, 2))) > 1


def test_every_family_has_as_many_children_as_it_should():
    sizes = np.arange(60) % 7
    found, _ = drawn(sizes)
    assert len(found) == sizes.sum()
    assert drawn(np.zeros(5, dtype=int))[0].empty
    assert drawn(np.zeros(0, dtype=int))[0].empty


ROLES = (Role(column="role", code=0, often="exactly one"), Role(column="role", code=1, often="at most one"))


def held(roles: tuple[Role, ...], sizes: np.ndarray) -> np.ndarray:
    """How many heads and spouses each family has."""
    found, _ = drawn(sizes, roles)
    whose = np.repeat(np.arange(len(sizes)), sizes)
    return np.column_stack([np.bincount(whose, found == value, len(sizes)) for value in ("head", "spouse")])


@pytest.mark.parametrize("attempts", [roles_module.ATTEMPTS, 0])
def test_roles_hold_in_every_family_whatever_the_model_says(attempts, monkeypatch):
    monkeypatch.setattr(roles_module, "ATTEMPTS", attempts)
    sizes = np.arange(2_000) % 7
    found = held(ROLES, sizes)
    assert (found[:, 0] == (sizes > 0)).all()
    assert (found[:, 1] <= 1).all()
    plain = held((), sizes)
    assert (plain[:, 0] > 1).any()  # the control: without roles they do not hold
    assert (plain[:, 1] > 1).any()


ONE_SPOUSE = np.array([[1e-12, 0, 0], [0, 0, 1 / 3], [0, 1 / 3, 1 / 3]])[None].repeat(2, axis=0)


def spouses_of_four(monkeypatch) -> float:
    """Share of families of four with a spouse, by the law of a pair of a spouse and two children in any order."""
    monkeypatch.setitem(globals(), "PAIRS", ONE_SPOUSE)
    return float(held(ROLES, np.full(500, 4))[:, 1].mean())


def test_as_many_families_have_a_role_as_if_nobody_gave_way(monkeypatch):
    """Whoever is drawn last is the spouse, if nobody is yet: surely, whatever was drawn before.

    Planted: roles that do not look at who came before. The chance that every one of 500 families has a spouse by
    chance, 5 of 6 each, is below 1e-39.
    """
    assert spouses_of_four(monkeypatch) == 1
    available_roles = ChildSampler._available_roles

    def blind(*given):
        roles = available_roles(*given)
        return roles and replace(roles, unseen=0 * roles.unseen)

    monkeypatch.setattr(ChildSampler, "_available_roles", blind)
    assert spouses_of_four(monkeypatch) < 1


def standing(ages: list[str | None]) -> list[str]:
    """Ages of the heads of families of 0, 1, 2, ... children, whose parents' lines say these."""
    own, beside = (attribute("role", VALUES), attribute("age", ("young", "old"))), ("young", "old")
    siblings = (
        attribute("sibling.role", VALUES, nullable=True),
        attribute("sibling.age", beside, nullable=True),
    )
    domain = Domain((*own, attribute(f"home.{FIRST}", beside, nullable=True), *siblings))
    alike = {j: np.full((1, n), 1 / n) for j, n in enumerate(domain.cardinalities)}
    for j, n in ((3, 4), (4, 3)):  # nobody is missing who is beside
        alike[j] = np.array([[*[1 / (n - 1)] * (n - 1), 0]])
    network = BayesianNetwork([law(j, alike[j]) for j in (2, 3, 4, 0, 1)])
    drawing = ChildSampler(model=network, domain=domain, parents=(FIRST,), link=LINK, roles=ROLES)
    sizes = np.arange(len(ages))
    found = drawing.children(pd.DataFrame({FIRST: ages}), sizes, KeyedRNG.from_seed(1))
    assert len(found) == sizes.sum()
    starts = (np.cumsum(sizes) - sizes)[sizes > 0]
    assert (found["role"].iloc[starts] == "head").all()
    assert (found["role"] == "head").sum() == len(starts)
    return found["age"].iloc[starts].tolist()


FIRST = LINK.of_first("age")
AGES: list[str | None] = [None, *["young", "old", "old", "young"] * 5]


def test_whoever_stands_in_the_parents_line_comes_first(monkeypatch):
    """Planted: the heads of other families."""
    assert standing(AGES) == AGES[1:]
    firsts = ChildSampler._firsts
    monkeypatch.setattr(ChildSampler, "_firsts", lambda *given: np.roll(firsts(*given), 1, axis=0))
    assert standing(AGES) != AGES[1:]


def test_a_family_with_children_and_nobody_in_the_line_has_a_head_all_the_same():
    """Each of 20 is young or old by a coin: all alike with a chance of 2e-6, from a fixed seed."""
    assert {*standing([None] * 21)} == {"young", "old"}


KNOWN = {"role": attribute("role", VALUES), "name": None}
REFUSED: list[tuple[Any, str]] = [
    ([], "must be a mapping of columns"), ({"role": "head"}, "must be a mapping of columns"),
    ({"rule": {}}, "a modelled column of the children's table"), ({"name": {"x": "at most one"}}, "must be declared"),
    ({"role": {"head": "one"}}, "exactly one"), ({"role": {"aunt": "at most one"}}, "no such value"),
    ({"role": dict.fromkeys(VALUES, "at most one")}, "must be left"),
    ({"role": {"head": "exactly one", "spouse": "exactly one"}}, "one value alone"),
]  # fmt: skip


def test_roles_are_read_with_the_codes_of_their_values_and_refused_where_they_cannot_be():
    assert read_roles({"role": {"head": "exactly one", "spouse": "at most one"}}, KNOWN) == ROLES
    assert read_roles({}, KNOWN) == ()
    for roles, words in REFUSED:
        with pytest.raises((Refused, ValueError), match=words):
            read_roles(roles, KNOWN)


def test_models_of_another_order_or_fit_are_refused():
    good = made()
    home, sibling, own = good.model.tables
    ages = Domain((*good.domain.attributes, attribute("age", ("young", "old"))))
    more = BayesianNetwork([home, sibling, own, law(3, np.full((1, 2), 1 / 2))])
    with pytest.raises(ValueError, match="is not in the parents' lines"):
        ChildSampler(model=more, domain=ages, parents=("p",), link=LINK, roles=ROLES)
    alone = law(0, np.full((1, 3), 1 / 3))
    with pytest.raises(ValueError, match="after those of parent and sibling"):
        ChildSampler(
            model=BayesianNetwork([alone, home, sibling]), domain=good.domain, parents=("p",), link=LINK
        )
    with pytest.raises(ValueError, match="must be of one fit"):
        ChildSampler(model=good.model, domain=good.domain, parents=("q",), link=LINK)


def test_roles_where_no_family_has_that_many_children():
    for size, often in itertools.product((0, 1, 2), ("at most one", "exactly one")):
        roles = (Role(column="role", code=0, often=often),)
        assert len(drawn(np.full(3, size), roles)[0]) == 3 * size
        assert len(drawn(np.zeros(0, dtype=int), roles)[0]) == 0
