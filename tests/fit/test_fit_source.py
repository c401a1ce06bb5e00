"""One fit on every engine: the same cells give the same tables, and with the same noise the same release."""

from __future__ import annotations

import math
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

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
from sdv_plausible.fit.earlier import Earlier, earlier_losses
from sdv_plausible.fit.learned_domain import learned_file
from sdv_plausible.fit.run import Fit
from sdv_plausible.privacy.ledger import BudgetExceededError, PrivacyLedger
from sdv_plausible.rules import Forbidden
from sdv_plausible.sdv.metadata import metadata_from_columns
from sdv_plausible.sources.source import FrameSource
from sdv_plausible.table.declared.domain_file import DomainFile
from tests.flat import values

FRAME = table()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Release]:
    folder = tmp_path_factory.mktemp("memory")
    return {
        "declared": in_memory(FRAME, folder, domain=DECLARED),
        "learned": in_memory(FRAME, folder, epsilon=8.0),
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_release_is_that_of_memory(engine: str, expected: dict[str, Release], tmp_path: Path) -> None:
    source = held(engine, FRAME, tmp_path)
    found = fit_source(
        source, COLUMNS, DECLARED, random_state=SEED, types="declared", allow_no_claim=True, rows=1000
    )
    assert document(found) == document(expected["declared"])
    pd.testing.assert_frame_equal(
        found.sample(50, random_state=1)[list(DECLARED)],
        expected["declared"].sample(50, random_state=1)[list(DECLARED)],
    )
    found.save(tmp_path / "a.release")
    assert Release.load(tmp_path / "a.release") == found


@pytest.mark.parametrize(
    "engine", fast_and_nightly([*ENGINES][::3], [e for i, e in enumerate(ENGINES) if i % 3])
)
def test_learned_domains_are_those_of_memory(
    engine: str, expected: dict[str, Release], tmp_path: Path
) -> None:
    found = fit_source(
        held(engine, FRAME, tmp_path),
        COLUMNS,
        random_state=SEED,
        types="declared",
        allow_no_claim=True,
        rows=1000,
        epsilon=8.0,
    )
    assert document(found) == document(expected["learned"])
    assert {a.provenance for a in found.domain} == {"private"}


def test_rules_hold_and_are_those_of_memory(tmp_path: Path) -> None:
    rule = Forbidden({"sex": "m", "city": "Genf"})
    expected = in_memory(FRAME, tmp_path, domain=DECLARED, rules=[rule])
    found = fit_source(
        held("parquet", FRAME, tmp_path),
        COLUMNS,
        DECLARED,
        random_state=SEED,
        types="declared",
        allow_no_claim=True,
        rules=[rule],
        rows=500,
    )
    assert document(found) == document(expected)
    rows = found.sample(300, random_state=0)
    assert not ((rows["sex"] == "m") & (rows["city"] == "Genf")).any()


def test_seeds_and_split_are_asked_in_parts(tmp_path: Path) -> None:
    found = fit_source(
        held("parquet", FRAME, tmp_path),
        COLUMNS,
        DECLARED,
        rows=700,
        test=ReleaseTest(omega=(3, 4), k=20),
        model=PaperNetwork(split=(0.2, 0.3, 0.5)),
    )
    assert found.ledger.claims_privacy
    assert len(found.sample(20)) == 20


def test_a_fit_that_is_cancelled_has_spent_what_the_ledger_says(tmp_path: Path) -> None:
    class Cancelled(FrameSource):
        def pieces(self, names: Any) -> Any:
            raise KeyboardInterrupt

    budget = Budget(1.5, 1e-8, tmp_path / "budget.json")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sdv_plausible.fit.parts.open_source", lambda *_, **__: Cancelled(FRAME))
        with pytest.raises(KeyboardInterrupt):
            fit_source(FRAME, COLUMNS, DECLARED, budget=budget)
    with pytest.raises(ValueError, match="budget"):
        fit_source(FRAME, COLUMNS, DECLARED, budget=budget)


def test_a_budget_pays_once(tmp_path: Path) -> None:
    budget = Budget(1.5, 1e-8, tmp_path / "budget.json")
    found = fit_source(FRAME, COLUMNS, DECLARED, budget=budget)
    assert found.ledger.total() <= 1
    assert "before_charge" not in vars(found.ledger)


SMALL = table(600)[["age", "sex", "city"]]
TYPES = {name: COLUMNS[name] for name in SMALL}
VALUES = {name: DECLARED[name] for name in SMALL}
OPEN = DomainFile(columns={"age": TYPES["age"] | VALUES["age"], "sex": TYPES["sex"], "city": TYPES["city"]})
FITS: dict[str, dict[str, Any]] = {
    "declared": {"domain": VALUES},
    "learned in the fit": {"domain": None},
    "learned earlier": {"domain": learned_file(SMALL, OPEN, 2.0, 1e-9)},
    "rules": {"domain": VALUES, "rules": [Forbidden({"sex": "m", "city": "Genf"})]},
    "groups": {"domain": VALUES, "omega": 1, "k": 5},
    "split": {"domain": VALUES, "omega": 1, "k": 5, "split": (0.2, 0.3, 0.5)},
}


def at_door(door: str, **parameters: Any) -> PrivacyLedger:
    if door == "source":
        return fit_source(SMALL, TYPES, **values(**parameters)).ledger
    synth = PlausibleDeniabilitySynthesizer(metadata_from_columns(TYPES), **values(**parameters))
    synth.fit(SMALL)
    return synth.privacy_ledger()


@pytest.mark.parametrize("case", FITS)
@pytest.mark.parametrize("door", ["synthesizer", "source"])
def test_a_fit_charges_all_that_was_planned(door: str, case: str) -> None:
    """And what a domain cost when it was learned is in it."""
    planned: list[PrivacyLedger] = []
    plan = Fit.plan

    def noted(self: Fit, *given: Any, **more: Any) -> Any:
        found = plan(self, *given, **more)
        planned.append(found.ledger)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Fit, "plan", noted)
        ledger = at_door(door, epsilon=8.0, **FITS[case])
    assert ledger.claims_privacy
    assert Counter(ledger.losses) == Counter(planned[-1].losses)
    earlier = earlier_losses(FITS[case]["domain"], ledger.neighbours).entries
    assert bool(earlier) == (case == "learned earlier")
    assert set(earlier) <= set(ledger.entries)


@pytest.mark.parametrize("door", ["synthesizer", "source"])
def test_a_fit_that_forgets_what_a_domain_cost_is_caught(door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its model would be given that too, which was not planned; and where nobody looks, the ledger lacks it."""
    run = Fit.run
    monkeypatch.setattr(Fit, "run", lambda self, *given: run(replace(self, earlier=Earlier()), *given))
    with pytest.raises(BudgetExceededError, match="what its plan did not say"):
        test_a_fit_charges_all_that_was_planned(door, "learned earlier")
    monkeypatch.setattr("sdv_plausible.fit.budget.only_planned", lambda planned: lambda losses: None)
    with pytest.raises((AssertionError, ValueError)) as caught:  # a release file is checked by itself, too
        test_a_fit_charges_all_that_was_planned(door, "learned earlier")
    assert not isinstance(caught.value, BudgetExceededError)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"person": "key"}, "person"),
        ({"test": "randomized"}, "all records in memory"),
        ({"model": "latent"}, "learns from records"),
        ({"rows": 0}, "rows"),
        ({"domain": "written"}, "domain"),
        ({"domain": {"key": {"sdtype": "id"}}, "metadata": None}, "declare no column"),
        ({"epsilon": 0}, "epsilon"),
    ],
)
def test_what_cannot_be_is_refused_before_a_row_is_read(wrong: dict[str, Any], says: str) -> None:
    class Unread(FrameSource):
        def pieces(self, names: Any) -> Any:
            raise AssertionError("read")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sdv_plausible.fit.parts.open_source", lambda *_, **__: Unread(FRAME))
        with pytest.raises(ValueError, match=says):
            fit_source(FRAME, **values(**{"metadata": COLUMNS} | wrong))


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"random_state": 1}, "random_state"),
        ({"epsilon": math.inf}, "noise"),
        ({"types": "detected"}, "types"),
    ],
)
def test_without_a_claim_it_asks_before_a_row_is_read(more: dict[str, Any], why: str, tmp_path: Path) -> None:
    budget = Budget(1.5, 1e-8, tmp_path / "budget.json")
    with pytest.raises(ValueError, match=f"{NO_CLAIM}.*{why}.*allow_no_claim=True"):
        fit_source(FRAME, COLUMNS, DECLARED, budget=budget, **values(**more))
    fit_source(FRAME, COLUMNS, DECLARED, budget=budget)  # nothing was drawn from it
    found = fit_source(FRAME, COLUMNS, DECLARED, allow_no_claim=True, **values(**more))
    assert not found.ledger.claims_privacy


@pytest.mark.parametrize("engine", ["parquet", "arrow", "polars", "duckdb", "pandas arrow"])
@pytest.mark.parametrize("sdtype", ["categorical", "numerical"])
def test_a_nested_column_is_refused_before_a_budget_pays(engine: str, sdtype: str, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    nested = FRAME.assign(tags=[["a", "b"]] * len(FRAME))
    if engine == "pandas arrow":
        source: Any = nested.astype({"tags": pd.ArrowDtype(pa.list_(pa.string()))})
    elif engine == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        arrow = pa.Table.from_pandas(nested)
        connection = duckdb.connect()  # held: before DuckDB 2 it is closed when nobody does
        source = connection.from_arrow(arrow)
    else:
        source = held(engine, nested, tmp_path)
    budget = Budget(1.5, 1e-8, tmp_path / "budget.json")
    with pytest.raises(ValueError, match="'tags' is stored as"):
        fit_source(source, COLUMNS | {"tags": {"sdtype": sdtype}}, DECLARED, budget=budget)
    fit_source(source, COLUMNS, DECLARED, budget=budget)


@pytest.mark.parametrize(
    "line", [b"44", b"44,f,3,4,5,6,7,8,9", b'44,"f', b'44,"f"x', b"44,\xff"],
    ids=["short", "long", "open", "behind", "no text"],
)  # fmt: skip
def test_a_malformed_csv_file_is_refused_before_a_budget_pays(line: bytes, tmp_path: Path) -> None:
    whole = FRAME.to_csv(index=False).encode()
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "a.csv").write_bytes(whole)
    (folder / "b.csv").write_bytes(whole + line + b"\n")
    budget = Budget(1.5, 1e-8, tmp_path / "budget.json")
    with pytest.raises(ValueError, match=r"b\.csv: (after )?line") as raised:
        fit_source(folder, COLUMNS, DECLARED, budget=budget)
    assert "44" not in str(raised.value).replace(str(tmp_path), "")
    assert budget.charged()["epsilon"] == 0
    (folder / "b.csv").write_bytes(whole)
    fit_source(folder, COLUMNS, DECLARED, budget=budget)


@pytest.mark.filterwarnings("ignore:tags. most cells are outside")
@pytest.mark.parametrize("cell", [["a"], {"a": 1}, {"a"}])
def test_nested_cells_among_objects_are_missing(cell: Any) -> None:
    """No schema tells of them, and one cell must not decide whether a fit ends."""
    nested = FRAME.assign(tags=[cell] * len(FRAME))
    values = {"tags": {"range_values": ["a"], "range_is_nullable": True}}
    for domain in (DECLARED, DECLARED | values):
        found = fit_source(
            nested, COLUMNS | {"tags": {"sdtype": "categorical"}}, domain, rows=700, epsilon=10
        )
        assert found.ledger.claims_privacy
        assert found.sample(50)["tags"].isna().mean() > 0.9


def test_a_release_without_sdv_is_the_synthesizers_too(tmp_path: Path) -> None:
    found = fit_source(FRAME, COLUMNS, DECLARED)
    rows = PlausibleDeniabilitySynthesizer.from_release(found).sample(20)
    assert list(rows) == list(FRAME)
    code = (
        "import sys\n"
        "import pandas as pd\n"
        "from sdv_plausible import fit_source\n"
        f"found = fit_source({str(tmp_path / 'a.csv')!r}, None, {{'sex': {{'range_values': ['f', 'm']}}}})\n"
        "print(len(found.sample(5)), 'sdv' in sys.modules)\n"
    )
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["5", "False"], done.stderr


def test_what_a_learner_refuses_of_the_unit_is_refused_before_the_draw_at_both_doors(tmp_path: Path) -> None:
    class RowsAlone(PaperNetwork):
        def check_neighbours(self, neighbours: Any) -> None:
            raise ValueError("single rows alone")

    budget = Budget(1.5, 1e-8, tmp_path / "budget.json")
    with pytest.raises(ValueError, match="single rows alone"):
        fit_source(FRAME, COLUMNS, DECLARED, budget=budget, model=RowsAlone())
    with pytest.raises(ValueError, match="single rows alone"):
        PlausibleDeniabilitySynthesizer(metadata_from_columns(COLUMNS), domain=DECLARED, model=RowsAlone())
    assert budget.charged()["epsilon"] == 0
