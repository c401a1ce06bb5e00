"""One fit on every engine: the same cells give the same tables, and with the same noise the same release."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pandas as pd
import pytest
from cases import fast_and_nightly
from sentences import NO_CLAIM
from tables import COLUMNS, DECLARED, ENGINES, SEED, document, held, in_memory, table

from sdv_plausible import (
    Budget,
    PaperNetwork,
    PlausibleDeniabilitySynthesizer,
    Release,
    ReleaseTest,
    fit_source,
)
from sdv_plausible.fitting.domain_learning import learned_file
from sdv_plausible.fitting.fit import Fit
from sdv_plausible.fitting.reused_domain import ReusedDomain, read_reused_domain
from sdv_plausible.privacy.ledger import BudgetExceededError
from sdv_plausible.rules import Forbidden
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.sources.source import FrameSource
from sdv_plausible.table.declared.domain_file import DomainFile
from tests.flat import values

FRAME = table()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("memory")
    return {
        "declared": in_memory(FRAME, folder, domain=DECLARED),
        "learned": in_memory(FRAME, folder, epsilon=8.0),
    }


def seeded(source, domain=None, **options):
    """A release of seeded noise, as in_memory makes one."""
    options = {"types": "declared", "rows": 1000, **options}
    return fit_source(source, COLUMNS, domain, random_state=SEED, allow_no_claim=True, **options)


def unreadable(monkeypatch, error):
    """Whoever reads rows of any source meets this error."""

    class Unread(FrameSource):
        def pieces(self, names):
            raise error

    monkeypatch.setattr("sdv_plausible.fitting.partitioned_table.open_source", lambda *_, **__: Unread(FRAME))


@pytest.fixture
def budget(tmp_path):
    """Enough for one fit."""
    return Budget(1.5, 1e-8, tmp_path / "budget.json")


@pytest.mark.parametrize("engine", ENGINES)
def test_release_is_that_of_memory(engine, expected, tmp_path):
    found = seeded(held(engine, FRAME, tmp_path), DECLARED)
    assert document(found) == document(expected["declared"])
    rows, same = (one.sample(50, random_state=1)[[*DECLARED]] for one in (found, expected["declared"]))
    pd.testing.assert_frame_equal(rows, same)
    found.save(tmp_path / "a.release")
    assert Release.load(tmp_path / "a.release") == found


@pytest.mark.parametrize(
    "engine", fast_and_nightly([*ENGINES][::3], [e for i, e in enumerate(ENGINES) if i % 3])
)
def test_learned_domains_are_those_of_memory(engine, expected, tmp_path):
    found = seeded(held(engine, FRAME, tmp_path), epsilon=8.0)
    assert document(found) == document(expected["learned"])
    assert {a.provenance for a in found.domain} == {"private"}


def test_rules_hold_and_are_those_of_memory(tmp_path):
    rules = [Forbidden({"sex": "m", "city": "Genf"})]
    found = seeded(held("parquet", FRAME, tmp_path), DECLARED, rules=rules, rows=500)
    assert document(found) == document(in_memory(FRAME, tmp_path, domain=DECLARED, rules=rules))
    rows = found.sample(300, random_state=0)
    assert not ((rows["sex"] == "m") & (rows["city"] == "Genf")).any()


def test_seeds_and_split_are_asked_in_parts(tmp_path):
    options = {"test": ReleaseTest(omega=(3, 4), k=20), "model": PaperNetwork(split=(0.2, 0.3, 0.5))}
    found = fit_source(held("parquet", FRAME, tmp_path), COLUMNS, DECLARED, rows=700, **options)
    assert found.ledger.claims_privacy
    assert len(found.sample(20)) == 20


def test_a_fit_that_is_cancelled_has_spent_what_the_ledger_says(budget, monkeypatch):
    unreadable(monkeypatch, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        fit_source(FRAME, COLUMNS, DECLARED, budget=budget)
    monkeypatch.undo()
    with pytest.raises(ValueError, match="budget"):
        fit_source(FRAME, COLUMNS, DECLARED, budget=budget)


SMALL = table(600)[["age", "sex", "city"]]
TYPES = {name: COLUMNS[name] for name in SMALL}
VALUES = {name: DECLARED[name] for name in SMALL}
OPEN = DomainFile(columns={"age": TYPES["age"] | VALUES["age"], "sex": TYPES["sex"], "city": TYPES["city"]})
FITS = {
    "declared": {"domain": VALUES},
    "learned in the fit": {"domain": None},
    "learned earlier": {"domain": learned_file(SMALL, OPEN, 2.0, 1e-9)},
    "rules": {"domain": VALUES, "rules": [Forbidden({"sex": "m", "city": "Genf"})]},
    "groups": {"domain": VALUES, "omega": 1, "k": 5},
    "split": {"domain": VALUES, "omega": 1, "k": 5, "split": (0.2, 0.3, 0.5)},
}


def at_door(door, **parameters):
    if door == "source":
        return fit_source(SMALL, TYPES, **values(**parameters)).ledger
    synth = PlausibleDeniabilitySynthesizer(metadata_from_columns(TYPES), **values(**parameters))
    synth.fit(SMALL)
    return synth.privacy_ledger()


@pytest.mark.parametrize("case", FITS)
@pytest.mark.parametrize("door", ["synthesizer", "source"])
def test_a_fit_charges_all_that_was_planned(door, case):
    """And what a domain cost when it was learned is in it."""
    planned, plan = [], Fit.plan

    def noted(self, *given, **more):
        planned.append(plan(self, *given, **more))
        return planned[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Fit, "plan", noted)
        ledger = at_door(door, epsilon=8.0, **FITS[case])
    assert ledger.claims_privacy
    assert Counter(ledger.losses) == Counter(planned[-1].ledger.losses)
    earlier = read_reused_domain(FITS[case]["domain"], ledger.neighbours).entries
    assert bool(earlier) == (case == "learned earlier")
    assert set(earlier) <= set(ledger.entries)


@pytest.mark.parametrize("door", ["synthesizer", "source"])
def test_a_fit_that_forgets_what_a_domain_cost_is_caught(door, monkeypatch):
    """Its model would be given that too, which was not planned; and where nobody looks, the ledger lacks it."""
    run = Fit.run
    monkeypatch.setattr(
        Fit, "run", lambda self, *given: run(replace(self, reused_domain=ReusedDomain()), *given)
    )
    with pytest.raises(BudgetExceededError, match="more than its plan"):
        test_a_fit_charges_all_that_was_planned(door, "learned earlier")
    monkeypatch.setattr("sdv_plausible.fitting.fit.only_planned", lambda planned: lambda losses: None)
    with pytest.raises((AssertionError, ValueError)) as caught:  # a release file is checked by itself, too
        test_a_fit_charges_all_that_was_planned(door, "learned earlier")
    assert not isinstance(caught.value, BudgetExceededError)


def test_what_cannot_be_is_refused_before_a_row_is_read(monkeypatch):
    unreadable(monkeypatch, AssertionError("read"))
    for wrong, says in (
        ({"person": "key"}, "person"), ({"test": "randomized"}, "all records in memory"),
        ({"model": "latent"}, "learns from records"), ({"rows": 0}, "rows"), ({"domain": "written"}, "domain"),
        ({"domain": {"key": {"sdtype": "id"}}, "metadata": None}, "declare no column"), ({"epsilon": 0}, "epsilon"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=says):
            fit_source(FRAME, **values(**{"metadata": COLUMNS} | wrong))


def test_without_a_claim_it_asks_before_a_row_is_read(budget):
    cases = ({"random_state": 1}, "random_state"), ({"epsilon": math.inf}, "noise"), ({"types": "detected"}, "types")  # fmt: skip
    for more, why in cases:
        with pytest.raises(ValueError, match=f"{NO_CLAIM}.*{why}.*allow_no_claim=True"):
            fit_source(FRAME, COLUMNS, DECLARED, budget=budget, **more)
        found = fit_source(FRAME, COLUMNS, DECLARED, allow_no_claim=True, **more)
        assert not found.ledger.claims_privacy
    found = fit_source(FRAME, COLUMNS, DECLARED, budget=budget)  # from which nothing was drawn before
    assert found.ledger.total() <= 1
    assert "before_charge" not in vars(found.ledger)


@pytest.mark.parametrize("engine", ["parquet", "arrow", "polars", "duckdb", "pandas arrow"])
def test_a_nested_column_is_refused_before_a_budget_pays(engine, budget, tmp_path):
    pa = pytest.importorskip("pyarrow")
    nested = FRAME.assign(tags=[["a", "b"]] * len(FRAME))
    if engine == "pandas arrow":
        source = nested.astype({"tags": pd.ArrowDtype(pa.list_(pa.string()))})
    elif engine == "duckdb":
        connection = pytest.importorskip(
            "duckdb"
        ).connect()  # held: before DuckDB 2 it is closed when nobody does
        arrow = pa.Table.from_pandas(nested)
        source = connection.from_arrow(arrow)
    else:
        source = held(engine, nested, tmp_path)
    for sdtype in ("categorical", "numerical"):
        with pytest.raises(ValueError, match="'tags' is stored as"):
            fit_source(source, COLUMNS | {"tags": {"sdtype": sdtype}}, DECLARED, budget=budget)
    fit_source(source, COLUMNS, DECLARED, budget=budget)


def test_a_malformed_csv_file_is_refused_before_a_budget_pays(budget, tmp_path):
    whole = FRAME.to_csv(index=False).encode()
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "a.csv").write_bytes(whole)
    for line in (b"44", b"44,f,3,4,5,6,7,8,9", b'44,"f', b'44,"f"x', b"44,\xff"):
        (folder / "b.csv").write_bytes(whole + line + b"\n")
        with pytest.raises(ValueError, match=r"b\.csv: (after )?line") as raised:
            fit_source(folder, COLUMNS, DECLARED, budget=budget)
        assert "44" not in str(raised.value).replace(str(tmp_path), "")
    assert budget.charged()["epsilon"] == 0
    (folder / "b.csv").write_bytes(whole)
    fit_source(folder, COLUMNS, DECLARED, budget=budget)


@pytest.mark.filterwarnings("ignore:tags. most cells are outside")
def test_nested_cells_among_objects_are_missing():
    """No schema tells of them, and one cell must not decide whether a fit ends."""
    columns = COLUMNS | {"tags": {"sdtype": "categorical"}}
    values = {"tags": {"range_values": ["a"], "range_is_nullable": True}}
    for cell, domain in itertools.product((["a"], {"a": 1}, {"a"}), (DECLARED, DECLARED | values)):
        nested = FRAME.assign(tags=[cell] * len(FRAME))
        found = fit_source(nested, columns, domain, rows=700, epsilon=10)
        assert found.ledger.claims_privacy
        assert found.sample(50)["tags"].isna().mean() > 0.9


def test_a_release_without_sdv_is_the_synthesizers_too(tmp_path):
    found = fit_source(FRAME, COLUMNS, DECLARED)
    assert list(PlausibleDeniabilitySynthesizer.from_release(found).sample(20)) == list(FRAME)
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    code = (
        "import sys\nfrom sdv_plausible import fit_source\n"
        f"found = fit_source({str(tmp_path / 'a.csv')!r}, None, {{'sex': {{'range_values': ['f', 'm']}}}})\n"
        "print(len(found.sample(5)), 'sdv' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["5", "False"], done.stderr


def test_what_a_learner_refuses_of_the_unit_is_refused_before_the_draw_at_both_doors(budget):
    class RowsAlone(PaperNetwork):
        def check_neighbours(self, neighbours):
            raise ValueError("single rows alone")

    with pytest.raises(ValueError, match="single rows alone"):
        fit_source(FRAME, COLUMNS, DECLARED, budget=budget, model=RowsAlone())
    with pytest.raises(ValueError, match="single rows alone"):
        PlausibleDeniabilitySynthesizer(metadata_from_columns(COLUMNS), domain=DECLARED, model=RowsAlone())
    assert budget.charged()["epsilon"] == 0
