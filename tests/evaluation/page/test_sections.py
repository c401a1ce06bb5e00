"""The sections of the page: what they take from the report's details, what is missing, what failed."""

import math
import re

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.evaluation.page.charts import WIDTH
from sdv_plausible.evaluation.page.report_page import private_page, public_page
from sdv_plausible.evaluation.page.sections import (
    NO_GUARANTEE,
    ClassifierSection,
    DistanceSection,
    GameSection,
    GuaranteeSection,
    NotComputedSection,
    SeedDiagnostics,
    SeedSection,
)
from sdv_plausible.evaluation.page.summary import ComparisonSummary, ReleaseSummary

FAILED = pd.DataFrame({"Score": [np.nan], "Error": ["it <broke>"]})
COLUMNS = pd.DataFrame({"Column": ["a"], "Distance": [0.25], "Real Rows": [1500], "Synthetic Rows": [20]})


def pairs(num_pairs):
    names = {f"Column {side}": [f"{'ab'[side - 1]}{i}" for i in range(num_pairs)] for side in (1, 2)}
    distances = {
        "Distance": np.linspace(0, 1, num_pairs),
        "Real Dependence": 0.5,
        "Synthetic Dependence": 0.25,
    }
    return pd.DataFrame({**names, **distances})


def classifiers(**changes):
    names = [f"{kind}{end}" for kind in ("Real", "Synthetic", "Agreement") for end in (" Low", " High")]
    values = {"Real Accuracy": 0.8, "Synthetic Accuracy": 0.7, "Score": 0.9, **dict.fromkeys(names, 0.65)}
    rows = {"Target": "c", "Classifier": ["linear_svm", "adaboost"], "Training Rows": 70, "Test Rows": 30}
    return pd.DataFrame({**rows, **values, **changes})


def game(**changes):
    rows = {"Classifier": ["random_forest"], "Accuracy": 0.6, "Accuracy Low": 0.55, "Accuracy High": 0.65}
    return pd.DataFrame({**rows, "Held-out Real Rows": False, "Training Rows": 14, "Test Rows": 6, **changes})


def compared():
    none = np.empty(0)
    return ComparisonSummary(
        histograms=(), real_dependence=np.eye(1), synthetic_dependence=np.eye(1), reference="halves", num_rows=10,
        reference_columns=none, reference_pairs=none, synthetic_columns=none, synthetic_pairs=none, independent_pairs=none,
    )  # fmt: skip


def test_distances_list_the_worst_pairs_first():
    found = DistanceSection.of(COLUMNS, pairs(20), compared())
    assert (found.num_real, found.num_synthetic, found.num_compared) == (1500, 20, 10)
    assert (len(found.figures), len(found.worst_pairs), found.pairs_error) == (2, 8, "")
    assert found.worst_pairs[0] == ("a19, b19", 1.0, 0.5, 0.25)


def test_what_failed_is_said_in_its_place():
    assert DistanceSection.of(FAILED, pairs(2), compared()) == NotComputedSection(
        title="Distances", error="it <broke>"
    )
    assert ClassifierSection.of(FAILED, None) == NotComputedSection(title="Classifiers", error="it <broke>")
    assert GameSection.of(FAILED) == NotComputedSection(title="Distinguishing game", error="it <broke>")
    half = DistanceSection.of(COLUMNS, FAILED, compared())
    assert (half.pairs_error, half.worst_pairs, len(half.figures)) == ("it <broke>", (), 1)
    other = COLUMNS.assign(Error=None)  # SDMetrics gives all tables the column if one has an error
    assert not isinstance(DistanceSection.of(other, pairs(2), compared()), NotComputedSection)


def test_classifiers_in_words_and_shares_and_which_real_rows_played_the_game():
    found = ClassifierSection.of(classifiers(), 0.4)
    assert found.head == ("classifier", "trained on real", "trained on synthetic", "agreement")
    assert found.rows == (("linear SVM", (0.8, 0.7, 0.9)), ("AdaBoost", (0.8, 0.7, 0.9)))
    assert (found.target, found.majority, found.num_train, found.num_test) == ("c", 0.4, 70, 30)
    for held, words in ((True, "held-out real rows"), (False, "the real rows")):
        found = GameSection.of(game(**{"Held-out Real Rows": held}))
        assert (found.real_rows, found.rows) == (words, (("random forest", (0.6,)),))


@pytest.mark.parametrize(("value", "low"), [(0.95, 0.91), (0.62, 0.57), (0.35, 0.12), (0.35, math.nan)])
def test_the_axis_starts_below_every_interval(value, low):
    """Nothing is cut off at the left end, 118; of one run there is no interval."""
    ends = {f"{kind} Low": low for kind in ("Real", "Synthetic", "Agreement")}
    scores = dict.fromkeys(("Real Accuracy", "Synthetic Accuracy", "Score"), value)
    (figure,) = ClassifierSection.of(classifiers(**ends, **scores), 0.4).figures
    dots = re.findall(r'cx="([\d.]+)"', figure.picture)
    lines = re.findall(r'x1="([\d.]+)"[^>]*stroke-width="2"', figure.picture)
    assert len(dots) == 6
    assert len(lines) == (0 if math.isnan(low) else 6)
    assert all(118 < float(x) <= WIDTH for x in [*dots, *lines])


def test_what_there_is_not_has_no_section():
    assert SeedSection.of(None) == ()
    assert SeedSection.of(SeedDiagnostics.of({}))[0].figures == ()
    both = SeedDiagnostics.of({"plausible_seeds": [1, 2], "pass_rates": {5: {1: 0.5}}})
    assert len(SeedSection.of(both)[0].figures) == 2


def test_pages_have_their_parts_in_order_and_say_what_they_lack():
    guarantee = GuaranteeSection.of(None)
    public = public_page("today", guarantee, {"<b>": None}, {})
    private = private_page("today", guarantee, [], {}, None, {"<b>": FAILED})
    for words, page in (
        ("<h2>Table &lt;b&gt;</h2>", public),
        ("No synthetic rows, or no columns, to show.", public),
        ("<p>Not computed: it &lt;broke&gt;</p>", private),
        (NO_GUARANTEE, public),
        (NO_GUARANTEE, private),
    ):
        assert words in page
    release = ReleaseSummary(columns=("a",), num_rows=1500, histograms=(), dependence=np.eye(1))
    text = public_page("today", guarantee, {"people": release}, {"b": ["a"]})
    order = ["Table people", "Columns", "Network of the model"]
    assert [text.index(words) for words in order] == sorted(text.index(words) for words in order)
    assert "1,500 synthetic rows." in text
    assert "Dependence between columns" in text


def test_seed_statistics_are_shares_by_powers_of_two():
    rates = {50: {9: 0.5, "[5-11]": 0.75}, 10: {9: 1.0}}
    found = SeedDiagnostics.of({"plausible_seeds": np.array([1, 1, 2, 3, 4]), "pass_rates": rates})
    assert found.sizes == (("1", 0.4), ("2 to 3", 0.4), ("4 to 7", 0.2))
    assert found.ks == (10, 50)
    assert found.pass_rates[0] == ("9", (1.0, 0.5))
    assert found.pass_rates[1][0] == "[5-11]"
    assert np.isnan(found.pass_rates[1][1][0])
    assert SeedDiagnostics.of(None) is None
    assert SeedDiagnostics.of({}).sizes == ()
    for wrong, words in (
        ({"sizes": [1]}, r"has the parts \['sizes'\]"),
        ({"plausible_seeds": [0]}, r"\(0\) must be at least 1"),
        ({"pass_rates": {5: {1: 1.5}}}, r"must be shares in \[0, 1\]"),
    ):
        with pytest.raises(ValueError, match=words):
            SeedDiagnostics.of(wrong)
