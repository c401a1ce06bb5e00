"""The published JSON schemas, as they ship: `tests/house/test_schemas.py` holds them to what makes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def _shipped(path: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((Path(__file__).parents[1] / path).read_text(encoding="utf-8"))
    return found


RELEASE_FILE = _shipped("sdv_plausible/release/file/release.schema.json")
FILE_OF_RULES = _shipped("sdv_plausible/rules/rules.schema.json")
DOMAIN_FILE = _shipped("docs/reference/declarations.schema.json")
