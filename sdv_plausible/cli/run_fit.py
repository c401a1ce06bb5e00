"""Options and steps shared by the commands that fit."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdv_plausible.cli import files
from sdv_plausible.cli.files import access_recorder, expand_paths, is_partitioned
from sdv_plausible.cli.output import ProgressSteps, print_result, print_to_stderr, progress_steps
from sdv_plausible.cli.undeclared_columns import InferredTypes, columns_of, spelling
from sdv_plausible.fitting.options import NAMED, OPTIONS
from sdv_plausible.table.files.table_file import write_table
from sdv_plausible.utils.atomic_files import write_atomically
from sdv_plausible.utils.entry_points import extension
from sdv_plausible.utils.text_output import one_line

if TYPE_CHECKING:
    import pandas as pd

    from sdv_plausible.sdv.synthesizer import PlausibleDeniabilitySynthesizer
from sdv_plausible.cli.files import UsageError
from sdv_plausible.fitting.options import Option, default_of, to_constructor_arguments, unused_option
from sdv_plausible.utils.file_paths import read_text_file
from sdv_plausible.utils.json_schema import strict_json

ROW_BY_ROW = tuple(name for name, value in NAMED["test"].items() if value in OPTIONS["row_cap"].of)


def add_fitting(command: argparse.ArgumentParser) -> None:
    """Add the options of the table, of learning, and of the ledger."""
    add_table_options(command)
    command.add_argument("--ledger", type=Path, help="also write the privacy ledger to this JSON file")
    add_parameters(command)
    command.set_defaults(outputs=("output", "ledger"))


def add_table_options(command: argparse.ArgumentParser) -> None:
    """Add the options of the table, and --overwrite."""
    add = command.add_argument
    files.add_reading(command, "public", in_parts=True)
    add("--only-declared", action="store_true", help="leave out columns whose types are not declared")
    add(
        "--scratch",
        type=Path,
        metavar="FOLDER",
        help="for tables that are read in parts: keep encoded rows in this folder until the fit is over, so "
        "that cells are parsed once; they are as confidential as the table",
    )
    add("--overwrite", action="store_true", help="replace output files that exist, but never an input")


def row_cap(options: argparse.Namespace, rows: int | None) -> dict[str, int]:
    """Return the row cap that a row-by-row test pays for; empty for the other tests."""
    if rows is None or getattr(options, "test", None) not in ROW_BY_ROW:
        return {}
    from sdv_plausible.fitting.arguments import paid_row_cap

    return {"row_cap": paid_row_cap(rows, options.rules or (), getattr(options, "row_cap", None))}


def make_synthesizer(
    options: argparse.Namespace, metadata: Any, **defaults: Any
) -> PlausibleDeniabilitySynthesizer:
    """Return the synthesizer with the given options and the constructor's defaults."""
    from sdv_plausible.sdv.synthesizer import PlausibleDeniabilitySynthesizer

    total = {} if getattr(options, "total", None) is None else {"total": options.total}
    defaults = {"domain": options.domain, "rules": options.rules or (), **total, **defaults}
    return PlausibleDeniabilitySynthesizer(metadata, **constructor_arguments(options, **defaults))


def allow_no_claim(command: argparse.ArgumentParser) -> None:
    """Add the option that permits a release without a privacy claim."""
    command.add_argument(
        "--allow-no-claim", action="store_true",
        help="write the file even without a privacy guarantee: it may contain values of single people",
    )  # fmt: skip


def add_signing(command: argparse.ArgumentParser) -> None:
    """Add the option that signs a release."""
    command.add_argument(
        "--sign", type=Path, metavar="KEY",
        help="also write a signed statement (.intoto.jsonl) next to the release: code, options, and budget "
        "drawn; KEY is a file made by the command key",
    )  # fmt: skip


def _check_signing(options: argparse.Namespace) -> None:
    """Raise for an invalid key or statement path, before anything is read."""
    options.statement = None
    if options.sign is None:
        return
    files.check_files_exist(options, "sign")
    signer = extension("signer", "attestation")
    signer.secret_key(options.sign)
    options.statement = options.output.with_name(f"{options.output.name}{signer.BESIDE}")
    options.outputs = (*options.outputs, "statement")
    files.check_output(options, "statement", (".jsonl",))
    files.check_distinct_outputs(options)


def check_claim(options: argparse.Namespace, synth: PlausibleDeniabilitySynthesizer) -> None:
    """Raise UsageError before the budget is charged, if there is no claim or no modelled column."""
    from sdv_plausible.table.declared.column_types import column_types

    if not any(kind.is_modelled for kind in column_types(metadata=synth.metadata).values()):
        raise files.UsageError(
            "no column is modelled, so there is nothing to release: ids and personal data get placeholder "
            "values. Declare another column, such as {'age': {'sdtype': 'numerical'}}, or take "
            "synthesize"
        )
    ledger = synth.plan().ledger
    if not ledger.claims_privacy and not options.allow_no_claim:
        raise files.UsageError(
            f"{ledger.sentence()} The file may contain values of single people. Remove the cause, or add "
            "--allow-no-claim. Nothing was fitted"
        )


def write_release(options: argparse.Namespace, *, readable: bool, **defaults: Any) -> None:
    """Fit, write the release and its ledger, and print the result."""
    _check_signing(options)
    with progress_steps("reading", "fitting", "writing") as begin:
        synth, inferred = fit_synthesizer(options, begin, partial(check_claim, options), defaults)
        begin()
        ledger = synth.privacy_ledger()
        with save_on_failure(synth, options.output):
            release = synth.release(allow_no_claim=options.allow_no_claim)
            files.write_output(options, options.output, release.to_bytes(readable=readable))
            if options.ledger is not None:
                files.write_output(options, options.ledger, ledger.to_json())
            if options.statement is not None:
                attest = extension("signer", "attestation").attest
                signed = attest(release, options.sign, draw=synth.drawn, readable=readable)
                files.write_output(options, options.statement, signed)
    signature_note = "" if options.statement is None else f"\nSigned in {options.statement}"
    print_result(
        options,
        f"{ledger}{inferred.hint()}\n\nWrote {options.output}, sha256 {release.digest}{signature_note}",
        {"output": options.output, "sha256": release.digest, "statement": options.statement,
         **inferred.to_dict(), "ledger": ledger.to_dict()},
    )  # fmt: skip


@contextmanager
def save_on_failure(synth: PlausibleDeniabilitySynthesizer, output: Path) -> Iterator[list[pd.DataFrame]]:
    """Save the paid-for release elsewhere if the block fails, or else the drawn rows."""
    # The block appends the rows it draws to the list.
    drawn: list[pd.DataFrame] = []
    try:
        yield drawn
    except BaseException:
        if synth.privacy_ledger().claims_privacy:  # otherwise nothing was paid
            with suppress(Exception):
                print_to_stderr(_save_elsewhere(synth, output, drawn))
        raise


def _save_elsewhere(
    synth: PlausibleDeniabilitySynthesizer, output: Path, drawn: Sequence[pd.DataFrame]
) -> str:
    """Save a fit, and return a message with its location."""
    lost = "nothing of this fit could be kept, and what it was charged stays charged"
    save: Callable[[Path], object]
    try:
        release = synth.release()
    except Exception:  # row-by-row tests keep records, and SDV constraints cannot be saved
        if not drawn:
            return f"{lost}: its test keeps rows alone, and none were drawn"
        name, words = f"{output.stem}.csv", "the rows are kept in {0}"
        save = partial(write_atomically, content=partial(write_table, drawn[0]), owner_only=True)
    else:
        name, save = f"{output.name}.release", release.save
        words = "the fit is kept in {0}: 'sdv-plausible sample {0}' draws its rows"
    try:
        return words.format(files.save_to_new_folder(output.parent, name, save))
    except Exception as error:  # for example a full disk
        return f"{lost}: {one_line(error, True)}"


def fit_synthesizer(
    options: argparse.Namespace,
    begin: ProgressSteps,
    check: Callable[[PlausibleDeniabilitySynthesizer], object] | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> tuple[PlausibleDeniabilitySynthesizer, InferredTypes]:
    """Return the fitted synthesizer and the inferred types."""
    # ``begin`` is called at the start of a step. ``check`` gets the synthesizer before rows are read and may
    # raise. ``defaults`` are arguments set by the command.
    from sdv_plausible.table.declared.column_types import check_released

    files.check_largest_file()
    defaults, domain_file = dict(defaults or {}), options.domain
    files.check_files_exist(options, "public")
    if options.public is not None and any(
        files.is_same_file(options.public, file) for file in expand_paths(options.data)
    ):
        raise files.UsageError(
            f"--public ({options.public}) is the table to be protected: leave it out, or name a published one"
        )
    check_released(options.metadata)
    begin()
    columns = columns_of(options)
    if options.public is not None:  # its columns are a subset of the table's
        names = files.names_of(options, columns.types, options.public)
        shared_types = {name: kind for name, kind in columns.types.items() if name in names}
        defaults["public"] = files.read_table(options, shared_types, options.public)
    synth = make_synthesizer(
        options, columns.metadata, budget=open_budget(options), **{**defaults, **columns.arguments}
    )
    synth.spelling = spelling(options)
    (check or type(synth).plan)(synth)
    synth.record = access_recorder(domain_file)
    options.rows_were_read = True
    rows: Any
    if is_partitioned(options):
        rows, size = files.files_of(options), ""
    else:
        rows = files.read_table(options, columns.types)
        size = f"{len(rows):,} rows, "
    begin()
    synth.watch_progress = lambda words: begin.note(size + words)
    synth.watch_progress("planning the cost")
    synth.fit(rows, **({} if options.scratch is None else {"scratch": options.scratch}))
    return synth, columns.inferred_types(synth)


def add_parameters(command: argparse.ArgumentParser) -> None:
    """Add an option for every parameter of the synthesizer."""
    group = command.add_argument_group("parameters of the synthesizer")
    add = group.add_argument
    for option in OPTIONS.values():
        add_option(group, option)
    add(
        "--total",
        type=float,
        help="epsilon of the whole release, the privacy test included, in the place of --epsilon: finds k, "
        "epsilon0 and the model's share where they are not given",
    )
    add(
        "--model-parameters",
        metavar="JSON",
        default=argparse.SUPPRESS,
        help='more options of the model, such as {"max_cost": 300}, or a file with them',
    )
    add("--privacy-test", type=_moved, default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    add_budget(group, "draw from a total over several releases; the file is created if it is missing")
    add("--public", type=Path, help="a PUBLISHED table with the same columns, which helps the model")


def add_budget(command: Any, why: str) -> None:
    """Add the options of :func:`open_budget`."""
    command.add_argument("--budget", nargs=3, metavar=("FILE", "EPSILON", "DELTA"), help=why)
    command.add_argument(
        "--budget-filter", choices=("sum", "rho"), help="how costs in --budget add up (default: sum)"
    )


def add_option(group: Any, option: Option) -> None:
    """Add the option of one parameter."""
    default_text = ", ".join(option.default) if option.kind is list else option.default
    default = "" if default_text is None or option.kind is bool else f" (default: {default_text})"
    common: dict[str, Any] = {
        "default": argparse.SUPPRESS, "help": f"{option.help}{default}".replace("%", "%%"),
    }  # fmt: skip
    if option.kind is bool:
        group.add_argument(option.flag, action=argparse.BooleanOptionalAction, **common)
    elif option.kind is list:
        group.add_argument(option.flag, nargs="+", metavar=option.written, **common)
    elif option.choices and not option.written:
        group.add_argument(option.flag, choices=tuple(option.choices), **common)
    else:
        read = READERS.get(option.name, option.kind if option.kind in (int, float) else str)
        placeholder = {int: "N", float: "NUMBER"}.get(option.kind, "TEXT")
        group.add_argument(option.flag, type=read, metavar=option.written or placeholder, **common)


def constructor_arguments(options: argparse.Namespace, **defaults: Any) -> dict[str, Any]:
    """Return the constructor's arguments from the given options."""
    # ``defaults`` are arguments set by the command; given options take precedence.
    arguments = {**defaults, **{name: getattr(options, name) for name in OPTIONS if hasattr(options, name)}}
    for argument, names in NAMED.items():
        chosen = arguments.get(argument, default_of(argument))
        if (misused := unused_option(argument, chosen, arguments)) is not None:
            others = " or ".join(name for name, value in names.items() if value in OPTIONS[misused].of)
            raise UsageError(
                f"{OPTIONS[misused].flag} ({arguments[misused]}) has no effect with --{argument} {chosen}: "
                f"remove it, or use --{argument} {others}"
            )
    structure = arguments.get("structure")
    if isinstance(structure, str) and (structure[:1] == "{" or structure.endswith(".json")):
        arguments["structure"] = read_object(structure, "--structure")
    if "public" not in arguments and getattr(options, "public", None) is not None:
        arguments.pop("public_source", None)  # refers to a table that is not read yet
    if hasattr(options, "model_parameters"):
        arguments["model_parameters"] = read_object(options.model_parameters)
    return to_constructor_arguments(arguments)


def open_budget(options: argparse.Namespace) -> Any:
    """Open the budget that a fit draws from; None if none is given."""
    from sdv_plausible.fitting.release_budget import Budget

    if options.budget is None:
        if options.budget_filter is not None:
            raise UsageError("--budget-filter says how fits add up in --budget, which is not there")
        return None
    path, epsilon, delta = options.budget
    try:
        limits = float(epsilon), float(delta)
    except ValueError:
        raise UsageError(
            f"--budget ({' '.join(options.budget)}) must be a file and two numbers, epsilon and delta: "
            "try --budget people.budget 1.0 1e-8"
        ) from None
    return Budget(*limits, path, filter=options.budget_filter or "sum")


# --- parsers of single options --------------------------------------------------------------------------


def _omega(text: str) -> Any:
    if text == "all":
        return text
    parts = text.split("-")
    if not all(part.isdigit() for part in parts) or len(parts) > 2:
        raise argparse.ArgumentTypeError(
            f'{text!r} must be a whole number, "low-high" such as 5-11, or "all"'
        )
    return int(text) if len(parts) == 1 else (int(parts[0]), int(parts[1]))


def _split(text: str) -> tuple[float, ...]:
    try:
        shares = tuple(float(part) for part in text.split(","))
    except ValueError:
        shares = ()
    if len(shares) != 3:
        raise argparse.ArgumentTypeError(f"{text!r} must be three numbers such as 0.25,0.25,0.5")
    return shares


def read_object(text: str, option: str = "--model-parameters") -> Mapping[str, Any]:
    """Parse a JSON object, or a file that contains one."""
    path = Path(text)
    try:
        document = strict_json(read_text_file(path) if text[:1] != "{" else text)
    except (OSError, ValueError):
        document = None
    if not isinstance(document, dict):
        raise UsageError(f"{option} ({text!r}) must be a JSON object, or a file that holds one")
    return document


def _moved(text: str) -> str:
    raise argparse.ArgumentTypeError(f"this is --test {text} now")


READERS = {"omega": _omega, "split": _split}
