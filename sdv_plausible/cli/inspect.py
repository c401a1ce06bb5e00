"""The command ``sdv-plausible inspect``: a page that shows a table before and after, for its owner."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from sdv_plausible.cli import files
from sdv_plausible.cli.files import record_shown_rows
from sdv_plausible.cli.output import print_result
from sdv_plausible.cli.undeclared_columns import without_blank_columns
from sdv_plausible.evaluation.page.inspection import inspection_page
from sdv_plausible.evaluation.table_pair import prepare_pair
from sdv_plausible.sdv.metadata import metadata_of
from sdv_plausible.sdv.type_detection import detect_types
from sdv_plausible.table.declared.column_types import column_types
from sdv_plausible.utils.atomic_files import write_atomically

PURPOSE = "show a table before and after on a page (confidential)"
EXAMPLE = "people.csv rows.csv -o inspection.html --domain domain.json"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of ``inspect``."""
    add = command.add_argument
    add("real", type=Path, help="the real table")
    add("synthetic", type=Path, help="the synthetic table")
    add("-o", "--output", type=Path, required=True, help="HTML page to write (confidential)")
    add("--domain", type=Path, help="domain file (JSON): types; others are detected")
    add("--rules", type=Path, help="rules file (JSON): recorded as made before the rows were shown")
    files.add_format_options(command, "real", "synthetic")
    add("--overwrite", action="store_true", help="replace the output file if it exists")


def run(options: argparse.Namespace) -> None:
    """Write the page."""
    files.check_files_exist(options, "real", "synthetic", "rules")
    files.check_output(options, "output", (".html",))
    options.rows_were_read = True
    page, names = inspection(options)
    # Record the access before anything is shown.
    notes = record_shown_rows(options.domain, options.rules, names)
    write_atomically(options.output, page, owner_only=True)
    print_result(
        options,
        [f"Wrote {options.output}. NOT private: it shows real rows; for your eyes alone", *notes],
        {"output": options.output, "for_the_holder_alone": True, "notes": notes},
    )


def inspection(options: argparse.Namespace) -> tuple[str, Sequence[str]]:
    """Return the page and its columns. NOT private: types are detected in real rows, which are shown."""
    types = column_types(without_blank_columns(options.domain))
    names = files.names_of(options, types, options.real)
    undeclared = [name for name in names if name not in types]
    all_types: dict[str, Any] = dict(types)
    if undeclared:
        texts = files.read_table(
            options, {name: {"sdtype": "categorical"} for name in undeclared}, options.real
        )
        all_types |= detect_types(texts, files.files_of(options, options.real).spelling)
    real = files.read_table(options, all_types, options.real)
    synthetic = files.read_comparison_table(options, all_types, options.synthetic)
    return inspection_page(
        prepare_pair(real, synthetic, metadata_of(all_types)), date.today().isoformat()
    ), names
