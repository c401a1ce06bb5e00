"""A simulator of households and their people, with known associations; see :func:`families_like`.

All parameters were chosen, not estimated from data. The associations that a multi-table synthesizer must
preserve are therefore known: between a household and its people, and among its people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sdv_plausible.datasets.census import whole_number

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pandas.api.extensions import ExtensionArray

REGIONS, TENURES = ("north", "south", "east", "west"), ("own", "rent")
HEAD, SPOUSE, CHILD, OTHER = range(4)
RELATIONS, SEXES = ("head", "spouse", "child", "other"), ("f", "m")
EDUCATIONS, EMPLOYED = ("none", "school", "college", "degree"), ("yes", "no")
SINGLE, COUPLE, FAMILY, SHARED = range(4)  # latent kinds of households
MOST_INCOME, OLDEST, ADULT, GROWN, PENSION = 400_000, 95, 18, 16, 67
MOST_HOUSEHOLDS = 10**7  # limited by the digits of the ids


def families_like(num_households: int = 5_000, random_state: int | None = 0) -> dict[str, pd.DataFrame]:
    """Simulate two related tables: households, and the people in them.

    All rows are **artificial**: the simulator's parameters were chosen, not estimated from data.

    Parameters
    ----------
    num_households : int
        Number of households, 0 to 10,000,000. 20,000 households, with 47,500 people, take less than a second.
    random_state : int or None
        Seed, at least 0, of the NumPy generator; None for a random one. Equal arguments give equal tables.

    Returns
    -------
    dict of DataFrame
        ``households``: ``household_id``, ``region`` (4 labels), ``tenure`` (own or rent), ``rooms`` (1..9),
        ``income`` (per year, rounded to hundreds, 0..400,000). ``persons``, in random order: ``person_id``,
        ``household_id``, ``relation`` (head, spouse, child, other), ``age`` (years, 0..95), ``sex``,
        ``education`` (4 labels), ``employed``. No value is missing. A household has one to eleven people,
        exactly one head and at most one spouse.

    Raises
    ------
    TypeError, ValueError
        If an argument is not an integer, is negative, or is too large.

    Notes
    -----
    Associations within a household: partners have similar ages, mostly different sexes and often the same
    education; each child is about three years younger than the one before; people who share a household have
    similar ages. Associations between a household and its people: owners are older, families have more rooms,
    income increases with the head's education and with the number of employed adults, and the north has more
    degrees and fewer owners.

    Examples
    --------
    >>> from sdv_plausible.datasets import families_like
    >>> sorted(families_like(1_000))
    ['households', 'persons']
    """
    n = whole_number("num_households", num_households, "0 gives empty tables")
    if n > MOST_HOUSEHOLDS:
        raise ValueError(f"num_households ({n:,}) must be at most {MOST_HOUSEHOLDS:,}; try 20000")
    if random_state is not None:
        random_state = whole_number("random_state", random_state, "None gives a fresh seed")
    rng = np.random.default_rng(random_state)
    region = rng.choice(4, n, p=[0.2, 0.35, 0.3, 0.15])
    owned = rng.random(n) < np.where(region == 0, 0.4, 0.68)
    kind = rng.choice(4, n, p=[0.3, 0.27, 0.35, 0.08])
    people = _people(kind, owned, region == 0, rng)
    home, adults_at_work = people["home"], np.zeros(n)
    np.add.at(adults_at_work, home, people["employed"] == 0)
    head = people["education"][:n]
    log_income = 9.9 + 0.4 * owned + 0.2 * head + 0.3 * np.minimum(adults_at_work, 3) + rng.normal(0, 0.4, n)
    income = np.clip(np.round(np.exp(log_income), -2), 0, MOST_INCOME).astype(np.int64)
    rooms = 1.5 + 1.5 * owned + 0.4 * np.bincount(home, minlength=n) + rng.normal(0, 0.9, n)
    ids = _ids("H", n, 8)
    order = rng.permutation(len(home))
    households = {
        "household_id": ids,
        "region": _labels(region, REGIONS),
        "tenure": _labels(1 - owned, TENURES),
        "rooms": np.clip(np.round(rooms), 1, 9).astype(np.int64),
        "income": income,
    }
    persons = {
        "person_id": _ids("P", len(order), 9),
        "household_id": ids.take(home[order]),
        "relation": _labels(people["relation"][order], RELATIONS),
        "age": people["age"][order].astype(np.int64),
        "sex": _labels(people["sex"][order], SEXES),
        "education": _labels(people["education"][order], EDUCATIONS),
        "employed": _labels(people["employed"][order], EMPLOYED),
    }
    return {"households": pd.DataFrame(households), "persons": pd.DataFrame(persons)}


def _people(
    kind: NDArray[np.int64], owned: NDArray[np.bool_], north: NDArray[np.bool_], rng: np.random.Generator
) -> dict[str, NDArray[np.int64]]:
    """Codes of all people (heads, spouses, children, others), and the index of each one's household."""
    n = len(kind)
    middle = np.select([kind == COUPLE, kind == SINGLE], [55, 42], 39) + 10 * (owned & (kind == SINGLE))
    age = np.clip(rng.normal(middle, 13), ADULT, OLDEST)
    sex, education = rng.integers(0, 2, n), _educations(n, 0.12 * north - 0.003 * (age - 45), rng)

    married = np.flatnonzero((kind == COUPLE) | ((kind == FAMILY) & (rng.random(n) < 0.8)))
    spouse_age = np.clip(age[married] + rng.normal(-1, 3, len(married)), ADULT, OLDEST)
    spouse_sex = np.where(rng.random(len(married)) < 0.96, 1 - sex[married], sex[married])
    spouse_education = np.where(
        rng.random(len(married)) < 0.6, education[married], _educations(len(married), 0, rng)
    )

    num_children = np.where(kind == FAMILY, np.minimum(1 + rng.poisson(0.9, n), 8), 0)
    parent = np.repeat(np.arange(n), num_children)
    birth_order = np.arange(len(parent)) - np.repeat(np.cumsum(num_children) - num_children, num_children)
    first_age = age - rng.integers(20, 39, n)
    child_age = np.clip(first_age[parent] - 3 * birth_order + rng.integers(-1, 2, len(parent)), 0, 50)
    adult_education = np.where(
        rng.random(len(parent)) < 0.4, education[parent], _educations(len(parent), 0, rng)
    )
    child_education = np.where(child_age < GROWN, 0, np.maximum(adult_education, 1))

    grandparent = (kind == FAMILY) & (rng.random(n) < 0.06)
    sharing = np.where(kind == SHARED, np.minimum(1 + rng.poisson(0.8, n), 6), 1 * grandparent)
    host = np.repeat(np.arange(n), sharing)
    shift = np.where(kind[host] == FAMILY, 26, 0)
    other_age = np.clip(age[host] + shift + rng.normal(0, 5, len(host)), ADULT, OLDEST)
    same_education = rng.random(len(host)) < 0.5
    other_education = np.where(same_education, education[host], _educations(len(host), 0, rng))

    people = {
        "home": np.concatenate([np.arange(n), married, parent, host]),
        "relation": np.repeat([HEAD, SPOUSE, CHILD, OTHER], [n, len(married), len(parent), len(host)]),
        "age": np.concatenate([age, spouse_age, child_age, other_age]).astype(np.int64),
        "sex": np.concatenate(
            [sex, spouse_sex, rng.integers(0, 2, len(parent)), rng.integers(0, 2, len(host))]
        ),
        "education": np.concatenate([education, spouse_education, child_education, other_education]),
    }
    may_work = (people["age"] >= ADULT) & (people["age"] < PENSION)
    chance = 0.6 + 0.08 * people["education"] + 0.15 * (rng.random(n)[people["home"]] < 0.5)
    people["employed"] = 1 - (may_work & (rng.random(len(may_work)) < chance - 0.1))
    return people


def _educations(n: int, shift: float | NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw codes of education by inversion; ``shift`` is added to the uniform draws."""
    return np.searchsorted([0.15, 0.55, 0.82], np.clip(rng.random(n) + shift, 0, 1)).astype(np.int64)


def _labels(codes: NDArray[Any], values: tuple[str, ...]) -> ExtensionArray:
    """Labels of codes, in the string dtype of the installed pandas even if there are none."""
    labels: ExtensionArray = pd.Series(list(values)).array.take(codes.astype(np.int64))
    return labels


def _ids(letter: str, n: int, digits: int) -> ExtensionArray:
    """Consecutive ids: a letter and zero-padded digits."""
    ids: ExtensionArray = pd.Series([f"{letter}{i:0{digits}d}" for i in range(n)], dtype=object).array
    return ids


def families_like_domain() -> dict[str, dict[str, dict[str, Any]]]:
    """Return the public domain of :func:`families_like`.

    Returns
    -------
    dict
        Declarations by table and column, with the keys of
        :func:`~sdv_plausible.datasets.census_like_metadata`. Key columns are not declared. Each call returns
        a new dictionary.
    """

    def number(least: int, most: int) -> dict[str, Any]:
        bounds = {"range_min": least, "range_max": most, "decimal_places": 0}
        return {"sdtype": "numerical", **bounds, "range_is_nullable": False}

    def label(values: tuple[str, ...]) -> dict[str, Any]:
        return {"sdtype": "categorical", "range_values": list(values), "range_is_nullable": False}

    return {
        "households": {
            "region": label(REGIONS),
            "tenure": label(TENURES),
            "rooms": number(1, 9),
            "income": number(0, MOST_INCOME),
        },
        "persons": {
            "relation": label(RELATIONS),
            "age": number(0, 99),
            "sex": label(SEXES),
            "education": label(EDUCATIONS),
            "employed": label(EMPLOYED),
        },
    }


def families_like_metadata() -> dict[str, Any]:
    """Return SDV metadata of both tables of :func:`families_like`, as a document.

    Returns
    -------
    dict
        Input of ``sdv.metadata.Metadata.load_from_dict``: types of all columns, formats of the ids, and the
        relationship between the tables. Each call returns a new dictionary.
    """
    household = {"sdtype": "id", "regex_format": "H[0-9]{8}"}
    keys = {
        "households": {"household_id": household},
        "persons": {
            "person_id": {"sdtype": "id", "regex_format": "P[0-9]{9}"},
            "household_id": dict(household),
        },
    }
    return {
        "METADATA_SPEC_VERSION": "V1",
        "tables": {
            table: {
                "primary_key": next(iter(keys[table])),
                "columns": keys[table] | {name: {"sdtype": spec["sdtype"]} for name, spec in columns.items()},
            }
            for table, columns in families_like_domain().items()
        },
        "relationships": [
            {
                "parent_table_name": "households",
                "parent_primary_key": "household_id",
                "child_table_name": "persons",
                "child_foreign_key": "household_id",
            }
        ],
    }
