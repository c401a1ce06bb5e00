"""Every citation of a theorem resolves: the page exists and has a result of that kind and number.

The tests do not check that the sentence fits the theorem. Citations in code, tests and pages take these forms:

    (docs/explanation/proofs/x.md, Theorem 2)     [x](x.md), Lemmas 1 and 3     [Theorem 2 there](x.md)
    Theorem 2 of [x](x.md)     Theorem 3 there (the page named last)       Lemma 1 (on a proof page: its own)

"Theorem 1" without a page is the paper's. Theorems of other papers follow a year:
"(Zhu, Dong, Wang 2022, Theorem 10)".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from pages import ROOT, repository_files

PROOFS = ROOT / "docs/explanation/proofs"
# Results of Bindschaedler, Shokri, Gunter 2017.
PAPER = {*(f"theorem {n}" for n in range(1, 5)), *(f"lemma {n}" for n in range(1, 6)), "corollary 1"}

KIND = r"(?:Theorem|Lemma|Remark|Corollary|Proposition)"
RESULT = re.compile(rf"(?<![\w/]){KIND}s? (?:\d+)(?:(?:, | and | or | to )\d+)*", re.IGNORECASE)
PAGE = re.compile(r"(?:[\w.-]*/)*(\w+\.md)")
DEFINITION = re.compile(rf"^(?:\*\*|#+ )({KIND}) (\d+)", re.MULTILINE)
REMARKS = re.compile(r"^\*\*Remarks\.\*\*\n((?:.+\n?)+)", re.MULTILINE)


def results(page: str) -> set[str]:
    """Results of a proof page: "theorem 1" and "lemma 2" from bold heads, "remark 3" from lists."""
    found = {f"{kind} {number}".lower() for kind, number in DEFINITION.findall(page)}
    for block in REMARKS.findall(page):
        found |= {f"remark {number}" for number in re.findall(r"^(\d+)\. ", block, re.MULTILINE)}
    return found


def _flat(text: str) -> str:
    """Join the lines, and remove comment signs, backticks and asterisks."""
    text = re.sub(r"\n[ \t]*(?:#(?!#)[ \t]*)?", " ", text)
    return re.sub(r"[`*]", "", text)


def _numbers(result: str) -> list[str]:
    kind = re.match(KIND, result, re.IGNORECASE)[0].lower()  # type: ignore[index]
    numbers = [int(number) for number in re.findall(r"\d+", result)]
    listed = range(numbers[0], numbers[-1] + 1) if " to " in result else numbers
    return [f"{kind} {number}" for number in listed]


def _page_of(before: str, after: str) -> str | None:
    """Page of a citation, from the text before and after it; None if no page is named."""
    if named := re.search(rf"{PAGE.pattern}[)\]]*,? \(?$", before):  # x.md, Theorem 2
        return named[1]
    if named := re.match(rf"(?: there)?\]\({PAGE.pattern}", after):  # [Theorem 2](x.md)
        return named[1]
    if named := re.match(rf" of (?:\[[^\]]*\]\()?{PAGE.pattern}", after):  # Theorem 2 of [x](x.md)
        return named[1]
    if after.startswith(" there") and (pages := PAGE.findall(before[-600:])):
        return str(pages[-1])
    return "a page without a name" if re.match(r" of the (?:proof )?page", after) else None


def citations(text: str) -> Iterator[tuple[str | None, str]]:
    """Each cited result with its page; None for a citation without a page."""
    flat = _flat(text)
    for match in RESULT.finditer(flat):
        before, after = flat[: match.start()], flat[match.end() :]
        if not re.search(r"\b(?:19|20)\d\d\)?,? $", before):  # a year: a result of another paper
            page = _page_of(before, after)
            yield from ((page, number) for number in _numbers(match[0]))


def unresolved(text: str, proofs: dict[str, set[str]], own_page: str | None = None) -> list[str]:
    """Citations whose page or result does not exist."""
    wrong = []
    for page, result in citations(text):
        known = PAPER | proofs.get(own_page or "", set()) if page is None else proofs.get(page, set())
        if result not in known:
            wrong.append(f"{result.capitalize()} of {page or own_page or 'the paper'}")
    return wrong


@pytest.fixture(scope="module")
def proofs() -> dict[str, set[str]]:
    return {path.name: results(path.read_text()) for path in PROOFS.glob("*.md")}


def test_citations_resolve(proofs):
    wrong, seen = {}, 0
    for path in repository_files(".py", ".md"):
        text = path.read_text()
        own = path.name if path.parent == PROOFS else None
        seen += sum(page is not None for page, _ in citations(text))
        if path.parent.name != "house" and (found := unresolved(text, proofs, own)):
            wrong[path.relative_to(ROOT).as_posix()] = found
    assert wrong == {}
    assert seen > 30


def test_pages_named_in_code_exist():
    """Pages named in comments and docstrings exist; a name is a path from the root, or the end of one."""
    pages = [f"/{path.relative_to(ROOT).as_posix()}" for path in repository_files(".md")]
    wrong = {}
    for path in repository_files(".py"):
        named = {match[0] for match in re.finditer(r"(?<![\w.{}])[\w./-]*[a-z]\.md\b", path.read_text())}
        ends = {name: f"/{name.lstrip('./')}" for name in named}
        missing = [name for name, end in ends.items() if not any(page.endswith(end) for page in pages)]
        if missing and path.parent.name != "house":
            wrong[path.relative_to(ROOT).as_posix()] = missing
    assert wrong == {}


FOUND = [
    ("as (docs/explanation/proofs/pass_rate.md, Theorem 3)", "pass_rate.md", "theorem 3"),
    ("    # (``docs/explanation/proofs/seed_test.md``,\n    # Lemma 1).", "seed_test.md", "lemma 1"),
    ("([a](entropy_sensitivity.md), Theorems 1 and 3)", "entropy_sensitivity.md", "theorem 3"),
    ("By [Lemma 2](seed_test.md) a coin", "seed_test.md", "lemma 2"),
    ("([Theorem 2 there](seed_test.md), gamma", "seed_test.md", "theorem 2"),
    ("By Theorem 2 of\n[composition](composition.md) all of it", "composition.md", "theorem 2"),
    ("of [a](composition.md) all of it, corrected by Theorem 3 there.", "composition.md", "theorem 3"),
    ("[conditional_release](conditional_release.md) remark 4 |", "conditional_release.md", "remark 4"),
    ("adding up Theorem 1 gives", None, "theorem 1"),
]


def test_a_citation_is_read(proofs):
    for text, page, result in FOUND:
        assert (page, result) in list(citations(text))
        assert unresolved(text, proofs) == []


PLANTED = [
    "(docs/explanation/proofs/pass_rate.md, Theorem 4)",
    "``docs/explanation/proofs/conditional_release.md``,\n    Remark 5",
    "(docs/explanation/proofs/pass_rates.md, Theorem 1)", "see [x](entropy_sensitivity.md), Theorems 1 to 4",
    "By [Lemma 4](seed_test.md)", "Theorem 9 of [composition](composition.md)",
    "[composition](composition.md); by Theorem 7 there", "Lemma 2 of the proof page", "by Lemma 7 it holds",
]  # fmt: skip


def test_a_planted_citation_is_caught(proofs):
    for text in PLANTED:
        assert unresolved(text, proofs)
        assert unresolved(text, proofs, own_page="random_split.md")
