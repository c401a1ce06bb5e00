"""The published JSON schema of the domain file, made from the words there are.

``python -m sdv_plausible.declaring.schema > docs/reference/declarations.schema.json`` writes it anew.
"""

from __future__ import annotations

from typing import Any

from sdv_plausible.release.file.documents import write
from sdv_plausible.table.cells.forms import LONGEST_NAME
from sdv_plausible.table.columns.column_document import ATTRIBUTE, SHARED, attribute_form, declaration_form
from sdv_plausible.table.declared.domain_file import SCHEMA


def schema_document() -> dict[str, Any]:
    """JSON schema (2020-12) of the domain file."""
    attribute = attribute_form("kind")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://sdv-plausible/declarations/1",
        "title": "Domain file of sdv-plausible, format 1",
        "description": "What is declared of the columns of a table, without looking at its rows.",
        "type": "object", "required": ["schema", "columns"], "additionalProperties": False,
        "properties": {
            "$schema": {"type": ["string", "null"], "description": "Where this schema is, for editors."},
            "schema": {"const": SCHEMA},
            "detected": {
                "type": "boolean", "description": "All of it was read off the rows: it declares nothing.",
            },
            "columns": {
                "type": "object", "propertyNames": {"pattern": r"\S", "maxLength": LONGEST_NAME},
                "additionalProperties": {
                    "if": {"required": ["kind"]}, "then": {"$ref": "#/$defs/attribute"},
                    "else": {"$ref": "#/$defs/column"},
                },
                "description": "Column name: its declaration.",
            },
            "looked": {
                "type": "object", "additionalProperties": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                "description": "Written by the program when a column is compared with the rows: SHA-256 of "
                "its words. Leave it as it is.",
            },
            "looked_rules": {
                "type": ["array", "null"], "items": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                "description": "Written by the program when rows that break a rule are counted: SHA-256 of "
                "every rule. Leave it as it is.",
            },
            "rules_source": {
                "type": ["string", "null"], "minLength": 1,
                "description": "The public text that the rules are from, if they were changed after that.",
            },
            "learned": {
                "type": ["object", "null"], "required": ["ledger", "charge"],
                "description": "Written by the program when columns were learned privately: what that cost. "
                "Leave it as it is.",
            },
        },
        "$defs": {
            **{name: form for name, (form, _) in SHARED.items()},
            "attribute": {
                **attribute, "description": "A value set as it was learned: bins and all.",
                "properties": {name: form for name, form in ATTRIBUTE.items() if name != "name"},
            },
            "column": declaration_form(),
        },
    }  # fmt: skip


def schema_text() -> str:
    """The schema as it is published."""
    return write(schema_document(), readable=True).decode("utf-8")


if __name__ == "__main__":
    print(schema_text(), end="")
