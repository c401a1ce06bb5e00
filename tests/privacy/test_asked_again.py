"""What is asked depends on the rows through earlier answers alone: axes, estimates, shares, runs, thresholds.

The sensitivity of a question holds for parameters that do not come from the rows. So the answers of one fit are given again
while another table is fitted -- other values, another number of rows -- and everything that is asked must be the same, question
by question, to the last bit. Nothing is drawn: there is no false alarm, and planted faults are caught surely.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import spies
from cases import fast_and_nightly
from comparing import check_same
from doors import fit_codes
from test_asked_sensitivities import CARDS, DOMAIN, LEARNERS, RELEASES, settings
from voting import held_vote

from sdv_plausible.extensions.models.paper import paper_network as paper_learner
from sdv_plausible.models.adaptive.higher_marginals import HigherMarginals
from sdv_plausible.models.adaptive.public_prior import PublicCodes
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.queries.queryable import Queryable
from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.declared.declarations import read_declarations
from sdv_plausible.table.learned.private_columns import learn_attributes
from sdv_plausible.table.learned.private_domain import LearningBudget
from sdv_plausible.table.learned.raw_queries import FrameColumns

RNG = np.random.default_rng(0)
FIRST = np.array([(i % 3, (i % 3 == 1) ^ (i % 11 == 0), i % 4) for i in range(900)], dtype=np.int32)
OTHER = np.stack([RNG.integers(0, c, 70) for c in CARDS], axis=1).astype(np.int32)
OTHER[:, 0] = 2


def fits(codes: np.ndarray, learner: str, **changed: Any) -> None:
    ledger = PrivacyLedger(delta=1e-6)
    fit_codes(codes, DOMAIN, settings(**changed), LEARNERS[learner], ledger, KeyedRNG.from_seed(5))


SDTYPES = {
    "city": "categorical",
    "flag": "boolean",
    "amount": "numerical",
    "when": "datetime",
    "fee": "numerical",
}
SPECS = {name: {"sdtype": sdtype} for name, sdtype in SDTYPES.items()}
DECLARED = {"fee": {"range_min": 0, "range_max": 900, "decimal_places": 0}}  # its bins are learned
TABLES = [
    pd.DataFrame(
        {
            "city": rng.choice(cities, n), "flag": rng.random(n) < 0.4, "amount": np.where(rng.random(n) < 0.3, 0.0, amounts(rng, n)),
            "when": pd.Timestamp(start) + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "fee": amounts(rng, n) // 1 % 1000,
        }
    )
    for rng, n, cities, amounts, start in (
        (np.random.default_rng(1), 3000, ["Bern", "Basel"], lambda r, n: np.round(r.gamma(3, 50, n), 2), "2021-01-01"),
        (np.random.default_rng(2), 40, ["Chur", "Genf", "Aarau"], lambda r, n: r.integers(10**6, 10**9, n), "1990-01-01"),
    )
]  # fmt: skip


def learns(table: pd.DataFrame, epsilon: float) -> None:
    plan = read_declarations(DECLARED, "private", 12, SPECS).plan_private(
        SPECS, LearningBudget.of(epsilon, 1e-6)
    )
    door = Queryable(FrameColumns(table), PrivacyLedger(delta=1e-6), plan.entries(), KeyedRNG.from_seed(5))
    learn_attributes(door, plan, {}, {}, 12)


def votes(texts: list[str], epsilon: float) -> None:
    frame = pd.DataFrame({"x": texts, "y": texts[::-1]}, dtype=object)
    held_vote(frame, epsilon, 1e-6, KeyedRNG.from_seed(5))


def check(run: Callable[[Any], None], first: Any, other: Any) -> list[str]:
    """Ask about one table, then about another with the same answers; return the kinds of what was asked."""
    with spies.watched() as seen:
        run(first)
    with spies.watched([asked.answer for asked in seen]) as again:
        run(other)
    for one, two in zip(seen, again, strict=False):
        assert one.kind == two.kind, f"{two.kind} is asked in the place of {one.kind}"
        check_same(one.parameters, two.parameters, f"what {one.kind} asks depends on the rows")
    assert len(seen) == len(again), "less is asked of other rows"
    return [asked.kind for asked in seen]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("epsilon", fast_and_nightly([1.0], [0.1, 20.0]))
def test_learners_ask_the_same_for_the_same_answers(learner, epsilon):
    kinds = check(lambda codes: fits(codes, learner, epsilon=epsilon), FIRST, OTHER)
    check(lambda codes: fits(codes, learner, epsilon=epsilon), OTHER, FIRST)
    assert ("L1Distances" in kinds) == (learner in ("adaptive", "public", "workload") and epsilon > 0.1)


NUMBERS = Domain(
    (
        Attribute(name="a", kind="categorical", values=("x", "y", "z")),
        Attribute(name="n", kind="integer", lower=tuple(range(60)), upper=tuple(range(60))),
    )
)


def numbers(n: int, seed: int) -> np.ndarray:
    """A number that depends on a category."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n)
    return np.stack([a, np.clip(rng.normal(15 + 12 * a, 5, n), 0, 59)], axis=1).astype(np.int32)


def test_a_published_table_makes_buckets_finer_for_the_same_answers():
    learner = replace(LEARNERS["adaptive"], public=PublicCodes(codes=numbers(1500, 2)))
    other = numbers(300, 3)
    other[:, 1] = 7

    def fits_numbers(codes: np.ndarray, public: bool = True) -> None:
        made, ledger = learner if public else LEARNERS["adaptive"], PrivacyLedger(delta=1e-6)
        fit_codes(codes, NUMBERS, settings(), made, ledger, KeyedRNG.from_seed(5))

    sizes = []
    for public in (False, True):
        with spies.watched() as seen:
            fits_numbers(numbers(2000, 1), public)
        sizes.append(max(asked.answer.values.size for asked in seen if asked.answer.values.ndim == 2))
    assert sizes[0] < sizes[1]
    check(fits_numbers, numbers(2000, 1), other)


def test_products_of_scores_are_asked_the_same_for_the_same_answers():
    """Pairs and scores are functions of the declaration and of noisy margins."""
    bins = tuple(range(20))
    domain = Domain(tuple(Attribute(name=n, kind="integer", lower=bins, upper=bins) for n in "abc"))
    rng = np.random.default_rng(1)
    one = np.clip(rng.normal(10, 4, (3000, 1)) + rng.normal(0, 1, (3000, 3)), 0, 19).astype(np.int32)

    def fits_ordered(codes: np.ndarray) -> None:
        ledger = PrivacyLedger(delta=1e-6)
        fit_codes(codes, domain, settings(), LEARNERS["adaptive"], ledger, KeyedRNG.from_seed(5))

    assert "ScoreProducts" in check(fits_ordered, one, np.full((40, 3), 7, dtype=np.int32))


@pytest.mark.parametrize("release", RELEASES)
def test_releases_ask_the_same_for_the_same_answers(release):
    check(lambda codes: fits(codes, "given arcs", **RELEASES[release]), FIRST, OTHER)


@pytest.mark.parametrize("epsilon", [0.5, 20.0])
def test_domains_are_learned_by_the_same_questions_for_the_same_answers(epsilon):
    kinds = check(lambda table: learns(table, epsilon), *TABLES)
    wanted = {
        "NumberOfRows",
        "FrequentValues",
        "MissingCount",
        "PrecisionQuery",
        "RunCounts",
        "RoundingCounts",
    }
    assert set(kinds) - {"PatternCounts"} == wanted | {"FrequentPoints"}


@pytest.mark.parametrize("texts", [["1", "2", "true"], ["Ann", "Bo", "2020-01-02"], ["true", "false", ""]])
def test_types_are_voted_for_by_the_same_questions_for_the_same_answers(texts):
    check(lambda cells: votes(cells, 3.0), texts * 200, ["", "7", "x", "03/04/2020"] * 30)
    check(lambda cells: votes(cells, 3.0), [f"{text}{i}" for i, text in enumerate(texts * 100)], texts * 200)


def true_tables_of_sets(patch: pytest.MonkeyPatch) -> None:
    """Scores of sets against tables that the rows, not the model, have."""
    honest = HigherMarginals._estimate

    def estimate(self: HigherMarginals, columns: tuple[int, ...]) -> np.ndarray:
        table = next(iter(self._rows._rows.tables([self._axes_of(columns)])))
        return table.sum(-1, keepdims=True) + honest(self, columns)

    patch.setattr(HigherMarginals, "_estimate", estimate)


def true_buckets(patch: pytest.MonkeyPatch) -> None:
    """Codes that rows hold, and codes that none holds, are put together."""
    honest = paper_learner.PaperNetwork.fit

    def fit(self: Any, rows: Queryable, domain: Any, *args: Any) -> Any:
        codes = rows._rows.records()

        def buckets(attribute: Any, margin: Any) -> np.ndarray:
            column = codes[:, domain.names.index(attribute.name)]
            return np.unique(np.bincount(column, minlength=attribute.cardinality) > 0, return_inverse=True)[1]

        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(paper_learner, "default_buckets", buckets)
            return honest(self, rows, domain, *args)

    patch.setattr(paper_learner.PaperNetwork, "fit", fit)


FAULTS: dict[Callable[[pytest.MonkeyPatch], None], Callable[[], Any]] = {
    true_tables_of_sets: lambda: check(lambda codes: fits(codes, "adaptive", epsilon=20.0), FIRST, OTHER),
    true_buckets: lambda: check(lambda codes: fits(codes, "cfs"), FIRST, OTHER),
}  # true numbers of rows and true margins: test_named_mutants.py


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_planted_faults_are_caught(fault, monkeypatch):
    FAULTS[fault]()
    fault(monkeypatch)
    with pytest.raises(AssertionError, match="depends on the rows|of other rows|in the place of"):
        FAULTS[fault]()
