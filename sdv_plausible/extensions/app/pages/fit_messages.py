"""What a fit tells, as the pages show it: by column, and in the words of the pages instead of Python's."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

_WORDS: Mapping[re.Pattern[str], str] = {
    re.compile(r" \(domain=\.\.\.(, or the command declare)?\)(: \{.*\})?"): " on the page Columns",
    re.compile(r" \(domain=\{[^()]*\}; ([^()]*)\)"): r" on the page Columns (\1)",
    re.compile(r" \(domain=\{[^()]*\}\)"): " on the page Columns",
    re.compile(r"anyway=True \(--anyway\)"): "choose so on the page Budget",
    re.compile(r"synth\.check\(table\) or sdv-plausible check shows why"): "compare on the page Columns",
    re.compile(r" \(na_values, --na-values\)"): " as texts for missing on the page Table",
    re.compile(r", or use test='release'"): ", or choose another privacy test",
}  # fmt: skip


def in_app(text: str) -> str:
    """A message in the words of the pages."""
    for pattern, words in _WORDS.items():
        text = pattern.sub(words, text)
    return text


@dataclass(frozen=True)
class FitMessages:
    """What a fit tells: of columns, and of all of it."""

    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    others: Sequence[str] = ()


def by_column(texts: Sequence[str], names: Collection[str]) -> FitMessages:
    """Group messages that begin with columns (``a (12%), b: ...``) by column; the others stay as they are."""
    columns: dict[str, list[str]] = {}
    others = []
    for text in map(in_app, texts):
        head, _, rest = text.partition(": ")
        found = [_column(part, names) for part in re.split(r", (?![^(]*\))", head)]
        if not rest or not all(found):
            others.append(text)
            continue
        for name, figure in filter(None, found):
            columns.setdefault(name, []).append(f"{figure}: {rest}" if figure else rest[0].upper() + rest[1:])
    order = {name: i for i, name in enumerate(names)}
    return FitMessages(
        {name: columns[name] for name in sorted(columns, key=lambda name: order[name])}, others
    )


def _column(part: str, names: Collection[str]) -> tuple[str, str] | None:
    """The column that a part of a list begins with, and the figure after it."""
    if part in names:
        return part, ""
    for pattern in (r"(.+) \(([^()]*)\)", r"(.+) (\d+%)"):
        if (found := re.fullmatch(pattern, part)) and found[1] in names:
            return found[1], found[2]
    return None
