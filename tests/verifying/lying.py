"""Lies about a release: each a change of a file, what it is refused by, and whether the product reads the file."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from agreeing import made

from sdv_plausible import Release
from sdv_plausible.release.file.arrays import decode, encode
from sdv_plausible.release.file.documents import write

Document = dict[str, Any]


@dataclass(frozen=True)
class Lie:
    """One: of a case, refused by the verdict about something.

    ``consistent``: the total and the sentence are made again from what the entries then say, so that the
    product reads the file.
    """

    case: str
    about: str
    change: Callable[[Document], object]
    consistent: bool = True


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
    if document["ledger"]["epsilon"] is None and any(
        loss["type"] == "InfiniteLoss" for entry in document["ledger"]["entries"] for loss in entry["losses"]
    ):
        return write(document)
    before = document["ledger"]["epsilon"], document["ledger"]["sentence"]
    ledger = Release.from_bytes(write({**document, "ledger": {**document["ledger"], "epsilon": 1e9}})).ledger
    ledger.stated = 0.0
    if before[0] is None or abs(ledger.total() - before[0]) > 1e-6 * before[0]:
        document["ledger"] |= {"epsilon": ledger.total(), "sentence": ledger.sentence()}
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


# --- places in a file -----------------------------------------------------------------------------


def entry(document: Document, name: str, *, charged: bool = True) -> Any:
    return next(
        e for e in document["ledger"]["entries"] if e["name"] == name and bool(e["losses"]) == charged
    )


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


def another_model(document: Document) -> None:
    document["model"] = json.loads(honest("epsilon, independent"))["model"]


def permuted(probabilities: np.ndarray) -> np.ndarray:
    return np.roll(probabilities, 1, axis=1)


def no_longer_inferred(document: Document) -> None:
    """What was read off the rows is said to be declared, and nothing ends the claim."""
    document["ledger"]["entries"] = [
        e for e in document["ledger"]["entries"] if {"type": "InfiniteLoss"} not in e["losses"]
    ]
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


def more_entries(document: Document, **change: Any) -> None:
    document["ledger"]["entries"].append(
        {**document["ledger"]["entries"][-1], "name": "more", "note": "", **change}
    )


CFS, CFS_PAID = "cfs, row", "answers paid by margins, size, structure, tables"
ROW, LEARNED, SEEDS, STAGES = "adaptive, row", "learned, strong", "k", "given arcs, row"
LIES: dict[str, Lie] = {
    # sigma, and what pays for it
    "one answer has more noise than it had": Lie(
        ROW, "answers paid by model", lambda d: asked(d, "counts")[0].update(scale=0.1)
    ),
    "all answers have less noise": Lie(ROW, "answers paid by model", lambda d: scaled(d, 0.9)),
    "all answers have more noise": Lie(ROW, "model from its answers", lambda d: scaled(d, 2.0)),
    "a stage has less noise than its entry": Lie(
        STAGES, "answers paid by margins, tables, structure", lambda d: asked(d)[-1].update(scale=1.0)
    ),
    "the share of the model is halved": Lie(ROW, "answers paid by model", lambda d: less(d, "model", 0.5)),
    "the share is halved, and the noise doubled": Lie(
        ROW, "charges of the model", lambda d: (less(d, "model", 0.5), scaled(d, 2.0))
    ),
    "the share of one stage is halved": Lie(
        STAGES, "answers paid by margins, tables, structure", lambda d: less(d, "tables", 0.5)
    ),
    "fewer uses are charged": Lie(
        STAGES, "answers paid by margins, tables, structure", lambda d: loss(d, "tables", count=1)
    ),
    "the share of the domain is halved": Lie(
        LEARNED, "answers paid by domain", lambda d: less(d, "domain", 0.5)
    ),
    "fewer thresholds are charged": Lie(
        LEARNED, "answers paid by domain", lambda d: loss(d, "domain", 1, count=1)
    ),
    "a failure of thresholds is charged that none has": Lie(
        LEARNED, "answers paid by domain", lambda d: loss(d, "domain", 1, delta=1e-300)
    ),
    "another entry pays": Lie(LEARNED, "answers paid by domain", lambda d: in_each(d, paid_by=["domain"])),
    "no entry pays": Lie(ROW, "answers paid by ", lambda d: in_each(d, paid_by=[]), False),
    "an unknown entry pays": Lie(
        ROW, "answers paid by model, nobody", lambda d: in_each(d, paid_by=["model", "nobody"])
    ),
    "entropies of more rows than were counted": Lie(CFS, CFS_PAID, lambda d: more_least_rows(d, 1000)),
    "the failure of the number of rows is not charged": Lie(
        CFS, CFS_PAID, lambda d: entry(d, "size")["losses"].pop()
    ),
    # parts of the rows
    "a split, all of one part": Lie(CFS, CFS_PAID, lambda d: a_split(d, "structure"), False),
    "a split, all of the rows of the seeds": Lie(
        ROW, "answers paid by model", lambda d: a_split(d, "seeds"), False
    ),
    "the tables are charged to the rows of the seeds": Lie(
        "split", CFS_PAID, lambda d: of_parts(d, "tables", "seeds"), False
    ),
    "the tables are charged to the rows of the structure": Lie(
        "split", CFS_PAID, lambda d: of_parts(d, "tables", "structure")
    ),
    "an entry of the seeds is for something else as well": Lie(
        SEEDS, "seeds", lambda d: of_parts(d, "seeds", "seeds", "domain")
    ),
    "the tables are charged as seeds": Lie(
        STAGES, "seeds", lambda d: of_parts(d, "tables", "seeds")
    ),
    # entries that are missing
    "the vote and its entry are missing": Lie("types", "entries", no_vote, False),
    "an entry of no part is said to be within": Lie(
        "types", "total", lambda d: of_parts(d, "model"), False
    ),
    "what ends the claim is said to be within": Lie(
        "types", "total", lambda d: more_entries(d, parts=["domain"], losses=[{"type": "InfiniteLoss"}]), False
    ),
    "what ends the claim has no part": Lie(
        "types", "total", lambda d: more_entries(d, parts=[], losses=[{"type": "InfiniteLoss"}]), False
    ),
    "the entry of a stage is missing": Lie(
        STAGES, "answers paid by margins, structure", lambda d: drop(d, "tables")
    ),
    "the entry of noisy gradients is missing": Lie("latent, row", "model", lambda d: drop(d, "training")),
    "the entry of the domain is missing": Lie(LEARNED, "domain", lambda d: drop(d, "domain"), False),
    "the entry of the seeds is missing": Lie(SEEDS, "seeds", lambda d: drop(d, "seeds"), False),
    "the entry that ends the claim is missing": Lie("undeclared", "domain", no_longer_inferred),
    "the entry of the vote is missing": Lie("types", "entries", lambda d: drop(d, "types"), False),
    "what stands for domain and model is less than they": Lie(
        "types", "entries", lambda d: less(d, "learning", 0.5), False
    ),
    "the entry of the persons is missing": Lie(
        "rows_per_person", "settings", lambda d: drop(d, "persons", charged=False)
    ),
    "the entry of the rules is missing": Lie("rules", "settings", lambda d: drop(d, "rules", charged=False)),
    # the total, and the words
    "a lower total": Lie(ROW, "total", lambda d: d["ledger"].update(epsilon=0.5), False),
    "a total at a smaller delta": Lie(ROW, "total", lambda d: d["ledger"].update(delta=1e-12), False),
    "a larger delta than was asked for": Lie(ROW, "settings", lambda d: d["ledger"].update(delta=1e-6)),
    "the sentence says less": Lie(
        ROW, "words", lambda d: d["ledger"].update(sentence=d["ledger"]["sentence"].replace("2.72", "1.72"))
    ),
    "the sentence covers more": Lie(
        ROW, "words", lambda d: d["ledger"].update(sentence=d["ledger"]["sentence"] + " It covers everything.")
    ),
    "more is said to be covered": Lie(ROW, "words", lambda d: d["ledger"].update(covers="everything")),
    "what is not covered is left out": Lie(ROW, "words", lambda d: d["ledger"]["not_covered"].pop()),
    "why there is no claim is told otherwise": Lie(
        "undeclared", "words",
        lambda d: next(e for e in d["ledger"]["entries"] if e["note"]).update(note="all is well"),
    ),
    # whom it protects
    "fewer rows of a person": Lie(
        "rows_per_person", "model from its answers", lambda d: unit(d, rows_per_person=1)
    ),
    "removal for replacement": Lie(
        "adaptive, row replaced", "model from its answers", lambda d: unit(d, relation="add_remove")
    ),
    "another unit in the ledger alone": Lie(
        "rows_per_person", "settings", lambda d: d["ledger"]["neighbours"].update(rows_per_person=1), False
    ),
    "a split that was not made": Lie(
        STAGES, "answers paid by margins, tables, structure",
        lambda d: d["settings"].update(split=[0.1, 0.1, 0.8]), False
    ),
    "a part of the rows without a split": Lie(ROW, "settings", lambda d: in_each(d, rows="learning")),
    # the domain
    "a learned column is said to be declared": Lie(
        LEARNED, "domain", lambda d: column(d, "ward").update(provenance="declared")
    ),
    "a declared column is said to be learned": Lie(
        "partly learned", "domain", lambda d: column(d, "ward").update(provenance="private")
    ),
    "a learned column has other values": Lie(
        LEARNED, "domain", lambda d: column(d, "ward").update(values=["Z", *column(d, "ward")["values"][1:]])
    ),
    "a learned column has other counts": Lie(
        LEARNED, "domain", lambda d: column(d, "ward").update(counts=[9, *column(d, "ward")["counts"][1:]])
    ),
    "the domain of another release": Lie(
        ROW, "model", lambda d: d.update(domain=json.loads(honest("max_bins"))["domain"]), False
    ),
    "a value that too few hold": Lie(
        LEARNED, "answers paid by domain",
        lambda d: array(asked(d, "frequent values")[0], "values", lambda v: np.append(v[:-1], 5)),
    ),
    # the rules
    "a rule is left out": Lie("rules", "settings", lambda d: d["rules"].pop()),
    "a rule is added": Lie("rules", "rules", lambda d: d["rules"].append(d["rules"][0])),
    "the rule that makes a column is left out": Lie("inequality", "rules", lambda d: d["rules"].pop(), False),
    # the seeds
    "released sizes below the threshold": Lie(
        SEEDS, "seeds", lambda d: array(d["seeds"][0], "sizes", lambda v: v * 0 + 7)
    ),
    "more seeds than were needed": Lie(SEEDS, "seeds", lambda d: d["settings"].update(k=5000)),
    "a smaller failure of the released sizes": Lie(SEEDS, "seeds", lambda d: loss(d, "seeds", delta=1e-9)),
    "more noise on the released sizes": Lie(SEEDS, "seeds", lambda d: loss(d, "seeds", epsilon0=0.5)),
    # the model, and the answers that it is made of
    "a table of the model is another": Lie(
        STAGES, "model from its answers",
        lambda d: array(d["model"]["tables"][0], "probabilities", permuted),
    ),
    "the model of another release": Lie("independent, row", "model from its answers", another_model),
    "another learner": Lie("independent, row", "charges of the model", lambda d: d["settings"].update(model="bayesian_network", structure="cfs")),
    "nothing was learned": Lie(
        "independent, row", "model", lambda d: d["settings"].update(model="uniform", structure=None)
    ),
    "an answer is left out": Lie(STAGES, "model from its answers", lambda d: d["answers"]["asked"].pop()),
    "an answer is given twice": Lie(
        STAGES, "answers paid by margins, tables, structure",
        lambda d: d["answers"]["asked"].append(copy.deepcopy(d["answers"]["asked"][-1])),
    ),
    "an answer has other values": Lie(
        STAGES, "model from its answers", lambda d: array(asked(d)[-1], "values", lambda v: np.roll(v, 1, axis=-1))
    ),
    "an answer is to another question": Lie(
        STAGES, "model from its answers",
        lambda d: asked(d)[-1].update(tables=asked(d)[0]["tables"], values=asked(d)[0]["values"]),
    ),
    "a published table of another size": Lie(
        "public_source", "settings", lambda d: d["settings"].update(public_rows=61)
    ),
    "another published table": Lie(
        "public_source", "published table", lambda d: d["settings"].update(public_sha256="0" * 64)
    ),
    # the format
    "types that were detected": Lie(ROW, "settings", lambda d: d["settings"].update(types="detected")),
    "a loss that cannot be": Lie(ROW, "format", lambda d: loss(d, "model", sensitivity_over_sigma=0), False),
    "a loss of another kind": Lie(ROW, "format", lambda d: loss(d, "model", type="PureDP"), False),
    "an entry that the format does not know": Lie(ROW, "format", lambda d: d.update(proof="trust me"), False),
}  # fmt: skip
