"""The command ``sdv-plausible report``: a page that compares synthetic with real rows."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from sdv_plausible.cli import files
from sdv_plausible.cli.files import record_shown_rows
from sdv_plausible.cli.output import print_result, progress_steps
from sdv_plausible.cli.run_fit import allow_no_claim
from sdv_plausible.cli.undeclared_columns import without_blank_columns
from sdv_plausible.utils.file_paths import read_regular_file
from sdv_plausible.utils.json_schema import strict_json

PURPOSE = "compare synthetic with real rows on a page (confidential)"
EXAMPLE = "people.csv rows.csv -o report.html --domain domain.json --release people.release"

OWNER_NOTICE = "NOT private: it shows real rows; for your eyes alone"
NO_GUARANTEE = "It names no guarantee: give --release, the file of the release, or --ledger"
PUBLISHABLE = "It may be published: real rows are on it through the guarantee alone"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of ``report``."""
    add = command.add_argument
    add("data", type=Path, help="the real table")
    add("synthetic", type=Path, help="the synthetic rows")
    add("-o", "--output", type=Path, required=True, help="HTML page to write")
    files.add_declarations(command)
    files.add_format_options(command, "data", "synthetic", "holdout")
    add("--release", type=Path, help="release file: shows its guarantee and network")
    add("--ledger", type=Path, help="privacy ledger (JSON), instead of --release")
    add("--holdout", type=Path, help="real rows that were not fitted, as a baseline")
    add("--target", help="column that classifiers predict")
    add(
        "--publishable",
        action="store_true",
        help="show only what may be published: the guarantee and the synthetic rows",
    )
    allow_no_claim(command)
    add("--overwrite", action="store_true", help="replace the output file if it exists")
    command.set_defaults(only_declared=False)


def run(options: argparse.Namespace) -> None:
    """Compare, and write the page."""
    from sdv_plausible.evaluation import PlausibleDeniabilityReport
    from sdv_plausible.evaluation.page.report_page import UNPROTECTED

    _check(options)
    with progress_steps("reading", "columns", "pairs", "classifiers", "game", "summary", "writing") as begin:
        begin()
        ledger, structure = _guarantee(options)
        claimed = _claimed(options, ledger)
        domain_file, options.domain = options.domain, without_blank_columns(options.domain)
        types = files.declared_types(options)
        # Else a single real cell could change the page.
        type_source = options.synthetic if options.publishable else None
        metadata, detected = files.metadata_and_detected(options, types, type_source)
        all_types = {**types, **detected}
        real, synthetic = (
            files.read_table(options, all_types),
            files.read_comparison_table(options, all_types, options.synthetic),
        )
        holdout = (
            None
            if options.holdout is None
            else files.read_comparison_table(options, all_types, options.holdout)
        )
        compared = {options.synthetic: synthetic} | ({} if options.publishable else {options.data: real})
        if empty_paths := [path for path, rows in compared.items() if rows.empty]:
            raise files.UsageError(f"{empty_paths[0]} has no rows: there is nothing to compare")
        begin.note(f"{len(real):,} real and {len(synthetic):,} synthetic rows")
        report = PlausibleDeniabilityReport(
            ledger=ledger, structure=structure, holdout=holdout, target=options.target
        )
        report.generate(real, synthetic, metadata, verbose=False, begin=begin)
        begin()
        notes = (
            [] if options.publishable else record_shown_rows(domain_file, options.rules, list(real.columns))
        )
        if ledger is None:
            notes.insert(0, NO_GUARANTEE)
        report.to_html(options.output, publishable=options.publishable)
    for_owner = not (options.publishable and claimed)
    words = OWNER_NOTICE if not options.publishable else PUBLISHABLE if claimed else UNPROTECTED
    print_result(
        options,
        [f"Wrote {options.output}. {words}", *notes],
        {"output": options.output, "for_the_holder_alone": for_owner, "notes": notes},
    )


def _check(options: argparse.Namespace) -> None:
    """Raise UsageError for missing or invalid files, before anything is compared."""
    from sdv_plausible.rules.rule_files import read_rules

    files.check_inputs(options)
    files.check_files_exist(options, "synthetic", "holdout", "release", "ledger")
    if options.release is not None and options.ledger is not None:
        raise files.UsageError("--release and --ledger both say what the guarantee is: give one of them")
    if options.publishable and files.is_same_file(options.data, options.synthetic):
        raise files.UsageError(
            f"{options.synthetic} is the real table, and its rows would be published as synthetic ones; give "
            "the file that sample or synthesize wrote"
        )
    files.check_output(options, "output", (".html",))
    # The access record needs valid rules: fail now rather than after the comparison.
    read_rules(options.rules or ())


def _claimed(options: argparse.Namespace, ledger: Any) -> bool:
    """Return whether a guarantee covers the synthetic rows; publishing without one must be allowed."""
    from sdv_plausible.evaluation.page.sections import GuaranteeSection

    guarantee = GuaranteeSection.of(ledger)
    if options.publishable and not guarantee.claimed and not options.allow_no_claim:
        raise files.UsageError(
            f"{guarantee.words.lead} The page may contain values of single people: give --release or "
            "--ledger of a release with a privacy guarantee, remove --publishable, or add --allow-no-claim"
        )
    return guarantee.claimed


def _guarantee(options: argparse.Namespace) -> tuple[Any, Any]:
    """Return the ledger and the network of the release."""
    from sdv_plausible.models.bayesian_network import HasStructure
    from sdv_plausible.release.file.release import Release

    if options.release is not None:
        release = Release.load(options.release)
        structure = release.structure() if isinstance(release.model, HasStructure) else {}
        columns = {column.name for column in release.schema.columns}  # rules may have replaced columns
        return release.ledger, structure if set(structure) <= columns else None
    if options.ledger is None:
        return None, None
    data = read_regular_file(options.ledger, "ledger")
    try:
        ledger = strict_json(data.decode("utf-8"))
    except ValueError:
        raise files.UsageError(f"{options.ledger} is no ledger: give what --ledger wrote") from None
    return _quoted(options.ledger, ledger), None


def _quoted(path: Path, ledger: Any) -> Any:
    """Return a ledger from a file with its texts quoted; raise if it contradicts itself."""
    from sdv_plausible.evaluation.page.sections import GuaranteeSection
    from sdv_plausible.privacy.ledger_record import LedgerRecord, quote_record

    if GuaranteeSection.of(ledger).claimed:
        LedgerRecord.of(ledger)
    try:
        return quote_record(ledger)
    except (TypeError, AttributeError, KeyError):
        raise files.UsageError(f"{path} is no ledger: give what --ledger wrote") from None
