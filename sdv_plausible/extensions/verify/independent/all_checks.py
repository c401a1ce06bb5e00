"""All that a release file can be held to by itself: a verdict for each of its claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any

from sdv_plausible.extensions.verify.independent import content_checks, ledger_checks, related_table_checks
from sdv_plausible.extensions.verify.independent.answer_checks import check_all_there, check_answers, groups
from sdv_plausible.extensions.verify.independent.file_reader import (
    breaches,
    canonical,
    check_sizes,
    in_counts,
    read,
    schema,
)
from sdv_plausible.extensions.verify.independent.table_names import check_table_names
from sdv_plausible.extensions.verify.independent.verdict import (
    ContradictionError,
    UncheckableError,
    Verdict,
    shown,
)

CANNOT_SHOW = (
    "No file can show that the noise was drawn honestly, nor that the fit did what its entries say.",
    "No file can show that the domain, the rules and the options were written without looking at the rows.",
    "Texts in the file (mechanisms, scopes, notes) are its maker's words: nothing in them was checked.",
    "Whether this is the file that its maker published, only its digest tells, from somebody you trust.",
)
CHECKS: dict[str, Callable[[Any], str]] = {
    "entries": ledger_checks.check_losses, "total": ledger_checks.check_total, "words": ledger_checks.check_words,
    "settings": ledger_checks.check_settings, "domain": content_checks.check_domain, "rules": content_checks.check_rules,
    "seeds": content_checks.check_seeds, "model": content_checks.check_model, "answers": check_all_there,
}  # fmt: skip


def check(data: bytes, expect_sha256: str | None = None) -> list[Verdict]:
    """Verdicts on the bytes of a file: where it is none, on its format alone."""
    try:
        plain, form = read(data), schema()
        if related_table_checks.is_of_families(plain):
            tables = related_table_checks.tables_of(plain, form)
        elif broken := next(breaches(plain, form, form), None):
            raise ContradictionError(broken)
        else:
            check_table_names([plain["schema"]["table"]])
            tables = {"": in_counts(plain)}
        check_sizes([document["ledger"] for document in tables.values()])
        whole = sha256(canonical(plain)).hexdigest()
    except ContradictionError as error:
        return [Verdict("format", "refused", str(error))]
    except Exception as error:
        return [Verdict("format", "refused", f"it cannot be read ({type(error).__name__})")]
    found = [Verdict("format", "ok", "it is of the published schema"), _digest(data, whole, expect_sha256)]
    if "" in tables:
        return [*found, *_of_table(tables[""], tables[""])]
    for about, judge in related_table_checks.checks_of(plain, tables).items():
        found.append(verdict_of(about, judge, plain))
    for name, document, alone in related_table_checks.alone(plain, tables):
        found += [replace(one, about=f"{shown(name)}: {one.about}") for one in _of_table(document, alone)]
    return found


def is_of_families(document: Any) -> bool:
    """Whether a document is of related tables."""
    return related_table_checks.is_of_families(document)


def _of_table(document: Any, alone: Any) -> Iterator[Verdict]:
    """Verdicts on one table; ``alone`` is its document without columns of other tables."""
    for about, judge in CHECKS.items():
        yield verdict_of(about, judge, alone if about == "domain" else document)
    for names in groups(document):
        judge = partial(check_answers, names=names)
        yield verdict_of(f"answers paid by {', '.join(map(shown, names))}", judge, document)


def verdict_of(about: str, judge: Callable[[Any], str], document: Any) -> Verdict:
    """What a check says, or why it refuses."""
    try:
        return Verdict(about, "ok", judge(document))
    except ContradictionError as error:
        return Verdict(about, "refused", str(error))
    except UncheckableError as error:
        return Verdict(about, "not checkable", str(error))
    except Exception as error:
        return Verdict(about, "refused", f"it cannot be read as the format says ({type(error).__name__})")


def _digest(data: bytes, whole: str, expected: str | None) -> Verdict:
    if expected is not None and expected.lower() not in (whole, sha256(data).hexdigest()):
        return Verdict("digest", "refused", f"sha256 is {whole}, and {expected!r:.99} was expected")
    how = "" if whole == sha256(data).hexdigest() else ", of the content: the file is in the form for people"
    return Verdict("digest", "ok", f"sha256 is {whole}{how}")
