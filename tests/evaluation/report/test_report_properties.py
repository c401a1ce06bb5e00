"""The properties of the report, each by itself: scores by hand, ticks of the progress bar, errors, no rows kept."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.datasets import census_like
from sdv_plausible.evaluation import metrics, table_codes
from sdv_plausible.evaluation.report.report_properties import (
    ClassifierAgreementProperty,
    ColumnDistanceProperty,
    DistinguishingGameProperty,
    PairDistanceProperty,
    ReportOptions,
    ReportProperty,
)

OPTIONS = ReportOptions(
    target=None, classifiers=("tree",), distinguishers=("tree",), num_runs=2, max_rows=200, max_rows_distances=None,
    num_bins=table_codes.DEFAULT_NUM_BINS, random_state=0,
)  # fmt: skip
RUNS = {"classifiers": ("tree",), "num_runs": 2, "max_rows": 200}
ALL = (ColumnDistanceProperty, PairDistanceProperty, ClassifierAgreementProperty, DistinguishingGameProperty)


class Bar:
    """Counts the ticks of a progress bar."""

    ticks = 0

    def update(self):
        self.ticks += 1


def table(seed, num_rows=200):
    rng = np.random.default_rng(seed)
    first = rng.choice(["x", "y", "z"], num_rows)
    return pd.DataFrame(
        {"a": first, "b": np.where(rng.random(num_rows) < 0.8, first, "x"), "n": rng.normal(size=num_rows)}
    )


def described(*columns):
    kinds = {"a": "categorical", "b": "categorical", "n": "numerical"}
    return {"tables": {"t": {"columns": {name: {"sdtype": kinds[name]} for name in columns}}}}


def scored(kind, real, synthetic, metadata=None, **changes):
    made = ReportProperty(kind, OPTIONS)
    for name, value in changes.items():
        setattr(made, name, value)
    return made, made.get_score({"t": real}, {"t": synthetic}, metadata or described("a", "b", "n"))


def test_scores_are_those_of_the_metrics():
    real, synthetic = table(0), table(1)
    columns = {"columns": described("a", "b", "n")["tables"]["t"]["columns"]}
    scores = [scored(kind, real, synthetic)[1] for kind in ALL]
    expected = [
        1 - metrics.TotalVariationDistance.compute(real, synthetic, columns),
        1 - metrics.PairwiseTotalVariationDistance.compute(real, synthetic, columns),
        metrics.ClassifierAgreement.compute(real, synthetic, columns, **RUNS, ceiling=True),
        2 - 2 * metrics.DistinguishingGame.compute(real, synthetic, columns, **RUNS),
    ]
    assert scores == pytest.approx(expected, abs=1e-12)


def test_details_by_hand():
    real, synthetic = (pd.DataFrame({"a": list(cells), "b": list(cells)}) for cells in ("xxyy", "xx"))
    column = {"Column": "a", "Distance": 0.5, "Score": 0.5, "Real Rows": 4, "Synthetic Rows": 2}
    pair = {"Column 1": "a", "Column 2": "b", "Distance": 0.5, "Score": 0.5, "Real Dependence": 1.0}
    for kind, row in ((ColumnDistanceProperty, column), (PairDistanceProperty, pair)):
        details = scored(kind, real, synthetic, described("a", "b"))[0].get_details("t").iloc[0]
        assert {name: details[name] for name in row} == row


@pytest.mark.parametrize("kind", ALL)
def test_the_progress_bar_ends_full_and_no_held_out_rows_are_kept(kind):
    made, bar = ReportProperty(kind, OPTIONS), Bar()
    made.holdouts = {"t": table(2, 60)}
    made.get_score({"t": table(0)}, {"t": table(1)}, described("a", "b", "n"), bar)
    assert bar.ticks == made._get_num_iterations(described("a", "b", "n"))
    assert made.of_table("t").holdout is None
    details = made.get_details("t")  # but they are used
    assert kind is not DistinguishingGameProperty or details["Held-out Real Rows"].tolist() == [True]
    assert kind is not ClassifierAgreementProperty or details["Test Rows"].tolist() == [60]


def test_what_cannot_be_computed_has_an_error_and_a_figure():
    for kind in ALL:
        made, score = scored(kind, table(0), table(1)[:0], holdouts={"t": table(2)})
        assert np.isnan(score)
        said = "synthetic_data has no rows or no columns: there is nothing to compare"
        assert made.get_details("t")["Error"].tolist() == [said]
        assert len(made.get_visualization("t").data) == 0
        assert made.of_table("t").holdout is None
    for kind, words in (
        (PairDistanceProperty, "pairs need two"),
        (ClassifierAgreementProperty, "the only column"),
    ):
        made, score = scored(kind, table(0)[["a"]], table(1)[["a"]], described("a"))
        assert np.isnan(score)
        assert words in made.get_details("t")["Error"].iloc[0]


def test_the_game_scores_guessing_as_ideal_and_copies_no_better():
    made, score = scored(DistinguishingGameProperty, table(0), table(0))
    assert made.get_details("t")["Accuracy"].iloc[0] < 0.5
    assert score == 1.0
    apart = table(1).assign(n=1e6)
    assert scored(DistinguishingGameProperty, table(0), apart)[1] == 0.0


def test_classifiers_train_on_as_many_rows_of_each_table_as_the_game():
    real, synthetic = table(0, 2_000), table(1, 2_000)
    sizes = [
        scored(kind, real, synthetic)[0].of_table("t").details["Training Rows"].iloc[0]
        for kind in (ClassifierAgreementProperty, DistinguishingGameProperty)
    ]
    assert sizes == [100, 200]  # of the game they are those of both tables
    everything = replace(OPTIONS, max_rows=None)
    made = scored(ClassifierAgreementProperty, real, synthetic, options=everything)[0]
    assert made.of_table("t").details["Training Rows"].iloc[0] == 700  # beside 600 that test, two of a kind


@pytest.mark.slow
def test_few_training_rows_tell_what_many_do():
    """The share of the ceiling, of 5,000 and of 10,000 rows: .002 apart (.012 on other tables), .02 allowed."""
    real, synthetic = census_like(60_000, random_state=0), census_like(40_000, random_state=1)
    shuffled = synthetic.apply(lambda column: column.sample(frac=1, random_state=2).to_numpy())
    mixed = pd.concat([synthetic.iloc[:30_000], shuffled.iloc[30_000:]], ignore_index=True)
    metadata = {"tables": {"t": {"columns": {c: {"sdtype": "categorical"} for c in real}}}}
    shares = []
    for max_rows in (10_000, 20_000, 200):
        options = replace(OPTIONS, num_runs=10, max_rows=max_rows)
        made, score = scored(ClassifierAgreementProperty, real, mixed, metadata, options=options)
        shares.append(score / made.of_table("t").details["Ceiling"].mean())
    assert abs(shares[0] - shares[1]) < 0.02
    assert abs(shares[2] - shares[1]) > 0.02  # control: a hundred rows do not
