"""Command line: ``sdv-plausible demo`` and ``sdv-plausible synthesize data.csv -o out.csv``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdv_plausible.whole_files import write_whole

if TYPE_CHECKING:
    import pandas as pd


class UsageError(ValueError):
    """Something about the command's arguments or files; shown without a traceback."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 on success, 2 with one clear line on bad input."""
    options = _parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SDV's hints on saving metadata are not for this audience
            options.run(options)
    except (ValueError, TypeError, OSError, RuntimeError) as error:
        print(f"sdv-plausible: error: {_one_line(error)}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sdv-plausible", description="Synthetic tables with plausible deniability and differential privacy."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    demo = commands.add_parser("demo", help="fit the embedded census example and look at the result")
    demo.add_argument("--rows", type=int, default=10_000, help="synthetic rows (default: 10000)")
    demo.add_argument("--table-rows", type=int, default=100_000, help="rows of the simulated table (default: 100000)")
    demo.add_argument("--epsilon", type=float, default=1.0, help="total privacy budget (default: 1)")
    demo.add_argument("-o", "--output", type=Path, default=Path("demo_output"), help="folder (default: demo_output)")
    demo.set_defaults(run=_demo)
    synthesize = commands.add_parser("synthesize", help="make a synthetic copy of a CSV or Parquet table")
    synthesize.add_argument("data", type=Path, help="CSV or Parquet file")
    synthesize.add_argument("-o", "--output", type=Path, required=True, help="CSV or Parquet file to write")
    synthesize.add_argument("--metadata", type=Path, help="SDV metadata JSON; detected from the data if left out")
    synthesize.add_argument("--domain", help='domain JSON, or "metadata" if you wrote the ranges in --metadata')
    synthesize.add_argument(
        "--rows", type=int, default=10_000, help="synthetic rows (default: 10000; the table's own number is private)"
    )
    synthesize.add_argument("--epsilon", type=float, default=1.0, help='privacy budget, "inf" for none (default: 1)')
    synthesize.add_argument("--delta", type=float, default=1e-9, help="failure probability (default: 1e-9)")
    synthesize.add_argument("--k", type=int, default=50, help="plausible seeds (default: 50)")
    synthesize.add_argument("--gamma", type=float, default=4.0, help="factor of about equal probability (default: 4)")
    synthesize.add_argument("--epsilon0", type=float, default=1.0, help="parameter of the privacy test (default: 1)")
    synthesize.add_argument("--omega", type=_omega, help='resampled attributes: a number, "low-high", or "all"')
    synthesize.add_argument("--privacy-test", choices=("release", "randomized", "deterministic"), default="release")
    synthesize.add_argument("--model", default="bayesian_network", help="bayesian_network, independent or uniform")
    synthesize.add_argument("--ledger", type=Path, help="also write the privacy ledger as JSON")
    synthesize.add_argument("--random-state", type=int, help="reproducible, without a privacy claim")
    synthesize.add_argument("--overwrite", action="store_true", help="replace files that exist")
    synthesize.set_defaults(run=_synthesize)
    return parser


def _demo(options: argparse.Namespace) -> None:
    from sdv_plausible.datasets import census_like, census_like_metadata
    from sdv_plausible.evaluation import PlausibleDeniabilityReport
    from sdv_plausible.sdv.versions import metadata_from_columns
    from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer

    start = time.perf_counter()
    table = census_like(options.table_rows, random_state=0)
    columns = census_like_metadata()
    print(f"A simulated census table: {len(table):,} rows, {table.shape[1]} columns.")
    metadata = metadata_from_columns(columns)
    synth = PlausibleDeniabilitySynthesizer(metadata, epsilon=options.epsilon, domain=columns)
    synth.fit(table)
    synthetic = synth.sample(options.rows)
    ledger = synth.privacy_ledger()
    options.output.mkdir(parents=True, exist_ok=True)
    write_whole(options.output / "synthetic.csv", lambda path: _write_table(synthetic, path))
    write_whole(options.output / "ledger.json", ledger.to_json())
    holdout = census_like(10_000, random_state=1)
    report = PlausibleDeniabilityReport(
        ledger=ledger, structure=synth.get_structure(), holdout=holdout, target="income_class",
        classifiers=("tree",), distinguishers=("tree",), num_runs=1,
    )  # fmt: skip
    report.generate(table, synthetic, metadata, verbose=False)
    report.to_html(options.output / "comparison.html")
    print(synthetic.head(5).to_string(index=False))
    print(f"\n{ledger}\n")
    print(f"Wrote {options.output}/synthetic.csv ({len(synthetic):,} rows), ledger.json and comparison.html")
    print(f"in {time.perf_counter() - start:.1f} s. Open comparison.html in a browser.")


def _synthesize(options: argparse.Namespace) -> None:
    from sdv_plausible.sdv.versions import detect_metadata
    from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer

    if options.domain == "metadata" and options.metadata is None:
        raise UsageError(
            "--domain metadata needs --metadata with ranges that you wrote: those detected in the table are read from its rows "
            "and declare nothing; give --metadata metadata.json, or declare the ranges in --domain domain.json"
        )
    outputs = [path for path in (options.output, options.ledger) if path is not None]
    for path in outputs:  # before any work is done
        _check_output(path, options.overwrite)
    table = _read(options.data)
    metadata = _load_metadata(options.metadata) if options.metadata else detect_metadata(table)
    synth = PlausibleDeniabilitySynthesizer(
        metadata, epsilon=options.epsilon, delta=options.delta, k=options.k, gamma=options.gamma,
        epsilon0=options.epsilon0, omega=options.omega, privacy_test=options.privacy_test, model=options.model,
        domain=options.domain, random_state=options.random_state,
    )  # fmt: skip
    synth.fit(table)
    synthetic = synth.sample(options.rows)
    ledger = synth.privacy_ledger()
    write_whole(options.output, lambda path: _write_table(synthetic, path))
    if options.ledger is not None:
        write_whole(options.ledger, ledger.to_json())
    print(ledger)
    print(f"\nWrote {len(synthetic):,} rows to {options.output}")


def _omega(text: str) -> Any:
    if text == "all":
        return text
    parts = text.split("-")
    if not all(part.isdigit() for part in parts) or len(parts) > 2:
        raise argparse.ArgumentTypeError(f'{text!r} must be a whole number, "low-high" such as 5-11, or "all"')
    return int(text) if len(parts) == 1 else (int(parts[0]), int(parts[1]))


def _check_output(path: Path, overwrite: bool) -> None:
    if path.exists() and not overwrite:
        raise UsageError(f"{path} exists; choose another name, or add --overwrite")
    if path.suffix.lower() not in (".csv", ".parquet", ".json"):
        raise UsageError(f"{path} must end in .csv or .parquet")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise UsageError(f"cannot write to {path}: its folder {path.parent} is missing or not writable")


def _read(path: Path) -> pd.DataFrame:
    import pandas as pd

    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    if path.suffix.lower() == ".parquet":
        return pd.read_parquet(path)
    try:
        return pd.read_csv(path)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read as CSV: {error}") from error


def _load_metadata(path: Path) -> Any:
    from sdv_plausible.sdv.versions import load_metadata

    if not path.is_file():
        raise UsageError(f"there is no metadata file {path}")
    try:
        return load_metadata(path)
    except json.JSONDecodeError as error:
        raise UsageError(f"{path} is not a JSON file: {error}") from error


def _write_table(table: pd.DataFrame, path: Path) -> None:
    if path.suffix.lower() == ".parquet":
        table.to_parquet(path, index=False)
    else:
        table.to_csv(path, index=False)


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text or type(error).__name__


if __name__ == "__main__":
    sys.exit(main())
