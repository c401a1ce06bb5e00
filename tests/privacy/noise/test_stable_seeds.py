"""Coins of recipients: the same name repeats, another shares nothing, and a name alone is no secret."""

from __future__ import annotations

import numpy as np
import pytest

from sdv_plausible.privacy.noise.keyed_rng import SECRET_BYTES, KeyedRNG, new_secret, recipient_rng

SECRET = new_secret()


def test_the_same_name_repeats_and_others_share_no_word():
    """Among 4,000 words of 64 bits two are equal by chance with probability 1e-12."""
    first = recipient_rng(SECRET, "Ann", "digest").words(1000)
    assert (first == recipient_rng(SECRET, "Ann", "digest").words(1000)).all()
    others = [
        recipient_rng(*given)
        for given in (
            (SECRET, "Bob", "digest"),
            (SECRET, "Ann", "another digest"),
            (new_secret(), "Ann", "digest"),
        )
    ]
    for rng in others:
        assert rng.is_secret
        assert not np.isin(rng.words(1000), first).any()


def test_planted_fault_a_seed_of_the_name_alone_is_repeated_by_anybody():
    def planted(name: str) -> KeyedRNG:
        return KeyedRNG.from_seed(int.from_bytes(name.encode(), "big"))

    def guessed(make) -> bool:
        """Whether somebody without the secret finds a recipient's coins."""
        return bool((make("Ann").words(10) == planted("Ann").words(10)).all())

    assert guessed(planted)
    assert not guessed(lambda name: recipient_rng(SECRET, name, "digest"))


def test_a_secret_and_a_name_are_needed():
    for secret in (None, b"", b"x" * (SECRET_BYTES - 1), "x" * SECRET_BYTES):
        with pytest.raises(ValueError, match="secret must be"):
            recipient_rng(secret, "Ann", "digest")
    for name in (None, "", "  "):
        with pytest.raises(ValueError, match="recipient"):
            recipient_rng(SECRET, name, "digest")
