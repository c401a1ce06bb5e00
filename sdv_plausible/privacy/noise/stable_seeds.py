"""Rows for one recipient: coins from the holder's secret, so that the same person always gets the same rows.

Without the secret nobody can tell a recipient's coins from fresh ones, nor make those of another recipient:
the key is a keyed hash of the name under the secret, and the generator AES-256 (:mod:`.coins`). So rows for
recipients are rows that the ledger covers anyway (docs/explanation/proofs/recipients.md).
"""

from __future__ import annotations

import secrets

from sdv_plausible.privacy.noise.keyed_rng import KeyedRNG
from sdv_plausible.privacy.parameter_checks import Refused

SECRET_BYTES = 32


def new_secret() -> bytes:
    """Return a new secret of the holder, for :func:`recipient_coins`: keep it apart from what is released."""
    return secrets.token_bytes(SECRET_BYTES)


def recipient_coins(secret: bytes | None, recipient: str | None, release: str) -> KeyedRNG:
    """Return the stream of one recipient of one release."""
    # The secret is from :func:`new_secret`; the recipient is to be spelled the same every time, ``release``
    # is a digest.
    if not (isinstance(recipient, str) and recipient.strip()):
        raise Refused("recipient", recipient, "must name who gets the rows, as a secret was given")
    if not (isinstance(secret, bytes) and len(secret) == SECRET_BYTES):
        raise ValueError(
            f"secret must be the {SECRET_BYTES} bytes of a new_secret() that you keep, where a recipient is "
            "named: without it anybody could guess the coins"
        )
    return KeyedRNG(secret, is_secret=True, is_root=False).spawn("recipient", recipient, release)
