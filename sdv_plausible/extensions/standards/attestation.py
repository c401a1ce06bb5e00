"""Signed attestation of a fit: release digest, code, options, privacy total and budget draw.

An in-toto Statement v1 in a DSSE envelope, signed with Ed25519, which other tools can verify. It holds no
information about the rows: no digest or number of rows, no digest or path of an input file.

Source: in-toto Attestation Framework, Statement v1.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from sdv_plausible.privacy.noise.keyed_rng import new_secret
from sdv_plausible.release.file.settings_section import write_settings
from sdv_plausible.utils.atomic_files import write_atomically
from sdv_plausible.utils.file_paths import open_regular_file, read_regular_file
from sdv_plausible.utils.json_schema import strict_json

MAX_BYTES = 2**24  # of an envelope


# --- envelopes ------------------------------------------------------------------------------------------


def sign_envelope(media_type: str, payload: bytes, secret: Ed25519PrivateKey) -> str:
    """Return a signed DSSE envelope of a payload, as one line of JSON."""
    signature = _base64(secret.sign(_to_be_signed(media_type, payload)))
    signatures = [{"keyid": key_id(secret.public_key()), "sig": signature}]
    envelope = {"payloadType": media_type, "payload": _base64(payload), "signatures": signatures}
    return json.dumps(envelope) + "\n"


def verify_envelope(media_type: str, path: Path, key: Path) -> bytes:
    """Return the payload of an envelope; ValueError if its type or its signature is another one."""
    public = _public_key(key)
    with open_regular_file(path, "attestation") as file:
        data = file.read(MAX_BYTES)
    try:
        envelope = strict_json(data.decode("utf-8"))
        signatures = [
            base64.b64decode(signature["sig"], validate=True) for signature in envelope["signatures"]
        ]
        payload = base64.b64decode(envelope["payload"], validate=True)
        is_valid = envelope["payloadType"] == media_type
    except (ValueError, KeyError, TypeError):
        is_valid = False
    if not is_valid:
        raise ValueError(f"{path} is no signed statement: give what fit --sign wrote")
    if not any(_is_valid(public, signature, _to_be_signed(media_type, payload)) for signature in signatures):
        raise ValueError(
            f"{path}: the key in {key} did not sign it, or it was changed since: ask for the public key "
            f"again (this one is {key_id(public)})"
        )
    return payload


def _to_be_signed(media_type: str, payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding (PAE) of a payload and its type."""
    return b"DSSEv1 %d %s %d %s" % (len(media_type.encode()), media_type.encode(), len(payload), payload)


def _is_valid(public: Ed25519PublicKey, signature: bytes, data: bytes) -> bool:
    try:
        public.verify(signature, data)
    except InvalidSignature:
        return False
    return True


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


# --- keys -----------------------------------------------------------------------------------------------


def new_key(path: str | Path) -> str:
    """Write a new key pair, never over a file that exists, and return the id of the public key."""
    path, secret = Path(path), Ed25519PrivateKey.from_private_bytes(new_secret())
    public = secret.public_key()
    pem = secret.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    write_atomically(path, pem, owner_only=True, replace=False)
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    write_atomically(public_file(path), pem, replace=False)
    return key_id(public)


def public_file(path: Path) -> Path:
    """Path of the public key that belongs to a secret key."""
    return path.parent / f"{path.name}.pub"


def key_id(public: Ed25519PublicKey) -> str:
    """SHA-256 of a public key in DER; it identifies the key and proves nothing."""
    der = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(der).hexdigest()


def secret_key(path: Path) -> Ed25519PrivateKey:
    """Read a secret key; reject it if other users may read the file."""
    data, mode = read_regular_file(path, "key"), stat.S_IMODE(path.stat().st_mode)
    if os.name == "posix" and mode & 0o077:
        raise ValueError(f"key: others may read {path} (mode {mode:04o}): chmod 600 it, or make a new key")
    try:
        secret = load_pem_private_key(data, password=None)
    except (ValueError, TypeError):
        secret = None
    if not isinstance(secret, Ed25519PrivateKey):
        raise ValueError(f"key: {path} holds no secret Ed25519 key in PEM without a password")
    return secret


def _public_key(path: Path) -> Ed25519PublicKey:
    data = read_regular_file(path, "key")
    try:
        public = load_pem_public_key(data)
    except ValueError:
        public = None
    if not isinstance(public, Ed25519PublicKey):
        raise ValueError(f"key: {path} holds no public Ed25519 key in PEM")
    return public


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
