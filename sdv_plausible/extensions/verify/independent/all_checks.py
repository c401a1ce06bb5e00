"""All checks of a release file by itself: one finding for each claim."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any

from sdv_plausible.extensions.verify.independent import content_checks, ledger_checks, related_table_checks
from sdv_plausible.extensions.verify.independent.answer_checks import (
    check_answers,
    check_complete,
    payer_groups,
)
from sdv_plausible.extensions.verify.independent.file_reader import (
    canonical,
    check_sizes,
    check_table_names,
    decode_table,
    read,
    schema,
    schema_violations,
)
from sdv_plausible.extensions.verify.independent.verdict import (
    ContradictionError,
    UncheckableError,
    Verdict,
    quoted,
)

CANNOT_SHOW = (
    "No file can show that the noise was drawn honestly, nor that the fit did what its entries say.",
    "No file can show that the domain, the rules and the options were written without looking at the rows.",
    "Texts in the file (mechanisms, scopes, notes) are its maker's words: nothing in them was checked.",
    "Whether this is the file that its maker published, only its digest tells, from somebody you trust.",
)
CHECKS: dict[str, Callable[[Any], str]] = {
    "entries": ledger_checks.check_losses, "total": ledger_checks.check_total,
    "words": ledger_checks.check_words, "settings": ledger_checks.check_settings,
    "domain": content_checks.check_domain, "rules": content_checks.check_rules,
    "seeds": content_checks.check_seeds, "model": content_checks.check_model, "answers": check_complete,
}  # fmt: skip


def check(data: bytes, expect_sha256: str | None = None) -> list[Verdict]:
    """Findings on the bytes of a file; only a finding on the format if the file is malformed."""
    try:
        parsed, json_schema = read(data), schema()
        if related_table_checks.is_multi_table(parsed):
            tables = related_table_checks.read_tables(parsed, json_schema)
        elif violation := next(schema_violations(parsed, json_schema, json_schema), None):
            raise ContradictionError(violation)
        else:
            check_table_names([parsed["schema"]["table"]])
            tables = {"": decode_table(parsed)}
        check_sizes([document["ledger"] for document in tables.values()])
        digest = sha256(canonical(parsed)).hexdigest()
    except ContradictionError as error:
        return [Verdict("format", "refused", str(error))]
    except Exception as error:
        return [Verdict("format", "refused", f"it cannot be read ({type(error).__name__})")]
    findings = [
        Verdict("format", "ok", "it is of the published schema"),
        _digest(data, digest, expect_sha256),
    ]
    if "" in tables:
        return [*findings, *_of_table(tables[""], tables[""])]
    for about, check_claim in related_table_checks.joint_checks(parsed, tables).items():
        findings.append(run_check(about, check_claim, parsed))
    for name, document, own_document in related_table_checks.own_documents(parsed, tables):
        findings += [
            replace(finding, about=f"{quoted(name)}: {finding.about}")
            for finding in _of_table(document, own_document)
        ]
    return findings


def _of_table(document: Any, own_document: Any) -> Iterator[Verdict]:
    """Findings on one table; ``own_document`` is the same without columns of other tables."""
    for about, check_claim in CHECKS.items():
        yield run_check(about, check_claim, own_document if about == "domain" else document)
    for names in payer_groups(document):
        check_claim = partial(check_answers, names=names)
        yield run_check(f"answers paid by {', '.join(map(quoted, names))}", check_claim, document)


def run_check(about: str, check_claim: Callable[[Any], str], document: Any) -> Verdict:
    """Run one check, and turn its result or its error into a finding."""
    try:
        return Verdict(about, "ok", check_claim(document))
    except ContradictionError as error:
        return Verdict(about, "refused", str(error))
    except UncheckableError as error:
        return Verdict(about, "not checkable", str(error))
    except Exception as error:
        return Verdict(about, "refused", f"it cannot be read as the format says ({type(error).__name__})")


def _digest(data: bytes, digest: str, expected: str | None) -> Verdict:
    if expected is not None and expected.lower() not in (digest, sha256(data).hexdigest()):
        return Verdict("digest", "refused", f"sha256 is {digest}, and {expected!r:.99} was expected")
    is_canonical = digest == sha256(data).hexdigest()
    note = "" if is_canonical else ", of the content: the file is in the form for people"
    return Verdict("digest", "ok", f"sha256 is {digest}{note}")
