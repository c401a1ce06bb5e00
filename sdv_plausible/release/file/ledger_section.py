"""The privacy ledger in a release file.

The section holds the entries with their losses, from which all texts and totals are computed again. It also
holds the statement of the ledger at the time of the release, which is checked but never shown.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from sdv_plausible.mechanism.privacy_tests.release_level import ReleaseTest
from sdv_plausible.models.bayesian_network import BayesianNetwork
from sdv_plausible.models.conditional_table import ConditionalTable
from sdv_plausible.privacy import parameter_checks as check
from sdv_plausible.privacy.accounting import losses as known_losses
from sdv_plausible.privacy.accounting import sampled_gaussian
from sdv_plausible.privacy.accounting.composition import RandomSplit
from sdv_plausible.privacy.accounting.loss_distribution import single_use
from sdv_plausible.privacy.accounting.losses import GaussianLoss, InfiniteLoss, Loss, squares
from sdv_plausible.privacy.entries import MODEL_PARTS, TOLERANCE, LedgerEntry, Part
from sdv_plausible.privacy.ledger import PrivacyLedger, not_covered
from sdv_plausible.privacy.ledger_record import LedgerRecord, rounded_up
from sdv_plausible.privacy.neighbours import MAX_ROWS_PER_UNIT, RELATIONS, Neighbours, person_from_fields
from sdv_plausible.queries.transcript import ALL_ROWS
from sdv_plausible.release.file.document_nodes import DocumentNode, check_writable
from sdv_plausible.release.file.settings_section import privacy_of, splits_of
from sdv_plausible.table.cells.canonical_forms import LONGEST_NAME

if TYPE_CHECKING:  # they import this module
    from sdv_plausible.mechanism.drawing.released_prefixes import ReleasedSeeds
    from sdv_plausible.release.file.answers_section import AnswersSection
    from sdv_plausible.table.columns.domain import Attribute, Domain

MOST_COLUMNS = 100_000
MOST_LOSSES, MOST_USES = 1_000, 10_000_000  # more take a reader minutes
MOST_OTHERS = 2 * 10**6  # uses of non-Gaussian losses
MOST_SQUARES = 2e6  # sum of squares of Gaussian losses
MOST_KINDS = 40  # of non-Gaussian losses: each is composed on its own grid
MOST_SIGMAS = 3e6  # sum of sigma over kinds of Gaussian noise
LEAST_SIGMA = 200.0  # smallest sigma counted for a kind
LARGE_SIGMA = 20_000.0  # its cost has a closed form from here
MAX_SENSITIVITY = 2 * MAX_ROWS_PER_UNIT  # largest sensitivity of a loss of Laplace noise
LOSSES: dict[str, type[Loss]] = {
    name: made
    for name, made in {**vars(known_losses), **vars(sampled_gaussian)}.items()
    if dataclasses.is_dataclass(made) and isinstance(made, type) and issubclass(made, Loss)
}
PARTS_BY_ROWS = {ALL_ROWS: ("domain", "structure", "parameters", "seeds"), "learning": MODEL_PARTS}
_ENTRY = ("name", "mechanism", "losses", "scope", "note", "parts")
_FIELDS = ("sentence", "epsilon", "delta", "neighbours", "covers", "limit", "entries", "not_covered")


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecordedStatement:
    """Statement of a ledger at the time of its release: part of the digest, never shown."""

    sentence: str  # the guarantee, total first
    epsilon: float | None  # the total; None without a claim
    covers: str | None  # what the total covers
    not_covered: tuple[str, ...]  # what it does not cover

    @classmethod
    def of(cls, ledger: PrivacyLedger) -> RecordedStatement:
        """The current statement of a ledger."""
        total = ledger.total() if ledger.claims_privacy else None
        return cls(
            sentence=ledger.sentence(as_written=True),
            epsilon=total,
            covers=ledger.covers,
            not_covered=not_covered(ledger.neighbours.person),
        )


def write_ledger(ledger: PrivacyLedger, statement: RecordedStatement | None = None) -> dict[str, Any]:
    """Ledger as a section, with its recorded statement or else the current one."""
    recorded, unit = statement or RecordedStatement.of(ledger), ledger.neighbours
    return {
        "sentence": recorded.sentence,
        "epsilon": recorded.epsilon,
        "delta": ledger.delta,
        "neighbours": {
            "relation": "replace_one" if unit.replace else "add_remove",
            "person": unit.person,
            "rows_per_person": unit.rows,
        },
        "covers": recorded.covers,
        "limit": ledger.limit,
        "entries": [_write_entry(entry) for entry in ledger.entries],
        "not_covered": list(recorded.not_covered),
    }


def _write_entry(entry: LedgerEntry) -> dict[str, Any]:
    texts = {name: getattr(entry, name) for name in ("name", "mechanism", "scope", "note")}
    optional: dict[str, Any] = {"envelope": True} if entry.envelope else {}
    optional |= {"assumes": list(entry.assumes)} if entry.assumes else {}
    losses = [_write_loss(loss) for loss in entry.losses]
    return {**texts, "parts": list(entry.parts), "losses": losses, **optional}


def _write_loss(loss: Loss) -> dict[str, Any]:
    name = type(loss).__name__
    if LOSSES.get(name) is not type(loss):
        raise ValueError(
            f"a loss of type {name} cannot be stored in a release file: only those of this package can"
        )
    return {"type": name, **{field.name: getattr(loss, field.name) for field in _fields(type(loss))}}


def read_ledger(
    node: DocumentNode, settings: Mapping[str, Any] | None = None
) -> tuple[PrivacyLedger, RecordedStatement]:
    """Read and check the section of the ledger; raises all errors that a later use could raise."""
    f = node.fields(_FIELDS)
    recorded = RecordedStatement(
        sentence=f["sentence"].text(),
        epsilon=f["epsilon"].optional(lambda p: p.number(0)),
        covers=f["covers"].optional(DocumentNode.text),
        not_covered=tuple(item.text() for item in f["not_covered"].items(1000)),
    )
    ledger = PrivacyLedger(
        delta=f["delta"].validate(lambda: check.share_of_delta("delta", f["delta"].number(0, 1))),
        covers=None if settings is None else privacy_of(settings).test.covers,
        neighbours=_read_neighbours(f["neighbours"]),
    )
    ledger.is_recorded = True
    entries = _read_entries(f["entries"])
    if violation := complexity_violation([loss for entry in entries for loss in entry.losses]):
        raise f["entries"].refuse(f"{violation}: reading more would take minutes")
    f["entries"].validate(lambda: ledger.charge(*entries))  # already charged, so no limit applies
    ledger.limit = f["limit"].optional(lambda p: p.number(0))
    if (recorded.epsilon is not None) != ledger.claims_privacy:
        raise f["epsilon"].refuse("must be a number where every entry has a finite loss, and null elsewhere")
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        node.validate(lambda: _recompute(ledger, f["epsilon"], settings))
    return ledger, recorded


def check_ledger_fits(
    epsilon: float, ledger: PrivacyLedger, settings: Mapping[str, Any] | None = None
) -> None:
    """Check before a fit that a file can hold its ledger; one with foreign losses has no file."""
    if all(LOSSES.get(type(loss).__name__) is type(loss) for e in ledger.entries for loss in e.losses):
        check_writable(
            "epsilon",
            f"epsilon ({epsilon!r}): lower it, or charge fewer losses. The ledger of such a fit",
            lambda: write_ledger(ledger),
            lambda part: read_ledger(part, settings),
            "ledger",
        )


def check_joint_ledgers_fit(epsilon: float, ledgers: Iterable[PrivacyLedger]) -> None:
    """Check before a fit that one file can hold the ledgers of all related tables."""
    losses_by_ledger = [[loss for entry in ledger.entries for loss in entry.losses] for ledger in ledgers]
    if violation := complexity_violation(*losses_by_ledger):
        raise check.Refused.saying(
            "epsilon",
            f"epsilon ({epsilon!r}): raise or lower it, or fit fewer tables. The ledgers of the tables "
            f"together {violation}: their file could not be read",
        )


def check_complexity(ledgers: Iterable[DocumentNode]) -> None:
    """Reject ledgers of related tables whose total would take more than seconds, before composing."""
    entries = [_read_entries(section.fields(_FIELDS)["entries"]) for section in ledgers]
    losses_by_ledger = [[loss for entry in ledger for loss in entry.losses] for ledger in entries]
    if violation := complexity_violation(*losses_by_ledger):
        raise ValueError(f"the ledgers of the tables together {violation}")


def complexity_violation(*ledgers: Sequence[Loss]) -> str:
    """Rule that ledgers break if their totals or joint total take more than seconds; else ""."""
    ledgers = tuple([loss for loss in ledger if not isinstance(loss, InfiniteLoss)] for ledger in ledgers)
    losses = [loss for ledger in ledgers for loss in ledger]
    gaussian = [loss for loss in losses if isinstance(loss, GaussianLoss)]
    # Compare before squaring: the square may overflow.
    largest = max((loss.sensitivity_over_sigma for loss in gaussian), default=0.0)
    if largest > math.sqrt(MOST_SQUARES) or squares(losses) > MOST_SQUARES:
        return f"must have Gaussian losses whose squares add up to at most {MOST_SQUARES:,.0f}"
    uses = sum(getattr(loss, "count", 1) for loss in losses if not isinstance(loss, GaussianLoss))
    if uses > MOST_OTHERS:
        return f"must have at most {MOST_OTHERS:,} uses of losses that are not Gaussian, and not {uses:,}"
    kinds = sum(len({kind for loss in ledger if (kind := single_use(loss))}) for ledger in ledgers)
    if kinds > MOST_KINDS:
        return f"must have at most {MOST_KINDS} kinds of losses that are not Gaussian, and not {kinds:,}"
    sigmas = {1 / loss.sensitivity_over_sigma for loss in gaussian}
    if math.fsum(max(s, LEAST_SIGMA) for s in sigmas if s <= LARGE_SIGMA) > MOST_SIGMAS:
        return f"must have fewer kinds of Gaussian losses than {len(sigmas):,}: their total takes too long"
    return ""


def _recompute(ledger: PrivacyLedger, stated: DocumentNode, settings: Mapping[str, Any] | None) -> None:
    """Compose the losses again; the stated total may be higher but not lower."""
    if stated.value is not None:
        for split in (None,) if settings is None else splits_of(settings):
            if split is not None:
                ledger.split = split
            if (total := ledger.total()) <= stated.value * (1 + TOLERANCE):
                break
        else:
            raise stated.refuse(
                f"must not be below the composed total of the entries, {rounded_up(total, 6)} at delta "
                f"{rounded_up(ledger.delta)}: the file was changed or damaged. Request it again, with its "
                "digest"
            )
        if total < stated.value:
            ledger.stated = stated.value
    document = ledger.to_dict()
    if stated.value is not None:
        LedgerRecord.of(document)


def check_ledger(
    ledger: PrivacyLedger,
    settings: Mapping[str, Any],
    domain: Domain,
    model: Any,
    seeds: ReleasedSeeds,
    answers: AnswersSection,
    derived: Iterable[Attribute] = (),
) -> None:
    """Check that the ledger pays for everything else in a release, and fits the settings."""
    privacy = privacy_of(settings)
    is_same_unit = privacy.neighbours == ledger.neighbours and isinstance(privacy.test, ReleaseTest)
    if not is_same_unit or (ledger.claims_privacy and ledger.split not in splits_of(settings)):
        raise ValueError(
            "settings: privacy_test must be 'release', and person, rows_per_person, neighbours, split and "
            "model must match the ledger: for other values, fit again"
        )
    if settings["types"] in (None, "declared") and (settings["types"] is None) != bool(ledger.assumed_types):
        raise ValueError(
            "settings: types must be null exactly if the ledger assumes that column types were known "
            "without the data: the file was changed or damaged. Request it again, with its digest"
        )
    charged = [entry for entry in ledger.entries if entry.losses]
    names, parts = {entry.name for entry in charged}, {part for entry in charged for part in entry.parts}
    if any(names.isdisjoint(answer.paid_by) for answer in answers):
        raise ValueError("answers: each must be paid for by a ledger entry with a loss")
    if ledger.envelope is not None and "types" not in names:
        raise ValueError(
            "ledger: an entry with a loss must pay for the type inference that its envelope covers"
        )
    if ledger.split is not None and ledger.claims_privacy:
        _check_parts(ledger.split, charged, answers)
    origins = {attribute.provenance for attribute in domain}
    derived_origins = {attribute.provenance for attribute in derived}
    if ledger.claims_privacy and (origins | derived_origins) & {"inferred", "edited"}:
        raise ValueError(
            "ledger: it must not state a privacy guarantee, because values of the domain come from the rows"
        )
    if "private" in origins and "domain" not in parts:
        raise ValueError("ledger: an entry with a loss must pay for the domain that was learned")
    if parts.isdisjoint({"structure", "parameters"}) and not _is_uniform(model):
        raise ValueError("ledger: an entry with a loss must pay for the model that was learned")
    if any(part.kept for part in seeds.parts) and "seeds" not in parts:
        raise ValueError("ledger: an entry with a loss must pay for the seeds that are released")


def _check_parts(split: RandomSplit, charged: Sequence[LedgerEntry], answers: AnswersSection) -> None:
    """Check that answers and the entries that pay for them are of the same parts of a split."""
    for names in {answer.paid_by for answer in answers}:
        paying = {split.part_of(entry.parts) for entry in charged if entry.name in names}
        if paying != {
            split.part_of(PARTS_BY_ROWS.get(a.rows, (a.rows,))) for a in answers if a.paid_by == names
        }:
            raise ValueError(
                f"answers: those paid for by {', '.join(names)} must cover exactly the parts of the rows "
                "for which these entries are charged"
            )


def _is_uniform(model: Any) -> bool:
    """Whether a model is uniform and thus independent of the rows."""
    tables = model.tables if isinstance(model, BayesianNetwork) else ()
    return bool(tables) and all(
        isinstance(t, ConditionalTable) and not t.parents and np.ptp(t.probabilities) == 0 for t in tables
    )


def _read_neighbours(node: DocumentNode) -> Neighbours:
    f = node.fields(("relation", "person", "rows_per_person"))
    relation, rows = f["relation"].choice(RELATIONS), f["rows_per_person"].whole(1)
    return node.validate(
        lambda: Neighbours.parse(
            relation, person_from_fields(f["person"].optional(lambda p: p.text(LONGEST_NAME)), rows)
        )
    )


def _read_entries(node: DocumentNode) -> list[LedgerEntry]:
    entries, num_losses = list[LedgerEntry](), 0
    for item in node.items(10_000):
        entries.append(_read_entry(item))
        num_losses += len(entries[-1].losses)
        if num_losses > MOST_LOSSES:
            break
    if not entries or num_losses > MOST_LOSSES:
        raise node.refuse(f"must be at least one entry, with at most {MOST_LOSSES} losses in all")
    return entries


def _read_entry(node: DocumentNode) -> LedgerEntry:
    optional = [name for name in ("envelope", "assumes") if name in node.entries()]  # optional fields
    f = node.fields((*_ENTRY, *optional))
    if "envelope" in optional and f["envelope"].boolean() is False:
        raise f["envelope"].refuse("must be true or absent")
    assumes = f["assumes"].items(MOST_COLUMNS) if "assumes" in optional else []
    if "assumes" in optional and not assumes:
        raise f["assumes"].refuse("must name a column or be absent")
    return node.validate(
        lambda: LedgerEntry(
            name=f["name"].text(LONGEST_NAME),
            mechanism=f["mechanism"].text(),
            losses=tuple(_read_loss(item) for item in f["losses"].items(1000)),
            scope=f["scope"].text(),
            note=f["note"].text(),
            parts=tuple(item.choice(get_args(Part)) for item in f["parts"].items(100)),
            envelope="envelope" in optional,
            assumes=tuple(item.text(LONGEST_NAME) for item in assumes),
        )
    )


def _read_loss(node: DocumentNode) -> Loss:
    entries = node.entries(20)
    loss_type = LOSSES[entries["type"].choice(LOSSES)] if "type" in entries else None
    if loss_type is None:
        raise node.refuse("must have a type")
    fields = {field.name: field for field in _fields(loss_type)}
    if set(entries) != {"type", *fields}:
        raise node.refuse(f"must have exactly the entries {', '.join(['type', *fields])}")
    numbers = {name: _read_number(entries[name], field) for name, field in fields.items()}
    return node.validate(lambda: loss_type(**numbers))


def _read_number(node: DocumentNode, field: dataclasses.Field[Any]) -> float:
    if field.type != "int":
        return node.number(0)
    return node.whole(1, MOST_USES if field.name == "count" else MAX_SENSITIVITY)


def _fields(loss_type: type[Loss]) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(loss_type)  # type: ignore[arg-type]
