"""A count of the rows before all else: who is counted, what stops, what it costs, and that nothing else changes."""

from __future__ import annotations

import json
import math
import pickle
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
from replaying import recorded
from sdv.metadata import Metadata

from sdv_plausible import (
    Budget,
    Files,
    Person,
    PlausibleDeniabilitySynthesizer,
    Release,
    fit_source,
    metadata_of,
    verify,
)
from sdv_plausible.cli.main import main
from sdv_plausible.fitting import row_count_check
from sdv_plausible.fitting.domain_learning import learned_file
from sdv_plausible.fitting.fit import draw_all
from sdv_plausible.fitting.row_count_check import (
    COUNT_SHARE,
    ROWS_AT_FIRST,
    RowCountQuery,
    TooFewRowsError,
    after_count,
    count_entry,
    has_enough_rows,
    lost_at,
    plan_warnings,
)
from sdv_plausible.mechanism.privacy_tests.privacy_settings import Settings
from sdv_plausible.privacy.accounting.losses import PureDP
from sdv_plausible.privacy.accounting.privacy_filters import RhoFilter, SumFilter, pure_mu
from sdv_plausible.privacy.entries import first_row_count as count_of
from sdv_plausible.privacy.ledger import BudgetExceededError
from sdv_plausible.privacy.ledger_record import CONDITION
from sdv_plausible.privacy.neighbours import Neighbours
from sdv_plausible.privacy.noise import mechanisms
from sdv_plausible.rules.rule_set import RuleSet
from sdv_plausible.sources.source import LocalSource
from sdv_plausible.sources.source_columns import RowCountTask, SourceColumns
from sdv_plausible.table.declared.domain_file import DomainFile
from sdv_plausible.table.learned.private_domain import DomainPlan, LearningBudget

pytestmark = [pytest.mark.counts, pytest.mark.filterwarnings("ignore")]

COLUMNS = {f"c{i}": {"sdtype": "categorical" if i % 2 else "numerical"} for i in range(10)}
MANY, FEW = (
    6000,
    300,
)  # rows: in less than one of 10^7 fits the first stops, and in one of 10^3 the second goes on


def table(rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            name: rng.choice(list("abcdefg"), rows)
            if words["sdtype"] == "categorical"
            else rng.integers(0, 90, rows)
            for name, words in COLUMNS.items()
        }
    )


def synthesizer(**given) -> PlausibleDeniabilitySynthesizer:
    return PlausibleDeniabilitySynthesizer(metadata_of(COLUMNS), **{"types": "declared", **given})


def declared() -> dict[str, dict]:
    return {
        name: {**words, "range_values": list("abcdefg")}
        if words["sdtype"] == "categorical"
        else {**words, "range_min": 0, "range_max": 89}
        for name, words in COLUMNS.items()
    }


def test_too_few_rows_stop_a_fit_and_only_the_count_is_spent(tmp_path):
    budget = Budget(2.0, 1e-8, tmp_path / "rows.budget")
    synth = synthesizer(budget=budget)
    with pytest.raises(TooFewRowsError) as error:
        synth.fit(table(FEW))
    assert budget.charged() == {"epsilon": 0.005, "delta": 0.0}
    found = error.value
    assert isinstance(found, ValueError)
    assert found.epsilon == 0.005
    assert {*found.rows_needed} == {*COLUMNS}
    assert {*found.declarations} == {*COLUMNS}
    assert found.declarations["c0"] == '"c0": {"sdtype": "numerical", "range_min": ..., "range_max": ...}'
    assert found.declarations["c1"] == '"c1": {"sdtype": "categorical", "range_values": [...]}'
    for said in (
        f"about {found.rows:,} rows",
        "Only the row count was charged (epsilon 0.005)",
        "anyway=True",
        "declare",
    ):
        assert said in str(found)
    assert str(FEW) not in str(found).replace(f"{found.rows:,}", "")  # the noisy count alone
    assert pickle.loads(pickle.dumps(found)).rows == found.rows


def test_a_stopped_fit_leaves_an_earlier_one(tmp_path):
    synth = synthesizer()
    synth.fit(table(MANY))
    before = synth.privacy_ledger().to_json(), synth.release(allow_no_claim=True).to_bytes()
    with pytest.raises(TooFewRowsError):
        synth.fit(table(FEW))
    assert (synth.privacy_ledger().to_json(), synth.release(allow_no_claim=True).to_bytes()) == before


def test_what_goes_on_has_paid_for_the_count_and_stays_within_epsilon():
    synth = synthesizer()
    planned = synth.plan().ledger
    synth.fit(table(MANY))
    ledger = synth.privacy_ledger()
    first = ledger.entries[0]
    assert first.name == "count"
    assert first.losses == (PureDP(epsilon=COUNT_SHARE),)
    assert ledger.total() == pytest.approx(planned.total(), rel=1e-9)
    rest = [loss for entry in ledger.entries[1:] for loss in entry.losses]
    cost = SumFilter(2.0, 1e-8).cost(rest, 1e-9)
    assert Fraction(repr(cost["epsilon"])) + Fraction(repr(COUNT_SHARE)) <= 1  # by plain addition
    assert ledger.total() >= 0.99


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.7, 1.0, 1.1, 3.3, 1e-7, 12.0, 700.3])
def test_both_epsilons_add_up_as_decimals(epsilon):
    s = Settings(epsilon=epsilon, delta=1e-9)
    (count,) = count_entry(s).losses
    left = after_count(s).epsilon
    assert Fraction(repr(left)) + Fraction(repr(count.epsilon)) <= Fraction(repr(epsilon))
    assert left + count.epsilon == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize("given", [{"anyway": True}, {"domain": declared()}, {"epsilon": math.inf}], ids=str)
def test_where_nothing_is_counted_nothing_changes(given, monkeypatch):
    """Small tables are fitted, and rows are those of a program that knows of no count."""
    found = []
    for knows in (True, False):
        if not knows:
            monkeypatch.setattr("sdv_plausible.fitting.row_count_check.is_counted", lambda *_: False)
        synth = synthesizer(random_state=1, **given)
        synth.fit(table(FEW))
        assert count_of(synth.privacy_ledger().entries) is None
        found.append(
            (
                synth.sample(50).to_csv(),
                synth.privacy_ledger().to_json(),
                synth.release(allow_no_claim=True).to_bytes(),
            )
        )
    assert found[0] == found[1]


def test_anyway_must_be_a_truth_value():
    for door in (synthesizer, partial(fit_source, table(5), domain=COLUMNS)):
        with pytest.raises(ValueError, match=r"^anyway \('yes'\) must be True or False"):
            door(anyway="yes")


# --- what decides -------------------------------------------------------------------------------


def test_it_stops_only_where_two_deviations_more_are_too_few():
    needed = {"a": 100, "b": 200, "c": 300}
    sd = math.sqrt(2)
    for rows, on in ((199.9, False), (200, True), (100, False), (99, False)):
        assert has_enough_rows(rows - 2 * sd * 10, 10.0, needed) is on
    assert lost_at(150, needed) == {"b": 200, "c": 300}
    assert has_enough_rows(-50.0, 1.0, {})  # where nothing can be lost


def frequency(rows: int, kinds: list[str], epsilon: float, *, draws: int = 4000) -> float:
    """How often a fit of so many rows stops."""
    rng = np.random.default_rng(5)
    s = Settings(epsilon=epsilon, delta=1e-9)
    plan = DomainPlan.make(
        {f"c{i}": kind for i, kind in enumerate(kinds)}, LearningBudget.of(after_count(s).epsilon, 1e-9)
    )
    scale = 1 / row_count_check.count_epsilon(epsilon)
    p = 1 - math.exp(-1 / scale)
    noise = rng.geometric(p, draws) - rng.geometric(p, draws)
    needed = plan.rows_needed
    return float(np.mean([not has_enough_rows(rows + z, scale, needed) for z in noise]))


def test_a_table_that_is_mostly_lost_stops_and_one_that_is_mostly_right_does_not():
    """Shares of columns that came out right: benchmarks/README.md, "Small tables"; 4,000 draws, seeded."""
    ten, eight, thirty = (["numerical", "categorical"] * n for n in (5, 4, 15))
    for kinds in (ten, ["numerical"] * 10, ["categorical"] * 10):
        assert frequency(900, kinds, 1.0) > 0.97
    assert frequency(900, ten, 3.0) < 0.01
    for rows, kinds, epsilon in (
        (2300, eight, 1.0),
        (4000, eight, 1.0),
        (7000, thirty, 1.0),
        (1000, eight, 3.0),
        (2000, thirty, 3.0),
        (8000, eight, 0.3),
    ):
        assert frequency(rows, kinds, epsilon) < 0.05, (rows, len(kinds), epsilon)


def test_nothing_but_the_noisy_answer_decides():
    """A table of 300 rows goes on with the answers of one of 6,000, and shows what that one shows."""
    answers: list = []
    with recorded(answers, again=False):
        one = synthesizer()
        one.fit(table(MANY))
    with recorded(answers, again=True):
        two = synthesizer()
        two.fit(table(FEW, seed=1))
    assert one.privacy_ledger().to_json() == two.privacy_ledger().to_json()
    assert one.release().to_bytes() == two.release().to_bytes()
    few: list = []
    with recorded(few, again=False), pytest.raises(TooFewRowsError) as first:
        synthesizer().fit(table(FEW))
    with recorded(few, again=True), pytest.raises(TooFewRowsError) as second:
        synthesizer().fit(table(20_000, seed=2))
    assert str(first.value) == str(second.value)


def test_a_large_epsilon_spends_a_fiftieth_at_most():
    assert row_count_check.count_epsilon(4.0) == row_count_check.count_epsilon(40.0) == 0.02


def test_a_plan_says_what_a_fit_would_say():
    synth = synthesizer()
    words = synth.plan(table_rows=900).warnings[-1]
    with pytest.raises(TooFewRowsError) as error:
        synth.fit(table(FEW))
    said = str(error.value).split(". Nothing")[0]
    assert words.startswith(said.replace(f"{error.value.rows:,} rows", "900 rows", 1)[:200])
    assert not [one for one in synth.plan(table_rows=50_000).warnings if "noise would hide" in one]
    assert not [
        one for one in synthesizer(anyway=True).plan(table_rows=900).warnings if "noise would hide" in one
    ]
    some = plan_warnings(150, {"a": 100, "b": 120, "c": 300}, RuleSet())
    assert len(some) == 1
    assert "hide most of c, which" in some[0]


def test_a_range_that_is_declared_and_truth_values_need_no_count():
    plan = DomainPlan.make({"a": "numerical", "b": "boolean"}, LearningBudget.of(1.0, 1e-9))
    assert plan.open == ["a"]
    assert {*plan.rows_needed} == {"a"}
    words = {"a": {"sdtype": "numerical", "range_min": 0, "range_max": 10**6}, "b": {"sdtype": "boolean"}}
    synth = PlausibleDeniabilitySynthesizer(metadata_of(words), domain={"a": words["a"]}, types="declared")
    assert count_of(synth.plan().ledger.entries) is None


# --- units and doors ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "neighbours", [Neighbours(), Neighbours(replace=True), Neighbours(rows=4, person="p")], ids=str
)
def test_the_noise_is_that_of_the_unit(neighbours):
    question = RowCountQuery()
    assert question.l1(neighbours) == neighbours.rows == question.sensitivity(neighbours)
    words = count_entry(Settings(epsilon=1.0, delta=1e-9, neighbours=neighbours)).mechanism
    assert f"scale {neighbours.rows / COUNT_SHARE:.4g}" in words


def test_persons_rows_are_counted_as_they_are_used():
    """Of 3,000 people with two rows one each is used: the count is of 3,000 but for 25 scales, once in 10^10."""
    rows = table(6000).assign(who=[f"p{i // 2}" for i in range(6000)])
    metadata = metadata_of({**COLUMNS, "who": {"sdtype": "id"}})
    synth = PlausibleDeniabilitySynthesizer(metadata, types="declared", person=Person("who", 1))
    with mechanisms.record_calls() as calls:
        synth.fit(rows)
    assert calls[0].name == "discrete_laplace"
    assert calls[0].scale == pytest.approx(200)
    (first,) = (a for a in synth.release().answers if a.asked.kind == ROWS_AT_FIRST)
    assert abs(first.values[0] - 3000) < 25 * 200


def voted_release(tmp_path, **given) -> Release:
    table(MANY).to_csv(tmp_path / "rows.csv", index=False)
    return fit_source(tmp_path / "rows.csv", types="voted", **given)


def test_files_are_counted_in_a_pass_that_was_there(tmp_path, monkeypatch):
    """The number of rows is counted once for the count, the vote and the domain."""
    passes = []
    total = LocalSource.total
    monkeypatch.setattr(
        LocalSource,
        "total",
        lambda self, work, names: (passes.append(type(work).__name__), total(self, work, names))[1],
    )
    found = {}
    for case in ("anyway", "counted", "counted apart"):
        if case == "counted apart":  # planted: nobody keeps the number of rows
            monkeypatch.setattr(
                SourceColumns, "num_rows", lambda self: self._source.total(RowCountTask(), self._all[:1])
            )
        runs = []
        for _ in range(3):  # noise decides how often undecided columns are queried: the fewest passes count
            passes.clear()
            voted_release(tmp_path, anyway=case == "anyway")
            runs.append(len(passes))
        found[case] = min(runs)
    assert found["counted"] <= found["anyway"] < found["counted apart"], found


@pytest.mark.parametrize("door", ["voted", "files", "parts"])
def test_every_door_stops(door, tmp_path):
    table(FEW).to_csv(tmp_path / "rows.csv", index=False)
    fits = {
        "voted": lambda: fit_source(tmp_path / "rows.csv", types="voted"),
        "files": lambda: fit_source(tmp_path / "rows.csv", domain=COLUMNS),
        "parts": lambda: synthesizer().fit(Files(tmp_path / "rows.csv")),
    }
    with pytest.raises(TooFewRowsError) as error:
        fits[door]()
    if door == "voted":
        assert error.value.declarations["c0"] == '"c0": {"sdtype": ...}'


def test_the_command_line_stops_and_goes_on(tmp_path, capsys):
    file, output = tmp_path / "rows.csv", tmp_path / "rows.release"
    table(FEW).to_csv(file, index=False)
    assert main(["fit", str(file), "-o", str(output)]) == 2
    (line,) = (one for one in capsys.readouterr().err.splitlines() if "error" in one)
    assert "rows are too few" in line
    assert "--anyway" in line
    assert not output.exists()
    assert main(["fit", str(file), "-o", str(output), "--anyway"]) == 0
    assert count_of(Release.load(output).ledger.entries) is None
    domain = [str(tmp_path / name) for name in ("types.json", "learned.json")]
    DomainFile(columns=COLUMNS).save(domain[0])
    declare = ["declare", str(file), "--domain", domain[0], "-o", domain[1], "--private", "0.1"]
    assert main([*declare, "--anyway"]) == 0


def test_a_domain_that_is_learned_once_counts_too_and_the_next_fit_pays_for_it(tmp_path):
    budget = Budget(2.0, 1e-8, tmp_path / "rows.budget")
    file = DomainFile(columns=COLUMNS)
    wide = {f"w{i}": {"sdtype": "categorical"} for i in range(40)}  # which 300 rows pass once in 10^4 fits
    rows = pd.DataFrame(dict.fromkeys(wide, np.repeat("a", FEW)))
    with pytest.raises(TooFewRowsError):
        learned_file(rows, DomainFile(columns=wide), 0.5, 1e-9, budget=budget)
    assert budget.charged() == {"epsilon": 0.0025, "delta": 0.0}
    known = learned_file(table(MANY), file, 0.8, 1e-9, budget=budget)
    assert budget.charged()["epsilon"] <= 0.0025 + 0.8
    synth = PlausibleDeniabilitySynthesizer(metadata_of(COLUMNS), domain=known, types="declared", delta=1e-8)
    first = synth.plan().ledger.entries[0]
    assert (first.name, first.losses) == ("count", (PureDP(epsilon=0.004),))
    assert first.mechanism.startswith("learned earlier")
    assert count_of(synth.plan().ledger.entries) is None
    assert (
        learned_file(table(FEW), file, 0.5, 1e-9, anyway=True).learned["ledger"]["entries"][0]["name"]
        == "domain"
    )


def test_a_learned_domain_of_a_fit_costs_the_count_as_well():
    synth = synthesizer()
    synth.fit(table(MANY))
    next_ = synthesizer(domain=synth.get_domain(), delta=1e-8)
    names = [(e.name, e.mechanism[:15]) for e in next_.plan().ledger.entries if e.losses]
    assert names[:2] == [("count", "learned earlier"), ("domain", "learned earlier")]


# --- a budget -----------------------------------------------------------------------------------


def test_a_budget_has_two_charges_of_one_fit_and_never_more_than_was_asked(tmp_path):
    budget = Budget(1.0, 1e-8, tmp_path / "rows.budget")
    synth = synthesizer(epsilon=0.5, budget=budget)
    synth.fit(table(20_000))
    assert "1 fit charged" in str(budget)
    assert str(budget).count("table, epsilon 0.5") == 2
    assert budget.charged()["epsilon"] <= 0.5
    assert budget.charged()["delta"] == 1e-9
    assert synth.drawn == pytest.approx(budget.charged())
    synthesizer(epsilon=0.5, budget=budget).fit(table(20_000))  # as much again fits in
    assert budget.covers(synth.privacy_ledger())


def test_a_budget_that_does_not_hold_the_whole_is_not_charged_for_the_count(tmp_path):
    budget = Budget(1.0, 1e-8, tmp_path / "rows.budget")
    with pytest.raises(BudgetExceededError, match="Nothing was charged"):
        synthesizer(epsilon=1.1, budget=budget).fit(table(MANY))
    assert budget.charged() == {"epsilon": 0.0, "delta": 0.0}


@pytest.mark.parametrize("given", [{"random_state": 7}, {"test": "deterministic"}], ids=str)
def test_without_a_claim_no_row_is_counted_and_nothing_is_drawn(given, tmp_path):
    """The coins of a seed would show the exact number of rows, and so would the test's own refusal of few rows."""
    budget = Budget(1.0, 1e-8, tmp_path / "rows.budget")
    for rows in (30, FEW, MANY):
        with pytest.raises(ValueError, match="a fit without a privacy guarantee cannot draw from it"):
            synthesizer(budget=budget, **given).fit(table(rows))
    assert budget.charged() == {"epsilon": 0.0, "delta": 0.0}
    synth = synthesizer(**given)
    synth.fit(table(FEW))
    assert count_of(synth.privacy_ledger().entries) is None


def test_a_budget_checks_the_claim_of_the_whole_plan_before_it_draws_the_count(tmp_path):
    """The count alone is private: by itself it would be drawn."""
    budget = Budget(1.0, 1e-8, tmp_path / "rows.budget")
    count = (row_count_check.count_entry(Settings(epsilon=1.0, delta=1e-9)),)
    planned = synthesizer(test="deterministic").plan().ledger
    with pytest.raises(ValueError, match="a fit without a privacy guarantee cannot draw from it"):
        draw_all(planned, planned, budget, "a fit", count=count)
    assert budget.charged() == {"epsilon": 0.0, "delta": 0.0}


def test_no_rows_are_counted_beyond_an_epsilon_that_hides_hardly_a_column():
    """There the ledger's composition is loose: the total was above epsilon from 500 on."""
    counted = [count_of(synthesizer(epsilon=e).plan().ledger.entries) is not None for e in (100.0, 100.1)]
    assert counted == [True, False]


def test_a_stop_keeps_the_condition_on_types_that_nobody_vouched_for(tmp_path):
    for types, is_conditional in ((None, True), ("declared", False)):
        budget = Budget(1.0, 1e-8, tmp_path / f"{types}.budget")
        metadata = Metadata.load_from_dict({"tables": {"people": {"columns": COLUMNS}}})
        synth = PlausibleDeniabilitySynthesizer(metadata, types=types, budget=budget)
        with pytest.raises(TooFewRowsError):
            synth.fit(table(FEW))
        assert (CONDITION in budget.sentence()) is is_conditional


def test_a_second_charge_that_finds_no_room_says_what_was_charged(tmp_path):
    budget = Budget(1.0, 1e-8, tmp_path / "rows.budget")
    first = budget.draw(synthesizer(anyway=True, epsilon=0.5).plan().ledger)
    with pytest.raises(BudgetExceededError, match="Nothing but its row count was charged"):
        budget.draw(synthesizer(anyway=True, epsilon=0.9).plan().ledger, first.what, when=first.when)


def test_the_rho_filter_counts_the_count_as_the_gaussian_pair_that_dominates_it(tmp_path):
    budget = Budget(2.0, 1e-8, tmp_path / "rows.budget", filter="rho")
    with pytest.raises(TooFewRowsError):
        synthesizer(budget=budget).fit(table(FEW))
    assert budget.charged() == {"rho": pytest.approx(pure_mu(COUNT_SHARE) ** 2 / 2), "failure": 0.0}
    whole = RhoFilter(2.0, 1e-8).cost(synthesizer(anyway=True).plan().ledger.losses, 1e-9)
    planned = synthesizer().plan().ledger.losses
    assert RhoFilter(2.0, 1e-8).cost(planned, 1e-9)["rho"] <= whole["rho"]


def test_a_pure_loss_is_dominated_by_its_gaussian_pair():
    """At every epsilon randomised response has no larger delta; it is the pair's test at its middle."""
    from scipy.stats import norm

    from sdv_plausible.privacy.accounting.gaussian import gaussian_log_delta

    for pure in (1e-4, 0.005, 0.3, 2.0, 9.0):
        mu = pure_mu(pure)
        assert norm.cdf(mu / 2) == pytest.approx(1 / (1 + math.exp(-pure)), rel=1e-9)
        for at in np.linspace(0, pure, 9)[:-1]:
            delta = (math.exp(pure) - math.exp(at)) / (1 + math.exp(pure))
            assert math.exp(gaussian_log_delta(mu, at)) >= delta * (1 - 1e-9)
        if pure < 1:  # zero-concentrated privacy alone, epsilon^2/2, is too little
            assert math.exp(gaussian_log_delta(pure, 0.0)) < (math.exp(pure) - 1) / (1 + math.exp(pure))


# --- the proof, with numbers (docs/explanation/proofs/budget.md, Theorem 3) ---------------------------------


E1, E2, D2, SIZE = 0.3, 0.7, 0.01, 12  # of the count; of the rest


def worst(
    after_stop: tuple[float, float], *, exact: bool = False, total: tuple[float, float] = (E1 + E2, D2)
) -> float:
    """Excess over delta of all that is told where somebody spends ``after_stop`` on the same rows after a stop.

    The noisy count is of n and n + 1 rows, and stops below a bound; what follows is the pair that dominates
    an (epsilon, delta) loss. ``exact``: planted, the exact count decides, and nothing of it is told.
    """
    worst_yet = -math.inf
    for n, m in ((5, 6), (6, 5)):
        laws = []
        for rows in (n, m):
            first: dict[object, float] = {}
            if exact:
                first["stops" if rows < 6 else "goes on"] = 1.0
            else:
                z = np.arange(-400, 401)
                mass = np.exp(-E1 * np.abs(z)) * np.tanh(E1 / 2)
                for value, p in zip(rows + z, mass, strict=True):
                    first[int(value)] = first.get(int(value), 0.0) + float(p)
            law: dict[tuple[object, str], float] = {}
            for told, p in first.items():
                stops = told == "stops" if exact else told != "goes on" and told < SIZE
                epsilon, delta = after_stop if stops else (E2, D2)
                up = 1 / (1 + math.exp(-epsilon))
                mine = (
                    up if rows == n else 1 - up
                )  # randomised response, and with probability delta everything
                for said, share in (("yes", mine), ("no", 1 - mine)):
                    law[told, said] = p * (1 - delta) * share
                law[told, f"it is {rows}"] = p * delta
            laws.append(law)
        one, two = laws
        excess = sum(max(0.0, p - math.exp(total[0]) * two.get(at, 0.0)) for at, p in one.items())
        worst_yet = max(worst_yet, excess - total[1])
    return worst_yet


def test_a_stop_that_gives_the_rest_back_stays_within_the_total():
    assert worst((E2, D2)) <= 1e-12  # the rest, spent on another fit
    assert worst((0.0, 0.0)) <= 1e-12  # or not


def test_planted_a_refund_of_the_whole_and_a_stop_by_the_exact_count_are_seen():
    assert worst((E1 + E2, D2)) > 0.02  # as if the count were free
    assert worst((E2, D2), exact=True) > 0.5


# --- a release file ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def release(_few_rows_are_enough) -> Release:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_count_check, "is_counted", _few_rows_are_enough)
        synth = synthesizer()
        synth.fit(table(MANY))
    return synth.release()


def refusals(release: Release, tmp_path, change) -> set[str]:
    document = json.loads(release.to_bytes(readable=True))
    change(document)
    path = tmp_path / "changed.release"
    path.write_text(json.dumps(document))
    return {one.about for one in verify(path).refused}


def test_a_file_with_a_count_passes(release, tmp_path):
    release.save(tmp_path / "honest.release")
    assert verify(tmp_path / "honest.release").passed
    assert Release.load(tmp_path / "honest.release").to_bytes() == release.to_bytes()
    assert release.answers.number_of_rows() == pytest.approx(MANY, abs=600)  # by the later, better answers


def _answer(document) -> dict:
    return next(a for a in document["answers"]["asked"] if a["kind"] == ROWS_AT_FIRST)


def _without_answer(document) -> None:
    document["answers"]["asked"].remove(_answer(document))


def _without_entry(document) -> None:
    _without_answer(document)
    document["ledger"]["entries"].pop(0)


def _cheaper(document) -> None:
    document["ledger"]["entries"][0]["losses"][0]["epsilon"] = 0.004


def _cheaper_with_its_noise(document) -> None:
    _cheaper(document)
    _answer(document)["scale"] = 250.0


def _other_noise(document) -> None:
    _answer(document)["scale"] = 20.0


def _other_law(document) -> None:
    _answer(document)["noise"] = "discrete gaussian"


def _other_table(document) -> None:
    _answer(document)["values"] = {"dtype": "int32", "shape": [1], "values": [60_000]}


def _stopped(document) -> None:
    _answer(document)["values"] = {"dtype": "int16", "shape": [1], "values": [1500]}


def _of_other_rows(document) -> None:
    _answer(document)["rows"] = "seeds"


def _twice(document) -> None:
    document["answers"]["asked"].insert(0, _answer(document))


LIES = {
    "without answer": (_without_answer, "settings", "charges of the model"),
    "without entry": (_without_entry, None, "learned columns from their answers"),
    "cheaper": (_cheaper, "settings", "charges of the model"),
    "cheaper with its noise": (_cheaper_with_its_noise, "settings", "charges of the model"),
    "other noise": (_other_noise, "settings", "charges of the model"),
    "other law": (_other_law, "settings", "charges of the model"),
    "other table": (_other_table, "settings", None),
    "stopped": (_stopped, None, "learned columns from their answers"),
    "of other rows": (_of_other_rows, "settings", None),
    "twice": (_twice, "settings", "charges of the model"),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_lies_about_the_count_are_refused_by_either_reading(lie, release, tmp_path):
    change, second, program = LIES[lie]
    found = refusals(release, tmp_path, change)
    assert {one for one in (second, program) if one} <= found, found


def test_a_vote_after_a_count_is_verified(tmp_path):
    release = voted_release(tmp_path)
    release.save(tmp_path / "voted.release")
    assert not verify(tmp_path / "voted.release", allow_unchecked=True).refused
    assert [entry.name for entry in release.ledger.entries if entry.losses][:2] == ["count", "types"]


def test_a_release_with_a_count_is_sampled_and_fitted_anew(release):
    again = PlausibleDeniabilitySynthesizer.from_release(release)
    assert len(again.sample(10)) == 10
    assert again.anyway is False
    assert count_of(again.privacy_ledger().entries) is not None
