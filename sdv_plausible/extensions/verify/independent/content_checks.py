"""Checks of domain, rules, seeds and model: complete, consistent with each other, and paid for."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.extensions.verify.independent.ledger_checks import has_claim, is_reused_domain, losses_of
from sdv_plausible.extensions.verify.independent.verdict import (
    ContradictionError,
    ProtectedUnit,
    UncheckableError,
    escape_controls,
    quoted,
)

COUNTED = ("runs", "frequent points", "rounding")
FIXED = 6  # decimals up to which points are multiples of the last digit
EARLIEST = 1 - 2**63  # earliest timestamp in 64 bits, in nanoseconds
DAY = 86_400 * 10**9  # nanoseconds
_NEAR = 1e-12  # relative


def value_of(point: int, details: Mapping[str, Any]) -> float:
    """Number, or nanoseconds since 1970, of a grid point."""
    decimals, unit = details["decimals"], details["unit"]
    if details["kind"] == "datetime":
        return point * unit if details.get("shown") != "months" else _first_of_month(point)
    if details["kind"] == "integer":
        return point * unit
    if decimals is not None and decimals <= FIXED:
        return point / 10**decimals
    size = float(struct.unpack("<d", struct.pack("<q", abs(point)))[0])  # finer grids count every double
    return math.copysign(size, point)


def _first_of_month(point: int) -> int:
    return int(np.datetime64(point, "M").astype("M8[D]").astype(np.int64)) * DAY


def _ends(details: Mapping[str, Any], first: int, last: int) -> tuple[float, float]:
    """Ends of a run; a month ends on its last day."""
    low, high = value_of(first, details), value_of(last, details)
    if details.get("shown") == "months":
        high = max(value_of(last + 1, details) - DAY, EARLIEST)
    return low, high


def check_numbers(column: Any, answers: Sequence[Any], settings: Any) -> None:
    """Reject a column whose digits or bins differ from those of its answers."""
    questions = [answer["details"] for answer in answers if answer["kind"] in COUNTED]
    if not questions:
        return
    name, points = quoted(column["name"]), {tuple(_grid(details)) for details in questions}
    if len(points) > 1:
        raise ContradictionError(f"the answers about column {name} count several kinds of points")
    kind, decimals, unit, _ = points.pop()
    rounds = settings["enforce_rounding"]
    if (
        column["kind"] != kind
        or column["unit"] != unit
        or column.get("decimals") != (decimals if rounds else None)
    ):
        raise ContradictionError(f"column {name} has another kind, digits or unit than its answers counted")
    runs = [details for details in questions if "first" in details and len(details["first"])]
    if not runs:
        return
    ends = [_ends(details, int(details["first"].min()), int(details["last"].max())) for details in runs]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    single = {value_of(int(point), details) for details in runs for point in details["without"]}
    bins = zip(*(_on_clocks(column, column[end]) for end in ("lower", "upper")), strict=True)
    for first, last in bins:
        inside = low - _NEAR * abs(low) <= first <= last <= high + _NEAR * abs(high)
        if not inside and not (first == last and first in single):
            raise ContradictionError(f"column {name} has a bin beyond all that its answers counted")


def _on_clocks(column: Any, ends: Sequence[float]) -> list[float]:
    """Ends of bins as they were counted: in local time if the column has a time zone."""
    if (zone := column.get("time_zone")) is None:
        return list(ends)
    return [pd.Timestamp(end, tz="UTC").tz_convert(zone).tz_localize(None).value for end in ends]


def _grid(details: Mapping[str, Any]) -> Iterator[Any]:
    """The details that define a query's grid."""
    yield from (details.get(field) for field in ("kind", "decimals", "unit", "shown"))


MODELLED, NETWORK = ("categorical", "ordinal", "boolean", "numerical", "datetime"), "bayesian_network"
KINDS = {
    "categorical": ("categorical",), "ordinal": ("ordinal",), "boolean": ("categorical",),
    "numerical": ("integer", "float"), "datetime": ("datetime",),
}  # fmt: skip
"""Kinds of a modelled column, by its sdtype."""
NOISE_REACH = 50.0  # noise scales: larger noise does not occur
MODELS = {
    "gaussian_copula": "gaussian_copula",
    "latent": "latent",
}  # all other models of the package are networks


def num_codes(column: Any) -> int:
    """Number of codes of a column: bins, values or texts, and one for missing."""
    return len(column["lower"]) + len(column["values"]) + int(column["nullable"])


def paying_entries(document: Any, *parts: str) -> list[Any]:
    """Entries with a loss that pay for one of these parts."""
    return [e for e in document["ledger"]["entries"] if e["losses"] and {*parts} & {*e["parts"]}]


def check_domain(document: Any) -> str:
    """Check that entries and answers support the provenance of every column."""
    domain, entries = document["domain"], document["ledger"]["entries"]
    origins = {column["name"]: column["provenance"] for column in domain}
    if len(origins) < len(domain) or not all(map(num_codes, domain)):
        raise ContradictionError("columns must have names of their own, and codes")
    made_columns = [column for item in document["rules"] for column in item["made"]]
    if has_claim(entries) and {"inferred", "edited"} & {
        column["provenance"] for column in [*domain, *made_columns]
    }:
        raise ContradictionError("a column holds values read off the rows, and the ledger makes a claim")
    _check_stored(document)
    _check_noisy(document)
    learned = [n for n, origin in origins.items() if origin == "private"]
    payers = paying_entries(document, "domain")
    if learned and not payers:
        raise ContradictionError(f"column {quoted(learned[0])} was learned, and no entry pays for it")
    declared = [name for name, origin in origins.items() if origin == "declared"]
    more = f" and {len(declared) - 6} more" if len(declared) > 6 else ""
    expected = [f"declared: {', '.join(declared[:6])}{more}"] if declared else []
    free = [e for e in entries if e["name"] == "domain" and not e["losses"]]
    declaring = [e for e in free if e["mechanism"].startswith("declared")]
    named = [e["mechanism"] for e in declaring]  # older versions did not escape names
    if named not in (expected, [*map(escape_controls, expected)]) and (
        declared or not _is_source_only(declaring, document)
    ):
        raise ContradictionError("the ledger names other columns as declared than the domain does")
    answers: dict[str, list[Any]] = {}
    for answer in document["answers"]["asked"]:
        for name in answer["columns"]:
            answers.setdefault(name, []).append(answer)
            if origins.get(name, "private") != "private":
                raise ContradictionError(
                    f"answers tell what column {quoted(name)} holds, said to be {origins[name]}"
                )
    reused = []
    for column in (column for column in domain if column["name"] in learned):
        if column["name"] in answers:
            _check_learned(column, answers[column["name"]])
            check_numbers(column, answers[column["name"]], document["settings"])
        elif has_claim(entries):
            reused.append(column["name"])
    if reused and not any(map(is_reused_domain, payers)):
        raise ContradictionError(f"column {quoted(reused[0])} was learned, and no answer says what it holds")
    if reused:
        raise UncheckableError(
            f"{len(reused)} columns were learned earlier, such as {quoted(reused[0])}: in no answer"
        )
    return f"{len(learned)} of {len(domain)} columns were learned, and are paid for"


def _is_source_only(entries: Sequence[Any], document: Any) -> bool:
    """Whether an entry names columns as declared only for their source, without a value set."""
    known = {part for c in document["schema"]["columns"] for part in escape_controls(c["name"]).split(", ")}
    texts = [re.sub(r" and \d+ more$", "", e["mechanism"]).removeprefix("declared: ") for e in entries]
    is_cited = len(entries) == 1 and ": from " in entries[0]["note"]
    return is_cited and {part for text in texts for part in text.split(", ")} <= known


def _check_stored(document: Any) -> None:
    """Reject categorical dtypes with values that are not in the domain."""
    values = {column["name"]: {*map(_key, column["values"])} for column in document["domain"]}
    for column in document["schema"]["columns"]:
        if not isinstance(column["dtype"], dict):
            continue
        if not {*map(_key, column["dtype"].get("values", ()))} <= values.get(column["name"], set()):
            raise ContradictionError(
                f"column {quoted(column['name'])} is stored as a category of values that no domain holds and "
                "no entry pays for"
            )


def _check_noisy(document: Any) -> None:
    """Reject row counts and rounding shares of columns that were not learned."""
    if not has_claim(document["ledger"]["entries"]):
        return
    rounded_columns = {
        n for a in document["answers"]["asked"] if a["kind"] == "rounding" for n in a["columns"]
    }
    for column in (column for column in document["domain"] if column["provenance"] != "private"):
        if column.get("counts"):
            raise ContradictionError(
                f"column {quoted(column['name'])} was not learned, and has numbers of rows"
            )
        shares = {share for size in (column["rounding"] or {"weights": ()})["weights"] for share in size}
        if shares - {0, 1} and column["name"] not in rounded_columns:
            raise ContradictionError(
                f"column {quoted(column['name'])} tells how numbers are rounded, and no answer does"
            )


def _check_learned(column: Any, answers: Sequence[Any]) -> None:
    """Compare a column's values and row counts with its answers."""
    queries = [answer for answer in answers if answer["kind"] == "frequent values"]
    if column["kind"] not in ("categorical", "ordinal") or not queries:
        return
    sums: dict[Any, np.ndarray] = {}  # sums of count / sigma^2 and 1 / sigma^2 (inverse-variance weights)
    for query in queries:
        counts = query["values"][len(query["details"]["public"]) :].tolist()
        for value, count in zip(query["details"]["found"], counts, strict=True):
            sums[_key(value)] = sums.get(_key(value), 0) + np.array([count, 1.0]) / query["scale"] ** 2
    if {*map(_key, column["values"])} != {*sums}:
        raise ContradictionError(f"column {quoted(column['name'])} has other values than its answers found")
    for value, recorded in zip(column["values"], column.get("counts") or (), strict=False):
        if abs(max(0.0, sums[_key(value)][0] / sums[_key(value)][1]) - recorded) > 0.5 + 1e-6:
            raise ContradictionError(
                f"column {quoted(column['name'])} counts a value otherwise than its answers did"
            )


def _key(value: Any) -> Any:
    """Key that is equal for equal values: 1, 1.0 and true."""
    return float(value) if isinstance(value, (bool, int, float)) else str(value)


def check_rules(document: Any) -> str:
    """Reject rules of unknown columns, columns that no rule makes, and missing rules."""
    rules, derived = document["rules"], set[str]()
    modelled = {column["name"] for column in document["domain"]}
    sdtypes = {column["name"]: column["sdtype"] for column in document["schema"]["columns"]}
    for item in rules:
        outputs = {column["name"] for column in item["made"]}
        if len(outputs) < len(item["made"]):
            raise ContradictionError(f"a rule makes column {quoted(min(outputs))}, or another one, twice")
        _check_max_distance(item["rule"], document["domain"])
        if clashing := outputs & (modelled | derived) | outputs - {*sdtypes}:
            raise ContradictionError(
                f"a rule makes column {quoted(min(clashing))}, which is there already, or of no table"
            )
        derived |= outputs
        if missing := {*_columns(item["rule"])} - modelled - derived - {*sdtypes}:
            raise ContradictionError(f"a rule speaks of column {quoted(min(missing))}, which is not there")
    if missing := {name for name, sdtype in sdtypes.items() if sdtype in MODELLED} - modelled - derived:
        raise ContradictionError(f"column {quoted(min(missing))} is neither modelled nor made by a rule")
    for column in document["domain"]:
        sdtype, kind = sdtypes.get(column["name"]), column["kind"]
        if sdtype is not None and kind not in KINDS.get(sdtype, ()):
            raise ContradictionError(
                f"column {quoted(column['name'])} is {kind}, and its sdtype {quoted(sdtype)}"
            )
    if (unused := modelled - {*sdtypes}) and not derived:
        raise ContradictionError(
            f"column {quoted(min(unused))} is none of the table, and no rule makes one of it"
        )
    texts = [e["mechanism"] for e in document["ledger"]["entries"] if e["name"] == "rules"]
    num_named = [text.count("; ") + 1 for text in texts if text.startswith("declared: ")]
    if num_named and num_named[0] != len(rules) and "; " not in json.dumps(rules):
        raise ContradictionError(f"the ledger names {num_named[0]} rules, and the file has {len(rules)}")
    return f"{len(rules)} rules, of columns that are there"


def _check_max_distance(rule: Any, domain: Sequence[Any]) -> None:
    """Reject a largest distance below the range of the distance's declared column."""
    most, name = rule.get("most"), f"{rule.get('high')} - {rule.get('low')}"
    for column in domain if rule["rule"] == "inequality" and most is not None else ():
        digit = 10.0 ** -column["decimals"] if column.get("decimals") else 0.0
        is_declared = column["name"] == name and column["provenance"] == "declared" and column["upper"]
        if is_declared and column["upper"][-1] > most + digit:
            raise ContradictionError(
                f"a rule allows distances up to {most:g}, and column {quoted(name)} has larger ones"
            )


def _columns(rule: Any) -> Iterator[str]:
    for name in ("column", "other", "low", "high", "total", "by", "parts", "columns", "when", "then"):
        columns = rule.get(name, ())
        yield from [columns] if isinstance(columns, str) else columns


def check_seeds(document: Any) -> str:
    """Reject released prefixes that no entry pays for, or with sizes below the threshold."""
    settings, unit, parts = document["settings"], ProtectedUnit.of(document["ledger"]), document["seeds"]
    cards = {column["name"]: num_codes(column) for column in document["domain"]}
    omega, lengths = settings["omega"], [len(part["columns"]) for part in parts]
    low, high = omega if isinstance(omega, list) else (omega, omega)
    expected = [0] if omega in (None, "all") else [max(0, len(cards) - w) for w in range(low, high + 1)]
    if sorted(lengths) != sorted(expected):
        raise ContradictionError(f"prefixes of {lengths} columns were released, and omega leaves {expected}")
    entries = document["ledger"]["entries"]
    if has_claim(entries) and not any(entry["parts"] == ["seeds"] for entry in entries):
        raise ContradictionError("the ledger makes a claim, and has no entry of seeds, as every fit has one")
    for entry in paying_entries(document, "seeds"):
        if entry["parts"] != ["seeds"] or [loss["type"] for loss in entry["losses"]] != ["ReleaseLoss"]:
            raise ContradictionError(
                f"entry {quoted(entry['name'])} pays for released sizes, and for something else"
            )
    if any([*part["sizes"]] != [1] or part["codes"].shape != (1, 0) for part in parts if not part["columns"]):
        raise ContradictionError(
            "a prefix of no columns must have the size 1, which says nothing of the rows"
        )
    if not any(lengths):
        return (
            "no value of a record was released; no row is made from a record, so Definition 1 holds with k = "
            "all records and gamma = 1"
        )
    release_losses = [
        (loss["epsilon0"], loss["l1"], loss["delta"]) for loss in losses_of(paying_entries(document, "seeds"))
    ]
    if release_losses != [(settings["epsilon0"], unit.l1, settings["delta"] - settings["delta"] * 0.5)]:
        raise ContradictionError(
            "released sizes need one loss, of epsilon0, of the unit, and of half of delta"
        )
    least = (settings["k"] - 1) * unit.rows + 1 + margin(release_losses[0][0], release_losses[0][2], unit)
    for part in (part for part in parts if part["columns"]):
        codes, limits = part["codes"], np.array([cards[name] for name in part["columns"]])
        if codes.shape != (len(part["sizes"]), len(limits)) or ((codes < 0) | (codes >= limits)).any():
            raise ContradictionError("released prefixes must have codes of their columns, and a size each")
        if (part["sizes"] < least).any():
            raise ContradictionError(
                f"a released size is {part['sizes'].min()}, below the threshold of {least}"
            )
        limits = _max_rows(document) + len(part["sizes"]) * NOISE_REACH * unit.l1 / release_losses[0][0]
        if part["sizes"].sum() > limits:
            raise ContradictionError(
                f"released sizes add up to {part['sizes'].sum():,}, and there are fewer rows"
            )
    return f"every released size is at least {least}, as k and the failure probability demand"


def _max_rows(document: Any) -> float:
    """Upper bound on the rows from a noisy number of them; infinite without one."""
    sizes = [answer for answer in document["answers"]["asked"] if answer["kind"] == "number of rows"]
    if document["settings"]["split"] is not None:
        return math.inf
    return min((float(size["values"][0]) + NOISE_REACH * size["scale"] for size in sizes), default=math.inf)


def margin(epsilon0: float, delta: float, unit: ProtectedUnit) -> int:
    """Smallest s >= 1 that noise reaches with probability at most delta, for any contribution of a unit."""
    rate, sides = epsilon0 / unit.l1, 2 if unit.is_replaced else 1
    steps = [(math.log(n / delta) - math.log1p(math.exp(-rate))) / rate for n in (sides * unit.rows, sides)]
    spread, single_row = (max(1, math.ceil(step - 1e-9)) for step in steps)
    return max(spread, single_row + unit.rows - 1)


def check_model(document: Any) -> str:
    """Reject a model of other columns, of a type other than the settings', or without payment."""
    model, named = document["model"], document["settings"].get("model")
    is_network, payers = model["type"] == NETWORK, paying_entries(document, "structure", "parameters")
    if named is not None and MODELS.get(named, NETWORK) != model["type"]:
        raise ContradictionError(
            f"the model is a {quoted(model['type'])}, and the settings say {named!r:.60}"
        )
    tables = model["tables"] if is_network else []
    is_flat = all(table.get("parents") == [] and np.ptp(table["probabilities"]) == 0 for table in tables)
    if not (is_network and is_flat) and (not payers or named in ("uniform", "random")):
        raise ContradictionError("the model says something of the rows, and no entry pays for it")
    kinds = {loss["type"] for loss in losses_of(payers)}
    if named == "latent" and not {"InfiniteLoss", "SampledGaussianLoss"} & kinds:
        raise ContradictionError(
            "a model that is trained on noisy gradients has no entry for sums over samples"
        )
    cards, previous = {column["name"]: num_codes(column) for column in document["domain"]}, set[str]()
    for table in tables:
        name, givens = table["column"], [table, *table.get("factors", ())]
        if not {parent for given in givens for parent in given.get("parents", ())} <= previous:
            raise ContradictionError(f"the table of {quoted(name)} has a parent that does not come before it")
        previous.add(name)
        rows, shape = table.get("probabilities"), [int(b.max()) + 1 for b in table.get("buckets", ())]
        is_complete = rows is None or (rows.shape == (math.prod(shape), cards[name]) and (rows >= 0).all())
        if not is_complete or (rows is not None and (np.abs(rows.sum(axis=1) - 1) > 1e-5).any()):
            raise ContradictionError(f"the table of {quoted(name)} must have a distribution for every case")
    if is_network and (previous != {*cards} or len(tables) > len(cards)):
        raise ContradictionError("the model must have a table for each column of the domain")
    return f"a {quoted(model['type'])} over the columns of the domain"
