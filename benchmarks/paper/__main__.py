"""Figures 1 to 6 and tables 3 to 5 of the paper.

Run: python -m benchmarks.paper figure3|table4|all|report [--data acs|simulated] [--quick] [--fresh] [--repeats N] [--output FOLDER]

Measures what is not yet in ``results_<data>.jsonl`` and writes ``results_<data>.md`` and the plots beside it. ``report``
measures nothing. ``--fresh`` measures again. ``--quick`` takes small numbers of rows, to see that everything runs; give it
a folder of its own.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable
from pathlib import Path

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

from benchmarks.paper import classifiers, generation, linear, plots, report, statistics
from benchmarks.paper.data import MissingDataError
from benchmarks.paper.settings import SIZES
from benchmarks.paper.store import Store
from benchmarks.paper.synthesis import Study

HERE = Path(__file__).parent
COMMANDS = {
    "figure1": "accuracy", "figure2": "accuracy", "figure3": "distances", "figure4": "distances", "figure5": "timing",
    "figure6": "passing", "table3": "table3", "table4": "table4", "table5": "table5",
}  # fmt: skip


def measures(quick: bool) -> dict[str, Callable[[Study, Store], None]]:
    """What measures each item of the results."""
    return {
        "accuracy": statistics.model_accuracy,
        "distances": statistics.distances,
        "timing": generation.timing,
        "passing": generation.pass_rates,
        "table3": classifiers.table3,
        "table5": classifiers.table5,
        "table4": lambda study, store: linear.table4(study, store, with_peer=not quick),
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paper",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=[*COMMANDS, "all", "report"])
    parser.add_argument("--data", choices=["acs", "simulated"], default="acs")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--repeats", type=int)
    options = parser.parse_args(arguments)
    if options.quick and options.output is None:
        parser.error("--quick needs --output FOLDER: its numbers must not mix with the full run's")
    folder = options.output or HERE
    folder.mkdir(parents=True, exist_ok=True)
    sizes = SIZES["quick" if options.quick else options.data]
    path = folder / f"results_{options.data}.jsonl"
    every = measures(options.quick)
    items = {"all": list(every), "report": []}.get(options.what, [COMMANDS.get(options.what, "")])
    store = Store(path)
    if options.fresh:
        store.forget([*items, *(["table4 printed"] if "table4" in items else [])])
    warnings.simplefilter("ignore")
    try:
        for repeat in range(options.repeats or sizes.repeats):
            study = Study(options.data, sizes, repeat)
            for item in items:
                every[item](study, store)
    except MissingDataError as error:
        raise SystemExit(str(error)) from error
    text = report.render(store, options.data, sizes)
    (folder / f"results_{options.data}.md").write_text(text, encoding="utf-8")
    plots.draw(store, options.data, folder)
    print(text)


if __name__ == "__main__":
    main()
