"""Tables of counts as others write them, simulated in their form: files, OpenDP, Tumult, SDMX-CSV."""

from __future__ import annotations

import enum

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sdv_plausible import Domain
from sdv_plausible.extensions.published_counts.count_importers import (
    counts_of_opendp,
    counts_of_tumult,
    read_counts,
    read_sdmx,
)

DOMAIN = Domain.from_declarations({"sex": {"range_values": ["f", "m"]}, "age": {"range_values": [0, 10]}})
CELLS = {"sex": ["f", "f", "m", "m"], "age": [0, 10, 0, 10]}
TABLE = pd.DataFrame({**CELLS, "n": [5, 6, 7, 8], "se": [1.0, 1.0, 2.0, 2.0]})
COUNTS, ERRORS = [[5, 6], [7, 8]], [[1, 1], [2, 2]]


def test_a_plain_table_with_standard_errors(tmp_path):
    TABLE.to_csv(tmp_path / "counts.csv", index=False)
    TABLE.to_parquet(tmp_path / "counts.parquet")
    for ending in ("csv", "parquet"):
        path = tmp_path / f"counts.{ending}"
        answer = read_counts(path, "n", scale="se", source="Office").answer(DOMAIN)
        np.testing.assert_array_equal(answer.values, COUNTS)
        np.testing.assert_array_equal(answer.scales, ERRORS)


def test_what_opendp_released():
    released = pl.from_pandas(TABLE.rename(columns={"n": "len", "se": "income"}))
    told = {"column": ["len", "income"], "aggregate": ["Frame Length", "Sum"], "scale": [3.0, 9.0]}
    for law, noise in (("Integer Laplace", "laplace"), ("Float Gaussian", "gaussian")):
        summary = pl.DataFrame({**told, "distribution": [law, "Integer Laplace"]})
        found = counts_of_opendp(released, summary, privacy="epsilon 1")
        assert (found.noise, found.scale) == (noise, 3.0)
        assert (found.columns, found.source) == (("sex", "age"), "OpenDP")
        np.testing.assert_array_equal(found.answer(DOMAIN).values, COUNTS)
    with pytest.raises(ValueError, match=r"must say the noise of 'total'.*query\.summarize"):
        counts_of_opendp(released, summary, "total")


class Mechanism(enum.Enum):
    DISCRETE_GAUSSIAN = 1
    GEOMETRIC = 2
    EXPONENTIAL = 3


def test_what_tumult_released():
    class Spark:
        def toPandas(self):
            return TABLE.drop(columns="se")

    for mechanism, noise, scale in (("DISCRETE_GAUSSIAN", "gaussian", 3.0), ("GEOMETRIC", "laplace", 9.0)):
        told = [{"noise_mechanism": Mechanism[mechanism], "noise_parameter": 9}]
        found = counts_of_tumult(Spark(), told, "n")
        assert (found.noise, found.scale, found.source) == (noise, scale, "Tumult Analytics")
        np.testing.assert_array_equal(found.answer(DOMAIN).values, COUNTS)
    with pytest.raises(ValueError, match="noise_mechanism .'EXPONENTIAL'. must be"):
        counts_of_tumult(Spark(), {"noise_mechanism": "EXPONENTIAL", "noise_parameter": 1}, "n")


ONE = """\
DATAFLOW,FREQ,SEX,AGE,TIME_PERIOD,OBS_VALUE,OBS_STATUS,SE
XX:POP(1.0),A,F,Y0,2020,1,A,1
XX:POP(1.0),A,F,Y0,2021,5,A,1
XX:POP(1.0),A,F,Y10,2021,6,P,1
XX:POP(1.0),A,M,Y0,2021,7,A,2
XX:POP(1.0),A,M,Y10,2021,8,A,2
XX:POP(1.0),A,_T,Y10,2021,14,A,2
XX:POP(1.0),A,M,_T,2021,15,A,2
"""
TWO = (
    ONE.replace("DATAFLOW", "STRUCTURE[|],STRUCTURE_ID,ACTION").replace("XX", "dataflow,XX").replace(",A,", ",I,A,", 1)
    .replace("(1.0),A", "(1.0),I,A").replace(",", ";")
)  # fmt: skip
LABELS = ONE.replace("SEX", "SEX: Sex").replace(",F,", ",F: Women,").replace("2021", "2021: Year 2021")
OPTIONS = {
    "columns": {"SEX": "sex", "AGE": "age"},
    "values": {"SEX": {"F": "f", "M": "m"}, "AGE": {"Y0": 0, "Y10": 10}},
    "where": {"TIME_PERIOD": "2021"},
}


def test_sdmx_csv_of_an_office(tmp_path):
    for text in (ONE, TWO, LABELS, "\ufeff" + ONE):
        (tmp_path / "x.csv").write_text(text, encoding="utf-8")
        found = read_sdmx(tmp_path / "x.csv", **OPTIONS)
        assert (found.noise, found.source) == ("exact", "XX:POP(1.0)")
        np.testing.assert_array_equal(found.answer(DOMAIN).values, COUNTS)
        found = read_sdmx(tmp_path / "x.csv", scale="SE", source="Office", **OPTIONS)
        assert (found.noise, found.source) == ("gaussian", "Office")
        np.testing.assert_array_equal(found.answer(DOMAIN).scales, ERRORS)


def test_a_value_that_is_marked_as_missing_is_none(tmp_path):
    (tmp_path / "x.csv").write_text(ONE.replace("2021,8,A", "2021,0,M"))
    found = read_sdmx(tmp_path / "x.csv", unknown=(2, 4), **OPTIONS).answer(DOMAIN)
    np.testing.assert_array_equal(found.values, [[5, 6], [7, 2]])
    with pytest.raises(ValueError, match="1 cells of 'OBS_VALUE' .*unknown="):
        read_sdmx(tmp_path / "x.csv", **OPTIONS).answer(DOMAIN)


def test_what_cannot_be_is_refused_in_one_line(tmp_path):
    for text, changed, words in (
        ("sex,n\nf,1\n", {}, "must be SDMX-CSV.*read_counts"),
        (ONE, {"where": {}}, "where must choose a code of dimension 'TIME_PERIOD', which has 2020, 2021"),
        (ONE, {"where": {"TIME_PERIOD": "2019"}}, "leaves no line"),
        (ONE, {"where": {"TIME": "2021"}}, "lacks .*'TIME'"),
        (ONE, {"columns": {"SEXE": "sex"}}, "lacks .*'SEXE'.*did you mean 'SEX'"),
        (ONE, {"columns": {"SEX": "sex"}}, "choose a code of dimension 'AGE'"),
    ):
        (tmp_path / "x.csv").write_text(text)
        with pytest.raises(ValueError, match=words) as told:
            read_sdmx(tmp_path / "x.csv", **{**OPTIONS, "values": None, **changed})
        assert "\n" not in str(told.value)
