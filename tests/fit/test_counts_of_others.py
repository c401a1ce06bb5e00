"""Tables of counts as others write them, simulated in their form: files, OpenDP, Tumult, SDMX-CSV."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sdv_plausible import Domain
from sdv_plausible.fit.counts_of_others import counts_of_opendp, counts_of_tumult, read_counts, read_sdmx

DOMAIN = Domain.from_declarations({"sex": {"range_values": ["f", "m"]}, "age": {"range_values": [0, 10]}})
TABLE = pd.DataFrame(
    {"sex": ["f", "f", "m", "m"], "age": [0, 10, 0, 10], "n": [5, 6, 7, 8], "se": [1.0, 1.0, 2.0, 2.0]}
)
COUNTS, ERRORS = [[5, 6], [7, 8]], [[1, 1], [2, 2]]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_plain_table_with_standard_errors(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"counts.{ending}"
    TABLE.to_csv(path, index=False) if ending == "csv" else TABLE.to_parquet(path)
    answer = read_counts(path, "n", scale="se", source="Office").answer(DOMAIN)
    np.testing.assert_array_equal(answer.values, COUNTS)
    np.testing.assert_array_equal(answer.scales, ERRORS)


@pytest.mark.parametrize(("law", "noise"), [("Integer Laplace", "laplace"), ("Float Gaussian", "gaussian")])
def test_what_opendp_released(law: str, noise: str) -> None:
    released = pl.from_pandas(TABLE.rename(columns={"n": "len", "se": "income"}))
    summary = pl.DataFrame(
        {
            "column": ["len", "income"], "aggregate": ["Frame Length", "Sum"],
            "distribution": [law, "Integer Laplace"], "scale": [3.0, 9.0],
        }
    )  # fmt: skip
    found = counts_of_opendp(released, summary, privacy="epsilon 1")
    assert (found.noise, found.scale, found.columns, found.source) == (noise, 3.0, ("sex", "age"), "OpenDP")
    np.testing.assert_array_equal(found.answer(DOMAIN).values, COUNTS)
    with pytest.raises(ValueError, match=r"must say the noise of 'total'.*query\.summarize"):
        counts_of_opendp(released, summary, "total")


class Mechanism(enum.Enum):
    DISCRETE_GAUSSIAN = 1
    GEOMETRIC = 2
    EXPONENTIAL = 3


@pytest.mark.parametrize(
    ("mechanism", "noise", "scale"), [("DISCRETE_GAUSSIAN", "gaussian", 3.0), ("GEOMETRIC", "laplace", 9.0)]
)
def test_what_tumult_released(mechanism: str, noise: str, scale: float) -> None:
    class Spark:
        def toPandas(self) -> pd.DataFrame:
            return TABLE.drop(columns="se")

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
OPTIONS: dict[str, Any] = {
    "columns": {"SEX": "sex", "AGE": "age"},
    "values": {"SEX": {"F": "f", "M": "m"}, "AGE": {"Y0": 0, "Y10": 10}},
    "where": {"TIME_PERIOD": "2021"},
}


@pytest.mark.parametrize("text", [ONE, TWO, LABELS, "\ufeff" + ONE], ids=["1", "2", "labels", "mark"])
def test_sdmx_csv_of_an_office(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.csv").write_text(text, encoding="utf-8")
    found = read_sdmx(tmp_path / "x.csv", **OPTIONS)
    assert (found.noise, found.source) == ("exact", "XX:POP(1.0)")
    np.testing.assert_array_equal(found.answer(DOMAIN).values, COUNTS)
    found = read_sdmx(tmp_path / "x.csv", scale="SE", source="Office", **OPTIONS)
    assert (found.noise, found.source) == ("gaussian", "Office")
    np.testing.assert_array_equal(found.answer(DOMAIN).scales, ERRORS)


def test_a_value_that_is_marked_as_missing_is_none(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(ONE.replace("2021,8,A", "2021,0,M"))
    found = read_sdmx(tmp_path / "x.csv", unknown=(2, 4), **OPTIONS).answer(DOMAIN)
    np.testing.assert_array_equal(found.values, [[5, 6], [7, 2]])
    with pytest.raises(ValueError, match="1 cells of 'OBS_VALUE' .*unknown="):
        read_sdmx(tmp_path / "x.csv", **OPTIONS).answer(DOMAIN)


@pytest.mark.parametrize(
    ("text", "changed", "words"),
    [
        ("sex,n\nf,1\n", {}, "must be SDMX-CSV.*read_counts"),
        (ONE, {"where": {}}, "where must choose a code of dimension 'TIME_PERIOD', which has 2020, 2021"),
        (ONE, {"where": {"TIME_PERIOD": "2019"}}, "leaves no line"),
        (ONE, {"where": {"TIME": "2021"}}, "lacks .*'TIME'"),
        (ONE, {"columns": {"SEXE": "sex"}}, "lacks .*'SEXE'.*did you mean 'SEX'"),
        (ONE, {"columns": {"SEX": "sex"}}, "choose a code of dimension 'AGE'"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_line(tmp_path: Path, text: str, changed: Any, words: str) -> None:
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(ValueError, match=words) as told:
        read_sdmx(tmp_path / "x.csv", **{**OPTIONS, "values": None, **changed})
    assert "\n" not in str(told.value)
