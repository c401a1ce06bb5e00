"""One statement of a column: what its published schema accepts and what the program accepts is the same.

But for what no schema can say: those rules are listed, and each is shown to occur.
"""

import copy
import random
import re
from collections import Counter

import pytest
from jsonschema import Draft202012Validator

from sdv_plausible.table.columns.column_document import ATTRIBUTE, SHARED, WORDS, attribute_form
from sdv_plausible.table.columns.domain import Attribute, Domain, read_attribute, write_attribute
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.declared.declarations import read_declarations
from sdv_plausible.table.declared.domain_file import SCHEMA
from tests.schemas import DOMAIN_FILE

NUMBER = 5_000
BASES = [
    {"sdtype": "numerical", "range_min": 0, "range_max": 9},
    {"sdtype": "numerical", "range_min": 0.0, "range_max": 9.5, "decimal_places": 1},
    {"sdtype": "datetime", "range_min": "2020-01-01", "range_max": "2020-02-01", "datetime_format": "%Y-%m-%d"},
    {"sdtype": "categorical", "range_values": ["a", "b", "ab"]},
    {"sdtype": "ordinal", "range_values": [1, 2, 3]},
    {"sdtype": "boolean"},
    {"sdtype": "id", "regex_format": "[A-Z]{3}"},
    {"sdtype": "email", "pii": True},
    {"sdtype": "numerical"},
    {"range_values": ["a", "b"]},
    {"range_min": 0, "range_max": 9},
    {"sdtype": None},
    {},
]  # fmt: skip
DATE, MOMENT = {"date": "2020-01-15"}, {"moment": "2020-01-15T10:00:00", "time_zone": "Europe/Zurich"}
NAIVE, DECIMAL = {"moment": "2020-01-15T10:00:00.5", "time_zone": None}, {"decimal": "1.50"}
NO_DATE, NO_ZONE = {"date": "2020-02-30"}, {**MOMENT, "time_zone": "Nowhere/Else"}
ENDS = [
    0, 9, -3, 5.5, 1e400, 10**400, 2**64, "2020-01-01", "2020-01-20", "soon", DATE, NAIVE, NO_DATE, DECIMAL,
    True, [0], "",
]  # fmt: skip
FLAGS = [True, False, 0, 1, "yes", []]
VALUES = [
    ["a", "b"], ["a", None], [None, None], ["a", "a"], [1, 1.0], [1, True], [2**60, 2**60 + 1], [], ["a", ["b"]], "ab", {"a": 1},
    [DATE], [MOMENT, NAIVE], [DECIMAL], [NO_DATE], [NO_ZONE], [{"date": "2020-01-15", "more": 1}], [{"decimal": "x"}], [10**101], [1.5, "a", False],
]  # fmt: skip
WORTHS = {
    "sdtype": ["numerical", "datetime", "categorical", "ordinal", "boolean", "id", "name", "numeric", "", 5, True],
    "range_values": VALUES,
    "range_min": ENDS,
    "range_max": ENDS,
    "decimal_places": [0, 1, 2.0, 15, 16, 30, -1, 1.5, "2", True],
    "datetime_format": ["%Y-%m-%d", "%Y", "%5Y", "Y", "", 5, "%Y" * 101, "%"],
    "regex_format": ["[A-Z]{3}", "", "a" * 201, "[a-z]{1000000}", "[^a]", "a|b", 5],
    "pii": FLAGS,
    "bins": [1, 3, 3.0, 0, 1.5, True, [0, 5, 9], [0, 9], [0, 9, 5], [0, 7], [0], ["a", "b"], "2", [0.0, 9.5]],
    "special_values": [[99], [99, 99.0], [0.5], ["N"], ["1e3"], [None], [], "N", [99, True], [10**400]],
    "range_is_nullable": FLAGS,
    "rounding": [[5, 15], [5.0, 10], [5, 12], [1, 5], [], [5.5], 5, ["5"]],
    "resolution": [0.25, 1, 0, -1, "D", "15min", "7min", "0min", "100000s", "fast", True, []],
    "parts": ["split", "whole", "half", 1],
    "buckets": [[0] * 10, [0, 0, 1], [0, 1], [-1], [0.5], [0.0] * 10, 3, [2**63] * 3],
    "groups": [1, 1.0, 0, {"x": ["a"]}, {"x": ["a"], "y": ["a"]}, {"x": ["z"]}, {"x": "a"}, ["a"], {}, True, {"x": [None]}],
    "source": ["the law", "", " ", 5],
    "detected": FLAGS,
    "provenance": ["declared", "edited", "private", 1],
    "order": [1, "a", None, []],
    "rangemin": [0],
}  # fmt: skip
UNSAYABLE = {
    "the range is no range": r"range_min <= range_max|must not be after",
    "the ends are no dates in the format": r"must be dates of the years 1678 to 2262",
    "no such day or time zone": r"must be an existing date and time zone",
    "no whole number in the range": r"there must be whole numbers, of 64 bits",
    "edges do not increase": r"at least two increasing edges$",
    "edges do not end where the range does": r"must begin at range_min",
    "a code with a fraction among whole numbers": r"must be whole numbers like the range",
    "a text that writes a number": r"texts that write no number$",
    "steps that do not divide one another": r"each a multiple of the one before, such as \[5, 15, 60\]$",
    "a step that divides no day": r"a part of a day such as '15min'$",
    "a pattern of which SDV makes no text": r"must be a regular expression",
    "values that are equal for pandas": r"': values must be distinct|are equal as doubles",
    "a whole number of more than 100 digits": r"must be a whole number of at most 100 digits",
    "a bucket too many or too few": r"for each of the \d+ codes",
    "groups of other values": r"groups name|groups need range_values|leave groups out",
    "a special date in another format": r"of dates must be texts in the datetime_format|remove parts",
    "no sdtype, and none told": r"its type is unknown|set sdtype",
    "no values fixed": r"gives no values|has no effect",
    "a word for another sdtype than the one told": r"cannot be used with sdtype|of sdtype '\w+' must be|of dates must be",
}


def drawn(rng):
    """A valid declaration with up to three words of another, or with values that are nearly right."""
    spec = copy.deepcopy(rng.choice(BASES))
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        word = rng.choice(list(WORTHS))
        spec[word] = copy.deepcopy(rng.choice([*WORTHS[word], None]))
    return spec


def refusal(spec):
    """What the program says against a declaration in a file; None if it takes it."""
    document = {"schema": SCHEMA, "columns": {"x": spec}}
    try:
        types = column_types(document)
        read_declarations(document, "private", 100, {name: column.words for name, column in types.items()})
    except ValueError as error:
        return str(error)
    return None


def compared(schema, number=NUMBER):
    """How often each rule occurs that the schema cannot say."""
    rng, found = random.Random(0), Counter()
    valid = Draft202012Validator(schema).is_valid
    for _ in range(number):
        spec = drawn(rng)
        accepted, said = valid({"schema": SCHEMA, "columns": {"x": spec}}), refusal(spec)
        if not accepted:
            assert said is not None, f"the schema alone refuses {spec}"
            found["refused by both"] += 1
        elif said is None:
            found["accepted by both"] += 1
        else:
            rules = [rule for rule, words in UNSAYABLE.items() if re.search(words, said)]
            if spec.get("sdtype") is not None:
                rules = [rule for rule in rules if rule != list(UNSAYABLE)[-1]]
            assert rules, f"the program alone refuses {spec}: {said}"
            found[rules[0]] += 1
    return found


def test_schema_and_program_accept_the_same_declarations():
    found = compared(DOMAIN_FILE)
    assert set(found) == {*UNSAYABLE, "accepted by both", "refused by both"}
    assert min(found["accepted by both"], found["refused by both"]) > NUMBER / 10


def test_a_contradiction_is_seen():
    """Planted: more digits, no null among values, any word with any type."""
    for plant in (
        lambda column: column["properties"]["decimal_places"].update(maximum=30),
        lambda column: column["properties"]["range_values"].update(items={"$ref": "#/$defs/value"}),
        lambda column: column["allOf"].clear(),
    ):
        schema = copy.deepcopy(DOMAIN_FILE)
        plant(schema["$defs"]["column"])
        with pytest.raises(AssertionError, match="alone refuses"):
            compared(schema)


ENTRIES = {
    "name": ["x"],
    "kind": ["categorical", "ordinal", "integer", "float", "datetime", "text", None],
    "values": [[], ["a", "b"], ["a", 1.5, DATE, DECIMAL, MOMENT], [None], ["a", "a"], "ab", [NO_DATE], [["a"]]],
    "lower": [[], [0, 5], [0.0, 5.0], [0.5], [None], [10**400], 0, [5, 0]],
    "upper": [[], [4, 9], [4.0, 9.0], [1.5], ["9"], [1e400], [9]],
    "nullable": [True, False, 1, None],
    "decimals": [None, 0, 2.0, 15, 16, -1, 1.5],
    "unit": [1, 1000.0, 0, 2**63, None],
    "time_zone": [None, "Europe/Zurich", "Nowhere/Else", "dateutil/x", 5],
    "datetime_format": [None, "%Y", "%5Y", "%Y" * 101, 5],
    "rounding": [None, {"steps": [1, 5], "weights": [[1, 0.5]]}, {"steps": [1]}, {"steps": [1, 5], "weights": [[-1, 1]]}, {"steps": [2], "weights": [[1]]}, 5],
    "buckets": [None, [0, 0], [0.0, 1], [-1, 0], [0], 5],
    "groups": [None, [0, 0], [0.0, 1], [-1, 0], [0], 5],
    "provenance": ["declared", "private", "inferred", "edited", "guessed", None],
    "more": [1],
}  # fmt: skip
BEYOND = (
    "domain is empty|must be distinct|bins must be increasing|lower and upper must|categories have values|"
    "rounding is for|rounding: steps|buckets .* must name|groups are for|groups .* must name|must be text, and the|"
    r"must be such as|there are$|existing date and time zone$"
)
FINISHED = (
    Attribute(name="x", kind="categorical", values=("a", "b")),
    Attribute(name="x", kind="integer", lower=(0, 5), upper=(4, 9)),
    Attribute(name="x", kind="float", lower=(0.0, 5.0), upper=(4.0, 9.0), decimals=2),
    Attribute(name="x", kind="datetime", lower=(0, 5), upper=(4, 9), datetime_format="%Y"),
)


def test_schema_and_program_accept_the_same_finished_columns():
    rng, found = random.Random(0), Counter()
    defs = {name: form for name, (form, _) in SHARED.items()}
    valid = Draft202012Validator({"$defs": defs, **attribute_form("name", "kind")}).is_valid
    for _ in range(NUMBER):
        entry = write_attribute(rng.choice(FINISHED))
        for name in rng.choices(list(ENTRIES), k=rng.choice([0, 1, 1, 2])):
            entry[name] = copy.deepcopy(rng.choice(ENTRIES[name]))
        try:
            read_attribute(entry)
        except ValueError as error:
            said = bool(re.search(BEYOND, str(error)))
            assert said or not valid(entry), f"the program alone refuses {entry}: {error}"  # noqa: PT017
            found["beyond" if said else "refused"] += 1
        else:
            assert valid(entry), f"the schema alone refuses {entry}"
            found["accepted"] += 1
    assert min(found.values()) > NUMBER / 20
    assert len(found) == 3


def test_every_word_and_entry_is_stated():
    assert all(word.rule and word.form for word in WORDS.values() if word.about != "nothing")
    assert set(ATTRIBUTE) == set(Attribute.__dataclass_fields__)
    assert Domain.from_dict(Domain(FINISHED[:1]).to_dict()) == Domain(FINISHED[:1])
