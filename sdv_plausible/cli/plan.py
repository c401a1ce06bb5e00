"""The command ``sdv-plausible plan``: the cost of a release, before any row is read."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sdv_plausible.cli.files import UsageError, add_declarations, check_inputs, declared_types
from sdv_plausible.cli.output import print_result
from sdv_plausible.cli.run_fit import add_parameters, make_synthesizer, row_cap
from sdv_plausible.cli.undeclared_columns import columns_to_plan

if TYPE_CHECKING:
    from sdv_plausible.fitting.plan import Plan

PURPOSE = "show what a release will cost, without reading any row"
EXAMPLE = "--domain domain.json --table-rows 5000"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of ``plan``: declarations and parameters, without a table."""
    add = command.add_argument
    add_declarations(command)
    add("-n", "--rows", type=int, help="number of synthetic rows")
    add(
        "--table-rows",
        type=int,
        help="public figure or guess for the size of the table: predicts the accuracy",
    )
    add(
        "--max-advantage",
        type=float,
        help="limit on an attacker's advantage, in (0, 1): plans the largest epsilon within it",
    )
    add_parameters(command)
    command.set_defaults(only_declared=False)


def run(options: argparse.Namespace) -> None:
    """Plan a release and print the plan."""
    from sdv_plausible.sdv.metadata import load_metadata, metadata_of

    check_inputs(options)
    inferred = columns_to_plan(options)
    types = declared_types(options)
    if not types and inferred is None:
        raise UsageError("no column is declared: say what each is, with --domain or --metadata")
    if options.public is not None or options.budget is not None:
        raise UsageError("plan reads no table and draws from no budget: leave --public and --budget to fit")
    if inferred is None:
        metadata = metadata_of(types) if options.metadata is None else load_metadata(options.metadata, {})
        synth = make_synthesizer(options, metadata, **row_cap(options, options.rows))
    else:
        synth = make_synthesizer(
            options, inferred.metadata, **row_cap(options, options.rows), **inferred.arguments
        )
    plan = synth.plan(options.rows, table_rows=options.table_rows, max_advantage=options.max_advantage)
    print_result(options, str(plan), document(plan))


def document(plan: Plan) -> dict[str, Any]:
    """Return a plan as a JSON document."""
    return {
        "epsilon": plan.epsilon,
        "rows_needed": plan.rows_needed,
        "forecast": None if plan.forecast is None else asdict(plan.forecast),
        "warnings": plan.warnings,
        "ledger": plan.ledger.to_dict(),
    }
