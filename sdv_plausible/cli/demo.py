"""The command ``sdv-plausible demo``: the embedded example from fit to report."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from sdv_plausible.cli.files import UsageError
from sdv_plausible.cli.output import print_line, print_result
from sdv_plausible.fitting.options import default_of
from sdv_plausible.privacy.parameter_checks import whole
from sdv_plausible.table.files.table_file import write_table
from sdv_plausible.utils.atomic_files import write_atomically

PURPOSE = "fit a simulated census table and show the result"
EXAMPLE = "-o demo_output"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of ``demo``."""
    add = command.add_argument
    add("--rows", type=int, default=10_000, help="number of synthetic rows (default: 10000)")
    add("--table-rows", type=int, default=100_000, help="size of the simulated table (default: 100000)")
    add(
        "--epsilon",
        type=float,
        default=default_of("epsilon"),
        help="total privacy budget (default: %(default)s)",
    )
    add("-o", "--output", type=Path, default=Path("demo_output"), help="output folder (default: demo_output)")


def run(options: argparse.Namespace) -> None:
    """Fit the simulated table; write rows, ledger and report."""
    from sdv_plausible.datasets import census_like, census_like_metadata
    from sdv_plausible.evaluation import PlausibleDeniabilityReport
    from sdv_plausible.sdv.metadata import metadata_from_columns
    from sdv_plausible.sdv.synthesizer import PlausibleDeniabilitySynthesizer

    if options.output.exists() and not options.output.is_dir():
        raise UsageError(f"{options.output} must be a folder, and is a file; choose another name")
    whole("rows", options.rows, 0, "try 10000")
    whole("table_rows", options.table_rows, 1, "try 100000")
    start = time.perf_counter()
    table = census_like(options.table_rows, random_state=0)
    columns = census_like_metadata()
    if not options.json:
        print_line(f"A simulated census table: {len(table):,} rows, {table.shape[1]} columns.")
    metadata = metadata_from_columns(columns)
    synth = PlausibleDeniabilitySynthesizer(metadata, epsilon=options.epsilon, domain=columns)
    synth.fit(table)
    synthetic = synth.sample(options.rows)
    ledger = synth.privacy_ledger()
    options.output.mkdir(parents=True, exist_ok=True)
    write_atomically(options.output / "synthetic.csv", lambda path: write_table(synthetic, path))
    write_atomically(options.output / "ledger.json", ledger.to_json())
    holdout = census_like(10_000, random_state=1)
    report = PlausibleDeniabilityReport(
        ledger=ledger, structure=synth.get_structure(), holdout=holdout, target="income_class",
        classifiers=("tree",), distinguishers=("tree",), num_runs=1,
    )  # fmt: skip
    report.generate(table, synthetic, metadata, verbose=False)
    report.to_html(options.output / "comparison.html")
    print_result(
        options,
        f"{synthetic.head(5).to_string(index=False)}\n\n{ledger.words.lead}\n{ledger.words.total}\n\n"
        f"Wrote to {options.output} in {time.perf_counter() - start:.1f} s:\n"
        f"  synthetic.csv    {len(synthetic):,} synthetic rows\n"
        "  ledger.json      the whole privacy ledger\n"
        "  comparison.html  a report, to open in a browser",
        {"output": options.output, "rows": len(synthetic), "ledger": ledger.to_dict()},
    )
