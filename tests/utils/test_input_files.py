"""Every place that opens a path of a user: a pipe does not hang it, and a folder or a device is refused by name."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import guarded
import pytest

from sdv_plausible import (
    Budget,
    Domain,
    FamilyRelease,
    Release,
    check_attestation,
    read_counts,
    read_sdmx,
    verify,
)
from sdv_plausible.cli import report, sample
from sdv_plausible.cli.main import main
from sdv_plausible.cli.run_fit import read_object
from sdv_plausible.extensions.standards import card_command, registry_command
from sdv_plausible.extensions.standards.attestation import new_key, public_file, secret_key
from sdv_plausible.release.file.json_documents import kind_of_release
from sdv_plausible.rules.rule_files import read_rules
from sdv_plausible.table.declared.access_log import log_access
from sdv_plausible.table.declared.codebook import CODEBOOK_FORMATS, read_codebook
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.declared.declarations import as_domain_file
from sdv_plausible.utils.file_paths import (
    check_regular_file,
    open_regular_file,
    read_regular_file,
    read_text_file,
)

pytestmark = [
    pytest.mark.timeout(60),  # a pipe that is opened and waited for
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here"),
]


def attested(folder, path, what):
    key = folder / "key"
    if not key.exists():
        new_key(key)
    given = {"attestation": key, "key": public_file(key), "release": key, what: path}
    check_attestation(given["attestation"], given["release"], given["key"])


# Every place that takes a path of a user and opens it.
PLACES = {
    "budget": lambda _, path: Budget(1.0, 1e-8, path),
    "release": lambda _, path: Release.load(path),
    "release of related tables": lambda _, path: FamilyRelease.load(path),
    "release of a command": lambda _, path: kind_of_release(path),
    "verify": lambda _, path: verify(path),
    "key of a statement": lambda folder, path: attested(folder, path, "key"),
    "statement": lambda folder, path: attested(folder, path, "attestation"),
    "secret key": lambda _, path: secret_key(path),
    "saved domain": lambda _, path: Domain.load(path),
    "domain": lambda _, path: as_domain_file(path),
    "look": lambda _, path: log_access(path, ["a"]),
    "metadata": lambda _, path: column_types(None, path),
    "rules": lambda _, path: read_rules(path),
    "counts": lambda _, path: read_counts(path),
    "SDMX": lambda _, path: read_sdmx(path, {"SEX": "sex"}),
    "code book": lambda _, path: read_codebook(path.rename(path.with_suffix(".json"))),
    **{f"code book in {form}": lambda _, path, form=form: read_codebook(path, form) for form in CODEBOOK_FORMATS},
    "secret": lambda _, path: sample._secret(path),
    "ledger of a report": lambda _, path: report._guarantee(
        type("Options", (), {"release": None, "ledger": path})()
    ),
    "ledger of a registry entry": lambda _, path: registry_command._ledger_record(path),
    "audit of a card": lambda _, path: card_command._audit(path),
    "parameters": lambda _, path: read_object(str(path)),
}  # fmt: skip
KINDS = {"pipe": os.mkfifo, "folder": Path.mkdir} if hasattr(os, "mkfifo") else {}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_regular_file_is_refused_at_every_place_and_by_its_path(kind, tmp_path):
    faults = []
    for number, (what, place) in enumerate(PLACES.items()):
        path = tmp_path / f"given-{number}"
        KINDS[kind](path)
        try:
            place(tmp_path, path)
            faults.append(f"{what}: was taken")
        except ValueError as error:
            faults += [f"{what}: {error}"] * (path.name not in str(error))
        except Exception as error:
            faults.append(f"{what}: {error!r}")
    assert not faults, "\n".join(faults)


def test_a_command_says_so_in_one_line(tmp_path, capsys):
    os.mkfifo(tmp_path / "f.release")
    assert main(["card", str(tmp_path / "f.release"), "-o", str(tmp_path / "card.html")]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "f.release" in said


def test_a_regular_file_is_read_also_through_a_link(tmp_path):
    (tmp_path / "a").write_bytes("ä\r\nb".encode())
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for name in "ab":
        assert read_regular_file(tmp_path / name) == "ä\r\nb".encode()
        assert read_text_file(tmp_path / name) == "ä\nb"
        with open_regular_file(tmp_path / name) as file:
            assert file.read(1) == b"\xc3"
    with pytest.raises(FileNotFoundError):
        read_regular_file(tmp_path / "c")
    with pytest.raises(ValueError, match=r"^odd \('/dev/null'\) must be .* a device"):
        check_regular_file("/dev/null", "odd")


def test_what_is_put_in_the_place_of_a_file_meanwhile_is_refused(tmp_path, monkeypatch):
    """Also a pipe that stood there while the file was opened, and is a regular file before and after."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"a")
    monkeypatch.setattr("sdv_plausible.utils.file_paths.check_regular_file", lambda *_: None)
    with pytest.raises(ValueError, match="is a pipe"):
        open_regular_file(tmp_path / "pipe")
    monkeypatch.undo()
    honest = os.open
    monkeypatch.setattr(os, "open", lambda _, *flags: honest(tmp_path / "pipe", *flags))
    with pytest.raises(ValueError, match="is a pipe"):
        open_regular_file(tmp_path / "file")


# --- no other place opens a file ------------------------------------------------------------------------------------------

OTHERS = {  # module: why what it opens is not a path of a user, or is a table
    "utils/file_paths.py": "the functions themselves",
    "cli/main.py": "the null device",
    "utils/atomic_files.py": "files that are being written, and locks",
    "utils/lazy_names.py": "of the package", "utils/entry_points.py": "of the package",
    "datasets/census.py": "of the package", "cli/completion.py": "of the package",
    "extensions/verify/independent/file_reader.py": "of the package", "extensions/standards/attestation.py": "of the package",
    "release/file/release_sampling.py": "of the operating system",
    "extensions/audit/auditing.py": "parts that it wrote itself",
    "sources/bounded_rows.py": "parts that it wrote itself", "extensions/app/pages/app_pages.py": "rows that it wrote itself",
    "table/files/text_files.py": "tables", "extensions/clusters/dask_source.py": "tables", "extensions/app/pages/uploads.py": "tables",
}  # fmt: skip


def readers(modules):
    """Modules with a call that opens a file for reading."""
    found = set()
    for path, source in modules.items():
        for node in ast.walk(ast.parse(source)):
            called = node.func if isinstance(node, ast.Call) else None
            name = getattr(called, "attr", getattr(called, "id", None))
            if isinstance(called, ast.Attribute) and name in ("read_bytes", "read_text"):
                found.add(path)
            if name == "open" and isinstance(node, ast.Call):
                words = [one.value for one in node.args if isinstance(one, ast.Constant)]
                if not {"w", "wb", "xb", "ab", "x"} & {*words}:
                    found.add(path)
    return found


def test_no_other_module_opens_a_path_of_a_user():
    assert sorted(readers(guarded.sources()) - {*OTHERS}) == [], "take open_given, read_given or text_of"
    planted = {"fit/planted.py": "def read(path):\n    return path.read_bytes()\n"}
    assert readers(planted) == {"fit/planted.py"}
