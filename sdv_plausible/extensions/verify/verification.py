"""Verification of a release file from another party, claim by claim, without the rows.

The independent implementation (:mod:`sdv_plausible.extensions.verify.independent`) shares no code with the
package. The replay needs the package's own code: it computes the learner's charges, the learned columns and
the model again from the answers in the file.
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

from sdv_plausible.extensions.multi_table.related_release import FamilyRelease
from sdv_plausible.extensions.multi_table.simulation import ROOT_MODEL, replayed_learner
from sdv_plausible.extensions.standards.attestation import BESIDE, check_attestation
from sdv_plausible.extensions.verify.domain_replay import replay_domain
from sdv_plausible.extensions.verify.independent.all_checks import CANNOT_SHOW, check, run_check
from sdv_plausible.extensions.verify.independent.ledger_checks import NONE_STATED
from sdv_plausible.extensions.verify.independent.related_table_checks import is_multi_table
from sdv_plausible.extensions.verify.independent.verdict import (
    ContradictionError,
    UncheckableError,
    Verdict,
    quoted,
)
from sdv_plausible.extensions.verify.model_replay import (
    check_charges,
    check_public,
    replay_model,
    version_checked,
)
from sdv_plausible.privacy.parameter_checks import Refused, truth
from sdv_plausible.release.file.json_documents import MAX_BYTES, check_digest_type
from sdv_plausible.release.file.release import Release
from sdv_plausible.rules.rules_and_declarations import rule_labels
from sdv_plausible.table.files.text_files import Files
from sdv_plausible.utils.file_paths import check_regular_file, open_regular_file
from sdv_plausible.utils.text_output import escape_controls

Check = Callable[[Any], str]
NO_CLAIM = "; the file makes no privacy claim"


@dataclass(frozen=True)
class Verification:
    """Findings of :func:`verify`, one for each claim of the file.

    Attributes
    ----------
    verdicts : tuple of Verdict
        One finding for each claim, in the order in which the claims were checked.
    allow_unchecked : bool
        Whether claims that cannot be checked are accepted.
    """

    verdicts: tuple[Verdict, ...]
    allow_unchecked: bool = False

    @property
    def refused(self) -> tuple[Verdict, ...]:
        """Claims that the rest of the file contradicts."""
        return self._with_state("refused")

    @property
    def unchecked(self) -> tuple[Verdict, ...]:
        """Claims that cannot be checked."""
        return self._with_state("not checkable")

    @property
    def passed(self) -> bool:
        """Whether every claim holds; with ``allow_unchecked`` also if some cannot be checked."""
        return not self.refused and (self.allow_unchecked or not self.unchecked)

    @property
    def result(self) -> str:
        """Summary of the findings in one line."""
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
        """Note for the summary if a file states no total."""
        reasons = [verdict.why for verdict in self.verdicts if verdict.about.endswith("total")]
        return NO_CLAIM if any(why.startswith(NONE_STATED) for why in reasons) else ""

    def _with_state(self, state: str) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.state == state)

    def __str__(self) -> str:
        return "\n".join(
            [
                *(escape_controls(str(verdict), keep="") for verdict in self.verdicts),
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
    """Check a release file from another party, claim by claim, without the rows.

    Parameters
    ----------
    path : str or Path
        The file, of one table or of related tables.
    public : DataFrame, str, Path or Files, optional
        The public table that the model started from, if the file records one.
    expect_sha256 : str, optional
        The digest that the file must have.
    key : str or Path, optional
        File of the public key that signed the file's attestation, from a source that you trust.
    statement : str or Path, optional
        The attestation; by default the file next to the release, as ``fit --sign`` names it.
    allow_unchecked : bool
        Whether ``passed`` is true although some claims cannot be checked.

    Returns
    -------
    Verification
        The findings. Problems in the file are findings and raise no error. ``passed`` says whether to accept
        the file. The text ends with the limits of what a file can prove.

    Raises
    ------
    ValueError
        If ``statement`` is given without ``key``.

    Examples
    --------
    >>> print(verify("census.release"))                             # doctest: +SKIP
    """
    if statement is not None and key is None:
        raise Refused.saying("statement", "statement needs key (--key), the public key of whoever signed it")
    check_digest_type(expect_sha256)
    truth("allow_unchecked", allow_unchecked)
    _check_public(public)
    with open_regular_file(path) as file:
        data = file.read(2 * MAX_BYTES + 1)
    findings = check(data, expect_sha256)
    failed = {verdict.about.rpartition(": ")[2] for verdict in findings if verdict.state != "ok"}
    if not failed & {"format", "entries"}:
        findings += _replay_findings(data, path, public, key, statement)
    return Verification(tuple(findings), allow_unchecked)


def _check_public(public: Any) -> None:
    """Check the type of ``public``, even if the release was fitted without a public table."""
    if isinstance(public, (str, os.PathLike)):
        check_regular_file(public, "public")
    elif not isinstance(public, (pd.DataFrame, Files, NoneType)):
        way_out = "give the published table that the model started from"
        raise Refused("public", public, "must be a DataFrame, a path, or Files", way_out)


def _replay_findings(
    data: bytes, path: str | Path, public: Any, key: str | Path | None, statement: str | Path | None
) -> Iterator[Verdict]:
    """Findings of the package's own code: each table's learner is replayed on the answers."""
    try:
        release = _read_release(data)
    except ValueError as error:
        yield Verdict("program", "refused", f"it does not take the file: {error}")
        return
    if key is not None:
        attestation = statement or f"{path}{BESIDE}"
        yield run_check("statement", partial(_check_statement, attestation, path, key), release)
    if isinstance(release, FamilyRelease):
        for table, member in release.tables.items():
            own_columns = {*release.own_model_columns(table)}
            known: dict[str, Any] = {}
            yield run_check(f"{quoted(table)}: learner", partial(_check_learner, table, known), release)
            yield from _replay_table(member, known.get("learner"), f"{quoted(table)}: ", own_columns)
        return
    known = {}
    if "public_rows" in release.settings:
        yield run_check("published table", partial(check_public, public, known), release)
    yield from _replay_table(release, known.get("learner"))


def _read_release(data: bytes) -> Release | FamilyRelease:
    """The release in a file's content."""
    if is_multi_table(json.loads(data)):
        return FamilyRelease.from_bytes(data)
    return Release.from_bytes(data)


def _replay_table(release: Release, learner: Any, prefix: str = "", own: Any = None) -> Iterator[Verdict]:
    checks: dict[str, Check] = {
        "rules in the ledger": _check_rules,
        "learned columns from their answers": partial(replay_domain, own=own),
        "charges of the model": partial(check_charges, learner=learner),
        "model from its answers": partial(replay_model, learner=learner),
    }
    for about, check_claim in checks.items():
        yield run_check(prefix + about, check_claim, release)


def _check_rules(release: Release) -> str:
    """Compare the rules that the ledger names with the rules of the file."""
    rules = release.rules.rule_set.rules
    named = {entry.mechanism for entry in release.ledger.entries if entry.name == "rules"}

    def compare() -> str:
        if (rules or named) and not named & {*rule_labels(rules)}:
            raise ContradictionError(
                f"the ledger must name the rules of the file: {rule_labels(rules)[0]!r:.400}"
            )
        return f"it names the {len(rules)} rules of the file"

    return version_checked(release, compare)


def _check_learner(table: str, known: dict[str, Any], families: FamilyRelease) -> str:
    """Check that a table has the learner of related tables, and put it into ``known``."""
    settings = families.tables[table].settings
    expected = ROOT_MODEL if table == families.tree.root else None
    if settings.get("model") != expected or settings.get("model_parameters") is not None:
        raise ContradictionError(
            f"related tables have one learner each, and the settings name {settings.get('model')!r:.40}"
        )
    known["learner"] = replayed_learner(families, table)
    return "the one of its place among the tables; its parents' rows are simulated again"


def _check_statement(
    statement: str | Path, path: str | Path, key: str | Path, release: Release | FamilyRelease
) -> str:
    """Verify the attestation, and compare its total with the file's."""
    if isinstance(release, FamilyRelease):
        raise UncheckableError("files of related tables are not signed")
    try:
        content = check_attestation(statement, path, key)
    except (ValueError, OSError) as error:
        raise ContradictionError(str(error)) from None
    ledger = release.ledger.to_dict()
    if any(content["total"].get(name) != ledger[name] for name in ("epsilon", "delta")):
        raise ContradictionError("it states another total than the file")
    return f"signed with this key on {content['time']}, of code {content['code']['sha256'][:16]}..."
