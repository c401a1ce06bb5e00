"""A simulator of a census table with the schema of the paper's Table 1; see :func:`census_like`.

The simulator is a Bayesian network. ``benchmarks/estimate_census_tables.py`` estimated its conditional
tables. ``census_tables.json`` holds them as integer weights; the weights of each row add up to the table's
``scale``. A table conditions on one parent after the other and backs off: level ``j`` lists the
configurations of the first ``j`` parents that many records support, and any other configuration uses the row
of the previous level. The last column, the income class, depends on all others through a sum of points
(:class:`PointsTable`).
"""

from __future__ import annotations

import json
import operator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from pandas.api.extensions import ExtensionArray


# --- The columns of the census example ------------------------------------------------------------
# Table 1 of the paper, with labels after the ACS 2013 PUMS data dictionary.
#
# Source of the labels: US Census Bureau, American Community Survey 2013 Public Use Microdata Sample, data
# dictionary (public domain), shortened. A label's position is the column's code. For every column but the
# hours it is also the code of the public extract minus one.
#
# Codes that the extract does not document were interpreted as follows; each interpretation agrees with the
# extract's shares and associations:
#
# * ``age``: extract code 1 is 17 years. Most people of code 1 have finished grade 11, most of code 2 high
#   school. The extract ends at 95, Table 1 at 96.
# * ``hours_per_week``: the extract's codes 1..99 are the hours themselves (43% have code 40; 99 means 99 or
#   more). Table 1 has 0..99. The survey leaves the hours of people who did not work blank, so 0 is declared
#   but never occurs.
# * ``occupation``: the 25 three-letter groups of the OCCP dictionary in alphabetical order of their
#   abbreviations: BUS, CLN, CMM, CMS, CON, EAT, EDU, ENG, ENT, EXT, FFF, FIN, HLS, LGL, MED, MGR, MIL, OFF,
#   PRD, PRS, PRT, RPR, SAL, SCI, TRN.
# * ``race``: RAC1P in five groups, in alphabetical order; "Other" holds some other race and two or more
#   races.
# * ``income_class``: WAGP (wages or salary in the past 12 months) in two classes. The extract does not state
#   the threshold. 50,000 dollars, as in UCI Adult, which Table 1 follows, fits the 31% above it.


@dataclass(frozen=True, kw_only=True)
class CensusColumn:
    """One column of the census example."""

    name: str
    survey_variable: str  # name in the ACS 2013 PUMS
    values: range | tuple[str, ...]  # the value of each code 0, 1, ...


WORKCLASS = (
    "Private for-profit",
    "Private not-for-profit",
    "Local government",
    "State government",
    "Federal government",
    "Self-employed (not incorporated)",
    "Self-employed (incorporated)",
    "Unpaid family worker",
)
EDUCATION = (
    "No schooling completed",
    "Nursery school or preschool",
    "Kindergarten",
    *(f"Grade {grade}" for grade in range(1, 12)),
    "Grade 12 (no diploma)",
    "High school diploma",
    "GED or alternative credential",
    "Some college (less than 1 year)",
    "Some college (1 year or more)",
    "Associate's degree",
    "Bachelor's degree",
    "Master's degree",
    "Professional degree",
    "Doctorate",
)
MARITAL_STATUS = ("Married", "Widowed", "Divorced", "Separated", "Never married")
OCCUPATION = (
    "Business operations",
    "Building and grounds cleaning",
    "Computer and mathematical",
    "Community and social services",
    "Construction",
    "Food preparation and serving",
    "Education and library",
    "Architecture and engineering",
    "Arts and media",
    "Extraction",
    "Farming and forestry",
    "Financial",
    "Healthcare support",
    "Legal",
    "Healthcare practitioner",
    "Management",
    "Military",
    "Office and administrative support",
    "Production",
    "Personal care and service",
    "Protective service",
    "Installation and repair",
    "Sales",
    "Science",
    "Transportation",
)
RELATIONSHIP = (
    "Reference person",
    "Husband or wife",
    "Biological child",
    "Adopted child",
    "Stepchild",
    "Brother or sister",
    "Father or mother",
    "Grandchild",
    "Parent-in-law",
    "Child-in-law",
    "Other relative",
    "Roomer or boarder",
    "Housemate or roommate",
    "Unmarried partner",
    "Foster child",
    "Other nonrelative",
    "Institutionalized group quarters",
    "Noninstitutionalized group quarters",
)
RACE = ("American Indian or Alaska Native", "Asian or Pacific Islander", "Black", "Other", "White")
BIRTH_AREA = (
    "US state",
    "Puerto Rico and US island areas",
    "Latin America",
    "Asia",
    "Europe",
    "Africa",
    "Northern America",
    "Oceania and at sea",
)

COLUMNS = (
    CensusColumn(name="age", survey_variable="AGEP", values=range(17, 97)),
    CensusColumn(name="workclass", survey_variable="COW", values=WORKCLASS),
    CensusColumn(name="education", survey_variable="SCHL", values=EDUCATION),
    CensusColumn(name="marital_status", survey_variable="MAR", values=MARITAL_STATUS),
    CensusColumn(name="occupation", survey_variable="OCCP", values=OCCUPATION),
    CensusColumn(name="relationship", survey_variable="RELP", values=RELATIONSHIP),
    CensusColumn(name="race", survey_variable="RAC1P", values=RACE),
    CensusColumn(name="sex", survey_variable="SEX", values=("Male", "Female")),
    CensusColumn(name="hours_per_week", survey_variable="WKHP", values=range(100)),
    CensusColumn(name="birth_area", survey_variable="WAOB", values=BIRTH_AREA),
    CensusColumn(name="income_class", survey_variable="WAGP", values=("<=50K", ">50K")),
)


TABLES_FILE = "census_tables.json"


def _configurations(
    parents: tuple[tuple[int, NDArray[np.int32]], ...], codes: NDArray[np.int16]
) -> NDArray[np.int32]:
    """Number each record's groups of its parents' codes; the last parent varies fastest."""
    configurations = np.zeros(len(codes), np.int32)
    for parent, groups in parents:
        configurations *= groups.max() + 1
        configurations += groups[codes[:, parent]]
    return configurations


@dataclass(frozen=True, kw_only=True, eq=False)
class CensusConditional:
    """The conditional distribution of one column given coarse groups of its parents' codes."""

    column: int  # position of the column that the table draws
    # position of each parent, and the group (0, 1, ...) of each of its codes; the last parent varies fastest
    parents: tuple[tuple[int, NDArray[np.int32]], ...]
    row_of: NDArray[np.int32]  # the row of ``ends`` that each configuration of the parents uses
    # cumulative weights (rows, cardinality), row r shifted by r * scale: the flat array is sorted
    ends: NDArray[np.int32]
    scale: int  # sum of each row's weights

    @classmethod
    def from_document(cls, column: int, document: Mapping[str, Any]) -> CensusConditional:
        """Read a stored table, whose rows omit the last weight."""
        position = {c.name: i for i, c in enumerate(COLUMNS)}
        parents = tuple((position[n], np.array(g, np.int32)) for n, g in document["parents"].items())
        scale = int(document["scale"])
        weights: list[list[int]] = []
        row_of = np.full(1, -1, np.int32)
        for level, stored in enumerate(document["levels"]):
            if level:
                row_of = np.repeat(row_of, parents[level - 1][1].max() + 1)
            configurations = stored["configurations"]
            row_of[configurations] = len(weights) + np.arange(len(configurations))
            weights += stored["rows"]
        ends = np.full((len(weights), len(COLUMNS[column].values)), scale, np.int32)
        ends[:, :-1] = np.cumsum(weights, axis=1)
        ends += scale * np.arange(len(weights), dtype=np.int32)[:, None]
        return cls(column=column, parents=parents, row_of=row_of, ends=ends, scale=scale)

    def rows(self, codes: NDArray[np.int16]) -> NDArray[np.int32]:
        """The table row (int32) that each record's parents select; ``codes`` has shape (n, 11)."""
        return self.row_of[_configurations(self.parents, codes)]

    def draw(self, codes: NDArray[np.int16], rng: np.random.Generator) -> NDArray[np.intp]:
        """Draw the column's code for every record; whole-number tickets make each weight exact."""
        row = self.rows(codes)
        ticket = row * np.int32(self.scale) + rng.integers(self.scale, size=len(codes), dtype=np.int32)
        cell: NDArray[np.intp] = np.searchsorted(self.ends.ravel(), ticket, side="right")
        cell -= row * self.ends.shape[1]
        return cell


@dataclass(frozen=True, kw_only=True, eq=False)
class PointsTable:
    """The distribution of a column of two codes given all others: logistic in points that add up."""

    column: int
    # parents (position, group of each code) and the points of each configuration of these groups, the last
    # parent varying fastest
    terms: tuple[tuple[tuple[tuple[int, NDArray[np.int32]], ...], NDArray[np.int32]], ...]
    start: int  # points of every record
    unit: float  # what one point adds to the log odds of code 1
    scale: int  # probabilities are whole multiples of 1 / scale

    @classmethod
    def from_document(cls, column: int, document: Mapping[str, Any]) -> PointsTable:
        """Read stored points."""
        at = {c.name: i for i, c in enumerate(COLUMNS)}
        terms = tuple(
            (
                tuple((at[n], np.array(document["groups"][n][k], np.int32)) for n, k in term["parents"]),
                np.array(term["points"], np.int32),
            )
            for term in document["terms"]
        )
        start, unit, scale = (document[key] for key in ("start", "unit", "scale"))
        return cls(column=column, terms=terms, start=start, unit=unit, scale=scale)

    def weights(self, codes: NDArray[np.int16]) -> NDArray[np.int32]:
        """The weight of code 1, out of ``scale``, of each record; ``codes`` has shape (n, 11)."""
        points = np.full(len(codes), self.start, np.int32)
        for parents, points_of in self.terms:
            points += points_of[_configurations(parents, codes)]
        return np.rint(self.scale / (1 + np.exp(-self.unit * points))).astype(np.int32)

    def draw(self, codes: NDArray[np.int16], rng: np.random.Generator) -> NDArray[np.int32]:
        """Draw the column's code for every record; whole-number tickets make each weight exact."""
        ticket = rng.integers(self.scale, size=len(codes), dtype=np.int32)
        return (ticket >= self.scale - self.weights(codes)).astype(np.int32)


@cache
def conditional_tables() -> tuple[CensusConditional | PointsTable, ...]:
    """Load the network's tables, parents before children."""
    text = resources.files("sdv_plausible.datasets").joinpath(TABLES_FILE).read_text(encoding="utf-8")
    stored = json.loads(text)["tables"]
    position = {c.name: i for i, c in enumerate(COLUMNS)}
    return tuple(
        (PointsTable if "terms" in document else CensusConditional).from_document(position[name], document)
        for name, document in stored.items()
    )


def census_like_codes(
    num_rows: int = 10_000, random_state: int | None = 0
) -> tuple[NDArray[np.int16], tuple[int, ...]]:
    """Simulate the table of :func:`census_like` as integer codes, without labels.

    Parameters
    ----------
    num_rows : int
        Number of rows, at least 0.
    random_state : int or None
        Seed, at least 0, of the NumPy generator; None for a fresh one.

    Returns
    -------
    codes : numpy.ndarray of int16, shape (num_rows, 11)
        Code ``c`` of a column stands for its ``c``-th value (``age`` 0 is 17 years, ``hours_per_week`` 0 is 0
        hours). The array is stored column by column.
    cardinalities : tuple of 11 int
        Size of each column's declared domain: (80, 8, 24, 5, 25, 18, 5, 2, 100, 8, 2).

    Raises
    ------
    TypeError, ValueError
        If an argument is not an integer, or is negative.
    """
    size = whole_number("num_rows", num_rows, "0 gives an empty table")
    seed = (
        None
        if random_state is None
        else whole_number("random_state", random_state, "None gives a fresh seed")
    )
    rng = np.random.default_rng(seed)
    codes = np.zeros((size, len(COLUMNS)), np.int16, order="F")
    for table in conditional_tables():
        codes[:, table.column] = table.draw(codes, rng)
    return codes, tuple(len(column.values) for column in COLUMNS)


def census_like(
    num_rows: int = 10_000, random_state: int | None = 0, *, categorical_dtype: bool = False
) -> pd.DataFrame:
    """Simulate a census table: 11 columns on working people in the United States in 2013.

    The table is **simulated**. Each row is drawn from a Bayesian network. Its conditional tables were
    estimated from 100,000 person records of a public survey, smoothed and rounded; each number summarises
    many records. No row is a real person, and a row that equals a record of the survey does so by chance.
    The survey is the American Community Survey 2013 Public Use Microdata Sample (US Census Bureau, public
    domain), in the columns and coding of the paper's Table 1.

    Parameters
    ----------
    num_rows : int
        Number of rows, at least 0; 1,500,000 rows take a few seconds.
    random_state : int or None
        Seed, at least 0, of the NumPy generator; None for a fresh one. Equal arguments give equal tables.
    categorical_dtype : bool
        Whether labels are of the pandas type ``category`` (small and fast at millions of rows, with the
        declared domain as categories) instead of strings, as in a CSV file.

    Returns
    -------
    pandas.DataFrame, shape (num_rows, 11)
        ``age`` (years, 17..96), ``workclass`` (8 labels), ``education`` (24), ``marital_status`` (5),
        ``occupation`` (25), ``relationship`` (18, to the household's reference person), ``race`` (5), ``sex``
        (2), ``hours_per_week`` (usual hours of work, 1..99; 99 means 99 or more), ``birth_area`` (8 world
        areas), ``income_class`` (2: yearly wages up to or above 50,000 dollars). No value is missing.

    Raises
    ------
    TypeError, ValueError
        If ``num_rows`` or ``random_state`` is not an integer, or is negative.

    Notes
    -----
    The declared domain (:func:`census_like_metadata`) is wider than the values that occur. Table 1 includes
    0 hours, which the survey does not record for people who worked. "Foster child" is too rare among the
    records to be estimated. The income threshold is inferred, not documented: 31% lie above it, which fits
    50,000 dollars.

    References
    ----------
    Bindschaedler, Shokri, Gunter: Plausible Deniability for Privacy-Preserving Data Synthesis. PVLDB 10(5),
    2017, Table 1.

    Examples
    --------
    >>> from sdv_plausible.datasets import census_like
    >>> census_like(1_000).shape
    (1000, 11)
    """
    codes, _ = census_like_codes(num_rows, random_state)
    columns = {
        column.name: _decoded(codes[:, i], column.values, categorical_dtype=categorical_dtype)
        for i, column in enumerate(COLUMNS)
    }
    table: pd.DataFrame = pd.DataFrame(columns)
    return table


def census_like_metadata() -> dict[str, dict[str, Any]]:
    """Return the public domain of :func:`census_like`, with the keys of SDV 2.0's column metadata.

    Returns
    -------
    dict
        By column: ``sdtype`` ("numerical" or "categorical") and ``range_is_nullable`` (False), with
        ``range_min``, ``range_max`` and ``decimal_places`` for numbers and ``range_values`` for labels. The
        survey's questionnaire and Table 1 determine it, not the rows, so declaring it costs no privacy. Each
        call returns a new dictionary. SDV 1.38 knows only the ``sdtype`` of each entry.
    """
    return {column.name: _described(column.values) for column in COLUMNS}


def _described(values: range | tuple[str, ...]) -> dict[str, Any]:
    if isinstance(values, range):
        numbers = {"range_min": values[0], "range_max": values[-1], "decimal_places": 0}
        return {"sdtype": "numerical", **numbers, "range_is_nullable": False}
    return {"sdtype": "categorical", "range_values": list(values), "range_is_nullable": False}


def _decoded(
    codes: NDArray[np.int16], values: range | tuple[str, ...], *, categorical_dtype: bool
) -> NDArray[np.int64] | ExtensionArray:
    if isinstance(values, range):
        return codes.astype(np.int64) + values[0]
    if categorical_dtype:
        return pd.Categorical.from_codes(codes, categories=pd.Index(values))
    # ``take`` keeps the string dtype of the installed pandas, for empty tables, too.
    labels: ExtensionArray = pd.Series(list(values)).array.take(codes)
    return labels


def whole_number(name: str, value: int, way_out: str) -> int:
    """Check that an argument is an integer of at least 0, of Python or NumPy, and no boolean."""
    try:
        number = None if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise TypeError(f"{name} ({value!r}) must be an integer of at least 0; {way_out}")
    if number < 0:
        raise ValueError(f"{name} ({number}) must be at least 0; {way_out}")
    return number
