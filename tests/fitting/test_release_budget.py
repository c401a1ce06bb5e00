"""A budget over several releases: charged before the first row, kept, never overspent, one unit, one file."""

from __future__ import annotations

import contextlib
import math
import multiprocessing as mp
import pickle
import queue
import re
import threading
from dataclasses import replace
from fractions import Fraction

import guarded
import numpy as np
import pandas as pd
import pytest

from sdv_plausible import Budget, PlausibleDeniabilitySynthesizer, PrivacyLedger, Release, fit_source
from sdv_plausible.extensions.models.uniform import Uniform
from sdv_plausible.fitting import release_budget as budget_module
from sdv_plausible.fitting.fit import only_planned
from sdv_plausible.fitting.fit_rows import InMemoryRows
from sdv_plausible.fitting.release_budget import BudgetState
from sdv_plausible.models import learner_checks
from sdv_plausible.models.base import ModelBudget
from sdv_plausible.privacy.accounting.losses import ApproxDP, GaussianLoss, InfiniteLoss
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import BudgetExceededError
from sdv_plausible.privacy.neighbours import ONE_ROW, Neighbours
from sdv_plausible.sdv.metadata import metadata_from_columns
from tests.flat import values

DELTA = 1e-9


def ledger(epsilon, neighbours=ONE_ROW):
    """Plan of a fit at (epsilon, DELTA)."""
    made = PrivacyLedger(delta=DELTA, neighbours=neighbours)
    losses = (ApproxDP(epsilon=epsilon, delta=DELTA),)
    made.charge(LedgerEntry(name="all", mechanism="m", losses=losses, scope="s"))
    return made


@pytest.fixture
def path(tmp_path):
    return tmp_path / "table.budget"


def test_draws_add_up_and_nothing_is_overspent(path):
    budget = Budget(1.0, 2 * DELTA, path)
    assert budget.charged() == {"epsilon": 0.0, "delta": 0.0}
    assert "no row" in budget.sentence()
    budget.draw(ledger(0.6))
    before = path.read_bytes()
    with pytest.raises(BudgetExceededError, match=r"epsilon 0\.5 wanted, 0\.4 of 1 left.*Nothing was charged"):  # fmt: skip
        budget.draw(ledger(0.5))
    assert path.read_bytes() == before
    again = Budget(1.0, 2 * DELTA, str(path))
    again.draw(ledger(0.3), "the second")
    assert budget.charged() == {"epsilon": 0.9, "delta": 2e-9}
    with pytest.raises(BudgetExceededError, match="delta 1e-09 wanted, 0 of 2e-09 left"):
        budget.draw(ledger(0.1))
    assert "2 fits" in budget.sentence()
    assert "the second" in str(budget)
    assert re.fullmatch(r"[^\n]+\n\n  Charged so far: [^\n]+\n  20[^\n]+\n  20[^\n]+", str(budget))
    assert pickle.loads(pickle.dumps(budget)).charged() == budget.charged()  # it travels as its path
    whole = Budget(1.0, 1e-8, path.with_name("whole"))
    whole.draw(ledger(0.6))
    whole.draw(ledger(0.4))
    assert whole.left(DELTA) == 0.0


def test_a_charge_is_known_by_its_time_and_its_words_together(tmp_path):
    """Two of one second are told apart: else what one budget paid for would be free in another."""
    one, other = (Budget(1.0, 1e-8, tmp_path / name) for name in "ab")
    first, second = (one.draw(ledger(0.1), what) for what in ("the first", "the second"))
    elsewhere = other.draw(ledger(0.1), "the first")
    assert one.holds(first.when, "the first")
    assert one.holds(second.when, "the second")
    assert not one.holds(first.when, "another fit")
    assert not one.holds("2020-01-01T00:00:00.000000+00:00", "the first")
    assert elsewhere.when != first.when
    assert not one.holds(elsewhere.when, "the first")


def test_the_sentence_is_the_total_of_the_filter_and_not_what_is_charged_so_far(path):
    budget = Budget(1.0, 1e-8, path)
    budget.draw(ledger(0.1))
    assert budget.sentence().startswith(
        "An attacker who tries to tell from everything charged to this budget whether one row is in the data is "
        "right at most 73.2 % of the time (50 % is guessing). Total epsilon 1 at delta 1e-08, for the addition or removal of any one row. Adding"
    )
    assert "by at most a factor of 2.72" in budget.sentence()
    assert "\n" not in budget.sentence()
    assert "epsilon 0.1 of 1, delta 1e-09 of 1e-08" in repr(budget)


def test_bad_parameters_leave_no_file_and_other_totals_than_the_files_are_refused(path):
    for bad, words in (
        ({"epsilon": 0}, "epsilon .*must"),
        ({"delta": 2}, "delta .*must"),
        ({"filter": "least"}, "filter .*must"),
        ({"epsilon": Fraction(1, 2)}, r"epsilon \(Fraction\) must be a finite number above 0: "),
        ({"epsilon": pd.NA}, r"epsilon \(NAType\) must be a finite number above 0: "),
    ):
        with pytest.raises(ValueError, match=f"^{words}"):
            Budget(**{"epsilon": 1.0, "delta": 1e-8, "path": path, **bad})
    assert list(path.parent.iterdir()) == []
    Budget(1.0, 1e-8, path)
    for other in ({"epsilon": 0.9}, {"delta": 1e-7}, {"filter": "rho"}):
        with pytest.raises(ValueError, match=r"^epsilon .* must be those of .*: 1, 1e-08, 'sum'$"):  # fmt: skip
            Budget(**{"epsilon": 1.0, "delta": 1e-8, "path": path, **other})


def test_numbers_of_other_libraries_become_doubles(tmp_path):
    """In the file, too."""
    for number in (np.float32(0.5), np.float64(0.5), np.int64(2), 2**70):
        path = tmp_path / f"{type(number).__name__}"
        Budget(number, np.float32(1e-8), path)
        assert Budget(float(number), float(np.float32(1e-8)), path).left(1e-9) == float(number)


def test_a_link_to_the_file_is_the_same_budget_and_one_that_went_away_is_not_made_anew(path):
    budget = Budget(1.0, 1e-8, path)
    link = path.with_name("link")
    link.symlink_to(path)
    Budget(1.0, 1e-8, link).draw(ledger(0.7))
    assert budget.charged()["epsilon"] == 0.7
    assert link.is_symlink()
    assert Budget(1.0, 1e-8, link).path == budget.path  # one lock for both
    budget = Budget(1.0, 1e-8, path)
    path.unlink()
    with pytest.raises(ValueError, match=r"path .* is missing\. Restore it"):
        budget.draw(ledger(0.1))
    assert not path.exists()
    assert "is missing" in repr(budget)


BUDGETED = [
    *guarded.UNITS.values(), Neighbours(rows=4, person="ticket"), Neighbours(rows=1, person="ticket"),
    Neighbours(rows=3, person="home"), Neighbours(rows=3), Neighbours(rows=3, replace=True, person="ticket"),
]  # fmt: skip
ANOTHER = "^budget: this fit protects the .*, but earlier fits protect the"


def test_another_unit_is_refused(tmp_path):
    """Units that differ in one thing: the relation, the column, or the rows of each."""
    for i, unit in enumerate(BUDGETED):
        budget = Budget(1.0, 1e-8, tmp_path / str(i))
        budget.draw(ledger(0.1, unit))
        for other in BUDGETED:
            if other != unit:
                with pytest.raises(ValueError, match=ANOTHER):
                    budget.draw(ledger(0.1, other))
        budget.draw(ledger(0.2, unit))
        assert budget.charged()["epsilon"] == pytest.approx(0.3)


def test_another_unit_is_refused_however_many_fits_there_were(path):
    budget, unit, other = Budget(1.0, 1e-7, path), Neighbours(), Neighbours(rows=2, person="ticket")
    for fits in range(1, 8):
        budget.draw(ledger(0.01, unit))
        for again in (budget, Budget(1.0, 1e-7, path)):
            with pytest.raises(ValueError, match=ANOTHER):
                again.draw(ledger(0.01, other))
        assert len(BudgetState.read(path).fits) == fits
        assert BudgetState.read(path).neighbours == unit


def test_no_claim_is_refused_with_the_way_out(path):
    budget, none = Budget(1.0, 1e-8, path), PrivacyLedger(delta=DELTA)
    none.charge(LedgerEntry(name="x", mechanism="m", losses=(InfiniteLoss(),), scope="s", note="declare it"))
    with pytest.raises(ValueError, match="without a privacy guarantee.*declare it.*budget=None"):
        budget.draw(none)
    assert budget.charged()["epsilon"] == 0.0


def test_a_ledger_charges_nothing_that_was_not_drawn():
    planned, drawn = ledger(0.5), PrivacyLedger(delta=DELTA)
    drawn.before_charge = only_planned(planned)
    drawn.charge(*planned.entries)
    with pytest.raises(BudgetExceededError, match="more than its plan"):
        drawn.charge(*planned.entries)  # twice
    assert len(drawn.entries) == 1


def known_by(met):
    """A learner whose plan asks for noise where ``met`` holds of the domain, and for nothing elsewhere."""

    class Curious(Uniform):
        def plan(self, domain, budget):
            return [budget.entry("counts")] if met(domain) else Uniform.plan(self, domain, budget)

    return Curious()


def sizes(domain):
    return [a.cardinality for a in domain]


ASKED = {  # of learned columns, what nobody knows before they were learned
    "a kind": lambda d: any(a.kind == "integer" for a in d),
    "another kind": lambda d: any(a.kind != "categorical" for a in d),
    "whether it is ordered": lambda d: any(a.kind == "ordinal" for a in d),
    "moments": lambda d: any(a.kind == "datetime" for a in d),
    "decimals": lambda d: any(a.decimals is not None for a in d),
    "a format": lambda d: any(a.datetime_format is not None for a in d),
    "bounds": lambda d: any(a.lower for a in d),
    "many codes": lambda d: max(sizes(d)) > 70,
    "very many": lambda d: max(sizes(d)) > 500,
    "missing": lambda d: any(not a.nullable for a in d),
    "several kinds": lambda d: {"categorical", "integer"} <= {a.kind for a in d},
    "several sizes": lambda d: len({*sizes(d)}) > 1,
    "proportions": lambda d: max(sizes(d)) > 100 * min(sizes(d)),
    "a large first": lambda d: sizes(d)[0] > 100 * sizes(d)[-1],
    "a large last": lambda d: sizes(d)[-1] > 100 * sizes(d)[0],
}


@pytest.mark.parametrize("asked", ASKED)
def test_a_plan_by_what_is_learned_is_refused_before_the_draw(path, asked):
    """Whatever it asks; after the draw, what was learned would decide whether the fit is refused."""
    budget = Budget(20.0, 1e-7, path)
    with pytest.raises(ValueError, match=r"model \(Curious\) plans its cost from learned value sets"):
        synthesizer(budget, model=known_by(ASKED[asked]), domain=None).fit(table())
    assert budget.charged()["epsilon"] == 0


class TwoRounds(Uniform):
    """A second round where it is told to: half of mu^2 is left unspent otherwise, and less is charged."""

    def __init__(self, wants):
        self.wants = wants

    def plan(self, domain, budget):
        mu = budget.gaussian()
        losses = (GaussianLoss(sensitivity_over_sigma=mu / 2**0.5),)
        entry = LedgerEntry(name="model", mechanism="m", scope="the model", losses=losses)
        return [entry] * (2 if self.wants(domain, mu) else 1)


def test_a_learner_pays_once():
    """An entry that stands for others would count alone, and pay for all. Control: without the mark."""

    class Lines(Uniform):
        stands = True

        def plan(self, domain, budget):
            entry = budget.entry("counts")
            return [replace(entry, envelope=self.stands), entry]

    with pytest.raises(ValueError, match=r"^model \(Lines\).* is an envelope for other entries"):
        synthesizer(None, model=Lines()).plan()
    Lines.stands = False
    assert synthesizer(None, model=Lines()).plan().ledger.total() > 0.7


def test_a_plan_is_made_of_what_nobodys_answers_tell(path, monkeypatch):
    """Whatever a learner would plan for values that it was not tried with. Planted: it is asked with them."""
    wants = lambda d, _: not any("A" in a.values for a in d)  # noqa: E731  which no sample has
    totals = []
    for name in ("honest", "planted"):
        budget = Budget(20.0, 1e-7, path.with_name(name))
        synth = synthesizer(budget, model=TwoRounds(wants), domain=None)
        planned = synth.plan().ledger.total()
        if name == "planted":
            monkeypatch.setattr(learner_checks, "without_learned_values", lambda domain: domain)
        synth.fit(table())
        totals.append((planned, synth.privacy_ledger().total()))
    (planned, found), (_, other) = totals
    assert found == planned
    assert other < planned


def test_a_plan_by_values_is_refused_at_the_budget_that_is_left(path):
    """By values that an earlier fit learned: at the whole budget such a plan may be that of names alone."""
    first = synthesizer(None, domain=None)
    first.fit(table())
    learned = first.get_domain()
    assert {a.provenance for a in learned} == {"private"}
    cells, entries = sum(learned.cardinalities), first.privacy_ledger().entries
    paid = tuple(loss for e in entries if "domain" in e.parts and e.status == "charged" for loss in e.losses)
    mus = [ModelBudget(epsilon=0.6, delta=DELTA, spent=spent).gaussian() for spent in ((), paid)]
    assert mus[0] > mus[1]
    model = TwoRounds(lambda d, mu: mu * cells / sum(mus) * 2 >= sum(d.cardinalities))
    budget = Budget(20.0, 1e-7, path)
    with pytest.raises(ValueError, match=r"model \(TwoRounds\) plans its cost from learned value sets"):
        synthesizer(budget, model=model, domain=learned).fit(table())
    assert budget.charged()["epsilon"] == 0


@pytest.mark.parametrize("door", ["synthesizer", "source"])
@pytest.mark.parametrize("pays", [True, False], ids=["from a budget", "from none"])
def test_every_fit_charges_what_was_planned_and_no_more(path, door, pays):
    """Controls: the same learner with a declared domain, of which its plan knows all."""
    budget = Budget(20.0, 1e-7, path) if pays else None
    of_codes = known_by(lambda domain: min(domain.cardinalities) > 1)  # of which a plan knows one a column

    def fit(domain):
        if door == "source":
            return fit_source(table(), COLUMNS, domain, model=of_codes, budget=budget).ledger
        synth = synthesizer(budget, model=of_codes, domain=domain)
        synth.fit(table())
        return synth.privacy_ledger()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            learner_checks, "without_learned_values", lambda domain: domain
        )  # by which it is seen earlier
        with pytest.raises(BudgetExceededError, match=r"^this fit charges more than its plan.*declare the domain"):  # fmt: skip
            fit(None)
    before = budget and budget.charged()["epsilon"]
    with pytest.raises(ValueError, match=r"model \(Curious\) plans its cost from learned value sets"):
        fit(None)
    assert (budget and budget.charged()["epsilon"]) == before
    ledger = fit(DOMAIN)
    assert ledger.claims_privacy
    assert "before_charge" not in vars(ledger)


# --- two at once ----------------------------------------------------------------------------------------------


def draw_when_all_are_there(path, barrier, results):
    """In a process of its own, or in a thread."""
    budget = Budget(1.0, 1e-8, path)
    barrier.wait(60)
    try:
        budget.draw(ledger(0.6))
        results.put("drawn")
    except BudgetExceededError:
        results.put("refused")


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of threads, which a fork has none of
def test_of_two_processes_that_want_more_than_half_one_gets_it(path):
    started = mp.get_context("fork" if "fork" in mp.get_all_start_methods() else "spawn")
    given = (path, started.Barrier(2), started.Queue())
    processes = [started.Process(target=draw_when_all_are_there, args=given) for _ in range(2)]
    for process in processes:
        process.start()
    found = sorted(given[2].get(timeout=120) for _ in processes)
    for process in processes:
        process.join()
    assert found == ["drawn", "refused"]
    assert Budget(1.0, 1e-8, path).charged()["epsilon"] == 0.6


def race(path, monkeypatch, patience):
    """Two draws, each of which waits between reading and writing for the other to get as far."""
    both, write = threading.Barrier(2), BudgetState.write
    given = (path, threading.Barrier(2), queue.Queue())

    def late(state, place):
        with contextlib.suppress(threading.BrokenBarrierError):
            if state.fits:
                both.wait(patience)
        write(state, place)

    monkeypatch.setattr(BudgetState, "write", late)
    threads = [threading.Thread(target=draw_when_all_are_there, args=given) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(given[2].queue)


def test_nobody_reads_between_another_ones_reading_and_writing(path, monkeypatch):
    assert race(path, monkeypatch, 0.2) == ["drawn", "refused"]  # however long they wait


def test_planted_no_lock_lets_both_draw(path, monkeypatch):
    monkeypatch.setattr(budget_module, "locked", contextlib.nullcontext)
    assert race(path, monkeypatch, 60) == ["drawn", "drawn"]


# --- fits -----------------------------------------------------------------------------------------------------

COLUMNS = {"city": {"sdtype": "categorical"}, "age": {"sdtype": "numerical"}}
DOMAIN = {"city": {"range_values": ["A", "B"]}, "age": {"range_min": 0, "range_max": 9}}


def table(n=500):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"city": rng.choice(["A", "B"], n), "age": rng.integers(0, 10, n)})


def synthesizer(budget, **options):
    options = {"epsilon": 0.6, "domain": DOMAIN, "model": "independent", **options}
    return PlausibleDeniabilitySynthesizer(metadata_from_columns(COLUMNS), budget=budget, **values(**options))


@pytest.mark.parametrize("options", [
    {}, {"model": "bayesian_network"}, {"domain": None, "undeclared": "private"}, {"structure": "cfs", "model":
    "bayesian_network", "domain": None, "undeclared": "private"}, {"omega": 1, "k": 5},
    {"test": "randomized", "row_cap": 5, "epsilon": 0.1, "least_rows": 100},
], ids=str)  # fmt: skip
def test_a_fit_draws_its_total(path, options):
    budget = Budget(50.0, 1e-8, path)
    synth = synthesizer(budget, **options)
    synth.fit(table())
    assert budget.charged() == {"epsilon": synth.privacy_ledger().total(), "delta": 1e-9}
    assert synth.privacy_ledger().before_charge is None


def test_a_second_fit_that_does_not_fit_is_refused_before_any_row(path, monkeypatch):
    synth = synthesizer(Budget(1.0, 1e-8, path))
    synth.fit(table())
    kept = synth.privacy_ledger().to_json()
    monkeypatch.setattr(InMemoryRows, "of_persons", lambda *_: pytest.fail("looked at rows"))
    with pytest.raises(BudgetExceededError, match="this fit would exceed the budget"):
        synth.fit(table())
    assert synth.privacy_ledger().to_json() == kept
    assert len(synth.sample(3)) == 3  # the earlier fit stays


def test_rho_lets_more_through_than_the_sum(path):
    budget = Budget(1.0, 1e-8, path, filter="rho")
    for _ in range(3):
        synthesizer(budget).fit(table())
    with pytest.raises(BudgetExceededError, match="rho .* wanted"):
        synthesizer(budget, epsilon=0.9).fit(table())
    synthesizer(budget, epsilon=budget.left(1e-9), domain=None, undeclared="private").fit(table())
    assert budget.charged()["failure"] == pytest.approx(1e-10)
    with pytest.raises(ValueError, match=r"^filter \('rho'\) accepts only Gaussian noise"):
        synthesizer(budget, epsilon=0.1, omega=1).fit(table())


def test_what_a_failed_fit_drew_stays_drawn(path, monkeypatch):
    """It draws 0.6 and fails in the middle, after noisy answers."""
    budget = Budget(1.0, 1e-8, path)
    monkeypatch.setattr(Uniform, "fit", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        synthesizer(budget, model=Uniform(), domain=None, undeclared="private").fit(table())
    assert budget.charged()["epsilon"] > 0.2


def test_planted_a_charge_forgotten_after_a_failed_fit_is_caught(path, monkeypatch):
    fit = PlausibleDeniabilitySynthesizer.fit

    def forgetful(synth, data):
        before = path.read_bytes()
        try:
            fit(synth, data)
        except ZeroDivisionError:
            path.write_bytes(before)
            raise

    monkeypatch.setattr(PlausibleDeniabilitySynthesizer, "fit", forgetful)
    with pytest.raises(AssertionError):
        test_what_a_failed_fit_drew_stays_drawn(path, monkeypatch)


def test_it_is_charged_before_rows_are_chosen(path, tmp_path, monkeypatch):
    """And a file that is saved after such a fit holds no budget."""
    budget = Budget(2.0, 1e-8, path)
    synth = synthesizer(budget)
    synth.fit(table())
    before = budget.charged()["epsilon"]
    monkeypatch.setattr(InMemoryRows, "of_persons", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        synth.fit(table())
    assert budget.charged()["epsilon"] > before + 0.5
    monkeypatch.undo()
    synth.save(tmp_path / "s")
    assert str(path).encode() not in (tmp_path / "s").read_bytes()
    assert PlausibleDeniabilitySynthesizer.load(tmp_path / "s").budget is None


def test_processed_data_is_charged_once(path):
    """Of persons without a claim: that nothing tells whose the rows are is charged like any other reason."""
    budget = Budget(10.0, 1e-8, path)
    synth = synthesizer(budget)
    processed = synth.preprocess(table())
    assert budget.charged()["epsilon"] == 0.0
    synth.fit_processed_data(processed)
    assert budget.charged()["epsilon"] == synth.privacy_ledger().total()
    metadata = metadata_from_columns({**COLUMNS, "home": {"sdtype": "id"}})
    synth = PlausibleDeniabilitySynthesizer(metadata, domain=DOMAIN, person="home")
    synth.fit_processed_data(synth.preprocess(table().assign(home=1)))
    assert not synth.privacy_ledger().claims_privacy


def test_a_fit_without_a_claim_cannot_draw(path):
    budget = Budget(1.0, 1e-8, path)
    for options in (
        {"random_state": 1}, {"epsilon": math.inf}, {"domain": None, "undeclared": "infer"},
        {"types": "detected"}, {"test": "deterministic"},
    ):  # fmt: skip
        with pytest.raises(ValueError, match="^budget: a fit without a privacy guarantee"):
            synthesizer(budget, **options).fit(table())
    assert budget.charged()["epsilon"] == 0.0


# --- what is handed over --------------------------------------------------------------------------------------


def test_a_release_and_a_saved_synthesizer_hold_no_budget_and_come_back(path, tmp_path):
    """Control: one that had none."""
    budget, file = Budget(1.0, 1e-8, path), tmp_path / "file"
    synth = synthesizer(budget)
    synth.fit(table())
    synth.release().save(file)
    assert b"budget" not in file.read_bytes()
    release = Release.load(file)
    again = PlausibleDeniabilitySynthesizer.from_release(release, budget=budget)
    assert len(again.sample(5)) == 5
    assert budget.charged()["epsilon"] == synth.privacy_ledger().total()  # nothing was drawn
    with pytest.raises(BudgetExceededError):
        again.fit(table())
    synth.save(file)
    assert str(path).encode() not in file.read_bytes()
    assert synth.budget is budget
    loaded = PlausibleDeniabilitySynthesizer.load(file)
    assert len(loaded.sample(5)) == 5
    loaded.save(file)
    loaded = PlausibleDeniabilitySynthesizer.load(file)
    with pytest.raises(ValueError, match="^budget: this synthesizer had a budget"):
        loaded.fit(table())
    loaded.budget = Budget(2.0, 1e-8, tmp_path / "larger")
    loaded.fit(table())
    assert "1 fit" in loaded.budget.sentence()
    free = synthesizer(None)
    free.fit(table())
    free.save(file)
    PlausibleDeniabilitySynthesizer.load(file).fit(table())


def test_what_does_not_fit_the_columns_costs_nothing(path):
    budget = Budget(3.0, 1e-8, path)
    metadata = metadata_from_columns({"a": {"sdtype": "boolean"}, "b": {"sdtype": "boolean"}})
    for mistake, words in (
        ({"structure": {"a": ["zz"]}}, "not modelled columns"),
        ({"structure": {"a": ["b"], "b": ["a"]}}, "cycle"),
        ({"omega": 99}, r"omega \(99\)"),
    ):
        options = values(domain={"a": {}, "b": {}}, budget=budget, **mistake)
        synth = PlausibleDeniabilitySynthesizer(metadata, **options)
        with pytest.raises(ValueError, match=words):
            synth.plan()
        with pytest.raises(ValueError, match=words):
            synth.fit(pd.DataFrame({"a": [True, False], "b": [True, True]}))
    with pytest.raises(Exception, match="not in the metadata"):
        synthesizer(budget).fit(table().assign(more=1))
    assert budget.charged()["epsilon"] == 0
