"""Untrusted text, with control characters escaped for terminals, logs and pages."""

from __future__ import annotations

import re

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def escape_controls(text: str, keep: str = "\n\t") -> str:
    """Escape control characters as in JSON, so that they are shown and not executed."""
    # Control characters may move the cursor, set titles, end lines or change the writing direction. Valid
    # JSON remains valid.
    return _CONTROL.sub(lambda match: match[0] if match[0] in keep else f"\\u{ord(match[0]):04x}", text)
