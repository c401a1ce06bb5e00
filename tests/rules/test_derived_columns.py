"""Columns that equal another one or are a sum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sdv_plausible.rules import Equal, Formula, Product, Sum
from sdv_plausible.table.columns.domain import Attribute

WHOLE = Attribute(name="a", kind="integer", lower=(0,), upper=(9,), nullable=True)
TENTHS = Attribute(name="b", kind="float", decimals=1, lower=(0.0,), upper=(0.9,))


def test_sums_are_exact_and_missing_where_a_part_is():
    rule, known = Sum("t", ("a", "b")), {"a": WHOLE, "b": TENTHS}
    (made,) = rule.attributes(known, {}, {})
    table = pd.DataFrame({"a": [0, 1, np.nan], "b": [0.3, 0.1, 0.2]})
    total = rule.unfold(table, {}, {"t": made})["t"]
    assert total.tolist()[:2] == [0.3, 1.1]
    assert np.isnan(total[2])
    assert (made.lower, made.upper, made.decimals, made.nullable) == ((0.0,), (9.9,), 1, True)
    assert rule.holds(table.assign(t=total), {}).all()
    assert rule.holds(table.assign(t=[0.3, 1.2, 0.2]), {}).tolist() == [True, False, False]
    assert rule.fits(known, {"t": made})


def test_sums_of_whole_numbers_are_whole():
    """Parts of which all are missing stop nothing: that a learned domain is empty depends on the rows."""
    rule, known = Sum("t", ["a", "c"]), {"a": WHOLE, "c": WHOLE}
    (made,) = rule.attributes(known, {}, {})
    total = rule.unfold(pd.DataFrame({"a": [1, 2], "c": [3, 4]}), {}, {"t": made})["t"]
    assert total.dtype == np.int64
    assert total.tolist() == [4, 6]
    rule, known = Sum("t", ("a", "b")), {"a": Attribute(name="a", kind="integer", nullable=True), "b": TENTHS}
    (made,) = rule.attributes(known, {}, {})
    assert made.nullable
    assert rule.unfold(pd.DataFrame({"a": [np.nan], "b": [0.1]}), {}, {"t": made})["t"].isna().all()


def made_of(rule, known, **columns):
    (made,) = rule.attributes(known, {}, {})
    assert rule.fits(known, {made.name: made})
    table = pd.DataFrame(columns)
    table[made.name] = rule.unfold(table, {}, {made.name: made})[made.name]
    assert rule.holds(table, {}).all()
    present = table[made.name].dropna()
    assert present.between(made.lower[0], made.upper[0]).all()
    return made, table[made.name]


def test_products_are_rounded_as_declared():
    price = Attribute(name="b", kind="float", decimals=2, lower=(-9.99,), upper=(9.99,))
    known, cells = {"a": WHOLE, "b": price}, {"a": [3, 9, np.nan, 9], "b": [0.35, 9.99, 1.0, -9.99]}
    made, exact = made_of(Product("t", ["a", "b"]), known, **cells)
    assert (made.decimals, made.upper, made.nullable) == (2, (9 * 9.99,), True)
    assert exact.tolist()[:2] == [1.05, 89.91]
    assert np.isnan(exact[2])
    made, _ = made_of(rule := Product("t", ["a", "b"], decimal_places=1), known, **cells)
    assert (made.decimals, made.lower, made.upper) == (1, (-89.9,), (89.9,))
    table = pd.DataFrame({"a": [3, 3, 3, 3, 3], "b": [0.35] * 5, "t": [1.0, 1.1, 1.05, 1.2, np.nan]})
    assert rule.holds(table, {}).tolist() == [True, True, False, False, False]  # at a tie either way
    made, whole = made_of(Product("t", ["a", "b"], decimal_places=0), known, a=[3, 9], b=[0.35, 9.99])
    assert (made.kind, whole.tolist(), whole.dtype) == ("integer", [1, 90], np.int64)


def test_the_declared_digits_of_a_product_are_its_rounding():
    rule = Product("t", ["a", "b"])
    assert rule.resolve({"t": {"sdtype": "numerical", "decimal_places": 2}}).decimal_places == 2
    assert rule.resolve({"t": {"sdtype": "numerical", "range_min": 0, "range_max": 9}}).decimal_places == 0
    assert rule.resolve({"t": {"sdtype": "numerical"}}) == rule
    given = Formula("t", {"a": 2}, decimal_places=1)
    assert given.resolve({"t": {"sdtype": "numerical", "decimal_places": 2}}) == given
    assert Sum("t", ["a", "b"]).resolve({"t": {"decimal_places": 0}}) == Sum("t", ["a", "b"])


def test_formulas_have_coefficients_products_and_a_constant():
    known = {"a": WHOLE, "b": TENTHS}
    rule = Formula("t", {"a": -2, ("a", "b"): 1.25, "b": np.float64(1)}, constant=7)
    assert str(rule) == "t = -2 * a + 1.25 * a * b + b + 7"
    made, values = made_of(rule, known, a=[0, 9, np.nan], b=[0.0, 0.9, 0.1])
    assert values.tolist()[:2] == [7.0, 0.025]
    assert (made.decimals, made.lower, made.upper) == (3, (-11.0,), (7 + 1.25 * 9 * 0.9 + 0.9,))
    made, values = made_of(Formula("t", {"a": 3}, -1), known, a=[0, 9])
    assert (made.kind, values.dtype, values.tolist()) == ("integer", np.int64, [-1, 26])
    far = Attribute(name="a", kind="float", lower=(-1e300,), upper=(1e300,))
    near = {"a": far, "b": replace(far, name="b")}
    made_of(Formula("t", {("a", "b"): 2.0}, decimal_places=15), near, a=[1e300, 1e10, 0.1], b=[1.0, 1e5, 0.2])
    made_of(Formula("t", {("a", "b"): -1e300, "a": 1e300}), near, a=[1e300, -1e300, 0], b=[1e300, 1e300, 0])
    far = Attribute(name="a", kind="integer", lower=(0,), upper=(2**62,))
    many = {name: replace(far, name=name) for name in map(str, range(40))}
    made_of(Product("t", list(many)), many, **{name: [2**62] for name in many})


def test_small_differences_of_large_numbers_keep_the_rule():
    known = {n: Attribute(name=n, kind="float", decimals=2, lower=(0.0,), upper=(1e9,)) for n in "ab"}
    _, values = made_of(Formula("t", {"a": 1, "b": -1}), known, a=[1e9 + 0.01], b=[1e9])
    assert values.tolist() == [0.01]


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (lambda: Product("t", ["a"]), "at least 2"),
        (lambda: Product("t", ["a", "t"]), "distinct"),
        (lambda: Product("t", ["a", "b"], decimal_places=-1), "decimal_places"),
        (lambda: Formula("t", {}), "must be a mapping"),
        (lambda: Formula("t", "a * b"), "must be a mapping"),
        (lambda: Formula("t", {"a": 0}), "other than 0"),
        (lambda: Formula("t", {"a": "1"}), "finite numbers"),
        (lambda: Formula("t", {"a": 10**400}), "finite numbers"),
        (lambda: Formula("t", {"a": 1}, constant=float("inf")), "constant"),
        (lambda: Formula("t", {("a", "t"): 1}), "distinct"),
        (lambda: Formula("t", [("a", 1), (["a"], 2)]), "add their coefficients"),
        (lambda: Formula("t", {"a": 1}, decimal_places=16), "decimal_places"),
    ],
)
def test_what_is_no_formula(wrong, match):
    with pytest.raises(ValueError, match=match):
        wrong()


def test_copies_in_their_own_format():
    rule, ends = Equal("copy", "day"), {"lower": (0,), "upper": (10**18,)}
    day = Attribute(name="day", kind="datetime", datetime_format="%Y-%m-%d", nullable=True, **ends)
    (made,) = rule.attributes({"day": day}, {}, {"copy": {"datetime_format": "%d.%m.%y"}})
    formats = {"day": "%Y-%m-%d", "copy": "%d.%m.%y"}
    table = pd.DataFrame({"day": ["2001-02-03", None]})
    found = rule.unfold(table, formats, {"copy": made})["copy"]
    assert found.tolist() == ["03.02.01", None]
    assert rule.holds(table.assign(copy=found), formats).all()
    assert rule.holds(table.assign(copy=["04.02.01", "04.02.01"]), formats).tolist() == [False, False]
    (zoned,) = rule.attributes({"day": day}, {}, {"copy": {"time_zone": "Asia/Tokyo"}})
    found = rule.unfold(table, {**formats, "copy": None}, {"copy": zoned})["copy"]
    assert found[0] == pd.Timestamp("2001-02-03", tz="UTC")


def test_copies_of_values_and_wrong_columns():
    table = pd.DataFrame({"x": [1.0, np.nan, 2.0], "y": pd.array([1, None, 3], dtype="Int64")})
    assert Equal("y", "x").holds(table, {}).tolist() == [True, True, False]
    assert Equal("y", "x").unfold(table, {}, {})["y"].equals(table["x"])
    for wrong in (lambda: Sum("t", ["a"]), lambda: Sum("a", ["a", "b"]), lambda: Equal("a", "a")):
        with pytest.raises(ValueError, match="distinct|at least"):
            wrong()
