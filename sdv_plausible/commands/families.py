"""The command ``sdv-plausible families``: related tables to a release file, and tables drawn from it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdv_plausible.commands.on_disk import (
    UsageError,
    add_spelling,
    check_output,
    check_there,
    keep,
    marks_of,
    write,
)
from sdv_plausible.commands.parameters import add_budget, opened_budget
from sdv_plausible.commands.shared_fit import allow_no_claim
from sdv_plausible.commands.speaking import say, steps, to_holder
from sdv_plausible.fit.options import default_of
from sdv_plausible.privacy.neighbours import RELATIONS
from sdv_plausible.utils.strict_json import strict_json

if TYPE_CHECKING:
    import pandas as pd

    from sdv_plausible.related.release import FamilyRelease
    from sdv_plausible.related.synthesizer import PlausibleDeniabilityMultiTableSynthesizer


def add_options(command: argparse.ArgumentParser) -> None:
    """Which tables, what is known of them, and where release and tables go."""
    add = command.add_argument
    add("data", type=Path, help="CSV or Parquet file of the table that hangs on none, such as households.csv")
    help_ = (
        "of the tables that hang on it: named as they are, or in the order of the metadata's relationships"
    )
    add("children", type=Path, nargs="+", help=help_)
    add("--metadata", type=Path, required=True, help="SDV metadata JSON: all tables and their relationships")
    add("--domain", type=Path, help="JSON: for each table its declarations, or the name of its domain file")
    add("--roles", type=Path, help='JSON: {"persons": {"relation": {"head": "exactly one"}}}')
    add("-o", "--output", type=Path, required=True, help="release file to write (.release)")
    add("--sampled", type=Path, metavar="FOLDER", help="also draw all tables, as CSV files in a new folder")
    add("--epsilon", type=float, default=default_of("epsilon"), help="of all tables (default: %(default)s)")
    add("--delta", type=float, default=default_of("delta"), help="failure probability (default: %(default)s)")
    most = 'of a parent that are used, at most; JSON for each table: {"persons": 8, "trips": 3} (default: 8)'
    add("--max-children", default="8", help=most)
    add("--neighbours", choices=RELATIONS, default="add_remove", help="tables with a family more, or another")
    add_spelling(command, "data", "children")
    add_budget(command, "a total over several releases, kept in a file, which is made if it is not there")
    add("--overwrite", action="store_true", help="replace files that exist, never one that is read")
    allow_no_claim(command)
    command.set_defaults(outputs=("output", "sampled"))


def run(options: argparse.Namespace) -> None:
    """Fit all tables, write the release, and draw from it."""
    check_there(options, "data", "children", "metadata", "domain", "roles")
    check_output(options, "output", (".release", ".json"))
    if (folder := options.sampled) is not None and (folder.exists() or not folder.resolve().parent.is_dir()):
        raise UsageError(f"--sampled: {folder} must be a new folder, in one that is there")
    synth = _synthesizer(options)
    paths = _by_table(options, list(synth.column_types()))
    planned = synth.plan()
    if not planned.claims_privacy and not options.allow_no_claim:
        raise UsageError(f"{planned.sentence()} Mend that, or add --allow-no-claim. Nothing was fitted")
    with steps("reading", "fitting", "writing") as begin:
        begin()
        tables = _read(options, synth, paths)
        begin()
        synth.fit(tables)
        begin()
        release = synth.release()
        with _kept_if_lost(release, options.output):
            write(options, options.output, release.to_bytes())
        if options.sampled is not None:
            _write_tables(release.sample(), options.sampled)
    beside = "" if options.sampled is None else f"\nAll tables are in {options.sampled}"
    ledger = release.ledger
    say(
        options,
        f"{ledger}\n\nWrote {options.output}, sha256 {release.digest}{beside}",
        {"output": options.output, "sha256": release.digest, "sampled": options.sampled,
         "ledger": ledger.to_dict()},
    )  # fmt: skip


def _most(text: str) -> Any:
    """A number, or one for each table."""
    try:
        return strict_json(text)
    except ValueError:
        raise UsageError(
            f'--max-children: {text[:80]!r} must be a number, or such as {{"persons": 8}}'
        ) from None


def _by_table(options: argparse.Namespace, tables: list[str]) -> dict[str, Path]:
    """The file of each table: by its name, or in the order of tables, each after what it hangs on."""
    paths = [options.data, *options.children]
    if len(paths) != len(tables):
        raise UsageError(
            f"data ({len(paths)} files) must be a file for each table of the metadata: {', '.join(tables)}"
        )
    named, in_order = {path.stem: path for path in paths}, dict(zip(tables, paths, strict=True))
    if {*named} == {*tables}:
        return {name: named[name] for name in tables}
    if crossed := [path for name, path in in_order.items() if path.stem in {*tables} - {name}]:
        raise UsageError(
            f"data: {crossed[0]} is named as another table than the one in its place ({', '.join(tables)}): "
            "name all files as the tables, or put them in this order"
        )
    return in_order


def _synthesizer(options: argparse.Namespace) -> PlausibleDeniabilityMultiTableSynthesizer:
    from sdv_plausible.related.synthesizer import PlausibleDeniabilityMultiTableSynthesizer
    from sdv_plausible.table.declared.domain_file import read_json

    domain = {} if options.domain is None else read_json(options.domain, "domain", "")
    if isinstance(domain, dict):  # names of files are of the same folder
        near = Path() if options.domain is None else options.domain.parent
        domain = {name: near / one if isinstance(one, str) else one for name, one in domain.items()}
    return PlausibleDeniabilityMultiTableSynthesizer(
        read_json(options.metadata, "metadata", "or SDV's Metadata"),
        epsilon=options.epsilon,
        delta=options.delta,
        max_children=_most(options.max_children),
        domain=domain,
        roles={} if options.roles is None else read_json(options.roles, "roles", ""),
        neighbours=options.neighbours,
        budget=opened_budget(options),
    )


def _read(
    options: argparse.Namespace, synth: PlausibleDeniabilityMultiTableSynthesizer, paths: dict[str, Path]
) -> dict[str, pd.DataFrame]:
    """All tables: every cell by itself, by what is declared of its column."""
    from sdv_plausible.table.files.one_file import read_file
    from sdv_plausible.table.files.text_files import Files

    options.rows_were_read = True  # from here on errors of others may quote cells
    return {
        name: read_file(Files(paths[name], **marks_of(options, paths[name])), types)
        for name, types in synth.column_types().items()
    }


@contextmanager
def _kept_if_lost(release: FamilyRelease, output: Path) -> Iterator[None]:
    """Keep what was paid for elsewhere if it cannot be written where it should."""
    try:
        yield
    except BaseException:
        with suppress(Exception):
            to_holder(f"the fit is kept in {keep(output.parent, output.name, release.save)}")
        raise


def _write_tables(tables: dict[str, pd.DataFrame], folder: Path) -> None:
    """All tables as CSV files in a folder, which is there whole or not at all."""
    from sdv_plausible.table.files.writing import write_table
    from sdv_plausible.utils.whole_files import part_folder

    with part_folder(folder.parent) as hidden:
        whole = hidden / "tables"
        whole.mkdir()
        for name, table in tables.items():
            write_table(table, whole / f"{name}.csv")
        whole.rename(folder)
