"""Text and HTML representation of a synthesizer: its settings and, once it is fitted, its guarantee.

It shows nothing of rows or metadata, and no seed, which would reveal the noise.
"""

from __future__ import annotations

from typing import Any

from sdv_plausible.utils.html_templates import fragment, text

_SHOWN = ("epsilon", "delta", "model", "test", "undeclared", "person")


def _title(synthesizer: Any) -> str:
    parameters: dict[str, Any] = synthesizer.get_parameters()
    settings = [
        f"{name}={value!r}"
        for name, value in parameters.items()
        if name in _SHOWN and isinstance(value, (int, float, str))
    ]
    return f"{type(synthesizer).__name__}({', '.join(settings)})"


def _notes(synthesizer: Any) -> list[str]:
    ledger = getattr(synthesizer, "_ledger", None)
    return ["not fitted"] if ledger is None else [ledger.words.first]


def as_text(synthesizer: Any) -> str:
    """Settings and the ledger's first sentence, as plain text."""
    return text(_title(synthesizer), notes=_notes(synthesizer))


def as_html(synthesizer: Any) -> str:
    """Settings and the ledger's table, as HTML."""
    ledger = getattr(synthesizer, "_ledger", None)
    if ledger is None:
        return fragment(_title(synthesizer), notes=_notes(synthesizer))
    return fragment(_title(synthesizer)) + str(ledger.to_html())
