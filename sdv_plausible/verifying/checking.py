"""All that a release file can be held to by itself: a verdict for each of its claims."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from sdv_plausible.verifying import contents, ledger
from sdv_plausible.verifying.answers import check_answers
from sdv_plausible.verifying.reading import FormatError, breaches, canonical, read, schema, with_arrays
from sdv_plausible.verifying.verdict import LieError, OpenError, Unit, Verdict

CANNOT_SHOW = (
    "No file can show that the noise was drawn honestly, nor that the fit did what its entries say.",
    "No file can show that the domain, the rules and the options were written without looking at the rows.",
    "Whether this is the file that its maker published, only its digest tells, from somebody you trust.",
)
CHECKS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "entries": ledger.check_losses,
    "total": ledger.check_total,
    "words": ledger.check_words,
    "settings": ledger.check_settings,
    "domain": contents.check_domain,
    "rules": contents.check_rules,
    "seeds": contents.check_seeds,
    "model": contents.check_model,
}


def check(data: bytes, expect_sha256: str | None = None) -> list[Verdict]:
    """Verdicts on the bytes of a file: where it is none, on its format alone."""
    try:
        plain = read(data)
        form = schema()
        if broken := next(breaches(plain, form, form), None):
            return [Verdict("format", "refused", broken)]
        document = with_arrays(plain)
        whole = canonical(plain)
    except FormatError as error:
        return [Verdict("format", "refused", str(error))]
    found = [Verdict("format", "ok", "it is of the published schema"), _digest(data, whole, expect_sha256)]
    for about, judge in CHECKS.items():
        found.append(_verdict(about, judge, document))
        if about == "entries" and found[-1].state != "ok":
            return found  # of what cannot be a loss nothing follows
    return found + check_answers(document, Unit.of(document["ledger"]["neighbours"]))


def _verdict(about: str, judge: Callable[[Mapping[str, Any]], str], document: Mapping[str, Any]) -> Verdict:
    try:
        return Verdict(about, "ok", judge(document))
    except LieError as error:
        return Verdict(about, "refused", str(error))
    except OpenError as error:
        return Verdict(about, "not checkable", str(error))
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        return Verdict(about, "refused", f"it cannot be read as the format says ({type(error).__name__})")


def _digest(data: bytes, whole: bytes, expected: str | None) -> Verdict:
    own, as_stored = hashlib.sha256(whole).hexdigest(), hashlib.sha256(data).hexdigest()
    how = "" if own == as_stored else ", of the content: the file is in the form for people"
    if expected is not None and expected.lower() not in (own, as_stored):
        return Verdict("digest", "refused", f"sha256 is {own}, and {expected!r:.99} was expected")
    return Verdict("digest", "ok", f"sha256 is {own}{how}")
