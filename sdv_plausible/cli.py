"""Command line: ``sdv-plausible demo``, ``declare``, ``describe``, ``generate``, ``synthesize`` and more."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
import traceback
import warnings
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdv_plausible.declaring.errors import one_line
from sdv_plausible.whole_files import write_whole

if TYPE_CHECKING:
    import pandas as pd

    from sdv_plausible.privacy.ledger_record import LedgerRecord
    from sdv_plausible.release.plan import Plan
    from sdv_plausible.table.column_types import ColumnType
    from sdv_plausible.table.domain import Domain

_HOW_READ = ("encoding", "separator", "quote")  # of the CSV file
_HOW_SPELLED = ("decimal", "thousands", "na_values", "true_values", "false_values")  # of its cells


class UsageError(ValueError):
    """Something about the command's arguments or files; shown without a traceback."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 on success, 2 with one clear line on bad input."""
    options = _parser().parse_args(arguments)
    options.rows_were_read = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SDV's hints on saving metadata are not for this audience
            options.run(options)
    except Exception as error:  # whatever SDV or pandas raise: their texts may quote cells
        if options.debug:
            traceback.print_exception(error)
        print(
            f"sdv-plausible: error: {one_line(error, options.rows_were_read, ', --debug shows it')}",
            file=sys.stderr,
        )
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    from sdv_plausible.audit import command as auditing
    from sdv_plausible.commands import describe, generate, inspect
    from sdv_plausible.declaring.command import add_options

    parser = argparse.ArgumentParser(
        prog="sdv-plausible",
        description="Synthetic tables with plausible deniability and differential privacy.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    demo = commands.add_parser("demo", help="fit the embedded census example and look at the result")
    demo.add_argument("--rows", type=int, default=10_000, help="synthetic rows (default: 10000)")
    demo.add_argument(
        "--table-rows", type=int, default=100_000, help="rows of the simulated table (default: 100000)"
    )
    demo.add_argument("--epsilon", type=float, default=1.0, help="total privacy budget (default: 1)")
    demo.add_argument(
        "-o", "--output", type=Path, default=Path("demo_output"), help="folder (default: demo_output)"
    )
    demo.set_defaults(run=_demo)
    synthesize = commands.add_parser("synthesize", help="make a synthetic copy of a CSV or Parquet table")
    _add_synthesis(synthesize)
    declare = commands.add_parser(
        "declare", help="draft a domain file: the columns, and what public sources say"
    )
    add_options(declare)
    declare.set_defaults(run=_declare)
    check = commands.add_parser(
        "check", help="count cells that the declarations do not fit: not private, for your eyes"
    )
    _add_reading(check)
    check.set_defaults(run=_check, only_declared=True)
    audit = commands.add_parser("audit", help="attack a synthesizer on a table: not private, for your eyes")
    _add_reading(audit)
    auditing.add_options(audit)
    audit.set_defaults(run=_audit, only_declared=False)
    described = commands.add_parser("describe", help="learn a description of a table: a release file")
    _add_reading(described)
    describe.add_options(described)
    described.set_defaults(run=_describe, ledger=None)
    generating = commands.add_parser("generate", help="make rows from a description, without the data")
    generate.add_options(generating)
    generating.set_defaults(run=_generate)
    inspecting = commands.add_parser(
        "inspect", help="a page of a table before and after: not private, for your eyes"
    )
    inspect.add_options(inspecting)
    inspecting.set_defaults(run=_inspect)
    registry = commands.add_parser("registry", help="papers on a release: registry entry, conformance")
    _add_papers(registry)
    for command in (demo, synthesize, declare, check, audit, described, generating, inspecting, registry):
        command.add_argument(
            "--debug",
            action="store_true",
            help="show tracebacks of errors: they may quote cells of the table",
        )
    return parser


def _add_synthesis(command: argparse.ArgumentParser) -> None:
    """What of a table is learned, how, and where rows and ledger go."""
    _add_reading(command)
    command.add_argument("-o", "--output", type=Path, required=True, help="CSV or Parquet file to write")
    command.add_argument(
        "--undeclared", choices=("private", "infer"), default="private",
        help=("value sets that are not declared: learned under the budget (default), or read off the rows, "
            "without a claim"),
    )  # fmt: skip
    command.add_argument(
        "--only-declared", action="store_true", help="leave out columns whose type is not declared"
    )
    command.add_argument(
        "--rows",
        type=int,
        default=10_000,
        help="synthetic rows (default: 10000; the table's own number is private)",
    )
    command.add_argument(
        "--epsilon", type=float, default=1.0, help='privacy budget, "inf" for none (default: 1)'
    )
    command.add_argument("--delta", type=float, default=1e-9, help="failure probability (default: 1e-9)")
    command.add_argument("--k", type=int, default=50, help="plausible seeds (default: 50)")
    command.add_argument(
        "--gamma", type=float, default=4.0, help="factor of about equal probability (default: 4)"
    )
    command.add_argument(
        "--epsilon0", type=float, default=1.0, help="parameter of the privacy test (default: 1)"
    )
    command.add_argument("--omega", type=_omega, help='resampled attributes: a number, "low-high", or "all"')
    command.add_argument(
        "--privacy-test", choices=("release", "randomized", "deterministic"), default="release"
    )
    command.add_argument(
        "--max-plausible", type=int, help="row-by-row tests: plausible seeds at which counting stops"
    )
    command.add_argument(
        "--max-check-plausible", type=int, help="row-by-row tests: seeds looked at; changes what rows cost"
    )
    command.add_argument(
        "--hidden-omega", action="store_true", help="row-by-row tests: likelihoods of the mixture over omega"
    )
    command.add_argument(
        "--model", default="bayesian_network", help="bayesian_network, independent, correlated or random"
    )
    command.add_argument("--ledger", type=Path, help="also write the privacy ledger as JSON")
    command.add_argument("--random-state", type=int, help="reproducible, without a privacy claim")
    command.add_argument(
        "--overwrite", action="store_true", help="replace files that exist, never one that is read"
    )
    command.set_defaults(run=_synthesize)


def _add_papers(command: argparse.ArgumentParser) -> None:
    """What papers are made from, where they go, and what only a person knows."""
    from sdv_plausible.privacy.registry import KNOWN

    command.add_argument("ledger", type=Path, help="what --ledger wrote, or a release file")
    command.add_argument("-o", "--output", type=Path, required=True, help="YAML file to write")
    command.add_argument(
        "--conformance", type=Path, help="also write a table in the words of NIST SP 800-226"
    )
    command.add_argument(
        "--pages", default="docs", help="where this package's docs are, for links in the table"
    )
    command.add_argument("--overwrite", action="store_true", help="replace files that exist")
    for name, field in KNOWN.items():
        option = f"--{name.replace('_', '-')}"
        if field.many:
            command.add_argument(option, nargs="+", metavar="TEXT", help=field.hint)
        else:
            hint = f"{field.hint}: {', '.join(field.choices)}" if field.choices else field.hint
            command.add_argument(option, metavar="TEXT", help=hint)
    command.set_defaults(run=_registry)


def _add_reading(command: argparse.ArgumentParser) -> None:
    """What is read, and how: every cell by itself, by what is declared of its column."""
    command.add_argument("data", type=Path, help="CSV or Parquet file")
    command.add_argument(
        "--metadata", type=Path, help="SDV metadata JSON that you wrote: the types of the columns"
    )
    command.add_argument(
        "--domain", help='domain JSON: types and values; or "metadata" if you wrote the ranges in --metadata'
    )
    command.add_argument("--rules", type=Path, help="rules JSON: what holds in every row")
    command.add_argument("--encoding", default="utf-8", help="of the CSV file (default: utf-8)")
    command.add_argument(
        "--separator", type=_separator, default=",", help='between cells (default: ","); "tab" for tabs'
    )
    command.add_argument("--quote", default='"', help="around cells that hold a separator (default: '\"')")
    command.add_argument("--decimal", default=".", help='decimal point of numbers (default: ".")')
    command.add_argument("--thousands", help="mark between groups of three digits (default: none)")
    command.add_argument(
        "--na-values", nargs="+", metavar="TEXT", help="texts for missing (default: the empty text alone)"
    )
    command.add_argument(
        "--true-values", nargs="+", metavar="TEXT", help="texts for true (default: true t yes y 1)"
    )
    command.add_argument(
        "--false-values", nargs="+", metavar="TEXT", help="texts for false (default: false f no n 0)"
    )


def _demo(options: argparse.Namespace) -> None:
    from sdv_plausible.datasets import census_like, census_like_metadata
    from sdv_plausible.evaluation import PlausibleDeniabilityReport
    from sdv_plausible.sdv.versions import metadata_from_columns
    from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer

    if options.output.exists() and not options.output.is_dir():
        raise UsageError(f"{options.output} must be a folder, and is a file; choose another name")
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
    from sdv_plausible.privacy import checks as check
    from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer

    check.whole("num_rows", options.rows, 0, "try 10000")
    _check_outputs(options)
    types = _declared_types(options)
    metadata, detected = _metadata(options, types)
    synth = PlausibleDeniabilitySynthesizer(
        metadata, epsilon=options.epsilon, delta=options.delta, k=options.k, gamma=options.gamma,
        epsilon0=options.epsilon0, omega=options.omega, privacy_test=options.privacy_test,
        max_plausible=options.max_plausible, max_check_plausible=options.max_check_plausible,
        hidden_omega=options.hidden_omega, model=options.model,
        domain=options.domain, source="written" if options.domain == "metadata" else None,
        undeclared=options.undeclared, random_state=options.random_state,
        types="detected" if detected else "declared", rules=options.rules or (),
    )  # fmt: skip
    options.rows_were_read = True  # from here on errors of others may quote cells
    synth.fit(_read(options, {**types, **detected}))
    synthetic = synth.sample(options.rows)
    ledger = synth.privacy_ledger()
    write_whole(options.output, lambda path: _write_table(synthetic, path))
    if options.ledger is not None:
        write_whole(options.ledger, ledger.to_json())
    print(ledger)
    if detected:
        print(
            f"\n  Types detected: {', '.join(detected)}. Declare them (--domain), or leave them out "
            "(--only-declared)."
        )
    print(f"\nWrote {len(synthetic):,} rows to {options.output}")


def _describe(options: argparse.Namespace) -> None:
    from sdv_plausible.commands.describe import fitted, typed
    from sdv_plausible.table.cell_texts import Spelling
    from sdv_plausible.table.column_types import column_types

    _check_outputs(options, (".json", ".release"))
    types = _declared_types(options)
    rest = [] if options.only_declared else [name for name in _names(options) if name not in types]
    spelling = Spelling(**_how(options, *_HOW_SPELLED))
    options.rows_were_read = True  # from here on errors of others may quote cells
    texts = _read(options, {name: {"sdtype": "categorical"} for name in rest}) if rest else None
    document = typed(options, texts, spelling)
    synth = fitted(options, _read(options, column_types(document)), document)
    digest = synth.release(allow_no_claim=True).save(options.output, readable=True)
    print(f"{synth.privacy_ledger()}\n\nWrote {options.output}, sha256 {digest}")


def _generate(options: argparse.Namespace) -> None:
    from sdv_plausible.commands.generate import generated

    if not options.description.is_file():
        raise UsageError(f"there is no description {options.description}")
    _check_output(options.output, options.overwrite, (".csv", ".parquet"))
    if options.secret is not None and _is_same(options.secret, options.output):
        raise UsageError(
            f"{options.output} is the secret file, which rows would replace; choose another name"
        )
    rows = generated(options)
    write_whole(options.output, lambda path: _write_table(rows, path))
    print(f"Wrote {len(rows):,} rows to {options.output}")


def _inspect(options: argparse.Namespace) -> None:
    from sdv_plausible.commands.inspect import inspected

    for path in (options.real, options.synthetic):
        if not path.is_file():
            raise UsageError(f"there is no file {path}")
    _check_output(options.output, options.overwrite, (".html",))
    options.rows_were_read = True
    write_whole(options.output, inspected(options))
    print(f"Wrote {options.output}. NOT private: it shows real rows; for your eyes alone")


def _declare(options: argparse.Namespace) -> None:
    from sdv_plausible.declaring.command import declare

    for path in (options.from_public, options.from_codebook):
        if path is not None and _is_same(options.data, path):
            raise UsageError(
                f"{path} is the table itself: what is read off it is no declaration; name a published table, "
                "or have the domain learned (synthesize --undeclared private)"
            )
    for path in (options.data, options.from_public, options.from_codebook):
        if path is not None and not path.is_file():
            raise UsageError(f"there is no file {path}")
        if path is not None and _is_same(options.output, path):
            raise UsageError(f"{options.output} and {path} are the same file; choose another name")
    _check_output(options.output, options.overwrite or options.web, (".json",))
    if options.web:
        _check_web(options)
    declare(options, _plan)


def _check_web(options: argparse.Namespace) -> None:
    """Refuse what does not go with the review page, before anything is read."""
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise UsageError("--web needs starlette and uvicorn: pip install 'sdv-plausible[app]'")
    if options.private is not None:
        raise UsageError("--web does not go with --private: review and save the file, then learn the rest")
    sources = (options.domain, options.from_public, options.from_codebook)
    if options.output.exists() and not options.overwrite and any(path is not None for path in sources):
        raise UsageError(
            f"{options.output} exists, and is what --web would open: leave --domain and the sources out, or "
            "add --overwrite to start anew"
        )


def _plan(declarations: Mapping[str, Any], epsilon: float, delta: float, table_rows: int | None) -> Plan:
    """What a release with these declarations would cost and carry."""
    from sdv_plausible.sdv.versions import metadata_of
    from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer

    synth = PlausibleDeniabilitySynthesizer(
        metadata_of(declarations), domain=declarations, epsilon=epsilon, delta=delta
    )
    return synth.plan(table_rows=table_rows)


def _check(options: argparse.Namespace) -> None:
    from sdv_plausible.declaring.files import note_look
    from sdv_plausible.rules.checking import check_rows
    from sdv_plausible.rules.reading import rules_with_declarations
    from sdv_plausible.table.declarations import read_declarations
    from sdv_plausible.table.domain import MAX_BINS
    from sdv_plausible.table.reading import count_unreadable

    _check_inputs(options)
    types = _declared_types(options)
    options.rows_were_read, unread = True, {}
    if not _is_parquet(options.data):
        unread = count_unreadable(options.data, types, **_how(options, *_HOW_READ, *_HOW_SPELLED))
    counts = ", ".join(f"{name} {count:,}" for name, count in unread.items())
    lines = [
        f"NOT private, for your eyes. Cells that cannot be read, and count as missing: {counts or 'none'}"
    ]
    given = None if options.domain == "metadata" else options.domain
    if given is not None or options.rules:
        words = {name: kind.words for name, kind in types.items()}
        domain, words, rules = rules_with_declarations(options.rules or (), given, words, MAX_BINS)
        declared = read_declarations(domain, "infer", MAX_BINS, words)
        known = {
            name: (attribute, declared.says_missing(name))
            for name in declared.names
            if (attribute := declared.known(name))
        }
        found, looked = check_rows(rules, known, _read(options, types), lines.append)
        lines.append(str(found))
        if given is not None:
            lines += note_look(given, {*unread, *looked})
    print("\n".join(lines))


def _audit(options: argparse.Namespace) -> None:
    from sdv_plausible.audit.command import audit, claim, synthesizer_class
    from sdv_plausible.synthesizer import PlausibleDeniabilitySynthesizer

    _check_inputs(options)
    if options.output.exists() and not options.output.is_dir():
        raise UsageError(f"{options.output} must be a folder, and is a file; choose another name")
    other = None if options.synthesizer is None else synthesizer_class(options.synthesizer)
    types = _declared_types(options)
    metadata, detected = _metadata(options, types)
    epsilon, delta = claim(options)

    def factory() -> Any:
        if other is not None:
            return other(metadata)
        return PlausibleDeniabilitySynthesizer(
            metadata, epsilon=1.0 if epsilon is None else epsilon, delta=delta, domain=options.domain,
            source="written" if options.domain == "metadata" else None,
            types="detected" if detected else "declared", rules=options.rules or (),
        )  # fmt: skip

    options.rows_were_read = True
    audit(options, _read(options, {**types, **detected}), factory)


def _registry(options: argparse.Namespace) -> None:
    from sdv_plausible.privacy.conformance import conformance_page
    from sdv_plausible.privacy.registry import KNOWN, missing, registry_entry, to_yaml

    _check_papers(options)
    record, domain = _ledger_record(options.ledger)
    known = _how(options, *KNOWN)
    write_whole(options.output, to_yaml(registry_entry(record, domain=domain, **known)))
    if options.conformance is not None:
        write_whole(options.conformance, conformance_page(record, pages=options.pages))
    print(f"Wrote {' and '.join(str(p) for p in (options.output, options.conformance) if p is not None)}")
    if blank := [name for name in missing(known) if domain is None or name != "data_domain"]:
        print(f"To be filled in, in {options.output}: {', '.join(blank)}")


def _ledger_record(path: Path) -> tuple[LedgerRecord, Domain | None]:
    """The ledger of a file, and the domain if it is a release file."""
    from sdv_plausible.privacy.ledger_record import LedgerRecord
    from sdv_plausible.release_file.release import FORMAT, Release

    data = path.read_bytes()
    if FORMAT.encode() in data:
        release = Release.load(path)
        return LedgerRecord.of(release.ledger.to_dict()), release.domain
    return LedgerRecord.from_json(data.decode("utf-8", errors="replace")), None


# --- files ----------------------------------------------------------------------


def _check_outputs(options: argparse.Namespace, endings: Sequence[str] = (".csv", ".parquet")) -> None:
    """Refuse outputs that cannot be written or would replace an input, before anything is read."""
    _check_inputs(options)
    domain = None if options.domain in (None, "metadata") else Path(options.domain)
    paths = [
        path
        for path in (
            options.data,
            options.metadata,
            domain,
            options.rules,
            options.ledger,
            options.output,
        )
        if path is not None
    ]
    for output in (options.output, options.ledger):
        for other in paths:
            if output is not None and other is not output and _is_same(output, other):
                raise UsageError(
                    f"{output} and {other} are the same file, and one would destroy the other; choose "
                    "another name"
                )
    _check_output(options.output, options.overwrite, endings)
    if options.ledger is not None:
        _check_output(options.ledger, options.overwrite, (".json",))


def _check_papers(options: argparse.Namespace) -> None:
    """Refuse papers that cannot be written or would replace each other, before anything is read."""
    if not options.ledger.is_file():
        raise UsageError(f"there is no ledger file {options.ledger}")
    papers = [path for path in (options.output, options.conformance) if path is not None]
    for path, other in itertools.combinations([options.ledger, *papers], 2):
        if _is_same(path, other):
            raise UsageError(f"{path} and {other} are the same file; choose another name")
    _check_output(options.output, options.overwrite, (".yaml", ".yml"))
    if options.conformance is not None:
        _check_output(options.conformance, options.overwrite, (".md",))


def _check_inputs(options: argparse.Namespace) -> None:
    inputs = ((options.data, "file"), (options.metadata, "metadata file"), (options.rules, "rules file"))
    for path, what in inputs:
        if path is not None and not path.is_file():
            raise UsageError(f"there is no {what} {path}")
    if options.domain == "metadata" and options.metadata is None:
        raise UsageError(
            "--domain metadata needs --metadata with ranges that you wrote: those detected in the table are "
            "read from its "
            "rows and declare nothing; give --metadata metadata.json, or declare the ranges in --domain "
            "domain.json"
        )


def _check_output(path: Path, overwrite: bool, endings: Sequence[str]) -> None:
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it")
    if path.exists() and not overwrite:
        raise UsageError(f"{path} exists; choose another name, or add --overwrite")
    if path.suffix.lower() not in endings:
        raise UsageError(f"{path} must end in {' or '.join(endings)}")
    if _is_parquet(path) and find_spec("pyarrow") is None:
        raise UsageError(
            "writing Parquet needs pyarrow: pip install 'sdv-plausible[parquet]', or name a .csv file"
        )
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise UsageError(f"cannot write to {path}: its folder {path.parent} is missing or not writable")


def _is_same(path: Path, other: Path) -> bool:
    """Whether two paths lead to one file, by whatever spelling or link."""
    try:
        return path.samefile(other)
    except OSError:  # one of them is not there yet
        return str(path.resolve()).casefold() == str(other.resolve()).casefold()


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


def _how(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def _declared_types(options: argparse.Namespace) -> dict[str, ColumnType]:
    from sdv_plausible.table.column_types import column_types

    types = column_types(options.domain, options.metadata)
    if options.only_declared and not types:
        raise UsageError(
            "--only-declared leaves no column: declare what each is, with --domain or --metadata"
        )
    return types


def _read(options: argparse.Namespace, types: Mapping[str, Any]) -> pd.DataFrame:
    from sdv_plausible.table.parquet import read_parquet
    from sdv_plausible.table.reading import read_csv

    spelled = _how(options, *_HOW_SPELLED)
    if _is_parquet(options.data):
        return read_parquet(options.data, types, **spelled)
    return read_csv(options.data, types, **_how(options, *_HOW_READ), **spelled)


def _metadata(
    options: argparse.Namespace, types: Mapping[str, ColumnType]
) -> tuple[Any, dict[str, dict[str, Any]]]:
    """SDV's metadata, and the types of columns that nobody declared, which are detected."""
    from sdv_plausible.sdv.versions import load_metadata, metadata_of

    rest = [name for name in _names(options) if name not in types and not options.only_declared]
    detected = _detected(options, rest) if rest else {}
    if options.metadata is None:
        return metadata_of({**types, **detected}), detected
    return load_metadata(options.metadata, detected), detected


def _names(options: argparse.Namespace) -> Sequence[str]:
    """Column names of the table."""
    from sdv_plausible.table.parquet import parquet_columns
    from sdv_plausible.table.reading import csv_columns

    if _is_parquet(options.data):
        return parquet_columns(options.data)
    return csv_columns(options.data, **_how(options, *_HOW_READ))


def _detected(options: argparse.Namespace, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    from sdv_plausible.sdv.detection import detect_types
    from sdv_plausible.table.cell_texts import Spelling

    options.rows_were_read = True
    texts = _read(options, {name: {"sdtype": "categorical"} for name in names})
    return detect_types(texts, Spelling(**_how(options, *_HOW_SPELLED)))


def _write_table(table: pd.DataFrame, path: Path) -> None:
    if _is_parquet(path):
        table.to_parquet(path, index=False)
    else:
        _whole_numbers(table).to_csv(path, index=False)


def _whole_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """Write 24 and not 24.0 where a synthetic column holds whole numbers alone."""
    floats = table.select_dtypes("float")
    whole = [
        name
        for name in floats
        if ((floats[name] % 1 == 0) & (floats[name].abs() < 2**53) | floats[name].isna()).all()
    ]
    return table.astype(dict.fromkeys(whole, "Int64"))


# --- arguments and errors -------------------------------------------------------------------------


def _omega(text: str) -> Any:
    if text == "all":
        return text
    parts = text.split("-")
    if not all(part.isdigit() for part in parts) or len(parts) > 2:
        raise argparse.ArgumentTypeError(
            f'{text!r} must be a whole number, "low-high" such as 5-11, or "all"'
        )
    return int(text) if len(parts) == 1 else (int(parts[0]), int(parts[1]))


def _separator(text: str) -> str:
    return "\t" if text in ("tab", "\\t") else text


if __name__ == "__main__":
    sys.exit(main())
