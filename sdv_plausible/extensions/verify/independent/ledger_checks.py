"""Checks of the ledger: total, text, settings and the first row count."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sdv_plausible.extensions.verify.independent.totals import (
    GroupedLosses,
    Loss,
    accounting_slack,
    split_total,
    total,
)
from sdv_plausible.extensions.verify.independent.verdict import (
    ContradictionError,
    ProtectedUnit,
    UncheckableError,
    quoted,
    rounded_up,
)

TOLERANCE = 1e-4  # relative tolerance between two correct compositions of the same losses
_ROUNDING = 1e-9
_PARTS = {"all": ("structure", "parameters", "seeds"), "learning": ("structure", "parameters")}
NONE_STATED = "none is stated"
FIRST_COUNT = "number of rows, first"
FIRST_SHARE, FIRST_MOST = 0.005, 0.02  # share of epsilon for the first row count, and its maximum
FAR = 25.0  # Laplace scales: larger noise occurs in 1 of 10^10 files
SAMPLED = "SampledGaussianLoss"
NO_CLAIM = "This release has no differential privacy guarantee: "
UNUSED_OPTIONS = {
    "gamma": 4.0, "row_cap": 1_000_000, "seed_free_share": 0.5, "least_rows": 1000, "max_plausible": None,
    "max_check_plausible": None, "hidden_omega": False, "threshold_noise": "discrete_laplace",
}  # fmt: skip
"""Defaults of options that have no effect on a release file: they belong to row-level privacy tests."""
COVERS = "any number of rows, the release file and the saved synthesizer"
CONDITION = "if the column types in the metadata were known without the data"
PUBLIC = "Column names, semantic types, date formats and declarations count as public."
SEVERAL_ROWS = (
    "several rows of one person: their loss grows faster than their number (ten rows at epsilon 1 and delta "
    "1e-9 cost more than 12). If persons have several rows, name the column that identifies a person"
)
NOT_COVERED = (
    "the running time and memory use of the fit",
    "an attacker who controls the machine that holds the data",
    "facts about a person that can be learned from other people's rows",
    "further fits to the same rows: their totals add up",
)
OLD_NO_CLAIM = "No differential-privacy claim is made for this release: "
OLD_PUBLIC = "Column names, semantic types, date formats and what was declared count as public."
OLD_SEVERAL_ROWS = (
    "several rows of the same person: their loss grows faster than their number (ten rows, each at epsilon 1 "
    "and delta 1e-9, cost more than 12); name the column that says whose a row is with person=..."
)
OLD_NOT_COVERED = (
    "how long the computation took and the memory it used",
    "an attacker who controls the machine on which the data is held",
    *NOT_COVERED[2:],
)
"""Texts of files that were written before the wording was revised."""


def losses_of(entries: Sequence[Any]) -> list[Loss]:
    """Losses of some entries."""
    return [loss for entry in entries for loss in entry["losses"]]


def has_claim(entries: Sequence[Any]) -> bool:
    """Whether the entries make a privacy claim: no infinite loss."""
    return all(loss["type"] != "InfiniteLoss" for loss in losses_of(entries))


def is_reused_domain(entry: Any) -> bool:
    """Whether an entry carries the charge of an earlier fit for the domain."""
    return entry["mechanism"].startswith("learned earlier") and entry["parts"] == ["domain"]


def _covered_entries(entries: Sequence[Any]) -> list[Any]:
    """Entries covered by the worst-case charge: later charges for its parts only."""
    index = next((i for i, entry in enumerate(entries) if entry.get("envelope")), len(entries))
    later = [e for e in entries[index + 1 :] if e["losses"] and has_claim([e]) and e["parts"]]
    return [entry for entry in later if {*entry["parts"]} <= {*entries[index]["parts"]}]


def check_losses(document: Any) -> str:
    """Reject a worst-case charge without a type query, or below what it covers."""
    entries = document["ledger"]["entries"]
    worst_cases = [entry for entry in entries if entry.get("envelope")]
    covered = losses_of(_covered_entries(entries))
    if worst_cases and not any(entry["name"] == "types" and entry["losses"] for entry in entries):
        raise ContradictionError(
            "an envelope stands for what a vote on types finds, and no entry pays for the vote"
        )
    if len(worst_cases) > 1 or (
        worst_cases and covered and not _stands_for(worst_cases[0]["losses"], covered)
    ):
        raise ContradictionError(
            f"entry {quoted(worst_cases[0]['name'])} stands for those after it, which cost more than it"
        )
    return f"{len(entries)} entries; an envelope, where there is one, stands for what is within it"


def _stands_for(worst_case: Sequence[Loss], covered: Sequence[Loss]) -> bool:
    allowed, spent = GroupedLosses.of(worst_case), GroupedLosses.of(covered)
    if not (allowed.others or spent.others or allowed.zcdp or spent.zcdp):
        both = (_costs(spent), _costs(allowed))
        return all(cost <= limit * (1 + _ROUNDING) for cost, limit in zip(*both, strict=True))
    pair = worst_case[0]
    is_pair = len(worst_case) == 1 and pair["type"] == "ApproxDP" and pair["count"] == 1
    return is_pair and total(covered, pair["delta"]) <= pair["epsilon"] * (1 + TOLERANCE)


def _costs(losses: GroupedLosses) -> tuple[float, ...]:
    """Costs of Gaussian noise and of failures; failures compose to less than their sum."""
    return losses.mu_squared, losses.rho, losses.delta, -losses.log_no_failure


def check_total(document: Any) -> str:
    """Compare the stated total with the one that the entries compose to."""
    ledger, stated, delta = document["ledger"], document["ledger"]["epsilon"], document["ledger"]["delta"]
    if (stated is None) == has_claim(ledger["entries"]):
        raise ContradictionError("a total must be stated where no entry ends the claim, and nowhere else")
    if stated is None:
        return f"{NONE_STATED}, as an entry ends the claim"
    lowest = _total(document, delta)
    slack, step = accounting_slack(losses_of(ledger["entries"]))
    highest = _total(document, delta - slack) + step if delta > 2 * slack else math.inf
    finding = (
        f"the entries add up to {lowest:.6g} at delta {rounded_up(delta)}, and the file states {stated:.6g}"
    )
    if stated < lowest * (1 - TOLERANCE) - _ROUNDING:
        raise ContradictionError(finding)
    if ledger["limit"] is not None and ledger["limit"] < lowest * (1 - TOLERANCE) - _ROUNDING:
        raise ContradictionError(
            f"{finding}, above the limit of {ledger['limit']:.6g} that the fit was to keep to"
        )
    if stated > highest * (1 + TOLERANCE) + _ROUNDING:
        raise UncheckableError(f"{finding}: an older version added up so, or an entry is missing")
    return finding


def _total(document: Any, delta: float) -> float:
    """Total of the entries, each worst-case charge once; with a secret split if that is lower."""
    ledger, settings = document["ledger"], document["settings"]
    covered = _covered_entries(ledger["entries"])
    entries = [entry for entry in ledger["entries"] if not any(entry is other for other in covered)]
    epsilon = total(losses_of(entries), delta)
    if (
        settings["split"] is None
        or math.isinf(epsilon)
        or ProtectedUnit.of(ledger) != ProtectedUnit(1, False, None)
    ):
        return epsilon
    parts, common = [(p, list[Loss]()) for p, _ in _split(settings)], list[Loss]()
    for entry in entries:
        part = split_part_of(entry["parts"], settings)
        (common if part is None else parts[part][1]).extend(entry["losses"])
    return min(epsilon, split_total(parts, common, delta))


def _split(settings: Any) -> list[tuple[float, set[str]]]:
    """Parts of a secret split: their probabilities, and what each alone is used for."""
    if settings["split"] is None:
        return []
    (structure, parameters, seeds), model = settings["split"], settings.get("model")
    is_paper_network = settings.get("structure") not in (None, "adaptive") or settings.get("noise") == "paper"
    if model in ("paper", "independent") or (model == "bayesian_network" and is_paper_network):
        return [(structure, {"structure"}), (parameters, {"parameters"}), (seeds, {"seeds"})]
    return [(structure + parameters, {"structure", "parameters"}), (seeds, {"seeds"})]


def split_part_of(use: str | Sequence[str], settings: Any) -> int | None:
    """Index of the only part of the rows used for an entry's parts or an answer's rows."""
    use = _PARTS.get(use, (use,)) if isinstance(use, str) else use
    return next((i for i, (_, only_uses) in enumerate(_split(settings)) if use and {*use} <= only_uses), None)


def check_words(document: Any) -> str:
    """Compare the ledger's text with the text that follows from its entries."""
    ledger, unit = document["ledger"], ProtectedUnit.of(document["ledger"])
    if ledger["covers"] != COVERS:
        raise ContradictionError(f"what the total is said to cover must be {COVERS!r}")
    values = f"a person whose rows are under several values of {unit.person}"
    texts = ((NOT_COVERED, SEVERAL_ROWS), (OLD_NOT_COVERED, OLD_SEVERAL_ROWS))
    lists = [[*risks, rows if unit.person is None else values] for risks, rows in texts]
    if ledger["not_covered"] not in lists:
        raise ContradictionError("the list of what no total covers is not the one of this format")
    expected = _sentence(ledger, unit)
    if ledger["sentence"] not in (expected, _sentence(ledger, unit, is_old=True)):
        shown = expected if has_claim(ledger["entries"]) else f"{NO_CLAIM}..."
        raise ContradictionError(f"the sentence is not that of the entries: it must read {shown!r}")
    return "sentence, what it covers and what not are those of the entries"


def _sentence(ledger: Any, unit: ProtectedUnit, *, is_old: bool = False) -> str:
    """The guarantee as the format words it, or as it was worded before."""
    if unbounded := [entry for entry in ledger["entries"] if not has_claim([entry])]:
        reasons = "; ".join(entry["note"] or entry["mechanism"] for entry in unbounded)
        return f"{OLD_NO_CLAIM if is_old else NO_CLAIM}{reasons}."
    epsilon, delta = ledger["epsilon"], rounded_up(ledger["delta"])
    unit_text, pronoun, rows = "one row", "it", ""
    if unit.person is not None:
        most = "1 is" if unit.rows == 1 else f"{unit.rows:,} are"
        unit_text, pronoun = "one person", "them"
        rows = f"all rows with one value of {unit.person}, of which at most {most} used"
    relation = f"addition or removal of any {unit_text}" + (rows and f" ({rows})")
    compared = f"with any {unit_text} in the data as without {pronoun}"
    change = f"Adding or removing any {unit_text}"
    if unit.is_replaced:
        known = f"{rows}; the number of people" if rows else "the number of rows"
        relation = f"replacement of any {unit_text} by another one ({known} is public)"
        compared = f"with any {unit_text} as with any other one in its place"
        change = f"Replacing any {unit_text} by another one"
    factor = rounded_up(math.exp(epsilon)) if epsilon < 700 else f"exp({rounded_up(epsilon)})"
    if any("assumes" in entry for entry in ledger["entries"]):
        relation += f", {CONDITION}"
    total = f"Total epsilon {rounded_up(epsilon)} at delta {delta}, for the {relation}"
    if is_old:
        return (
            f"{total}: every conclusion that anyone can draw from this release ({ledger['covers']}) is at "
            f"most {factor} times as likely {compared}, or the reverse, apart from an additional "
            f"probability of at most {delta}. {OLD_PUBLIC}"
        )
    return (
        f"{total}. {change} changes the probability of any outcome of this release ({ledger['covers']}) by "
        f"at most a factor of {factor}, apart from an additional probability of at most {delta}. {PUBLIC}"
    )


def check_settings(document: Any) -> str:  # noqa: PLR0912
    """Compare the settings with the ledger, and check that every setting has its entries."""
    settings, ledger = document["settings"], document["ledger"]
    neighbours, entries = ledger["neighbours"], {entry["name"]: entry for entry in ledger["entries"]}
    unit = {"relation": settings["neighbours"]}
    unit |= {name: settings[name] for name in ("person", "rows_per_person")}
    is_same = unit == neighbours and settings["delta"] == ledger["delta"]
    if settings["privacy_test"] != "release" or not is_same:
        raise ContradictionError(
            "test, unit or delta of the settings are not those that the ledger counts with"
        )
    if "public_rows" not in settings and {"public_source", "public_sha256"} & {*settings}:
        raise ContradictionError("a published table is named, and the settings have no public_rows")
    if any("assumes" in e and e["losses"] for e in ledger["entries"]):
        raise ContradictionError("an entry has losses and assumptions, of which it can have one")
    assumes = any("assumes" in entry for entry in ledger["entries"])
    columns = {column["name"] for column in document["schema"]["columns"]}
    for name in (name for entry in ledger["entries"] for name in entry.get("assumes", ())):
        if name not in columns:
            raise ContradictionError(f"the type of column {quoted(name)} is assumed, which is not there")
    if settings["types"] in (None, "declared") and assumes != (settings["types"] is None):
        raise ContradictionError("the ledger's assumption on column types and the settings do not agree")
    if has_claim(ledger["entries"]):
        if settings["types"] == "detected" or (settings["epsilon"] is None and losses_of(ledger["entries"])):
            raise ContradictionError("types detected in the rows, or no noise, and the ledger makes a claim")
        if settings["undeclared"] == "infer" and any(a["columns"] for a in document["answers"]["asked"]):
            raise ContradictionError(
                "undeclared columns were read off the rows (infer), and answers say that they were learned"
            )
        if ProtectedUnit.of(ledger) != ProtectedUnit(1, False, None) and SAMPLED in {
            o["type"] for o in losses_of(ledger["entries"])
        }:
            raise ContradictionError(
                f"a {SAMPLED} is for single rows added or removed, and not for this unit"
            )
        modelled = {column["name"]: column["provenance"] for column in document["domain"]}
        for name in settings.get("voted", ()):
            if name not in columns or modelled.get(name) == "declared":
                raise ContradictionError(
                    f"a type was voted for of {quoted(name)}, which is no column, or was declared"
                )
        if unknown := sorted({*settings.get("voted_others", ())} - {*settings.get("voted", ())}):
            raise ContradictionError(
                f"cells of another kind than a vote found are told of {quoted(unknown[0])}"
            )
        if settings.get("voted") and not entries.get("types", {"losses": ()})["losses"]:
            raise ContradictionError("types were voted for, and no entry pays for the vote")
    if settings["split"] is None and any(a["rows"] != "all" for a in document["answers"]["asked"]):
        raise ContradictionError("answers were asked of a part of the rows, and the settings have no split")
    rows, person = settings.get("public_rows"), neighbours["person"]
    if person is not None and person not in columns - {column["name"] for column in document["domain"]}:
        raise ContradictionError(
            f"column {quoted(person)} says whose a row is, and is no column that is invented"
        )
    needed = {"persons": person is not None, "public table": rows is not None, "rules": document["rules"]}
    for name, is_needed in needed.items():
        if (name in entries) != bool(is_needed) and has_claim([entries.get(name, {"losses": ()})]):
            raise ContradictionError(
                f"the ledger must {'' if is_needed else 'not '}have an entry {name!r}, as the file is"
            )
    if rows is not None:
        source = settings.get("public_source")
        named = [f"named by the {who}{f', {source}' if source else ''}" for who in ("data owner", "holder")]
        texts = tuple(f"published table of {rows:,} rows {text}" for text in named)  # the last: older files
        if not entries["public table"]["mechanism"].endswith(texts):
            raise ContradictionError("the ledger names another published table than the settings")
    _check_count(document)
    unused = [name for name, usual in sorted(UNUSED_OPTIONS.items()) if settings.get(name, usual) != usual]
    note = f"; without effect: {', '.join(unused)}" if unused else ""
    return f"unit, delta and test are those that the ledger counts with{note}"


def _check_count(document: Any) -> None:
    """Check the charge, the noise and the value of a first row count."""
    entries, answers = document["ledger"]["entries"], document["answers"]["asked"]
    unit = ProtectedUnit.of(document["ledger"])
    counts = [e for e in entries if e["name"] == "count" and e["losses"] and not is_reused_domain(e)]
    firsts = [answer for answer in answers if answer["kind"] == FIRST_COUNT]
    if not counts and not firsts:
        return
    if counts != entries[:1] or firsts != answers[:1]:
        raise ContradictionError(
            "a count before all else needs one entry and one answer, the first of the file"
        )
    (entry,), (answer,) = counts, firsts
    epsilon = min(FIRST_SHARE * (document["settings"]["epsilon"] or 0.0), FIRST_MOST)
    (loss, *others) = entry["losses"]
    if others or loss["type"] != "PureDP" or loss["count"] != 1 or not _is_close(loss["epsilon"], epsilon):
        raise ContradictionError(
            f"a count before all else costs epsilon {rounded_up(epsilon)} here, and is charged otherwise"
        )
    if answer["paid_by"] != ["count"] or answer["noise"] != "discrete laplace" or answer["rows"] != "all":
        raise ContradictionError(
            "a count before all else is of all rows, has Laplace noise, and is paid by its entry"
        )
    if not _is_close(answer["scale"], unit.rows / epsilon):
        raise ContradictionError("a count before all else has other noise than its entry pays for")
    for other in (a for a in answers if a["kind"] == "number of rows" and a["rows"] == "all"):
        if abs(other["values"][0] - answer["values"][0]) > FAR * (answer["scale"] + other["scale"]):
            raise ContradictionError(
                "a count before all else is of another table: a later number of rows is far from it"
            )


def _is_close(value: float, reference: float) -> bool:
    return abs(value - reference) <= 1e-6 * reference
