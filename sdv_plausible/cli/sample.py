"""The command ``sdv-plausible sample``: rows from a release file, without the data and without SDV."""

from __future__ import annotations

import argparse
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from sdv_plausible.cli.files import TABLE_ENDINGS, UsageError, check_output, write_output
from sdv_plausible.cli.output import ProgressSteps, print_result, print_to_stderr, progress_steps
from sdv_plausible.privacy.noise.keyed_rng import SECRET_BYTES, new_secret
from sdv_plausible.release.file.json_documents import kind_of_release
from sdv_plausible.release.file.release import Release
from sdv_plausible.table.files.table_file import write_table
from sdv_plausible.table.files.text_files import TABLE_KINDS
from sdv_plausible.utils.atomic_files import locked, write_atomically
from sdv_plausible.utils.entry_points import extension
from sdv_plausible.utils.file_paths import read_regular_file

if TYPE_CHECKING:
    from sdv_plausible.table.columns.domain import Attribute

PURPOSE = "sample rows from a release file"
EXAMPLE = "people.release -o rows.csv --rows 1000 --where sex=Female"

PART_ROWS = 50_000  # drawn at a time, so that progress can be shown


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of ``sample``."""
    add = command.add_argument
    add("release", type=Path, help="release file, as written by fit, describe or families")
    add(
        "-o",
        "--output",
        type=Path,
        required=True,
        help="file to write (.csv, .parquet, .xlsx); for related tables, a new folder",
    )
    add("--format", choices=TABLE_KINDS, help="format of the output (default: by its ending)")
    rows = "number of rows; for related tables, of the first one (default: the noisy number in the release)"
    add("-n", "--rows", type=int, help=rows)
    add(
        "--where",
        nargs="+",
        default=[],
        metavar="COLUMN=VALUE",
        help='values that every row must have, such as sex=f age=34; "income=" means missing',
    )
    add(
        "--uniform",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns drawn uniformly from their domains",
    )
    add("--random-state", type=int, help="seed: the same options give the same rows again")
    add("--expect-sha256", metavar="DIGEST", help="SHA-256 digest that the release file must have")
    add("--recipient", help="who receives the rows: the same name always gets the same rows; needs --secret")
    add("--secret", type=Path, help="the data owner's secret file, created if it is missing; never share it")
    add("--overwrite", action="store_true", help="replace the output file if it exists")


def run(options: argparse.Namespace) -> None:
    """Draw the rows and write them."""
    if not options.release.is_file():
        raise UsageError(f"there is no release file {options.release}")
    if (kind := kind_of_release(options.release)) is not None:
        extension("release", kind).sample(options)
        return
    check_output(options, "output", TABLE_ENDINGS)
    if (options.recipient is None) != (options.secret is None):
        raise UsageError(
            "--recipient and --secret go together: who gets the rows, and the holder's secret file"
        )
    with progress_steps("reading", "drawing rows", "writing") as begin:
        begin()
        release = Release.load(options.release, options.expect_sha256)
        begin()
        rows = draw_rows(options, release, begin)
        begin()
        begin.note(f"{len(rows):,} rows")
        write_output(options, options.output, lambda path: write_table(rows, path, options.format))
    print_result(
        options,
        f"Wrote {len(rows):,} rows to {options.output}",
        {"output": options.output, "rows": len(rows), "sha256": release.digest},
    )


def draw_rows(options: argparse.Namespace, release: Release, begin: ProgressSteps) -> pd.DataFrame:
    """Draw the requested rows; many rows in parts, with their progress."""
    arguments: dict[str, Any] = {
        "given": parse_conditions(options.where, release),
        "uniform": options.uniform,
        "recipient": options.recipient,
        "secret": None if options.secret is None else _secret(options.secret),
        "random_state": options.random_state,
    }
    num_rows = options.rows
    if num_rows is None:
        num_rows = release.answers.number_of_rows()
    if "xlsx" in (options.format, options.output.suffix.lower()[1:]):
        from sdv_plausible.table.files.excel_files import check_excel_rows

        check_excel_rows(num_rows)
    if num_rows <= PART_ROWS or any(value not in (None, [], {}) for value in arguments.values()):
        return release.sample(num_rows, **arguments)
    release.check_memory(num_rows)
    parts = []
    for part in release.sample_parts(num_rows, rows=PART_ROWS):
        parts.append(part)
        begin.rows(min(len(parts) * PART_ROWS, num_rows), num_rows)
    return pd.concat(parts, ignore_index=True)


def parse_conditions(words: Sequence[str], release: Release) -> dict[str, Any]:
    """Parse conditions such as ``age=34`` to values by column, using the release's domain."""
    domain = {attribute.name: attribute for attribute in release.rules.whole(release.domain)}
    conditions: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or name in conditions:
            raise UsageError(
                f"--where ({word!r}) must be COLUMN=VALUE, each column once: try --where age=34 sex=f"
            )
        conditions[name] = parse_value(text, domain[name]) if name in domain else text
    return conditions


def parse_value(text: str, attribute: Attribute) -> Any:
    """Parse a value of a column; invalid values are rejected when rows are drawn."""
    named = {str(value): value for value in attribute.values}
    named |= {str(value).lower(): value for value in attribute.values if isinstance(value, bool)}
    if text in named:
        return named[text]
    if not text and attribute.nullable:
        return None
    if attribute.kind not in ("integer", "float"):
        return text
    try:
        number = float(text)
    except ValueError:
        raise UsageError(f"--where: column {attribute.name!r} holds numbers, and {text!r} is none") from None
    return int(number) if attribute.kind == "integer" and number.is_integer() else number


def _secret(path: Path) -> bytes:
    """Read the secret from a file; create the file if it does not exist."""
    with locked(path.resolve()):  # of two concurrent first uses, one creates it
        if not path.exists():
            write_atomically(path, new_secret().hex() + "\n", owner_only=True)
    mode = stat.S_IMODE(path.stat().st_mode)
    if os.name == "posix" and mode & 0o077:
        print_to_stderr(f"warning: others may read the secret in {path} (mode {mode:03o}): chmod 600 it")
    with suppress(ValueError):
        secret = bytes.fromhex(read_regular_file(path, "secret").decode("ascii").strip())
        if len(secret) == SECRET_BYTES:
            return secret
    raise ValueError(f"{path} holds no secret: it must be the file that --secret made")
