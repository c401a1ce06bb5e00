"""Damaged release files: refused with one line, or still well formed: they sample within their domain, and every paper
is made, of what their entries add up to.

Ten thousand of them in the nightly run, a few dozen in the fast one; the same ones on every run. A loader with a check less
is caught by damage where it looks, and as nothing is drawn anew, surely.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial, reduce
from itertools import product
from operator import getitem
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import ruled
from damage import DAMAGES, damage_json, damage_ledger, damaged
from jsonschema import Draft202012Validator
from releases import fitted

from sdv_plausible import Release, to_registry
from sdv_plausible.mechanism.drawing.mechanism import TooFewReleasedError
from sdv_plausible.release.file import document_nodes, domain_section, ledger_section, model_section
from sdv_plausible.release.file.document_nodes import DocumentNode
from sdv_plausible.release.file.json_documents import decode, encode
from tests.schemas import RELEASE_FILE

# Of damaged types, as if an older version had taken them from rows; of a damaged option of another test.
pytestmark = [
    pytest.mark.filterwarnings("ignore:this file was made by a version:UserWarning"),
    pytest.mark.filterwarnings("ignore:settings without effect:UserWarning"),
]

LONGEST, EXCERPT = 500, 60
MANY, FEW, PARTS = 10_000, 40, 10
VALIDATOR = Draft202012Validator(RELEASE_FILE)


@cache
def files() -> list[bytes]:
    cases = ("declared", "private", "seeds", "seeds, range", "mixed")
    releases = [fitted(case, max_bins=6).release() for case in cases]
    return [r.to_bytes() for r in releases] + [releases[2].to_bytes(readable=True), with_rules()]


@cache
def with_rules() -> bytes:
    return bytes(ruled.fitted().release().to_bytes())


def outcome(data: bytes) -> str:
    """What a loader makes of a file: "refused" or "accepted"; anything else is raised."""
    try:
        release = Release.from_bytes(data)
    except ValueError as error:
        check_message(str(error), data)
        return "refused"
    check_rows(release)
    check_papers(release, json.loads(data)["ledger"]["epsilon"])
    again = release.to_bytes()
    assert Release.from_bytes(again).to_bytes() == again
    VALIDATOR.validate(json.loads(data))
    return "accepted"


def check_message(message: str, data: bytes) -> None:
    """One line, short, and nothing long out of the file."""
    assert message.strip()
    assert "\n" not in message
    assert len(message) <= LONGEST, message
    text = data.decode("utf-8", errors="replace")
    assert not any(message[i : i + EXCERPT] in text for i in range(len(message) - EXCERPT + 1)), message


def check_rows(release: Release) -> None:
    try:
        rows = release.sample(20, random_state=1)
    except TooFewReleasedError:  # well formed, and nothing was released
        assert not any(len(part.sizes) for part in release.seeds.parts)
        return
    except ValueError as error:  # well formed, and the damaged rules leave out nearly every row
        assert release.rules.rule_set.row_constraints
        assert "rows from the model" in str(error)  # noqa: PT017
        return
    assert len(rows) == 20
    labels = {column.name: column.label for column in release.schema.columns}
    assert release.rules.rule_set.holds(
        rows.rename(columns={label: name for name, label in labels.items()})
    ).all()
    for attribute in release.rules.whole(release.domain):
        column = rows[labels[attribute.name]]
        present = column[column.notna()]
        assert attribute.nullable or len(present) == len(column), attribute.name
        if attribute.texts:
            present = present[~present.isin(attribute.texts)]
        elif attribute.values:
            assert set(present) <= set(attribute.values), attribute.name
        if len(present) and attribute.lower and attribute.kind != "datetime":
            ends = np.array([attribute.lower[0], attribute.upper[-1]], dtype=float)
            low, high = ends if attribute.decimals is None else np.round(ends, attribute.decimals)
            slack = 1e-12 * np.abs(ends).max()
            assert (present.astype(float) >= low - slack).all(), attribute.name
            assert (present.astype(float) <= high + slack).all(), attribute.name
        elif len(present) and attribute.lower and attribute.datetime_format is None:
            zone = attribute.time_zone or "UTC"
            stamps = pd.to_datetime(present, utc=True)
            assert (stamps >= pd.Timestamp(attribute.lower[0], tz="UTC").tz_convert(zone)).all()
            assert (stamps <= pd.Timestamp(attribute.upper[-1], tz="UTC").tz_convert(zone)).all()


def check_papers(release: Release, stated: float | None) -> None:
    """Every paper is made, and none says less than the file does, nor than its losses come to."""
    said, card = release.ledger, release.card()
    assert card.to_markdown()
    assert f"\n{card.lead}" in str(release)
    assert str(said).startswith(card.lead)
    assert len(release.columns()) == len(release.domain)
    assert said.claims_privacy == (stated is not None)
    if stated is not None:
        assert to_registry(said, domain=release.domain)
        assert said.total() >= stated


def damaged_part(data: bytes, rng: random.Random, path: Callable[[Any], tuple[Any, Any]]) -> bytes:
    """A file in which one small part alone is damaged: what holds it, and where, is looked up."""
    document = json.loads(data)
    holder, key = path(document)
    holder[key] = json.loads(damage_json(json.dumps(holder[key]).encode(), rng))
    return json.dumps(document).encode()


def damaged_answers(rng: random.Random) -> bytes:
    """Answers of a learned domain: what became of its columns is computed from them."""

    def answer(document):
        asked = document["answers"]["asked"]
        return asked, rng.choice([i for i, one in enumerate(asked) if one["columns"]])

    return damaged_part(files()[1], rng, answer)


KINDS: dict[str, Callable[[random.Random], bytes]] = {
    "all": lambda rng: damaged(files(), rng, DAMAGES),
    "ledgers": lambda rng: damaged(files(), rng, [damage_ledger]),
    "rules": lambda rng: damaged_part(with_rules(), rng, lambda document: (document, "rules")),
    "answers": damaged_answers,
}


def run(number: int, start: int = 0, kind: str = "all") -> Counter[str]:
    return Counter(outcome(KINDS[kind](random.Random(start + i))) for i in range(number))


def check_some(found: Counter[str]) -> None:
    """Some damage leaves a file well formed: the rows are looked at, too."""
    assert found["refused"] > FEW / 3
    assert found["accepted"] > FEW / 60


def test_some_damage_of_every_kind():
    check_some(run(FEW))
    assert len(DAMAGES) == 4


def test_damaged_ledgers_are_refused_or_say_what_their_entries_add_up_to():
    check_some(run(FEW, kind="ledgers"))


def test_damaged_rules_are_refused_or_harmless():
    check_some(run(4 * FEW, kind="rules"))


def test_damaged_answers_are_refused_or_harmless():
    check_some(run(2 * FEW, kind="answers"))


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", range(PARTS))
def test_ten_thousand_damaged_files(part, kind):
    """And half as many ledgers, rules and answers."""
    number = MANY // PARTS if kind == "all" else MANY // 2 // PARTS
    found = run(number, start=10**6 + part * number, kind=kind)
    assert found.total() == number
    assert found["accepted"] > (100 if kind == "all" else 50) / PARTS


def test_files_that_are_none():
    for data in (b"", b"{}", b"[]", b"null", b'"', b"\xef\xbb\xbf{}", b"[" * 100_000, b'{"a":' * 100_000):
        assert outcome(data) == "refused"


def any_codes(part: DocumentNode, model: Any, domain: Any, honest: Any = model_section._read) -> Any:
    wide = SimpleNamespace(names=domain.names, cardinalities=(10**6,) * len(domain.names))
    return honest(part, model, wide)


def any_value(self: DocumentNode, *args: Any, **kwargs: Any) -> Any:
    return self.value


def looked_at(method: str) -> Iterator[bytes]:
    """Files with junk in each of the places that a method of ``DocumentNode`` looks at, one place at a time."""
    honest = getattr(DocumentNode, method)
    for data in files():
        places: list[str] = []

        def noted(part: DocumentNode, *how: Any, places: list[str] = places, **more: Any) -> Any:
            places.append(part.path)
            return honest(part, *how, **more)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(DocumentNode, method, noted)
            Release.from_bytes(data)
        for place, junk in product(dict.fromkeys(places), (-1, 0.5, 10**400, "x", None)):
            *way, last = (int(i) if i else name for name, i in re.findall(r"([^.\[\]]+)|\[(\d+)\]", place))
            document = json.loads(data)
            with suppress(LookupError, TypeError):  # of an entry's name, or of a part within a part
                reduce(getitem, way, document)[last] = junk
                yield json.dumps(document).encode()


def code_too_large() -> Iterator[bytes]:
    """A file with codes of seeds that no value has: of all, as a few rows are made of a few seeds."""
    document = json.loads(files()[2])
    place = document["seeds"][0]
    codes = decode(place["codes"]).astype(np.int64)
    for column in range(codes.shape[1]):
        wrong = codes.copy()
        wrong[:, column] += 1000  # still sorted, still distinct
        place["codes"] = encode(wrong, readable=True)
        yield json.dumps(document).encode()


def rule_of_another_type() -> Iterator[bytes]:
    """Files with a text in the place of a number of a rule."""

    def numbers(value: Any) -> Iterator[tuple[Any, Any]]:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(inner, int):
                yield value, key
            elif isinstance(inner, (dict, list)):
                yield from numbers(inner)

    document = json.loads(with_rules())
    for holder, key in numbers(document["rules"]):
        honest, holder[key] = holder[key], "\0"
        yield json.dumps(document).encode()
        holder[key] = honest


def damaged_entries() -> Iterator[bytes]:
    return (KINDS["ledgers"](random.Random(i)) for i in range(MANY))


PARTS_OF = {
    "ranges of whole numbers": "whole", "finite numbers": "number", "texts": "text", "choices": "choice",
    "flags": "boolean",
}  # fmt: skip
FAULTS: dict[str, tuple[Any, str, Any, Callable[[], Iterator[bytes]]]] = {
    "the composed total of the entries": (
        ledger_section,
        "_recompute",
        lambda *document_nodes: None,
        damaged_entries,
    ),
    "codes of the seeds": (model_section, "_read", any_codes, code_too_large),
    "rules": (domain_section, "_check_rule", lambda *document_nodes: None, rule_of_another_type),
    **{check: (DocumentNode, name, any_value, partial(looked_at, name)) for check, name in PARTS_OF.items()},
}


@pytest.mark.parametrize("check", FAULTS)
def test_a_loader_with_a_check_less_is_caught(check):
    owner, name, fault, plants = FAULTS[check]

    def with_fault(data):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(owner, name, fault)
            try:
                return outcome(data)
            except Exception:  # a wrong value goes wrong in many ways
                return "caught"

    assert {with_fault(files()[i]) for i in (2, -1)} == {"accepted"}, (
        "the fault alone does nothing to whole files"
    )
    caught = next(data for data in plants() if with_fault(data) == "caught")
    assert outcome(caught) in ("refused", "accepted"), "the honest loader is right about it"


def test_a_loader_that_quotes_is_caught(monkeypatch):
    honest = DocumentNode.refuse
    monkeypatch.setattr(
        DocumentNode,
        "refuse",
        lambda self, rule: document_nodes.InvalidFileError(f"{honest(self, rule)}: {self.value!r}"),
    )
    with pytest.raises(AssertionError):
        run(FEW)
