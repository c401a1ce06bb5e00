"""The command ``sdv-plausible declare``: draft, learn or review a domain file."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sdv_plausible.cli import files
from sdv_plausible.cli.output import print_result, print_to_stderr
from sdv_plausible.cli.run_fit import add_budget, open_budget
from sdv_plausible.fitting.domain_learning import learned_file
from sdv_plausible.fitting.options import OPTIONS, VOTE_TAKES, default_of, typed_default
from sdv_plausible.privacy.neighbours import Neighbours, person_from_fields
from sdv_plausible.table.declared.access_log import replace_file, with_access_records
from sdv_plausible.table.declared.codebook import (
    CODEBOOK_FORMATS,
    WARNING,
    Codebook,
    Message,
    declarations_of_table,
    read_codebook,
)
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.table.declared.domain_file import DomainFile, blanks, draft_domain_file, read_domain_file
from sdv_plausible.table.files.table_file import file_columns, read_file
from sdv_plausible.utils.atomic_files import locked
from sdv_plausible.utils.entry_points import extension

PURPOSE = "draft a domain file from column names and public sources"
EXAMPLE = "people.csv -o domain.json --from-codebook book.csv"

PRIVATE_DEFAULTS = {
    "delta": default_of("delta"), "budget": None, "budget_filter": None, "person": None,
    "rows_per_person": default_of("rows_per_person"), "anyway": default_of("anyway"),
}  # fmt: skip
"""Options that are only used with ``--private``, and their defaults."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of ``declare``."""
    add = command.add_argument
    add("data", type=Path, help="table: only its column names are read")
    add("-o", "--output", type=Path, required=True, help="domain file (JSON) to write")
    add("--from-public", type=Path, metavar="CSV", help="published table with ranges and values")
    add("--from-codebook", type=Path, metavar="FILE", help="a code book; see --format")
    add("--format", choices=CODEBOOK_FORMATS, help="format of the code book (default: by its ending)")
    add("--domain", type=Path, metavar="JSON", help="a domain file to start from; its declarations are kept")
    add(
        "--private",
        type=_epsilon,
        metavar="EPSILON",
        help="learn undeclared columns from the rows within this budget; every fit with the file pays it",
    )
    delta = typed_default("delta")
    add("--delta", type=float, default=PRIVATE_DEFAULTS["delta"], help=f"for --private (default: {delta})")
    add_budget(command, "with --private: draw from the budget in this file")
    add("--person", metavar="COLUMN", help="with --private: protect all rows of each person in this column")
    add(
        "--rows-per-person",
        type=int,
        default=PRIVATE_DEFAULTS["rows_per_person"],
        metavar="C",
        help="with --person: most rows used of each person (default: %(default)s)",
    )
    add("--anyway", action="store_true", help=f"with --private: {OPTIONS['anyway'].help}")
    files.add_format_options(command, "data", "from_public")
    add("--overwrite", action="store_true", help="replace the output file if it exists")
    add(
        "--web",
        action="store_true",
        help="review and edit the file, new or existing, in a browser on this machine",
    )


def run(options: argparse.Namespace) -> None:
    """Check the files, then write the domain file or open the review page."""
    for path in (options.from_public, options.from_codebook):
        if path is not None and files.is_same_file(options.data, path):
            raise files.UsageError(
                f"{path} is the table itself, so ranges and values from it cannot be declarations. Name a "
                "published table, or learn the domain privately (synthesize --undeclared private)"
            )
    private_only = [name for name, usual in PRIVATE_DEFAULTS.items() if getattr(options, name) != usual]
    if options.private is None and private_only:
        raise files.UsageError(
            f"--{private_only[0].replace('_', '-')} goes with --private: without it no row is looked at"
        )
    files.check_files_exist(options, "data", "from_public", "from_codebook")
    files.check_output(options, "output", (".json",), overwrite=options.web)
    if options.web:
        extension("page", "review").check(options)
    format_options = files.given_options(options, *files.HOW_SPELLED)
    if format_options and options.private is None and options.from_public is None and not options.web:
        raise files.UsageError(
            f"--{next(iter(format_options)).replace('_', '-')} is of cells, and none is read: leave it "
            "out, or take --from-public, --private or --web"
        )
    start = None if options.domain is None else read_domain_file(options.domain)
    declared = () if start is None else start.columns
    names = files.names_of(options, declared)
    sources = _read_sources(options, names)
    file_exists = options.web and options.output.exists() and not options.overwrite
    file = (
        read_domain_file(options.output) if file_exists else draft_domain_file(names, sources.columns, start)
    )
    kept, learned = list[str](), dict[str, Any]()
    if options.overwrite:
        file, kept = with_access_records(file, options.output, names)
    if options.private is not None:
        file = _learn_domain(options, file)
        learned = {name: file.columns[name] for name in file.private}
    if not options.web:
        kept = _write_domain_file(options, file, names, learned)
    lines, document = _notes(options, names, sources, file)
    if kept:
        lines.append(
            f"Kept from the file that it replaces: {', '.join(kept)} were compared with the rows. "
            "Declarations that have changed since then end the privacy guarantee, unless they cite a "
            "public source"
        )
    if options.web:
        page = extension("page", "review")
        page.serve_review(
            options, file, names, is_saved=file_exists, learned=learned, lines=lines, document=document
        )
        return
    if file.private and options.private is not None:
        cost = f"epsilon {options.private:g}, delta {options.delta:g}"
        lines.insert(0, f"Learned at {cost}: {', '.join(file.private)}")
    lines.append(f"Wrote {options.output}: {len(names)} columns")
    if left := blanks(file):
        lines.append(
            "Fill in sdtype, and range or values; or remove the column; or leave it blank to have its type "
            f"inferred by synthesize and fit, for {VOTE_TAKES}: {', '.join(left)}"
        )
    print_result(options, lines, document)


def _write_domain_file(
    options: argparse.Namespace, file: DomainFile, names: Sequence[str], learned: Mapping[str, Any]
) -> list[str]:
    """Write the file; on failure save what was learned, and paid for, elsewhere."""
    output = options.output
    try:
        if options.overwrite:
            return replace_file(output, file, names, learned)
        files.write_output(options, output, file.paid_for(learned).to_json())
        return []
    except BaseException:
        if learned:
            print_to_stderr(
                "what was learned is kept in "
                f"{files.save_to_new_folder(output.parent, output.name, file.save)}"
            )
        raise


def _notes(
    options: argparse.Namespace, names: Sequence[str], sources: Codebook, file: DomainFile
) -> tuple[list[str], dict[str, Any]]:
    """Return the messages of the sources as lines and as a JSON document."""
    unknown = [name for name in sources.columns if name not in names]
    messages = replace(sources, messages=tuple(m for m in sources.messages if m[0] not in unknown)).lines
    lines = [f"  {message}" for message in messages]
    if unknown:
        lines.append(f"Not in {options.data.name}, and left out: {', '.join(unknown)}")
    if options.from_public is not None:
        lines.append(WARNING)
    return lines, {
        "output": options.output,
        "columns": list(names),
        "learned": file.private,
        "messages": messages,
        "not_in_the_table": unknown,
        "to_be_filled_in": blanks(file),
    }


def _learn_domain(options: argparse.Namespace, file: DomainFile) -> DomainFile:
    """Learn the undeclared parts from the rows; errors quote no cell."""
    if options.output.exists():
        with locked(options.output.resolve()):  # fail before anything is paid if the file cannot be locked
            pass
    budget = open_budget(options)
    types = column_types(file, person=options.person)  # raises before a row is read
    if options.person is not None:
        files.check_person(options, types)
    rows = files.read_table(options, types)
    neighbours = Neighbours.parse("add_remove", person_from_fields(options.person, options.rows_per_person))
    return learned_file(
        rows,
        file,
        options.private,
        options.delta,
        budget=budget,
        what=options.data.name,
        neighbours=neighbours,
        anyway=options.anyway,
    )


def _epsilon(text: str) -> float:
    return float(text.removeprefix("epsilon="))


def _read_sources(options: argparse.Namespace, names: Sequence[str]) -> Codebook:
    """Read the public sources; the codebook takes precedence over the published table."""
    columns: dict[str, Any] = {}
    messages: list[Message] = []
    if options.from_public is not None:
        public = files.files_of(options, options.from_public)
        texts = read_file(public, {name: {"sdtype": "categorical"} for name in file_columns(public)})
        source = declarations_of_table(texts, public.spelling).with_source(
            f"published table {options.from_public.name}"
        )
        columns |= source.columns
        messages += source.messages
    if options.from_codebook is not None:
        source = read_codebook(options.from_codebook, options.format).of_table(names)
        columns |= {n: spec for n, spec in source.columns.items() if n not in columns or spec.get("source")}
        messages += source.messages
    return Codebook(columns=columns, messages=tuple(messages))
