"""Keyed random streams: cryptographic random numbers under a secret key.

`KeyedRNG` is AES-256 in counter mode under a 32-byte key. The owner of the key can repeat the stream; for
anyone else it is indistinguishable from random. Unlike with an ordinary generator, released numbers do not
reveal its state.

Processes and copies. `spawn(*context)` is a pure function of key and context. Each part of a job names its
own stream and can repeat it in a thread, a forked child, or another process that unpickles the object. A copy
(copy, deepcopy, pickle) keeps the position, so it repeats the original. Two processes must not draw the same
"fresh" numbers by accident. Therefore a secret stream draws only in its home process:

- a root (`from_os_entropy`): only the process that created it;
- a named stream (`spawn`): the process that created or unpickled it, but not a fork of that process.

Elsewhere drawing raises RuntimeError, and `spawn` works. A reproducible stream draws anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
import os
import secrets
import struct
import threading
from typing import Any

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy.special import gammaincinv, ndtri

from sdv_plausible.privacy.parameter_checks import Refused, finite_array, integer_array, whole

Bytes = bytes  # KeyedRNG has a method named bytes
Size = int | tuple[int, ...] | None
_State = tuple[bytes, int, bool, bool, bytes]

_BLOCK = 16  # bytes of one AES block
_PLAIN = memoryview(bytes(1 << 20))  # the plaintext: zeros, encrypted in pieces of at most this size


class KeyedRNG:
    """A keyed cryptographic stream of random numbers.

    Create one with `from_os_entropy` (secret) or `from_seed` (reproducible, without a privacy guarantee), and
    derive named streams for the parts of a job with `spawn`. Every draw advances the stream. Threads may
    share one. A secret stream draws only in its home process: see the module. A pickled stream contains its
    key, so anyone who reads the pickle can repeat every draw.
    """

    __slots__ = ("_cipher", "_home", "_is_root", "_is_secret", "_key", "_lock", "_position")

    def __init__(self, key: Bytes, *, is_secret: bool, is_root: bool) -> None:
        self._key, self._position = key, 0
        self._is_secret, self._is_root = is_secret, is_root
        self._home, self._lock = _Process.current(), threading.Lock()
        self._cipher: Any = None  # created at the first draw, at the current position

    @classmethod
    def from_os_entropy(cls) -> KeyedRNG:
        """Return a new secret stream, with a key of 32 bytes from the operating system's entropy."""
        return cls(secrets.token_bytes(32), is_secret=True, is_root=True)

    @classmethod
    def from_seed(cls, random_state: int) -> KeyedRNG:
        """Return the reproducible stream of `random_state`, an integer >= 0; it gives no privacy guarantee.

        Raises
        ------
        Refused
            If `random_state` is not an integer >= 0.
        """
        is_integer = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
        if not is_integer or random_state < 0:
            rule = "must be an integer of at least 0; for secret numbers: KeyedRNG.from_os_entropy()"
            raise Refused("random_state", random_state, rule)
        key = hashlib.sha256(b"sdv_plausible random_state" + _encode(random_state)).digest()
        return cls(key, is_secret=False, is_root=True)

    @property
    def is_secret(self) -> bool:
        """Whether the key is from the operating system; False for `from_seed` and the streams it spawns."""
        return self._is_secret

    def spawn(self, *context: object) -> KeyedRNG:
        """Return the stream with this name. Equal names give equal streams. This stream does not advance.

        Parameters
        ----------
        *context : str, int, float, bytes, bool, None, or a tuple of these
            The name. Types and grouping matter: ("a", "b"), ("ab",) and (("a", "b"),) differ, and so do 1,
            1.0 and True.

        Raises
        ------
        TypeError
            If an item has another type.
        """
        return KeyedRNG(
            _derive(self._key, b"spawn", _encode(context)), is_secret=self._is_secret, is_root=False
        )

    def bytes(self, n: int) -> Bytes:
        """Return `n` random bytes."""
        return self._draw(whole("n", n, 0)).tobytes()

    def words(self, n: int) -> npt.NDArray[np.uint64]:
        """Return `n` random 64-bit words."""
        return self._draw(8 * whole("n", n, 0)).view("<u8").astype(np.uint64, copy=False)

    def short_words(self, n: int) -> npt.NDArray[np.uint16]:
        """Return `n` random 16-bit words."""
        return self._draw(2 * whole("n", n, 0)).view("<u2").astype(np.uint16, copy=False)

    def uniform(self, size: Size = None) -> Any:
        """Return uniform multiples of 2**-53 in [0, 1): a float, or a float64 array of shape `size`."""
        bits = self.words(_length(size))
        bits >>= np.uint64(11)
        return _shaped(_to_float(bits, 2.0**-53), size)

    def integers(self, high: npt.ArrayLike, size: Size = None) -> Any:
        """Return unbiased integers in 0, ..., high - 1: an int, or an int64 array.

        Parameters
        ----------
        high : int or array of int
            Exclusive upper bound, 1 to 2**63 - 1; an array is broadcast to `size`.
        size : int or tuple of int, optional
            Shape of the result; by default the shape of `high`.

        Raises
        ------
        TypeError, ValueError
            If a bound is not an integer or is below 1, or `size` is not a shape.
        """
        bound = integer_array("high", high)
        if bound.size and bound.min() < 1:
            raise ValueError(
                f"high ({bound.min()}) must be at least 1: the integers are drawn from 0, ..., high - 1"
            )
        if size is None and bound.ndim:
            size = bound.shape
        bounds = (
            np.full(_length(size), bound, np.uint64)
            if not bound.ndim
            else _broadcast(bound, size).astype(np.uint64)
        )
        # Redraw words beyond the last full multiple of the bound: they would favour small remainders.
        last = np.uint64(2**64 - 1)
        limit = last - (last % bounds + np.uint64(1)) % bounds
        words = self.words(bounds.size)
        while (again := np.flatnonzero(words > limit)).size:
            words[again] = self.words(again.size)
        words %= bounds
        return _shaped(words.view(np.int64), size)

    def permutation(self, n: int) -> npt.NDArray[np.int64]:
        """Return a uniformly random permutation of 0, ..., n - 1 as an int64 array."""
        while True:
            words = self.words(n)
            order = np.argsort(words)
            words = words[order]
            if not (words[1:] == words[:-1]).any():  # without ties all orders are equally likely
                return order.astype(np.int64, copy=False)

    def normal(self, size: Size = None) -> Any:
        """Return standard normal draws: a float, or a float64 array of shape `size`."""
        return _shaped(ndtri(self._open_uniform(_length(size))), size)

    def standard_gamma(self, shape: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return one draw of Gamma(shape, 1) per entry, by inversion; normalised rows are Dirichlet draws.

        Parameters
        ----------
        shape : array of float
            Shape parameters, at least 0; an entry of 0 gives 0. Below 0.05 a draw can underflow to 0.

        Raises
        ------
        TypeError, ValueError
            If a shape parameter is not finite or is negative.
        """
        shapes = finite_array("shape", shape)
        if shapes.size and shapes.min() < 0:
            raise ValueError(f"shape ({shapes.min()}) must be at least 0")
        uniform = self._open_uniform(shapes.size).reshape(shapes.shape)
        return np.where(shapes > 0, gammaincinv(np.where(shapes > 0, shapes, 1.0), uniform), 0.0)

    def _open_uniform(self, n: int) -> npt.NDArray[np.float64]:
        """Return `n` uniform odd multiples of 2**-53; 0 and 1 are excluded."""
        bits = self.words(n)
        bits >>= np.uint64(12)
        bits <<= np.uint64(1)
        bits |= np.uint64(1)
        return _to_float(bits, 2.0**-53)

    def _draw(self, n_bytes: int) -> npt.NDArray[np.uint8]:
        """Return `n_bytes` of the stream, and advance it by full blocks."""
        if self._is_secret and self._home != _Process.current():
            raise RuntimeError(
                "this secret generator belongs to another process, which may draw the same numbers: "
                'give every process a stream of its own, for example rng.spawn("worker", number)'
            )
        blocks = -(-n_bytes // _BLOCK)
        size = blocks * _BLOCK
        out = np.empty(size + _BLOCK, dtype=np.uint8)  # update_into needs one block more
        with self._lock:
            if self._cipher is None:
                key = algorithms.AES(_derive(self._key, b"stream"))
                self._cipher = Cipher(key, modes.CTR(self._position.to_bytes(_BLOCK, "big"))).encryptor()
            for start in range(0, size, len(_PLAIN)):
                self._cipher.update_into(_PLAIN[: size - start], out[start:].data)
            self._position += blocks
        return out[:n_bytes]

    def __repr__(self) -> str:
        return f"<KeyedRNG: {'secret' if self._is_secret else 'reproducible, no privacy guarantee'}>"

    def __getstate__(self) -> _State:
        return self._key, self._position, self._is_secret, self._is_root, self._home

    def __setstate__(self, state: _State) -> None:
        self._key, self._position, self._is_secret, self._is_root, home = state
        self._home = home if self._is_root else _Process.current()
        self._lock, self._cipher = threading.Lock(), None

    def __copy__(self) -> KeyedRNG:
        twin = KeyedRNG(self._key, is_secret=self._is_secret, is_root=self._is_root)
        # Unlike a pickle, a copy stays in the process of its original.
        twin._position, twin._home = self._position, self._home
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> KeyedRNG:
        return self.__copy__()


def new_token() -> str:
    """Return 256 random bits as URL-safe text."""
    return base64.urlsafe_b64encode(KeyedRNG.from_os_entropy().bytes(32)).decode().rstrip("=")


class _Process:
    """Random identity of the running process; process numbers repeat."""

    pid = -1
    identity = b""

    @classmethod
    def current(cls) -> bytes:
        if cls.pid != os.getpid():
            cls.identity, cls.pid = secrets.token_bytes(16), os.getpid()
        return cls.identity


def _derive(key: bytes, purpose: bytes, message: bytes = b"") -> bytes:
    """Derive a 32-byte key by HMAC-SHA256: without `key` it is indistinguishable from an independent one."""
    return hmac.digest(key, purpose + b"\0" + message, "sha256")


def _encode(item: object) -> bytes:
    """Encode a context item unambiguously: one byte for the type, eight for the length, then the value."""
    match item:
        case None:
            tag, body = b"n", b""
        case bool():
            tag, body = b"t", bytes([item])
        case int() | np.integer():
            number = int(item)
            tag, body = b"i", number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)
        case float():
            # All NaN are encoded alike, and so are 0.0 and -0.0.
            tag, body = b"f", struct.pack(">d", math.nan if math.isnan(item) else item + 0.0)
        case str():
            tag, body = b"s", item.encode("utf-8", "surrogatepass")
        case bytes():
            tag, body = b"b", item
        case tuple():
            tag, body = b"(", b"".join(map(_encode, item))
        case _:
            raise TypeError(
                f"context item {item!r} ({type(item).__name__}) must be a str, int, float, bytes, bool, None "
                "or a tuple of these: convert it so that equal contexts give equal values"
            )
    return tag + len(body).to_bytes(8, "big") + body


def _to_float(bits: npt.NDArray[np.uint64], unit: float) -> npt.NDArray[np.float64]:
    """Return bits * unit, in place; integers below 2**53 are exact in both types."""
    values = bits.view(np.float64)
    values[:] = bits.view(np.int64)
    values *= unit
    return values


def _sides(size: int | tuple[int, ...]) -> tuple[int, ...]:
    return tuple(whole("size", side, 0) for side in (size if isinstance(size, tuple) else (size,)))


def _length(size: Size) -> int:
    return 1 if size is None else math.prod(_sides(size))


def _broadcast(bound: npt.NDArray[np.int64], size: Size) -> npt.NDArray[np.int64]:
    try:
        return np.broadcast_to(bound, () if size is None else _sides(size)).ravel()
    except ValueError:
        raise ValueError(f"high (shape {bound.shape}) must fit size ({size}) by broadcasting") from None


def _shaped(values: npt.NDArray[Any], size: Size) -> Any:
    return values[0].item() if size is None else values.reshape(size)


Coins = KeyedRNG  # its name in earlier documentation


SECRET_BYTES = 32


def new_secret() -> bytes:
    """Return a new secret for :func:`recipient_rng`; store it apart from anything released."""
    return secrets.token_bytes(SECRET_BYTES)


def recipient_rng(secret: bytes | None, recipient: str | None, release: str) -> KeyedRNG:
    """Return the random stream of one recipient of one release."""
    # ``secret`` is from :func:`new_secret`. The recipient's spelling must not vary. ``release`` is a digest.
    if not (isinstance(recipient, str) and recipient.strip()):
        raise Refused("recipient", recipient, "must name the recipient, because a secret was given")
    if not (isinstance(secret, bytes) and len(secret) == SECRET_BYTES):
        raise ValueError(
            f"secret must be the {SECRET_BYTES} bytes of new_secret() if a recipient is named: otherwise "
            "anybody could guess the numbers"
        )
    return KeyedRNG(secret, is_secret=True, is_root=False).spawn("recipient", recipient, release)
