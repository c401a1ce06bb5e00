"""Names of columns that say that their cells name people: the names are public, the cells play no part."""

from __future__ import annotations

import re

SAY = {
    "ip": "ipv4_address", "ssn": "ssn", "iban": "iban", "email": "email", "mail": "email",
    "phone": "phone_number", "telephone": "phone_number", "fax": "phone_number", "surname": "last_name",
    "forename": "first_name", "firstname": "first_name", "lastname": "last_name", "fullname": "name",
    "username": "user_name", "name": "name", "address": "address", "street": "street_address",
}  # fmt: skip
"""Words for what names a person, and the sdtype that invents such cells."""
BESIDE = frozenset((
    "e", "first", "last", "full", "given", "family", "middle", "maiden", "user", "customer", "client",
    "patient", "person", "student", "employee", "member", "contact", "home", "work", "office", "private",
    "mobile", "cell", "number", "no", "line", "postal", "mailing", "billing", "shipping", "delivery",
))  # fmt: skip
"""Words that may stand beside them: a name with any other word (filename_count, product_name) says less."""
_WORD = re.compile("[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def personal_sdtype(name: str) -> str | None:
    """Return the sdtype that invents the cells of a column of this name; None if it names no people."""
    words = [word.casefold() for word in _WORD.findall(name)]
    if not {*words} <= {*SAY, *BESIDE}:
        return None
    return next((sdtype for word, sdtype in SAY.items() if word in words), None)
