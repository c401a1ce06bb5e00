"""What the commands have in common: what is read, how, and where it goes."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, TypeVar

from sdv_plausible.cli.table_arguments import all_named, each_of, is_one
from sdv_plausible.privacy.neighbours import Person
from sdv_plausible.privacy.parameter_checks import one_of
from sdv_plausible.utils.atomic_files import write_whole

if TYPE_CHECKING:
    import pandas as pd

    from sdv_plausible.table.columns.cell_reader import ColumnType
    from sdv_plausible.table.files.text_files import Files

Kind = TypeVar("Kind")
HOW_READ = ("encoding", "separator", "quote")  # of the CSV file
HOW_SPELLED = ("decimal", "thousands", "na_values", "true_values", "false_values")  # of its cells
ALIKE = (
    "the synthetic file is written as the real one (default: as this package writes: UTF-8, decimal points, "
    "between cells what its header line tells)"
)


class UsageError(ValueError):
    """Something about the command's arguments or files; shown without a traceback."""


def add_reading(command: argparse.ArgumentParser, *tables: str, in_parts: bool = False) -> None:
    """What is read, and how: every cell by itself, by what is declared of its column."""
    several = {"nargs": "+", "help": "CSV or Parquet file; several, a folder or a pattern are read in parts"}
    words = several if in_parts else {"help": "CSV or Parquet file"}
    command.add_argument("data", type=Path, **words)  # type: ignore[arg-type]
    add_declarations(command)
    add_spelling(command, "data", *tables)


def add_declarations(command: argparse.ArgumentParser) -> None:
    """What is known of the columns without a table."""
    add = command.add_argument
    add("--metadata", type=Path, help="SDV metadata JSON that you wrote: the types of the columns")
    add("--domain", help='domain JSON: types and values; or "written" if you wrote the ranges in --metadata')
    add("--rules", type=Path, help="rules JSON: what holds in every row")


def add_spelling(command: argparse.ArgumentParser, *tables: str) -> None:
    """How the files that some options name, and their cells, are written."""
    add = command.add_argument
    add("--encoding", help="of a CSV file (default: utf-8)")
    known = 'which of "," ";" "|" and tab the header line has most'
    add("--separator", type=separator_of, help=f'between cells (default: {known}); "tab" for tabs')
    add("--quote", help="around cells that hold a separator (default: '\"')")
    add("--decimal", help='decimal point of numbers (default: ".")')
    add("--thousands", help="mark between groups of three digits (default: none)")
    add("--na-values", nargs="+", metavar="TEXT", help="texts for missing (default: the empty text alone)")
    add("--true-values", nargs="+", metavar="TEXT", help="texts for true (default: true t yes y 1)")
    add("--false-values", nargs="+", metavar="TEXT", help="texts for false (default: false f no n 0)")
    if "synthetic" in tables:
        add("--alike", action="store_true", help=ALIKE)
    command.set_defaults(tables=tables)


def check_spelling(options: argparse.Namespace) -> None:
    """Refuse what is said of CSV files where no table is one."""
    known = (getattr(options, name, None) for name in getattr(options, "tables", ()))
    paths = (one for path in known for one in all_named(path))
    files = [path for path in paths if path is not None and not _is_ours(options, path)]
    if (given := how(options, *HOW_READ)) and all(map(_is_parquet, files)):
        name, mark = next(iter(given.items()))
        raise UsageError(f"--{name} ({mark!r}) is of CSV files, and plays no part in Parquet: leave it out")


def flag(name: str) -> str:
    """What an option is called on the command line; the table has no flag."""
    return (
        name
        if name in ("data", "children", "real", "synthetic", "release", "statement")
        else f"--{name.replace('_', '-')}"
    )


def check_there(options: argparse.Namespace, *names: str) -> None:
    """Refuse files that are not there, of those that were named."""
    for name in names:
        path = getattr(options, name, None)
        if path is None:
            continue
        named = path if isinstance(path, list) else [path]
        if not all(isinstance(one, Path) for one in named):
            named = [Path(named[0])]  # a budget's
        for one in named:
            if not one.is_file():
                raise UsageError(f"{flag(name)}: there is no file {one}")


def check_inputs(options: argparse.Namespace) -> None:
    """Refuse files that are not there, before anything is read."""
    if in_parts := isinstance(getattr(options, "data", None), list):
        options.data = _table(options.data)
    check_there(options, *([] if in_parts else ["data"]), "metadata", "rules")
    if options.domain == "written" and options.metadata is None:
        raise UsageError(
            "--domain written needs --metadata with ranges that you wrote: those detected in the table are "
            "read from its rows and declare nothing; give --metadata metadata.json, or declare the ranges "
            "in --domain domain.json"
        )


def _table(given: list[Path]) -> Path | tuple[Path, ...]:
    """A file, or what is read in parts: a folder, a pattern, several files."""
    from sdv_plausible.sources.file_patterns import files_of

    path = given[0]
    if len(given) == 1 and is_one(path):
        if not path.is_file():
            raise UsageError(f"data: there is no file {path}")
        return path
    files_of(given)  # which says what is not there
    return path if len(given) == 1 else tuple(given)


def check_outputs(options: argparse.Namespace, endings: Sequence[str] = (".csv", ".parquet")) -> None:
    """Refuse outputs that cannot be written, before anything is read."""
    check_inputs(options)
    check_output(options, "output", endings)
    if options.ledger is not None:
        check_output(options, "ledger", (".json",))


def check_nothing_read_is_written(options: argparse.Namespace, *more: Path) -> None:
    """Refuse outputs that anything else on the command line names, as a file to be read or to be written."""
    # Every text that was given counts: so no option that reads a file can be forgotten here. ``outputs`` of a
    # command are its options that name what is written; ``more`` are files in a folder that is written to.
    outputs = [(name, getattr(options, name, None)) for name in getattr(options, "outputs", ("output",))]
    written = [(name, path) for name, path in (*outputs, *(("output", path) for path in more)) if path]
    read = [
        (name, Path(one))
        for name, value in vars(options).items()
        for one in all_named(value)
        if name not in dict(outputs) and one and isinstance(one, (str, Path))
    ]
    for number, (name, output) in enumerate(written):
        if output.is_dir():  # as "." is, which some mark or other may name, too
            continue  # refused where it is checked
        for what, other in (*read, *written[number + 1 :]):
            if is_same(output, other):
                raise UsageError(
                    f"{name} ({output}) and {what} ({other}) are the same file, and one would destroy the "
                    "other; choose another name"
                )


def check_output(
    options: argparse.Namespace, name: str, endings: Sequence[str], *, overwrite: bool = False
) -> None:
    """Refuse an output that cannot be written."""
    path, what = getattr(options, name), flag(name)
    if path.is_dir():
        raise UsageError(f"{what}: {path} is a folder; name a file in it")
    if path.exists() and not path.is_file():
        raise UsageError(
            f"{what}: {path} is no regular file, and one would be in its place; choose another name"
        )
    if path.exists() and not (overwrite or options.overwrite):
        raise UsageError(f"{what}: {path} exists; choose another name, or add --overwrite")
    if path.suffix.lower() not in endings:
        raise UsageError(f"{what}: {path} must end in {' or '.join(endings)}")
    if path.suffix.lower() == ".parquet" and find_spec("pyarrow") is None:
        raise UsageError(
            f"{what}: Parquet needs pyarrow: pip install 'sdv-plausible[parquet]', or name a .csv file"
        )
    folder = Path(os.path.realpath(path)).parent  # of a link, what it leads to is written
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(f"{what}: cannot write to {path}: its folder {folder} is missing or not writable")


def check_largest_file() -> None:
    """Refuse to pay for a fit that could not be written: files may be limited in this shell."""
    try:
        import resource
    except ImportError:  # no such limits on Windows
        return
    from sdv_plausible.release.file.json_documents import MAX_BYTES

    most, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if most != resource.RLIM_INFINITY and most < MAX_BYTES:
        raise UsageError(
            f"files may have at most {most:,} bytes here (ulimit -f), and a release may have {MAX_BYTES:,}: "
            "what is fitted and cannot be written is lost, and stays charged. Raise the limit "
            "(ulimit -f unlimited). Nothing was fitted"
        )


def write(options: argparse.Namespace, path: Path, content: str | bytes | Callable[[Path], object]) -> None:
    """Write an output; without --overwrite one that was put there since it was looked for stays."""
    try:
        write_whole(path, content, replace=options.overwrite)
    except FileExistsError:
        raise UsageError(
            f"{path} was made meanwhile by another program, and stays; choose another name, or "
            "add --overwrite"
        ) from None


def keep(near: Path, name: str, save: Callable[[Path], object]) -> Path:
    """Save what was paid for, and cannot be where it should, in a new folder; return its path."""
    # New, so that nothing is replaced, and no link of somebody else is followed.
    try:
        return _saved(Path(mkdtemp(prefix="sdv-plausible-", dir=near)), name, save)
    except Exception:  # the disk is full, or the folder is for others
        return _saved(Path(mkdtemp(prefix="sdv-plausible-")), name, save)


def _saved(folder: Path, name: str, save: Callable[[Path], object]) -> Path:
    try:
        save(folder / name)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder / name


def is_same(path: Path, other: Path) -> bool:
    """Whether two paths lead to one file, by whatever spelling or link."""
    try:
        return path.samefile(other)
    except OSError:  # one of them is not there yet
        return str(path.resolve()).casefold() == str(other.resolve()).casefold()


def how(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Options that were given, by name."""
    return {name: getattr(options, name) for name in names if getattr(options, name, None) is not None}


def declared_types(options: argparse.Namespace) -> dict[str, ColumnType]:
    """What each declared column is."""
    from sdv_plausible.table.declared.column_types import column_types

    if (person := getattr(options, "person", None)) is not None:
        Person(person)  # which complains of the empty text
    types = column_types(options.domain, options.metadata, person)
    if person is not None and hasattr(options, "data"):
        check_person(options, types)
    if options.only_declared and not types:
        raise UsageError(
            "no column is declared, and no other is taken: declare what each is, with --domain or --metadata"
        )
    return types


def check_person(options: argparse.Namespace, types: Collection[str]) -> None:
    """Refuse a column that says whose a row is, and that the table has not."""
    names = names_of(options, [name for name in types if name != options.person])
    one_of("person", options.person, names, of="a column of the table")


def read(options: argparse.Namespace, types: Mapping[str, Any], path: Path | None = None) -> pd.DataFrame:
    """The table, or another one that is spelled like it, with the columns that have a type."""
    from sdv_plausible.table.files.table_file import read_file

    options.rows_were_read = True  # from here on errors of others may quote cells
    return read_file(files_of(options, path), types)


def read_beside(options: argparse.Namespace, types: Mapping[str, Any], path: Path) -> pd.DataFrame:
    """A table that is compared with the real one, whose columns it must have, declared or detected."""
    try:
        there = names_of(options, types, path)
    except ValueError as error:  # ours, on the header line
        if not _is_ours(options, path) or not how(options, *HOW_READ, *HOW_SPELLED):
            raise
        raise UsageError(f"{error}; if it is written as the real table is, add --alike") from None
    absent = [name for name in types if name not in there]
    if absent:
        raise UsageError(f"{path} lacks the columns {absent} of the real table: leave them out there, too")
    return read(options, types, path)


def files_of(options: argparse.Namespace, path: Path | None = None) -> Files:
    """The table's file, or another one, and how it is written."""
    from sdv_plausible.table.files.text_files import Files

    path = path or options.data
    return Files(path, **marks_of(options, path))


def marks_of(options: argparse.Namespace, path: Any) -> dict[str, Any]:
    """How a table's file is written, as far as that was said."""
    if _is_ours(options, path):
        return how(options, "na_values")
    path = each_of(path)[0]
    return how(options, *(() if _is_parquet(path) else HOW_READ), *HOW_SPELLED)


def _is_ours(options: argparse.Namespace, path: Any) -> bool:
    """Whether a file is written as this package writes it, whatever is said of the real one."""
    return path is getattr(options, "synthetic", None) and not options.alike


def _is_parquet(path: Path) -> bool:
    from sdv_plausible.table.files.text_files import is_parquet

    return is_parquet(path)


def metadata_and_detected(
    options: argparse.Namespace, types: Mapping[str, ColumnType], rows: Path | None = None
) -> tuple[Any, dict[str, dict[str, Any]]]:
    """SDV's metadata, and detected types of columns that nobody declared: of the table, unless of rows."""
    from sdv_plausible.sdv.metadata import load_metadata, metadata_of

    rest = [name for name in names_of(options, types) if name not in types and not options.only_declared]
    detected = _detected(options, rest, rows) if rest else {}
    if options.metadata is None:
        return metadata_of(in_order(options, {**types, **detected})), detected
    return load_metadata(options.metadata, detected), detected


def in_order(options: argparse.Namespace, columns: Mapping[str, Kind]) -> dict[str, Kind]:
    """Columns as the table has them; those that it lacks come last."""
    return {name: columns[name] for name in names_of(options, columns) if name in columns} | dict(columns)


def names_of(
    options: argparse.Namespace, known: Collection[str] = (), path: Path | None = None
) -> Sequence[str]:
    """Column names of the table, or of another one, of which some may be known."""
    from sdv_plausible.table.files.table_file import columns_of

    return columns_of(files_of(options, each_of(path or options.data)[0]), known)


def _detected(
    options: argparse.Namespace, names: Sequence[str], rows: Path | None
) -> dict[str, dict[str, Any]]:
    from sdv_plausible.sdv.type_detection import detect_types

    texts = {name: {"sdtype": "categorical"} for name in names}
    cells = read(options, texts) if rows is None else read_beside(options, texts, rows)
    return detect_types(cells, files_of(options, rows).spelling)


def separator_of(text: str) -> str:
    """The character that a word of the command line stands for."""
    return "\t" if text in ("tab", "\\t") else text
