"""Registry entry of a release, for OpenDP's Differential Privacy Deployments Registry.

The registry's schema is ``deployments-schema.yaml`` of opendp/deployments-registry-data. Its requirements are
pinned in ``tests/extensions/standards/registry_schema.json``.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sdv_plausible.privacy.ledger_record import PUBLIC, LedgerRecord, rounded_up
from sdv_plausible.privacy.parameter_checks import one_of

if TYPE_CHECKING:
    from sdv_plausible.privacy.ledger import PrivacyLedger
    from sdv_plausible.table.columns.domain import Domain

SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
RELEASE_TYPES = ("One release", "Many releases")
BLANK = "to be filled in"


@dataclass(frozen=True, kw_only=True)
class RegistryField:
    """A field of the registry that a person fills in."""

    section: str
    hint: str
    many: bool = False  # whether it is a list of texts
    choices: tuple[str, ...] = ()  # allowed values; empty for free text
    tier: int = 1  # of the registry's tiers of completeness


KNOWN: dict[str, RegistryField] = {
    "name": RegistryField(section="basic", hint="the name of the data product"),
    "data_curators": RegistryField(section="basic", hint="who publishes it", many=True),
    "intended_use": RegistryField(section="basic", hint="what it is meant for"),
    "data_product_region": RegistryField(
        section="basic", hint="the region that it describes, or whose laws apply"
    ),
    "description": RegistryField(section="basic", hint="what it is, in short"),
    "publication_date": RegistryField(section="basic", hint="when it was first published, as 2026-01-31"),
    "data_product_sector": RegistryField(section="basic", hint="whose field it is", choices=SECTORS),
    "data_domain": RegistryField(section="dp_variant", hint="which tables could have been there", tier=3),
    "actors": RegistryField(
        section="deployment_model", hint="who may see what, and why each is trusted", tier=3
    ),
    "release_type": RegistryField(
        section="deployment_model", hint="published once, or again", choices=RELEASE_TYPES
    ),
    "release_type_details": RegistryField(
        section="deployment_model", hint="other releases from these people, past and planned", tier=3
    ),
    "data_source_type_details": RegistryField(
        section="deployment_model", hint="when and how the data were collected", tier=3
    ),
    "preprocessing_and_hyperparameter_tuning": RegistryField(
        section="implementation",
        hint="who looked at the table before, and how epsilon and the other arguments were chosen",
        tier=3,
    ),
    "justification": RegistryField(section="implementation", hint="why these choices were made", tier=3),
    "sources": RegistryField(section="administrative", hint="papers and pages about it, and where to get it"),
    "notes": RegistryField(section="administrative", hint="anything else"),
    "registry_authors": RegistryField(section="administrative", hint="who filled this in", many=True),
}
_OPTIONAL = ("release_type", "notes")  # not reported as missing

_WORD = re.compile(r"(?!(?:true|false|null|yes|no|on|off)$)[a-z][a-z0-9-]+")

Entry = dict[str, Any]


def to_registry(ledger: PrivacyLedger, *, domain: Domain | None = None, **known: str | Sequence[str]) -> str:
    """Return a release as a YAML entry of OpenDP's Differential Privacy Deployments Registry.

    The technical fields come from the ledger. Fields that only a person knows are left blank, with a comment.

    Parameters
    ----------
    ledger : PrivacyLedger
        The ledger of the release.
    domain : Domain, optional
        The columns of the release, to be listed: ``Release.load(path).domain``.
    **known
        Fields by the registry's names: ``name``, ``data_curators``, ``description``, ``intended_use``,
        ``data_product_region``, ``data_product_sector``, ``publication_date`` (2026-01-31), ``data_domain``,
        ``actors``, ``release_type``, ``release_type_details``, ``data_source_type_details``,
        ``preprocessing_and_hyperparameter_tuning``, ``justification``, ``sources``, ``notes``,
        ``registry_authors``.

    Returns
    -------
    str
        The entry, YAML 1.1.

    Raises
    ------
    ValueError
        If the ledger makes no privacy claim, or a field is unknown or does not have the registry's form.
    """
    return to_yaml(registry_entry(LedgerRecord.of(ledger.to_dict()), domain=domain, **known))


def registry_entry(
    record: LedgerRecord, *, domain: Domain | None = None, **known: str | Sequence[str]
) -> Entry:
    """Return the entry as plain data: technical fields from the ledger, missing fields blank."""
    _check_known(known)
    if domain is not None:
        known = {"data_domain": _columns(domain), **known}
    values = {name: known.get(name, [""] if field.many else "") for name, field in KNOWN.items()}
    entry: Entry = {
        "url_slug": _slug(values),
        "status": "Draft",
        "tier": 2 if any(KNOWN[name].tier == 3 for name in missing(known)) else 3,
        "deployment": {
            "basic": {
                **{name: values[name] for name in ("name", "data_curators", "intended_use")},
                "data_product_type": "Synthetic data",
                **{name: values[name] for name in ("data_product_region", "description", "publication_date")},
                "data_product_sector": values["data_product_sector"],
            },
            "dp_variant": _variant(record, values),
            "privacy_loss": _privacy_loss(record),
            "deployment_model": _deployment_model(values),
            "accounting": _accounting(record),
            "implementation": _implementation(record, values),
            "administrative": {name: values[name] for name in ("sources", "notes", "registry_authors")},
        },
    }
    if not values["data_product_sector"]:  # a choice may be absent but not blank
        del entry["deployment"]["basic"]["data_product_sector"]
    return entry


def missing(known: Mapping[str, object]) -> list[str]:
    """Names of the fields that a person must still fill in."""
    return [name for name in KNOWN if not known.get(name) and name not in _OPTIONAL]


# --- fields from the ledger -----------------------------------------------------------------------------


def _variant(record: LedgerRecord, values: Mapping[str, Any]) -> Entry:
    declared = [f"- {entry.mechanism}" for entry in record.declared if entry.parts != ("seeds",)]
    declared += [f"- {entry.mechanism}: {entry.note}" for entry in record.assumed]
    return {
        "variant_name": "Approximate DP",
        "data_domain": values["data_domain"],
        "unprotected_quantities": "\n".join([f"{PUBLIC} Nothing else is outside the guarantee.", *declared]),
    }


def _privacy_loss(record: LedgerRecord) -> Entry:
    return {
        "privacy_unit": record.unit,
        "privacy_unit_details": "\n".join(
            [
                f"Adjacent tables differ by the {record.neighbours}. Not covered:",
                *(f"- {item}" for item in record.not_covered),
            ]
        ),
        "privacy_parameters": {"epsilon": float(rounded_up(record.epsilon, 4)), "delta": record.delta},
        "privacy_parameters_details": f"The privacy ledger's words: {record.words.lead} {record.headline}",
    }


def _deployment_model(values: Mapping[str, Any]) -> Entry:
    return {
        "model_name": "Central",
        "model_name_details": (
            "Whoever holds the table runs the software on a machine of their own. The holder and the machine "
            "are trusted; whoever gets the release is not."
        ),
        "actors": values["actors"],
        "release_type": values["release_type"] or RELEASE_TYPES[0],
        "release_type_details": values["release_type_details"],
        "data_source_type": "Static",
        "data_source_type_details": values["data_source_type_details"],
        "access_type": "Non-interactive",
        "access_type_details": (
            "Nobody asks the underlying table: rows are drawn by its holder, or from a model that was "
            "released. What the parameters cover, and how many rows, is in the ledger's words above."
        ),
    }


def _accounting(record: LedgerRecord) -> Entry:
    parts = [f"- {entry.name}: {_cost(entry.epsilon, record.delta)}" for entry in record.charged]
    return {
        "post_processing": (
            "The model is fitted to noisy answers. In the rows codes become values again, and ids and "
            "personal data are invented without the table."
        ),
        "composition": "\n".join(
            [
                "All parts are composed in sequence, as if each saw the same people. The total is the least "
                "of three upper bounds: the composed privacy profiles, zCDP, and plain addition. Alone each "
                "part costs:",
                *parts,
            ]
        ),
    }


def _implementation(record: LedgerRecord, values: Mapping[str, Any]) -> Entry:
    tuning = values["preprocessing_and_hyperparameter_tuning"]
    entries = [f"- {entry.name}: {entry.mechanism} ({entry.scope})" for entry in record.used]
    return {
        "preprocessing_and_hyperparameter_tuning": (
            "In the software, every cell becomes a code by itself, as its column is declared; whatever else "
            "is learned from the table before the release is a part of the accounting. Arguments are not "
            f"tuned by it. By the curator: {tuning or f'[{BLANK}]'}"
        ),
        "mechanisms": "\n".join(
            [
                *entries,
                "- Software: sdv-plausible; the noise of answers is drawn by OpenDP's library.",
                "- Floating point: answers and their noise are whole numbers.",
                "- Random numbers: the operating system's, and a cipher stream under a secret key.",
                "- Timing and memory: no measures; the release is not interactive.",
                f"- Protection of the underlying table: [{BLANK}]",
            ]
        ),
        "justification": values["justification"],
    }


def _cost(epsilon: float | None, delta: float) -> str:
    return f"epsilon {rounded_up(epsilon or 0.0, 4)} at delta {rounded_up(delta)}"


def _columns(domain: Domain) -> str:
    inferred = [column.name for column in domain.attributes if column.provenance == "inferred"]
    if inferred:
        raise ValueError(
            f"domain was read off the rows in columns {', '.join(inferred)}: it may not be published; give "
            "the domain of the release"
        )
    lines = [f"- {c.name}: {c.kind}, {c.cardinality:,} codes, {c.provenance}" for c in domain.attributes]
    return "\n".join(
        ["Tables with these columns, of values that the codes stand for, and any number of rows:", *lines]
    )


# --- fields from a person -------------------------------------------------------------------------------


def _check_known(known: Mapping[str, object]) -> None:
    for name, value in known.items():
        field = KNOWN.get(name)
        if field is None:
            raise ValueError(f"the registry has no field {name!r} to be filled in; it has {', '.join(KNOWN)}")
        if field.many:
            if not isinstance(value, (list, tuple)) or not value or not all(map(_is_text, value)):
                raise ValueError(f"{name} ({value!r}) must be a list of texts, such as ['A. Person']")
        elif not _is_text(value):
            raise ValueError(f"{name} ({value!r}) must be text: {field.hint}")
        if field.choices:
            one_of(name, value, field.choices)
    date = known.get("publication_date")
    if date is not None and not _is_date(str(date)):
        raise ValueError(f"publication_date ({date!r}) must be a date such as 2026-01-31")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_date(text: str) -> bool:
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _slug(values: Mapping[str, Any]) -> str:
    parts = (values["name"], "-".join(values["data_curators"]), str(values["publication_date"])[:4])
    return "-".join(re.sub(r"\W+", "-", part.lower()).replace("_", "-") for part in parts if part) or "draft"


# --- as YAML --------------------------------------------------------------------------------------------


def to_yaml(entry: Mapping[str, Any]) -> str:
    """Write an entry as YAML 1.1; blank fields are marked with a comment that explains them."""
    return (
        "\n".join(["# Fields that only a person knows, and nobody gave, are marked.", *_lines(entry, 0)])
        + "\n"
    )


def _lines(node: Mapping[str, Any], depth: int) -> Iterator[str]:
    indent = "  " * depth
    for name, value in node.items():
        mark = f"  # {BLANK}: {KNOWN[name].hint}" if value in ("", [""]) and name in KNOWN else ""
        if isinstance(value, Mapping):
            yield f"{indent}{name}:"
            yield from _lines(value, depth + 1)
        elif isinstance(value, (list, tuple)):
            yield f"{indent}{name}:{mark}"
            yield from (f"{indent}  - {_quoted(item)}" for item in value)
        elif name == "url_slug" and _WORD.fullmatch(value):  # the registry's check reads it unquoted
            yield f"{indent}{name}: {value}"
        elif isinstance(value, str):
            yield f"{indent}{name}: {_scalar(value, indent)}{mark}"
        else:
            yield f"{indent}{name}: {_number(value)}"
    if "data_product_type" in node and "data_product_sector" not in node:
        yield f'{indent}# data_product_sector: ""  # {BLANK}: {", ".join(SECTORS)}'


def _scalar(text: str, indent: str) -> str:
    """A literal block if every line is printable, else one quoted line."""
    lines = text.split("\n")
    if len(lines) > 1 and all(line and line == line.strip() and line.isprintable() for line in lines):
        return "|-\n" + "\n".join(f"{indent}  {line}" for line in lines)
    return _quoted(text)


def _quoted(text: str) -> str:
    escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text)
    return f'"{escaped}"'


def _number(value: float) -> str:
    """A number in YAML 1.1, which reads ``1e-09`` as text and ``1.0e-09`` as a number."""
    text = repr(value)
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}.0e{exponent}" if e and "." not in mantissa else text
