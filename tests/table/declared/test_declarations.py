"""The `domain` argument: every form it may have, what is left to learn, and that no detected metadata declares anything."""

import json
from dataclasses import replace

import pytest

from sdv_plausible.table.columns.domain import Attribute, Domain
from sdv_plausible.table.declared.declarations import USUAL_SIZES, Declarations, read_declarations
from sdv_plausible.table.declared.specifications import MODELLED_SDTYPES
from sdv_plausible.table.learned.private_domain import DomainPlan, LearningBudget

SPECS = {
    "age": {
        "sdtype": "numerical", "range_min": 17, "range_max": 80, "decimal_places": 0,
        "range_is_nullable": False,
    },
    "city": {"sdtype": "categorical", "range_values": ["Bern", "Chur"]},
    "day": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
    "key": {"sdtype": "id"},
}  # fmt: skip
AGE = Attribute(name="age", kind="integer", lower=(0, 50), upper=(49, 99))


def read(domain, undeclared="infer", max_bins=100, specs=SPECS):
    return read_declarations(domain, undeclared, max_bins, specs)


def test_nothing_is_declared_by_ranges_in_the_metadata_alone():
    """They may have been detected, that is, read off the rows. Control: the user may say that they are declared."""
    assert read(None).attributes == {}
    found = read({"age": {"range_min": 0, "range_max": 99}})
    assert list(found.attributes) == ["age"]
    assert (found.attributes["age"].upper[-1], found.attributes["age"].nullable) == (99, False)
    with pytest.raises(ValueError, match="'city'.*gives no values"):
        read({"city": {}})
    vouched = read("written")
    assert set(vouched.attributes) == {"age", "city"}
    assert vouched.attributes["age"].upper[-1] == 80
    assert vouched.never_missing == {"age"}


def test_types_and_formats_of_dates_are_schema():
    found = read({"day": {"range_min": "2020-01-01", "range_max": "2020-01-05"}})
    assert found.known("day").datetime_format == "%Y-%m-%d"
    years = {"day": {"range_min": "2020", "range_max": "2021", "datetime_format": "%Y"}}
    assert read(years, specs={"day": {"sdtype": "datetime"}}).known("day").datetime_format == "%Y"
    with pytest.raises(ValueError, match="the domain says datetime_format '%Y', the metadata '%Y-%m-%d'"):
        read(years)


def test_every_form_says_the_same(tmp_path):
    mapping = {"age": {"range_min": 0, "range_max": 3}}
    domain = Domain.from_declarations(mapping, {"age": "numerical"}, 2)
    (tmp_path / "mapping.json").write_text(json.dumps(mapping))
    domain.save(tmp_path / "domain.json")
    for given in (
        mapping,
        domain,
        tmp_path / "domain.json",
        tmp_path / "mapping.json",
        str(tmp_path / "domain.json"),
    ):
        assert read(given, max_bins=2) == Declarations({"age": domain["age"]}, "infer")


def test_what_another_fit_learned_or_inferred_is_not_declared():
    private, inferred = (replace(AGE, provenance=p) for p in ("private", "inferred"))
    assert read(Domain((private,), learned={})).attributes["age"].provenance == "private"
    for given in (Domain((private,)), {"age": private}):
        with pytest.raises(ValueError, match="its cost .* is missing"):
            read(given)
    for given in (Domain((inferred,)), {"age": inferred}):
        assert read(given).attributes["age"].provenance == "inferred"


def test_other_arguments():
    for name, value in (("undeclared", "guess"), ("undeclared", None), ("max_bins", 1), ("max_bins", 2.0), ("max_bins", True)):  # fmt: skip
        with pytest.raises(ValueError, match=rf"^{name} \("):
            read(None, **{name: value})


MODELLED = {name: spec for name, spec in SPECS.items() if spec["sdtype"] in MODELLED_SDTYPES}


def test_only_undeclared_columns_are_learned():
    """And not those that a user's own transformer has changed."""
    declared = Declarations({"age": AGE}, "private", frozenset({"city"}))
    specs = {**MODELLED, "other": {"sdtype": "numerical", "transformed": True}}
    made = declared.plan_private(specs, LearningBudget.of(1.0, 1e-6))
    assert dict(made.columns) == {"city": "categorical", "day": "datetime"}
    whole, never = LearningBudget.of(1.0, 1e-6), frozenset({"city"})
    assert made == DomainPlan.make(made.columns, whole, declared=2, never_missing=never)
    assert declared.plan_private({"age": SPECS["age"]}, LearningBudget.of(1.0, 1e-6)).entries() == []
    assert (
        replace(declared, undeclared="infer").plan_private(specs, LearningBudget.of(1.0, 1e-6)).entries()
        == []
    )


def test_for_planning_undeclared_columns_stand_in():
    """One code each, and where it will come from; for a forecast, a usual number of codes."""
    declared = Declarations({"age": AGE}, "private")
    planned = declared.planned(MODELLED, private=["city"])
    assert planned.names == ("age", "city", "day")
    assert planned["age"] is AGE
    assert [a.provenance for a in planned] == ["declared", "private", "inferred"]
    assert planned.cardinalities == (2, 1, 1)
    assert declared.assumed(MODELLED).cardinalities == (2, USUAL_SIZES["categorical"], USUAL_SIZES["datetime"])  # fmt: skip
