"""The elements of an HTML page without scripts or requests."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from sdv_plausible.evaluation.page.style import STYLE


def whole(title: str, parts: Sequence[str]) -> str:
    """Return the page; it forbids every request, so it stays self-contained whatever a column is called."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">"
        f'<link rel="icon" href="data:,"><title>{escape(title)}</title><style>{STYLE}</style></head>'
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def header(title: str, date: str) -> str:
    """Return the title and the day."""
    return f"<header><h1>{escape(title)}</h1><p>sdv-plausible report, {escape(date)}</p></header>"


def banner(kind: str, words: str) -> str:
    """Return a box in the colour of ``kind`` (public or private)."""
    return f'<p class="banner {kind}">{escape(words)}</p>'


def section(title: str, words: str, body: str) -> str:
    """Return a section; ``words`` and ``body`` are HTML."""
    return f"<section><h3>{escape(title)}</h3><p>{words}</p>{body}</section>"


def grid(figures: Sequence[tuple[str, str]], kind: str = "") -> str:
    """Return pictures side by side as far as there is room; each is (caption, SVG)."""
    cells = "".join(
        f'<figure><figcaption>{escape(caption)}</figcaption><div class="scroll">{picture}</div></figure>'
        for caption, picture in figures
    )
    return f'<div class="grid {kind}">{cells}</div>'


def key(series: Sequence[tuple[str, str]]) -> str:
    """Return the legend of (name, colour)."""
    items = "".join(f'<span><i style="background:{colour}"></i>{escape(name)}</span>' for name, colour in series)
    return f'<p class="key">{items}</p>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    """Return a table; one of ``kind`` "words" turns into labelled lines on a narrow screen."""
    top = "".join(f"<th>{escape(title)}</th>" for title in head)
    body = "".join(
        "<tr>"
        + "".join(f'<td data-label="{escape(t)}">{escape(cell)}</td>' for t, cell in zip(head, row, strict=True))
        + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table class="{kind}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
