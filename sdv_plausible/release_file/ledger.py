"""The privacy ledger in a release file.

Its entries with their losses, and what it said when the release was made.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, get_args

from sdv_plausible.privacy.accounting import losses as known_losses
from sdv_plausible.privacy.accounting import sampled_gaussian
from sdv_plausible.privacy.accounting.losses import Loss
from sdv_plausible.privacy.accounting.split import RandomSplit
from sdv_plausible.privacy.ledger import LedgerEntry, PrivacyLedger
from sdv_plausible.privacy.ledger import Part as Known
from sdv_plausible.privacy.neighbours import ONE_ROW, RELATIONS, Neighbours
from sdv_plausible.release_file.reading import LONGEST_NAME, Part

LOSSES: dict[str, type[Loss]] = {
    name: made
    for name, made in {**vars(known_losses), **vars(sampled_gaussian)}.items()
    if isinstance(made, type) and issubclass(made, Loss) and dataclasses.is_dataclass(made)
}
_ENTRY = ("name", "mechanism", "losses", "scope", "note", "parts")
_FIELDS = ("sentence", "epsilon", "delta", "neighbours", "covers", "limit", "entries", "not_covered")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Statement:
    """What a ledger said when the release was made.

    Attributes
    ----------
    sentence : str
        The guarantee, total first.
    epsilon : float or None
        The total; None where there is no claim.
    not_covered : tuple of str
        What it does not speak of.
    """

    sentence: str
    epsilon: float | None
    not_covered: tuple[str, ...]

    @classmethod
    def of(cls, ledger: PrivacyLedger) -> Statement:
        """Let a ledger speak."""
        total = ledger.total() if ledger.claims_privacy else None
        return cls(sentence=ledger.sentence(), epsilon=total, not_covered=ledger.not_covered)


def write_ledger(ledger: PrivacyLedger, statement: Statement) -> dict[str, Any]:
    """Section of a ledger."""
    return {
        "sentence": statement.sentence,
        "epsilon": statement.epsilon,
        "delta": ledger.delta,
        "neighbours": _write_neighbours(ledger.neighbours),
        "covers": ledger.covers,
        "limit": ledger.epsilon,
        "entries": [_write_entry(entry) for entry in ledger.entries],
        "not_covered": list(statement.not_covered),
    }


def write_learned(ledger: PrivacyLedger, charge: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What learning a domain cost, as a domain file and a saved Domain hold it.

    Parameters
    ----------
    ledger : PrivacyLedger
        Of the domain alone.
    charge : mapping, optional
        ``when`` and ``what`` of the charge in the budget that paid for it.
    """
    return {"charge": charge, "ledger": write_ledger(ledger, Statement.of(ledger))}


def _write_entry(entry: LedgerEntry) -> dict[str, Any]:
    plain = {name: getattr(entry, name) for name in ("name", "mechanism", "scope", "note")}
    return {**plain, "parts": list(entry.parts), "losses": [_write_loss(loss) for loss in entry.losses]}


def _write_loss(loss: Loss) -> dict[str, Any]:
    name = type(loss).__name__
    if LOSSES.get(name) is not type(loss):
        raise ValueError(
            f"a loss of type {name} has no form in a release file: only those of the package have"
        )
    return {"type": name, **{field.name: getattr(loss, field.name) for field in _fields(type(loss))}}


def read_ledger(part: Part) -> tuple[PrivacyLedger, Statement]:
    """Ledger of a section, and what it said."""
    f = part.fields(_FIELDS)
    ledger = PrivacyLedger(
        delta=f["delta"].number(0, 1),
        covers=f["covers"].maybe(Part.text),
        neighbours=_read_neighbours(f["neighbours"]),
    )
    ledger.charge(
        *(_read_entry(item) for item in f["entries"].items(100_000))
    )  # it has been charged: no limit now
    ledger.epsilon = f["limit"].maybe(lambda p: p.number(0))
    statement = Statement(
        sentence=f["sentence"].text(),
        epsilon=f["epsilon"].maybe(lambda p: p.number(0)),
        not_covered=tuple(item.text() for item in f["not_covered"].items(1000)),
    )
    if (statement.epsilon is not None) != ledger.claims_privacy:
        raise f["epsilon"].refuse("must be a number where every entry has a finite loss, and null elsewhere")
    return ledger, statement


def credit_split(ledger: PrivacyLedger, statement: Statement, split: Any) -> None:
    """Let a ledger that was read count the split as it did: finely only if that gives what it said."""
    if split is None or statement.epsilon is None or ledger.neighbours != ONE_ROW:
        return
    for apart in (True, False):
        ledger.split = RandomSplit.of(split, apart=apart)
        if ledger.total() >= statement.epsilon * (1 - 1e-9):
            return
    ledger.split = None


def _write_neighbours(neighbours: Neighbours) -> dict[str, Any]:
    return {
        "relation": "replace_one" if neighbours.replace else "add_remove",
        "person": neighbours.person,
        "rows_per_person": neighbours.rows,
    }


def _read_neighbours(part: Part) -> Neighbours:
    f = part.fields(("relation", "person", "rows_per_person"))
    relation, rows = f["relation"].choice(RELATIONS), f["rows_per_person"].whole(1)
    return part.checked(
        lambda: Neighbours.parse(relation, f["person"].maybe(lambda p: p.text(LONGEST_NAME)), rows)
    )


def _read_entry(part: Part) -> LedgerEntry:
    f = part.fields(_ENTRY)
    return part.checked(
        lambda: LedgerEntry(
            name=f["name"].text(LONGEST_NAME),
            mechanism=f["mechanism"].text(),
            losses=tuple(_read_loss(item) for item in f["losses"].items(1000)),
            scope=f["scope"].text(),
            note=f["note"].text(),
            parts=tuple(item.choice(get_args(Known)) for item in f["parts"].items(100)),
        )
    )


def _read_loss(part: Part) -> Loss:
    entries = part.entries(20)
    made = LOSSES[entries["type"].choice(LOSSES)] if "type" in entries else None
    if made is None:
        raise part.refuse("must have a type")
    fields = {field.name: field for field in _fields(made)}
    if set(entries) != {"type", *fields}:
        raise part.refuse(f"must have exactly the entries {', '.join(['type', *fields])}")
    numbers = {name: _read_number(entries[name], str(field.type)) for name, field in fields.items()}
    return part.checked(lambda: made(**numbers))


def _read_number(part: Part, kind: str) -> float:
    return part.whole(1) if kind == "int" else part.number(0)


def _fields(made: type[Loss]) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(made)  # type: ignore[arg-type]
