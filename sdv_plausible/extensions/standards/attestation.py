"""A signed statement of a fit: which file it made, with which code and options, and what it drew.

An in-toto Statement v1 in a DSSE envelope, signed with Ed25519, so that others' tools check it too. It says
nothing of the rows: no digest of them or of a file that was read, no number of rows, no path. What may be in
it is made here from the release, name by name.

Source: in-toto Attestation Framework, Statement v1.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from sdv_plausible.extensions.standards.signing import opened, sealed, secret_key
from sdv_plausible.release.file.settings_section import write_settings
from sdv_plausible.utils.input_files import read_given
from sdv_plausible.utils.strict_json import strict_json

STATEMENT = "https://in-toto.io/Statement/v1"
PAYLOAD = "application/vnd.in-toto+json"
BESIDE = ".intoto.jsonl"  # behind the release's name
PREDICATE = "https://sdv-plausible/attestation/fit/1"
SAID = ("code", "versions", "options", "total", "draw", "time")
"""What a statement says beside the release's digest."""
LEFT_OUT = ("public_source", "public_sha256")
"""Settings that no statement has: a text in which a holder may have written a path, a table's digest."""


def code_digest() -> str:
    """SHA-256 of the package's code: of the lines that ``sha256sum`` prints of its files, in their order."""
    root = Path(__file__).parents[2]
    files = (p for p in root.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    named = sorted((path.relative_to(root).as_posix().encode(), path) for path in files)
    lines = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  ".encode() + name + b"\n" for name, p in named]
    return hashlib.sha256(b"".join(lines)).hexdigest()


def attest(
    release: Any, key: str | Path, *, draw: Mapping[str, float] | None = None, readable: bool = False
) -> str:
    """Return a signed statement of a release, as one line of JSON.

    Parameters
    ----------
    release : Release
        What was fitted.
    key : str or Path
        File of the secret key, of mode 0600: of the command ``key``, or ``openssl genpkey -algorithm
        ed25519``.
    draw : mapping of str to float, optional
        What was drawn from a budget, such as ``{"epsilon": 0.5, "delta": 1e-9}``; None where there was none.
    readable : bool
        Whether the file was saved so, for its own digest.

    Raises
    ------
    ValueError
        If others may read the key, or it is none.
    """
    body = json.dumps(_statement(release, draw, readable), sort_keys=True, allow_nan=False)
    return sealed(PAYLOAD, body.encode(), secret_key(Path(key)))


def _statement(release: Any, draw: Mapping[str, float] | None, readable: bool) -> dict[str, Any]:
    digests = [release.digest]
    if readable:
        digests.append(hashlib.sha256(release.to_bytes(readable=True)).hexdigest())
    names = ("release", "release, readable")
    ledger, options = release.ledger.to_dict(), write_settings(release.settings)
    said = {
        "code": {"sha256": code_digest()},
        "versions": dict(release.versions),
        "options": {name: value for name, value in options.items() if name not in LEFT_OUT},
        "total": {name: ledger[name] for name in ("epsilon", "delta")}
        | ({"assumed_types": ledger["assumed_types"]} if ledger["assumed_types"] else {}),
        "draw": None if draw is None else dict(draw),
        "time": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    return {
        "_type": STATEMENT,
        "subject": [{"name": n, "digest": {"sha256": d}} for n, d in zip(names, digests, strict=False)],
        "predicateType": PREDICATE,
        "predicate": said,
    }


def check_attestation(attestation: str | Path, release: str | Path, key: str | Path) -> dict[str, Any]:
    """Return what a signed statement says of a release file, once key and digest agree.

    Parameters
    ----------
    attestation : str or Path
        File that ``fit --sign`` wrote beside the release.
    release : str or Path
        The release file: nothing of it is read but its bytes.
    key : str or Path
        File of the public key, from somebody whom you trust.

    Returns
    -------
    dict
        ``code`` (sha256), ``versions``, ``options``, ``total`` and ``draw`` (epsilon, delta; None where no
        budget was drawn from), ``time`` (UTC). A ``total`` with ``assumed_types`` holds only if the types of
        these columns were known without the data.

    Raises
    ------
    ValueError
        If it is no such statement, another key signed it, or it is of another file.
    """
    body = opened(PAYLOAD, Path(attestation), Path(key))
    try:
        statement = strict_json(body.decode("utf-8"))
        said, kinds = statement["predicate"], (statement["_type"], statement["predicateType"])
        digests = [subject["digest"]["sha256"] for subject in statement["subject"]]
        is_ours = kinds == (STATEMENT, PREDICATE) and sorted(said) == sorted(SAID) and len(digests) > 0
    except (ValueError, KeyError, TypeError):
        is_ours = False
    if not is_ours:
        raise ValueError(f"{attestation} is signed, and no statement of a fit: give what fit --sign wrote")
    found = hashlib.sha256(read_given(release, "release")).hexdigest()
    if found not in digests:
        raise ValueError(
            f"{attestation} is of another release file: its sha256 is {digests[0]}, and that of {release} is "
            f"{found}; ask for the file again"
        )
    return said
