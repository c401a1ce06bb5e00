"""The columns of the census example.

Table 1 of the paper, with labels after the ACS 2013 PUMS data dictionary.

Source of the labels: US Census Bureau, American Community Survey 2013 Public Use Microdata Sample, data
dictionary (public domain), shortened. A label's position is the column's code. For every column but the hours
it is also the code of the public extract minus one.

Codes that the extract does not document were interpreted as follows; each interpretation agrees with the
extract's shares and associations:

* ``age``: extract code 1 is 17 years. Most people of code 1 have finished grade 11, most of code 2 high
  school. The extract ends at 95, Table 1 at 96.
* ``hours_per_week``: the extract's codes 1..99 are the hours themselves (43% have code 40; 99 means 99 or
  more). Table 1 has 0..99. The survey leaves the hours of people who did not work blank, so 0 is declared
  but never occurs.
* ``occupation``: the 25 three-letter groups of the OCCP dictionary in alphabetical order of their
  abbreviations: BUS, CLN, CMM, CMS, CON, EAT, EDU, ENG, ENT, EXT, FFF, FIN, HLS, LGL, MED, MGR, MIL, OFF,
  PRD, PRS, PRT, RPR, SAL, SCI, TRN.
* ``race``: RAC1P in five groups, in alphabetical order; "Other" holds some other race and two or more
  races.
* ``income_class``: WAGP (wages or salary in the past 12 months) in two classes. The extract does not state
  the threshold. 50,000 dollars, as in UCI Adult, which Table 1 follows, fits the 31% above it.
"""

from __future__ import annotations

from dataclasses import dataclass


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
