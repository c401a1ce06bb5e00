"""A release of somebody else, checked: by the second reading of its file, and by making its model anew.

The second reading (:mod:`sdv_plausible.verifying`) shares no code with the program. What is here needs the
program itself: what the learner would have charged, and the model that it makes of the answers in the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.fit.public_table import codes_digest, with_public
from sdv_plausible.models import learner_of
from sdv_plausible.models.learners import planned_entries
from sdv_plausible.privacy.checks import Refused
from sdv_plausible.privacy.entries import LedgerEntry
from sdv_plausible.privacy.ledger import PrivacyLedger
from sdv_plausible.questions.budget import Allowance
from sdv_plausible.questions.counts import CountTable, numbers_apart
from sdv_plausible.questions.door import Answer
from sdv_plausible.questions.transcript import NoisyAnswer, describe
from sdv_plausible.release.attestation import BESIDE, check_attestation
from sdv_plausible.release.file.documents import MAX_BYTES
from sdv_plausible.release.file.models import write_model
from sdv_plausible.release.file.release import Release, releases_in
from sdv_plausible.release.file.settings import privacy_of, versions_of
from sdv_plausible.table.columns.domain import Domain
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.files.one_file import columns_of, read_file
from sdv_plausible.table.files.text_files import Files
from sdv_plausible.verifying.checking import CANNOT_SHOW, check, verdict_of
from sdv_plausible.verifying.verdict import LieError, OpenError, Verdict

ROUNDING = 1e-4
"""Most that a probability may differ from that of the model made anew: by the machine and its libraries."""
_SAME = 1e-6  # relative: of noise and losses that are computed anew


@dataclass(frozen=True)
class Verification:
    """What was found of a release file.

    Attributes
    ----------
    verdicts : tuple of Verdict
        One for each claim of the file, in the order in which they were checked.
    """

    verdicts: tuple[Verdict, ...]

    @property
    def refused(self) -> tuple[Verdict, ...]:
        """Claims that something else in the file contradicts."""
        return tuple(verdict for verdict in self.verdicts if verdict.state == "refused")

    def __str__(self) -> str:
        return "\n".join([*map(str, self.verdicts), "", *CANNOT_SHOW])

    __repr__ = __str__


def verify(
    path: str | Path,
    *,
    public: Any = None,
    expect_sha256: str | None = None,
    key: str | Path | None = None,
    statement: str | Path | None = None,
) -> Verification:
    """Check a release file that somebody else made: claim by claim, without the rows.

    Parameters
    ----------
    path : str or Path
        The file.
    public : DataFrame, str, Path or Files, optional
        The published table that the model started from, where the file says that it did.
    expect_sha256 : str, optional
        The digest that the file must have.
    key : str or Path, optional
        File of the public key with which its statement must be signed, from somebody whom you trust.
    statement : str or Path, optional
        The signed statement; by default it stands beside the file, as ``fit --sign`` writes it.

    Returns
    -------
    Verification
        Nothing is raised for what is in the file: it is a verdict. Its text ends with what no file can show.

    Raises
    ------
    ValueError
        If a statement is given and no key.

    Examples
    --------
    >>> print(verify("census.release"))                             # doctest: +SKIP
    """
    if statement is not None and key is None:
        raise Refused.saying("statement", "statement needs key (--key), the public key of whoever signed it")
    with Path(path).open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    found = check(data, expect_sha256)
    lies = {verdict.about.rpartition(": ")[2] for verdict in found if verdict.state != "ok"}
    if lies & {"format", "entries"}:
        return Verification(tuple(found))
    try:
        releases = releases_in(data)
    except ValueError as error:
        return Verification((*found, Verdict("program", "refused", f"it does not take the file: {error}")))
    if key is not None:
        said = statement or f"{path}{BESIDE}"
        found.append(verdict_of("statement", partial(_check_statement, said, path, key), releases))
    for table, release in releases.items():
        known: dict[str, Any] = {}
        name = table and f"{table}: "
        if "public_rows" in release.settings:
            found.append(verdict_of(f"{name}published table", partial(_check_public, public, known), release))
        judges = {"charges of the model": check_charges, "model from its answers": check_again}
        for about, judge in judges.items():
            found.append(verdict_of(name + about, partial(judge, learner=known.get("learner")), release))
    return Verification(tuple(found))


def _check_statement(
    statement: str | Path, path: str | Path, key: str | Path, releases: Mapping[str, Release]
) -> str:
    """Refuse a statement that the key's holder did not sign for this file, or that tells otherwise of it."""
    if "" not in releases:
        raise OpenError("files of related tables are not signed")
    try:
        said = check_attestation(statement, path, key)
    except (ValueError, OSError) as error:
        raise LieError(str(error)) from None
    ledger = releases[""].ledger.to_dict()
    if any(said["total"].get(name) != ledger[name] for name in ("epsilon", "delta")):
        raise LieError("it states another total than the file")
    return f"signed with this key on {said['time']}, of code {said['code']['sha256'][:16]}..."


# --- the published table --------------------------------------------------------------------------


def _check_public(public: Any, known: dict[str, Any], release: Release) -> str:
    """Compare a published table with the one that the file tells of; the learner with it is then known."""
    if public is None:
        raise OpenError("the model started from one: give it (public, --public)")
    frame = public if isinstance(public, pd.DataFrame) else _read(release, public)
    rows, digest = release.settings["public_rows"], release.settings.get("public_sha256")
    if len(frame) != rows:
        raise LieError(f"the table has {len(frame):,} rows, and the file tells of one of {rows:,}")
    learner = with_public(learner_of(release.settings), frame, release.domain, release.rules.rule_set)
    known["learner"] = learner
    if digest is None:
        raise OpenError("the file, of an older version, holds no digest of it")
    if codes_digest(learner.public) != digest:
        raise LieError("the table has other cells than the one whose digest the file holds")
    return f"its digest is that of the file, of {rows:,} rows"


def _read(release: Release, public: Any) -> pd.DataFrame:
    """A file, read as the columns of the release are declared."""
    file = public if isinstance(public, Files) else Files(public)
    attributes = {a.name: a for a in (*release.domain, *release.rules.made.values())}
    words: dict[str, Any] = {}
    for column in release.schema.columns:
        attribute = attributes.get(column.name)
        words[column.name] = dict(column.spec)
        if attribute is not None and attribute.provenance == "declared":
            words[column.name] = attribute
        elif attribute is not None and attribute.number_format is not None:
            words[column.name]["number_format"] = attribute.number_format
    there = columns_of(file, words)
    return read_file(file, column_types({name: word for name, word in words.items() if name in there}))


# --- what the learner charges, and makes ----------------------------------------------------------


def _known(release: Release, learner: Any) -> tuple[Any, Domain, Any, list[LedgerEntry]]:
    """Learner, domain, budget and planned entries of the fit that a release tells of."""
    if "model" not in release.settings:
        raise OpenError("its learner is in no file: of rows that hang on others, or somebody's own")
    if not any(entry.parts == ("seeds",) for entry in release.ledger.entries):
        raise OpenError("no fit charged it: it has no entry of seeds, as where others made the answers")
    learner = learner_of(release.settings) if learner is None else learner
    domain = replace(release.domain, possible={})
    if release.rules.rule_set:
        from sdv_plausible.rules.zeros import possible_pairs  # which knows every kind of rule

        domain = replace(domain, possible=possible_pairs(release.rules.rule_set, domain))
    settings, told = privacy_of(release.settings), release.ledger
    before = PrivacyLedger(delta=told.delta, neighbours=told.neighbours)
    before.charge(*takewhile(lambda entry: entry.parts != ("seeds",), told.entries))
    budget = settings.model_budget(before)
    return learner, domain, budget, planned_entries(learner, domain, budget)


def check_charges(release: Release, learner: Any = None) -> str:
    """Refuse entries of the model that are not those that its learner charges.

    Raises
    ------
    LieError, OpenError
        As a verdict's reason.
    """
    *_, planned = _known(release, learner)
    entries = release.ledger.entries
    at = next(i for i, entry in enumerate(entries) if entry.parts == ("seeds",))
    charged = [entry for entry in entries[at + 1 :] if entry.parts]
    for i, entry in enumerate(planned):
        found = charged[i] if i < len(charged) else None
        if found is None or (found.name, found.parts) != (entry.name, entry.parts):
            raise LieError(f"the learner charges an entry {entry.name!r}, which is not there")
        if not _alike([vars(loss) for loss in found.losses], [vars(loss) for loss in entry.losses]):
            raise LieError(
                f"entry {entry.name!r} charges another loss than the learner does for these options"
            )
    if len(charged) > len(planned):
        raise LieError(f"entry {charged[len(planned)].name!r} is none that the learner charges")
    return f"{len(planned)} entries, which the learner charges for these options"


def _alike(one: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]]) -> bool:
    return len(one) == len(other) and all(
        a.keys() == b.keys() and all(abs(a[name] - b[name]) <= _SAME * abs(b[name]) for name in a)
        for a, b in zip(one, other, strict=True)
    )


def check_again(release: Release, learner: Any = None) -> str:
    """Make the model anew from the answers, and refuse one that differs by more than :data:`ROUNDING`.

    Raises
    ------
    LieError, OpenError
        As a verdict's reason.
    """
    learner, domain, budget, planned = _known(release, learner)
    if "public_rows" in release.settings and learner.public is None:
        raise OpenError("it started from a published table: give it (public, --public)")
    allowance = Allowance.of(planned)
    if not allowance.is_private:
        raise OpenError("it was learned without noise, and exact counts are in no file")
    names = {entry.name for entry in planned}
    answers = [answer for answer in release.answers if {*answer.paid_by} == names]
    told = Retold(answers, allowance, budget.neighbours)
    try:
        made = learner.fit(told, domain, budget, _NoCoins())
        told.end()
        apart = _apart(write_model(made, domain), write_model(release.model, domain))
        if apart > ROUNDING:
            how = "tables" if np.isinf(apart) else f"probabilities, by {apart:.3g}"
            raise LieError(f"the answers lead to a model with other {how}")
    except OpenError:
        raise
    except ValueError as error:
        maker, own = release.versions.get("sdv-plausible"), versions_of().get("sdv-plausible")
        if maker is None or maker != own:
            raise OpenError(f"version {maker} made it, and this is {own}: {error}") from None
        raise LieError(str(error)) from None
    return f"the answers lead to it again, up to {ROUNDING:g} of a probability"


class _NoCoins:
    """Secret coins of a fit, which nobody can draw again."""

    def __getattr__(self, name: str) -> Any:
        raise OpenError("secret coins made it (of choices, noisy gradients, or draws), which are in no file")


class Retold:
    """Answers that were given once, in the place of the door: they are given again to the same questions."""

    def __init__(self, answers: Sequence[NoisyAnswer], allowance: Allowance, neighbours: Any) -> None:
        self._left, self.allowance, self.neighbours = iter(answers), allowance, neighbours

    def part(self, name: str) -> Retold:  # noqa: ARG002  which rows were asked is told of each answer
        """Part of the rows: the answers stand in the order in which they were given."""
        return self

    def sigma(self, share: float) -> float:
        """Noise of a table of counts for a share."""
        return self.allowance.sigma(share, self.neighbours.histogram_l2)

    def ask(self, question: Any, share: float, failure: float = 0.0) -> Answer:  # noqa: ARG002
        """Give the next answer."""
        return self._next(question, self.allowance.sigma(share, question.sensitivity(self.neighbours)))

    def ask_tables(self, sets: Sequence[Any], shares: Sequence[float]) -> list[Answer]:
        """Give as many."""
        return [self.ask(CountTable(axes), share) for axes, share in zip(sets, shares, strict=True)]

    def ask_laplace(self, question: Any, epsilon: float, failure: float = 0.0) -> Answer:  # noqa: ARG002
        """Give the next, of another noise."""
        numbers_apart(question)
        return self._next(question, question.l1(self.neighbours) / epsilon)

    def __getattr__(self, name: str) -> Any:
        raise OpenError(f"it was learned from what is in no file ({name})")

    def _next(self, question: Any, scale: float) -> Answer:
        answer, asked = next(self._left, None), describe(question)
        if answer is None:
            raise LieError(f"the learner asks for {asked.kind}, and no answer is left")
        told = answer.asked
        same = (told.kind, _axes(told.tables), dict(told.details)) == (
            asked.kind, _axes(asked.tables), dict(asked.details),
        )  # fmt: skip
        if not same:
            raise LieError(
                f"an answer is to another question ({told.kind}) than the learner asks ({asked.kind})"
            )
        if abs(answer.scale - scale) > _SAME * scale:
            raise LieError(
                f"an answer ({told.kind}) has noise {answer.scale:.6g}, and its share buys {scale:.6g}"
            )
        return Answer(values=answer.values.astype(float), sigma=answer.scale)

    def end(self) -> None:
        """Refuse answers that the learner does not ask for."""
        if (left := next(self._left, None)) is not None:
            raise LieError(f"an answer ({left.asked.kind}) is to a question that the learner does not ask")


def _axes(tables: Sequence[Any]) -> list[list[tuple[int, list[int]]]]:
    return [[(axis.column, np.asarray(axis.buckets).tolist()) for axis in axes] for axes in tables]


def _apart(one: Any, other: Any) -> float:
    """Largest difference of two models' numbers; infinite where they have other tables."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and one.shape == other.shape:
        if one.dtype.kind == "f":
            return float(np.abs(one - other).max(initial=0.0))
        return 0.0 if (one == other).all() else np.inf
    if isinstance(one, Mapping) and isinstance(other, Mapping) and one.keys() == other.keys():
        return max((_apart(one[name], other[name]) for name in one), default=0.0)
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return max((_apart(a, b) for a, b in zip(one, other, strict=True)), default=0.0)
    return 0.0 if not isinstance(one, np.ndarray) and one == other else np.inf
