"""What cannot be read, or lies where no real value does, is not taken for equal."""

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.evaluation import ModelAccuracy, TotalVariationDistance
from sdv_plausible.evaluation.classifiers import target_classes
from sdv_plausible.evaluation.table_pair import prepare_pair, to_numbers, with_parsed_datetimes

DAYS = pd.Series(pd.date_range("2020-01-01", periods=200)).dt.strftime("%Y-%m-%d")


def described(sdtype, **more):
    return {"columns": {"x": {"sdtype": sdtype, **more}}}


def distance(real, other, sdtype="numerical", **more):
    frames = [pd.DataFrame({"x": cells}) for cells in (real, other)]
    return TotalVariationDistance.compute(*frames, described(sdtype, **more))


def test_a_column_that_cannot_be_read_is_an_error_not_a_perfect_score():
    other = ["1999-01-01"] * 200
    said = r"column 'x': 200 of 200 real values, .* the format '%d.%m.%Y': give its datetime_format"
    with pytest.raises(ValueError, match=said):
        distance(DAYS, other, "datetime", datetime_format="%d.%m.%Y")
    assert distance(DAYS, other, "datetime", datetime_format="%Y-%m-%d") == 1
    with pytest.raises(ValueError, match="cannot be read as numerical: turn it into numbers"):
        distance(["1,00,000"] * 9, ["2,00,000"] * 9)


def test_a_few_odd_cells_are_a_value_of_their_own_and_numbers_where_no_real_one_is_are_far():
    rng, real = np.random.default_rng(0), [*range(60), *["n/a"] * 40]
    assert distance(real, real) == 0
    assert distance(real, [*range(60), *[None] * 40]) == pytest.approx(0.4)
    assert distance(np.zeros(500), rng.normal(0, 100, 500)) == 1
    assert distance(np.zeros(500), np.zeros(500)) == 0
    assert distance([1, 2, 3, 4, 5, 6] * 50, [1, 2, 3, 3.5, 5, 99] * 50) == pytest.approx(1 / 3)
    assert distance(*rng.normal(size=(2, 20_000))) < 0.03  # continuous: inside bins all is well


def test_odd_tables_are_named():
    good = pd.DataFrame({"x": [1, 2], "y": [3, 4]})
    with pytest.raises(ValueError, match=r"real_data has the columns \['x'\] more than once"):
        prepare_pair(good.set_axis(["x", "x"], axis=1), good)
    by_number = good.set_axis([0, 1], axis=1)
    columns = {"columns": {"0": {"sdtype": "numerical"}, "1": {"sdtype": "numerical"}}}
    assert TotalVariationDistance.compute(by_number, by_number, columns) == 0
    with pytest.raises(ValueError, match=r"metadata names the columns \[0\]: .* write '0' for the column 0"):
        prepare_pair(by_number, by_number, {"columns": {0: {"sdtype": "numerical"}}})


@pytest.mark.parametrize("where", ["real_data", "synthetic_data", "holdout"])
def test_lists_are_named_wherever_they_are(where):
    tables = dict.fromkeys(("real_data", "synthetic_data", "holdout"), pd.DataFrame({"x": ["a"] * 20_000}))
    tables[where] = pd.DataFrame({"x": [*["a"] * 19_999, [1]]})
    with pytest.raises(
        ValueError, match=f"column 'x' of {where} holds values of type list, which cannot be compared: turn"
    ):
        ModelAccuracy.compute(**tables)


@pytest.mark.parametrize(("unreadable_first", "share", "refused"), [(True, 0.4, False), (False, 0.6, True)])
def test_most_means_most_of_the_column_not_of_its_first_rows(unreadable_first, share, refused):
    odd = int(30_000 * share)
    cells = [*["1,"] * odd, *["1"] * (30_000 - odd)]
    cells = cells if unreadable_first else cells[::-1]
    if refused:
        with pytest.raises(ValueError, match="cannot be read as numerical"):
            distance(cells, cells)
    else:
        assert distance(cells, [1] * 30_000) == pytest.approx(share)


def test_an_unreadable_target_is_a_class_apart_from_missing():
    real = pd.DataFrame({"x": [1, 2, 3, 4, 5]})
    part = pd.DataFrame({"x": [1, 5, None, "n/a"]}, dtype=object)
    classes = target_classes(prepare_pair(real, real, described("numerical")), "x", [real, part])
    assert classes[1].tolist() == [1, 2, 0, 3]


def test_moments_are_read_once_and_only_where_all_can_be():
    day = {"sdtype": "datetime", "datetime_format": "%d.%m.%Y"}
    metadata = {"columns": {"when": day, "odd": day, "word": {"sdtype": "categorical"}}}
    days = ["24.12.2013", None, "01.02.1969"], ["24.12.2013", "soon", "01.02.1969"]
    frame = pd.DataFrame({"when": days[0], "odd": days[1], "word": list("abc")})
    read = with_parsed_datetimes(frame, metadata)
    assert read["when"].tolist()[::2] == [pd.Timestamp("2013-12-24"), pd.Timestamp("1969-02-01")]
    assert read["when"].isna().tolist() == [False, True, False]
    assert read[["odd", "word"]].equals(frame[["odd", "word"]])
    for again in (read, frame):
        pair = prepare_pair(again, frame, metadata)
        for name in metadata["columns"]:
            assert pair.real[name].equals(pair.synthetic[name])


def test_what_is_read_once_reads_as_it_did():
    """Whatever the year and the fraction of a second: doubles hold them to the microsecond."""
    texts = ["1934-05-25 04:42:58.857227", "1969-12-31 23:59:59.999999", "2112-07-27 07:33:53.222052", None]
    column, form = pd.Series(texts, dtype=object), "%Y-%m-%d %H:%M:%S.%f"
    metadata = {"columns": {"t": {"sdtype": "datetime", "datetime_format": form}}}
    read = with_parsed_datetimes(pd.DataFrame({"t": column}), metadata)["t"]
    expected, _ = to_numbers(column, "datetime", form)
    np.testing.assert_array_equal(to_numbers(read, "datetime")[0], expected)
