"""A ledger's total from its entries, and whether the file's words say what the entries say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sdv_plausible.verifying.losses import FIELDS, Loss, Sorted
from sdv_plausible.verifying.totals import UnknownTotalError, split_total, total
from sdv_plausible.verifying.verdict import LieError, OpenError, Unit, rounded_up

AGREES = 1e-4
"""Relative: two accounts of the same losses that are both right lie as close as this."""
NUMERICAL = 2e-13
"""Of delta: what the program may charge for rounding in its transforms."""
_ROUNDING = 1e-9
COVERS = "any number of rows, the release file and the saved synthesizer"
PUBLIC = "Column names, semantic types, date formats and what was declared count as public."
NOT_COVERED = (
    "how long the computation took and the memory it used",
    "an attacker who controls the machine on which the data is held",
    "facts about a person that can be learned from other people's rows",
    "further fits to the same rows: their totals add up",
)
SEVERAL_ROWS = (
    "several rows of the same person: their loss grows faster than their number (ten rows, each at epsilon 1 "
    "and delta 1e-9, cost more than 12); name the column that says whose a row is with person=..."
)


def losses_of(entries: Sequence[Any]) -> list[Loss]:
    """Losses of entries."""
    return [loss for entry in entries for loss in entry["losses"]]


def has_claim(entries: Sequence[Any]) -> bool:
    """Whether no entry ends the claim."""
    return all(loss["type"] != "InfiniteLoss" for loss in losses_of(entries))


def within(entries: Sequence[Any]) -> list[Any]:
    """Entries that an envelope stands for: those after it that cost something, of its parts alone."""
    at = next((i for i, entry in enumerate(entries) if entry.get("envelope")), len(entries))
    return [
        entry
        for entry in entries[at + 1 :]
        if entry["losses"]
        and has_claim([entry])
        and entry["parts"]
        and {*entry["parts"]} <= {*entries[at]["parts"]}
    ]


def counted(entries: Sequence[Any]) -> list[Any]:
    """Entries of which the total is."""
    inside = within(entries)
    return [entry for entry in entries if not any(entry is one for one in inside)]


def check_losses(document: Mapping[str, Any]) -> str:
    """Refuse losses that there are none of, and an envelope that is smaller than what it stands for."""
    ledger = document["ledger"]
    for loss in losses_of(ledger["entries"]):
        kind, numbers = loss["type"], {name: value for name, value in loss.items() if name != "type"}
        if kind not in FIELDS or set(numbers) != set(FIELDS[kind]):
            raise LieError(f"there is no loss {kind!r} with {', '.join(numbers) or 'no parameter'}")
        for name, value in numbers.items():
            is_whole = name in ("count", "sensitivity", "l1")
            may_be_0 = name in ("delta", "rho") or kind in ("PureDP", "ApproxDP")
            most = 1 if name in ("delta", "rate") else math.inf
            if not (value > 0 or (value == 0 and may_be_0)) or value > most or (is_whole and value % 1):
                raise LieError(f"{name} ({value!r}) of a {kind} is out of its range")
    envelopes = [entry for entry in ledger["entries"] if entry.get("envelope")]
    if len(envelopes) > 1:
        raise LieError("two entries are to stand for all that follows them")
    inside = losses_of(within(ledger["entries"]))
    if envelopes and inside and not _stands_for(envelopes[0]["losses"], inside):
        raise LieError(
            f"entry {envelopes[0]['name']!r} stands for those after it, and they cost more than it"
        )
    return f"{len(ledger['entries'])} entries, of known losses"


def _stands_for(envelope: Sequence[Loss], inside: Sequence[Loss]) -> bool:
    kinds = {loss["type"] for loss in (*envelope, *inside)}
    only_failures = all(loss["epsilon"] == 0 for loss in (*envelope, *inside) if loss["type"] == "ApproxDP")
    if kinds <= {"GaussianLoss", "ApproxDP"} and only_failures:
        most, spent = Sorted.of(envelope), Sorted.of(inside)
        return all(
            getattr(spent, name) <= getattr(most, name) * (1 + _ROUNDING)
            for name in ("mu_squared", "delta", "rho")
        )
    (pair,) = envelope if len(envelope) == 1 else ({"type": ""},)
    if pair["type"] != "ApproxDP" or pair["count"] != 1:
        return False
    return total(inside, float(pair["delta"])) <= float(pair["epsilon"]) * (1 + AGREES)


def check_total(document: Mapping[str, Any]) -> str:
    """Refuse a total that the entries do not add up to."""
    ledger = document["ledger"]
    entries, stated, delta = ledger["entries"], ledger["epsilon"], float(ledger["delta"])
    if not has_claim(entries):
        if stated is not None:
            raise LieError(f"the file states epsilon {stated:.6g}, and an entry ends the claim")
        return "no total is stated, as an entry ends the claim"
    if stated is None:
        raise LieError("the file states no total, and no entry ends the claim")
    try:
        least = _total(document, delta)
        most = least if delta <= NUMERICAL * 2 else _total(document, delta - NUMERICAL)
    except UnknownTotalError as error:
        raise OpenError(f"{error}: this reading has no total for them") from None
    said = f"the entries add up to {least:.6g} at delta {delta:.3g}, and the file states {stated:.6g}"
    if stated < least * (1 - AGREES) - _ROUNDING:
        raise LieError(said)
    if stated > most * (1 + AGREES) + _ROUNDING:
        raise OpenError(f"{said}: an older version added up so, or an entry is missing")
    if ledger["limit"] is not None and stated > ledger["limit"] * (1 + AGREES):
        raise LieError(f"the file states epsilon {stated:.6g}, over its limit of {ledger['limit']:.6g}")
    return said


def _total(document: Mapping[str, Any], delta: float) -> float:
    """Total of the counted entries; by a secret split of the rows where that is smaller."""
    entries, settings = counted(document["ledger"]["entries"]), document["settings"]
    losses = losses_of(entries)
    found = total(losses, delta) if losses else 0.0
    unit = Unit.of(document["ledger"]["neighbours"])
    if settings["split"] is None or math.isinf(found) or unit != Unit(1, False, None):
        return found
    structure, parameters, seeds = settings["split"]
    homes = [(structure + parameters, {"structure", "parameters"}), (seeds, {"seeds"})]
    if _is_paper(settings):
        homes[:1] = [(structure, {"structure"}), (parameters, {"parameters"})]
    parts, common = [(p, list[Loss]()) for p, _ in homes], list[Loss]()
    for entry in entries:
        at = [i for i, (_, alone) in enumerate(homes) if entry["parts"] and {*entry["parts"]} <= alone]
        (parts[at[0]][1] if at else common).extend(entry["losses"])
    return min(found, split_total(parts, common, delta))


def _is_paper(settings: Mapping[str, Any]) -> bool:
    """Whether a model's entries each ask the rows of their own part alone: the paper's network does."""
    if settings.get("model") == "independent":
        return True
    of_paper = settings.get("structure") not in (None, "adaptive") or settings.get("noise") == "paper"
    return settings.get("model") == "bayesian_network" and of_paper


def check_words(document: Mapping[str, Any]) -> str:
    """Refuse a sentence that is not that of the entries, or that covers more."""
    ledger, unit = document["ledger"], Unit.of(document["ledger"]["neighbours"])
    if ledger["covers"] != COVERS:
        raise LieError(f"what the total is said to cover must be {COVERS!r}")
    others = (
        SEVERAL_ROWS
        if unit.person is None
        else f"a person whose rows are under several values of {unit.person}"
    )
    if ledger["not_covered"] != [*NOT_COVERED, others]:
        raise LieError("what no total covers is not said as it is")
    wanted = _sentence(ledger, unit)
    if ledger["sentence"] != wanted:
        same = next(
            (i for i, (a, b) in enumerate(zip(ledger["sentence"], wanted, strict=False)) if a != b), None
        )
        at = min(len(ledger["sentence"]), len(wanted)) if same is None else same
        raise LieError(
            f"the sentence is not that of the entries, from its letter {at} on: it must read {wanted!r}"
        )
    return "sentence, what it covers and what not are those of the entries"


def _sentence(ledger: Mapping[str, Any], unit: Unit) -> str:
    """The guarantee in one sentence, as the format has it."""
    ends = [e for e in ledger["entries"] if not has_claim([e])]
    if ends or ledger["epsilon"] is None:
        reasons = "; ".join(entry["note"] or entry["mechanism"] for entry in ends)
        return f"No differential-privacy claim is made for this release: {reasons}."
    epsilon, delta = ledger["epsilon"], ledger["delta"]
    factor = rounded_up(math.exp(epsilon)) if epsilon < 700 else f"exp({rounded_up(epsilon)})"
    one, rows = "one person" if unit.person is not None else "one row", _rows(unit)
    if unit.is_replaced:
        more = f"{rows}; the number of people" if unit.person is not None else "the number of rows"
        relation = f"replacement of any {one} by another one ({more} is public)"
        compared = f"with any {one} as with any other one in its place"
    else:
        relation = f"addition or removal of any {one}" + (f" ({rows})" if unit.person is not None else "")
        compared = f"with any {one} in the data as without {'it' if unit.person is None else 'them'}"
    return (
        f"Total epsilon {rounded_up(epsilon)} at delta {rounded_up(delta)}, for the {relation}: every "
        f"conclusion that anyone can draw from this release ({ledger['covers']}) is at most {factor} times as "
        f"likely {compared}, or the reverse, apart from an additional probability of at most "
        f"{rounded_up(delta)}. {PUBLIC}"
    )


def _rows(unit: Unit) -> str:
    most = "1 is" if unit.rows == 1 else f"{unit.rows:,} are"
    return f"all rows with one value of {unit.person}, of which at most {most} used"


def check_settings(document: Mapping[str, Any]) -> str:
    """Refuse settings of another guarantee than the ledger's, and lines that belong to them and are not there."""
    settings, ledger = document["settings"], document["ledger"]
    told, names = ledger["neighbours"], [entry["name"] for entry in ledger["entries"]]
    if settings["privacy_test"] != "release":
        raise LieError(f"privacy_test is {settings['privacy_test']!r}: no file holds what other tests need")
    ours = {"relation": settings["neighbours"], "person": settings["person"]}
    ours["rows_per_person"] = settings["rows_per_person"]
    if ours != told:
        raise LieError("the settings protect another unit than the ledger counts with")
    if settings["delta"] != ledger["delta"]:
        raise LieError("the settings' delta is not the ledger's")
    if has_claim(ledger["entries"]):
        if (
            settings["epsilon"] is None
            or settings["types"] == "detected"
            or settings["undeclared"] == "infer"
            and any(column["provenance"] == "inferred" for column in document["domain"])
        ):
            raise LieError(
                "the settings make no claim (no noise, or values read off the rows), and the ledger makes one"
            )
        if settings.get("voted") and "types" not in names:
            raise LieError("types were voted for, and no entry pays for the vote")
    for name, there in {
        "persons": told["person"] is not None,
        "public table": settings.get("public_rows") is not None,
        "rules": bool(document["rules"]),
    }.items():
        if (name in names) != there:
            raise LieError(
                f"the ledger must {'have' if there else 'not have'} an entry {name!r}, as the rest of the file says"
            )
    if settings.get("public_rows") is not None:
        told_of = next(entry["mechanism"] for entry in ledger["entries"] if entry["name"] == "public table")
        if f"{settings['public_rows']:,} rows" not in told_of:
            raise LieError("the ledger names a published table of another number of rows than the settings")
    return "unit, delta and test are those that the ledger counts with"
