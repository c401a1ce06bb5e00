"""Lies about a release: each a change of a file, what it is refused by, and whether the product reads the file."""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from agreeing import made

from sdv_plausible import Release
from sdv_plausible.release.file.json_documents import decode, encode, write

Document = dict[str, Any]


@dataclass(frozen=True)
class Lie:
    """One: of a case, refused by the verdict about something.

    ``consistent``: the total and the sentence are made again from what the entries then say, so that the
    product reads the file. ``state``: what the verdict is, where no file can contradict the lie.
    """

    case: str
    about: str
    change: Callable[[Document], object]
    consistent: bool = True
    state: str = "refused"


@cache
def honest(case: str) -> str:
    """Text of a case's file."""
    return made(case).to_bytes().decode()


def told(lie: Lie) -> bytes:
    """The file with the lie in it."""
    document = json.loads(honest(lie.case))
    lie.change(document)
    return restated(document) if lie.consistent else write(document)


def restated(document: Document) -> bytes:
    """The file with the total and the sentence that its entries give."""
    said = document["ledger"]
    before, losses = said["epsilon"], [loss["type"] for one in said["entries"] for loss in one["losses"]]
    if before is None and "InfiniteLoss" in losses:
        return write(document)
    ledger = Release.from_bytes(write({**document, "ledger": {**said, "epsilon": 1e9}})).ledger
    ledger.stated = 0.0
    if before is None or abs(ledger.total() - before) > 1e-6 * before:
        said |= {"epsilon": ledger.total(), "sentence": ledger.sentence()}
    return write(document)


def damaged(document: Any, rng: np.random.Generator) -> Any:
    """The document with one value, somewhere, replaced, left out or added."""
    document = copy.deepcopy(document)
    holder = document
    while True:
        names = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        name = names[rng.integers(len(names))]
        inner = holder[name]
        if isinstance(inner, (dict, list)) and inner and rng.random() < 0.8:
            holder = inner
            continue
        kind = rng.integers(4)
        if kind == 0 and isinstance(holder, dict):
            del holder[name]
        elif kind == 1 and isinstance(holder, dict):
            holder["strange"] = 1
        else:
            holder[name] = [None, -3, 0.5, "x", True, [], {}, "%d"][rng.integers(8)]
        return document


def entry(document: Document, name: str, *, charged: bool = True) -> Any:
    entries = document["ledger"]["entries"]
    return next(one for one in entries if one["name"] == name and bool(one["losses"]) == charged)


def loss(document: Document, name: str, at: int = 0, **change: float) -> None:
    entry(document, name)["losses"][at].update(change)


def less(document: Document, name: str, factor: float) -> None:
    """A loss of so much less noise is said of an entry."""
    (one, *_) = entry(document, name)["losses"]
    one["sensitivity_over_sigma"] *= factor


def drop(document: Document, name: str, *, charged: bool = True) -> None:
    """An entry is left out, and pays for nothing any more."""
    document["ledger"]["entries"].remove(entry(document, name, charged=charged))
    for one in asked(document):
        one["paid_by"] = [payer for payer in one["paid_by"] if payer != name]


def asked(document: Document, kind: str | None = None, axes: int | None = None) -> list[Any]:
    return [
        one
        for one in document["answers"]["asked"]
        if kind in (None, one["kind"]) and axes in (None, len(one["tables"][0]) if one["tables"] else 0)
    ]


def paid_twice(document: Document, payer: str, factor: float) -> None:
    """Answers of the domain are paid by another entry, too, and have less noise."""
    for one in asked(document):
        if one["paid_by"] == ["domain"]:
            one["paid_by"], one["scale"] = ["domain", payer], one["scale"] * factor


def all_rounded(document: Document) -> None:
    for one in asked(document):
        one["noise"] = "rounded"
        one.pop("granularity", None)


def on_whole_numbers(document: Document) -> None:
    """Values, which a file holds in steps, are those of noise on whole numbers."""
    for one in asked(document):
        if (step := one.get("granularity", 1)) < 1:
            one["values"] = encode((np.round(decode(one["values"]) * step) / step).astype(np.int64))


def scaled(document: Document, factor: float) -> None:
    for one in asked(document):
        one["scale"] *= factor


def array(holder: Any, name: str, change: Callable[[np.ndarray], np.ndarray]) -> None:
    holder[name] = encode(change(decode(holder[name])))


def column(document: Document, name: str) -> Any:
    return next(c for c in document["domain"] if c["name"] == name)


def unit(document: Document, **change: Any) -> None:
    document["ledger"]["neighbours"].update(change)
    settings = {"neighbours" if name == "relation" else name: value for name, value in change.items()}
    document["settings"].update(settings)


def permuted(probabilities: np.ndarray) -> np.ndarray:
    return np.roll(probabilities, 1, axis=1)


def no_longer_inferred(document: Document) -> None:
    """What was read off the rows is said to be declared, and nothing ends the claim."""
    kept = [e for e in document["ledger"]["entries"] if {"type": "InfiniteLoss"} not in e["losses"]]
    document["ledger"]["entries"] = kept
    document["settings"]["undeclared"] = "private"
    for one in document["domain"]:
        one["provenance"] = "declared"


def in_each(changed: Document, **change: Any) -> None:
    for one in asked(changed):
        one.update(change)


def of_parts(document: Document, name: str, *parts: str) -> None:
    """An entry is said to pay for other parts."""
    entry(document, name)["parts"] = list(parts)


def a_split(document: Document, rows: str) -> None:
    """All answers are said to be of one secret part of the rows."""
    document["settings"]["split"] = [0.3, 0.3, 0.4]
    in_each(document, rows=rows)


def more_least_rows(document: Document, factor: int) -> None:
    """Entropies are said to be of more rows than there are, and have as much less noise."""
    (one,) = asked(document, "entropies")
    one["details"]["least_rows"] *= factor
    one["scale"] /= factor / 2


def no_vote(document: Document) -> None:
    """Types that were voted for are said to be declared, and nobody pays for the vote."""
    drop(document, "types")
    del document["settings"]["voted"]
    document["settings"].pop("voted_others", None)


def more_entries(document: Document, **change: Any) -> None:
    entries = document["ledger"]["entries"]
    entries.append({**entries[-1], "name": "more", "note": "", **change})


def no_answers(document: Document, paid_by: str | None = None, factor: float = 50) -> None:
    """The answers that some entry paid for, or all, are deleted, and so much less noise is charged."""
    kept = [one for one in asked(document) if paid_by is not None and paid_by not in one["paid_by"]]
    gone = {name for one in asked(document) if one not in kept for name in one["paid_by"]}
    for one in document["ledger"]["entries"]:
        for held in one["losses"] if one["name"] in gone else ():
            if "sensitivity_over_sigma" in held:
                held["sensitivity_over_sigma"] /= factor
    document["answers"]["asked"] = kept
    if not any(one["tables"] for one in kept):
        document["answers"]["axes"] = []


def no_model_named(document: Document) -> None:
    """The learner is said to be somebody's own."""
    del document["settings"]["model"]


def from_earlier(document: Document, name: str) -> None:
    """An entry is said to carry what an earlier fit charged."""
    one = entry(document, name)
    one["mechanism"] = f"learned earlier at epsilon 1 and delta 1e-09: {one['mechanism']}"


def no_trace_of_a_vote(document: Document) -> None:
    """Types that were voted for are said to be declared; what stood for the outcome is gone, too."""
    for name in ("types", "learning"):
        drop(document, name)
    document["settings"].update(types="declared")
    del document["settings"]["voted"]
    document["settings"].pop("voted_others", None)


def bins(document: Document, name: str, change: Callable[[list[list[float]]], object]) -> None:
    """Bins of a column are others: ``change`` gets their ends."""
    one = column(document, name)
    ends = [list(pair) for pair in zip(one["lower"], one["upper"], strict=True)]
    change(ends)
    one["lower"], one["upper"] = map(list, zip(*sorted(ends), strict=True))


def one_salary(ends: list[list[float]]) -> None:
    """A bin of many salaries ends before one of them, which gets the next bin to itself."""
    widest = max(range(len(ends) - 1), key=lambda i: ends[i][1] - ends[i][0])
    ends[widest + 1][0] = ends[widest + 1][1]


def with_point(document: Document, name: str, point: int, count: int) -> None:
    """One more single number is said to be held by many rows."""
    one = next(a for a in asked(document, "frequent points") if a["columns"] == [name])
    at = sum(found < point for found in one["details"]["found"])
    one["details"]["found"].insert(at, point)
    array(one, "values", lambda v: np.insert(v, at, count))


def another_single_salary(ends: list[list[float]]) -> None:
    """The salary that has a bin to itself is another one, a cent below."""
    at = next(i for i, (first, last) in enumerate(ends) if first == last)
    ends[at - 1][1], ends[at], ends[at + 1][0] = 52_341.03, [52_341.04] * 2, 52_341.05


def a_published_table_was_not_used(document: Document) -> None:
    for name in ("public_rows", "public_source", "public_sha256"):
        document["settings"].pop(name, None)
    drop(document, "public table", charged=False)


def claimed(document: Document, loss: Any) -> None:
    """What ends the claim is said to cost a little; what the ledger then says is made again."""
    for one in document["ledger"]["entries"]:
        if {"type": "InfiniteLoss"} in one["losses"]:
            one["losses"] = [loss]
    document["ledger"]["epsilon"] = 1.0


def stored(document: Document, name: str, categories: list[str]) -> None:
    """A column is said to be stored as a category of these values."""
    one = next(c for c in document["schema"]["columns"] if c["name"] == name)
    one["dtype"] = {"values": categories, "ordered": False}


def also_declared(document: Document, names: str) -> None:
    """One more entry says what was declared."""
    said = {"name": "domain", "mechanism": f"declared: {names}", "scope": "the domain", "parts": ["domain"]}
    document["ledger"]["entries"].insert(0, {"losses": [], "note": "", **said})


def an_unknown_assumption(document: Document) -> None:
    also_declared(document, "x")
    document["ledger"]["entries"][0].update(name="column types", mechanism="x", assumes=["nobody at all"])
    document["settings"]["types"] = None


def one_large_failure(document: Document) -> None:
    """One threshold may fail as charged; the others' failures are charged as good as nothing."""
    for one in asked(document, "frequent values"):  # of rows that are too few for that
        array(one, "values", lambda v: np.append(v[:-1], 60))
    failures = next(one for one in entry(document, "domain")["losses"] if one["type"] == "ApproxDP")
    entry(document, "domain")["losses"].append({**failures, "count": failures["count"] - 1, "delta": 1e-300})
    failures["count"] = 1


def unpackable(document: Document) -> None:
    """The epsilons of four tables are charged as three, of the same sum: none holds two tables."""
    (pieces,) = entry(document, "tables")["losses"]
    pieces.update(count=3, epsilon=pieces["epsilon"] * pieces["count"] / 3)


def another_rule_in_the_ledger(document: Document) -> None:
    one = entry(document, "rules", charged=False)
    one["mechanism"] = one["mechanism"].replace("ward is C", "ward is Z")


def another_published_table(document: Document, **named: str) -> None:
    """The ledger names a table of a thousand rows more, or of somebody else."""
    one = entry(document, "public table", charged=False)
    for told, other in {"60 rows": "1,060 rows", **named}.items():
        one["mechanism"] = one["mechanism"].replace(told, other)


SMALL = {"type": "GaussianLoss", "sensitivity_over_sigma": 0.01, "count": 1}
SAMPLED = {"type": "SampledGaussianLoss", "rate": 0.01, "sensitivity_over_sigma": 0.1, "count": 3}
LEARN, MODEL = "learned columns from their answers", "model from its answers"
CFS, CFS_PAID = "cfs, row", "answers paid by margins, size, structure, tables"
PRINTED, PRINTED_PAID = "as printed, row", "answers paid by size, structure, tables"
ROW, LEARNED, SEEDS, STAGES = "adaptive, row", "learned, strong", "k", "given arcs, row"
LIES: dict[str, Lie] = {
    # what nobody paid for
    "a column that a rule makes was read off the rows": Lie("inequality", "domain",
        lambda d: d["rules"][0]["made"][0].update(provenance="inferred"), False),
    "a column that a rule makes was edited": Lie("inequality", "domain",
        lambda d: d["rules"][0]["made"][0].update(provenance="edited"), False),
    "a declared column has numbers of rows": Lie(ROW, "domain",
        lambda d: column(d, "ward").update(counts=[203, 121, 76, 0])),
    "a declared number has shares of rounded values": Lie(ROW, "domain",
        lambda d: column(d, "days").update(rounding={"steps": [1, 5], "weights": [[0.12, 0.88]]})),
    "an answer is said to be exact": Lie(ROW, "answers paid by model",
        lambda d: asked(d, "counts")[0].update(noise="rounded")),
    "all answers are said to be exact": Lie("numbers within bounds", "answers paid by domain", all_rounded),
    "learned columns are said to be declared, too": Lie(LEARNED, "domain",
        lambda d: also_declared(d, "ward, stage, days, kept")),
    "more is said to be declared": Lie(ROW, "domain", lambda d: also_declared(d, "everything")),
    "a person is told by a column that is not there": Lie("rows_per_person", "settings",
        lambda d: unit(d, person="household")),
    "the type of an unknown column is assumed": Lie(ROW, "settings", an_unknown_assumption),
    "released sizes are far above the number of rows": Lie(SEEDS, "seeds",
        lambda d: array(d["seeds"][0], "sizes", lambda sizes: sizes + 10**12)),
    # sigma, and what pays for it
    "one answer has more noise than it had": Lie(ROW, "answers paid by model",
        lambda d: asked(d, "counts")[0].update(scale=0.1)),
    "an envelope pays for answers a second time": Lie("types", "answers paid by domain, learning",
        lambda d: paid_twice(d, "learning", 0.43)),
    "a vote pays for answers of the domain": Lie("types", "answers paid by domain, types",
        lambda d: paid_twice(d, "types", 0.81)),
    "noise on whole numbers is said to be on a finer lattice": Lie("strong", "answers paid by model",
        on_whole_numbers),
    "all answers have less noise": Lie(ROW, "answers paid by model", lambda d: scaled(d, 0.9)),
    "all answers have more noise": Lie(ROW, "model from its answers", lambda d: scaled(d, 2.0)),
    "a stage has less noise than its entry": Lie(STAGES, "answers paid by margins, tables, structure",
        lambda d: asked(d)[-1].update(scale=1.0)),
    "the share of the model is halved": Lie(ROW, "answers paid by model", lambda d: less(d, "model", 0.5)),
    "the share is halved, and the noise doubled": Lie(ROW, "charges of the model",
        lambda d: (less(d, "model", 0.5), scaled(d, 2.0))),
    "the share of one stage is halved": Lie(STAGES, "answers paid by margins, tables, structure",
        lambda d: less(d, "tables", 0.5)),
    "fewer uses are charged": Lie(STAGES, "answers paid by margins, tables, structure",
        lambda d: loss(d, "tables", count=1)),
    "the share of the domain is halved": Lie(LEARNED, "answers paid by domain", lambda d: less(d, "domain", 0.5)),
    "fewer thresholds are charged": Lie(LEARNED, "answers paid by domain", lambda d: loss(d, "domain", -1, count=1)),
    "the failure of one threshold is charged for all": Lie(LEARNED, "answers paid by domain", one_large_failure),
    "epsilons are charged that hold no two answers": Lie(PRINTED, PRINTED_PAID, unpackable),
    "a failure of thresholds is charged that none has": Lie(LEARNED, "answers paid by domain",
        lambda d: loss(d, "domain", -1, delta=1e-300)),
    "another entry pays": Lie(LEARNED, "answers paid by domain", lambda d: in_each(d, paid_by=["domain"])),
    "no entry pays": Lie(ROW, "answers paid by ", lambda d: in_each(d, paid_by=[]), False),
    "an unknown entry pays": Lie(ROW, "answers paid by model, nobody",
        lambda d: in_each(d, paid_by=["model", "nobody"])),
    "entropies of more rows than were counted": Lie(CFS, CFS_PAID, lambda d: more_least_rows(d, 1000)),
    "the failure of the number of rows is not charged": Lie(CFS, CFS_PAID,
        lambda d: entry(d, "size")["losses"].pop()),
    # parts of the rows
    "a split, all of one part": Lie(CFS, CFS_PAID, lambda d: a_split(d, "structure"), False),
    "a split, all of the rows of the seeds": Lie(ROW, "answers paid by model", lambda d: a_split(d, "seeds"), False),
    "the tables are charged to the rows of the seeds": Lie("split", CFS_PAID,
        lambda d: of_parts(d, "tables", "seeds"), False),
    "the tables are charged to the rows of the structure": Lie("split", CFS_PAID,
        lambda d: of_parts(d, "tables", "structure")),
    "an entry of the seeds is for something else as well": Lie(SEEDS, "seeds",
        lambda d: of_parts(d, "seeds", "seeds", "domain")),
    "the tables are charged as seeds": Lie(STAGES, "seeds", lambda d: of_parts(d, "tables", "seeds")),
    # entries that are missing
    "the vote and its entry are missing": Lie("types", "entries", no_vote, False),
    "an entry of no part is said to be within": Lie("types", "total", lambda d: of_parts(d, "model"), False),
    "what ends the claim is said to be within": Lie("types", "total",
        lambda d: more_entries(d, parts=["domain"], losses=[{"type": "InfiniteLoss"}]), False),
    "what ends the claim has no part": Lie("types", "total",
        lambda d: more_entries(d, parts=[], losses=[{"type": "InfiniteLoss"}]), False),
    "the entry of a stage is missing": Lie(STAGES, "answers paid by margins, structure", lambda d: drop(d, "tables")),
    "the entry of noisy gradients is missing": Lie("latent, row", "model", lambda d: drop(d, "training")),
    "the entry of the domain is missing": Lie(LEARNED, "domain", lambda d: drop(d, "domain"), False),
    "the entry of the seeds is missing": Lie(SEEDS, "seeds", lambda d: drop(d, "seeds"), False),
    "the entry that ends the claim is missing": Lie("undeclared", "domain", no_longer_inferred),
    "the entry of the vote is missing": Lie("types", "entries", lambda d: drop(d, "types"), False),
    "what stands for domain and model is less than they": Lie("types", "entries", lambda d: less(d, "learning", 0.5),
        False),
    "the entry of the persons is missing": Lie("rows_per_person", "settings",
        lambda d: drop(d, "persons", charged=False)),
    "the entry of the rules is missing": Lie("rules", "settings", lambda d: drop(d, "rules", charged=False)),
    # the total, and the words
    "a lower total": Lie(ROW, "total", lambda d: d["ledger"].update(epsilon=0.5), False),
    "a total at a smaller delta": Lie(ROW, "total", lambda d: d["ledger"].update(delta=1e-12), False),
    "a source of no published table": Lie(ROW, "settings", lambda d: d["settings"].update(public_source="an office"),
        False),
    "a larger delta than was asked for": Lie(ROW, "settings", lambda d: d["ledger"].update(delta=1e-6)),
    "the sentence says less": Lie(ROW, "words",
        lambda d: d["ledger"].update(sentence=d["ledger"]["sentence"].replace("2.72", "1.72"))),
    "the sentence covers more": Lie(ROW, "words",
        lambda d: d["ledger"].update(sentence=d["ledger"]["sentence"] + " It covers everything.")),
    "more is said to be covered": Lie(ROW, "words", lambda d: d["ledger"].update(covers="everything")),
    "what is not covered is left out": Lie(ROW, "words", lambda d: d["ledger"]["not_covered"].pop()),
    "why there is no claim is told otherwise": Lie("undeclared", "words",
        lambda d: next(e for e in d["ledger"]["entries"] if e["note"]).update(note="all is well")),
    # whom it protects
    "fewer rows of a person": Lie("rows_per_person", "model from its answers", lambda d: unit(d, rows_per_person=1)),
    "removal for replacement": Lie("adaptive, row replaced", "model from its answers",
        lambda d: unit(d, relation="add_remove")),
    "another unit in the ledger alone": Lie("rows_per_person", "settings",
        lambda d: d["ledger"]["neighbours"].update(rows_per_person=1), False),
    "a split that was not made": Lie(STAGES, "answers paid by margins, tables, structure",
        lambda d: d["settings"].update(split=[0.1, 0.1, 0.8]), False),
    "a part of the rows without a split": Lie(ROW, "settings", lambda d: in_each(d, rows="learning")),
    # the domain
    "a learned column is said to be declared": Lie(LEARNED, "domain",
        lambda d: column(d, "ward").update(provenance="declared")),
    "a declared column is said to be learned": Lie("partly learned", "domain",
        lambda d: column(d, "ward").update(provenance="private")),
    "a learned column has other values": Lie(LEARNED, "domain",
        lambda d: column(d, "ward").update(values=["Z", *column(d, "ward")["values"][1:]])),
    "a learned column has other counts": Lie(LEARNED, "domain",
        lambda d: column(d, "ward").update(counts=[9, *column(d, "ward")["counts"][1:]])),
    "the domain of another release": Lie(ROW, "model",
        lambda d: d.update(domain=json.loads(honest("max_bins"))["domain"]), False),
    "a value that too few hold": Lie(LEARNED, "answers paid by domain",
        lambda d: array(asked(d, "frequent values")[0], "values", lambda v: np.append(v[:-1], 5))),
    # the rules
    "a rule is left out": Lie("rules", "settings", lambda d: d["rules"].pop()),
    "a rule is another one than the ledger names": Lie("rules", "rules in the ledger",
        lambda d: d["rules"][0]["rule"].update(when={"ward": ["B"]})),
    "the ledger names another rule": Lie("rules", "rules in the ledger", another_rule_in_the_ledger),
    "a rule is added": Lie("rules", "rules", lambda d: d["rules"].append(d["rules"][0])),
    "a rule allows smaller distances than there are": Lie("inequality", "rules",
        lambda d: d["rules"][0]["rule"].update(most=0)),
    "a rule makes a column twice": Lie("inequality", "rules",
        lambda d: d["rules"][0]["made"].append(d["rules"][0]["made"][0]), False),
    "a column that is made of declared ones is said to be learned": Lie("inequality", "program",
        lambda d: d["rules"][0]["made"][0].update(provenance="private"), False),
    "the rule that makes a column is left out": Lie("inequality", "rules", lambda d: d["rules"].pop(), False),
    # the seeds
    "released sizes below the threshold": Lie(SEEDS, "seeds",
        lambda d: array(d["seeds"][0], "sizes", lambda v: v * 0 + 7)),
    "a number of rows is said where no seed was used": Lie(ROW, "seeds",
        lambda d: array(d["seeds"][0], "sizes", lambda v: v * 298), False),
    "a number of rows is said as the version of something": Lie(ROW, "format",
        lambda d: d["versions"].update(rows="298"), False),
    "a version is a sentence": Lie(ROW, "format", lambda d: d["versions"].update(numpy="298 rows exactly"), False),
    "a column has no type": Lie(ROW, "format", lambda d: d["schema"]["columns"][-1].update(sdtype=""), False),
    "an entry pays twice for an answer": Lie(ROW, "answers",
        lambda d: asked(d)[0].update(paid_by=asked(d)[0]["paid_by"] * 2), False),
    "an axis is there twice": Lie(ROW, "answers", lambda d: d["answers"]["axes"].append(d["answers"]["axes"][0]),
        False),
    "an axis that no answer is of": Lie(ROW, "answers",
        lambda d: d["answers"]["axes"].append(
            {**d["answers"]["axes"][0], "buckets": encode(decode(d["answers"]["axes"][0]["buckets"]) * 0)}), False),
    "a table has an axis twice": Lie(ROW, "answers",
        lambda d: asked(d, "counts")[0].update(tables=[asked(d, "counts")[0]["tables"][0] * 2]), False),
    "more seeds than were needed": Lie(SEEDS, "seeds", lambda d: d["settings"].update(k=5000)),
    "a smaller failure of the released sizes": Lie(SEEDS, "seeds", lambda d: loss(d, "seeds", delta=1e-9)),
    "more noise on the released sizes": Lie(SEEDS, "seeds", lambda d: loss(d, "seeds", epsilon0=0.5)),
    # the model, and the answers that it is made of
    "a table of the model is another": Lie(STAGES, "model from its answers",
        lambda d: array(d["model"]["tables"][0], "probabilities", permuted)),
    "the model of another release": Lie("independent, row", "model from its answers",
        lambda d: d.update(model=json.loads(honest("epsilon, independent"))["model"])),
    "another learner": Lie("independent, row", "charges of the model",
        lambda d: d["settings"].update(model="bayesian_network", structure="cfs")),
    "nothing was learned": Lie("independent, row", "model",
        lambda d: d["settings"].update(model="uniform", structure=None)),
    "an answer is left out": Lie(STAGES, "model from its answers", lambda d: d["answers"]["asked"].pop()),
    "an answer is given twice": Lie(STAGES, "answers paid by margins, tables, structure",
        lambda d: d["answers"]["asked"].append(copy.deepcopy(d["answers"]["asked"][-1]))),
    "an answer has other values": Lie(STAGES, "model from its answers",
        lambda d: array(asked(d)[-1], "values", lambda v: np.roll(v, 1, axis=-1))),
    "an answer is to another question": Lie(STAGES, "model from its answers",
        lambda d: asked(d)[-1].update(tables=asked(d)[0]["tables"], values=asked(d)[0]["values"])),
    "a published table of another size": Lie("public_source", "settings",
        lambda d: d["settings"].update(public_rows=61)),
    "the ledger names a published table of a thousand rows more": Lie("public_source", "settings",
        another_published_table),
    "the ledger names a published table of somebody else": Lie("public_source", "settings",
        lambda d: another_published_table(d, **{"an office": "a census", "1,060": "60"})),
    "another published table": Lie("public_source", "published table",
        lambda d: d["settings"].update(public_sha256="0" * 64)),
    # answers that are not there
    "all answers are deleted": Lie(ROW, "answers", no_answers),
    "all answers are deleted, and the learner is not named": Lie(ROW, "answers",
        lambda d: (no_answers(d), no_model_named(d))),
    "the answers of the model are deleted": Lie(LEARNED, "answers",
        lambda d: (no_answers(d, "model"), no_model_named(d))),
    "all answers of several entries are deleted": Lie(STAGES, "answers", no_answers),
    "all answers of a person are deleted": Lie("rows_per_person", "answers", no_answers),
    "all answers beside seeds are deleted": Lie(SEEDS, "answers", no_answers),
    "all answers beside a published table are deleted": Lie("public_source", "answers", no_answers),
    "all answers after a vote are deleted": Lie("types", "answers", no_answers),
    "all answers with noise as printed are deleted": Lie("as printed, row", "answers", no_answers),
    "the answers of the domain are deleted": Lie(LEARNED, "answers", lambda d: no_answers(d, "domain")),
    "the domain is said to be learned earlier": Lie(LEARNED, "domain",
        lambda d: (no_answers(d, "domain"), from_earlier(d, "domain")), state="not checkable"),
    "the model is said to be learned earlier": Lie(ROW, "answers",
        lambda d: (no_answers(d, "model"), no_model_named(d), from_earlier(d, "model"))),
    "the model is said to be a vote": Lie(ROW, "answers",
        lambda d: (no_answers(d, "model"), no_model_named(d), entry(d, "model").update(name="types"))),
    "there was no vote, and nothing that stands for it": Lie("types", LEARN, no_trace_of_a_vote),
    "the learner is not named": Lie(ROW, MODEL, no_model_named, state="not checkable"),
    "the vote is charged less": Lie("types", "charges of the model", lambda d: less(d, "types", 0.1)),
    # numbers and dates that were learned
    "a learned number ends far out": Lie("numbers", LEARN,
        lambda d: bins(d, "pay", lambda ends: ends[-1].__setitem__(1, 987_654.32))),
    "a bin is one salary": Lie("numbers", LEARN, lambda d: bins(d, "pay", one_salary)),
    "a single salary that many share is none": Lie("numbers", LEARN, lambda d: bins(d, "pay", another_single_salary)),
    "a learned number has five decimals": Lie("numbers", "domain", lambda d: column(d, "pay").update(decimals=5)),
    "all digits are kept, and five are said": Lie("numbers of all digits", "domain",
        lambda d: column(d, "pay").update(decimals=5)),
    "five decimals, in the questions as well": Lie(
        "numbers", LEARN,
        lambda d: (
            column(d, "pay").update(decimals=5),
            [a["details"].update(decimals=5) for a in asked(d) if a["columns"] == ["pay"] and "decimals" in a["details"]],
        ),
    ),
    "a learned date ends later": Lie("numbers", LEARN,
        lambda d: bins(d, "born", lambda ends: ends[-1].__setitem__(1, ends[-1][1] + 864 * 10**14))),
    "a learned date is exact to the second": Lie("numbers", "domain", lambda d: column(d, "born").update(unit=10**9)),
    "a learned month begins earlier": Lie("numbers", LEARN,
        lambda d: bins(d, "seen", lambda ends: ends[0].__setitem__(0, 0))),
    "a learned number may be missing": Lie("numbers", "model", lambda d: column(d, "pay").update(nullable=True),
        False),
    "a learned truth value may be missing": Lie(LEARNED, "model", lambda d: column(d, "kept").update(nullable=True),
        False),
    "a learned category may be missing": Lie(LEARNED, "model", lambda d: column(d, "ward").update(nullable=True),
        False),
    "a learned category is said to be in order": Lie(LEARNED, LEARN,
        lambda d: column(d, "ward").update(values=[*reversed(column(d, "ward")["values"])],
            counts=[*reversed(column(d, "ward")["counts"][:-1]), column(d, "ward")["counts"][-1]])),
    "more rows hold other values": Lie(LEARNED, LEARN,
        lambda d: column(d, "ward").update(counts=[*column(d, "ward")["counts"][:-1], 99])),
    "runs of a number are left out": Lie("numbers", LEARN,
        lambda d: d["answers"]["asked"].remove(next(a for a in asked(d, "runs") if a["columns"] == ["pay"]))),
    "counts of runs are others": Lie("numbers", LEARN,
        lambda d: array(next(a for a in asked(d, "runs") if a["columns"] == ["pay"]), "values", lambda v: v[::-1])),
    "a salary that too few hold is single": Lie("numbers", "answers paid by domain",
        lambda d: with_point(d, "pay", 7_000_000, 6)),
    "a salary that many are said to hold is single": Lie("numbers", LEARN,
        lambda d: with_point(d, "pay", 7_000_000, 10**6)),
    "a number within bounds lies beyond them": Lie("numbers within bounds", "domain",
        lambda d: bins(d, "pay", lambda ends: ends[-1].__setitem__(1, 987_654.32))),
    "a date within bounds lies beyond them": Lie("numbers within bounds", "domain",
        lambda d: bins(d, "born", lambda ends: ends[0].__setitem__(0, ends[0][0] - 864 * 10**11))),
    "a bin within bounds is one salary": Lie("numbers within bounds", LEARN, lambda d: bins(d, "pay", one_salary)),
    "numbers within bounds are rounder": Lie("numbers within bounds", LEARN,
        lambda d: column(d, "pay")["rounding"]["weights"].__setitem__(0,
            [*reversed(column(d, "pay")["rounding"]["weights"][0])])),
    "a column that was not learned is asked": Lie("numbers", "domain",
        lambda d: next(a for a in asked(d, "runs") if a["columns"] == ["pay"]).update(columns=["ward"])),
    "two columns of the same answers": Lie("numbers", LEARN,
        lambda d: next(a for a in asked(d, "runs") if a["columns"] == ["born"]).update(columns=["seen"])),
    "a modelled column of an unknown sdtype": Lie(ROW, "rules",
        lambda d: d["schema"]["columns"][1].update(sdtype="certified")),
    "a number said to be a category": Lie(ROW, "rules",
        lambda d: next(c for c in d["schema"]["columns"] if c["name"] == "days").update(sdtype="categorical")),
    # what the settings and the ledger say beside
    "a limit below the total": Lie(ROW, "total", lambda d: d["ledger"].update(limit=0.5)),
    "a limit of a person below the total": Lie("rows_per_person", "total", lambda d: d["ledger"].update(limit=0.01)),
    "what was learned is said to be read off the rows": Lie(LEARNED, "settings",
        lambda d: d["settings"].update(undeclared="infer")),
    "sums over samples of people": Lie("rows_per_person", "settings",
        lambda d: more_entries(d, parts=["parameters"], losses=[SAMPLED])),
    "sums over samples of replaced rows": Lie("adaptive, row replaced", "settings",
        lambda d: more_entries(d, parts=["parameters"], losses=[SAMPLED])),
    "a column that is not there had a vote": Lie("types", "settings",
        lambda d: d["settings"]["voted"].append("nobody")),
    "a declared column had a vote": Lie("types", "settings", lambda d: d["settings"]["voted"].append("ward")),
    "the published table is not named": Lie("public_source", MODEL, a_published_table_was_not_used),
    "another test": Lie(ROW, "settings", lambda d: d["settings"].update(privacy_test="randomized"), False),
    "no entry of seeds": Lie(ROW, "seeds", lambda d: drop(d, "seeds", charged=False)),
    "what was learned without noise is said to cost a little": Lie("no noise", "answers",
        lambda d: (claimed(d, SMALL), d["settings"].update(epsilon=1.0))),
    "more noise on the released sizes of a person": Lie("seeds of people", "seeds", lambda d: loss(d, "seeds", l1=1)),
    "seeds of people that are too few": Lie("seeds of people", "seeds",
        lambda d: array(d["seeds"][0], "sizes", lambda v: v * 0 + 9)),
    # other models
    "another copula": Lie("copula, row", MODEL, lambda d: array(d["model"]["arrays"], "loadings", lambda v: v * 0)),
    "a copula without answers": Lie("copula, row", "answers", no_answers),
    "another table beside choices": Lie("correlated, row", "model",
        lambda d: d["model"]["tables"][-1].update(parents=[d["model"]["tables"][-1]["column"]]), False),
    "choices and no answers": Lie("correlated, row", "answers", no_answers),
    "noisy gradients and no answers": Lie("latent, row", "answers", no_answers),
    "a uniform model that knows something": Lie("uniform, row", "model",
        lambda d: array(d["model"]["tables"][0], "probabilities", lambda v: np.eye(v.shape[1])[:1]), False),
    "a model of people without answers": Lie("independent, person replaced", "answers", no_answers),
    "the model of people is another": Lie("independent, person replaced", MODEL,
        lambda d: array(d["model"]["tables"][1], "probabilities", permuted)),
    "answers of a workload are others": Lie("workload, person", MODEL,
        lambda d: array(asked(d, "counts")[-1], "values", lambda v: v[::-1])),
    # the format
    "types that were detected": Lie(ROW, "settings", lambda d: d["settings"].update(types="detected")),
    "a loss that cannot be": Lie(ROW, "format", lambda d: loss(d, "model", sensitivity_over_sigma=0), False),
    "a loss of another kind": Lie(ROW, "format", lambda d: loss(d, "model", type="PureDP"), False),
    "a setting that the format does not know": Lie(ROW, "format", lambda d: d["settings"].update(certified=True),
        False),
    "a released size moves by more than any unit": Lie(SEEDS, "format", lambda d: loss(d, "seeds", l1=30_000_000),
        False),
    "an entry that the format does not know": Lie(ROW, "format", lambda d: d.update(proof="trust me"), False),
}  # fmt: skip
