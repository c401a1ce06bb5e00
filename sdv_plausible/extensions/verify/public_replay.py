"""Check of a public table: compare it with the one that the release's model started from."""

from __future__ import annotations

from typing import Any

import pandas as pd

from sdv_plausible.extensions.verify.independent.verdict import ContradictionError, UncheckableError
from sdv_plausible.fitting.public_table import codes_digest, with_public
from sdv_plausible.models import learner_from_config
from sdv_plausible.release.file.release import Release
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.files.table_file import file_columns, read_file
from sdv_plausible.table.files.text_files import Files


def check_public(public: Any, known: dict[str, Any], release: Release) -> str:
    """Compare a public table with the settings; puts the learner that starts from it into ``known``."""
    if public is None:
        raise UncheckableError("the model started from one: give it (public, --public)")
    frame = public if isinstance(public, pd.DataFrame) else _read(release, public)
    rows, digest = release.settings["public_rows"], release.settings.get("public_sha256")
    if len(frame) != rows:
        raise ContradictionError(f"the table has {len(frame):,} rows, and the file says that it had {rows:,}")
    learner = with_public(
        learner_from_config(release.settings), frame, release.domain, release.rules.rule_set
    )
    known["learner"] = learner
    if digest is None:
        raise UncheckableError("the file, of an older version, holds no digest of it")
    if codes_digest(learner.public) != digest:
        raise ContradictionError("the table has other cells than the one whose digest the file holds")
    return f"its digest is that of the file, of {rows:,} rows"


def _read(release: Release, public: Any) -> pd.DataFrame:
    """Read a file with the types of the release's columns."""
    file = public if isinstance(public, Files) else Files(public)
    attributes = {a.name: a for a in (*release.domain, *release.rules.made.values())}
    types: dict[str, Any] = {}
    for column in release.schema.columns:
        attribute = attributes.get(column.name)
        types[column.name] = dict(column.spec)
        if attribute is not None and attribute.provenance == "declared":
            types[column.name] = attribute
        elif attribute is not None and attribute.number_format is not None:
            types[column.name]["number_format"] = attribute.number_format
    present = file_columns(file, types)
    return read_file(file, column_types({name: spec for name, spec in types.items() if name in present}))
