"""Distances of benchmarks.links and benchmarks.utility_scores on tables small enough to count by hand."""

import math

import numpy as np
import pandas as pd
import pytest

from benchmarks import links
from benchmarks.declared_tables import declare
from benchmarks.utility_scores import distances, triples


@pytest.fixture
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    delay = np.where(rng.random(400) < 0.1, np.nan, rng.integers(0, 50, 400))
    carrier = np.where(np.nan_to_num(delay) > 20, "late", "early")
    return pd.DataFrame({"delay": delay, "carrier": carrier, "size": rng.random(400).round(2)})


def test_numbers_are_declared_by_what_is_written_down_and_the_rest_by_the_file(rows):
    declared = declare(rows, 200, {"delay": (-120, 2000)}).declared
    assert declared["delay"] == {
        "sdtype": "numerical", "range_min": -120, "range_max": 2000, "decimal_places": 0, "range_is_nullable": True,
    }  # fmt: skip
    assert declared["size"]["decimal_places"] == 2
    assert declared["carrier"]["range_values"] == ["early", "late"]
    assert declare(rows, 200, categories=["delay"]).declared["delay"]["sdtype"] == "categorical"


def test_a_split_has_no_row_twice(rows):
    train, unseen = declare(rows.assign(key=range(400)), 150).split(3)
    assert len(train) == len(unseen) == 150
    assert not set(train["key"]) & set(unseen["key"])


def test_missing_cells_are_a_value_of_their_own_and_bins_have_equal_shares(rows):
    codes, sizes = links.coded(declare(rows, 200).declared, rows, rows)
    missing = rows["delay"].isna().to_numpy()
    assert set(codes[missing, 0]) == {sizes[0] - 1}
    assert sizes[0] - 1 not in codes[~missing, 0]
    assert sizes == [links.BINS + 1, 3, links.BINS + 1]
    assert np.allclose(np.bincount(codes[:, 2])[: links.BINS], 400 / links.BINS, atol=10)  # ties at the edges


def test_pairs_are_told_by_name_and_only_the_spoiled_ones_are_far(rows):
    table = declare(rows, 200)
    spoiled = rows.assign(carrier=rows["carrier"].sample(frac=1, random_state=0).to_numpy())
    assert set(links.pairs(table, rows, rows, rows).values()) == {0.0}
    found = links.pairs(table, rows, rows, spoiled)
    assert found["delay x size"] == 0 < 0.3 < found["delay x carrier"]
    assert links.strongest(table, rows)[0] == "delay x carrier"


def test_the_report_has_every_budget_beside_the_real_rows():
    lines = [
        {"table": "t", "epsilon": epsilon, "repeat": split, "pairs": pairs + split / 100, "cpu s": 2.0}
        for epsilon, pairs in ((None, 0.1), (1.0, 0.3), (math.inf, 0.2))
        for split in (0, 2)
    ]
    shown = "| t | 2 | 0.1100 | 0.3100 ± 0.1271 (2.82) | 0.2100 ± 0.1271 (1.91) | 2.0, 2.0 |"
    assert shown in links.report(lines)


def test_an_exclusive_or_is_seen_by_triples_alone_and_many_cells_have_the_distance_that_few_would_have():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (4000, 2))
    real, opposite = (np.column_stack([bits, (bits.sum(1) + more) % 2]) for more in (0, 1))
    assert max(distances(real, opposite, [2, 2, 2])) < 0.05
    assert triples(real, opposite, [2, 2, 2]) == 1
    first, second = rng.integers(0, 3, (2, 500, 3))
    few, many = ([size] * 3 for size in (3, 2000))
    assert distances(first, second, few) == pytest.approx(distances(first, second, many))
    assert triples(first, second, few) == pytest.approx(triples(first, second, many))


@pytest.mark.parametrize("epsilon", [None, 5.0])
def test_a_run_has_the_distance_and_the_worst_pair(rows, epsilon):
    line = links.measure("t", declare(rows, 200), epsilon, 0)
    assert 0 < line["pairs"] <= line["its"] <= 1
    assert line["worst"] in {"delay x carrier", "delay x size", "carrier x size"}


def test_six_fits_of_the_same_rows_are_shown_beside_the_real_ones(rows):
    shown = links.even(declare(rows, 200), 5.0, 0).splitlines()
    assert len(shown) == 2 + 3
    assert shown[2].startswith("| delay x carrier | ")
