"""Streams for recipients, derived from the data owner's secret: one recipient always gets the same rows.

Without the secret nobody can tell a recipient's stream from a fresh one or derive another recipient's: the
key is a keyed hash of the recipient's name under the secret, and the generator is AES-256
(:mod:`.keyed_rng`). So the ledger covers rows for recipients as it covers any rows
(docs/explanation/proofs/recipients.md).
"""

from __future__ import annotations

import secrets

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import Refused

SECRET_BYTES = 32


def new_secret() -> bytes:
    """Return a new secret for :func:`recipient_rng`; store it apart from anything released."""
    return secrets.token_bytes(SECRET_BYTES)


def recipient_rng(secret: bytes | None, recipient: str | None, release: str) -> KeyedRNG:
    """Return the random stream of one recipient of one release."""
    # ``secret`` is from :func:`new_secret`. The recipient's spelling must not vary. ``release`` is a digest.
    if not (isinstance(recipient, str) and recipient.strip()):
        raise Refused("recipient", recipient, "must name who gets the rows, as a secret was given")
    if not (isinstance(secret, bytes) and len(secret) == SECRET_BYTES):
        raise ValueError(
            f"secret must be the {SECRET_BYTES} bytes of a new_secret() that you keep, where a recipient is "
            "named: without it anybody could guess the coins"
        )
    return KeyedRNG(secret, is_secret=True, is_root=False).spawn("recipient", recipient, release)
