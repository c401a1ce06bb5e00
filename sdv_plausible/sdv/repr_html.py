"""What a synthesizer shows of itself: its settings and, once it is fitted, its ledger's first sentences.

Nothing of rows or metadata: settings are the caller's own, and a seed is left out, since it undoes the noise.
"""

from __future__ import annotations

from typing import Any

from sdv_plausible.utils.html_templates import fragment, text

_SHOWN = ("epsilon", "delta", "model", "test", "undeclared", "person")


def _title(synthesizer: Any) -> str:
    given: dict[str, Any] = synthesizer.get_parameters()
    settings = [
        f"{name}={value!r}"
        for name, value in given.items()
        if name in _SHOWN and isinstance(value, (int, float, str))
    ]
    return f"{type(synthesizer).__name__}({', '.join(settings)})"


def _notes(synthesizer: Any) -> list[str]:
    ledger = getattr(synthesizer, "_ledger", None)
    return ["not fitted"] if ledger is None else [ledger.words.first]


def as_text(synthesizer: Any) -> str:
    """Return settings and sentence as plain text."""
    return text(_title(synthesizer), notes=_notes(synthesizer))


def as_html(synthesizer: Any) -> str:
    """Return the same as HTML, with the ledger's table once there is one."""
    ledger = getattr(synthesizer, "_ledger", None)
    if ledger is None:
        return fragment(_title(synthesizer), notes=_notes(synthesizer))
    return fragment(_title(synthesizer)) + str(ledger.to_html())
