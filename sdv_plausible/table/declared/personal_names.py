"""Column names that indicate personal data. Names are public; the cells are not read."""

from __future__ import annotations

import re

SDTYPES = {
    "ip": "ipv4_address", "ssn": "ssn", "iban": "iban", "email": "email", "mail": "email",
    "phone": "phone_number", "telephone": "phone_number", "fax": "phone_number", "surname": "last_name",
    "forename": "first_name", "firstname": "first_name", "lastname": "last_name", "fullname": "name",
    "username": "user_name", "name": "name", "address": "address", "street": "street_address",
}  # fmt: skip
"""Words that indicate personal data, and the sdtype of its placeholder values."""
NEUTRAL_WORDS = frozenset((
    "e", "first", "last", "full", "given", "family", "middle", "maiden", "user", "customer", "client",
    "patient", "person", "student", "employee", "member", "contact", "home", "work", "office", "private",
    "mobile", "cell", "number", "no", "line", "postal", "mailing", "billing", "shipping", "delivery",
))  # fmt: skip
"""Other words allowed in such a name; any other word (product_name) means no personal data."""
_WORD = re.compile("[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def personal_sdtype(name: str) -> str | None:
    """The sdtype of placeholder values for a column of this name; None if it indicates no personal data."""
    words = [word.casefold() for word in _WORD.findall(name)]
    if not {*words} <= {*SDTYPES, *NEUTRAL_WORDS}:
        return None
    return next((sdtype for word, sdtype in SDTYPES.items() if word in words), None)
