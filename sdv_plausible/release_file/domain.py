"""The domain in a release file: what each column may hold, and where that knowledge came from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

import pandas as pd

from sdv_plausible.privacy.accounting.losses import InfiniteLoss
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.release_file.ledger import write_learned
from sdv_plausible.release_file.reading import LARGEST, Part
from sdv_plausible.release_file.values import read_value, read_zone, write_value
from sdv_plausible.table.domain import Attribute, Domain, Kind, Provenance
from sdv_plausible.table.forms import LONGEST_NAME
from sdv_plausible.table.rounding import Rounding

FORMAT = r"([^%]|%[-#_^0]?[A-Za-z%]){1,200}"  # of dates as text: directives of one letter, no widths
MOST_DIGITS = 30
MOST_STEPS = 100  # of rounding, and sizes of which it is told
_OPTIONAL = "groups"  # written where there are some: files without are read as before
_FIELDS = tuple(name for name in Attribute.__dataclass_fields__ if name != _OPTIONAL)


def with_charges(domain: Domain, ledger: PrivacyLedger, charge: Mapping[str, str] | None = None) -> Domain:
    """The domain of a fit with what learning it cost, for the next fit that is given it.

    Parameters
    ----------
    domain : Domain
        As the fit found it.
    ledger : PrivacyLedger
        Of the fit. What ended its claim ends that of the domain, if anything of it was learned or its rules
        were changed after a look: columns that stand in for others are of these rules.
    charge : mapping, optional
        ``when`` and ``what`` of the charge in the budget that paid for the fit.
    """
    paid = [e for e in ledger.entries if "domain" in e.parts and e.status == "charged"]
    marked = any(e.name == "rules" and e.status == "no claim" for e in ledger.entries)
    learned = paid or any(a.provenance == "private" for a in domain)
    if domain.learned is not None or not (learned or marked):
        return domain
    ended = (replace(e, losses=(InfiniteLoss(),)) for e in ledger.entries if e.status == "no claim")
    cost = PrivacyLedger(delta=ledger.delta, covers="the domain", neighbours=ledger.neighbours)
    cost.charge(*paid, *ended)
    return replace(domain, learned=write_learned(cost, charge))


def write_domain(domain: Domain) -> list[dict[str, Any]]:
    """Section of a domain: one object per attribute, in column order."""
    return [write_attribute(attribute) for attribute in domain]


def write_attribute(attribute: Attribute) -> dict[str, Any]:
    """Object of one attribute."""
    number = float if attribute.kind == "float" else int
    try:
        values = [write_value(value) for value in attribute.values]
    except ValueError as error:
        raise ValueError(f"column {attribute.name!r}: {error}") from None
    groups = {} if attribute.groups is None else {_OPTIONAL: [int(group) for group in attribute.groups]}
    return {
        **{name: getattr(attribute, name) for name in _FIELDS},
        "values": values,
        "lower": [number(end) for end in attribute.lower],
        "upper": [number(end) for end in attribute.upper],
        "rounding": None if attribute.rounding is None else _write_rounding(attribute.rounding),
        "buckets": None if attribute.buckets is None else [int(bucket) for bucket in attribute.buckets],
        **groups,
    }


def read_domain(part: Part) -> Domain:
    """Domain of a section."""
    attributes = tuple(read_attribute(item) for item in part.items(100_000))
    if not attributes:
        raise part.refuse("must have a column at least")
    return part.checked(lambda: Domain(attributes))


def read_attribute(part: Part) -> Attribute:
    """Attribute of an object."""
    f = part.fields((*_FIELDS, *({_OPTIONAL} & part.entries().keys())))
    kind = f["kind"].choice(get_args(Kind))
    number = _READ[kind]
    found = part.checked(
        lambda: Attribute(
            name=f["name"].text(LONGEST_NAME),
            kind=kind,
            values=tuple(read_value(value) for value in f["values"].items()),
            lower=tuple(number(end) for end in f["lower"].items()),
            upper=tuple(number(end) for end in f["upper"].items()),
            nullable=f["nullable"].flag(),
            decimals=f["decimals"].maybe(lambda p: p.whole(-MOST_DIGITS, MOST_DIGITS)),
            unit=f["unit"].whole(1),
            time_zone=f["time_zone"].maybe(read_zone),
            datetime_format=f["datetime_format"].maybe(read_format),
            rounding=f["rounding"].maybe(_read_rounding),
            buckets=f["buckets"].maybe(lambda p: tuple(b.whole(0) for b in p.items())),
            groups=tuple(g.whole(0) for g in f[_OPTIONAL].items()) if _OPTIONAL in f else None,
            provenance=f["provenance"].choice(get_args(Provenance)),
        )
    )
    _check_arithmetic(part, found)
    return found


def _write_rounding(rounding: Rounding) -> dict[str, Any]:
    weights = [[float(weight) for weight in row] for row in rounding.weights]
    return {"steps": [int(step) for step in rounding.steps], "weights": weights}


def _read_rounding(part: Part) -> Rounding:
    f = part.fields(("steps", "weights"))
    steps = tuple(step.whole(1) for step in f["steps"].items(MOST_STEPS))
    weights = tuple(
        tuple(float(weight.number(0.0)) for weight in row.items(MOST_STEPS))
        for row in f["weights"].items(MOST_STEPS)
    )
    return part.checked(lambda: Rounding(steps, weights))


def _whole(part: Part) -> int:
    return part.whole()


def _moment(part: Part) -> int:
    return part.whole(pd.Timestamp.min.value, pd.Timestamp.max.value)


def _real(part: Part) -> float:
    return part.number()


_READ = {"integer": _whole, "float": _real, "datetime": _moment, "categorical": _real, "ordinal": _real}


def read_format(part: Part) -> str:
    """Format of dates as text that this machine can write."""
    form = part.text(200, FORMAT)
    part.checked(lambda: pd.Timestamp(0).strftime(form))
    return form


def _check_arithmetic(part: Part, attribute: Attribute) -> None:
    """Refuse bins in which no value can be drawn without an overflow."""
    widths = [high - low for low, high in zip(attribute.lower, attribute.upper, strict=True)]
    if attribute.kind == "float":
        largest = max((abs(end) for end in (*attribute.lower, *attribute.upper)), default=0.0)
        if (
            not all(map(math.isfinite, widths))
            or not largest * 10.0 ** max(attribute.decimals or 0, 0) < math.inf
        ):
            raise part.refuse("bins must not be wider than a double, also when they are rounded")
    elif any(width >= LARGEST for width in widths):
        raise part.refuse(f"bins must be narrower than {LARGEST}")
