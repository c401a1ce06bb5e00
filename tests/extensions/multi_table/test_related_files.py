"""Files of related tables that somebody changed: each lie is refused in one line, before anything is drawn."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from test_related_units import BASES, COLUMNS, DOMAIN, METADATA, MOST

from sdv_plausible import Budget, FamilyRelease
from sdv_plausible.extensions.multi_table.multi_table_synthesizer import (
    PlausibleDeniabilityMultiTableSynthesizer,
)
from sdv_plausible.extensions.multi_table.relationships import MOST_CHILDREN
from sdv_plausible.extensions.verify.independent.all_checks import check
from sdv_plausible.extensions.verify.independent.file_reader import check_sizes
from sdv_plausible.privacy import ledger
from sdv_plausible.privacy.accounting import composition
from sdv_plausible.privacy.accounting.losses import GaussianLoss
from sdv_plausible.release.file import ledger_section as sections
from sdv_plausible.release.file.release import Release

Document = dict[str, Any]
ROLE = {"column": "sex", "code": 0, "often": "at most one"}


@pytest.fixture(scope="module")
def document() -> Document:
    synth = PlausibleDeniabilityMultiTableSynthesizer(
        METADATA, domain=DOMAIN, max_children=MOST, roles={"people": {"sex": {"f": "at most one"}}}
    )
    synth.fit({name: pd.DataFrame(rows, columns=COLUMNS[name]) for name, rows in BASES[2].items()})
    read: Document = json.loads(synth.release().to_bytes())
    return read


def column(said: Document, table: str, name: str) -> Document:
    found: Document = next(one for one in said["tables"][table]["domain"] if one["name"] == name)
    return found


def numbers(table: str, name: str, values: list[int]) -> Callable[[Document], None]:
    return lambda said: column(said, table, name).update(lower=values, upper=values)


def link(number: int, **words: Any) -> Callable[[Document], None]:
    return lambda said: said["links"][number].update(words)


def roles(*given: Document) -> Callable[[Document], None]:
    return lambda said: said["roles"].update(people=list(given))


def key(said: Document) -> None:
    """A modelled column is the key, in the link and in its table: it would repeat."""
    said["tables"]["homes"]["schema"]["primary_key"] = "tenure"
    for one in said["links"][:2]:
        one["primary_key"] = "tenure"


def swapped(said: Document) -> None:
    tables = said["tables"]
    tables["trips"], tables["cars"] = tables["cars"], tables["trips"]
    for name in ("trips", "cars"):
        tables[name]["schema"]["table"] = name


LIES: dict[str, tuple[Callable[[Document], object], str]] = {
    "a home may have a thousand million people": (numbers("homes", "number of people", [0, 1, 10**9]), "of 0 to 2"),
    "fewer than no people": (numbers("homes", "number of people", [-5, 0, 1]), "of 0 to 2"),
    "another number of trips in the middle": (numbers("people", "number of trips", [0, 1, 3]), "of 0 to 2"),
    "other values of the parent": (lambda said: column(said, "people", "homes.tenure").update(values=["a", "b"]),
        "has other values"),
    "other values of the sibling": (lambda said: column(said, "people", "sibling.sex").update(values=["m", "f"]),
        "has other values"),
    "a key that is not there": (link(0, primary_key="lost"), "keys of 'homes'"),
    "a key that is modelled": (key, "keys of 'homes'"),
    "a foreign key that is modelled": (link(2, foreign_key="mode"), "keys of 'people' and 'trips'"),
    "a foreign key that is another's": (link(0, foreign_key="person"), "protect no one family"),
    "more children than any may have": (link(0, most=MOST_CHILDREN + 1), "must be a whole number from 1 to 1000"),
    "more rows than any family may have": (
        lambda said: (
            [one.update(most=MOST_CHILDREN) for one in said["links"]]
            and said["links"].append({**said["links"][-1], "parent": "trips", "child": "stops"})
        ), "at most 1,000,000 rows",
    ),
    "other bounds of the same product": (lambda said: (link(0, most=4)(said), link(2, most=1)(said)), "of 0 to 4"),
    "links from the leaves": (lambda said: said["links"].reverse(), "must lead from the root"),
    "no links": (lambda said: said["links"].clear(), "must be at least one"),
    "a table too few": (lambda said: said["tables"].pop("cars"), "must have exactly the entries"),
    "a table too many": (lambda said: said["tables"].update(more=said["tables"]["cars"]),
        "must have exactly the entries"),
    "two tables exchanged": (swapped, "keys of 'homes' and 'cars'"),
    "a table under another one's name": (lambda said: said["tables"]["cars"]["schema"].update(table="trips"),
        "table 'cars' must be of that name"),
    "another relation": (lambda said: said.update(neighbours="replace_one"), "protect no one family"),
    "another delta": (lambda said: said["tables"]["cars"]["ledger"].update(delta=1e-5), "ledger"),
    "every value has a role": (roles(ROLE, {**ROLE, "code": 1}), "must be left"),
    "a value has two roles": (roles(ROLE, ROLE), "must be left"),
    "a role of the root": (lambda said: said["roles"].update(homes=[ROLE]), "must be one of"),
    "a role of what stands beside": (roles({**ROLE, "column": "homes.tenure"}), "before a child's others"),
}  # fmt: skip


def read(said: Document) -> FamilyRelease:
    return FamilyRelease.from_bytes(json.dumps(said).encode())


def test_the_file_as_it_was_written_is_read_and_draws(document):
    assert [len(table) for table in read(document).sample(0).values()] == [0, 0, 0, 0]
    assert len(read(document).sample(30)["homes"]) == 30


def test_every_lie_is_refused_before_anything_is_drawn(document, tmp_path):
    faults = []
    for lie, (change, words) in LIES.items():
        said = copy.deepcopy(document)
        change(said)
        (tmp_path / "f.release").write_text(json.dumps(said))
        with pytest.raises(ValueError, match="is not a release of related tables, or is damaged") as error:
            FamilyRelease.load(tmp_path / "f.release")
        faults += (
            [] if words in str(error.value) and "\n" not in str(error.value) else [(lie, str(error.value))]
        )
    assert faults == []


def test_memory_is_asked_for_what_is_to_be_drawn_and_not_for_what_was_to_be_expected(document, monkeypatch):
    release, asked = read(document), []
    monkeypatch.setattr(Release, "check_memory", lambda one, number: asked.append(number))
    drawn = release.sample(40)
    assert asked[1:] == [len(drawn[one.child]) for one in release.tree.links]


def kinds(number: int) -> list[Document]:
    """Losses of so many kinds, each of which is composed on a grid of its own."""
    return [{"type": "PureDP", "epsilon": 0.1 + i / 1e6, "count": 1} for i in range(number)]


def noise(number: int) -> list[Document]:
    """Gaussian losses of so many kinds, whose figures take long to find."""
    return [
        {"type": "GaussianLoss", "sensitivity_over_sigma": 6e-5 + i * 1e-9, "count": 1} for i in range(number)
    ]


def with_losses(said: Document, losses: list[Document]) -> Document:
    """Every table's first entry that costs something has more losses."""
    for table in said["tables"].values():
        next(one for one in table["ledger"]["entries"] if one["losses"])["losses"] += losses
    return said


@pytest.mark.parametrize(
    ("losses", "words"),
    [(kinds(15), "at most 40 kinds"), (noise(900), "fewer kinds of Gaussian losses")],
    ids=["pure", "Gaussian"],
)
def test_totals_of_all_tables_that_take_minutes_are_refused_before_any_is_added_up(
    losses, words, document, monkeypatch
):
    """Control: each table alone is within the limits, and so is the honest file."""
    read(document)
    changed = with_losses(copy.deepcopy(document), losses)
    most = [loss for entry in changed["tables"]["homes"]["ledger"]["entries"] for loss in entry["losses"]]
    check_sizes([{"entries": [{"losses": most[:100]}]}])
    for module in (composition, ledger):
        monkeypatch.setattr(module, "compose", lambda *_: pytest.fail("a total was added up"))
    with pytest.raises(ValueError, match=words):
        read(changed)
    (verdict,) = check(json.dumps(changed).encode())
    assert (verdict.about, verdict.state) == ("format", "refused")
    assert "kinds" in verdict.why


def test_tables_that_no_reader_takes_together_cost_nothing(tmp_path, monkeypatch):
    """Whatever limit the reader has: here one that each table keeps, and all together do not."""
    budget = Budget(10.0, 1e-6, tmp_path / "b")
    synth = PlausibleDeniabilityMultiTableSynthesizer(
        METADATA, domain=DOMAIN, max_children=MOST, budget=budget
    )
    planned = [one.losses for one in synth._specs.planned.values()]
    most = max(len({loss for loss in losses if isinstance(loss, GaussianLoss)}) for losses in planned)
    monkeypatch.setattr(sections, "MOST_SIGMAS", most * sections.LEAST_SIGMA)
    assert not any(map(sections.complexity_violation, planned))
    with pytest.raises(ValueError, match="The ledgers of the tables together must have fewer kinds"):
        synth.fit({name: pd.DataFrame(rows, columns=COLUMNS[name]) for name, rows in BASES[2].items()})
    assert not any(budget.charged().values())
