"""Signed attestation of a fit: release digest, code, options, privacy total and budget draw.

An in-toto Statement v1 in a DSSE envelope, signed with Ed25519, which other tools can verify. It holds no
information about the rows: no digest or number of rows, no digest or path of an input file.

Source: in-toto Attestation Framework, Statement v1.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from sdv_plausible.extensions.standards.signing import secret_key, sign_envelope, verify_envelope
from sdv_plausible.release.file.settings_section import write_settings
from sdv_plausible.utils.input_files import read_regular_file
from sdv_plausible.utils.strict_json import strict_json

STATEMENT = "https://in-toto.io/Statement/v1"
PAYLOAD = "application/vnd.in-toto+json"
BESIDE = ".intoto.jsonl"  # appended to the release's file name
PREDICATE = "https://sdv-plausible/attestation/fit/1"
PREDICATE_FIELDS = ("code", "versions", "options", "total", "draw", "time")
"""Fields of the predicate."""
OMITTED_SETTINGS = ("public_source", "public_sha256")
"""Settings that are left out: free text that may contain a path, and the digest of a table."""


def code_digest() -> str:
    """SHA-256 of the package's code: of the sorted lines that ``sha256sum`` prints for its files."""
    root = Path(__file__).parents[2]
    files = (p for p in root.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    named = sorted((path.relative_to(root).as_posix().encode(), path) for path in files)
    lines = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  ".encode() + name + b"\n" for name, p in named]
    return hashlib.sha256(b"".join(lines)).hexdigest()


def attest(
    release: Any, key: str | Path, *, draw: Mapping[str, float] | None = None, readable: bool = False
) -> str:
    """Return a signed attestation of a release, as one line of JSON (DSSE).

    Parameters
    ----------
    release : Release
        The fitted release.
    key : str or Path
        File of the secret key, mode 0600: from the command ``key``, or ``openssl genpkey -algorithm
        ed25519``.
    draw : mapping of str to float, optional
        The amount drawn from a budget, such as ``{"epsilon": 0.5, "delta": 1e-9}``; None without a budget.
    readable : bool
        Whether the file was saved with ``readable=True``; adds the digest of that form.

    Returns
    -------
    str
        The DSSE envelope, with a trailing line feed.

    Raises
    ------
    ValueError
        If other users may read the key file, or it holds no secret Ed25519 key.
    """
    body = json.dumps(_statement(release, draw, readable), sort_keys=True, allow_nan=False)
    return sign_envelope(PAYLOAD, body.encode(), secret_key(Path(key)))


def _statement(release: Any, draw: Mapping[str, float] | None, readable: bool) -> dict[str, Any]:
    digests = [release.digest]
    if readable:
        digests.append(hashlib.sha256(release.to_bytes(readable=True)).hexdigest())
    names = ("release", "release, readable")
    ledger, options = release.ledger.to_dict(), write_settings(release.settings)
    predicate = {
        "code": {"sha256": code_digest()},
        "versions": dict(release.versions),
        "options": {name: value for name, value in options.items() if name not in OMITTED_SETTINGS},
        "total": {name: ledger[name] for name in ("epsilon", "delta")}
        | ({"assumed_types": ledger["assumed_types"]} if ledger["assumed_types"] else {}),
        "draw": None if draw is None else dict(draw),
        "time": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    return {
        "_type": STATEMENT,
        "subject": [{"name": n, "digest": {"sha256": d}} for n, d in zip(names, digests, strict=False)],
        "predicateType": PREDICATE,
        "predicate": predicate,
    }


def check_attestation(attestation: str | Path, release: str | Path, key: str | Path) -> dict[str, Any]:
    """Verify the signature and digest of an attestation, and return its content.

    Parameters
    ----------
    attestation : str or Path
        File that ``fit --sign`` wrote next to the release.
    release : str or Path
        The release file. Only its digest is computed; the file is not parsed.
    key : str or Path
        File of the public key, from a source that you trust.

    Returns
    -------
    dict
        ``code`` (sha256), ``versions``, ``options``, ``total`` and ``draw`` (epsilon, delta; ``draw`` is None
        if no budget was used), ``time`` (UTC). A ``total`` with ``assumed_types`` holds only if the types of
        these columns were known without the data.

    Raises
    ------
    ValueError
        If the file is not an attestation of a fit, was signed with another key, or is for another file.
    """
    body = verify_envelope(PAYLOAD, Path(attestation), Path(key))
    try:
        statement = strict_json(body.decode("utf-8"))
        predicate, types = statement["predicate"], (statement["_type"], statement["predicateType"])
        digests = [subject["digest"]["sha256"] for subject in statement["subject"]]
        is_fit = (
            types == (STATEMENT, PREDICATE)
            and sorted(predicate) == sorted(PREDICATE_FIELDS)
            and len(digests) > 0
        )
    except (ValueError, KeyError, TypeError):
        is_fit = False
    if not is_fit:
        raise ValueError(f"{attestation} is signed, and no statement of a fit: give what fit --sign wrote")
    digest = hashlib.sha256(read_regular_file(release, "release")).hexdigest()
    if digest not in digests:
        raise ValueError(
            f"{attestation} is of another release file: its sha256 is {digests[0]}, and that of {release} is "
            f"{digest}; ask for the file again"
        )
    return predicate
