"""The command ``sdv-plausible families``: two related tables to a release file, and tables drawn from it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
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

if TYPE_CHECKING:
    import pandas as pd

    from sdv_plausible.related.release import FamilyRelease
    from sdv_plausible.related.synthesizer import PlausibleDeniabilityMultiTableSynthesizer
    from sdv_plausible.table.columns.cell_texts import ColumnType
    from sdv_plausible.table.files.text_files import Files


def add_options(command: argparse.ArgumentParser) -> None:
    """Which tables, what is known of them, and where release and tables go."""
    add = command.add_argument
    add("data", type=Path, help="CSV or Parquet file of the parents, such as households")
    add("children", type=Path, help="of the rows that hang on them, such as persons")
    add("--metadata", type=Path, required=True, help="SDV metadata JSON: both tables and their relationship")
    add("--domain", type=Path, help="JSON: for each table its declarations, or the name of its domain file")
    add("--roles", type=Path, help='JSON: {"relation": {"head": "exactly one"}}')
    add("-o", "--output", type=Path, required=True, help="release file to write (.release)")
    add("--sampled", type=Path, metavar="FOLDER", help="also draw both tables, as CSV files in a new folder")
    add("--epsilon", type=float, default=default_of("epsilon"), help="of both tables (default: %(default)s)")
    add("--delta", type=float, default=default_of("delta"), help="failure probability (default: %(default)s)")
    add("--max-children", type=int, default=8, help="of a parent that are used, at most (default: 8)")
    add_spelling(command, "data", "children")
    add_budget(command, "a total over several releases, kept in a file, which is made if it is not there")
    add("--overwrite", action="store_true", help="replace files that exist, never one that is read")
    allow_no_claim(command)
    command.set_defaults(outputs=("output", "sampled"))


def run(options: argparse.Namespace) -> None:
    """Fit both tables, write the release, and draw from it."""
    from sdv_plausible.table.declared.domain_file import read_json

    check_there(options, "data", "children", "metadata", "domain", "roles")
    check_output(options, "output", (".release", ".json"))
    if (folder := options.sampled) is not None and (folder.exists() or not folder.resolve().parent.is_dir()):
        raise UsageError(f"--sampled: {folder} must be a new folder, in one that is there")
    synth = synthesizer_of(
        options,
        epsilon=options.epsilon,
        delta=options.delta,
        roles={} if options.roles is None else read_json(options.roles, "roles", ""),
        budget=opened_budget(options),
    )
    planned = synth.plan()
    if not planned.claims_privacy and not options.allow_no_claim:
        raise UsageError(f"{planned.sentence()} Mend that, or add --allow-no-claim. Nothing was fitted")
    with steps("reading", "fitting", "writing") as begin:
        begin()
        tables = read_tables(options, synth, (options.data, options.children))
        begin()
        synth.fit(tables)
        begin()
        release = synth.release()
        with _kept_if_lost(release, options.output):
            write(options, options.output, release.to_bytes())
        if options.sampled is not None:
            _write_tables(release.sample(), options.sampled)
    beside = "" if options.sampled is None else f"\nBoth tables are in {options.sampled}"
    ledger = release.ledger
    say(
        options,
        f"{ledger}\n\nWrote {options.output}, sha256 {release.digest}{beside}",
        {"output": options.output, "sha256": release.digest, "sampled": options.sampled,
         "ledger": ledger.to_dict()},
    )  # fmt: skip


def synthesizer_of(options: argparse.Namespace, **known: Any) -> PlausibleDeniabilityMultiTableSynthesizer:
    """The synthesizer of the tables in --metadata, by what --domain declares of each."""
    from sdv_plausible.related.synthesizer import PlausibleDeniabilityMultiTableSynthesizer
    from sdv_plausible.table.declared.domain_file import read_json

    domain = {} if options.domain is None else read_json(options.domain, "domain", "")
    if isinstance(domain, dict):  # names of files are of the same folder
        near = Path() if options.domain is None else options.domain.parent
        domain = {name: near / one if isinstance(one, str) else one for name, one in domain.items()}
    metadata = read_json(options.metadata, "metadata", "or SDV's Metadata")
    return PlausibleDeniabilityMultiTableSynthesizer(
        metadata, max_children=options.max_children, domain=domain, **known
    )


def files_by_table(
    options: argparse.Namespace, synth: PlausibleDeniabilityMultiTableSynthesizer, paths: Sequence[Path]
) -> dict[str, tuple[Files, dict[str, ColumnType]]]:
    """The file of each table, and what its columns are."""
    from sdv_plausible.table.files.text_files import Files

    tables = synth.column_types()
    if len(paths) != len(tables):
        raise UsageError(
            f"data: {len(paths)} files must be one for each table of --metadata, in this order: "
            f"{', '.join(tables)}"
        )
    return {
        name: (Files(path, **marks_of(options, path)), types)
        for path, (name, types) in zip(paths, tables.items(), strict=True)
    }


def read_tables(
    options: argparse.Namespace, synth: PlausibleDeniabilityMultiTableSynthesizer, paths: Sequence[Path]
) -> dict[str, pd.DataFrame]:
    """Both tables: every cell by itself, by what is declared of its column."""
    from sdv_plausible.table.files.one_file import read_file

    options.rows_were_read = True  # from here on errors of others may quote cells
    return {name: read_file(*file) for name, file in files_by_table(options, synth, paths).items()}


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
    """Both tables as CSV files in a folder, which is there whole or not at all."""
    from sdv_plausible.table.files.writing import write_table
    from sdv_plausible.utils.whole_files import part_folder

    with part_folder(folder.parent) as hidden:
        whole = hidden / "tables"
        whole.mkdir()
        for name, table in tables.items():
            write_table(table, whole / f"{name}.csv")
        whole.rename(folder)
