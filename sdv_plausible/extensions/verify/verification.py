"""A release of somebody else, checked claim by claim, without the rows.

The second reading (:mod:`sdv_plausible.extensions.verify.independent`) shares no code with the program. What follows it here
needs the program itself: what the learner would have charged, and the columns and the model that it makes of
the answers in the file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any

import pandas as pd

from sdv_plausible.extensions.multi_table.child_replay import ROOT_MODEL, learner_in
from sdv_plausible.extensions.multi_table.related_release import FamilyRelease
from sdv_plausible.extensions.standards.attestation import BESIDE, check_attestation
from sdv_plausible.extensions.verify.domain_replay import replay_domain
from sdv_plausible.extensions.verify.independent.all_checks import (
    CANNOT_SHOW,
    check,
    is_of_families,
    verdict_of,
)
from sdv_plausible.extensions.verify.independent.ledger_checks import NONE_STATED
from sdv_plausible.extensions.verify.independent.verdict import (
    ContradictionError,
    UncheckableError,
    Verdict,
    shown,
)
from sdv_plausible.extensions.verify.model_replay import check_charges, of_this_version, replay_model
from sdv_plausible.extensions.verify.public_replay import check_public
from sdv_plausible.privacy.parameter_checks import Refused, truth
from sdv_plausible.release.file.json_documents import MAX_BYTES, check_expected
from sdv_plausible.release.file.release import Release
from sdv_plausible.rules.rules_and_declarations import rules_named
from sdv_plausible.table.files.text_files import Files
from sdv_plausible.utils.input_files import check_given, open_given
from sdv_plausible.utils.printable import visible

Judge = Callable[[Any], str]
NO_CLAIM = "; the file makes no privacy claim"


@dataclass(frozen=True)
class Verification:
    """What was found of a release file.

    Attributes
    ----------
    verdicts : tuple of Verdict
        One for each claim of the file, in the order in which they were checked.
    allow_unchecked : bool
        Whether claims that cannot be checked are accepted.
    """

    verdicts: tuple[Verdict, ...]
    allow_unchecked: bool = False

    @property
    def refused(self) -> tuple[Verdict, ...]:
        """Claims that something else in the file contradicts."""
        return self._of_state("refused")

    @property
    def unchecked(self) -> tuple[Verdict, ...]:
        """Claims that cannot be checked."""
        return self._of_state("not checkable")

    @property
    def passed(self) -> bool:
        """Whether every claim holds; with ``allow_unchecked`` also where some cannot be checked."""
        return not self.refused and (self.allow_unchecked or not self.unchecked)

    @property
    def result(self) -> str:
        """The verdicts in one line."""
        if self.refused:
            return f"refused: {_claims(self.refused)} contradicted by the rest of the file"
        if not self.unchecked:
            return f"passed: every claim was checked{self._no_claim}"
        if self.allow_unchecked:
            return f"passed, though {_claims(self.unchecked)} not checkable{self._no_claim}"
        return (
            f"not passed: {_claims(self.unchecked)} not checkable; allow_unchecked (--allow-unchecked) "
            "accepts what cannot be checked"
        )

    @property
    def _no_claim(self) -> str:
        """What the result lacks where a file states no total."""
        totals = [one.why for one in self.verdicts if one.about.endswith("total")]
        return NO_CLAIM if any(why.startswith(NONE_STATED) for why in totals) else ""

    def _of_state(self, state: str) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.state == state)

    def __str__(self) -> str:
        return "\n".join(
            [
                *(visible(str(one), keep="") for one in self.verdicts),
                f"result: {self.result}",
                "",
                *CANNOT_SHOW,
            ]
        )

    __repr__ = __str__


def _claims(verdicts: tuple[Verdict, ...]) -> str:
    return f"{len(verdicts)} claims are" if len(verdicts) > 1 else "1 claim is"


def verify(
    path: str | Path,
    *,
    public: Any = None,
    expect_sha256: str | None = None,
    key: str | Path | None = None,
    statement: str | Path | None = None,
    allow_unchecked: bool = False,
) -> Verification:
    """Check a release file that somebody else made: claim by claim, without the rows.

    Parameters
    ----------
    path : str or Path
        The file, of one table or of related tables.
    public : DataFrame, str, Path or Files, optional
        The published table that the model started from, where the file says that it did.
    expect_sha256 : str, optional
        The digest that the file must have.
    key : str or Path, optional
        File of the public key with which its statement must be signed, from somebody whom you trust.
    statement : str or Path, optional
        The signed statement; by default it stands beside the file, as ``fit --sign`` writes it.
    allow_unchecked : bool
        Whether ``passed`` is true though some claims cannot be checked.

    Returns
    -------
    Verification
        Nothing is raised for what is in the file: it is a verdict. ``passed`` says whether to accept the
        file. The text ends with what no file can show.

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
    check_expected(expect_sha256)
    truth("allow_unchecked", allow_unchecked)
    _check_public(public)
    with open_given(path) as file:
        data = file.read(2 * MAX_BYTES + 1)
    found = check(data, expect_sha256)
    bad = {verdict.about.rpartition(": ")[2] for verdict in found if verdict.state != "ok"}
    if not bad & {"format", "entries"}:
        found += _by_the_program(data, path, public, key, statement)
    return Verification(tuple(found), allow_unchecked)


def _check_public(public: Any) -> None:
    """Refuse what is no table, also where the release was fitted without one."""
    if isinstance(public, (str, os.PathLike)):
        check_given(public, "public")
    elif not isinstance(public, (pd.DataFrame, Files, NoneType)):
        way_out = "give the published table that the model started from"
        raise Refused("public", public, "must be a DataFrame, a path, or Files", way_out)


def _by_the_program(
    data: bytes, path: str | Path, public: Any, key: str | Path | None, statement: str | Path | None
) -> Iterator[Verdict]:
    """What the program itself finds: each table's learner is run again on the recorded answers."""
    try:
        release = _read_release(data)
    except ValueError as error:
        yield Verdict("program", "refused", f"it does not take the file: {error}")
        return
    if key is not None:
        said = statement or f"{path}{BESIDE}"
        yield verdict_of("statement", partial(_check_statement, said, path, key), release)
    if isinstance(release, FamilyRelease):
        for table, one in release.tables.items():
            own = {*release.own_modelled(table)}
            known: dict[str, Any] = {}
            yield verdict_of(f"{shown(table)}: learner", partial(_check_learner, table, known), release)
            yield from _replayed(one, known.get("learner"), f"{shown(table)}: ", own)
        return
    known = {}
    if "public_rows" in release.settings:
        yield verdict_of("published table", partial(check_public, public, known), release)
    yield from _replayed(release, known.get("learner"))


def _read_release(data: bytes) -> Release | FamilyRelease:
    """The release in a file's content."""
    if is_of_families(json.loads(data)):
        return FamilyRelease.from_bytes(data)
    return Release.from_bytes(data)


def _replayed(release: Release, learner: Any, mark: str = "", own: Any = None) -> Iterator[Verdict]:
    judges: dict[str, Judge] = {
        "rules in the ledger": _check_rules,
        "learned columns from their answers": partial(replay_domain, own=own),
        "charges of the model": partial(check_charges, learner=learner),
        "model from its answers": partial(replay_model, learner=learner),
    }
    for about, judge in judges.items():
        yield verdict_of(mark + about, judge, release)


def _check_rules(release: Release) -> str:
    """Refuse a ledger that names other rules than those of the file."""
    rules = release.rules.rule_set.rules
    named = {entry.mechanism for entry in release.ledger.entries if entry.name == "rules"}

    def compared() -> str:
        if (rules or named) and not named & {*rules_named(rules)}:
            raise ContradictionError(
                f"the ledger must name the rules of the file: {rules_named(rules)[0]!r:.400}"
            )
        return f"it names the {len(rules)} rules of the file"

    return of_this_version(release, compared)


def _check_learner(table: str, known: dict[str, Any], families: FamilyRelease) -> str:
    """Refuse settings of another learner than related tables have; the learner is then known."""
    settings = families.tables[table].settings
    wanted = ROOT_MODEL if table == families.tree.root else None
    if settings.get("model") != wanted or settings.get("model_parameters") is not None:
        raise ContradictionError(
            f"related tables have one learner each, and the settings name {settings.get('model')!r:.40}"
        )
    known["learner"] = learner_in(families, table)
    return "the one of its place among the tables; its parents' rows are simulated again"


def _check_statement(
    statement: str | Path, path: str | Path, key: str | Path, release: Release | FamilyRelease
) -> str:
    """Refuse a statement that the key's holder did not sign for this file, or that tells otherwise of it."""
    if isinstance(release, FamilyRelease):
        raise UncheckableError("files of related tables are not signed")
    try:
        said = check_attestation(statement, path, key)
    except (ValueError, OSError) as error:
        raise ContradictionError(str(error)) from None
    ledger = release.ledger.to_dict()
    if any(said["total"].get(name) != ledger[name] for name in ("epsilon", "delta")):
        raise ContradictionError("it states another total than the file")
    return f"signed with this key on {said['time']}, of code {said['code']['sha256'][:16]}..."
