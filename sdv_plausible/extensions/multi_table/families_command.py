"""The command ``sdv-plausible families``: fit related tables, write a release file and sample from it."""

from __future__ import annotations

import argparse
import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdv_plausible.cli.files import (
    UsageError,
    add_format_options,
    check_files_exist,
    check_largest_file,
    check_output,
    given_format,
    is_same_file,
    option_name,
    save_to_new_folder,
    write_output,
)
from sdv_plausible.cli.output import print_result, print_to_stderr, progress_steps
from sdv_plausible.cli.run_fit import add_budget, allow_no_claim, open_budget
from sdv_plausible.fitting.options import default_of
from sdv_plausible.privacy.neighbours import RELATIONS
from sdv_plausible.utils.json_schema import strict_json

if TYPE_CHECKING:
    import pandas as pd

    from sdv_plausible.extensions.multi_table.multi_table_synthesizer import (
        PlausibleDeniabilityMultiTableSynthesizer,
    )
    from sdv_plausible.extensions.multi_table.related_release import FamilyRelease
    from sdv_plausible.table.columns.cell_reader import ColumnType
    from sdv_plausible.table.files.text_files import Files

PURPOSE = "fit related tables, such as households and persons"
EXAMPLE = "households.csv persons.csv -o families.release --metadata metadata.json"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add = command.add_argument
    add("data", type=Path, help="parent table, such as households.csv")
    help_ = "child tables: files named as the tables, or in the order of the metadata's relationships"
    add("children", type=Path, nargs="+", help=help_)
    add("--metadata", type=Path, required=True, help="SDV metadata (JSON) of all tables")
    add("--domain", type=Path, help="JSON: declarations of each table, or the name of its domain file")
    add("--roles", type=Path, help='JSON: {"persons": {"relation": {"head": "exactly one"}}}')
    add("-o", "--output", type=Path, required=True, help="release file to write (.release)")
    add("--sampled", type=Path, metavar="FOLDER", help="also sample all tables into this new folder")
    add(
        "--epsilon",
        type=float,
        default=default_of("epsilon"),
        help="total of all tables (default: %(default)s)",
    )
    add("--delta", type=float, default=default_of("delta"), help="failure probability (default: %(default)s)")
    most = 'most children used of each parent, or JSON by table: {"persons": 8, "trips": 3} (default: 8)'
    add("--max-children", default="8", help=most)
    types = "confirm that types, keys and relationships in --metadata were known without the rows"
    add("--types", choices=("declared", "detected"), help=f"{types} (declared), or were not (detected)")
    add(
        "--neighbours",
        choices=RELATIONS,
        default="add_remove",
        help="tables with one family more or less, or another",
    )
    add_format_options(command, "data", "children")
    add_budget(command, "draw from a total over several releases; the file is created if it is missing")
    add("--overwrite", action="store_true", help="replace output files that exist, but never an input")
    allow_no_claim(command)
    command.set_defaults(outputs=("output", "sampled"))


def run(options: argparse.Namespace) -> None:
    """Fit all tables, write the release, and sample from it if asked."""
    from sdv_plausible.table.declared.domain_file import read_json

    check_files_exist(options, "data", "children", "metadata", "domain", "roles")
    check_output(options, "output", (".release", ".json"))
    check_largest_file()
    if options.sampled is not None:
        check_new_folder(options, "sampled")
    synth = synthesizer_of(
        options,
        epsilon=options.epsilon,
        delta=options.delta,
        roles={} if options.roles is None else read_json(options.roles, "roles", ""),
        neighbours=options.neighbours,
        types=options.types,
        budget=open_budget(options),
    )
    files = files_by_table(options, synth, [options.data, *options.children])
    planned = synth.plan()
    if not planned.claims_privacy and not options.allow_no_claim:
        raise UsageError(
            f"{planned.sentence()} Remove the cause, or add --allow-no-claim. Nothing was fitted"
        )
    with progress_steps("reading", "fitting", "writing") as begin:
        begin()
        tables = read_tables(options, files)
        begin()
        synth.watch_progress = begin.note
        synth.fit(tables)
        begin()
        release = synth.release()
        with _keep_release_on_error(release, options.output):
            write_output(options, options.output, release.to_bytes())
        if options.sampled is not None:
            with _report_release_on_error(options.output):
                write_tables(release.sample(), options.sampled)
    beside = "" if options.sampled is None else f"\nAll tables are in {options.sampled}"
    ledger = release.ledger
    print_result(
        options,
        f"{ledger}\n\nWrote {options.output}, sha256 {release.digest}{beside}",
        {"output": options.output, "sha256": release.digest, "sampled": options.sampled,
         "ledger": ledger.to_dict()},
    )  # fmt: skip


def _parse_max_children(text: str) -> Any:
    """Parse ``--max-children``: a number, or a JSON object with one for each table."""
    try:
        return strict_json(text)
    except ValueError:
        raise UsageError(
            f'--max-children: {text[:80]!r} must be a number, or such as {{"persons": 8}}'
        ) from None


def synthesizer_of(
    options: argparse.Namespace, **parameters: Any
) -> PlausibleDeniabilityMultiTableSynthesizer:
    """Return the synthesizer for the tables in --metadata, with the declarations in --domain."""
    from sdv_plausible.extensions.multi_table.multi_table_synthesizer import (
        PlausibleDeniabilityMultiTableSynthesizer,
    )
    from sdv_plausible.table.declared.domain_file import read_json

    domain = {} if options.domain is None else read_json(options.domain, "domain", "")
    if isinstance(domain, dict):
        domain = {
            name: _domain_file(options.domain, name, entry) if isinstance(entry, str) else entry
            for name, entry in domain.items()
        }
        for path in (entry for entry in domain.values() if isinstance(entry, Path)):
            if (output := getattr(options, "output", None)) is not None and is_same_file(output, path):
                raise UsageError(
                    f"output ({output}) is a file that --domain names and that is read; choose another name"
                )
    metadata = read_json(options.metadata, "metadata", "or SDV Metadata")
    max_children = _parse_max_children(options.max_children)
    return PlausibleDeniabilityMultiTableSynthesizer(
        metadata, max_children=max_children, domain=domain, **parameters
    )


def _domain_file(document: Path, table: str, name: str) -> Path:
    """Path of a table's domain file, which must lie in the folder of the document that names it."""
    path, folder = document.parent / name, Path(os.path.realpath(document.parent))
    if not Path(os.path.realpath(path)).is_relative_to(folder):
        raise UsageError(
            f"--domain: {document} names {name!r:.200} for table {table!r:.40}, outside its folder: "
            "copy that file into the folder, or write its declarations into the document"
        )
    return path


def files_by_table(
    options: argparse.Namespace, synth: PlausibleDeniabilityMultiTableSynthesizer, paths: Sequence[Path]
) -> dict[str, tuple[Files, dict[str, ColumnType]]]:
    """Match files to tables, by name or else by the order of the relationships."""
    from sdv_plausible.table.files.text_files import Files

    tables = synth.column_types()
    if len(paths) != len(tables):
        raise UsageError(
            f"data ({len(paths)} files) must be a file for each table of the metadata: {', '.join(tables)}"
        )
    by_name, in_order = {path.stem: path for path in paths}, dict(zip(tables, paths, strict=True))
    is_named = {*by_name} == {*tables}
    misplaced = [path for name, path in in_order.items() if path.stem in {*tables} - {name}]
    if misplaced and not is_named:
        raise UsageError(
            f"data: {misplaced[0]} is named as another table than the one in its place "
            f"({', '.join(tables)}): name all files as the tables, or put them in this order"
        )
    path_of = by_name if is_named else in_order
    return {
        name: (Files(path_of[name], **given_format(options, path_of[name])), types)
        for name, types in tables.items()
    }


def read_tables(
    options: argparse.Namespace, files: dict[str, tuple[Files, dict[str, ColumnType]]]
) -> dict[str, pd.DataFrame]:
    """Read all tables; each cell is parsed by its column's declaration."""
    from sdv_plausible.table.files.table_file import read_file

    options.rows_were_read = True  # from here on, errors of libraries may quote cells
    return {name: read_file(*file) for name, file in files.items()}


@contextmanager
def _keep_release_on_error(release: FamilyRelease, output: Path) -> Iterator[None]:
    """Save the release to a new folder if writing the output fails."""
    try:
        yield
    except BaseException:
        with suppress(Exception):
            print_to_stderr(
                f"the fit is kept in {save_to_new_folder(output.parent, output.name, release.save)}"
            )
        raise


@contextmanager
def _report_release_on_error(output: Path) -> Iterator[None]:
    """Report where the release is if sampling fails."""
    try:
        yield
    except BaseException:
        print_to_stderr(
            f"the release is in {output}: 'sdv-plausible sample {output} -o FOLDER' draws the tables"
        )
        raise


def check_new_folder(options: argparse.Namespace, name: str) -> None:
    """Reject an output folder that exists, or whose parent does not exist."""
    folder: Path = getattr(options, name)
    if folder.exists() or folder.is_symlink() or not folder.resolve().parent.is_dir():
        raise UsageError(f"{option_name(name)}: {folder} must be a new folder, in one that is there")


def write_tables(tables: dict[str, pd.DataFrame], folder: Path, kind: str = "csv") -> None:
    """Write all tables as files of a kind to a new folder, atomically."""
    from sdv_plausible.table.files.table_file import write_table
    from sdv_plausible.utils.atomic_files import part_folder
    from sdv_plausible.utils.file_paths import path_in_folder

    with part_folder(folder.parent) as temporary:
        complete = temporary / "tables"
        complete.mkdir()
        for name, table in tables.items():
            write_table(table, path_in_folder(complete, name, f".{kind}"))
        # The folder may have been created meanwhile, and a rename would replace an empty one.
        if folder.exists() or folder.is_symlink():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(folder))
        complete.rename(folder)
