"""The command ``sdv-plausible synthesize``: a synthetic copy of a table."""

from __future__ import annotations

import argparse
from pathlib import Path

from sdv_plausible.cli.files import UsageError, check_outputs, write_output
from sdv_plausible.cli.output import print_result, progress_steps
from sdv_plausible.cli.run_fit import ROW_BY_ROW, add_fitting, fit_synthesizer, row_cap, save_on_failure
from sdv_plausible.table.files.table_file import write_table
from sdv_plausible.table.files.text_files import is_excel

PURPOSE = "fit a table and write synthetic rows"
EXAMPLE = "people.csv -o synthetic.csv --domain domain.json --rows 1000"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of ``synthesize``."""
    add = command.add_argument
    add_fitting(command)
    add("-o", "--output", type=Path, required=True, help="file to write (.csv, .parquet, .xlsx)")
    add(
        "-n",
        "--rows",
        type=int,
        default=10_000,
        help="number of synthetic rows (default: 10000; the size of the table is private)",
    )
    add("--processes", type=int, default=1, help="processes for a row-by-row test, at most 61")


def run(options: argparse.Namespace) -> None:
    """Fit, draw rows, and write them with their ledger."""
    from sdv_plausible.privacy import parameter_checks as check

    check.whole("num_rows", options.rows, 0, "try 10000")
    check.whole("processes", options.processes, 1, "1 for this process alone")
    if options.processes > 1 and getattr(options, "test", None) not in ROW_BY_ROW:
        raise UsageError(f"--processes {options.processes} is for row-by-row tests: leave it out")
    check_outputs(options)
    if is_excel(options.output):
        from sdv_plausible.table.files.excel_files import check_excel_rows

        check_excel_rows(options.rows)
    with progress_steps("reading", "fitting", "drawing rows", "writing") as begin:
        synth, inferred = fit_synthesizer(options, begin, defaults=row_cap(options, options.rows))
        begin()
        ledger = synth.privacy_ledger()
        with save_on_failure(synth, options.output) as drawn:
            synthetic = synth.sample(options.rows, processes=options.processes)
            drawn.append(synthetic)
            begin()
            write_output(options, options.output, lambda path: write_table(synthetic, path))
            if options.ledger is not None:
                write_output(options, options.ledger, ledger.to_json())
    print_result(
        options,
        f"{ledger}{inferred.hint()}\n\nWrote {len(synthetic):,} rows to {options.output}",
        {"output": options.output, "rows": len(synthetic), **inferred.to_dict(), "ledger": ledger.to_dict()},
    )
