"""The raw-table benchmark's own computations: grid, noisy histogram, rules, wrong cells, exchange with peers, records."""

import math

import numpy as np
import pandas as pd
import pytest

from benchmarks import raw_goals, raw_grid, raw_report, raw_rules, raw_sources, raw_tables
from benchmarks.raw_codebooks import FOLDER, CodeBook, read_codebook
from benchmarks.raw_exchange import from_peer, to_peer
from sdv_plausible.privacy.accounting.composition import calibrate_gaussian
from sdv_plausible.table.declared.declarations import read_declarations

pytestmark = pytest.mark.slow

BOOK = CodeBook(
    metadata={
        "id": {"sdtype": "id"},
        "sex": {"sdtype": "categorical"},
        "city": {"sdtype": "categorical"},
        "age": {"sdtype": "numerical"},
        "income": {"sdtype": "categorical"},
        **{name: {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"} for name in ("start", "end")},
    },
    domain={
        "sex": {"range_values": [1, 2], "range_is_nullable": False},
        "age": {"range_min": 0, "range_max": 110, "decimal_places": 0, "range_is_nullable": False},
        "start": {"range_min": "2020-01-01", "range_max": "2020-12-31", "range_is_nullable": False},
    },
    wanted={
        "income": {"sdtype": "numerical", "range_min": -100, "range_max": 9000, "special_values": ["N"]},
        "age": {"special_values": [0]},
    },
    rules=[{"rule": "order", "columns": ["start", "end"]}],
    primary_key="id",
)
TABLE = pd.DataFrame(
    {
        "id": [1, 2, 3, 4],
        "sex": [1, 2, 2, 1],
        "city": ["Bern", "Chur", None, "Bern"],
        "age": [0, 30, 40, 9],
        "income": ["N", "1000.0", "-5.0", "N"],
        "start": ["2020-01-02", "2020-03-04", "2020-05-06", "2020-07-08"],
        "end": ["2020-01-02", None, "2020-05-05", "2020-08-08"],
    }
)


def test_a_grid_of_numbers_has_spikes_quantiles_missing_and_codes_in_words():
    column = pd.Series([0.0] * 60 + list(range(1, 101)) + [np.nan] * 20 + ["N"] * 20, dtype=object)
    grid = raw_grid.column_grid(column, "numerical")
    assert grid.values == [0.0, "N"]
    assert (grid.values, len(grid.edges) <= 19) == ([0.0, "N"], True)
    counts = grid.histogram(column)
    assert (counts.sum(), list(counts[:2])) == (200, [60, 20])
    assert list(counts[-2:]) == [20, 0]
    # every quantile bin holds about a twentieth of the numbers, less what its spike took
    assert counts[2:-2].max() <= math.ceil(160 / 20)
    strange = pd.Series(["what", 0.0, 0.5, np.nan, "N", 1e9], dtype=object)
    assert [grid.cells(strange)[i] for i in (0, 1, 3, 4)] == [grid.num_cells - 1, 0, grid.num_cells - 2, 1]
    assert grid.cells(strange)[2] >= 2
    assert grid.cells(strange)[5] == grid.num_cells - 3


def test_a_spike_is_not_counted_with_its_quantile_bin():
    """Negative control: without cells of their own, zeros and ones of 0.5 would share a bin and hide a swap."""
    real, swapped = pd.Series([0.0] * 50 + [0.5] * 50), pd.Series([0.5] * 50 + [0.0] * 25 + [0.25] * 25)
    grid = raw_grid.column_grid(real, "numerical")
    without = raw_grid.ColumnGrid(grid.kind, [], [0.5])
    real_and_swapped = [[g.histogram(x) for x in (real, swapped)] for g in (grid, without)]
    assert [np.abs(one - other).sum() for one, other in real_and_swapped] == [50, 0]


def test_rare_categories_fall_in_gaps_and_are_not_published():
    column = pd.Series(["b"] * 100 + ["d"] * 100 + ["a", "c", "e"])
    grid = raw_grid.column_grid(column, "categorical")
    assert grid.values == ["b", "d"]
    assert list(grid.histogram(column)) == [100, 100, 1, 1, 1, 0, 0]
    assert list(grid.cells(pd.Series(["aa", "cc", None, "b"]))) == [2, 3, 5, 0]
    grid = raw_grid.column_grid(
        pd.Series([1, 2, 2]), "categorical"
    )  # numbers and text of the same look are two
    assert list(grid.cells(pd.Series([1, 2]))) == [0, 1]
    assert not set(grid.cells(pd.Series(["1", "2"]))) & {0, 1}


def test_the_projection_is_the_nearest_distribution():
    rng = np.random.default_rng(0)
    others = rng.dirichlet(np.ones(6), 4000)
    for _ in range(50):
        vector = rng.normal(0.1, 0.5, 6)
        found = raw_grid.project_to_simplex(vector)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(1)
        assert np.linalg.norm(found - vector) <= np.linalg.norm(others - vector, axis=1).min() + 1e-12
    # negative control: cutting off negative counts and dividing by the sum is no projection
    vector = np.array([0.9, 0.6, -0.4])
    cut = np.maximum(vector, 0) / np.maximum(vector, 0).sum()
    assert np.linalg.norm(raw_grid.project_to_simplex(vector) - vector) < np.linalg.norm(cut - vector)


def test_all_columns_histograms_together_spend_the_whole_budget():
    mu = calibrate_gaussian(1.0, 1e-9)
    for columns in (1, 15, 46):
        sigma = raw_grid.noise_scale(1.0, 1e-9, columns)
        assert math.sqrt(columns * (1 / sigma) ** 2) == pytest.approx(mu)
    assert raw_grid.noise_scale(0.3, 1e-9, 15) > raw_grid.noise_scale(1.0, 1e-9, 15)


def test_the_noisy_histogram_has_the_stated_noise():
    """On many full cells the distance is that of normal noise: cells * sigma * sqrt(2 / pi) / (2 n) about.

    Fixed seeds: no false alarm. Controls: noise of a whole column's budget (sigma smaller by sqrt(15)), or of a
    variance taken for a deviation, are far off.
    """
    counts, sigma = np.full(2000, 50_000), 40.0

    def expected(scale: float) -> float:
        return 2000 * scale * math.sqrt(2 / math.pi) / (2 * counts.sum())

    found = raw_grid.noisy_distance(counts, counts, sigma, seed=1)
    assert found == pytest.approx(expected(sigma), rel=0.02)
    for wrong in (sigma / math.sqrt(15), sigma**2):
        planted = raw_grid.noisy_distance(counts, counts, wrong, seed=1)
        assert planted != pytest.approx(expected(sigma), rel=0.5)
    assert raw_grid.noisy_distance(counts, counts, 0.0, seed=1) == pytest.approx(0, abs=1e-12)


def test_shares_of_broken_rows():
    between = {"columns": ["start", "end"]}
    for rule, rows in (
        ({"rule": "order", **between}, [2]),
        ({"rule": "equal", **between}, [1, 2, 3]),
        ({"rule": "combinations", "columns": ["sex", "city"], "allowed": [[1, "Bern"], [2, None]]}, [1]),
        ({"rule": "implies", "if": {"age": {"max": 14}}, "then": {"income": ["N"]}}, []),
        ({"rule": "implies", "if": {"age": {"min": 15}}, "then": {"income": {"min": 0}}}, [2]),
        ({"rule": "implies", "if": {"city": [None]}, "then": {"sex": [1]}}, [2]),
        ({"rule": "implies", "if": {"sex": [1.0], "city": ["Bern"]}, "then": {"age": {"max": 5}}}, [3]),
    ):
        assert np.flatnonzero(raw_rules.broken(TABLE, rule, BOOK)).tolist() == rows, rule
    with pytest.raises(ValueError, match="must be order"):
        raw_rules.broken(TABLE, {"rule": "sum", "columns": ["age", "sex"]}, BOOK)
    assert raw_rules.violations(TABLE, BOOK) == {"order: start, end": 0.25}
    assert raw_rules.any_broken(TABLE, BOOK) == 0.25


def test_real_rows_have_no_wrong_cells_and_planted_ones_are_counted():
    assert set(raw_rules.wrong_cells(TABLE, TABLE, BOOK).values()) == {0.0}
    planted = {
        "sex": ["1", 2, 2, 1],  # text for a number
        "city": ["Bern", "Rom", None, "Bern"],  # neither declared nor real
        "age": [0.5, 30, 40, np.nan],  # a fraction, and missing where nothing is
        "income": ["N", "n/a", 3.0, "N"],  # a word that is no code
        "start": ["2020-01-02", "04.03.2020", "2020-05-06", pd.Timestamp("2020-07-08")],
    }
    shares = raw_rules.wrong_cells(TABLE, TABLE.assign(**planted), BOOK)
    assert shares == {"sex": 0.25, "city": 0.25, "age": 0.5, "income": 0.25, "start": 0.5, "end": 0.0}


def test_what_a_peer_gets_comes_back_as_the_raw_table():
    arrays, columns = to_peer(TABLE, BOOK)
    assert [c["kind"] for c in columns] == ["category", "category", "number", "number", "date", "date"]
    assert columns[3]["bounds"] == [-100.0, 9000.0]
    assert columns[4]["bounds"] == [pd.Timestamp(day).timestamp() for day in ("2020-01-01", "2020-12-31")]
    assert columns[5]["bounds"] is None
    back = from_peer(arrays, TABLE, BOOK)
    assert raw_rules.wrong_cells(TABLE, back, BOOK) == dict.fromkeys(BOOK.modelled, 0.0)
    for name in BOOK.modelled:
        cells = raw_rules.plain_column(TABLE[name])
        expected = [v if name != "income" or v == "N" else float(v) for v in cells]
        assert list(raw_rules.plain_column(back[name])) == expected


def test_wanted_words_are_stripped_until_they_are_switched_on():
    assert BOOK.declared() == BOOK.domain
    on = BOOK.declared(["special_values"])
    assert (on["age"]["special_values"], on["income"]["special_values"]) == ([0], ["N"])
    kept = [BOOK.storage(words)["income"]["sdtype"] for words in ([], ["special_values"])]
    assert kept == ["categorical", "numerical"]
    assert BOOK.fingerprint() != BOOK.fingerprint(["special_values"])


def test_code_books_are_declarations_of_today():
    assert {file.stem for file in FOLDER.glob("*.json")} == set(raw_sources.SOURCES)
    for name in raw_sources.SOURCES:
        book = read_codebook(name)
        read = read_declarations(book.declared(), "private", 100, book.metadata)
        assert set(read.names) == set(book.domain)
        for words in book.domain.values():
            assert "range_is_nullable" in words
            assert "resolution" not in words
        for rule in book.rules:
            names = {*rule.get("columns", ()), *rule.get("if", ()), *rule.get("then", ())}
            assert names <= set(book.metadata), rule


@pytest.mark.parametrize("name", list(raw_sources.SOURCES))
def test_published_grids_are_those_of_the_raw_tables(name):
    if raw_sources.absent(name):
        pytest.skip(raw_sources.absent(name))
    table, book = raw_sources.read(name), read_codebook(name)
    grid = raw_grid.read_grid(name)
    assert grid == raw_grid.table_grid(table, book)
    for column, cells in grid.items():
        counts = cells.histogram(table[column], book.full[column].get("datetime_format"))
        assert counts.sum() == len(table)
        assert counts[-1] == 0
        assert (counts[: len(cells.values)] > raw_grid.LEAST_SHARE * len(table)).all()


def test_halves_of_a_split_are_disjoint_and_fresh():
    table = pd.DataFrame({"row": np.arange(101)})
    train, test = raw_sources.split(table, 0)
    assert len(train) == len(test) == 50
    assert not set(train["row"]) & set(test["row"])
    assert set(train["row"]) != set(raw_sources.split(table, 1)[0]["row"])


def test_a_run_that_was_cut_off_goes_on_and_a_change_is_measured_again(tmp_path, monkeypatch):
    made = []

    def rows_or_failure(method, train, book, epsilon, limit, words):
        made.append((method, epsilon))
        if method == "dpmm-mst":
            raise raw_tables.RunFailedError("not finished after 1 s")
        return train, {"fit s": 1.0, "sample s": 0.0, "MB": 1}

    monkeypatch.setattr(raw_tables, "RESULTS", tmp_path / "lines.jsonl")
    monkeypatch.setattr(raw_tables, "make", rows_or_failure)
    monkeypatch.setattr(raw_tables, "scores", lambda *given: {"quality": 0.5, "columns": {}})
    monkeypatch.setattr(raw_tables, "absent", lambda name: None)
    monkeypatch.setattr(raw_tables, "read", lambda name: pd.DataFrame({"age": range(40)}))

    def run(*words):
        monkeypatch.setattr("sys.argv", ["raw_tables", "--tables", "adult", "--repeats", "2", *words])
        raw_tables.main()
        return len(made)

    methods = ("--methods", "ours-declared", "dpmm-mst", "real")
    # ours: two budgets, two repeats; the peer fails once per budget and is not tried again; no budget for real rows
    assert run(*methods) == 4 + 2 + 2
    assert run(*methods) == 8
    monkeypatch.setattr(raw_tables, "code_version", lambda: "changed")
    assert run(*methods) == 8 + 4
    lines = raw_tables.lines_so_far()
    failed = [line["failed"] for line in lines if line["method"] == "dpmm-mst"]
    assert failed == ["not finished after 1 s"] * 2
    newest = raw_report.newest(lines)
    assert {line["code"] for line in newest if line["method"] == "ours-declared"} == {"changed"}
    assert "not finished after 1 s" in raw_report.table(newest)


def test_goals_say_what_is_behind_and_what_is_far():
    column = {"grid": 0.05, "noisy": 0.01, "single values": 0.03, "top": 0.9, "real top": 0.92}
    scored = {"diagnostic": 1.0, "game RF": 0.6, "fit s": 1.0, "rows": 20_000, "repeat": 0}
    columns = dict.fromkeys(("age", "capital-gain"), column)

    def line(method, quality, distance, epsilon=1.0):
        distances = {"column distance": distance, "pair distance": distance}
        told = {"table": "adult", "method": method, "epsilon": epsilon, "quality": quality}
        return {**scored, **distances, **told, "columns": columns}

    inf = float("inf")
    ours, peer = line("ours-declared", 0.98, 0.2), line("dpmm-mst", 0.9, 0.1)
    others = line("ours-private", 0.97, 0.3), line("infer", 0.975, 0.1, inf), line("real", 1, 0, inf)
    rows = {row.split(" | ")[0][2:]: row for row in raw_goals.goals([ours, peer, *others]).splitlines()[2:]}
    assert "0 of 1" in rows["ahead of dpmm in pair distance"]
    assert "dpmm-mst 0.100" in rows["ahead of dpmm in pair distance"]
    met = {goal: row.endswith("| yes |") for goal, row in rows.items()}
    assert [goal for goal, is_met in met.items() if not is_met] == [
        "ahead of dpmm in column distance", "ahead of dpmm in pair distance", "ahead of dpmm in game RF",
        "adult: zeros of capital-gain within 1 point", "adult: Quality 0.985",
        "declared: every column within 0.03 of a plain noisy histogram",
    ]  # fmt: skip


def test_absent_tables_say_why(tmp_path, monkeypatch):
    monkeypatch.setattr(raw_sources, "DATA", tmp_path)
    assert "SDV_PLAUSIBLE_DATA" in raw_sources.absent("adult")
