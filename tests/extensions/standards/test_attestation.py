"""Signed statements of fits: what they hold, and what they may not."""

import base64
import hashlib
import json
import re
import stat
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_public_key

import sdv_plausible
from sdv_plausible import Budget, Release
from sdv_plausible.cli.main import main
from sdv_plausible.datasets import census_like, census_like_metadata
from sdv_plausible.extensions.standards import attestation
from sdv_plausible.extensions.standards.attestation import (
    PREDICATE,
    PREDICATE_FIELDS,
    attest,
    check_attestation,
    new_key,
    secret_key,
    sign_envelope,
)
from sdv_plausible.release.file.settings_section import KNOWN
from tests.digests import others

ROWS = 1_237  # a number that stands nowhere else
NAMES = ("age", "sex", "race")


@pytest.fixture(scope="module")
def signed(tmp_path_factory) -> Path:
    """A folder whose name and files tell themselves, with a release and its statement."""
    folder = tmp_path_factory.mktemp("ward_of_saint_anna")
    census_like(ROWS)[list(NAMES)].to_csv(folder / "patients.csv", index=False)
    declared = {name: words for name, words in census_like_metadata().items() if name in NAMES}
    (folder / "words.json").write_text(json.dumps(declared))
    (folder / "old.csv").write_text("sex\n" + "Male\nFemale\n" * 50)
    assert main(["key", "-o", str(folder / "key.pem")]) == 0
    told = ["--domain", str(folder / "words.json"), "--budget", str(folder / "b"), "1", "1e-8"]
    public = ["--public", str(folder / "old.csv"), "--public-source", str(folder / "old.csv")]
    sign = ["--sign", str(folder / "key.pem"), "--epsilon", "0.5", "-o", str(folder / "out.release")]
    assert main(["fit", str(folder / "patients.csv"), *told, *public, *sign]) == 0
    return folder


def by_hand(path: Path, key: Path) -> dict:
    """The statement, read without the package: DSSE's pre-authentication encoding is written out here."""
    (line,) = path.read_text().splitlines()
    envelope = json.loads(line)
    assert sorted(envelope) == ["payload", "payloadType", "signatures"]
    body = base64.b64decode(envelope["payload"])
    signed = b"DSSEv1 28 application/vnd.in-toto+json " + str(len(body)).encode() + b" " + body
    for signature in envelope["signatures"]:
        load_pem_public_key(key.read_bytes()).verify(base64.b64decode(signature["sig"]), signed)
    return json.loads(body)


def test_a_statement_read_by_hand(signed):
    found = statement_of(signed)
    release = Release.load(signed / "out.release")
    assert sorted(found) == ["_type", "predicate", "predicateType", "subject"]
    assert found["_type"] == "https://in-toto.io/Statement/v1"
    digest = hashlib.sha256((signed / "out.release").read_bytes()).hexdigest()
    assert found["subject"] == [{"name": "release", "digest": {"sha256": digest}}]
    said = found["predicate"]
    assert sorted(said) == sorted(PREDICATE_FIELDS)
    assert said["total"] == {"epsilon": release.ledger.total(), "delta": 1e-9}
    assert said["draw"] == Budget(1, 1e-8, signed / "b").charged()
    assert said["options"]["epsilon"] == 0.5
    assert said["versions"] == release.versions
    assert set(said["options"]) == set(release.settings) - {*attestation.OMITTED_SETTINGS}
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", said["time"])


def test_the_code_is_what_sha256sum_says(signed):
    lines = "find . -type f -not -path '*__pycache__*' -printf '%P\\n' | LC_ALL=C sort | xargs sha256sum | sha256sum"
    try:
        found = subprocess.run(
            ["sh", "-c", lines], cwd=Path(sdv_plausible.__file__).parent, capture_output=True, text=True, check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("find, sort and sha256sum of GNU are not here")
    statement = statement_of(signed)
    assert statement["predicate"]["code"] == {"sha256": found.stdout[:64]}


def test_checked_by_others_tools(signed):
    """securesystemslib (of in-toto and TUF) verifies the envelope, in-toto-attestation the statement."""
    dsse = pytest.importorskip("securesystemslib.dsse", reason="pip install 'sdv-plausible[standards]'")
    signer = pytest.importorskip("securesystemslib.signer", reason="pip install 'sdv-plausible[standards]'")
    envelope = dsse.Envelope.from_dict(json.loads((signed / "out.release.intoto.jsonl").read_text()))
    public = load_pem_public_key((signed / "key.pem.pub").read_bytes())
    (named,) = envelope.signatures
    envelope.verify([signer.SSlibKey.from_crypto(public, keyid=named)], 1)
    told = "in_toto_attestation.v1.statement"
    v1 = pytest.importorskip(told, reason="pip install 'sdv-plausible[standards]'")
    from google.protobuf.json_format import Parse
    from in_toto_attestation.v1.statement_pb2 import Statement

    v1.Statement.copy_from_pb(Parse(envelope.payload, Statement())).validate()


def told(node) -> list[str]:
    """All names, texts and numbers of a document, as texts."""
    if isinstance(node, dict):
        return [text for name, inner in node.items() for text in (name, *told(inner))]
    return [text for inner in node for text in told(inner)] if isinstance(node, list) else [str(node)]


def betrayed(folder: Path, statement: dict) -> list[str]:
    """Rows, paths and digests of what was read, wherever a statement has them."""
    release = digest_of(folder / "out.release")
    allowed = {release, statement["predicate"]["code"]["sha256"]}
    read = [path for path in folder.iterdir() if path.suffix in (".csv", ".json", ".pem", "")]
    assert len(read) == 5
    sizes = {str(path.stat().st_size) for path in read if path.suffix == ".csv"}
    numbers, names = (
        {str(ROWS), str(ROWS + 1), *sizes},
        (folder.name, "patients", "words.json", "old.csv", "key.pem"),
    )
    found = [
        text
        for text in told(statement)
        if numbers & set(re.findall(r"\d+", text))
        or (re.search(r"[0-9a-f]{32,}", text.lower()) and text not in allowed)
        or any(name in text for name in names)
        or text.startswith(("/", "~", "file:"))
        or "\\" in text
    ]
    is_code = statement["predicate"]["code"] == {"sha256": attestation.code_digest()}
    is_release = statement["subject"][0]["digest"] == {"sha256": release}
    return found + ([] if is_code and is_release else ["digest"])


def statement_of(folder: Path) -> dict:
    return by_hand(folder / "out.release.intoto.jsonl", folder / "key.pem.pub")


def test_nothing_of_rows_files_or_paths(signed):
    """Options that holders write in their words are left out. Control: the file has them."""
    assert betrayed(signed, statement_of(signed)) == []
    assert Release.load(signed / "out.release").settings["public_source"] == str(signed / "old.csv")
    assert set(attestation.OMITTED_SETTINGS) < set(KNOWN)


def digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


PLANTED = {
    "number of rows": lambda s, f: s["predicate"].update(rows=ROWS),
    "number of rows, in words": lambda s, f: s["predicate"]["options"].update(note=f"of {ROWS} people"),
    "number of rows, by name": lambda s, f: s["predicate"]["options"].update({f"n{ROWS}": True}),
    "size of the file": lambda s, f: s["predicate"].update(size=(f / "patients.csv").stat().st_size),
    "path": lambda s, f: s["predicate"]["options"].update(public_source=str(f / "old.csv")),
    "name of the file": lambda s, f: s["subject"][0].update(name="patients.release"),
    "path of the budget": lambda s, f: s["predicate"]["draw"].update(path="/b"),
    "digest of the table": lambda s, f: s["subject"].append({"name": "in", "digest": {"sha256": digest_of(f / "patients.csv")}}),
    "digest of the table for the code's": lambda s, f: s["predicate"]["code"].update(sha256=digest_of(f / "patients.csv")),
    "digest of the domain file": lambda s, f: s["predicate"]["versions"].update(domain=digest_of(f / "words.json").upper()),
    "md5 of the table": lambda s, f: s["predicate"].update(x=hashlib.md5((f / "patients.csv").read_bytes()).hexdigest()),
}  # fmt: skip


def test_planted_tellings_are_caught(signed, tmp_path, monkeypatch):
    made, unseen = attestation._statement, []
    for what, plant in PLANTED.items():

        def telling(*given, plant=plant):
            statement = made(*given)
            plant(statement, signed)
            return statement

        monkeypatch.setattr(attestation, "_statement", telling)
        text = attest(Release.load(signed / "out.release"), signed / "key.pem", draw={"epsilon": 0.5})
        (tmp_path / "s").write_text(text)
        unseen += [] if betrayed(signed, by_hand(tmp_path / "s", signed / "key.pem.pub")) else [what]
    assert unseen == []


def test_checked(signed, tmp_path):
    """A readable file has both its digests."""
    statement, public = signed / "out.release.intoto.jsonl", signed / "key.pem.pub"
    said = check_attestation(statement, signed / "out.release", public)
    assert said["draw"]["epsilon"] == pytest.approx(0.5, abs=1e-3)
    release = Release.load(signed / "out.release")
    (tmp_path / "s").write_text(attest(release, signed / "key.pem", readable=True))
    for readable in (False, True):
        release.save(tmp_path / "r", readable=readable)
        assert check_attestation(tmp_path / "s", tmp_path / "r", public)["draw"] is None


def statement_in(line: str) -> dict:
    return json.loads(base64.b64decode(json.loads(line)["payload"]))


def edited(line: str, **changes) -> str:
    statement = statement_in(line)
    statement["predicate"].update(changes)
    return json.dumps(
        json.loads(line) | {"payload": base64.b64encode(json.dumps(statement).encode()).decode()}
    )


def signed_with(line: str, key, **entries) -> str:
    """The same statement, rightly signed, with other entries, or without those that are None."""
    statement = statement_in(line)
    for name, value in entries.items():
        place = statement if name in statement else statement["predicate"]
        place.pop(name, None)
        place |= {} if value is None else {name: value}
    return sign_envelope(attestation.PAYLOAD, json.dumps(statement).encode(), key)


LIES = {
    "an edited total": (lambda line, key: edited(line, total={"epsilon": 0.1, "delta": 1e-9}), "did not sign it"),
    "another type of payload": (lambda line, key: line.replace("in-toto", "in-tot0"), "no signed statement"),
    "no signature": (lambda line, key: json.dumps(json.loads(line) | {"signatures": []}), "did not sign it"),
    "a signature of nothing": (lambda line, key: json.dumps(json.loads(line) | {"signatures": [{"sig": ""}]}), "did not sign it"),
    "no JSON": (lambda line, key: line[:-9], "no signed statement"),
    "a list": (lambda line, key: "[]", "no signed statement"),
    "a payload that is no base64": (lambda line, key: json.dumps(json.loads(line) | {"payload": "é"}), "no signed statement"),
    "signed, of another kind": (lambda line, key: sign_envelope(attestation.PAYLOAD, b'{"_type": 1}', key), "no statement of a fit"),
    "signed, no object": (lambda line, key: sign_envelope(attestation.PAYLOAD, b"[1]", key), "no statement of a fit"),
    "signed, of no file": (lambda line, key: signed_with(line, key, subject=[]), "no statement of a fit"),
    "signed, with an entry more": (lambda line, key: signed_with(line, key, certified="by the office"), "no statement of a fit"),
    "signed, with an entry less": (lambda line, key: signed_with(line, key, code=None), "no statement of a fit"),
    "signed, of another predicate": (
        lambda line, key: signed_with(line, key, predicateType="x"), "no statement of a fit",
    ),
}  # fmt: skip


def test_lies_are_refused(signed, tmp_path):
    line = (signed / "out.release.intoto.jsonl").read_text()
    for change, words in LIES.values():
        (tmp_path / "s").write_text(change(line, secret_key(signed / "key.pem")), encoding="utf-8")
        with pytest.raises(ValueError, match=words):
            check_attestation(tmp_path / "s", signed / "out.release", signed / "key.pem.pub")


def test_every_digit_of_a_digest_counts(tmp_path):
    """Statements, rightly signed, of a file whose digest differs in one digit, or is a part of this one's."""
    file, said, key = tmp_path / "x", tmp_path / "s", tmp_path / "k"
    file.write_bytes(b"any")
    new_key(key)
    digest, form = digest_of(file), {"_type": attestation.STATEMENT, "predicateType": PREDICATE}
    for other in [*others(digest), digest]:
        subject = [{"name": "release", "digest": {"sha256": other}}]
        statement = {**form, "predicate": dict.fromkeys(PREDICATE_FIELDS), "subject": subject}
        said.write_text(sign_envelope(attestation.PAYLOAD, json.dumps(statement).encode(), secret_key(key)))
        if other == digest:
            check_attestation(said, file, f"{key}.pub")
        else:
            with pytest.raises(ValueError, match="is of another release file"):
                check_attestation(said, file, f"{key}.pub")


def test_of_another_file_or_by_another_key(signed, tmp_path):
    statement = signed / "out.release.intoto.jsonl"
    (tmp_path / "other.release").write_bytes((signed / "out.release").read_bytes() + b" ")
    with pytest.raises(ValueError, match="is of another release file"):
        check_attestation(statement, tmp_path / "other.release", signed / "key.pem.pub")
    new_key(tmp_path / "k")
    with pytest.raises(ValueError, match="did not sign it"):
        check_attestation(statement, signed / "out.release", tmp_path / "k.pub")
    with pytest.raises(ValueError, match="no public Ed25519 key"):
        check_attestation(statement, signed / "out.release", signed / "key.pem")


def test_refused_before_anything_is_read_or_drawn(signed, tmp_path, capsys, monkeypatch):
    """Keys that others may read, for one. Control: those that are made."""
    mode = {name: stat.S_IMODE((signed / name).stat().st_mode) for name in ("key.pem", "key.pem.pub")}
    assert mode["key.pem"] == 0o600
    assert mode["key.pem.pub"] & 0o444 == 0o444
    monkeypatch.setattr("sdv_plausible.cli.files.read_table", None)  # would fail if it were called
    for number, (prepare, words) in enumerate((
        (lambda f: (f / "k").chmod(0o640), "others may read"),
        (lambda f: (f / "k").chmod(0o602), "others may read"),
        (lambda f: (f / "k").write_text("x"), "no secret Ed25519 key"),
        (lambda f: (f / "k").unlink(), "there is no file"),
        (lambda f: (f / "o.release.intoto.jsonl").write_text(""), "exists"),
    )):  # fmt: skip
        (folder := tmp_path / str(number)).mkdir()
        new_key(folder / "k")
        prepare(folder)
        sign = ["--sign", str(folder / "k"), "-o", str(folder / "o.release")]
        assert main(["fit", str(signed / "patients.csv"), "--domain", str(signed / "words.json"), *sign]) == 2
        assert words in capsys.readouterr().err
        assert not (folder / "o.release").exists()


def test_no_key_is_replaced(signed, tmp_path, capsys):
    before = (signed / "key.pem").read_bytes()
    assert main(["key", "-o", str(signed / "key.pem")]) == 2
    assert "no key is replaced" in capsys.readouterr().err
    assert (signed / "key.pem").read_bytes() == before
    (tmp_path / "k.pem.pub").write_text("")
    assert main(["key", "-o", str(tmp_path / "k.pem")]) == 2
    assert not (tmp_path / "k.pem").exists()


def test_describe_signs_too(signed, tmp_path):
    told = [
        "--domain",
        str(signed / "words.json"),
        "--mode",
        "independent",
        "--sign",
        str(signed / "key.pem"),
    ]
    assert main(["describe", str(signed / "patients.csv"), "-o", str(tmp_path / "d.json"), *told]) == 0
    said = check_attestation(tmp_path / "d.json.intoto.jsonl", tmp_path / "d.json", signed / "key.pem.pub")
    assert said["draw"] is None
