"""Whether domain, rules, seeds and model of a file are whole, fit each other, and are paid for."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sdv_plausible.verifying.ledger import has_claim
from sdv_plausible.verifying.verdict import LieError, Unit

MODELLED = ("categorical", "ordinal", "boolean", "numerical", "datetime")
NETWORK = "bayesian_network"
SUM_TOLERANCE = 1e-5
_TYPES = {  # model in the settings -> type of the model in the file
    "bayesian_network": NETWORK, "independent": NETWORK, "correlated": NETWORK, "uniform": NETWORK,
    "random": NETWORK, "gaussian_copula": "gaussian_copula", "latent": "latent",
}  # fmt: skip
_COLUMNS_OF_RULES = ("column", "other", "low", "high", "total", "by", "parts", "columns", "when", "then")


def codes_of(column: Mapping[str, Any]) -> int:
    """Number of codes of a column: bins, values or texts, and one for missing."""
    return len(column["lower"]) + len(column["values"]) + int(column["nullable"])


def charged(document: Mapping[str, Any], *parts: str) -> list[Any]:
    """Entries with a loss that pay for a part."""
    return [e for e in document["ledger"]["entries"] if e["losses"] and {*parts} & {*e["parts"]}]


# --- domain ---------------------------------------------------------------------------------------


def check_domain(document: Mapping[str, Any]) -> str:
    """Refuse columns whose origin the entries and the answers do not bear out."""
    domain, entries = document["domain"], document["ledger"]["entries"]
    names = [column["name"] for column in domain]
    if len({*names}) < len(names) or not names:
        raise LieError("the columns of the domain must be there, and have names of their own")
    origins = {column["name"]: column["provenance"] for column in domain}
    for column in domain:
        if len(column["lower"]) != len(column["upper"]) or not codes_of(column):
            raise LieError(f"column {column['name']!r} must have codes, and an upper end for every lower one")
        if any(low > high for low, high in zip(column["lower"], column["upper"], strict=True)):
            raise LieError(f"column {column['name']!r} has a bin that ends before it begins")
    ended = [name for name, origin in origins.items() if origin in ("inferred", "edited")]
    if has_claim(entries) and ended:
        raise LieError(f"column {ended[0]!r} is {origins[ended[0]]}, and the ledger makes a claim")
    learned = {name for name, origin in origins.items() if origin == "private"}
    if learned and not charged(document, "domain"):
        raise LieError(f"column {min(learned)!r} was learned, and no entry pays for the domain")
    _check_declared(entries, [name for name, origin in origins.items() if origin == "declared"])
    asked: dict[str, list[Any]] = {}
    for answer in document["answers"]["asked"]:
        for name in answer["columns"]:
            asked.setdefault(name, []).append(answer)
    known = {*names, *(column["name"] for column in document["schema"]["columns"])}
    for name in asked:
        if name not in known or origins.get(name, "private") != "private":
            raise LieError(f"answers tell what column {name!r} holds, and it is said to be declared")
    was_earlier = any(e["mechanism"].startswith("learned earlier") for e in charged(document, "domain"))
    for column in (column for column in domain if column["name"] in learned):
        if column["name"] not in asked and not was_earlier and has_claim(entries):
            raise LieError(f"column {column['name']!r} was learned, and no answer tells what")
        _check_learned(column, [a for a in asked.get(column["name"], ()) if a["kind"] == "frequent values"])
    many = len(learned)
    return (
        f"{many} of {len(names)} columns were learned, and are paid for" if many else "no column was learned"
    )


def _check_declared(entries: Sequence[Any], declared: Sequence[str]) -> None:
    """Refuse a ledger that names other columns as declared than the domain does."""
    for entry in entries:
        if entry["name"] != "domain" or entry["losses"] or not entry["mechanism"].startswith("declared: "):
            continue
        more = f" and {len(declared) - 6} more" if len(declared) > 6 else ""
        if declared and entry["mechanism"] != f"declared: {', '.join(declared[:6])}{more}":
            raise LieError("the ledger names other columns as declared than the domain does")
        return
    if declared:
        raise LieError(f"column {declared[0]!r} is declared, and the ledger does not say so")


def _check_learned(column: Mapping[str, Any], looks: Sequence[Any]) -> None:
    """Refuse values, and numbers of rows beside them, that are not what the answers found."""
    if column["kind"] not in ("categorical", "ordinal") or not looks:
        return
    sums: dict[str, list[float]] = {}
    for look in looks:
        counts = look["values"][len(look["details"]["public"]) :].tolist()
        for value, count in zip(look["details"]["found"], counts, strict=True):
            both = sums.setdefault(_key(value), [0.0, 0.0])
            both[0] += count / look["scale"] ** 2
            both[1] += 1 / look["scale"] ** 2
    if {*map(_key, column["values"])} != {*sums}:
        raise LieError(f"column {column['name']!r} has other values than its answers found")
    told = column.get("counts")
    if told is not None and len(sums) == len(column["values"]):
        for value, count in zip(column["values"], told, strict=False):
            weighted, weight = sums[_key(value)]
            if abs(max(0.0, weighted / weight) - count) > 0.5 + 1e-6:
                raise LieError(f"column {column['name']!r} counts a value otherwise than its answers did")


def _key(value: Any) -> str:
    """Equal for values that are one: 1, 1.0 and true are."""
    return (
        json.dumps(float(value))
        if isinstance(value, (bool, int, float))
        else json.dumps(value, sort_keys=True)
    )


# --- rules ----------------------------------------------------------------------------------------


def check_rules(document: Mapping[str, Any]) -> str:
    """Refuse rules of columns that are not there, columns that no rule makes, and rules that were left out."""
    rules, schema = document["rules"], document["schema"]["columns"]
    known = {column["name"] for column in document["domain"]}
    table = {column["name"]: column["sdtype"] for column in schema}
    made: set[str] = set()
    for item in rules:
        found = {column["name"] for column in item["made"]}
        if found & (known | made):
            raise LieError(f"a rule makes column {min(found & (known | made))!r}, which is there already")
        made |= found
        if lacking := {*_columns(item["rule"])} - known - made - {*table}:
            raise LieError(f"a rule speaks of column {min(lacking)!r}, which is not there")
    if strangers := made - {*table}:
        raise LieError(f"a rule makes column {min(strangers)!r}, which the table has not")
    if lacking := [n for n, sdtype in table.items() if sdtype in MODELLED and n not in known | made]:
        raise LieError(f"column {lacking[0]!r} is neither modelled nor made by a rule")
    if (beside := known - {*table}) and not made:
        raise LieError(f"column {min(beside)!r} is none of the table, and no rule makes one of it")
    for entry in document["ledger"]["entries"]:
        if entry["name"] == "rules" and entry["mechanism"].startswith("declared: "):
            _check_number(rules, entry["mechanism"].removeprefix("declared: "))
    return (
        f"{len(rules)} rules, of columns that are there"
        if rules
        else "there are none, and no column needs one"
    )


def _check_number(rules: Sequence[Any], told: str) -> None:
    """Refuse a ledger that names another number of rules; texts that hold what stands between two are passed over."""
    if "; " not in json.dumps(rules, ensure_ascii=False) and told.count("; ") + 1 != len(rules):
        raise LieError(f"the ledger names {told.count('; ') + 1} rules, and the file has {len(rules)}")


def _columns(rule: Mapping[str, Any]) -> Iterator[str]:
    for name in _COLUMNS_OF_RULES:
        told = rule.get(name, ())
        yield from [told] if isinstance(told, str) else told


# --- seeds ----------------------------------------------------------------------------------------


def check_seeds(document: Mapping[str, Any]) -> str:
    """Refuse released prefixes that no entry pays for, or that are smaller than the threshold."""
    settings, unit = document["settings"], Unit.of(document["ledger"]["neighbours"])
    parts, paying = document["seeds"], charged(document, "seeds")
    cards = {column["name"]: codes_of(column) for column in document["domain"]}
    omega, kept = settings["omega"], [len(part["columns"]) for part in parts]
    low, high = omega if isinstance(omega, list) else (omega, omega)
    wanted = [0] if omega in (None, "all") else [max(0, len(cards) - w) for w in range(low, high + 1)]
    if sorted(kept) != sorted(wanted):
        raise LieError(f"prefixes of {kept} columns were released, and omega leaves {wanted}")
    for part in parts:
        codes, sizes = part["codes"], part["sizes"]
        if codes.shape != (len(sizes), len(part["columns"])) or not {*part["columns"]} <= {*cards}:
            raise LieError("released prefixes must have codes of columns of the domain, and a size each")
        if ((codes < 0) | (codes >= np.array([cards[n] for n in part["columns"]], dtype=int))).any():
            raise LieError("released prefixes hold codes that their columns have not")
    if not any(kept):
        return (
            "no value of a record was released" if not paying else "no seed was released, and one is paid for"
        )
    losses = [loss for entry in paying for loss in entry["losses"] if loss["type"] == "ReleaseLoss"]
    if len(losses) != 1:
        raise LieError("prefixes were released, and not one entry pays for their noisy sizes")
    (loss,) = losses
    if loss["epsilon0"] != settings["epsilon0"] or loss["l1"] != unit.l1:
        raise LieError("the noise of the released sizes is not that of the settings and the unit")
    if loss["delta"] != settings["delta"] - settings["delta"] * 0.5:
        raise LieError("the released sizes may fail with another probability than half of delta")
    least = (settings["k"] - 1) * unit.rows + 1 + margin(loss["epsilon0"], loss["delta"], unit)
    smallest = min(
        (int(part["sizes"].min(initial=least)) for part in parts if part["columns"]), default=least
    )
    if smallest < least:
        raise LieError(f"a released size is {smallest}, below the threshold of {least}")
    return f"every released size is at least {least}, as k and the failure probability demand"


def margin(epsilon0: float, delta: float, unit: Unit) -> int:
    """Smallest s >= 1 that noise reaches with probability delta at most, for whatever a unit brings."""
    rate, sides = epsilon0 / unit.l1, 2 if unit.is_replaced else 1

    def reached(events: int) -> int:
        steps = (math.log(events) - math.log(delta) - math.log1p(math.exp(-rate))) / rate
        return max(1, math.ceil(steps - 1e-9))

    spread = reached(sides * unit.rows)
    return spread if unit.rows == 1 else max(spread, reached(sides) + unit.rows - 1)


# --- model ----------------------------------------------------------------------------------------


def check_model(document: Mapping[str, Any]) -> str:
    """Refuse a model of other columns, of another kind than the settings say, or that nobody pays for."""
    model, named = document["model"], document["settings"].get("model")
    if named is not None and _TYPES.get(named) != model["type"]:
        raise LieError(f"the model is a {model['type']!r}, and the settings say {named!r}")
    is_uniform = model["type"] == NETWORK and all(
        not table.get("parents", ["?"]) and np.ptp(table["probabilities"]) == 0 for table in model["tables"]
    )
    if not charged(document, "structure", "parameters") and not is_uniform:
        raise LieError("the model says something of the rows, and no entry pays for it")
    if named in ("uniform", "random") and not is_uniform:
        raise LieError(f"the model says something of the rows, and the settings say {named!r}")
    if (
        named == "latent"
        and has_claim(document["ledger"]["entries"])
        and not any(
            loss["type"] == "SampledGaussianLoss"
            for entry in charged(document, "structure", "parameters")
            for loss in entry["losses"]
        )
    ):
        raise LieError("a model that is trained on noisy gradients has no entry for sums over samples")
    if model["type"] == NETWORK:
        _check_network(model["tables"], {c["name"]: codes_of(c) for c in document["domain"]})
    return f"a {model['type']!r} over the columns of the domain"


def _check_network(tables: Sequence[Any], cards: Mapping[str, int]) -> None:
    before: set[str] = set()
    for table in tables:
        name = table["column"]
        if name not in cards or name in before:
            raise LieError(f"the model must have each column of the domain once, and has {name!r}")
        for given in [table, *table.get("factors", ())]:
            for parent, buckets in zip(given.get("parents", ()), given.get("buckets", ()), strict=True):
                if parent not in before or buckets.shape != (cards[parent],):
                    raise LieError(f"the table of {name!r} needs {parent!r}, which must come before it")
        before.add(name)
        if "probabilities" in table:
            rows, number = table["probabilities"], math.prod(int(b.max()) + 1 for b in table["buckets"])
            sums = rows.sum(axis=1) if rows.shape == (number, cards[name]) else np.zeros(1)
            if (rows < 0).any() or (np.abs(sums - 1) > SUM_TOLERANCE).any():
                raise LieError(f"the table of {name!r} must have a distribution for every case")
    if before != {*cards}:
        raise LieError(f"the model has no table of {min({*cards} - before)!r}")
