"""Ed25519 keys and DSSE envelopes.

Sources: DSSE 1.0.2 (protocol, envelope), RFC 8032.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
from pathlib import Path

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

from sdv_plausible.privacy.noise.stable_seeds import new_secret
from sdv_plausible.utils.atomic_files import write_atomically
from sdv_plausible.utils.input_files import open_regular_file, read_regular_file
from sdv_plausible.utils.strict_json import strict_json

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
