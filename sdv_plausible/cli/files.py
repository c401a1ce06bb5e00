"""Options and helpers shared by the commands: input tables, their format, and output files."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, TypeVar

from sdv_plausible.privacy.neighbours import Person
from sdv_plausible.privacy.parameter_checks import one_of
from sdv_plausible.utils.atomic_files import write_atomically

if TYPE_CHECKING:
    import pandas as pd

    from sdv_plausible.table.columns.cell_reader import ColumnType
    from sdv_plausible.table.files.text_files import Files
from functools import partial
from glob import has_magic

Kind = TypeVar("Kind")
CSV_OPTIONS = ("encoding", "separator", "quote")  # format of the CSV file
TABLE_ENDINGS = (".csv", ".parquet", ".xlsx")
_NEEDED = {".parquet": ("pyarrow", "Parquet needs", "parquet"), ".xlsx": ("openpyxl", "Excel needs", "excel")}
HOW_SPELLED = ("decimal", "thousands", "na_values", "true_values", "false_values")  # format of its cells
ALIKE = (
    "the synthetic file has the format of the real one (default: the format that this package writes: UTF-8, "
    "decimal points, the separator of its header line)"
)


class UsageError(ValueError):
    """An error in the command's arguments or files; shown without a traceback."""


def add_reading(command: argparse.ArgumentParser, *tables: str, in_parts: bool = False) -> None:
    """Add the table and the options of its declarations and format."""
    several = {"nargs": "+", "help": "CSV, Parquet or Excel file; or several, a folder or a pattern"}
    words = several if in_parts else {"help": "CSV, Parquet or Excel file"}
    command.add_argument("data", type=Path, **words)  # type: ignore[arg-type]
    add_declarations(command)
    add_format_options(command, "data", *tables)


def add_declarations(command: argparse.ArgumentParser) -> None:
    """Add the options that declare columns and rules."""
    add = command.add_argument
    add("--metadata", type=Path, help="SDV metadata (JSON) that you wrote, with the types of the columns")
    add("--domain", help='domain file (JSON); or "written" if you wrote the ranges in --metadata')
    add("--rules", type=Path, help="rules file (JSON): conditions that hold in every row")


def add_format_options(command: argparse.ArgumentParser, *tables: str) -> None:
    """Add the format options of the files named by ``tables``."""
    add = command.add_argument
    add("--encoding", help="character encoding of CSV files (default: utf-8)")
    header_rule = 'the most frequent of "," ";" "|" and tab in the header line'
    add("--separator", type=separator_of, help=f'of CSV files (default: {header_rule}); "tab" for tabs')
    add("--quote", help="quotation mark in CSV files (default: '\"')")
    add("--decimal", help='decimal mark of numbers in text (default: ".")')
    add("--thousands", help="separator between groups of three digits (default: none)")
    add("--na-values", nargs="+", metavar="TEXT", help="texts that mean missing (default: the empty text)")
    add("--true-values", nargs="+", metavar="TEXT", help="texts that mean true (default: true t yes y 1)")
    add("--false-values", nargs="+", metavar="TEXT", help="texts that mean false (default: false f no n 0)")
    add("--sheet", metavar="NAME", help="sheet of an Excel file (default: the only one)")
    if "synthetic" in tables:
        add("--alike", action="store_true", help=ALIKE)
    command.set_defaults(tables=tables)


def check_spelling(options: argparse.Namespace) -> None:
    """Raise UsageError for options of CSV files if no table is one, and likewise for Excel files."""
    values = (getattr(options, name, None) for name in getattr(options, "tables", ()))
    paths = (file for path in values for file in named_paths(path))
    files = [path for path in paths if path is not None and not _has_own_format(options, path)]
    kinds = {_ending_of(path) for path in files}
    if (format_options := given_options(options, *CSV_OPTIONS)) and kinds <= {".parquet", ".xlsx"}:
        name, value = next(iter(format_options.items()))
        others = "Excel files" if ".xlsx" in kinds else "Parquet"
        raise UsageError(f"--{name} ({value!r}) only applies to CSV files, not to {others}: remove it")
    if getattr(options, "sheet", None) is not None and ".xlsx" not in kinds:
        raise UsageError(f"--sheet ({options.sheet!r}) is of Excel files, and no table is one: leave it out")


def option_name(name: str) -> str:
    """Return an option's name on the command line; positional arguments have no dashes."""
    return (
        name
        if name in ("data", "children", "real", "synthetic", "release", "statement")
        else f"--{name.replace('_', '-')}"
    )


def check_files_exist(options: argparse.Namespace, *names: str) -> None:
    """Raise UsageError for named files that do not exist."""
    for name in names:
        path = getattr(options, name, None)
        if path is None:
            continue
        paths = path if isinstance(path, list) else [path]
        if not all(isinstance(file, Path) for file in paths):
            paths = [Path(paths[0])]  # a budget's file
        for file in paths:
            if not file.is_file():
                raise UsageError(f"{option_name(name)}: there is no file {file}")


def check_inputs(options: argparse.Namespace) -> None:
    """Raise UsageError for missing files, before anything is read."""
    if in_parts := isinstance(getattr(options, "data", None), list):
        options.data = _table(options.data)
    check_files_exist(options, *([] if in_parts else ["data"]), "metadata", "rules")
    if options.domain == "written" and options.metadata is None:
        raise UsageError(
            "--domain written needs --metadata with ranges that you wrote: those detected in the table are "
            "read from its rows and declare nothing; give --metadata metadata.json, or declare the ranges "
            "in --domain domain.json"
        )


def _table(paths: list[Path]) -> Path | tuple[Path, ...]:
    """Return a file, or the paths of a partitioned table: a folder, a pattern, several files."""
    from sdv_plausible.sources.source_types import files_of

    path = paths[0]
    if len(paths) == 1 and is_single_path(path):
        if not path.is_file():
            raise UsageError(f"data: there is no file {path}")
        return path
    files_of(paths)  # raises for missing files
    return path if len(paths) == 1 else tuple(paths)


def check_outputs(options: argparse.Namespace, endings: Sequence[str] = TABLE_ENDINGS) -> None:
    """Raise UsageError for outputs that cannot be written, before anything is read."""
    check_inputs(options)
    check_output(options, "output", endings)
    if options.ledger is not None:
        check_output(options, "ledger", (".json",))


def check_distinct_outputs(options: argparse.Namespace, *more: Path) -> None:
    """Raise UsageError for outputs that are also inputs or other outputs."""
    # Every text value counts as a path, so that no input option is forgotten. ``outputs`` names the command's
    # output options; ``more`` are files in an output folder.
    outputs = [(name, getattr(options, name, None)) for name in getattr(options, "outputs", ("output",))]
    outputs_and_more = [
        (name, path) for name, path in (*outputs, *(("output", path) for path in more)) if path
    ]
    inputs = [
        (name, Path(entry))
        for name, value in vars(options).items()
        for entry in named_paths(value)
        if name not in dict(outputs) and entry and isinstance(entry, (str, Path))
    ]
    for number, (name, output) in enumerate(outputs_and_more):
        if output.is_dir():  # such as ".", which may also be a decimal or separator
            continue  # reported by check_output
        for other_name, other in (*inputs, *outputs_and_more[number + 1 :]):
            if is_same_file(output, other):
                raise UsageError(
                    f"{name} ({output}) and {other_name} ({other}) are the same file, and one would destroy "
                    "the other; choose another name"
                )


def check_output(
    options: argparse.Namespace, name: str, endings: Sequence[str], *, overwrite: bool = False
) -> None:
    """Raise UsageError for an output that cannot be written."""
    path, option = getattr(options, name), option_name(name)
    if path.is_dir():
        raise UsageError(f"{option}: {path} is a folder; name a file in it")
    if path.exists() and not path.is_file():
        raise UsageError(
            f"{option}: {path} is no regular file, and one would be in its place; choose another name"
        )
    if path.exists() and not (overwrite or options.overwrite):
        raise UsageError(f"{option}: {path} exists; choose another name, or add --overwrite")
    ending = _ending_of(path)
    if (kind := getattr(options, "format", None)) is not None and name == "output":
        if ending in TABLE_ENDINGS and ending != f".{kind}":
            raise UsageError(f"{option}: {path} ends in {ending}, and --format is {kind}: change one of them")
        ending = f".{kind}"
    if ending not in endings:
        raise UsageError(f"{option}: {path} must end in {' or '.join(endings)}")
    if ending in _NEEDED and find_spec(_NEEDED[ending][0]) is None:
        library, need, extra = _NEEDED[ending]
        raise UsageError(
            f"{option}: {need} {library}: pip install 'sdv-plausible[{extra}]', or name a .csv file"
        )
    folder = Path(os.path.realpath(path)).parent  # writing follows links
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(f"{option}: cannot write to {path}: its folder {folder} is missing or not writable")


def check_largest_file() -> None:
    """Raise UsageError if the file size limit of this shell is too low for a release."""
    try:
        import resource
    except ImportError:  # no such limits on Windows
        return
    from sdv_plausible.release.file.json_documents import MAX_BYTES

    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if limit != resource.RLIM_INFINITY and limit < MAX_BYTES:
        raise UsageError(
            f"files may have at most {limit:,} bytes here (ulimit -f), and a release may have {MAX_BYTES:,}: "
            "what is fitted and cannot be written is lost, and stays charged. Raise the limit "
            "(ulimit -f unlimited). Nothing was fitted"
        )


def write_output(
    options: argparse.Namespace, path: Path, content: str | bytes | Callable[[Path], object]
) -> None:
    """Write an output; without --overwrite, keep a file that appeared since the first check."""
    try:
        write_atomically(path, content, replace=options.overwrite)
    except FileExistsError:
        raise UsageError(
            f"{path} was made meanwhile by another program, and stays; choose another name, or "
            "add --overwrite"
        ) from None


def save_to_new_folder(near: Path, name: str, save: Callable[[Path], object]) -> Path:
    """Save a paid-for result in a new folder, if its destination fails; return its path."""
    # A new folder, so that no file is replaced and no foreign link is followed.
    try:
        return _saved(Path(mkdtemp(prefix="sdv-plausible-", dir=near)), name, save)
    except Exception:  # the disk is full, or the folder is not ours
        return _saved(Path(mkdtemp(prefix="sdv-plausible-")), name, save)


def _saved(folder: Path, name: str, save: Callable[[Path], object]) -> Path:
    try:
        save(folder / name)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder / name


def is_same_file(path: Path, other: Path) -> bool:
    """Return whether two paths denote the same file, by any spelling or link."""
    try:
        return path.samefile(other)
    except OSError:  # one does not exist yet
        return str(path.resolve()).casefold() == str(other.resolve()).casefold()


def given_options(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the given options, by name."""
    return {name: getattr(options, name) for name in names if getattr(options, name, None) is not None}


def declared_types(options: argparse.Namespace) -> dict[str, ColumnType]:
    """Return the type of each declared column."""
    from sdv_plausible.table.declared.column_types import column_types

    if (person := getattr(options, "person", None)) is not None:
        Person(person)  # raises for the empty text
    types = column_types(options.domain, options.metadata, person)
    if person is not None and hasattr(options, "data"):
        check_person(options, types)
    if options.only_declared and not types:
        raise UsageError(
            "no column is declared, and no other is taken: declare what each is, with --domain or --metadata"
        )
    return types


def check_person(options: argparse.Namespace, types: Collection[str]) -> None:
    """Raise if the table lacks the privacy unit column."""
    names = names_of(options, [name for name in types if name != options.person])
    one_of("person", options.person, names, of="a column of the table")


def read_table(
    options: argparse.Namespace, types: Mapping[str, Any], path: Path | None = None
) -> pd.DataFrame:
    """Read the typed columns of the table, or of another table with the same format."""
    from sdv_plausible.table.files.table_file import read_file

    options.rows_were_read = True  # from here on, foreign errors may quote cells
    return read_file(files_of(options, path), types)


def read_comparison_table(options: argparse.Namespace, types: Mapping[str, Any], path: Path) -> pd.DataFrame:
    """Read a table that must have all columns of the real one."""
    try:
        available = names_of(options, types, path)
    except ValueError as error:  # our own error about the header line
        if not _has_own_format(options, path) or not given_options(options, *CSV_OPTIONS, *HOW_SPELLED):
            raise
        raise UsageError(f"{error}; if it is written as the real table is, add --alike") from None
    missing = [name for name in types if name not in available]
    if missing:
        raise UsageError(f"{path} lacks the columns {missing} of the real table: leave them out there, too")
    return read_table(options, types, path)


def files_of(options: argparse.Namespace, path: Path | None = None) -> Files:
    """Return the table's file, or another one, with its format."""
    from sdv_plausible.table.files.text_files import Files

    path = path or options.data
    return Files(path, **given_format(options, path))


def given_format(options: argparse.Namespace, path: Any) -> dict[str, Any]:
    """Return the given format options of a table's file."""
    if _has_own_format(options, path):
        return given_options(options, "na_values")
    of_kind = {".parquet": (), ".xlsx": ("sheet",)}.get(_ending_of(expand_paths(path)[0]), CSV_OPTIONS)
    return given_options(options, *of_kind, *HOW_SPELLED)


def _has_own_format(options: argparse.Namespace, path: Any) -> bool:
    """Return whether a file has this package's own format, whatever the real table's."""
    return path is getattr(options, "synthetic", None) and not options.alike


def _ending_of(path: Path) -> str:
    return Path(path).suffix.lower()


def metadata_and_detected(
    options: argparse.Namespace, types: Mapping[str, ColumnType], rows: Path | None = None
) -> tuple[Any, dict[str, dict[str, Any]]]:
    """Return SDV metadata, and types detected in the table (or in ``rows``) for undeclared columns."""
    from sdv_plausible.sdv.metadata import load_metadata, metadata_of

    undeclared = [
        name for name in names_of(options, types) if name not in types and not options.only_declared
    ]
    detected = _detected(options, undeclared, rows) if undeclared else {}
    if options.metadata is None:
        return metadata_of(in_table_order(options, {**types, **detected})), detected
    return load_metadata(options.metadata, detected), detected


def in_table_order(options: argparse.Namespace, columns: Mapping[str, Kind]) -> dict[str, Kind]:
    """Order columns as in the table; columns that it lacks come last."""
    return {name: columns[name] for name in names_of(options, columns) if name in columns} | dict(columns)


def names_of(
    options: argparse.Namespace, known: Collection[str] = (), path: Path | None = None
) -> Sequence[str]:
    """Return the column names of the table, or of another one; some may be known."""
    from sdv_plausible.table.files.table_file import file_columns

    return file_columns(files_of(options, expand_paths(path or options.data)[0]), known)


def _detected(
    options: argparse.Namespace, names: Sequence[str], rows: Path | None
) -> dict[str, dict[str, Any]]:
    from sdv_plausible.sdv.type_detection import detect_types

    texts = {name: {"sdtype": "categorical"} for name in names}
    cells = read_table(options, texts) if rows is None else read_comparison_table(options, texts, rows)
    return detect_types(cells, files_of(options, rows).spelling)


def separator_of(text: str) -> str:
    """Return the separator that a command-line word denotes."""
    return "\t" if text in ("tab", "\\t") else text


def is_single_path(path: Any) -> bool:
    """Return whether the path denotes one file, which may not exist."""
    return isinstance(path, Path) and (path.is_file() or not (path.is_dir() or has_magic(str(path))))


def expand_paths(path: Any) -> list[Path]:
    """Return all files of a table; the first has the header."""
    from sdv_plausible.sources.source_types import files_of

    return [path] if is_single_path(path) else files_of(path)


def named_paths(value: Any) -> list[Any]:
    """Return an option's value as a list, with folders and patterns expanded."""
    if not isinstance(value, list):
        return [value]
    return [item for entry in value for item in (expand_paths(entry) if isinstance(entry, Path) else [entry])]


def is_partitioned(options: argparse.Namespace) -> bool:
    """Return whether the table may exceed memory: several files, a large file, or a scratch folder."""
    from sdv_plausible.table.files.text_files import is_large

    has_scratch = getattr(options, "scratch", None) is not None
    return has_scratch or not is_single_path(options.data) or is_large(options.data)


NO_RECORD = "No domain file (--domain) keeps a record of this look:"


def access_recorder(domain: Any) -> Callable[[Collection[str], Collection[str] | None], list[str]] | None:
    """Return the function that records a fit's warnings in the given domain file, or None."""
    from sdv_plausible.table.declared.access_log import log_access

    return None if domain in (None, "written") or isinstance(domain, Mapping) else partial(log_access, domain)


def record_shown_rows(domain: str | Path | None, rules: Path | None, names: Collection[str]) -> list[str]:
    """Record that a page is about to show rows of these columns; return notices for the data owner."""
    # Raises OSError if the domain file cannot be written; then nothing may be shown.
    from sdv_plausible.rules.rules_and_declarations import rule_digests
    from sdv_plausible.table.declared.access_log import log_access

    if domain in (None, "written"):
        return [f"{NO_RECORD} what you declare from now on may repeat single people's values"]
    return log_access(domain, names, rule_digests(rules or ()))
