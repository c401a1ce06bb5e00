"""Foreign text as it may be shown: a terminal, a log and a page get no control character of it."""

from __future__ import annotations

import re

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str, keep: str = "\n\t") -> str:
    """Write control characters out as JSON does, so that they are seen and not obeyed."""
    # They move the cursor, set titles, end lines or turn the direction of writing round. JSON stays JSON.
    return _CONTROL.sub(lambda found: found[0] if found[0] in keep else f"\\u{ord(found[0]):04x}", text)
