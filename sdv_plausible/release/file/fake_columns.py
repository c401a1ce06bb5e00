"""Placeholder values for columns that are not modelled (keys, ids, personal data), without SDV."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import Refused, suggestion
from sdv_plausible.release.file.schema_section import SchemaColumn
from sdv_plausible.table.declared.specifications import MODELLED_SDTYPES

LOCALE = r"[a-z]{2,3}(_[A-Z]{2})?"
MAX_ID_LENGTH = 1000  # longest id: a hostile format may ask for millions of letters
PartPosition = tuple[int, int]
# Sdtypes with their Faker methods. No other method is called, as the sdtype comes from
# an untrusted file.
_FAKER = """address bban building_number city city_suffix company company_suffix country country_code
credit_card_expire credit_card_number credit_card_provider credit_card_security_code date_of_birth domain_name
ean email first_name first_name_female first_name_male hostname iban ipv4 ipv6 isbn10 isbn13 job language_code
last_name latitude license_plate longitude mac_address name name_female name_male phone_number postcode prefix
safe_email secondary_address ssn state state_abbr street_address street_name street_suffix suffix swift
swift11 swift8
uri url user_name
vin zipcode"""
FAKER = {name: name for name in _FAKER.split()} | {
    "administrative_unit": "state",
    "ipv4_address": "ipv4",
    "ipv6_address": "ipv6",
    "user_agent_string": "user_agent",
}
_ATOM = re.compile(r"(?P<set>\[[^\[\]^][^\[\]]*\])|\\(?P<escaped>.)|(?P<plain>[^\\\[\](){}.*+?|^$])")
_LENGTHS = re.compile(r"(\\\+)?\[(a-z|0-9)\]\{(\d{1,3}),(\d{1,3})\}")  # texts of random lengths, not keys
_REPEAT = re.compile(r"\{(\d{1,3})\}")
_DIGITS = "0123456789"
_CLASSES = {"d": _DIGITS, "w": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" + _DIGITS + "_"}


def make_placeholders(
    column: SchemaColumn,
    num_rows: int,
    rng: KeyedRNG,
    *,
    is_key: bool,
    locales: Sequence[str],
    position: PartPosition = (0, 0),
) -> pd.Series[Any]:
    """Make a column: numbered ids (in their format if it is simple), keys, or personal data by Faker."""
    # Without Faker, personal data is numbered: "email-000001". ``position``: (rows before, rows in all).
    sdtype = column.spec["sdtype"]
    lengths = _LENGTHS.fullmatch(column.spec.get("regex_format") or "")
    if sdtype == "id" and lengths and not is_key:
        plus_signs, letters, shortest, longest = lengths.groups(default="")
        values: Any = random_texts(
            num_rows, int(shortest), int(longest), rng, letters[0], len(plus_signs) // 2 * "+"
        )
    elif sdtype == "id":
        values = _number_ids(column, num_rows, *position)
    elif pd.api.types.is_float_dtype(column.dtype):  # coordinates
        values = np.round(180 * rng.uniform(num_rows) - 90, 6)
    else:
        values = (None if is_key else _faker_values(sdtype, num_rows, rng, locales)) or _numbered(
            sdtype, num_rows, position[0]
        )
    values = pd.Series(values, dtype=None if num_rows else object)
    try:
        return values.astype(column.dtype)
    except (TypeError, ValueError):  # the dtype is for other values
        return values


def check_locales(locales: Any) -> list[str]:
    """Locales as a list; a string is a list of one."""
    names = [locales] if isinstance(locales, str) else locales
    are_texts = isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names)
    if not are_texts or not names or not all(re.fullmatch(LOCALE, name) for name in names):
        raise Refused("locales", locales, "must be a list such as ['en_US']")
    with suppress(ImportError):
        from faker.config import AVAILABLE_LOCALES

        unknown = sorted(set(names).difference(AVAILABLE_LOCALES))
        if unknown:
            raise Refused("locales", locales, f"must be known to Faker: {', '.join(unknown)} is not")
    return list(names)


def check_placeholder_types(types: Mapping[str, str], locales: Sequence[str]) -> None:
    """Reject sdtypes that are neither modelled nor known to Faker."""
    for name, sdtype in types.items():
        if sdtype not in (*MODELLED_SDTYPES, "id", "unknown", *FAKER) and not _faker_makes(sdtype, locales):
            hint = suggestion(sdtype, (*MODELLED_SDTYPES, "id", *FAKER))
            raise ValueError(
                f"column {name!r}: sdtype ({sdtype!r}) must be one of SDV's, or what Faker makes without an "
                f"argument{hint or ', such as id, email or name'}"
            )


def _faker_makes(sdtype: str, locales: Sequence[str]) -> bool:
    """Whether a Faker provider makes this sdtype without arguments."""
    try:
        from faker import Faker
    except ImportError:
        return False
    providers = [provider for factory in Faker(list(locales)).factories for provider in factory.providers]
    methods = [getattr(provider, sdtype, None) for provider in providers]
    if sdtype.startswith("_") or not any(map(callable, methods)):
        return False
    try:
        next(filter(callable, methods))()
    except Exception:  # provider methods may raise anything
        return False
    return True


def _numbered(prefix: str, num_rows: int, before: int) -> list[str]:
    return [f"{prefix}-{i:06d}" for i in range(before + 1, before + num_rows + 1)]


def _number_ids(column: SchemaColumn, num_rows: int, before: int, total: int) -> Any:
    pattern = column.spec.get("regex_format")
    if pattern and (texts := expand_pattern(pattern, num_rows, before, total)):
        return texts
    if pd.api.types.is_numeric_dtype(column.dtype):
        return np.arange(before, before + num_rows)
    return _numbered("id", num_rows, before)


def random_texts(
    num_rows: int, shortest: int, longest: int, rng: KeyedRNG, first: str = "a", before: str = ""
) -> list[str]:
    """Texts of lower-case letters or digits, all lengths equally likely ([DS], section 3)."""
    lengths = shortest + rng.integers(max(longest - shortest, 0) + 1, num_rows)
    alphabet_size = 26 if first == "a" else 10
    letters = rng.integers(alphabet_size, (num_rows, max(longest, 1))).astype(np.uint8) + ord(first)
    texts = (row[:length].tobytes() for row, length in zip(letters, lengths, strict=True))
    return [before + text.decode("ascii") for text in texts]


def expand_pattern(pattern: str, count: int, before: int = 0, in_all: int = 0) -> list[str] | None:
    """First texts of a simple regular expression, or None if it is not simple or has too few texts."""
    # Supported: letters and classes such as ``[A-Z0-9]``, each optionally with ``{n}``.
    alphabets, position = [], 0
    while position < len(pattern):
        atom = _ATOM.match(pattern, position)
        alphabet = _alphabet(atom) if atom else None
        if atom is None or alphabet is None:
            return None
        times = _REPEAT.match(pattern, atom.end())
        alphabets += [alphabet] * (int(times.group(1)) if times else 1)
        position = times.end() if times else atom.end()
        if len(alphabets) > MAX_ID_LENGTH:
            return None
    if math.prod(map(len, alphabets)) < max(before + count, in_all):
        return None
    remainder, columns = np.arange(before, before + count), []
    for alphabet in reversed(alphabets):
        columns.append(np.array(list(alphabet), dtype=object)[remainder % len(alphabet)])
        remainder = remainder // len(alphabet)
    return ["".join(letters) for letters in zip(*reversed(columns), strict=True)] if columns else None


def _alphabet(atom: re.Match[str]) -> str | None:
    """Letters that one atom of the expression matches; None if it is not supported."""
    if atom.group("plain"):
        return atom.group("plain")
    if atom.group("escaped"):
        letter = atom.group("escaped")
        return _CLASSES.get(letter) if letter.isalnum() else letter
    letters, rest = "", atom.group("set")[1:-1]
    while rest:
        if rest[0] == "\\":
            if rest[1:2] not in ("d", "w", "-", "."):
                return None
            letters, rest = letters + _CLASSES.get(rest[1], rest[1]), rest[2:]
        elif len(rest) > 2 and rest[1] == "-":
            if not 0 <= ord(rest[2]) - ord(rest[0]) < 256:
                return None
            letters, rest = letters + "".join(map(chr, range(ord(rest[0]), ord(rest[2]) + 1))), rest[3:]
        else:
            letters, rest = letters + rest[0], rest[1:]
    return "".join(dict.fromkeys(letters))


def _faker_values(sdtype: str, num_rows: int, rng: KeyedRNG, locales: Sequence[str]) -> list[str] | None:
    """Personal data by Faker; None if Faker, the sdtype or the locale is not available."""
    try:
        from faker import Faker
    except ImportError:
        return None
    if sdtype not in FAKER:
        return None
    try:
        faker = Faker(list(locales))
        faker.seed_instance(int(rng.integers(2**32)))
        make = getattr(faker, FAKER[sdtype])
    except AttributeError:
        return None
    return [str(make()) for _ in range(num_rows)]
