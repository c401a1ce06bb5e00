"""Whether domain, rules, seeds and model of a file are whole, fit each other, and are paid for."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sdv_plausible.extensions.verify.independent.grid_points import check_numbers
from sdv_plausible.extensions.verify.independent.ledger_checks import has_claim, is_earlier, losses_of
from sdv_plausible.extensions.verify.independent.verdict import (
    ContradictionError,
    ProtectedUnit,
    UncheckableError,
    shown,
    visible,
)

MODELLED, NETWORK = ("categorical", "ordinal", "boolean", "numerical", "datetime"), "bayesian_network"
KINDS = {
    "categorical": ("categorical",), "ordinal": ("ordinal",), "boolean": ("categorical",),
    "numerical": ("integer", "float"), "datetime": ("datetime",),
}  # fmt: skip
"""What the codes of a modelled column stand for, by the column's sdtype."""
FAR = 50.0  # scales of noise beyond which it is never
MODELS = {"gaussian_copula": "gaussian_copula", "latent": "latent"}  # others of the program are networks


def codes_of(column: Any) -> int:
    """Number of codes of a column: bins, values or texts, and one for missing."""
    return len(column["lower"]) + len(column["values"]) + int(column["nullable"])


def charged(document: Any, *parts: str) -> list[Any]:
    """Entries with a loss that pay for some parts."""
    return [e for e in document["ledger"]["entries"] if e["losses"] and {*parts} & {*e["parts"]}]


def check_domain(document: Any) -> str:
    """Refuse columns whose origin the entries and the answers do not bear out."""
    domain, entries = document["domain"], document["ledger"]["entries"]
    origins = {column["name"]: column["provenance"] for column in domain}
    if len(origins) < len(domain) or not all(map(codes_of, domain)):
        raise ContradictionError("columns must have names of their own, and codes")
    made = [column for item in document["rules"] for column in item["made"]]
    if has_claim(entries) and {"inferred", "edited"} & {column["provenance"] for column in [*domain, *made]}:
        raise ContradictionError("a column holds values read off the rows, and the ledger makes a claim")
    _check_stored(document)
    _check_noisy(document)
    learned, paying = [n for n, origin in origins.items() if origin == "private"], charged(document, "domain")
    if learned and not paying:
        raise ContradictionError(f"column {shown(learned[0])} was learned, and no entry pays for it")
    declared = [name for name, origin in origins.items() if origin == "declared"]
    more = f" and {len(declared) - 6} more" if len(declared) > 6 else ""
    wanted = [f"declared: {', '.join(declared[:6])}{more}"] if declared else []
    free = [e for e in entries if e["name"] == "domain" and not e["losses"]]
    told = [e for e in free if e["mechanism"].startswith("declared")]
    named = [e["mechanism"] for e in told]  # older versions wrote names as they are
    if named not in (wanted, [*map(visible, wanted)]) and (declared or not _are_cited(told, document)):
        raise ContradictionError("the ledger names other columns as declared than the domain does")
    asked: dict[str, list[Any]] = {}
    for answer in document["answers"]["asked"]:
        for name in answer["columns"]:
            asked.setdefault(name, []).append(answer)
            if origins.get(name, "private") != "private":
                raise ContradictionError(
                    f"answers tell what column {shown(name)} holds, said to be {origins[name]}"
                )
    earlier = []
    for column in (column for column in domain if column["name"] in learned):
        if column["name"] in asked:
            _check_learned(column, asked[column["name"]])
            check_numbers(column, asked[column["name"]], document["settings"])
        elif has_claim(entries):
            earlier.append(column["name"])
    if earlier and not any(map(is_earlier, paying)):
        raise ContradictionError(f"column {shown(earlier[0])} was learned, and no answer says what it holds")
    if earlier:
        raise UncheckableError(
            f"{len(earlier)} columns were learned earlier, such as {shown(earlier[0])}: in no answer"
        )
    return f"{len(learned)} of {len(domain)} columns were learned, and are paid for"


def _are_cited(entries: Sequence[Any], document: Any) -> bool:
    """Whether an entry names columns as declared for their source alone, where no value set is declared."""
    known = {part for c in document["schema"]["columns"] for part in visible(c["name"]).split(", ")}
    texts = [re.sub(r" and \d+ more$", "", e["mechanism"]).removeprefix("declared: ") for e in entries]
    is_cited = len(entries) == 1 and ": from " in entries[0]["note"]
    return is_cited and {part for text in texts for part in text.split(", ")} <= known


def _check_stored(document: Any) -> None:
    """Refuse types of storage that hold values which the domain does not hold."""
    values = {column["name"]: {*map(_key, column["values"])} for column in document["domain"]}
    for column in document["schema"]["columns"]:
        if not isinstance(column["dtype"], dict):
            continue
        if not {*map(_key, column["dtype"].get("values", ()))} <= values.get(column["name"], set()):
            raise ContradictionError(
                f"column {shown(column['name'])} is stored as a category of values that no domain holds and "
                "no entry pays for"
            )


def _check_noisy(document: Any) -> None:
    """Refuse numbers of rows, and shares of rounded numbers, of columns that were not learned."""
    if not has_claim(document["ledger"]["entries"]):
        return
    told = {n for a in document["answers"]["asked"] if a["kind"] == "rounding" for n in a["columns"]}
    for column in (one for one in document["domain"] if one["provenance"] != "private"):
        if column.get("counts"):
            raise ContradictionError(
                f"column {shown(column['name'])} was not learned, and has numbers of rows"
            )
        shares = {share for size in (column["rounding"] or {"weights": ()})["weights"] for share in size}
        if shares - {0, 1} and column["name"] not in told:
            raise ContradictionError(
                f"column {shown(column['name'])} tells how numbers are rounded, and no answer does"
            )


def _check_learned(column: Any, answers: Sequence[Any]) -> None:
    """Refuse values, and their numbers of rows, that are not what the answers found."""
    looks = [answer for answer in answers if answer["kind"] == "frequent values"]
    if column["kind"] not in ("categorical", "ordinal") or not looks:
        return
    sums: dict[Any, np.ndarray] = {}  # each look weighs as it is sure: count / sigma^2, and 1 / sigma^2
    for look in looks:
        counts = look["values"][len(look["details"]["public"]) :].tolist()
        for value, count in zip(look["details"]["found"], counts, strict=True):
            sums[_key(value)] = sums.get(_key(value), 0) + np.array([count, 1.0]) / look["scale"] ** 2
    if {*map(_key, column["values"])} != {*sums}:
        raise ContradictionError(f"column {shown(column['name'])} has other values than its answers found")
    for value, told in zip(column["values"], column.get("counts") or (), strict=False):
        if abs(max(0.0, sums[_key(value)][0] / sums[_key(value)][1]) - told) > 0.5 + 1e-6:
            raise ContradictionError(
                f"column {shown(column['name'])} counts a value otherwise than its answers did"
            )


def _key(value: Any) -> Any:
    """Equal for values that are one: 1, 1.0 and true are."""
    return float(value) if isinstance(value, (bool, int, float)) else str(value)


def check_rules(document: Any) -> str:
    """Refuse rules of columns that are not there, columns that no rule makes, rules that were left out."""
    rules, made = document["rules"], set[str]()
    known = {column["name"] for column in document["domain"]}
    table = {column["name"]: column["sdtype"] for column in document["schema"]["columns"]}
    for item in rules:
        found = {column["name"] for column in item["made"]}
        if len(found) < len(item["made"]):
            raise ContradictionError(f"a rule makes column {shown(min(found))}, or another one, twice")
        _check_most(item["rule"], document["domain"])
        if wrong := found & (known | made) | found - {*table}:
            raise ContradictionError(
                f"a rule makes column {shown(min(wrong))}, which is there already, or of no table"
            )
        made |= found
        if lacking := {*_columns(item["rule"])} - known - made - {*table}:
            raise ContradictionError(f"a rule speaks of column {shown(min(lacking))}, which is not there")
    if lacking := {name for name, sdtype in table.items() if sdtype in MODELLED} - known - made:
        raise ContradictionError(f"column {shown(min(lacking))} is neither modelled nor made by a rule")
    for column in document["domain"]:
        sdtype, kind = table.get(column["name"]), column["kind"]
        if sdtype is not None and kind not in KINDS.get(sdtype, ()):
            raise ContradictionError(
                f"column {shown(column['name'])} is {kind}, and its sdtype {shown(sdtype)}"
            )
    if (beside := known - {*table}) and not made:
        raise ContradictionError(
            f"column {shown(min(beside))} is none of the table, and no rule makes one of it"
        )
    told = [e["mechanism"] for e in document["ledger"]["entries"] if e["name"] == "rules"]
    named = [text.count("; ") + 1 for text in told if text.startswith("declared: ")]
    if named and named[0] != len(rules) and "; " not in json.dumps(rules):
        raise ContradictionError(f"the ledger names {named[0]} rules, and the file has {len(rules)}")
    return f"{len(rules)} rules, of columns that are there"


def _check_most(rule: Any, domain: Sequence[Any]) -> None:
    """Refuse a largest distance that is less than what the distance's declared column holds."""
    most, name = rule.get("most"), f"{rule.get('high')} - {rule.get('low')}"
    for column in domain if rule["rule"] == "inequality" and most is not None else ():
        digit = 10.0 ** -column["decimals"] if column.get("decimals") else 0.0
        is_declared = column["name"] == name and column["provenance"] == "declared" and column["upper"]
        if is_declared and column["upper"][-1] > most + digit:
            raise ContradictionError(
                f"a rule allows distances up to {most:g}, and column {shown(name)} has larger ones"
            )


def _columns(rule: Any) -> Iterator[str]:
    for name in ("column", "other", "low", "high", "total", "by", "parts", "columns", "when", "then"):
        told = rule.get(name, ())
        yield from [told] if isinstance(told, str) else told


def check_seeds(document: Any) -> str:
    """Refuse released prefixes that no entry pays for, or that are smaller than the threshold."""
    settings, unit, parts = document["settings"], ProtectedUnit.of(document["ledger"]), document["seeds"]
    cards = {column["name"]: codes_of(column) for column in document["domain"]}
    omega, kept = settings["omega"], [len(part["columns"]) for part in parts]
    low, high = omega if isinstance(omega, list) else (omega, omega)
    wanted = [0] if omega in (None, "all") else [max(0, len(cards) - w) for w in range(low, high + 1)]
    if sorted(kept) != sorted(wanted):
        raise ContradictionError(f"prefixes of {kept} columns were released, and omega leaves {wanted}")
    entries = document["ledger"]["entries"]
    if has_claim(entries) and not any(entry["parts"] == ["seeds"] for entry in entries):
        raise ContradictionError("the ledger makes a claim, and has no entry of seeds, as every fit has one")
    for entry in charged(document, "seeds"):
        if entry["parts"] != ["seeds"] or [loss["type"] for loss in entry["losses"]] != ["ReleaseLoss"]:
            raise ContradictionError(
                f"entry {shown(entry['name'])} pays for released sizes, and for something else"
            )
    if any([*part["sizes"]] != [1] or part["codes"].shape != (1, 0) for part in parts if not part["columns"]):
        raise ContradictionError(
            "a prefix of no columns must have the size 1, which says nothing of the rows"
        )
    if not any(kept):
        return (
            "no value of a record was released; no row is made from a record, so Definition 1 holds with k = "
            "all records and gamma = 1"
        )
    told = [(loss["epsilon0"], loss["l1"], loss["delta"]) for loss in losses_of(charged(document, "seeds"))]
    if told != [(settings["epsilon0"], unit.l1, settings["delta"] - settings["delta"] * 0.5)]:
        raise ContradictionError(
            "released sizes need one loss, of epsilon0, of the unit, and of half of delta"
        )
    least = (settings["k"] - 1) * unit.rows + 1 + margin(told[0][0], told[0][2], unit)
    for part in (part for part in parts if part["columns"]):
        codes, most = part["codes"], np.array([cards[name] for name in part["columns"]])
        if codes.shape != (len(part["sizes"]), len(most)) or ((codes < 0) | (codes >= most)).any():
            raise ContradictionError("released prefixes must have codes of their columns, and a size each")
        if (part["sizes"] < least).any():
            raise ContradictionError(
                f"a released size is {part['sizes'].min()}, below the threshold of {least}"
            )
        most = _most_rows(document) + len(part["sizes"]) * FAR * unit.l1 / told[0][0]
        if part["sizes"].sum() > most:
            raise ContradictionError(
                f"released sizes add up to {part['sizes'].sum():,}, and there are fewer rows"
            )
    return f"every released size is at least {least}, as k and the failure probability demand"


def _most_rows(document: Any) -> float:
    """Rows that there are at most, by a noisy number of them; infinite where the file has none."""
    sizes = [answer for answer in document["answers"]["asked"] if answer["kind"] == "number of rows"]
    if document["settings"]["split"] is not None:
        return math.inf
    return min((float(one["values"][0]) + FAR * one["scale"] for one in sizes), default=math.inf)


def margin(epsilon0: float, delta: float, unit: ProtectedUnit) -> int:
    """Smallest s >= 1 that noise reaches with probability delta at most, for whatever a unit brings."""
    rate, sides = epsilon0 / unit.l1, 2 if unit.is_replaced else 1
    at = [(math.log(n / delta) - math.log1p(math.exp(-rate))) / rate for n in (sides * unit.rows, sides)]
    spread, alone = (max(1, math.ceil(steps - 1e-9)) for steps in at)
    return max(spread, alone + unit.rows - 1)


def check_model(document: Any) -> str:
    """Refuse a model of other columns, of another kind than the settings say, or that nobody pays for."""
    model, named = document["model"], document["settings"].get("model")
    is_network, paying = model["type"] == NETWORK, charged(document, "structure", "parameters")
    if named is not None and MODELS.get(named, NETWORK) != model["type"]:
        raise ContradictionError(f"the model is a {shown(model['type'])}, and the settings say {named!r:.60}")
    tables = model["tables"] if is_network else []
    is_flat = all(table.get("parents") == [] and np.ptp(table["probabilities"]) == 0 for table in tables)
    if not (is_network and is_flat) and (not paying or named in ("uniform", "random")):
        raise ContradictionError("the model says something of the rows, and no entry pays for it")
    kinds = {loss["type"] for loss in losses_of(paying)}
    if named == "latent" and not {"InfiniteLoss", "SampledGaussianLoss"} & kinds:
        raise ContradictionError(
            "a model that is trained on noisy gradients has no entry for sums over samples"
        )
    cards, before = {column["name"]: codes_of(column) for column in document["domain"]}, set[str]()
    for table in tables:
        name, givens = table["column"], [table, *table.get("factors", ())]
        if not {parent for given in givens for parent in given.get("parents", ())} <= before:
            raise ContradictionError(f"the table of {shown(name)} has a parent that does not come before it")
        before.add(name)
        rows, sides = table.get("probabilities"), [int(b.max()) + 1 for b in table.get("buckets", ())]
        is_whole = rows is None or (rows.shape == (math.prod(sides), cards[name]) and (rows >= 0).all())
        if not is_whole or (rows is not None and (np.abs(rows.sum(axis=1) - 1) > 1e-5).any()):
            raise ContradictionError(f"the table of {shown(name)} must have a distribution for every case")
    if is_network and (before != {*cards} or len(tables) > len(cards)):
        raise ContradictionError("the model must have a table for each column of the domain")
    return f"a {shown(model['type'])} over the columns of the domain"
